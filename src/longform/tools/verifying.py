"""Anybody's texts under the fact checker: which of their first sentences pages support or refute.

The checker is the pipeline's (massarelli2020; :mod:`longform.critics.verifiability`): pages are
found by titles and BM25, their sentences by BM25, and an entailment model judges each sentence with
each of them. It is brought by the person, or the pipeline trained it.
"""

import hashlib
import math
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from longform import extras
from longform.critics.scores import Score, frame
from longform.critics.verifiability.checks import LABELS, SENTENCES, CheckedText
from longform.critics.verifiability.score import (
    SPLITTER,
    SupportedPerGeneration,
    SupportedPerVerified,
)
from longform.datasets.fever import title_of
from longform.datasets.own_texts import (
    SUFFIXES,
    Texts,
    documents_from,
    is_named_by_place,
    read_texts,
    set_aside_note,
)
from longform.documents import Document
from longform.errors import ConfigError, InputError, counted
from longform.files.artefacts import (
    append_lines,
    atomic_write,
    read_lines,
    write_json,
)
from longform.files.fingerprints import fingerprint
from longform.language_models.named_models import NETWORKS, NamedModel, named_model
from longform.tables import interval, json_lines, markdown_table
from longform.text.sentences import SPLITTERS
from longform.tools.unfinished import forget_unfinished, refuse_overwriting, unfinished_folder
from longform.version import __version__

if TYPE_CHECKING:
    import pandas

    from longform.critics.verifiability.checker import Checker, Pair

BATCH = 8  # texts that are judged side by side
SUMMARY, VERDICTS = "verify.json", "verdicts.jsonl"
REPORT_SECONDS = 10
MEASURES = {  # massarelli2020, equations 2 to 5
    "SPG": SupportedPerGeneration(),
    "SPV": SupportedPerVerified(),
    "USPG": SupportedPerGeneration(unique=True),
    "USPV": SupportedPerVerified(unique=True),
}
CAUSAL = ("ForCausalLM", "LMHeadModel")  # ends of the architectures of causal language models
TRIED = (  # (title, sentence, claim): pairs that a new judge has to answer before it is used
    ("Riverton", "Riverton is a town on a river.", "Riverton is a town."),
    ("Riverton", "Riverton is a town on a river.", "Riverton is a mountain."),
)


@dataclass(frozen=True)
class SentenceVerdict:
    """What the checker says of one sentence.

    Attributes:
        system, text: whose sentence it is, and the id of its text.
        sentence: as it was written.
        claim: what was checked, the page's title in place of a pronoun.
        label: ``supported``, ``refuted`` or ``not_enough_info``.
        evidence: the sentence of a page that the label rests on, behind its title; where there is
            not enough information, the one that matches best; empty where no page matches.
        support, refutation: highest probabilities over the sentences that were judged.
    """

    system: str
    text: str
    sentence: str
    claim: str
    label: str
    evidence: str
    support: float
    refutation: float


