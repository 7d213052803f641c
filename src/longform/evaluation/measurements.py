"""From sufficient statistics to records: the number with its interval, over one or several heads of an encoder, and paired tests."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.results import Record
from longform.statistics.comparisons import compare, resampled_difference
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval, share_difference_interval
from longform.statistics.protocols import Better, is_share
from longform.statistics.random_streams import generator
from longform.statistics.resampling import weighted_scores
from longform.statistics.signatures import FITTED, signature
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.trainings import two_level_interval, two_level_p

BOUNDS = {
    "pairwise_accuracy": (0.0, 1.0),
    "pairwise_accuracy_difference": (-1.0, 1.0),
    "area": (0.0, 1.0),
    "length_correlation": (-1.0, 1.0),
}
PERMUTATIONS = 1000  # of one paired test: a table has dozens of them


@dataclass(frozen=True)
class Measurement:
    """Sufficient statistics of one metric over the same documents, one per head of the encoder that read them, and fields of records.

    A head is one training. What was found of one head (its test, its details) is in ``own`` and stands on that head's
    record alone; ``fields`` are true of every head and of their mean.
    """

    metrics: Mapping[str, Any] = field(
        metadata=FITTED
    )  # by head, as sufficient statistics; the empty name where there is one only
    all_statistics: Mapping[str, SufficientStatistics] = field(metadata=FITTED)
    fields: Mapping[str, Any] = field(default_factory=dict, metadata=FITTED)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, metadata=FITTED)

    @property
    def first(self) -> str:
        return next(iter(self.all_statistics))

    @property
    def better(self) -> Better:
        return self.metrics[self.first].better

    @property
    def statistics(self) -> SufficientStatistics:
        """Columns ``<head>:<column>`` of every head and the first head's ``excluded``: what is resampled."""
        parts = [self.all_statistics[head] for head in self.metrics]
        if len({part.unit_ids for part in parts}) > 1:
            raise BadInput(
                f"heads {list(self.metrics)} were asked about different documents; give them the same ones"
            )
        names = tuple(
            f"{head}:{name}" for head, part in self.all_statistics.items() for name in part.columns
        )
        values = [*(part.values for part in parts), parts[0].column("excluded")[:, None]]
        return SufficientStatistics(
            parts[0].unit_ids, (*names, "excluded"), np.concatenate(values, axis=1)
        )

    def scores(self, statistics: SufficientStatistics) -> list[float]:
        """Each head's score of sufficient statistics with the columns of :attr:`statistics`."""
        return [self.metrics[head].score_of(part) for head, part in self._parts(statistics)]

    def is_share(self) -> bool:
        return all(is_share(metric) for metric in self.metrics.values())

    def score_of(self, statistics: SufficientStatistics) -> float:
        return sum(self.scores(statistics)) / len(self.metrics)

    def weighted_scores(self, statistics: SufficientStatistics, counts: np.ndarray) -> np.ndarray:
        each = [
            weighted_scores(self.metrics[head], part, counts)
            for head, part in self._parts(statistics)
        ]
        return np.mean(each, axis=0)

    def _parts(self, statistics: SufficientStatistics) -> list[tuple[str, SufficientStatistics]]:
        ends = np.cumsum([len(own.columns) for own in self.all_statistics.values()])
        parts = zip(
            self.all_statistics.items(), np.split(statistics.values, ends, axis=1)[:-1], strict=True
        )
        return [
            (head, SufficientStatistics(statistics.unit_ids, own.columns, values))
            for (head, own), values in parts
        ]

    def records(self, *names: object) -> list[Record]:
        """The mean over heads, then, where there are several, each head as a ``variant``; ``names`` name the resamples."""
        shared = {"better": self.better, **self.fields}
        each = []
        for head, metric in self.metrics.items():
            fields = {"signature": signature(metric), **shared, **self.own.get(head, {})}
            fields["details"] = {
                **self.fields.get("details", {}),
                **self.own.get(head, {}).get("details", {}),
            }
            if len(self.metrics) == 1:
                return [measured(metric, self.all_statistics[head], names, **fields)]
            fields["variant"] = head
            each.append(measured(metric, self.all_statistics[head], (*names, head), **fields))
        documents = measured(self, self.statistics, names, **shared)
        return [mean_of_trainings(documents, each), *each]


