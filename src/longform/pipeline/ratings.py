"""The stage that holds every critic against people's marks at once: correlations, which goes with people better, and combined."""

from __future__ import annotations

import numpy as np

from longform.core.artefacts import read_corpus
from longform.core.documents import BadInput
from longform.core.experiment import Experiment, System
from longform.core.results import read_results, with_fields, write_results
from longform.evaluation.human_ratings import combined_scorers, rating_records


def ratings(experiment: Experiment, study: str, corpus: str) -> None:
    """Values of single texts that critics wrote beside their scores -> ``data/scores/human_ratings/<corpus>.json``.

    Raises:
        BadInput: no critic of the study scored the rated texts, or the corpus has no marks.
    """
    found = read_results(experiment.data / "scores" / study).where(metric="text_values", corpus=corpus)
    text = read_corpus(experiment.data / System(study, corpus).texts)
    if not found or "marks" not in text.truth:
        raise BadInput(f"ratings {study} {corpus}: {len(found)} critics, marks of the corpus: {'marks' in text.truth}")
    places = {document.id: place for place, document in enumerate(text.documents)}
    columns = {}
    for record in found:
        values = np.full(len(places), np.nan)
        for unit, value in zip(record.details["unit_ids"], record.details["values"], strict=True):
            values[places[unit]] = np.nan if value is None else value
        columns[record.task] = values
    marks = np.asarray(text.truth["marks"], dtype=np.float64)
    unknown = np.full(len(places), "")
    clusters, systems = (
        np.asarray(text.truth.get(name, unknown)).astype(str).tolist() for name in ("cluster", "system")
    )
    told = {record.task: (record.better, record.signature) for record in found}
    records = rating_records(columns, marks, clusters, systems, told, name=f"{study} {corpus}")  # type: ignore[arg-type]
    people = np.nanmean(marks, axis=1)
    records += combined_scorers(columns, people, clusters, name=f"{study} {corpus}")
    records = with_fields(records, corpus=corpus)
    write_results(experiment.data / "scores" / "human_ratings" / f"{corpus}.json", records)
    print(f"ratings {study} {corpus}: {len(columns)} scorers, {len(records)} records")
