"""Select the records of a claim or a printed number, and compute with their intervals."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import ModelWrapValidatorHandler, PrivateAttr, model_validator

from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.results import FEWEST_UNITS, NAMES, Record, Results
from longform.settings import Number, Settings, parameter
from longform.statistics.arithmetic import LARGEST_EXPONENT
from longform.statistics.trainings import student_arm

# The values that a filter requires of these fields where it does not name them.
DEFAULTS: Mapping[str, Any] = {"variant": "", "task": "", "severity": None}
# Records that agree in these fields differ by seed alone.
IDENTITY = NAMES[: NAMES.index("seed")]
SMALLEST = 1e-300  # in place of an interval's end at or below zero, which has no logarithm
Names = str | list[str]
Anything = Literal["*"]


class RecordFilter(Settings):
    """A filter of records: for each field a value, a list of values, or a pattern with ``*``."""

    critic: Names = parameter("The critic or evaluation that gave the number.", None)
    metric: Names = parameter("What is measured.", None)
    corpus: Names = parameter("The corpus that the texts belong to.", None)
    system: Names = parameter("Who wrote the texts; ``data`` is real text.", None)
    titles: bool | Anything | list[bool | None] | None = parameter(
        "Whether the system saw section titles; null where that is no question.", None
    )
    task: Names = parameter("A shuffle task, a suite, a decoder, a corruption.", None)
    variant: Names = parameter("Which of several readers, rules or heads.", None)
    severity: Number | Anything | list[Number | None] | None = parameter(
        "Share of places that a corruption damaged; null is undamaged text.", None
    )
    seed: int | Anything | list[int | None] | None = parameter(
        "Which training; null is the mean over trainings, or the only one.", None
    )

    _order: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _keep_order(cls, entry: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Remember the order of the fields in the entry, which labels follow."""
        parsed = handler(entry)
        if isinstance(entry, Mapping):
            parsed._order = tuple(entry)
        return parsed

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that the entry has, in its order, as :func:`select` takes them."""
        return {name: getattr(self, name) for name in self._order if name in FILTERED}


FILTERED = tuple(RecordFilter.model_fields)


def select(results: Iterable[Record], filters: Mapping[str, Any]) -> Results:
    """The records that agree with filters.

    As :meth:`Results.where`, but where filters do not name ``variant``, ``task`` or ``severity``,
    only records of the default variant, without a task and on undamaged text agree (``DEFAULTS``).
    """
    if not isinstance(results, Results):  # Results have an index that many filters can share
        results = Results(results)
    return results.where(**{**DEFAULTS, **filters})


class Facts:
    """The facts of corpora, such as exact values: ``data/corpora/<study>/<corpus>/facts.json``.

    Each file is read once.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._by_corpus: dict[str, Mapping[str, Any]] = {}

    def of(self, corpus: str) -> Mapping[str, Any]:
        """All facts of a corpus; an empty mapping where it has no such file."""
        if corpus not in self._by_corpus:
            folder = folder_of(self._data / "corpora", corpus)
            path = folder / "facts.json" if folder else None
            self._by_corpus[corpus] = read_json(path) if path and path.is_file() else {}
        return self._by_corpus[corpus]

    def number(self, corpus: str, name: str) -> float | None:
        """A numeric fact of a corpus; None where it has no such number.

        Args:
            corpus: its name.
            name: the fact's, with dots where facts are nested.
        """
        fact: Any = self.of(corpus)
        for step in name.split("."):
            fact = fact.get(step) if isinstance(fact, Mapping) else None
        if isinstance(fact, int | float) and not isinstance(fact, bool):
            return float(fact)
        return None


