"""Score rows of sheng2024 in the first pipeline's shape, to be deleted with it (:mod:`longform.evaluation.rows`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longform.critic import Tally
from longform.critics.bbscore.features import BridgeFeatures, identity
from longform.critics.bbscore.joint import JointBridgeCritic
from longform.critics.bbscore.profiles import describe_sweep, shuffled, text_diffusion, trajectory, variances
from longform.critics.bbscore.ranker import BridgeRanker
from longform.critics.bbscore.score import BridgeCritic
from longform.documents import BadInput
from longform.evaluation import human_vs_machine as sides
from longform.evaluation.human_vs_machine import (
    HUMAN,
    MeanValue,
    Sides,
    detector_and_tally,
    human_vs_machine,
    source_classification,
    source_measurements,
    value_tally,
)
from longform.evaluation.length_confound import length_confound as length_records
from longform.evaluation.length_confound import length_measurements
from longform.evaluation.measurements import PERMUTATIONS, Measurement, paired_difference, under
from longform.evaluation.order_discrimination import (
    Area,
    PairAccuracy,
    drawn_scores,
    order_areas,
    order_discrimination,
    order_measurements,
    preference_tally,
)
from longform.evaluation.rows import Row, alone, cell_of, grid_model, number_of, units_from_readout
from longform.evaluation.text_classification import ClassAccuracy, class_tally, text_classification
from longform.results import Record
from longform.text.permutations import SHUFFLES, ShuffleTask

BLOCKS = (1, 2, 5, 10)  # sheng2024 section 4.1
WINDOWS = ((1, 2, 3), (1,), (2,), (3,))  # sheng2024 section 4.2, the joint set first
JUDGES = ("bbscore", "three_layer", "linear", "joint")
__all__ = ["units_from_readout"]


def _tests(records: Sequence[Record], place: Callable[[Record, str], str]) -> list[dict[str, Any]]:
    return [
        {"low": place(one, one.variant), "high": place(one, one.critic), "difference": one.value,
         "p_value": one.p_value, "paired": one.paired, "permutations": PERMUTATIONS}
        for one in records
    ]  # fmt: skip


def _grouped(records: Sequence[Record]) -> list[tuple[Record, list[Record]]]:
    """Means with the records of their heads, which follow them."""
    found: list[tuple[Record, list[Record]]] = []
    for record in records:
        if record.variant:
            found[-1][1].append(record)
        else:
            found.append((record, []))
    return found


def shuffle_tasks(
    *,
    judges: Sequence[str] = ("bbscore",),
    blocks: Sequence[int] = BLOCKS,
    windows: Sequence[Sequence[int]] = WINDOWS,
    heads: Sequence[str] = ("",),
    areas: bool = False,
    index: str = "canonical",
    time: str = "sentence",
    longest: int | None = None,
    learned: int | None = None,
) -> Row:
    """Tables 1-3 and Figures 4 and 9 of sheng2024 for one reader: cells ``<b1|...|w123|...>-<judge>`` and ``auc_b1``."""
    if not judges or set(judges) - set(JUDGES):
        raise BadInput(f"judges {list(judges)}; allowed are {list(JUDGES)}; fix the row")
    features: dict[str, Any] = {"index": index, "time": time}
    made: dict[str, Any] = {name: BridgeRanker(name, **features) for name in ("three_layer", "linear")}
    made |= {"bbscore": BridgeCritic(**features), "joint": JointBridgeCritic()}
    scorers = {judge: made[judge] for judge in judges}
    blocked = [ShuffleTask("block", (size,), draws=("block shuffle", 0)) for size in blocks]
    tasks = blocked + [ShuffleTask("window", tuple(w), draws=("local shuffle", 0)) for w in windows]

    def short(units: Sequence[Any]) -> list[Any]:
        return [unit for unit in units if longest is None or len(unit.latents) <= longest]

    def cut(units: Sequence[Any]) -> list[Any]:
        kept = {unit.unit_id for unit in short(units)}
        return [unit if unit.unit_id in kept else unit.first(0) for unit in units]

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        one = {judges[0]: scorers[judges[0]]}
        return order_measurements(one, cut(units), tasks[:1], train=short(train), learn_from=learned, heads=heads)[0]

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        train, units = short(train), cut(units)
        found = order_discrimination(scorers, units, tasks, train=train, learn_from=learned, heads=heads)
        pairs = [one for one in found if one.metric == "pairwise_accuracy"]
        first = BridgeCritic(**features).fit(under(train, heads[0]))
        negative = first.tally(under(units, heads[0])).total("negative")
        cells = {}
        for mean, single in _grouped(pairs):
            totals = {key: mean.details[key] for key in ("wins", "ties", "pairs")} | {"excluded": mean.excluded}
            totals["negative"] = negative if mean.critic == "bbscore" else 0.0
            cells[f"{_short_name(mean.task)}-{mean.critic}"] = cell_of(mean, single, totals=totals)
        if areas:
            cells |= _areas(features, blocked, train, units, heads)
        tests = [one for one in found if one.metric == "pairwise_accuracy_difference"]
        return {"cells": cells, "tests": _tests(tests, lambda one, judge: f"{_short_name(one.task)}-{judge}")}

    return Row(measure, details, f"shuffle_tasks({', '.join(judges)})")


def _short_name(task: str) -> str:
    """``block_5`` is b5, ``window_1_2_3`` is w123."""
    return task.replace("block", "b").replace("window", "w").replace("_", "")


def _areas(
    features: Mapping[str, Any],
    tasks: Sequence[ShuffleTask],
    train: Sequence[Any],
    units: Sequence[Any],
    heads: Sequence[str],
) -> dict[str, Any]:
    """Cells ``auc_<task>``; the first head's curve, and its area and accuracy over the variance."""
    cells = {}
    first = BridgeCritic(**features).fit(under(train, heads[0]))
    found = order_areas({"bbscore": BridgeCritic(**features)}, units, tasks, train=train, heads=heads)
    for task, (mean, single) in zip(tasks, _grouped(found), strict=True):
        details = mean.details
        if task is tasks[0]:  # Figure 9
            swept = [drawn_scores(one, under(units, heads[0]), replace(task, copies=1)) for one in variances(first)]
            accuracies = [PairAccuracy().score(preference_tally(units, scores, "lower")) for scores in swept]
            details = {**details, **describe_sweep(first, list(map(_area, swept)), accuracies)}
        cells[f"auc_{_short_name(task.name)}"] = cell_of(mean, single, details=details)
    return cells


