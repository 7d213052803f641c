"""A fact checker's verdicts on generated texts, with the planted truth and the counts of Table 4 beside them.

The reader is the folder of a ``fact_checker`` model, which holds its pages: nothing outside it is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from longform.critics.verifiability.checked_generations import (
    SENTENCE_COLUMNS,
    UNIT_COLUMNS,
    CheckedGeneration,
    generations_to_readout,
)
from longform.critics.verifiability.claims import Claim, claims_of, opening_pronouns
from longform.critics.verifiability.fact_checker import open_checker
from longform.critics.verifiability.fact_checker.checking import Checker, Verdict
from longform.critics.verifiability.verdicts import LABELS, CheckedText, Evidence
from longform.datasets.synthetic_world.claims import UNKNOWN, Verifier, read_claim
from longform.decoding.prefixes import CONTINUATION
from longform.documents import BadInput, Document, Readout
from longform.text.sentence_traits import PageSimilarity, conjunctions, entities, link_parser, mean_nats
from longform.text.sentences import SPLITTERS
from longform.text.token_texts import TokenText

NEI = LABELS[2]
Label = tuple[str, Evidence]


@dataclass(frozen=True)
class Written:
    """What the generation says of itself: see ``generations.decoding.generate``."""

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
    pronouns: bool = True,
) -> Readout:
    """Verdicts on the first five sentences of every continuation; see :class:`CheckedGeneration`.

    Args:
        truth: of the generations, as ``decoding.py`` writes it.
        domain: the planted domain of the pages, where exact verdicts are wanted too.
        pronouns: replace an opening pronoun by the page's title.

    Raises:
        BadInput: texts that ``decoding.py`` did not write.
    """
    checker = open_checker(reader)
    marker = Marker(checker, verifier_of_lines(checker.pages, domain) if domain else None, splitter, pronouns)
    pairs = list(zip(documents, written_of(documents, truth, name), strict=True))
    checker.check([claim.text for d, w in pairs for claim in marker.claims(d, w, name)[0] if claim.verifiable])
    return generations_to_readout([marker.mark(document, about, name) for document, about in pairs])


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
    """The truth of generations, one record a document.

    Raises:
        BadInput: arrays that are missing or of another length.
    """
    try:
        ragged = {
            key: np.split(truth[key], np.cumsum(truth[f"{key}_lengths"])[:-1])
            for key in ("token", "token_nats", "token_marks", "reference")
        }
        columns = [truth[key].tolist() for key in ("setting", "page", "repeat", "prefix_nats", "prefix_tokens")]
    except KeyError as error:
        raise BadInput(f"infer {name}: the texts have no {error} beside them; texts come from decoding.py") from None
    if len(columns[0]) != len(documents):
        raise BadInput(f"infer {name}: {len(documents)} documents, truth of {len(columns[0])}; run generate again")
    rows = zip(*columns, *(ragged[key] for key in ("token_nats", "token_marks", "token", "reference")), strict=True)
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
        for setting, page, repeat, nats, count, values, marks, *rest in rows
    ]


@dataclass(frozen=True)
class Marker:
    """A checker and everything else that reads a generation."""

    checker: Checker
    verifier: Verifier | None
    splitter: str
    pronouns: bool

    def claims(self, document: Document, written: Written, name: str) -> tuple[list[Claim], str]:
        """Claims of the first sentences, and the text that they come from; of human texts the prefix is the first one."""
        texts = {section.title: section.text for section in document.sections[1:]}
        if CONTINUATION not in texts:
            raise BadInput(f"infer {name}: document {document.id!r} has no continuation; texts come from decoding.py")
        opening = f"{document.sections[0].text} " if written.setting == "human" else ""
        text = " ".join(f"{opening}{texts[CONTINUATION]}".split())
        resolve = opening_pronouns if self.pronouns else None
        return claims_of(text, document.sections[0].title or "", SPLITTERS[self.splitter], resolve=resolve), text

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
            _checked(unit, split, [(v.label, v.evidence) for v in verdicts]),
            _checked(unit, split, [t for t in truths if t is not None]) if self.verifier else None,
            TokenText(unit, split, written.tokens, written.reference),
            np.array(rows, dtype=np.float64).reshape(len(rows), len(SENTENCE_COLUMNS)),
            np.array([written.prefix_perplexity, similarity.score(text, title), written.repeat]),
            tuple(claim.text for claim in claims),
            tuple(self._lines(verdict) for verdict in verdicts),
        )

    def _lines(self, verdict: Verdict) -> str:
        return " ".join(f"{page}: {self.checker.pages[page][line]}" for page, line in verdict.lines)

    def _true(self, claim: Claim) -> Label | None:
        if self.verifier is None:
            return None
        found = self.verifier.check(claim.text) if claim.verifiable else None
        return (NEI, frozenset()) if found is None or found.label == UNKNOWN else (found.label, found.evidence)

    def _row(
        self, claim: Claim, title: str, verdict: Verdict, true: Label | None, nats: float, same: int
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
        return PageSimilarity(self.checker.pages)

    @cached_property
    def _links(self) -> Callable[[str], float]:
        return link_parser()


def _nats(claims: Sequence[Claim], written: Written, document: Document) -> list[float]:
    """Mean log-probability of each sentence; that of a human text's first one, the prefix, is not known."""
    sources = [claim.source for claim in claims]
    if written.setting == "human":
        return [math.nan, *mean_nats(sources[1:], written.nats, written.marks)] if sources else []
    return mean_nats(sources, written.nats, written.marks)


def _checked(unit: str, split: str, rows: Sequence[Label]) -> CheckedText:
    labels, evidence = zip(*rows, strict=True) if rows else ((), ())
    return CheckedText(unit, split, tuple(labels), tuple(evidence))


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
        checks, truth = _checked(unit, split, [(verdict.label, verdict.evidence)]), _checked(unit, split, [label])
        tokens = TokenText(unit, split, nothing, nothing)
        about = np.full(len(UNIT_COLUMNS), math.nan)
        units.append(CheckedGeneration(unit, split, kind, unit, checks, truth, tokens, row, about))
    return generations_to_readout(units)
