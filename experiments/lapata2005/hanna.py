"""Every critic against people's ratings of HANNA's 96 human stories (Chhun et al. 2022, 2024): which one to trust on stories that people wrote.

``PYTHONPATH=src python experiments/lapata2005/hanna.py STORIES RATINGS`` writes measured/hanna.json.

STORIES is ``hanna_llm_stories.csv``, in which each prompt's human story stands beside those of models; RATINGS ``hanna_metric_scores_llm.csv``,
whose row ``Human`` lists the three raters' marks (1 to 5) of the same stories in the same order; other rows' stories are not in STORIES.
Critics are fitted on one half of the stories and judge the other, by seed, so that each story is judged once; what a fit judged is
ranked within its half, because two fits need not share a scale.
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
from scipy.stats import rankdata
from summeval import CONTROLS, at_equal_length, chain_values, feature_values, grid_values, language_model_values

from longform.core.artefacts import write_json
from longform.core.documents import BadInput, Corpus, Section
from longform.core.resampling import generator
from longform.core.results import rounded
from longform.datasets.text_files import hanna
from longform.evaluation.agreement import clustered_interval, correlate, krippendorff_alpha, leave_one_out
from longform.language_models.sentence_features import split_sentences

RATERS = (1, 2, 3)
LENGTH = "Text length ¤§"  # of each story, in tokens of theirs
SAME = 0.98  # correlation of lengths from which two lists are of the same stories
CRITERIA = {"CH": "coherence", "EG": "engagement", "CX": "complexity"}


def ratings(path: Path, words: np.ndarray) -> dict[str, np.ndarray]:
    """Marks of each criterion, float64 (stories, raters).

    Args:
        words: int64 (stories,), the stories' lengths: the file's own column of lengths must go with them.

    Raises:
        BadInput: no row of human stories, or lists that are not about these stories in this order.
    """
    csv.field_size_limit(2**30)  # a cell is a list of 96 numbers
    with path.open(encoding="utf-8", newline="") as lines:
        human = next((row for row in csv.DictReader(lines) if row.get("Model") == "Human"), None)
    if human is None:
        raise BadInput(f"{path}: no row Human; give HANNA's hanna_metric_scores_llm.csv")
    marks = {name: [ast.literal_eval(human[f"Human {k} {key}"]) for k in RATERS] for key, name in CRITERIA.items()}
    given = ast.literal_eval(human[LENGTH])
    if {len(row) for rows in marks.values() for row in [given, *rows]} != {len(words)}:
        raise BadInput(f"{path}: the row Human has not {len(words)} marks of each rater; give files of one release")
    if (agreement := np.corrcoef(given, words)[0, 1]) < SAME:
        raise BadInput(f"{path}: its lengths correlate with the stories' at {agreement:.3f}; give files of one release")
    return {name: np.array(rows, dtype=np.float64).T for name, rows in marks.items()}


def judged(documents: list, test: np.ndarray, language_model: bool) -> dict[str, np.ndarray]:
    """Values of all critics fitted on the stories outside ``test``, those of the language model, which is not fitted, of all stories."""
    corpus = Corpus([replace(d, split="test" if out else "train") for d, out in zip(documents, test, strict=True)])
    with tempfile.TemporaryDirectory() as scratch:
        values = grid_values(corpus, None) | feature_values(corpus, Path(scratch)) | chain_values(corpus)
        if language_model:
            values |= language_model_values(Corpus([replace(d, split="test") for d in documents]), Path(scratch))
    return values


def joined(one: np.ndarray, other: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Ranks within each half, in (0, 1): ``one`` judged the stories of ``half``, ``other`` the rest; nan stays nan."""
    ranks = np.empty(len(half))
    for values, kept in ((one, half), (other, ~half)):
        ranks[kept] = rankdata(values[kept], nan_policy="omit") / (1 + np.isfinite(values[kept]).sum())
    return ranks


def main(stories: Path, rated: Path) -> None:
    """Measure every scorer and write the figures beside this script."""
    start = time.process_time()
    told = [d for d in hanna(name="hanna", seed=0, raw=stories).documents if d.id.endswith("-human")]
    documents = [replace(d, sections=(Section(None, " ".join(s.text for s in d.sections)),)) for d in told]
    words = np.array([len(document.text.split()) for document in documents])
    marks = ratings(rated, words)
    half = generator("hanna", "halves").permutation(len(documents)) % 2 == 0
    one, other = judged(documents, half, language_model=True), judged(documents, ~half, language_model=False)
    values = {name: joined(found, other[name], half) if name in other else found for name, found in one.items()}
    sentences = [len(rows) for rows in split_sentences(documents, "rules")]
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
