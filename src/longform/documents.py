"""The records that flow between the rooms; ``docs/glossary.md`` names the axes of their arrays."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from longform.errors import BadInput, InputError, short_repr

SPLITS = ("train", "validation", "test", "generated")
SECTION_BREAK = "\n\n"  # sections joined in a document's text, and in what a model generates (deng2022, released code)


@dataclass(frozen=True)
class Section:
    """One top-level section: its title (None where a model wrote none) and its text."""

    title: str | None
    text: str


@dataclass(frozen=True)
class Document:
    """A real or generated document; both share this schema, so both meet the same readers."""

    id: str  # unique within its corpus
    split: str  # one of ``SPLITS``
    sections: tuple[Section, ...]  # in reading order
    edits: tuple[
        Mapping[str, Any], ...
    ] = ()  # what was done to the text on purpose, one record each

    @property
    def unit_id(self) -> str:
        """Its id, under the name that units of critics have."""
        return self.id

    @property
    def text(self) -> str:
        """Section texts joined by one blank line, titles left out."""
        return SECTION_BREAK.join(section.text for section in self.sections)

    def to_record(self) -> dict[str, Any]:
        """The JSON form of ``data/corpora`` and ``data/generations``."""
        sections = [{"title": section.title, "text": section.text} for section in self.sections]
        return {
            "id": self.id,
            "split": self.split,
            "sections": sections,
            "edits": [dict(e) for e in self.edits],
        }

    @classmethod
    def from_record(cls, record: Any, where: str = "record") -> "Document":
        """Parse one JSON record; sections inside a section follow it, in reading order.

        Raises InputError: a field is missing or of the wrong type; ``where`` names the place.
        """
        if not isinstance(record, dict):
            raise InputError(
                f"{where}: got {type(record).__name__}, a document is an object with id, split, sections"
            )
        if missing := {"id", "sections"} - record.keys():
            raise InputError(
                f"{where}: document lacks {sorted(missing)}; add them, or convert the file first"
            )
        if not isinstance(record["id"], str):
            raise InputError(
                f"{where}: id is {short_repr(record['id'])}, allowed is a string; quote it"
            )
        split = record.get("split", "test")
        if split not in SPLITS:
            raise InputError(
                f"{where}: split {short_repr(split)} is not one of {list(SPLITS)}; rename it"
            )
        edits = record.get("edits") or []
        if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
            raise InputError(
                f"{where}: edits is {short_repr(record['edits'])}, allowed is a list of objects; fix or drop it"
            )
        made = sections_of(record["sections"], f"{where} (document {record['id']!r})")
        return cls(record["id"], split, made, tuple(edits))


def section_starts(document: Document) -> list[int]:
    """Where each section's text starts in ``document.text``."""
    starts = []
    start = 0
    for section in document.sections:
        starts.append(start)
        start += len(section.text) + len(SECTION_BREAK)
    return starts


def sections_of(value: Any, where: str) -> tuple[Section, ...]:
    """Sections in reading order from a list of objects with ``title``, ``text`` and, perhaps, ``sections`` of their own.

    A section with others inside may lack a text; its title then stands over an empty one.

    Raises InputError: another shape, or text in a field that is not read.
    """
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{where}: sections is {short_repr(value)}, allowed is a non-empty list; give the document text"
        )
    found: list[Section] = []
    waiting = list(reversed(value))
    while waiting:
        section = waiting.pop()
        allowed = "{'title': text or null, 'text': text}"
        if not isinstance(section, dict):
            raise InputError(f"{where}: a section is {short_repr(section)}, allowed is {allowed}")
        title, inner = section.get("title"), section.get("sections") or []
        text = section.get("text", "" if inner else None)
        if not isinstance(text, str) or not isinstance(inner, list):
            raise InputError(f"{where}: a section is {short_repr(section)}, allowed is {allowed}")
        if not isinstance(title, str | None):
            raise InputError(
                f"{where}: a title is {short_repr(title)}, allowed is a string or null"
            )
        if unread := unread_fields(section):
            raise InputError(
                f"{where}: a section has {unread}, which are not read; name them sections, or drop them"
            )
        if text or title or not inner:
            found.append(Section(title, text))
        waiting.extend(reversed(inner))
    return tuple(found)


def unread_fields(section: Mapping[str, Any]) -> list[str]:
    """Names of a section's fields that are not read although lists or objects in them hold two words or more."""
    known = ("title", "text", "sections")
    return sorted(key for key, value in section.items() if key not in known and _holds_words(value))


def _holds_words(value: Any) -> bool:
    waiting = [value] if isinstance(value, list | dict) else []
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str) and len(inner.split()) > 1:
            return True
        if isinstance(inner, list):
            waiting.extend(inner)
        elif isinstance(inner, dict):
            waiting.extend(inner.values())
    return False


def refuse_plain_text(
    given: Sequence[Any],
    who: str,
    wanted: str = "documents: Document(name, 'test', (Section(None, text),))",
) -> None:
    """Raises BadInput: a text, or a list of texts, where ``who`` takes what is ``wanted``."""
    if isinstance(given, str) or (
        isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], str)
    ):
        raise BadInput(f"{who}: got plain text; give {wanted}")


def in_splits(
    documents: Sequence[Document], splits: Sequence[str], who: str = "reader"
) -> list[Document]:
    """The documents of some splits, maybe none. Raises BadInput: plain text, whose method ``split`` is no split."""
    refuse_plain_text(documents, who)
    return [document for document in documents if document.split in splits]


def of_splits(documents: Sequence[Document], splits: Sequence[str], who: str) -> list[Document]:
    """The documents of some splits, for a reader called ``who``. Raises BadInput: there is none, or plain text."""
    chosen = in_splits(documents, splits, who)
    if not chosen:
        raise BadInput(f"{who}: got no document of splits {list(splits)}; fix splits or the corpus")
    return chosen


