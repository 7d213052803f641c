"""Numbers in float64: log-space sums, perplexity from sums and counts, seeded generators, resampling."""

import hashlib
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.errors import BadInput

NORMAL_95 = 1.959963984540054  # standard normal quantile of a two-sided 95 % interval
PLACES = 1 << 20  # drawn at a time
SAME_SHARE = 1e-9  # shares that differ by less are the same
SAME_SUM = 1e-9  # share of the largest margin within which two sums of margins are the same
EPOCH = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the earliest date that a zip entry can carry: a clock must not reach the bytes


def generator(*names: object) -> np.random.Generator:
    """A generator that depends only on the words that name it, so document 7 is document 7 in any batch."""
    digest = hashlib.blake2b("\x1f".join(map(str, names)).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def derived_seed(*names: object) -> int:
    """A 63-bit seed for libraries that want an integer; depends only on the names."""
    return (
        int.from_bytes(
            hashlib.blake2b("\x1f".join(map(str, names)).encode(), digest_size=8).digest(), "little"
        )
        >> 1
    )


SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}  # Arnold et al. 2019, section 3


def split_by_seed(ids: Sequence[str], shares: Mapping[str, float], seed: int) -> list[str]:
    """One split per id: ids are ranked by a draw named after seed and id, and the ranking is cut at the shares.

    Raises BadInput: the shares are not positive or do not sum to one.
    """
    if any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        raise BadInput(
            f"shares are {dict(shares)}, allowed are positive fractions that sum to 1; fix the entry"
        )
    draws = np.array([generator(seed, "split", unit).random() for unit in ids])
    ends = np.round(np.cumsum(list(shares.values())) * len(ids)).astype(int)
    of_rank = np.repeat(list(shares), np.diff(ends, prepend=0))
    splits = np.empty(len(ids), dtype=of_rank.dtype)
    splits[np.argsort(draws, kind="stable")] = of_rank
    return splits.tolist()


def logsumexp(values: np.ndarray, axis: int = -1) -> np.ndarray:
    r"""$\log \sum_i e^{v_i}$ along an axis; all minus infinity gives minus infinity, without a warning."""
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(top, axis) + np.log(np.sum(np.exp(values - top), axis=axis))


def perplexity(logprob: Any, count: Any) -> Any:
    r"""$\exp(-\sum \log p / n)$ from sums in nats and counts, numbers or arrays; no count gives nan."""
    with np.errstate(invalid="ignore"):
        value = np.where(
            np.isfinite(logprob),
            np.exp(np.minimum(-ratio(logprob, np.maximum(count, 0)), 700.0)),
            np.inf,
        )
    return np.where(np.greater(count, 0), value, np.nan)[()]


def ratio(top: Any, bottom: Any) -> Any:
    """``top / bottom`` of numbers or of arrays, nan where ``bottom`` is 0."""
    there = np.not_equal(bottom, 0)
    return np.where(there, top / np.where(there, bottom, 1.0), np.nan)[()]


