"""What a critic is, and what it may offer beyond: small protocols, asked for by ``isinstance``.

Every critic fits, gives sufficient statistics and turns them into one number (:class:`Critic`);
that is all that an interval and a test need. The other protocols are capabilities, each with
a caller that uses it where it is there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from longform.statistics.sufficient_statistics import SufficientStatistics

Better = Literal["higher", "lower", "reference_matched"]  # which scores speak for a text
Unit_contra = TypeVar("Unit_contra", contravariant=True)


class Metric(Protocol):
    """One number from sufficient statistics, nan where nothing was scored."""

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The number, over all units of the statistics together."""
        ...


@runtime_checkable
class Critic(Protocol[Unit_contra]):
    """Fitted on real units, then gives sufficient statistics of any units, and one number of these.

    ``fit`` returns a new, fitted critic, or the critic itself where there is nothing to fit; the
    old one is unchanged.
    """

    better: ClassVar[Better]

    def fit(self, real: Sequence[Unit_contra]) -> "Critic[Unit_contra]":
        """The critic fitted on real units."""
        ...

    def sufficient_statistics(self, units: Sequence[Unit_contra]) -> SufficientStatistics:
        """What the score needs of each unit, a row for each in their order."""
        ...

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The score of all units of the statistics together, nan where nothing was scored."""
        ...


@runtime_checkable
class Weighing(Protocol):
    """A critic that scores many resamples at once in another way than by sums.

    See :func:`longform.statistics.resampling.weighted_scores`.
    """

    def weighted_scores(
        self, statistics: SufficientStatistics, counts: np.ndarray
    ) -> np.ndarray: ...


@runtime_checkable
class Attributing(Protocol[Unit_contra]):
    """A critic that says which parts of a unit its score comes from.

    Attributes:
        parts: what one part is: transitions, mentions, topics, sentences, cells, tokens, claims ...
        attributed: the columns of the statistics that a unit's parts sum to.
        blame: +1 where a large part is a bad sign, -1 where a small one is.
    """

    parts: ClassVar[str]
    attributed: tuple[str, ...]
    blame: ClassVar[int]

    def part_values(self, units: Sequence[Unit_contra]) -> list[np.ndarray]:
        """A number for each part of each unit.

        Args:
            units: as of ``sufficient_statistics``, not only those of the fit.

        Returns:
            An array for each unit, in their order: its parts in reading order, float64 of any shape
            (tokens, or transitions by sections). nan is a part without a number, and counts 0.
        """
        ...


@runtime_checkable
class Describing(Protocol[Unit_contra]):
    """A critic with more to say than its number: what a table or figure needs, ready for JSON."""

    def describe(self, units: Sequence[Unit_contra]) -> Mapping[str, Any]: ...


@runtime_checkable
class Grouping(Protocol[Unit_contra]):
    """A critic whose units are not independent: it names each unit's group, which is resampled."""

    def groups(self, units: Sequence[Unit_contra]) -> Sequence[str]: ...


@runtime_checkable
class ParametricBootstrap(Protocol):
    """A critic with an uncertain part of its own, drawn anew for every resample."""

    def redrawn(self, rng: np.random.Generator) -> Metric: ...


@runtime_checkable
class Centring(Protocol):
    """A critic whose score repeated documents bias; its bootstrap scores are moved to its score.

    Attributes:
        upper_bound: the greatest score there is, where they are cut; infinite where there is none.
    """

    upper_bound: ClassVar[float]


@runtime_checkable
class Reseeded(Protocol):
    """A critic whose score is a mean over seeds of its fit.

    Its interval covers what another seed would have given. ``of_seeds`` gives each seed's score.
    """

    upper_bound: ClassVar[float]

    def of_seeds(self, statistics: SufficientStatistics) -> list[float]: ...


@runtime_checkable
class ShareScored(Protocol):
    """A metric that can say whether its score is a share of yes among answers of yes or no."""

    def is_share(self) -> bool: ...


def is_share(metric: Any) -> bool:
    """Whether a metric's score is a share of yes among answers of yes or no."""
    return isinstance(metric, ShareScored) and metric.is_share()


@runtime_checkable
class TextScorer(Protocol[Unit_contra]):
    """A critic that scores many texts at once, each by itself.

    ``coherence`` gives float64 (units,), nan where a text has no score.
    """

    def coherence(self, units: Sequence[Unit_contra]) -> np.ndarray: ...


@runtime_checkable
class OrderScorer(Protocol):
    """A critic that reads a text once and scores any orders of its sentences.

    ``order_scores`` takes ``orders`` (orders, sentences) and gives float64 (orders,), nan where it
    cannot score one.
    """

    better: ClassVar[Better]

    def order_scores(self, unit: Any, orders: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class PairLearner(Protocol):
    """An order scorer that learns from pairs of a better and a worse text."""

    def order_features(self, unit: Any, orders: np.ndarray) -> np.ndarray:
        """What it sees of each order, float64 (orders, features).

        No rows where the text cannot be scored.
        """
        ...

    def fit_pairs(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Any:
        """The scorer fitted to prefer the better of two.

        Args:
            pairs: of each document the features of its better and of its worse texts, float64
                (texts, features) each; one better row may face several worse ones.
        """
        ...
