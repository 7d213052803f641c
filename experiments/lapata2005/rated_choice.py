"""Which measures of a text go with raters on seven sets: every choice of them, counted alike.

``PYTHONPATH=src:. python experiments/lapata2005/rated_choice.py FOLDER SCRATCH`` takes the readings
in SCRATCH (rated_readings.py) and writes rated_choice.csv beside this script: for each choice of
measures the rank correlation with the mean rating on each set, and their mean. Quantiles are among
one reference for all sets: the people's texts that were read.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.lapata2005.rated_corpora import NAMES, RatedSet, rated_set
from experiments.lapata2005.rated_readings import Reading, cached, key_of
from longform.critics.order_and_fluency.score import (
    MEASURES,
    OrderAndFluency,
    TextMeasures,
    new_grams,
)
from longform.documents import Document
from longform.evaluation.agreement import correlate
from longform.statistics.sum_scored import unit_scores

FEWEST_TEXTS = 20  # of a set that has a say


def measures_of(
    name: str, documents: Sequence[Document], readings: Mapping[str, Reading]
) -> list[TextMeasures]:
    """Measures of the texts of a set that were read, as the critic takes them."""
    units = []
    for document in documents:
        reading = readings.get(key_of(name, document))
        if reading is not None:
            units.append(
                TextMeasures(
                    document.id,
                    document.split,
                    own_order=reading.own_order,
                    fluency=-reading.mean_nats,
                    mild_worst_sentence=-reading.worst_sentence,
                    new_grams=new_grams(document.text.split()),
                )
            )
    return units


def reference_units(
    sets: Sequence[RatedSet], readings: Mapping[str, Reading]
) -> list[TextMeasures]:
    """People's own texts of all sets, as far as they were read."""
    units = []
    for rated in sets:
        units += measures_of(rated.name, rated.references, readings)
    return units


def choices() -> Iterator[tuple[str, ...]]:
    """Every set of measures but the empty one."""
    for size in range(1, len(MEASURES) + 1):
        yield from itertools.combinations(MEASURES, size)


def main(folder: Path, scratch: Path) -> None:
    """Correlations of every choice on every set."""
    readings = cached(scratch / "readings.jsonl")
    parts = [_part_read(rated_set(name, folder), readings) for name in NAMES]
    reference = reference_units(parts, readings)
    parts = [part for part in parts if len(part.texts) >= FEWEST_TEXTS]
    rows = []
    for measures in choices():
        critic = OrderAndFluency(measures=measures).fit(reference)
        values = []
        for part in parts:
            scores = unit_scores(critic, measures_of(part.name, part.texts, readings))
            values.append(correlate("spearman", scores, part.rating).value)
        rows.append([" + ".join(measures), *values, float(np.mean(values))])
    rows.sort(key=lambda row: -row[-1])
    with Path(__file__).with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["measures", *(part.name for part in parts), "mean"])
        for name, *values in rows:
            writer.writerow([name, *(f"{value:.3f}" for value in values)])
    print(f"{len(reference)} people's texts as reference", flush=True)


def _part_read(rated: RatedSet, readings: Mapping[str, Reading]) -> RatedSet:
    """The first sources of a set, all texts of which were read."""
    return rated.first(sources_read(rated, readings))


def sources_read(rated: RatedSet, readings: Mapping[str, Reading]) -> int:
    """How many sources from the first on have all their texts read."""
    is_read: dict[str, bool] = {}
    for text, source in zip(rated.texts, rated.source.tolist(), strict=True):
        is_read[source] = is_read.get(source, True) and key_of(rated.name, text) in readings
    return [*is_read.values(), False].index(False)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: rated_choice.py FOLDER SCRATCH")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
