"""Tables of "Automatic Evaluation of Text Coherence: Models and Representations" (Lapata, Barzilay, IJCAI 2005).

Their numbers were stripped from every text of the paper that could be read, so the printed magnitudes are lost: the
tables compare only what its words state (which models go with people, that the distance goes against them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longform.metrics.agreement import Agreement, clustered_interval, correlate, leave_one_out, williams_test
from longform.metrics.regression import combine
from longform.numerics import generator
from longform.papers.layout import Cell, Table, cell
from longform.units import BadInput

Records = Mapping[str, Mapping[str, Any]]
PRINTED_NAMES = {
    "transitions": "Egrid", "overlap": "Overlap", "latent_semantics": "LSA", "hirst_st_onge": "HStO",
    "lesk_plain": "Lesk", "lesk": "Lesk (extended)", "jiang_conrath": "JCon", "lin": "Lin", "resnik": "Resnik",
    "ranking": "ranking grid (ours to this table)",
}  # fmt: skip
RESAMPLES = 1000


def shown_name(model: str) -> str:
    """The paper's name of a model where it has one."""
    return PRINTED_NAMES.get(model, model)


def _by_model(scores: Records, task: str) -> dict[str, Mapping[str, Any]]:
    """Model -> record, of the rows named ``<texts>-<task>-<model>``; they must be about the same texts."""
    found = {name.split("-")[-1]: record for name, record in scores.items() if name.split("-")[1] == task}
    if not found:
        raise BadInput(f"no score row named <texts>-{task}-<model> among {sorted(scores)}; mend the row's list")
    return found


def _columns(records: Records) -> dict[str, np.ndarray]:
    """Values of each text by model, nan where excluded."""
    ids = {tuple(record["details"]["unit_ids"]) for record in records.values()}
    if len(ids) > 1:
        raise BadInput(f"rating rows {sorted(records)} are about different texts; give them the same units")
    return {model: np.array(record["details"]["values"], dtype=np.float64) for model, record in records.items()}


def _marks(records: Records) -> tuple[np.ndarray, list[str]]:
    """Marks (raters, texts) and clusters of the texts."""
    details = next(iter(records.values()))["details"]
    return np.array(details["marks"], dtype=np.float64).T, details["clusters"]


def agreement(marks: np.ndarray) -> Agreement:
    """Leave-one-out agreement (section 5.2)."""
    return leave_one_out(marks, generator("lapata2005", "agreement"), resamples=RESAMPLES)


