"""A fact checker over frozen pages: page retrieval, sentence selection, entailment, one verdict.

After Hanselowski et al. 2018. Every selected sentence is judged alone, and a claim has the label of
the sentence that is surest of it. Where one sentence supports and another refutes it, each with at
least ``sure``, the verdict is not enough information, marked as a conflict.
"""

import json
import math
import re
import shutil
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import bm25s
import numpy as np

from longform.critics.verifiability.checks import NEI, REFUTED, SUPPORTED, Evidence
from longform.datasets.fever import Keys, Line, PageFile, mapped
from longform.errors import ConfigError

WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_BRACKET = re.compile(r" \([^)]*\)$")
K1, B = 1.2, 0.75  # Lucene's defaults, which bm25s's method "lucene" is an implementation of
PAGES = 7  # Hanselowski et al. 2018, section 3.1
LINES = 5  # the evidence of FEVER: at most five sentences (Thorne et al. 2018)
LONGEST_TITLE = 12  # words; longer titles are found by BM25 alone
PART = 10_000  # pages whose weights are in memory at a time while an index is written
FEW = 10_000  # pages of a word that are merged without asking whether they must be
ROUNDING = 1e-4  # relative; far above what a sum of float32 loses
CACHED_INDICES = 1000  # of the lines of some pages
SURE = 0.5  # probability: a label that is more probable than all others together

Pages = Mapping[str, Sequence[str]]  # title -> lines


@dataclass(frozen=True)
class Pair:
    """A claim and a sentence of the page ``title``."""

    claim: str
    title: str
    sentence: str


class Entailment(Protocol):
    """Probabilities of ``LABELS`` for pairs, and how the model is stored in a checker's folder."""

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """float64 (pairs, 3), rows sum to one."""

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the model's files, and return the settings that opening it needs."""


def words(text: str) -> list[str]:
    """The lower-case words and numbers of a text; a number keeps its points and commas.

    A possessive loses its ending, so that "Paris's mayor" finds the page "Paris". An accent may be
    a character of its own (NFD, as in macOS's file names) or part of its letter.
    """
    composed = unicodedata.normalize("NFC", text).lower()
    if "'" in composed or "\u2019" in composed:  # the search is slow, and most texts have none
        composed = _POSSESSIVE.sub("", composed)
    return WORD.findall(composed)


def _title_words(title: str) -> list[str]:
    """The words of a title, without a bracket at its end: of "Ajax" for "Ajax (opera)"."""
    return words(_BRACKET.sub("", title))


