"""Sentence-order discrimination: the share of (original, permutation) pairs ranked correctly.

Three kinds of documents, one question. Permutations are *drawn*, and the scorer gives every order
of a document that it has read once (``order_scores``); or they are *written out* or *supplied*, and
any critic scores each text by itself. A pair that ties counts one half, so a scorer that is blind
to order stands at chance (Mann and Whitney 1947). Sources: Barzilay and Lapata (2005, 2008);
sheng2024 sections 4.1, 4.2 and 5.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from longform.errors import InputError
from longform.evaluation.measurements import PERMUTATIONS, Measurement, paired_difference, under
from longform.results import Record
from longform.statistics.arithmetic import ratio
from longform.statistics.comparisons import compare
from longform.statistics.protocols import Better, PairLearner
from longform.statistics.random_streams import generator
from longform.statistics.sign_flips import sign_flip_test
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums
from longform.statistics.sum_scored import SumScored, unit_scores
from longform.text.permutations import PermutedDocument, ShuffleTask

ORDER = "order discrimination"
COLUMNS = ("wins", "ties", "pairs", "unscored", "above_mean", "excluded")
BLOCKS = (1, 2, 5, 10)  # sheng2024 section 4.1
WINDOWS = ((1, 2, 3), (1,), (2,), (3,))  # sheng2024 section 4.2, the joint set first
# share of a score below which a pair ties: far above rounding, far below any difference of texts
TIE = 1e-9
HUGE = 1e300  # stands for infinity where margins are averaged
POINTS = 101  # of a ROC curve
Units = Sequence[Any]
Scorers = Mapping[str, Any]  # name in tables -> critic
Tasks = Sequence[ShuffleTask]
Orders = Sequence[np.ndarray]  # for each document, int64 (orders, sentences)


# Class keywords: see SumScored.
@dataclass(frozen=True)
class PairAccuracy(SumScored, better="higher", share=True):
    """Pairs ranked correctly over all pairs, ties one half.

    Attributes:
        scorer: the signature of what ranks.
        task: how the permutations were made.
    """

    scorer: str = ""
    task: str = ""

    def of_sums(self, sums: Sums) -> Any:
        """The share; nan without a pair."""
        return ratio(sums.total("wins") + sums.total("ties") / 2, sums.total("pairs"))


def preference_statistics(
    documents: Units, scores: Sequence[np.ndarray], better: Better, tolerance: float = 0.0
) -> SufficientStatistics:
    """Count for each document the ``COLUMNS``, from the scores of its orders.

    A permutation without a score (nan) gives no pair and is counted; a document whose original has
    none, or that has no pair left, is excluded.

    Args:
        documents: the documents.
        scores: for each document, the original's score, then those of its permutations, float64
            (1 + permutations,).
        better: which scores speak for a text; where real text should lie *near* a level (a
            perplexity), lower is taken for better: which of two orders is the more probable?
        tolerance: as for :func:`order_measurements`.
    """
    original, permuted, permutations = _as_table(scores)
    has_score = ~np.isnan(permuted)
    pairs = has_score.sum(axis=1)
    excluded = np.isnan(original[:, 0]) | (pairs == 0)
    # 1. By how much the original is better, (documents, permutations); two infinite scores tie.
    with np.errstate(invalid="ignore"):
        margins = np.clip(np.nan_to_num(original - permuted), -HUGE, HUGE)
    margins = np.where(has_score, margins if better == "higher" else -margins, 0.0)
    # 2. A pair ties where that is within rounding, or within the tolerance.
    level = np.maximum(_finite_size(original), _finite_size(permuted))
    smallest_margin = np.maximum(TIE * level, tolerance * np.maximum(1.0, level))
    ties = has_score & (np.abs(margins) <= smallest_margin)
    wins = ((margins > 0) & ~ties).sum(axis=1)
    # 3. Whether the original is better than the mean of its permutations.
    sum_of_levels = np.where(has_score, level, 0.0).sum(axis=1)
    above_mean = margins.sum(axis=1) > TIE * sum_of_levels
    columns = [wins, ties.sum(axis=1), pairs, permutations - pairs, above_mean, excluded]
    values = np.stack(columns, axis=1).astype(np.float64)
    # an excluded document counts nothing but its permutations without a score
    cleared = [COLUMNS.index(name) for name in ("wins", "ties", "pairs", "above_mean")]
    values[np.ix_(excluded, cleared)] = 0.0
    return SufficientStatistics.of(documents, COLUMNS, values)


def _as_table(scores: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores as one table, nan where a document has fewer permutations than another.

    Returns:
        The originals' scores (documents, 1), the permutations' (documents, most permutations), and
        the number of each document's permutations, float64 (documents,).
    """
    permutations = np.array([max(len(row) - 1, 0) for row in scores], dtype=np.float64)
    table = np.full((len(scores), 1 + int(permutations.max(initial=0))), np.nan)
    for table_row, row in zip(table, scores, strict=True):
        table_row[: len(row)] = row
    return table[:, :1], table[:, 1:], permutations


