"""Texts that people rated, in the published forms: GCDC's classes of coherence, SummEval's marks of summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import records, refusing, rows

CLASSES = (1, 2, 3)
NEEDED = ("text_id", "text", "labelA")


def gcdc(*, name: str, raw: Path, validation: float = 0.1) -> Corpus:
    """Texts rated for coherence in three classes, GCDC's own CSV (Lai and Tetreault 2018), for sheng2024 appendix B.

    ``*train*.csv`` and ``*test*.csv`` of a folder have a header with ``text_id``, ``text`` and ``labelA``, the consensus of the
    expert ratings: 1 low, 2 medium, 3 high. Every k-th training text becomes validation. The files (Yahoo, Enron, Clinton, Yelp) are
    gated and are not part of this repository.

    Returns:
        Paragraphs as untitled sections; ``truth["rating"]`` is int64 (units,); facts count classes and what was dropped.

    Raises BadInput: no files, no header, or no usable row.
    """
    files = sorted(raw.glob("*.csv")) if raw.is_dir() else []
    documents, ratings, dropped = [], [], Counter[str]()
    for file in files:
        split = "train" if "train" in file.stem.lower() else "test"
        for number, row in enumerate(rows(file, NEEDED)):
            made = _gcdc_document(row, split, number, validation)
            if isinstance(made, str):
                dropped[made] += 1
                continue
            documents.append(made)
            ratings.append(int(float(row["labelA"])))
    if not documents:
        raise BadInput(f"{raw}: {len(files)} CSV files, 0 usable texts; put <domain>_train.csv and _test.csv there")
    facts = {
        "corpus": name,
        "ratings": dict(sorted(Counter(map(str, ratings)).items())),
        "dropped": dict(sorted(dropped.items())),
    }
    return Corpus(documents, {"rating": np.array(ratings, dtype=np.int64)}, facts)


def _gcdc_document(row: dict[str, str], split: str, number: int, validation: float) -> Document | str:
    paragraphs = [line.strip() for line in (row["text"] or "").splitlines() if line.strip()]
    if not paragraphs:
        return "no text"
    try:
        rating = float(row["labelA"])
    except (TypeError, ValueError):
        return "no rating"
    if rating not in CLASSES:
        return "rating outside 1..3"
    held = split == "train" and validation > 0 and number % round(1 / validation) == 0
    sections = tuple(Section(None, text) for text in paragraphs)
    return Document(f"{split}-{row['text_id']}", "validation" if held else split, sections)


def summeval(*, raw: Path, dimension: str = "coherence") -> Corpus:
    """SummEval (Fabbri et al. 2021): system summaries as documents of split test, the human references as split train.

    One file per system; a line has ``id`` (the article), ``model_id``, ``decoded`` (the summary), ``references`` (human summaries)
    and ``expert_annotations``, one record of dimensions per rater.

    Truth: ``marks`` float64 (documents, raters), nan for references; ``cluster`` the article; ``system`` the system, or
    ``reference``. References come once per article. Articles stand together, so that neighbours share their words.

    Raises BadInput: no file, a line without the fields, or a rating dimension that is not there.
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
