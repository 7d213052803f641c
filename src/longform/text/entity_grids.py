"""Entity grids: sentences x entities with the role of each entity in each sentence (lapata2005 section 3.1).

Every noun is an entity of its own, known by its string; all nouns of a phrase bear the role of its head; of several mentions in a
sentence the highest role counts, S > O > X; passives enter their deep role."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Document, Predictions, Unit, ragged, refuse_plain_text
from longform.errors import BadInput, ConfigError
from longform.text.lexicon import Lexicon, read_lmf, read_wordnet
from longform.text.nouns import NounRules
from longform.text.sentences import sentence_texts, spacy_pipeline

ROLES = "SOX-"  # cell codes 0..3, highest role first, so that the highest of several mentions is the minimum
ABSENT = ROLES.index("-")
Mention = tuple[int, str, str]  # sentence, entity, role


@dataclass(frozen=True)
class Grid(Unit):
    """One document's grid: ``cells`` are uint8 (sentences, entities), indices into ``ROLES``."""

    entities: tuple[str, ...]
    cells: np.ndarray

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or self.cells.shape[1] != len(self.entities):
            shape, columns = self.cells.shape, len(self.entities)
            raise BadInput(
                f"grid {self.unit_id!r}: cells {shape}, {columns} entities; make them agree"
            )

    @property
    def empty(self) -> bool:
        return not self.cells.size

    @property
    def sentence_keys(self) -> list[bytes]:
        """One key per sentence; sentences with equal roles are alike to every scorer of grids."""
        return [row.tobytes() for row in self.cells]

    def nouns(self, sentence: int) -> list[str]:
        """Entities that a sentence mentions."""
        return [self.entities[j] for j in np.flatnonzero(self.cells[sentence] != ABSENT)]


def grid_from_mentions(
    unit_id: str, split: str, sentences: int, mentions: Iterable[Mention]
) -> Grid:
    """Columns in order of first mention; the highest role wins within a sentence."""
    mentions = list(mentions)
    entities = {
        entity: j for j, entity in enumerate(dict.fromkeys(entity for _, entity, _ in mentions))
    }
    cells = np.full((sentences, len(entities)), ABSENT, dtype=np.uint8)
    for sentence, entity, role in mentions:
        if role not in "SOX" or not 0 <= sentence < sentences:
            mention, last = (sentence, entity, role), sentences - 1
            raise BadInput(
                f"grid {unit_id!r}: mention {mention}; roles are S, O, X, sentences 0..{last}"
            )
        column = entities[entity]
        cells[sentence, column] = min(cells[sentence, column], ROLES.index(role))
    return Grid(unit_id, split, tuple(entities), cells)


def grids_to_predictions(
    grids: Sequence[Grid], extra: Mapping[str, np.ndarray] | None = None
) -> Predictions:
    """Arrays ``cells`` (row by row) with ``cells_lengths``, ``entity`` into ``entity_names``, and ``sentences``."""
    names = sorted({entity for grid in grids for entity in grid.entities})
    index = {name: i for i, name in enumerate(names)}
    arrays = ragged("cells", [grid.cells.ravel() for grid in grids], np.uint8)
    arrays |= ragged(
        "entity", [[index[entity] for entity in grid.entities] for grid in grids], np.int32
    )
    arrays["entity_names"] = np.array(names, dtype=np.str_)
    arrays["sentences"] = np.array([len(grid.cells) for grid in grids], dtype=np.int64)
    return Predictions.of(grids, arrays | dict(extra or {}))


