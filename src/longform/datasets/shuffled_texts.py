"""Documents with shuffles of themselves as documents, ``<document>/<task>_<size>/<copy>``, beside ``<document>/original/0``.

All are the same sentences joined by one blank. A sentence shuffle leaves the sections' lengths and titles where they stood; the
task ``section`` moves whole sections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.resampling import generator
from longform.core.text.permutations import ORIGINAL, TASKS, distinct_orders, numbered, shuffled_orders
from longform.core.text.sentences import SPLITTERS

SECTIONS = "section"  # the task that moves whole sections


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    tasks: Sequence[tuple[str, int]],
    documents: Mapping[str, int],
    shuffles: int = 1,
    splitter: str = "rules",
) -> Corpus:
    """The first documents of each split of a prepared corpus; those of split test with their shuffles.

    Args:
        raw: the corpus's folder below ``data/``.
        tasks: (task, size) of the shuffles: ``block``, ``window``, or ``section`` with size 1.
        documents: how many of each split to take.
        shuffles: drawn per document and task before repeats are dropped.

    Returns:
        A corpus whose facts count the distinct shuffles of each task, and the documents that had none.

    Raises BadInput: no such corpus, unknown task or splitter, or fewer documents than asked for.
    """
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter {splitter!r}; allowed are {sorted(SPLITTERS)}; fix the entry")
    checked(tasks)
    read = read_documents(raw / "documents.jsonl")
    chosen = [d for split, count in documents.items() for d in [d for d in read if d.split == split][:count]]
    for split, count in documents.items():
        if (found := sum(document.split == split for document in chosen)) < count:
            raise BadInput(f"{raw} has {found} documents of split {split!r}, the entry asks for {count}; fix it")
    cut = {document.id: cut_sections(document, splitter) for document in chosen}
    families = [_family(document, cut[document.id], tasks, shuffles, (seed, name)) for document in chosen]
    made = [member for family in families for member in family]
    kinds = [member.id.split("/")[-2] for member in made if "/" in member.id]
    counts = {f"{task}_{size}": kinds.count(f"{task}_{size}") for task, size in tasks}
    return Corpus(made, {}, {"corpus": name, "documents": len(chosen), "shuffles": counts})


def checked(tasks: Sequence[tuple[str, int]]) -> None:
    """Refuse a task that does not exist. Raises BadInput: naming it."""
    for task, size in tasks:
        if task not in (*TASKS, SECTIONS) or size < 1 or (task == SECTIONS and size != 1):
            raise BadInput(f"task {(task, size)}; allowed are {sorted(TASKS)} with a size from 1, ({SECTIONS}, 1)")


Cut = list[tuple[str | None, list[str]]]  # title and sentences of each section


def cut_sections(document: Document, splitter: str) -> Cut:
    """Sentences of each section; blank ones are left out, and so is a section without any."""
    pieces = [[p.strip() for p in SPLITTERS[splitter](section.text)] for section in document.sections]
    rows = [(s.title, [p for p in row if p]) for s, row in zip(document.sections, pieces, strict=True)]
    return [(title, row) for title, row in rows if row]


def _family(
    document: Document, cut: Cut, tasks: Sequence[tuple[str, int]], shuffles: int, names: tuple[object, ...]
) -> list[Document]:
    """A document as it was under its own id, or, in split test, its original and its shuffles."""
    if document.split != "test":
        return [_written(document, document.id, cut)]
    members = [_written(document, f"{document.id}/{ORIGINAL}/0", cut)]
    for task, size in tasks:
        rng = generator(*names, task, size, document.id)
        for copy, changed in enumerate(shuffled_cuts(cut, task, size, shuffles, rng)):
            members.append(_written(document, f"{document.id}/{task}_{size}/{copy}", changed))
    return members


def _written(document: Document, name: str, cut: Cut) -> Document:
    sections = tuple(Section(title, " ".join(row)) for title, row in cut) or document.sections
    return Document(name, document.split, sections, document.edits)


def shuffled_cuts(cut: Cut, task: str, size: int, shuffles: int, rng: np.random.Generator) -> list[Cut]:
    """Distinct shuffles of a cut document; those of sentences keep the sections' lengths and titles in place."""
    if task == SECTIONS:
        orders = TASKS["block"](len(cut), 1, shuffles, rng)
        return [[cut[i] for i in order] for order in distinct_orders(orders, numbered([tuple(row) for _, row in cut]))]
    pieces = [piece for _, row in cut for piece in row]
    ends = np.cumsum([len(row) for _, row in cut]).tolist()
    orders = shuffled_orders(task, size, pieces, shuffles, rng)
    moved = [[pieces[i] for i in order] for order in orders]
    places = [(title, end - len(row), end) for (title, row), end in zip(cut, ends, strict=True)]
    return [[(title, row[start:end]) for title, start, end in places] for row in moved]


BLOCKS = {1: 1, 2: 5, 3: 0}  # sentences of a shuffled block by class, 0 for none; ours


def rated(*, name: str, seed: int, raw: Path, splitter: str = "rules") -> Corpus:
    """A planted stand-in for rated texts: three classes of coherence made by shuffling, so that the right class is known.

    3 is a text as it was, 2 has its blocks of five sentences shuffled, 1 has all its sentences shuffled; each document of the prepared
    corpus is in one class only. Sections are joined: the order of the whole text is what is damaged.

    Args:
        raw: its folder below ``data/``.

    Returns:
        ``truth["rating"]`` int64 (units,); each edit is recorded with its document.

    Raises BadInput: no such corpus, or an unknown splitter.
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
