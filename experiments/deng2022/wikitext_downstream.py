"""Measure what another reader of wikitext changes downstream.

    git worktree add BEFORE a5734e11
    PYTHONPATH=src python experiments/deng2022/wikitext_downstream.py DUMP.bz2 \\
        --before BEFORE/src --out experiments/deng2022/measured/wikitext_downstream.json

Table 11, Latent PPL of titles and entity grids of one dump. Both readers read the dump in processes
of their own; filters, sentences, nouns and critics are those of this commit for both, so that the
wikitext alone differs. The filters are the paper's but for ``min_title_count``: 1, since no title
of so small a dump is frequent.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.wikipedia.building import Shards, build
from longform.documents import Chain, Corpus
from longform.statistics.markov_chain import BigramCritic
from longform.text.entity_grids import Grid, found_grids
from longform.text.nouns import NounRules
from longform.text.paragraphs import from_lines
from longform.text.sentences import sentence_texts

EXTRACT = """
import sys
from pathlib import Path
from longform.datasets.wikipedia.building import extract
extract(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def extracted(dump: Path, folder: Path, source: Path) -> Path:
    """Read the dump with the package in ``source``; returns the folder of shards."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    subprocess.run(
        [sys.executable, "-c", EXTRACT, str(dump), str(folder)], env=environment, check=True
    )
    return folder


def grids_of(corpus: Corpus) -> dict[str, Grid]:
    """Entity grids of a corpus by rules for nouns and roles, by article."""
    return {grid.unit_id: grid for grid in found_grids(corpus.documents, NounRules().mentions)}


def latent_ppl(corpus: Corpus) -> float:
    """Perplexity of the order of section titles, per transition over all articles and splits.

    The add-one bigram is fitted on the titles that it scores. An article's transitions include
    those from its begin symbol and to its end symbol.
    """
    chains = []
    for document in corpus.documents:
        titles = tuple(section.title or "" for section in document.sections)
        chains.append(Chain(document.id, document.split, titles))
    # For each article the log-probability of each transition, nats, (titles + 1,).
    logs = BigramCritic(delta=1.0).fit(chains).part_values(chains)
    return float(np.exp(-np.mean(np.concatenate(logs))))


def described(folder: Path, corpus: Corpus) -> dict[str, Any]:
    """The numbers of one reading: sizes of its shards, of the filtered corpus and of its grids."""
    num_characters = num_sentences = 0
    for document in Shards(folder):
        for section in document.sections:
            num_characters += len(section.text)
            num_sentences += len(sentence_texts(from_lines(section.text)))
    grids = grids_of(corpus).values()
    return {
        "characters": num_characters,
        "sentences": num_sentences,
        "struck_sentences": sum(corpus.facts["struck_sentences"].values()),
        "table_11": corpus.facts["table_11"],
        "dropped": dict(sorted(corpus.facts["dropped"].items())),
        "kept": corpus.facts["kept"],
        "latent_ppl_of_titles": latent_ppl(corpus),
        "grid_entities": sum(len(grid.entities) for grid in grids),
        "grid_sentences": sum(len(grid.cells) for grid in grids),
    }


def titles_of(folder: Path) -> dict[str, list[str | None]]:
    """The section titles of each article of a reading."""
    titles = {}
    for document in Shards(folder):
        titles[document.id] = [section.title for section in document.sections]
    return titles


def compared(before: tuple[Path, Corpus], after: tuple[Path, Corpus]) -> dict[str, Any]:
    """Number of articles in which two readings, (folder of shards, corpus) each, differ."""
    titles, other_titles = titles_of(before[0]), titles_of(after[0])
    num_titles_changed = 0
    for unit, of_article in titles.items():
        num_titles_changed += of_article != other_titles.get(unit)
    grids, other_grids = grids_of(before[1]), grids_of(after[1])
    both = grids.keys() & other_grids.keys()
    num_grids_changed = 0
    for unit in both:
        num_grids_changed += not _equal(grids[unit], other_grids[unit])
    return {
        "articles_whose_titles_changed": num_titles_changed,
        "articles_kept_by_both": len(both),
        "grids_changed": num_grids_changed,
    }


def _equal(grid: Grid, other: Grid) -> bool:
    """Whether two grids have the same entities in the same roles."""
    return grid.entities == other.entities and np.array_equal(grid.cells, other.cells)


def main() -> None:
    """Measure and print, or write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("dump", type=Path)
    parser.add_argument(
        "--before", type=Path, required=True, help="src folder of the commit to compare with"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    # 1. The dump as either reads it.
    sources = {"before": options.before, "after": Path(__file__).parents[2] / "src"}
    readings = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, source in sources.items():
            folder = extracted(options.dump, Path(scratch) / name, source)
            corpus = build(name="wiki", seed=0, raw=folder, filters={"min_title_count": 1})
            readings[name] = (folder, corpus)
        # 2. Its numbers, and what differs.
        report: dict[str, Any] = {}
        for name, reading in readings.items():
            report[name] = described(*reading)
        report["compared"] = compared(readings["before"], readings["after"])
    report["dump"] = options.dump.name
    text = json.dumps(report, indent=2) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
