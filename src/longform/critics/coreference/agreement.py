r"""Agreement of two clusterings of mentions: MUC, B-cubed, entity CEAF and the CoNLL score.

A cluster is a set of mentions, a mention any hashable span. Hits and totals are summed over
documents and divided last. Pradhan et al. 2014 define the scores; a mention that only one side has
counts as its own, as in their scorer.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from longform.critics.coreference.person_chains import person_chains
from longform.documents import Predictions, Unit
from longform.errors import InputError
from longform.statistics.arithmetic import ratio
from longform.statistics.signatures import FITTED  # not in signatures
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, sums_of
from longform.statistics.sum_scored import SumScored

Cluster = frozenset[Hashable]


class Parts(NamedTuple):
    """Numerators (hits) and denominators (totals) of one score's recall and precision."""

    recall_hits: float
    recall_total: float
    precision_hits: float
    precision_total: float


SCORES = ("muc", "b3", "ceafe")


def _columns() -> tuple[str, ...]:
    """Names of the statistics: the parts of each score, and exclusion."""
    columns = []
    for score in SCORES:
        columns += [f"{score}_{part}" for part in Parts._fields]
    return (*columns, "excluded")


COLUMNS = _columns()


@dataclass(frozen=True)
class ReadClusters(Unit):
    """One document's clusters as a reader of mention chains found them.

    Attributes:
        read: clusters of spans of head words, or of whole pronouns.
    """

    read: tuple[Cluster, ...]


def clusters(mentions: Sequence[tuple[Hashable, int]]) -> tuple[Cluster, ...]:
    """Clusters in order of first mention.

    Args:
        mentions: each mention's span and the number of its entity.
    """
    spans_by_entity: dict[int, list[Hashable]] = {}
    for span, entity in mentions:
        spans_by_entity.setdefault(entity, []).append(span)
    return tuple(map(frozenset, spans_by_entity.values()))


def _clusters_of(keys: Sequence[Cluster], others: Sequence[Cluster]) -> list[list[int]]:
    """For each key, the numbers of the other side's clusters that its mentions are in.

    Args:
        keys: clusters of one side.
        others: clusters of the other side; mentions in none of them are left out.
    """
    owner: dict[Hashable, int] = {}
    for number, cluster in enumerate(others):
        owner.update(dict.fromkeys(cluster, number))
    numbers = []
    for key in keys:
        numbers.append([owner[mention] for mention in key if mention in owner])
    return numbers


def muc(gold: Sequence[Cluster], predicted: Sequence[Cluster]) -> Parts:
    r"""MUC, links kept: $\sum_k |k| - |p(k)|$ over $\sum_k |k| - 1$ (Vilain et al. 1995).

    p(k) is the partition of k by the other side.
    """
    return Parts(*_links(gold, predicted), *_links(predicted, gold))


