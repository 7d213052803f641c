"""Critics against raters on seven sets of machine texts: one table, from what is cached.

``PYTHONPATH=src:. python experiments/lapata2005/rated_sets.py FOLDER SCRATCH`` measures what
SCRATCH does not hold yet and writes rated_sets.csv, and rated_choice.csv: every choice of the
measures of OrderAndRepetition, counted alike. FOLDER is as in rated_corpora.py, SCRATCH has
``readings.jsonl`` of rated_readings.py. Cheap critics judge every rated text; what the language
model reads is the first sources of a draw by seed. Every critic is turned so that a positive
correlation speaks for it.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.lapata2005.rated_corpora import NAMES, RatedSet, in_split, rated_set
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
from longform.critics.order_and_repetition.score import (
    MEASURES,
    STORED_REFERENCE,
    OrderAndRepetition,
    TextMeasures,
)
from longform.documents import Corpus, Document
from longform.evaluation.agreement import clustered_interval, correlate, leave_one_out
from longform.files.artefacts import json_line, read_json, write_json
from longform.language_models import sentence_features
from longform.statistics.random_streams import generator
from longform.statistics.sum_scored import unit_scores
from longform.text.sentences import sentence_texts

RESAMPLES = 1000
CHANCE_DRAWS = 1000  # of scores that know nothing of a text
FEWEST_TEXTS = 20  # for a correlation
FEWEST_SOURCES = 5  # over which an interval is resampled
FEWEST_SYSTEMS = 5  # of which means are correlated
# Critics without a language model: name in summeval.py -> (name in the table, sign), -1 where lower
# is better.
CHEAP = {
    "role transitions, history 1": ("entity grid", 1),
    "ranking grid, length 2": ("ranking grid", 1),
    "overlap": ("shared nouns", 1),
    "LSA": ("LSA", 1),
    "BBScore, frozen MiniLM": ("BBScore", -1),
    "joint bridge density, frozen MiniLM": ("joint bridge density", -1),
    "persons, 5-grams of mentions (a perplexity)": ("persons", -1),
    "repeated 4-grams (lower is better)": ("few repeated 4-grams", -1),
    "distinct 4-grams": ("distinct 4-grams", 1),
}
LENGTHS = ("sentences (a length)", "words (a length)")
Values = dict[str, np.ndarray]
Row = dict[str, Any]


def cheap_values(rated: RatedSet, scratch: Path) -> Values:
    """Scores of every rated text by critics without a language model, and both lengths.

    Returns:
        By critic float64 (texts,), higher being better; :data:`LENGTHS` are counts.
    """
    # 1. Critics learn from people's texts and score them too; their scores, the first, are dropped.
    corpus = Corpus([*in_split("train", rated.real), *rated.texts])
    values = grid_values(corpus, None) | chain_values(corpus) | _path_values(corpus, scratch)
    turned: Values = {}
    for name, (short, sign) in CHEAP.items():
        turned[short] = sign * values[name][len(rated.real) :]
    # 2. Lengths.
    lengths = np.zeros((len(rated.texts), len(LENGTHS)))
    for row, text in zip(lengths, rated.texts, strict=True):
        row[:] = len(sentence_texts(text.text)), len(text.text.split())
    return turned | dict(zip(LENGTHS, lengths.T, strict=True))


def _path_values(corpus: Corpus, scratch: Path) -> Values:
    """Scores of all documents by both Brownian-bridge critics on MiniLM's frozen features.

    Args:
        corpus: documents; critics learn from those of the split ``train``.
        scratch: folder for the features, which is made.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    name = {"name": "rated sets", "splitter": "rules"}
    features = sentence_features.fit(
        documents=corpus.documents, base=scratch, package=PACKAGE, **name
    )
    features.save(scratch)
    predictions = bridge_paths.read(documents=corpus.documents, truth={}, reader=scratch, **name)
    units = paths(predictions)
    real = [unit for unit in units if unit.split == "train"]
    return {
        "BBScore, frozen MiniLM": unit_scores(BBScore().fit(real), units),
        "joint bridge density, frozen MiniLM": unit_scores(JointBridge().fit(real), units),
    }


def cached_values(rated: RatedSet, scratch: Path) -> Values:
    """:func:`cheap_values` of a set, from an earlier run's file in ``scratch`` if there is one."""
    path = scratch / f"values_{rated.name}.json"
    if not path.is_file():
        start = time.process_time()
        values = cheap_values(rated, scratch / rated.name)
        write_json(path, {name: row.tolist() for name, row in values.items()})
        print(f"{rated.name}: {time.process_time() - start:.0f} s of cheap critics", flush=True)
    values = {}
    for name, row in read_json(path).items():
        values[name] = np.array(row, dtype=np.float64)
    return values


