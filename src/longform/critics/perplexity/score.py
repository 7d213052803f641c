r"""Perplexity per token from log-probabilities: $\exp(-\sum \log p / n)$, corpus-level as in all five papers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.core.critic import Sums, SumScored, Tally, resampled_difference, signature
from longform.core.documents import BadInput, Readout, Unit
from longform.core.resampling import generator, percentile_interval, perplexity
from longform.core.results import Record


@dataclass(frozen=True)
class LogProbs(Unit):
    """Log-probabilities in nats of one unit's tokens, float (tokens,)."""

    values: np.ndarray


@dataclass(frozen=True)
class Perplexity(SumScored, better="lower", parts="tokens", attributed=("logprob",), blame=-1):
    """Word PPL; ``count_end``: with the closing end token (deng2022's transformer counts it, its HSMM has none)."""

    count_end: bool = True

    def attribute(self, units: Sequence[LogProbs]) -> list[np.ndarray]:
        return [np.asarray(unit.values if self.count_end else unit.values[:-1], np.float64) for unit in units]

    def tally(self, units: Sequence[LogProbs]) -> Tally:
        rows = [(values.sum(), len(values), not len(values)) for values in self.attribute(units)]
        return Tally.of(units, ("logprob", "tokens", "excluded"), rows)

    def of_sums(self, sums: Sums) -> Any:
        return perplexity(sums.total("logprob"), sums.total("tokens"))


def units_from_readout(readout: Readout) -> list[LogProbs]:
    return [LogProbs(*row) for row in readout.rows("token_logprob")]


@dataclass(frozen=True)
class _LogPerplexity(Perplexity):
    def of_sums(self, sums: Sums) -> Any:
        return np.log(super().of_sums(sums))


def ratio(*, train: Readout, texts: Readout, seed: int, name: str, count_end: bool = True) -> list[Record]:
    """Word PPL of the model that read ``texts`` over that of the one that read ``train``, paired by test document.

    Documents differ far more than models, so the interval of a ratio wants resamples of documents that both share.

    Raises BadInput: the two read other documents.
    """
    critic = _LogPerplexity(count_end=count_end)
    own, other = ([u for u in units_from_readout(read) if u.split == "test"] for read in (texts, train))
    if [unit.unit_id for unit in own] != [unit.unit_id for unit in other]:
        raise BadInput(f"{name}: a ratio of perplexities wants readings of the same documents; read them again")
    above, below = critic.tally(own), critic.tally(other)
    draws = resampled_difference((critic, above), (critic, below), generator(seed, name, "bootstrap"))
    low, high = np.exp(percentile_interval(draws)).tolist()
    value, excluded = float(np.exp(critic.score(above) - critic.score(below))), int(above.total("excluded"))
    fields: dict[str, Any] = {"value": value, "low": low, "high": high, "better": "lower", "excluded": excluded}
    fields |= {"units": len(own) - excluded, "signature": signature(Perplexity(count_end))}
    return [Record("", "word_ppl_ratio", **fields)]
