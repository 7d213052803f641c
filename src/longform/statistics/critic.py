"""One protocol for critics and metrics: fit, statistics, score; and, written once, an interval and a test for any of them.

What a critic may offer beyond these three are small protocols, asked for by ``isinstance``. A resample is a count per unit. Most
scores are functions of their columns' sums: all resamples are then one product of counts and statistics, and one call of the score.
"""

import functools
import math
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from longform.documents import refuse_plain_text
from longform.errors import BadInput
from longform.statistics.resampling import (
    blocks,
    occurrences,
    percentile_interval,
    ratio,
    resampled_rows,
    share_interval,
)
from longform.statistics.trainings import two_level_interval

TIE = 1e-12  # share of the largest score within which a permuted difference equals the observed one
Better = Literal["higher", "lower", "reference_matched"]
Unit_contra = TypeVar("Unit_contra", contravariant=True)
UNITS = "units that its reader makes from documents; for texts as they are call longform.criticize.criticize"
# methods of critics that are given units
OF_UNITS = ("sufficient_statistics", "part_values", "coherence", "describe", "groups")
# metadata of a field that fitting sets, and of one that says how texts are read: what a record's
# signature leaves out, since the one is no setting and the other belongs to the predictions
FITTED = {"fitted": True}
READING = {"reading": True}


@dataclass(frozen=True)
class SufficientStatistics:
    """Sums and counts, one row per unit; rows concatenate and resample, and are divided only in ``score``.

    A column named ``excluded`` is 1 where a unit could not be scored; its other columns are then 0.
    """

    unit_ids: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray  # float64, (units, columns)

    def __post_init__(self) -> None:
        shape = (len(self.unit_ids), len(self.columns))
        if self.values.shape != shape:
            raise BadInput(
                f"statistics values have shape {self.values.shape}, units x columns is {shape}"
            )

    @classmethod
    def of(
        cls, units: Sequence[Any], columns: Sequence[str], rows: Iterable[Sequence[float]]
    ) -> "SufficientStatistics":
        """From a row of numbers for each unit."""
        values = np.array(list(rows), dtype=np.float64).reshape(len(units), len(columns))
        return cls(tuple(unit.unit_id for unit in units), tuple(columns), values)

    @classmethod
    def of_columns(cls, units: Sequence[Any], **columns: Any) -> "SufficientStatistics":
        """From a number for each unit in every column."""
        return cls.of(units, tuple(columns), np.stack([*columns.values()], axis=1))

    def column(self, name: str) -> np.ndarray:
        """One column over all units."""
        return self.values[:, self.columns.index(name)]

    def total(self, name: str) -> float:
        """Sum of one column over all units; zero where the statistics has no such column."""
        return float(self.column(name).sum()) if name in self.columns else 0.0

    def take(self, rows: np.ndarray) -> "SufficientStatistics":
        """The named rows, in order, repeats allowed."""
        return SufficientStatistics(
            tuple(self.unit_ids[i] for i in rows), self.columns, self.values[rows]
        )

    def __add__(self, other: "SufficientStatistics") -> "SufficientStatistics":
        if self.columns != other.columns:
            raise BadInput(
                f"sufficient statistics of different critics: {self.columns} and {other.columns}"
            )
        return SufficientStatistics(
            self.unit_ids + other.unit_ids,
            self.columns,
            np.concatenate([self.values, other.values]),
        )


def clustered(statistics: SufficientStatistics, groups: Sequence[str]) -> SufficientStatistics:
    """Rows of one group (generations of one page) summed into one row, groups in order of appearance."""
    names = list(dict.fromkeys(groups))
    place = {name: i for i, name in enumerate(names)}
    values = np.zeros((len(names), len(statistics.columns)))
    np.add.at(values, [place[group] for group in groups], statistics.values)
    return SufficientStatistics(tuple(names), statistics.columns, values)


@dataclass(frozen=True)
class Sums:
    """The sums of sufficient statistics's columns over its units, or over those of each of many resamples."""

    columns: tuple[str, ...]
    values: np.ndarray  # float64 (columns,) or (resamples, columns)

    def total(self, name: str) -> Any:
        """The sum of one column, a number or one per resample; zero where the statistics has no such column."""
        return (
            self.values[..., self.columns.index(name)]
            if name in self.columns
            else np.zeros(self.values.shape[:-1])
        )


