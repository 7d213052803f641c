"""Experiments of sheng2024 on sentence paths.

Original or shuffled, human or machine, rated coherence, and the effect of length. Each function
takes predictions to fit critics to and others to score, and returns records. A *head* is one
trained projection of the same frozen encoder; numbers are means over heads, followed by each head's
own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from longform.critics.bbscore import score as bbscore
from longform.critics.bbscore.bridge import BridgeFeatures, identity
from longform.critics.bbscore.ranker import BridgeRanker
from longform.critics.bbscore.score import BBScore, JointBridge
from longform.documents import Predictions
from longform.errors import ConfigError, InputError
from longform.evaluation import human_vs_machine as sides
from longform.evaluation import order_discrimination as orders
from longform.evaluation.agreement import value_of, weighted_values
from longform.evaluation.measurements import Measurement, paired_difference, under
from longform.results import Record
from longform.statistics.protocols import Better
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import unit_scores
from longform.text.permutations import ShuffleTask

# classifiers on the score's features
LEARNERS = {"three_layer": BridgeRanker("three_layer"), "linear": BridgeRanker("linear")}
JUDGES = {"bbscore": BBScore(), **LEARNERS, "joint": JointBridge()}


@dataclass(frozen=True)
class LengthCorrelation:
    """Spearman's correlation of two columns, score and sentences.

    A score that ignores length has 0.

    Attributes:
        scorer: signature of the critic that scores.
    """

    scorer: str = ""
    better: ClassVar[Better] = "lower"

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The correlation.

        It is nan for fewer than three documents, or where all are of one length or one score.
        """
        is_scored = statistics.column("excluded") == 0
        scores, sentences = statistics.values[is_scored, 0], statistics.values[is_scored, 1]
        return value_of("spearman", scores, sentences)

    def weighted_scores(self, statistics: SufficientStatistics, counts: np.ndarray) -> np.ndarray:
        """The correlation of each resample, (resamples,).

        Args:
            statistics: columns score, sentences and excluded.
            counts: how often each document is in each resample, (resamples, documents).
        """
        is_scored = statistics.column("excluded") == 0
        scores, sentences = statistics.values[is_scored, 0], statistics.values[is_scored, 1]
        return weighted_values("spearman", scores, sentences, counts[:, is_scored])


def length_confound(
    scorers: orders.Scorers,
    documents: orders.Units,
    *,
    train: orders.Units = (),
    heads: Sequence[str] = ("",),
) -> list[Record]:
    """Rank correlation of each scorer's value of coherent documents with their lengths.

    Args:
        scorers: name -> critic; fitted on ``train`` if there is any document in it.
        documents: coherent documents.
        train: documents to learn from.
        heads: heads of the encoder that read the documents.

    Returns:
        Records ``length_correlation``.
    """
    records = []
    sentences = [len(document.sentence_keys) for document in documents]
    for name, scorer in scorers.items():
        metrics = {}
        all_statistics = {}
        for head in heads:
            judge = scorer.fit(under(train, head)) if train else scorer
            scores = unit_scores(judge, under(documents, head))
            excluded = np.isnan(scores)
            metrics[head] = LengthCorrelation(signature(judge))
            all_statistics[head] = SufficientStatistics.of_columns(
                documents,
                score=np.where(excluded, 0.0, scores),
                sentences=sentences,
                excluded=excluded,
            )
        fields = {"critic": name, "metric": "length_correlation"}
        records += Measurement(metrics, all_statistics, fields).records("length confound", name)
    return records


def shuffle_tasks(
    *,
    train: Predictions,
    texts: Predictions,
    judges: Sequence[str] = ("bbscore",),
    heads: Sequence[str] = ("",),
    areas: bool = False,
    learned: int | None = None,
) -> list[Record]:
    """Pairs of originals and shuffles, and areas over single texts (Tables 1 to 3, Figures 4, 9).

    Args:
        train, texts: sentence paths, of which the splits train and test are taken.
        judges: some of ``JUDGES``.
        heads: heads of the encoder.
        areas: add the area under the ROC curve of each block task, and for the first head its
            course over the variance.
        learned: number of training documents of the classifiers; all by default.

    Raises:
        ConfigError: a judge that is none of ``JUDGES``.
    """
    if not judges or set(judges) - set(JUDGES):
        raise ConfigError(f"judges {list(judges)}; allowed are {list(JUDGES)}; fix params.yaml")
    block_tasks = []
    for size in orders.BLOCKS:
        block_tasks.append(ShuffleTask("block", (size,), draws=("block shuffle", 0)))
    window_tasks = []
    for sizes in orders.WINDOWS:
        window_tasks.append(ShuffleTask("window", sizes, draws=("local shuffle", 0)))
    # 1. Pairs.
    training = _split(train, "train")
    tested = _split(texts, "test")
    settings: dict[str, Any] = {"train": training, "heads": heads}
    records = orders.order_discrimination(
        {judge: JUDGES[judge] for judge in judges},
        tested,
        [*block_tasks, *window_tasks],
        **settings,
        learn_from=learned,
    )
    # 2. The first head's records get the number of texts whose variance has no logarithm.
    first_critic = BBScore().fit(under(training, heads[0]))
    first_tested = under(tested, heads[0])
    negative = first_critic.sufficient_statistics(first_tested).total("negative")
    for row, record in enumerate(records):
        of_pairs = record.critic == "bbscore" and record.metric == "pairwise_accuracy"
        if of_pairs and record.variant == heads[0]:
            records[row] = replace(record, details={**record.details, "negative": negative})
    if not areas:
        return records
    # 3. Areas, the first head's with their course over the variance.
    task_of = {task.name: task for task in block_tasks}
    for record in orders.order_areas({"bbscore": BBScore()}, tested, block_tasks, **settings):
        course = {}
        if record.variant == heads[0]:
            course = _course(first_critic, first_tested, task_of[record.task])
        records.append(replace(record, details={**record.details, **course}))
    return records


