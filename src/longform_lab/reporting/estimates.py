"""Which records a claim or a printed number is about, their estimates with intervals, and intervals of what is computed from several."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.results import FEWEST_UNITS, NAMES, Record, Results
from longform.statistics.trainings import student_arm

DEFAULTS: Mapping[str, Any] = {
    "variant": "",
    "task": "",
    "severity": None,
}  # of fields that a filter does not name
IDENTITY = NAMES[: NAMES.index("seed")]  # records that agree in these differ by seed alone


def select(results: Iterable[Record], filters: Mapping[str, Any]) -> Results:
    """As ``results.where``, but a filter that does not name ``variant``, ``task`` or ``severity`` wants the default, none and undamaged text."""
    held = (
        results if isinstance(results, Results) else Results(results)
    )  # keep the index of what is asked often
    return held.where(**{**DEFAULTS, **filters})


class Facts:
    """What a corpus says of itself, ``data/corpora/<study>/<corpus>/facts.json``, read once; nothing where it has no such file."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._read: dict[str, Mapping[str, Any]] = {}

    def of(self, corpus: str) -> Mapping[str, Any]:
        """All facts of a corpus."""
        if corpus not in self._read:
            folder = folder_of(self._data / "corpora", corpus)
            path = folder / "facts.json" if folder else None
            self._read[corpus] = read_json(path) if path and path.is_file() else {}
        return self._read[corpus]

    def number(self, corpus: str, name: str) -> float | None:
        """One fact, its name with dots where facts are nested; None where the corpus has no such number."""
        held: Any = self.of(corpus)
        for step in name.split("."):
            held = held.get(step) if isinstance(held, Mapping) else None
        return float(held) if isinstance(held, int | float) and not isinstance(held, bool) else None


def folder_of(kind: Path, name: str) -> Path | None:
    """A corpus' folder below ``data/corpora`` or ``data/generations``, in whichever study it is; None where there is none."""
    return next(iter(sorted(kind.glob(f"*/{name}"))), None)


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, if any, and the fewest documents or items that a part of it rests on; None for a constant."""

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
        """Whether there is an interval."""
        return self.low is not None and self.high is not None

    def log(self) -> "Estimate":
        """The same on the log scale. Raises BadInput: the number is not positive."""
        if self.value <= 0:
            raise BadInput(
                f"{self.value:g} has no logarithm; compare it by differences, scale: difference"
            )
        low, high = (
            None if end is None else math.log(max(end, 1e-300)) for end in (self.low, self.high)
        )
        return replace(self, value=math.log(self.value), low=low, high=high)

    def exp(self) -> "Estimate":
        """Back from the log scale."""
        low, high = (None if end is None else math.exp(end) for end in (self.low, self.high))
        return replace(self, value=math.exp(self.value), low=low, high=high)

    def absolute(self) -> "Estimate":
        """Its absolute value: an interval on one side of zero is reflected, one around zero begins at zero."""
        if self.low is None or self.high is None:
            return replace(self, value=abs(self.value))
        low, high = sorted((abs(self.low), abs(self.high)))
        return replace(
            self, value=abs(self.value), low=0.0 if self.low < 0 < self.high else low, high=high
        )


def of_records(records: Sequence[Record], log: bool = False) -> Estimate | None:
    """One record's number, or the mean over seeds, which a record without one is already; None where a number is missing or not finite."""
    records = [r for r in records if r.seed is None] or records
    estimates = [Estimate(r.value, r.low, r.high, r.units) for r in records if r.value is not None]
    if not records or len(estimates) < len(records) or any(math.isnan(e.value) for e in estimates):
        return None
    scaled = [e.log() for e in estimates] if log else estimates
    return scaled[0] if len(scaled) == 1 else over_seeds(scaled)


def contrast(weights: Sequence[float], estimates: Sequence[Estimate]) -> Estimate:
    r"""A weighted sum of independent estimates, its interval recovered from theirs (MOVER).

    .. math:: \hat L = \sum_i c_i\hat\theta_i - \sqrt{\sum_{c_i>0} c_i^2(\hat\theta_i - l_i)^2
              + \sum_{c_i<0} c_i^2(u_i - \hat\theta_i)^2}

    and the upper end alike (Zou and Donner 2008, eq. 4; Zou, Huang and Zhang 2009 for more than two). Scores of the same
    documents are positively correlated, so that the interval of their difference is then too wide, never too narrow.
    """
    value = sum(c * e.value for c, e in zip(weights, estimates, strict=True))
    if not all(e.known for e in estimates):
        return Estimate(value, units=_fewest(estimates))
    below = above = 0.0
    for c, e in zip(weights, estimates, strict=True):
        down, up = max(e.value - e.low, 0.0), max(e.high - e.value, 0.0)  # type: ignore[operator]  # known
        below += (c * (down if c > 0 else up)) ** 2
        above += (c * (up if c > 0 else down)) ** 2
    return Estimate(value, value - math.sqrt(below), value + math.sqrt(above), _fewest(estimates))


def _fewest(estimates: Sequence[Estimate]) -> int | None:
    return min((e.units for e in estimates if e.units is not None), default=None)


def slope(estimates: Sequence[Estimate]) -> Estimate:
    """Least-squares slope per step over independent estimates, its interval by :func:`contrast`. Raises BadInput: fewer than two."""
    if len(estimates) < 2:
        raise BadInput(f"a slope needs at least two numbers, got {len(estimates)}")
    places = np.arange(len(estimates)) - (len(estimates) - 1) / 2
    return contrast([float(p) for p in places / (places**2).sum()], estimates)


def over_seeds(estimates: Sequence[Estimate]) -> Estimate:
    r"""The mean over training seeds; its interval has the spread between seeds added to that between documents.

    Each side's half-width is :math:`\sqrt{h^2 + (t_{k-1}\, s/\sqrt k)^2}` with the mean half-width h of the k intervals, the
    standard deviation s of the k numbers and Student's quantile t. The documents are the same for every seed, so that
    averaging does not reduce h. Satterthwaite's quantile for the sum covers less than 90 % at two or three seeds.
    """
    values = np.array([e.value for e in estimates])
    value = float(values.mean())
    if not all(e.known for e in estimates):
        return Estimate(value, units=_fewest(estimates))
    between = student_arm(values.tolist())
    below = float(np.mean([e.value - e.low for e in estimates]))  # type: ignore[operator]  # known
    above = float(np.mean([e.high - e.value for e in estimates]))  # type: ignore[operator]
    return Estimate(
        value,
        value - math.hypot(below, between),
        value + math.hypot(above, between),
        _fewest(estimates),
    )
