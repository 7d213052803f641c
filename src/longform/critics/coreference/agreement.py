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
from longform.errors import BadInput
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
    return tuple(
        frozenset(span for span, _ in row)
        for row in grouped(mentions, lambda mention: mention[1]).values()
    )


def _owned(keys: Sequence[Cluster], others: Sequence[Cluster]) -> list[list[int]]:
    """For each key, the numbers of the other side's clusters that its mentions are in."""
    owner = {mention: i for i, cluster in enumerate(others) for mention in cluster}
    return [[owner[mention] for mention in key if mention in owner] for key in keys]


def muc(gold: Sequence[Cluster], read: Sequence[Cluster]) -> Parts:
    r"""Links kept (Vilain et al. 1995): $\sum_k |k| - |p(k)|$ over $\sum_k |k| - 1$, p the
    partition of k by the other side.
    """

    def links(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[int, int]:
        return sum(len(row) - len(set(row)) for row in _owned(keys, others)), sum(
            len(key) - 1 for key in keys
        )

    return (*links(gold, read), *links(read, gold))


def b_cubed(gold: Sequence[Cluster], read: Sequence[Cluster]) -> Parts:
    r"""Per mention, the share of its cluster that is right (Bagga and Baldwin 1998), summed over
    mentions.
    """

    def shares(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, int]:
        hits = 0.0
        for key, row in zip(keys, _owned(keys, others), strict=True):
            hits += sum(size**2 for size in Counter(row).values()) / len(key)
        return hits, sum(map(len, keys))

    return (*shares(gold, read), *shares(read, gold))


def ceaf_e(gold: Sequence[Cluster], read: Sequence[Cluster]) -> Parts:
    r"""Best one-to-one alignment of clusters under $\phi_4 = 2 |k \cap r| / (|k| + |r|)$ (Luo
    2005).
    """
    shared = np.zeros((len(gold), len(read)))
    for row, owned in zip(shared, _owned(gold, read), strict=True):
        np.add.at(row, owned, 1)
    sizes = np.add.outer([len(k) for k in gold], [len(k) for k in read]).reshape(shared.shape)
    similarity = np.divide(2 * shared, sizes, where=sizes > 0, out=np.zeros_like(shared))
    best = float(similarity[linear_sum_assignment(similarity, maximize=True)].sum())
    return best, len(gold), best, len(read)


@dataclass(frozen=True)
class ChainAgreement(SumScored, better="higher"):
    """CoNLL score of a resolver: mean F1 of MUC, B-cubed and entity CEAF, each from sums over
    documents.

    ``gold``: the true clusters by document, from other chains of the same documents.
    """

    gold: Mapping[str, tuple[Cluster, ...]] = field(
        default_factory=dict, repr=False, metadata=FITTED
    )

    def sufficient_statistics(self, units: Sequence[ReadClusters]) -> SufficientStatistics:
        """Hits and totals of recall and precision of the three scores; a document without gold
        mentions is excluded.
        """
        if missing := [unit.unit_id for unit in units if unit.unit_id not in self.gold]:
            raise BadInput(
                f"agreement: document {missing[0]!r} has no gold chain; give slot fit its gold reading"
            )
        pairs = ((self.gold[unit.unit_id], unit.read) for unit in units)
        nothing = [0.0] * (len(COLUMNS) - 1) + [1.0]
        rows = [
            [*muc(*pair), *b_cubed(*pair), *ceaf_e(*pair), 0.0] if pair[0] else nothing
            for pair in pairs
        ]
        return SufficientStatistics.of(units, COLUMNS, rows)

    def of_sums(self, sums: Sums) -> Any:
        return np.mean([_f1(sums, name)["f1"] for name in SCORES], axis=0)

    def describe(self, units: Sequence[ReadClusters]) -> Mapping[str, Any]:
        """Recall, precision and F1 of each of the three scores."""
        sums = sums_of(self.sufficient_statistics(units))
        return {
            name: {part: float(value) for part, value in _f1(sums, name).items()} for name in SCORES
        }


def _f1(sums: Sums, name: str) -> dict[str, Any]:
    totals = [sums.total(f"{name}_{part}") for part in PARTS]
    recall, precision = (np.nan_to_num(ratio(*totals[i : i + 2])) for i in (0, 2))
    f1 = np.nan_to_num(ratio(2 * recall * precision, recall + precision))
    return {"recall": recall, "precision": precision, "f1": f1}


def against_gold(*, real: Predictions) -> ChainAgreement:
    """Agreement with the chains of the predictions in slot ``fit``, which are taken for gold."""
    return ChainAgreement({unit.unit_id: unit.read for unit in units_from_predictions(real)})


def units_from_predictions(predictions: Predictions) -> list[ReadClusters]:
    """Clusters of mention chains, by the places of their symbols; sentence stops are no mentions."""
    found = []
    for chain in person_chains(predictions):
        parted = [
            (span, symbol.rpartition(":"))
            for span, symbol in zip(chain.spans, chain.symbols, strict=True)
        ]
        mentions = [(span, int(entity)) for span, (_, mark, entity) in parted if mark]
        found.append(ReadClusters(chain.unit_id, chain.split, clusters(mentions)))
    return found
