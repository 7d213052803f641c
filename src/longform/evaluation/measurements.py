"""From sufficient statistics to records: numbers with intervals, and paired tests.

A number may be a mean over several heads of an encoder; its interval then covers heads as well.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from longform.errors import InputError
from longform.results import Record, bounds_of
from longform.statistics.comparisons import compare, resampled_difference
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval, share_difference_interval
from longform.statistics.protocols import Better, is_share
from longform.statistics.random_streams import generator
from longform.statistics.resampling import weighted_scores
from longform.statistics.signatures import FITTED, signature
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.trainings import two_level_interval, two_level_p

PERMUTATIONS = 1000  # of one paired test: a table has dozens of them
Interval = tuple[float, float]


@dataclass(frozen=True)
class Measurement:
    """Sufficient statistics of one metric over the same documents, for each head of an encoder.

    A head is one training. The measurement's score is the mean of the heads' scores, and it is
    resampled and tested as any other critic.

    Attributes:
        metrics: head -> its metric; the head's name is empty where there is only one.
        all_statistics: head -> its statistics.
        fields: fields of the records of every head and of their mean.
        head_fields: head -> fields of that head's record alone (its test, its details).
    """

    metrics: Mapping[str, Any] = field(metadata=FITTED)
    all_statistics: Mapping[str, SufficientStatistics] = field(metadata=FITTED)
    fields: Mapping[str, Any] = field(default_factory=dict, metadata=FITTED)
    head_fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, metadata=FITTED)

    @property
    def first(self) -> str:
        """The first head."""
        return next(iter(self.all_statistics))

    @property
    def better(self) -> Better:
        """Which scores are better, "higher", "lower", ..."""
        return self.metrics[self.first].better

    @property
    def statistics(self) -> SufficientStatistics:
        """The heads' statistics side by side: ``<head>:<column>``, the first head's ``excluded``.

        Raises InputError: the heads scored different documents.
        """
        parts = [self.all_statistics[head] for head in self.metrics]
        if len({part.unit_ids for part in parts}) > 1:
            raise InputError(
                f"heads {list(self.metrics)} scored different documents; give them the same ones"
            )
        columns = []
        for head, part in self.all_statistics.items():
            for name in part.columns:
                columns.append(f"{head}:{name}")
        columns.append("excluded")
        excluded = parts[0].column("excluded")[:, None]
        values = np.concatenate([*(part.values for part in parts), excluded], axis=1)
        return SufficientStatistics(parts[0].unit_ids, tuple(columns), values)

    def scores(self, statistics: SufficientStatistics) -> list[float]:
        """Each head's score of sufficient statistics with the columns of :attr:`statistics`."""
        scores = []
        for head, part in self._by_head(statistics):
            scores.append(self.metrics[head].score_of(part))
        return scores

    def is_share(self) -> bool:
        """Whether the score of every head is a share of yes among answers of yes or no."""
        return all(is_share(metric) for metric in self.metrics.values())

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The mean of the heads' scores."""
        return sum(self.scores(statistics)) / len(self.metrics)

    def weighted_scores(self, statistics: SufficientStatistics, counts: np.ndarray) -> np.ndarray:
        """The mean of the heads' scores of each resample, (resamples,).

        Args:
            statistics: statistics with the columns of :attr:`statistics`.
            counts: how often each document is in each resample, (resamples, documents).
        """
        scores = []
        for head, part in self._by_head(statistics):
            scores.append(weighted_scores(self.metrics[head], part, counts))
        return np.mean(scores, axis=0)

    def _by_head(
        self, statistics: SufficientStatistics
    ) -> Iterator[tuple[str, SufficientStatistics]]:
        """Split statistics with the columns of :attr:`statistics` into those of each head."""
        first = 0
        for head, head_statistics in self.all_statistics.items():
            columns = head_statistics.columns
            values = statistics.values[:, first : first + len(columns)]
            first += len(columns)
            yield head, SufficientStatistics(statistics.unit_ids, columns, values)

    def records(self, *names: object) -> list[Record]:
        """The record of the mean over heads, then, if there are several, of each (``variant``).

        Args:
            names: name the random streams of resamples.
        """
        shared = {"better": self.better, **self.fields}
        shared_details = self.fields.get("details", {})
        head_records = []
        for head, metric in self.metrics.items():
            own_fields = self.head_fields.get(head, {})
            fields = {"signature": signature(metric), **shared, **own_fields}
            fields["details"] = {**shared_details, **own_fields.get("details", {})}
            statistics = self.all_statistics[head]
            if len(self.metrics) == 1:
                return [measured(metric, statistics, names, **fields)]
            fields["variant"] = head
            head_records.append(measured(metric, statistics, (*names, head), **fields))
        over_documents = measured(self, self.statistics, names, **shared)
        return [mean_of_trainings(over_documents, head_records), *head_records]


