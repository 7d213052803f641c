r"""Section titles and the filters over articles (deng2022 section 4 and appendix E), in the paper's order.

1. normalise titles: lower case, lemmas, no numbers, one spelling;
2. delete sections whose title says that they are no prose (see also, reference ...);
3. drop an article with too few sections left, or with any section too long or too short;
4. drop an article with an infrequent title; counts are taken once, on the training articles that survive step 3.

Articles stream: they are read once to decide and once more to keep, so a whole Wikipedia does not lie in memory."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Corpus, Document, Section, ragged
from longform.errors import BadInput, InputError
from longform.text.nouns import AMERICAN, lemma
from longform.text.paragraphs import from_lines, to_lines
from longform.text.sentences import sentence_texts

REMOVED = (
    "see also",
    "external link",
    "reference",
    "further reading",
    "note",
    "source",
)  # deng2022 section 4

LOWER_BOUND = "pieces, a lower bound of GPT-2's tokens"

_NUMBER = re.compile(r"(?<![\w-])[\d.,:/–-]*\d[\d.,:/–-]*(?:st|nd|rd|th|s)?(?![\w-])")
_LABEL = re.compile(
    r"\[[^\[\]\s]*\]"
)  # LaTeX labels that Cohan et al.'s arXiv titles carry: "[sec:intro]introduction"
_ROMAN = re.compile(r"^\s*[ivxl]+\s*[.)](?=\s)", re.IGNORECASE)  # "IV. Results"
_WORD = re.compile(r"[^\W\d_](?:[^\s/]*[^\W_])?|&")
# GPT-2's own cutting rule before its byte pairs: every piece is at least one token, so this counts from below
_PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def normalise(title: str) -> str:
    """``"2. Materials & Methods"`` -> ``"material and method"``; a title of numbers alone gives ``""``."""
    composed = unicodedata.normalize("NFC", title).lower()
    bare = _NUMBER.sub(" ", _ROMAN.sub(" ", _LABEL.sub(" ", composed)))
    words = (lemma("and" if word == "&" else word) for word in _WORD.findall(bare))
    return " ".join(AMERICAN.get(word, word) for word in words)


def piece_count(text: str) -> int:
    """Pieces before byte-pair merging: a lower bound of GPT-2's token count that needs no vocabulary."""
    return sum(1 for _ in _PIECE.finditer(text))


