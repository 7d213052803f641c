"""Three classes of rated coherence from the five BBScore features (sheng2024 appendix B, its Table 6).

The encoder comes from another domain; the classifier is trained on the rated domain's training texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally, compare
from longform.critics.bbscore.features import BridgeFeatures, identity
from longform.critics.bbscore.joint import usable
from longform.critics.bbscore.score import FITTED, LatentPath, units_from_readout
from longform.critics.bbscore.sources import column_means, text_classifier
from longform.documents import BadInput
from longform.resampling import generator

__all__ = ["RatedClasses", "units_from_readout"]


@dataclass(frozen=True)
class RatedClasses:
    """Accuracy of a classifier of ratings.

    Attributes:
        classifier: "three_layer" (paper) or "linear".
        index: convention of the features.
        length: add the logarithm of the number of sentences as a sixth feature, to see what length alone explains.
        only_length: use nothing but that.
    """

    better: ClassVar[Better] = "higher"
    classifier: str = "three_layer"
    index: str = "canonical"
    length: bool = False
    only_length: bool = False
    features: BridgeFeatures | None = field(default=None, repr=False, metadata=FITTED)
    model: Any = field(default=None, repr=False, metadata=FITTED)
    filling: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)
    majority: int = field(default=-1, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[LatentPath]) -> RatedClasses:
        r"""Train on rated texts; $\sigma_m^2$ is estimated on them too.

        Raises:
            BadInput: no rated text, or a single class.
        """
        kept = [unit for unit in real if usable(unit) and unit.rating >= 0]
        ratings = [unit.rating for unit in kept]
        if len(set(ratings)) < 2:
            raise BadInput(
                f"rated classes: {len(kept)} usable rated texts in {len(set(ratings))} classes; two classes are needed"
            )
        fitted = replace(
            self, features=BridgeFeatures(self.index).fit(kept), majority=Counter(ratings).most_common(1)[0][0]
        )
        rows = np.array([fitted.row(unit) for unit in kept])
        filling = column_means(rows)
        model = text_classifier(self.classifier).fit(np.where(np.isfinite(rows), rows, filling), ratings)
        return replace(fitted, model=model, filling=filling)

    def row(self, unit: LatentPath) -> np.ndarray:
        """What the classifier sees of one text."""
        if self.features is None:
            raise BadInput("rated classes are not fitted; call fit(rated paths) and use what it returns")
        length = np.array([np.log(len(unit.latents))])
        if self.only_length:
            return length
        found = np.abs(self.features.signed(unit, identity(unit))[0])
        return np.concatenate([found, length]) if self.length else found

    def tally(self, units: Sequence[LatentPath]) -> Tally:
        """Columns right, texts, majority (right by the training set's commonest class) and excluded."""
        rows = [self._row(unit) for unit in units]
        names = ("right", "texts", "majority", "excluded")
        return Tally(tuple(u.unit_id for u in units), names, np.array(rows, dtype=np.float64).reshape(len(rows), 4))

    def _row(self, unit: LatentPath) -> tuple[float, float, float, float]:
        if not usable(unit) or unit.rating < 0:
            return 0.0, 0.0, 0.0, 1.0
        seen = self.row(unit)
        if self.model is None or self.filling is None:
            raise BadInput("rated classes are not fitted; call fit(rated paths) and use what it returns")
        guess = self.model.predict(np.where(np.isfinite(seen), seen, self.filling)[None])[0]
        return float(guess == unit.rating), 1.0, float(self.majority == unit.rating), 0.0

    def score(self, tally: Tally) -> float:
        """Accuracy; nan without a text."""
        texts = tally.total("texts")
        return tally.total("right") / texts if texts else float("nan")

    def describe(self, units: Sequence[LatentPath]) -> dict[str, Any]:
        """The majority baseline, a paired test against it, and how the classes are filled."""
        tally = self.tally(units)
        baseline = tally.values.copy()
        baseline[:, 0] = tally.column("majority")
        rng = generator("rated classes", self.classifier, len(units))
        against = compare(self, tally, Tally(tally.unit_ids, tally.columns, baseline), rng)
        texts = tally.total("texts")
        classes = Counter(str(u.rating) for u in units if usable(u))
        return {
            "against_majority": asdict(against),
            "majority": tally.total("majority") / texts if texts else float("nan"),
            "classes": dict(sorted(classes.items())),
        }
