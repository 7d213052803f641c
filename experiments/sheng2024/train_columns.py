"""Print the train columns of Tables 1 to 6: the same critics on the texts they were trained on.

    PYTHONPATH=src:. python experiments/sheng2024/train_columns.py data \\
        --machines completions/data/paths.npz --rated \\
        | gzip -9n > experiments/sheng2024/measured/trained_synthetic.csv.gz

reads the predictions of a finished run: Tables 1 to 3, with ``--machines`` Tables 4 and 5, with
``--rated`` Table 6; of the scale ``real_paths``, ``scales/real_paths/data --recipe adamw_1``. Every
critic is fitted on the training texts (the classifier of Tables 2 and 3 on the first 100, as in the
run's tables), and judges these and the test texts. Percentages, with intervals over texts and over
trainings. The two sets are independent, so the interval of their difference joins those of both by
square and add (Newcombe 1998).
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from longform.critics.bbscore.score import units_from_predictions
from longform.documents import Predictions
from longform.evaluation import grids, sentence_paths
from longform.evaluation.measurements import difference_of_trainings
from longform.evaluation.order_discrimination import BLOCKS, WINDOWS, order_discrimination
from longform.files.artefacts import read_predictions
from longform.results import Record
from longform.statistics.protocols import Better
from longform.statistics.random_streams import generator
from longform.text.permutations import ShuffleTask

TRAININGS = 3  # of the encoder's head by each recipe
LEARNED = 100  # training texts of the classifier of Tables 2 and 3, as in params.yaml
GRIDS: Mapping[str, Mapping[str, Any]] = {"transitions": {}, "ranking": {}}
ACCURACIES = ("pairwise_accuracy", "class_accuracy")
RATED = "rated_wiki"
COLUMNS = (
    *("exhibit", "critic", "task_or_system", "train", "train_low", "train_high"),
    *("test", "test_low", "test_high", "difference", "difference_low", "difference_high"),
    *("train_texts", "test_texts", "train_pairs", "test_pairs", "trainings"),
)
Key = tuple[str, str, str]  # metric, critic, and task or system
# Judges the texts of split test with critics that it fits by itself; their records.
Evaluate = Callable[[Predictions], Sequence[Record]]


@dataclass(frozen=True)
class RandomScore:
    """A critic that scores each order of a text at random."""

    better: ClassVar[Better] = "lower"

    def order_scores(self, unit: Any, orders: np.ndarray) -> np.ndarray:
        """A standard normal score of each order, float64 (orders,)."""
        return generator("random score", unit.unit_id, len(orders)).standard_normal(len(orders))


@dataclass(frozen=True)
class Comparison:
    """One critic's accuracy on the texts it was trained on and on others.

    Attributes:
        train, test: its records on either.
        difference: train minus test.
    """

    train: Record
    test: Record
    difference: Record


def as_test_texts(predictions: Predictions, first: int | None = None) -> Predictions:
    """Predictions in which training texts have the split ``test``, and test texts ``validation``.

    Args:
        predictions: of both splits.
        first: number of training texts that get it; None: all. The rest are ``validation`` too.
    """
    splits = []
    num_judged = 0
    for split in predictions.splits:
        is_judged = split == "train" and (first is None or num_judged < first)
        num_judged += is_judged
        splits.append("test" if is_judged else "validation")
    return Predictions(predictions.unit_ids, tuple(splits), predictions.arrays)


def train_minus_test(train: Record, test: Record) -> Record:
    """The record of train minus test, two independent shares, with its interval over texts.

    Square and add: each arm is the root of the sum of squares of the arms that widen it.
    """
    assert train.value is not None and test.value is not None
    (train_low, train_high), (test_low, test_high) = over_texts(train), over_texts(test)
    value = train.value - test.value
    below = math.hypot(train.value - train_low, test_high - test.value)
    above = math.hypot(train_high - train.value, test.value - test_low)
    return Record(
        train.critic,
        "pairwise_accuracy_difference",  # whose bounds are -1 and 1
        task=train.task,
        system=train.system,
        value=value,
        low=max(value - below, -1.0),
        high=min(value + above, 1.0),
    )


def over_texts(record: Record) -> tuple[float, float]:
    """The interval (low, high) of a record over texts alone, trainings left out; nan without."""
    low = record.details.get("documents_low", record.low)
    high = record.details.get("documents_high", record.high)
    return math.nan if low is None else low, math.nan if high is None else high


def by_key(records: Sequence[Record]) -> dict[Key, dict[str, Record]]:
    """Records of accuracies by (metric, critic, task or else system), then by training.

    A variant that ends in a digit names one training of the encoder's head, ``<recipe>_<number>``;
    any other is the mean over trainings and stands under "". The variant "matched" is left out.
    """
    groups: dict[Key, dict[str, Record]] = {}
    for record in records:
        if record.metric in ACCURACIES and record.variant != "matched":
            head = record.variant if record.variant[-1:].isdigit() else ""  # <recipe>_<number>
            key = (record.metric, record.critic, record.task or record.system)
            groups.setdefault(key, {})[head] = record
    return groups


def compared(
    evaluate: Evaluate, texts: Predictions, first: int | None = None
) -> Iterator[Comparison]:
    """Yield the comparison of each accuracy of an evaluation on training and on test texts.

    Args:
        evaluate: judges the texts of split test.
        texts: predictions for both splits.
        first: number of training texts that its critics are fitted on; None: all.
    """
    train = by_key(evaluate(as_test_texts(texts, first)))
    for key, test_records in by_key(evaluate(texts)).items():
        train_records = train[key]
        difference = train_minus_test(train_records[""], test_records[""])
        differences = []
        for head in test_records:
            if head:
                of_head = train_minus_test(train_records[head], test_records[head])
                differences.append(of_head.value or 0.0)
        if differences:
            difference = difference_of_trainings(difference, differences)
        yield Comparison(train_records[""], test_records[""], difference)


def random_orders(texts: Predictions) -> list[Record]:
    """Records of a random score on the shuffles of Tables 2 and 3."""
    tasks = [ShuffleTask("block", (size,)) for size in BLOCKS]
    tasks += [ShuffleTask("window", sizes) for sizes in WINDOWS]
    units = [unit for unit in units_from_predictions(texts) if unit.split == "test"]
    return order_discrimination({"random": RandomScore()}, units, tasks)


def of_shuffles(data: Path, recipe: str) -> Iterator[tuple[str, Comparison]]:
    """Yield (table, comparison) for Tables 2 and 3.

    Args:
        data: the run's data folder.
        recipe: name of the recipe by which the encoder's head was trained ``TRAININGS`` times.
    """
    predictions = data / "predictions"
    heads = [f"{recipe}_{number}" for number in range(TRAININGS)]

    # 1. Evaluations of BBScore, of the classifier over its features, and of both grids.
    def shuffles(texts: Predictions) -> list[Record]:
        return sentence_paths.shuffle_tasks(train=paths, texts=texts, heads=heads)

    def classified_shuffles(texts: Predictions) -> list[Record]:
        return sentence_paths.shuffle_tasks(
            train=paths, texts=texts, judges=["three_layer"], heads=heads, learned=LEARNED
        )

    def grid_shuffles(texts: Predictions) -> list[Record]:
        return grids.shuffle_tasks(train=cells, texts=texts, models=GRIDS)

    paths = read_predictions(predictions / "articles/bbscore/wiki/data/paths.npz")
    cells = read_predictions(predictions / "articles/entity_grid/wiki/data/grids.npz")
    # 2. Each with its predictions and its number of training texts; and a random score.
    evaluations: list[tuple[Evaluate, Predictions, int | None]] = [
        (shuffles, paths, None),
        (classified_shuffles, paths, LEARNED),
        (grid_shuffles, cells, None),
        (random_orders, paths, None),
    ]
    # 3. The comparisons.
    for evaluate, texts, first in evaluations:
        for comparison in compared(evaluate, texts, first):
            is_block = comparison.test.task.startswith("block")
            yield "table_2" if is_block else "table_3", comparison


def of_machines(data: Path, machines: Path) -> Iterator[tuple[str, Comparison]]:
    """Yield (table, comparison) for Tables 4 and 5.

    Args:
        data: the run's data folder.
        machines: file of paths of people's and machines' texts, below BBScore's predictions.
    """
    path_file = data / "predictions/sources/bbscore" / machines
    grid_file = data / "predictions/sources/entity_grid" / machines.with_name("grids.npz")
    paths, cells = read_predictions(path_file), read_predictions(grid_file)
    writers = writers_of(paths)

    def sources(texts: Predictions) -> list[Record]:
        return sentence_paths.machines(train=paths, texts=texts, sources=writers)

    def grid_sources(texts: Predictions) -> list[Record]:
        return grids.machines(train=cells, texts=texts, models=GRIDS, sources=writers)

    for evaluate, texts in ((sources, paths), (grid_sources, cells)):
        for comparison in compared(evaluate, texts):
            is_pair = comparison.test.metric == "pairwise_accuracy"
            yield "table_4" if is_pair else "table_5", comparison


def of_ratings(data: Path) -> Iterator[tuple[str, Comparison]]:
    """Yield (table, comparison) for Table 6."""
    rated = read_predictions(data / f"predictions/articles/bbscore/{RATED}/data/paths.npz")

    def classes(texts: Predictions) -> list[Record]:
        return sentence_paths.classes(train=rated, texts=texts)

    for comparison in compared(classes, rated):
        yield "table_6", comparison


def writers_of(predictions: Predictions) -> list[str]:
    """The machines that wrote texts, called ``<id>-<writer>``, in order of appearance."""
    names = dict.fromkeys(unit_id.rpartition("-")[2] for unit_id in predictions.unit_ids)
    return [name for name in names if name != "human"]


def row_of(exhibit: str, comparison: Comparison) -> list[Any]:
    """A row of the file, in the order of ``COLUMNS``; shares in percent."""
    train, test = comparison.train, comparison.test
    numbers = []
    for record in (train, test, comparison.difference):
        for value in (record.value, record.low, record.high):
            numbers.append("" if value is None or math.isnan(value) else f"{100 * value:.2f}")
    trainings = test.details.get("trainings", 1)
    counts = [train.units, test.units, num_pairs(train), num_pairs(test), trainings]
    return [exhibit, test.critic, test.task or test.system, *numbers, *counts]


def num_pairs(record: Record) -> int | str:
    """Number of pairs of an original and a shuffle, as Table 1 counts them; "" without any."""
    if "pairs" not in record.details:
        return ""
    return round(record.details["pairs"] + record.details.get("unscored", 0))


def main() -> None:
    """Print the file, each row as soon as it is measured."""
    # 1. Which tables.
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--recipe", default="paper")
    parser.add_argument("--machines", type=Path)
    parser.add_argument("--rated", action="store_true")
    options = parser.parse_args()
    parts = [of_shuffles(options.data, options.recipe)]
    if options.machines:
        parts.append(of_machines(options.data, options.machines))
    if options.rated:
        parts.append(of_ratings(options.data))
    # 2. Their rows.
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for exhibit, comparison in chain.from_iterable(parts):
        writer.writerow(row_of(exhibit, comparison))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
