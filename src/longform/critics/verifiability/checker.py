"""A fact checker over frozen pages: page retrieval, sentence selection, entailment, one verdict (Hanselowski et al. 2018).

Every selected sentence is judged alone, and a claim has the label of the sentence that is surest of it. Where one sentence supports
and another refutes it, each with at least ``sure``, the verdict is not enough information, marked as a conflict.
"""

import json
import math
import re
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import bm25s
import numpy as np

from longform.critics.verifiability.score import NEI, REFUTED, SUPPORTED, Evidence
from longform.datasets.fever import Keys, Line, PageFile, mapped
from longform.errors import BadInput

WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_BRACKET = re.compile(r" \([^)]*\)$")
K1, B = 1.2, 0.75  # Lucene's defaults, which bm25s's method "lucene" is an implementation of
PAGES = 7  # Hanselowski et al. 2018, section 3.1
LINES = 5  # the evidence of FEVER: at most five sentences (Thorne et al. 2018)
LONGEST_TITLE = 12  # words; longer titles are found by BM25 alone
PART = 10_000  # pages whose weights are in memory at a time while an index is written
FEW = 10_000  # pages of a word that are merged without asking whether they must be
ROUNDING = 1e-4  # far above what a sum of float32 loses
KEPT = 1000  # indices of the lines of some pages that are kept

Pages = Mapping[str, Sequence[str]]  # title -> lines
SURE = 0.5  # a label that is more probable than all others together


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
        """Write the model's files, and return the settings that opening it needs."""


def words(text: str) -> list[str]:
    """Lower-case words and numbers, a number with its points and commas in one."""
    return WORD.findall(text.lower())