def _finite_size(scores: np.ndarray) -> np.ndarray:
    """Absolute values, zero where a score is not finite."""
    return np.where(np.isfinite(scores), np.abs(scores), 0.0)


def drawn_orders(documents: Units, task: ShuffleTask) -> list[np.ndarray]:
    """Orders of each document's sentences: the original one, then those that a task draws.

    They are the same for every scorer and head.

    Returns:
        For each document, int64 (1 + permutations, sentences); no row where the task draws none.
    """
    orders = []
    for document in documents:
        permutations = task.orders(document)
        if len(permutations):
            original = np.arange(permutations.shape[1])[None]
            permutations = np.concatenate([original, permutations])
        orders.append(permutations)
    return orders


def written_scores(
    critic: Any, documents: Sequence[PermutedDocument], task: str
) -> list[np.ndarray]:
    """Scores of the texts of each document, all read at once.

    Args:
        critic: a fitted critic.
        documents: documents with their permutations by task.
        task: name of the task whose permutations are scored.

    Returns:
        For each document, the original's score, then those of its permutations.
    """
    if not documents:
        return []
    texts = []
    ends = []
    for document in documents:
        texts += [document.original, *document.permutations.get(task, ())]
        ends.append(len(texts))
    return np.split(unit_scores(critic, texts), ends[:-1])


def learned(scorer: Any, train: Units, orders: Orders, task: str) -> Any:
    """Fit a pair learner on permutations of training documents; return other scorers as they are.

    Args:
        scorer: any scorer.
        train: training documents; none where the scorer is fitted already.
        orders: orders of each of them, as :func:`drawn_orders` returns them.
        task: name of the task that drew them, for the error.

    Raises:
        InputError: no document gives a pair.
    """
    if not isinstance(scorer, PairLearner) or not train:
        return scorer
    pairs = []
    for document, document_orders in zip(train, orders, strict=True):
        features = scorer.order_features(document, document_orders)
        if len(features) > 1:
            pairs.append((features[:1], features[1:]))
    if not pairs:
        raise InputError(
            f"{task}: 0 of {len(train)} documents have a permutation that differs; "
            "add longer documents"
        )
    return scorer.fit_pairs(pairs)


@dataclass(frozen=True)
class _View:
    """The documents as one head of the encoder projects them."""

    head: str
    documents: list[Any]
    train: list[Any]


