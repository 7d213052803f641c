"""Accuracy on targeted test suites, suite by suite and pooled: the coherence detection score of beyer2021 as records.

Suites of one connective and sense are about the same texts, once for each replacement. Pooled, they count as many trials as there
are texts, so that an interval does not take six answers about one text for six texts.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from longform.critics.surprisal.score import SuiteAccuracy, mcnemar, units_from_predictions
from longform.documents import Predictions, grouped
from longform.results import Record
from longform.statistics.intervals import wilson

POOLS = {"connectives": "connective_*", "re-mention": "coreference_*", "all suites": "*"}
COUNTS = ("items", "correct", "gained", "lost")


def model_accuracy(*, train: Predictions, texts: Predictions) -> list[Record]:
    """Accuracy of the model that read ``texts``, tested against the one that read ``train``."""
    critic = SuiteAccuracy().against(units_from_predictions(train))
    return suite_accuracy_records(critic.describe(units_from_predictions(texts)))


def suite_accuracy_records(
    described: Mapping[str, Mapping[str, Any]], **fields: Any
) -> list[Record]:
    """Records of one model's answers, as :meth:`longform.critics.surprisal.score.SuiteAccuracy.describe` gives them by suite.

    ``task`` is a suite; then one connective and sense over all replacements (``connective_as_causal``); then each of ``POOLS``
    that has a suite.
    """
    sources = {
        suite: suite.rpartition("_as_")[0] for suite in described
    }  # as datasets/test_suites/builders names them
    asked: list[tuple[str, list[str], dict[str, Any]]] = [
        (s, [s], dict(held)) for s, held in described.items()
    ]
    pools = grouped(filter(sources.get, described), sources.__getitem__)
    pools |= {
        name: [suite for suite in described if fnmatchcase(suite, pattern)]
        for name, pattern in POOLS.items()
    }
    asked += [(name, members, {}) for name, members in pools.items() if members]
    records = []
    for task, suites, details in asked:
        counts = {
            key: sum(float(described[suite]["counts"][key]) for suite in suites) for key in COUNTS
        }
        texts = {
            sources[suite] or suite: float(described[suite]["counts"]["items"]) for suite in suites
        }
        share, trials = counts["correct"] / counts["items"], sum(texts.values())
        low, high = wilson(share * trials, trials)
        p_value = (
            mcnemar(counts["gained"], counts["lost"])
            if counts["gained"] or counts["lost"]
            else None
        )
        found: dict[str, Any] = {
            "value": share,
            "low": low,
            "high": high,
            "p_value": p_value,
            "units": int(trials),
        }
        found |= {"excluded": 0, "better": "higher", "details": {**details, "counts": counts}}
        found["signature"] = f"share of {counts['items']:.0f} items; Wilson, McNemar"
        records.append(Record("surprisal", "accuracy", **fields, task=task, **found))
    return records
