"""A fact checker over frozen pages: page retrieval, sentence selection, entailment, one verdict (Hanselowski et al. 2018).

Every selected sentence is judged alone, and a claim has the label of the sentence that is surest of it. Where one sentence supports
and another refutes it, each with at least ``sure``, the verdict is not enough information, marked as a conflict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import bm25s
import numpy as np

from longform.core.documents import BadInput
from longform.critics.verifiability.score import LABELS

_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_BRACKET = re.compile(r" \([^)]*\)$")
K1, B = 1.2, 0.75  # Lucene's defaults, which bm25s's method "lucene" is an implementation of
PAGES = 7  # Hanselowski et al. 2018, section 3.1
LINES = 5  # the evidence of FEVER: at most five sentences (Thorne et al. 2018)
LONGEST_TITLE = 12  # words; longer titles are found by BM25 alone

Pages = Mapping[str, Sequence[str]]  # title -> lines
Line = tuple[str, int]
SURE = 0.5  # a label that is more probable than all others together
SUPPORTED, REFUTED, NEITHER = range(3)


@dataclass(frozen=True)
class Pair:
    """A claim and a sentence of the page ``title``."""

    claim: str
    title: str
    sentence: str


class Entailment(Protocol):
    """Probabilities of ``LABELS`` for pairs, and how the model is kept in a checker's folder."""

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """float64 (pairs, 3), rows sum to one."""

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the model's files; the settings that opening it needs."""


def words(text: str) -> list[str]:
    """Lower-case words and numbers, a number with its points and commas in one."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class TitlesAndBm25:
    """Pages whose title stands in the claim, then the best of BM25 whose title's words all do.

    The title filter is Hanselowski et al.'s (a bracket at a title's end is left out); they ask the live search of
    Wikipedia where this asks BM25 over the pages' titles and texts.

    Attributes:
        pages: title to lines.
        limit: the most pages of a claim.
    """

    pages: Pages
    limit: int = PAGES

    @cached_property
    def _titles(self) -> dict[tuple[str, ...], str]:
        found: dict[tuple[str, ...], str] = {}
        for title in self.pages:
            found.setdefault(tuple(words(_BRACKET.sub("", title))), title)
        return found

    @cached_property
    def _names(self) -> list[str]:
        return list(self.pages)

    @cached_property
    def _index(self) -> Any:
        return _bm25([words(f"{title} {' '.join(lines)}") for title, lines in self.pages.items()])

    def pages_for(self, claim: str) -> list[str]:
        """Titles in the claim, longest first, a title inside a longer one left out; then BM25's."""
        tokens = words(claim)
        found = self._named(tokens)
        if len(found) < self.limit and len(self.pages):
            found += [title for title in self._searched(tokens) if title not in found]
        return found[: self.limit]

    def _named(self, tokens: Sequence[str]) -> list[str]:
        taken, found = [False] * len(tokens), []
        for size in range(min(len(tokens), LONGEST_TITLE), 0, -1):
            for start in range(len(tokens) - size + 1):
                title = self._titles.get(tuple(tokens[start : start + size]))
                if title is not None and not any(taken[start : start + size]):
                    taken[start : start + size] = [True] * size
                    found.append(title)
        return list(dict.fromkeys(found))

    def _searched(self, tokens: Sequence[str]) -> list[str]:
        scores = _scores(self._index, tokens, len(self.pages))
        best, inside = [self._names[i] for i in _best(scores, self.limit)], set(tokens)
        return [t for t in best if set(words(_BRACKET.sub("", t))) <= inside]


@dataclass(frozen=True)
class Bm25Lines:
    """The best lines of the pages by BM25 among those lines, each read as ``title line``; lines without overlap are left.

    Attributes:
        limit: the most lines of a claim.
    """

    pages: Pages
    limit: int = LINES
    _indices: dict[tuple[str, ...], tuple[list[Line], Any]] = field(default_factory=dict, repr=False, compare=False)

    def lines_for(self, claim: str, titles: Sequence[str]) -> list[Line]:
        """(page, line) pairs; none where no page is known or nothing overlaps."""
        known = tuple(title for title in titles if title in self.pages)
        if known not in self._indices:
            rows = [(title, n) for title in known for n, line in enumerate(self.pages[title]) if words(line)]
            index = _bm25([words(f"{title} {self.pages[title][n]}") for title, n in rows])
            self._indices[known] = rows, index
        rows, index = self._indices[known]
        scores = _scores(index, words(claim), len(rows))
        return [rows[i] for i in _best(scores, self.limit)]


def _bm25(texts: Sequence[Sequence[str]]) -> Any:
    if not any(texts):
        return None
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index([list(text) for text in texts], show_progress=False)
    return index


def _scores(index: Any, tokens: Sequence[str], rows: int) -> np.ndarray:
    """(rows,) scores; zero where a text shares no word with the query."""
    known = [token for token in tokens if index is not None and token in index.vocab_dict]
    return np.asarray(index.get_scores(known), dtype=np.float64) if known else np.zeros(rows)


def _best(scores: np.ndarray, limit: int) -> list[int]:
    found = np.flatnonzero(scores > 0)
    return found[np.argsort(-scores[found], kind="stable")[:limit]].tolist()


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
    retrieval: TitlesAndBm25
    selection: Bm25Lines
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


@dataclass(frozen=True)
class SavedChecker:
    """What a train stage saves; ``settings`` are those of retrieval, selection and verdict."""

    pages: Pages
    settings: Mapping[str, Any]
    entailment: Entailment

    def save(self, folder: Path) -> None:
        rows = [json.dumps({"title": t, "lines": list(lines)}, ensure_ascii=False) for t, lines in self.pages.items()]
        (folder / "pages.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        record = {**self.settings, **self.entailment.save(folder)}
        (folder / "checker.json").write_text(json.dumps(record, sort_keys=True, indent=1) + "\n", encoding="utf-8")


def retrieval_and_selection(pages: Pages, settings: Mapping[str, Any]) -> tuple[TitlesAndBm25, Bm25Lines]:
    """The first two parts from an entry's settings."""
    try:
        return TitlesAndBm25(pages, **settings["retrieval"]), Bm25Lines(pages, **settings["selection"])
    except TypeError as error:
        raise BadInput(f"fact checker: {error}; see TitlesAndBm25 and Bm25Lines for their settings") from None
