r"""BBScore as a critic: the mean over documents of how well their latents fit a Brownian bridge (sheng2024 section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from longform.core.critic import Better, Tally
from longform.core.documents import BadInput
from longform.critics.bbscore.bridge import (
    FITTED,
    LatentPath,
    convention,
    inner_gaps,
    signed_scores,
    units_from_readout,
)
from longform.critics.bbscore.features import BridgeFeatures, identity

__all__ = ["BridgeCritic", "units_from_readout"]


@dataclass(frozen=True)
class BridgeCritic:
    r"""Mean BBScore of documents; a scorer of orders too, from one matrix of inner products per document.

    Attributes:
        window: 0 for the global score, else the half-width $w$.
        index: one of ``CONVENTIONS``.
        time: "sentence", or "token" as the release computes it.
        absolute: take $|\cdot|$, as printed. Where most real documents' sums are negative it would turn the order round, and the
            sum is taken as it is; negative sums are counted.
        exact_dims: normalise for the latents' width, and correct $\sigma_m^2$ by 2 / dims.
        sigma2: fitted $\sigma_m^2$.
        signed: fitted; the sum is taken as it is.
    """

    better: ClassVar[Better] = "lower"
    parts: ClassVar[str] = "sentences"
    attributed: ClassVar[tuple[str, ...]] = ("score",)
    blame: ClassVar[int] = 1
    window: int = 0
    index: str = "canonical"
    time: str = "sentence"
    absolute: bool = True
    exact_dims: bool = False
    sigma2: float | None = field(default=None, repr=False, metadata=FITTED)
    signed: bool = field(default=False, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        BridgeFeatures(self.index, self.time)
        if self.window < 0:
            raise BadInput(f"window is {self.window}; allowed are 0 (global) and positive half-widths")
        if self.sigma2 is not None and not (np.isfinite(self.sigma2) and self.sigma2 > 0):
            raise BadInput(f"sigma2 is {self.sigma2}; allowed is a finite variance above 0; fit it on real paths")

    def fit(self, real: Sequence[LatentPath]) -> BridgeCritic:
        r"""Estimate $\sigma_m^2$ on unshuffled real paths."""
        dims = real[0].latents.shape[-1] if real and self.exact_dims else 2
        fitted = BridgeFeatures(self.index, self.time, (self.window,)).fit(real)
        assert fitted.sigma2 is not None
        return replace(self, sigma2=fitted.sigma2 * 2 / dims, signed=fitted.signed)

    def sums(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Scores of ``orders`` before their absolute value, (orders,); nan where the document is too short."""
        if self.sigma2 is None:
            raise BadInput("bridge critic has no sigma2 yet; call fit(real paths) and use what it returns")
        dims = unit.latents.shape[-1] if self.exact_dims else 2
        terms = BridgeFeatures(self.index, self.time, (self.window,)).terms(unit, orders)[0]
        return signed_scores(terms, self.sigma2, dims)

    def order_scores(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """BBScore of a document under each order of its sentences, (orders,); nan where it is too short or not finite."""
        if not unit.usable:
            return np.full(len(orders), np.nan)
        return self._valued(self.sums(unit, orders))

    def _valued(self, sums: np.ndarray) -> np.ndarray:
        return np.abs(sums) if self.absolute and not self.signed else sums

    def attribute(self, units: Sequence[LatentPath]) -> list[np.ndarray]:
        """What each inner sentence adds to the global score, (sentences - 2,); of another score, one part: itself."""
        return [self._parts(unit) if len(unit.latents) > 2 else np.zeros(0) for unit in units]

    def _parts(self, unit: LatentPath) -> np.ndarray:
        sums = self.sums(unit, identity(unit))
        if self.window or self.time == "token" or not np.isfinite(sums).all():
            return np.nan_to_num(self._valued(sums))
        gaps, v = inner_gaps(unit.latents[None], convention(self.index).score)
        dims = unit.latents.shape[-1] if self.exact_dims else 2
        scale = v * float(self.sigma2 or np.nan)
        each = dims / 2 * np.log(2 * np.pi * scale) + (gaps[0] ** 2).sum(axis=1) / (2 * scale)
        turned = self.absolute and not self.signed and sums[0] < 0
        return (-1.0 if turned else 1.0) * each / len(each)

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """Columns score, documents, negative (sums below zero) and excluded (too short, or not finite)."""
        sums = np.array([self.sums(unit, identity(unit))[0] for unit in units], dtype=np.float64)
        kept = np.isfinite(sums)
        columns = [np.where(kept, self._valued(sums), 0.0), kept, kept & (sums < 0), ~kept]
        names = ("score", "documents", "negative", "excluded")
        return Tally(tuple(unit.unit_id for unit in units), names, np.stack(columns, axis=1).astype(np.float64))

    def score(self, tally: Tally) -> float:
        """Mean over documents; nan where all were excluded."""
        count = tally.total("documents")
        return tally.total("score") / count if count else float("nan")
