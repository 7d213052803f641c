"""Metrics whose score is a function of their columns' sums: many scores are one array."""

import functools
import math
from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from longform.documents import refuse_plain_text
from longform.statistics.arithmetic import ratio
from longform.statistics.protocols import Better, TextScorer
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, sums_of

METHODS_OF_UNITS = (
    "sufficient_statistics",
    "part_values",
    "coherence",
    "describe",
    "groups",
)
UNITS = (
    "units that its reader makes from documents; "
    "for texts as they are call longform.criticize.criticize"
)


class SumScored(ABC):
    """A metric whose score is a function of its columns' sums.

    A subclass sets the attributes below by class keywords, as in
    ``class Perplexity(SumScored, better="lower", ...)``.

    Attributes:
        better: which scores speak for a text: high, low, or those near real texts'.
        share: whether the score is a share of yes among answers of yes or no.
        divided: the two columns whose sums' ratio is the score, unless ``of_sums`` says otherwise.
        parts: what ``part_values`` has numbers of, such as tokens, if it has any.
        attributed: columns that a text's parts sum to; by default the first of ``divided``.
        blame: +1 where a large part is a bad sign, -1 where a small one is.
        needs: what a text must have, else it is excluded (of a ``TextCritic``).
        recorded_as: the class's former name, which records show.
    """

    better: ClassVar[Better]
    share: ClassVar[bool] = False
    divided: ClassVar[tuple[str, str]]

    def __init_subclass__(cls, **attributes: Any) -> None:
        super().__init_subclass__()
        # 1. What the class line says becomes the class's attributes.
        if "divided" in attributes:
            attributes = {"attributed": attributes["divided"][:1], **attributes}
        for name, value in attributes.items():
            setattr(cls, name, value)
        # 2. Methods that take units refuse plain text.
        for name in METHODS_OF_UNITS:
            if name in vars(cls):
                setattr(cls, name, _refusing_texts(vars(cls)[name]))

    def fit(self, real: Sequence[Any]) -> Self:
        """The critic fitted to real units; this one stays as it is."""
        refuse_plain_text(real, f"{type(self).__name__}.fit", UNITS)
        return self.fit_units(real)

    def fit_units(self, real: Sequence[Any]) -> Self:
        """The critic itself: nothing is fitted, unless a subclass says otherwise."""
        return self

    def judged(self, units: Sequence[Any]) -> Sequence[Any]:
        """What is scored of the units: they themselves, unless a subclass says otherwise."""
        return units

    def of_sums(self, sums: Sums) -> Any:
        """The score of the sums of all units, or of each resample; nan where nothing was scored."""
        numerator, denominator = self.divided
        return ratio(sums.total(numerator), sums.total(denominator))

    def is_share(self) -> bool:
        """Whether the score is a share of yes among answers of yes or no: what the class says."""
        return self.share

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The score of all units; nan where nothing was scored."""
        return float(self.of_sums(sums_of(statistics)))


def _refusing_texts(method: Callable[..., Any]) -> Callable[..., Any]:
    """A critic's method that says what it takes where it is given texts instead of units."""

    @functools.wraps(method)
    def checked(self: Any, units: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        refuse_plain_text(units, f"{type(self).__name__}.{method.__name__}", UNITS)
        return method(self, units, *arguments, **options)

    return checked


def unit_scores(critic: Any, units: Sequence[Any]) -> np.ndarray:
    """A fitted critic's score of each unit by itself.

    Args:
        critic: any :class:`Critic`, or a :class:`TextScorer`.
        units: what its reader makes of texts.

    Returns:
        float64 (units,), nan where the critic excludes the unit or has no score of it.
    """
    if isinstance(critic, TextScorer):
        return np.asarray(critic.coherence(units), dtype=np.float64)
    statistics = critic.sufficient_statistics(units)
    excluded = statistics.excluded()
    if isinstance(critic, SumScored):
        scores = critic.of_sums(Sums(statistics.columns, statistics.values))
        return np.where(excluded, math.nan, scores)
    scores = np.full(len(units), math.nan)
    for row in np.flatnonzero(~excluded):
        scores[row] = critic.score_of(statistics.take(np.array([row])))
    return scores