@dataclass(frozen=True)
class Verification:
    """Several systems' texts under one checker.

    Attributes:
        scores: by system and measure (SPG, SPV, USPG, USPV).
        verdicts: a sentence each.
        facts: what it was checked with, and by system the records that were set aside, each with
            its place and the reason.
        folder: in which the files lie; None without one.
    """

    scores: Mapping[str, Mapping[str, Score]]
    verdicts: tuple[SentenceVerdict, ...]
    facts: Mapping[str, Any]
    folder: Path | None

    def to_frame(self) -> "pandas.DataFrame":
        """A row for each sentence. Raises ConfigError: pandas is not installed."""
        return frame(list(map(asdict, self.verdicts)))

    def counts(self, system: str) -> dict[str, int]:
        """Sentences of a system by label."""
        counts = dict.fromkeys(LABELS, 0)
        for verdict in self.verdicts:
            if verdict.system == system:
                counts[verdict.label] += 1
        return counts

    def to_record(self) -> dict[str, Any]:
        """Plain data for JSON, with null for nan."""
        systems = {}
        for system, scores in self.scores.items():
            shown: dict[str, Any] = {"sentences": self.counts(system)}
            for name, score in scores.items():
                values = asdict(score)
                for key, value in values.items():
                    if isinstance(value, float) and math.isnan(value):
                        values[key] = None
                shown[name] = values
            systems[system] = shown
        return {"facts": dict(self.facts), "systems": systems}

    def markdown(self) -> str:
        """A Markdown table, a row for each system, with notes."""
        header = ["system", "texts", "supported", "refuted", "not enough information", *MEASURES]
        rows = []
        for system, scores in self.scores.items():
            first = scores["SPG"]
            counts = map(str, self.counts(system).values())
            cells = []
            for score in scores.values():
                cells.append("" if math.isnan(score.value) else _cell(score))
            rows.append([system, str(first.units + first.excluded), *counts, *cells])
        notes = [
            f"SPG: share of the first {SENTENCES} sentences that is supported (missing ones count "
            "against a text); SPV: of those that are supported or refuted; U: repeats count once",
            f"{counted(self.facts['pages'], 'page')}; judge: {self.facts['judge']}",
        ]
        for system, set_aside in self.facts["set_aside"].items():
            notes.append(set_aside_note(f"texts of {system}", set_aside))
        if self.folder is not None:
            notes.append(f"each sentence with its evidence: {self.folder / VERDICTS}")
        return markdown_table("Verifiability", header, rows, notes)


def _cell(score: Score) -> str:
    """A score with its interval, where it has one."""
    if math.isnan(score.low):
        return interval(score.value, None, None)
    return interval(score.value, score.low, score.high)


@dataclass(frozen=True)
class VerificationPlan:
    """What will be checked, and how long the judge will take.

    Attributes:
        judge: its name.
        pages: how many there are.
        texts: how many texts each system has.
        sentences: how many of their first sentences are checked.
        seconds: an estimate, at most.
    """

    judge: str
    pages: int
    texts: Mapping[str, int]
    sentences: int
    seconds: float

    def text(self) -> str:
        """One line."""
        counts = ", ".join(f"{name} {count}" for name, count in self.texts.items())
        return (
            f"{self.judge}: texts: {counts}; {counted(self.sentences, 'first sentence')} against "
            f"{counted(self.pages, 'page')}; at most about {max(1, round(self.seconds))} s"
        )


def verify(
    texts: Any,
    pages: str | Path,
    *,
    judge: str | Path | None = None,
    out: str | Path | None = None,
    announce: Callable[[VerificationPlan], Any] = lambda plan: print(plan.text(), file=sys.stderr),
) -> Verification:
    """Check the first five sentences of every text.

    Args:
        texts: a list of texts, a file or folder of texts, or several of them by the system's name.
        pages: FEVER's folder with ``wiki-pages``; any file or folder of texts, each a page that its
            title or file name names; or the folder of a checker that the pipeline trained.
        judge: an entailment model: a folder in Hugging Face format or ``OWNER/NAME@COMMIT``. It has
            three labels that are called entailment, neutral and contradiction (or likewise), or is
            MiniCheck's. A trained checker has its own.
        out: folder for ``verdicts.jsonl`` and ``verify.json``. A run that was stopped goes on
            there.
        announce: called with the plan before the work.

    Raises BadInput: texts, pages or a judge that cannot be used.
    """
    # 1. The texts, and the folder, which may not be one of theirs.
    texts_of = _systems(texts)
    systems = _documents(texts_of)
    folder = None if out is None else Path(out)
    if folder is not None:
        sources_by_name = texts.values() if isinstance(texts, Mapping) else [texts]
        paths_read = [
            source for source in [pages, *sources_by_name] if isinstance(source, str | Path)
        ]
        refuse_overwriting([folder / VERDICTS, folder / SUMMARY], paths_read)
    with _opened(pages, judge) as (checker, name, stamps):
        announce(_plan(systems, checker, name))
        # 2. What an earlier run of the same has checked.
        path = None if folder is None else _verdicts_so_far(folder, systems, stamps)
        earlier_rows = {}
        for line in read_lines(path) if path is not None else ():
            earlier_rows[line["system"], line["id"]] = line["sentences"]
        # 3. The other texts, system by system.
        verdicts, scores = [], {}
        for system, documents in systems.items():
            checked = _checked(system, documents, checker, earlier_rows, path)
            units = []
            for document, rows in zip(documents, checked, strict=True):
                units.append(_unit(document, rows))
                for row in rows:
                    verdicts.append(SentenceVerdict(system, document.id, **row["shown"]))
            scores[system] = _scores(units)
        # 4. What was checked by what, and texts that were left out.
        set_aside = {}
        for system, sources in texts_of.items():
            if sources.set_aside:
                set_aside[system] = list(sources.set_aside)
        facts = {
            "pages": len(checker.pages),
            "judge": name,
            "set_aside": set_aside,
            "longform": __version__,
        }
    verification = Verification(scores, tuple(verdicts), facts, folder)
    if folder is not None:
        _save(verification, folder)
    return verification