def folder_of(kind: Path, name: str) -> Path | None:
    """The folder of a corpus in the first study that has it; None where none has it.

    Args:
        kind: ``data/corpora``, ``data/generations``, ``data/models`` or ``data/critics``.
        name: the corpus' name.
    """
    return next(iter(sorted(kind.glob(f"*/{name}"))), None)


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, if any.

    ``units`` is the fewest documents or items that a part of it rests on, None for a constant.
    Below ``FEWEST_UNITS`` there is no interval.
    """

    value: float
    low: float | None = None
    high: float | None = None
    units: int | None = None

    def __post_init__(self) -> None:
        if self.units is not None and self.units < FEWEST_UNITS:
            object.__setattr__(self, "low", None)
            object.__setattr__(self, "high", None)

    def __sub__(self, other: "Estimate") -> "Estimate":
        return contrast((1, -1), (self, other))

    @property
    def known(self) -> bool:
        """Whether the number has an interval."""
        return self.low is not None and self.high is not None

    def log(self) -> "Estimate":
        """The natural logarithm of the number and its interval.

        Raises:
            BadInput: the number is not positive.
        """
        if self.value <= 0:
            raise BadInput(
                f"{self.value:g} has no logarithm; compare it by differences, scale: difference"
            )
        low = None if self.low is None else math.log(max(self.low, SMALLEST))
        high = None if self.high is None else math.log(max(self.high, SMALLEST))
        return replace(self, value=math.log(self.value), low=low, high=high)

    def exp(self) -> "Estimate":
        """The inverse of :meth:`log`."""
        low = None if self.low is None else _exponential(self.low)
        high = None if self.high is None else _exponential(self.high)
        return replace(self, value=_exponential(self.value), low=low, high=high)

    def absolute(self) -> "Estimate":
        """Its absolute value.

        An interval on one side of zero is reflected, one around zero begins at zero.
        """
        if self.low is None or self.high is None:
            return replace(self, value=abs(self.value))
        low, high = sorted((abs(self.low), abs(self.high)))
        if self.low < 0 < self.high:
            low = 0.0
        return replace(self, value=abs(self.value), low=low, high=high)


def _exponential(logarithm: float) -> float:
    """Its exponential, infinite where float64 has no number as large."""
    return math.exp(logarithm) if logarithm <= LARGEST_EXPONENT else math.inf


def of_records(records: Sequence[Record], log: bool = False) -> Estimate | None:
    """The estimate of one record, or the mean over records that differ by seed alone.

    A record without a seed already holds that mean.

    Args:
        records: records that differ by seed alone.
        log: whether to take natural logarithms, before the mean.

    Returns:
        The estimate; None where a number is missing or nan.

    Raises:
        BadInput: two records of one seed.
    """
    # 1. The mean over seeds where a record has it.
    records = [record for record in records if record.seed is None] or records
    if not records:
        return None
    if len({record.seed for record in records}) < len(records):
        first = records[0]
        raise BadInput(f"two records of {first.critic} {first.metric} are the same but for numbers")
    # 2. One estimate a record; all of them must be numbers.
    estimates = []
    for record in records:
        if record.value is None or math.isnan(record.value):
            return None
        estimates.append(Estimate(record.value, record.low, record.high, record.units))
    if log:
        estimates = [estimate.log() for estimate in estimates]
    # 3. Their mean.
    return estimates[0] if len(estimates) == 1 else over_seeds(estimates)


def contrast(weights: Sequence[float], estimates: Sequence[Estimate]) -> Estimate:
    r"""A weighted sum of independent estimates, its interval recovered from theirs (MOVER).

    .. math:: \hat L = \sum_i c_i\hat\theta_i - \sqrt{\sum_{c_i>0} c_i^2(\hat\theta_i - l_i)^2
              + \sum_{c_i<0} c_i^2(u_i - \hat\theta_i)^2}

    and the upper end alike (Zou and Donner 2008, eq. 4; Zou, Huang and Zhang 2009 for more than
    two). Scores of the same documents are positively correlated, so that the interval of their
    difference is then too wide, never too narrow.
    """
    value = sum(c * e.value for c, e in zip(weights, estimates, strict=True))
    if not _all_known(estimates):
        return Estimate(value, units=_fewest(estimates))
    squares_below = squares_above = 0.0
    for weight, estimate in zip(weights, estimates, strict=True):
        # Arms of the estimate; where it is subtracted, its upper arm lengthens the lower one.
        down = max(estimate.value - estimate.low, 0.0)  # type: ignore[operator]  # known
        up = max(estimate.high - estimate.value, 0.0)  # type: ignore[operator]
        if weight <= 0:
            down, up = up, down
        squares_below += (weight * down) ** 2
        squares_above += (weight * up) ** 2
    low, high = value - math.sqrt(squares_below), value + math.sqrt(squares_above)
    return Estimate(value, low, high, _fewest(estimates))


def _all_known(estimates: Sequence[Estimate]) -> bool:
    """Whether each of the estimates has an interval."""
    return all(estimate.known for estimate in estimates)


def _fewest(estimates: Sequence[Estimate]) -> int | None:
    """The fewest units of several estimates; None where all are constants."""
    return min((e.units for e in estimates if e.units is not None), default=None)


def slope(estimates: Sequence[Estimate]) -> Estimate:
    """Least-squares slope per step over independent estimates, its interval by :func:`contrast`.

    Raises:
        BadInput: fewer than two.
    """
    count = len(estimates)
    if count < 2:
        raise BadInput(f"a slope needs at least two numbers, got {count}")
    steps = np.arange(count) - (count - 1) / 2
    weights = steps / (steps**2).sum()
    return contrast(weights.tolist(), estimates)


def over_seeds(estimates: Sequence[Estimate]) -> Estimate:
    r"""The mean over training seeds; its interval covers documents and seeds.

    Each side's half-width is :math:`\sqrt{h^2 + (t_{k-1}\, s/\sqrt k)^2}` with the mean half-width
    h of the k intervals, the standard deviation s of the k numbers and Student's quantile t. The
    documents are the same for every seed, so that averaging does not reduce h. Satterthwaite's
    quantile for the sum covers less than 90 % at two or three seeds.
    """
    values = np.array([estimate.value for estimate in estimates])
    value = float(values.mean())
    units = _fewest(estimates)
    if not _all_known(estimates):
        return Estimate(value, units=units)
    lows, highs = np.array([(estimate.low, estimate.high) for estimate in estimates]).T
    between_seeds = student_arm(values.tolist())
    below = math.hypot(float(np.mean(values - lows)), between_seeds)
    above = math.hypot(float(np.mean(highs - values)), between_seeds)
    return Estimate(value, value - below, value + above, units)