class PageIndex:
    """Words of pages -> their BM25 weights, and words of titles -> pages, in a folder beside the pages.

    Everything is memory-mapped. The weights are bm25s's (method "lucene", float32), bit by bit.
    """

    FILES = (
        *(f"{stem}_{part}.npy" for stem in ("names", "words") for part in ("hashes", "numbers")),
        *(f"{part}.npy" for part in ("starts", "most", "postings", "weights")),
    )

    def __init__(self, folder: Path) -> None:
        self.names, self.words = Keys(folder / "names"), Keys(folder / "words")
        self.starts, self.most, self.postings, self.weights = (
            mapped(folder / name) for name in self.FILES[-4:]
        )

    @classmethod
    def write(cls, pages: PageFile) -> None:
        """Index the pages of a folder; in memory are the vocabulary and some numbers a page."""
        folder, vocabulary = pages.folder, dict[str, int]()
        lengths, sizes, names = array("i"), array("i"), array("Q")
        counts_file, columns_file = folder / "counts.partial", folder / "columns.partial"
        with counts_file.open("wb") as counts, columns_file.open("wb") as columns:
            for title, lines in pages.rows():
                found = words(f"{title} {' '.join(lines)}")
                counted = Counter(found)
                array(
                    "i", (vocabulary.setdefault(word, len(vocabulary)) for word in counted)
                ).tofile(columns)
                array("i", counted.values()).tofile(counts)
                lengths.append(len(found))
                sizes.append(len(counted))
                names.append(Keys.hashed(" ".join(words(_BRACKET.sub("", title)))))
        Keys.write(folder / "names", names)
        Keys.write(folder / "words", array("Q", map(Keys.hashed, vocabulary)))
        cls._transpose(folder, len(vocabulary), np.asarray(lengths), np.asarray(sizes))
        counts_file.unlink()
        columns_file.unlink()

    @staticmethod
    def _transpose(folder: Path, vocabulary: int, lengths: np.ndarray, sizes: np.ndarray) -> None:
        """Counts by page -> weights by word, some pages at a time."""
        ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        total, pages = int(ends[-1]), len(sizes)
        starts, most = np.zeros(vocabulary + 1, np.int64), np.zeros(vocabulary, np.float32)
        shape = max(total, 1)  # a file of nothing cannot be mapped
        made = np.lib.format.open_memmap
        postings = made(folder / "postings.npy", "w+", np.int32, (shape,))
        weights = made(folder / "weights.npy", "w+", np.float32, (shape,))
        parts = [slice(start, min(start + PART, pages)) for start in range(0, pages, PART)]

        def read(name: str, part: slice) -> np.ndarray:
            first, last = int(ends[part.start]), int(ends[part.stop])
            return np.fromfile(folder / f"{name}.partial", np.int32, last - first, offset=4 * first)

        for part in parts:
            starts[1:] += np.bincount(read("columns", part), minlength=vocabulary)
        idf = [math.log(1 + (pages - n + 0.5) / (n + 0.5)) for n in starts[1:].tolist()]
        np.cumsum(starts, out=starts)
        heads, idf32, mean = (
            starts[:-1].copy(),
            np.array(idf, np.float32),
            max(lengths.sum(), 1) / max(pages, 1),
        )
        for part in parts:
            columns, times = read("columns", part), read("counts", part).astype(np.float32)
            long = np.repeat(K1 * ((1 - B) + B * lengths[part] / mean), sizes[part])
            rows = np.repeat(np.arange(part.start, part.stop, dtype=np.int32), sizes[part])
            found = (idf32[columns] * (times / (long + times))).astype(np.float32)
            np.maximum.at(most, columns, found)
            order = np.argsort(columns, kind="stable")
            own, first, counts = np.unique(columns[order], return_index=True, return_counts=True)
            places = np.repeat(heads[own] - first, counts) + np.arange(len(order))
            postings[places], weights[places] = rows[order], found[order]
            heads[own] += counts
        postings.flush()
        weights.flush()
        np.save(folder / "starts.npy", starts)
        np.save(folder / "most.npy", most)

    def best(self, tokens: Sequence[str], limit: int) -> list[int]:
        """Pages with the highest scores, as scoring every page finds them, without it (MaxScore: Turtle and Flood 1995).

        Words are taken from the rarest on, until pages that have only the others cannot reach the best ones any more.
        """
        query = [column for token in tokens if (column := self.words.get(token)) is not None]
        bound = {column: n * float(self.most[column]) for column, n in Counter(query).items()}
        rest, least = sum(bound.values()), 0.0
        pages: np.ndarray = np.zeros(0, np.int32)
        sums: np.ndarray = np.zeros(0)
        for column in sorted(bound, key=lambda c: (self.starts[c + 1] - self.starts[c], c)):
            own = slice(self.starts[column], self.starts[column + 1])
            if own.stop - own.start > FEW:
                least = self._reached(query, pages, sums, limit)
            if least > rest * (1 + ROUNDING):
                break
            pages, places = np.unique(
                np.concatenate([pages, self.postings[own]]), return_inverse=True
            )
            weight = bound[column] / float(self.most[column]) * self.weights[own].astype(np.float64)
            sums, rest = (
                np.bincount(places, np.concatenate([sums, weight]), len(pages)),
                rest - bound[column],
            )
        if len(pages) > FEW:
            least = self._reached(query, pages, sums, limit)
        pages = pages[sums + rest * (1 + ROUNDING) >= least * (1 - ROUNDING)]
        return [int(pages[i]) for i in _best(self._scores(query, pages).astype(np.float64), limit)]

    def _reached(
        self, query: Sequence[int], pages: np.ndarray, sums: np.ndarray, limit: int
    ) -> float:
        """A score that so many pages have at least."""
        if len(pages) < limit:
            return 0.0
        return float(
            self._scores(query, np.sort(pages[np.argpartition(sums, -limit)[-limit:]])).min()
        )

    def _scores(self, query: Sequence[int], pages: np.ndarray) -> np.ndarray:
        """Of some pages; summed in the claim's order, in float32, as bm25s does."""
        scores = np.zeros(len(pages), np.float32)
        for column in query:
            own = slice(self.starts[column], self.starts[column + 1])
            places = np.minimum(
                np.searchsorted(self.postings[own], pages), own.stop - own.start - 1
            )
            scores += np.where(
                self.postings[own][places] == pages, self.weights[own][places], np.float32(0)
            )
        return scores


def frozen(folder: Path, pages: Iterable[tuple[str, Sequence[str]]]) -> PageFile:
    """Pages with their index in a folder."""
    made = PageFile.write(folder, pages)
    PageIndex.write(made)
    return made


@dataclass(frozen=True)
class TitlesAndBm25:
    """At most ``limit`` pages: those whose title stands in the claim, then the best of BM25 whose title's words all do.

    The title filter is Hanselowski et al.'s (a bracket at a title's end is left out); they ask the live search of
    Wikipedia where this asks BM25 over the pages' titles and texts.
    """

    pages: PageFile
    limit: int = PAGES

    @cached_property
    def _index(self) -> PageIndex:
        return PageIndex(self.pages.folder)

    def pages_for(self, claim: str) -> list[str]:
        """Titles in the claim, longest first, a title inside a longer one left out; then BM25's."""
        tokens = words(claim)
        taken, found = [False] * len(tokens), dict[str, None]()
        for size in range(min(len(tokens), LONGEST_TITLE), 0, -1):
            for start in range(len(tokens) - size + 1):
                if any(taken[start : start + size]):
                    continue
                number = self._index.names.get(" ".join(tokens[start : start + size]))
                if number is not None:
                    taken[start : start + size] = [True] * size
                    found[self.pages.row(number)[0]] = None
        if len(found) < self.limit and len(self.pages):
            best = [self.pages.row(number)[0] for number in self._index.best(tokens, self.limit)]
            found |= dict.fromkeys(
                t for t in best if set(words(_BRACKET.sub("", t))) <= set(tokens)
            )
        return list(found)[: self.limit]


