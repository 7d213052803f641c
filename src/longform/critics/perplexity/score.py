r"""Perplexity per token from log-probabilities: $\exp(-\sum \log p / n)$, corpus-level as in all five papers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.documents import Predictions, Unit
from longform.errors import BadInput
from longform.results import Record
from longform.statistics.arithmetic import perplexity
from longform.statistics.comparisons import resampled_difference
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored


@dataclass(frozen=True)
class LogProbs(Unit):
    """Log-probabilities in nats of one unit's tokens, float (tokens,), and which of them are in a title, bool likewise."""

    values: np.ndarray
    in_title: np.ndarray | None = None  # None where the text has no titles
    ended: bool = True  # whether the last one is that of the end token


@dataclass(frozen=True)
class Perplexity(SumScored, better="lower", parts="tokens", attributed=("logprob",), blame=-1):
    """Word PPL of the body: a title's tokens are counted apart, so that texts with and without titles count the same tokens.

    ``count_end``: with the closing end token (deng2022's transformer counts it, its HSMM has none).
    """

    count_end: bool = True

    def part_values(self, units: Sequence[LogProbs]) -> list[np.ndarray]:
        """Log probabilities of the tokens, those of titles 0: nothing is judged by them."""
        parts = []
        for unit in units:
            values, inside = self._tokens(unit)
            parts.append(np.where(inside, 0.0, values))
        return parts

    def sufficient_statistics(self, units: Sequence[LogProbs]) -> SufficientStatistics:
        """Nats and tokens of the body (``logprob``, ``tokens``), of titles where there are any, and exclusions."""
        body, titles, excluded = [], [], []
        for unit in units:
            values, inside = self._tokens(unit)
            body.append((values[~inside].sum(), len(values) - inside.sum()))
            titles.append((values[inside].sum(), inside.sum()))
            excluded.append((not len(values) - inside.sum(),))
        if all(unit.in_title is None for unit in units):
            return SufficientStatistics.of(
                units,
                ("logprob", "tokens", "excluded"),
                np.hstack([body, excluded]) if units else [],
            )
        columns = ("logprob", "tokens", "title_logprob", "title_tokens", "excluded")
        return SufficientStatistics.of(units, columns, np.hstack([body, titles, excluded]))

    def _tokens(self, unit: LogProbs) -> tuple[np.ndarray, np.ndarray]:
        """Log probabilities of the counted tokens, and which of them are in a title."""
        values = np.asarray(unit.values, dtype=np.float64)
        inside = (
            np.zeros(len(values), dtype=bool)
            if unit.in_title is None
            else np.asarray(unit.in_title, dtype=bool)
        )
        counted = slice(None) if self.count_end or not unit.ended else slice(None, -1)
        return values[counted], inside[counted]

    def of_sums(self, sums: Sums) -> Any:
        return perplexity(sums.total("logprob"), sums.total("tokens"))


def units_from_predictions(predictions: Predictions) -> list[LogProbs]:
    """One unit per text; the array ``end_scored`` is there where a model has no end token."""
    count = len(predictions.unit_ids)
    titles = predictions.ragged("in_title") if "in_title" in predictions.arrays else [None] * count
    ended = predictions.arrays.get("end_scored", np.ones(count, dtype=bool)).tolist()
    units = []
    for (unit_id, split, values), in_title, end in zip(
        predictions.rows("token_logprob"), titles, ended, strict=True
    ):
        units.append(LogProbs(unit_id, split, values, in_title, end))
    return units


@dataclass(frozen=True)
class _LogPerplexity(Perplexity):
    def of_sums(self, sums: Sums) -> Any:
        return np.log(super().of_sums(sums))


def ratio(
    *, train: Predictions, texts: Predictions, seed: int, name: str, count_end: bool = True
) -> list[Record]:
    """Word PPL of the model that read ``texts`` over that of the one that read ``train``, paired by test document.

    Both of tokens of the body: where only one of the two read titles, their tokens are no part of it.

    Documents differ far more than models, so the interval of a ratio wants resamples of documents that both share.

    Raises BadInput: the two read other documents.
    """
    critic = _LogPerplexity(count_end=count_end)
    own, other = (
        [u for u in units_from_predictions(read) if u.split == "test"] for read in (texts, train)
    )
    if [unit.unit_id for unit in own] != [unit.unit_id for unit in other]:
        raise BadInput(
            f"{name}: a ratio of perplexities wants readings of the same documents; read them again"
        )
    above, below = critic.sufficient_statistics(own), critic.sufficient_statistics(other)
    draws = resampled_difference(
        (critic, above), (critic, below), generator(seed, name, "bootstrap")
    )
    low, high = np.exp(percentile_interval(draws)).tolist()
    value, excluded = (
        float(np.exp(critic.score_of(above) - critic.score_of(below))),
        int(above.total("excluded")),
    )
    fields: dict[str, Any] = {
        "value": value,
        "low": low,
        "high": high,
        "better": "lower",
        "excluded": excluded,
    }
    fields |= {"units": len(own) - excluded, "signature": signature(Perplexity(count_end))}
    counts = {
        name: [other.total(name) for other in (above, below)] for name in ("tokens", "title_tokens")
    }
    fields["details"] = {f"{name}_of_both": numbers for name, numbers in counts.items()}
    return [Record("", "word_ppl_ratio", **fields)]
