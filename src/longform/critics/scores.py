"""What a critic answers with: a score, a comparison of two sets of texts, the parts of one text."""

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from longform.errors import ConfigError

if TYPE_CHECKING:
    import pandas


def frame(rows: list[dict[str, Any]]) -> "pandas.DataFrame":
    """A data frame of rows. Raises ConfigError: pandas is not installed."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ConfigError("to_frame needs pandas; pip install pandas") from error
    return pandas.DataFrame(rows)


@dataclass(frozen=True)
class Score:
    """A critic's number for a set of texts.

    ``low`` and ``high`` bound its 95 % bootstrap interval over texts; with fewer than twenty texts
    such an interval is too narrow, with one text both are nan.
    """

    value: float
    low: float
    high: float
    units: int  # texts that were scored
    excluded: int  # texts that could not be scored
    better: str  # ``higher``, ``lower`` or ``reference_matched``: as near to real text as can be
    signature: str  # everything that would change the number

    def to_frame(self) -> "pandas.DataFrame":
        """One row. Raises ConfigError: pandas is not installed."""
        return frame([values_of(self)])


@dataclass(frozen=True)
class ScoreDifference:
    """Two sets of texts under one critic.

    ``difference`` is first minus second, ``low`` and ``high`` bound its 95 % bootstrap interval,
    and ``p_value`` is that of a permutation test of equal scores.
    """

    difference: float
    low: float
    high: float
    p_value: float
    paired: bool  # whether texts were compared in pairs
    first: Score
    second: Score
    better: str
    signature: str

    def to_frame(self) -> "pandas.DataFrame":
        """One row, the two scores as ``first`` and ``second``. Raises ConfigError: no pandas."""
        row = values_of(self)
        row["first"] = self.first.value
        row["second"] = self.second.value
        return frame([row])


@dataclass(frozen=True)
class Part:
    """One part of a text: where it stands, and what it adds to the score."""

    text: str  # the words of the part, or its name where it is no place in the text
    value: float  # nan where the critic has no number for it
    start: int | None = None  # half-open span of characters in the text; None where it is no place
    end: int | None = None


@dataclass(frozen=True)
class Attribution:
    """Which parts of one text its score comes from, in reading order."""

    unit_id: str
    value: float  # of the text alone; nan where it could not be scored
    parts: tuple[Part, ...]
    bad: str  # which parts speak against the text: ``large`` or ``small`` ones
    signature: str

    def worst(self, count: int = 3) -> tuple[Part, ...]:
        """The ``count`` parts that speak most against the text, worst first; none without value."""
        sign = -1.0 if self.bad == "large" else 1.0
        with_value = [part for part in self.parts if not math.isnan(part.value)]
        worst_first = sorted(with_value, key=lambda part: sign * part.value)
        return tuple(worst_first[:count])

    def to_frame(self) -> "pandas.DataFrame":
        """A row for each part. Raises ConfigError: pandas is not installed."""
        rows = []
        for part in self.parts:
            rows.append(values_of(part))
        return frame(rows)


def values_of(answer: Any) -> dict[str, Any]:
    """The fields of a dataclass by name; a dataclass in a field stays one, unlike in ``asdict``."""
    return {field.name: getattr(answer, field.name) for field in fields(answer)}
