"""Who wrote it: human texts against machine continuations of the same documents (sheng2024 sections 5.2 to 5.5).

All texts of one document stay together (:class:`Sides`), so that splits and resamples keep them together: a classifier never
sees a test document's other side.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.stats import wasserstein_distance

from longform.errors import BadInput
from longform.evaluation.measurements import Measurement, measured, paired_difference
from longform.evaluation.order_discrimination import (
    Area,
    PairAccuracy,
    against_chance,
    preference_statistics,
)
from longform.results import Record
from longform.statistics.comparisons import compare
from longform.statistics.intervals import percentile_interval
from longform.statistics.protocols import Better, PairLearner
from longform.statistics.random_streams import generator
from longform.statistics.signatures import FITTED, signature
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered
from longform.statistics.sum_scored import SumScored, unit_scores

CLASSIFIERS = ("linear", "three_layer")  # logistic; a perceptron of two hidden layers
HUMAN = "human"
SIDES = (HUMAN, "machine")
TOP = 2  # sheng2024 section 5.4: in whose own top two a source lies
RESAMPLES = 200  # of the distances
Features = Callable[[Any], np.ndarray | None]


@dataclass(frozen=True)
class ClassAccuracy(SumScored, better="higher", share=True, divided=("right", "texts")):
    """Texts of which the right class was told, over all texts."""

    classifier: str = "three_layer"


def text_classification(
    features: Features,
    label: Callable[[Any], Any],
    train: Sequence[Any],
    evaluate: Sequence[Any],
    *,
    classifier: str = "three_layer",
    document: Callable[[Any], str] = lambda unit: unit.unit_id,
    **fields: Any,
) -> Record:
    """Accuracy of a classifier that has learnt from the training texts, tested against their commonest class, the ``reference``.

    Args:
        features: what is seen of a text, (features,), nan where a feature is missing; None where the text cannot be read.
        label: its class; None where it has none.
        document: name of the document that a text belongs to: texts of one document are resampled together.

    Raises BadInput: fewer than two classes to learn from, or an unknown classifier.
    """
    from sklearn.linear_model import LogisticRegression  # a second to import, needed here only
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if classifier not in CLASSIFIERS:
        raise BadInput(f"classifier {classifier!r}; allowed are {list(CLASSIFIERS)}; fix the entry")
    known = [
        (seen, label(unit))
        for unit in train
        if label(unit) is not None and (seen := features(unit)) is not None
    ]
    table, kinds = np.array([seen for seen, _ in known]), [kind for _, kind in known]
    if len(set(kinds)) < 2:
        raise BadInput(
            f"text classification: {len(known)} texts in {len(set(kinds))} classes; give two"
        )
    there = np.isfinite(table)
    filling = np.where(there, table, 0.0).sum(0) / np.maximum(
        there.sum(0), 1
    )  # for a window that does not fit
    network = MLPClassifier((64, 32), max_iter=400, random_state=0, alpha=1e-3, tol=1e-3)
    model = make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000) if classifier == "linear" else network
    )
    model.fit(np.where(there, table, filling), kinds)
    commonest = Counter(kinds).most_common(1)[0][0]
    rows = np.tile([0.0, 0.0, 0.0, 1.0], (len(evaluate), 1))
    for row, unit in zip(rows, evaluate, strict=True):
        seen, kind = features(unit), label(unit)
        if seen is not None and kind is not None:
            guess = model.predict(np.where(np.isfinite(seen), seen, filling)[None])[0]
            row[:] = guess == kind, 1.0, commonest == kind, 0.0
    each = SufficientStatistics.of(evaluate, ("right", "texts", "majority", "excluded"), rows)
    statistics = clustered(each, [document(unit) for unit in evaluate])
    metric, baseline = ClassAccuracy(classifier), statistics.values.copy()
    baseline[:, 0] = statistics.column("majority")
    names = ("text classification", classifier, *fields.values())
    other = SufficientStatistics(statistics.unit_ids, statistics.columns, baseline)
    tested = compare(metric, statistics, other, generator(*names, "permutation"))
    fields |= {"p_value": tested.p_value, "paired": True}
    fields["reference"] = (
        statistics.total("majority") / texts if (texts := statistics.total("texts")) else None
    )
    classes = Counter(str(label(unit)) for unit in evaluate if label(unit) is not None)
    details = {"classes": dict(sorted(classes.items()))}
    return measured(metric, statistics, names, metric="class_accuracy", details=details, **fields)


@dataclass(frozen=True)
class Sides:
    """Every text of one document, ``<id>-human`` and by source ``<id>-<source>``, as whatever some reader read."""

    unit_id: str
    split: str
    human: Any
    machines: Mapping[str, Any]

    def text(self, source: str) -> Any:
        """The text of a source, the human one among them. Raises BadInput: the document has none of that source."""
        if source != HUMAN and source not in self.machines:
            raise BadInput(
                f"{self.unit_id}: no text of source {source!r}; there are {sorted(self.machines)}"
            )
        return self.human if source == HUMAN else self.machines[source]


AllSides = Sequence[Sides]
Names = Sequence[str]


def sides_of(units: Sequence[Any]) -> list[Sides]:
    """The documents that have a human side and another; the split is the human text's. Raises BadInput: there is not a single pair."""
    sides: dict[str, dict[str, Any]] = {}
    for unit in units:
        document, _, side = unit.unit_id.rpartition("-")
        sides.setdefault(document, {})[side] = unit
    kept = {name: found for name, found in sides.items() if HUMAN in found and len(found) > 1}
    if not kept:
        raise BadInput(
            f"got {len(units)} units but no pair <id>-human, <id>-<source>; use a corpus of completions"
        )
    return [
        Sides(name, (human := found.pop(HUMAN)).split, human, found) for name, found in kept.items()
    ]