def order_measurements(
    scorers: Scorers,
    documents: Units,
    tasks: Tasks = (),
    *,
    train: Units = (),
    learn_from: int | None = None,
    heads: Sequence[str] = ("",),
    tolerance: float = 0.0,
) -> list[Measurement]:
    """The sufficient statistics behind :func:`order_discrimination`, scorer by scorer.

    Args:
        scorers: name -> critic. With ``tasks``, order scorers, of which a pair learner is fitted
            for each task; else any critics of single texts.
        documents: units with ``sentence_keys``, or :class:`PermutedDocument` where ``tasks`` is
            empty.
        tasks: draw the permutations; none where the documents come with them.
        train: coherent documents that the scorers are fitted on; none where they are fitted
            already.
        learn_from: number of training documents for pair learners; all by default.
        heads: heads of the encoder that read the documents; a number is their mean, followed by
            each head's own.
        tolerance: a pair also ties if its scores differ by at most this, or this share of scores
            above one: for readers whose results vary by so much.

    Returns:
        A measurement for each scorer and task.
    """
    # 1. The permutations, the same for all scorers.
    any_learner = any(isinstance(scorer, PairLearner) for scorer in scorers.values())
    pair_documents = train[:learn_from] if any_learner else ()
    orders = {}
    for shuffle in tasks:
        test_orders = drawn_orders(documents, shuffle)
        orders[shuffle] = (test_orders, drawn_orders(pair_documents, shuffle))
    all_tasks: Sequence[ShuffleTask | str] = tasks or _tasks_of(documents)
    measurements = []
    for name, scorer in scorers.items():
        # 2. The scorer, fitted for each head.
        views = []
        fitted = {}
        for head in heads:
            view = _View(head, under(documents, head), under(train, head))
            views.append(view)
            fitted[head] = _fitted(scorer, view.train, learn_from)
        for task in all_tasks:
            # 3. Its statistics of each task, head by head.
            label = task.name if isinstance(task, ShuffleTask) else task
            metrics = {}
            all_statistics = {}
            tests = {}
            for view in views:
                judge = fitted[view.head]
                if isinstance(task, ShuffleTask):
                    test_orders, train_orders = orders[task]
                    judge = learned(judge, view.train[:learn_from], train_orders, label)
                    scores = _scores_of_orders(judge, view.documents, test_orders)
                else:
                    scores = written_scores(judge, view.documents, label)
                statistics = preference_statistics(view.documents, scores, judge.better, tolerance)
                metrics[view.head] = PairAccuracy(signature(judge), label)
                all_statistics[view.head] = statistics
                names = (ORDER, name, label, view.head) if view.head else (ORDER, name, label)
                details = _counts(statistics)
                tests[view.head] = {"details": details, **against_chance(statistics, *names)}
            fields = {"critic": name, "metric": "pairwise_accuracy", "task": label}
            measurements.append(Measurement(metrics, all_statistics, fields, tests))
    return measurements


def _tasks_of(documents: Sequence[PermutedDocument]) -> list[str]:
    """The tasks whose permutations documents come with, in order of appearance."""
    tasks: dict[str, None] = {}
    for document in documents:
        tasks |= dict.fromkeys(document.permutations)
    return list(tasks)


def _scores_of_orders(judge: Any, documents: Units, orders: Orders) -> list[np.ndarray]:
    """For each document, the scores of its orders, the original's first."""
    scores = []
    for document, document_orders in zip(documents, orders, strict=True):
        scores.append(judge.order_scores(document, document_orders))
    return scores


def _counts(statistics: SufficientStatistics) -> dict[str, float]:
    """Totals of wins, ties, pairs and pairs without a score, for the details of a record.

    And ``above_mean``, the share of documents that score better than their permutations' mean.
    """
    counts = {column: statistics.total(column) for column in COLUMNS[:4]}
    scored = len(statistics.unit_ids) - statistics.total("excluded")
    counts["above_mean"] = float(ratio(statistics.total("above_mean"), scored))
    return counts


def _fitted(scorer: Any, train: Units, learn_from: int | None) -> Any:
    """A scorer fitted on the originals of training documents; as it is where there are none."""
    if not train:
        return scorer
    limit = learn_from if isinstance(scorer, PairLearner) else None
    return scorer.fit([getattr(unit, "original", unit) for unit in train[:limit]])


