"""What a critic hands on: a row of sums and counts a unit, which add up and are divided last.

Rows concatenate, so texts may be read in parts, and resample, so any score has an interval. The
score is a function of the columns alone: a ratio of sums, as in a corpus-level perplexity, is never
a mean of ratios.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.errors import InputError


@dataclass(frozen=True)
class SufficientStatistics:
    """Sums and counts, one row per unit.

    A column named ``excluded`` is 1 where a unit could not be scored; its other columns are then 0.

    Attributes:
        unit_ids: name of each unit (a document, a page, an item).
        columns: name of each column.
        values: the numbers, float64 (units, columns).
    """

    unit_ids: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray

    def __post_init__(self) -> None:
        shape = (len(self.unit_ids), len(self.columns))
        if self.values.shape != shape:
            raise InputError(
                f"statistics values have shape {self.values.shape}, units x columns is {shape}"
            )

    @classmethod
    def of(
        cls, units: Sequence[Any], columns: Sequence[str], rows: Iterable[Sequence[float]]
    ) -> "SufficientStatistics":
        """Statistics from a row of numbers for each unit.

        Args:
            units: what was read; each has a ``unit_id``.
            columns: name of each number of a row.
            rows: one row a unit, in the order of ``units``.

        Raises InputError: another number of rows, or a row of another number of columns.
        """
        table = list(rows)
        lengths = {len(row) for row in table}
        if len(table) != len(units) or not lengths <= {len(columns)}:
            raise InputError(
                f"statistics: {len(table)} rows of {sorted(lengths)} numbers; needed is a row for "
                f"each of {len(units)} units, with {list(columns)}"
            )
        values = np.array(table, dtype=np.float64).reshape(len(units), len(columns))
        return cls(tuple(unit.unit_id for unit in units), tuple(columns), values)

    @classmethod
    def of_columns(cls, units: Sequence[Any], **columns: Any) -> "SufficientStatistics":
        """Statistics from named columns, each with a number for every unit."""
        return cls.of(units, tuple(columns), np.stack([*columns.values()], axis=1))

    def column(self, name: str) -> np.ndarray:
        """One column over all units, float64 (units,)."""
        return self.values[:, self.columns.index(name)]

    def total(self, name: str) -> float:
        """Sum of one column over all units; 0 where there is no such column."""
        if name not in self.columns:
            return 0.0
        return float(self.column(name).sum())

    def excluded(self) -> np.ndarray:
        """Whether each unit could not be scored, bool (units,); none where no column says so."""
        if "excluded" not in self.columns:
            return np.zeros(len(self.unit_ids), dtype=bool)
        return self.column("excluded") > 0

    def take(self, rows: np.ndarray) -> "SufficientStatistics":
        """The units of some rows, in the order of ``rows``, repeats allowed."""
        unit_ids = tuple(self.unit_ids[row] for row in rows)
        return SufficientStatistics(unit_ids, self.columns, self.values[rows])

    def __add__(self, other: "SufficientStatistics") -> "SufficientStatistics":
        """The units of both, one after another."""
        if self.columns != other.columns:
            raise InputError(
                f"sufficient statistics of different critics: {self.columns} and {other.columns}"
            )
        values = np.concatenate([self.values, other.values])
        return SufficientStatistics(self.unit_ids + other.unit_ids, self.columns, values)


def clustered(statistics: SufficientStatistics, groups: Sequence[str]) -> SufficientStatistics:
    """One row for each group of units that are not independent, such as the generations of a page.

    Args:
        statistics: rows of single units.
        groups: name of each unit's group.

    Returns:
        The sums of the units' rows by group, groups in order of appearance.

    Raises InputError: another number of groups than of units.
    """
    if len(groups) != len(statistics.unit_ids):
        raise InputError(
            f"{len(statistics.unit_ids)} units and {len(groups)} groups; name the group of each"
        )
    names = list(dict.fromkeys(groups))
    row_of_group = {name: row for row, name in enumerate(names)}
    group_rows = [row_of_group[group] for group in groups]
    values = np.zeros((len(names), len(statistics.columns)))
    np.add.at(values, group_rows, statistics.values)
    return SufficientStatistics(tuple(names), statistics.columns, values)


@dataclass(frozen=True)
class Sums:
    """The sums of a critic's columns over its units, or over those of each of many resamples.

    Attributes:
        columns: name of each column.
        values: the sums, float64 (columns,) or (resamples, columns).
    """

    columns: tuple[str, ...]
    values: np.ndarray

    def total(self, name: str) -> Any:
        """The sum of one column, a number or one per resample; 0 where there is no such column."""
        if name not in self.columns:
            return np.zeros(self.values.shape[:-1])
        return self.values[..., self.columns.index(name)]


def sums_of(statistics: SufficientStatistics) -> Sums:
    """The sums of the columns over all units, each made contiguous: numpy then rounds least."""
    by_column = np.ascontiguousarray(statistics.values.T)
    return Sums(statistics.columns, by_column.sum(axis=1))