def source_measurements(
    scorers: Mapping[str, Any],
    documents: AllSides,
    sources: Names,
    *,
    train: AllSides = (),
    matched: bool = False,
) -> list[Measurement]:
    """The sufficient statistics behind :func:`human_vs_machine`, source by source, scorer by scorer.

    Scorers are fitted on the human texts of ``train``, pair learners source by source; none is where there are no such
    texts. ``matched`` cuts both sides to as many sentences as the shorter one has, a control for length.
    """
    if not sources or not scorers:
        raise BadInput(
            "human against machine: no source or no scorer; name those of the completions"
        )

    def length(text: Any) -> int:
        return len(text.sentence_keys)

    def pair_of(document: Sides, source: str) -> list[Any]:
        texts = [document.human, document.text(source)]
        return [text.first(min(map(length, texts))) for text in texts] if matched else texts

    made = []
    for source, (name, scorer) in product(sources, scorers.items()):
        judge = scorer.fit([document.human for document in train]) if train else scorer
        pairs = [pair_of(document, source) for document in documents]
        if isinstance(judge, PairLearner) and train:
            told = [pair_of(document, source) for document in train]
            rows = [
                [judge.order_features(text, np.arange(length(text))[None]) for text in pair]
                for pair in told
            ]
            judge = judge.fit_pairs([(one, two) for one, two in rows if len(one) and len(two)])
        values = [unit_scores(judge, [pair[side] for pair in pairs]) for side in (0, 1)]
        statistics = preference_statistics(documents, list(np.stack(values, axis=1)), judge.better)
        lost = statistics.column("excluded") > 0
        columns = dict(zip(("wins", "ties", "pairs"), statistics.values.T, strict=False))
        columns |= {side: np.where(lost, 0.0, own) for side, own in zip(SIDES, values, strict=True)}
        metric = PairAccuracy(signature(judge), f"human against {source}")
        lengths = {
            side: float(np.mean([length(pair[i]) for pair in pairs]))
            for i, side in enumerate(SIDES)
        }
        details = {"mean_sentences": lengths, "lower": judge.better != "higher"}
        fields = {
            "critic": name,
            "metric": "pairwise_accuracy",
            "system": source,
            "details": details,
        }
        own = SufficientStatistics.of_columns(documents, **columns, excluded=lost)
        made.append(Measurement({"": metric}, {"": own}, fields))
    return made


def human_vs_machine(
    scorers: Mapping[str, Any], documents: AllSides, sources: Names, **given: Any
) -> list[Record]:
    """Does a scorer find the human text the more coherent one? Pairs (Table 4), and single texts (Figure 5), by source (``system``).

    Records ``pairwise_accuracy`` (ties one half), ``area`` under the ROC curve of single texts, and
    ``pairwise_accuracy_difference`` of each scorer and the first one.
    """
    records: list[Record] = []
    first: dict[str, Measurement] = {}
    for one in source_measurements(scorers, documents, sources, **given):
        critic, source = one.fields["critic"], one.fields["system"]
        names, statistics = ("human against machine", critic, source), one.all_statistics[""]
        records += replace(
            one, fields={**one.fields, **against_chance(statistics, *names)}
        ).records(*names)
        metric = Area(*SIDES, one.metrics[""].scorer, one.fields["details"]["lower"])
        fields = {
            "critic": critic,
            "metric": "area",
            "system": source,
            **metric.describe(statistics, *names),
        }
        records.append(measured(metric, statistics, (*names, "area"), **fields))
        other = first.setdefault(source, one)
        if other is not one:
            fields = {"critic": critic, "metric": "pairwise_accuracy_difference", "system": source}
            records.append(
                paired_difference(one, other, *names, **fields, variant=other.fields["critic"])
            )
    return records


def source_classification(
    features: Features, documents: AllSides, sources: Names, train: AllSides, classifier: str
) -> list[Record]:
    """One text in, human or machine out: accuracy by source (Table 5); both texts of a document are resampled together."""
    told: dict[str, Any] = {
        "classifier": classifier,
        "document": lambda text: text.unit_id.rpartition("-")[0],
    }
    records = []
    for source in sources:
        texts = [
            [d.text(side) for d in rows for side in (HUMAN, source)] for rows in (train, documents)
        ]
        own = told | {"critic": classifier, "system": source, "variant": classifier}
        records.append(
            text_classification(
                features, lambda t: not t.unit_id.endswith(f"-{HUMAN}"), *texts, **own
            )
        )
    return records


