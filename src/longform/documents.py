"""The records that flow between the rooms; ``docs/glossary.md`` names the axes of their arrays."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from longform.errors import BadInput, InputError, short_repr

SPLITS = ("train", "validation", "test", "generated")
# Between sections of a document's text, and of what a model generates (deng2022, released code).
SECTION_BREAK = "\n\n"


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
    # What was done to the text on purpose, one record each.
    edits: tuple[Mapping[str, Any], ...] = ()

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
        sections = []
        for section in self.sections:
            sections.append({"title": section.title, "text": section.text})
        edits = [dict(edit) for edit in self.edits]
        return {"id": self.id, "split": self.split, "sections": sections, "edits": edits}

    @classmethod
    def from_record(cls, record: Any, where: str = "record") -> "Document":
        """Parse one JSON record; sections inside a section follow it, in reading order.

        Args:
            record: an object with ``id``, ``sections`` and, perhaps, ``split`` and ``edits``.
            where: names the place in errors.

        Raises:
            InputError: a field is missing or of the wrong type.
        """
        # 1. The object and what it needs.
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise InputError(
                f"{where}: got {kind}, a document is an object with id, split, sections"
            )
        if missing := {"id", "sections"} - record.keys():
            raise InputError(
                f"{where}: document lacks {sorted(missing)}; add them, or convert the file first"
            )
        # 2. Its fields, one by one.
        document_id = record["id"]
        if not isinstance(document_id, str):
            raise InputError(
                f"{where}: id is {short_repr(document_id)}, allowed is a string; quote it"
            )
        split = record.get("split", "test")
        if split not in SPLITS:
            raise InputError(
                f"{where}: split {short_repr(split)} is not one of {list(SPLITS)}; rename it"
            )
        edits = record.get("edits") or []
        if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
            value = short_repr(record["edits"])
            raise InputError(
                f"{where}: edits is {value}, allowed is a list of objects; fix or drop it"
            )
        sections = sections_of(record["sections"], f"{where} (document {document_id!r})")
        return cls(document_id, split, sections, tuple(edits))


def section_starts(document: Document) -> list[int]:
    """Where each section's text starts in ``document.text``."""
    starts = []
    start = 0
    for section in document.sections:
        starts.append(start)
        start += len(section.text) + len(SECTION_BREAK)
    return starts


def sections_of(value: Any, where: str) -> tuple[Section, ...]:
    """Sections in reading order from a list of objects.

    Each has ``title``, ``text`` and, perhaps, ``sections`` of its own. A section with others inside
    may lack a text; its title then stands over an empty one.

    Raises:
        InputError: another shape, or text in a field that is not read.
    """
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{where}: sections is {short_repr(value)}, allowed is a non-empty list; "
            "give the document text"
        )
    sections: list[Section] = []
    waiting = list(reversed(value))  # the next one stands last
    while waiting:
        entry = waiting.pop()
        # 1. Is it a section?
        if not isinstance(entry, dict):
            raise InputError(_no_section(entry, where))
        title, inner = entry.get("title"), entry.get("sections") or []
        text = entry.get("text", "" if inner else None)
        if not isinstance(text, str) or not isinstance(inner, list):
            raise InputError(_no_section(entry, where))
        if not isinstance(title, str | None):
            value_of_title = short_repr(title)
            raise InputError(f"{where}: a title is {value_of_title}, allowed is a string or null")
        if unread := unread_fields(entry):
            raise InputError(
                f"{where}: a section has {unread}, which are not read; name them sections, "
                "or drop them"
            )
        # 2. Its own title and text; the sections inside it come next.
        if text or title or not inner:
            sections.append(Section(title, text))
        waiting.extend(reversed(inner))
    return tuple(sections)


def _no_section(entry: Any, where: str) -> str:
    """The sentence of the error that an entry is no section."""
    allowed = "{'title': text or null, 'text': text}"
    return f"{where}: a section is {short_repr(entry)}, allowed is {allowed}"


