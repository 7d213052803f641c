"""Human texts against machine continuations of the same documents.

sheng2024 sections 5.2 to 5.5. All texts of one document stay together (:class:`Sides`), so that
splits and resamples keep them together: a classifier never sees a test document's other side.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.stats import wasserstein_distance

from longform.errors import ConfigError, InputError, counted
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
TOP = 2  # sheng2024 section 5.4: a source is detected if it is among the two nearest to itself
RESAMPLES = 200  # of the distances
Features = Callable[[Any], np.ndarray | None]  # of a text, float64 (features,); None: unreadable
CLASS_COLUMNS = ("right", "texts", "majority", "excluded")


# Class keywords: the score is a share, sum of ``right`` over sum of ``texts`` (see SumScored).
@dataclass(frozen=True)
class ClassAccuracy(SumScored, better="higher", share=True, divided=("right", "texts")):
    """Share of texts that are classified rightly."""

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
    """Accuracy of a classifier of texts, tested against the commonest class.

    Args:
        features: returns the features of a text, float64 (features,), nan where one is missing;
            None where the text cannot be read.
        label: returns a text's class; None where it has none.
        train: texts that the classifier learns from.
        evaluate: texts that it is tested on.
        classifier: one of ``CLASSIFIERS``.
        document: returns the name of a text's document: texts of one document are resampled
            together.
        fields: further fields of the record.

    Returns:
        Its ``reference`` is the accuracy of always saying the commonest class of ``train``.

    Raises:
        InputError: fewer than two classes to learn from.
        ConfigError: an unknown classifier.
    """
    # 1. Learn.
    predict, commonest = _trained(features, label, train, classifier)
    # 2. Whether the classifier, and the commonest class, are right about each text.
    rows = []  # CLASS_COLUMNS
    classes: Counter[str] = Counter()
    for unit in evaluate:
        values = features(unit)
        kind = label(unit)
        if kind is not None:
            classes[str(kind)] += 1
        if values is None or kind is None:
            rows.append((0.0, 0.0, 0.0, 1.0))
        else:
            rows.append((predict(values) == kind, 1.0, commonest == kind, 0.0))
    by_text = SufficientStatistics.of(evaluate, CLASS_COLUMNS, rows)
    statistics = clustered(by_text, [document(unit) for unit in evaluate])
    # 3. The test against the commonest class.
    baseline_values = statistics.values.copy()
    baseline_values[:, CLASS_COLUMNS.index("right")] = statistics.column("majority")
    baseline = replace(statistics, values=baseline_values)
    metric = ClassAccuracy(classifier)
    names = ("text classification", classifier, *fields.values())
    test = compare(metric, statistics, baseline, generator(*names, "permutation"))
    texts = statistics.total("texts")
    fields |= {
        "p_value": test.p_value,
        "paired": True,
        "reference": statistics.total("majority") / texts if texts else None,
    }
    details = {"classes": dict(sorted(classes.items()))}
    return measured(metric, statistics, names, metric="class_accuracy", details=details, **fields)


def _trained(
    features: Features, label: Callable[[Any], Any], train: Sequence[Any], classifier: str
) -> tuple[Callable[[np.ndarray], Any], Any]:
    """Train a classifier.

    Args:
        features, label, train, classifier: as in :func:`text_classification`.

    Returns:
        A function from features to the predicted class, and the commonest class of ``train``.

    Raises:
        InputError: fewer than two classes to learn from.
        ConfigError: an unknown classifier.
    """
    from sklearn.linear_model import LogisticRegression  # a second to import, needed here only
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if classifier not in CLASSIFIERS:
        raise ConfigError(
            f"classifier {classifier!r}; allowed are {list(CLASSIFIERS)}; fix the entry"
        )
    # 1. Texts that can be read and have a class.
    rows = []
    kinds = []
    for unit in train:
        kind = label(unit)
        if kind is None:
            continue
        values = features(unit)
        if values is not None:
            rows.append(values)
            kinds.append(kind)
    if len(set(kinds)) < 2:
        raise InputError(
            f"text classification: {counted(len(rows), 'text')} in "
            f"{counted(len(set(kinds)), 'class', 'classes')}; give two"
        )
    # 2. A missing feature (nan; the BBScore of a window that is longer than the text) is its mean
    #    over the texts that have it.
    table = np.array(rows)
    has_value = np.isfinite(table)
    means = np.where(has_value, table, 0.0).sum(0) / np.maximum(has_value.sum(0), 1)
    # 3. The classifier.
    if classifier == "linear":
        model = LogisticRegression(max_iter=1000)
    else:
        model = MLPClassifier((64, 32), max_iter=400, random_state=0, alpha=1e-3, tol=1e-3)
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(np.where(has_value, table, means), kinds)

    def predict(values: np.ndarray) -> Any:
        filled = np.where(np.isfinite(values), values, means)
        return pipeline.predict(filled[None])[0]

    commonest = Counter(kinds).most_common()[0][0]
    return predict, commonest


@dataclass(frozen=True)
class Sides:
    """All texts of one document, as units of some critic.

    Attributes:
        unit_id: id of the document.
        split: of its human text.
        human: the text ``<id>-human``.
        machines: source -> the text ``<id>-<source>``.
    """

    unit_id: str
    split: str
    human: Any
    machines: Mapping[str, Any]

    def text(self, source: str) -> Any:
        """The text of a source, the human one among them.

        Raises InputError: the document has none of that source.
        """
        if source == HUMAN:
            return self.human
        if source not in self.machines:
            raise InputError(
                f"{self.unit_id}: no text of source {source!r}; there are {sorted(self.machines)}"
            )
        return self.machines[source]


AllSides = Sequence[Sides]
Names = Sequence[str]


def sides_of(units: Sequence[Any]) -> list[Sides]:
    """Group texts by document, keeping documents that have a human text and another.

    Args:
        units: of all texts, named ``<id>-human`` and ``<id>-<source>``.

    Raises:
        InputError: there is not a single pair.
    """
    texts_by_document: dict[str, dict[str, Any]] = {}
    for unit in units:
        document, _, source = unit.unit_id.rpartition("-")
        texts_by_document.setdefault(document, {})[source] = unit
    all_sides = []
    for document, texts in texts_by_document.items():
        if HUMAN in texts and len(texts) > 1:
            human = texts.pop(HUMAN)
            all_sides.append(Sides(document, human.split, human, texts))
    if not all_sides:
        raise InputError(
            f"got {counted(len(units), 'unit')} but no pair <id>-human, <id>-<source>; "
            "use a corpus of completions"
        )
    return all_sides


def source_measurements(
    scorers: Mapping[str, Any],
    documents: AllSides,
    sources: Names,
    *,
    train: AllSides = (),
    matched: bool = False,
) -> list[Measurement]:
    """The sufficient statistics behind :func:`human_vs_machine`, source by source.

    Args:
        scorers: name -> critic; they are fitted on the human texts of ``train`` if there are any,
            pair learners also on the pairs of each source.
        documents: documents with a text of each source.
        sources: names of the machines.
        train: documents to learn from.
        matched: cut both sides to as many sentences as the shorter one has, a control for length.

    Returns:
        For each source and scorer columns wins, ties and pairs (1 where both texts have a score),
        human and machine (their scores), and excluded, a row a document.

    Raises:
        InputError: no source or no scorer.
    """
    if not sources or not scorers:
        raise InputError(
            "human against machine: no source or no scorer; name those of the completions"
        )
    measurements = []
    for source, (name, scorer) in product(sources, scorers.items()):
        # 1. The scorer, which may learn from pairs of this source.
        judge = scorer
        if train:
            judge = scorer.fit([document.human for document in train])
            if isinstance(judge, PairLearner):
                judge = judge.fit_pairs(_training_pairs(judge, train, source, matched))
        # 2. Its scores of both texts of each document.
        human_texts = []
        machine_texts = []
        for document in documents:
            human, machine = _pair(document, source, matched)
            human_texts.append(human)
            machine_texts.append(machine)
        human_scores = unit_scores(judge, human_texts)
        machine_scores = unit_scores(judge, machine_texts)
        # 3. Wins of the human text, and the scores themselves, for the area under the ROC curve.
        scores = list(np.stack([human_scores, machine_scores], axis=1))
        preferences = preference_statistics(documents, scores, judge.better)
        excluded = preferences.column("excluded") > 0
        statistics = SufficientStatistics.of_columns(
            documents,
            wins=preferences.column("wins"),
            ties=preferences.column("ties"),
            pairs=preferences.column("pairs"),
            human=np.where(excluded, 0.0, human_scores),
            machine=np.where(excluded, 0.0, machine_scores),
            excluded=excluded,
        )
        lengths = {"human": _mean_length(human_texts), "machine": _mean_length(machine_texts)}
        fields = {
            "critic": name,
            "metric": "pairwise_accuracy",
            "system": source,
            "details": {"mean_sentences": lengths, "lower": judge.better != "higher"},
        }
        metric = PairAccuracy(signature(judge), f"human against {source}")
        # One head of the encoder, without a name.
        measurements.append(Measurement({"": metric}, {"": statistics}, fields))
    return measurements


def _length(text: Any) -> int:
    """Sentences of a text."""
    return len(text.sentence_keys)


def _mean_length(texts: Sequence[Any]) -> float:
    """Mean number of sentences."""
    return float(np.mean([_length(text) for text in texts]))


def _pair(document: Sides, source: str, matched: bool) -> tuple[Any, Any]:
    """A document's human text and that of a source, cut to one length where ``matched``."""
    human = document.human
    machine = document.text(source)
    if not matched:
        return human, machine
    shorter = min(_length(human), _length(machine))
    return human.first(shorter), machine.first(shorter)