def blocks(draws: int, size: int) -> Iterator[int]:
    """Numbers of draws that are made at a time, each of ``size`` places, so that memory stays bounded."""
    most = max(1, PLACES // max(1, size))
    for start in range(0, draws, most):
        yield min(most, draws - start)


def resampled_rows(
    rows: int, rng: np.random.Generator, resamples: int, size: int = 0
) -> Iterator[np.ndarray]:
    """Row indices drawn with replacement, (resamples, rows) block by block; the draws do not depend on the blocks.

    ``size``: numbers that are made of one resample, where they are more than its rows.
    """
    for count in blocks(resamples, max(rows, size)):
        yield rng.integers(0, rows, (count, rows))


def occurrences(index: np.ndarray, rows: int) -> np.ndarray:
    """How often each of ``rows`` rows is in each list of row indices, float64 (lists, rows), from (lists, places)."""
    places = index + np.arange(len(index))[:, None] * rows
    return (
        np.bincount(places.ravel(), minlength=len(index) * rows)
        .reshape(len(index), rows)
        .astype(np.float64)
    )


def bootstrap(
    statistic: Callable[[np.ndarray], float],
    rows: int,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> np.ndarray:
    """Values of ``statistic(indices)`` on resamples of ``rows`` row indices, drawn with replacement.

    Source: Efron (1979), the nonparametric bootstrap; rows are documents, so ratio scores resample whole documents.
    """
    return np.array(
        [statistic(index) for drawn in resampled_rows(rows, rng, resamples) for index in drawn]
    )


def percentile_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The central ``level`` of bootstrap values; nan values (a resample without any count) are left out."""
    kept = values[~np.isnan(values)]
    if not len(kept):
        return math.nan, math.nan
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(kept, ends, method="inverted_cdf")  # no inf - inf between ranks
    return float(low), float(high)


def wilson(correct: float, items: float) -> tuple[float, float]:
    r"""Wilson's (1927) score interval of a share $\hat p = k/n$ of independent trials; not a number where nothing was tried.

    .. math:: \frac{\hat p + z^2/2n \pm z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}}{1 + z^2/n}

    Raises BadInput: fewer than none correct, or more than all.
    """
    if items <= 0:
        return math.nan, math.nan
    if not 0 <= correct <= items:
        raise BadInput(f"Wilson interval of {correct} out of {items}; allowed are 0 to all of them")
    share, ratio = correct / items, NORMAL_95**2 / items
    middle = share + ratio / 2
    spread = NORMAL_95 * math.sqrt(share * (1 - share) / items + ratio / (4 * items))
    low, high = (middle - spread) / (1 + ratio), (middle + spread) / (1 + ratio)
    return min(max(low, 0.0), share), max(
        min(high, 1.0), share
    )  # rounding must not put the share outside


def _all_or_none(share: float) -> bool:
    """Whether a share is 0 or 1 but for rounding; nan is neither."""
    return min(abs(share), abs(1 - share)) <= SAME_SHARE


def share_interval(resampled: tuple[float, float], share: float, units: int) -> tuple[float, float]:
    """95 % interval of a share of yes among answers of yes or no.

    Where no unit says yes, or every unit does, all resamples say the same, and an interval of theirs has no width however
    few units there are. There Wilson's stands, each unit one trial.

    Args:
        resampled: ends of the interval of the share's resamples.
        share: the share itself.
        units: what was resampled (documents) and could be scored.
    """
    low, high = resampled
    if high - low > SAME_SHARE or not _all_or_none(share):
        return resampled
    return wilson(round(share) * units, units)


def share_difference_interval(
    resampled: tuple[float, float], first: float, second: float, units: int
) -> tuple[float, float]:
    r"""95 % interval of a difference of two shares of the same units, where resamples may all say the same.

    Where each share is none or all, Newcombe's (1998, method 10) stands, from Wilson's :math:`[l, u]` of each:
    :math:`p_1 - p_2 - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}` to
    :math:`p_1 - p_2 + \sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2}`.

    Args:
        resampled: ends of the interval of the difference's resamples.
        first, second: the shares.
        units: what was resampled and could be scored.
    """
    low, high = resampled
    if high - low > SAME_SHARE or not (_all_or_none(first) and _all_or_none(second)):
        return resampled
    first, second = round(first), round(second)
    first_low, first_high = wilson(first * units, units)
    second_low, second_high = wilson(second * units, units)
    difference = first - second
    below = math.hypot(first - first_low, second_high - second)
    above = math.hypot(first_high - first, second - second_low)
    return max(difference - below, -1.0), min(difference + above, 1.0)


def sign_flip_test(margins: np.ndarray, rng: np.random.Generator, flips: int = 2000) -> float:
    r"""Two-sided p that independent margins are symmetric around zero.

    $(1 + \#\{|m^*| \ge |m|\}) / (1 + \text{flips})$ over random signs. Sums within ``SAME_SUM`` of the largest
    margin count as equal, so that neither rounding nor the unit of the margins moves p.

    Source: Fisher (1935), the randomisation test for pairs; never zero, 1 where every margin is zero.
    """
    signs = rng.integers(0, 2, (flips, len(margins))) * 2 - 1
    nearly = abs(margins.sum()) - SAME_SUM * float(np.abs(margins).max(initial=0.0))
    return float((1 + (np.abs(signs @ margins) >= nearly).sum()) / (1 + flips))


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An npz whose bytes depend on the arrays alone (``np.savez`` writes the time of day into each entry)."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(arrays):
            entry = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(arrays[name]), allow_pickle=False)