def _area(scores: Sequence[np.ndarray]) -> float:
    rows = np.array([row[:2] for row in scores if len(row) > 1 and not np.isnan(row[:2]).any()]).reshape(-1, 2)
    tally = Tally(("",) * len(rows), ("a", "b", "excluded"), np.column_stack([rows, np.zeros(len(rows))]))
    return Area("a", "b", lower=True).score(tally)


def length_confound(*, heads: Sequence[str] = ("",)) -> Row:
    """Cells ``length-bbscore`` and ``length-joint``, each over the encoder's heads."""
    scorers = {"bbscore": BridgeCritic(), "joint": JointBridgeCritic()}
    given: dict[str, Any] = {"heads": heads, "length": lambda unit: len(unit.latents)}

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        found = length_records(scorers, units, train=train, **given)
        return {"cells": {f"length-{m.critic}": cell_of(m, h) for m, h in _grouped(found)}, "tests": []}

    return Row(
        lambda train, units: length_measurements(scorers, units, train=train, **given)[0],
        details,
        "length_confound",
        "lower",
    )


def grid_shuffles(*, kind: str, settings: dict[str, Any] | None = None, shuffles: int = SHUFFLES) -> Row:
    """Cells ``b1`` ... ``w3``, each ``-grid_<kind>``; the ranking model learns every task anew."""
    scorers = {f"grid_{kind}": grid_model(kind, **settings or {})}
    tasks = [ShuffleTask("block", (size,), shuffles) for size in BLOCKS]
    tasks += [ShuffleTask("window", w, shuffles) for w in WINDOWS]

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        found = order_discrimination(scorers, units, tasks, train=train)
        cells = {
            f"{_short_name(one.task)}-{one.critic}": cell_of(one, totals={**one.details, "excluded": one.excluded})
            for one in found
        }
        return {"cells": cells, "tests": []}

    return Row(
        lambda train, units: order_measurements(scorers, units, tasks[:1], train=train)[0], details, f"grid {kind}"
    )


def grid_sources(*, kind: str, sources: Sequence[str], settings: dict[str, Any] | None = None) -> Row:
    """Cells ``<source>-grid_<kind>``: human above machine, by a model fitted on human texts alone."""

    def fitted(train: Sequence[Sides]) -> dict[str, Any]:
        return {f"grid_{kind}": grid_model(kind, **settings or {}).fit([one.human for one in train])}

    given: dict[str, Any] = {"length": lambda grid: len(grid.cells)}

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        found = human_vs_machine(fitted(train), units, sources, **given)
        pairs = [one for one in found if one.metric == "pairwise_accuracy"]
        return {"cells": {f"{one.system}-{one.critic}": cell_of(one, totals={}) for one in pairs}, "tests": []}

    return Row(
        lambda train, units: source_measurements(fitted(train), units, sources[:1], **given)[0],
        details,
        f"grid sources {kind}",
    )


