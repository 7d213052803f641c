"""Share of items for which a suite's predictions hold: beyer2021's coherence detection score."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import binom

from longform.datasets.test_suites import prediction_formulas
from longform.datasets.test_suites.prediction_formulas import Formula, RegionValue
from longform.documents import Predictions, Unit, grouped
from longform.errors import InputError
from longform.statistics.signatures import FITTED  # not in signatures
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored

COLUMNS = ("items", "correct", "gained", "lost")


@dataclass(frozen=True)
class ReadItem(Unit):
    """One item of a test suite, with the surprisal of its tokens under a language model.

    Attributes:
        suite: name of its suite.
        metric: how the bits of a region's tokens become its value, a key of ``METRICS``.
        formulas: the suite's predictions.
        regions: surprisal of the tokens of each region, bits, float64 (tokens,), by the condition's
            name and the region's number.
    """

    suite: str
    metric: str
    formulas: tuple[Formula, ...]
    regions: Mapping[tuple[str, int], np.ndarray]

    def bits(self, condition: str, region: int | None) -> np.ndarray:
        """Bits of the tokens of one region, or (None) of all regions of the condition, (tokens,).

        Raises InputError: the item has no such region.
        """
        chosen = []
        for (name, number), bits in self.regions.items():
            if name == condition and region in (None, number):
                chosen.append(bits)
        if not chosen:
            raise InputError(
                f"{self.unit_id}: no region {region} of condition {condition!r}; "
                f"the item has {sorted(self.regions)}"
            )
        return np.concatenate(chosen)


def units_from_predictions(predictions: Predictions) -> list[ReadItem]:
    """One item a unit of what :mod:`longform.critics.surprisal.read` wrote."""
    # 1. Name, metric and formulas of each suite.
    suites = []
    for text in predictions.arrays["suite_head_names"].tolist():
        head = json.loads(text)
        formulas = []
        for prediction in head["predictions"]:
            formulas.append(prediction_formulas.parse(prediction["formula"]))
        suites.append((head["meta"]["name"], head["meta"]["metric"], tuple(formulas)))
    # 2. The bits of each item's regions.
    condition_names = predictions.arrays["condition_names"].tolist()
    rows = predictions.rows(
        "suite", "region_condition", "region_number", "region_tokens", "token_bits"
    )
    items = []
    for unit, split, suite, conditions, numbers, tokens, bits in rows:
        pieces = np.split(bits.astype(np.float64), np.cumsum(tokens)[:-1])
        regions = {}
        for condition, number, piece in zip(conditions, numbers, pieces, strict=True):
            regions[condition_names[condition], int(number)] = piece
        items.append(ReadItem(unit, split, *suites[int(suite)], regions))
    return items


# Class keywords: see SumScored.
@dataclass(frozen=True)
class SuiteAccuracy(SumScored, better="higher", share=True, divided=("correct", "items")):
    """Accuracy over items; its description counts each suite apart, so that one row fills a table.

    Attributes:
        reference: whether another model succeeds, by item; gains and losses against it are counted
            for McNemar's test.
    """

    reference: Mapping[str, bool] = field(default_factory=dict, metadata=FITTED, repr=False)

    def against(self, items: Sequence[ReadItem]) -> "SuiteAccuracy":
        """A copy that knows on which items another model, which read ``items``, succeeds."""
        return replace(self, reference={item.unit_id: self.succeeds(item) for item in items})

    def sufficient_statistics(self, units: Sequence[ReadItem]) -> SufficientStatistics:
        """A row an item: ``items`` (1), ``correct``, ``gained``, ``lost`` against the reference."""
        return SufficientStatistics.of(units, COLUMNS, map(self._counts, units))

    def succeeds(self, item: ReadItem) -> bool:
        """Whether all predictions of the item's suite hold."""

        def value(region: RegionValue) -> float:
            return self.value(item, region)

        return all(prediction_formulas.evaluate(formula, value) for formula in item.formulas)

    def value(self, item: ReadItem, operand: RegionValue) -> float:
        """The number that stands for a region in a formula: its bits by the suite's metric.

        Raises InputError: a region without tokens, of which only the sum is known.
        """
        bits = item.bits(operand.condition, operand.region)
        if not len(bits) and item.metric != "sum":
            raise InputError(
                f"{item.unit_id}: region {operand.region} of condition {operand.condition!r} has "
                f"no token, so it has no {item.metric}; take metric 'sum' or give it text"
            )
        return prediction_formulas.METRICS[item.metric](bits)

    def describe(self, units: Sequence[ReadItem]) -> dict[str, Any]:
        """Counts of each suite, and the means and deviations that the paper's plots show."""
        suites = grouped(units, lambda item: item.suite)
        described = {}
        for name, items in sorted(suites.items()):
            described[name] = self._described(items)
        return described

    def _described(self, items: Sequence[ReadItem]) -> dict[str, Any]:
        """One suite's counts, mean and population deviation of its formulas' regions, mean bits."""
        counts = np.array(list(map(self._counts, items)))
        sums = dict(zip(COLUMNS, counts.sum(axis=0).tolist(), strict=True))
        success = counts[:, COLUMNS.index("correct")] > 0
        return {
            "counts": sums,
            "formula_bits": formula_bits(items, success),
            "token_bits": mean_bits(items),
        }

    def _counts(self, item: ReadItem) -> tuple[float, float, float, float]:
        """The item's row of ``COLUMNS``; without a reference nothing is gained or lost."""
        correct = self.succeeds(item)
        reference = self.reference.get(item.unit_id, correct)
        gained = correct and not reference
        lost = reference and not correct
        return 1.0, float(correct), float(gained), float(lost)


def formula_bits(items: Sequence[ReadItem], success: np.ndarray) -> dict[str, Any]:
    """Mean and deviation over items of each region's summed bits, for the regions in formulas.

    Args:
        items: of one suite.
        success: which of them succeed, bool (items,).

    Returns:
        For each region ``all``, ``true`` (successful items) and ``false`` (others): mean and
        population deviation, or None where there is no such item.
    """
    groups = {"all": np.ones(len(items), dtype=bool), "true": success, "false": ~success}
    regions: dict[RegionValue, None] = {}
    for formula in items[0].formulas:
        regions.update(dict.fromkeys(prediction_formulas.region_values(formula)))
    tables = {}
    for region in regions:
        bits = np.array([item.bits(region.condition, region.region).sum() for item in items])
        table: dict[str, list[float] | None] = {}
        for name, rows in groups.items():
            chosen = bits[rows]
            table[name] = [float(chosen.mean()), float(chosen.std())] if len(chosen) else None
        tables[str(region)] = table
    return tables


def mean_bits(items: Sequence[ReadItem]) -> dict[str, dict[str, float]]:
    """Mean bits of a token, by condition and number of the region; empty regions are left out."""
    pieces: dict[tuple[str, int], list[np.ndarray]] = {}
    for item in items:
        for region, bits in item.regions.items():
            pieces.setdefault(region, []).append(bits)
    means: dict[str, dict[str, float]] = {}
    for (condition, number), parts in pieces.items():
        bits = np.concatenate(parts)
        if len(bits):
            means.setdefault(condition, {})[str(number)] = float(bits.mean())
    return means


def mcnemar(gained: float, lost: float) -> float:
    """Exact two-sided p-value that gains and losses are equally likely (McNemar 1947; binomial)."""
    changed = int(gained + lost)
    if not changed:
        return 1.0
    return float(min(2 * binom.cdf(min(gained, lost), changed, 0.5), 1.0))