def _links(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[int, int]:
    """How many links the other side keeps, and how many the keys have: mentions less one each."""
    # A key with m mentions in c clusters of the other side keeps m - c.
    links_kept = 0
    for numbers in _clusters_of(keys, others):
        links_kept += len(numbers) - len(set(numbers))
    links = 0
    for key in keys:
        links += len(key) - 1
    return links_kept, links


def b_cubed(gold: Sequence[Cluster], predicted: Sequence[Cluster]) -> Parts:
    """B-cubed: the share of a mention's cluster that is right (Bagga and Baldwin 1998)."""
    return Parts(*_right_shares(gold, predicted), *_right_shares(predicted, gold))


def _right_shares(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, int]:
    """The share of a mention's key that is in its cluster of the other side: sum and mentions."""
    shares = 0.0
    for key, numbers in zip(keys, _clusters_of(keys, others), strict=True):
        # each of the ``size`` mentions in a cluster has ``size`` mentions of the key beside it
        right = sum(size**2 for size in Counter(numbers).values())
        shares += right / len(key)
    return shares, sum(map(len, keys))


def ceaf_e(gold: Sequence[Cluster], predicted: Sequence[Cluster]) -> Parts:
    r"""Entity CEAF: the best one-to-one alignment of clusters (Luo 2005).

    Aligned clusters add their similarity $\phi_4 = 2 |k \cap r| / (|k| + |r|)$.
    """
    # 1. Mentions that two clusters share, (gold, predicted).
    shared = np.zeros((len(gold), len(predicted)))
    for row, numbers in zip(shared, _clusters_of(gold, predicted), strict=True):
        np.add.at(row, numbers, 1)
    # 2. Their similarity; two empty clusters have none.
    gold_sizes = list(map(len, gold))
    predicted_sizes = list(map(len, predicted))
    sizes = np.add.outer(gold_sizes, predicted_sizes).reshape(shared.shape)
    similarity = np.divide(2 * shared, sizes, where=sizes > 0, out=np.zeros_like(shared))
    # 3. The alignment of the largest sum.
    alignment = linear_sum_assignment(similarity, maximize=True)
    best = float(similarity[alignment].sum())
    return Parts(best, len(gold), best, len(predicted))


@dataclass(frozen=True)
class ChainAgreement(SumScored, better="higher"):
    """CoNLL score of a resolver: mean F1 of MUC, B-cubed and entity CEAF, each from sums.

    Attributes:
        gold: the true clusters by document, from other chains of the same documents.
    """

    gold: Mapping[str, tuple[Cluster, ...]] = field(
        default_factory=dict, repr=False, metadata=FITTED
    )

    def sufficient_statistics(self, units: Sequence[ReadClusters]) -> SufficientStatistics:
        """One row per document: each score's hits and total of recall, then of precision.

        The last of ``COLUMNS`` counts excluded documents: 1 for one without gold mentions, whose
        other columns are 0.

        Raises InputError: the fitted ``gold`` does not know a document, not even as empty.
        """
        rows: list[tuple[float, ...]] = []
        excluded = (*np.zeros(len(COLUMNS) - 1), 1.0)
        for unit in units:
            if unit.unit_id not in self.gold:
                raise InputError(
                    f"agreement: document {unit.unit_id!r} has no gold chain; "
                    "fit on its gold predictions"
                )
            gold = self.gold[unit.unit_id]
            if not gold:
                rows.append(excluded)
                continue
            row: list[float] = []
            for score_parts in (muc, b_cubed, ceaf_e):
                row += score_parts(gold, unit.read)
            rows.append((*row, 0.0))
        return SufficientStatistics.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        """The CoNLL score: the mean of the three F1."""
        return np.mean([_agreement(sums, score)["f1"] for score in SCORES], axis=0)

    def describe(self, units: Sequence[ReadClusters]) -> Mapping[str, Any]:
        """Recall, precision and F1 of each of the three scores."""
        sums = sums_of(self.sufficient_statistics(units))
        details = {}
        for score in SCORES:
            values = _agreement(sums, score)
            details[score] = {name: float(value) for name, value in values.items()}
        return details


def _agreement(sums: Sums, score: str) -> dict[str, Any]:
    """Recall, precision and F1 of one score, 0 where they have no denominator."""
    recall_hits = sums.total(f"{score}_recall_hits")
    recall_total = sums.total(f"{score}_recall_total")
    precision_hits = sums.total(f"{score}_precision_hits")
    precision_total = sums.total(f"{score}_precision_total")
    recall = np.nan_to_num(ratio(recall_hits, recall_total))
    precision = np.nan_to_num(ratio(precision_hits, precision_total))
    f1 = np.nan_to_num(ratio(2 * recall * precision, recall + precision))
    return {"recall": recall, "precision": precision, "f1": f1}


def against_gold(*, real: Predictions) -> ChainAgreement:
    """The critic of agreement whose gold clusters are the chains of the predictions ``real``."""
    gold = {unit.unit_id: unit.read for unit in units_from_predictions(real)}
    return ChainAgreement(gold)


def units_from_predictions(predictions: Predictions) -> list[ReadClusters]:
    """Clusters of mention chains, by the places of their symbols; stops are no mentions."""
    units = []
    for chain in person_chains(predictions):
        mentions: list[tuple[Hashable, int]] = []
        for span, symbol in zip(chain.spans, chain.symbols, strict=True):
            _, colon, entity = symbol.rpartition(":")
            if colon:
                mentions.append((span, int(entity)))
        units.append(ReadClusters(chain.unit_id, chain.split, clusters(mentions)))
    return units
