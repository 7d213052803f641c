r"""How far a score follows a document's length: its rank correlation with the number of sentences on coherent documents.

BBScore's $\overline{\ln\alpha}$ grows with the number of steps, so long documents score higher for the same fit; the joint
density is standardised by its degrees of freedom (:mod:`longform.critics.bbscore.joint`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata

from longform.critic import Better, Tally
from longform.critics.bbscore.joint import JointBridgeCritic
from longform.critics.bbscore.score import FITTED, BridgeCritic, LatentPath, units_from_readout
from longform.documents import BadInput
from longform.evaluation.critic_suites import OverHeads, Suite

__all__ = ["LengthConfound", "length_confound", "units_from_readout"]
SCORES = {"bbscore": BridgeCritic, "joint": JointBridgeCritic}


@dataclass(frozen=True)
class LengthConfound:
    """Spearman's correlation of a score with the number of sentences; 0 is a score that ignores length.

    Attributes:
        judge: one of ``SCORES``.
    """

    better: ClassVar[Better] = "lower"
    judge: str = "bbscore"
    fitted: BridgeCritic | JointBridgeCritic | None = field(default=None, repr=False, metadata=FITTED)

    def __post_init__(self) -> None:
        if self.judge not in SCORES:
            raise BadInput(f"judge {self.judge!r}; allowed are {sorted(SCORES)}; mend the row")

    def fit(self, real: Sequence[LatentPath]) -> LengthConfound:
        """Fit the score on real paths."""
        return replace(self, fitted=SCORES[self.judge]().fit(real))

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """Columns score, documents, excluded (of the score) and sentences."""
        if self.fitted is None:
            raise BadInput("length confound is not fitted; call fit(real paths) and use what it returns")
        found = self.fitted.tally(units)
        lengths = [len(unit.latents) for unit in units]
        columns = [
            *(found.column(name) for name in ("score", "documents", "excluded")),
            np.array(lengths, dtype=np.float64),
        ]
        return Tally(found.unit_ids, ("score", "documents", "excluded", "sentences"), np.stack(columns, axis=1))

    def score(self, tally: Tally) -> float:
        """The correlation; nan where the documents are all of one length, or of one score."""
        kept = tally.values[tally.column("documents") > 0]
        ranks = [rankdata(kept[:, column]) for column in (0, 3)]
        if len(kept) < 2 or any(np.ptp(rank) == 0 for rank in ranks):
            return float("nan")
        return float(np.corrcoef(*ranks)[0, 1])


def length_confound(*, heads: Sequence[str] = ("",)) -> Suite:
    """Cells ``length-bbscore`` and ``length-joint``, each over the encoder's heads."""
    cells: dict[str, Any] = {f"length-{judge}": OverHeads(LengthConfound(judge), tuple(heads)) for judge in SCORES}
    return Suite(cells, name="length")
