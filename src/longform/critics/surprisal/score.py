"""Share of items for which a suite's predictions hold: the coherence detection score of beyer2021."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import binom

from longform.datasets.test_suites import prediction_formulas
from longform.datasets.test_suites.prediction_formulas import Formula, RegionValue
from longform.documents import Predictions, Unit, grouped
from longform.errors import BadInput
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored

COLUMNS = ("items", "correct", "gained", "lost")


@dataclass(frozen=True)
class ReadItem(Unit):
    """One item as a model read it, with its suite's metric and formulas; ``regions``: float64 bits of the tokens of each."""

    suite: str
    metric: str
    formulas: tuple[Formula, ...]
    regions: Mapping[tuple[str, int], np.ndarray]  # by (condition, region number)

    def bits(self, condition: str, region: int | None) -> np.ndarray:
        """Bits of one region, or of all regions of the condition."""
        chosen = [
            own
            for (name, at), own in self.regions.items()
            if name == condition and region in (None, at)
        ]
        if not chosen:
            known = sorted(self.regions)
            raise BadInput(
                f"{self.unit_id}: no region {region} of condition {condition!r}; the item has {known}"
            )
        return np.concatenate(chosen)


def units_from_predictions(predictions: Predictions) -> list[ReadItem]:
    heads = []
    for head in map(json.loads, predictions.arrays["suite_head_names"].tolist()):
        formulas = tuple(
            prediction_formulas.parse(prediction["formula"]) for prediction in head["predictions"]
        )
        heads.append((head["meta"]["name"], head["meta"]["metric"], formulas))
    conditions = predictions.arrays["condition_names"].tolist()
    items = []
    rows = predictions.rows(
        "suite", "region_condition", "region_number", "region_tokens", "token_bits"
    )
    for unit, split, suite, names, numbers, counts, bits in rows:
        pieces = np.split(bits.astype(np.float64), np.cumsum(counts)[:-1])
        keys = [
            (conditions[name], int(number)) for name, number in zip(names, numbers, strict=True)
        ]
        items.append(
            ReadItem(unit, split, *heads[int(suite)], dict(zip(keys, pieces, strict=True)))
        )
    return items


@dataclass(frozen=True)
class SuiteAccuracy(SumScored, better="higher", share=True, divided=("correct", "items")):
    """Accuracy over items; its description counts each suite apart, so that one score row fills a table.

    ``reference``: whether another model succeeds, by item; gains and losses against it are counted for McNemar's test.
    """

    reference: Mapping[str, bool] = field(default_factory=dict, metadata=FITTED, repr=False)

    def against(self, items: Sequence[ReadItem]) -> "SuiteAccuracy":
        """A copy that knows on which items another model succeeds."""
        return replace(self, reference={item.unit_id: self.succeeds(item) for item in items})

    def sufficient_statistics(self, units: Sequence[ReadItem]) -> SufficientStatistics:
        return SufficientStatistics.of(units, COLUMNS, [self._counts(item) for item in units])

    def succeeds(self, item: ReadItem) -> bool:
        """Whether all predictions of the item's suite hold."""
        holds = prediction_formulas.evaluate
        return all(
            bool(holds(formula, lambda named: self.value(item, named))) for formula in item.formulas
        )

    def value(self, item: ReadItem, named: RegionValue) -> float:
        bits = item.bits(named.condition, named.region)
        if not len(bits) and item.metric != "sum":
            place = f"{item.unit_id}: region {named.region} of condition {named.condition!r}"
            raise BadInput(
                f"{place} has no token, so it has no {item.metric}; take metric 'sum' or give it text"
            )
        return prediction_formulas.METRICS[item.metric](bits)

    def describe(self, units: Sequence[ReadItem]) -> dict[str, Any]:
        """Counts of each suite, and the means and population deviations that the paper's plots show."""
        suites = grouped(units, lambda item: item.suite)
        return {name: self._described(items) for name, items in sorted(suites.items())}

    def _described(self, items: Sequence[ReadItem]) -> dict[str, Any]:
        counts = np.array([self._counts(item) for item in items])
        success = counts[:, COLUMNS.index("correct")] > 0
        groups = {"all": np.ones(len(items), dtype=bool), "true": success, "false": ~success}
        named = dict.fromkeys(
            p for formula in items[0].formulas for p in prediction_formulas.region_values(formula)
        )
        tables = {}
        for place in named:
            bits = np.array([item.bits(place.condition, place.region).sum() for item in items])
            chosen = {name: bits[rows] for name, rows in groups.items()}
            tables[str(place)] = {
                n: [float(b.mean()), float(b.std())] if len(b) else None for n, b in chosen.items()
            }
        means: dict[str, dict[str, float]] = {}
        for condition, number in dict.fromkeys(place for item in items for place in item.regions):
            bits = np.concatenate(
                [i.regions[condition, number] for i in items if (condition, number) in i.regions]
            )
            if len(bits):
                means.setdefault(condition, {})[str(number)] = float(bits.mean())
        sums_of_counts = dict(zip(COLUMNS, counts.sum(axis=0).tolist(), strict=True))
        return {"counts": sums_of_counts, "formula_bits": tables, "token_bits": means}

    def _counts(self, item: ReadItem) -> tuple[float, float, float, float]:
        correct = self.succeeds(item)
        before = self.reference.get(item.unit_id, correct)
        return 1.0, float(correct), float(correct and not before), float(before and not correct)


def mcnemar(gained: float, lost: float) -> float:
    """Exact two-sided p-value that gains and losses are equally likely (McNemar 1947; binomial form)."""
    changed = int(gained + lost)
    return float(min(2 * binom.cdf(min(gained, lost), changed, 0.5), 1.0)) if changed else 1.0
