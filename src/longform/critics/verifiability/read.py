"""A fact checker's verdicts on generated texts, beside planted truth and the counts of Table 4, and on texts whose truth is known.

A text becomes claims in the paper's order (massarelli2020 section 3): the first five sentences; an opening pronoun, or determiner with
its noun, replaced by the page's title; more than 50 tokens not verifiable. Nothing outside the trained checker's folder is read.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Document, Readout
from longform.core.text.nouns import ADJECTIVE, NOUN, NounRules
from longform.core.text.rendering import TokenText
from longform.core.text.sentences import (
    SPLITTERS,
    PageSimilarity,
    _grams,
    conjunctions,
    entities,
    link_parser,
    mean_nats,
    sentence_texts,
)
from longform.critics.verifiability.checker import Checker, PageIndex, Verdict, retrieval_and_selection
from longform.critics.verifiability.score import (
    LABELS,
    SENTENCE_COLUMNS,
    SENTENCES,
    UNIT_COLUMNS,
    CheckedGeneration,
    CheckedText,
    Evidence,
    checks_to_readout,
    generations_to_readout,
)
from longform.critics.verifiability.train import open_entailment
from longform.datasets.fever import PageFile
from longform.datasets.fever import claims_of as known_claims
from longform.datasets.synthetic_world.corruptions import SOUND
from longform.datasets.synthetic_world.fever_corpus import UNKNOWN, Verifier, read_claim
from longform.decoding.continuations import CONTINUATION, prefix_of

NEI = LABELS[2]
Label = tuple[str, Evidence]
MOST_TOKENS = 50  # massarelli2020 section 3: longer sentences count as not enough information
POSSESSIVE = frozenset(["his", "its", "their", "hers", "theirs"])
PRONOUNS = POSSESSIVE | {"he", "she", "it", "they", "him", "them", "her"}
_WORD = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_CLOSED = re.compile(r"[.!?][\"'”’)\]]*$")


@dataclass(frozen=True)
class Written:
    """What the generation says of itself: see :func:`longform.decoding.continuations.generate`."""

    setting: str
    page: str
    repeat: int
    prefix_perplexity: float
    nats: Sequence[float]
    marks: Sequence[int]
    tokens: np.ndarray
    reference: np.ndarray


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    domain: str | None = None,
    splitter: str = "full_stops",
) -> Readout:
    """Verdicts on the first five sentences of every continuation; see :class:`CheckedGeneration`.

    Args:
        truth: of the generations, as ``continuations.py`` writes it.
        domain: the planted domain of the pages, where exact verdicts are wanted too.

    Raises BadInput: texts that ``continuations.py`` did not write.
    """
    checker = open_checker(reader)
    marker = Marker(checker, verifier_of_lines(checker.pages, domain) if domain else None, splitter)
    pairs = list(zip(documents, written_of(documents, truth, name), strict=True))
    found = [marker.claims(document, about, name) for document, about in pairs]
    checker.check([claim.text for claims, _ in found for claim in claims if claim.verifiable])
    for claims, text in found:
        for part in (text, *(claim.source for claim in claims)):
            marker.compared.update(_grams(part))
    return generations_to_readout([marker.mark(document, about, name) for document, about in pairs])


def open_checker(folder: Path) -> Checker:
    """A saved checker; nothing outside its folder is read."""
    missing = [n for n in ("checker.json", *PageFile.FILES, *PageIndex.FILES) if not (folder / n).is_file()]
    if missing:
        raise BadInput(f"{folder}: no {' and '.join(missing[:2])}; name a folder that verifiability trained")
    record, pages = json.loads((folder / "checker.json").read_text(encoding="utf-8")), PageFile(folder)
    retrieval, selection = retrieval_and_selection(pages, record)
    return Checker(pages, retrieval, selection, open_entailment(folder, record), record["sure"])


def verifier_of_lines(pages: Mapping[str, Sequence[str]], domain: str) -> Verifier:
    """What frozen pages state, by the rules that their sentences were made with; the first statement counts."""
    stated: dict[tuple[str, str], tuple[str, tuple[str, int]]] = {}
    for title, lines in pages.items():
        for number, line in enumerate(lines):
            for triple in read_claim(line, domain):
                if triple.title == title:
                    stated.setdefault((title, triple.relation), (triple.value, (title, number)))
    return Verifier(domain, stated)


def written_of(documents: Sequence[Document], truth: Mapping[str, np.ndarray], name: str) -> list[Written]:
    """The truth of generations, one record a document."""
    columns, ragged = (
        ("setting", "page", "repeat", "prefix_nats", "prefix_tokens"),
        ("token_nats", "token_marks", "token", "reference"),
    )
    missing = [key for key in (*columns, *ragged) if key not in truth]
    if missing:
        raise BadInput(f"infer {name}: the texts have no {missing[0]!r} beside them; texts come from continuations.py")
    if len(truth["setting"]) != len(documents):
        got = len(truth["setting"])
        raise BadInput(f"infer {name}: {len(documents)} documents, truth of {got}; run generate again")
    pieces = (np.split(truth[key], np.cumsum(truth[f"{key}_lengths"])[:-1]) for key in ragged)
    return [
        Written(
            setting,
            page,
            repeat,
            math.exp(-nats / count) if count else math.nan,
            values.tolist(),
            marks.tolist(),
            *rest,
        )
        for setting, page, repeat, nats, count, values, marks, *rest in zip(
            *(truth[key].tolist() for key in columns), *pieces, strict=True
        )
    ]


@dataclass(frozen=True)
class Marker:
    """A checker and everything else that reads a generation.

    Attributes:
        compared: words and pairs of words of all texts that will be compared with pages.
    """

    checker: Checker
    verifier: Verifier | None
    splitter: str
    compared: set[str] = field(default_factory=set)

    def claims(self, document: Document, written: Written, name: str) -> "tuple[list[Claim], str]":
        """Claims of the first sentences, and the text that they come from; of human texts the prefix is the first one."""
        texts = {section.title: section.text for section in document.sections[1:]}
        if CONTINUATION not in texts:
            raise BadInput(
                f"infer {name}: document {document.id!r} has no continuation; texts come from continuations.py"
            )
        opening = f"{document.sections[0].text} " if written.setting == "human" else ""
        text = " ".join(f"{opening}{texts[CONTINUATION]}".split())
        return claims_of(text, document.sections[0].title or "", SPLITTERS[self.splitter]), text

    def mark(self, document: Document, written: Written, name: str) -> CheckedGeneration:
        """Everything about one generation."""
        claims, text = self.claims(document, written, name)
        title, similarity = document.sections[0].title or "", self._similarity
        verdicts = [self.checker.check([c.text])[0] if c.verifiable else Verdict(NEI, frozenset()) for c in claims]
        truths = [self._true(claim) for claim in claims]
        nats = _nats(claims, written, document)
        same = [claim.source for claim in claims]
        rows = [
            self._row(claim, title, verdict, true, nats[n], same.index(claim.source))
            for n, (claim, verdict, true) in enumerate(zip(claims, verdicts, truths, strict=True))
        ]
        unit, split = document.id, document.split
        return CheckedGeneration(
            unit,
            split,
            written.setting,
            written.page,
            checked(unit, split, [(v.label, v.evidence) for v in verdicts]),
            checked(unit, split, [t for t in truths if t is not None]) if self.verifier else None,
            TokenText(unit, split, written.tokens, written.reference),
            np.array(rows, dtype=np.float64).reshape(len(rows), len(SENTENCE_COLUMNS)),
            np.array([written.prefix_perplexity, similarity.score(text, title), written.repeat]),
            tuple(claim.text for claim in claims),
            tuple(self._lines(verdict) for verdict in verdicts),
        )

    def _lines(self, verdict: Verdict) -> str:
        return " ".join(f"{page}: {self.checker.pages[page][line]}" for page, line in verdict.lines)

    def _true(self, claim: "Claim") -> Label | None:
        if self.verifier is None:
            return None
        found = self.verifier.check(claim.text) if claim.verifiable else None
        return (NEI, frozenset()) if found is None or found.label == UNKNOWN else (found.label, found.evidence)

    def _row(
        self, claim: "Claim", title: str, verdict: Verdict, true: Label | None, nats: float, same: int
    ) -> tuple[float, ...]:
        words = len(claim.source.split())
        found = float(bool(true[1] & frozenset(verdict.lines))) if true and true[1] else math.nan
        traits = (words, entities(claim.source), conjunctions(claim.source), self._links(claim.source))
        judged = (verdict.support, verdict.refutation, verdict.conflict)
        return (
            *traits, self._similarity.score(claim.source, title), nats, same, *judged,
            claim.named, claim.pronouns, claim.cut, found,
        )  # fmt: skip

    @cached_property
    def _similarity(self) -> PageSimilarity:
        return _SimilarityOfTexts(self.checker.pages, self.compared)

    @cached_property
    def _links(self) -> Callable[[str], float]:
        return link_parser()


@dataclass(frozen=True)
class _SimilarityOfTexts(PageSimilarity):
    """Counts over millions of pages only what some texts have; of other texts it knows nothing."""

    grams: Set[str]

    @cached_property
    def _frequency(self) -> Counter[str]:
        pages = (" ".join(lines) for lines in self.pages.values())
        return Counter(gram for page in pages for gram in self.grams & set(_grams(page)))


def _nats(claims: "Sequence[Claim]", written: Written, document: Document) -> list[float]:
    sources = [claim.source for claim in claims]
    if written.setting == "human":
        return [math.nan, *mean_nats(sources[1:], written.nats, written.marks)] if sources else []
    return mean_nats(sources, written.nats, written.marks)


def checked(unit: str, split: str, rows: Sequence[Label]) -> CheckedText:
    """Verdicts of one text from its labels with their evidence."""
    labels, evidence = zip(*rows, strict=True) if rows else ((), ())
    return CheckedText(unit, split, tuple(labels), tuple(evidence))


@dataclass(frozen=True)
class Claim:
    """One sentence, ready for a checker.

    Attributes:
        text: what is checked.
        source: the sentence as it was generated.
        verifiable: False where the sentence is too long; it counts as not enough information.
        named: whether the determiner rule put the title in.
        pronouns: how many pronouns were replaced.
        cut: the sentence does not end in a closing mark, so the generation ran out inside it.
    """

    text: str
    source: str
    verifiable: bool
    named: bool
    pronouns: int
    cut: bool


def claims_of(text: str, title: str, split: Callable[[str], Sequence[str]]) -> list[Claim]:
    """The first five sentences of a text as claims about the page ``title``; an empty text has none."""
    made = []
    for sentence in [sentence.strip() for sentence in split(text) if sentence.strip()][:SENTENCES]:
        resolved, replaced = replace_pronoun(sentence, title)
        named = replace_determiner(resolved, title)
        words, cut = _WORD.findall(sentence), _CLOSED.search(sentence) is None
        made.append(Claim(named or resolved, sentence, len(words) <= MOST_TOKENS, named is not None, replaced, cut))
    return made


def replace_determiner(sentence: str, title: str) -> str | None:
    """The sentence with its opening "the" and common noun replaced by the title; None where the rule does not fire.

    A noun with a capital is a name, and "The United States" stays. "The war ended" becomes "<title> ended": the rule
    over-applies by design (massarelli2020 section 3), which is why it is counted.
    """
    spans = [match.span() for match in _WORD.finditer(sentence)]
    words = [sentence[start:end] for start, end in spans]
    if len(words) < 2 or words[0].lower() != "the" or NounRules().classes(words)[1] != NOUN or not words[1].islower():
        return None
    return title + sentence[spans[1][1] :]


def replace_pronoun(sentence: str, title: str) -> tuple[str, int]:
    """A pronoun of the third person that opens a sentence means the page's subject; how many were replaced.

    A baseline for texts about one subject, not coreference resolution.
    """
    words = _WORD.findall(sentence)
    if not words or words[0].lower() not in PRONOUNS:
        return sentence, 0
    before_noun = len(words) > 1 and NounRules().classes(words)[1] in (NOUN, ADJECTIVE)
    possessive = words[0].lower() in POSSESSIVE or (words[0].lower() == "her" and before_noun)
    return sentence.replace(words[0], f"{title}'s" if possessive else title, 1), 1


def read_claims(
    *, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str] = ("test",)
) -> Readout:
    """Verdicts on the claims of the named splits, each beside its label; see :func:`claim_readout`.

    Args:
        documents: pages and claims, see :mod:`longform.datasets.fever`; the checker uses its own pages.
        reader: folder of a trained checker.
    """
    found = [(document.split, claim) for document, claim in known_claims(documents) if document.split in splits]
    if not found:
        raise BadInput(f"infer {name}: no claims in splits {list(splits)}; fix splits, or name a corpus of fever.py")
    rows = [(f"claim:{claim.id}", split, "claims", claim.text) for split, claim in found]
    return claim_readout(rows, open_checker(reader), [(claim.label, frozenset(claim.evidence)) for _, claim in found])


def claim_readout(claims: Sequence[tuple[str, str, str, str]], checker: Checker, true: Sequence[Label]) -> Readout:
    """Claims with known labels as units of one sentence each, (id, split, kind, text)."""
    verdicts = checker.check([text for _, _, _, text in claims])
    units = []
    for (unit, split, kind, text), verdict, label in zip(claims, verdicts, true, strict=True):
        found = float(label[1] <= frozenset(verdict.lines)) if label[1] else math.nan
        row = np.full((1, len(SENTENCE_COLUMNS)), math.nan)
        known = {"words": len(text.split()), "support": verdict.support, "refutation": verdict.refutation}
        for column, value in {**known, "conflict": verdict.conflict, "found": found}.items():
            row[0, SENTENCE_COLUMNS.index(column)] = value
        nothing = np.zeros(0, dtype=np.int64)
        checks, truth = checked(unit, split, [(verdict.label, verdict.evidence)]), checked(unit, split, [label])
        tokens = TokenText(unit, split, nothing, nothing)
        about = np.full(len(UNIT_COLUMNS), math.nan)
        units.append(CheckedGeneration(unit, split, kind, unit, checks, truth, tokens, row, about))
    return generations_to_readout(units)


def read_facts(*, documents: Sequence[Document], name: str, domain: str, title_from: str = "definition") -> Readout:
    """A verdict on every sentence of every document: supported, refuted, or not enough information."""
    pages = [document for document in documents if document.id.startswith(f"{SOUND}/")]
    verifier = verifier_of(pages, domain, "rules", title_from)
    if not verifier.stated:
        raise BadInput(f"infer {name}: {len(pages)} sound articles state no fact of domain {domain!r}; fix domain")
    units = []
    for document in documents:
        verdicts = [verifier.check(sentence) for sentence in sentence_texts(document.text)]
        labels = tuple("not_enough_info" if v.label == UNKNOWN else v.label for v in verdicts)
        evidence = tuple(frozenset() if v.label == UNKNOWN else v.evidence for v in verdicts)
        units.append(CheckedText(document.id, document.split, labels, evidence))
    return checks_to_readout(units)


def verifier_of(pages: Iterable[Document], domain: str, splitter: str, title_from: str) -> Verifier:
    """What the pages of a corpus state, read back from their texts; of pages with one title the first one counts."""
    lines: dict[str, Sequence[str]] = {}
    for page in pages:
        title = prefix_of(page, splitter, title_from)[0]
        lines.setdefault(title, SPLITTERS[splitter](" ".join(page.text.split())))
    return verifier_of_lines(lines, domain)
