"""Tables 1, 3 and 4, and how far the checker can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from longform.core.results import Results
from longform.critics.verifiability.score import LABELS
from longform.reporting.papers.massarelli2020.decoders import (
    PAPERS_CHOICE,
    PERCENT,
    Decoders,
    alike,
    chosen,
    in_order,
    label,
)
from longform.reporting.printed import Expected
from longform.reporting.selection import Facts
from longform.reporting.table import Cell, Table, cell

TABLE_1 = ("distinct_4grams", "proportion_4grams", "SPG", "SPV", "USPG", "USPV")
TABLE_4 = ("distinct_sentences", "entities", "tokens", "conjunctions", "link_grammar_percent", "tfidf")


def measured(
    results: Results,
    expected: Expected,
    data: Path,
    run: str,
    measures: Sequence[str],
    decoders: Decoders,
    *,
    table: str = "",
    variant: str = "",
    column: str = "{}",
) -> list[Cell]:
    """A row for each decoder of a run, a column for each measure, shares in percent."""  # fmt: skip
    facts, cells = Facts(data), []
    found = results.where(critic="verifiability", corpus=run, variant=variant, metric=list(measures))
    for r in sorted(in_order(found, decoders, expected), key=lambda r: measures.index(r.metric)):
        name = column.format(expected.label("metric", r.metric))
        factor = 100.0 if r.metric in PERCENT else 1.0
        cells.append(expected.cell(label(r.system, decoders, expected), name, r, table, facts, factor=factor))
    return cells


def table_1(
    results: Results,
    expected: Expected,
    *,
    data: Path,
    decoders: Decoders,
    test: str = "test",
    grid: str = "grid",
    sweep: str = "sweep",
) -> Table:
    """Decoders on test prefixes: the paper's settings and later ones; then those that validation chose, with the small model.

    Args:
        test: the run of the large model; ``grid``: the small model's on test prefixes; ``sweep``: on validation prefixes.
    """  # fmt: skip
    cells = measured(results, expected, data, test, TABLE_1, decoders, table="table_1")
    cells += measured(results, expected, data, test, TABLE_1[2:], decoders, variant="gold", column="{} by exact rules")
    best = list(chosen(results, decoders, sweep).values())
    small = results.where(system=best)
    cells += [
        replace(c, row=f"small model, chosen on validation: {c.row}")
        for c in measured(small, expected, data, grid, TABLE_1, decoders)
    ]
    caption = "Table 1. Repetition and verifiability by decoder, test prefixes (percent, but for distinct 4-grams)"
    return Table(caption, cells, expected.notes("table_1", results, data))


def table_3(results: Results, expected: Expected, *, data: Path, decoders: Decoders, sweep: str = "sweep") -> Table:
    """What validation chooses by USPG, strategy by strategy, beside the paper's choice, over the whole grid."""
    best = {label(name, decoders, expected) for name in chosen(results, decoders, sweep).values()}
    papers = {label(name, decoders, expected) for name in decoders if alike(name, decoders, PAPERS_CHOICE)}
    cells = [
        replace(c, row=c.row + " (chosen)" * (c.row in best) + " (the paper's)" * (c.row in papers))
        for c in measured(results, expected, data, sweep, TABLE_1, decoders)
    ]
    notes = [
        f"chosen, as in the paper: {len(best & papers)} of {len(best)} strategies",
        *expected.notes("table_3", results, data),
    ]
    return Table("Table 3. The sweep on validation prefixes: the highest USPG of each strategy is chosen", cells, notes)


def table_4(results: Results, expected: Expected, *, data: Path, decoders: Decoders, sweep: str = "sweep") -> Table:
    """Counts of sentences by decoder on validation prefixes; by rules, where the paper has spaCy's parser."""
    cells = measured(results, expected, data, sweep, TABLE_4, decoders, table="table_4")
    grammar = [c for c in cells if c.column == expected.label("metric", "link_grammar_percent")]
    notes = ["entities are runs of capitals and numbers, conjunctions two per coordinating word: see deviations.md"]
    if all(c.value is None or c.value != c.value for c in grammar):
        notes.append("Link Grammar's Python binding is not installed here, so its column is empty")
    return Table("Table 4. What sentences are like, by decoder, validation prefixes", cells, notes)


def checker(
    results: Results, expected: Expected, *, data: Path, decoders: Decoders, claims: str = "claims", test: str = "test"
) -> Table:
    """How far the checker can be trusted, and support corrected for it; the paper's lines are its checker against people.

    Args:
        claims: the corpus of claims with known labels.
    """
    facts, cells, notes = Facts(data), [], []
    for corpus in (claims, test):
        found = results.where(critic="verifiability", corpus=corpus)
        row = f"checker on {expected.label('corpus', corpus)}"
        for metric in ("checker_accuracy", "checker_precision", "checker_recall"):
            for r in sorted(found.where(metric=metric), key=lambda r: ("", *LABELS).index(r.task)):
                of = f" of {r.task.replace('_', ' ')}" if r.task else ""
                column = metric.removeprefix("checker_") + of
                cells.append(expected.cell(row, column, r, "table_2", facts, factor=100))
        for r in found.where(metric="checker_accuracy"):
            retrieved, majority = (100 * r.details[key] for key in ("retrieved", "majority"))
            notes.append(
                f"{row}: {retrieved:.1f} % of the known evidence was among the judged lines; the most frequent true label makes {majority:.1f} %"
            )
    shown = {
        "": "SPG as given",
        "corrected_by_claims": "SPG, errors as on claims",
        "corrected_by_sample": "SPG, errors as on the sweep",
        "gold": "SPG by exact rules",
    }
    for variant, column in shown.items():
        found = results.where(critic="verifiability", corpus=test, metric="SPG", variant=variant)
        cells += [
            cell(label(r.system, decoders, expected), column, r).times(100) for r in in_order(found, decoders, expected)
        ]
        unknown = {name for r in found for name in r.details.get("unknown_labels", ())}
        notes += [f"{column}: no known sentence is truly {name}, so nothing is corrected" for name in sorted(unknown)]
    caption = "The checker against the known truth, and support corrected for its errors (percent)"
    return Table(caption, cells, notes)