class PageIndex:
    """An index of pages: by their words, for BM25, and by their titles. It lies beside the pages.

    Everything is memory-mapped. The weights are bm25s's (method "lucene", float32), bit by bit.

    Attributes:
        names: numbers of pages by the words of their title.
        words: numbers of words ("columns").
        starts: first posting of each word, (words + 1,) int64.
        most: largest weight of each word, (words,) float32.
        postings, weights: pages that have each word, in order, and its weight there.
    """

    FILES = (
        "names_hashes.npy",
        "names_numbers.npy",
        "words_hashes.npy",
        "words_numbers.npy",
        "starts.npy",
        "most.npy",
        "postings.npy",
        "weights.npy",
    )

    def __init__(self, folder: Path) -> None:
        self.names = Keys(folder / "names")
        self.words = Keys(folder / "words")
        self.starts = mapped(folder / "starts.npy")
        self.most = mapped(folder / "most.npy")
        self.postings = mapped(folder / "postings.npy")
        self.weights = mapped(folder / "weights.npy")

    @classmethod
    def write(cls, pages: PageFile) -> None:
        """Index the pages of a folder, and write the index into it."""
        folder = pages.folder
        vocabulary: dict[str, int] = {}
        lengths, sizes, names = array("i"), array("i"), array("Q")
        # 1. Words and their counts, page by page, into files beside the pages.
        counts_file, columns_file = folder / "counts.partial", folder / "columns.partial"
        with counts_file.open("wb") as counts, columns_file.open("wb") as columns:
            for title, lines in pages.rows():
                page_words = words(f"{title} {' '.join(lines)}")
                word_counts = Counter(page_words)
                numbers = array("i")
                for word in word_counts:
                    numbers.append(vocabulary.setdefault(word, len(vocabulary)))
                numbers.tofile(columns)
                array("i", word_counts.values()).tofile(counts)
                lengths.append(len(page_words))
                sizes.append(len(word_counts))
                names.append(Keys.hashed(" ".join(_title_words(title))))
        # 2. The keys of titles and words.
        Keys.write(folder / "names", names)
        Keys.write(folder / "words", array("Q", map(Keys.hashed, vocabulary)))
        # 3. Weights by word.
        cls._transpose(
            folder,
            vocabulary=len(vocabulary),
            lengths=np.asarray(lengths),
            sizes=np.asarray(sizes),
        )
        counts_file.unlink()
        columns_file.unlink()

    @staticmethod
    def _transpose(folder: Path, vocabulary: int, lengths: np.ndarray, sizes: np.ndarray) -> None:
        """Turn the files of counts, page by page, into files of weights, word by word.

        Args:
            folder: of both.
            vocabulary: number of words.
            lengths: words of each page, (pages,).
            sizes: distinct words of each page, (pages,).
        """
        pages = len(sizes)
        ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        parts = []
        for start in range(0, pages, PART):
            parts.append(slice(start, min(start + PART, pages)))

        def read(name: str, part: slice) -> np.ndarray:
            """The column or the count of each distinct word of some pages, page by page."""
            first, last = int(ends[part.start]), int(ends[part.stop])
            return np.fromfile(folder / f"{name}.partial", np.int32, last - first, offset=4 * first)

        # 1. How many pages have each word, and so its inverse document frequency.
        starts = np.zeros(vocabulary + 1, np.int64)
        for part in parts:
            starts[1:] += np.bincount(read("columns", part), minlength=vocabulary)
        idf = [math.log(1 + (pages - n + 0.5) / (n + 0.5)) for n in starts[1:].tolist()]
        idf32 = np.array(idf, np.float32)
        np.cumsum(starts, out=starts)
        # 2. The files that are filled. A file of nothing cannot be mapped.
        shape = (max(int(ends[-1]), 1),)
        create = np.lib.format.open_memmap
        postings = create(folder / "postings.npy", "w+", np.int32, shape)
        weights = create(folder / "weights.npy", "w+", np.float32, shape)
        largest = np.zeros(vocabulary, np.float32)
        mean_length = max(lengths.sum(), 1) / max(pages, 1)
        next_free = starts[:-1].copy()  # the next posting of each word to fill
        for part in parts:
            # 3. The weights of these pages (BM25).
            columns = read("columns", part)
            times = read("counts", part).astype(np.float32)
            saturation = K1 * ((1 - B) + B * lengths[part] / mean_length)
            saturation = np.repeat(saturation, sizes[part])
            part_weights = (idf32[columns] * (times / (saturation + times))).astype(np.float32)
            np.maximum.at(largest, columns, part_weights)
            # 4. Sorted by word, each behind the postings that its word has already.
            rows = np.repeat(np.arange(part.start, part.stop, dtype=np.int32), sizes[part])
            order = np.argsort(columns, kind="stable")
            distinct, first, counts = np.unique(
                columns[order], return_index=True, return_counts=True
            )
            targets = np.repeat(next_free[distinct] - first, counts) + np.arange(len(order))
            postings[targets] = rows[order]
            weights[targets] = part_weights[order]
            next_free[distinct] += counts
        # 5. Onto the disk.
        postings.flush()
        weights.flush()
        np.save(folder / "starts.npy", starts)
        np.save(folder / "most.npy", largest)

    def best(self, tokens: Sequence[str], limit: int) -> list[int]:
        """The numbers of the pages with the highest BM25 scores, best first.

        Not every page is scored: words are taken from the rarest on, until pages that have only the
        remaining words cannot reach the best ones any more (MaxScore: Turtle and Flood 1995).

        Args:
            tokens: words of the query.
            limit: how many pages.
        """
        # 1. The query's known words, and what each can add at most.
        query = []
        for token in tokens:
            column = self.words.get(token)
            if column is not None:
                query.append(column)
        bound = {}
        for column, times in Counter(query).items():
            bound[column] = times * float(self.most[column])
        rest = sum(bound.values())  # what the words that are left can add
        reached = 0.0  # a score that ``limit`` pages have at least
        # 2. Merge the pages of each word, rarest first.
        pages: np.ndarray = np.zeros(0, np.int32)
        sums: np.ndarray = np.zeros(0)
        for column in sorted(bound, key=self._rarity):
            postings = slice(self.starts[column], self.starts[column + 1])
            if postings.stop - postings.start > FEW:
                reached = self._reached(query, pages, sums, limit)
            if reached > rest * (1 + ROUNDING):
                break
            merged = np.concatenate([pages, self.postings[postings]])
            pages, rows = np.unique(merged, return_inverse=True)
            repeats = bound[column] / float(self.most[column])  # of the word in the query
            added = repeats * self.weights[postings].astype(np.float64)
            sums = np.bincount(rows, np.concatenate([sums, added]), len(pages))
            rest = rest - bound[column]
        # 3. Score the pages that can still be among the best.
        if len(pages) > FEW:
            reached = self._reached(query, pages, sums, limit)
        pages = pages[sums + rest * (1 + ROUNDING) >= reached * (1 - ROUNDING)]
        scores = self._scores(query, pages).astype(np.float64)
        return [int(pages[i]) for i in _best(scores, limit)]

    def _rarity(self, column: int) -> tuple[int, int]:
        """A key that sorts words by how many pages have them, ties by the word's number."""
        return self.starts[column + 1] - self.starts[column], column

    def _reached(
        self, query: Sequence[int], pages: np.ndarray, sums: np.ndarray, limit: int
    ) -> float:
        """A score that at least ``limit`` pages reach: the least of the likeliest pages' scores."""
        if len(pages) < limit:
            return 0.0
        likeliest = np.sort(pages[np.argpartition(sums, -limit)[-limit:]])
        return float(self._scores(query, likeliest).min())

    def _scores(self, query: Sequence[int], pages: np.ndarray) -> np.ndarray:
        """BM25 scores of some pages, float32 (pages,), summed in the query's order as bm25s does.

        Args:
            query: columns of the claim's words.
            pages: numbers of pages, ascending.
        """
        scores = np.zeros(len(pages), np.float32)
        for column in query:
            span = slice(self.starts[column], self.starts[column + 1])
            postings, weights = self.postings[span], self.weights[span]
            # Where each page would stand among the pages that have the word.
            rows = np.minimum(np.searchsorted(postings, pages), len(postings) - 1)
            scores += np.where(postings[rows] == pages, weights[rows], np.float32(0))
        return scores


