r"""WikiSection cities (Arnold et al. 2019), told apart by what a file holds; an unusable article is counted by its reason.

*Marked*: one article a line, ``[ ABSTRACT ] text [ HISTORY ] text ...`` (Wang et al. 2022); *plain*: the same without markers, which
BBScore scores; *JSON* (``.json``): ``{"text", "abstract", "annotations": [{"begin", "length", "sectionHeading", "sectionLabel"}]}``."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import SPLITS, Corpus, Document, Section
from longform.errors import InputError
from longform.files.opening import json_file, text_lines
from longform.statistics.splits import SHARES, split_by_seed
from longform.text.sentences import SPLITTERS

MARKER = re.compile(
    r"\[ ([A-Z][A-Z /&'-]*) \](?: |$)"
)  # Wang et al. 2022: upper case, blanks inside the brackets
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
        raise InputError(
            f"splitter is {splitter!r}, allowed are {sorted(SPLITTERS)}; fix the entry"
        )
    if files is not None and not {"train"} <= files.keys() <= set(SPLITS):
        raise InputError(
            f"files of splits {sorted(files)}; allowed are {list(SPLITS)}, of which train is needed"
        )
    given = {split: raw / file for split, file in (files or {}).items()} or {"": raw}
    documents, lengths, dropped, counts = [], [], Counter[str](), Counter[str]()
    for split, file in given.items():
        for number, found in enumerate(_articles(file, counts), 1):
            sections = found if isinstance(found, str) else _usable(found)
            if isinstance(sections, str):
                dropped[sections] += 1
                continue
            unit = f"{'article' if '.json' in file.suffixes else 'line'}-{number:05d}"
            documents.append(
                Document(f"{split}-{unit}" if split else unit, split or "train", sections)
            )
            lengths.append(sum(len(SPLITTERS[splitter](section.text)) for section in sections))
    read = len(documents) + sum(dropped.values())
    if not documents:
        raise InputError(
            f"{raw}: zero of {read} articles can be used ({dict(dropped)}); check the file's form"
        )
    if files is None or ("validation" not in files and "validation" in shares):
        if files is not None:
            held = shares["validation"] / (shares["train"] + shares["validation"])
            shares = {"train": 1 - held, "validation": held}
        drawn = [document.id for document in documents if document.split == "train"]
        splits = dict(zip(drawn, split_by_seed(drawn, shares, seed), strict=True))
        documents = [
            replace(document, split=splits.get(document.id, document.split))
            for document in documents
        ]
    sentence_counts = np.array(lengths, dtype=np.int64)
    titles = Counter(
        section.title for document in documents for section in document.sections if section.title
    )
    facts: dict[str, Any] = {
        "corpus": name,
        "articles_read": read,
        "dropped": dropped,
        "section_titles": titles,
    }
    facts |= {"splits": Counter(document.split for document in documents), "splitter": splitter}
    facts |= {
        "sentences": int(sentence_counts.sum()),
        "sentences_median": float(np.median(sentence_counts)),
    }
    facts["sentences_range"] = [int(sentence_counts.min()), int(sentence_counts.max())]
    if counts:
        facts["articles_with_text_outside_their_sections"] = counts["text outside the sections"]
    return Corpus(documents, {"sentences": sentence_counts}, facts)


def _articles(file: Path, counts: Counter[str]) -> Iterator[Titled | str]:
    if not file.is_file():
        raise InputError(
            f"{file}: no such file; see docs/data_cards/wikisection.md for where to get it"
        )
    if ".json" in file.suffixes:
        articles = json_file(file)
        if not isinstance(articles, list):
            raise InputError(
                f"{file}: got {type(articles).__name__}, WikiSection JSON is a list of articles"
            )
        return (_json_article(article, counts) for article in articles)
    lines = list(text_lines(file))
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


def _json_article(record: Any, counts: Counter[str]) -> Titled | str:
    """The abstract and the annotated sections of one JSON article; titles are the section labels without their type.

    An article with text that is neither abstract nor section is counted in ``counts``.
    """
    if not isinstance(record, dict):
        return "malformed record"
    text, abstract, marks = (
        record.get("text"),
        record.get("abstract") or "",
        record.get("annotations"),
    )
    if not isinstance(text, str) or not isinstance(abstract, str) or not isinstance(marks, list):
        return "malformed record"
    sections: Titled = []
    spans: list[tuple[int, int]] = []
    for mark in marks:
        found = _annotated(mark)
        if found is None:
            return "malformed record"
        label, begin, length = found
        if begin < 0 or length < 0 or begin + length > len(text):
            return "section outside the text"
        sections.append(
            (label.split(".")[-1].strip().lower(), text[begin : begin + length])
        )  # city.history
        spans.append((begin, begin + length))
    spans.sort()
    if any(start < stop for (_, stop), (start, _) in pairwise(spans)):
        return "sections overlap"
    between = " ".join(_between(text, spans).split())
    if any(letter.isalnum() for letter in between) and between != " ".join(abstract.split()):
        counts["text outside the sections"] += 1
    if sections and sections[0][0] != ABSTRACT and abstract.strip():
        sections.insert(0, (ABSTRACT, abstract))
    return sections


def _annotated(mark: Any) -> tuple[str, int, int] | None:
    """Label, first character and length of an annotated section; None where it has another form."""
    if not isinstance(mark, dict):
        return None
    label = mark.get("sectionLabel") or mark.get("sectionHeading")
    begin, length = mark.get("begin"), mark.get("length")
    if not isinstance(label, str) or isinstance(begin, bool) or isinstance(length, bool):
        return None
    return (label, begin, length) if isinstance(begin, int) and isinstance(length, int) else None


def _between(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """What of a text stands in none of the spans, which are sorted."""
    starts = [0, *(stop for _, stop in spans)]
    stops = [*(start for start, _ in spans), len(text)]
    return (
        "".join(text[start:stop] for start, stop in zip(starts, stops, strict=True))
        if spans
        else ""
    )