def against_chance(statistics: SufficientStatistics, *names: object) -> dict[str, Any]:
    """Fields of a record: the reference one half, and the p-value of a sign-flip test against it.

    The test flips the sign of a document's wins minus losses, so that its pairs stay together.

    Args:
        statistics: statistics with ``COLUMNS``.
        names: name the random stream.
    """
    # Wins minus losses, where losses are pairs - wins - ties.
    margins = 2 * statistics.column("wins") + statistics.column("ties") - statistics.column("pairs")
    p_value = sign_flip_test(margins, generator(*names, "chance"))
    return {"reference": 0.5, "p_value": p_value, "paired": True}


def order_discrimination(
    scorers: Scorers, documents: Units, tasks: Tasks = (), **options: Any
) -> list[Record]:
    """Pairwise accuracy of every scorer on every task, tested against chance and each other.

    Args:
        scorers, documents, tasks, options: as for :func:`order_measurements`.

    Returns:
        Records with metric ``pairwise_accuracy`` (``details``: counts, and the share of documents
        above the mean of their permutations), then ``pairwise_accuracy_difference`` of each scorer
        (``critic``) and the first one (``variant``).
    """
    # 1. Each scorer by itself.
    measurements = order_measurements(scorers, documents, tasks, **options)
    records = []
    for measurement in measurements:
        critic = measurement.fields["critic"]
        records += measurement.records(ORDER, critic, measurement.fields["task"])
    # 2. Against the first scorer, task by task.
    first_of_task: dict[str, Measurement] = {}
    for measurement in measurements:
        critic = measurement.fields["critic"]
        task = measurement.fields["task"]
        first = first_of_task.setdefault(task, measurement)
        if first is not measurement:
            variant = first.fields["critic"]
            fields = {
                "critic": critic,
                "task": task,
                "metric": "pairwise_accuracy_difference",
                "variant": variant,
            }
            names = (ORDER, critic, variant, task)
            records.append(paired_difference(measurement, first, *names, **fields))
    return records