@dataclass(frozen=True)
class MeanValue(SumScored, better="reference_matched", divided=("value", "texts")):
    """Mean of a column ``value`` over texts."""

    name: str = "value"


def source_profiles(
    value: Callable[[Any], float], texts: Mapping[str, Sequence[Any]], **fields: Any
) -> list[Record]:
    """Mean of a number that each text has, source by source (Figures 6 and 7); ``details`` keep every text's own."""
    records = []
    for source, units in texts.items():
        each = np.array([value(unit) for unit in units], dtype=np.float64)
        kept = np.isfinite(each)
        statistics = SufficientStatistics.of_columns(
            units, value=np.where(kept, each, 0.0), texts=kept, excluded=~kept
        )
        given = {
            "metric": "mean",
            **fields,
            "system": source,
            "details": {"values": each[kept].tolist()},
        }
        records.append(
            measured(
                MeanValue(), statistics, ("source profiles", *fields.values(), source), **given
            )
        )
    return records


@dataclass(frozen=True)
class SourceDetection:
    """Share of sources whose tested texts lie nearest, or next to nearest, to their own known texts (Figure 6)."""

    known: Mapping[str, np.ndarray] = field(
        repr=False, metadata=FITTED
    )  # values of known texts by source
    better: ClassVar[Better] = "higher"

    def distances(self, statistics: SufficientStatistics) -> np.ndarray:
        r"""1-Wasserstein distances $\int |F_q - F_k|$ of the tested sources' values and the known ones', (tested, known)."""
        kept = statistics.column("excluded") == 0
        tested = [statistics.column(source)[kept] for source in self.known]
        return np.array(
            [[wasserstein_distance(one, other) for other in self.known.values()] for one in tested]
        )

    def score_of(self, statistics: SufficientStatistics) -> float:
        if (statistics.column("excluded") > 0).all():
            return float("nan")
        return float(
            np.mean(
                [
                    (row < row[place]).sum() < TOP
                    for place, row in enumerate(self.distances(statistics))
                ]
            )
        )


def source_detection(
    value: Callable[[Any], float],
    documents: AllSides,
    sources: Names,
    train: AllSides,
    **fields: Any,
) -> list[Record]:
    """Whose texts are these? Distances between the sources' distributions of a number that each text has (section 5.4).

    ``own_top_two`` first, then ``distance`` of each tested source (``system``) to each known one (``variant``) with an
    interval over documents; ``details`` scale the distances of a tested source to [1, 2], as the figure draws them.

    Raises BadInput: a source without a known text.
    """
    names = (HUMAN, *sources)
    known = {name: np.array([value(document.text(name)) for document in train]) for name in names}
    known = {name: values[np.isfinite(values)] for name, values in known.items()}
    if empty := [name for name, values in known.items() if not len(values)]:
        raise BadInput(
            f"source {empty[0]!r} has no usable training text; check the documents of its split"
        )
    each = np.array([[value(d.text(s)) for s in names] for d in documents]).reshape(
        len(documents), len(names)
    )
    broken = ~np.isfinite(each).all(axis=1, keepdims=True)
    columns, ids = (
        np.concatenate([np.where(broken, 0.0, each), broken], axis=1),
        tuple(d.unit_id for d in documents),
    )
    detector, statistics = (
        SourceDetection(known),
        SufficientStatistics(ids, (*names, "excluded"), columns),
    )
    rng = generator("source detection", *names)
    records = [
        measured(detector, statistics, ("source detection", *names), metric="own_top_two", **fields)
    ]
    if (statistics.column("excluded") > 0).all():
        return records
    found, size = detector.distances(statistics), len(statistics.unit_ids)
    draws = np.array(
        [detector.distances(statistics.take(rng.integers(0, size, size))) for _ in range(RESAMPLES)]
    )
    excluded = int(statistics.total("excluded"))
    counted: dict[str, Any] = {"units": size - excluded, "excluded": excluded}
    low, high = found.min(axis=1, keepdims=True), found.max(axis=1, keepdims=True)
    scaled = 1 + np.divide(found - low, high - low, out=np.zeros_like(found), where=high > low)
    for (i, tested), (j, other) in product(enumerate(names), enumerate(names)):
        bounds, details = percentile_interval(draws[:, i, j]), {"scaled": float(scaled[i, j])}
        own = {
            "critic": "",
            "metric": "distance",
            "system": tested,
            "variant": other,
            "better": "lower",
            **fields,
        }
        records.append(
            Record(
                **own,
                value=float(found[i, j]),
                low=bounds[0],
                high=bounds[1],
                details=details,
                **counted,
            )
        )
    return records