def column(units: Sequence[Any], name: str) -> np.ndarray:
    """One attribute of each reading or of each text's measures, float64 (texts,)."""
    return np.array([getattr(unit, name) for unit in units], dtype=np.float64)


def model_values(readings: Sequence[Reading], units: Sequence[TextMeasures], critic: Any) -> Values:
    """Scores of texts from the language model's readings, float64 (texts,), higher being better.

    ``units`` are the same texts' measures, ``critic`` the fitted OrderAndRepetition.
    """
    return {
        "low word perplexity": -column(readings, "word_perplexity"),
        "own order": column(readings, "own_order"),
        "mild worst sentence": column(readings, "mild_worst_sentence"),
        "order and repetition": unit_scores(critic, units),
        "chat mark": column(readings, "mark"),
    }


def measures_of(
    rated: RatedSet, documents: Sequence[Document], readings: Mapping[str, Reading]
) -> list[TextMeasures]:
    """Measures of those documents that have a reading, in the form that the critic takes."""
    units = []
    for document in documents:
        reading = readings.get(key_of(rated.name, document))
        if reading is not None:
            values = [getattr(reading, name) for name in MEASURES]
            units.append(TextMeasures(document.id, document.split, *values))
    return units


def part_read(rated: RatedSet, readings: Mapping[str, Reading]) -> RatedSet:
    """The set up to the first source that has a text without a reading."""
    sources = list(dict.fromkeys(rated.source.tolist()))
    for text, source in zip(rated.texts, rated.source.tolist(), strict=True):
        if key_of(rated.name, text) not in readings:
            return rated.first(sources.index(source))
    return rated.first(len(sources))


def correlations(rated: RatedSet, values: np.ndarray, lengths: np.ndarray, name: str) -> Row:
    """The correlations of one critic with the mean rating, each with its 95 % interval.

    Args:
        rated: the texts.
        values: scores of the critic, float64 (texts,); nan where it has none.
        lengths: sentences and words of each text, float64 (texts, 2); ranks of them are taken out
            for the last correlation.
        name: of the critic; seeds the draws.

    Returns:
        Columns ``<part> r``, ``<part> low``, ``<part> high`` of the table; the parts are "texts",
        "within" (systems), "systems" and "equal length".
    """
    # 1. Over texts.
    rng = generator("rated sets", rated.name, name)
    row = _interval(
        "texts", kind="spearman", values=values, rating=rated.rating, source=rated.source, rng=rng
    )
    # 2. Ranks within each system, and means of systems.
    is_scored = np.isfinite(values)
    rating = np.where(is_scored, rated.rating, np.nan)
    num_systems = len(np.unique(rated.system))
    if num_systems > 1:
        row |= _interval(
            "within",
            kind="pearson",
            values=within(values, rated.system),
            rating=within(rating, rated.system),
            source=rated.source,
            rng=rng,
        )
    if num_systems >= FEWEST_SYSTEMS:
        of_means = means(values, rated.system), means(rating, rated.system)
        cell = correlate("spearman", *of_means)
        row |= {"systems r": cell.value, "systems low": cell.low, "systems high": cell.high}
    # 3. With lengths taken out.
    if name not in LENGTHS:
        left = at_equal_length(values, rated.rating, lengths, rated.source, rng)
        for part, key in (("r", "value"), ("low", "low"), ("high", "high")):
            row[f"equal length {part}"] = left[key]
    return row


def _interval(
    name: str, kind: str, values: np.ndarray, rating: np.ndarray, source: np.ndarray, rng: Any
) -> Row:
    """Columns of one part: a correlation and its 95 % interval, which resamples sources."""
    low, high = clustered_interval(kind, values, rating, source, rng, resamples=RESAMPLES)
    value = correlate(kind, values, rating).value
    return {f"{name} r": value, f"{name} low": low, f"{name} high": high}


def rows_of(rated: RatedSet, values: Values, lengths: Values) -> list[Row]:
    """A row for each critic that scores enough texts; none where the set has too few sources."""
    columns = np.column_stack(list(lengths.values()))
    num_sources = len(np.unique(rated.source))
    rows = []
    for name, scores in values.items():
        num_texts = int(np.isfinite(scores).sum())
        if num_texts >= FEWEST_TEXTS and num_sources >= FEWEST_SOURCES:
            row = {"set": rated.name, "critic": name, "texts": num_texts, "sources": num_sources}
            rows.append(row | correlations(rated, scores, columns, name))
    return rows


