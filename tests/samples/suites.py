"""Items of one suite, and the same with both conditions' surprisals exchanged."""

from dataclasses import replace

from longform.core.resampling import generator
from longform.critics.surprisal.score import ReadItem, SuiteAccuracy
from longform.datasets.test_suites.prediction_formulas import parse

FORMULA = parse("(1;%b%) > (1;%a%)")


def items():
    rng = generator("suite sample")
    real = []
    for i in range(8):
        bits = {("a", 1): 1 + rng.random(3), ("b", 1): (3 if i % 4 else 0) + rng.random(2)}
        real.append(ReadItem(f"s/{i}", "test", "s", "mean", (FORMULA,), bits))
    return SuiteAccuracy(), real, [replace(unit, regions=exchanged(unit.regions)) for unit in real]


def exchanged(regions):
    return {("b" if condition == "a" else "a", number): bits for (condition, number), bits in regions.items()}


SAMPLES = {"SuiteAccuracy": items}
