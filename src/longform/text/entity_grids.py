"""Entity grids: the role of each entity in each sentence of a text (lapata2005 section 3.1).

Every noun is an entity of its own, known by its string; all nouns of a phrase bear the role of its
head; of several mentions in a sentence the highest role counts, S > O > X; passives enter their
deep role.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from longform.documents import Document, Predictions, Unit, ragged, refuse_plain_text
from longform.errors import BadInput, ConfigError
from longform.text.lexicon import Lexicon, read_lmf, read_wordnet
from longform.text.nouns import NounRules
from longform.text.sentences import sentence_texts, spacy_pipeline

# Cell codes 0..3, highest role first, so that the highest of several mentions is the minimum.
ROLES = "SOX-"
ABSENT = ROLES.index("-")
Mention = tuple[int, str, str]  # sentence, entity, role
# A corpus that knows its grids has these arrays.
TRUTH = ("grid", "grid_lengths", "grid_sentences", "entity_names", "entity_counts")
# Arrays of a corpus of rated texts that stay beside its grids.
RATINGS = ("marks", "cluster", "system")
SENTENCES = 1 << 15  # sentences whose nouns are cached: permuted and damaged texts repeat theirs


@dataclass(frozen=True)
class Grid(Unit):
    """One document's entity grid.

    Attributes:
        entities: name of each column's entity.
        cells: the role of each entity in each sentence, as an index into ``ROLES``: uint8
            (sentences, entities).
    """

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
        """Whether there is no sentence or no entity."""
        return not self.cells.size

    @property
    def sentence_keys(self) -> list[bytes]:
        """A key for each sentence; no scorer of grids tells sentences of equal keys apart."""
        return [row.tobytes() for row in self.cells]

    def nouns(self, sentence: int) -> list[str]:
        """Entities that a sentence mentions."""
        return [self.entities[j] for j in np.flatnonzero(self.cells[sentence] != ABSENT)]


def grid_from_mentions(
    unit_id: str, split: str, sentences: int, mentions: Iterable[Mention]
) -> Grid:
    """The entity grid of a text's mentions; the highest role wins within a sentence.

    Args:
        unit_id: of the text.
        split: of the text.
        sentences: how many the text has.
        mentions: (sentence from 0, entity, role) of each; the grid's columns stand in the order of
            first mention.

    Raises:
        BadInput: a mention has another role, or stands in a sentence that the text does not have.
    """
    mentions = list(mentions)
    columns: dict[str, int] = {}
    for _, entity, _ in mentions:
        columns.setdefault(entity, len(columns))
    cells = np.full((sentences, len(columns)), ABSENT, dtype=np.uint8)
    for sentence, entity, role in mentions:
        if role not in "SOX" or not 0 <= sentence < sentences:
            mention = (sentence, entity, role)
            raise BadInput(
                f"grid {unit_id!r}: mention {mention}; "
                f"roles are S, O, X, sentences 0..{sentences - 1}"
            )
        column = columns[entity]
        cells[sentence, column] = min(cells[sentence, column], ROLES.index(role))
    return Grid(unit_id, split, tuple(columns), cells)


def grids_to_predictions(
    grids: Sequence[Grid], extra: Mapping[str, np.ndarray] | None = None
) -> Predictions:
    """Pack grids for ``data/predictions``.

    Args:
        grids: one a text.
        extra: arrays that are kept beside them.

    Returns:
        Arrays ``cells`` (row by row) with ``cells_lengths``, ``entity`` into ``entity_names``,
        and ``sentences``.
    """
    # 1. Every entity of any grid has a number, by the alphabet.
    entities: set[str] = set()
    for grid in grids:
        entities.update(grid.entities)
    names = sorted(entities)
    number_of = {name: number for number, name in enumerate(names)}
    # 2. Each grid's columns by these numbers, and its cells.
    columns, cells, lengths = [], [], []
    for grid in grids:
        columns.append([number_of[entity] for entity in grid.entities])
        cells.append(grid.cells.ravel())
        lengths.append(len(grid.cells))
    arrays = ragged("cells", cells, np.uint8)
    arrays |= ragged("entity", columns, np.int32)
    arrays["entity_names"] = np.array(names, dtype=np.str_)
    arrays["sentences"] = np.array(lengths, dtype=np.int64)
    return Predictions.of(grids, arrays | dict(extra or {}))


def grids_from_predictions(predictions: Predictions) -> list[Grid]:
    """Inverse of :func:`grids_to_predictions`."""
    names = predictions.arrays["entity_names"].tolist()
    grids = []
    for unit_id, split, flat, numbers, sentences in predictions.rows(
        "cells", "entity", "sentences"
    ):
        entities = tuple(names[number] for number in numbers.tolist())
        cells = flat.reshape(sentences, len(entities))
        grids.append(Grid(unit_id, split, entities, cells))
    return grids


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    roles: str,
    splits: Sequence[str] = (),
    model: str = "en_core_web_sm",
) -> Predictions:
    """Predictions with the entity grids of documents, and the word net that helped, if any.

    Args:
        documents: one for each grid.
        truth: arrays of the corpus, one row a document.
        reader: a folder that may hold a word net, which helps the rules; see
            :func:`folder_lexicon`.
        roles: how nouns and their roles are found: ``truth`` (the corpus's own, by the arrays named
            in :data:`TRUTH`), ``spacy`` or ``rules``.
        splits: documents of other splits are left out; an empty list stands for all.
        model: name of a spaCy model, for ``spacy``.

    Returns:
        As :func:`grids_to_predictions`, with the ratings of rated texts and the word net's arrays.

    Raises:
        BadInput: other ``roles``, or a corpus that does not know its grids.
    """
    lexicon = folder_lexicon(reader)
    if roles == "truth":
        grids = grids_from_truth(documents, truth)
    elif roles == "spacy":
        grids = found_grids(documents, spacy_mentions(model))
    elif roles == "rules":
        grids = found_grids(documents, NounRules(lexicon).mentions)
    else:
        raise BadInput(f"entity grids: roles {roles!r}; allowed are ['rules', 'spacy', 'truth']")
    chosen = [row for row, grid in enumerate(grids) if not splits or grid.split in splits]
    extra = {name: truth[name][chosen] for name in RATINGS if name in truth}
    if lexicon is not None:
        extra |= lexicon.to_arrays()
    return grids_to_predictions([grids[row] for row in chosen], extra)


def folder_lexicon(folder: Path) -> Lexicon | None:
    """The word net of a folder: ``lexicon.xml`` in WN-LMF, or WordNet's ``data.*``; else None."""
    if (folder / "lexicon.xml").is_file():
        return read_lmf(folder / "lexicon.xml")
    if (folder / "data.noun").is_file():
        return read_wordnet(folder)
    return None


