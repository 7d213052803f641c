"""A critic's answer to every failure at every dose, document by document against the sound text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longform.critic import Critic, Tally, compare
from longform.documents import BadInput
from longform.resampling import bootstrap, generator, percentile_interval

RESAMPLES, PERMUTATIONS = 300, 999  # ours: fifty cells a critic; p-values down to 0.001
SOUND = "sound"


def responses(critic: Critic[Any], units: Sequence[Any], seed: int, name: str) -> list[dict[str, Any]]:
    """Per failure and dose: the score, its difference from the sound text with a paired interval, and a paired test.

    Args:
        critic: fitted.
        units: with ids ``<failure>@<dose>/<document>``, as ``corpora.planted_failures`` names them.

    Raises:
        BadInput: an id of another form, or no sound text.
    """
    cases: dict[tuple[str, float], list[Any]] = {}
    for unit in units:
        failure, dose, document = parsed(unit.unit_id)
        cases.setdefault((failure, dose), []).append(replace(unit, unit_id=document))
    if (SOUND, 0.0) not in cases:
        raise BadInput(f"score {name}: no unit {SOUND}@0/..., so there is nothing to compare with; mend units")
    sound = critic.tally(cases.pop((SOUND, 0.0)))
    rows = [{"failure": SOUND, "dose": 0.0, "value": critic.score(sound), "units": len(sound.unit_ids)}]
    return rows + [
        {"failure": failure, "dose": dose, **_response(critic, critic.tally(found), sound, (seed, name, failure, dose))}
        for (failure, dose), found in cases.items()
    ]


def parsed(unit_id: str) -> tuple[str, float, str]:
    """(failure, dose, document) of an id.

    Raises:
        BadInput: it has another form.
    """
    case, _, document = unit_id.partition("/")
    failure, _, dose = case.partition("@")
    try:
        return failure, float(dose), document
    except ValueError as error:
        raise BadInput(f"unit id {unit_id!r}: allowed is <failure>@<dose>/<document>; mend the corpus") from error


def _response(critic: Critic[Any], tally: Tally, sound: Tally, names: tuple[Any, ...]) -> dict[str, Any]:
    if tally.unit_ids != sound.unit_ids:
        raise BadInput(f"{names}: other documents than the sound ones; every failure must hold the same articles")
    found = compare(critic, tally, sound, generator(*names, "permutation"), PERMUTATIONS)

    def difference(rows: np.ndarray) -> float:
        return critic.score(tally.take(rows)) - critic.score(sound.take(rows))

    draws = bootstrap(difference, len(tally.unit_ids), generator(*names, "bootstrap"), RESAMPLES)
    low, high = percentile_interval(draws)
    return {
        "value": critic.score(tally),
        "difference": found.difference,
        "low": low,
        "high": high,
        "spread": float(np.nanstd(draws)),
        "p_value": found.p_value,
        "units": len(tally.unit_ids),
        "excluded": int(tally.total("excluded")),
    }
