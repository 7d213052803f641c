"""Reading a person's own texts: a JSONL file, or a folder of plain text and Markdown; what cannot be read is set aside."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from longform.errors import InputError
from longform.files.opening import JSON_LINES, byte_lines, decode_line, parse_json, read_text
from longform.text.markdown import sections_in
from longform.text.paragraphs import one_blank_line

MARKDOWN = (".md", ".markdown")
SUFFIXES = (".txt", *MARKDOWN)
LONGEST = 1000  # ours: characters of a path; a longer string is a text
_UNSHOWN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Unicode's own ends of lines and paragraphs, marks that no reader sees, and letters that a typesetter joined
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


@dataclass(frozen=True)
class Texts:
    """One side's documents, with ids of their own, and (place, why) of every record that is not among them."""

    documents: tuple[Document, ...]
    set_aside: tuple[tuple[str, str], ...] = ()


def read_texts(given: Path | str | Sequence[str]) -> Texts:
    """Documents of a ``.jsonl`` file, a folder's ``.txt`` and ``.md`` files, another source, or a list of texts, in their order.

    Other sources: a column of a table, standard input, a hub (:mod:`longform.datasets.text_sources`).

    A line is a JSON object with ``text`` or ``sections``, a list of ``{"title", "text"}``, which may have ``sections`` of
    their own; and perhaps ``id`` and ``title``. Raises InputError: no such place, another kind of file, or no text in it.
    """
    records: Iterable[
        tuple[str, Document | str]
    ]  # what stands at each place: a document, or why there is none
    if isinstance(given, Path | str):
        records = _records_of(str(given))
    elif isinstance(given, Iterable) and not isinstance(given, Mapping):
        named = ((f"text-{number}", text) for number, text in enumerate(given, 1))
        kinds = ((name, text, f"{type(text).__name__}, not a text") for name, text in named)
        records = (
            (n, _document(n, [(None, t)]) if isinstance(t, str) else wrong) for n, t, wrong in kinds
        )
    else:
        raise InputError(
            f"texts: got {type(given).__name__}; give a .jsonl file, a folder, or a list of texts"
        )
    documents: dict[str, Document] = {}
    aside, bare = [], 0
    for place, found in records:
        if isinstance(found, Document) and not _has_word(found):
            found = "no word in it"
        elif isinstance(found, Document) and found.id in documents:
            found = f"the id {found.id!r} was met before"
        if isinstance(found, str):
            aside.append((_clean(place), found))
        else:
            kept = tuple(section for section in found.sections if section.text)
            bare += len(found.sections) - len(kept)
            documents[found.id] = replace(found, sections=kept)
    if bare:
        aside.append(("sections", f"{bare} without text"))
    if not documents:
        told = "; ".join(f"{place}: {why}" for place, why in aside[:3]) or "it is empty"
        where = given if isinstance(given, Path | str) else "texts"
        raise InputError(f"{where}: no text to read ({told}); give at least one text")
    return Texts(tuple(documents.values()), tuple(aside))


def _records_of(given: str) -> Iterable[tuple[str, Document | str]]:
    """What stands at each place of a file, a folder or another source (:mod:`longform.datasets.text_sources`)."""
    if "\n" in given or len(given) > LONGEST:
        raise InputError(
            f"texts: got one text, {shortened(given)!r}; give a list of texts, a file or a folder"
        )
    if given == STANDARD_INPUT:
        return _lines(standard_input(), "standard input")
    path, column = split_column(from_hub(given) or given)
    if path.is_dir():
        return _files(path)
    if path.name.endswith(JSON_LINES) and path.is_file():
        return _lines(byte_lines(path), path.name, path)
    if is_table(path) and path.is_file():
        return _rows(path, column)
    kinds = "a folder of .txt and .md files, or a .jsonl, .csv, .tsv or .parquet file"
    what = f"not {kinds}" if path.exists() else "no such file or folder"
    raise InputError(f"{path}: {what}; give {kinds}")


def _rows(path: Path, column: str | None) -> Iterator[tuple[str, Document | str]]:
    """What stands in each row of a table's column."""
    for number, (place, record) in enumerate(table_rows(path, column), 1):
        yield place, _record(record, number)


def documents_from(texts: Any, who: str) -> list[Document]:
    """Documents from whatever a person has: texts, documents or records in any iterable, or a Path.

    Plain texts are named by their place, ``text-1`` and on; empty ones stay, so that places agree.

    Args:
        texts: texts (str), documents, records with ``text`` or ``sections`` as in a ``.jsonl`` file (a
            Hugging Face data set gives such records), or a Path as for :func:`read_texts`.
        who: asks for them, for the message.

    Raises:
        InputError: a single text, something else than texts, none at all, or none with a word in it.
    """
    if isinstance(texts, str):
        raise InputError(
            f"{who}: got one text, {shortened(texts)!r}; give a list of texts, or a Path of a file or folder"
        )
    if isinstance(texts, Path):
        return list(read_texts(texts).documents)
    if isinstance(texts, Mapping | Document) or not isinstance(texts, Iterable):
        raise InputError(
            f"{who}: got {type(texts).__name__}; give a list of texts or documents, or a Path"
        )
    documents = [_document_from(item, number, who) for number, item in enumerate(texts, 1)]
    if not documents:
        raise InputError(f"{who}: got no texts; give at least one")
    if not any(_has_word(document) for document in documents):
        raise InputError(f"{who}: {len(documents)} texts without a word in any; give texts")
    return documents


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