def _training_pairs(
    judge: PairLearner, train: AllSides, source: str, matched: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(human, machine) features of both texts of each document, where both have any.

    Each is float64 (1, features), of the text in its own order of sentences.
    """
    pairs = []
    for document in train:
        features = []
        for text in _pair(document, source, matched):
            own_order = np.arange(_length(text))[None]
            features.append(judge.order_features(text, own_order))
        human, machine = features
        if len(human) and len(machine):
            pairs.append((human, machine))
    return pairs


def human_vs_machine(
    scorers: Mapping[str, Any], documents: AllSides, sources: Names, **options: Any
) -> list[Record]:
    """How often each scorer prefers the human text of a document to a machine's.

    Args:
        scorers, documents, sources: as for :func:`source_measurements`.
        options: its ``train`` and ``matched``.

    Returns:
        For each source (``system``): ``pairwise_accuracy`` (Table 4; ties one half), ``area`` under
        the ROC curve of single texts (Figure 5), and ``pairwise_accuracy_difference`` of each
        scorer and the first one.
    """
    records: list[Record] = []
    first_of_source: dict[str, Measurement] = {}
    for measurement in source_measurements(scorers, documents, sources, **options):
        critic = measurement.fields["critic"]
        source = measurement.fields["system"]
        names = ("human against machine", critic, source)
        statistics = measurement.all_statistics[""]
        # 1. Pairs, against chance: one record, since there is one head.
        fields = {**measurement.fields, **against_chance(statistics, *names)}
        records += replace(measurement, fields=fields).records(*names)
        # 2. Single texts: the area, with its ROC curve and a test against one half.
        scorer = measurement.metrics[""].scorer
        area = Area(*SIDES, scorer, measurement.fields["details"]["lower"])
        described = area.describe(statistics, *names)
        records.append(
            measured(
                area,
                statistics,
                (*names, "area"),
                critic=critic,
                metric="area",
                system=source,
                **described,
            )
        )
        # 3. Against the first scorer.
        first = first_of_source.setdefault(source, measurement)
        if first is not measurement:
            records.append(
                paired_difference(
                    measurement,
                    first,
                    *names,
                    critic=critic,
                    metric="pairwise_accuracy_difference",
                    system=source,
                    variant=first.fields["critic"],
                )
            )
    return records


def source_classification(
    features: Features, documents: AllSides, sources: Names, train: AllSides, classifier: str
) -> list[Record]:
    """Accuracy of classifying single texts as human or machine, by source (Table 5).

    Both texts of a document are resampled together.

    Args:
        features: as for :func:`text_classification`.
        documents, train: documents with a text of each source.
        sources: the machines, by name.
        classifier: one of ``CLASSIFIERS``.
    """
    records = []
    for source in sources:
        records.append(
            text_classification(
                features,
                _is_machine,
                _texts_of(train, source),
                _texts_of(documents, source),
                classifier=classifier,
                document=_document_of,
                critic=classifier,
                system=source,
                variant=classifier,
            )
        )
    return records


def _is_machine(text: Any) -> bool:
    """Whether a text's id is that of a machine's text."""
    return not text.unit_id.endswith(f"-{HUMAN}")


def _document_of(text: Any) -> str:
    """The document that a text's id names."""
    return text.unit_id.rpartition("-")[0]


def _texts_of(documents: AllSides, source: str) -> list[Any]:
    """The human text of each document and that of a source."""
    texts = []
    for document in documents:
        texts += [document.human, document.text(source)]
    return texts


# Class keywords: near real texts' score is better; sum of ``value`` over sum of ``texts``.
@dataclass(frozen=True)
class MeanValue(SumScored, better="reference_matched", divided=("value", "texts")):
    """Mean of a column ``value`` over texts."""

    name: str = "value"


def source_profiles(
    value: Callable[[Any], float], texts: Mapping[str, Sequence[Any]], **fields: Any
) -> list[Record]:
    """Mean of a number that each text has, source by source (Figures 6 and 7).

    Args:
        value: returns the number of a text; a text without a finite one is excluded.
        texts: source -> its texts.
        fields: further fields of the records.

    Returns:
        Records whose ``details`` have every text's number.
    """
    records = []
    for source, units in texts.items():
        numbers = np.array([value(unit) for unit in units], dtype=np.float64)
        is_finite = np.isfinite(numbers)
        statistics = SufficientStatistics.of_columns(
            units, value=np.where(is_finite, numbers, 0.0), texts=is_finite, excluded=~is_finite
        )
        names = ("source profiles", *fields.values(), source)
        details = {"values": numbers[is_finite].tolist()}
        record_fields = {"metric": "mean", **fields, "system": source, "details": details}
        records.append(measured(MeanValue(), statistics, names, **record_fields))
    return records


@dataclass(frozen=True)
class SourceDetection:
    """Share of sources that lie nearest, or next to nearest, to themselves (Figure 6).

    The tested texts of a source are compared with the texts of all sources that are known.

    Attributes:
        known_values: source -> values of its known texts, float64 (texts,); not a setting.
    """

    known_values: Mapping[str, np.ndarray] = field(repr=False, metadata=FITTED)
    better: ClassVar[Better] = "higher"

    def distances(self, statistics: SufficientStatistics) -> np.ndarray:
        r"""1-Wasserstein distances $\int |F_q - F_k|$ of tested and known values.

        Args:
            statistics: a column of values for each source.

        Returns:
            float64 (tested sources, known sources); nan without a text.
        """
        is_scored = statistics.column("excluded") == 0
        distances = np.full((len(self.known_values), len(self.known_values)), np.nan)
        if not is_scored.any():
            return distances
        for row, source in enumerate(self.known_values):
            tested = statistics.column(source)[is_scored]
            for column, values in enumerate(self.known_values.values()):
                distances[row, column] = wasserstein_distance(tested, values)
        return distances

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The share; nan without a text."""
        if (statistics.column("excluded") > 0).all():
            return float("nan")
        # The diagonal is a source's distance to itself.
        hits = []
        for source, row in enumerate(self.distances(statistics)):
            nearer = (row < row[source]).sum()
            hits.append(nearer < TOP)
        return float(np.mean(hits))


def source_detection(
    value: Callable[[Any], float],
    documents: AllSides,
    sources: Names,
    train: AllSides,
    **fields: Any,
) -> list[Record]:
    """Detect sources by the distributions of a number that each text has (section 5.4).

    Args:
        value: returns the number of a text.
        documents: tested documents with a text of each source; one with a number that is not finite
            is excluded.
        sources: names of the machines; people are a source as well.
        train: documents whose texts' sources are known.
        fields: further fields of the records.

    Returns:
        ``own_top_two`` first, then ``distance`` of each tested source (``system``) to each known
        one (``variant``) with an interval over documents; ``details`` scale the distances of a
        tested source to [1, 2], as the figure draws them.

    Raises:
        InputError: a source without a known text.
    """
    names = (HUMAN, *sources)
    detector = SourceDetection(_training_values(value, names, train))
    statistics = _values_by_source(value, names, documents)
    rng = generator("source detection", *names)
    records = [
        measured(detector, statistics, ("source detection", *names), metric="own_top_two", **fields)
    ]
    if (statistics.column("excluded") > 0).all():
        return records
    # 1. The distances, of all documents and of resamples.
    size = len(statistics.unit_ids)
    distances = detector.distances(statistics)
    draws = np.empty((RESAMPLES, *distances.shape))
    for draw in draws:
        draw[:] = detector.distances(statistics.take(rng.integers(0, size, size)))
    # 2. The same, scaled from 1 for the nearest known source of each tested one to 2.
    nearest = distances.min(axis=1, keepdims=True)
    extent = distances.max(axis=1, keepdims=True) - nearest
    all_equal = np.zeros_like(distances)
    scaled = 1 + np.divide(distances - nearest, extent, out=all_equal, where=extent > 0)
    # 3. A record for each.
    excluded = int(statistics.total("excluded"))
    for (row, tested), (column, source) in product(enumerate(names), enumerate(names)):
        low, high = percentile_interval(draws[:, row, column])
        record_fields = {
            "critic": "",
            "metric": "distance",
            "system": tested,
            "variant": source,
            "better": "lower",
            **fields,
        }
        records.append(
            Record(
                **record_fields,
                value=float(distances[row, column]),
                low=low,
                high=high,
                details={"scaled": float(scaled[row, column])},
                units=size - excluded,
                excluded=excluded,
            )
        )
    return records


def _training_values(
    value: Callable[[Any], float], names: Names, train: AllSides
) -> dict[str, np.ndarray]:
    """The number of each training text of each source, those left out where it is not finite.

    Args:
        value: returns the number of a text, such as a score.
        names: the sources, people among them.
        train: documents with a text of each source.

    Returns:
        Source -> float64 (texts,), in the order of the documents.

    Raises InputError: a source has no finite number.
    """
    by_source = {}
    for name in names:
        values = np.array([value(document.text(name)) for document in train])
        by_source[name] = values[np.isfinite(values)]
    for name, values in by_source.items():
        if not len(values):
            raise InputError(
                f"source {name!r} has no usable training text; check the documents of its split"
            )
    return by_source


def _values_by_source(
    value: Callable[[Any], float], names: Names, documents: AllSides
) -> SufficientStatistics:
    """A column of numbers for each source; a document where one is not finite is excluded.

    :class:`SourceDetection` compares their distributions, without excluded rows, whose zeros are
    never read.
    """
    rows = []
    for document in documents:
        numbers = [value(document.text(name)) for name in names]
        if np.isfinite(numbers).all():
            rows.append([*numbers, 0.0])
        else:
            rows.append([0.0] * len(names) + [1.0])
    return SufficientStatistics.of(documents, (*names, "excluded"), rows)
