"""Accuracy on targeted test suites, suite by suite and pooled: the coherence detection score of beyer2021 as records.

Suites of one connective and sense are about the same texts, once for each replacement. Pooled, they count as many trials as there
are texts, so that an interval does not take six answers about one text for six texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from longform.critics.surprisal.score import mcnemar
from longform.evaluation.intervals import wilson
from longform.results import Record, Results

POOLS = {"connectives": "connective_*", "re-mention": "coreference_*", "all suites": "*"}
COUNTS = ("items", "correct", "gained", "lost")


def suite_records(described: Mapping[str, Mapping[str, Any]], **fields: Any) -> list[Record]:
    """One model's answers, suite by suite.

    Args:
        described: suite -> ``counts`` (items, correct, gained and lost against another model) and what figures need
            (:meth:`longform.critics.surprisal.score.SuiteAccuracy.describe`).
        fields: of the records: corpus, system.

    Returns:
        Records with metric ``accuracy`` and ``task`` the suite, Wilson's interval and McNemar's test against the other model.
    """
    empty = Record("surprisal", "accuracy", **fields)
    return [_record(empty, suite, [held["counts"]], held["counts"]["items"], held) for suite, held in described.items()]


def pooled_records(suites: Iterable[Record]) -> list[Record]:
    """Suites pooled: each connective and sense over all replacements (``connective_as_causal``), then ``POOLS``.

    Args:
        suites: records with ``counts`` in their details, of any number of models.
    """
    records = []
    for own in Results(suites).groups("corpus", "system", "titles", "seed").values():
        sources = {r.task: r.task.rpartition("_as_")[0] for r in own}  # as datasets/test_suites/builders names them
        groups = {s: [r for r in own if sources[r.task] == s] for s in dict.fromkeys(sources.values()) if s}
        groups |= {name: [r for r in own if fnmatchcase(r.task, pattern)] for name, pattern in POOLS.items()}
        for name, members in groups.items():
            if members:
                texts = {sources[r.task] or r.task: r.details["counts"]["items"] for r in members}
                counted = [r.details["counts"] for r in members]
                records.append(_record(members[0], name, counted, sum(texts.values()), {}))
    return records


def _record(
    like: Record, task: str, counted: Sequence[Mapping[str, float]], trials: float, details: Mapping[str, Any]
) -> Record:
    """The share of all items, with an interval of as many trials as there are texts."""
    counts = {key: sum(float(one[key]) for one in counted) for key in COUNTS}
    share = counts["correct"] / counts["items"]
    low, high = wilson(share * trials, trials)
    changed = counts["gained"] or counts["lost"]
    return replace(
        like, task=task, value=share, low=low, high=high, units=int(trials), excluded=0, better="higher",
        p_value=mcnemar(counts["gained"], counts["lost"]) if changed else None,
        signature=f"share of {counts['items']:.0f} items; Wilson, McNemar", details={**details, "counts": counts},
    )  # fmt: skip
