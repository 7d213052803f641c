"""Inference -> ``data/scores/<paper>/<row>.json``: one number with its interval, its units and its test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from longform.artefacts import read_readout, write_json
from longform.critic import Critic, Describing, Grouping, Tally, clustered, compare, estimate
from longform.evaluation.rows import responses
from longform.pipeline.rows import Row, call
from longform.resampling import generator

SLOTS = ("fit", "real", "units")
CHOICES = ("paper", "critic", "split", "system", "doses")


def run(row: Row) -> None:
    """Fit the critic on ``fit`` (split train), judge ``units``, compare with the held-out split of ``real``."""
    row.require(*SLOTS, "critic", "code")
    place = row.data / "scores" / row.paper / f"{row.name}.json"
    readouts = {slot: read_readout(row.data / "inference" / f"{row.settings[slot]}.npz") for slot in SLOTS}
    module = row.module()
    make = row.function(row.settings["critic"])
    critic = call(make, row, row.others(*SLOTS, *CHOICES), real=readouts["fit"])
    units = {slot: module.units_from_readout(readout) for slot, readout in readouts.items()}
    record = judge(critic, row, **units)
    write_json(place, rounded(record))
    print(f"score {row.name}: {record['value']:.4f} [{record['low']:.4f}, {record['high']:.4f}]")


def judge(
    critic: Critic[Any], row: Row, *, fit: Sequence[Any], real: Sequence[Any], units: Sequence[Any]
) -> dict[str, Any]:
    """The score record: estimate, totals of every column, inputs; beside real text's own score and the comparison.

    A row's ``system`` keeps the units of one system of a readout that holds several (ids ``<system>/<unit>``); one with
    ``doses: true`` adds the critic's answer to every failure and dose of ``corpora.planted_failures``.
    """
    split, system = row.settings.get("split", "test"), row.settings.get("system")
    fitted = critic.fit([unit for unit in fit if unit.split == "train"])
    judged = [unit for unit in units if unit.split in (split, "generated")]
    if system is not None:
        judged = [unit for unit in judged if unit.unit_id.startswith(f"{system}/")]
    tally = _tallied(fitted, judged)
    record = asdict(estimate(fitted, tally, generator(row.seed, row.name, "bootstrap")))
    if len(tally.unit_ids) != len(judged):
        record |= {"groups": len(tally.unit_ids), "units": len(judged) - record["excluded"]}
    record["totals"] = {name: tally.total(name) for name in tally.columns}
    record |= {"better": critic.better, "row": row.name, "inputs": {slot: row.settings[slot] for slot in SLOTS}}
    if isinstance(fitted, Describing):
        record["details"] = fitted.describe(judged)
    if row.settings.get("doses"):
        record["responses"] = responses(fitted, judged, row.seed, row.name)
    if row.settings["real"] != row.settings["units"]:
        reference = _tallied(fitted, [unit for unit in real if unit.split == split])
        comparison = compare(fitted, tally, reference, generator(row.seed, row.name, "permutation"))
        record |= {"real": fitted.score(reference), "comparison": asdict(comparison)}
    return record


def _tallied(critic: Critic[Any], units: Sequence[Any]) -> Tally:
    """A row per unit, or per group of units where the critic says which belong together: groups are what is resampled."""
    tally = critic.tally(units)
    return clustered(tally, critic.groups(units)) if isinstance(critic, Grouping) else tally


def rounded(value: Any) -> Any:
    """Floats to twelve significant digits: the last bits of a BLAS product depend on where memory happens to lie."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value