def grids_from_truth(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> list[Grid]:
    """The grids that a synthetic corpus has as its truth.

    Args:
        documents: of the corpus, in its order.
        truth: its arrays, those of ``TRUTH`` among them: ``grid`` holds the cells of all grids row
            by row, ``grid_lengths`` how many each has, ``grid_sentences`` how many sentences;
            ``entity_names`` the columns of all grids, ``entity_counts`` how many each has.

    Raises:
        BadInput: the corpus lacks one of these arrays.
    """
    if missing := [name for name in TRUTH if name not in truth]:
        raise BadInput(
            f"entity grids: the corpus's truth lacks {missing}; "
            "use other roles, or a corpus with grids"
        )
    # Cut the flat arrays behind each grid but the last.
    flat_cells = np.split(truth["grid"], np.cumsum(truth["grid_lengths"])[:-1])
    names = np.split(truth["entity_names"], np.cumsum(truth["entity_counts"])[:-1])
    counts = truth["grid_sentences"].tolist()
    grids = []
    for document, flat, columns, sentences in zip(
        documents, flat_cells, names, counts, strict=True
    ):
        entities = tuple(columns.tolist())
        cells = flat.reshape(sentences, len(entities)).astype(np.uint8)
        grids.append(Grid(document.id, document.split, entities, cells))
    return grids


def found_grids(
    documents: Sequence[Document], nouns_in: Callable[[str], Sequence[tuple[str, str]]]
) -> list[Grid]:
    """Entity grids of documents, by a function that finds nouns and their roles.

    Args:
        documents: one for each grid.
        nouns_in: returns (noun, role) of each noun of a sentence, in reading order; it is called
            once for equal sentences.

    Raises:
        BadInput: plain text instead of documents.
    """
    refuse_plain_text(documents, "entity grids")
    nouns_of = lru_cache(maxsize=SENTENCES)(nouns_in)
    grids = []
    for document in documents:
        sentences = sentence_texts(document.text)
        mentions = []
        for number, sentence in enumerate(sentences):
            for noun, role in nouns_of(sentence):
                mentions.append((number, noun, role))
        grids.append(grid_from_mentions(document.id, document.split, len(sentences), mentions))
    return grids


def grids_of_texts(documents: Sequence[Document], lexicon: Path | None = None) -> list[Grid]:
    """Entity grids by the rules for nouns, helped by the word net of a folder if one is named.

    Args:
        documents: one for each grid.
        lexicon: a folder, see :func:`folder_lexicon`.

    Raises:
        ConfigError: the folder holds no word net.
    """
    words = None if lexicon is None else folder_lexicon(lexicon)
    if lexicon is not None and words is None:
        raise ConfigError(f"{lexicon}: no word net (lexicon.xml, or WordNet's data.noun) in it")
    return found_grids(documents, NounRules(words).mentions)


NOUNS = ("NOUN", "PROPN")
WITHIN_PHRASE = ("compound", "nmod", "amod", "flat", "appos", "conj")
SUBJECTS = ("nsubj", "csubj", "agent")
OBJECTS = ("dobj", "obj", "nsubjpass", "nsubj:pass", "csubjpass", "csubj:pass")


def spacy_mentions(model: str) -> Callable[[str], list[tuple[str, str]]]:
    """A function that returns (noun, role) of each noun of a sentence, by a spaCy model."""
    pipeline = spacy_pipeline(model)

    def mentions(sentence: str) -> list[tuple[str, str]]:
        nouns = [token for token in pipeline(sentence) if token.pos_ in NOUNS]
        return [(noun.text.lower(), spacy_role(noun)) for noun in nouns]

    return mentions


def spacy_role(token: Any) -> str:
    """The role S, O or X of a spaCy token that is a noun, by the head of its noun phrase."""
    # Go up to the head of the phrase, as long as it is a noun.
    while token.dep_ in WITHIN_PHRASE and token.head.i != token.i:
        if token.head.pos_ not in NOUNS:
            break
        token = token.head
    of_agent = token.dep_ == "pobj" and token.head.dep_ == "agent"
    if token.dep_ in SUBJECTS or of_agent:
        return "S"
    return "O" if token.dep_ in OBJECTS else "X"
