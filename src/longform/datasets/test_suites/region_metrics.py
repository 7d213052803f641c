"""How the surprisals of a region's tokens become its value (syntaxgym-core, metrics of a region; beyer2021 equation 2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

METRICS: dict[str, Callable[[np.ndarray], float]] = {
    "sum": lambda bits: float(bits.sum()),
    "mean": lambda bits: float(bits.mean()),
    "median": lambda bits: float(np.median(bits)),
    "range": lambda bits: float(np.ptp(bits)),
    "max": lambda bits: float(bits.max()),
    "min": lambda bits: float(bits.min()),
}
