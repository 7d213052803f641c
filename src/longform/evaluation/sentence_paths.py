"""What sheng2024 asks of sentence paths: original or shuffled, human or machine, how well a text is rated, and does length tell?

Each function takes a reading to learn from and one to judge, and returns records. A *head* is one trained projection of the same
frozen encoder; numbers are means over heads, followed by each head's own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, Tally, signature, unit_scores
from longform.core.documents import BadInput, Readout
from longform.core.results import Record
from longform.core.text.permutations import ShuffleTask
from longform.critics.bbscore.bridge import BridgeRanker
from longform.critics.bbscore.score import (
    BridgeCritic,
    BridgeFeatures,
    JointBridgeCritic,
    VarianceSweep,
    describe_sweep,
    identity,
    shuffled,
    text_diffusion,
    trajectory,
    units_from_readout,
)
from longform.evaluation import human_vs_machine as sides
from longform.evaluation.agreement import value_of, weighted_values
from longform.evaluation.human_vs_machine import text_classification
from longform.evaluation.measurements import Measurement, paired_difference, under
from longform.evaluation.order_discrimination import (
    BLOCKS,
    WINDOWS,
    Area,
    PairAccuracy,
    drawn_orders,
    drawn_scores,
    first_permutations,
    order_areas,
    order_discrimination,
    preference_tally,
)


@dataclass(frozen=True)
class LengthCorrelation:
    """Spearman's correlation of two columns, score and sentences; 0 is a score that ignores length."""

    scorer: str = ""
    better: ClassVar[Better] = "lower"

    def score(self, tally: Tally) -> float:
        """The correlation; nan for fewer than three documents, or where all are of one length or one score."""
        kept = tally.values[tally.column("excluded") == 0]
        return value_of("spearman", kept[:, 0], kept[:, 1])

    def weighted_scores(self, tally: Tally, counts: np.ndarray) -> np.ndarray:
        """Correlations in resamples that take each document so often as ``counts`` (resamples, documents) says."""
        kept = tally.column("excluded") == 0
        return weighted_values("spearman", tally.values[kept, 0], tally.values[kept, 1], counts[:, kept])


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
    records = []
    for name, scorer in scorers.items():
        judges = {head: scorer.fit(under(train, head)) if train else scorer for head in heads}
        tallies = {head: _length_tally(judge, under(documents, head), length) for head, judge in judges.items()}
        metrics = {head: LengthCorrelation(signature(judge)) for head, judge in judges.items()}
        fields = {"critic": name, "metric": "length_correlation"}
        records += Measurement(metrics, tallies, fields).records("length confound", name)
    return records


def _length_tally(judge: Any, documents: Sequence[Any], length: Callable[[Any], int]) -> Tally:
    values = unit_scores(judge, documents)
    lost = np.isnan(values)
    lengths = [length(document) for document in documents]
    return Tally.of_columns(documents, score=np.where(lost, 0.0, values), sentences=lengths, excluded=lost)


JUDGES = ("bbscore", "three_layer", "linear", "joint")


def shuffle_tasks(
    *,
    train: Readout,
    texts: Readout,
    judges: Sequence[str] = ("bbscore",),
    heads: Sequence[str] = ("",),
    areas: bool = False,
    learned: int | None = None,
    blocks: Sequence[int] = BLOCKS,
    windows: Sequence[Sequence[int]] = WINDOWS,
) -> list[Record]:
    """Tables 1 to 3 and Figures 4 and 9 of sheng2024: pairs of originals and shuffles, and areas over single texts.

    Args:
        judges: of ``JUDGES``: the score itself, the two classifiers on its features, the joint density.
        areas: add the area under the ROC curve of each block task, and for the first head its course over the variance.
        learned: so many training documents for the classifiers; all by default.

    Raises BadInput: an unknown judge.
    """
    if not judges or set(judges) - set(JUDGES):
        raise BadInput(f"judges {list(judges)}; allowed are {list(JUDGES)}; fix params.yaml")
    made = {**_rankers(), "bbscore": BridgeCritic(), "joint": JointBridgeCritic()}
    blocked = [ShuffleTask("block", (size,), draws=("block shuffle", 0)) for size in blocks]
    tasks = blocked + [ShuffleTask("window", tuple(w), draws=("local shuffle", 0)) for w in windows]
    known, judged = _split(train, "train"), _split(texts, "test")
    records = order_discrimination(
        {judge: made[judge] for judge in judges}, judged, tasks, train=known, learn_from=learned, heads=heads
    )
    negative = BridgeCritic().fit(under(known, heads[0])).tally(under(judged, heads[0])).total("negative")
    records = [_counted(record, negative) for record in records]
    return records + (_areas(blocked, known, judged, heads) if areas else [])


def _counted(record: Record, negative: float) -> Record:
    """A record of the raw score with how many of its values lie below zero, where a logarithm has none."""
    raw = record.critic == "bbscore" and record.metric == "pairwise_accuracy"
    return replace(record, details={**record.details, "negative": negative}) if raw else record


def _rankers() -> dict[str, Any]:
    return {name: BridgeRanker(name) for name in ("three_layer", "linear")}


def _split(readout: Readout, split: str) -> list[Any]:
    return [unit for unit in units_from_readout(readout) if unit.split == split]


