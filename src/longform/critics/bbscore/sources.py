"""Who wrote it? BBScore on human and machine texts (sheng2024 sections 5.2-5.5): Tables 4 and 5, Figure 5.

A unit is a document with all its sides, ``<id>-human`` and ``<id>-<source>``, so that splits and resamples keep them together:
a classifier never sees a test document's other side. The critics here judge one source at a time, as pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from longform.critic import Better, Tally
from longform.critics.bbscore.features import BridgeFeatures, identity
from longform.critics.bbscore.joint import JointBridgeCritic, usable
from longform.critics.bbscore.pair_network import LinearRanker, NetworkRanker, Pairs, ranker
from longform.critics.bbscore.score import FITTED, LatentPath
from longform.critics.bbscore.score import units_from_readout as paths_from_readout
from longform.critics.bbscore.tasks import area, roc_points
from longform.documents import BadInput, Readout
from longform.resampling import generator

HUMAN = "human"


@dataclass(frozen=True)
class TextPair:
    """The human and the machine text of one document."""

    unit_id: str
    split: str
    human: Any
    machine: Any


@dataclass(frozen=True)
class TextFamily:
    """Every side of one document: ``<id>-human`` and ``<id>-<source>``; paths, or grids.

    Attributes:
        machines: the machine texts by source.
    """

    unit_id: str
    split: str
    human: Any
    machines: Mapping[str, Any]

    def under(self, source: str) -> TextPair:
        """The human text beside one source's.

        Raises:
            BadInput: the document has no text of that source.
        """
        if source not in self.machines:
            raise BadInput(f"{self.unit_id}: no text of source {source!r}; there are {sorted(self.machines)}")
        return TextPair(self.unit_id, self.split, self.human, self.machines[source])


def families_of(units: Sequence[Any]) -> list[TextFamily]:
    """The documents that have a human side and another; the split is the human text's.

    Raises:
        BadInput: there is not a single pair.
    """
    sides: dict[str, dict[str, Any]] = {}
    for unit in units:
        document, _, side = unit.unit_id.rpartition("-")
        sides.setdefault(document, {})[side] = unit
    kept = [(name, found) for name, found in sides.items() if HUMAN in found and len(found) > 1]
    if not kept:
        raise BadInput(f"got {len(units)} units but no pair <id>-human, <id>-<source>; use a completions row")
    return [
        TextFamily(name, found[HUMAN].split, found[HUMAN], {k: v for k, v in found.items() if k != HUMAN})
        for name, found in kept
    ]


def units_from_readout(readout: Readout) -> list[TextFamily]:
    """Families of the readout's paths."""
    return families_of(paths_from_readout(readout))


@dataclass(frozen=True)
class MachinePairs:
    """Share of pairs in which the human text has the lower value (section 5.2, Table 4).

    Attributes:
        judge_by: "bbscore", "joint" (comparable between lengths), "linear" or "three_layer" (all five features).
        same_length: cut both sides to the shorter one's sentences first: a control for the length confound.
        index: convention of the features.
    """

    better: ClassVar[Better] = "higher"
    judge_by: str = "bbscore"
    same_length: bool = False
    index: str = "canonical"
    features: BridgeFeatures | None = field(default=None, repr=False, metadata=FITTED)
    judge: LinearRanker | NetworkRanker | JointBridgeCritic | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[TextPair]) -> MachinePairs:
        r"""Estimate $\sigma_m^2$ on human texts; train the classifier on training pairs."""
        human = [pair.human for pair in real]
        fitted = replace(self, features=BridgeFeatures(self.index).fit(human))
        if self.judge_by == "bbscore":
            return fitted
        if self.judge_by == "joint":
            return replace(fitted, judge=JointBridgeCritic().fit(human))
        both = [fitted._matched(pair) for pair in real]
        kept = [row for row, pair in enumerate(both) if usable(pair[0]) and usable(pair[1])]
        rows = [np.array([fitted.values(both[row][side]) for row in kept]) for side in (0, 1)]
        rng = generator("machine pairs", self.judge_by, len(kept))
        return replace(fitted, judge=ranker(self.judge_by).fit(Pairs(rows[0], rows[1], np.array(kept)), rng))

    def values(self, unit: LatentPath) -> np.ndarray:
        """The five features of one text, absolute as printed."""
        if self.features is None:
            raise BadInput(f"{type(self).__name__} is not fitted; call fit(real pairs) and use what it returns")
        return np.abs(self.features.signed(unit, identity(unit))[0])

    def _matched(self, pair: TextPair) -> tuple[LatentPath, LatentPath]:
        both = (pair.human, pair.machine)
        if not self.same_length:
            return both
        count = min(len(one.latents) for one in both)
        cut = [
            replace(o, latents=o.latents[:count], text_ids=o.text_ids[:count], token_counts=o.token_counts[:count])
            for o in both
        ]
        return cut[0], cut[1]

    def value(self, unit: LatentPath) -> float:
        """One number a text; lower should be human."""
        if isinstance(self.judge, JointBridgeCritic):
            return float(self.judge.scores(unit.latents[None])[0])
        features = self.values(unit)
        return float(features[0] if self.judge is None else self.judge.judge(features[None])[0])

    def tally(self, units: Sequence[TextPair]) -> Tally:
        """Columns wins, pairs, human, machine (their values) and excluded."""
        rows = np.array([self._row(*self._matched(pair)) for pair in units], dtype=np.float64)
        names = ("wins", "pairs", "human", "machine", "excluded")
        return Tally(tuple(pair.unit_id for pair in units), names, rows.reshape(len(units), len(names)))

    def _row(self, human: LatentPath, machine: LatentPath) -> tuple[float, ...]:
        if not (usable(human) and usable(machine)):
            return 0.0, 0.0, 0.0, 0.0, 1.0
        one, other = self.value(human), self.value(machine)
        return float(one < other), 1.0, one, other, 0.0

    def score(self, tally: Tally) -> float:
        """Pairwise accuracy; nan without a pair."""
        pairs = tally.total("pairs")
        return tally.total("wins") / pairs if pairs else float("nan")

    def describe(self, units: Sequence[TextPair]) -> dict[str, Any]:
        """ROC curve of the pooled values (Figure 5), and how much longer one side is."""
        tally = self.tally(units)
        kept = tally.column("pairs") > 0
        human, machine = tally.column("human")[kept], tally.column("machine")[kept]
        lengths = {
            "human": float(np.mean([len(u.human.latents) for u in units])),
            "machine": float(np.mean([len(u.machine.latents) for u in units])),
        }
        return {"roc": roc_points(human, machine), "mean_sentences": lengths}


