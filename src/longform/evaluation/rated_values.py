"""Critics' numbers for single texts, read by mentions, topics or sentence vectors: one row per reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longform.documents import BadInput, Readout
from longform.evaluation.panels import Panel, Settings, panel
from longform.evaluation.text_values import TextValues
from longform.evaluation.written_orders import CRITICS, READINGS


def units_from_readout(readout: Readout) -> list[Any]:
    """Texts as whatever the readout holds.

    Raises:
        BadInput: it holds nothing that a critic reads.
    """
    for name, reading in READINGS.items():
        if name in readout.arrays:
            return reading(readout)
    raise BadInput(f"text values: the readout holds {sorted(readout.arrays)}, one of {sorted(READINGS)} is needed")


def text_values(*, models: Settings) -> Panel:
    """Several critics of one reading, each with its number for every text."""
    return panel(models, lambda model, **settings: TextValues(_named(CRITICS, model)(**settings)))


def _named(known: Mapping[str, Callable[..., Any]], model: str) -> Callable[..., Any]:
    if model not in known:
        raise BadInput(f"text values: critic {model!r}; allowed are {sorted(known)}; mend the row")
    return known[model]