@dataclass(frozen=True)
class Bm25Lines:
    """At most ``limit`` lines of pages, by BM25 among their lines, each read as ``title line``; no line without overlap."""

    pages: Pages
    limit: int = LINES
    _indices: dict[tuple[str, ...], tuple[list[Line], Any]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def lines_for(self, claim: str, titles: Sequence[str]) -> list[Line]:
        """(page, line) pairs; none where no page is known or nothing overlaps."""
        known = tuple(title for title in titles if title in self.pages)
        if known not in self._indices:
            rows = [
                (title, n)
                for title in known
                for n, line in enumerate(self.pages[title])
                if words(line)
            ]
            index = _bm25([words(f"{title} {self.pages[title][n]}") for title, n in rows])
            if len(self._indices) == KEPT:
                self._indices.clear()
            self._indices[known] = rows, index
        rows, index = self._indices[known]
        return [rows[i] for i in _best(_scores(index, words(claim), len(rows)), self.limit)]


def selector(pages: PageFile, settings: Mapping[str, Any]) -> Callable[[str], list[Line]]:
    """What finds the lines on which a claim is judged, by an entry's settings of ``retrieval`` and ``selection``."""
    try:
        retrieval, selection = (
            TitlesAndBm25(pages, **settings["retrieval"]),
            Bm25Lines(pages, **settings["selection"]),
        )
    except TypeError as error:
        raise BadInput(
            f"fact checker: {error}; see TitlesAndBm25 and Bm25Lines for their settings"
        ) from None
    return lambda claim: selection.lines_for(claim, retrieval.pages_for(claim))


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
    """A label, the line that it rests on (none for not enough information), and how it came about."""

    label: str = NEI
    evidence: Evidence = frozenset()
    support: float = 0.0  # the highest probability over the selected lines, and likewise
    refutation: float = 0.0
    lines: tuple[Line, ...] = ()  # the lines that were judged, best first
    conflict: bool = False  # one line supports and another refutes


@dataclass(frozen=True)
class Checker:
    """Pages, what finds their lines for a claim, and what judges them; verdicts of equal claims are made once."""

    pages: PageFile
    lines: Callable[[str], Sequence[Line]]
    entailment: Entailment
    settings: Mapping[str, Any]  # of ``retrieval``, ``selection``, and the verdict (``sure``)
    _known: dict[str, Verdict] = field(default_factory=dict, repr=False, compare=False)

    def check(self, claims: Sequence[str]) -> list[Verdict]:
        """One verdict per claim; no page or no line is not enough information."""
        new = [claim for claim in dict.fromkeys(claims) if claim not in self._known]
        lines = {claim: self.lines(claim) for claim in new}
        pairs = [
            Pair(claim, page, self.pages[page][n]) for claim in new for page, n in lines[claim]
        ]
        probabilities = self.entailment.probabilities(pairs) if pairs else np.zeros((0, 3))
        ends = np.cumsum([len(lines[claim]) for claim in new])
        for claim, rows in zip(new, np.split(probabilities, ends[:-1]) if new else [], strict=True):
            self._known[claim] = verdict(lines[claim], rows, self.settings["sure"])
        return [self._known[claim] for claim in claims]

    def save(self, folder: Path) -> None:
        """Pages on disk, their index, the model and ``checker.json``, in one folder that needs nothing else."""
        for name in (*PageFile.FILES, *PageIndex.FILES):
            shutil.copyfile(self.pages.folder / name, folder / name)
        record = {**self.settings, **self.entailment.save(folder)}
        (folder / "checker.json").write_text(
            json.dumps(record, sort_keys=True, indent=1) + "\n", encoding="utf-8"
        )


def verdict(lines: Sequence[Line], probabilities: np.ndarray, sure: float = SURE) -> Verdict:
    """One verdict from (lines, 3) probabilities; see the module's text."""
    if not len(lines):
        return Verdict()
    best = probabilities.argmax(0)
    support, refutation = float(probabilities[best[0], 0]), float(probabilities[best[1], 1])
    about = support, refutation, tuple(lines)
    if min(support, refutation) >= sure or max(support, refutation) < sure:
        return Verdict(NEI, frozenset(), *about, conflict=min(support, refutation) >= sure)
    label, line = (
        (SUPPORTED, lines[best[0]]) if support >= refutation else (REFUTED, lines[best[1]])
    )
    return Verdict(label, frozenset([line]), *about)
