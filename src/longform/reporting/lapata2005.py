"""Tables of "Automatic Evaluation of Text Coherence: Models and Representations" (Lapata, Barzilay, IJCAI 2005).

Their numbers were stripped from every text of the paper that could be read, so the printed magnitudes are lost: the
tables compare only what its words state (which models go with people, that the distance goes against them) and how many
minus signs stand in each row. Tables of shuffle tasks are in :mod:`longform.reporting.lapata2005_orders`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import BadInput
from longform.evaluation.agreement import (
    Agreement,
    Correlation,
    clustered_interval,
    correlate,
    leave_one_out,
    williams_test,
)
from longform.evaluation.regression import combine
from longform.reporting.layout import Cell, Table
from longform.reporting.ledger import Finding
from longform.resampling import generator

Records = Mapping[str, Mapping[str, Any]]
PRINTED_NAMES = {
    "transitions": "Egrid", "overlap": "Overlap", "latent_semantics": "LSA", "hirst_st_onge": "HStO",
    "lesk_plain": "Lesk", "jiang_conrath": "JCon", "lin": "Lin", "resnik": "Resnik",
}  # fmt: skip
OTHER_NAMES = {"lesk": "Lesk (extended)", "ranking": "ranking grid"}  # ours to this paper's tables
CLAIMS: Mapping[str, Any] = {"significant_with_humans": ["Egrid", "LSA", "HStO", "JCon"], "highest_absolute": "HStO", "negative_with_humans": ["JCon"], "not_correlated_with_each_other": ["Egrid", "LSA"], "all_below_agreement": True}  # fmt: skip
RESAMPLES = 1000
LEVEL = 0.05  # of significance; the paper has two levels of stars, the lower one is not readable


def shown_name(model: str) -> str:
    """The paper's name of a model where it has one."""
    return PRINTED_NAMES.get(model) or OTHER_NAMES.get(model) or model


def members(scores: Records, task: str) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Texts -> model -> what its row tells of it, from rows named ``<texts>-<task>-<what>`` that hold panels.

    Raises:
        BadInput: no such row.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, record in scores.items():
        texts, _, what = name.rpartition(f"-{task}-")
        if texts and what:
            shared = record["details"]["shared"]
            rows = {model: {**shared, **own} for model, own in record["details"]["models"].items()}
            found.setdefault(texts, {}).update(rows)
    if not found:
        raise BadInput(f"no score row named <texts>-{task}-<what> among {sorted(scores)}; mend the row's list")
    return found


def rated(scores: Records) -> dict[str, Mapping[str, Any]]:
    """Model -> details, of rating rows that are all about the same texts; the paper's models first, in its order.

    Raises:
        BadInput: the rows are about different texts.
    """
    found = members(scores, "ratings")
    models = {model: row for rows in found.values() for model, row in rows.items()}
    if len(found) > 1 or len({tuple(row["unit_ids"]) for row in models.values()}) > 1:
        raise BadInput(f"rating rows {sorted(scores)} are about different texts; give them the same units")
    order = [model for model in PRINTED_NAMES if model in models]
    return {model: models[model] for model in [*order, *(m for m in models if m not in order)]}


