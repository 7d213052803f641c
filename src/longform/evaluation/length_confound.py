r"""How far a score follows a document's length: its rank correlation with the number of sentences on coherent documents.

BBScore's $\overline{\ln\alpha}$ grows with the number of steps, so long documents score higher for the same fit; the joint
density is standardised by its degrees of freedom (:mod:`longform.critics.bbscore.joint`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, Tally, signature, unit_scores
from longform.core.results import Record
from longform.evaluation.agreement import value_of
from longform.evaluation.measurements import Measurement, under


@dataclass(frozen=True)
class LengthCorrelation:
    """Spearman's correlation of two columns, score and sentences; 0 is a score that ignores length."""

    scorer: str = ""
    better: ClassVar[Better] = "lower"

    def score(self, tally: Tally) -> float:
        """The correlation; nan for fewer than three documents, or where all are of one length or one score."""
        kept = tally.values[tally.column("excluded") == 0]
        return value_of("spearman", kept[:, 0], kept[:, 1])


def length_measurements(
    scorers: Mapping[str, Any],
    documents: Sequence[Any],
    *,
    train: Sequence[Any] = (),
    heads: Sequence[str] = ("",),
    length: Callable[[Any], int] = len,
) -> list[Measurement]:
    """The tallies behind :func:`length_confound`."""
    made = []
    for name, scorer in scorers.items():
        judges = {head: scorer.fit(under(train, head)) if train else scorer for head in heads}
        tallies = {head: _tally(judge, under(documents, head), length) for head, judge in judges.items()}
        metrics = {head: LengthCorrelation(signature(judge)) for head, judge in judges.items()}
        made.append(Measurement(metrics, tallies, {"critic": name, "metric": "length_correlation"}))
    return made


def length_confound(
    scorers: Mapping[str, Any],
    documents: Sequence[Any],
    *,
    train: Sequence[Any] = (),
    heads: Sequence[str] = ("",),
    length: Callable[[Any], int] = len,
) -> list[Record]:
    """Correlation of each scorer's value of a document with its length.

    Args:
        scorers: critics by name.
        documents: coherent documents.
        train: documents that the scorers are fitted on; none where they are fitted already.
        heads: of the encoder that read the documents; the number is their mean, followed by each head's own.
        length: number of sentences of a document.

    Returns:
        Records with metric ``length_correlation``.
    """
    found = length_measurements(scorers, documents, train=train, heads=heads, length=length)
    return [record for one in found for record in one.records("length confound", one.fields["critic"])]


def _tally(judge: Any, documents: Sequence[Any], length: Callable[[Any], int]) -> Tally:
    values = unit_scores(judge, documents)
    lost = np.isnan(values)
    columns = [np.where(lost, 0.0, values), np.array([length(d) for d in documents], dtype=np.float64), lost]
    names = ("score", "sentences", "excluded")
    return Tally(tuple(d.unit_id for d in documents), names, np.stack(columns, axis=1).astype(np.float64))
