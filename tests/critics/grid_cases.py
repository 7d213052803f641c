"""Grids written as columns."""

import numpy as np

from longform.text.entity_grids import Grid, grid_from_mentions


def grid(*columns: str, unit: str = "u", split: str = "test") -> Grid:
    """``grid("SS--", "O---")``: four sentences, two entities e0 and e1; no column gives an empty grid."""
    cells = [["SOX-".index(role) for role in column] for column in columns]
    names = tuple(f"e{i}" for i in range(len(columns)))
    length = len(columns[0]) if columns else 0
    return Grid(unit, split, names, np.array(cells, dtype=np.uint8).reshape(len(columns), length).T)


def nouns(*sentences: str, name: str = "u") -> Grid:
    """A grid of sentences given as their nouns: ``nouns("dog cat", "cat")``."""
    mentions = [(i, noun, "X") for i, text in enumerate(sentences) for noun in text.split()]
    return grid_from_mentions(name, "test", len(sentences), mentions)