def _course(critic: BBScore, units: Sequence[Any], task: ShuffleTask) -> dict[str, Any]:
    """Area and pairwise accuracy as functions of the variance (Figure 9), as details of a record.

    Args:
        critic: a fitted critic.
        units: the tested documents.
        task: draws one permutation of each document.

    Returns:
        The estimated ``sigma2``, and ``sweep``: lists of ``sigma2``, ``auc`` and ``accuracy``.
    """
    # for each document, then for each variance, the scores of its orders
    swept = []
    pairs = orders.drawn_orders(units, replace(task, copies=1))
    for unit, unit_orders in zip(units, pairs, strict=True):
        swept.append(critic.swept(unit, unit_orders))
    area = orders.Area("original", "permuted", lower=True)
    accuracy = orders.PairAccuracy()
    areas = []
    accuracies = []
    for scores in zip(*swept, strict=True):
        areas.append(area.score_of(orders.first_permutations(units, scores)))
        preferences = orders.preference_statistics(units, scores, "lower")
        accuracies.append(accuracy.score_of(preferences))
    return {
        "sigma2": critic.sigma2,
        "sweep": {"sigma2": critic.variances(), "auc": areas, "accuracy": accuracies},
    }


def best_variance(*, train: Predictions, texts: Predictions) -> list[Record]:
    """BBScore with its estimated variance against BBScore with the best of a sweep (Figure 9).

    The best variance has the largest area under the ROC curve on the training documents.

    Args:
        train: sentence paths; those of split train estimate the variance and choose the best.
        texts: sentence paths; on those of split test the two variances are compared.

    Returns:
        For each block task, both of variant ``best_variance``, a record ``area`` of the best
        variance, and ``area_difference``, its area less that of the estimate.

    Raises:
        InputError: no training document has a shuffle of a task that differs from it.
    """
    training = _split(train, "train")
    tested = _split(texts, "test")
    critic = BBScore().fit(training)
    records = []
    for size in orders.BLOCKS:
        task = ShuffleTask("block", (size,), copies=1, draws=("block shuffle", 0))
        # 1. Choose on the training documents.
        sweep = _course(critic, training, task)["sweep"]
        if np.isnan(sweep["auc"]).all():
            raise InputError(
                f"{task.name}: 0 of {len(training)} training documents have a permutation that "
                "differs; add longer documents"
            )
        is_best = np.array(sweep["auc"]) == np.nanmax(sweep["auc"])
        best = np.array(sweep["sigma2"])[is_best]
        # of several best variances, the nearest to the estimate
        variance = float(best[np.abs(np.log(best / critic.sigma2)).argmin()])
        chosen = replace(critic, sigma2=variance)
        # 2. Judge both variances on the test documents.
        names = ("best variance", task.name)
        fields = {"critic": "bbscore", "variant": "best_variance", "task": task.name}
        of_chosen, of_estimate = [
            _area_of_orders(judge, tested, task, {**fields, "metric": "area"})
            for judge in (chosen, critic)
        ]
        details = {"sigma2": critic.sigma2, "best_sigma2": variance}
        for record in of_chosen.records(*names):
            records.append(replace(record, details={**record.details, **details}))
        fields["metric"] = "area_difference"
        records.append(paired_difference(of_chosen, of_estimate, *names, **fields))
    return records


def _area_of_orders(
    judge: BBScore, units: Sequence[Any], task: ShuffleTask, fields: dict[str, Any]
) -> Measurement:
    """The area under the ROC curve of a fitted critic: documents against a permutation of each.

    ``fields`` are those of the record.
    """
    scores = []
    for unit, unit_orders in zip(units, orders.drawn_orders(units, task), strict=True):
        scores.append(judge.order_scores(unit, unit_orders))
    metric = orders.Area("original", "permuted", signature(judge), lower=True)
    return Measurement({"": metric}, {"": orders.first_permutations(units, scores)}, fields)


def _split(predictions: Predictions, split: str) -> list[Any]:
    """The paths of a split."""
    return [unit for unit in bbscore.units_from_predictions(predictions) if unit.split == split]