def frozen(folder: Path, pages: Iterable[tuple[str, Sequence[str]]]) -> PageFile:
    """Write pages and their index into a folder, and open them."""
    page_file = PageFile.write(folder, pages)
    PageIndex.write(page_file)
    return page_file


@dataclass(frozen=True)
class TitlesAndBm25:
    """Retrieval of pages for a claim: by titles in it, then by BM25.

    The title filter is Hanselowski et al.'s (a bracket at a title's end is left out); they ask the
    live search of Wikipedia where this asks BM25 over the pages' titles and texts.

    Attributes:
        pages: what is searched.
        limit: pages at most.
    """

    pages: PageFile
    limit: int = PAGES

    @cached_property
    def _index(self) -> PageIndex:
        """The index beside the pages."""
        return PageIndex(self.pages.folder)

    def pages_for(self, claim: str) -> list[str]:
        """Titles in the claim, longest first, then BM25's pages; ``limit`` titles at most.

        A title inside a longer one is left out, and a page of BM25 whose title has a word more than
        the claim.
        """
        tokens = words(claim)
        titles = self._titles_in(tokens)
        if len(titles) < self.limit and len(self.pages):
            for number in self._index.best(tokens, self.limit):
                title = self.pages.row(number)[0]
                if set(_title_words(title)) <= set(tokens):
                    titles[title] = None
        return list(titles)[: self.limit]

    def _titles_in(self, tokens: Sequence[str]) -> dict[str, None]:
        """The titles among a claim's words, longest first; each word belongs to one title."""
        taken = [False] * len(tokens)
        titles: dict[str, None] = {}
        for size in range(min(len(tokens), LONGEST_TITLE), 0, -1):
            for start in range(len(tokens) - size + 1):
                span = slice(start, start + size)
                if any(taken[span]):
                    continue
                number = self._index.names.get(" ".join(tokens[span]))
                if number is not None:
                    taken[span] = [True] * size
                    titles[self.pages.row(number)[0]] = None
        return titles