def rows_read(
    part: RatedSet, readings: Mapping[str, Reading], critic: Any, lengths: Values
) -> list[Row]:
    """Rows of the critics that need the language model's readings, with what these cost.

    Args:
        part: the set's first sources, all texts of which have a reading.
        readings: of texts, by key.
        critic: the fitted OrderAndRepetition.
        lengths: of all texts of the set, the first of which are those of ``part``.
    """
    of_texts = [readings[key_of(part.name, text)] for text in part.texts]
    scores = model_values(of_texts, measures_of(part, part.texts, readings), critic)
    lengths_read = {name: row[: len(part.texts)] for name, row in lengths.items()}
    rows = []
    for row in rows_of(part, scores, lengths_read):
        rows.append(row | costs(row["critic"], of_texts))
    return rows


def raters_row(rated: RatedSet) -> list[Row]:
    """A row with the correlation (Pearson) of each rater with the mean of the others.

    Only raters of enough texts count; no row where fewer than two are left.
    """
    ratings = rated.marks.T
    frequent = ratings[np.isfinite(ratings).sum(axis=1) >= FEWEST_TEXTS]
    if len(frequent) < 2:
        return []
    agreed = leave_one_out(frequent, generator("rated sets", rated.name, "raters"))
    row = {"set": rated.name, "critic": "a rater (Pearson)", "texts": len(rated.texts)}
    row["sources"] = len(np.unique(rated.source))
    return [row | {"texts r": agreed.value, "texts low": agreed.low, "texts high": agreed.high}]


def chance_row(rated: RatedSet, name: str) -> Row:
    """A row, called ``name``, of what random scores reach, drawn from a standard normal.

    Returns:
        The mean over ``CHANCE_DRAWS`` draws and the bounds between which 95 % of them lie, where
        other critics have a correlation and its interval.
    """
    rng = generator("rated sets", rated.name, name)
    # 1. Correlations of each draw: over texts, within systems and of means of systems.
    ranks_within = within(rated.rating, rated.system)
    mean_ratings = means(rated.rating, rated.system)
    by_part: dict[str, list[float]] = {"texts": [], "within": [], "systems": []}
    for _ in range(CHANCE_DRAWS):
        scores = rng.normal(size=len(rated.texts))
        by_part["texts"].append(correlate("spearman", scores, rated.rating).value)
        if len(mean_ratings) > 1:
            ranks = within(scores, rated.system)
            by_part["within"].append(correlate("pearson", ranks, ranks_within).value)
        if len(mean_ratings) >= FEWEST_SYSTEMS:
            mean_scores = means(scores, rated.system)
            by_part["systems"].append(correlate("spearman", mean_scores, mean_ratings).value)
    # 2. Their mean and quantiles.
    row: Row = {"set": rated.name, "critic": name, "texts": len(rated.texts)}
    row["sources"] = len(np.unique(rated.source))
    for part, values in by_part.items():
        if values:
            low, high = np.quantile(values, [0.025, 0.975])
            row |= {f"{part} r": float(np.mean(values)), f"{part} low": float(low)}
            row[f"{part} high"] = float(high)
    return row


def costs(critic: str, readings: Sequence[Reading]) -> Row:
    """Columns of what readings cost: mean processor seconds a text, and a mark's mean tokens."""
    if critic == "chat mark":
        tokens = round(float(column(readings, "mark_tokens").mean()))
        seconds = float(column(readings, "mark_seconds").mean())
        return {"seconds a text": seconds, "tokens a text": tokens}
    return {"seconds a text": float(np.nanmean(column(readings, "seconds")))}


def choices(
    parts: Sequence[RatedSet], reference: list[TextMeasures], readings: Mapping[str, Reading]
) -> list[Row]:
    """A row for each subset of the critic's measures: its rank correlation with each set's ratings.

    The critic is fitted to ``reference``, people's texts. The highest ``mean`` over sets is first.
    """
    rows = []
    for size in range(1, len(MEASURES) + 1):
        for measures in itertools.combinations(MEASURES, size):
            critic = OrderAndRepetition(measures=measures).fit(reference)
            row: Row = {"measures": " + ".join(measures)}
            for part in parts:
                scores = unit_scores(critic, measures_of(part, part.texts, readings))
                row[part.name] = correlate("spearman", scores, part.rating).value
            row["mean"] = float(np.mean([row[part.name] for part in parts]))
            rows.append(row)
    return sorted(rows, key=lambda row: -row["mean"])  # of equals the smaller subset first


