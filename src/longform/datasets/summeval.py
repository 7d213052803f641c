"""SummEval (Fabbri et al. 2021): summaries of twelve or more systems with expert ratings, as published JSON lines.

One file per system; a line has ``id`` (the article), ``model_id``, ``decoded`` (the summary), ``references`` (human summaries) and
``expert_annotations``, one record of dimensions per rater.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import refusing
from longform.datasets.json_lines import records


def build(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """System summaries as documents of split test, the human references as split train.

    Truth: ``marks`` float64 (documents, raters), nan for references; ``cluster`` the article; ``system`` the system, or
    ``reference``. References come once per article. Articles stand together, so that neighbours share their words.

    Raises:
        BadInput: no file, a line without the fields, or a rating dimension that is not there.
    """
    rated = [record for path in sorted(raw.glob("*.jsonl")) for record in _records(path)]
    if not rated:
        raise BadInput(f"{raw}: no *.jsonl with a summary; give the folder of SummEval's *_annotations.jsonl")
    rated.sort(key=lambda record: (record["id"], record["model_id"]))
    rows = [row for record in rated for row in _rows(record, dimension)]
    rows = list({row[0].id: row for row in rows}.values())
    raters = max(len(marks) for _, _, _, marks in rows)
    padded = [marks + [float("nan")] * (raters - len(marks)) for _, _, _, marks in rows]
    truth = {
        "marks": np.array(padded, dtype=np.float64),
        "cluster": np.array([cluster for _, cluster, _, _ in rows]),
        "system": np.array([system for _, _, system, _ in rows]),
    }
    systems = sorted({record["model_id"] for record in rated})
    facts = {
        "systems": systems,
        "articles": len({r["id"] for r in rated}),
        "summaries": len(rated),
        "dimension": dimension,
    }
    return Corpus([row[0] for row in rows], truth, facts)


@refusing("JSON lines of SummEval in UTF-8")
def _records(path: Path) -> Iterator[dict[str, Any]]:
    for where, record in records(path, ("id", "model_id", "decoded", "expert_annotations")):
        names = record["id"], record["model_id"]
        if not all(isinstance(name, str) for name in names):
            raise BadInput(f"{where}: id and model_id are {names}; allowed are strings")
        yield record


@refusing("a summary with its ratings")
def _rows(record: Mapping[str, Any], dimension: str) -> Iterator[tuple[Document, str, str, list[float]]]:
    article, system = record["id"], record["model_id"]
    for number, text in enumerate(record.get("references") or []):
        yield _document(f"{article}/reference-{number}", "train", text), article, "reference", []
    try:
        marks = [float(rating[dimension]) for rating in record["expert_annotations"]]
    except KeyError as error:
        named = sorted(record["expert_annotations"][0])
        raise BadInput(f"summary {article}/{system}: no rating {dimension!r}; allowed are {named}") from error
    yield _document(f"{article}/{system}", "test", record["decoded"]), article, system, marks


def _document(name: str, split: str, text: str) -> Document:
    if not isinstance(text, str):
        raise BadInput(f"summary {name}: got {text!r:.60}, allowed is a string; fix the line")
    return Document(name, split, (Section(None, text),))