def _files(folder: Path) -> Iterator[tuple[str, Document | str]]:
    hidden = 0
    for path in sorted(p for p in folder.rglob("*") if not p.is_dir()):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in Path(name).parts):
            hidden += 1
        elif not path.is_file():
            yield name, "no file (a link to nothing, or a device)"
        elif path.suffix.lower() not in SUFFIXES:
            yield name, f"none of {', '.join(SUFFIXES)}"
        else:
            try:
                text = read_text(path)
            except InputError as error:
                yield name, _reason(error, path)
            else:
                sections = sections_in(text) if path.suffix.lower() in MARKDOWN else [(None, text)]
                yield name, _document(name, sections)
    if hidden:
        yield f"{hidden} hidden files", "a name begins with a dot"


def _reason(error: InputError, place: object) -> str:
    """What an opener says of a file or line, without the place, which stands beside it."""
    told = str(error).removeprefix(str(place))
    return re.sub(r"^:(\d+): ", r"line \1: ", told).removeprefix(": ")


def _lines(
    lines: Iterable[tuple[int, bytes]], name: str, path: Path | None = None
) -> Iterator[tuple[str, Document | str]]:
    """What stands on each line of a file; of one that is cut off, its lines up to there."""
    try:
        for number, (offset, raw) in enumerate(lines, 1):
            if not raw.strip():
                continue
            place = f"line {number}"
            try:
                record = parse_json(decode_line(raw, place, offset).removeprefix("\ufeff"), place)
            except InputError as error:
                yield place, _reason(error, place)
            else:
                yield place, _record(record, number)
    except InputError as error:
        yield name, _reason(error, path or name)


def _record(record: Any, number: int) -> Document | str:
    """The document of a line, or what is wrong with it."""
    if not isinstance(record, dict):
        return f"{type(record).__name__}, not an object"
    name, text, title = (record.get(key) for key in ("id", "text", "title"))
    name = f"line-{number}" if name in (None, "") else name
    if not isinstance(name, str | int) or isinstance(name, bool):
        return f"id is {shortened(repr(name))}, allowed is a string or a whole number"
    for key, value in (("text", text), ("title", title)):
        if not isinstance(value, str | None):
            return f"{key} is {shortened(repr(value))}, allowed is a string"
    if unread := _fields_with_texts(record):
        return (
            f"{', '.join(unread)} is not read although it holds texts; name it sections, or drop it"
        )
    if record.get("sections") is None:
        return (
            "neither 'text' nor 'sections'"
            if text is None
            else _document(str(name), [(title, text)])
        )
    try:
        sections = sections_of(record["sections"], "sections")
    except InputError as error:
        return str(error)
    pairs = [(section.title, section.text) for section in sections]
    lead = _text_beside(text or "", sections)
    if lead is None:
        return "text holds the sections and more, or a part of them; give one of the two"
    return _document(str(name), [(None, lead), *pairs] if lead else pairs)


def _fields_with_texts(record: Mapping[str, Any]) -> list[str]:
    """Fields beside ``sections`` that hold parts of the document: lists or objects in which something has a text.

    A list that repeats what the text and the sections say, such as their sentences, is no part that would be lost.
    """
    known = ("id", "text", "title", "sections")
    read = " ".join(_words_in([record.get("text"), record.get("sections")]))
    return sorted(
        name
        for name, value in record.items()
        if name not in known and _holds_texts({name: value}, read)
    )


def _holds_texts(value: dict[str, Any], read: str) -> bool:
    """Whether an object, however deep, has a ``text`` of two words or more, or a part of the document that was not ``read``."""
    waiting: list[Any] = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            text = inner.get("text")
            if isinstance(text, str) and len(text.split()) > 1:
                return True
            for name, part in inner.items():
                if name in _PARTS and _is_lost(part, read):
                    return True
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)
    return False


def _is_lost(part: Any, read: str) -> bool:
    """Whether two words or more of a part of a document stand nowhere in what was read."""
    return any(" " in words and words not in read for words in _words_in(part))


def _words_in(value: Any) -> Iterator[str]:
    """Every text below a value, in order, with one blank between words."""
    if isinstance(value, str):
        yield " ".join(value.split())
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _words_in(inner)


def _text_beside(text: str, sections: Sequence[Section]) -> str | None:
    """A record's own text where it comes before its sections, nothing where it is theirs; None where it is partly theirs."""
    own = " ".join(text.split())
    parts = [" ".join(section.text.split()) for section in sections if section.text.strip()]
    if own == " ".join(parts):
        return ""
    return None if own and any(part in own or own in part for part in parts) else text


def _document(name: str, sections: Iterable[tuple[str | None, str]]) -> Document:
    cleaned = [(_clean(title or "").casefold() or None, _clean(text)) for title, text in sections]
    kept = tuple(Section(title, text) for title, text in cleaned if title or text)
    return Document(_clean(name), "test", kept or (Section(None, ""),))


def shortened(text: str, limit: int = 60) -> str:
    """One line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _clean(text: str) -> str:
    """Unix line ends, one form of each letter (NFC), nothing that is not seen, one blank line between paragraphs, no blanks around."""
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair becomes a question mark
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_AS_SEEN)
    return one_blank_line(unicodedata.normalize("NFC", _UNSHOWN.sub(" ", text)))


def halves(documents: tuple[Document, ...]) -> tuple[Document, ...]:
    """Real texts, half for fitting (train) and half to be compared with (test), by a hash of their text. Raises InputError: below two."""
    if len(documents) < 2:
        raise InputError(
            f"got {len(documents)} real text, two are needed: one to learn from, one to compare with"
        )
    digests = [
        hashlib.blake2b(d.text.encode(), digest_size=8).hexdigest() + d.id for d in documents
    ]
    first = set(sorted(digests)[: len(documents) // 2])
    splits = ("train" if digest in first else "test" for digest in digests)
    return tuple(replace(d, split=split) for d, split in zip(documents, splits, strict=True))
