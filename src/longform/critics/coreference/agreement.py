r"""Agreement of two clusterings of mentions: MUC, B-cubed, entity CEAF, and their mean, the CoNLL
score.

A cluster is a set of mentions, a mention any hashable span. Sums and counts per document, divided
last
(Pradhan et al. 2014 define the scores; a mention that only one side has counts as its own, as in
their scorer).
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from longform.critics.coreference.person_chains import person_chains
from longform.documents import Predictions, Unit, grouped
from longform.errors import InputError
from longform.statistics.arithmetic import ratio
from longform.statistics.signatures import FITTED
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, sums_of
from longform.statistics.sum_scored import SumScored

Cluster = frozenset[Hashable]
Parts = tuple[
    float, float, float, float
]  # recall numerator and denominator, precision numerator and denominator
SCORES = ("muc", "b3", "ceafe")
PARTS = ("recall_hits", "recall_total", "precision_hits", "precision_total")
COLUMNS = (*(f"{score}_{part}" for score in SCORES for part in PARTS), "excluded")


@dataclass(frozen=True)
class ReadClusters(Unit):
    """One document's clusters as a reader of mention chains found them: spans of head words, or of
    whole pronouns.
    """

    read: tuple[Cluster, ...]


def clusters(mentions: Sequence[tuple[Hashable, int]]) -> tuple[Cluster, ...]:
    """Clusters from (span, entity) pairs, in order of first mention."""
    by_entity = grouped(mentions, lambda mention: mention[1])
    return tuple(frozenset(span for span, _ in pairs) for pairs in by_entity.values())


def _clusters_of(keys: Sequence[Cluster], others: Sequence[Cluster]) -> list[list[int]]:
    """For each key, the numbers of the other side's clusters that its mentions are in."""
    owner: dict[Hashable, int] = {}
    for number, cluster in enumerate(others):
        owner.update(dict.fromkeys(cluster, number))
    return [[owner[mention] for mention in key if mention in owner] for key in keys]


def muc(gold: Sequence[Cluster], predicted: Sequence[Cluster]) -> Parts:
    r"""Links kept: $\sum_k |k| - |p(k)|$ over $\sum_k |k| - 1$ (Vilain et al. 1995).

    p(k) is the partition of k by the other side.
    """
    return (*_links(gold, predicted), *_links(predicted, gold))


def _links(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[int, int]:
    """Links between mentions of one key that the other side keeps, and all such links."""
    links = 0
    for numbers in _clusters_of(keys, others):
        links += len(numbers) - len(set(numbers))
    return links, sum(len(key) - 1 for key in keys)


def b_cubed(gold: Sequence[Cluster], predicted: Sequence[Cluster]) -> Parts:
    r"""Per mention, the share of its cluster that is right, summed (Bagga and Baldwin 1998)."""
    return (*_right_shares(gold, predicted), *_right_shares(predicted, gold))


def _right_shares(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, int]:
    hits = 0.0
    for key, numbers in zip(keys, _clusters_of(keys, others), strict=True):
        hits += sum(size**2 for size in Counter(numbers).values()) / len(key)
    return hits, sum(map(len, keys))


def ceaf_e(gold: Sequence[Cluster], predicted: Sequence[Cluster]) -> Parts:
    r"""Best one-to-one alignment of clusters under $\phi_4 = 2 |k \cap r| / (|k| + |r|)$ (Luo
    2005).
    """
    shared = np.zeros((len(gold), len(predicted)))
    for row, numbers in zip(shared, _clusters_of(gold, predicted), strict=True):
        np.add.at(row, numbers, 1)
    gold_sizes = [len(cluster) for cluster in gold]
    predicted_sizes = [len(cluster) for cluster in predicted]
    sizes = np.add.outer(gold_sizes, predicted_sizes).reshape(shared.shape)
    similarity = np.divide(2 * shared, sizes, where=sizes > 0, out=np.zeros_like(shared))
    alignment = linear_sum_assignment(similarity, maximize=True)
    best = float(similarity[alignment].sum())
    return best, len(gold), best, len(predicted)


@dataclass(frozen=True)
class ChainAgreement(SumScored, better="higher"):
    """CoNLL score of a resolver: mean F1 of MUC, B-cubed and entity CEAF, each from sums.

    ``gold``: the true clusters by document, from other chains of the same documents.
    """

    gold: Mapping[str, tuple[Cluster, ...]] = field(
        default_factory=dict, repr=False, metadata=FITTED
    )

    def sufficient_statistics(self, units: Sequence[ReadClusters]) -> SufficientStatistics:
        """Hits and totals of recall and precision of the three scores.

        A document without gold mentions is excluded.
        """
        rows: list[tuple[float, ...]] = []
        for unit in units:
            if unit.unit_id not in self.gold:
                raise InputError(
                    f"agreement: document {unit.unit_id!r} has no gold chain; "
                    "fit on its gold predictions"
                )
            gold = self.gold[unit.unit_id]
            if gold:
                pair = gold, unit.read
                rows.append((*muc(*pair), *b_cubed(*pair), *ceaf_e(*pair), 0.0))
            else:
                rows.append((*[0.0] * (len(COLUMNS) - 1), 1.0))
        return SufficientStatistics.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        return np.mean([_f1(sums, name)["f1"] for name in SCORES], axis=0)

    def describe(self, units: Sequence[ReadClusters]) -> Mapping[str, Any]:
        """Recall, precision and F1 of each of the three scores."""
        sums = sums_of(self.sufficient_statistics(units))
        details = {}
        for name in SCORES:
            values = _f1(sums, name)
            details[name] = {part: float(value) for part, value in values.items()}
        return details


def _f1(sums: Sums, name: str) -> dict[str, Any]:
    recall_hits, recall_total, precision_hits, precision_total = (
        sums.total(f"{name}_{part}") for part in PARTS
    )
    recall = np.nan_to_num(ratio(recall_hits, recall_total))
    precision = np.nan_to_num(ratio(precision_hits, precision_total))
    f1 = np.nan_to_num(ratio(2 * recall * precision, recall + precision))
    return {"recall": recall, "precision": precision, "f1": f1}


def against_gold(*, real: Predictions) -> ChainAgreement:
    """Agreement with the chains of the predictions to fit on, which are taken for gold."""
    return ChainAgreement({unit.unit_id: unit.read for unit in units_from_predictions(real)})


def units_from_predictions(predictions: Predictions) -> list[ReadClusters]:
    """Clusters of mention chains, by the places of their symbols; sentence stops are no mentions."""
    units = []
    for chain in person_chains(predictions):
        mentions: list[tuple[Hashable, int]] = []
        for span, symbol in zip(chain.spans, chain.symbols, strict=True):
            _, colon, entity = symbol.rpartition(":")
            if colon:
                mentions.append((span, int(entity)))
        units.append(ReadClusters(chain.unit_id, chain.split, clusters(mentions)))
    return units
