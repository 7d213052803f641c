r"""Section titles and filters over articles, in the order of deng2022 section 4 and appendix E.

1. Normalise titles: lower case, lemmas, no numbers, one spelling.
2. Delete sections whose title says that they are no prose (see also, reference ...).
3. Drop an article with too few sections left, or with any section too long or too short.
4. Drop an article with an infrequent title. Counts are taken once, on the training articles that
   survive step 3.

Articles stream: they are read once to decide and once more to keep, so a whole Wikipedia does not
lie in memory.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Corpus, Document, Section, ragged
from longform.errors import BadInput, InputError
from longform.text.nouns import AMERICAN, lemma
from longform.text.paragraphs import from_lines, to_lines
from longform.text.sentences import sentence_texts

# deng2022 section 4
REMOVED = ("see also", "external link", "reference", "further reading", "note", "source")

LOWER_BOUND = "pieces, a lower bound of GPT-2's tokens"

_NUMBER = re.compile(r"(?<![\w-])[\d.,:/–-]*\d[\d.,:/–-]*(?:st|nd|rd|th|s)?(?![\w-])")
# LaTeX labels that Cohan et al.'s arXiv titles carry: "[sec:intro]introduction"
_LABEL = re.compile(r"\[[^\[\]\s]*\]")
_ROMAN = re.compile(r"^\s*[ivxl]+\s*[.)](?=\s)", re.IGNORECASE)  # "IV. Results"
_WORD = re.compile(r"[^\W\d_](?:[^\s/]*[^\W_])?|&")
# GPT-2's own cutting rule before its byte pairs: every piece is at least one token, so this counts
# from below
_PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def normalise(title: str) -> str:
    """``"2. Materials & Methods"`` -> ``"material and method"``; numbers alone give ``""``."""
    text = unicodedata.normalize("NFC", title).lower()
    for unwanted in (_LABEL, _ROMAN, _NUMBER):
        text = unwanted.sub(" ", text)
    words = []
    for word in _WORD.findall(text):
        base = lemma("and" if word == "&" else word)
        words.append(AMERICAN.get(base, base))
    return " ".join(words)


def piece_count(text: str) -> int:
    """Pieces before byte-pair merging: at most as many as GPT-2's tokens; needs no vocabulary."""
    return sum(1 for _ in _PIECE.finditer(text))


def token_counter(tokenizer: Path | None) -> Callable[[str], int]:
    """A function that counts the tokens of a text.

    Args:
        tokenizer: a ``tokenizer.json``, GPT-2's for the paper's thresholds; None for
            :func:`piece_count`.

    Raises BadInput: no such file.
    """
    if tokenizer is None:
        return piece_count
    if not tokenizer.is_file():
        raise BadInput(
            f"{tokenizer}: no such file; put GPT-2's tokenizer.json there, or set tokenizer to null"
        )
    from tokenizers import Tokenizer

    encode = Tokenizer.from_file(str(tokenizer)).encode
    return lambda text: len(encode(text, add_special_tokens=False).ids)


@dataclass(frozen=True)
class Filters:
    """Thresholds (deng2022 section 4), by default the paper's for WIKI.

    Attributes:
        min_sections: of an article; 4 for WIKI, 3 for PUBMED and ARXIV, whose abstract is no
            section.
        max_tokens, min_tokens: of a section; one of just so many is kept.
        min_title_count: training articles with a title: 4,000 WIKI, 500 PUBMED, 200 ARXIV.
        removed: normalised titles of sections that are deleted.
    """

    min_sections: int = 4
    max_tokens: int = 2000
    min_tokens: int = 30
    min_title_count: int = 4000
    removed: tuple[str, ...] = REMOVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "removed", tuple(self.removed))
        if self.min_tokens > self.max_tokens:
            raise BadInput(
                f"min_tokens {self.min_tokens} is above max_tokens {self.max_tokens}; "
                "no article can pass"
            )


@dataclass(frozen=True)
class Selection:
    """The articles that passed the filters.

    Attributes:
        documents: in reading order.
        lengths: for each document, the tokens of its sections, int64 (sections,).
        dropped: number of dropped articles, by reason; with ``documents`` they add up to all.
        removed_sections: number of deleted sections, by title.
    """

    documents: list[Document]
    lengths: list[np.ndarray]
    dropped: Counter[str]
    removed_sections: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Outline:
    """What the second reading needs of an article that passed step 3."""

    split: str
    titles: tuple[str, ...]
    lengths: np.ndarray  # int64, tokens of each section


