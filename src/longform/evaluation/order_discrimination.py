"""Sentence-order discrimination: the share of (original, permutation) pairs that a scorer ranks correctly.

Three kinds of documents, one question. Permutations are *drawn*, and the scorer gives every order of a document that it has
read once (``order_scores``); or they are *written out* or *supplied*, and any critic scores each text by itself. A pair that
ties counts one half, so a scorer that is blind to order stands at chance (Mann and Whitney 1947). Sources: Barzilay and
Lapata (2005, 2008); sheng2024 sections 4.1, 4.2 and 5.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from longform.errors import BadInput
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
TIE = 1e-9  # share of a score below which a pair ties: far above rounding, far below any difference of texts
HUGE = 1e300  # stands for infinity where margins are averaged
POINTS = 101  # of a ROC curve
Units = Sequence[Any]
Scorers = Mapping[str, Any]  # by the name that tables know them by
Tasks = Sequence[ShuffleTask]


@dataclass(frozen=True)
class PairAccuracy(SumScored, better="higher", share=True):
    """Pairs ranked correctly over all pairs, ties one half."""

    scorer: str = ""  # the signature of what ranks
    task: str = ""

    def of_sums(self, sums: Sums) -> Any:
        return ratio(sums.total("wins") + sums.total("ties") / 2, sums.total("pairs"))


def preference_statistics(
    documents: Units, scores: Sequence[np.ndarray], better: Better, tolerance: float = 0.0
) -> SufficientStatistics:
    """``COLUMNS`` of each document from its scores, the original's first.

    A permutation without a score (nan) gives no pair and is counted; a document whose original has none, or that has no pair
    left, is excluded. Where real text should lie *near* a level (a perplexity), lower is taken for better: which of two orders
    is the more probable?
    """
    given = np.array([max(len(row) - 1, 0) for row in scores], dtype=np.float64)
    table = np.full((len(scores), 1 + int(given.max(initial=0))), np.nan)
    for place, row in zip(table, scores, strict=True):
        place[: len(row)] = row
    original, copies = table[:, :1], table[:, 1:]
    there = ~np.isnan(copies)
    pairs = there.sum(axis=1)
    excluded = np.isnan(original[:, 0]) | (pairs == 0)
    with np.errstate(invalid="ignore"):
        margins = np.clip(np.nan_to_num(original - copies), -HUGE, HUGE)  # two infinite scores tie
    margins = np.where(there, margins if better == "higher" else -margins, 0.0)
    level = np.maximum(
        *(np.where(np.isfinite(side), np.abs(side), 0.0) for side in (original, copies))
    )
    tied = there & (np.abs(margins) <= np.maximum(TIE * level, tolerance * np.maximum(1.0, level)))
    wins = ((margins > 0) & ~tied).sum(axis=1)
    above = margins.sum(axis=1) > TIE * np.where(there, level, 0.0).sum(axis=1)
    counted = np.stack(
        [wins, tied.sum(axis=1), pairs, given - pairs, above, excluded], axis=1
    ).astype(np.float64)
    counted[np.ix_(excluded, [0, 1, 2, 4])] = 0.0
    return SufficientStatistics.of(documents, COLUMNS, counted)


def drawn_orders(documents: Sequence[Any], task: ShuffleTask) -> list[np.ndarray]:
    """Orders of each document, the original's first, then those that ``task`` draws, the same for every scorer and head; none if none."""
    drawn = map(task.orders, documents)
    return [
        np.concatenate([np.arange(own.shape[1])[None], own]) if len(own) else own for own in drawn
    ]


def written_scores(
    critic: Any, documents: Sequence[PermutedDocument], task: str
) -> list[np.ndarray]:
    """Scores of each document, the original's first, then those of the permutations that it comes with, all at once."""
    if not documents:
        return []
    texts = [[document.original, *document.permutations.get(task, ())] for document in documents]
    found = unit_scores(critic, [text for row in texts for text in row])
    return np.split(found, np.cumsum([len(row) for row in texts])[:-1])


def learned(scorer: Any, train: Sequence[Any], orders: Sequence[np.ndarray], task: str) -> Any:
    """A pair learner fitted on the very permutations that it is asked about, of other documents; any other scorer as it is.

    Raises BadInput: no document gives a pair.
    """
    if not isinstance(scorer, PairLearner) or not train:
        return scorer
    rows = [
        scorer.order_features(document, given)
        for document, given in zip(train, orders, strict=True)
    ]
    pairs = [(row[:1], row[1:]) for row in rows if len(row) > 1]
    if not pairs:
        raise BadInput(
            f"{task}: 0 of {len(train)} documents have a permutation that differs; add longer documents"
        )
    return scorer.fit_pairs(pairs)


