"""Relations between clauses: the sense is drawn first, then where it stands, a connective by sense, and its clause."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from longform.datasets.synthetic_world.tables import table

_TABLE = table("discourse")
SENSES, SENSE_PROBABILITIES = tuple(_TABLE["senses"]), tuple(_TABLE["senses"].values())
CUMULATIVE_SENSES = list(accumulate(SENSE_PROBABILITIES))
CONNECTIVES = ("", *_TABLE["connectives"].split())
INSIDE, ACROSS = (
    {sense: (list(row), list(accumulate(row.values()))) for sense, row in _TABLE[place].items()}
    for place in ("inside", "across")
)  # by sense: connectives and their cumulative probabilities
CLAUSES = {sense: block.splitlines() for sense, block in _TABLE["clauses"].items()}
ACROSS_PROBABILITY = 0.5  # of a clause without persons that may open with a connective
ALIKE = {"contrast": ("contrast", "concession"), "concession": ("contrast", "concession")}  # told apart by no reader
COMMA_SENSES = ("contrast", "concession")  # ", although" but " because"


def connective_probabilities() -> np.ndarray:
    """P(connective | place, sense): float64, (inside or across, senses, connectives); undefined rows are zero."""
    values = np.zeros((2, len(SENSES), len(CONNECTIVES)))
    for place, name in enumerate(("inside", "across")):
        for sense, row in _TABLE[name].items():
            for connective, probability in row.items():
                values[place, SENSES.index(sense), CONNECTIVES.index(connective)] = probability
    return values


def wrong_connectives(sense: int, across: bool) -> list[int]:
    """Connectives of the same place in the sentence that never stand for the sense or for one like it."""
    probabilities = connective_probabilities()[int(across)]
    alike = [SENSES.index(name) for name in ALIKE.get(SENSES[sense], (SENSES[sense],))]
    used, right = probabilities.any(axis=0), probabilities[alike].any(axis=0)
    return np.flatnonzero(used & ~right).tolist()
