"""Accuracy on targeted test suites, suite by suite and pooled.

The coherence detection score of beyer2021 as records. Suites of one connective and sense are about
the same texts, once for each replacement. Pooled, they count as many trials as there are texts, so
that an interval does not take six answers about one text for six texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from longform.critics.surprisal.score import SuiteAccuracy, mcnemar, units_from_predictions
from longform.documents import Predictions
from longform.results import Record
from longform.statistics.arithmetic import ratio
from longform.statistics.intervals import wilson

POOLS = {"connectives": "connective_*", "re-mention": "coreference_*", "all suites": "*"}
COUNTS = ("items", "correct", "gained", "lost")
# suite -> its "counts" (see COUNTS) and further details
Described = Mapping[str, Mapping[str, Any]]


def model_accuracy(*, train: Predictions, texts: Predictions) -> list[Record]:
    """Accuracy of the model that read ``texts``, tested against the one that read ``train``."""
    critic = SuiteAccuracy().against(units_from_predictions(train))
    return suite_accuracy_records(critic.describe(units_from_predictions(texts)))


def suite_accuracy_records(described: Described, **fields: Any) -> list[Record]:
    """Records of one model's accuracy, by suite and pooled.

    Args:
        described: result of :meth:`longform.critics.surprisal.score.SuiteAccuracy.describe`.
        fields: further fields of all records.

    Returns:
        Records whose ``task`` is a suite; then one connective and sense over all replacements
        (``connective_as_causal``); then each of ``POOLS`` that has a suite.
    """
    records = []
    for suite, details in described.items():
        records.append(_pooled(suite, [suite], described, details, fields))
    for pool, suites in pools(described).items():
        records.append(_pooled(pool, suites, described, {}, fields))
    return records


def _source(suite: str) -> str:
    """The connective and sense of a suite; empty where it replaces none.

    Such suites are called ``<source>_as_<replacement>`` (``datasets/test_suites/builders``).
    """
    return suite.rpartition("_as_")[0]


def pools(suites: Iterable[str]) -> dict[str, list[str]]:
    """Name of a pool -> its suites: each connective and sense, and each of ``POOLS`` with a suite.

    Args:
        suites: names of all suites.
    """
    members_of: dict[str, list[str]] = {}
    for suite in suites:
        if _source(suite):
            members_of.setdefault(_source(suite), []).append(suite)
    for name, pattern in POOLS.items():
        members = [suite for suite in suites if fnmatchcase(suite, pattern)]
        if members:
            members_of[name] = members
    return members_of


def _pooled(
    task: str,
    suites: Sequence[str],
    described: Described,
    details: Mapping[str, Any],
    fields: Mapping[str, Any],
) -> Record:
    """The record of the accuracy over some suites together.

    Args:
        task: name of the pool.
        suites: names of its suites.
        described: as for :func:`suite_accuracy_records`.
        details: details of the record beside the counts.
        fields: further fields of the record.
    """
    # 1. Counts over the suites, and texts, which suites of one source share.
    counts = {}
    for key in COUNTS:
        counts[key] = sum(float(described[suite]["counts"][key]) for suite in suites)
    texts = {}
    for suite in suites:
        texts[_source(suite) or suite] = float(described[suite]["counts"]["items"])
    # 2. The share of items with an interval over texts, and the test against the other model.
    share = float(ratio(counts["correct"], counts["items"]))
    trials = sum(texts.values())
    low, high = wilson(share * trials, trials)
    p_value = None
    if counts["gained"] or counts["lost"]:
        p_value = mcnemar(counts["gained"], counts["lost"])
    return Record(
        "surprisal",
        "accuracy",
        **fields,
        task=task,
        value=share,
        low=low,
        high=high,
        p_value=p_value,
        units=int(trials),
        excluded=0,
        better="higher",
        details={**details, "counts": counts},
        signature=f"share of {counts['items']:.0f} items; Wilson, McNemar",
    )
