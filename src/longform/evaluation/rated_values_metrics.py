"""Metrics' numbers for single texts, of token log probabilities or of words: one row per reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longform.critics.perplexity import score as likelihood
from longform.critics.repetition import score as repetition
from longform.documents import BadInput, Readout
from longform.evaluation.panels import Panel, Settings, panel
from longform.evaluation.text_values import TextValues

METRICS: Mapping[str, Callable[..., Any]] = {
    "likelihood": likelihood.Perplexity,
    "repeated_grams": repetition.RepeatedGrams,
    "distinct_grams": repetition.DistinctGrams,
}


def units_from_readout(readout: Readout) -> list[Any]:
    """Log probabilities where the readout has them, else words."""
    return (likelihood if "token_logprob" in readout.arrays else repetition).units_from_readout(readout)


def text_values(*, models: Settings) -> Panel:
    """Several metrics of one reading, each with its number for every text.

    Raises:
        BadInput: no such metric.
    """

    def make(model: str, **settings: Any) -> TextValues:
        if model not in METRICS:
            raise BadInput(f"text values: metric {model!r}; allowed are {sorted(METRICS)}; mend the row")
        return TextValues(METRICS[model](**settings))

    return panel(models, make)
