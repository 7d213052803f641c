"""Critics against raters on seven sets of machine texts: one table, from what is cached.

``PYTHONPATH=src:. python experiments/lapata2005/rated_sets.py FOLDER SCRATCH`` measures what SCRATCH
does not hold yet and writes rated_sets.csv beside this script. FOLDER is as in rated_corpora.py,
SCRATCH has ``readings.jsonl`` of rated_readings.py, which is run first.

Cheap critics judge every rated text; what the language model reads is the first sources of a draw
by seed. Every critic is turned so that a positive correlation speaks for it.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.lapata2005.rated_choice import (
    FEWEST_TEXTS,
    measures_of,
    reference_units,
    sources_read,
)
from experiments.lapata2005.rated_corpora import NAMES, RatedSet, rated_set
from experiments.lapata2005.rated_readings import Reading, cached, key_of
from experiments.lapata2005.summeval import (
    PACKAGE,
    at_equal_length,
    bridge_paths,
    chain_values,
    grid_values,
    means,
    paths,
    within,
)
from longform.critics.bbscore.score import BBScore, JointBridge
from longform.critics.order_and_fluency.score import OrderAndFluency
from longform.documents import Corpus
from longform.evaluation.agreement import clustered_interval, correlate, leave_one_out
from longform.files.artefacts import read_json, write_json
from longform.language_models import sentence_features
from longform.statistics.random_streams import generator
from longform.statistics.sum_scored import unit_scores
from longform.text.sentences import sentence_texts

RESAMPLES = 1000
FEWEST_SOURCES = 5  # over which an interval is resampled
FEWEST_SYSTEMS = 5  # of which means are correlated
SHORT_NAMES = {
    "role transitions, history 1": "entity grid",
    "ranking grid, length 2": "ranking grid",
    "overlap": "shared nouns",
    "LSA": "LSA",
    "BBScore, frozen MiniLM": "BBScore",
    "joint bridge density, frozen MiniLM": "joint bridge density",
    "persons, 5-grams of mentions (a perplexity)": "persons",
    "repeated 4-grams (lower is better)": "few repeated 4-grams",
    "distinct 4-grams": "distinct 4-grams",
}
LOWER_IS_BETTER = {"BBScore", "joint bridge density", "persons", "few repeated 4-grams"}
LENGTHS = ("sentences (a length)", "words (a length)")
Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class Cell:
    """A correlation with its 95 % interval; nan where there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


def cheap_values(rated: RatedSet, scratch: Path) -> Values:
    """Scores of every text by critics that read no language model, and both lengths.

    Args:
        rated: the whole set.
        scratch: where the sentence features of the set lie while they are made.
    """
    # 1. Critics learn from people's texts.
    real = [replace(text, split="train") for text in rated.real]
    corpus = Corpus([*real, *rated.texts])
    values = grid_values(corpus, None) | chain_values(corpus) | _path_values(corpus, scratch)
    # 2. The rated texts alone, each critic turned so that more is better.
    turned: Values = {}
    for name, short in SHORT_NAMES.items():
        sign = -1.0 if short in LOWER_IS_BETTER else 1.0
        turned[short] = sign * values[name][len(real) :]
    # 3. Lengths as they are.
    sentences = [len(sentence_texts(text.text)) for text in rated.texts]
    words = [len(text.text.split()) for text in rated.texts]
    lengths = np.array([sentences, words], dtype=np.float64)
    return turned | dict(zip(LENGTHS, lengths, strict=True))


def _path_values(corpus: Corpus, scratch: Path) -> Values:
    """BBScore and the joint density over MiniLM's features as they are."""
    folder = scratch / "minilm"
    folder.mkdir(parents=True, exist_ok=True)
    sentence_features.fit(
        documents=corpus.documents,
        base=scratch,
        name="rated sets",
        splitter="rules",
        package=PACKAGE,
    ).save(folder)
    predictions = bridge_paths.read(
        documents=corpus.documents, truth={}, reader=folder, name="rated sets", splitter="rules"
    )
    units = paths(predictions)
    real = [unit for unit in units if unit.split == "train"]
    values = {}
    critics = {
        "BBScore, frozen MiniLM": BBScore(),
        "joint bridge density, frozen MiniLM": JointBridge(),
    }
    for name, critic in critics.items():
        values[name] = unit_scores(critic.fit(real), units)
    return values


def model_values(readings: Sequence[Reading]) -> Values:
    """Scores by what the language model read, turned so that more is better."""
    return {
        "low word perplexity": -np.array([reading.word_perplexity for reading in readings]),
        "own order": np.array([reading.own_order for reading in readings]),
        "mild worst sentence": -np.array([reading.worst_sentence for reading in readings]),
        "chat mark": np.array([reading.mark for reading in readings]),
    }


