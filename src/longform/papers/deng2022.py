"""Tables of "Model Criticism for Long-Form Text Generation" (Deng, Kuleshov, Rush 2022), numbered as printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import json

from longform.papers.layout import Cell, Table, cell
from longform.papers.ledger import Finding, judge_number, judge_ordering

Records = Mapping[str, Mapping[str, Any]]
FULL_SIZE = {"num_states": 256, "steps": 50, "parameters": 2_625_536}  # appendix D; table_01 is printed for it


def table_1(*, scores: Records, expected: Mapping[str, Any], data: Path, corpus: str) -> Table:
    """Word PPL and Latent PPL of the synthetic language: exact truth, data, transformer and HSMMs.

    Score rows are named ``synthetic-<system>-<word|latent|strict>``; systems in the order of the row.
    """
    truth = json.loads((data / "corpora" / corpus / "facts.json").read_text(encoding="utf-8"))
    printed = expected["table_01"]
    comparable = all(truth[key] == value for key, value in FULL_SIZE.items())
    why = "" if comparable else f"|Z| = {truth['num_states']}, M = {truth['steps']} here, 256 and 50 in the paper"
    cells = [_exact("truth (exact)", column, truth[key]) for column, key in (("word PPL", "word_ppl"), ("Latent PPL", "latent_ppl"))]
    for system in dict.fromkeys(name.split("-")[1] for name in scores):
        cells += _system_cells(system, scores, printed, comparable, why)
    findings = _table_1_claims(scores)
    notes = [f"{f.claim}: {f.verdict} ({f.why})" for f in findings]
    if not comparable:
        notes.append(f"printed values are not comparable at this size: {why}")
    return Table("Table 1. Synthetic language: word PPL and Latent PPL with 95 % intervals", cells, notes)


def _exact(row: str, column: str, value: float) -> Cell:
    return Cell(row, column, value, value, value, signature="closed form")


def _system_cells(system: str, scores: Records, printed: Mapping[str, Any], comparable: bool, why: str) -> list[Cell]:
    columns = {"word": ("word PPL", "word_ppl"), "latent": ("Latent PPL", "latent_ppl"), "strict": ("Latent PPL, strict rule", None)}
    family = "hsmm" if system.startswith("hsmm") else system
    cells: list[Cell] = []
    for kind, (column, key) in columns.items():
        record = scores.get(f"synthetic-{system}-{kind}")
        if record is None:
            continue
        paper = printed[key].get(family) if key else None
        verdict = "" if paper is None else judge_number(paper, record["value"], record["low"], record["high"]) if comparable else "not comparable"
        cells.append(cell(system, column, record, printed=paper, verdict=verdict, why=why if verdict else ""))
        if kind == "latent":
            whole = record["units"] + record["excluded"]
            cells.append(Cell(system, "survival", record["units"] / whole, units=whole, signature="share of texts the oracle reads"))
    return cells


def _table_1_claims(scores: Records) -> list[Finding]:
    """The orderings of section 3: both models are close in word PPL, only the HSMM is close in Latent PPL."""
    hsmms: Sequence[str] = [n for n in scores if n.startswith("synthetic-hsmm") and n.endswith("-latent")]
    if not hsmms or "synthetic-transformer-latent" not in scores:
        return []
    data, transformer = scores["synthetic-data-latent"], scores["synthetic-transformer-latent"]
    return [
        judge_ordering(f"Latent PPL: data < {name.split('-')[1]} < transformer", [data, scores[name], transformer])
        for name in hsmms
    ]
