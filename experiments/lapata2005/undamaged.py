"""Do entity grid and LSA go together where nothing was damaged? Their correlation over the versions of each severity.

    PYTHONPATH=src python experiments/lapata2005/undamaged.py --out experiments/lapata2005/measured/undamaged.json

The paper finds no correlation between the two over summaries (section 5.2). Over all versions of the synthetic summaries there is one; if
the planted corruptions make it, and not the texts, it must be absent among versions of severity 0. Reads a finished run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from longform.evaluation.agreement import clustered_interval, correlate
from longform.files.artefacts import read_corpus
from longform.results import read_results
from longform.statistics.random_streams import generator

SCORERS = ("grid_transitions", "latent_semantics")


def main() -> None:
    """Correlations with 95 % intervals that resample articles, for all versions and by severity."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    corpus = read_corpus(given.data / "corpora" / "articles" / "summaries")
    records = read_results(given.data / "scores" / "articles").where(
        metric="text_values", corpus="summaries"
    )
    columns = []
    for scorer in SCORERS:
        details = records.one(task=scorer).details
        values = dict(zip(details["unit_ids"], details["values"], strict=True))
        columns.append(
            np.array([values[document.id] for document in corpus.documents], dtype=np.float64)
        )
    severity, sources = np.asarray(corpus.truth["severity"]), np.asarray(corpus.truth["cluster"])
    chosen = {"all": np.ones(len(severity), dtype=bool)}
    chosen |= {f"severity {level:g}": severity == level for level in np.unique(severity)}
    found = {}
    for name, kept in chosen.items():
        sides = [column[kept] for column in columns]
        low, high = clustered_interval(
            "pearson", *sides, sources[kept].tolist(), generator("undamaged", name), 5000
        )
        found[name] = {
            "pearson": correlate("pearson", *sides).value,
            "low": low,
            "high": high,
            "texts": int(kept.sum()),
        }
        print(name, found[name])
    given.out.write_text(
        json.dumps({"scorers": SCORERS, "correlations": found}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