class SumScored(ABC):
    """A metric whose score is a function of its columns' sums, so that thousands of resamples are scored as one array.

    A subclass names beside its bases which way is ``better``, what is ``divided`` and, where it is :class:`Attributing`, its
    ``parts`` and their ``blame``; they sum to the column that is divided, unless ``attributed`` names others.
    """

    better: ClassVar[Better]
    share: ClassVar[bool] = False  # whether the score is a share of yes among answers of yes or no
    divided: ClassVar[
        tuple[str, str]
    ]  # the columns whose sums' ratio is the score, unless ``of_sums`` says otherwise

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__()
        if "divided" in named:
            named = {"attributed": named["divided"][:1], **named}
        for name, value in named.items():
            setattr(cls, name, value)
        for name in OF_UNITS:
            if name in vars(cls):
                setattr(cls, name, _refusing_texts(vars(cls)[name]))

    def fit(self, real: Sequence[Any]) -> Self:
        """The critic fitted to real units; this one stays as it is."""
        refuse_plain_text(real, f"{type(self).__name__}.fit", UNITS)
        return self.fit_units(real)

    def fit_units(self, real: Sequence[Any]) -> Self:
        """Itself: nothing is fitted, unless a subclass says otherwise."""
        return self

    def judged(self, units: Sequence[Any]) -> Sequence[Any]:
        """What is scored of the units: they themselves, unless a subclass says otherwise."""
        return units

    def of_sums(self, sums: Sums) -> Any:
        """The score, a number or one per resample; nan where nothing was scored."""
        return ratio(*(sums.total(name) for name in self.divided))

    def is_share(self) -> bool:
        """As :class:`ShareScored`: by default what the class says."""
        return self.share

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The one number."""
        return float(self.of_sums(sums_of(statistics)))


def _refusing_texts(method: Callable[..., Any]) -> Callable[..., Any]:
    """A critic's method that says what it wants where it is given texts instead of units."""

    @functools.wraps(method)
    def checked(self: Any, units: Sequence[Any], *rest: Any, **named: Any) -> Any:
        refuse_plain_text(units, f"{type(self).__name__}.{method.__name__}", UNITS)
        return method(self, units, *rest, **named)

    return checked


def sums_of(statistics: SufficientStatistics) -> Sums:
    """The sums of sufficient statistics's columns over its units."""
    return Sums(
        statistics.columns, np.ascontiguousarray(statistics.values.T).sum(axis=1)
    )  # a column at a time rounds least


class Metric(Protocol):
    """The last third of a critic: one number from sufficient statistics, nan where nothing was scored; all that an interval and a test need."""

    def score_of(self, statistics: SufficientStatistics) -> float: ...


@runtime_checkable
class Critic(Protocol[Unit_contra]):
    """Fitted on real units, then judges any units: a row of sums and counts per unit, and one number of sufficient statistics.

    ``fit`` returns a new, fitted critic, or the critic itself where there is nothing to fit; the old one is unchanged.
    """

    better: ClassVar[Better]

    def fit(self, real: Sequence[Unit_contra]) -> "Critic[Unit_contra]": ...
    def sufficient_statistics(self, units: Sequence[Unit_contra]) -> SufficientStatistics: ...
    def score_of(self, statistics: SufficientStatistics) -> float: ...


@runtime_checkable
class Weighing(Protocol):
    """A critic that scores many resamples at once in another way than by sums, as :func:`weighted_scores` does."""

    def weighted_scores(
        self, statistics: SufficientStatistics, counts: np.ndarray
    ) -> np.ndarray: ...


@runtime_checkable
class Attributing(Protocol[Unit_contra]):
    """A critic that says which parts of a unit its score comes from.

    ``part_values`` gives the parts of each unit in reading order, float64 of any shape; nan is a part without a number, and counts 0.
    """

    parts: ClassVar[
        str
    ]  # what one part is: transitions, mentions, topics, sentences, cells, tokens, claims ...
    attributed: tuple[str, ...]  # the columns of the statistics that a unit's parts sum to
    blame: ClassVar[int]  # +1 where a large part is a bad sign, -1 where a small one is

    def part_values(self, units: Sequence[Unit_contra]) -> list[np.ndarray]: ...


