"""The three parts together: pages, sentences, labels; and one verdict from several sentences.

Every selected sentence is judged alone. A claim has the label of the sentence that is surest of it; where one sentence
supports and another refutes it, each with at least ``sure``, the evidence is in conflict and the verdict is not enough
information, marked as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from longform.critics.verifiability.fact_checker.entailment import LABELS, Entailment, Pair
from longform.critics.verifiability.fact_checker.retrieval import Line, PageRetrieval, Pages, SentenceSelection

SURE = 0.5  # a label that is more probable than all others together
SUPPORTED, REFUTED, NEITHER = range(3)


@dataclass(frozen=True)
class Verdict:
    """A label, the line that it rests on (none for not enough information), and how it came about.

    Attributes:
        support, refutation: the highest probability over the selected lines.
        lines: the lines that were judged, best first.
        conflict: one line supports and another refutes.
    """

    label: str
    evidence: frozenset[Line]
    support: float = 0.0
    refutation: float = 0.0
    lines: tuple[Line, ...] = ()
    conflict: bool = False


@dataclass(frozen=True)
class Checker:
    """Any three parts; verdicts of equal claims are made once."""

    pages: Pages
    retrieval: PageRetrieval
    selection: SentenceSelection
    entailment: Entailment
    sure: float = SURE
    _known: dict[str, Verdict] = field(default_factory=dict, repr=False, compare=False)

    def check(self, claims: Sequence[str]) -> list[Verdict]:
        """One verdict per claim; no page or no line is not enough information."""
        new = [claim for claim in dict.fromkeys(claims) if claim not in self._known]
        lines = {claim: self.lines(claim) for claim in new}
        pairs = [Pair(claim, page, self.pages[page][n]) for claim in new for page, n in lines[claim]]
        probabilities = self.entailment.probabilities(pairs) if pairs else np.zeros((0, 3))
        ends = np.cumsum([len(lines[claim]) for claim in new])
        for claim, rows in zip(new, np.split(probabilities, ends[:-1]) if new else [], strict=True):
            self._known[claim] = verdict(lines[claim], rows, self.sure)
        return [self._known[claim] for claim in claims]

    def lines(self, claim: str) -> tuple[Line, ...]:
        """The lines on which a claim is judged."""
        return tuple(self.selection.lines_for(claim, self.retrieval.pages_for(claim)))


def verdict(lines: Sequence[Line], probabilities: np.ndarray, sure: float = SURE) -> Verdict:
    """One verdict from (lines, 3) probabilities; see the module's text."""
    if not len(lines):
        return Verdict(LABELS[NEITHER], frozenset())
    best = probabilities.argmax(0)
    support, refutation = float(probabilities[best[0], 0]), float(probabilities[best[1], 1])
    judged = tuple(lines)
    if min(support, refutation) >= sure:
        return Verdict(LABELS[NEITHER], frozenset(), support, refutation, judged, conflict=True)
    if max(support, refutation) < sure:
        return Verdict(LABELS[NEITHER], frozenset(), support, refutation, judged)
    side = SUPPORTED if support >= refutation else REFUTED
    return Verdict(LABELS[side], frozenset([judged[best[side]]]), support, refutation, judged)
