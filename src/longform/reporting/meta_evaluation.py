"""Every scorer against rated texts: correlation with mean marks, and tests between scorers.

The marks of a planted corpus are SIMULATED raters' and fall with the dose of a planted failure. Score rows hold panels whose
members keep a value for each text; values are turned so that higher is better, as the scorer itself says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import BadInput
from longform.evaluation.agreement import clustered_interval, correlate, leave_one_out
from longform.evaluation.human_ratings import better_scorers
from longform.reporting.layout import Cell, Table
from longform.resampling import generator

DISTANCES = {"jiang_conrath"}  # lower is better, though its row's correlation keeps the sign (lapata2005 section 5.2)
LEVEL = 0.05  # of significance, before and after Holm's correction
RESAMPLES = 500


def meta_evaluation(*, scores: Mapping[str, Any], expected: Mapping[str, Any], data: Path, corpus: str) -> Table:
    """One row per scorer: r and rho with mean marks, intervals over clusters; and who beats whom.

    Args:
        corpus: the rated corpus that all rows are about.

    Raises:
        BadInput: a row about other texts, or a corpus without marks.
    """
    marks, clusters = _marks(data / "corpora" / corpus)
    columns = _columns(scores, list(marks))
    people = np.array([np.nanmean(row) for row in marks.values()])
    groups = [clusters[name] for name in marks]
    cells = [one for name, values in columns.items() for one in _row(name, values, people, groups)]
    upper = leave_one_out(np.array(list(marks.values())).T, generator("meta-evaluation", corpus), resamples=RESAMPLES)
    cells.append(Cell("raters, leave one out", "Pearson", upper.value, upper.low, upper.high, units=upper.raters))
    tests = better_scorers(columns, people, groups, "meta-evaluation")
    cells += [
        Cell(a, f"better than {b}, p", p, units=n, signature="exchange of clusters, two-sided, Holm-corrected")
        for (a, b), (p, n) in tests.items()
    ]
    notes = [f"{corpus}: marks of SIMULATED raters; {len(marks)} texts, {len(set(groups))} clusters, resampled whole"]
    notes.append(f"{len(tests)} pairs tested; better at {LEVEL} after Holm's correction: {_beaten(tests)}")
    table = Table(
        f"Meta-evaluation: scorers against the mean marks of {corpus}, higher is better for all", cells, notes
    )
    return table


def _marks(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    lines = (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    names = [json.loads(line)["id"] for line in lines]
    with np.load(folder / "truth.npz", allow_pickle=False) as truth:
        if "marks" not in truth:
            raise BadInput(f"{folder}: its truth has no marks; name a rated corpus (summaries, SummEval)")
        marks, clusters = truth["marks"].astype(np.float64), truth["cluster"].astype(str).tolist()
    rated = [i for i, row in enumerate(marks) if not np.isnan(row).all()]
    return {names[i]: marks[i] for i in rated}, {names[i]: clusters[i] for i in rated}


def _columns(scores: Mapping[str, Any], names: list[str]) -> dict[str, np.ndarray]:
    """Scorer -> values in the order of the marks, nan where it has none, higher is better."""
    found: dict[str, np.ndarray] = {}
    for row, record in scores.items():
        for model, own in record["details"]["models"].items():
            held = {**record["details"]["shared"], **own}
            by_text = dict(zip(held["unit_ids"], held["values"], strict=True))
            if not set(names) & by_text.keys():
                raise BadInput(f"score row {row!r} is about other texts than the marks; give it the rated corpus")
            lower = model in DISTANCES or held.get("better", "higher") in ("lower", "nearer_real")
            values = np.array([np.nan if by_text.get(n) is None else by_text[n] for n in names], dtype=np.float64)
            found[model] = -values if lower else values
    return found


def _row(name: str, values: np.ndarray, people: np.ndarray, groups: list[str]) -> list[Cell]:
    cells = []
    for kind, column in (("pearson", "Pearson"), ("spearman", "Spearman")):
        found = correlate(kind, values, people)
        low, high = clustered_interval(
            kind, values, people, groups, generator("meta-evaluation", name, kind), RESAMPLES
        )
        rest = {"units": found.items, "excluded": found.excluded, "p_value": found.p_value}
        cells.append(Cell(name, column, found.value, low, high, **rest))
    return cells


def _beaten(tests: Mapping[tuple[str, str], tuple[float, int]]) -> str:
    return "; ".join(f"{a} over {b}" for (a, b), (p, _) in tests.items() if p < LEVEL) or "none"
