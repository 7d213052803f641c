r"""Perplexity per token from log-probabilities: $\exp(-\sum \log p / n)$, corpus-level as in all five papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, Sums, SumScored, Tally
from longform.core.documents import Readout
from longform.core.resampling import perplexity


@dataclass(frozen=True)
class LogProbs:
    """Log-probabilities in nats of one unit's tokens, float (tokens,)."""

    unit_id: str
    split: str
    values: np.ndarray


@dataclass(frozen=True)
class Perplexity(SumScored):
    """Word PPL of a language model on given texts.

    Attributes:
        count_end: whether the closing end token counts (deng2022's transformer counts it, its HSMM has none).
    """

    count_end: bool = True
    better: ClassVar[Better] = "lower"
    parts: ClassVar[str] = "tokens"
    attributed: ClassVar[tuple[str, ...]] = ("logprob",)
    blame: ClassVar[int] = -1

    def attribute(self, units: Sequence[LogProbs]) -> list[np.ndarray]:
        return [np.asarray(unit.values if self.count_end else unit.values[:-1], np.float64) for unit in units]

    def tally(self, units: Sequence[LogProbs]) -> Tally:
        """Columns logprob (nats), tokens, excluded (no token at all)."""
        rows = [(values.sum(), len(values), not len(values)) for values in self.attribute(units)]
        return Tally.of(units, ("logprob", "tokens", "excluded"), rows)

    def of_sums(self, sums: Sums) -> Any:
        return perplexity(sums.total("logprob"), sums.total("tokens"))


def units_from_readout(readout: Readout) -> list[LogProbs]:
    """One unit per document of a token readout."""
    return [LogProbs(*row) for row in readout.rows("token_logprob")]
