"""Tokens of generated texts, each with the human text in its place, as they travel to the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.core.documents import Readout


@dataclass(frozen=True)
class TokenText:
    """Tokens of one generation, and of the human text in its place, int (tokens,) each."""

    unit_id: str
    split: str
    tokens: np.ndarray
    reference: np.ndarray


def texts_to_readout(units: Sequence[TokenText]) -> Readout:
    """Pack token texts for ``data/inference``."""
    arrays = {}
    for name, rows in (("token", [u.tokens for u in units]), ("reference", [u.reference for u in units])):
        arrays[name] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows] or [np.zeros(0, np.int64)])
        arrays[f"{name}_lengths"] = np.array([len(row) for row in rows], dtype=np.int64)
    return Readout(tuple(unit.unit_id for unit in units), tuple(unit.split for unit in units), arrays)
