"""Reading a person's own texts: a JSONL file, or a folder of plain text and Markdown.

What cannot be read is set aside with its reason.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longform.datasets.text_sources import (
    STANDARD_INPUT,
    from_hub,
    is_table,
    split_column,
    standard_input,
    table_rows,
)
from longform.documents import Document, Section, sections_of
from longform.errors import InputError, counted
from longform.files.opening import JSON_LINES, byte_lines, decode_line, parse_json, read_text
from longform.text.markdown import sections_in
from longform.text.paragraphs import one_blank_line

MARKDOWN = (".md", ".markdown")
SUFFIXES = (".txt", *MARKDOWN)
LONGEST = 1000  # ours: characters of a path; a longer string is a text
LISTED = 3  # ours: reasons that a message shows
_UNSHOWN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Unicode's own ends of lines and paragraphs, marks that no reader sees, and letters that a
# typesetter joined
_AS_SEEN = str.maketrans(
    {"\u0085": "\n", "\u2028": "\n", "\u2029": "\n\n"}
    | dict.fromkeys("\u00ad\u200b\u200e\u200f\u2060\ufeff", "")
    | dict(zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True))
)
# fields that are parts of a document by their name, whatever their items are called
_PARTS = frozenset(
    [
        "acts",
        "body",
        "body_text",
        "chapters",
        "paragraphs",
        "parts",
        "scenes",
        "sentences",
        "subsections",
    ]
)


_PLACE = re.compile(r"(?:text|line)-([0-9]+)")  # ids of texts that have none of their own

# Where a record stands ("line 3", "a.txt"), and its document or the reason why there is none.
Record = tuple[str, Document | str]


@dataclass(frozen=True)
class Texts:
    """Texts that were read from one source.

    Attributes:
        documents: with distinct ids.
        set_aside: (place, reason) of every record that is not among them.
    """

    documents: tuple[Document, ...]
    set_aside: tuple[tuple[str, str], ...] = ()


def read_texts(source: Path | str | Sequence[str]) -> Texts:
    """Documents of a file, a folder, another source, or a list of texts, in their order.

    Args:
        source: a ``.jsonl`` file, a folder with ``.txt`` and ``.md`` files, a column of a table,
            standard input or a hub (:mod:`longform.datasets.text_sources`), or a list of texts. A
            line of a ``.jsonl`` file is a JSON object with ``text`` or ``sections``, a list of
            ``{"title", "text"}``, which may have ``sections`` of their own; and perhaps ``id`` and
            ``title``.

    Raises InputError: no such place, another kind of file, or no text in it.
    """
    # 1. The records of the source.
    records: Iterable[Record]
    _refuse_what_has_no_order(source, "texts")
    if isinstance(source, Path | str):
        records = _records_of(str(source))
    elif isinstance(source, Iterable) and not isinstance(source, Mapping):
        records = _listed_texts(source)
    else:
        raise InputError(
            f"texts: got {type(source).__name__}; give a .jsonl file, a folder, or a list of texts"
        )
    # 2. Documents with a word in them and an id of their own; sections without text are left out.
    documents: dict[str, Document] = {}
    set_aside: list[tuple[str, str]] = []
    num_empty_sections = 0
    for where, record in records:
        if isinstance(record, str):
            set_aside.append((_clean(where), record))
        elif not _has_word(record):
            set_aside.append((_clean(where), "no word in it"))
        elif record.id in documents:
            set_aside.append((_clean(where), f"the id {record.id!r} was met before"))
        else:
            sections = tuple(section for section in record.sections if section.text)
            num_empty_sections += len(record.sections) - len(sections)
            documents[record.id] = replace(record, sections=sections)
    if num_empty_sections:
        set_aside.append(("sections", f"{num_empty_sections} without text"))
    if not documents:
        reasons = [f"{where}: {reason}" for where, reason in set_aside[:LISTED]]
        name = source if isinstance(source, Path | str) else "texts"
        raise InputError(
            f"{name}: no text to read ({'; '.join(reasons) or 'it is empty'}); "
            "give at least one text"
        )
    return Texts(tuple(documents.values()), tuple(set_aside))


def set_aside_note(what: str, set_aside: Sequence[tuple[str, str]]) -> str:
    """A note on records that are set aside: how many, and the reasons of the first ones.

    Args:
        what: kind of the records, such as ``prompts``.
        set_aside: place and reason of each, as :class:`Texts` has them.
    """
    reasons = [f"{where}: {reason}" for where, reason in set_aside[:LISTED]]
    if len(set_aside) > LISTED:
        reasons.append(f"and {len(set_aside) - LISTED} more")
    return f"{what} set aside, {len(set_aside)}: {'; '.join(reasons)}"


def _listed_texts(texts: Iterable[Any]) -> Iterator[Record]:
    """The documents of a list of texts."""
    for number, text in enumerate(texts, 1):
        name = f"text-{number}"
        if isinstance(text, str):
            yield name, _document(name, [(None, text)])
        else:
            yield name, f"{type(text).__name__}, not a text"


def _records_of(source: str) -> Iterable[Record]:
    """The records of a file, a folder, a column of a table, standard input or a hub.

    Raises InputError: no such place, or another kind of file.
    """
    if "\n" in source or len(source) > LONGEST:
        raise InputError(
            f"texts: got one text, {shortened(source)!r}; give a list of texts, a file or a folder"
        )
    if source == STANDARD_INPUT:
        return _lines(standard_input(), "standard input")
    path, column = split_column(from_hub(source) or source)
    if path.is_dir():
        return _files(path)
    if path.name.endswith(JSON_LINES) and path.is_file():
        return _lines(byte_lines(path), path.name, path)
    if is_table(path) and path.is_file():
        return _rows(path, column)
    kinds = "a folder of .txt and .md files, or a .jsonl, .csv, .tsv or .parquet file"
    if path.exists():
        raise InputError(f"{path}: no form of texts that is read; convert it, and give {kinds}")
    raise InputError(f"{path}: no such file or folder; give {kinds}")


def _rows(path: Path, column: str | None) -> Iterator[Record]:
    """A record for each row of a table; ``column`` has its text."""
    for number, (where, record) in enumerate(table_rows(path, column), 1):
        yield where, _record(record, number)


def documents_from(texts: Any, who: str) -> list[Document]:
    """Documents from whatever a person has: texts, documents or records in any iterable, or a Path.

    Plain texts are named by their place, ``text-1`` and on; empty ones stay, so that places agree.

    Args:
        texts: texts (str), documents, records with ``text`` or ``sections`` as in a ``.jsonl`` file
            (a Hugging Face data set gives such records), or a Path as for :func:`read_texts`.
        who: the function that was called, for errors.

    Raises:
        InputError: a single text, something else than texts, none at all, or none with a word in
            it.
    """
    if isinstance(texts, str):
        raise InputError(
            f"{who}: got one text, {shortened(texts)!r}; "
            "give a list of texts, or a Path of a file or folder"
        )
    if isinstance(texts, Path):
        return list(read_texts(texts).documents)
    _refuse_what_has_no_order(texts, who)
    if isinstance(texts, Mapping | Document) or not isinstance(texts, Iterable):
        raise InputError(
            f"{who}: got {type(texts).__name__}; give a list of texts or documents, or a Path"
        )
    documents = [_document_from(item, number, who) for number, item in enumerate(texts, 1)]
    if not documents:
        raise InputError(f"{who}: got no texts; give at least one")
    if not any(_has_word(document) for document in documents):
        texts = counted(len(documents), "text")
        raise InputError(f"{who}: {texts} without a word in any; give texts")
    return documents


def _refuse_what_has_no_order(texts: Any, who: str) -> None:
    """Refuse collections whose items are no texts in a fixed order.

    Raises InputError: a data frame, which iterates over names of columns, or a set.
    """
    if hasattr(texts, "columns"):
        names = ", ".join(map(repr, texts.columns))
        raise InputError(
            f"{who}: got a data frame; give its column of texts, frame[NAME] with one of {names}"
        )
    if isinstance(texts, AbstractSet):
        raise InputError(f"{who}: got a set, whose order changes from run to run; give a list")


def _document_from(item: Any, number: int, who: str) -> Document:
    """The document of one text, record or document. Raises InputError: it is none of these."""
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return _document(f"text-{number}", [(None, item)])
    document: Document | str
    if isinstance(item, Mapping):
        document = _record(dict(item), number)
    else:
        document = f"{type(item).__name__}, not a text"
    if isinstance(document, str):
        raise InputError(f"{who}: text {number}: {document}")
    return document


def _has_word(document: Document) -> bool:
    return any(character.isalpha() for character in document.text)


def _files(folder: Path) -> Iterator[Record]:
    """A record for each file below a folder, by name; hidden files share one, which counts them."""
    num_hidden = 0
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            num_hidden += 1
        else:
            yield name, _file(path, name)
    if num_hidden:
        yield counted(num_hidden, "hidden file"), "a name begins with a dot"


def _file(path: Path, name: str) -> Document | str:
    """The document in a file, or why there is none."""
    suffix = path.suffix.lower()
    if not path.is_file():
        return "no file (a link to nothing, or a device)"
    if suffix not in SUFFIXES:
        return f"none of {', '.join(SUFFIXES)}"
    try:
        text = read_text(path)
    except InputError as error:
        return _reason(error, path)
    return _document(name, sections_in(text) if suffix in MARKDOWN else [(None, text)])


def _reason(error: InputError, place: object) -> str:
    """The message of an error without the place that it begins with, which is shown beside it."""
    reason = str(error).removeprefix(str(place))
    return re.sub(r"^:(\d+): ", r"line \1: ", reason).removeprefix(": ")


def _lines(
    lines: Iterable[tuple[int, bytes]], name: str, path: Path | None = None
) -> Iterator[Record]:
    """A record for each line of a file; a damaged file gives those before the damage, and why.

    Args:
        lines: offset and bytes of each line.
        name: of the file, for the record of the damage.
        path: of the file, which the error's message begins with.
    """
    try:
        for number, (offset, raw) in enumerate(lines, 1):
            if raw.strip():
                where = f"line {number}"
                yield where, _line(raw, where, offset, number)
    except InputError as error:
        yield name, _reason(error, path or name)


def _line(raw: bytes, where: str, offset: int, number: int) -> Document | str:
    """The document of a line, or what is wrong with it."""
    try:
        text = decode_line(raw, where, offset).removeprefix("\ufeff")
        record = parse_json(text, where)
    except InputError as error:
        return _reason(error, where)
    return _record(record, number)


def _record(record: Any, number: int) -> Document | str:
    """The document of a record, or what is wrong with it."""
    # 1. Its fields.
    if not isinstance(record, dict):
        return f"{type(record).__name__}, not an object"
    name, text, title = record.get("id"), record.get("text"), record.get("title")
    if name in (None, ""):
        name = f"line-{number}"
    if not isinstance(name, str | int) or isinstance(name, bool):
        return f"id is {shortened(repr(name))}, allowed is a string or a whole number"
    for key, value in (("text", text), ("title", title)):
        if not isinstance(value, str | None):
            return f"{key} is {shortened(repr(value))}, allowed is a string"
    unread = _fields_with_texts(record)
    if unread:
        names = ", ".join(unread)
        return f"{names} is not read although it holds texts; name it sections, or drop it"
    # 2. One text, or sections.
    if record.get("sections") is None:
        if text is None:
            return "neither 'text' nor 'sections'"
        return _document(str(name), [(title, text)])
    try:
        sections = sections_of(record["sections"], "sections")
    except InputError as error:
        return str(error)
    # 3. A text before the sections.
    lead = _text_beside(text or "", sections)
    if lead is None:
        return "text holds the sections and more, or a part of them; give one of the two"
    parts: list[tuple[str | None, str]] = [(None, lead)] if lead else []
    for section in sections:
        parts.append((section.title, section.text))
    return _document(str(name), parts)


def _fields_with_texts(record: Mapping[str, Any]) -> list[str]:
    """Names of a record's fields that are not read although they hold parts of the document.

    They are lists or objects in which something has a text. A list that repeats the text or the
    sections, such as their sentences, is left out.
    """
    text = " ".join(_words_in([record.get("text"), record.get("sections")]))
    names = []
    for name, value in record.items():
        is_known = name in ("id", "text", "title", "sections")
        if not is_known and _holds_texts({name: value}, text):
            names.append(name)
    return sorted(names)


def _holds_texts(value: dict[str, Any], texts_read: str) -> bool:
    """Whether an object holds, at any depth, a part of the document that would be lost.

    That is a ``text`` of two words or more, or a field of ``_PARTS`` whose words are not among
    ``texts_read``, the words of the text and the sections.
    """
    waiting: list[Any] = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            text = inner.get("text")
            if isinstance(text, str) and len(text.split()) > 1:
                return True
            for name, part in inner.items():
                if name in _PARTS and _is_lost(part, texts_read):
                    return True
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)
    return False


def _is_lost(part: Any, texts_read: str) -> bool:
    """Whether a part of a document has a text of two words or more that was not read."""
    return any(" " in words and words not in texts_read for words in _words_in(part))


def _words_in(value: Any) -> Iterator[str]:
    """Every text below a value, in order, with one blank between words."""
    if isinstance(value, str):
        yield " ".join(value.split())
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _words_in(inner)


def _text_beside(text: str, sections: Sequence[Section]) -> str | None:
    """A record's own text, if it stands before its sections.

    Returns:
        The text; the empty string where it repeats the sections' texts, one after another; None
        where it holds a part of them, or they hold it.
    """
    words = " ".join(text.split())
    parts = [" ".join(section.text.split()) for section in sections if section.text.strip()]
    if words == " ".join(parts):
        return ""
    for part in parts:
        if words and (part in words or words in part):
            return None
    return text


def _document(name: str, sections: Iterable[tuple[str | None, str]]) -> Document:
    """A document of clean sections with lower-case titles; empty ones are left out.

    It always has a section, if an empty one, and is of split test: what a person brings is judged.
    """
    cleaned = []
    for title, text in sections:
        section = Section(_clean(title or "").casefold() or None, _clean(text))
        if section.title or section.text:
            cleaned.append(section)
    return Document(_clean(name), "test", tuple(cleaned) or (Section(None, ""),))


def place_in_source(name: str) -> int | None:
    """The position, from 1, in an id such as ``text-3`` or ``line-3``; None for any other id."""
    match = _PLACE.fullmatch(name)
    return int(match[1]) if match else None


def is_named_by_place(name: str) -> bool:
    """Whether an id is a position alone: equal ids of two sources then name different texts."""
    return place_in_source(name) is not None


def shortened(text: str, limit: int = 60) -> str:
    """One line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _clean(text: str) -> str:
    """Clean a text.

    It has Unix line ends, one form of each letter (NFC), nothing that is not seen, one blank line
    between paragraphs and no blanks around.
    """
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair becomes a question mark
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_AS_SEEN)
    return one_blank_line(unicodedata.normalize("NFC", _UNSHOWN.sub(" ", text)))


def halves(documents: tuple[Document, ...]) -> tuple[Document, ...]:
    """Split real texts: half to fit critics (train), half to compare with (test).

    A hash of each text decides, so that a text's half hardly depends on the others.

    Raises InputError: there are fewer than two.
    """
    if len(documents) < 2:
        raise InputError(
            f"got {len(documents)} real text, two are needed: "
            "one to learn from, one to compare with"
        )
    digests = []
    for document in documents:
        digest = hashlib.blake2b(document.text.encode(), digest_size=8).hexdigest()
        digests.append(digest + document.id)
    first_half = set(sorted(digests)[: len(documents) // 2])
    halved = []
    for document, digest in zip(documents, digests, strict=True):
        halved.append(replace(document, split="train" if digest in first_half else "test"))
    return tuple(halved)
