"""A planted stand-in for rated texts: three classes of coherence made by shuffling, so that the right class is known.

3 is a text as it was, 2 has its blocks of five sentences shuffled, 1 has all its sentences shuffled; each document of
the source corpus is in one class only. Sections are joined: the order of the whole text is what is damaged.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.resampling import generator
from longform.core.text.sentences import SPLITTERS

BLOCKS = {1: 1, 2: 5, 3: 0}  # sentences of a shuffled block by class, 0 for none; ours


def build(*, name: str, seed: int, raw: Path, splitter: str = "rules") -> Corpus:
    """Damage the documents of a prepared corpus.

    Args:
        raw: its folder below ``data/``.

    Returns:
        ``truth["rating"]`` int64 (units,); each edit is recorded with its document.

    Raises:
        BadInput: no such corpus, or an unknown splitter.
    """
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter {splitter!r}; allowed are {sorted(SPLITTERS)}; fix the entry")
    documents = read_documents(raw / "documents.jsonl")
    ratings = [1 + int(generator(seed, name, "rating", d.id).integers(3)) for d in documents]
    rated = [_damaged(d, rating, splitter, (seed, name)) for d, rating in zip(documents, ratings, strict=True)]
    counts = {str(k): ratings.count(k) for k in BLOCKS}
    return Corpus(rated, {"rating": np.array(ratings, dtype=np.int64)}, {"corpus": name, "ratings": counts})


def _damaged(document: Document, rating: int, splitter: str, names: tuple[object, ...]) -> Document:
    pieces = [p for section in document.sections for p in SPLITTERS[splitter](section.text)]
    block = BLOCKS[rating]
    if block:
        starts = range(0, len(pieces), block)
        order = generator(*names, "shuffle", document.id).permutation(len(starts))
        pieces = [p for place in order for p in pieces[starts[place] : starts[place] + block]]
    edit = {"edit": "rated shuffle", "rating": rating, "block": block}
    return Document(document.id, document.split, (Section(None, " ".join(pieces)),), (*document.edits, edit))