def unread_fields(section: Mapping[str, Any]) -> list[str]:
    """Names of a section's fields that are not read although they hold text.

    They hold text where lists or objects in them hold two words or more.
    """
    unread = []
    for name, value in section.items():
        if name not in ("title", "text", "sections") and _holds_words(value):
            unread.append(name)
    return sorted(unread)


def _holds_words(value: Any) -> bool:
    """Whether a list or object holds a text of two words or more; a bare text does not count."""
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
    values: Sequence[Any],
    who: str,
    expected: str = "documents: Document(name, 'test', (Section(None, text),))",
) -> None:
    """Refuse plain text where objects are needed.

    Args:
        values: what somebody passed.
        who: the function or reader that was called, for the error.
        expected: what it takes, for the error.

    Raises BadInput: ``values`` is a text, or its first entry is one.
    """
    is_list = isinstance(values, Sequence) and len(values) > 0
    if isinstance(values, str) or (is_list and isinstance(values[0], str)):
        raise BadInput(f"{who}: got plain text; give {expected}")


def in_splits(
    documents: Sequence[Document], splits: Sequence[str], who: str = "reader"
) -> list[Document]:
    """The documents of some splits in their order, maybe none.

    Raises:
        BadInput: strings in place of documents. (``str.split`` is a method, so none would ever be
            in a split.)
    """
    refuse_plain_text(documents, who)
    return [document for document in documents if document.split in splits]


def of_splits(documents: Sequence[Document], splits: Sequence[str], who: str) -> list[Document]:
    """The documents of some splits in their order, for a reader called ``who``.

    Raises:
        BadInput: there is none, or strings were given in place of documents.
    """
    chosen = in_splits(documents, splits, who)
    if not chosen:
        raise BadInput(f"{who}: got no document of splits {list(splits)}; fix splits or the corpus")
    return chosen


@dataclass(frozen=True)
class Corpus:
    """Documents with whatever truth is known about them.

    Attributes:
        documents: in the order of their file.
        truth: arrays of the process that made them; real texts have none.
        facts: numbers about the corpus: closed-form values, and how many texts were dropped.
    """

    documents: Sequence[Document]
    truth: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


class Arrays(dict[str, np.ndarray]):
    """Arrays by name.

    A missing name raises BadInput, no KeyError: an entry of ``params.yaml`` names the wrong reader.
    """

    def __missing__(self, name: str) -> np.ndarray:
        raise BadInput(
            f"predictions have no array {name!r}, its arrays are {sorted(self)}; name another array"
        )


