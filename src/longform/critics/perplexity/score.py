r"""Perplexity per token, $\exp(-\sum \log p / n)$, over a corpus as in all five papers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.base import Spans, TextCritic
from longform.documents import SPLITS, Document, Predictions, Unit
from longform.errors import ConfigError, InputError
from longform.results import Record
from longform.statistics.arithmetic import perplexity
from longform.statistics.comparisons import resampled_difference
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator
from longform.statistics.signatures import READING, signature
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums


@dataclass(frozen=True)
class LogProbs(Unit):
    """The log-probabilities of one text's tokens under a language model.

    Attributes:
        values: log-probability of each scored token in nats, float (tokens,).
        in_title: which tokens are in a title, bool (tokens,); None where the text has no titles.
        ended: whether the last token is the end token.
    """

    values: np.ndarray
    in_title: np.ndarray | None = None
    ended: bool = True


# Class keywords and metadata: see TextCritic.
@dataclass(frozen=True)
class Perplexity(
    TextCritic,
    better="lower",
    parts="tokens",
    attributed=("logprob",),
    blame=-1,
    needs="two tokens",
):
    """How surprising the tokens of texts are to a language model: word PPL of the body.

    A title's tokens are counted apart, so that texts with and without titles count the same tokens.

    Attributes:
        count_end: whether the closing end token counts (deng2022's transformer counts it, its HSMM
            has none).
        model: folder of a causal language model that reads texts.
        window: largest number of tokens that the model sees; None for all its positions.
    """

    count_end: bool = True
    model: Path | str | None = field(default=None, kw_only=True, metadata=READING)
    window: int | None = field(default=None, kw_only=True, metadata=READING)

    def read_texts(self, documents: Sequence[Document]) -> list[LogProbs]:
        """Log-probabilities of the documents' tokens; titles are left out.

        Raises ConfigError: no model was named.
        """
        if self.model is None:
            raise ConfigError(
                "Perplexity has no language model to read texts with; "
                "name its folder: Perplexity(model=FOLDER)"
            )
        from longform.critics.perplexity.read import read  # here, since it brings torch along

        predictions = read(
            documents=documents,
            reader=Path(self.model),
            name="perplexity",
            titles=False,
            splits=SPLITS,
            window=self.window,
        )
        return units_from_predictions(predictions)

    def spans(self, document: Document, unit: LogProbs, values: np.ndarray) -> Spans | None:
        """The span of each scored token; None where the model or its tokenizer gives none."""
        from longform.critics.perplexity.read import token_spans

        if self.model is None:
            return None
        spans = token_spans(document, Path(self.model))
        return None if spans is None else spans[: len(values)]

    def part_values(self, units: Sequence[LogProbs]) -> list[np.ndarray]:
        """Log-probability of each token, nats, (tokens,); 0 in titles, which are not judged."""
        parts = []
        for unit in units:
            values, in_title = self._tokens(unit)
            parts.append(np.where(in_title, 0.0, values))
        return parts

    def sufficient_statistics(self, units: Sequence[LogProbs]) -> SufficientStatistics:
        """A row a text: log-probability and tokens of the body, and of titles if any text has some.

        Returns:
            Columns ``logprob`` (nats), ``tokens`` and ``excluded`` (a text without tokens), and
            ``title_logprob`` and ``title_tokens`` where a unit knows its titles.
        """
        has_titles = any(unit.in_title is not None for unit in units)
        rows = []
        for unit in units:
            values, in_title = self._tokens(unit)
            tokens = len(values) - in_title.sum()
            row = [values[~in_title].sum(), tokens]
            if has_titles:
                row += [values[in_title].sum(), in_title.sum()]
            row.append(not tokens)
            rows.append(row)
        columns = ["logprob", "tokens", "excluded"]
        if has_titles:
            columns[2:2] = ["title_logprob", "title_tokens"]
        return SufficientStatistics.of(units, columns, rows)

    def _tokens(self, unit: LogProbs) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of the tokens that count, and which of them are in a title."""
        values = np.asarray(unit.values, dtype=np.float64)
        if unit.in_title is None:
            in_title = np.zeros(len(values), dtype=bool)
        else:
            in_title = np.asarray(unit.in_title, dtype=bool)
        if unit.ended and not self.count_end:
            return values[:-1], in_title[:-1]
        return values, in_title

    def of_sums(self, sums: Sums) -> Any:
        """Perplexity per token of the body."""
        return perplexity(sums.total("logprob"), sums.total("tokens"))


def units_from_predictions(predictions: Predictions) -> list[LogProbs]:
    """One unit per text; the array ``end_scored`` is there where a model has no end token."""
    count = len(predictions.unit_ids)
    titles = predictions.ragged("in_title") if "in_title" in predictions.arrays else [None] * count
    ended = predictions.arrays.get("end_scored", np.ones(count, dtype=bool)).tolist()
    rows = predictions.rows("token_logprob")
    units = []
    for (unit_id, split, values), in_title, end in zip(rows, titles, ended, strict=True):
        units.append(LogProbs(unit_id, split, values, in_title, end))
    return units


@dataclass(frozen=True)
class _LogPerplexity(Perplexity):
    """The logarithm of the perplexity, whose differences are ratios."""

    def of_sums(self, sums: Sums) -> Any:
        """The natural logarithm of the perplexity per token of the body."""
        return np.log(super().of_sums(sums))


def ratio(
    *, train: Predictions, texts: Predictions, seed: int, name: str, count_end: bool = True
) -> list[Record]:
    """The ratio of two models' word PPL, paired by test document, as one record.

    Both are of tokens of the body: where only one of the two read titles, their tokens are no part
    of it. Documents differ far more than models, so the interval is over resamples of documents
    that both share.

    Args:
        train: predictions of the model in the denominator.
        texts: predictions of the model in the numerator, of the same documents.
        seed, name: of the random stream of the resamples.
        count_end: as of :class:`Perplexity`.

    Raises InputError: the two read other documents.
    """
    # 1. Statistics of both models: above and below the fraction line.
    critic = _LogPerplexity(count_end=count_end)
    above_units = [unit for unit in units_from_predictions(texts) if unit.split == "test"]
    below_units = [unit for unit in units_from_predictions(train) if unit.split == "test"]
    above = critic.sufficient_statistics(above_units)
    below = critic.sufficient_statistics(below_units)
    if above.unit_ids != below.unit_ids:
        raise InputError(
            f"{name}: a ratio of perplexities needs two predictions of the same documents"
        )
    # 2. The ratio and its interval, by the difference of logarithms.
    rng = generator(seed, name, "bootstrap")
    differences = resampled_difference((critic, above), (critic, below), rng)
    low, high = np.exp(percentile_interval(differences)).tolist()
    value = float(np.exp(critic.score_of(above) - critic.score_of(below)))
    # 3. The record.
    details = {}
    for column in ("tokens", "title_tokens"):
        details[f"{column}_of_both"] = [above.total(column), below.total(column)]
    excluded = int(above.total("excluded"))
    record = Record(
        critic="",
        metric="word_ppl_ratio",
        value=value,
        low=low,
        high=high,
        better="lower",
        excluded=excluded,
        units=len(above_units) - excluded,
        signature=signature(Perplexity(count_end)),
        details=details,
    )
    return [record]