def _areas(
    tasks: Sequence[ShuffleTask], train: Sequence[Any], units: Sequence[Any], heads: Sequence[str]
) -> list[Record]:
    """Areas with the first head's curve; its area and accuracy over the variance (Figure 9) go along."""
    records = []
    first = BridgeCritic().fit(under(train, heads[0]))
    for record in order_areas({"bbscore": BridgeCritic()}, units, tasks, train=train, heads=heads):
        if record.variant:
            records.append(record)
            continue
        task = next(task for task in tasks if task.name == record.task)
        seen = under(units, heads[0])
        found = drawn_scores(VarianceSweep(first), seen, drawn_orders(seen, replace(task, copies=1)))
        swept = list(zip(*found, strict=True))
        areas = [Area("original", "permuted", lower=True).score(first_permutations(units, scores)) for scores in swept]
        pairs = [PairAccuracy().score(preference_tally(units, scores, "lower")) for scores in swept]
        course = describe_sweep(first, areas, pairs)
        records.append(replace(record, details={**record.details, **course}))
    return records


def length(*, train: Readout, texts: Readout, heads: Sequence[str] = ("",)) -> list[Record]:
    """Rank correlation of the score and of the joint density with the number of sentences of coherent documents."""
    scorers = {"bbscore": BridgeCritic(), "joint": JointBridgeCritic()}
    given: dict[str, Any] = {"heads": heads, "length": lambda unit: len(unit.latents)}
    return length_confound(scorers, _split(texts, "test"), train=_split(train, "train"), **given)


def sources(*, train: Readout, texts: Readout, sources: Sequence[str]) -> list[Record]:
    """Human above machine, source by source (Tables 4 and 5, Figure 5): pairs, pairs of equal length, areas, single texts."""
    known, judged = _sides(train, "train"), _sides(texts, "test")
    scorers: dict[str, Any] = {"bbscore": BridgeCritic(), **_rankers(), "joint": JointBridgeCritic()}
    own: dict[str, Any] = {"length": lambda unit: len(unit.latents)}
    raw = {"bbscore": scorers["bbscore"]}
    matched = {**own, "cut": lambda unit, count: unit.first(count)}
    records = list(sides.human_vs_machine(scorers, judged, sources, train=known, **own))
    equal = sides.human_vs_machine(raw, judged, sources, train=known, **matched)
    records += [replace(record, variant="matched") for record in equal if record.metric == "pairwise_accuracy"]
    features = BridgeFeatures().fit([side.human for side in known])

    def seen(unit: Any) -> np.ndarray | None:
        return features.values(unit, identity(unit))[0] if unit.usable else None

    for kind in ("three_layer", "linear"):
        records += sides.source_classification(seen, judged, sources, known, classifier=kind, critic=kind)
    pairs = zip(
        sides.source_measurements(raw, judged, sources, train=known, **matched),
        sides.source_measurements(raw, judged, sources, train=known, **own), strict=True,
    )  # fmt: skip
    for cut, whole in pairs:
        fields = {"critic": "bbscore", "variant": "matched", "system": cut.fields["system"]}
        metric = "pairwise_accuracy_difference"
        records.append(paired_difference(cut, whole, "matched", fields["system"], metric=metric, **fields))
    return records


def _sides(readout: Readout, split: str) -> list[Any]:
    return [side for side in sides.sides_of(units_from_readout(readout)) if side.split == split]


def profiles(*, train: Readout, texts: Readout, sources: Sequence[str]) -> list[Record]:
    """Mean diffusion estimate and mean trajectory of each source, of human texts and of their shuffles (Figure 7)."""

    def by_source(documents: Sequence[Any]) -> dict[str, list[Any]]:
        human = [document.human for document in documents]
        machines = {source: [document.text(source) for document in documents] for source in sources}
        return {sides.HUMAN: human, "shuffled": [shuffled(unit) for unit in human], **machines}

    judged = by_source(_sides(texts, "test"))
    known = sides.source_profiles(text_diffusion, by_source(_sides(train, "train")), critic="bbscore")
    records = []
    for before, record in zip(known, sides.source_profiles(text_diffusion, judged, critic="bbscore"), strict=True):
        details = {"train": before.details["values"], "test": record.details["values"]}
        details["trajectory"] = trajectory(judged[record.system])
        records.append(replace(record, metric="trajectory", details=details))
    return records


def detection(*, train: Readout, texts: Readout, sources: Sequence[str]) -> list[Record]:
    """Figure 6: distances between the distributions of sources, and how many sources are in their own top two."""
    return sides.source_detection(text_diffusion, _sides(texts, "test"), sources, _sides(train, "train"))


def classes(*, train: Readout, texts: Readout, only_length: bool = False) -> list[Record]:
    """Three classes of rated coherence from the five features, or from length alone (sheng2024 appendix B, Table 6)."""
    rated = [unit for unit in _split(train, "train") if unit.usable and unit.rating >= 0]
    features = BridgeFeatures().fit(rated)

    def seen(unit: Any) -> np.ndarray | None:
        if not unit.usable:
            return None
        return np.array([np.log(len(unit.latents))]) if only_length else features.values(unit, identity(unit))[0]

    def label(unit: Any) -> Any:
        return unit.rating if unit.rating >= 0 else None

    critic = "length" if only_length else "bbscore"
    return [text_classification(seen, label, rated, _split(texts, "test"), critic=critic)]
