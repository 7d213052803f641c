r"""The five BBScore features of a document under many orders of its sentences at once (sheng2024 section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from longform.core.documents import BadInput
from longform.critics.bbscore.bridge import (
    FITTED,
    WINDOWS,
    LatentPath,
    Terms,
    convention,
    corpus_diffusion,
    signed_scores,
)
from longform.critics.bbscore.gram import OrderedGram
from longform.critics.bbscore.tokens import token_diffusion, token_terms

TIMES = ("sentence", "token")


@dataclass(frozen=True)
class BridgeFeatures:
    r"""Global score and window scores, encode once and permute.

    Attributes:
        index: one of ``CONVENTIONS``.
        time: "sentence", or "token" as the release computes it.
        windows: 0 is the global score.
        sigma2: fitted $\sigma_m^2$.
        signed: fitted; most real documents' sums are negative, so that the printed absolute value would turn the order round.
    """

    index: str = "canonical"
    time: str = "sentence"
    windows: tuple[int, ...] = WINDOWS
    sigma2: float | None = field(default=None, repr=False, metadata=FITTED)
    signed: bool = field(default=False, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        convention(self.index)
        if self.time not in TIMES:
            raise BadInput(f"time {self.time!r}; allowed are {list(TIMES)}; mend the row")

    def fit(self, real: Sequence[LatentPath]) -> BridgeFeatures:
        r"""Estimate $\sigma_m^2$ on the paths as they are, and see whether most of their sums are negative.

        Raises:
            BadInput: no usable path.
        """
        if self.time == "sentence":
            sigma2 = corpus_diffusion(real, self.index)
        else:
            each = np.array([token_diffusion(unit, convention(self.index)) for unit in real])
            kept = each[np.isfinite(each)]
            if not len(kept) or not kept.mean() > 0:
                raise BadInput(f"sigma_m^2 is undefined or 0 over {len(real)} paths in token time; check the reader")
            sigma2 = float(kept.mean())
        fitted = replace(self, sigma2=sigma2)
        sums = np.array([fitted.sums(unit, identity(unit))[0, 0] for unit in real])
        return replace(fitted, signed=bool(np.mean(sums[np.isfinite(sums)] < 0) > 0.5))

    def terms(self, unit: LatentPath, orders: np.ndarray) -> list[Terms]:
        """Terms of each window for each of the orders, (orders, sentences) of sentence numbers."""
        rule = convention(self.index)
        if self.time == "token" and len(unit.latents):
            gathered = unit.latents[orders]
            return [token_terms(gathered, unit.token_counts, window, rule) for window in self.windows]
        seen = OrderedGram(unit.latents, orders)
        return [seen.terms(window, rule) for window in self.windows]

    def sums(self, unit: LatentPath, orders: np.ndarray, dims: int = 2) -> np.ndarray:
        """Features before their absolute value, (orders, windows); nan where the document is too short for a window."""
        if self.sigma2 is None:
            raise BadInput("bridge features have no sigma2 yet; call fit(real paths) and use what it returns")
        return np.stack([signed_scores(found, self.sigma2, dims) for found in self.terms(unit, orders)], axis=1)

    def values(self, unit: LatentPath, orders: np.ndarray) -> np.ndarray:
        """Features, (orders, windows): absolute as printed, signed where that would turn the order round."""
        sums = self.sums(unit, orders)
        return sums if self.signed else np.abs(sums)


def identity(unit: LatentPath) -> np.ndarray:
    """The original order, (1, sentences)."""
    return np.arange(len(unit.latents))[None]