@dataclass(frozen=True)
class Predictions:
    """What a reader (a model or rules) predicted for each text of a set, as arrays.

    ``arrays[name]`` has one row per unit, or, where ``name + "_lengths"`` is present, the units'
    rows one after another with those lengths. Arrays with one row per symbol carry names that end
    in ``_names``.
    """

    unit_ids: tuple[str, ...]
    splits: tuple[str, ...]
    arrays: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        if len(self.unit_ids) != len(self.splits):
            ids, splits = len(self.unit_ids), len(self.splits)
            raise BadInput(f"predictions have {ids} unit ids but {splits} splits; give one each")
        if len(set(self.unit_ids)) != len(self.unit_ids):
            raise BadInput(
                "predictions have repeated unit ids; make them unique, results are kept per id"
            )
        object.__setattr__(self, "arrays", Arrays(self.arrays))

    @classmethod
    def of(cls, texts: Sequence[Any], arrays: Mapping[str, np.ndarray]) -> "Predictions":
        """Predictions of texts: anything with ``unit_id`` and ``split``, in the arrays' order."""
        return cls(
            tuple(text.unit_id for text in texts), tuple(text.split for text in texts), arrays
        )

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Unit by unit: its id, its split, then its row of each named array.

        From a ragged array that is the array of all the unit's rows.
        """
        columns: list[Iterable[np.ndarray]] = []
        for name in names:
            is_ragged = f"{name}_lengths" in self.arrays
            columns.append(self.ragged(name) if is_ragged else self.arrays[name])
        return zip(self.unit_ids, self.splits, *columns, strict=True)

    def ragged(self, name: str) -> Iterator[np.ndarray]:
        """Rows of a ragged array, one per unit, as views.

        Raises:
            BadInput: no such array, or lengths that do not add up to it.
        """
        lengths = self.arrays.get(name + "_lengths")
        if lengths is None or name not in self.arrays or lengths.sum() != len(self.arrays[name]):
            names = sorted(self.arrays)
            raise BadInput(
                f"predictions have no whole ragged array {name!r}; its arrays are {names}"
            )
        ends = np.cumsum(lengths)
        bounds = zip(ends - lengths, ends, strict=True)
        return (self.arrays[name][start:end] for start, end in bounds)


def ragged(name: str, rows: Iterable[Any], dtype: Any, *shape: int) -> dict[str, np.ndarray]:
    """A ragged array, its rows (one per unit) one after another, and their lengths.

    Args:
        name: of the array; its lengths are called ``NAME_lengths``.
        rows: one for each unit, each of any number of entries.
        dtype: of the entries.
        shape: of one entry, a number by default.
    """
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
    # False where the reader could not read the document: such a chain is counted, never scored.
    valid: bool = True
    # Whether the text ran into a limit of length: it has no end.
    cut: bool = field(default=False, kw_only=True)


def chains_to_predictions(chains: Sequence[Chain]) -> Predictions:
    """Pack chains for ``data/predictions``: ``chain`` indexes ``symbol_names``."""
    symbols: set[str] = set()
    for chain in chains:
        symbols.update(chain.symbols)
    names = sorted(symbols)
    index_of = {name: index for index, name in enumerate(names)}
    rows = [list(map(index_of.__getitem__, chain.symbols)) for chain in chains]
    arrays = ragged("chain", rows, np.int32)
    arrays["symbol_names"] = np.array(names, dtype=np.str_)
    arrays["valid"] = np.array([chain.valid for chain in chains], dtype=bool)
    return Predictions.of(chains, arrays)


def chains_from_predictions(predictions: Predictions) -> list[Chain]:
    """Inverse of :func:`chains_to_predictions`."""
    names = predictions.arrays["symbol_names"].tolist()
    chains = []
    rows = predictions.rows("chain", "valid")
    for (unit_id, split, row, valid), cut in zip(rows, cut_texts(predictions), strict=True):
        symbols = tuple(names[index] for index in row.tolist())
        chains.append(Chain(unit_id, split, symbols, bool(valid), cut=cut))
    return chains


CUT = "text_cut"  # array of predictions: whether each unit's text was cut at a limit of length


def cut_texts(predictions: Predictions) -> list[bool]:
    """Whether each unit's text was cut at a limit of length, so that its end is missing.

    Predictions without the array ``CUT`` are of whole texts: all are False.
    """
    if CUT not in predictions.arrays:
        return [False] * len(predictions.unit_ids)
    return np.asarray(predictions.arrays[CUT], dtype=bool).tolist()


def with_cut_texts(
    predictions: Predictions, documents: Sequence[Document], cut: Sequence[Any]
) -> Predictions:
    """Add the array ``CUT``: which units' texts were cut at a limit of length.

    Args:
        predictions: whose units are documents, not necessarily all or in their order.
        documents: that were read.
        cut: whether each document's text was cut.
    """
    cut_ids = set()
    for document, was_cut in zip(documents, cut, strict=True):
        if was_cut:
            cut_ids.add(document.id)
    was_cut_by_unit = np.array([unit in cut_ids for unit in predictions.unit_ids], dtype=bool)
    return replace(predictions, arrays={**predictions.arrays, CUT: was_cut_by_unit})


Item = TypeVar("Item")


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """Items by their key, keys and items in order of appearance."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
