"""The generative entity grid: how probable are the paths of a text's entities under role transitions of coherent text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from longform.core.critic import Better, SumScored, Tally
from longform.core.documents import BadInput
from longform.core.text.entity_grids import Grid, grids_from_readout

units_from_readout = grids_from_readout
SYMBOLS = 5  # predicted: S, O, X, -, end; in contexts the fifth is the start symbol instead
EDGE = 4
MAX_HISTORY = 6
COLUMNS = ("logprob", "cells", "excluded")
FITTED = {"fitted": True}


@dataclass(frozen=True)
class RoleTransitions(SumScored):
    r"""Role-transition model with Witten-Bell smoothing in its interpolated form.

    $P(r|h) = \frac{c(hr) + N_{1+}(h\cdot) P(r|h')}{c(h) + N_{1+}(h\cdot)}$, $h'$ being $h$ without its oldest symbol;
    below the unigram stands the uniform distribution over the five predictable symbols (Witten and Bell 1991, as in
    Chen and Goodman 1999, eq. 16; the paper names the method only).

    Attributes:
        history: how many earlier sentences a role depends on; the paper tunes it on development texts.
        log_probs: fitted; float64 (5,) * history + (5,), the context's oldest symbol first.
        fitted_units, fitted_excluded: fitted; grids counted, empty grids left out.
    """

    history: int = 1
    log_probs: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, metadata=FITTED)
    fitted_units: int = field(default=0, repr=False, metadata=FITTED)
    fitted_excluded: int = field(default=0, repr=False, metadata=FITTED)
    better: ClassVar[Better] = "higher"
    divided: ClassVar[tuple[str, str]] = ("logprob", "cells")
    parts: ClassVar[str] = "cells"
    attributed: ClassVar[tuple[str, ...]] = ("logprob",)
    blame: ClassVar[int] = -1

    def __post_init__(self) -> None:
        if not 0 <= self.history <= MAX_HISTORY:
            raise BadInput(
                f"history is {self.history}, allowed is 0..{MAX_HISTORY}; the paper tries short ones, 1 is usual"
            )

    def fit(self, real: Sequence[Grid]) -> RoleTransitions:
        full = [grid for grid in real if not grid.empty]
        if not full:
            raise BadInput(f"role transitions: got {len(real)} grids, 0 with entities; give texts with nouns")
        counts = np.zeros(SYMBOLS ** (self.history + 1))
        for grid in full:
            counts += np.bincount(self._codes(grid.cells[None], end=True).ravel(), minlength=len(counts))
        log_probs = np.log(witten_bell(counts.reshape((SYMBOLS,) * (self.history + 1))))
        return replace(self, log_probs=log_probs, fitted_units=len(full), fitted_excluded=len(real) - len(full))

    def tally(self, units: Sequence[Grid]) -> Tally:
        """Columns: sum of log probabilities (nats), cells scored, and 1 for an empty grid."""
        rows = [(float(parts.sum()), parts.size, not parts.size) for parts in self.attribute(units)]
        return Tally.of(units, COLUMNS, rows)

    def coherence(self, units: Sequence[Grid]) -> np.ndarray:
        """$P_{coh}$ of each text, float64 (units,); nan for an empty grid."""
        tally = self.tally(units)
        with np.errstate(invalid="ignore"):
            return tally.column("logprob") / tally.column("cells")

    def order_scores(self, unit: Grid, orders: np.ndarray) -> np.ndarray:
        """Coherence of a text under each of ``orders`` (orders, sentences); nan for an empty grid."""
        if unit.empty:
            return np.full(len(orders), np.nan)
        logprobs = self._fitted().ravel()[self._codes(unit.cells[orders])]
        return logprobs.mean(axis=(1, 2))

    def attribute(self, units: Sequence[Grid]) -> list[np.ndarray]:
        flat = self._fitted().ravel()
        return [np.zeros((0, 0)) if grid.empty else flat[self._codes(grid.cells[None])[0]] for grid in units]

    def _fitted(self) -> np.ndarray:
        if not self.log_probs.size:
            raise BadInput(
                "role transitions have no probabilities yet; call fit(coherent grids) and use what it returns"
            )
        return self.log_probs

    def _codes(self, cells: np.ndarray, end: bool = False) -> np.ndarray:
        """Index of (history, symbol) for every cell: int64 (texts, sentences [+ 1], entities)."""
        texts, sentences, entities = cells.shape
        shape = (texts, self.history + sentences + end, entities)
        padded = np.full(shape, EDGE, dtype=np.int64)
        padded[:, self.history : self.history + sentences] = cells
        steps = sentences + end
        codes = np.zeros((texts, steps, entities), dtype=np.int64)
        for back in range(self.history + 1):
            codes = codes * SYMBOLS + padded[:, back : back + steps]
        return codes


def witten_bell(counts: np.ndarray) -> np.ndarray:
    """Smoothed probabilities from counts of (context..., symbol); both (5,) * (history + 1)."""
    lower = np.full(SYMBOLS, 1 / SYMBOLS) if counts.ndim == 1 else witten_bell(counts.sum(axis=0))
    kinds = (counts > 0).sum(axis=-1, keepdims=True)
    weight = counts.sum(axis=-1, keepdims=True) + kinds
    smoothed = (counts + kinds * lower) / np.where(weight > 0, weight, 1)
    smoothed = np.where(weight > 0, smoothed, np.broadcast_to(lower, counts.shape))
    if counts.ndim > 2:
        smoothed[EDGE, EDGE] = lower[EDGE]
    return smoothed
