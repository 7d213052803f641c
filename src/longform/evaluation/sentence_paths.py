"""What sheng2024 asks of sentence paths: original or shuffled, human or machine, how well a text is rated, and does length tell?

Each function takes a reading to learn from and one to judge, and returns records. A *head* is one trained projection of the same
frozen encoder; numbers are means over heads, followed by each head's own.
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
from longform.errors import BadInput
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

LEARNERS = {
    kind: BridgeRanker(kind) for kind in ("three_layer", "linear")
}  # on the score's features
JUDGES = {
    "bbscore": BBScore(),
    **LEARNERS,
    "joint": JointBridge(),
}  # the last one of joint density


@dataclass(frozen=True)
class LengthCorrelation:
    """Spearman's correlation of two columns, score and sentences; 0 is a score that ignores length."""

    scorer: str = ""
    better: ClassVar[Better] = "lower"

    def score_of(self, statistics: SufficientStatistics) -> float:
        """The correlation; nan for fewer than three documents, or where all are of one length or one score."""
        kept = statistics.values[statistics.column("excluded") == 0]
        return value_of("spearman", kept[:, 0], kept[:, 1])

    def weighted_scores(self, statistics: SufficientStatistics, counts: np.ndarray) -> np.ndarray:
        kept = statistics.column("excluded") == 0
        return weighted_values(
            "spearman", statistics.values[kept, 0], statistics.values[kept, 1], counts[:, kept]
        )


