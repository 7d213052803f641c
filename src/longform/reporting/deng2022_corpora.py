"""Table 11 of "Model Criticism for Long-Form Text Generation" (Deng, Kuleshov, Rush 2022): the corpora's statistics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.titles import LOWER_BOUND, Selection, piece_count
from longform.datasets.titles import table_11 as corpus_statistics
from longform.documents import BadInput, Document
from longform.reporting.layout import Cell, Table
from longform.reporting.ledger import judge_number

COLUMNS = {
    "train": ("train", "train_k", 1000),
    "validation": ("validation", "val_k", 1000),
    "test": ("test", "test_k", 1000),
    "section_types": ("section types", "section_types", 1),
    "med_sections": ("median sections", "med_sections", 1),
    "med_section_len": ("median section length", "med_section_len", 1),
    "max_section_len": ("longest section", "max_section_len", 1),
}  # fact: column of the table, key in expected.yaml, articles per printed unit


def table_11(
    *, scores: Mapping[str, Any], expected: Mapping[str, Any], data: Path, corpora: Mapping[str, str | None]
) -> Table:
    """Articles per split, section types, and section statistics of the validation split, for every corpus.

    Args:
        scores: unused; the corpora's own facts are the numbers.
        corpora: corpus row -> the paper's corpus that it rebuilds (``pubmed``, ``arxiv``, ``wiki``, ``wiki_short``),
            or None where the paper has no counterpart of its size and kind.

    Raises:
        BadInput: a corpus is not there, or a counterpart is not printed.
    """
    cells: list[Cell] = []
    notes: list[str] = []
    for corpus, counterpart in corpora.items():
        facts = _facts(data / "corpora" / corpus)
        cells += _cells(corpus, facts, _printed(expected, corpus, counterpart))
        dropped = ", ".join(f"{reason} {number}" for reason, number in sorted(facts["dropped"].items())) or "none"
        notes.append(f"{corpus}: lengths in {facts['token_unit']}; dropped articles: {dropped}")
    return Table("Table 11. Corpora: articles, section types, section statistics (validation split)", cells, notes)


def _facts(folder: Path) -> dict[str, Any]:
    """The corpus's own facts; where its reader computed no statistics, they are computed from its documents."""
    if not (folder / "facts.json").is_file():
        raise BadInput(f"{folder}: no such corpus; run its prepare stage, or mend the row's corpora")
    facts = {"dropped": {}} | json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    if "table_11" in facts:
        return facts
    lines = (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [Document.from_record(json.loads(line), str(folder)) for line in lines]
    lengths = [np.array([piece_count(section.text) for section in document.sections]) for document in documents]
    statistics = corpus_statistics(Selection(documents, lengths, Counter()))
    return facts | {"table_11": statistics, "token_unit": LOWER_BOUND}


def _printed(expected: Mapping[str, Any], corpus: str, counterpart: str | None) -> Mapping[str, float]:
    known = expected["table_11"]
    if counterpart is not None and counterpart not in known:
        raise BadInput(
            f"corpus {corpus}: {counterpart!r} is not in the printed table, allowed are {sorted(known)} or null"
        )
    return known[counterpart] if counterpart else {}


def _cells(corpus: str, facts: Mapping[str, Any], printed: Mapping[str, float]) -> list[Cell]:
    cells = []
    for fact, (column, key, scale) in COLUMNS.items():
        value = facts["table_11"][fact]
        paper = printed[key] * scale if printed else None
        verdict = judge_number(paper, value, value, value) if printed else ""
        units = sum(facts["table_11"][split] for split in ("train", "validation", "test"))
        cells.append(Cell(corpus, column, value, units=units, printed=paper, verdict=verdict, signature="count"))
    return cells
