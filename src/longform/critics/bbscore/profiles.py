r"""Distributions of the diffusion estimate and latent trajectories of each source (sheng2024 sections 5.4 and 5.5).

A source is known by its texts' $\hat\sigma^2(s)$: the 1-Wasserstein distance from a tested sample to each known one says
whose it is (Figure 6). Figure 7 draws the mean path of the latents along the document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.critics.bbscore.joint import usable
from longform.critics.bbscore.score import FITTED, LatentPath, diffusion
from longform.critics.bbscore.sources import HUMAN, TextFamily, TextPair, units_from_readout
from longform.documents import BadInput
from longform.resampling import generator, percentile_interval

__all__ = ["SourceDetection", "SourceProfile", "units_from_readout"]
COMMON_STEPS = 100  # sheng2024 section 5.5 resamples paths to a common length it does not give; ours
SIDES = ("human", "machine", "shuffled")
TOP = 2  # sheng2024 section 5.4: in whose own top two a source lies


def shuffled(unit: LatentPath) -> LatentPath:
    """The path with its sentences in a random order that depends on the unit alone."""
    return replace(unit, latents=generator("trajectory shuffle", unit.unit_id).permutation(unit.latents))


@dataclass(frozen=True)
class SourceProfile:
    r"""Mean $\hat\sigma^2(s)$ of one side's texts, with everything that Figures 6 and 7 draw of them in the details.

    Attributes:
        side: "human", "machine", or "shuffled": the human text with its sentences in random order.
        index: convention of the estimate.
    """

    better: ClassVar[Better] = "nearer_real"
    side: str = "machine"
    index: str = "canonical"
    train: tuple[float, ...] = field(default=(), repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise BadInput(f"side {self.side!r}; allowed are {list(SIDES)}; mend the row")

    def _own(self, units: Sequence[TextPair]) -> list[LatentPath]:
        if self.side == "shuffled":
            return [shuffled(unit.human) for unit in units]
        return [unit.human if self.side == "human" else unit.machine for unit in units]

    def fit(self, real: Sequence[TextPair]) -> SourceProfile:
        """Keep the training texts' estimates: the source's own distribution."""
        return replace(self, train=tuple(diffusion(u.latents, self.index) for u in self._own(real) if usable(u)))

    def tally(self, units: Sequence[TextPair]) -> Tally:
        """Columns diffusion, texts and excluded, of one text a pair."""
        own = self._own(units)
        kept = np.array([usable(unit) for unit in own], dtype=bool)
        each = np.array([diffusion(u.latents, self.index) if good else 0.0 for u, good in zip(own, kept, strict=True)])
        values = np.stack([each, kept, ~kept], axis=1).astype(np.float64) if own else np.zeros((0, 3))
        return Tally(tuple(unit.unit_id for unit in units), ("diffusion", "texts", "excluded"), values)

    def score(self, tally: Tally) -> float:
        """Mean over texts; nan without any."""
        texts = tally.total("texts")
        return tally.total("diffusion") / texts if texts else float("nan")

    def describe(self, units: Sequence[TextPair]) -> dict[str, Any]:
        """Estimates of training and of judged texts, and the mean trajectory of the judged ones."""
        tally = self.tally(units)
        test = tally.column("diffusion")[tally.column("texts") > 0]
        return {"train": list(self.train), "test": test.tolist(), "trajectory": trajectory(self._own(units))}


@dataclass(frozen=True)
class SourceDetection:
    r"""Share of sources whose test texts lie nearest, or next to nearest, to their own training texts (Figure 6).

    Attributes:
        sources: of the machine texts; the human side is a source of its own.
        index: convention of the estimate.
        known: fitted; the training texts' estimates by source.
    """

    better: ClassVar[Better] = "higher"
    sources: tuple[str, ...] = ()
    index: str = "canonical"
    known: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False, metadata=FITTED)

    @property
    def names(self) -> tuple[str, ...]:
        """All sources, the human one first."""
        return (HUMAN, *self.sources)

    def _estimates(self, unit: TextFamily) -> list[float]:
        texts = [unit.human, *(unit.under(source).machine for source in self.sources)]
        return [diffusion(text.latents, self.index) if usable(text) else np.nan for text in texts]

    def fit(self, real: Sequence[TextFamily]) -> SourceDetection:
        """Keep the estimates of the training texts.

        Raises:
            BadInput: a source without a usable text.
        """
        each = np.array([self._estimates(unit) for unit in real]).reshape(len(real), len(self.names))
        known = {name: tuple(v[np.isfinite(v)].tolist()) for name, v in zip(self.names, each.T, strict=True)}
        empty = [name for name, values in known.items() if not values]
        if empty:
            raise BadInput(f"source {empty[0]!r} has no usable training text; check its row")
        return replace(self, known=known)

    def tally(self, units: Sequence[TextFamily]) -> Tally:
        """The estimate of each source's text, and ``excluded`` where one of them has none."""
        each = np.array([self._estimates(unit) for unit in units]).reshape(len(units), len(self.names))
        broken = ~np.isfinite(each).all(axis=1, keepdims=True)
        values = np.concatenate([np.where(broken, 0.0, each), broken], axis=1)
        return Tally(tuple(unit.unit_id for unit in units), (*self.names, "excluded"), values)

    def distances(self, tally: Tally) -> tuple[np.ndarray, np.ndarray]:
        """Distances and scaled distances, (tested, known)."""
        kept = tally.values[tally.column("excluded") == 0]
        return detection(dict(self.known), {name: kept[:, place] for place, name in enumerate(self.names)})

    def score(self, tally: Tally) -> float:
        """Share of sources in their own top two; nan without a document."""
        if (tally.column("excluded") > 0).all():
            return float("nan")
        found = self.distances(tally)[0]
        return float(np.mean([(row < row[place]).sum() < TOP for place, row in enumerate(found)]))

    def describe(self, units: Sequence[TextFamily]) -> dict[str, Any]:
        """Sources, distances with their intervals over documents, and the same scaled to [1, 2] per tested source."""
        tally = self.tally(units)
        distances, scaled = self.distances(tally)
        rng = generator("detection", *self.names)
        draws = [self.distances(tally.take(rng.integers(0, len(units), len(units))))[0] for _ in range(200)]
        bounds = [[percentile_interval(np.array([d[i, j] for d in draws])) for j in range(len(distances))]
                  for i in range(len(distances))]  # fmt: skip
        return {
            "sources": list(self.names),
            "distances": distances.tolist(),
            "scaled": scaled.tolist(),
            "bounds": bounds,
        }


