"""Speed of local coherence on one core: word-net measures over sentence pairs, grids and their scores.

Run ``OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/local_coherence.py``; each line is a best of three, wall seconds. Texts are
seeded and made of the planted world's nouns; parsing is no part of any line.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from longform.corpora.lexicons import Lexicon, read_lmf
from longform.corpora.orderings import Discrimination
from longform.critics.entity_grid import RoleTransitions
from longform.critics.grid_ranking import GridRanker
from longform.inference.entity_grids import Grid, grid_from_mentions, grids_from_readout, grids_to_readout
from longform.metrics.lexical import LatentSemantics, Overlap
from longform.metrics.taxonomy import Taxonomy
from longform.metrics.wordnet_relatedness import MEASURES
from longform.models.word_nets import fit
from longform.numerics import generator

DOCUMENTS, SENTENCES, NOUNS = 1000, 11, 5  # 1,000 documents of ten sentence pairs are 10,000 pairs
REPEATS = 3


def planted_lexicon() -> Lexicon:
    """The planted word net, through its file."""
    with tempfile.TemporaryDirectory() as folder:
        fit(documents=[], world="everyday").save(Path(folder))
        return read_lmf(Path(folder) / "lexicon.xml")


def mentions(lexicon: Lexicon) -> list[list[tuple[int, str, str]]]:
    """Five nouns a sentence, roles in turn; a document draws from forty nouns, so that entities recur."""
    nouns = sorted(word for word in lexicon.nouns if " " not in word)
    rows = []
    for d in range(DOCUMENTS):
        rng = generator("benchmark", d)
        pool = rng.choice(nouns, 40, replace=False)
        rows.append(
            [(i, str(w), "SOX"[k % 3]) for i in range(SENTENCES) for k, w in enumerate(rng.choice(pool, NOUNS))]
        )
    return rows


def best(work: Callable[[], object]) -> float:
    """Least wall time of a few runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print one line per measurement."""
    lexicon = planted_lexicon()
    rows = mentions(lexicon)
    grids = [grid_from_mentions(f"d{i}", "train", SENTENCES, row) for i, row in enumerate(rows)]
    words = len({entity for grid in grids for entity in grid.entities})
    print(
        f"{DOCUMENTS} documents, {DOCUMENTS * (SENTENCES - 1)} sentence pairs, {words} nouns, {len(lexicon.synsets)} synsets"
    )
    total = sum(measure_lines(lexicon, grids))
    print(f"all word-net measures, first run each: {total:.2f} s (target 20 s)")
    make = best(lambda: [grid_from_mentions(f"d{i}", "train", SENTENCES, row) for i, row in enumerate(rows)])
    pack = best(lambda: grids_from_readout(grids_to_readout(grids)))
    print(f"grids from mentions {make:.3f} s, packed and unpacked {pack:.3f} s (target 60 s for both)")
    other_lines(grids)


def measure_lines(lexicon: Lexicon, grids: list[Grid]) -> list[float]:
    """Seconds of each measure on its first run, the word tables being made within it."""
    times = []
    for name, measure in MEASURES.items():
        critic = measure(taxonomy=Taxonomy(lexicon)).fit(grids[:50])
        start = time.perf_counter()
        critic.coherence(grids)
        times.append(time.perf_counter() - start)
        print(f"{name}: {times[-1]:.2f} s")
    return times


def other_lines(grids: list[Grid]) -> None:
    """The models without a word net, and a shuffle task of twenty orders a document."""
    print(f"overlap: {best(lambda: Overlap().coherence(grids)):.3f} s")
    print(f"latent semantics, fit and score: {best(lambda: LatentSemantics().fit(grids).coherence(grids)):.3f} s")
    transitions = RoleTransitions(history=2)
    print(f"transitions, fit and score: {best(lambda: transitions.fit(grids).coherence(grids)):.3f} s")
    task = Discrimination(transitions.fit(grids))
    print(f"transitions, {21 * len(grids)} orders: {best(lambda: task.tally(grids)):.3f} s")
    print(f"ranking, fit on {20 * 200} pairs: {best(lambda: GridRanker().fit(grids[:200])):.3f} s")
    assert np.isfinite(task.score(task.tally(grids[:2])))


if __name__ == "__main__":
    main()
