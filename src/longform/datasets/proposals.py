r"""Proposals to change a language or a protocol: PEPs, EIPs, Rust RFCs, long documents in sections.

One file is one document, in reStructuredText (``.rst``) or Markdown (``.md``). Its sections are
those of the highest level, their text is prose without code and tables. Titles are normalised and
counted as in deng2022 section 4. Authors name sections freely, so a section with an infrequent
title may be left out instead of its whole document (``rare: section``, ours).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.openings import with_openings
from longform.datasets.titles import (
    Filters,
    Selection,
    filtered_corpus,
    normalise,
    select,
    settings,
    subset,
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
    opening_sentences: int | None = None,
) -> Corpus:
    """Filtered proposals with the year in which each was begun, split by seed.

    Args:
        name: of the corpus.
        seed: of the splits.
        raw: the folder of the files, as published.
        files: a glob below it, such as ``pep-*.rst``.
        filters: fields of :class:`longform.datasets.titles.Filters`; titles are counted on split
            train.
        rare: what is left out where a title is infrequent: the ``article``, as in the paper, or the
            ``section`` alone, before the other filters.
        boilerplate: normalised titles of sections that say the same in every document; they are
            deleted.
        tokenizer: a ``tokenizer.json`` in the folder, for the filters' tokens; without one pieces
            are counted.
        shares: of documents by split.
        recent: a year; documents of that year and later are all in split test, since a pretrained
            model may have read the older ones and cannot have read these.
        part: ``before`` or ``since`` keeps the documents before ``recent`` or from it on; ``all``
            keeps both.
        opening_sentences: of a section, after the filters; see
            :func:`longform.datasets.openings.with_openings`. None keeps all.

    Returns: the corpus; truth ``year``, int64, zero where a document does not say it, beside what
        :func:`longform.datasets.titles.filtered_corpus` gives.
    Raises BadInput: an unknown ``rare`` or ``part``, or a part without a year. InputError: no file,
    or no document that passes.
    """
    if rare not in RARE:
        raise BadInput(f"rare is {rare!r}, allowed are {list(RARE)}; fix the entry")
    if part not in PARTS or (part != "all" and recent is None):
        raise BadInput(
            f"part is {part!r} and recent is {recent!r}; allowed is one of {list(PARTS)}, "
            "the latter two with a year; fix the entry"
        )
    thresholds = settings(Filters, filters or {})
    thresholds = replace(thresholds, removed=(*thresholds.removed, *boilerplate))
    # 1. Read the documents; older ones are split by seed, recent ones are in split test.
    documents, years, outcomes = read_folder(raw, files)
    older = [
        unit for unit, document_years in years.items() if recent is None or document_years < recent
    ]
    split_of = dict(zip(older, split_by_seed(older, shares, seed), strict=True))
    documents = [replace(doc, split=split_of.get(doc.id, "test")) for doc in documents]
    facts: dict[str, Any] = {"corpus": name, "files": outcomes}
    # 2. Filter sections, documents, and years.
    if rare == "section":
        documents, facts["rare_sections"] = without_rare_sections(documents, thresholds)
        thresholds = replace(thresholds, min_title_count=1)
    count = token_counter(raw / tokenizer if tokenizer else None)
    selection = select(documents, thresholds, count)
    if part != "all":
        is_before = part == "before"
        in_part = [(doc.id in split_of) == is_before for doc in selection.documents]
        selection = subset(selection, in_part, f"not {part} {recent}")
    if opening_sentences is not None:
        selection = _with_openings(selection, opening_sentences, count)
    # 3. Add the years to what is left.
    corpus = filtered_corpus(selection, count, raw, facts)
    document_years = [years[document.id] for document in corpus.documents]
    counts = Counter(document_years)
    facts = {**corpus.facts, "years": {str(year): counts[year] for year in sorted(counts)}}
    truth = {**corpus.truth, "year": np.array(document_years, dtype=np.int64)}
    return Corpus(corpus.documents, truth, facts)


def _with_openings(selection: Selection, sentences: int, count: Callable[[str], int]) -> Selection:
    """The openings of all sections, with their lengths.

    Args:
        selection: the documents.
        sentences: of an opening.
        count: the tokens of a text.
    """
    documents = [with_openings(document, sentences) for document in selection.documents]
    lengths = []
    for document in documents:
        tokens = [count(section.text) for section in document.sections]
        lengths.append(np.array(tokens, dtype=np.int64))
    return replace(selection, documents=documents, lengths=lengths)


def read_folder(raw: Path, files: str = "*") -> tuple[list[Document], dict[str, int], Counter[str]]:
    """The documents below a folder, in the order of their names.

    Args:
        raw: the folder.
        files: a glob below it.

    Returns: the documents, all in split train; the year of each by its id (zero: it does not say);
        and how many files are a document or have no sections.
    Raises InputError: no file of the right name.
    """
    paths = sorted(path for path in raw.glob(files) if path.suffix in READERS)
    if not paths:
        raise InputError(
            f"{raw}: no file matches {files!r} and ends in {' or '.join(READERS)}; "
            "name the folder that holds the documents"
        )
    documents: list[Document] = []
    years: dict[str, int] = {}
    outcomes = Counter[str]()
    for path in paths:
        text = read_text(path)
        # sections without prose are left out
        sections = []
        for title, body in READERS[path.suffix](text):
            if body:
                sections.append(Section(title, body))
        if not sections:
            outcomes["no sections"] += 1
            continue
        outcomes["document"] += 1
        documents.append(Document(path.stem, "train", tuple(sections)))
        years[path.stem] = year(text)
    return documents, years, outcomes


def year(text: str) -> int:
    """The year in the header line ``Created:`` or ``Start Date:`` of a proposal; 0 without one."""
    header = "\n".join(text.split("\n", _HEADER_LINES)[:_HEADER_LINES])
    for line in _CREATED.findall(header):
        match = _YEAR.search(line)
        if match is not None:
            return int(match[0])
    return 0


def without_rare_sections(
    documents: Sequence[Document], filters: Filters
) -> tuple[list[Document], int]:
    """Documents without the sections whose normalised title is infrequent in split train.

    Args:
        documents: with their splits.
        filters: of which ``min_title_count`` counts; sections that the filters delete anyway stay.

    Returns: the documents, some perhaps without sections, and the number of removed sections.
    """
    # 1. How often a title stands in split train.
    counts = Counter[str]()
    for document in documents:
        if document.split == "train":
            counts.update(normalise(section.title or "") for section in document.sections)
    # 2. Every document without its infrequent titles.
    shortened: list[Document] = []
    num_removed = 0
    for document in documents:
        sections = []
        for section in document.sections:
            title = normalise(section.title or "")
            frequent = bool(title) and counts[title] >= filters.min_title_count
            if frequent or title in filters.removed:
                sections.append(section)
        num_removed += len(document.sections) - len(sections)
        shortened.append(replace(document, sections=tuple(sections)))
    return shortened, num_removed
