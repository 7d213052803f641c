r"""WikiSection cities (Arnold et al. 2019) as the bridge papers publish them, and in WikiSection's own JSON.

Three raw forms are read, told apart by what the file holds:

* *marked*: one article a line, ``[ ABSTRACT ] text [ HISTORY ] text ...`` (Wang et al. 2022);
* *plain*: the same lines without markers (the file that BBScore scores); each article is one untitled section;
* *JSON* (``.json``): a list of ``{"id", "title", "abstract", "text", "annotations": [{"begin", "length",
  "sectionHeading", "sectionLabel"}]}``; a section's text is ``text[begin:begin + length]``.

An article that cannot be used is set aside and counted by reason, never silently.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import BadInput, Corpus, Document, Section
from longform.resampling import generator
from longform.text.sentences import sentence_texts

MARKER = re.compile(r"\[ ([A-Z][A-Z /&'-]*) \](?: |$)")  # Wang et al. 2022: upper case, blanks inside the brackets
ABSTRACT = "abstract"
SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}  # Arnold et al. 2019, section 3

Parsed = tuple[str, tuple[Section, ...]] | str  # an article's id and sections, or why it was set aside


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    shares: Mapping[str, float] = SHARES,
    splitter: str = "paper",
    min_sentences: int = 0,
) -> Corpus:
    """Read one file, set aside what cannot be used, split the rest by seed.

    Args:
        name: of the corpus; it does not enter the split, so the marked and the plain form of one file split alike.
        shares: fraction of articles per split; they must sum to one.
        splitter: a key of :data:`SPLITTERS`; decides only what counts as a sentence for ``min_sentences`` and facts.
        min_sentences: shorter articles are set aside (released BBScore encoder code: 5).

    Returns:
        documents in file order; ``truth["sentences"]`` is int64 (units,); facts count what was read and dropped.

    Raises:
        BadInput: no such file, not UTF-8, not JSON, an unknown splitter, bad shares, or nothing left.
    """
    parsed = list(_articles(raw))
    count = _counter(splitter)
    dropped = Counter(article for article in parsed if isinstance(article, str))
    articles = [article for article in parsed if not isinstance(article, str)]
    sentences = [sum(count(section.text) for section in sections) for _, sections in articles]
    kept = [row for row, number in enumerate(sentences) if number >= min_sentences]
    dropped.update({"too few sentences": len(articles) - len(kept)})
    if not kept:
        raise BadInput(f"{raw}: zero of {len(parsed)} articles can be used ({_told(dropped)}); check the file's form")
    splits = split_by_seed([articles[row][0] for row in kept], shares, seed)
    documents = [Document(articles[row][0], split, articles[row][1]) for row, split in zip(kept, splits, strict=True)]
    lengths = np.array([sentences[row] for row in kept], dtype=np.int64)
    facts = {"corpus": name, "articles_read": len(parsed), "dropped": {k: n for k, n in sorted(dropped.items()) if n}}
    return Corpus(documents, {"sentences": lengths}, facts | _statistics(documents, lengths, splitter))


def split_by_seed(ids: Sequence[str], shares: Mapping[str, float], seed: int) -> list[str]:
    """One split per id: ids are ranked by a draw named after seed and id, and the ranking is cut at the shares.

    Raises:
        BadInput: the shares are not positive or do not sum to one.
    """
    if any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        raise BadInput(f"shares are {dict(shares)}, allowed are positive fractions that sum to 1; mend the row")
    draws = np.array([generator(seed, "split", unit).random() for unit in ids])
    ends = np.round(np.cumsum(list(shares.values())) * len(ids)).astype(int)
    of_rank = np.repeat(list(shares), np.diff(ends, prepend=0))
    splits = np.empty(len(ids), dtype=of_rank.dtype)
    splits[np.argsort(draws, kind="stable")] = of_rank
    return splits.tolist()


def paper_sentences(text: str) -> list[str]:
    """The splitter of the released BBScore code (sheng2024): cut at every full stop followed by a blank, nowhere else.

    Abbreviations are cut, ``!`` and ``?`` are not; each sentence keeps its full stop. Unlike the encoder's
    training code, a last sentence without a full stop is kept, as the scoring code keeps it.
    """
    text = text.replace(".\n", ". ").strip()
    pieces = re.split(r"(?<=\.) ", text)
    return [piece for piece in pieces if piece.strip(". ")]


SPLITTERS: Mapping[str, Callable[[str], list[str]]] = {"paper": paper_sentences, "rules": sentence_texts}


def _counter(splitter: str) -> Callable[[str], int]:
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter is {splitter!r}, allowed are {sorted(SPLITTERS)}; mend the row")
    return lambda text: len(SPLITTERS[splitter](text))


def _articles(raw: Path) -> Iterable[Parsed]:
    if not raw.is_file():
        raise BadInput(f"{raw}: no such file; see docs/data_cards/wikisection.md for where to get it")
    try:
        content = raw.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{raw}: not UTF-8 at byte {error.start}; fetch the file again and check its SHA-256") from error
    if raw.suffix == ".json":
        return _json_articles(content, raw)
    lines = content.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    marked = any(MARKER.match(line) for line in lines)
    return (_line_article(line, number, marked) for number, line in enumerate(lines, 1))


def _line_article(line: str, number: int, marked: bool) -> Parsed:
    if not line.strip():
        return "blank line"
    unit = f"line-{number:05d}"
    if not marked:
        return unit, (Section(None, line.strip()),)
    pieces = MARKER.split(line)
    if len(pieces) < 3:
        return "no sections"
    if pieces[0].strip():
        return "text before the first marker"
    sections = zip(pieces[1::2], pieces[2::2], strict=True)
    return _usable(unit, [(title.lower(), text) for title, text in sections])


def _usable(unit: str, sections: list[tuple[str, str]]) -> Parsed:
    """An article whose every section has text and whose first one is the abstract."""
    if not sections:
        return "no sections"
    if sections[0][0] != ABSTRACT:
        return "abstract missing"
    if any(not text.strip() for _, text in sections):
        return "empty section"
    return unit, tuple(Section(title, text.strip()) for title, text in sections)


def _json_articles(content: str, raw: Path) -> Iterable[Parsed]:
    try:
        records = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{raw}: not JSON ({error}); fetch the file again and check its SHA-256") from error
    if not isinstance(records, list):
        raise BadInput(f"{raw}: got {type(records).__name__}, WikiSection JSON is a list of articles")
    return (_json_article(record, number) for number, record in enumerate(records, 1))


def _json_article(record: Any, number: int) -> Parsed:
    """The abstract and the annotated sections of one JSON article; titles are the section labels without their type."""
    try:
        text, abstract = str(record["text"]), str(record.get("abstract") or "")
        spans = [(_label(mark), int(mark["begin"]), int(mark["length"])) for mark in record["annotations"]]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return "malformed record"
    if not spans:
        return "no sections"
    if any(begin < 0 or length < 0 or begin + length > len(text) for _, begin, length in spans):
        return "section outside the text"
    sections = [(title, text[begin : begin + length]) for title, begin, length in spans]
    has_abstract = sections[0][0] == ABSTRACT or not abstract.strip()
    return _usable(f"article-{number:05d}", sections if has_abstract else [(ABSTRACT, abstract), *sections])


def _label(mark: Mapping[str, Any]) -> str:
    """``city.history`` -> ``history``; the heading where there is no label."""
    return str(mark.get("sectionLabel") or mark["sectionHeading"]).split(".")[-1].strip().lower()


def _statistics(documents: list[Document], lengths: np.ndarray, splitter: str) -> dict[str, Any]:
    titles = Counter(section.title for document in documents for section in document.sections if section.title)
    return {
        "splits": dict(sorted(Counter(document.split for document in documents).items())),
        "section_titles": dict(sorted(titles.items())),
        "splitter": splitter,
        "sentences": int(lengths.sum()),
        "sentences_median": float(np.median(lengths)),
        "sentences_range": [int(lengths.min()), int(lengths.max())],
    }


def _told(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {number}" for reason, number in sorted(dropped.items()) if number) or "none read"