@runtime_checkable
class Describing(Protocol[Unit_contra]):
    """A critic that has more to say than its one number: what a table or figure needs beside it, ready for JSON."""

    def describe(self, units: Sequence[Unit_contra]) -> Mapping[str, Any]: ...


@runtime_checkable
class Grouping(Protocol[Unit_contra]):
    """A critic whose units are not independent: groups (generations of one page), named unit by unit, are what is resampled."""

    def groups(self, units: Sequence[Unit_contra]) -> Sequence[str]: ...


@runtime_checkable
class ParametricBootstrap(Protocol):
    """A critic with an uncertain part of its own, of which it has another draw for every resample."""

    def redrawn(self, rng: np.random.Generator) -> Metric: ...


@runtime_checkable
class Centring(Protocol):
    """A critic whose score repeated documents bias; its bootstrap draws are moved to its score."""

    upper_bound: ClassVar[
        float
    ]  # the greatest score there is, where draws are cut; infinite where there is none


@runtime_checkable
class Reseeded(Protocol):
    """A critic whose score is a mean over seeds of its fit; its interval covers what another seed would have given."""

    upper_bound: ClassVar[float]

    def of_seeds(self, statistics: SufficientStatistics) -> list[float]:
        """Each seed's own score of sufficient statistics."""
        ...


@runtime_checkable
class ShareScored(Protocol):
    """A metric that can say whether its score is a share of yes among answers of yes or no."""

    def is_share(self) -> bool: ...


def is_share(metric: Any) -> bool:
    """Whether a metric's score is a share of yes among answers of yes or no."""
    return isinstance(metric, ShareScored) and metric.is_share()


@runtime_checkable
class TextScorer(Protocol[Unit_contra]):
    """A critic that scores many texts at once, each by itself: float64 (units,), nan where a text has no score."""

    def coherence(self, units: Sequence[Unit_contra]) -> np.ndarray: ...


