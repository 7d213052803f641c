"""Texts rated for coherence in three classes: GCDC's own CSV (Lai and Tetreault 2018), for sheng2024 appendix B.

A file has a header with ``text_id``, ``text`` and ``labelA``, the consensus of the expert ratings: 1 low, 2 medium, 3 high.
The Yahoo, Enron, Clinton and Yelp files are gated and are not part of this repository.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import refusing

CLASSES = (1, 2, 3)
NEEDED = ("text_id", "text", "labelA")


def build(*, name: str, raw: Path, validation: float = 0.1) -> Corpus:
    """Read ``*train*.csv`` and ``*test*.csv`` of a folder; every k-th training text becomes validation.

    Returns:
        Paragraphs as untitled sections; ``truth["rating"]`` is int64 (units,); facts count classes and what was dropped.

    Raises:
        BadInput: no files, no header, or no usable row.
    """
    files = sorted(raw.glob("*.csv")) if raw.is_dir() else []
    documents, ratings, dropped = [], [], Counter[str]()
    for file in files:
        split = "train" if "train" in file.stem.lower() else "test"
        for number, row in enumerate(_rows(file)):
            made = _document(row, split, number, validation)
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


@refusing("a GCDC CSV file in UTF-8")
def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            raise BadInput(f"{file}: header {reader.fieldnames} lacks {missing}; GCDC's files have {list(NEEDED)}")
        return list(reader)


def _document(row: dict[str, str], split: str, number: int, validation: float) -> Document | str:
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
