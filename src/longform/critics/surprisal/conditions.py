"""One condition of an item as a model read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ConditionBits:
    """Bits and region index of each counted token, and the number of each region."""

    bits: np.ndarray
    regions: np.ndarray
    numbers: tuple[int, ...]

    def by_region(self) -> list[np.ndarray]:
        """Bits of the tokens of each region; a region without tokens is empty."""
        return [self.bits[self.regions == index] for index in range(len(self.numbers))]

    def of(self, number: int | None) -> np.ndarray:
        """Bits of the region of that number; of all regions for None."""
        return self.bits if number is None else self.bits[self.regions == self.numbers.index(number)]
