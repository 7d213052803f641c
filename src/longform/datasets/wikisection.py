r"""WikiSection cities (Arnold et al. 2019), told apart by what a file holds; an unusable article is counted by its reason.

*Marked*: one article a line, ``[ ABSTRACT ] text [ HISTORY ] text ...`` (Wang et al. 2022); *plain*: the same without markers, which
BBScore scores; *JSON* (``.json``): ``{"text", "abstract", "annotations": [{"begin", "length", "sectionHeading", "sectionLabel"}]}``."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import SPLITS, BadInput, Corpus, Document, Section
from longform.core.resampling import SHARES, split_by_seed
from longform.core.text.sentences import SPLITTERS

MARKER = re.compile(r"\[ ([A-Z][A-Z /&'-]*) \](?: |$)")  # Wang et al. 2022: upper case, blanks inside the brackets
ABSTRACT = "abstract"

Titled = list[tuple[str | None, str]]  # title and text of each section of an article


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

    ``raw`` is the file, or with ``files`` (split -> file name) the folder that holds them; where there is no validation file, validation /
    (train + validation) of the training articles are held out. The marked and the plain form of one file split alike. ``splitter`` counts
    sentences for ``truth["sentences"]``, int64 (units,), and facts; BBScore's release has ``full_stops``.
    """
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter is {splitter!r}, allowed are {sorted(SPLITTERS)}; fix the entry")
    if files is not None and not {"train"} <= files.keys() <= set(SPLITS):
        raise BadInput(f"files of splits {sorted(files)}; allowed are {list(SPLITS)}, of which train is needed")
    given = {split: raw / file for split, file in (files or {}).items()} or {"": raw}
    documents, lengths, dropped = [], [], Counter[str]()
    for split, file in given.items():
        for number, found in enumerate(_articles(file), 1):
            sections = found if isinstance(found, str) else _usable(found)
            if isinstance(sections, str):
                dropped[sections] += 1
                continue
            unit = f"{'article' if file.suffix == '.json' else 'line'}-{number:05d}"
            documents.append(Document(f"{split}-{unit}" if split else unit, split or "train", sections))
            lengths.append(sum(len(SPLITTERS[splitter](section.text)) for section in sections))
    read = len(documents) + sum(dropped.values())
    if not documents:
        raise BadInput(f"{raw}: zero of {read} articles can be used ({dict(dropped)}); check the file's form")
    if files is None or ("validation" not in files and "validation" in shares):
        if files is not None:
            held = shares["validation"] / (shares["train"] + shares["validation"])
            shares = {"train": 1 - held, "validation": held}
        drawn = [document.id for document in documents if document.split == "train"]
        splits = dict(zip(drawn, split_by_seed(drawn, shares, seed), strict=True))
        documents = [replace(document, split=splits.get(document.id, document.split)) for document in documents]
    counts = np.array(lengths, dtype=np.int64)
    titles = Counter(section.title for document in documents for section in document.sections if section.title)
    facts: dict[str, Any] = {"corpus": name, "articles_read": read, "dropped": dropped, "section_titles": titles}
    facts |= {"splits": Counter(document.split for document in documents), "splitter": splitter}
    facts |= {"sentences": int(counts.sum()), "sentences_median": float(np.median(counts))}
    facts["sentences_range"] = [int(counts.min()), int(counts.max())]
    return Corpus(documents, {"sentences": counts}, facts)


def _articles(file: Path) -> Iterator[Titled | str]:
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
        return map(_json_article, records)
    lines = content.removesuffix("\n").split("\n") if content else []
    marked = any(MARKER.match(line) for line in lines)
    return (_line_article(line, marked) for line in lines)


def _line_article(line: str, marked: bool) -> Titled | str:
    if not line.strip():
        return "blank line"
    if not marked:
        return [(None, line)]
    before, *pieces = MARKER.split(line)
    if before.strip() and len(pieces) > 1:
        return "text before the first marker"
    return [(title.lower(), text) for title, text in zip(pieces[::2], pieces[1::2], strict=True)]


def _usable(sections: Titled) -> tuple[Section, ...] | str:
    if not sections or sections[0][0] not in (ABSTRACT, None):
        return "abstract missing" if sections else "no sections"
    made = tuple(Section(title, text.strip()) for title, text in sections)
    return made if all(section.text for section in made) else "empty section"


def _json_article(record: Any) -> Titled | str:
    """The abstract and the annotated sections of one JSON article; titles are the section labels without their type."""
    try:
        text, abstract = str(record["text"]), str(record.get("abstract") or "")
        labels = [str(mark.get("sectionLabel") or mark["sectionHeading"]) for mark in record["annotations"]]
        places = [(int(mark["begin"]), int(mark["length"])) for mark in record["annotations"]]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return "malformed record"
    if any(begin < 0 or length < 0 or begin + length > len(text) for begin, length in places):
        return "section outside the text"
    titles = [label.split(".")[-1].strip().lower() for label in labels]  # city.history
    sections: Titled = [(title, text[at : at + size]) for title, (at, size) in zip(titles, places, strict=True)]
    return [(ABSTRACT, abstract), *sections] if sections and titles[0] != ABSTRACT and abstract.strip() else sections