def length_confound(
    scorers: orders.Scorers,
    documents: orders.Units,
    *,
    train: orders.Units = (),
    heads: Sequence[str] = ("",),
) -> list[Record]:
    """Records ``length_correlation`` of each scorer's value of a coherent document with its length; arguments as for order_measurements."""
    records = []
    lengths = [len(document.sentence_keys) for document in documents]
    for name, scorer in scorers.items():
        metrics, all_statistics = {}, {}
        for head in heads:
            judge = scorer.fit(under(train, head)) if train else scorer
            values = unit_scores(judge, under(documents, head))
            lost = np.isnan(values)
            columns = {"score": np.where(lost, 0.0, values), "sentences": lengths, "excluded": lost}
            metrics[head], all_statistics[head] = (
                LengthCorrelation(signature(judge)),
                SufficientStatistics.of_columns(documents, **columns),
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
    """Tables 1 to 3 and Figures 4 and 9 of sheng2024: pairs of originals and shuffles, and areas over single texts.

    ``areas`` adds the area under the ROC curve of each block task, and for the first head its course over the variance;
    ``learned`` is how many training documents the classifiers see, all by default.

    Raises BadInput: a judge that is none of ``JUDGES``.
    """
    if not judges or set(judges) - set(JUDGES):
        raise BadInput(f"judges {list(judges)}; allowed are {list(JUDGES)}; fix params.yaml")
    blocked = [ShuffleTask("block", (size,), draws=("block shuffle", 0)) for size in orders.BLOCKS]
    tasks = blocked + [ShuffleTask("window", w, draws=("local shuffle", 0)) for w in orders.WINDOWS]
    known, judged = _split(train, "train"), _split(texts, "test")
    given: dict[str, Any] = {"train": known, "heads": heads}
    chosen = {judge: JUDGES[judge] for judge in judges}
    records = orders.order_discrimination(chosen, judged, tasks, **given, learn_from=learned)
    first, seen = BBScore().fit(under(known, heads[0])), under(judged, heads[0])
    negative = {
        "negative": first.sufficient_statistics(seen).total("negative")
    }  # where a logarithm has none
    for place, record in enumerate(records):
        own = (
            record.variant == heads[0]
        )  # the head that ``first`` is fitted on, not the mean over heads
        if own and record.critic == "bbscore" and record.metric == "pairwise_accuracy":
            records[place] = replace(record, details={**record.details, **negative})
    named = {task.name: task for task in blocked}
    for record in (
        orders.order_areas({"bbscore": BBScore()}, judged, blocked, **given) if areas else ()
    ):
        course = {} if record.variant != heads[0] else _course(first, seen, named[record.task])
        records.append(replace(record, details={**record.details, **course}))
    return records


def _course(critic: BBScore, units: Sequence[Any], task: ShuffleTask) -> dict[str, Any]:
    """What Figure 9 draws: area and pairwise accuracy at each variance."""
    drawn = orders.drawn_orders(units, replace(task, copies=1))
    swept = list(
        zip(*(critic.swept(unit, own) for unit, own in zip(units, drawn, strict=True)), strict=True)
    )
    area, accuracy = orders.Area("original", "permuted", lower=True), orders.PairAccuracy()
    areas = [area.score_of(orders.first_permutations(units, scores)) for scores in swept]
    pairs = [
        accuracy.score_of(orders.preference_statistics(units, scores, "lower")) for scores in swept
    ]
    return {
        "sigma2": critic.sigma2,
        "sweep": {"sigma2": critic.variances(), "auc": areas, "accuracy": pairs},
    }


def _split(predictions: Predictions, split: str) -> list[Any]:
    return [unit for unit in bbscore.units_from_predictions(predictions) if unit.split == split]


def length(*, train: Predictions, texts: Predictions, heads: Sequence[str] = ("",)) -> list[Record]:
    """Rank correlation of the score and of the joint density with the number of sentences of coherent documents."""
    scorers = {name: JUDGES[name] for name in ("bbscore", "joint")}
    return length_confound(
        scorers, _split(texts, "test"), train=_split(train, "train"), heads=heads
    )


def sources(*, train: Predictions, texts: Predictions, sources: Sequence[str]) -> list[Record]:
    """Human above machine, source by source (Tables 4 and 5, Figure 5): pairs, pairs of equal length, areas, single texts."""
    known, judged = _sides(train, "train"), _sides(texts, "test")
    raw = {"bbscore": JUDGES["bbscore"]}
    records = sides.human_vs_machine(JUDGES, judged, sources, train=known)
    equal = sides.human_vs_machine(raw, judged, sources, train=known, matched=True)
    records += [
        replace(record, variant="matched")
        for record in equal
        if record.metric == "pairwise_accuracy"
    ]
    features = BridgeFeatures().fit_units([side.human for side in known])

    def seen(unit: Any) -> np.ndarray | None:
        return features.values(unit, identity(unit))[0] if unit.usable else None

    for kind in sides.CLASSIFIERS[::-1]:
        records += sides.source_classification(seen, judged, sources, known, kind)
    cut, whole = (
        sides.source_measurements(raw, judged, sources, train=known, matched=m)
        for m in (True, False)
    )
    for one, other in zip(cut, whole, strict=True):
        fields = {"critic": "bbscore", "variant": "matched", "system": one.fields["system"]}
        fields["metric"] = "pairwise_accuracy_difference"
        records.append(paired_difference(one, other, "matched", fields["system"], **fields))
    return records


def _sides(predictions: Predictions, split: str) -> list[Any]:
    return [
        side
        for side in sides.sides_of(bbscore.units_from_predictions(predictions))
        if side.split == split
    ]


def profiles(*, train: Predictions, texts: Predictions, sources: Sequence[str]) -> list[Record]:
    """Mean diffusion estimate and mean trajectory of each source, of human texts and of their shuffles (Figure 7)."""

    def by_source(documents: Sequence[Any]) -> dict[str, list[Any]]:
        human = [document.human for document in documents]
        machines = {source: [document.text(source) for document in documents] for source in sources}
        return {
            sides.HUMAN: human,
            "shuffled": [bbscore.shuffled(unit) for unit in human],
            **machines,
        }

    learnt, judged = by_source(_sides(train, "train")), by_source(_sides(texts, "test"))
    known, found = (
        sides.source_profiles(bbscore.text_diffusion, by, critic="bbscore")
        for by in (learnt, judged)
    )
    records = []
    for before, record in zip(known, found, strict=True):
        details = {"train": before.details["values"], "test": record.details["values"]}
        details["trajectory"] = bbscore.trajectory(judged[record.system])
        records.append(replace(record, metric="trajectory", details=details))
    return records


def detection(*, train: Predictions, texts: Predictions, sources: Sequence[str]) -> list[Record]:
    """Figure 6: distances between the distributions of sources, and how many sources are in their own top two."""
    return sides.source_detection(
        bbscore.text_diffusion, _sides(texts, "test"), sources, _sides(train, "train")
    )


def classes(*, train: Predictions, texts: Predictions, only_length: bool = False) -> list[Record]:
    """Three classes of rated coherence from the five features, or from length alone (sheng2024 appendix B, Table 6)."""
    rated = [unit for unit in _split(train, "train") if unit.usable and unit.rating >= 0]
    features = BridgeFeatures().fit_units(rated)

    def seen(unit: Any) -> np.ndarray | None:
        if not unit.usable:
            return None
        return (
            np.array([np.log(len(unit.latents))])
            if only_length
            else features.values(unit, identity(unit))[0]
        )

    critic, judged = "length" if only_length else "bbscore", _split(texts, "test")
    found = sides.text_classification(
        seen, lambda u: u.rating if u.rating >= 0 else None, rated, judged, critic=critic
    )
    return [found]