def best_choices_by_chance(
    parts: Sequence[RatedSet], reference: list[TextMeasures], readings: Mapping[str, Reading]
) -> np.ndarray:
    """What the best subset of measures reaches by chance: with the ratings of each set shuffled.

    The best one is chosen anew for each shuffle, as :func:`choices` does for the real ratings.

    Returns:
        Mean over sets of the best subset's correlation, float64 (``CHANCE_DRAWS``,).
    """
    # 1. Ratings shuffled within each set, the same for all choices.
    rng = generator("rated sets", "choices by chance")
    shuffled = []
    for _ in range(CHANCE_DRAWS):
        shuffled.append([rng.permutation(part.rating) for part in parts])
    # 2. The highest mean of any choice, for each shuffle.
    best = np.full(CHANCE_DRAWS, -1.0)
    for size in range(1, len(MEASURES) + 1):
        for measures in itertools.combinations(MEASURES, size):
            critic = OrderAndRepetition(measures=measures).fit(reference)
            scores = []
            for part in parts:
                scores.append(unit_scores(critic, measures_of(part, part.texts, readings)))
            for draw, ratings in enumerate(shuffled):
                of_sets = []
                for of_texts, rating in zip(scores, ratings, strict=True):
                    of_sets.append(correlate("spearman", of_texts, rating).value)
                best[draw] = max(best[draw], float(np.mean(of_sets)))  # begins at -1, the least
    return best


def write_stored_reference(reference: Sequence[TextMeasures]) -> None:
    """Write each measure's values over people's texts, ascending: the packaged reference."""
    values = {}
    for name in MEASURES:
        measured = column(reference, name)
        values[name] = np.sort(measured[np.isfinite(measured)]).round(4).tolist()
    record = {"model": "SmolLM2-135M-Instruct.Q4_1.gguf", "texts": len(reference), "values": values}
    STORED_REFERENCE.write_text(json_line(record) + "\n", encoding="utf-8")


def write_rows(rows: Sequence[Row], path: Path, digits: int) -> None:
    """Write rows as CSV, numbers to ``digits`` decimals; a column that a row lacks is empty."""
    columns = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_cell(row.get(name, ""), digits) for name in columns])


def _cell(value: Any, digits: int) -> str:
    """A float with ``digits`` decimals, nan as an empty string, anything else as it is."""
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def main(folder: Path, scratch: Path) -> None:
    """Measure what is missing and write both tables."""
    # 1. The critic that travels, fitted to the people's texts of all sets.
    readings = cached(scratch / "readings.jsonl")
    sets = [rated_set(name, folder) for name in NAMES]
    reference = []
    for rated in sets:
        reference += measures_of(rated, rated.references, readings)
    critic = OrderAndRepetition().fit(reference)
    # 2. Rows of each set: cheap critics on all of it, the language model's on its part of readings.
    rows = []
    parts = []
    for rated in sets:
        values = cached_values(rated, scratch)
        lengths = {name: values[name] for name in LENGTHS}
        rows += raters_row(rated) + rows_of(rated, values, lengths)
        rows.append(chance_row(rated, "random scores, all texts"))
        part = part_read(rated, readings)
        print(f"{rated.name}: {len(rated.texts)} texts, {len(part.texts)} read", flush=True)
        if len(part.texts) >= FEWEST_TEXTS:
            parts.append(part)
            rows += rows_read(part, readings, critic, lengths)
            rows.append(chance_row(part, "random scores, texts read"))
    # 3. The tables.
    here = Path(__file__)
    write_rows(rows, here.with_suffix(".csv"), 2)
    by_chance = best_choices_by_chance(parts, reference, readings)
    of_shuffles = {
        "best of shuffled ratings, mean": by_chance.mean(),
        "best of shuffled ratings, 95 % lie below": np.quantile(by_chance, 0.95),
        "best of shuffled ratings, largest": by_chance.max(),
    }
    rows = choices(parts, reference, readings)
    for name, value in of_shuffles.items():
        rows.append({"measures": name, "mean": float(value)})
    write_rows(rows, here.with_name("rated_choice.csv"), 3)
    write_stored_reference(reference)
    print(f"{len(reference)} people's texts as reference", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: rated_sets.py FOLDER SCRATCH")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
