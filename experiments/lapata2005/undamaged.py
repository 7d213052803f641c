"""Do entity grid and LSA go together where nothing was damaged?

    PYTHONPATH=src python experiments/lapata2005/undamaged.py \\
        --out experiments/lapata2005/measured/undamaged.json

The paper finds no correlation between the two over summaries (section 5.2). Over all versions of
the synthetic summaries there is one; if the planted corruptions make it, and not the texts, it must
be absent among versions of severity 0. Needs a finished run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from longform.documents import Corpus
from longform.evaluation.agreement import clustered_interval, correlate
from longform.files.artefacts import read_corpus
from longform.results import read_results
from longform.statistics.random_streams import generator

SCORERS = ("grid_transitions", "latent_semantics")
RESAMPLES = 5000


def text_values(data: Path, corpus: Corpus) -> list[np.ndarray]:
    """The scores of all documents of a corpus by each of ``SCORERS``, float64 (documents,)."""
    records = read_results(data / "scores" / "articles")
    records = records.where(metric="text_values", corpus="summaries")
    columns = []
    for scorer in SCORERS:
        details = records.one(task=scorer).details
        value_of = dict(zip(details["unit_ids"], details["values"], strict=True))
        column = [value_of[document.id] for document in corpus.documents]
        columns.append(np.array(column, dtype=np.float64))
    return columns


def main() -> None:
    """Write the scorers' correlation with each other, for all versions and by severity.

    95 % intervals resample articles.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    # 1. Which texts are compared.
    corpus = read_corpus(arguments.data / "corpora" / "articles" / "summaries")
    columns = text_values(arguments.data, corpus)
    severity = np.asarray(corpus.truth["severity"])
    articles = np.asarray(corpus.truth["cluster"])
    groups = {"all": np.ones(len(severity), dtype=bool)}
    for level in np.unique(severity):
        groups[f"severity {level:g}"] = severity == level
    # 2. The correlation of the two scorers on each group.
    correlations = {}
    for name, group in groups.items():
        grid, lsa = (column[group] for column in columns)
        rng = generator("undamaged", name)
        clusters = articles[group].tolist()
        low, high = clustered_interval(
            "pearson", grid, lsa, clusters=clusters, rng=rng, resamples=RESAMPLES
        )
        correlations[name] = {
            "pearson": correlate("pearson", grid, lsa).value,
            "low": low,
            "high": high,
            "texts": int(group.sum()),
        }
        print(name, correlations[name])
    text = json.dumps({"scorers": SCORERS, "correlations": correlations}, indent=1)
    arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
