"""Texts that people rated, beside SummEval and GCDC (:mod:`longform.datasets.text_files`): stories and summaries of dialogues.

Every reader gives the machine's texts as documents of split test, and people's own texts of the same sources, where there are any,
as split train. Truth: ``marks`` float64 (documents, raters), nan where nobody rated, without raters who repeat another one mark by
mark (facts count them); ``cluster`` the source that a text was made from; ``system`` who wrote it. Texts of one source stand together.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Corpus, Document, Section
from longform.errors import InputError, did_you_mean
from longform.files.opening import field_of, json_file, records, typed

REFERENCE = "reference"  # the writer of people's own texts
MANY = 100  # texts in all of which two people do not agree by chance
DIALOGUE_FIELDS = ("id", "model_id", "summary", "annotations")


def rated_stories(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """Stories of language models to an opening, with the mean of three raters (Xie, Cohn and Lau 2023, "The Next Chapter").

    Args:
        raw: one of the files of ``HumanEvaluation``: a list of ``{"condition", "reference", "generations": [{"model", "story",
            "scores": {dimension: number}}]}``.
        dimension: which of the ratings is kept.

    Raises InputError: another shape, or no such rating.
    """
    documents: list[Document] = []
    rows: list[tuple[str, str, list[float]]] = []
    for number, item in enumerate(typed(json_file(raw), list, str(raw)), 1):
        where, source = f"{raw}, item {number}", f"{raw.stem}-{number:03d}"
        documents.append(_document(f"{source}/{REFERENCE}", "train", item, "reference", where))
        rows.append((source, REFERENCE, []))
        for generation in field_of(item, "generations", list, where):
            writer = field_of(generation, "model", str, where)
            scores = field_of(generation, "scores", dict, where)
            documents.append(_document(f"{source}/{writer}", "test", generation, "story", where))
            rows.append((source, writer, [_mark(scores, dimension, f"{where}, {writer}")]))
    return _corpus(documents, rows, dimension, raw)


def dialogue_summaries(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """DialSummEval (Gao and Wan 2022): 14 writers' summaries of 100 dialogues, each rated by three people.

    Args:
        raw: ``human_judgment.jsonl``: a line has ``id`` (the dialogue), ``model_id``, ``summary`` and ``annotations``, one record of
            dimensions per rater.
        dimension: which of the ratings is kept.

    Raises InputError: another shape, or no such rating.
    """
    documents: list[Document] = []
    rows: list[tuple[str, str, list[float]]] = []
    for where, record in records(raw, DIALOGUE_FIELDS):
        source = field_of(record, "id", str, where)
        writer = field_of(record, "model_id", str, where)
        marks = [
            _mark(typed(rating, dict, where), dimension, f"{where}, rater {rater}")
            for rater, rating in enumerate(field_of(record, "annotations", list, where), 1)
        ]
        documents.append(_document(f"{source}/{writer}", "test", record, "summary", where))
        rows.append((source, writer, marks))
    # the file goes from writer to writer
    order = sorted(range(len(rows)), key=lambda place: rows[place][0])
    return _corpus(
        [documents[place] for place in order], [rows[place] for place in order], dimension, raw
    )


def _document(unit: str, split: str, record: Any, name: str, where: str) -> Document:
    """The text of a field as a document of one section."""
    text = field_of(record, name, str, where).strip()
    if not text:
        raise InputError(f"{where}: {name} is empty; drop the record")
    return Document(unit, split, (Section(None, text),))


def _mark(ratings: dict[str, Any], dimension: str, where: str) -> float:
    if dimension not in ratings:
        close = did_you_mean(dimension, ratings)
        raise InputError(f"{where}: no rating {dimension!r}{close}; allowed are {sorted(ratings)}")
    return float(field_of(ratings, dimension, float, where))


def _corpus(
    documents: Sequence[Document],
    rows: Sequence[tuple[str, str, list[float]]],
    dimension: str,
    raw: Path,
) -> Corpus:
    """Documents with their sources, writers and marks. Raises InputError: no text, or two of one writer for one source."""
    if not documents:
        raise InputError(f"{raw}: no rated text; give the file as it is published")
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise InputError(f"{raw}: {document.id!r} comes twice; keep one of them")
        seen.add(document.id)
    raters = max(len(marks) for _, _, marks in rows)
    table = np.full((len(rows), raters), np.nan)
    for place, (_, _, marks) in enumerate(rows):
        table[place, : len(marks)] = marks
    copied = _copied_raters(table)
    truth = {
        "marks": np.delete(table, copied, axis=1),
        "cluster": np.array([source for source, _, _ in rows]),
        "system": np.array([writer for _, writer, _ in rows]),
    }
    rated = [(source, writer) for source, writer, marks in rows if marks]
    facts = {
        "systems": sorted({writer for _, writer in rated}),
        "sources": len({source for source, _ in rated}),
        "rated": len(rated),
        "dimension": dimension,
        "copied_raters": [rater + 1 for rater in copied],
    }
    return Corpus(documents, truth, facts)


def _copied_raters(table: np.ndarray) -> list[int]:
    """Columns of marks, (texts, raters), that repeat an earlier one in every text, of many: a copy is no other person."""
    copied: list[int] = []
    rated = np.isfinite(table).sum(axis=0)
    for rater in range(table.shape[1]):
        earlier = [column for column in range(rater) if column not in copied]
        same = any(np.array_equal(table[:, rater], table[:, e], equal_nan=True) for e in earlier)
        if same and rated[rater] >= MANY:
            copied.append(rater)
    return copied
