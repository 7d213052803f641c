"""Reading a person's own texts: a JSONL file, or a folder of plain text and Markdown; what cannot be read is set aside."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput, Document, Section
from longform.core.text.paragraphs import one_blank_line

MARKDOWN = (".md", ".markdown")
SUFFIXES = (".txt", *MARKDOWN)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.M)
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
LONGEST = 1000  # ours: characters of a path; a longer string is a text
LEAD = "(lead)"  # title of what stands before the first heading
_UNSHOWN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Texts:
    """One side's documents, with ids of their own, and (place, why) of every record that is not among them."""

    documents: tuple[Document, ...]
    set_aside: tuple[tuple[str, str], ...] = ()


def read_texts(given: Path | str | Sequence[str]) -> Texts:
    """Documents of a ``.jsonl`` file or of a folder's ``.txt`` and ``.md`` files, in the order of lines or names; or of a list of texts.

    A line is a JSON object with ``text`` (or ``sections``, a list of ``{"title", "text"}``), and perhaps ``id`` and
    ``title``. Raises BadInput: no such place, another kind of file, or no text in it.
    """
    records: Iterable[tuple[str, Document | str]]  # what stands at each place: a document, or why there is none
    if isinstance(given, Path | str):
        path = Path(given)
        if "\n" in str(path) or len(str(path)) > LONGEST:
            raise BadInput(f"texts: got one text, {shortened(str(path))!r}; give a list of texts, a file or a folder")
        if path.is_dir():
            records = _files(path)
        elif path.suffix == ".jsonl" and path.is_file():
            lines = enumerate(path.read_bytes().split(b"\n"), 1)
            records = ((f"line {number}", _record(raw, number)) for number, raw in lines if raw.strip())
        else:
            there = path.exists()
            what = "not a folder of .txt and .md files, nor a .jsonl file" if there else "no such file or folder"
            raise BadInput(f"{path}: {what}; give a folder of .txt and .md files, or a .jsonl file")
    elif isinstance(given, Iterable) and not isinstance(given, Mapping):
        named = ((f"text-{number}", text) for number, text in enumerate(given, 1))
        kinds = ((name, text, f"{type(text).__name__}, not a text") for name, text in named)
        records = ((n, _document(n, [(None, t)]) if isinstance(t, str) else wrong) for n, t, wrong in kinds)
    else:
        raise BadInput(f"texts: got {type(given).__name__}; give a .jsonl file, a folder, or a list of texts")
    documents: dict[str, Document] = {}
    aside, bare = [], 0
    for place, found in records:
        if isinstance(found, Document) and not any(character.isalpha() for character in found.text):
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
        raise BadInput(f"{where}: no text to read ({told}); give at least one text")
    return Texts(tuple(documents.values()), tuple(aside))


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
                text = path.read_text(encoding="utf-8-sig")
                yield name, _document(name, _markdown(text) if path.suffix.lower() in MARKDOWN else [(None, text)])
            except UnicodeDecodeError as error:
                yield name, f"not UTF-8 (byte {error.start})"
            except OSError as error:
                yield name, f"cannot be read ({error.strerror})"
    if hidden:
        yield f"{hidden} hidden files", "a name begins with a dot"


def _markdown(text: str) -> list[tuple[str | None, str]]:
    """(title, text) of each heading's section, and of the lead before them; lines of a code block are no headings, and the only
    first-level heading, where it comes first, is the text's own title and begins no section."""
    blocks = [block.span() for block in _FENCED.finditer(text)]
    marks = [m for m in _HEADING.finditer(text) if not any(a <= m.start() < b for a, b in blocks)]
    begin = 0
    tops = [not mark[0].startswith("##") for mark in marks]
    if marks and tops[0] and not any(tops[1:]) and not text[: marks[0].start()].strip():
        begin, marks = marks[0].end(), marks[1:]
    starts = [begin, *(mark.end() for mark in marks)]
    stops = [*(mark.start() for mark in marks), len(text)]
    titles = [LEAD if marks else None, *(mark.group(1).rstrip(" \t#") for mark in marks)]
    pairs = [(title, text[a:b]) for title, a, b in zip(titles, starts, stops, strict=True)]
    return pairs[1:] if marks and not pairs[0][1].strip() else pairs  # a text may begin with a heading


def _record(raw: bytes, number: int) -> Document | str:
    """The document of a line, or what is wrong with it."""
    try:
        record = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return "not UTF-8" if isinstance(error, UnicodeDecodeError) else "not JSON"
    if not isinstance(record, dict):
        return f"{type(record).__name__}, not an object"
    name, sections = record.get("id"), record.get("sections", [record])
    name = f"line-{number}" if name in (None, "") else name
    if not isinstance(name, str | int) or isinstance(name, bool):
        return f"id is {name!r}, allowed is a string or a whole number"
    if not isinstance(sections, list) or not sections:
        return "sections is not a list with something in it"
    pairs: list[Any] = [(s.get("title"), s.get("text")) if isinstance(s, dict) else ("", None) for s in sections]
    if all(isinstance(text, str) and isinstance(title, str | None) for title, text in pairs):
        return _document(str(name), pairs)
    if "sections" in record:
        return "a section is not {'title': text or null, 'text': text}"
    title = record.get("title")
    wrong = f"title is {shortened(repr(title))}, allowed is a string"
    return "neither 'text' nor 'sections'" if isinstance(title, str | None) else wrong


def _document(name: str, sections: Iterable[tuple[str | None, str]]) -> Document:
    cleaned = [(_clean(title or "").casefold() or None, _clean(text)) for title, text in sections]
    kept = tuple(Section(title, text) for title, text in cleaned if title or text)
    return Document(_clean(name), "test", kept or (Section(None, ""),))


def shortened(text: str, limit: int = 60) -> str:
    """One line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _clean(text: str) -> str:
    """Unix line ends, no control characters, one blank line between paragraphs, no blanks around."""
    text = _UNSHOWN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode())
    return one_blank_line(text)


def halves(documents: tuple[Document, ...]) -> tuple[Document, ...]:
    """Real texts, half for fitting (train) and half to be compared with (test), by a hash of their text. Raises BadInput: below two."""
    if len(documents) < 2:
        raise BadInput(f"got {len(documents)} real text, two are needed: one to learn from, one to compare with")
    digests = [hashlib.blake2b(d.text.encode(), digest_size=8).hexdigest() + d.id for d in documents]
    first = set(sorted(digests)[: len(documents) // 2])
    splits = ("train" if digest in first else "test" for digest in digests)
    return tuple(replace(d, split=split) for d, split in zip(documents, splits, strict=True))
