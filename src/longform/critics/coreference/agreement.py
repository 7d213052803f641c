r"""Agreement of two clusterings of mentions: MUC, B-cubed, entity CEAF, and their mean, the CoNLL score.

A cluster is a set of mentions, a mention any hashable span. Sums and counts per document, divided last
(Pradhan et al. 2014 define the scores; a mention that only one side has counts as its own, as in their scorer).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from longform.core.critic import FITTED, Better, Sums, SumScored, Tally, sums_of
from longform.core.documents import BadInput, Readout, chains_from_readout
from longform.core.resampling import ratio

Cluster = frozenset[Hashable]
Parts = tuple[float, float, float, float]  # recall numerator and denominator, precision numerator and denominator
SCORES = ("muc", "b3", "ceafe")
PARTS = ("recall_hits", "recall_total", "precision_hits", "precision_total")
COLUMNS = (*(f"{score}_{part}" for score in SCORES for part in PARTS), "excluded")


@dataclass(frozen=True)
class ReadClusters:
    """One document's clusters as a reader of mention chains found them: spans of head words, or of whole pronouns."""

    unit_id: str
    split: str
    read: tuple[Cluster, ...]


def clusters(mentions: Sequence[tuple[Hashable, int]]) -> tuple[Cluster, ...]:
    """Clusters from (span, entity) pairs, in order of first mention."""
    by_entity: dict[int, set[Hashable]] = {}
    for span, entity in mentions:
        by_entity.setdefault(entity, set()).add(span)
    return tuple(frozenset(spans) for spans in by_entity.values())


def muc(gold: Sequence[Cluster], read: Sequence[Cluster]) -> Parts:
    r"""Links kept (Vilain et al. 1995): $\sum_k |k| - |p(k)|$ over $\sum_k |k| - 1$, p the partition of k by the other side."""
    return (*_links(gold, read), *_links(read, gold))


def _links(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, float]:
    owner = _owners(others)
    kept = total = 0
    for key in keys:
        owned = [owner[m] for m in key if m in owner]
        kept += len(key) - (len(set(owned)) + len(key) - len(owned))
        total += len(key) - 1
    return float(kept), float(total)


def b_cubed(gold: Sequence[Cluster], read: Sequence[Cluster]) -> Parts:
    r"""Per mention, the share of its cluster that is right (Bagga and Baldwin 1998), summed over mentions."""
    return (*_shares(gold, read), *_shares(read, gold))


def _shares(keys: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, float]:
    owner = _owners(others)
    hits = 0.0
    for key in keys:
        sizes: dict[int, int] = {}
        for mention in key:
            if mention in owner:
                sizes[owner[mention]] = sizes.get(owner[mention], 0) + 1
        hits += sum(size**2 for size in sizes.values()) / len(key)
    return hits, float(sum(len(key) for key in keys))


def ceaf_e(gold: Sequence[Cluster], read: Sequence[Cluster]) -> Parts:
    r"""Best one-to-one alignment of clusters under $\phi_4 = 2 |k \cap r| / (|k| + |r|)$ (Luo 2005)."""
    similarity = np.zeros((len(gold), len(read)))
    owner = _owners(read)
    for row, key in enumerate(gold):
        for mention in key:
            if mention in owner:
                similarity[row, owner[mention]] += 1
    sizes = np.add.outer([len(k) for k in gold], [len(k) for k in read]).reshape(similarity.shape)
    similarity = np.divide(2 * similarity, sizes, where=sizes > 0, out=np.zeros_like(similarity))
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    best = float(similarity[rows, columns].sum())
    return best, float(len(gold)), best, float(len(read))


def _owners(read: Sequence[Cluster]) -> dict[Hashable, int]:
    return {mention: i for i, cluster in enumerate(read) for mention in cluster}


@dataclass(frozen=True)
class ChainAgreement(SumScored):
    """CoNLL score of a resolver: mean F1 of MUC, B-cubed and entity CEAF, each from sums over documents.

    Attributes:
        gold: the true clusters by document, from other chains of the same documents.
    """

    better: ClassVar[Better] = "higher"
    gold: Mapping[str, tuple[Cluster, ...]] = field(default_factory=dict, repr=False, metadata=FITTED)

    def tally(self, units: Sequence[ReadClusters]) -> Tally:
        """Hits and totals of recall and precision of the three scores; a document without gold mentions is excluded."""
        if missing := [unit.unit_id for unit in units if unit.unit_id not in self.gold]:
            raise BadInput(
                f"agreement: document {missing[0]!r} has no gold chain; give slot fit the gold reading of it"
            )
        return Tally.of(units, COLUMNS, [self._row(self.gold[unit.unit_id], unit.read) for unit in units])

    def _row(self, gold: tuple[Cluster, ...], read: tuple[Cluster, ...]) -> list[float]:
        if not gold:
            return [0.0] * (len(COLUMNS) - 1) + [1.0]
        return [number for score in (muc, b_cubed, ceaf_e) for number in score(gold, read)] + [0.0]

    def of_sums(self, sums: Sums) -> Any:
        return np.mean([_f1(sums, name)["f1"] for name in SCORES], axis=0)

    def describe(self, units: Sequence[ReadClusters]) -> Mapping[str, Any]:
        """Recall, precision and F1 of each of the three scores."""
        sums = sums_of(self.tally(units))
        return {name: {part: float(value) for part, value in _f1(sums, name).items()} for name in SCORES}


def _f1(sums: Sums, name: str) -> dict[str, Any]:
    recall_hits, recall_total, precision_hits, precision_total = (sums.total(f"{name}_{part}") for part in PARTS)
    recall, precision = (
        np.nan_to_num(ratio(hits, whole))
        for hits, whole in ((recall_hits, recall_total), (precision_hits, precision_total))
    )
    f1 = np.nan_to_num(ratio(2 * recall * precision, recall + precision))
    return {"recall": recall, "precision": precision, "f1": f1}


def against_gold(*, real: Readout) -> ChainAgreement:
    """Agreement with the chains of the readout in slot ``fit``, which are taken for gold."""
    return ChainAgreement({unit.unit_id: unit.read for unit in units_from_readout(real)})


def units_from_readout(readout: Readout) -> list[ReadClusters]:
    """Clusters of mention chains, by the places of their symbols; sentence stops are no mentions."""
    rows = zip(chains_from_readout(readout), readout.ragged("span"), strict=True)
    return [ReadClusters(c.unit_id, c.split, _clusters_of(c.symbols, spans.tolist())) for c, spans in rows]


def _clusters_of(symbols: Sequence[str], spans: Sequence[Sequence[int]]) -> tuple[Cluster, ...]:
    parted = [(tuple(span), symbol.rpartition(":")) for symbol, span in zip(symbols, spans, strict=True)]
    return clusters([(span, int(entity)) for span, (_, mark, entity) in parted if mark])
