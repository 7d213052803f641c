"""The first two parts of a fact checker: pages for a claim, and sentences of those pages (Hanselowski et al. 2018).

Nothing is fetched: pages are given when a part is made. A part is replaced by any object with the same method.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import bm25s
import numpy as np

_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_BRACKET = re.compile(r" \([^)]*\)$")
K1, B = 1.2, 0.75  # Lucene's defaults, which bm25s's method "lucene" is an implementation of
PAGES = 7  # Hanselowski et al. 2018, section 3.1
LINES = 5  # the evidence of FEVER: at most five sentences (Thorne et al. 2018)
LONGEST_TITLE = 12  # words; longer titles are found by BM25 alone

Pages = Mapping[str, Sequence[str]]  # title -> lines
Line = tuple[str, int]


class PageRetrieval(Protocol):
    """Pages that may say something about a claim, best first."""

    def pages_for(self, claim: str) -> list[str]:
        """Titles."""


class SentenceSelection(Protocol):
    """Lines of the given pages that may say something about a claim, best first."""

    def lines_for(self, claim: str, titles: Sequence[str]) -> list[Line]:
        """(page, line) pairs."""


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
        filtered: keep BM25's pages only if all words of their title stand in the claim.
    """

    pages: Pages
    limit: int = PAGES
    filtered: bool = True

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
        return [t for t in best if not self.filtered or set(words(_BRACKET.sub("", t))) <= inside]


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
    """Places of the highest positive scores, of equals the first; only places with a score are sorted."""
    found = np.flatnonzero(scores > 0)
    return found[np.argsort(-scores[found], kind="stable")[:limit]].tolist()