def cells(rated: RatedSet, values: np.ndarray, lengths: np.ndarray, name: str) -> dict[str, Cell]:
    """The correlations of one critic with the mean rating.

    Args:
        rated: the texts.
        values: of the critic, float64 (texts,).
        lengths: float64 (texts, 2); ranks of them are taken out for the last cell.
        name: of the critic, for the draws.
    """
    rng = generator("rated sets", rated.name, name)
    value = correlate("spearman", values, rated.rating).value
    low, high = clustered_interval("spearman", values, rated.rating, rated.source, rng, RESAMPLES)
    row = {"texts": Cell(value, low, high), "within": Cell(), "systems": Cell()}
    # ranks within each system, where there are several
    is_scored = np.isfinite(values)
    systems = np.unique(rated.system)
    if len(systems) > 1:
        own = within(values, rated.system)
        people = within(np.where(is_scored, rated.rating, np.nan), rated.system)
        low, high = clustered_interval("pearson", own, people, rated.source, rng, RESAMPLES)
        row["within"] = Cell(correlate("pearson", own, people).value, low, high)
    if len(systems) >= FEWEST_SYSTEMS:
        people = means(np.where(is_scored, rated.rating, np.nan), rated.system)
        by_system = correlate("spearman", means(values, rated.system), people)
        row["systems"] = Cell(by_system.value, by_system.low, by_system.high)
    if name in LENGTHS:
        row["equal length"] = Cell()
    else:
        left = at_equal_length(values, rated.rating, lengths, rated.source, rng)
        row["equal length"] = Cell(left["value"], left["low"], left["high"])
    return row


def rows_of(rated: RatedSet, values: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """A row of the table for each critic over the same texts."""
    lengths = np.column_stack([values[name] for name in LENGTHS])
    rows = []
    for name, scores in values.items():
        row: dict[str, Any] = {
            "set": rated.name,
            "critic": name,
            "texts": int(np.isfinite(scores).sum()),
            "sources": len(np.unique(rated.source)),
        }
        few = row["texts"] < FEWEST_TEXTS or row["sources"] < FEWEST_SOURCES
        of_critic = {} if few else cells(rated, scores, lengths, name)
        for kind, cell in of_critic.items():
            row |= {kind + " r": cell.value, kind + " low": cell.low, kind + " high": cell.high}
        rows.append(row)
    return rows


def raters_row(rated: RatedSet) -> list[dict[str, Any]]:
    """Each rater with the mean of the others, where texts have several (Pearson)."""
    ratings = rated.marks.T
    often = ratings[np.isfinite(ratings).sum(axis=1) >= 20]
    if len(often) < 2:
        return []
    agreed = leave_one_out(often, generator("rated sets", rated.name, "raters"))
    row: dict[str, Any] = {"set": rated.name, "critic": "a rater (Pearson)"}
    row |= {"texts": len(rated.texts), "sources": len(np.unique(rated.source))}
    return [row | {"texts r": agreed.value, "texts low": agreed.low, "texts high": agreed.high}]


def kept_values(rated: RatedSet, scratch: Path) -> Values:
    """The cheap critics' values, from an earlier run where there was one."""
    path = scratch / f"values_{rated.name}.json"
    if not path.is_file():
        start = time.process_time()
        values = cheap_values(rated, scratch / rated.name)
        columns = {name: np.where(np.isnan(row), None, row) for name, row in values.items()}
        write_json(path, {name: row.tolist() for name, row in columns.items()})
        print(f"{rated.name}: {time.process_time() - start:.0f} s of cheap critics", flush=True)
    return {name: np.array(row, dtype=np.float64) for name, row in read_json(path).items()}


def main(folder: Path, scratch: Path) -> None:
    """Measure what is missing and write the table."""
    readings = cached(scratch / "readings.jsonl")
    sets = [rated_set(name, folder) for name in NAMES]
    critic = OrderAndFluency().fit(reference_units(sets, readings))
    rows = []
    for rated in sets:
        name = rated.name
        values = kept_values(rated, scratch)
        rows += raters_row(rated) + rows_of(rated, values)
        # what the model read: whole sources of the draw
        part = rated.first(sources_read(rated, readings))
        if part.texts:
            of_texts = [readings[key_of(name, text)] for text in part.texts]
            lengths = {length: values[length][: len(part.texts)] for length in LENGTHS}
            units = measures_of(name, part.texts, readings)
            together = {"order and fluency": unit_scores(critic, units)}
            judged = rows_of(part, model_values(of_texts) | together | lengths)
            rows += [row | _cost(row["critic"], of_texts) for row in judged[: -len(LENGTHS)]]
        print(f"{name}: {len(rated.texts)} texts, {len(part.texts)} read", flush=True)
    write_rows(rows, Path(__file__).with_suffix(".csv"))


def _cost(critic: str, readings: Sequence[Reading]) -> dict[str, float]:
    """What a text costs a critic that reads it with the language model."""
    if critic == "chat mark":
        tokens = float(np.mean([reading.mark_tokens for reading in readings]))
        seconds = float(np.mean([reading.mark_seconds for reading in readings]))
        return {"tokens a text": tokens, "seconds a text": seconds}
    return {"seconds a text": float(np.mean([reading.seconds for reading in readings]))}


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The table as CSV; a cell that does not exist is empty."""
    columns = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_shown(row.get(column, "")) for column in columns])


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.2f}"
    return str(value)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: rated_sets.py FOLDER SCRATCH")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
