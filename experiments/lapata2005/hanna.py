"""Every critic against people's ratings of HANNA's 96 human stories (Chhun et al. 2022, 2024): which one to trust on stories that people wrote.

``PYTHONPATH=src python experiments/lapata2005/hanna.py STORIES RATINGS`` writes measured/hanna.json.

STORIES is ``hanna_llm_stories.csv``, in which each prompt's human story stands beside those of models; RATINGS ``hanna_metric_scores_llm.csv``,
whose row ``Human`` lists the three raters' marks (1 to 5) of the same stories in the same order; other rows' stories are not in STORIES.
Critics are fitted on one half of the stories and judge the other, by seed, so that each story is judged once.
"""

from __future__ import annotations

import ast
import csv
import os
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from summeval import CONTROLS, at_equal_length, chain_values, feature_values, grid_values, language_model_values

from longform.core.artefacts import write_json
from longform.core.documents import BadInput, Corpus, Section
from longform.core.resampling import generator
from longform.core.results import rounded
from longform.datasets.text_files import hanna
from longform.evaluation.agreement import clustered_interval, correlate, krippendorff_alpha, leave_one_out
from longform.language_models.sentence_features import split_sentences

RATERS = (1, 2, 3)
CRITERIA = {"CH": "coherence", "EG": "engagement", "CX": "complexity"}


def ratings(path: Path) -> dict[str, np.ndarray]:
    """Marks of each criterion, float64 (stories, raters). Raises BadInput: no row of human stories, or lists that differ in length."""
    csv.field_size_limit(2**30)  # a cell is a list of 96 numbers
    with path.open(encoding="utf-8", newline="") as lines:
        human = next((row for row in csv.DictReader(lines) if row.get("Model") == "Human"), None)
    if human is None:
        raise BadInput(f"{path}: no row Human; give HANNA's hanna_metric_scores_llm.csv")
    marks = {name: [ast.literal_eval(human[f"Human {k} {key}"]) for k in RATERS] for key, name in CRITERIA.items()}
    if len({len(row) for rows in marks.values() for row in rows}) > 1:
        raise BadInput(f"{path}: raters' lists of the row Human differ in length; fetch the file again")
    return {name: np.array(rows, dtype=np.float64).T for name, rows in marks.items()}


def judged(documents: list, test: np.ndarray, language_model: bool) -> dict[str, np.ndarray]:
    """Values of all critics fitted on the stories outside ``test``; nan outside it."""
    corpus = Corpus([replace(d, split="test" if out else "train") for d, out in zip(documents, test, strict=True)])
    with tempfile.TemporaryDirectory() as scratch:
        values = grid_values(corpus, None) | feature_values(corpus, Path(scratch)) | chain_values(corpus)
        if language_model:
            values |= language_model_values(Corpus([replace(d, split="test") for d in documents]), Path(scratch))
    return values


def main(stories: Path, rated: Path) -> None:
    """Measure every scorer and write the figures beside this script."""
    start = time.process_time()
    told = [d for d in hanna(name="hanna", seed=0, raw=stories).documents if d.id.endswith("-human")]
    documents = [replace(d, sections=(Section(None, " ".join(s.text for s in d.sections)),)) for d in told]
    marks = ratings(rated)
    if len(documents) != len(marks["coherence"]):
        raise BadInput(
            f"{len(documents)} human stories and {len(marks['coherence'])} ratings; give files of one release"
        )
    half = generator("hanna", "halves").permutation(len(documents)) % 2 == 0
    one, other = judged(documents, half, language_model=True), judged(documents, ~half, language_model=False)
    values = {name: np.where(half, found, other.get(name, found)) for name, found in one.items()}
    sentences = [len(rows) for rows in split_sentences(documents, "rules")]
    words = [len(document.text.split()) for document in documents]
    values |= dict(zip(CONTROLS, np.array([sentences, words], dtype=np.float64), strict=True))
    lengths, clusters = np.column_stack([values[name] for name in CONTROLS]), np.arange(len(documents))
    record: dict = {
        "command": "PYTHONPATH=src python experiments/lapata2005/hanna.py STORIES RATINGS",
        "stories": len(documents),
    }
    for criterion, given in marks.items():
        people, agreed, rows = given.mean(axis=1), leave_one_out(given.T, generator("hanna", criterion, "raters")), {}
        for name, found in values.items():
            cell = asdict(correlate("spearman", found, people))
            rng = generator("hanna", criterion, name)
            cell["low"], cell["high"] = clustered_interval("spearman", found, people, clusters, rng, 1000)
            rows[name] = {"spearman": cell}
            if name not in CONTROLS:
                rng = generator("hanna", criterion, name, "equal length")
                rows[name]["spearman at equal length"] = at_equal_length(found, people, lengths, clusters, rng)
        raters = {"leave_one_out": [agreed.value, agreed.low, agreed.high], "alpha": krippendorff_alpha(given.T)}
        record[criterion] = {"raters": raters, "models": rows}
        print(criterion, raters)
        for name, cells in rows.items():
            shown = (f"{c['value']:+.3f} [{c['low']:+.3f}, {c['high']:+.3f}]" for c in cells.values())
            print(f"| {name} | " + " | ".join(shown) + " |")
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    write_json(Path(__file__).parent / "measured" / "hanna.json", rounded(record))


if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if len(sys.argv) != 3:
        sys.exit("usage: hanna.py STORIES RATINGS")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
