"""The table of a human study: shares called coherent, agreement and mixed effects."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.evaluation.human_study import SIGNATURE, expected_alpha, expected_share, mixed_effects
from longform.results import Results
from longform.tables import Cell, Table, cell, exact
from longform_lab.reporting.pivot import SYSTEM, Given

HUMAN = {"critic": "human_study", "metric": "coherent_share"}
SIMULATED = "SIMULATED annotators of known error rates, no person took part"


def annotators(records: Results) -> str:
    """Who answered: people, or simulated annotators."""
    return SIMULATED if any(record.details["simulated"] for record in records) else "annotators"


def human_study(given: Given) -> Table:
    """Share coherent with both intervals, majority, alpha, kappa, mixed effects; what error rates of simulated annotators predict."""
    people = given.select(HUMAN)
    cells: list[Cell] = []
    for record in people:
        row, found = given.labels(record, *SYSTEM), record.details
        low, high = found["wilson"]
        kappas = [value for value in found["agreement"]["kappa"].values() if value is not None]
        cells += [
            cell(row, "coherent, articles resampled", record),
            Cell(
                row,
                "coherent, Wilson",
                record.value,
                low,
                high,
                units=found["judgements"],
                signature="Wilson 1927",
            ),
            exact(row, "coherent by majority", found["majority"], "", units=record.units),
            exact(
                row,
                "alpha",
                found["agreement"]["alpha"],
                "Krippendorff, nominal",
                units=record.units,
            ),
        ]
        if kappas:
            cells.append(
                exact(row, "mean kappa", float(np.mean(kappas)), "Cohen, pairs", units=len(kappas))
            )
        if rates := flip_rates(found):
            truth = found["known"]["coherent"]
            cells.append(exact(row, "share by the rule", truth, "the rule"))
            cells.append(exact(row, "expected share", expected_share(truth, rates)))
            cells.append(
                exact(
                    row,
                    "expected alpha",
                    expected_alpha(truth, rates),
                    "closed form, many articles",
                )
            )
    answers = [
        (value, system, name, f"{system}/{unit}")
        for system, found in {
            given.labels(record, *SYSTEM): record.details for record in people
        }.items()
        for name, own in zip(found["annotators"], found["answers"], strict=True)
        for unit, value in zip(found["unit_ids"], own, strict=True)
        if value is not None
    ]
    try:
        fixed, spreads = mixed_effects(*(list(column) for column in zip(*answers, strict=True)))
    except BadInput as error:
        notes = [f"mixed effects: not fitted ({error})"]
    else:
        named = [*((e.name, e) for e in fixed), *((f"sd of {e.name}", e) for e in spreads)]
        fitted: dict[str, Any] = {"units": len(answers), "signature": SIGNATURE}
        cells += [Cell(name, "logit", e.value, e.low, e.high, **fitted) for name, e in named]
        notes = [f"mixed effects: {SIGNATURE}"]
    dropped = sorted({name for record in people for name in record.details["dropped"]})
    notes.append(
        f"set aside by the attention checks, with every answer: {', '.join(dropped) or 'nobody'}"
    )
    return Table(
        f"Human study: agreement and mixed effects ({annotators(people)})",
        cells,
        [*notes, *given.notes],
    )


def flip_rates(details: Mapping[str, Any]) -> list[float]:
    """How often each simulated annotator says the other of the two verdicts; none of people, whose errors nobody knows."""
    rates = (details.get("known") or {}).get("rates", {})
    return [rates[name]["flips"] for name in details["annotators"] if name in rates]