@dataclass(frozen=True)
class Corpus:
    """Documents with whatever truth is known about them: arrays of how they were made, and facts (closed-form values, what was dropped)."""

    documents: Sequence[Document]
    truth: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


class Arrays(dict[str, np.ndarray]):
    """Named arrays; one that is not there is bad input, since an entry of ``params.yaml`` named the wrong reader."""

    def __missing__(self, name: str) -> np.ndarray:
        raise BadInput(
            f"predictions have no array {name!r}, its arrays are {sorted(self)}; name another reading"
        )


@dataclass(frozen=True)
class Predictions:
    """What a model read in a set of texts.

    ``arrays[name]`` has one row per unit, or, where ``name + "_lengths"`` is present, the units' rows one after another with those
    lengths. Arrays with one row per symbol carry names that end in ``_names``.
    """

    unit_ids: tuple[str, ...]
    splits: tuple[str, ...]
    arrays: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        if len(self.unit_ids) != len(self.splits):
            raise BadInput(
                f"predictions have {len(self.unit_ids)} unit ids but {len(self.splits)} splits; give one each"
            )
        if len(set(self.unit_ids)) != len(self.unit_ids):
            raise BadInput(
                "predictions have repeated unit ids; make them unique, results are kept per id"
            )
        object.__setattr__(self, "arrays", Arrays(self.arrays))

    @classmethod
    def of(cls, texts: Sequence[Any], arrays: Mapping[str, np.ndarray]) -> "Predictions":
        """What was read in texts, documents or units of a critic."""
        return cls(
            tuple(text.unit_id for text in texts), tuple(text.split for text in texts), arrays
        )

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Id, split and row of each named array, unit by unit; of a ragged array all rows of the unit."""
        columns = [
            self.ragged(name) if f"{name}_lengths" in self.arrays else self.arrays[name]
            for name in names
        ]
        return zip(self.unit_ids, self.splits, *columns, strict=True)

    def ragged(self, name: str) -> Iterator[np.ndarray]:
        """Rows of a ragged array, one per unit, as views. Raises BadInput: no such array, or lengths that do not add up to it."""
        lengths = self.arrays.get(name + "_lengths")
        if lengths is None or name not in self.arrays or lengths.sum() != len(self.arrays[name]):
            raise BadInput(
                f"predictions have no whole ragged array {name!r}; its arrays are {sorted(self.arrays)}"
            )
        ends = np.cumsum(lengths)
        return (
            self.arrays[name][start:end] for start, end in zip(ends - lengths, ends, strict=True)
        )


def ragged(name: str, rows: Iterable[Any], dtype: Any, *shape: int) -> dict[str, np.ndarray]:
    """A ragged array, its rows (one per unit) one after another, and their lengths; ``shape``: of one entry, a number by default."""
    parts = [np.asarray(row, dtype=dtype).reshape(-1, *shape) for row in rows]
    flat = np.concatenate([np.zeros((0, *shape), dtype=dtype), *parts])
    return {name: flat, f"{name}_lengths": np.array([len(part) for part in parts], dtype=np.int64)}


@dataclass(frozen=True)
class Unit:
    """What critics judge: one text as a reader of it saw it."""

    unit_id: str
    split: str


@dataclass(frozen=True)
class Chain(Unit):
    """A discrete latent sequence of one document: states, section titles or mention tags."""

    symbols: tuple[str, ...]  # begin and end symbols left out
    valid: bool = True  # False where the reader could not read the document; such a chain is counted, never scored
    cut: bool = field(
        default=False, kw_only=True
    )  # whether the text ran into a limit of length: it has no end


def chains_to_predictions(chains: Sequence[Chain]) -> Predictions:
    """Pack chains for ``data/predictions``: ``chain`` indexes ``symbol_names``."""
    names = sorted({symbol for chain in chains for symbol in chain.symbols})
    index = {name: i for i, name in enumerate(names)}
    arrays = ragged(
        "chain", [[index[symbol] for symbol in chain.symbols] for chain in chains], np.int32
    )
    arrays["symbol_names"] = np.array(names, dtype=np.str_)
    arrays["valid"] = np.array([chain.valid for chain in chains], dtype=bool)
    return Predictions.of(chains, arrays)


def chains_from_predictions(predictions: Predictions) -> list[Chain]:
    """Inverse of :func:`chains_to_predictions`."""
    names = predictions.arrays["symbol_names"].tolist()
    rows = zip(predictions.rows("chain", "valid"), cut_texts(predictions), strict=True)
    return [
        Chain(unit, split, tuple(names[i] for i in row.tolist()), bool(valid), cut=cut)
        for (unit, split, row, valid), cut in rows
    ]


CUT = "text_cut"  # array of predictions: whether each unit's text was cut at a limit of length


def cut_texts(predictions: Predictions) -> list[bool]:
    """Whether each unit's text was cut at a limit of length, and so has no end; nowhere unless the predictions say so."""
    if CUT not in predictions.arrays:
        return [False] * len(predictions.unit_ids)
    return np.asarray(predictions.arrays[CUT], dtype=bool).tolist()


def with_cut_texts(
    predictions: Predictions, documents: Sequence[Document], cut: Sequence[Any]
) -> Predictions:
    """Predictions of texts that says which of them were cut; ``cut`` has one entry for each document."""
    known = {document.id for document, one in zip(documents, cut, strict=True) if one}
    told = np.array([unit in known for unit in predictions.unit_ids], dtype=bool)
    return replace(predictions, arrays={**predictions.arrays, CUT: told})


Item = TypeVar("Item")


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """Items by their key, keys and items in order of appearance."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
