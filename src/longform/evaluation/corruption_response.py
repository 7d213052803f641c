"""Response to corruptions: how far a critic's score moves under every corruption at every severity, text against sound text."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from longform.core.critic import Critic, Tally, compare, estimate, resampled_difference
from longform.core.documents import BadInput
from longform.core.resampling import generator, percentile_interval
from longform.core.results import Record

RESAMPLES, PERMUTATIONS = 300, 999  # ours: fifty cells a critic; p-values down to 0.001
SOUND = "sound"
Case = tuple[str, float, str]  # corruption, severity, document


def of_failure(unit_id: str) -> Case:
    """Case of ``<corruption>@<severity>/<document>``. Raises BadInput: the id has another form."""
    case, _, document = unit_id.partition("/")
    corruption, _, severity = case.partition("@")
    return corruption, _severity(severity, unit_id, "<corruption>@<severity>/<document>"), document


def of_severity(unit_id: str) -> Case:
    """Case of ``<document>@<severity>``, severity 0 being the sound text. Raises BadInput: the id has another form."""
    document, _, text = unit_id.rpartition("@")
    severity = _severity(text, unit_id, "<document>@<severity>")
    return "" if severity else SOUND, severity, document


def _severity(text: str, unit_id: str, form: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadInput(f"unit id {unit_id!r}: {text!r} is no severity; ids are {form}; fix the corpus") from error


def corruption_response(
    critic: Critic[Any],
    units: Sequence[Any],
    *,
    case: Callable[[str], Case] = of_failure,
    names: Sequence[object] = (),
    name: str = "",
) -> list[Record]:
    """A fitted critic's score of the sound texts, then of every corruption at every severity beside them.

    Args:
        units: of the critic; the same documents in every case.
        case: unit id -> corruption, severity, document; the corruption ``sound`` at severity 0 is what others are compared with.
        names: of the resamples.
        name: of the critic.

    Returns:
        Records with ``task`` the corruption and ``severity``: the score with its own interval, ``reference`` the sound
        texts' score, ``difference`` from it with a paired test, and in ``details`` the interval (``difference_low``,
        ``difference_high``) and standard error (``difference_spread``) of the difference over documents.

    Raises BadInput: an id of another form, no sound text, or a case that holds other documents than the sound ones.
    """
    cases: dict[tuple[str, float], list[Any]] = {}
    for unit in units:
        corruption, severity, document = case(unit.unit_id)
        cases.setdefault((corruption, severity), []).append(replace(unit, unit_id=document))
    if (SOUND, 0.0) not in cases:
        raise BadInput(f"{name}: no sound text among {len(units)} units, nothing to compare with; fix units")
    sound = critic.tally(cases.pop((SOUND, 0.0)))
    records = [_record(critic, sound, (*names, SOUND), critic=name, task=SOUND, severity=0.0)]
    for (corruption, severity), found in cases.items():
        tally, own = critic.tally(found), (*names, corruption, severity)
        if tally.unit_ids != sound.unit_ids:
            raise BadInput(f"{own}: other documents than the sound ones; every corruption must hold the same articles")
        fields = {"critic": name, "task": corruption, "severity": severity}
        records.append(_record(critic, tally, own, **fields, **_difference(critic, tally, sound, own)))
    return records


def _record(judge: Critic[Any], tally: Tally, names: Sequence[object], **fields: Any) -> Record:
    found = estimate(judge, tally, generator(*names, "estimate"), RESAMPLES)
    return Record(metric="score", better=judge.better, **fields, **asdict(found))


def _difference(critic: Critic[Any], tally: Tally, sound: Tally, names: Sequence[object]) -> dict[str, Any]:
    tested = compare(critic, tally, sound, generator(*names, "permutation"), PERMUTATIONS)
    draws = resampled_difference((critic, tally), (critic, sound), generator(*names, "bootstrap"), RESAMPLES)
    low, high = percentile_interval(draws)
    return {
        "reference": critic.score(sound), "difference": tested.difference, "p_value": tested.p_value, "paired": tested.paired,
        "details": {"difference_low": low, "difference_high": high, "difference_spread": float(np.nanstd(draws))},
    }  # fmt: skip
