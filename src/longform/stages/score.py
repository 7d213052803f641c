"""Inference -> ``data/scores/<paper>/<row>.json``: one number with its interval, its units and its test."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from longform.artefacts import read_readout, write_json
from longform.numerics import generator
from longform.protocol import compare, estimate
from longform.stages.rows import Row, call
from longform.units import BadInput, Readout

SLOTS = ("paper", "real", "units", "fit", "split", "critic")


def run(row: Row) -> None:
    """Fit the critic on real units, judge the row's units, compare with real held-out units."""
    real = read_readout(row.slot("real").with_suffix(".npz"))
    judged = read_readout(row.slot("units").with_suffix(".npz"))
    module = row.module(row.settings.get("group", "critics"))
    make = getattr(module, row.settings["critic"], None)
    if make is None:
        raise BadInput(f"row score.{row.name}: {module.__name__} has no {row.settings['critic']!r}; mend critic or code")
    critic = call(make, row, row.others(*SLOTS, "group"))
    record = judge(critic, module.units_from_readout, real, judged, row)
    write_json(row.data / "scores" / row.settings["paper"] / f"{row.name}.json", record)


def judge(critic: Any, units_from: Any, real: Readout, judged: Readout, row: Row) -> dict[str, Any]:
    """The score record of one row: estimate, totals of every column, the real text's own score and the comparison."""
    split = row.settings.get("split", "test")
    fitted = critic.fit([unit for unit in units_from(real) if unit.split in row.settings.get("fit", ["train"])])
    held_out = [unit for unit in units_from(real) if unit.split == split]
    same = row.settings["real"] == row.settings["units"]
    units = held_out if same else [unit for unit in units_from(judged) if unit.split in (split, "generated")]
    tally, reference = fitted.tally(units), fitted.tally(held_out)
    record = asdict(estimate(fitted, tally, generator(row.seed, row.name, "bootstrap")))
    record |= {"totals": {name: tally.total(name) for name in tally.columns}, "better": critic.better, "row": row.name}
    if not same:
        comparison = compare(fitted, tally, reference, generator(row.seed, row.name, "permutation"))
        record |= {"real": fitted.score(reference), "comparison": asdict(comparison)}
    return record


