"""A checker's verdicts on the sentences of generated texts, as they travel to the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longform.documents import BadInput, Readout

LABELS = ("supported", "refuted", "not_enough_info")
Evidence = frozenset[tuple[str, int]]  # (page, line)


@dataclass(frozen=True)
class CheckedText:
    """The checker's verdicts on the first sentences of one generation, in order.

    Attributes:
        labels: one of ``LABELS`` per sentence; may be empty (an empty generation supports nothing).
        evidence: what the verdict rests on, one set per sentence.
    """

    unit_id: str
    split: str
    labels: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.evidence):
            raise BadInput(
                f"{self.unit_id}: {len(self.labels)} labels and {len(self.evidence)} evidence sets; one each"
            )
        if wrong := set(self.labels) - set(LABELS):
            raise BadInput(f"{self.unit_id}: labels {sorted(wrong)}, allowed are {LABELS}; rename them")


def checks_to_readout(units: Sequence[CheckedText]) -> Readout:
    """Pack verdicts for ``data/inference``: ``label`` indexes ``label_names``; evidence is one string a sentence."""
    labels = [LABELS.index(label) for unit in units for label in unit.labels]
    evidence = ["\n".join(f"{line}\t{page}" for page, line in sorted(e)) for unit in units for e in unit.evidence]
    lengths = np.array([len(unit.labels) for unit in units], dtype=np.int64)
    arrays = {
        "label": np.array(labels, dtype=np.int8),
        "label_lengths": lengths,
        "evidence": np.array(evidence, dtype=np.str_),
        "evidence_lengths": lengths,
        "label_names": np.array(LABELS, dtype=np.str_),
    }
    return Readout(tuple(unit.unit_id for unit in units), tuple(unit.split for unit in units), arrays)
