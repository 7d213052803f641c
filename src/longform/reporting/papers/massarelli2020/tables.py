"""Decoders by their settings; Tables 1 to 4, the sheet of Table 2 that people fill in, and how far the checker can be trusted."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput
from longform.core.results import Record
from longform.critics.verifiability.reliability import FLAGS, judged
from longform.critics.verifiability.score import LABELS
from longform.reporting.pivot import Given
from longform.reporting.table import Cell, Table, cell

PERCENT = ("proportion_4grams", "link_grammar_percent", "SPG", "SPV", "USPG", "USPV")  # shares, printed in percent
PAPERS_CHOICE: tuple[Mapping[str, Any], ...] = (  # Table 3; beams of the two diverse searches are not printed
    {"kind": "top_k", "k": 2},
    {"kind": "top_p", "p": 0.4},
    {"kind": "greedy"},
    {"kind": "beam", "beams": 15},
    {"kind": "group_beam", "beams": 6, "groups": 2, "penalty": 0.2},
    {"kind": "sibling_beam", "beams": 15, "penalty": 0.1},
    {"kind": "delayed_beam", "top_k": 100, "beams": 6, "delay": 1},
    {"kind": "beam", "beams": 15, "blocking": 20},
)
TABLE_1 = ("distinct_4grams", "proportion_4grams", "SPG", "SPV", "USPG", "USPV")
TABLE_4 = ("distinct_sentences", "entities", "tokens", "conjunctions", "link_grammar_percent", "tfidf")


def strategy(settings: Mapping[str, Any]) -> str:
    """The strategy of a decoder: its kind, but beam search that blocks repeats is one of its own."""
    return "beam_blocked" if settings["kind"] == "beam" and settings.get("blocking") else str(settings["kind"])


def label(name: str, given: Given) -> str:
    """``delayed beam search (top k 100, beams 6, delay 1)``; a decoder without known settings keeps its name in words."""
    if name not in given.decoders:
        return given.label("system", name)
    own = given.decoders[name]
    settings = [f"{key.replace('_', ' ')} {value:g}" for key, value in own.items() if key != "kind"]
    return given.label("system", strategy(own)) + (f" ({', '.join(settings)})" if settings else "")


def in_order(records: Iterable[Record], given: Given) -> list[Record]:
    """Records by strategy in the paper's order, then by settings as numbers, then by name."""
    known = list(given.expected["labels"]["system"])

    def place(record: Record) -> tuple[Any, ...]:
        settings = given.decoders.get(record.system, {"kind": record.system})
        kind = strategy(settings)
        numbers = [value for key, value in settings.items() if key != "kind"]
        return (known.index(kind) if kind in known else len(known), kind, numbers, record.system)

    return sorted(records, key=place)


def chosen(given: Given, run: str) -> dict[str, str]:
    """For each strategy the decoder of a run with the highest USPG; of equals the first, the one with the smaller setting."""
    best: dict[str, Record] = {}
    for record in given.results.where(critic="verifiability", metric="USPG", corpus=run, variant=""):
        if record.value is not None and record.system in given.decoders:
            kind = strategy(given.decoders[record.system])
            if kind not in best or record.value > (best[kind].value or 0.0):
                best[kind] = record
    return {kind: record.system for kind, record in best.items()}


