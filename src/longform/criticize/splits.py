"""Which real texts teach a critic and which are compared, several times over, and what several tests say together."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longform.documents import Document, grouped
from longform.errors import BadInput
from longform.statistics.sufficient_statistics import SufficientStatistics

SPLITS = 5  # ours: halvings of the real texts, odd so that the median p-value is one of them


@dataclass(frozen=True)
class Halves:
    """Ids of the real texts that teach the critics, and of those that are compared."""

    train: frozenset[str]
    test: frozenset[str]


def halves(documents: Sequence[Document], sources: Mapping[str, int], number: int = 0) -> Halves:
    """The halving of that number: by a hash of the texts, near copies together.

    Args:
        documents: real texts.
        sources: of each id, the same number for near copies (:func:`longform.criticize.copies.sources`).
        number: 0, 1, ...; each gives other halves.

    Raises:
        BadInput: all texts are copies of one.
    """
    digests = {document.id: _digest(document, number) for document in documents}
    groups = grouped(documents, lambda document: sources[document.id]).values()
    if len(groups) < 2:
        raise BadInput(
            f"the {len(documents)} real texts are near copies of one, two texts are needed: one to learn from, one to "
            "compare with"
        )
    train: set[str] = set()
    for group in sorted(groups, key=lambda group: min(digests[document.id] for document in group))[
        :-1
    ]:
        if len(train) + len(group) <= len(documents) // 2 or not train:
            train.update(document.id for document in group)
    return Halves(frozenset(train), frozenset(document.id for document in documents) - train)


def _digest(document: Document, number: int) -> str:
    salt = str(number) if number else ""
    return hashlib.blake2b((salt + document.text).encode(), digest_size=8).hexdigest() + document.id


def combined_p(p_values: Sequence[float]) -> float:
    r"""One valid p-value from those of dependent tests of one hypothesis: $\min(1, \frac{K}{k} p_{(k)})$, k the middle rank.

    Of one test it is its own p, of five 5/3 of the median. By Markov's inequality at least k of K valid p-values are at most
    $\alpha k / K$ with probability at most $\alpha$, whatever their dependence (Rüschendorf 1982; for repeated splits of one
    sample Meinshausen, Meier and Bühlmann 2009, whose "twice the median" is the limit of many).
    """
    middle = (len(p_values) + 1) // 2
    return min(1.0, sorted(p_values)[middle - 1] * len(p_values) / middle)


def one_row_per_source(
    statistics: SufficientStatistics, sources: Mapping[str, int]
) -> SufficientStatistics:
    """Near copies as one text: the mean row of those that could be scored, under the name of their source.

    Eight copies of a text are one observation: neither an interval nor a test may count them as eight.
    """
    names = [f"source {sources[unit]}" for unit in statistics.unit_ids]
    place = {name: row for row, name in enumerate(dict.fromkeys(names))}
    rows = np.array([place[name] for name in names], dtype=np.int64)
    excluded = (
        statistics.column("excluded") > 0
        if "excluded" in statistics.columns
        else np.zeros(len(rows), dtype=bool)
    )
    scored = np.bincount(rows[~excluded], minlength=len(place))
    values = np.zeros((len(place), len(statistics.columns)))
    np.add.at(values, rows[~excluded], statistics.values[~excluded])
    values /= np.maximum(scored, 1)[:, None]
    if "excluded" in statistics.columns:
        values[:, statistics.columns.index("excluded")] = scored == 0
    return SufficientStatistics(tuple(place), statistics.columns, values)


def middle(values: Sequence[float]) -> float:
    """Mean of the finite values; nan where there is none."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.mean(finite)) if finite else math.nan
