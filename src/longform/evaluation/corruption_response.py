"""Response to corruptions: how far a critic's score moves when texts are damaged.

Every corruption at every severity is compared with the sound texts of the same documents.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from longform.errors import InputError, counted
from longform.results import Record
from longform.statistics.comparisons import compare, resampled_difference
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval, share_difference_interval
from longform.statistics.protocols import Critic, is_share
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics

RESAMPLES, PERMUTATIONS = 300, 999  # ours: fifty cells a critic; p-values down to 0.001
SOUND = "sound"
Case = tuple[str, float, str]  # corruption, severity, document
Cell = tuple[str, float]  # corruption, severity


def of_failure(unit_id: str) -> Case:
    """Parse a unit id ``<corruption>@<severity>/<document>`` into its case.

    Raises InputError: the id has another form.
    """
    case, _, document = unit_id.partition("/")
    corruption, _, text = case.partition("@")
    severity = _severity(text, unit_id, "<corruption>@<severity>/<document>")
    return corruption, severity, document


def of_severity(unit_id: str) -> Case:
    """Parse a unit id ``<document>@<severity>`` into its case; severity 0 is the sound text.

    Raises InputError: the id has another form.
    """
    document, _, text = unit_id.rpartition("@")
    severity = _severity(text, unit_id, "<document>@<severity>")
    corruption = "" if severity else SOUND  # such corpora have one corruption, without a name
    return corruption, severity, document


def _severity(text: str, unit_id: str, form: str) -> float:
    """A severity as a number; ``form`` is that of the id. Raises InputError: it is no number."""
    try:
        return float(text)
    except ValueError as error:
        raise InputError(
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
    """A fitted critic's score of the sound texts, then of every corruption at every severity.

    Args:
        critic: a fitted critic.
        units: of all cases, the same documents in each.
        case: parses a unit's id into (corruption, severity, document); others are compared with
            ``sound`` at severity 0.
        names: name the random streams of resamples.
        name: of the critic in the records.

    Returns:
        Records with ``task`` the corruption and ``severity``: the score, ``reference`` the sound
        texts', ``difference`` with a paired test, and in ``details`` its interval and standard
        error over documents.

    Raises:
        InputError: an id of another form, no sound text, or a case that holds other documents than
            the sound ones.
    """
    # 1. The units of each case, under the names of their documents.
    cases: dict[Cell, list[Any]] = {}
    for unit in units:
        corruption, severity, document = case(unit.unit_id)
        cases.setdefault((corruption, severity), []).append(replace(unit, unit_id=document))
    if (SOUND, 0.0) not in cases:
        raise InputError(
            f"{name}: no sound text among {counted(len(units), 'unit')}, nothing to compare with; "
            "fix units"
        )
    sound_units = cases.pop((SOUND, 0.0))
    sound = critic.sufficient_statistics(sound_units)
    # 2. The sound texts first, then each case beside them.
    records = []
    for (task, severity), case_units in ({(SOUND, 0.0): sound_units} | cases).items():
        case_names = (*names, task) if task == SOUND else (*names, task, severity)
        statistics = critic.sufficient_statistics(case_units)
        if statistics.unit_ids != sound.unit_ids:
            raise InputError(
                f"{case_names}: other documents than the sound ones; "
                "every corruption must hold the same articles"
            )
        score = estimate(critic, statistics, generator(*case_names, "estimate"), RESAMPLES)
        fields = asdict(score)
        if task != SOUND:
            fields |= _against_sound(critic, statistics, sound, case_names, score.units)
        records.append(
            Record(name, "score", task=task, severity=severity, better=critic.better, **fields)
        )
    return records


def _against_sound(
    critic: Critic,
    statistics: SufficientStatistics,
    sound: SufficientStatistics,
    names: Sequence,
    units: int,
) -> dict[str, Any]:
    """Fields of a case's record: its test against the sound texts, and the difference's interval.

    Args:
        critic: a fitted critic.
        statistics, sound: statistics of the case and of the sound texts, the same documents.
        names: name the random streams of resamples.
        units: number of documents that could be scored.
    """
    test = compare(critic, statistics, sound, generator(*names, "permutation"), PERMUTATIONS)
    rng = generator(*names, "bootstrap")
    draws = resampled_difference((critic, statistics), (critic, sound), rng, RESAMPLES)
    low, high = percentile_interval(draws)
    reference = critic.score_of(sound)
    if is_share(critic):
        score = critic.score_of(statistics)
        low, high = share_difference_interval((low, high), score, reference, units)
    return {
        "p_value": test.p_value,
        "paired": test.paired,
        "reference": reference,
        "details": {
            "difference_low": low,
            "difference_high": high,
            "difference_spread": float(np.nanstd(draws)),
        },
    }
