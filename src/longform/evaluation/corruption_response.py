"""Response to corruptions: how far a critic's score moves under every corruption at every severity, text against sound text."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.results import Record
from longform.statistics.comparisons import compare, resampled_difference
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval, share_difference_interval
from longform.statistics.protocols import Critic, is_share
from longform.statistics.random_streams import generator

RESAMPLES, PERMUTATIONS = 300, 999  # ours: fifty cells a critic; p-values down to 0.001
SOUND = "sound"
Case = tuple[str, float, str]  # corruption, severity, document


def of_failure(unit_id: str) -> Case:
    """Case of ``<corruption>@<severity>/<document>``. Raises BadInput: the id has another form."""
    case, _, document = unit_id.partition("/")
    corruption, _, text = case.partition("@")
    return corruption, _severity(text, unit_id, "<corruption>@<severity>/<document>"), document


def of_severity(unit_id: str) -> Case:
    """Case of ``<document>@<severity>``, severity 0 being the sound text. Raises BadInput: the id has another form."""
    document, _, text = unit_id.rpartition("@")
    severity = _severity(text, unit_id, "<document>@<severity>")
    return "" if severity else SOUND, severity, document


def _severity(text: str, unit_id: str, form: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadInput(
            f"unit id {unit_id!r}: {text!r} is no severity; ids are {form}; fix the corpus"
        ) from error


def corruption_response(
    critic: Critic,
    units: Sequence,
    *,
    case: Callable[[str], Case] = of_failure,
    names: Sequence = (),
    name: str = "",
) -> list[Record]:
    """A fitted critic's score of the sound texts, then of every corruption at every severity beside them.

    Units are the same documents in every case; ``case`` of their ids says corruption, severity and document, and ``sound`` at
    severity 0 is what others are compared with. ``names`` are those of the resamples. Records have ``task`` the corruption and
    ``severity``: the score, ``reference`` the sound texts', ``difference`` with a paired test, and in ``details`` its interval
    and standard error over documents.

    Raises BadInput: an id of another form, no sound text, or a case that holds other documents than the sound ones.
    """
    cases: dict[tuple[str, float], list[Any]] = {}
    for unit in units:
        corruption, severity, document = case(unit.unit_id)
        cases.setdefault((corruption, severity), []).append(replace(unit, unit_id=document))
    if (SOUND, 0.0) not in cases:
        raise BadInput(
            f"{name}: no sound text among {len(units)} units, nothing to compare with; fix units"
        )
    sound, records = critic.sufficient_statistics(cases[SOUND, 0.0]), []
    for (task, severity), found in ({(SOUND, 0.0): cases.pop((SOUND, 0.0))} | cases).items():
        statistics, own = (
            critic.sufficient_statistics(found),
            (*names, task) if task == SOUND else (*names, task, severity),
        )
        if statistics.unit_ids != sound.unit_ids:
            raise BadInput(
                f"{own}: other documents than the sound ones; every corruption must hold the same articles"
            )
        fields = asdict(estimate(critic, statistics, generator(*own, "estimate"), RESAMPLES))
        if task != SOUND:
            tested = compare(
                critic, statistics, sound, generator(*own, "permutation"), PERMUTATIONS
            )
            draws = resampled_difference(
                (critic, statistics), (critic, sound), generator(*own, "bootstrap"), RESAMPLES
            )
            low, high = percentile_interval(draws)
            if is_share(critic):
                shares = critic.score_of(statistics), critic.score_of(sound)
                low, high = share_difference_interval((low, high), *shares, fields["units"])
            fields |= {name: getattr(tested, name) for name in ("p_value", "paired")}
            told = {
                "difference_low": low,
                "difference_high": high,
                "difference_spread": float(np.nanstd(draws)),
            }
            fields |= {"reference": critic.score_of(sound), "details": told}
        records.append(
            Record(name, "score", task=task, severity=severity, better=critic.better, **fields)
        )
    return records
