r"""WikiSection cities (Arnold et al. 2019), told apart by what a file holds; an unusable article is counted by its reason.

*Marked*: one article a line, ``[ ABSTRACT ] text [ HISTORY ] text ...`` (Wang et al. 2022); *plain*: the same without markers, which
BBScore scores; *JSON* (``.json``): ``{"text", "abstract", "annotations": [{"begin", "length", "sectionHeading", "sectionLabel"}]}``.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import SPLITS, BadInput, Corpus, Document, Section
from longform.core.resampling import SHARES, split_by_seed
from longform.core.text.sentences import SPLITTERS

MARKER = re.compile(r"\[ ([A-Z][A-Z /&'-]*) \](?: |$)")  # Wang et al. 2022: upper case, blanks inside the brackets
ABSTRACT = "abstract"

Parsed = tuple[str, tuple[Section, ...]] | str  # an article's id and sections, or why it was set aside


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    files: Mapping[str, str] | None = None,
    shares: Mapping[str, float] = SHARES,
    splitter: str = "rules",
) -> Corpus:
    """Articles of one file, split by seed, or of one file for each split, as the papers publish train and test.

    Args:
        name: of the corpus; it does not enter the split, so the marked and the plain form of one file split alike.
        raw: the file, or with ``files`` the folder that holds them.
        files: split -> file name below ``raw``. Where it has no validation file, ``shares`` says which part of its
            training articles, drawn by seed, is held out: validation / (train + validation).
        shares: fraction of articles per split; they must sum to one.
        splitter: a key of :data:`longform.core.text.sentences.SPLITTERS`; decides what counts as a sentence for
            truth and facts. BBScore's release has ``full_stops``.

    Returns:
        documents in file order; ``truth["sentences"]`` is int64 (units,); facts count what was read and dropped.

    Raises BadInput: no such file, not UTF-8, not JSON, an unknown splitter or split, bad shares, or nothing left.
    """
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter is {splitter!r}, allowed are {sorted(SPLITTERS)}; fix the entry")
    if files is not None and not {"train"} <= files.keys() <= set(SPLITS):
        raise BadInput(f"files of splits {sorted(files)}; allowed are {list(SPLITS)}, of which train is needed")
    given = {split: raw / file for split, file in (files or {}).items()} or {"": raw}
    documents, lengths, dropped = [], [], Counter[str]()
    for split, file in given.items():
        for article in _articles(file):
            if isinstance(article, str):
                dropped[article] += 1
                continue
            unit, sections = article
            count = sum(len(SPLITTERS[splitter](section.text)) for section in sections)
            documents.append(Document(f"{split}-{unit}" if split else unit, split or "train", sections))
            lengths.append(count)
    read = len(documents) + sum(dropped.values())
    if not documents:
        raise BadInput(f"{raw}: zero of {read} articles can be used ({dict(dropped)}); check the file's form")
    documents = _split(documents, files, shares, seed)
    facts = {"corpus": name, "articles_read": read, "dropped": dict(sorted(dropped.items()))}
    counts = np.array(lengths, dtype=np.int64)
    return Corpus(documents, {"sentences": counts}, facts | _statistics(documents, counts, splitter))


def _split(
    documents: list[Document], files: Mapping[str, str] | None, shares: Mapping[str, float], seed: int
) -> list[Document]:
    if files is not None and ("validation" in files or "validation" not in shares):
        return documents
    if files is not None:
        held = shares["validation"] / (shares["train"] + shares["validation"])
        shares = {"train": 1 - held, "validation": held}
    drawn = [d.id for d in documents if files is None or d.split == "train"]
    splits = dict(zip(drawn, split_by_seed(drawn, shares, seed), strict=True))
    return [Document(d.id, splits.get(d.id, d.split), d.sections) for d in documents]


def _articles(file: Path) -> Iterator[Parsed]:
    if not file.is_file():
        raise BadInput(f"{file}: no such file; see docs/data_cards/wikisection.md for where to get it")
    try:
        content = file.read_text(encoding="utf-8")
        records = json.loads(content) if file.suffix == ".json" else None
    except (ValueError, RecursionError) as error:  # of UTF-8 and of JSON
        raise BadInput(f"{file}: not UTF-8 or not JSON ({error}); fetch it again and check its SHA-256") from error
    if file.suffix == ".json":
        if not isinstance(records, list):
            raise BadInput(f"{file}: got {type(records).__name__}, WikiSection JSON is a list of articles")
        return (_json_article(record, number) for number, record in enumerate(records, 1))
    lines = content.removesuffix("\n").split("\n") if content else []
    marked = any(MARKER.match(line) for line in lines)
    return (_line_article(line, number, marked) for number, line in enumerate(lines, 1))


def _line_article(line: str, number: int, marked: bool) -> Parsed:
    if not line.strip():
        return "blank line"
    unit = f"line-{number:05d}"
    if not marked:
        return unit, (Section(None, line.strip()),)
    pieces = MARKER.split(line)
    if pieces[0].strip() and len(pieces) > 2:
        return "text before the first marker"
    return _usable(unit, [(title.lower(), text) for title, text in zip(pieces[1::2], pieces[2::2], strict=True)])


def _usable(unit: str, sections: list[tuple[str, str]]) -> Parsed:
    if not sections:
        return "no sections"
    if sections[0][0] != ABSTRACT:
        return "abstract missing"
    if any(not text.strip() for _, text in sections):
        return "empty section"
    return unit, tuple(Section(title, text.strip()) for title, text in sections)


def _json_article(record: Any, number: int) -> Parsed:
    """The abstract and the annotated sections of one JSON article; titles are the section labels without their type."""
    try:
        text, abstract = str(record["text"]), str(record.get("abstract") or "")
        spans = [(_label(mark), int(mark["begin"]), int(mark["length"])) for mark in record["annotations"]]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return "malformed record"
    if any(begin < 0 or length < 0 or begin + length > len(text) for _, begin, length in spans):
        return "section outside the text"
    sections = [(title, text[begin : begin + length]) for title, begin, length in spans]
    if sections and sections[0][0] != ABSTRACT and abstract.strip():
        sections = [(ABSTRACT, abstract), *sections]
    return _usable(f"article-{number:05d}", sections)


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
