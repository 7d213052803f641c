"""Speed of local coherence on one core: word-net measures over sentence pairs, grids and scores.

``OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/local_coherence.py [--wordnet FOLDER] [--json
FILE]``. Processor seconds, so that a busy machine matters little; word-net lines are a first run
each, their word tables made within it, the others the best of three. Texts are seeded and made of
the word net's nouns; parsing is no part of any line.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
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
from synthetic_world.lexicon import fit as world_word_net

DOCUMENTS, SENTENCES, NOUNS = 1000, 11, 5  # 1,000 documents of ten sentence pairs are 10,000 pairs
POOL = 40  # nouns that a document draws from, so that entities recur
# Nouns of a large word net that the texts use, as many as a corpus of that size has.
VOCABULARY = 3000
REPEATS = 3
EXTENDED, PLAIN = "lesk, extended", "lesk, plain"
TARGETS = {"word net measures": 20.0, "grids": 60.0}  # seconds
Mentions = list[tuple[int, str, str]]  # sentence, noun and role


def planted_lexicon() -> Lexicon:
    """The synthetic world's word net (nouns, senses, hypernyms): written as a file, and read back.

    Nothing is learnt; critics get their :class:`Lexicon` from such a file.
    """
    with tempfile.TemporaryDirectory() as folder:
        world_word_net(world="everyday").save(Path(folder))
        lexicon = folder_lexicon(Path(folder))
    assert lexicon is not None  # it is where a folder has no word net
    return lexicon


def mentions(lexicon: Lexicon) -> list[Mentions]:
    """Random mentions of each document: five nouns a sentence, with the roles in turn."""
    nouns = sorted(word for word in lexicon.nouns if " " not in word)
    if len(nouns) > VOCABULARY:
        rng = generator("benchmark", "vocabulary")
        nouns = sorted(rng.choice(nouns, VOCABULARY, replace=False).tolist())
    return [_mentions(generator("benchmark", number), nouns) for number in range(DOCUMENTS)]


def _mentions(rng: Any, nouns: list[str]) -> Mentions:
    """Mentions of one document, whose nouns are drawn from a pool of its own."""
    pool = rng.choice(nouns, POOL, replace=False)
    document = []
    for sentence in range(SENTENCES):
        for position, noun in enumerate(rng.choice(pool, NOUNS)):
            document.append((sentence, str(noun), "SOX"[position % 3]))
    return document


def grids_of(documents: list[Mentions]) -> list[Grid]:
    """An entity grid of each document."""
    grids = []
    for number, document in enumerate(documents):
        grids.append(grid_from_mentions(f"d{number}", "train", SENTENCES, document))
    return grids


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least processor seconds of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return round(min(times), 3)


def measure_lines(lexicon: Lexicon, grids: list[Grid]) -> dict[str, float]:
    """Processor seconds of each word-net measure on its first run over all documents.

    They share the walks of one word net, as in a run of the study.
    """
    taxonomy = Taxonomy(lexicon)
    critics: dict[str, Any] = {}
    for name, measure in MEASURES.items():
        if name != "lesk":
            critics[name] = measure(taxonomy=taxonomy)
    critics[EXTENDED] = Lesk(taxonomy)
    critics[PLAIN] = Lesk(taxonomy, extended=False)
    fitted = {name: critic.fit(grids[:50]) for name, critic in critics.items()}
    times = {}
    for name, critic in fitted.items():
        times[name] = seconds(partial(unit_scores, critic, grids), 1)
    return times


def other_lines(documents: list[Mentions], grids: list[Grid]) -> dict[str, float]:
    """Seconds of grids, of the models without a word net, and of 20 orders of each document."""
    transitions, semantics = EntityGrid(history=2), LatentSemanticAnalysis()
    fitted, task = {"grid": transitions.fit(grids)}, [ShuffleTask()]
    works: dict[str, Callable[[], object]] = {
        "grids from mentions": lambda: grids_of(documents),
        "grids packed and unpacked": lambda: grids_from_predictions(grids_to_predictions(grids)),
        "overlap": lambda: unit_scores(SharedNouns(), grids),
        "latent semantics, fit and score": lambda: unit_scores(semantics.fit(grids), grids),
        "transitions, fit and score": lambda: unit_scores(transitions.fit(grids), grids),
        "transitions, 21 orders a document": lambda: order_measurements(fitted, grids, task),
        "ranking, fit on 200 documents": lambda: GridRanker().fit(grids[:200]),
    }
    return {name: seconds(work) for name, work in works.items()}


def main() -> None:
    """Time every piece of work and print the seconds; ``--json`` writes them too."""
    parser = argparse.ArgumentParser(description=__doc__)
    wordnet = "folder of data.noun (Princeton) or lexicon.xml; the planted net if not given"
    parser.add_argument("--wordnet", type=Path, help=wordnet)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    # The word net, and texts of its nouns.
    lexicon = planted_lexicon() if options.wordnet is None else folder_lexicon(options.wordnet)
    if lexicon is None:
        sys.exit(f"{options.wordnet}: no data.noun and no lexicon.xml; name a word net's folder")
    documents = mentions(lexicon)
    grids = grids_of(documents)
    entities: set[str] = set()
    for grid in grids:
        entities.update(grid.entities)
    # Seconds of each measure and of the other steps; five measures have one of the two lesks.
    measures = measure_lines(lexicon, grids)
    others = other_lines(documents, grids)
    seconds_of_grids = others["grids from mentions"] + others["grids packed and unpacked"]
    seconds_of_measures = sum(measures.values())
    command = " ".join(["python benchmarks/local_coherence.py", *sys.argv[1:]])
    results = {
        "command": f"OMP_NUM_THREADS=1 PYTHONPATH=src {command}",
        "documents": DOCUMENTS,
        "sentence_pairs": DOCUMENTS * (SENTENCES - 1),
        "synsets": len(lexicon.synsets),
        "nouns": len(entities),
        "seconds": "processor time, one thread",
        "word net measures": measures,
        "five measures, lesk plain": round(seconds_of_measures - measures[EXTENDED], 3),
        "five measures, lesk extended": round(seconds_of_measures - measures[PLAIN], 3),
        "others": others,
        "grids": round(seconds_of_grids, 3),
        "targets": TARGETS,
    }
    text = json.dumps(results, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
