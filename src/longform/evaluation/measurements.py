"""From a tally to records: the number with its interval, over one or several heads of an encoder, and paired tests."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from longform.core import critic
from longform.core.critic import FITTED, Better, Tally
from longform.core.documents import BadInput
from longform.core.resampling import generator, percentile_interval
from longform.core.results import Record

TESTED = ("p_value", "reference", "difference", "paired")  # fields of a mean over heads alone
PERMUTATIONS = 1000  # of one paired test: a table has dozens of them


@dataclass(frozen=True)
class Measurement:
    """Tallies of one metric over the same documents, one per head of the encoder that read them, and the record's fields."""

    metrics: Mapping[str, Any] = field(metadata=FITTED)  # by head, as tallies; the empty name where there is one only
    tallies: Mapping[str, Tally] = field(metadata=FITTED)
    fields: Mapping[str, Any] = field(default_factory=dict, metadata=FITTED)

    @property
    def first(self) -> str:
        return next(iter(self.tallies))

    @property
    def better(self) -> Better:
        return self.metrics[self.first].better

    @property
    def tally(self) -> Tally:
        """Columns ``<head>:<column>`` of every head and the first head's ``excluded``: what is resampled."""
        parts = [self.tallies[head] for head in self.metrics]
        if len({part.unit_ids for part in parts}) > 1:
            raise BadInput(f"heads {list(self.metrics)} were asked about different documents; give them the same ones")
        names = tuple(f"{head}:{name}" for head, part in self.tallies.items() for name in part.columns)
        values = [*(part.values for part in parts), parts[0].column("excluded")[:, None]]
        return Tally(parts[0].unit_ids, (*names, "excluded"), np.concatenate(values, axis=1))

    def scores(self, tally: Tally) -> list[float]:
        """Each head's score of a tally with the columns of :attr:`tally`."""
        return [self.metrics[head].score(part) for head, part in self._parts(tally)]

    def score(self, tally: Tally) -> float:
        return sum(self.scores(tally)) / len(self.metrics)

    def weighted_scores(self, tally: Tally, counts: np.ndarray) -> np.ndarray:
        each = [critic.weighted_scores(self.metrics[head], part, counts) for head, part in self._parts(tally)]
        return np.mean(each, axis=0)

    def _parts(self, tally: Tally) -> list[tuple[str, Tally]]:
        ends = np.cumsum([len(own.columns) for own in self.tallies.values()])
        parts = zip(self.tallies.items(), np.split(tally.values, ends, axis=1)[:-1], strict=True)
        return [(head, Tally(tally.unit_ids, own.columns, values)) for (head, own), values in parts]

    def records(self, *names: object) -> list[Record]:
        """The mean over heads, then, where there are several, each head as a ``variant``; ``names`` name the resamples."""
        named = {"signature": critic.signature(self.metrics[self.first]), "better": self.better, **self.fields}
        if len(self.metrics) == 1:
            return [measured(self.metrics[self.first], self.tallies[self.first], names, **named)]
        spread = float(np.std(self.scores(self.tally), ddof=1))
        details = {"details": {**self.fields.get("details", {}), "spread": spread}}
        mean = measured(self, self.tally, names, **(named | details))
        own = {key: value for key, value in named.items() if key not in TESTED} | {"details": {}}
        pairs = ((head, self.metrics[head], tally) for head, tally in self.tallies.items())
        return [mean, *(measured(metric, tally, (*names, h), **(own | {"variant": h})) for h, metric, tally in pairs)]


def measured(scoring: Any, tally: Tally, names: Sequence[object], **fields: Any) -> Record:
    """A record of what ``scoring`` makes of a tally, with its 95 % bootstrap interval; ``names`` name the resamples."""
    found = critic.estimate(scoring, tally, generator(*names, "bootstrap"))
    return Record(**{"critic": "", "better": scoring.better, **asdict(found), **fields})


def paired_difference(high: Measurement, low: Measurement, *names: object, **fields: Any) -> Record:
    """The first minus the second on the same documents: bootstrap interval and permutation test, documents exchanged whole.

    Raises BadInput: the two are about different documents.
    """
    first, second = high.tally, low.tally
    if first.unit_ids != second.unit_ids or first.columns != second.columns:
        raise BadInput(f"{fields}: a difference of scores of different documents or columns; give both the same")
    tested = critic.compare(high, first, second, generator(*names, "permutation"), PERMUTATIONS)
    draws = critic.resampled_difference((high, first), (low, second), generator(*names, "bootstrap"))
    excluded, bounds = int(first.total("excluded")), dict(zip(("low", "high"), percentile_interval(draws), strict=True))
    found = {"value": tested.difference, **bounds, "p_value": tested.p_value, "paired": tested.paired}
    counted = {"units": len(first.unit_ids) - excluded, "excluded": excluded}
    return Record(**{"better": high.better, **fields, **found, **counted})


def under(units: Sequence[Any], head: str) -> list[Any]:
    """The units as a head of their encoder sees them; the empty name is the unit itself."""
    return [unit.under(head) if head else unit for unit in units]


NORMAL_95 = 1.959963984540054  # standard normal quantile of a two-sided 95 % interval


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
    return min(max(low, 0.0), share), max(min(high, 1.0), share)  # rounding must not put the share outside