def mean_of_trainings(documents: Record, each: Sequence[Record]) -> Record:
    """The record of a mean over trainings of one metric.

    Args:
        documents: the mean with its interval over documents alone.
        each: the record of each training.

    Returns:
        ``documents`` with an interval and a test over trainings and documents
        (:mod:`longform.statistics.trainings`). Its ``reference``, ``paired`` and ``signature`` are
        those of all trainings, and blank where the trainings disagree. Its ``details`` are those on
        which all trainings agree, and the number of trainings that have a value, the standard
        deviation of these values (``spread``), and the interval over documents alone. Where some
        training has no value there is neither interval nor test.
    """
    # 1. The interval over trainings and documents, and the details that all trainings share.
    values = [math.nan if record.value is None else record.value for record in each]
    interval = _interval(documents)
    low, high = _over_trainings(documents, values)
    details = {**common_details(each), **_training_details(documents, values)}
    # 2. Fields in which all trainings agree; where they disagree, that of an empty record.
    fields: dict[str, Any] = {"low": low, "high": high, "details": details}
    blank = Record("", "")
    for name in ("reference", "paired", "signature"):
        distinct = {getattr(record, name) for record in each}
        fields[name] = distinct.pop() if len(distinct) == 1 else getattr(blank, name)
    # 3. The test against the reference, where they agree on one. A record without a difference
    # computes it from its value and its reference.
    fields["difference"] = None
    fields["p_value"] = None
    if fields["reference"] is not None:
        fields["p_value"] = two_level_p(interval, values, fields["reference"])
    return replace(documents, **fields)


def _over_trainings(documents: Record, values: Sequence[float]) -> Interval:
    """The interval of a mean over trainings and documents; nan where a training has no value."""
    if np.isnan(values).any():
        return math.nan, math.nan
    return two_level_interval(_interval(documents), values, bounds_of(documents.metric))


def _training_details(documents: Record, values: Sequence[float]) -> dict[str, Any]:
    """Details about the trainings, for the record of their mean.

    Args:
        documents: the mean with its interval over documents alone.
        values: value of each training; nan where one has none.

    Returns:
        The number of ``trainings`` with a value, the standard deviation of these (``spread``), and
        the interval over documents.
    """
    present = [value for value in values if not math.isnan(value)]
    return {
        "trainings": len(present),
        "spread": float(np.std(present, ddof=1)) if len(present) > 1 else math.nan,
        "documents_low": documents.low,
        "documents_high": documents.high,
    }


def _interval(record: Record) -> Interval:
    """The ends of a record's interval; nan where it has none."""
    low = math.nan if record.low is None else record.low
    high = math.nan if record.high is None else record.high
    return low, high


def common_details(records: Sequence[Record]) -> dict[str, Any]:
    """The details that all records have with the same value."""
    first, *others = records
    details = {}
    for key, value in first.details.items():
        if all(key in record.details and record.details[key] == value for record in others):
            details[key] = value
    return details


def measured(
    scoring: Any, statistics: SufficientStatistics, names: Sequence[object], **fields: Any
) -> Record:
    """A record of a score with its 95 % bootstrap interval.

    Args:
        scoring: a metric, or a measurement.
        statistics: the statistics that it scores.
        names: name the random stream of resamples.
        fields: fields of the record; they override those of the score.
    """
    score = estimate(scoring, statistics, generator(*names, "bootstrap"))
    return Record(**{"critic": "", "better": scoring.better, **asdict(score), **fields})


def paired_difference(high: Measurement, low: Measurement, *names: object, **fields: Any) -> Record:
    """The record of a difference of two scores of the same documents.

    Its interval is that of a bootstrap, its test one of permutations, in which documents are
    exchanged whole. Where both are means over heads, interval and test are over heads and
    documents.

    Args:
        high, low: the difference is ``high`` minus ``low``.
        names: name the random streams of resamples.
        fields: further fields of the record.

    Raises:
        InputError: the two are about different documents.
    """
    high_statistics = high.statistics
    low_statistics = low.statistics
    same_documents = high_statistics.unit_ids == low_statistics.unit_ids
    if not same_documents or high_statistics.columns != low_statistics.columns:
        raise InputError(
            f"{fields}: a difference of scores of different documents or columns; "
            "give both the same"
        )
    # 1. The test and the interval over documents.
    rng = generator(*names, "permutation")
    test = compare(high, high_statistics, low_statistics, rng, PERMUTATIONS)
    rng = generator(*names, "bootstrap")
    draws = resampled_difference((high, high_statistics), (low, low_statistics), rng)
    interval = percentile_interval(draws)
    excluded = int(high_statistics.total("excluded"))
    units = len(high_statistics.unit_ids) - excluded
    if high.is_share() and low.is_share():
        high_score = high.score_of(high_statistics)
        low_score = low.score_of(low_statistics)
        interval = share_difference_interval(interval, high_score, low_score, units)
    record_fields = {"better": high.better, **fields}
    record_fields |= {
        "value": test.difference,
        "low": interval[0],
        "high": interval[1],
        "paired": test.paired,
        "units": units,
        "excluded": excluded,
        "p_value": test.p_value,
    }
    record = Record(**record_fields)
    if len(high.metrics) == 1:
        return record
    # 2. Several heads.
    differences = []
    for high_score, low_score in zip(
        high.scores(high_statistics), low.scores(low_statistics), strict=True
    ):
        differences.append(high_score - low_score)
    return difference_of_trainings(record, differences)


def difference_of_trainings(documents: Record, differences: Sequence[float]) -> Record:
    """The record of the mean over trainings of a difference, tested against zero.

    Interval and test are over trainings and documents.

    Args:
        documents: the mean with its interval over documents alone.
        differences: each training's own, of two scores under the same training; nan where one of
            the two has no value.
    """
    low, high = _over_trainings(documents, differences)
    details = {**documents.details, **_training_details(documents, differences)}
    p_value = two_level_p(_interval(documents), differences, 0.0)
    return replace(documents, low=low, high=high, p_value=p_value, details=details)


def under(units: Sequence[Any], head: str) -> list[Any]:
    """The units as one head of their encoder projects them; as they are for the empty name."""
    return [unit.under(head) if head else unit for unit in units]
