r"""PubMed and arXiv articles in the JSON lines of Cohan et al. (2018), one file per split.

A line has ``{"article_id", "abstract_text": [...], "section_names": [...], "sections": [[sentence, ...], ...]}``."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longform.datasets.titles import Filters, filtered_corpus, select, settings, token_counter
from longform.documents import SPLITS, Corpus, Document, Section
from longform.errors import InputError
from longform.files.opening import PACKINGS, DamagedFile, byte_lines, decode_line, parse_json
from longform.statistics.splits import SHARES, split_by_seed

PUBMED = {"min_sections": 3, "min_title_count": 500}  # deng2022 section 4
SPLIT_NAMES = {
    "train": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
SUFFIXES = tuple(f".{kind}{packing}" for kind in ("jsonl", "json", "txt") for packing in PACKINGS)
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
    """Filtered articles with Cohan et al.'s own splits, or split by seed where one file holds all; those without abstract are set aside.

    ``raw`` is a file, or a folder whose ``files`` (a glob) have ``train``, ``val`` or ``test`` in their names; ``filters`` are fields of
    :class:`longform.datasets.titles.Filters`, by default the paper's for PUBMED; ``tokenizer`` is a ``tokenizer.json`` beside the data.
    """
    articles = CohanArticles(raw, files)
    thresholds = settings(Filters, {**PUBMED, **(filters or {})})
    count = token_counter((raw if raw.is_dir() else raw.parent) / tokenizer if tokenizer else None)
    splitter = None if raw.is_dir() else (lambda ids: split_by_seed(ids, shares, seed))
    selection = select(articles, thresholds, count, splitter)
    return filtered_corpus(selection, count, raw, {"corpus": name, "lines": articles.outcomes})


class CohanArticles:
    """The articles of a file or folder, re-iterable; ``outcomes`` counts the lines of the latest reading by outcome."""

    def __init__(self, raw: Path, files: str = "*") -> None:
        self.outcomes: Counter[str] = Counter()
        self.files = [("train", raw)]  # a single file, until it is split
        if not raw.is_file():
            found = [path for path in sorted(raw.glob(files)) if path.name.endswith(SUFFIXES)]
            self.files = [(split, path) for path in found if (split := split_in_name(path.name))]
            self.files.sort(key=lambda pair: (SPLITS.index(pair[0]), pair[1].name))
        if not self.files:
            raise InputError(
                f"{raw}: no file matches {files!r} and has train, val or test in its name; rename the files"
            )

    def __iter__(self) -> Iterator[Document]:
        self.outcomes.clear()
        for split, path in self.files:
            for number, record in enumerate(records(path), 1):
                sections = record if isinstance(record, str) else _sections(record)
                if isinstance(record, str) or isinstance(sections, str):
                    self.outcomes[str(sections)] += 1
                    continue
                self.outcomes["article"] += 1
                yield Document(
                    str(record.get("article_id") or f"{path.stem}-{number:06d}"), split, sections
                )


def split_in_name(name: str) -> str | None:
    """``pubmed_val.jsonl`` -> ``validation``; None where no word of the name is a split."""
    return next(
        (SPLIT_NAMES[word] for word in re.split(r"[^a-z]+", name.lower()) if word in SPLIT_NAMES),
        None,
    )


def records(path: Path) -> Iterator[Mapping[str, Any] | str]:
    """Each line as a mapping, or the reason why it is none; a packed file that is cut off ends with its reason."""
    try:
        for number, (offset, line) in enumerate(byte_lines(path), 1):
            yield _record(line, f"{path}:{number}", offset)
    except DamagedFile:
        yield "file cut off"


def _record(line: bytes, where: str, offset: int) -> Mapping[str, Any] | str:
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
    if "sections" not in record and isinstance(record.get("article"), str):
        return "flat record without sections (of a hub's scientific_papers)"
    names, texts = record.get("section_names"), record.get("sections")
    if (
        not isinstance(texts, list)
        or not isinstance(names, list)
        or not all(isinstance(name, str) for name in names)
    ):
        return "malformed record"
    if len(texts) != len(names):
        return "sections and titles differ in number"
    if not names:
        return "no sections"
    abstract = _joined(record.get("abstract_text"))
    if not abstract:
        return "abstract missing"
    sections = []
    for name, text in zip(names, texts, strict=True):
        joined = _joined(text)
        if joined is None:
            return "malformed record"
        sections.append(Section(name, joined))
    return tuple(sections)


def _joined(text: Any) -> str | None:
    """Sentences joined by one blank; the paper does not say how (deng2022 appendix E). None: something is no text.

    Sentences may stand in lists inside lists, of subsections or paragraphs, which are read in order.
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
