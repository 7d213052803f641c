"""Documents damaged on purpose: shuffled, shuffled by class, or struck by corruptions that need to know nothing but the text.

Shuffles are documents ``<document>/<task>_<size>/<copy>`` beside ``<document>/original/0``: the same sentences joined by one blank, or
by a blank line where they would run together (after a heading).
A sentence shuffle leaves the sections' lengths and titles where they stood; the task ``section`` moves whole sections."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets import text_files
from longform.documents import Corpus, Document, Section
from longform.errors import BadInput
from longform.files.artefacts import read_documents
from longform.statistics.random_streams import generator
from longform.text.permutations import ORIGINAL, TASKS, distinct_orders, numbered, shuffled_orders
from longform.text.sentences import SPLITTERS, joined

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
    """The first ``documents`` of each split of the corpus in folder ``raw``; those of split test with their shuffles.

    Tasks are (``block`` or ``window``, size) or (``section``, 1); of ``shuffles`` drawn per document and task the distinct ones are kept.
    """
    for task, size in tasks:
        if task not in (*TASKS, SECTIONS) or size < 1 or (task == SECTIONS and size != 1):
            raise BadInput(
                f"task {(task, size)}; allowed are {sorted(TASKS)} with a size from 1, ({SECTIONS}, 1)"
            )
    read, chosen = _prepared(raw, splitter), list[Document]()
    for split, count in documents.items():
        found = [document for document in read if document.split == split][:count]
        if len(found) < count:
            raise BadInput(
                f"{raw} has {len(found)} documents of split {split!r}, the entry asks for {count}; fix it"
            )
        chosen += found
    made, drawn = list[Document](), {f"{task}_{size}": 0 for task, size in tasks}
    for document in chosen:
        cut = cut_sections(document, splitter)
        if document.split != "test":
            made.append(_written(document, document.id, cut, splitter))
            continue
        made.append(_written(document, f"{document.id}/{ORIGINAL}/0", cut, splitter))
        for task, size in tasks:
            changed = shuffled_cuts(
                cut, task, size, shuffles, generator(seed, name, task, size, document.id)
            )
            drawn[f"{task}_{size}"] += len(changed)
            made += [
                _written(document, f"{document.id}/{task}_{size}/{i}", copy, splitter)
                for i, copy in enumerate(changed)
            ]
    return Corpus(made, {}, {"corpus": name, "documents": len(chosen), "shuffles": drawn})


def _prepared(raw: Path, splitter: str) -> list[Document]:
    """The documents of a corpus's folder below ``data/``."""
    if splitter not in SPLITTERS:
        raise BadInput(f"splitter {splitter!r}; allowed are {sorted(SPLITTERS)}; fix the entry")
    return read_documents(raw / "documents.jsonl")


Cut = list[tuple[str | None, list[str]]]  # title and sentences of each section


def cut_sections(document: Document, splitter: str) -> Cut:
    """Sentences of each section; blank ones are left out, and so is a section without any."""
    pieces = [
        [p.strip() for p in SPLITTERS[splitter](section.text)] for section in document.sections
    ]
    rows = [
        (s.title, [p for p in row if p]) for s, row in zip(document.sections, pieces, strict=True)
    ]
    return [(title, row) for title, row in rows if row]


def _written(document: Document, name: str, cut: Cut, splitter: str) -> Document:
    sections = (
        tuple(Section(title, joined(row, splitter)) for title, row in cut) or document.sections
    )
    return Document(name, document.split, sections, document.edits)


