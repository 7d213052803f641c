"""Entity grids: nouns that stay a while and go, and the same sentences in disorder."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from longform.critics.entity_grid.blocks import BlockedEntityGrid, in_blocks
from longform.critics.entity_grid.score import EntityGrid, GridRanker
from longform.critics.lexical.score import LatentSemanticAnalysis, SharedNouns
from longform.critics.lexical.wordnet import HirstStOnge, JiangConrath, Lesk, Lin, Resnik
from longform.critics.neural_ranker.score import NeuralRanker, ScoredText
from longform.statistics.random_streams import generator
from longform.text.entity_grids import grid_from_mentions
from longform.text.lexicon import Taxonomy, read_lmf
from tests.critics.lexical.tiny_wordnet import write_lmf

SUBJECTS = (
    ("dog", "puppy", "cat"),
    ("house", "door", "doghouse"),
    ("day", "night", "noon"),
    ("unheard", "land"),
)


def grids():
    """Eight sentences, four on each of two subjects; the fifth document has no noun."""
    made = []
    for i in range(12):
        rng = generator("grid", i)
        order = rng.permutation(len(SUBJECTS))
        nouns = [rng.choice(SUBJECTS[order[s // 4]], 2, replace=False).tolist() for s in range(8)]
        mentions = [
            (s, noun, "SO"[k]) for s, pair in enumerate(nouns) for k, noun in enumerate(pair)
        ]
        made.append(grid_from_mentions(f"d{i}", "test", 8, [] if i == 4 else mentions))
    return made


def disordered(units):
    """First the odd sentences, then the even ones: neighbours part."""
    order = np.array([0, 2, 4, 6, 1, 3, 5, 7])
    return [replace(unit, cells=unit.cells[order]) for unit in units]


def judged(critic):
    return lambda: (critic, grids(), disordered(grids()))


def given_scores():
    """Scores that a model gave; it had none for the fifth text."""
    real = [ScoredText(f"d{i}", "test", float("nan") if i == 4 else 1.0 + i) for i in range(8)]
    return NeuralRanker(), real, [replace(unit, value=-unit.value) for unit in real]


def blocks():
    sides = [[in_blocks(grid) for grid in side] for side in (grids(), disordered(grids()))]
    return BlockedEntityGrid(), *sides


@cache
def taxonomy():
    with TemporaryDirectory() as folder:
        return Taxonomy(read_lmf(write_lmf(Path(folder) / "tiny.xml")))


def related(measure):
    return lambda: (measure(taxonomy=taxonomy()), grids(), disordered(grids()))


SAMPLES = {
    "EntityGrid": judged(EntityGrid()),
    "BlockedEntityGrid": blocks,
    "GridRanker": judged(GridRanker()),
    "SharedNouns": judged(SharedNouns()),
    "LatentSemanticAnalysis": judged(LatentSemanticAnalysis(dims=8)),
    "NeuralRanker": given_scores,
} | {kind.__name__: related(kind) for kind in (HirstStOnge, Lesk, Resnik, Lin, JiangConrath)}
