"""The table of a human study: shares called coherent, agreement and mixed effects."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.evaluation.human_study import (
    SIGNATURE,
    Effect,
    expected_alpha,
    expected_share,
    mixed_effects,
)
from longform.results import Record, Results
from longform.tables import Cell, Table, cell, exact
from longform_lab.reporting.pivot import SYSTEM, ReportInputs

HUMAN = {"critic": "human_study", "metric": "coherent_share"}
SIMULATED = "SIMULATED annotators of known error rates, no person took part"


def annotators(records: Results) -> str:
    """Who answered: people, or simulated annotators."""
    return SIMULATED if any(record.details["simulated"] for record in records) else "annotators"


def human_study(inputs: ReportInputs) -> Table:
    """The table of a human study.

    Share coherent with both intervals, majority, alpha, kappa and mixed effects; what error rates
    predict where annotators are simulated.
    """
    people = inputs.select(HUMAN)
    cells: list[Cell] = []
    dropped: set[str] = set()
    for record in people:
        cells += _cells_of_system(inputs.labels(record, *SYSTEM), record)
        dropped.update(record.details["dropped"])
    effects, note = _mixed_effects(inputs, people)
    names = ", ".join(sorted(dropped)) or "nobody"
    notes = [note, f"set aside by the attention checks, with every answer: {names}"]
    return Table(
        f"Human study: agreement and mixed effects ({annotators(people)})",
        [*cells, *effects],
        [*notes, *inputs.notes],
    )


def _cells_of_system(row: str, record: Record) -> list[Cell]:
    """Shares and agreement of one system."""
    details = record.details
    agreement = details["agreement"]
    low, high = details["wilson"]
    # 1. What the answers say.
    wilson: dict[str, Any] = {"units": details["judgements"], "signature": "Wilson 1927"}
    cells = [
        cell(row, "coherent, articles resampled", record),
        Cell(row, "coherent, Wilson", record.value, low, high, **wilson),
        exact(row, "coherent by majority", details["majority"], "", units=record.units),
        exact(row, "alpha", agreement["alpha"], "Krippendorff, nominal", units=record.units),
    ]
    kappas = [value for value in agreement["kappa"].values() if value is not None]
    if kappas:
        mean = float(np.mean(kappas))
        cells.append(exact(row, "mean kappa", mean, "Cohen, pairs", units=len(kappas)))
    # 2. What known error rates predict.
    if rates := flip_rates(details):
        truth = details["known"]["coherent"]
        alpha = expected_alpha(truth, rates)
        cells.append(exact(row, "share by the rule", truth, "the rule"))
        cells.append(exact(row, "expected share", expected_share(truth, rates)))
        cells.append(exact(row, "expected alpha", alpha, "closed form, many articles"))
    return cells


def _mixed_effects(inputs: ReportInputs, people: Results) -> tuple[list[Cell], str]:
    """Fixed effects and spreads, and a note on how they were fitted, or why they were not."""
    # 1. Verdicts with the system, the annotator and the article of each.
    values, systems, names, articles = [], [], [], []
    details_of = {inputs.labels(record, *SYSTEM): record.details for record in people}
    for system, details in details_of.items():
        for name, answers in zip(details["annotators"], details["answers"], strict=True):
            for unit, value in zip(details["unit_ids"], answers, strict=True):
                if value is not None:
                    values.append(value)
                    systems.append(system)
                    names.append(name)
                    articles.append(f"{system}/{unit}")
    # 2. The fit.
    try:
        fixed, spreads = mixed_effects(values, systems, names, articles)
    except BadInput as error:
        return [], f"mixed effects: not fitted ({error})"
    fitted: dict[str, Any] = {"units": len(values), "signature": SIGNATURE}
    cells = []
    for effect in fixed:
        cells.append(_effect_cell(effect.name, effect, fitted))
    for effect in spreads:
        cells.append(_effect_cell(f"sd of {effect.name}", effect, fitted))
    return cells, f"mixed effects: {SIGNATURE}"


def _effect_cell(name: str, effect: Effect, fitted: dict[str, Any]) -> Cell:
    return Cell(name, "logit", effect.value, effect.low, effect.high, **fitted)


def flip_rates(details: Mapping[str, Any]) -> list[float]:
    """How often each simulated annotator says the other of the two verdicts.

    None of people, whose errors nobody knows.
    """
    rates = (details.get("known") or {}).get("rates", {})
    return [rates[name]["flips"] for name in details["annotators"] if name in rates]