def _columns(models: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Values of each text by model, nan where excluded."""
    return {model: np.array(row["values"], dtype=np.float64) for model, row in models.items()}


def _marks(models: Mapping[str, Mapping[str, Any]]) -> tuple[np.ndarray, list[str]]:
    """Marks (raters, texts) and clusters of the texts."""
    details = next(iter(models.values()))
    return np.array(details["marks"], dtype=np.float64).T, details["clusters"]


def agreement(marks: np.ndarray) -> Agreement:
    """Leave-one-out agreement (section 5.2)."""
    return leave_one_out(marks, generator("lapata2005", "agreement"), resamples=RESAMPLES)


def correlations(*, scores: Records, expected: Mapping[str, Any], data: Path, corpus: str) -> Table:
    """The paper's table of correlations: every model with people's mean marks and with every other model (Pearson).

    Score rows are named ``<texts>-ratings-<what>`` and keep each text's value by model. Intervals with people resample
    whole clusters.
    """
    models = rated(scores)
    columns, (marks, clusters) = _columns(models), _marks(models)
    people = np.nanmean(marks, axis=0)
    cells = [_with_people(model, values, people, clusters) for model, values in columns.items()]
    cells += [_with_each_other(*pair, columns) for pair in _pairs(list(columns))]
    found = agreement(marks)
    cells.append(Cell("agreement of people", "Humans", found.value, found.low, found.high, units=found.raters))
    findings = [*_agreements(found, expected, data, corpus), *claims(columns, people, expected, found)]
    notes = [f"{f.claim}: {f.verdict} ({f.why})" for f in findings]
    notes += williams_notes(columns, people)
    return Table("Correlation with mean marks and between models (Pearson, 95 % intervals)", cells, notes)


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(first, second) for i, first in enumerate(names) for second in names[i + 1 :]]


def _with_people(model: str, values: np.ndarray, people: np.ndarray, clusters: Sequence[str]) -> Cell:
    found = correlate("pearson", values, people)
    low, high = clustered_interval("pearson", values, people, clusters, generator("lapata2005", model), RESAMPLES)
    rest = {"units": found.items, "excluded": found.excluded, "p_value": found.p_value}
    verdict = {"verdict": "lost", "why": "no digit of the paper's table survives"} if model in PRINTED_NAMES else {}
    return Cell(shown_name(model), "Humans", found.value, low, high, **rest, **verdict)


def _with_each_other(first: str, second: str, columns: Mapping[str, np.ndarray]) -> Cell:
    found = correlate("pearson", columns[first], columns[second])
    rest = {"units": found.items, "excluded": found.excluded, "p_value": found.p_value}
    return Cell(shown_name(second), shown_name(first), found.value, found.low, found.high, **rest)


def _agreements(found: Agreement, expected: Mapping[str, Any], data: Path, corpus: str) -> list[Finding]:
    """Agreement beside the sibling's number, and, where raters were planted, recovery of what was planted."""
    sibling = expected["human_study"]["inter_subject_agreement_r"]["sibling"]
    shown = (
        f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}] over {found.raters} raters, {found.excluded} set aside"
    )
    findings = [
        Finding(
            "inter-subject agreement, leave one out", "lost", f"{shown}; {sibling} in a sibling paper, on other texts"
        )
    ]
    folder = data / "corpora" / corpus
    planted = json.loads((folder / "facts.json").read_text(encoding="utf-8")).get("rater_agreement")
    if planted is None:
        return findings
    with np.load(folder / "truth.npz", allow_pickle=False) as truth:
        raw = agreement(np.asarray(truth["raw_marks"], dtype=np.float64).T)
    inside = raw.low <= planted <= raw.high
    why = f"closed form {planted:.3f}; marks before rounding {raw.value:.3f} [{raw.low:.3f}, {raw.high:.3f}]"
    claim = "agreement that was planted is recovered within its interval"
    return [*findings, Finding(claim, "within interval" if inside else "differs", why)]


def claims(
    columns: Mapping[str, np.ndarray], people: np.ndarray, expected: Mapping[str, Any], upper: Agreement
) -> list[Finding]:
    """What section 5.2 says in words, one verdict each; only the paper's own models are asked."""
    said = CLAIMS
    own = {PRINTED_NAMES[m]: correlate("pearson", v, people) for m, v in columns.items() if m in PRINTED_NAMES}
    strong = [name for name, r in own.items() if r.p_value < LEVEL]
    best = max((n for n in own if not np.isnan(own[n].value)), key=lambda n: abs(own[n].value), default="none")
    negative = [name for name, r in own.items() if r.value < 0]
    two = [m for m in PRINTED_NAMES if PRINTED_NAMES[m] in said["not_correlated_with_each_other"] and m in columns]
    below = all(abs(r.value) < upper.low for r in own.values() if not np.isnan(r.value))
    findings = [
        _claim(f"significant with people at {LEVEL}", said["significant_with_humans"], strong),
        _claim("highest absolute correlation with people", [said["highest_absolute"]], [best]),
        _claim("negative with people", said["negative_with_humans"], negative),
        Finding("every model stays below the agreement of people", _holds(below), f"agreement from {upper.low:.3f} on"),
    ]
    if len(two) == 2:
        r = correlate("pearson", *(columns[model] for model in two))
        findings.append(Finding("Egrid and LSA are not correlated (inferred)", _holds(not r.p_value < LEVEL), _told(r)))
    return [*findings, _minus_signs(columns, own, expected)]


def _holds(true: bool) -> str:
    return "ordering holds" if true else "differs"