def alike(name: str, given: Given, settings: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a decoder has one of these settings."""
    return name in given.decoders and any(dict(given.decoders[name]) == dict(other) for other in settings)


def measured(
    given: Given, run: str, measures: Sequence[str], table: str = "", variant: str = "", column: str = "{}"
) -> list[Cell]:
    """A row for each decoder of a run, a column for each measure, shares in percent."""
    found = given.results.where(critic="verifiability", corpus=run, variant=variant, metric=list(measures))
    return [
        given.cell(label(r.system, given), column.format(given.label("metric", r.metric)), r, table, _factor(r))
        for r in sorted(in_order(found, given), key=lambda r: measures.index(r.metric))
    ]


def _factor(r: Record) -> float:
    return 100.0 if r.metric in PERCENT else 1.0


def table_1(given: Given, test: str = "test", grid: str = "grid", sweep: str = "sweep") -> Table:
    """Decoders on test prefixes: the paper's settings and later ones; then those that validation chose, with the small model.

    Args:
        test: the run of the large model; ``grid``: the small model's on test prefixes; ``sweep``: on validation prefixes.
    """
    cells = measured(given, test, TABLE_1, "table_1")
    cells += measured(given, test, TABLE_1[2:], variant="gold", column="{} by exact rules")
    small = replace(given, results=given.results.where(system=list(chosen(given, sweep).values())))
    found = measured(small, grid, TABLE_1)
    cells += [replace(c, row=f"small model, chosen on validation: {c.row}") for c in found]
    return given.table(
        "Table 1. Repetition and verifiability by decoder, test prefixes (percent, but for distinct 4-grams)", cells
    )


def table_3(given: Given, sweep: str = "sweep") -> Table:
    """What validation chooses by USPG, strategy by strategy, beside the paper's choice, over the whole grid."""
    best = {label(name, given) for name in chosen(given, sweep).values()}
    papers = {label(name, given) for name in given.decoders if alike(name, given, PAPERS_CHOICE)}
    cells = [
        replace(c, row=c.row + " (chosen)" * (c.row in best) + " (the paper's)" * (c.row in papers))
        for c in measured(given, sweep, TABLE_1)
    ]
    note = f"chosen, as in the paper: {len(best & papers)} of {len(best)} strategies"
    return given.table(
        "Table 3. The sweep on validation prefixes: the highest USPG of each strategy is chosen", cells, [note]
    )


def table_4(given: Given, sweep: str = "sweep") -> Table:
    """Counts of sentences by decoder on validation prefixes; by rules, where the paper has spaCy's parser."""
    cells = measured(given, sweep, TABLE_4, "table_4")
    grammar = [c for c in cells if c.column == given.label("metric", "link_grammar_percent")]
    notes = ["entities are runs of capitals and numbers, conjunctions two per coordinating word: see deviations.md"]
    if all(c.value is None or c.value != c.value for c in grammar):
        notes.append("Link Grammar's Python binding is not installed here, so its column is empty")
    return Table("Table 4. What sentences are like, by decoder, validation prefixes", cells, notes)


def checker(given: Given, claims: str = "claims", test: str = "test") -> Table:
    """How far the checker can be trusted, and support corrected for it; the paper's lines are its checker against people.

    Args:
        claims: the corpus of claims with known labels.
    """
    cells, notes = [], []
    for corpus in (claims, test):
        found = given.results.where(critic="verifiability", corpus=corpus)
        row = f"checker on {given.label('corpus', corpus)}"
        for metric in ("checker_accuracy", "checker_precision", "checker_recall"):
            for r in sorted(found.where(metric=metric), key=lambda r: ("", *LABELS).index(r.task)):
                of = f" of {r.task.replace('_', ' ')}" if r.task else ""
                cells.append(given.cell(row, metric.removeprefix("checker_") + of, r, "table_2", 100))
        for r in found.where(metric="checker_accuracy"):
            retrieved, majority = (100 * r.details[key] for key in ("retrieved", "majority"))
            notes.append(
                f"{row}: {retrieved:.1f} % of the known evidence was among the judged lines; the most frequent true label "
                f"makes {majority:.1f} %"
            )
    shown = {
        "": "SPG as given",
        "corrected_by_claims": "SPG, errors as on claims",
        "corrected_by_sample": "SPG, errors as on the sweep",
        "gold": "SPG by exact rules",
    }
    for variant, column in shown.items():
        found = given.results.where(critic="verifiability", corpus=test, metric="SPG", variant=variant)
        cells += [cell(label(r.system, given), column, r).times(100) for r in in_order(found, given)]
        unknown = {name for r in found for name in r.details.get("unknown_labels", ())}
        notes += [f"{column}: no known sentence is truly {name}, so nothing is corrected" for name in sorted(unknown)]
    return Table("The checker against the known truth, and support corrected for its errors (percent)", cells, notes)


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

    Raises BadInput: no such file, columns are missing, or a choice that the app does not have.
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
