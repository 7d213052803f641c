"""Do two sets of units score differently? A permutation test, and resampled differences."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from longform.errors import InputError
from longform.statistics.protocols import Metric
from longform.statistics.resampling import blocks, resampled_rows, resampled_scores
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics

TIE = 1e-12  # share of the largest score within which two differences are equal


@dataclass(frozen=True)
class Comparison:
    """Difference of two scores with its p-value.

    Attributes:
        difference: the first score minus the second.
        p_value: two-sided, of equal scores.
        paired: whether both sides held the same units, which were swapped one by one.
        permutations: how many were drawn.
    """

    difference: float
    p_value: float
    paired: bool
    permutations: int


def compare(
    critic: Metric,
    first: SufficientStatistics,
    second: SufficientStatistics,
    rng: np.random.Generator,
    permutations: int = 2000,
    matched: bool = False,
) -> Comparison:
    r"""Permutation test of equal scores.

    The test is paired (swaps within a unit) where both sides hold the same unit ids. Otherwise it
    exchanges units freely, but only those that could be scored: a score of few units is noisier
    than one of many, and where one side lost more of them, exchanging the lost ones too would take
    the noise for a difference.

    The p-value is $(1 + \#\{|d^*| \ge |d|\}) / (1 + \text{permutations})$ (Phipson and Smyth 2010),
    never zero. A permuted difference that is nan counts as large; one within ``TIE`` of the largest
    score counts as equal to the observed one, in any unit of scores.

    Args:
        critic: what scores.
        first, second: a row for each unit of a side.
        rng: source of the permutations.
        permutations: how many there are.
        matched: whether units with an id that both sides have are swapped with each other, and only
            the other units are exchanged freely: two versions of one text are not two independent
            texts.

    Raises InputError: a side has no rows, or, where units are matched, an id twice.
    """
    if not first.unit_ids or not second.unit_ids:
        raise InputError(
            f"{signature(critic)}: comparison with zero units on a side; "
            "check the split and the reader"
        )
    if matched:
        for side in (first, second):
            _refuse_repeated_ids(side)
    # 1. Pair the units where both sides hold the same ones; else leave out those without a score.
    second = _in_order_of(first, second)
    paired = first.unit_ids == second.unit_ids
    if not paired:
        first = _scored_units(first)
        second = _scored_units(second)
    # 2. The observed difference.
    first_score = critic.score_of(first)
    second_score = critic.score_of(second)
    observed = first_score - second_score
    # 3. The scores of both sides after each permutation.
    pooled = first + second
    first_blocks, second_blocks = [np.zeros(0)], [np.zeros(0)]
    for order in _orders(first, second, paired, matched, rng, permutations):
        first_rows, second_rows = np.split(order, [len(first.unit_ids)], axis=1)
        first_blocks.append(resampled_scores(critic, pooled, first_rows))
        second_blocks.append(resampled_scores(critic, pooled, second_rows))
    first_permuted = np.concatenate(first_blocks)
    second_permuted = np.concatenate(second_blocks)
    # 4. How many permuted differences are as large. Sums that cancel leave a score near zero, so
    #    rounding is measured by the scores' typical size.
    typical = _typical_size(np.concatenate([first_permuted, second_permuted]))
    threshold = abs(observed) - TIE * max(abs(first_score), abs(second_score), typical)
    if math.isfinite(observed):
        smaller = np.abs(_difference(first_permuted, second_permuted)) < threshold
        as_large = int(np.sum(~smaller))
    else:
        as_large = permutations
    return Comparison(observed, (1 + as_large) / (1 + permutations), paired, permutations)


def _refuse_repeated_ids(side: SufficientStatistics) -> None:
    """Raise InputError where two units have one id: nothing says which of them is matched."""
    counts = Counter(side.unit_ids)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise InputError(
            f"comparison of matched units: the id {repeated[0]!r} stands twice on a side; "
            "give each unit an id of its own"
        )


def _in_order_of(first: SufficientStatistics, second: SufficientStatistics) -> SufficientStatistics:
    """The second side's units in the first's order where both hold the same, each once."""
    same_units = sorted(first.unit_ids) == sorted(second.unit_ids)
    if not same_units or len(set(first.unit_ids)) < len(first.unit_ids):
        return second
    row_of_unit = {name: row for row, name in enumerate(second.unit_ids)}
    rows = [row_of_unit[name] for name in first.unit_ids]
    return second.take(np.array(rows))


def _scored_units(side: SufficientStatistics) -> SufficientStatistics:
    """The units that could be scored."""
    if "excluded" not in side.columns:
        return side
    return side.take(np.flatnonzero(side.column("excluded") == 0))


def _orders(
    first: SufficientStatistics,
    second: SufficientStatistics,
    paired: bool,
    matched: bool,
    rng: np.random.Generator,
    permutations: int,
) -> Iterator[np.ndarray]:
    """Orders of the pooled units that are as likely as the observed one if both sides are alike.

    The units of both sides stand one after another, first side first. The first places of an order
    are the first side after the permutation, the others the second.

    Yields:
        Rows of the pooled units, int (orders of the block, units of both sides).
    """
    if paired:
        return _swapped(len(first.unit_ids), rng, permutations)
    if matched:
        return _swapped_and_exchanged(first.unit_ids, second.unit_ids, rng, permutations)
    return _exchanged(len(first.unit_ids) + len(second.unit_ids), rng, permutations)


def _swapped(pairs: int, rng: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Orders after swaps within pairs, each pair swapped with probability one half.

    Args:
        pairs: units of a side; row i of the pooled units is paired with row ``pairs`` + i.
    """
    first, second = np.arange(pairs), np.arange(pairs, 2 * pairs)
    for count in blocks(draws, 2 * pairs):
        swap = rng.integers(0, 2, (count, pairs)) > 0
        first_side = np.where(swap, second, first)
        second_side = np.where(swap, first, second)
        yield np.concatenate([first_side, second_side], axis=1)


def _exchanged(units: int, rng: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Random orders of all pooled units.

    Args:
        units: of both sides together.
    """
    for count in blocks(draws, units):
        yield np.array([rng.permutation(units) for _ in range(count)])


def _swapped_and_exchanged(
    first: Sequence[str], second: Sequence[str], rng: np.random.Generator, draws: int
) -> Iterator[np.ndarray]:
    """Orders in which two versions of one text are swapped and all other units are exchanged.

    Args:
        first, second: unit ids of a side; an id on both sides names two versions.
    """
    # 1. Rows of the versions of one text, and rows of the units on one side only.
    row_of_second = {name: len(first) + row for row, name in enumerate(second)}
    left_rows = [row for row, name in enumerate(first) if name in row_of_second]
    right_rows = [row_of_second[first[row]] for row in left_rows]
    left = np.array(left_rows, dtype=np.int64)
    right = np.array(right_rows, dtype=np.int64)
    units = np.arange(len(first) + len(second))
    unmatched = np.setdiff1d(units, np.concatenate([left, right]))
    # 2. Swap the former, permute the latter.
    for count in blocks(draws, len(units)):
        rows = np.tile(units, (count, 1))
        swap = rng.integers(0, 2, (count, len(left))) > 0
        rows[:, left] = np.where(swap, right, left)
        rows[:, right] = np.where(swap, left, right)
        rows[:, unmatched] = rng.permuted(np.tile(unmatched, (count, 1)), axis=1)
        yield rows


def _typical_size(scores: np.ndarray) -> float:
    """The median size of the finite scores; 0 where there is none."""
    sizes = np.abs(scores)
    finite = sizes[np.isfinite(sizes)]
    if not len(finite):
        return 0.0
    return float(np.median(finite))


def _difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """First minus second; nan, without a warning, of two infinite scores."""
    with np.errstate(invalid="ignore"):
        return first - second


def resampled_difference(
    high: tuple[Metric, SufficientStatistics],
    low: tuple[Metric, SufficientStatistics],
    rng: np.random.Generator,
    resamples: int = 1000,
) -> np.ndarray:
    """Differences of two metrics of the same units, on the same resamples of these units.

    Args:
        high: a metric and its statistics.
        low: another and its own, of the same units in the same order.
        rng: source of the resamples.
        resamples: how many there are.

    Returns:
        The first metric's score minus the second's, float64 (resamples,).
    """
    units = len(high[1].unit_ids)
    differences = []
    for index in resampled_rows(units, rng, resamples):
        high_scores = resampled_scores(*high, index)
        low_scores = resampled_scores(*low, index)
        differences.append(_difference(high_scores, low_scores))
    return np.concatenate(differences)