def plan_verification(
    texts: Any, pages: str | Path, *, judge: str | Path | None = None
) -> VerificationPlan:
    """What :func:`verify` would check, and for how long; arguments as there."""
    systems = _documents(_systems(texts))
    with _opened(pages, judge) as (checker, name, _):
        return _plan(systems, checker, name)


Systems = dict[str, Sequence[Document]]
# A record for each sentence of a text: "shown", fields of SentenceVerdict, and "lines", its
# evidence as [page's title, number of the line].
Rows = list[dict[str, Any]]


def _systems(texts: Any) -> dict[str, Texts]:
    """Read the texts of each system; without names the only system is called ``texts``."""
    sources = texts if isinstance(texts, Mapping) else {"texts": texts}
    if not sources:
        raise InputError("verify: no texts; give those of at least one system")
    systems = {}
    for name, source in sources.items():
        if isinstance(source, str | Path):
            systems[name] = read_texts(source)
        else:
            systems[name] = Texts(tuple(documents_from(source, "verify")))
    return systems


def _documents(systems: Mapping[str, Texts]) -> Systems:
    """The documents of each system."""
    return {name: texts.documents for name, texts in systems.items()}


@contextmanager
def _opened(
    pages: str | Path, judge: str | Path | None
) -> "Iterator[tuple[Checker, str, list[Any]]]":
    """Open the checker.

    Args:
        pages, judge: as of :func:`verify`.

    Yields:
        the checker, its judge's name, and stamps, plain data that differ if pages or judge do.
    """
    extras.check("models", *NETWORKS, "bm25s")
    from longform.critics.verifiability.checker import SURE, Checker, frozen, selector
    from longform.critics.verifiability.read import open_checker

    # 1. A checker that the pipeline trained has pages and judge.
    source = Path(pages)
    if (source / "checker.json").is_file():
        if judge is not None:
            raise ConfigError(f"{pages}: a trained checker has its own judge; leave --judge out")
        stamps = NamedModel("", source, {}).stamps()
        yield open_checker(source), f"checker {pages}", stamps
        return
    # 2. Else pages are brought into a file of their own, and judged by the model that is named.
    if judge is None:
        raise ConfigError(
            f"{pages}: no model to compare sentences with these pages; name an entailment model "
            "with --judge, or give a checker that the pipeline trained as --pages"
        )
    named = named_model(judge)
    with ExitStack() as stack:
        entailment = _opened_judge(named, stack)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        page_file = frozen(folder, _pages_of(source))
        if not len(page_file):
            raise InputError(f"{pages}: no page in it; give FEVER's folder or a folder of texts")
        settings: dict[str, Any] = {"retrieval": {}, "selection": {}, "sure": SURE}
        checker = Checker(page_file, selector(page_file, settings), entailment, settings)
        digest = hashlib.blake2b((folder / "pages.jsonl").read_bytes(), digest_size=16)
        yield checker, named.name, [named.stamps(), digest.hexdigest()]


