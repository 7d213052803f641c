r"""Proposals to change a language or a protocol, as corpora of long documents in sections: PEPs, EIPs, Rust RFCs.

One file is one document, in reStructuredText (``.rst``) or Markdown (``.md``). Its sections are those of the highest level, their text
is prose without code and tables. Titles are normalised and counted as in deng2022 section 4. Authors name sections freely, so a
section with an infrequent title may be left out instead of its whole document (``rare: section``, ours).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.titles import (
    Filters,
    Selection,
    filtered_corpus,
    normalise,
    select,
    settings,
    token_counter,
)
from longform.documents import Corpus, Document, Section
from longform.errors import BadInput, InputError
from longform.files.opening import read_text
from longform.statistics.splits import SHARES, split_by_seed
from longform.text import markdown, restructured_text

BOILERPLATE = ("copyright",)  # says the same in every document
PARTS = ("all", "before", "since")
RARE = ("article", "section")
READERS: Mapping[str, Callable[[str], list[tuple[str, str]]]] = {
    ".rst": restructured_text.sections_in,
    ".md": markdown.prose_sections,
}
_CREATED = re.compile(r"^(?:- *)?(?:created|start date) *: *(.*)$", re.IGNORECASE | re.MULTILINE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_HEADER_LINES = 40  # in which a document says when it was written


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    files: str = "*",
    filters: Mapping[str, Any] | None = None,
    rare: str = "article",
    boilerplate: Sequence[str] = BOILERPLATE,
    tokenizer: str | None = None,
    shares: Mapping[str, float] = SHARES,
    recent: int | None = None,
    part: str = "all",
) -> Corpus:
    """Filtered proposals with the year in which each was begun, split by seed.

    Args:
        raw: the folder of the files, as published.
        files: a glob below it, such as ``pep-*.rst``.
        filters: fields of :class:`longform.datasets.titles.Filters`; titles are counted on split train.
        rare: what is left out where a title is infrequent: the ``article``, as in the paper, or the ``section`` alone, before the
            other filters.
        boilerplate: normalised titles of sections that say the same in every document; they are deleted.
        tokenizer: a ``tokenizer.json`` in the folder, for the filters' tokens; without one pieces are counted.
        shares: of documents by split.
        recent: a year; documents of that year and later are all in split test, since a pretrained model may have read the older
            ones and cannot have read these.
        part: ``before`` or ``since`` keeps the documents before ``recent`` or from it on; ``all`` keeps both.

    Returns: the corpus; truth ``year``, int64, zero where a document does not say it, beside what
        :func:`longform.datasets.titles.filtered_corpus` gives.
    Raises BadInput: an unknown ``rare`` or ``part``, or a part without a year. InputError: no file, or no document that passes.
    """
    if rare not in RARE:
        raise BadInput(f"rare is {rare!r}, allowed are {list(RARE)}; fix the entry")
    if part not in PARTS or (part != "all" and recent is None):
        told = f"part is {part!r} and recent is {recent!r}"
        raise BadInput(
            f"{told}; allowed is one of {list(PARTS)}, the latter two with a year; fix the entry"
        )
    thresholds = settings(Filters, filters or {})
    thresholds = replace(thresholds, removed=(*thresholds.removed, *boilerplate))
    documents, years, outcomes = read_folder(raw, files)

    older = [unit for unit, begun in years.items() if recent is None or begun < recent]
    drawn = dict(zip(older, split_by_seed(older, shares, seed), strict=True))
    documents = [replace(document, split=drawn.get(document.id, "test")) for document in documents]
    facts: dict[str, Any] = {"corpus": name, "files": outcomes}
    if rare == "section":
        documents, facts["rare_sections"] = without_rare_sections(documents, thresholds)
        thresholds = replace(thresholds, min_title_count=1)

    count = token_counter(raw / tokenizer if tokenizer else None)
    selection = select(documents, thresholds, count)
    if part != "all":
        wanted = [
            (document.id not in drawn) == (part == "since") for document in selection.documents
        ]
        selection = _chosen(selection, wanted, f"not {part} {recent}")
    corpus = filtered_corpus(selection, count, raw, facts)
    begun = [years[document.id] for document in corpus.documents]
    facts = {**corpus.facts, "years": {str(y): n for y, n in sorted(Counter(begun).items())}}
    return Corpus(
        corpus.documents, {**corpus.truth, "year": np.array(begun, dtype=np.int64)}, facts
    )


def read_folder(raw: Path, files: str = "*") -> tuple[list[Document], dict[str, int], Counter[str]]:
    """The documents below a folder in the order of their names, the year of each by its id, and files by outcome.

    Raises InputError: no file of the right name.
    """
    paths = sorted(path for path in raw.glob(files) if path.suffix in READERS)
    if not paths:
        told = f"no file matches {files!r} and ends in {' or '.join(READERS)}"
        raise InputError(f"{raw}: {told}; name the folder that holds the documents")
    documents: list[Document] = []
    years: dict[str, int] = {}
    outcomes = Counter[str]()
    for path in paths:
        text = read_text(path)
        found = READERS[path.suffix](text)
        sections = tuple(Section(title, body) for title, body in found if body)
        outcomes["document" if sections else "no sections"] += 1
        if sections:
            documents.append(Document(path.stem, "train", sections))
            years[path.stem] = year(text)
    return documents, years, outcomes


def year(text: str) -> int:
    """The year in the line that says when a proposal was created or started; zero where there is none."""
    header = "\n".join(text.split("\n", _HEADER_LINES)[:_HEADER_LINES])
    for line in _CREATED.findall(header):
        if found := _YEAR.search(line):
            return int(found[0])
    return 0


def without_rare_sections(
    documents: Sequence[Document], filters: Filters
) -> tuple[list[Document], int]:
    """Documents without the sections whose normalised title is infrequent in split train, and how many sections went.

    Sections that the filters delete anyway stay for them; documents that lose all sections stay, without any.
    """
    counts = Counter(
        normalise(section.title or "")
        for document in documents
        if document.split == "train"
        for section in document.sections
    )
    left: list[Document] = []
    gone = 0
    for document in documents:
        sections = []
        for section in document.sections:
            title = normalise(section.title or "")
            if title in filters.removed or (title and counts[title] >= filters.min_title_count):
                sections.append(section)
        gone += len(document.sections) - len(sections)
        left.append(replace(document, sections=tuple(sections)))
    return left, gone


def _chosen(selection: Selection, wanted: Sequence[bool], reason: str) -> Selection:
    """The wanted documents of a selection; the others are counted under a reason."""
    documents = [d for d, kept in zip(selection.documents, wanted, strict=True) if kept]
    lengths = [row for row, kept in zip(selection.lengths, wanted, strict=True) if kept]
    dropped = selection.dropped + Counter({reason: len(wanted) - len(documents)})
    return replace(selection, documents=documents, lengths=lengths, dropped=dropped)