def _claim(what: str, said: Sequence[str], found: Sequence[str]) -> Finding:
    shown = ", ".join(found) or "none"
    return Finding(f"{what}: {', '.join(said)}", _holds(set(said) == set(found)), f"here {shown}")


def _told(r: Correlation) -> str:
    return f"r = {r.value:.2f} [{r.low:.2f}, {r.high:.2f}], {_p(r.p_value)}"


def _p(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.4f}"


def _minus_signs(
    columns: Mapping[str, np.ndarray], own: Mapping[str, Correlation], expected: Mapping[str, Any]
) -> Finding:
    """Minus signs of each row of the lower triangle, all that survives of the table's numbers."""
    printed = {name: row["minus_signs"] for name, row in expected["table_correlations"].items()}
    model_of = {name: model for model, name in PRINTED_NAMES.items()}
    present = [name for name in printed if model_of[name] in columns]
    counts = {}
    for place, name in enumerate(present):
        pairs = [(columns[model_of[name]], columns[model_of[other]]) for other in present[:place]]
        counts[name] = sum(correlate("pearson", *pair).value < 0 for pair in pairs) + (own[name].value < 0)
    same = sum(counts[name] == printed[name] for name in present)
    why = ", ".join(f"{name} {counts[name]} (paper {printed[name]})" for name in present)
    verdict = "equal" if same == len(present) else "differs"
    return Finding(f"minus signs in each row, {same} of {len(present)} rows as printed", verdict, why)


def williams_notes(columns: Mapping[str, np.ndarray], people: np.ndarray) -> list[str]:
    """Tests of the model with the highest absolute correlation against each other one."""
    found = {model: correlate("pearson", values, people).value for model, values in columns.items()}
    defined = [model for model, value in found.items() if not np.isnan(value)]
    best = max(defined, key=lambda model: abs(found[model]), default=None)
    return [_williams_note(best, model, columns, people) for model in defined if best is not None and model != best]


def _williams_note(best: str, model: str, columns: Mapping[str, np.ndarray], people: np.ndarray) -> str:
    kept = ~np.isnan(columns[best] + columns[model] + people)
    first, second, marks = columns[best][kept], columns[model][kept], people[kept]
    if len(marks) < 4 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return f"{shown_name(best)} against {shown_name(model)}: constant or too few over {len(marks)} texts, no test"
    signs = [np.sign(np.corrcoef(side, marks)[0, 1]) for side in (first, second)]
    table = np.corrcoef([marks, signs[0] * first, signs[1] * second])
    test = williams_test(float(table[0, 1]), float(table[0, 2]), float(table[1, 2]), int(kept.sum()))
    return (
        f"{shown_name(best)} against {shown_name(model)}, absolute values: Williams t({test.degrees}) = {test.t:.2f}, "
        f"{_p(test.p_value)}"
    )


def regression(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """The combined model: stepwise regression on two thirds of the clusters, its correlation with marks on the rest.

    The paper's procedure, predictors and result are lost; the procedure is ours. Only the paper's models are offered.
    """
    models = rated(scores)
    columns, (marks, clusters) = _columns(models), _marks(models)
    people = np.nanmean(marks, axis=0)
    offered = {model: values for model, values in columns.items() if model in PRINTED_NAMES}
    found = combine(offered, people, clusters, generator("lapata2005", "regression"), resamples=RESAMPLES)
    cells = [
        Cell(shown_name(name), "weight per standard deviation", float(weight), p_value=float(p))
        for name, weight, p in zip(found.model.names, found.model.weights, found.model.p_values, strict=True)
    ]
    for row, held, (low, high) in (
        ("combined", found.held_out, found.interval),
        (f"best single model of the fitted part: {shown_name(found.best)}", found.best_held_out, found.best_interval),
    ):
        rest = {"units": held.items, "excluded": held.excluded, "p_value": held.p_value}
        cells.append(Cell(row, "held-out correlation", held.value, low, high, **rest, verdict="lost"))
    notes = [
        f"fitted on {found.fitted_items} texts; enter p < 0.05, remove p > 0.10, z-scored predictors (ours)",
        f"kept of {len(offered)} models: {', '.join(map(shown_name, found.model.names)) or 'no predictor'}",
        "intervals resample whole clusters; the paper's procedure, predictors and result are lost",
    ]
    return Table("Stepwise regression of mean marks on the models", cells, notes)
