"""Score rows of the first pipeline over the evaluation's records: one file that knows the old shape, to be deleted with it.

``pipeline.score`` asks a row's critic for one number (``tally``, ``score``) and for ``details``; here the details are records put
back into the dictionaries that reports still read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from longform import markov_chain
from longform.critic import Critic, Tally, unit_scores
from longform.critics.bbscore import bridge
from longform.critics.bbscore.joint import JointBridgeCritic
from longform.critics.bbscore.score import BridgeCritic
from longform.critics.coreference import score as coreference
from longform.critics.entity_grid.ranking import GridRanker, TransitionFeatures
from longform.critics.entity_grid.score import RoleTransitions
from longform.critics.lexical.score import LatentSemantics, Overlap
from longform.critics.lexical.wordnet import MEASURES, wordnet
from longform.critics.neural_ranker import score as neural_ranker
from longform.critics.perplexity import score as likelihood
from longform.critics.repetition import score as repetition
from longform.critics.topics import score as topics
from longform.documents import BadInput, Readout, chains_from_readout
from longform.evaluation import corruption_response as corruptions
from longform.evaluation.human_ratings import RatedUnit, rated_units, ratings_of
from longform.evaluation.human_vs_machine import (
    HUMAN,
    sides_of,
)
from longform.evaluation.measurements import PERMUTATIONS, Measurement
from longform.evaluation.order_discrimination import (
    TIE,
    order_discrimination,
    order_measurements,
)
from longform.results import Record
from longform.text.entity_grids import grids_from_readout
from longform.text.permutations import SHUFFLES, ShuffleTask, permuted_documents, written

READINGS: Mapping[str, Callable[[Readout], Any]] = {
    "text_score": neural_ranker.units_from_readout,
    "token_logprob": likelihood.units_from_readout,
    "chain": chains_from_readout,
    "lambda": topics.units_from_readout,
    "latents": bridge.units_from_readout,
    "cells": grids_from_readout,
}  # the array that tells what was read; words where there is none
Settings = Mapping[str, Mapping[str, Any] | None]


def units_from_readout(readout: Readout) -> list[Any]:
    """Units of whatever the readout holds: sides, permuted documents, rated texts or plain units, as their ids say."""
    reading = next((READINGS[name] for name in READINGS if name in readout.arrays), repetition.units_from_readout)
    units = reading(readout)
    if any(unit.unit_id.endswith(f"-{HUMAN}") for unit in units):
        return sides_of(units)
    if any(written(unit.unit_id)[0] != unit.unit_id for unit in units):
        return permuted_documents(units)
    return rated_units(units, readout) if "marks" in readout.arrays and "cells" in readout.arrays else units


@dataclass(frozen=True)
class Row:
    """What ``pipeline.score`` takes for a critic: one measurement for the row's number, records for its details.

    Attributes:
        measure: (train, units) -> the measurement of the row's own number.
        details: (train, units) -> the old dictionary.
        name: for the signature.
    """

    measure: Callable[[Sequence[Any], Sequence[Any]], Measurement] = field(metadata={"fitted": True})
    details: Callable[[Sequence[Any], Sequence[Any]], dict[str, Any]] = field(metadata={"fitted": True})
    name: str = ""
    better: str = "higher"
    train: Sequence[Any] = field(default=(), metadata={"fitted": True})
    asked: dict[str, Measurement] = field(default_factory=dict, metadata={"fitted": True})

    def fit(self, real: Sequence[Any]) -> Row:
        """Keep what the scorers are fitted on."""
        return replace(self, train=real, asked={})

    def tally(self, units: Sequence[Any]) -> Tally:
        """Of the row's own number."""
        self.asked["last"] = self.measure(self.train, units)
        return self.asked["last"].tally

    def score(self, tally: Tally) -> float:
        """The row's own number."""
        return self.asked["last"].score(tally)

    def describe(self, units: Sequence[Any]) -> dict[str, Any]:
        """Everything else."""
        return self.details(self.train, units)


def alone(metric: Any, tally: Tally) -> Measurement:
    return Measurement({"": metric}, {"": tally})


def number_of(record: Record) -> dict[str, Any]:
    values = {key: getattr(record, key) for key in ("value", "low", "high", "units", "excluded")}
    return {**values, "signature": record.signature}