def select(
    articles: Iterable[Document],
    filters: Filters,
    count: Callable[[str], int],
    splitter: Callable[[list[str]], list[str]] | None = None,
) -> Selection:
    """Apply steps 1 to 4 to articles; of those with one id, take the first that passes.

    Args:
        articles: an iterable that can be read twice.
        filters: the thresholds.
        count: how many tokens a text has.
        splitter: gives the split of each id that passes step 3, before titles are counted; None
            keeps the articles' own splits.

    Returns:
        The articles that pass, with normalised titles and without deleted sections.

    Raises BadInput: the articles can be read only once.
    """
    if isinstance(articles, Iterator):
        raise BadInput(
            "articles can be read only once, two passes are needed; "
            "pass a list or a re-iterable reader"
        )
    # Steps 1 to 3.
    passed, dropped, removed = _outlines(articles, filters, count)
    # Step 4.
    splits = {unit: outline.split for unit, outline in passed.items()}
    if splitter:
        splits = dict(zip(passed, splitter(list(passed)), strict=True))
    lengths_of = _with_frequent_titles(passed, splits, filters.min_title_count)
    dropped["infrequent title"] += len(passed) - len(lengths_of)
    # The texts themselves, by a second reading. Of articles with one id, only the one that passed
    # has as many sections as its outline; ``+dropped`` leaves counts of zero out.
    documents: dict[str, Document] = {}
    for article in articles:
        if article.id not in lengths_of or article.id in documents:
            continue
        document, _ = cleaned(article, filters.removed)
        if len(document.sections) == len(lengths_of[article.id]):
            documents[article.id] = replace(document, split=splits[article.id])
    lengths = [lengths_of[unit] for unit in documents]
    return Selection(list(documents.values()), lengths, +dropped, removed)


def _outlines(
    articles: Iterable[Document], filters: Filters, count: Callable[[str], int]
) -> tuple[dict[str, _Outline], Counter[str], Counter[str]]:
    """Steps 1 to 3.

    Args:
        articles, filters, count: of :func:`select`.

    Returns:
        The articles that pass, by id; how many do not, by reason; and the deleted sections, by
        title.
    """
    dropped = Counter[str]()
    removed = Counter[str]()
    passed: dict[str, _Outline] = {}
    for article in articles:
        # 1. Sections that no article keeps are deleted.
        document, deleted = cleaned(article, filters.removed)
        removed.update(deleted)
        # 2. The article passes by the titles and lengths of those that are left.
        titles = tuple(section.title or "" for section in document.sections)
        counts = [count(to_lines(section.text)) for section in document.sections]
        reason = _reason_to_drop(titles, counts, filters)
        if not reason and article.id in passed:
            reason = "repeated id"
        if reason:
            dropped[reason] += 1
        else:
            lengths = np.array(counts, dtype=np.int64)
            passed[article.id] = _Outline(document.split, titles, lengths)
    return passed, dropped, removed


def _with_frequent_titles(
    outlines: Mapping[str, _Outline], splits: Mapping[str, str], min_count: int
) -> dict[str, np.ndarray]:
    """Step 4: tokens of each section of the articles whose titles are all frequent, by id.

    Args:
        outlines: of the articles, by id.
        splits: of the articles, by id; titles are counted in split train.
        min_count: training sections that a frequent title has at least.
    """
    title_counts = Counter[str]()
    for unit, outline in outlines.items():
        if splits[unit] == "train":
            title_counts.update(outline.titles)
    frequent = {title for title, n in title_counts.items() if n >= min_count}
    lengths_of = {}
    for unit, outline in outlines.items():
        if frequent.issuperset(outline.titles):
            lengths_of[unit] = outline.lengths
    return lengths_of


def _reason_to_drop(titles: Sequence[str], lengths: Sequence[int], filters: Filters) -> str:
    """Why an article does not pass step 3; the empty string where it passes.

    Args:
        titles: of its sections.
        lengths: their tokens.
        filters: the thresholds.
    """
    if not all(titles):
        return "untitled section"
    if len(lengths) < filters.min_sections:
        return "too few sections"
    if max(lengths, default=0) > filters.max_tokens:
        return "section too long"
    if min(lengths, default=filters.min_tokens) < filters.min_tokens:
        return "section too short"
    return ""


def cleaned(article: Document, removed: Iterable[str]) -> tuple[Document, list[str]]:
    """Apply steps 1 and 2 to one article.

    Args:
        article: its sections have one paragraph a line.
        removed: normalised titles of sections that are deleted.

    Returns:
        The article that is left, and the titles of the deleted sections.
    """
    removed = frozenset(removed)
    sections = []
    deleted = []
    for section in article.sections:
        title = normalise(section.title or "")
        if title in removed:
            deleted.append(title)
        else:
            sections.append(Section(title, from_lines(section.text)))
    return replace(article, sections=tuple(sections)), deleted