def length(*, train: Predictions, texts: Predictions, heads: Sequence[str] = ("",)) -> list[Record]:
    """Rank correlation of scores with the number of sentences of coherent documents.

    Of BBScore and of the joint density; arguments as for :func:`shuffle_tasks`.
    """
    scorers = {"bbscore": JUDGES["bbscore"], "joint": JUDGES["joint"]}
    training = _split(train, "train")
    return length_confound(scorers, _split(texts, "test"), train=training, heads=heads)


def machines(*, train: Predictions, texts: Predictions, sources: Sequence[str]) -> list[Record]:
    """Records of human against machine texts, by source (Tables 4 and 5, Figure 5).

    Pairs, pairs of equal length, areas, classified single texts.

    Args:
        train, texts: sentence paths of completions, of which the splits train and test are taken.
        sources: names of the machines.
    """
    training = _sides(train, "train")
    tested = _sides(texts, "test")
    raw = {"bbscore": JUDGES["bbscore"]}
    # 1. Pairs, and pairs of equal length.
    records = sides.human_vs_machine(JUDGES, tested, sources, train=training)
    matched = sides.human_vs_machine(raw, tested, sources, train=training, matched=True)
    for record in matched:
        if record.metric == "pairwise_accuracy":
            records.append(replace(record, variant="matched"))
    # 2. Single texts.
    features = BridgeFeatures().fit_units([document.human for document in training])

    def features_of(unit: Any) -> np.ndarray | None:
        return features.values(unit, identity(unit))[0] if unit.usable else None

    for kind in reversed(sides.CLASSIFIERS):
        records += sides.source_classification(features_of, tested, sources, training, kind)
    # 3. What equal length changes.
    cut = sides.source_measurements(raw, tested, sources, train=training, matched=True)
    uncut = sides.source_measurements(raw, tested, sources, train=training, matched=False)
    for of_cut, of_uncut in zip(cut, uncut, strict=True):
        source = of_cut.fields["system"]
        fields = {
            "critic": "bbscore",
            "variant": "matched",
            "system": source,
            "metric": "pairwise_accuracy_difference",
        }
        records.append(paired_difference(of_cut, of_uncut, "matched", source, **fields))
    return records


def _sides(predictions: Predictions, split: str) -> list[sides.Sides]:
    """The documents of a split that have a human text and another."""
    documents = sides.sides_of(bbscore.units_from_predictions(predictions))
    return [document for document in documents if document.split == split]


def profiles(*, train: Predictions, texts: Predictions, sources: Sequence[str]) -> list[Record]:
    """Mean diffusion estimate and mean trajectory of each source (Figure 7).

    Of human texts and of their shuffles as well; arguments as for :func:`machines`.
    """
    training = _by_source(_sides(train, "train"), sources)
    tested = _by_source(_sides(texts, "test"), sources)
    diffusion = bbscore.text_diffusion
    train_profiles = sides.source_profiles(diffusion, training, critic="bbscore")
    test_profiles = sides.source_profiles(diffusion, tested, critic="bbscore")
    records = []
    for of_train, record in zip(train_profiles, test_profiles, strict=True):
        details = {
            "train": of_train.details["values"],
            "test": record.details["values"],
            "trajectory": bbscore.trajectory(tested[record.system]),
        }
        records.append(replace(record, metric="trajectory", details=details))
    return records


def _by_source(documents: Sequence[sides.Sides], names: Sequence[str]) -> dict[str, list[Any]]:
    """Human texts, their shuffles, and the texts of each machine."""
    human = [document.human for document in documents]
    texts = {sides.HUMAN: human, "shuffled": [bbscore.shuffled(unit) for unit in human]}
    for name in names:
        texts[name] = [document.text(name) for document in documents]
    return texts


def detection(*, train: Predictions, texts: Predictions, sources: Sequence[str]) -> list[Record]:
    """Distances between sources' distributions, and the share that lie nearest to themselves.

    Figure 6; arguments as for :func:`machines`.
    """
    training = _sides(train, "train")
    tested = _sides(texts, "test")
    return sides.source_detection(bbscore.text_diffusion, tested, sources, training)


def classes(*, train: Predictions, texts: Predictions, only_length: bool = False) -> list[Record]:
    """Three classes of rated coherence (sheng2024 appendix B, Table 6).

    Args:
        train, texts: sentence paths of rated texts, of which the splits train and test are taken.
        only_length: classify by length alone in place of the five features.
    """
    rated = [unit for unit in _split(train, "train") if unit.usable and unit.rating >= 0]
    features = BridgeFeatures().fit_units(rated)

    def features_of(unit: Any) -> np.ndarray | None:
        if not unit.usable:
            return None
        if only_length:
            return np.array([np.log(len(unit.latents))])
        return features.values(unit, identity(unit))[0]

    def rating_of(unit: Any) -> Any:
        return unit.rating if unit.rating >= 0 else None

    critic = "length" if only_length else "bbscore"
    tested = _split(texts, "test")
    record = sides.text_classification(features_of, rating_of, rated, tested, critic=critic)
    return [record]