def cell_of(record: Record, heads: Sequence[Record] = (), **more: Any) -> dict[str, Any]:
    """A cell of a suite."""
    cell = {**number_of(record), **more}
    if record.p_value is not None and record.difference is not None:
        tested = {"difference": 2 * record.difference, "p_value": record.p_value, "paired": True}
        cell["comparison"] = {**tested, "permutations": PERMUTATIONS}
    if heads:
        cell["heads"] = {one.variant: {k: v for k, v in number_of(one).items() if k != "signature"} for one in heads}
        cell["spread"] = record.details["spread"]
    return cell


def grid_model(model: str, **settings: Any) -> RoleTransitions | GridRanker:
    """``transitions`` (generative) or ``ranking``, with its settings."""
    if model == "transitions":
        return RoleTransitions(**settings)
    if model != "ranking":
        raise BadInput(f"grid model {model!r}; allowed are 'transitions' and 'ranking'; fix the row")
    seen = {key: settings.pop(key) for key in ("lengths", "salience", "syntax", "edges") if key in settings}
    if "lengths" in seen:
        seen["lengths"] = tuple(seen["lengths"])
    return GridRanker(TransitionFeatures(**seen), **settings)


def _scorer(model: str, real: Readout | None, settings: Mapping[str, Any] | None) -> Any:
    """A critic by the name that rows know it by; a setting ``model`` stands for the critic where a table has another name."""
    given = dict(settings or {})
    model = given.pop("model", model)
    critics: Mapping[str, Callable[..., Any]] = {
        "titles": markov_chain.BigramCritic,
        "mentions": coreference.MentionCritic,
        "mentions_kneser_ney": coreference.KneserNeyCritic,
        "topics": topics.LogisticNormalCritic,
        "bridge": BridgeCritic,
        "joint_bridge": JointBridgeCritic,
        "likelihood": likelihood.Perplexity,
        "repeated_grams": repetition.RepeatedGrams,
        "distinct_grams": repetition.DistinctGrams,
        "ranker": neural_ranker.GivenScore,
        "overlap": Overlap,
        "latent_semantics": LatentSemantics,
    }
    if model in critics:
        return critics[model](**given)
    if model in MEASURES and real is not None:
        return wordnet(real=real, measure=model, **given)
    return grid_model(model, **given)


def _scorers(models: Settings, real: Readout) -> dict[str, Any]:
    if not models:
        raise BadInput("panel: got no critic, one at least is needed; name the row's models")
    return {name: _scorer(name, real, settings) for name, settings in models.items()}


def _tasks_of(records: Sequence[Record]) -> dict[str, Any]:
    """Models' tasks in the old shape."""
    models: dict[str, dict[str, Any]] = {}
    for one in records:
        if one.metric == "pairwise_accuracy":
            counts = {key: one.details[key] for key in ("pairs", "ties", "above_mean")}
            row = {**number_of(one), **counts, "p_value": one.p_value}
            models.setdefault(one.critic, {"tasks": {}})["tasks"][one.task] = row
    return {"shared": {}, "models": models}


def discriminations(
    *, real: Readout, models: Settings, tasks: Sequence[tuple[str, int]], shuffles: int = SHUFFLES
) -> Row:
    """Pairwise accuracy of several models on several shuffle tasks; the first of each is the row's own."""
    scorers = _scorers(models, real)
    drawn = [ShuffleTask(task, (size,), shuffles) for task, size in tasks]
    first = {name: scorers[name] for name in list(scorers)[:1]}
    return Row(
        lambda train, units: order_measurements(first, units, drawn[:1], train=train)[0],
        lambda train, units: _tasks_of(order_discrimination(scorers, units, drawn, train=train)),
        f"discriminations({', '.join(models)})",
    )


def accuracy(*, real: Readout, models: Settings, task: str = "block", size: int = 1, tolerance: float = TIE) -> Row:
    """Pairwise accuracy of several models on written-out shuffles; the details hold every task of the texts."""
    scorers = _scorers(models, real)
    first = {name: scorers[name] for name in list(scorers)[:1]}

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        found = order_measurements(first, units, train=train, tolerance=tolerance)
        return next(one for one in found if one.fields["task"] == f"{task}_{size}")

    return Row(
        measure,
        lambda train, units: _tasks_of(order_discrimination(scorers, units, train=train, tolerance=tolerance)),
        f"accuracy({', '.join(models)})",
    )