def subset(selection: Selection, is_chosen: Sequence[bool], reason: str) -> Selection:
    """Some documents of a selection; the others are counted under a reason.

    Args:
        selection: what is chosen from.
        is_chosen: whether each document stays.
        reason: why the others are dropped.
    """
    documents = []
    lengths = []
    rows = zip(selection.documents, selection.lengths, is_chosen, strict=True)
    for document, section_lengths, stays in rows:
        if stays:
            documents.append(document)
            lengths.append(section_lengths)
    dropped = selection.dropped + Counter({reason: len(is_chosen) - len(documents)})
    return replace(selection, documents=documents, lengths=lengths, dropped=dropped)


def shortened(selection: Selection, max_tokens: int = 500) -> Selection:
    """WIKI-SHORT: articles without a section of over 500 tokens (deng2022 section 4, Table 3)."""
    short = [bool(lengths.max() <= max_tokens) for lengths in selection.lengths]
    return subset(selection, short, "longer than the short subset allows")


def is_film(document: Document) -> bool:
    """Whether a document is about a film, as deng2022's released code decides it.

    Its first section's first sentence has a token ``film``, none ``born``, and fits ``.*is
    a.*film.*``.
    """
    if not document.sections:
        return False
    sentences = sentence_texts(document.sections[0].text)
    if not sentences:
        return False
    tokens = set(re.findall(r"\w+", sentences[0]))
    if "film" not in tokens or "born" in tokens:
        return False
    return re.match(r".*is a.*film.*", sentences[0], re.DOTALL) is not None


def table_11(selection: Selection, split: str = "validation") -> dict[str, float | int | None]:
    """One row of Table 11: articles per split, section types, and statistics of sections.

    Args:
        selection: the articles.
        split: whose sections are measured; where it is empty, their statistics are None.
    """
    counts = Counter(document.split for document in selection.documents)
    titles = set[str | None]()
    lengths = []  # of the split's articles
    for document, section_lengths in zip(selection.documents, selection.lengths, strict=True):
        titles.update(section.title for section in document.sections)
        if document.split == split:
            lengths.append(section_lengths)
    row: dict[str, float | int | None] = {
        "train": counts["train"],
        "validation": counts["validation"],
        "test": counts["test"],
        "section_types": len(titles),
        "med_sections": None,
        "med_section_len": None,
        "max_section_len": None,
    }
    if lengths:
        tokens = np.concatenate(lengths)
        row["med_sections"] = float(np.median([len(article) for article in lengths]))
        row["med_section_len"] = float(np.median(tokens))
        row["max_section_len"] = int(tokens.max())
    return row


def filtered_corpus(
    selection: Selection, count: Callable[[str], int], raw: Path, facts_before: Mapping[str, Any]
) -> Corpus:
    """The corpus of the articles that passed the filters.

    Args:
        selection: the articles.
        count: the tokens of a text, as for :func:`select`.
        raw: where the articles lie, for errors.
        facts_before: facts on what was read before the filters.

    Returns:
        ``truth["section_tokens"]`` is int64, flat over documents, with ``section_tokens_lengths``;
        facts hold articles by reason of dropping, deleted sections by title, and the row of Table
        11.

    Raises:
        InputError: no article is left.
    """
    if not selection.documents:
        outcome = (
            f"{raw}: no article left ({dict(facts_before)}, dropped {dict(selection.dropped)})"
        )
        if not selection.dropped.total():  # none came as far as the filters
            raise InputError(
                f"{outcome}; no record is an article of the form that is read here, "
                "see docs/data_cards"
            )
        raise InputError(f"{outcome}; loosen the filters")
    facts = {
        **facts_before,
        "kept": len(selection.documents),
        "dropped": selection.dropped,
        "removed_sections": selection.removed_sections,
        "table_11": table_11(selection),
        "token_unit": LOWER_BOUND if count is piece_count else "tokens",
    }
    truth = ragged("section_tokens", selection.lengths, np.int64)
    return Corpus(selection.documents, truth, facts)


def settings(kind: Any, entry: Mapping[str, Any]) -> Any:
    """Make a dataclass of settings.

    Args:
        kind: the dataclass.
        entry: its fields by name, as a file of parameters has them.

    Raises BadInput: a key that the dataclass does not have.
    """
    allowed = sorted(field.name for field in fields(kind))
    if unknown := sorted(set(entry) - set(allowed)):
        raise BadInput(f"{kind.__name__} has no {unknown}, allowed are {allowed}; fix the entry")
    return kind(**entry)