@dataclass(frozen=True)
class Area:
    """Area under the ROC curve of two columns of scores.

    It is the probability that a text of the first side scores better than one of the second.

    Attributes:
        first, second: names of the columns.
        scorer: signature of the critic that scores.
        lower: whether lower scores are better.
    """

    first: str
    second: str
    scorer: str = ""
    lower: bool = False
    better: ClassVar[Better] = "higher"

    def is_share(self) -> bool:
        """Yes: a share of the pairs of texts, one from each side."""
        return True

    def sides(self, statistics: SufficientStatistics) -> tuple[np.ndarray, np.ndarray]:
        """Scores of both sides, (texts,) each, with a sign that makes lower scores better."""
        is_scored = statistics.column("excluded") == 0
        sign = 1 if self.lower else -1
        first = sign * statistics.column(self.first)[is_scored]
        second = sign * statistics.column(self.second)[is_scored]
        return first, second

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The area; ties one half (Mann and Whitney 1947); nan without a text."""
        once = np.ones((1, len(statistics.unit_ids)))
        return float(self.weighted_scores(statistics, once)[0])

    def weighted_scores(self, statistics: SufficientStatistics, counts: np.ndarray) -> np.ndarray:
        """The area of each resample.

        Args:
            statistics: both columns, and ``excluded``.
            counts: how often each document is in each resample, (resamples, documents).

        Returns:
            float64 (resamples,).
        """
        low, high = self.sides(statistics)
        taken = counts[:, statistics.column("excluded") == 0]
        # in each resample, the number of first-side texts before each rank, in ascending order
        order = np.argsort(low, kind="stable")
        before = np.pad(np.cumsum(taken[:, order], axis=1), ((0, 0), (1, 0)))
        # those below a text of the second side count one, those equal to it one half
        below = np.searchsorted(low[order], high, "left")
        up_to = np.searchsorted(low[order], high, "right")
        twice = ((before[:, below] + before[:, up_to]) * taken).sum(axis=1)
        return ratio(twice, 2 * taken.sum(axis=1) ** 2)

    def describe(self, statistics: SufficientStatistics, *names: object) -> dict[str, Any]:
        """Fields of a record: the test against one half, and the curve.

        The test exchanges the sides document by document.

        Args:
            statistics: both columns, and ``excluded``.
            names: name the random stream.
        """
        fields: dict[str, Any] = {"details": {"roc": roc_points(*self.sides(statistics))}}
        if (statistics.column("excluded") == 0).any():
            exchanged = {self.first: self.second, self.second: self.first}
            columns = []
            for name in statistics.columns:
                columns.append(statistics.column(exchanged.get(name, name)))
            mirrored = replace(statistics, values=np.stack(columns, axis=1))
            rng = generator(*names, "chance")
            test = compare(self, statistics, mirrored, rng, PERMUTATIONS)
            fields |= {"reference": 0.5, "p_value": test.p_value, "paired": True}
        return fields


def roc_points(low: np.ndarray, high: np.ndarray) -> dict[str, list[float]]:
    """A ROC curve at evenly spaced false positive rates.

    Args:
        low, high: scores of the negative and of the positive class, which should be higher.

    Returns:
        ``false_positive`` and ``true_positive`` rates, ``POINTS`` of each.
    """
    rates = np.linspace(0, 1, POINTS)
    cuts = np.zeros(POINTS)
    if len(low):
        cuts = np.quantile(low, 1 - rates, method="higher")
    hits = []  # true positive rate at each cut
    for cut in cuts[:-1]:
        hits.append(float((high > cut).mean()) if len(high) else float("nan"))
    return {"false_positive": rates.tolist(), "true_positive": [*hits, 1.0]}


def order_areas(
    scorers: Scorers,
    documents: Units,
    tasks: Tasks,
    *,
    train: Units = (),
    heads: Sequence[str] = ("",),
) -> list[Record]:
    """Threshold-free separation of originals from one permutation each, over all documents.

    sheng2024 section 4.1, Figure 4. Arguments as for :func:`order_measurements`, a task's
    ``copies`` taken for one; each head's ``details`` have its ROC curve.
    """
    # 1. One permutation of each document, the same for all scorers.
    orders = {}
    for task in tasks:
        orders[task] = drawn_orders(documents, replace(task, copies=1))
    records = []
    for name, scorer in scorers.items():
        # 2. The scorer, fitted for each head.
        judges = {head: _fitted(scorer, under(train, head), None) for head in heads}
        for task, task_orders in orders.items():
            # 3. The area of each task, head by head.
            names = ("order areas", name, task.name)
            metrics = {}
            all_statistics = {}
            tests = {}
            for head, judge in judges.items():
                scores = _scores_of_orders(judge, under(documents, head), task_orders)
                statistics = first_permutations(documents, scores)
                metric = Area("original", "permuted", signature(judge), judge.better != "higher")
                metrics[head] = metric
                all_statistics[head] = statistics
                head_names = (*names, head) if head else names
                tests[head] = metric.describe(statistics, *head_names)
            fields = {"critic": name, "metric": "area", "task": task.name}
            records += Measurement(metrics, all_statistics, fields, tests).records(*names)
    return records


def first_permutations(documents: Units, scores: Sequence[np.ndarray]) -> SufficientStatistics:
    """Columns original, permuted and excluded, from scores as for :func:`preference_statistics`."""
    rows = []
    for row in scores:
        if len(row) > 1 and not np.isnan(row[:2]).any():
            rows.append((row[0], row[1], 0.0))
        else:
            rows.append((0.0, 0.0, 1.0))
    return SufficientStatistics.of(documents, ("original", "permuted", "excluded"), rows)
