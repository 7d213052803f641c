"""What the world is made of.

Named random generators, numbers drawn in blocks, and the tables in the YAML files of ``data/``.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from longform.files.artefacts import read_yaml
from longform.statistics.random_streams import generator

T = TypeVar("T")
BLOCK = 512


def stream(*names: object) -> np.random.Generator:
    """The generator of one part of the world.

    "planted" is in the name of every draw, another word is another world.
    """
    return generator("planted", *names)


class Draws:
    """A stream of choices from one generator; equal generators make equal choices."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._buffer: list[float] = []

    def uniform(self) -> float:
        """The next number in [0, 1)."""
        if not self._buffer:
            self._buffer = self.rng.random(BLOCK).tolist()
        return self._buffer.pop()

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, each equally likely."""
        return items[int(self.uniform() * len(items))]

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.uniform() * (high - low + 1))

    def index(self, cumulative: Sequence[float]) -> int:
        """An index drawn from cumulative probabilities whose last entry is one."""
        return min(bisect_right(cumulative, self.uniform()), len(cumulative) - 1)


FOLDER = Path(__file__).parent / "data"


@cache
def table(name: str) -> Any:
    """What ``data/<name>.yaml`` holds, read once."""
    return read_yaml(FOLDER / f"{name}.yaml")


def lists(rows: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Rows of words that blanks separate, as tuples."""
    return {key: tuple(words.split()) for key, words in rows.items()}