def trajectory(units: Sequence[LatentPath], steps: int = COMMON_STEPS) -> dict[str, list[float]]:
    """Mean absolute latent over dims, each path stretched to a common length; its mean and spread over documents."""
    grid = np.linspace(0, 1, steps)
    each = [np.abs(u.latents).mean(axis=1) for u in units if usable(u)]
    bent = np.array([np.interp(grid, np.linspace(0, 1, len(values)), values) for values in each])
    if not len(bent):
        return {"mean": [], "spread": []}
    return {"mean": bent.mean(axis=0).tolist(), "spread": bent.std(axis=0).tolist()}


def detection(train: dict[str, Sequence[float]], test: dict[str, Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    r"""Distance of each tested source to each known one, and the same scaled to [1, 2] per tested source (Figure 6).

    $W_{qk} = \int |F_q - F_k|$ between the distributions of $\hat\sigma^2(s)$; rows are tested sources, columns known ones.

    Raises:
        BadInput: a source without texts.
    """
    empty = [name for name, values in (*train.items(), *test.items()) if not len(values)]
    if empty:
        raise BadInput(f"source {empty[0]!r} has no usable text; check its row")
    distances = np.array([[wasserstein(tested, known) for known in train.values()] for tested in test.values()])
    low, high = distances.min(axis=1, keepdims=True), distances.max(axis=1, keepdims=True)
    scaled = np.divide(distances - low, high - low, out=np.zeros_like(distances), where=high > low)
    return distances, 1 + scaled


def wasserstein(one: Sequence[float], other: Sequence[float]) -> float:
    """1-Wasserstein distance of two samples: the area between their distribution functions."""
    sorted_values = [np.sort(np.asarray(v, dtype=np.float64)) for v in (one, other)]
    places = np.sort(np.concatenate(sorted_values))
    shares = [np.searchsorted(v, places[:-1], side="right") / len(v) for v in sorted_values]
    return float(np.abs(shares[0] - shares[1]) @ np.diff(places))
