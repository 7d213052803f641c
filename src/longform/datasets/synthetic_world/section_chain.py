"""Section titles as a Markov chain with begin and end: sample it; its Latent PPL in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from longform.core.documents import BadInput
from longform.datasets.synthetic_world.draws import Draws

MAX_SECTIONS = 40  # reached with probability below 1e-9 in every domain; a longer chain is a mistake in the table


@dataclass(frozen=True)
class SectionChain:
    """A sparse first-order chain over section types.

    Attributes:
        types: section titles.
        transitions: float64, (types + 1, types + 1); row 0 is begin and row 1 + i type i, column j type j and the
            last column the end. A zero is a forbidden transition.
    """

    types: tuple[str, ...]
    transitions: np.ndarray

    @classmethod
    def from_table(cls, table: Mapping[str, Mapping[str, float]]) -> SectionChain:
        """Rows ``begin`` and one per type; columns are types and ``end``; each row sums to one."""
        types = tuple(name for name in table if name != "begin")
        matrix = np.array([[table[row].get(column, 0.0) for column in (*types, "end")] for row in ("begin", *types)])
        if not np.allclose(matrix.sum(axis=1), 1.0, atol=1e-12):
            raise BadInput(f"rows of the section chain sum to {matrix.sum(axis=1)}, allowed is 1; fix the table")
        return cls(types, matrix)

    @cached_property
    def _cumulative(self) -> list[list[float]]:
        return np.cumsum(self.transitions, axis=1).tolist()

    def sample(self, draws: Draws) -> list[int]:
        """Indices of types from begin to end, both left out."""
        chain: list[int] = []
        row = 0
        while len(chain) < MAX_SECTIONS:
            row = draws.index(self._cumulative[row]) + 1
            if row > len(self.types):
                break
            chain.append(row - 1)
        return chain

    def latent_ppl(self) -> float:
        r"""$\exp(E[-\log P(z)] / E[M + 1])$: all M + 1 transitions, begin and end included, corpus average.

        Begin and each type are visited $e_0 (I - Q)^{-1}$ times in expectation, Q being the transitions but to the end.
        """
        size = len(self.types) + 1
        inner = np.zeros((size, size))
        inner[:, 1:] = self.transitions[:, :-1]
        visits = np.linalg.solve((np.eye(size) - inner).T, np.eye(size)[0])
        logs = np.log(self.transitions, out=np.zeros_like(self.transitions), where=self.transitions > 0)
        entropy = -(self.transitions * logs).sum(axis=1)
        return math.exp(float(visits @ entropy) / float(visits.sum()))