def mean_of_trainings(documents: Record, each: Sequence[Record]) -> Record:
    """The record of a mean over trainings, from the mean with its interval over documents alone and each training's record.

    Its interval and its test are over trainings and documents (:mod:`longform.statistics.trainings`). Of the other fields it has
    those in which all trainings agree; ``details`` add the number of trainings, the standard deviation of their numbers
    (``spread``), and the interval over documents alone.
    """
    values = [record.value for record in each if record.value is not None]
    ends = _interval(documents)
    details = common_details(each)
    details["trainings"] = len(each)
    details["spread"] = float(np.std(values, ddof=1))
    details["documents_low"], details["documents_high"] = documents.low, documents.high
    low, high = two_level_interval(ends, values, bounds_of(documents.metric))
    fields: dict[str, Any] = {"low": low, "high": high, "details": details}
    for name in ("reference", "paired", "signature"):
        different = {getattr(record, name) for record in each}
        fields[name] = different.pop() if len(different) == 1 else getattr(Record("", ""), name)
    fields |= {"difference": None, "p_value": None}
    if fields["reference"] is not None:
        fields["p_value"] = two_level_p(ends, values, fields["reference"])
    return replace(documents, **fields)


def _interval(record: Record) -> tuple[float, float]:
    low, high = (math.nan if end is None else end for end in (record.low, record.high))
    return low, high


def common_details(records: Sequence[Record]) -> dict[str, Any]:
    """The details that all records have with the same value: what one training's record says alone is left out."""
    first, *others = [record.details for record in records]
    return {
        key: value
        for key, value in first.items()
        if all(key in one and one[key] == value for one in others)
    }


def bounds_of(metric: str) -> tuple[float, float]:
    """The smallest and the largest number of a metric, between which its interval lies."""
    return BOUNDS.get(metric, (-math.inf, math.inf))


def measured(
    scoring: Any, statistics: SufficientStatistics, names: Sequence[object], **fields: Any
) -> Record:
    """A record of what ``scoring`` makes of sufficient statistics, with its 95 % bootstrap interval; ``names`` name the resamples."""
    found = estimate(scoring, statistics, generator(*names, "bootstrap"))
    return Record(**{"critic": "", "better": scoring.better, **asdict(found), **fields})


def paired_difference(high: Measurement, low: Measurement, *names: object, **fields: Any) -> Record:
    """The first minus the second on the same documents: bootstrap interval and permutation test, documents exchanged whole.

    Where both are means over heads, interval and test are over heads and documents.

    Raises BadInput: the two are about different documents.
    """
    first, second = high.statistics, low.statistics
    if first.unit_ids != second.unit_ids or first.columns != second.columns:
        raise BadInput(
            f"{fields}: a difference of scores of different documents or columns; give both the same"
        )
    tested = compare(high, first, second, generator(*names, "permutation"), PERMUTATIONS)
    draws = resampled_difference((high, first), (low, second), generator(*names, "bootstrap"))
    excluded = int(first.total("excluded"))
    units = len(first.unit_ids) - excluded
    ends = percentile_interval(draws)
    if high.is_share() and low.is_share():
        ends = share_difference_interval(ends, high.score_of(first), low.score_of(second), units)
    low_end, high_end = ends
    found = {"value": tested.difference, "low": low_end, "high": high_end, "paired": tested.paired}
    counted = {"units": units, "excluded": excluded}
    record = Record(
        **{"better": high.better, **fields, **found, **counted, "p_value": tested.p_value}
    )
    if len(high.metrics) == 1:
        return record
    pairs = zip(high.scores(first), low.scores(second), strict=True)
    return difference_of_trainings(record, [one - other for one, other in pairs])


def difference_of_trainings(documents: Record, differences: Sequence[float]) -> Record:
    """The mean over trainings of a difference, tested against none over trainings and documents.

    Args:
        documents: the mean with its interval over documents alone.
        differences: each training's own, of two scores under the same training.
    """
    ends = _interval(documents)
    low, high = two_level_interval(ends, differences, bounds_of(documents.metric))
    details = {
        **documents.details,
        "trainings": len(differences),
        "spread": float(np.std(differences, ddof=1)),
    }
    details |= {"documents_low": documents.low, "documents_high": documents.high}
    p_value = two_level_p(ends, differences, 0.0)
    return replace(documents, low=low, high=high, p_value=p_value, details=details)


def under(units: Sequence[Any], head: str) -> list[Any]:
    """The units as a head of their encoder sees them; the empty name is the unit itself."""
    return [unit.under(head) if head else unit for unit in units]