@runtime_checkable
class OrderScorer(Protocol):
    """A critic that has read a text once and scores any ``orders`` (orders, sentences): float64 (orders,), nan where it cannot."""

    better: ClassVar[Better]

    def order_scores(self, unit: Any, orders: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class PairLearner(Protocol):
    """An order scorer that learns from pairs of a better and a worse text, such as originals and their permutations.

    It sees float64 (orders, features), no rows where the text cannot be scored, and is fitted by (better, worse) rows of
    features, one pair of arrays per document.
    """

    def order_features(self, unit: Any, orders: np.ndarray) -> np.ndarray: ...
    def fit_pairs(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Any: ...


def unit_scores(critic: Any, units: Sequence[Any]) -> np.ndarray:
    """A fitted critic's score of each unit by itself, float64 (units,); nan where it excludes the unit or has no score."""
    if isinstance(critic, TextScorer):
        return np.asarray(critic.coherence(units), dtype=np.float64)
    statistics = critic.sufficient_statistics(units)
    excluded = (
        statistics.column("excluded") > 0
        if "excluded" in statistics.columns
        else np.zeros(len(units), dtype=bool)
    )
    if isinstance(critic, SumScored):
        return np.where(
            excluded, math.nan, critic.of_sums(Sums(statistics.columns, statistics.values))
        )
    scores = [
        math.nan if out else critic.score_of(statistics.take(np.array([i])))
        for i, out in enumerate(excluded)
    ]
    return np.array(scores, dtype=np.float64)


@dataclass(frozen=True)
class Estimate:
    """A number with its interval and everything that would change it."""

    value: float
    low: float
    high: float
    units: int
    excluded: int
    signature: str


@dataclass(frozen=True)
class Comparison:
    """Difference of two scores (first minus second) with a permutation p-value."""

    difference: float
    p_value: float
    paired: bool
    permutations: int


def signature(critic: Any) -> str:
    """Class and settings of a critic, as records have it: ``BigramCritic(delta=1.0)``.

    Fields that are ``FITTED`` or ``READING`` are left out. A class that was renamed since records
    were committed has its old name in ``recorded_as``.
    """
    settings = []
    for field in fields(critic):
        if not field.metadata.keys() & {"fitted", "reading"}:
            settings.append(f"{field.name}={getattr(critic, field.name)}")
    name = vars(type(critic)).get("recorded_as", type(critic).__name__)
    return f"{name}({','.join(settings)})"


def estimate(
    critic: Metric,
    statistics: SufficientStatistics,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> Estimate:
    """Score with a 95 % percentile-bootstrap interval over units, and over seeds where it is a mean over seeds.

    A share that is 0 or 1 in every unit has Wilson's interval (:func:`longform.statistics.resampling.share_interval`).

    Raises BadInput: the statistics has no rows.
    """
    low, high = percentile_interval(bootstrap_scores(critic, statistics, rng, resamples))
    if isinstance(critic, Reseeded) and len(values := critic.of_seeds(statistics)) > 1:
        low, high = two_level_interval((low, high), values, (-math.inf, critic.upper_bound))
    excluded = int(statistics.total("excluded"))
    value, units = critic.score_of(statistics), len(statistics.unit_ids) - excluded
    if is_share(critic):
        low, high = share_interval((low, high), value, units)
    return Estimate(value, low, high, units, excluded, signature(critic))


def bootstrap_scores(
    critic: Metric,
    statistics: SufficientStatistics,
    rng: np.random.Generator,
    resamples: int = 1000,
) -> np.ndarray:
    """Scores of resamples of the units, float64 (resamples,). Raises BadInput: the statistics has no rows."""
    if not statistics.unit_ids:
        raise BadInput(
            f"{signature(critic)}: got zero units, at least one is needed; check the split and the reader"
        )
    rows = len(statistics.unit_ids)
    if isinstance(critic, ParametricBootstrap):
        drawn = (
            (next(resampled_rows(rows, rng, 1)), critic.redrawn(rng)) for _ in range(resamples)
        )
    else:
        drawn = ((index, critic) for index in resampled_rows(rows, rng, resamples))
    draws = np.concatenate([resampled_scores(metric, statistics, index) for index, metric in drawn])
    if isinstance(critic, Centring):
        draws = np.minimum(
            draws + (critic.score_of(statistics) - np.nanmean(draws)), critic.upper_bound
        )
    return draws


def compare(
    critic: Metric,
    first: SufficientStatistics,
    second: SufficientStatistics,
    rng: np.random.Generator,
    permutations: int = 2000,
    matched: bool = False,
) -> Comparison:
    r"""Permutation test of equal scores: paired (swap within a unit) when the unit ids agree, else two-sample.

    The p-value is $(1 + \#\{|d^*| \ge |d|\}) / (1 + \text{permutations})$ (Phipson and Smyth 2010), never zero. Two
    samples exchange the units that could be scored and no others: a score of few units is noisier than one of many, and
    where one side lost more of them, exchanging the lost ones too would take the noise for a difference. A difference that
    cannot be told (nan) counts as large. Differences within ``TIE`` of the largest score are equal, in any unit of scores.

    Args:
        matched: whether units with an id that both sides have are swapped with each other, and only the other units are
            exchanged freely: two versions of one text are no two independent texts.
    """
    if not first.unit_ids or not second.unit_ids:
        raise BadInput(
            f"{signature(critic)}: comparison with zero units on a side; check the split and the reader"
        )
    if sorted(first.unit_ids) == sorted(second.unit_ids) and len(set(first.unit_ids)) == len(
        first.unit_ids
    ):
        place = {name: row for row, name in enumerate(second.unit_ids)}
        second = second.take(np.array([place[name] for name in first.unit_ids]))
    paired = first.unit_ids == second.unit_ids
    if not paired:
        first, second = _scored(first), _scored(second)
    pooled = first + second
    sizes = len(first.unit_ids), len(second.unit_ids)
    values = critic.score_of(first), critic.score_of(second)
    observed = values[0] - values[1]
    if paired:
        order = _swapped(sizes[0], rng, permutations)
    elif matched:
        order = _swapped_and_exchanged(first.unit_ids, second.unit_ids, rng, permutations)
    else:
        order = _exchanged(sum(sizes), rng, permutations)
    sides = [
        [resampled_scores(critic, pooled, side) for side in np.split(rows, sizes[:1], axis=1)]
        for rows in order
    ]
    draws = np.concatenate([_difference(*drawn) for drawn in sides])
    nearly = abs(observed) - TIE * max(*map(abs, values), _typical_size(sides))
    hits = int(np.sum(~(np.abs(draws) < nearly))) if math.isfinite(observed) else permutations
    return Comparison(observed, (1 + hits) / (1 + permutations), paired, permutations)


def _typical_size(sides: Sequence[Sequence[np.ndarray]]) -> float:
    """The median size of permuted scores, by which rounding is measured: of large sums that cancel the score may be zero."""
    sizes = np.abs(np.concatenate([drawn for side in sides for drawn in side]))
    return float(np.median(sizes[np.isfinite(sizes)])) if np.isfinite(sizes).any() else 0.0


def _scored(side: SufficientStatistics) -> SufficientStatistics:
    """The units that could be scored."""
    return (
        side.take(np.flatnonzero(side.column("excluded") == 0))
        if "excluded" in side.columns
        else side
    )


def _swapped(pairs: int, rng: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Places of the pooled units after swaps within pairs, (draws, 2 * pairs) block by block."""
    rows = np.arange(pairs)
    for count in blocks(draws, 2 * pairs):
        swap = rng.integers(0, 2, (count, pairs)) * pairs
        yield np.concatenate([rows + swap, rows + (pairs - swap)], axis=1)


def _exchanged(units: int, rng: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Places of the pooled units in random orders, (draws, units) block by block."""
    for count in blocks(draws, units):
        yield np.array([rng.permutation(units) for _ in range(count)])


def _swapped_and_exchanged(
    first: Sequence[str], second: Sequence[str], rng: np.random.Generator, draws: int
) -> Iterator[np.ndarray]:
    """Places of the pooled units: ids that both sides have are swapped, the other units take each other's places."""
    partner = {name: len(first) + row for row, name in enumerate(second)}
    left = np.array([row for row, name in enumerate(first) if name in partner], dtype=np.int64)
    right = np.array([partner[first[row]] for row in left], dtype=np.int64)
    units = len(first) + len(second)
    alone = np.setdiff1d(np.arange(units), np.concatenate([left, right]))
    for count in blocks(draws, units):
        rows = np.tile(np.arange(units), (count, 1))
        swap = rng.integers(0, 2, (count, len(left))) > 0
        rows[:, left] = np.where(swap, right, left)
        rows[:, right] = np.where(swap, left, right)
        rows[:, alone] = rng.permuted(np.tile(alone, (count, 1)), axis=1)
        yield rows


def resampled_difference(
    high: tuple[Metric, SufficientStatistics],
    low: tuple[Metric, SufficientStatistics],
    rng: np.random.Generator,
    resamples: int = 1000,
) -> np.ndarray:
    """The first metric's score of its statistics minus the second's of its own, on resamples of the units of both."""
    drawn = resampled_rows(len(high[1].unit_ids), rng, resamples)
    return np.concatenate(
        [_difference(*(resampled_scores(*side, index) for side in (high, low))) for index in drawn]
    )


def _difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # of two infinite scores: nan
        return one - other


def resampled_scores(
    critic: Metric, statistics: SufficientStatistics, index: np.ndarray
) -> np.ndarray:
    """Scores of resamples, each a list of places of the statistics' units, ``index`` (resamples, places); float64 (resamples,)."""
    return weighted_scores(critic, statistics, occurrences(index, len(statistics.unit_ids)))


def weighted_scores(
    critic: Metric, statistics: SufficientStatistics, counts: np.ndarray
) -> np.ndarray:
    """Scores of resamples that take each unit so often as ``counts`` (resamples, units) says, float64 (resamples,)."""
    if isinstance(critic, Weighing):
        return critic.weighted_scores(statistics, counts)
    if (
        isinstance(critic, SumScored) and np.isfinite(statistics.values).all()
    ):  # 0 times an infinite value is no number
        return critic.of_sums(Sums(statistics.columns, counts @ statistics.values))
    units = np.arange(len(statistics.unit_ids))
    rows = [np.repeat(units, times) for times in counts.astype(np.int64)]
    blank = ("",) * max(
        map(len, rows), default=0
    )  # resampling thousands of times should not copy names
    return np.array(
        [
            critic.score_of(
                SufficientStatistics(blank[: len(row)], statistics.columns, statistics.values[row])
            )
            for row in rows
        ]
    )