@dataclass(frozen=True)
class MachineArea(MachinePairs):
    """Area under the ROC curve of single texts' values, human against machine (Figure 5)."""

    def score(self, tally: Tally) -> float:
        """Chance that a machine text scores above a human one of any document; ties count half."""
        kept = tally.column("pairs") > 0
        return area(tally.column("human")[kept], tally.column("machine")[kept])


@dataclass(frozen=True)
class MachineGeneral:
    """One text in, human or machine out: accuracy of a classifier on the five features (section 5.3, Table 5).

    Attributes:
        classifier: "linear" (logistic) or "three_layer".
        index: convention of the features.
    """

    better: ClassVar[Better] = "higher"
    classifier: str = "three_layer"
    index: str = "canonical"
    pairs: MachinePairs | None = field(default=None, repr=False, metadata=FITTED)
    model: Any = field(default=None, repr=False, metadata=FITTED)
    filling: np.ndarray | None = field(default=None, repr=False, metadata=FITTED)

    def fit(self, real: Sequence[TextPair]) -> MachineGeneral:
        """Train on both sides of the training documents."""
        pairs = MachinePairs(index=self.index).fit(real)
        kept = [text for pair in real for text in (pair.human, pair.machine) if usable(text)]
        features = np.array([pairs.values(unit) for unit in kept])
        filling = column_means(features)
        labels = [not unit.unit_id.endswith(f"-{HUMAN}") for unit in kept]
        model = text_classifier(self.classifier).fit(np.where(np.isfinite(features), features, filling), labels)
        return replace(self, pairs=pairs, model=model, filling=filling)

    def tally(self, units: Sequence[TextPair]) -> Tally:
        """Columns right, texts (up to two a pair) and excluded."""
        both = [self._row(pair.human) + self._row(pair.machine) for pair in units]
        rows = np.array(both, dtype=np.float64).reshape(len(units), 4)
        values = np.stack([rows[:, 0] + rows[:, 2], rows[:, 1] + rows[:, 3], (rows[:, 1] + rows[:, 3]) == 0], axis=1)
        return Tally(tuple(pair.unit_id for pair in units), ("right", "texts", "excluded"), values.astype(np.float64))

    def _row(self, unit: LatentPath) -> tuple[float, float]:
        if self.model is None or self.pairs is None or self.filling is None:
            raise BadInput("machine classifier is not fitted; call fit(real pairs) and use what it returns")
        if not usable(unit):
            return 0.0, 0.0
        features = self.pairs.values(unit)
        guess = self.model.predict(np.where(np.isfinite(features), features, self.filling)[None])[0]
        return float(guess != unit.unit_id.endswith(f"-{HUMAN}")), 1.0

    def score(self, tally: Tally) -> float:
        """Accuracy over texts; nan without any."""
        texts = tally.total("texts")
        return tally.total("right") / texts if texts else float("nan")


def column_means(features: np.ndarray) -> np.ndarray:
    """Mean of the finite entries of each column, 0 where there is none; what stands in for a window that did not fit."""
    there = np.isfinite(features)
    return np.where(there, features, 0.0).sum(0) / np.maximum(there.sum(0), 1)


def text_classifier(name: str) -> Any:
    """A scikit-learn classifier of single texts' features.

    Raises:
        BadInput: an unknown name.
    """
    from sklearn.linear_model import LogisticRegression  # a second to import, needed here only
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    made = {
        "linear": lambda: LogisticRegression(max_iter=1000),
        "three_layer": lambda: MLPClassifier((64, 32), max_iter=400, random_state=0, alpha=1e-3, tol=1e-3),
    }
    if name not in made:
        raise BadInput(f"classifier {name!r}; allowed are {sorted(made)}; mend the row")
    return make_pipeline(StandardScaler(), made[name]())