def order_measurements(
    scorers: Scorers,
    documents: Units,  # units with ``sentence_keys``, or :class:`PermutedDocument` where ``tasks`` is empty
    tasks: Tasks = (),
    *,
    train: Units = (),  # coherent documents that the scorers are fitted on; none where they are fitted already
    learn_from: int
    | None = None,  # so many of the training documents for pair learners; all by default
    heads: Sequence[str] = ("",),
    tolerance: float = 0.0,
) -> list[Measurement]:
    """The sufficient statistics behind :func:`order_discrimination`, scorer by scorer, task by task.

    Args:
        scorers: by name. Over ``tasks``: order scorers; a pair learner is fitted task by task. Else any critics of what the
            documents' originals and permutations are.
        heads: of the encoder that read the documents; a number is their mean, followed by each head's own.
        tolerance: margin below which a pair ties beside ``TIE``, where a reader's own convergence tells two readings
            apart: in units of the score, and a share of scores above one.
    """
    asked: Sequence[ShuffleTask | str] = tasks or list(
        dict.fromkeys(t for d in documents for t in d.permutations)
    )
    told = (
        train[:learn_from]
        if any(isinstance(scorer, PairLearner) for scorer in scorers.values())
        else ()
    )
    orders = {task: (drawn_orders(documents, task), drawn_orders(told, task)) for task in tasks}
    made = []
    for name, scorer in scorers.items():
        views = {head: (under(documents, head), under(train, head)) for head in heads}
        fitted = {head: _fitted(scorer, real, learn_from) for head, (_, real) in views.items()}
        for task in asked:
            label = task.name if isinstance(task, ShuffleTask) else task
            judges, all_statistics = dict(fitted), {}
            for head, (seen, real) in views.items():
                if isinstance(task, ShuffleTask):
                    own, learnt = orders[task]
                    judges[head] = learned(fitted[head], real[:learn_from], learnt, label)
                    scores = [
                        judges[head].order_scores(unit, given)
                        for unit, given in zip(seen, own, strict=True)
                    ]
                else:
                    scores = written_scores(judges[head], seen, label)
                all_statistics[head] = preference_statistics(
                    seen, scores, judges[head].better, tolerance
                )
            metrics = {
                head: PairAccuracy(signature(judge), label) for head, judge in judges.items()
            }
            fields = {"critic": name, "metric": "pairwise_accuracy", "task": label}
            tests = {}
            for head, statistics in all_statistics.items():
                names = (ORDER, name, label, head) if head else (ORDER, name, label)
                tests[head] = {"details": _counts(statistics), **against_chance(statistics, *names)}
            made.append(Measurement(metrics, all_statistics, fields, tests))
    return made


def _counts(statistics: SufficientStatistics) -> dict[str, float]:
    """Totals of wins, ties, pairs and pairs without a score, and the share of documents above the mean of their permutations."""
    counts = {column: statistics.total(column) for column in COLUMNS[:4]}
    scored = len(statistics.unit_ids) - statistics.total("excluded")
    counts["above_mean"] = float(ratio(statistics.total("above_mean"), scored))
    return counts


def _fitted(scorer: Any, train: Sequence[Any], learn_from: int | None) -> Any:
    limit = learn_from if isinstance(scorer, PairLearner) else None
    return (
        scorer.fit([getattr(unit, "original", unit) for unit in train[:limit]]) if train else scorer
    )


def against_chance(statistics: SufficientStatistics, *names: object) -> dict[str, Any]:
    """Fields of a record: the reference one half, and p of a coin for each document's wins minus losses, its pairs kept together."""
    margins = 2 * statistics.column("wins") + statistics.column("ties") - statistics.column("pairs")
    p_value = sign_flip_test(margins, generator(*names, "chance"))
    return {"reference": 0.5, "p_value": p_value, "paired": True}


def order_discrimination(
    scorers: Scorers, documents: Units, tasks: Tasks = (), **given: Any
) -> list[Record]:
    """Pairwise accuracy of every scorer on every task, tested against chance; and each scorer against the first one.

    Arguments as for :func:`order_measurements`. Records have metric ``pairwise_accuracy`` (``details``: counts, and the share of
    documents above the mean of their permutations), then ``pairwise_accuracy_difference``, ``critic`` minus ``variant``.
    """
    found = order_measurements(scorers, documents, tasks, **given)
    records = [
        record
        for one in found
        for record in one.records(ORDER, one.fields["critic"], one.fields["task"])
    ]
    first: dict[str, Measurement] = {}
    for one in found:
        critic, task = one.fields["critic"], one.fields["task"]
        other = first.setdefault(task, one)
        if other is not one:
            against = other.fields["critic"]
            fields = {
                "critic": critic,
                "task": task,
                "metric": "pairwise_accuracy_difference",
                "variant": against,
            }
            records.append(paired_difference(one, other, ORDER, critic, against, task, **fields))
    return records