def token_counter(tokenizer: Path | None) -> Callable[[str], int]:
    """A counter from a ``tokenizer.json`` (GPT-2's for the paper's thresholds); without one, :func:`piece_count`."""
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
    """Thresholds, the paper's for WIKI by default (deng2022 section 4); PUBMED and ARXIV, whose abstract is no section, want 3 sections.

    Sections of ``max_tokens`` and ``min_tokens`` themselves are kept. ``min_title_count`` is of training articles: 4,000 WIKI, 500
    PUBMED, 200 ARXIV. Sections of a normalised title in ``removed`` are deleted.
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
                f"min_tokens {self.min_tokens} is above max_tokens {self.max_tokens}; no article can pass"
            )


@dataclass(frozen=True)
class Selection:
    """What the filters kept, in reading order, with the tokens of each section, one int64 array per document.

    ``dropped`` counts articles by reason (with those kept they add up to what was read), ``removed_sections`` deleted ones by title.
    """

    documents: list[Document]
    lengths: list[np.ndarray]
    dropped: Counter[str]
    removed_sections: Counter[str] = field(default_factory=Counter)


def select(
    articles: Iterable[Document],
    filters: Filters,
    count: Callable[[str], int],
    splitter: Callable[[list[str]], list[str]] | None = None,
) -> Selection:
    """Steps 1 to 4 over a re-iterable of articles, which is read twice; of those with one id the first that fits is taken.

    ``count`` gives the tokens of a text, ``splitter`` the split of each surviving id before titles are counted (None: the articles' own).
    """
    if isinstance(articles, Iterator):
        raise BadInput(
            "articles can be read only once, two passes are needed; pass a list or a re-iterable reader"
        )
    dropped, removed = Counter[str](), Counter[str]()
    passed: dict[str, tuple[str, tuple[str, ...], np.ndarray]] = {}
    for article in articles:
        document, deleted = cleaned(article, filters.removed)
        removed.update(deleted)
        titles = tuple(section.title or "" for section in document.sections)
        lengths = np.array(
            [count(to_lines(section.text)) for section in document.sections], dtype=np.int64
        )
        if not all(titles):
            dropped["untitled section"] += 1
        elif len(lengths) < filters.min_sections:
            dropped["too few sections"] += 1
        elif lengths.max(initial=0) > filters.max_tokens:
            dropped["section too long"] += 1
        elif lengths.min(initial=filters.min_tokens) < filters.min_tokens:
            dropped["section too short"] += 1
        elif article.id in passed:
            dropped["repeated id"] += 1
        else:
            passed[article.id] = document.split, titles, lengths
    splits = dict(
        zip(
            passed,
            splitter(list(passed)) if splitter else [row[0] for row in passed.values()],
            strict=True,
        )
    )
    counts = Counter(
        title
        for unit, (_, titles, _) in passed.items()
        if splits[unit] == "train"
        for title in titles
    )
    common = {title for title, number in counts.items() if number >= filters.min_title_count}
    kept = {
        unit: lengths for unit, (_, titles, lengths) in passed.items() if common.issuperset(titles)
    }
    dropped["infrequent title"] += len(passed) - len(kept)
    documents: dict[str, Document] = {}
    for article in articles:
        if article.id in kept and article.id not in documents:
            document, _ = cleaned(article, filters.removed)
            if len(document.sections) == len(kept[article.id]):
                documents[article.id] = replace(document, split=splits[article.id])
    return Selection([*documents.values()], [kept[unit] for unit in documents], +dropped, removed)


def cleaned(article: Document, removed: Iterable[str]) -> tuple[Document, list[str]]:
    """Steps 1 and 2 on one article, and the titles of the sections that were deleted."""
    removed = frozenset(removed)
    texts = [
        from_lines(section.text) for section in article.sections
    ]  # the readers give one paragraph a line
    titles = [normalise(section.title or "") for section in article.sections]
    kept = tuple(Section(*row) for row in zip(titles, texts, strict=True) if row[0] not in removed)
    return replace(article, sections=kept), [title for title in titles if title in removed]


def shortened(selection: Selection, max_tokens: int = 500) -> Selection:
    """WIKI-SHORT: articles whose longest section has at most 500 tokens (deng2022 section 4, Table 3)."""
    pairs = zip(selection.documents, selection.lengths, strict=True)
    kept = [(document, lengths) for document, lengths in pairs if lengths.max() <= max_tokens]
    longer = Counter({"longer than the short subset allows": len(selection.documents) - len(kept)})
    documents, lengths = [document for document, _ in kept], [lengths for _, lengths in kept]
    return replace(
        selection, documents=documents, lengths=lengths, dropped=selection.dropped + longer
    )


def is_film(document: Document) -> bool:
    """The released code on the first section's first sentence: it has a token ``film``, none ``born``, and fits ``.*is a.*film.*``."""
    first = sentence_texts(document.sections[0].text)[:1] if document.sections else []
    tokens = set(re.findall(r"\w+", first[0])) if first else set()
    return (
        "film" in tokens
        and "born" not in tokens
        and bool(re.match(r".*is a.*film.*", first[0], re.DOTALL))
    )


def table_11(selection: Selection, split: str = "validation") -> dict[str, float | int | None]:
    """One row of Table 11: articles per split, section types, and section statistics of one split (None where it is empty)."""
    documents, rows = (
        selection.documents,
        [r for r, d in enumerate(selection.documents) if d.split == split],
    )
    counts = Counter(document.split for document in documents)
    lengths = (
        np.concatenate([selection.lengths[row] for row in rows])
        if rows
        else np.array([], dtype=np.int64)
    )
    return {
        **{name: counts[name] for name in ("train", "validation", "test")},
        "section_types": len(
            {section.title for document in documents for section in document.sections}
        ),
        "med_sections": float(np.median([len(selection.lengths[row]) for row in rows]))
        if rows
        else None,
        "med_section_len": float(np.median(lengths)) if rows else None,
        "max_section_len": int(lengths.max()) if rows else None,
    }


def filtered_corpus(
    selection: Selection, count: Callable[[str], int], raw: Path, read: Mapping[str, Any]
) -> Corpus:
    """What the filters kept as a corpus; ``read`` are facts on what was read before.

    ``truth["section_tokens"]`` is int64, flat over documents, with ``section_tokens_lengths``; facts hold articles by reason of dropping,
    deleted sections by title, and the row of Table 11.
    """
    if not selection.documents:
        told = f"{raw}: no article left ({dict(read)}, dropped {dict(selection.dropped)})"
        if not selection.dropped.total():  # none came as far as the filters
            raise InputError(
                f"{told}; no record is an article of the form that is read here, see docs/data_cards"
            )
        raise InputError(f"{told}; loosen the filters")
    truth = ragged("section_tokens", selection.lengths, np.int64)
    dropped: dict[str, Any] = {
        "dropped": selection.dropped,
        "removed_sections": selection.removed_sections,
    }
    facts = {"kept": len(selection.documents), **dropped, "table_11": table_11(selection)}
    unit = LOWER_BOUND if count is piece_count else "tokens"
    return Corpus(selection.documents, truth, {**read, **facts, "token_unit": unit})


def settings(kind: Any, given: Mapping[str, Any]) -> Any:
    """A dataclass of settings from an entry's mapping. Raises BadInput: a key that the dataclass does not have."""
    allowed = sorted(field.name for field in fields(kind))
    if unknown := sorted(set(given) - set(allowed)):
        raise BadInput(f"{kind.__name__} has no {unknown}, allowed are {allowed}; fix the entry")
    return kind(**given)
