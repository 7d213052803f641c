"""What another reading of wikitext changes downstream: Table 11, Latent PPL of titles and entity grids of one dump, as JSON.

    git worktree add BEFORE a5734e11
    PYTHONPATH=src python experiments/deng2022/wikitext_downstream.py DUMP.bz2 --before BEFORE/src \
        --out experiments/deng2022/measured/wikitext_downstream.json

Both readers read the dump in processes of their own; filters, sentences, nouns and critics are those of this commit for both, so that
the wikitext alone differs. The filters are the paper's but for ``min_title_count``: 1, since no title of so small a dump is frequent.
Latent PPL is of the titles of the articles that pass, under an add-one bigram fitted on the same articles.
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
    """Shards of the dump as the package in ``source`` reads it."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    subprocess.run(
        [sys.executable, "-c", EXTRACT, str(dump), str(folder)], env=environment, check=True
    )
    return folder


def grids_of(corpus: Corpus) -> dict[str, Grid]:
    """Entity grids by rules, by article."""
    return {grid.unit_id: grid for grid in found_grids(corpus.documents, NounRules().mentions)}


def latent_ppl(corpus: Corpus) -> float:
    """Perplexity of the titles' order under an add-one bigram of the same articles."""
    chains = []
    for document in corpus.documents:
        titles = tuple(section.title or "" for section in document.sections)
        chains.append(Chain(document.id, document.split, titles))
    logs = BigramCritic(delta=1.0).fit(chains).part_values(chains)
    return float(np.exp(-np.mean(np.concatenate(logs))))


def described(folder: Path, corpus: Corpus) -> dict[str, Any]:
    """The numbers of one reading."""
    texts = [section.text for document in Shards(folder) for section in document.sections]
    grids = grids_of(corpus)
    return {
        "characters": sum(len(text) for text in texts),
        "sentences": sum(len(sentence_texts(from_lines(text))) for text in texts),
        "struck_sentences": sum(corpus.facts["struck_sentences"].values()),
        "table_11": corpus.facts["table_11"],
        "dropped": dict(sorted(corpus.facts["dropped"].items())),
        "kept": corpus.facts["kept"],
        "latent_ppl_of_titles": latent_ppl(corpus),
        "grid_entities": sum(len(grid.entities) for grid in grids.values()),
        "grid_sentences": sum(len(grid.cells) for grid in grids.values()),
    }


def compared(before: tuple[Path, Corpus], after: tuple[Path, Corpus]) -> dict[str, Any]:
    """What differs between two readings, article by article."""
    titles = [
        {d.id: [s.title for s in d.sections] for d in Shards(folder)}
        for folder, _ in (before, after)
    ]
    first, second = grids_of(before[1]), grids_of(after[1])
    both = sorted(first.keys() & second.keys())
    changed = [
        unit
        for unit in both
        if first[unit].entities != second[unit].entities
        or not np.array_equal(first[unit].cells, second[unit].cells)
    ]
    return {
        "articles_whose_titles_changed": sum(
            titles[0][unit] != titles[1].get(unit) for unit in titles[0]
        ),
        "articles_kept_by_both": len(both),
        "grids_changed": len(changed),
    }


def main() -> None:
    """Measure and print, or write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("dump", type=Path)
    parser.add_argument(
        "--before", type=Path, required=True, help="src folder of the commit to compare with"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    readings = {}
    with tempfile.TemporaryDirectory() as place:
        for name, source in (
            ("before", options.before),
            ("after", Path(__file__).parents[2] / "src"),
        ):
            folder = extracted(options.dump, Path(place) / name, source)
            readings[name] = (
                folder,
                build(name="wiki", seed=0, raw=folder, filters={"min_title_count": 1}),
            )
        report: dict[str, Any] = {name: described(*reading) for name, reading in readings.items()}
        report["compared"] = compared(readings["before"], readings["after"])
    report["dump"] = options.dump.name
    text = json.dumps(report, indent=2) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