def grids_from_predictions(predictions: Predictions) -> list[Grid]:
    """Inverse of :func:`grids_to_predictions`."""
    names = predictions.arrays["entity_names"].tolist()
    return [
        Grid(
            unit,
            split,
            tuple(names[i] for i in entity.tolist()),
            cells.reshape(sentences, len(entity)),
        )
        for unit, split, cells, entity, sentences in predictions.rows(
            "cells", "entity", "sentences"
        )
    ]


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    roles: str,
    splits: Sequence[str] = (),
    model: str = "en_core_web_sm",
) -> Predictions:
    """Grids of documents, beside the word net of the reader's folder where it holds one, which helps the rules.

    ``roles`` are ``truth`` (the texts' own, the arrays named in :data:`TRUTH`), ``spacy`` (by ``model``) or ``rules``; no splits are all.
    """
    lexicon = folder_lexicon(reader)
    if roles == "truth":
        grids = grids_from_truth(documents, truth)
    elif roles in ("spacy", "rules"):
        grids = found_grids(
            documents, spacy_mentions(model) if roles == "spacy" else NounRules(lexicon).mentions
        )
    else:
        raise BadInput(f"entity grids: roles {roles!r}; allowed are ['rules', 'spacy', 'truth']")
    kept = [i for i, grid in enumerate(grids) if not splits or grid.split in splits]
    rated = {name: truth[name][kept] for name in ("marks", "cluster", "system") if name in truth}
    return grids_to_predictions(
        [grids[i] for i in kept], rated | (lexicon.to_arrays() if lexicon is not None else {})
    )


def folder_lexicon(folder: Path) -> Lexicon | None:
    """The word net of a folder: ``lexicon.xml`` in WN-LMF, else WordNet's ``data.noun`` and its kin, else None."""
    if (folder / "lexicon.xml").is_file():
        return read_lmf(folder / "lexicon.xml")
    return read_wordnet(folder) if (folder / "data.noun").is_file() else None


TRUTH = ("grid", "grid_lengths", "grid_sentences", "entity_names", "entity_counts")


def grids_from_truth(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> list[Grid]:
    """The known grids of a made corpus, one per document, in its order."""
    if missing := [name for name in TRUTH if name not in truth]:
        raise BadInput(
            f"entity grids: the corpus's truth lacks {missing}; use other roles, or a corpus with grids"
        )
    rows = np.split(truth["grid"], np.cumsum(truth["grid_lengths"])[:-1])
    names = np.split(truth["entity_names"], np.cumsum(truth["entity_counts"])[:-1])
    parts = zip(documents, rows, names, truth["grid_sentences"].tolist(), strict=True)
    return [
        Grid(
            document.id,
            document.split,
            tuple(named.tolist()),
            cells.reshape(sentences, len(named)).astype(np.uint8),
        )
        for document, cells, named, sentences in parts
    ]


def found_grids(
    documents: Sequence[Document], finder: Callable[[str], Sequence[tuple[str, str]]]
) -> list[Grid]:
    """Grids from a function that finds (noun, role) in a sentence. Raises BadInput: plain text instead of documents."""
    refuse_plain_text(documents, "entity grids")
    grids = []
    for document in documents:
        found = [finder(sentence) for sentence in sentence_texts(document.text)]
        mentions = [(i, noun, role) for i, row in enumerate(found) for noun, role in row]
        grids.append(grid_from_mentions(document.id, document.split, len(found), mentions))
    return grids


def grids_of_texts(documents: Sequence[Document], lexicon: Path | None = None) -> list[Grid]:
    """Grids by the rules for nouns, helped by the word net of a folder where one is given.

    Raises ConfigError: the folder holds no word net.
    """
    words = None if lexicon is None else folder_lexicon(lexicon)
    if lexicon is not None and words is None:
        raise ConfigError(f"{lexicon}: no word net (lexicon.xml, or WordNet's data.noun) in it")
    return found_grids(documents, NounRules(words).mentions)


NOUNS = ("NOUN", "PROPN")


def spacy_mentions(model: str) -> Callable[[str], list[tuple[str, str]]]:
    """A finder over an installed spaCy pipeline with tagger and parser."""
    pipeline = spacy_pipeline(model)
    return lambda text: [
        (token.text.lower(), spacy_role(token)) for token in pipeline(text) if token.pos_ in NOUNS
    ]


def spacy_role(token: Any) -> str:
    """S, O or X of a spaCy token, by the head of its noun phrase."""
    while (
        token.dep_ in ("compound", "nmod", "amod", "flat", "appos", "conj")
        and token.head.i != token.i
    ):
        if token.head.pos_ not in NOUNS:
            break
        token = token.head
    if token.dep_ in ("nsubj", "csubj", "agent") or (
        token.dep_ == "pobj" and token.head.dep_ == "agent"
    ):
        return "S"
    return (
        "O"
        if token.dep_ in ("dobj", "obj", "nsubjpass", "nsubj:pass", "csubjpass", "csubj:pass")
        else "X"
    )
