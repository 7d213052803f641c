"""Table 2 of Massarelli et al. (2020): the sheet that people fill in, and the table from what they answered."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput
from longform.critics.verifiability.annotation_sheet import FLAGS, judged
from longform.critics.verifiability.score import LABELS
from longform.reporting.pivot import Given
from longform.reporting.table import Cell, Table

MEASURES = ("REP", "NAC", "UNG", "SPG", "SPV", "USPG", "USPV")
SHOWN = ("item_id", "claim", "evidence")
CHOICES = {  # what the study app offers, one choice an item: a flag alone says nothing of support
    "supported": {"label": LABELS[0]},
    "refuted": {"label": LABELS[1]},
    "not enough information": {"label": LABELS[2]},
    "repetition": {"label": LABELS[2], "repetition": "1"},
    "not a claim": {"label": LABELS[2], "not_a_claim": "1"},
    "ungrammatical": {"label": LABELS[2], "ungrammatical": "1"},
}


@dataclass(frozen=True)
class StudySheet:
    """A table with the files of its study beside it.

    ``sheet.csv`` and ``sheet.jsonl`` are what ``python -m longform.study make claim --sheet`` takes (item_id, claim, evidence, with
    what was said before it); ``answers.csv`` is an empty form for those who work without the app (one line per item
    and annotator); ``key.csv``, which annotators do not see, says which decoder wrote what.
    """

    table: Table
    items: Sequence[Mapping[str, Any]]

    def save(self, folder: Path, stem: str) -> None:
        """The table's files and the study's."""
        self.table.save(folder, stem)
        shown = [dict(zip(SHOWN, (item["item"], item["claim"], _evidence(item)), strict=True)) for item in self.items]
        lines = [json.dumps(item, ensure_ascii=False, sort_keys=True) for item in shown]
        (folder / "sheet.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        _write(folder / "sheet.csv", SHOWN, shown)
        _write(folder / "key.csv", ("item", "decoder", "page", "generation", "sentence"),
               [{"item": item["item"], **item["key"]} for item in self.items])  # fmt: skip
        _write(folder / "answers.csv", ("item", "annotator", "label", *FLAGS), [])


def _evidence(item: Mapping[str, Any]) -> str:
    said = f" Said before: {item['before']}" if item["before"] else ""
    return f"{item['evidence'] or 'No page was found.'}{said}"


def _write(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def table_2(given: Given, answers: str | None = None, test: str = "test") -> StudySheet:
    """What the paper's annotators found, exact repeats counted here, and, with ``answers``, what ours found.

    Args:
        answers: a filled ``answers.csv``, its path below ``data``; none at the default scale, where nobody was asked.
        test: the run whose texts are judged.

    Raises:
        BadInput: answers that cannot be read.
    """
    sheet = given.results.one(critic="verifiability", metric="exact_repeats", corpus=test).details
    block = given.expected["table_2"]
    ours = judged(sheet["items"], read_answers(given.data / answers)) if answers else None
    why = "other texts and other people than the paper's" if ours else "nobody was asked: the sheet is beside the table"
    cells = []
    for decoder, repeats in sheet["exact_repeats"].items():
        row = given.label("system", decoder)
        for place, measure in enumerate(MEASURES):
            value = ours["decoders"].get(decoder, {}).get(measure) if ours else None
            printed = block[decoder][place] if decoder in block else None
            cells.append(Cell(row, measure, value, printed=printed, why=why))
        share = None if repeats is None else 100 * repeats
        signature = "sentences equal to an earlier one of the text"
        cells.append(Cell(row, "exact repeats", share, signature=signature))
    caption = "Table 2. What people say of the first five sentences (percent)"
    return StudySheet(given.table(caption, cells, _notes(sheet, ours, block)), sheet["items"])


def _notes(sheet: Mapping[str, Any], ours: Mapping[str, Any] | None, block: Mapping[str, Any]) -> list[str]:
    notes = [
        f"sheet of {len(sheet['items'])} sentences after {sheet['prefixes']} prefixes (paper: {block['prefixes']} prefixes)"
    ]
    if ours is None:
        return [*notes, "give the filled sheet as `answers`, and the table has our numbers too"]
    held = ours["agreement"]
    kappa = f"{held['annotators']} annotators, Cohen's kappa {held['cohen_kappa']:.2f} (paper {block['cohen_kappa']})"
    return [*notes, kappa, f"{ours['sentences']} sentences judged, {ours['unanswered']} not"]


def read_answers(path: Path) -> list[dict[str, str]]:
    """Rows of a filled form, or of the study app's export, of which the last answer to each item counts.

    Raises:
        BadInput: no such file, columns are missing, or a choice that the app does not have.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; put the answers there, or leave `answers` out")
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns, rows = set(reader.fieldnames or ()), list(reader)
    if {"item", "annotator", "answer"} <= columns:
        return [_chosen(row, path) for row in rows if row.get("last", "True") == "True"]
    if missing := {"item", "label"} - columns:
        raise BadInput(f"{path}: columns {sorted(missing)} are missing; it has {sorted(columns)}")
    return rows


def _chosen(row: Mapping[str, str], path: Path) -> dict[str, str]:
    if row["answer"] not in CHOICES:
        raise BadInput(f"{path}: answer {row['answer']!r} of item {row['item']!r}; allowed are {list(CHOICES)}")
    return {"item": row["item"], "annotator": row["annotator"], **CHOICES[row["answer"]]}