@dataclass(frozen=True)
class _Pearson:
    better: str = "higher"

    def score(self, tally: Tally) -> float:
        kept = tally.values[tally.column("excluded") == 0]
        if len(kept) < 3 or np.ptp(kept[:, 0]) == 0 or np.ptp(kept[:, 1]) == 0:
            return float("nan")
        return float(np.corrcoef(kept[:, 0], kept[:, 1])[0, 1])


def all_ratings(*, real: Readout, models: Settings) -> Row:
    """Several models and people's marks: each model's value of each text, which tables correlate."""
    scorers = _scorers(models, real)

    def values(name: str, train: Sequence[Any], units: Sequence[RatedUnit]) -> np.ndarray:
        judge = scorers[name].fit([getattr(unit, "unit", getattr(unit, "original", unit)) for unit in train])
        return unit_scores(judge, [unit.unit for unit in units])

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        both = np.stack([values(next(iter(scorers)), train, units), ratings_of(units)], axis=1)
        lost = np.isnan(both).any(axis=1)
        rows = np.column_stack([np.where(lost[:, None], 0.0, both), lost])
        return alone(_Pearson(), Tally(tuple(u.unit_id for u in units), ("value", "rating", "excluded"), rows))

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        shared = {
            "unit_ids": [unit.unit_id for unit in units],
            "marks": [_finite(unit.marks) for unit in units],
            "clusters": [unit.cluster for unit in units],
            "systems": [unit.system for unit in units],
        }
        return {"shared": shared, "models": {name: {"values": _finite(values(name, train, units))} for name in scorers}}

    return Row(measure, details, f"ratings({', '.join(models)})")


def _finite(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def text_values(*, real: Readout, models: Settings) -> Row:
    """Several critics of one reading, each with its number for every text."""
    scorers = _scorers(models, real)
    first = next(iter(scorers.values()))

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        told = {
            name: {"values": _finite(unit_scores(critic.fit(_plain(train)), _plain(units))), "better": critic.better}
            for name, critic in scorers.items()
        }
        return {"shared": {"unit_ids": [unit.unit_id for unit in units]}, "models": told}

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        judge = first.fit(_plain(train))
        return alone(judge, judge.tally(_plain(units)))

    return Row(measure, details, f"text_values({', '.join(models)})", first.better)


def _plain(units: Sequence[Any]) -> list[Any]:
    return [getattr(unit, "original", unit) for unit in units]


def _doses(critic: Any) -> Row:
    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        dosed = [unit for unit in units if "@" in unit.unit_id]
        if not dosed:
            return {}
        name = type(critic).__name__
        found = corruptions.corruption_response(
            critic.fit(train), dosed, case=corruptions.of_severity, names=("doses", name), name=name
        )
        rows = []
        for one in sorted(found, key=lambda one: one.severity or 0.0):
            tested = {"difference": one.difference, "p_value": one.p_value, "paired": one.paired, "permutations": 999}
            rows.append({"dose": one.severity, **number_of(one), "comparison": tested if one.severity else None})
        return {"doses": rows}

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        judge = critic.fit(train)
        return alone(judge, judge.tally(units))

    return Row(measure, details, f"doses({type(critic).__name__})", "nearer_real")


def mention_doses(*, order: int = coreference.ORDER) -> Row:
    """The released critic of mentions, dose by dose."""
    return _doses(coreference.MentionCritic(order=order))


def title_doses(*, delta: float = 1.0) -> Row:
    """The critic of section titles, dose by dose."""
    return _doses(markov_chain.BigramCritic(delta=delta))


def responses(critic: Critic[Any], units: Sequence[Any], seed: int, name: str) -> list[dict[str, Any]]:
    """``responses`` of a row with ``doses: true``."""
    found = corruptions.corruption_response(critic, units, names=(seed, name), name=name)
    rows: list[dict[str, Any]] = [
        {"failure": found[0].task, "dose": 0.0, "value": found[0].value, "units": found[0].units}
    ]
    for one in found[1:]:
        bounds = {key: one.details[f"difference_{key}"] for key in ("low", "high", "spread")}
        told = {"value": one.value, "difference": one.difference, **bounds, "p_value": one.p_value}
        units_ = {"units": (one.units or 0) + (one.excluded or 0), "excluded": one.excluded}
        rows.append({"failure": one.task, "dose": one.severity, **told, **units_})
    return rows
