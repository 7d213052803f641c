"""Memory and time of the fact checker's page retrieval, on synthetic pages of FEVER's size (five lines, about 95 words).

``PYTHONPATH=src python benchmarks/fact_retrieval.py --pages N [--in-memory] [--json FILE]`` writes N pages into a folder with their
index, opens it in a process of its own and retrieves for 200 claims. Words are drawn by Zipf's law from 200,000, and every page has
a title of two names that half of the claims name. ``--in-memory`` measures instead what was done before there was an index on disk: pages
as a dictionary, all their BM25 weights in memory, every page scored; its digest of what was found must be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

WORDS, LINES, LENGTH, CLAIMS, PART = 200_000, 5, 19, 200, 1000


def drawn(seed: list[int], shape: tuple[int, ...]) -> np.ndarray:
    """Ranks of words, by Zipf's law."""
    uniform = np.random.default_rng(seed).random(shape)
    return np.exp(uniform * np.log(WORDS)).astype(np.int64)


def title(number: int) -> str:
    """Two names; a name is shared by many pages."""
    return f"Name{number % 997} Place{number // 7}"


def made_pages(count: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Pages, the same ones for every count that has them."""
    for start in range(0, count, PART):
        ranks = drawn([1, start], (PART, LINES, LENGTH)).tolist()
        for offset, lines in enumerate(ranks[: count - start]):
            name = title(start + offset)
            yield name, tuple(f"{name} {' '.join(f'w{rank}' for rank in line)} ." for line in lines)


def made_claims(count: int, claims: int = CLAIMS) -> list[str]:
    """Claims of twelve words; every second one names a page."""
    numbers = np.random.default_rng(2).integers(count, size=claims).tolist()
    ranks = drawn([3], (claims, 12)).tolist()
    named = (title(number) if place % 2 else f"Name{number % 997}" for place, number in enumerate(numbers))
    return [f"{name} {' '.join(f'w{rank}' for rank in row)} ." for name, row in zip(named, ranks, strict=True)]