@dataclass(frozen=True)
class Area:
    """Area under the ROC curve of two columns of scores: the chance that the first side is the better one of any two texts."""

    first: str
    second: str
    scorer: str = ""
    lower: bool = False
    better: ClassVar[Better] = "higher"

    def is_share(self) -> bool:
        """Of the pairs of texts, one from each side."""
        return True

    def sides(self, statistics: SufficientStatistics) -> list[np.ndarray]:
        """Scores of both sides, turned so that the first should be the lower one."""
        kept, sign = statistics.column("excluded") == 0, 1 if self.lower else -1
        return [sign * statistics.column(side)[kept] for side in (self.first, self.second)]

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The area; ties one half (Mann and Whitney 1947); nan without a text."""
        return float(self.weighted_scores(statistics, np.ones((1, len(statistics.unit_ids))))[0])

    def weighted_scores(self, statistics: SufficientStatistics, counts: np.ndarray) -> np.ndarray:
        low, high = self.sides(statistics)
        taken = counts[:, statistics.column("excluded") == 0]
        order = np.argsort(low, kind="stable")
        before = np.pad(np.cumsum(taken[:, order], axis=1), ((0, 0), (1, 0)))
        first, last = (
            np.searchsorted(low[order], high, "left"),
            np.searchsorted(low[order], high, "right"),
        )
        return ratio(
            ((before[:, first] + before[:, last]) * taken).sum(axis=1), 2 * taken.sum(axis=1) ** 2
        )

    def describe(self, statistics: SufficientStatistics, *names: object) -> dict[str, Any]:
        """Fields of a record: the test against one half, sides exchanged document by document, and the curve."""
        fields: dict[str, Any] = {"details": {"roc": roc_points(*self.sides(statistics))}}
        if (statistics.column("excluded") == 0).any():
            turned = {self.first: self.second, self.second: self.first}
            mirrored = np.stack(
                [statistics.column(turned.get(name, name)) for name in statistics.columns], axis=1
            )
            other = SufficientStatistics(statistics.unit_ids, statistics.columns, mirrored)
            tested = compare(self, statistics, other, generator(*names, "chance"), PERMUTATIONS)
            fields |= {"reference": 0.5, "p_value": tested.p_value, "paired": True}
        return fields


def roc_points(low: np.ndarray, high: np.ndarray) -> dict[str, list[float]]:
    """False positive and true positive rates where ``high`` is the positive class, at evenly spaced false positive rates."""
    rates = np.linspace(0, 1, POINTS)
    cuts = np.quantile(low, 1 - rates, method="higher") if len(low) else np.zeros(POINTS)
    hits = [float((high > cut).mean()) if len(high) else float("nan") for cut in cuts]
    return {"false_positive": rates.tolist(), "true_positive": [*hits[:-1], 1.0]}


def order_areas(
    scorers: Scorers,
    documents: Units,
    tasks: Tasks,
    *,
    train: Units = (),
    heads: Sequence[str] = ("",),
) -> list[Record]:
    """Threshold-free separation of originals from one permutation each, over all documents (sheng2024 section 4.1, Figure 4).

    Arguments as for :func:`order_measurements`, a task's ``copies`` taken for one; each head's ``details`` keep its ROC curve.
    """
    records = []
    orders = {task: drawn_orders(documents, replace(task, copies=1)) for task in tasks}
    for name, scorer in scorers.items():
        judges = {head: _fitted(scorer, under(train, head), None) for head in heads}
        for task, own in orders.items():
            all_statistics = {}
            for head, judge in judges.items():
                scores = [
                    judge.order_scores(*pair)
                    for pair in zip(under(documents, head), own, strict=True)
                ]
                all_statistics[head] = first_permutations(documents, scores)
            metrics = {
                h: Area("original", "permuted", signature(j), j.better != "higher")
                for h, j in judges.items()
            }
            names = ("order areas", name, task.name)
            fields = {"critic": name, "metric": "area", "task": task.name}
            tests = {}
            for head, statistics in all_statistics.items():
                tests[head] = metrics[head].describe(
                    statistics, *((*names, head) if head else names)
                )
            records += Measurement(metrics, all_statistics, fields, tests).records(*names)
    return records


def first_permutations(
    documents: Sequence[Any], scores: Sequence[np.ndarray]
) -> SufficientStatistics:
    """Columns original, permuted and excluded."""
    rows = [
        (*row[:2], 0.0) if len(row) > 1 and not np.isnan(row[:2]).any() else (0.0, 0.0, 1.0)
        for row in scores
    ]
    return SufficientStatistics.of(documents, ("original", "permuted", "excluded"), rows)
