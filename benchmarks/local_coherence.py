"""Speed of local coherence on one core: word-net measures over sentence pairs, grids and their scores.

``OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/local_coherence.py [--wordnet FOLDER] [--json FILE]``. Processor seconds, so that a
busy machine matters little; word-net lines are a first run each, their word tables made within it, the others the best of three.
Texts are seeded and made of the word net's nouns; parsing is no part of any line.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longform.critics.entity_grid.score import EntityGrid, GridRanker
from longform.critics.lexical.score import LatentSemanticAnalysis, SharedNouns
from longform.critics.lexical.wordnet import MEASURES, Lesk
from longform.evaluation.order_discrimination import order_measurements
from longform.statistics.random_streams import generator
from longform.statistics.sum_scored import unit_scores
from longform.text.entity_grids import (
    Grid,
    folder_lexicon,
    grid_from_mentions,
    grids_from_predictions,
    grids_to_predictions,
)
from longform.text.lexicon import Lexicon, Taxonomy
from longform.text.permutations import ShuffleTask
from synthetic_world.lexicon import fit

DOCUMENTS, SENTENCES, NOUNS = 1000, 11, 5  # 1,000 documents of ten sentence pairs are 10,000 pairs
POOL = 40  # nouns that a document draws from, so that entities recur
VOCABULARY = (
    3000  # nouns of a large word net that the texts use, as many as a corpus of that size has
)
REPEATS = 3
EXTENDED = "lesk, extended"
TARGETS = {"word net measures": 20.0, "grids": 60.0}  # seconds


def planted_lexicon() -> Lexicon:
    """The planted word net, through its file."""
    with tempfile.TemporaryDirectory() as folder:
        fit(world="everyday").save(Path(folder))
        lexicon = folder_lexicon(Path(folder))
    assert lexicon is not None
    return lexicon


def mentions(lexicon: Lexicon) -> list[list[tuple[int, str, str]]]:
    """Five nouns a sentence, roles in turn."""
    nouns = sorted(word for word in lexicon.nouns if " " not in word)
    if len(nouns) > VOCABULARY:
        nouns = sorted(
            generator("benchmark", "vocabulary").choice(nouns, VOCABULARY, replace=False).tolist()
        )
    return [_mentions(generator("benchmark", d), nouns) for d in range(DOCUMENTS)]


def _mentions(rng: Any, nouns: list[str]) -> list[tuple[int, str, str]]:
    pool = rng.choice(nouns, POOL, replace=False)
    return [
        (i, str(w), "SOX"[k % 3])
        for i in range(SENTENCES)
        for k, w in enumerate(rng.choice(pool, NOUNS))
    ]


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least processor time of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return round(min(times), 3)


def measure_lines(lexicon: Lexicon, grids: list[Grid]) -> dict[str, float]:
    """Each measure on its first run over all documents; one word net, whose walks they share, as in a run of the study."""
    taxonomy = Taxonomy(lexicon)
    critics: dict[str, Any] = {
        name: measure(taxonomy=taxonomy) for name, measure in MEASURES.items() if name != "lesk"
    }
    critics |= {EXTENDED: Lesk(taxonomy), "lesk, plain": Lesk(taxonomy, extended=False)}
    fitted = {name: critic.fit(grids[:50]) for name, critic in critics.items()}
    return {
        name: seconds(lambda critic=critic: unit_scores(critic, grids), 1)
        for name, critic in fitted.items()
    }


def other_lines(rows: list[list[tuple[int, str, str]]], grids: list[Grid]) -> dict[str, float]:
    """Grids, the models without a word net, and a shuffle task of twenty orders a document."""
    transitions = EntityGrid(history=2)
    fitted, task = {"grid": transitions.fit(grids)}, [ShuffleTask()]
    return {
        "grids from mentions": seconds(
            lambda: [
                grid_from_mentions(f"d{i}", "train", SENTENCES, row) for i, row in enumerate(rows)
            ]
        ),
        "grids packed and unpacked": seconds(
            lambda: grids_from_predictions(grids_to_predictions(grids))
        ),
        "overlap": seconds(lambda: unit_scores(SharedNouns(), grids)),
        "latent semantics, fit and score": seconds(
            lambda: unit_scores(LatentSemanticAnalysis().fit(grids), grids)
        ),
        "transitions, fit and score": seconds(lambda: unit_scores(transitions.fit(grids), grids)),
        "transitions, 21 orders a document": seconds(
            lambda: order_measurements(fitted, grids, task)
        ),
        "ranking, fit on 200 documents": seconds(lambda: GridRanker().fit(grids[:200])),
    }


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--wordnet",
        type=Path,
        help="folder of the Princeton WordNet's data.noun; the planted net if not given",
    )
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    lexicon = planted_lexicon() if chosen.wordnet is None else folder_lexicon(chosen.wordnet)
    if lexicon is None:
        sys.exit(f"{chosen.wordnet}: no data.noun and no lexicon.xml; name a word net's folder")
    rows = mentions(lexicon)
    grids = [grid_from_mentions(f"d{i}", "train", SENTENCES, row) for i, row in enumerate(rows)]
    measures, others = measure_lines(lexicon, grids), other_lines(rows, grids)
    made = others["grids from mentions"] + others["grids packed and unpacked"]
    found = {
        "command": "OMP_NUM_THREADS=1 PYTHONPATH=src " + " ".join(["python benchmarks/local_coherence.py", *sys.argv[1:]]),
        "documents": DOCUMENTS, "sentence_pairs": DOCUMENTS * (SENTENCES - 1), "synsets": len(lexicon.synsets),
        "nouns": len({entity for grid in grids for entity in grid.entities}), "seconds": "processor time, one thread",
        "word net measures": measures,
        "five measures, lesk plain": round(sum(v for k, v in measures.items() if k != EXTENDED), 3),
        "five measures, lesk extended": round(sum(v for k, v in measures.items() if k != "lesk, plain"), 3),
        "others": others, "grids": round(made, 3), "targets": TARGETS,
    }  # fmt: skip
    text = json.dumps(found, indent=1)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