def correlations(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """The paper's table of correlations: every model with people's mean marks and with every other model (Pearson).

    Score rows are named ``<texts>-ratings-<model>`` and keep each text's value. Intervals with people resample whole
    clusters.
    """
    records = _by_model(scores, "ratings")
    columns, (marks, clusters) = _columns(records), _marks(records)
    people = np.nanmean(marks, axis=0)
    cells = [_with_people(model, values, people, clusters) for model, values in columns.items()]
    names = list(columns)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            found = correlate("pearson", columns[first], columns[second])
            rest = {"units": found.items, "excluded": found.excluded, "p_value": found.p_value}
            cells.append(Cell(shown_name(second), shown_name(first), found.value, found.low, found.high, **rest))
    notes = [_agreement_note(agreement(marks), expected), *_claims(records, columns, people)]
    return Table("Correlation with mean marks and between models (Pearson, 95 % intervals)", cells, notes)


def _with_people(model: str, values: np.ndarray, people: np.ndarray, clusters: Sequence[str]) -> Cell:
    found = correlate("pearson", values, people)
    low, high = clustered_interval("pearson", values, people, clusters, generator("lapata2005", model), RESAMPLES)
    rest = {"units": found.items, "excluded": found.excluded, "p_value": found.p_value, "verdict": "lost"}
    return Cell(shown_name(model), "Humans", found.value, low, high, **rest)


def _agreement_note(found: Agreement, expected: Mapping[str, Any]) -> str:
    sibling = expected["human_study"]["inter_subject_agreement_r"]["sibling"]
    return (
        f"inter-subject agreement, leave one out: {found.value:.3f} [{found.low:.3f}, {found.high:.3f}] over {found.raters} "
        f"raters, {found.excluded} without a coefficient (the paper's number is lost; {sibling} in a sibling paper)"
    )


def _claims(records: Records, columns: Mapping[str, np.ndarray], people: np.ndarray) -> list[str]:
    """What section 5.2 says in words: which models go with people, and Williams tests of the best against the rest."""
    found = {model: correlate("pearson", values, people) for model, values in columns.items()}
    strong = [shown_name(model) for model, r in found.items() if r.p_value < 0.05]
    notes = [f"significant at 0.05 (the paper names Egrid, LSA, HStO and JCon): {', '.join(strong) or 'none'}"]
    defined = {model: r for model, r in found.items() if not np.isnan(r.value)}
    best = max(defined, key=lambda model: abs(defined[model].value), default=None)
    for model in defined:
        if best is not None and model != best:
            notes.append(_williams_note(best, model, columns, people))
    return notes


def _williams_note(best: str, model: str, columns: Mapping[str, np.ndarray], people: np.ndarray) -> str:
    kept = ~np.isnan(columns[best] + columns[model] + people)
    first, second, marks = columns[best][kept], columns[model][kept], people[kept]
    if np.ptp(second) == 0:
        return f"{shown_name(model)} is constant over the {int(kept.sum())} texts that both models score"
    signs = [np.sign(np.corrcoef(side, marks)[0, 1]) for side in (first, second)]
    table = np.corrcoef([marks, signs[0] * first, signs[1] * second])
    test = williams_test(float(table[0, 1]), float(table[0, 2]), float(table[1, 2]), int(kept.sum()))
    return (
        f"{shown_name(best)} against {shown_name(model)}, absolute values: Williams t({test.degrees}) = {test.t:.2f}, "
        f"p = {test.p_two_sided:.4f}"
    )


def regression(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """The combined model: stepwise regression on two thirds of the clusters, its correlation with marks on the rest.

    The paper's procedure, predictors and result are lost; the procedure is ours.
    """
    records = _by_model(scores, "ratings")
    columns, (marks, clusters) = _columns(records), _marks(records)
    people = np.nanmean(marks, axis=0)
    found = combine(columns, people, clusters, generator("lapata2005", "regression"))
    cells = [
        Cell(shown_name(name), "weight per standard deviation", float(weight), p_value=float(p))
        for name, weight, p in zip(found.model.names, found.model.weights, found.model.p_values, strict=True)
    ]
    held = found.held_out
    rest = {"units": held.items, "excluded": held.excluded, "p_value": held.p_value, "verdict": "lost"}
    cells.append(Cell("combined", "held-out correlation", held.value, held.low, held.high, **rest))
    notes = [
        f"fitted on {found.fitted_items} texts; enter p < 0.05, remove p > 0.10, z-scored predictors (ours)",
        f"kept: {', '.join(map(shown_name, found.model.names)) or 'no predictor'}",
    ]
    return Table("Stepwise regression of mean marks on the models", cells, notes)


TASK_NAMES = {"block": "blocks of {}", "window": "{} windows of 3"}


def _tasks(scores: Records) -> list[tuple[str, str, str, Mapping[str, Any]]]:
    """(texts, scorer, task, record) of every task that rows named ``<texts>-shuffles-<scorer>`` report."""
    found = []
    for name, record in scores.items():
        texts, _, scorer = name.split("-")
        found += [(texts, scorer, task, row) for task, row in record["details"]["tasks"].items()]
    return found


def _ties(found: Sequence[tuple[str, str, str, Mapping[str, Any]]]) -> list[str]:
    """Where ties, which count as errors, are more than a tenth of the pairs."""
    return [
        f"{texts}, {shown_name(scorer)}, {task}: {row['ties'] / row['pairs']:.0%} of the pairs tie and count as errors"
        for texts, scorer, task, row in found
        if row["pairs"] and row["ties"] / row["pairs"] > 0.1
    ]


def shuffles(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """Every scorer on every shuffle task: pairwise accuracy with intervals.

    Score rows are named ``<texts>-shuffles-<scorer>`` and report all their tasks.
    """
    found = _tasks(scores)
    cells = []
    for texts, scorer, task, row in found:
        kind, _, size = task.rpartition("_")
        cells.append(cell(f"{texts}: {shown_name(scorer)}", TASK_NAMES.get(kind, kind + " {}").format(size), row))
    above = [
        f"{texts}, {shown_name(scorer)}: {row['above_mean']:.1%} of the documents lie above the mean of their whole shuffles"
        for texts, scorer, task, row in found
        if task == "block_1"
    ]
    return Table("Pairwise accuracy of every scorer on every shuffle task", cells, above + _ties(found))


SHENG_ROWS = {"transitions": "EntityGrid", "ranking": "EntityGrid", "ranker": "UnifiedCoherence"}
SHENG_COLUMNS = {
    "block_1": ("table2_global_accuracy", 0), "block_2": ("table2_global_accuracy", 1),
    "block_5": ("table2_global_accuracy", 2), "block_10": ("table2_global_accuracy", 3),
    "window_1": ("table3_local_accuracy", 1), "window_2": ("table3_local_accuracy", 2),
    "window_3": ("table3_local_accuracy", 3),
}  # fmt: skip


def sheng2024_rows(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """Entity grid and ranker rows of sheng2024 Tables 2 and 3, in per cent, beside the printed ones.

    The ranker is ours and stands where the paper has the unified coherence model; the two are not the same.
    """
    found = [row for row in _tasks(scores) if row[2] in SHENG_COLUMNS]
    cells = []
    for texts, scorer, task, record in found:
        table, place = SHENG_COLUMNS[task]
        printed = expected["sheng2024"][table][SHENG_ROWS[scorer]]["test"][place]
        per_cent = {key: None if record[key] is None else 100 * record[key] for key in ("value", "low", "high")}
        row = f"{texts}: {shown_name(scorer)}, for {SHENG_ROWS[scorer]}"
        why = "other texts, and for UnifiedCoherence another model"
        cells.append(cell(row, task, {**record, **per_cent}, printed=printed, verdict="not comparable", why=why))
    caption = "Pairwise accuracy (%) where sheng2024 has EntityGrid and UnifiedCoherence (Tables 2, 3)"
    return Table(caption, cells, _ties(found))


def accidents(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """Pairwise accuracy on the published accident grids, cross-validated over documents.

    Score rows are named ``accidents-orders-<model>``.
    """
    cited = expected["accuracy_cited_by_others"]["accidents_2008"] / 100
    cells = []
    for name, record in scores.items():
        printed = cited if name.split("-")[-1].startswith("ranking") else None
        why = "half of the documents here, cross-validated; the number is cited by others" if printed else ""
        verdict = "not comparable" if printed else ""
        cells.append(cell(name.split("-")[-1], "accuracy", record, printed=printed, verdict=verdict, why=why))
    empty = {int(record["totals"]["empty"]) for record in scores.values()}
    return Table(
        "Accident reports: original against permutation", cells, [f"empty permutations without a pair: {empty}"]
    )