def shuffled_cuts(
    cut: Cut, task: str, size: int, shuffles: int, rng: np.random.Generator
) -> list[Cut]:
    """Distinct shuffles of a cut document; those of sentences keep the sections' lengths and titles in place."""
    if task == SECTIONS:
        orders = TASKS["block"](len(cut), 1, shuffles, rng)
        return [
            [cut[i] for i in order]
            for order in distinct_orders(orders, numbered([tuple(row) for _, row in cut]))
        ]
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
    corpus is in one class only. Sections are joined: the order of the whole text is what is damaged. ``truth["rating"]``: int64 (units,).
    """
    made, ratings = list[Document](), list[int]()
    for document in _prepared(raw, splitter):
        rating = 1 + int(generator(seed, name, "rating", document.id).integers(3))
        pieces = [
            piece for section in document.sections for piece in SPLITTERS[splitter](section.text)
        ]
        if block := BLOCKS[rating]:
            starts = range(0, len(pieces), block)
            order = generator(seed, name, "shuffle", document.id).permutation(len(starts))
            pieces = [
                piece for place in order for piece in pieces[starts[place] : starts[place] + block]
            ]
        edits = (*document.edits, {"edit": "rated shuffle", "rating": rating, "block": block})
        made.append(
            Document(document.id, document.split, (Section(None, joined(pieces, splitter)),), edits)
        )
        ratings.append(rating)
    counts = {str(k): ratings.count(k) for k in BLOCKS}
    return Corpus(
        made, {"rating": np.array(ratings, dtype=np.int64)}, {"corpus": name, "ratings": counts}
    )


ADVERBIALS = {  # that open a sentence, by what they say of the one before
    "contrast": ("However", "Nevertheless", "In contrast"),
    "cause": ("Therefore", "Thus", "As a result", "Consequently"),
    "addition": ("Moreover", "Furthermore", "In addition", "Additionally"),
    "instance": ("For example", "For instance"),
}
CONJUNCTIONS = {"contrast": ("but", "although"), "cause": ("so", "because")}  # between two clauses
_OPENING = re.compile(rf"^({'|'.join(word for row in ADVERBIALS.values() for word in row)}),")
_BETWEEN = re.compile(
    rf"(?<=,) ({'|'.join(word for row in CONJUNCTIONS.values() for word in row)}) "
)
_NO_NOUN = "a|an|and|as|at|but|by|for|from|her|his|in|into|on|or|out|that|the|to|up|when|while|who|with"  # behind *her* the object
_PRONOUN = re.compile(
    rf"\b(he|she|him|his|hers|her|himself|herself)\b(?=(\s+(?!(?:{_NO_NOUN})\b)[a-z])?)",
    re.IGNORECASE,
)
_OTHER = {
    "he": "she", "she": "he", "him": "her", "his": "her", "hers": "his", "himself": "herself", "herself": "himself",
}  # fmt: skip


def _other_gender(found: re.Match[str]) -> str:
    """The pronoun of the other gender in the same case; *her* is a possessive where what may be a noun phrase follows."""
    word = found[0].lower()
    new = _OTHER.get(word) or ("his" if found[2] else "him")
    return new.capitalize() if found[0][0].isupper() else new


def _rewritten(corruption: str, text: str, rng: np.random.Generator) -> str:
    def other_sense(found: re.Match[str]) -> str:
        groups = CONJUNCTIONS if found[0][0] == " " else ADVERBIALS
        words = [word for row in groups.values() if found[1] not in row for word in row]
        return found[0].replace(found[1], words[int(rng.integers(len(words)))])

    if corruption == "wrong_pronoun":
        return _PRONOUN.sub(_other_gender, text)
    return _BETWEEN.sub(other_sense, _OPENING.sub(other_sense, text))


def _places(corruption: str, cut: Cut) -> list[tuple[int, int]]:
    """Where a corruption can strike, as (section, sentence); one of whole sections has sentence -1."""
    if corruption == "section_order":
        return [(i, -1) for i in range(0, len(cut) - 1, 2)]
    if corruption == "repeated_section":
        return [(i, -1) for i in range(1, len(cut))]
    places = [(i, j, text) for i, (_, row) in enumerate(cut) for j, text in enumerate(row)]
    if corruption in ("off_topic_sentence", "repeated_sentence", MIXED):
        return [(i, j) for i, j, _ in places if j > 0]
    return [(i, j) for i, j, text in places if _rewritten(corruption, text, generator(0)) != text]


MIXED = "mixed_language"
CORRUPTIONS = (
    "section_order", "repeated_section", "off_topic_sentence", "repeated_sentence", "wrong_pronoun", "wrong_connective", MIXED,
)  # fmt: skip


def corrupted(
    *,
    name: str,
    seed: int,
    raw: Path,
    documents: int,
    severities: Sequence[float],
    splitter: str = "rules",
    beside: Path | None = None,
) -> Corpus:
    """The first test documents of a prepared corpus under each corruption at every severity, beside the sound ones.

    What is struck needs no truth: neighbouring sections change places, a section is replaced by the one before it, a sentence by one
    of another document, by the one before it or by one of another language, third-person pronouns take the other gender, a connective
    gives way to one of another sense. A place is struck where a uniform number named by it is below the severity (a share above 0, at
    most 1), so those of a lower severity are among those of a higher one. Sentences of other languages come from ``beside``, parallel text
    as :func:`.text_files.parallel` reads it; without it no language is mixed.

    Documents are ``<corruption>@<severity>/<document>`` and ``sound@0/<document>``, with one edit a struck place; facts count them.
    """
    if (
        not severities
        or len(set(severities)) < len(severities)
        or not all(0 < s <= 1 for s in severities)
    ):
        raise BadInput(
            f"corpus {name!r}: severities {list(severities)}; give distinct ones above 0 and at most 1"
        )
    read = [document for document in _prepared(raw, splitter) if document.split == "test"]
    if not 1 <= documents < len(read):
        allowed = "from 1 to one fewer than there are, which lends"
        raise BadInput(
            f"{raw} has {len(read)} test documents; the entry wants {documents}; {allowed}; fix it"
        )
    cuts = {document.id: cut_sections(document, splitter) for document in read}
    lent = {key: [text for _, row in cut for text in row] for key, cut in cuts.items()}
    read_beside = [] if beside is None else text_files.sentences(beside, text_files.TARGETS)
    foreign = [text for _, told in read_beside for text in told.values() if text.strip()]
    if beside is not None and not foreign:
        raise BadInput(f"{beside} has no sentence in {list(text_files.TARGETS)}; fix the file")
    chosen = [c for c in CORRUPTIONS if c != MIXED or foreign]
    made = [
        _written(document, f"sound@0/{document.id}", cuts[document.id], splitter)
        for document in read[:documents]
    ]
    for corruption, severity, (number, document) in product(
        chosen, severities, enumerate(read[:documents])
    ):
        others = foreign if corruption == MIXED else lent[read[(number + 1) % len(read)].id] or [""]
        names = (seed, name, corruption, document.id)
        cut, edits = _struck(corruption, severity, cuts[document.id], others, names)
        damaged = _written(document, f"{corruption}@{severity:g}/{document.id}", cut, splitter)
        made.append(replace(damaged, edits=(*document.edits, *edits)))
    edits_of = Counter[str]()
    for document in made:
        edits_of[document.id.split("/")[0]] += len(document.edits)
    return Corpus(made, {}, {"corpus": name, "documents": documents, "edits": edits_of})


def _struck(
    corruption: str, severity: float, cut: Cut, others: Sequence[str], names: tuple[object, ...]
) -> tuple[Cut, list[Mapping[str, Any]]]:
    """The damaged document and a record of each struck place."""
    places = _places(corruption, cut)
    chances = generator(*names).random(len(places))
    layout: Cut = [(title, list(row)) for title, row in cut]
    edits: list[Mapping[str, Any]] = []
    for (i, j), chance in zip(places, chances, strict=True):
        if chance >= severity:
            continue
        edits.append({"corruption": corruption, "section": i, "sentence": j})
        if corruption == "section_order":
            layout[i], layout[i + 1] = layout[i + 1], layout[i]
        elif corruption == "repeated_section":
            layout[i] = cut[i - 1]
        elif corruption == "repeated_sentence":
            layout[i][1][j] = cut[i][1][j - 1]
        else:
            rng, text = generator(*names, i, j), cut[i][1][j]
            lent = corruption in ("off_topic_sentence", MIXED)
            layout[i][1][j] = (
                others[int(rng.integers(len(others)))]
                if lent
                else _rewritten(corruption, text, rng)
            )
    return layout, edits
