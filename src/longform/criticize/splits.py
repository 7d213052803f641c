"""Halves the real texts, one half to fit a critic to and one to compare, several times over.

And combines the tests of all halvings.
"""

import hashlib
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.documents import Document, grouped
from longform.errors import BadInput
from longform.statistics.comparisons import Comparison
from longform.statistics.sufficient_statistics import SufficientStatistics

SPLITS = 5  # ours: halvings of the real texts, odd so that the median p-value is one of them


@dataclass(frozen=True)
class Halves:
    """One halving: ids of the real texts that critics are fitted to, and of those compared."""

    train: frozenset[str]
    test: frozenset[str]


def halves(documents: Sequence[Document], sources: Mapping[str, int], number: int = 0) -> Halves:
    """Halve the real texts by a hash of their words, near copies together.

    Args:
        documents: real texts.
        sources: text id -> source number, which near copies share
            (:func:`longform.criticize.copies.sources`).
        number: 0, 1, ...; each number halves the texts differently.

    Raises:
        BadInput: all texts are copies of one.
    """
    # 1. Groups of near copies, in the order of their hashes.
    digests = {}
    for document in documents:
        digests[document.id] = _digest(document, number)
    groups = grouped(documents, lambda document: sources[document.id]).values()
    if len(groups) < 2:
        raise BadInput(
            f"the {len(documents)} real texts are near copies of one, two texts are needed: "
            "one to learn from, one to compare with"
        )

    def smallest_digest(group: Sequence[Document]) -> str:
        return min(digests[document.id] for document in group)

    ordered = sorted(groups, key=smallest_digest)
    # 2. Groups that fit in one half are fitted to: the first always is, the last never.
    train: set[str] = set()
    for group in ordered[:-1]:
        if not train or len(train) + len(group) <= len(documents) // 2:
            for document in group:
                train.add(document.id)
    return Halves(frozenset(train), frozenset(digests.keys() - train))


def _digest(document: Document, number: int) -> str:
    """A hash of the text, another for each number; the id orders equal texts."""
    salt = str(number) if number else ""
    return hashlib.blake2b((salt + document.text).encode(), digest_size=8).hexdigest() + document.id


def combined_p(p_values: Sequence[float]) -> float:
    r"""Combine the p-values of dependent tests of one hypothesis into one valid p-value.

    It is $\min(1, \frac{K}{k} p_{(k)})$, k the middle rank: of one test its own p, of five 5/3 of
    the median. By Markov's inequality at least k of K valid p-values are at most $\alpha k / K$
    with probability at most $\alpha$, whatever their dependence (Rüschendorf 1982; for repeated
    splits of one sample Meinshausen, Meier and Bühlmann 2009, whose "twice the median" is the limit
    of many).

    Args:
        p_values: p-values of K tests, at least one.
    """
    rank = (len(p_values) + 1) // 2
    middle_p = sorted(p_values)[rank - 1]
    return min(1.0, middle_p * len(p_values) / rank)


def combined_test(tests: Sequence[Comparison]) -> Comparison:
    """Combine the tests of all halvings: mean difference, combined p; paired if all are."""
    p_values = []
    differences = []
    paired = True
    for test in tests:
        p_values.append(test.p_value)
        differences.append(test.difference)
        paired = paired and test.paired
    permutations = tests[0].permutations
    return Comparison(
        difference=middle(differences),
        p_value=combined_p(p_values),
        paired=paired,
        permutations=permutations,
    )


def units_among(units: Sequence[Any], ids: Container[str]) -> list[Any]:
    """The units whose id is one of ``ids``."""
    return [unit for unit in units if unit.unit_id in ids]


def one_row_per_source(
    statistics: SufficientStatistics, sources: Mapping[str, int]
) -> SufficientStatistics:
    """Merge the rows of near copies into one, named after their source (``source 3``).

    It is the mean row of those that could be scored. Eight copies of a text are one observation:
    neither an interval nor a test may count them as eight.

    Args:
        statistics: a row for each text, perhaps with a column ``excluded``.
        sources: text id -> source number.
    """
    # 1. The new row of each text; sources are in the order of their first texts.
    row_of_source: dict[str, int] = {}
    row_of_text = []
    for unit in statistics.unit_ids:
        name = f"source {sources[unit]}"
        row_of_text.append(row_of_source.setdefault(name, len(row_of_source)))
    rows = np.array(row_of_text, dtype=np.int64)
    # 2. The mean over the copies that are scored.
    has_exclusions = "excluded" in statistics.columns
    scored = np.ones(len(rows), dtype=bool)
    if has_exclusions:
        scored = ~(statistics.column("excluded") > 0)
    num_scored = np.bincount(rows[scored], minlength=len(row_of_source))
    values = np.zeros((len(row_of_source), len(statistics.columns)))
    np.add.at(values, rows[scored], statistics.values[scored])
    values /= np.maximum(num_scored, 1)[:, None]
    # 3. A source none of whose copies is scored is left out.
    if has_exclusions:
        values[:, statistics.columns.index("excluded")] = num_scored == 0
    return SufficientStatistics(tuple(row_of_source), statistics.columns, values)


def middle(values: Sequence[float]) -> float:
    """Mean of the finite values; nan where there is none."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.mean(finite)) if finite else math.nan