@dataclass(frozen=True)
class Bm25Lines:
    """Selection of lines for a claim: the best of some pages by BM25, each read as ``title line``.

    Attributes:
        pages: what is searched.
        limit: lines at most; a line without a word of the claim is none of them.
    """

    pages: Pages
    limit: int = LINES
    _indices: dict[tuple[str, ...], tuple[list[Line], Any]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def lines_for(self, claim: str, titles: Sequence[str]) -> list[Line]:
        """The selected lines as (title, number), best first; none where nothing overlaps."""
        rows, index = self._index_of(tuple(title for title in titles if title in self.pages))
        scores = _bm25_scores(index, words(claim), len(rows))
        return [rows[i] for i in _best(scores, self.limit)]

    def _index_of(self, titles: tuple[str, ...]) -> tuple[list[Line], Any]:
        """(page, number) of each line with words of some pages, and a BM25 index of these lines.

        Both are cached.
        """
        if titles not in self._indices:
            rows, texts = [], []
            for title in titles:
                for number, line in enumerate(self.pages[title]):
                    if words(line):
                        rows.append((title, number))
                        texts.append(words(f"{title} {line}"))
            if len(self._indices) == CACHED_INDICES:
                self._indices.clear()
            self._indices[titles] = rows, _bm25(texts)
        return self._indices[titles]


def selector(pages: PageFile, settings: Mapping[str, Any]) -> Callable[[str], list[Line]]:
    """A function from a claim to the lines on which it is judged, as (title, number), best first.

    Args:
        pages: what is searched.
        settings: mappings ``retrieval`` and ``selection``, each of which may have a ``limit``.

    Raises ConfigError: a setting that :class:`TitlesAndBm25` or :class:`Bm25Lines` does not have.
    """
    for part, kind in (("retrieval", TitlesAndBm25), ("selection", Bm25Lines)):
        unknown = settings[part].keys() - {"limit"}
        if unknown:
            raise ConfigError(
                f"fact checker: {part} has unexpected keyword {sorted(unknown)}; "
                f"{kind.__name__} has the setting limit alone"
            )
    retrieval = TitlesAndBm25(pages, **settings["retrieval"])
    selection = Bm25Lines(pages, **settings["selection"])
    return lambda claim: selection.lines_for(claim, retrieval.pages_for(claim))


def _bm25(texts: Sequence[Sequence[str]]) -> Any:
    """A BM25 index of texts, each a list of words; None where no text has a word."""
    if not any(texts):
        return None
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index(list(map(list, texts)), show_progress=False)
    return index


def _bm25_scores(index: Any, query: Sequence[str], num_texts: int) -> np.ndarray:
    """BM25 of each indexed text for a query; 0 where they share no word.

    Args:
        index: what :func:`_bm25` made of the texts; None where none has a word.
        query: its words.
        num_texts: that were indexed.

    Returns:
        float64 (num_texts,).
    """
    if index is None:
        return np.zeros(num_texts)
    # The library fails on a query without words, and ignores those that it has not indexed.
    indexed_words = [word for word in query if word in index.vocab_dict]
    if not indexed_words:
        return np.zeros(num_texts)
    return np.asarray(index.get_scores(indexed_words), dtype=np.float64)


def _best(scores: np.ndarray, limit: int) -> list[int]:
    """Indices of the highest positive scores, best first; the first wins a tie."""
    positive = np.flatnonzero(scores > 0)
    order = np.argsort(-scores[positive], kind="stable")
    return positive[order[:limit]].tolist()


@dataclass(frozen=True)
class Verdict:
    """A checker's verdict on a claim.

    Attributes:
        label: one of ``LABELS``.
        evidence: the line that it rests on; none for not enough information.
        support, refutation: the highest probability of each label over the selected lines.
        lines: the selected lines, which were judged, best first.
        conflict: one line supports and another refutes.
    """

    label: str = NEI
    evidence: Evidence = frozenset()
    support: float = 0.0
    refutation: float = 0.0
    lines: tuple[Line, ...] = ()
    conflict: bool = False


@dataclass(frozen=True)
class Checker:
    """Verdicts of claims; those of equal claims are made once.

    Attributes:
        pages: the encyclopedia.
        lines: finds the lines on which a claim is judged.
        entailment: judges a claim on a line.
        settings: of ``retrieval``, ``selection``, and the verdict (``sure``).
    """

    pages: PageFile
    lines: Callable[[str], Sequence[Line]]
    entailment: Entailment
    settings: Mapping[str, Any]
    _verdicts: dict[str, Verdict] = field(default_factory=dict, repr=False, compare=False)

    def check(self, claims: Sequence[str]) -> list[Verdict]:
        """One verdict per claim; a claim without a line is labelled not enough information."""
        # 1. The lines of claims that were not checked before.
        lines, pairs = {}, []
        for claim in claims:
            if claim in self._verdicts or claim in lines:
                continue
            lines[claim] = self.lines(claim)
            for page, number in lines[claim]:
                pairs.append(Pair(claim, page, self.pages[page][number]))
        # 2. All pairs are judged at once.
        probabilities = self.entailment.probabilities(pairs) if pairs else np.zeros((0, 3))
        start = 0
        for claim, own_lines in lines.items():
            stop = start + len(own_lines)
            rows = probabilities[start:stop]
            self._verdicts[claim] = verdict(own_lines, rows, self.settings["sure"])
            start = stop
        return [self._verdicts[claim] for claim in claims]

    def save(self, folder: Path) -> None:
        """Write pages, index, model and ``checker.json`` into a folder that needs nothing else."""
        for name in (*PageFile.FILES, *PageIndex.FILES):
            shutil.copyfile(self.pages.folder / name, folder / name)
        record = {**self.settings, **self.entailment.save(folder)}
        text = json.dumps(record, sort_keys=True, indent=1) + "\n"
        (folder / "checker.json").write_text(text, encoding="utf-8")


def verdict(lines: Sequence[Line], probabilities: np.ndarray, sure: float = SURE) -> Verdict:
    """One verdict from the judged lines; see the module's text.

    Args:
        lines: on which the claim was judged.
        probabilities: of ``LABELS``, (lines, 3).
        sure: probability from which a line supports or refutes.
    """
    if not len(lines):
        return Verdict()
    best = probabilities.argmax(0)
    support = float(probabilities[best[0], 0])
    refutation = float(probabilities[best[1], 1])
    label, line = SUPPORTED, lines[best[0]]
    if refutation > support:
        label, line = REFUTED, lines[best[1]]
    conflict = min(support, refutation) >= sure
    if conflict or max(support, refutation) < sure:
        return Verdict(NEI, frozenset(), support, refutation, tuple(lines), conflict)
    return Verdict(label, frozenset([line]), support, refutation, tuple(lines))