def _opened_judge(model: NamedModel, stack: ExitStack) -> Any:
    """Open an entailment model and try it on two pairs.

    Args:
        model: which one.
        stack: closes the folder that the model is read from.

    Raises BadInput: it is no entailment model.
    """
    import numpy as np

    from longform.critics.verifiability.train import brought_entailment
    from longform.language_models.checkpoints import load_config

    refusal = (
        f"{model.name}: a causal language model, not an entailment model; name one of these, "
        "a folder or OWNER/NAME@COMMIT"
    )
    # A .gguf file and a model in a package are causal language models.
    if "gguf" in model.pointer or "package" in model.pointer:
        raise ConfigError(refusal)
    folder = stack.enter_context(model.opened_folder())
    architectures = load_config(folder).architectures or []
    if any(name.endswith(CAUSAL) for name in architectures):
        raise ConfigError(refusal)
    entailment = brought_entailment(folder)
    probabilities = entailment.probabilities(_tried_pairs())
    if not np.isfinite(probabilities).all():
        raise ConfigError(
            f"{model.name}: its probabilities of a short text are no numbers; take another model"
        )
    return entailment


def _tried_pairs() -> "list[Pair]":
    """``TRIED`` as pairs of a claim and a sentence."""
    from longform.critics.verifiability.checker import Pair

    return [Pair(claim, title, sentence) for title, sentence, claim in TRIED]


