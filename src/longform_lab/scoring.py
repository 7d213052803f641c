"""The stages that score: all metrics of a critic over corpora and systems, as records.

A critic's entry of ``scores`` has ``metrics``, and under each question that is asked of any critic
(its response to corruptions, the orders that it prefers, how it goes with people's ratings) its
scorers, ``{NAME: {kind: METRIC, predictions: ..., train: ..., settings}}``. Another key,
``evaluations``, names functions of predictions that return records themselves. NumPy alone.
"""

import csv
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longform.errors import BadInput
from longform.files.artefacts import atomic_write, read_corpus, read_json, write_json
from longform.results import Record, Results, read_results, write_results
from longform_lab.experiment import Experiment, System
from longform_lab.score_entries import read_entries, records_of


def score(experiment: Experiment, study: str, critic: str) -> None:
    """Compute every metric, question and evaluation of a critic, for every corpus and system.

    Writes ``data/scores/<study>/<critic>.json``, and below ``data/metrics`` the values alone of
    those metrics that an entry shows.
    """
    records: list[Record] = []
    shown_records: list[Record] = []
    for entry in read_entries(experiment, study, critic):
        records_of_entry = records_of(experiment, entry)
        records += records_of_entry
        shown_records += [record for record in records_of_entry if entry.shows(record.metric)]
    write_results(experiment.data / "scores" / study / f"{critic}.json", records)
    write_json(experiment.data / "metrics" / study / f"{critic}.json", metrics(shown_records))


def metrics(records: Sequence[Record]) -> dict[str, Any]:
    """The values of records, means over seeds, as ``dvc metrics show`` prints them.

    Returns:
        ``{corpus: {system: {metric or metric_variant: value}}}``. A metric that has no number for
        one of the seeds is left out.
    """
    values_of_corpora: dict[str, Any] = {}
    fields = ("corpus", "system", "titles", "metric", "variant")
    without_task = Results(record for record in records if not record.task)
    for (corpus, model, titles, metric, variant), group in without_task.groups(*fields).items():
        # A record over all seeds is used in place of those of single seeds.
        chosen = [record for record in group if record.seed is None] or list(group)
        values = []
        for record in chosen:
            if record.value is not None and not math.isnan(record.value):
                values.append(record.value)
        if len(values) < len(chosen):
            continue
        system = System("", corpus, model, titles).folder
        name = f"{metric}_{variant}" if variant else metric
        systems = values_of_corpora.setdefault(corpus, {})
        systems.setdefault(system, {})[name] = statistics.fmean(values)
    return values_of_corpora


def ratings(experiment: Experiment, study: str, corpus: str) -> None:
    """Correlate the scores of all critics of a study with people's ratings of single texts.

    The records are correlations, differences between the correlations of two critics, and critics
    combined by regression. Reads the values of single texts that critics wrote beside their scores;
    writes ``data/scores/human_ratings/<corpus>.json``.

    Raises:
        BadInput: no critic of the study scored the rated texts, or the corpus has no ratings.
    """
    # Here, since it brings scipy.stats along, whose import takes longer than many critics' scoring.
    from longform.evaluation.human_ratings import combined_scorers, rating_records

    # 1. The values of single texts by each critic, and the rated texts.
    scored = read_results(experiment.data / "scores" / study)
    scored = scored.where(metric="text_values", corpus=corpus)
    name = f"{study} {corpus}"
    text = read_corpus(experiment.data / System(study, corpus).texts)
    if not scored or "marks" not in text.truth:
        raise BadInput(
            f"ratings {name}: {len(scored)} critics, marks of the corpus: {'marks' in text.truth}"
        )
    # 2. A column of values for each scorer, the ratings, and the source and writer of each text.
    document_ids = [document.id for document in text.documents]
    columns: dict[str, NDArray[np.float64]] = {}  # a value for each document, by scorer
    better_and_signature: dict[str, tuple[str, str]] = {}
    for record in scored:
        columns[record.task] = _column(record, document_ids)
        better_and_signature[record.task] = (record.better, record.signature)
    marks = np.asarray(text.truth["marks"], dtype=np.float64)
    unknown = np.full(len(document_ids), "")
    sources = np.asarray(text.truth.get("cluster", unknown)).astype(str).tolist()
    systems = np.asarray(text.truth.get("system", unknown)).astype(str).tolist()
    # 3. The records.
    records = rating_records(columns, marks, sources, systems, better_and_signature, name=name)
    records += combined_scorers(columns, np.nanmean(marks, axis=1), sources, name=name)
    file = experiment.data / "scores" / "human_ratings" / f"{corpus}.json"
    write_results(file, [replace(record, corpus=corpus) for record in records])
    print(f"ratings {name}: {len(columns)} scorers, {len(records)} records")


def _column(record: Record, document_ids: Sequence[str]) -> NDArray[np.float64]:
    """A critic's score of each document, float64 (documents,); NaN where it has none."""
    pairs = zip(record.details["unit_ids"], record.details["values"], strict=True)
    values = dict(pairs)
    column = np.full(len(document_ids), np.nan)
    for index, document_id in enumerate(document_ids):
        value = values.get(document_id)
        if value is not None:
            column[index] = value
    return column


def curve(experiment: Experiment, study: str) -> None:
    """Write the word PPL and latent PPL of every system, a line each, for ``dvc plots``.

    Reads ``data/metrics/<study>``, writes ``data/plots/systems.csv``.
    """
    folder = experiment.data / "metrics" / study
    perplexities = read_json(folder / "perplexity.json")
    section_orders = read_json(folder / "section_order.json")
    lines: list[tuple[Any, ...]] = [("corpus", "system", "word_ppl", "latent_ppl")]
    for corpus, systems in perplexities.items():
        for system, values in systems.items():
            if "word_ppl" not in values:  # another metric of perplexity alone
                continue
            latent = section_orders.get(corpus, {}).get(system, {})
            lines.append((corpus, system, values["word_ppl"], latent.get("latent_ppl")))
    plot = experiment.data / "plots" / "systems.csv"
    with atomic_write(plot) as path, path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