def source_tasks(*, sources: Sequence[str], index: str = "canonical") -> Row:
    """Cells ``<source>-<judge>`` of pairs, ``-matched`` (equal lengths), ``-area`` and ``-general`` (one text at a time)."""
    scorers: dict[str, Any] = {"bbscore": BridgeCritic(index=index)}
    scorers |= {kind: BridgeRanker(kind, index) for kind in ("three_layer", "linear")} | {"joint": JointBridgeCritic()}
    own: dict[str, Any] = {"length": lambda unit: len(unit.latents)}
    raw = {"bbscore": scorers["bbscore"]}
    matched = {**own, "cut": lambda unit, count: unit.first(count)}

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        return source_measurements(raw, units, sources[:1], train=train, **own)[0]

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        found = human_vs_machine(scorers, units, sources, train=train, **own)
        equal = human_vs_machine(raw, units, sources, train=train, **matched)
        areas = {(one.system, one.critic): one for one in found if one.metric == "area"}
        cells = {}
        for one in (one for one in found if one.metric == "pairwise_accuracy"):
            roc = areas[one.system, one.critic].details["roc"]
            shown = {"roc": roc, "mean_sentences": one.details["mean_sentences"]}
            cells[f"{one.system}-{one.critic}"] = cell_of(one, details=shown)
        cells |= {f"{one.system}-matched": cell_of(one) for one in equal if one.metric == "pairwise_accuracy"}
        cells |= {
            f"{s}-area": cell_of(one, details=one.details) for (s, critic), one in areas.items() if critic == "bbscore"
        }
        features = BridgeFeatures(index).fit([one.human for one in train])
        for kind in ("three_layer", "linear"):
            told = source_classification(
                lambda unit: features.values(unit, identity(unit))[0] if unit.usable else None,
                units,
                sources,
                train,
                classifier=kind,
            )
            cells |= {f"{one.system}-general_{kind}": number_of(one) for one in told}
        tests = [one for one in found if one.metric == "pairwise_accuracy_difference"]
        pairs = zip(
            source_measurements(raw, units, sources, train=train, **matched),
            source_measurements(raw, units, sources, train=train, **own), strict=True,
        )  # fmt: skip
        for cut, whole in pairs:
            named = {"critic": "matched", "variant": "bbscore", "system": cut.fields["system"]}
            tests.append(paired_difference(cut, whole, "matched", named["system"], metric="", **named))
        return {"cells": cells, "tests": _tests(tests, lambda one, judge: f"{one.system}-{judge}")}

    return Row(measure, details, "source_tasks")


def source_profiles(*, sources: Sequence[str]) -> Row:
    """Mean diffusion estimate and mean trajectory of each source, of human texts and of their shuffles (Figure 7)."""

    def texts(units: Sequence[Sides]) -> dict[str, list[Any]]:
        human = [unit.human for unit in units]
        machines = {source: [unit.text(source) for unit in units] for source in sources}
        return {HUMAN: human, "shuffled": [shuffled(unit) for unit in human], **machines}

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        return alone(MeanValue(), value_tally([text_diffusion(u.human) for u in units], [u.unit_id for u in units]))

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        known = {one.system: one for one in sides.source_profiles(text_diffusion, texts(train), critic="bbscore")}
        cells = {}
        for one in sides.source_profiles(text_diffusion, texts(units), critic="bbscore"):
            path = trajectory(texts(units)[one.system])
            told = {"train": known[one.system].details["values"], "test": one.details["values"], "trajectory": path}
            cells[one.system] = cell_of(one, details=told)
        return {"cells": cells, "tests": []}

    return Row(measure, details, "source_profiles", "nearer_real")


def source_detection(*, sources: Sequence[str], index: str = "canonical") -> Row:
    """Figure 6's matrix of distances."""

    def value(unit: Any) -> float:
        return text_diffusion(unit, index)

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        names = [HUMAN, *sources]
        found = sides.source_detection(value, units, sources, train)[1:]
        rows = [found[i * len(names) : (i + 1) * len(names)] for i in range(len(names))]
        return {
            "sources": names,
            "distances": [[one.value for one in row] for row in rows],
            "scaled": [[one.details["scaled"] for one in row] for row in rows],
            "bounds": [[(one.low, one.high) for one in row] for row in rows],
        }

    return Row(
        lambda train, units: alone(*detector_and_tally(value, units, sources, train)), details, "source_detection"
    )


def rated_classes(
    *, classifier: str = "three_layer", index: str = "canonical", length: bool = False, only_length: bool = False
) -> Row:
    """Three classes of rated coherence from the five features (sheng2024 Table 6), from length too, or from length alone."""

    def asked(train: Sequence[Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        rated = [unit for unit in train if unit.usable and unit.rating >= 0]
        features = BridgeFeatures(index).fit(rated)

        def seen(unit: Any) -> np.ndarray | None:
            if not unit.usable:
                return None
            sentences = np.array([np.log(len(unit.latents))])
            if only_length:
                return sentences
            values = features.values(unit, identity(unit))[0]
            return np.concatenate([values, sentences]) if length else values

        return seen, lambda unit: unit.rating if unit.rating >= 0 else None

    def measure(train: Sequence[Any], units: Sequence[Any]) -> Measurement:
        return alone(ClassAccuracy(classifier), class_tally(*asked(train), train, units, classifier))

    def details(train: Sequence[Any], units: Sequence[Any]) -> dict[str, Any]:
        one = text_classification(*asked(train), train, units, classifier=classifier, critic="bbscore")
        against = {"difference": one.difference, "p_value": one.p_value, "paired": one.paired, "permutations": 2000}
        return {"against_majority": against, "majority": one.reference, **one.details}

    return Row(measure, details, f"rated_classes({classifier}, {index}, length={length}, only_length={only_length})")