def _pages_of(source: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Title and sentences of each page.

    Args:
        source: FEVER's folder, or a file or folder of texts, each of which is a page; texts of one
            title are one.

    Raises InputError: no text has a title.
    """
    from longform.datasets.fever import pages_in

    if (source / "wiki-pages").is_dir():
        yield from pages_in(source)
        return
    # 1. Texts by title.
    texts = read_texts(source)
    if texts.set_aside:
        print(set_aside_note("pages", texts.set_aside), file=sys.stderr)
    pages: dict[str, list[str]] = {}
    num_untitled = 0
    for document in texts.documents:
        title = document.sections[0].title or _title_of_name(document.id)
        if not title:
            num_untitled += 1
            continue
        sentences = map(str.strip, SPLITTERS[SPLITTER](document.text))
        lines = [" ".join(sentence.split()) for sentence in sentences if sentence]
        pages.setdefault(title, []).extend(lines)
    # 2. What has no title.
    untitled = f"{counted(num_untitled, 'page')} without a title, by which pages are looked up"
    if not pages:
        raise InputError(f"{source}: {untitled}; give each a title")
    if num_untitled:
        print(f"{untitled}, left out", file=sys.stderr)
    yield from pages.items()


def _title_of_name(name: str) -> str:
    """A page's title from its file or id, with blanks for ``_``; empty of an id by place."""
    if is_named_by_place(name):
        return ""
    path = PurePosixPath(name)
    return title_of(path.stem if path.suffix.lower() in SUFFIXES else name)


def _plan(systems: Systems, checker: "Checker", judge: str) -> VerificationPlan:
    """Count the sentences to be checked, and estimate the time from a timed trial.

    Args:
        systems: the documents of each system.
        checker: checks claims.
        judge: its name.
    """
    from longform.critics.verifiability.checker import LINES
    from longform.critics.verifiability.read import claims_of

    sentences = 0
    for documents in systems.values():
        for document in documents:
            sentences += len(claims_of(document.text, "", SPLITTERS[SPLITTER]))
    pairs = _tried_pairs() * BATCH
    start = time.monotonic()
    checker.entailment.probabilities(pairs)
    seconds = (time.monotonic() - start) / len(pairs) * sentences * LINES
    counts = {name: len(documents) for name, documents in systems.items()}
    return VerificationPlan(judge, len(checker.pages), counts, sentences, seconds)


def _checked(
    system: str,
    documents: Sequence[Document],
    checker: "Checker",
    earlier_rows: Mapping[tuple[str, str], Rows],
    path: Path | None,
) -> list[Rows]:
    """Check the texts of a system, but for those that an earlier run has checked.

    Args:
        system: its name.
        documents: its texts.
        checker: checks claims.
        earlier_rows: rows of texts that are checked already, by system and id.
        path: a file that rows are appended to as soon as a batch is checked; None for none.

    Returns:
        Rows of each text, in the order of the documents.
    """
    # 1. Texts that are checked, and those that wait.
    rows: dict[str, Rows] = {}
    waiting = []
    for document in documents:
        if (system, document.id) in earlier_rows:
            rows[document.id] = earlier_rows[system, document.id]
        else:
            waiting.append(document)
    # 2. Some texts at a time; each is written as soon as it is there.
    reported = time.monotonic()
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        for document, sentences in zip(batch, _rows_of(batch, checker), strict=True):
            rows[document.id] = sentences
            if path is not None:
                line = {"system": system, "id": document.id, "sentences": sentences}
                append_lines(path, [line])
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            print(f"verify {system}: {len(rows)}/{len(documents)} texts", flush=True)
    return [rows[document.id] for document in documents]


def _titled_as_written(document: Document) -> Document:
    """The document with its title, which readers turn to lower case, as its text writes it.

    A title that the text does not have stays as it is.
    """
    first, *others = document.sections
    if not first.title:
        return document
    written = re.search(rf"\b{re.escape(first.title)}\b", document.text, re.IGNORECASE)
    title = written[0] if written else first.title
    return replace(document, sections=(replace(first, title=title), *others))


def _rows_of(documents: Sequence[Document], checker: "Checker") -> list[Rows]:
    """Check a batch of texts; returns the rows of each."""
    from longform.critics.verifiability.read import text_verdicts

    rows = []
    named = list(map(_titled_as_written, documents))
    for verdicts in text_verdicts(named, checker, SPLITTER):
        sentences = []
        for claim, verdict in verdicts:
            evidence = sorted(verdict.evidence)
            shown_lines = evidence or verdict.lines[:1]  # judged lines stand best first
            lines = [f"{page}: {checker.pages[page][line]}" for page, line in shown_lines]
            shown = {
                "sentence": claim.source,
                "claim": claim.text,
                "label": verdict.label,
                "evidence": " ".join(lines),
                "support": round(verdict.support, 6),
                "refutation": round(verdict.refutation, 6),
            }
            sentences.append({"shown": shown, "lines": [list(line) for line in evidence]})
        rows.append(sentences)
    return rows


def _unit(document: Document, rows: Rows) -> CheckedText:
    """A text with the label and the evidence of each sentence, as the measures need it."""
    labelled = []
    for row in rows:
        evidence = frozenset((str(page), int(line)) for page, line in row["lines"])
        labelled.append((row["shown"]["label"], evidence))
    return CheckedText.of(document.id, document.split, labelled)


def _scores(units: Sequence[CheckedText]) -> dict[str, Score]:
    """Each measure; nan where no text could be scored."""
    scores = {}
    for name, measure in MEASURES.items():
        try:
            scores[name] = measure.score(units)
        except InputError:  # no sentence of any text is supported or refuted
            nothing = (math.nan, math.nan, math.nan, 0, len(units))
            scores[name] = Score(*nothing, measure.better, measure.identity)
    return scores


def _verdicts_so_far(folder: Path, systems: Systems, stamps: Sequence[Any]) -> Path:
    """The file in ``folder`` for rows of a run with these texts and stamps (pages and judge)."""
    texts = []
    for name, documents in systems.items():
        for document in documents:
            texts.append([name, document.to_record()])
    return unfinished_folder(folder, fingerprint([stamps, *texts])) / VERDICTS


def _save(verification: Verification, folder: Path) -> None:
    """Write verdicts and summary, and remove the unfinished work."""
    with atomic_write(folder / VERDICTS) as partial:
        records = map(asdict, verification.verdicts)
        partial.write_text(json_lines(records), encoding="utf-8")
    write_json(folder / SUMMARY, verification.to_record())
    forget_unfinished(folder)
