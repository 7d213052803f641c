r"""PubMed and arXiv articles in the JSON lines of Cohan et al. (2018), one file per split.

A line has ``{"article_id", "abstract_text": [...], "section_names": [...], "sections": [[sentence,
...], ...]}``.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from longform.datasets.titles import Filters, filtered_corpus, select, settings, token_counter
from longform.documents import SPLITS, Corpus, Document, Section
from longform.errors import InputError
from longform.files.opening import PACKINGS, DamagedFile, byte_lines, decode_line, parse_json
from longform.statistics.splits import SHARES, split_by_seed

PUBMED = {"min_sections": 3, "min_title_count": 500}  # deng2022 section 4
SPLIT_NAMES = {  # words of file names
    "train": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
SUFFIXES = tuple("".join(parts) for parts in product((".jsonl", ".json", ".txt"), PACKINGS))
NESTED = 50  # lists inside lists in a section, beyond which a record is malformed


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    files: str = "*",
    filters: Mapping[str, Any] | None = None,
    tokenizer: str | None = None,
    shares: Mapping[str, float] = SHARES,
) -> Corpus:
    """Filtered articles with Cohan et al.'s own splits; those without abstract are set aside.

    Args:
        name: of the corpus.
        seed: of the splits, where one file holds all articles.
        raw: a file, or a folder.
        files: a glob in the folder; of these, files with ``train``, ``val`` or ``test`` in their
            names are read.
        filters: fields of :class:`longform.datasets.titles.Filters`, by default the paper's for
            PUBMED.
        tokenizer: a ``tokenizer.json`` beside the data, for the filters' tokens; without one
            :func:`longform.datasets.titles.piece_count` counts words and marks instead.
        shares: of articles by split, where one file holds all.

    Raises InputError: no file, or no article that passes. BadInput: an unknown filter.
    """
    articles = CohanArticles(raw, files)
    thresholds = settings(Filters, {**PUBMED, **(filters or {})})
    folder = raw if raw.is_dir() else raw.parent
    count = token_counter(folder / tokenizer if tokenizer else None)
    splitter = None
    if not raw.is_dir():
        splitter = partial(split_by_seed, shares=shares, seed=seed)
    selection = select(articles, thresholds, count, splitter)
    return filtered_corpus(selection, count, raw, {"corpus": name, "lines": articles.outcomes})


class CohanArticles:
    """The articles of a file or folder, which can be read again and again.

    Attributes:
        files: split and path of each file; those of a single file are in split train until they are
            split.
        outcomes: counts of lines by outcome, of the latest reading.
    """

    def __init__(self, raw: Path, files: str = "*") -> None:
        """Raises InputError: a folder without a file of such a name."""
        self.outcomes: Counter[str] = Counter()
        self.files = [("train", raw)]
        if not raw.is_file():
            self.files = _files_by_split(raw, files)
        if not self.files:
            raise InputError(
                f"{raw}: no file matches {files!r} and has train, val or test in its name; "
                "rename the files"
            )

    def __iter__(self) -> Iterator[Document]:
        self.outcomes.clear()
        for split, path in self.files:
            for number, record in enumerate(records(path), 1):
                # Either is a string where there is none: the reason, which is counted.
                sections = record if isinstance(record, str) else _sections(record)
                if isinstance(record, str) or isinstance(sections, str):
                    self.outcomes[str(sections)] += 1
                    continue
                self.outcomes["article"] += 1
                unit = str(record.get("article_id") or f"{path.stem}-{number:06d}")
                yield Document(unit, split, sections)


def _files_by_split(folder: Path, pattern: str) -> list[tuple[str, Path]]:
    """The files that a pattern names, each with the split in its name; by split, then by name."""
    files = []
    for path in folder.glob(pattern):
        split = split_in_name(path.name)
        if split is not None and path.name.endswith(SUFFIXES):
            files.append((split, path))
    return sorted(files, key=lambda file: (SPLITS.index(file[0]), file[1].name, file[1]))


def split_in_name(name: str) -> str | None:
    """``pubmed_val.jsonl`` -> ``validation``; None where no word of the name is a split."""
    for word in re.split(r"[^a-z]+", name.lower()):
        if word in SPLIT_NAMES:
            return SPLIT_NAMES[word]
    return None


def records(path: Path) -> Iterator[Mapping[str, Any] | str]:
    """Each line as a mapping, or the reason why it is none.

    A packed file that is cut off ends with that as a reason.
    """
    try:
        for number, (offset, line) in enumerate(byte_lines(path), 1):
            yield _record(line, f"{path}:{number}", offset)
    except DamagedFile:
        yield "file cut off"


def _record(line: bytes, where: str, offset: int) -> Mapping[str, Any] | str:
    """The mapping on a line, or the reason why there is none."""
    try:
        text = decode_line(line, where, offset)
    except InputError:
        return "invalid UTF-8"
    if not text.strip():
        return "blank line"
    try:
        record = parse_json(text.removeprefix("\ufeff"), where)
    except InputError:
        return "not JSON"
    return record if isinstance(record, dict) else "no JSON object"


def _sections(record: Mapping[str, Any]) -> tuple[Section, ...] | str:
    """The sections of an article, or the reason why it is set aside."""
    # 1. The form of the record.
    if "sections" not in record and isinstance(record.get("article"), str):
        return "flat record without sections (of a hub's scientific_papers)"
    names, texts = record.get("section_names"), record.get("sections")
    if not isinstance(texts, list) or not isinstance(names, list):
        return "malformed record"
    if not all(isinstance(name, str) for name in names):
        return "malformed record"
    if len(texts) != len(names):
        return "sections and titles differ in number"
    if not names:
        return "no sections"
    # 2. Its texts.
    if not _joined(record.get("abstract_text")):
        return "abstract missing"
    sections = []
    for name, text in zip(names, texts, strict=True):
        joined = _joined(text)
        if joined is None:
            return "malformed record"
        sections.append(Section(name, joined))
    return tuple(sections)


def _joined(text: Any) -> str | None:
    """Join sentences by a blank, also those in lists inside lists (subsections, paragraphs).

    The paper does not say how (deng2022 appendix E). None where something in them is no text.
    """
    sentences: list[str] = []
    waiting = [(text, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            sentences.append(value.strip())
        elif isinstance(value, list) and depth < NESTED:
            waiting.extend((inner, depth + 1) for inner in reversed(value))
        else:
            return None
    return " ".join(sentence for sentence in sentences if sentence)
