"""The one way into files of text that other people wrote: unpack, decode, cut into lines, parse.

Every reader opens its files here, so that all of them agree on what a text file is:

- packed by gzip, bzip2 or xz, told by its first bytes, whatever its name says; Zstandard and zip
  are refused;
- UTF-8, or what a byte-order mark says (UTF-8, UTF-16, UTF-32); anything else is refused with the
  byte at which it fails;
- without NUL, which no text holds: a padded or binary file is refused;
- in lines that end at ``\\n`` or ``\\r\\n`` alone. A lone ``\\r``, U+0085, U+2028 and their kin are
  characters of a line.

Nothing here catches an error of ours: what is translated into a sentence is named by a parser, a
format or the operating system.
"""

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

from longform.errors import InputError, counted, short_repr

HEAD = 16  # bytes that tell packing and encoding
PACKED: Mapping[re.Pattern[bytes], Callable[[BinaryIO], Any]] = {
    re.compile(rb"\x1f\x8b"): lambda file: gzip.GzipFile(fileobj=file),
    re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"): bz2.BZ2File,
    re.compile(rb"\xfd7zXZ\x00"): lzma.LZMAFile,
}
REFUSED = {b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip"}
MARKS = {  # the longer first: the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
PACKINGS = ("", ".gz", ".bz2", ".xz")  # what names of packed files end in
JSON_LINES = tuple(f".jsonl{packing}" for packing in PACKINGS)
# What the unpackers raise on damaged files.
UNPACKING = (EOFError, OSError, zlib.error, lzma.LZMAError)
LARGEST = 1e300  # of numbers that are read
KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


class DamagedFile(InputError):
    """A packed file that is cut off or corrupt, or one that cannot be read to its end."""


def existing_file(path: Path) -> Path:
    """The path itself, after a check.

    Raises:
        InputError: nothing is there, or a folder, or what is no plain file.
    """
    if path.is_dir():
        raise InputError(f"{path}: a folder stands where a file is needed; name the file in it")
    if not path.exists():
        raise InputError(f"{path}: No such file; fix the path, or put the file there")
    if not path.is_file():
        raise InputError(f"{path}: no plain file (a device or a pipe); write it into a file first")
    return path


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file whose bytes are unpacked as they are read.

    Raises:
        InputError: absent, unreadable, or packed in a way that is not read.
    """
    try:
        file = existing_file(path).open("rb")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); fix its permissions"
        ) from error
    with file:
        head = file.read(HEAD)
        file.seek(0)
        for magic, format_name in REFUSED.items():
            if head.startswith(magic):
                raise InputError(
                    f"{path}: packed with {format_name}, which is not read here; unpack it first"
                )
        unpacker = _unpacker(head)
        if unpacker is None:
            yield file
        else:
            with unpacker(file) as unpacked:
                yield unpacked


def _unpacker(head: bytes) -> Callable[[BinaryIO], Any] | None:
    """The unpacker for a file's first bytes; None where it is not packed."""
    for magic, unpacker in PACKED.items():
        if magic.match(head):
            return unpacker
    return None


def _damaged(path: Path, error: Exception) -> DamagedFile:
    return DamagedFile(f"{path}: cut off or damaged ({error}); fetch it again")


def read_bytes(path: Path) -> bytes:
    """All bytes of a file, unpacked."""
    with opened(path) as file:
        try:
            return file.read()
        except UNPACKING as error:
            raise _damaged(path, error) from error


def decode(content: bytes, where: str) -> str:
    """Text from the bytes of a file, by their byte-order mark, else from UTF-8.

    Args:
        content: all bytes of the file, unpacked.
        where: its name, with which errors begin.

    Raises:
        InputError: the bytes are no text in that encoding, or hold NUL; it names line and byte.
    """
    mark = _byte_order_mark(content)
    encoding = MARKS.get(mark, "utf-8")
    body = content[len(mark) :]
    text, problem, position = _decoded(body, encoding)
    if problem:
        line = body[:position].decode(encoding).count("\n") + 1
        raise InputError(
            f"{where}:{line}: {problem} at byte {len(mark) + position}; save it as UTF-8"
        )
    return text


def decode_line(line: bytes, where: str, offset: int = 0) -> str:
    """Text from one line in UTF-8.

    Args:
        line: its bytes.
        where: file and line, with which errors begin.
        offset: of its first byte in the file.

    Raises:
        InputError: as :func:`decode`.
    """
    text, problem, position = _decoded(line, "utf-8")
    if problem:
        raise InputError(f"{where}: {problem} at byte {offset + position}; save it as UTF-8")
    return text


def _byte_order_mark(head: bytes) -> bytes:
    """The byte-order mark with which a file begins; empty where it has none."""
    for mark in MARKS:
        if head.startswith(mark):
            return mark
    return b""


def _decoded(content: bytes, encoding: str) -> tuple[str, str, int]:
    """Decode bytes: (text, "", 0), or ("", what is wrong, the byte at which it is wrong)."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        return "", f"not {encoding.upper()} ({error.reason})", error.start
    before, nul, _ = text.partition("\0")
    if nul:
        position = len(before.encode(encoding))
        return "", f"NUL, which no text in {encoding.upper()} holds,", position
    return text, "", 0


def read_text(path: Path) -> str:
    r"""The whole text of a file; ``\r\n`` becomes ``\n``, all else stays."""
    return decode(read_bytes(path), str(path)).replace("\r\n", "\n")


def byte_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of every line of a file, in UTF-8, not checked.

    Byte-order mark and line ends are left out. The offset counts bytes of the unpacked file; of
    UTF-16 and UTF-32 it counts bytes of the same text in UTF-8.
    """
    with opened(path) as file:
        try:
            offset, lines = _lines_after_mark(file, path)
            for line in lines:
                yield offset, line.removesuffix(b"\n").removesuffix(b"\r")
                offset += len(line)
        except UNPACKING as error:
            raise _damaged(path, error) from error


def _lines_after_mark(file: BinaryIO, path: Path) -> tuple[int, Iterable[bytes]]:
    """Where the first line begins, and the lines in UTF-8, each with its line end."""
    head = file.read(HEAD)
    mark = _byte_order_mark(head)
    if mark and mark != codecs.BOM_UTF8:
        text = decode(head + file.read(), str(path))
        return 0, io.BytesIO(text.encode("utf-8"))
    if not head:
        return 0, ()
    # The head may hold several lines, of which the last goes on in the file.
    first_lines = io.BytesIO(head[len(mark) :] + file.readline())
    return len(mark), chain(first_lines, file)


def text_lines(path: Path) -> Iterator[str]:
    """Every line of a text file, without its line end, one in memory at a time."""
    for number, (offset, line) in enumerate(byte_lines(path), 1):
        yield decode_line(line, f"{path}:{number}", offset)


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text.

    Args:
        text: JSON.
        where: with which errors begin.

    Raises:
        InputError: no JSON, or an object that has one key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=partial(_object_of, where))
    except InputError:
        raise
    # JSONDecodeError, a number of too many digits, nested too deep.
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"{where}: not JSON ({reason}); fix it") from error


def _object_of(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of its keys and values; ``json`` would take the last of a repeated key."""
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"{where}: an object has the key {repeated!r} twice; keep one of them")
    return content


def json_file(path: Path) -> Any:
    """The value of one JSON file that somebody else wrote."""
    return parse_json(read_text(path), str(path))


def json_lines_in(folder: Path) -> list[Path]:
    """Files of JSON lines in a folder, packed or not, by name."""
    files = []
    for path in folder.glob("*.jsonl*"):
        if path.name.endswith(JSON_LINES) and path.is_file():
            files.append(path)
    return sorted(files)


def records(path: Path, needed: Iterable[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ``file:line`` and the object of every line of a file of JSON lines.

    Args:
        path: the file.
        needed: fields that every object must have.

    Raises:
        InputError: a line that is no JSON object, or one without a needed field.
    """
    needed = set(needed)
    for number, line in enumerate(text_lines(path), 1):
        where = f"{path}:{number}"
        # Files that were joined keep their byte-order marks.
        record = parse_json(line.removeprefix("\ufeff"), where)
        if not isinstance(record, dict):
            raise InputError(
                f"{where}: got {short_repr(record)}, allowed is a JSON object; fix or drop the line"
            )
        missing = sorted(needed - record.keys())
        if missing:
            raise InputError(f"{where}: lacks {missing}, got {sorted(record)}; add what is missing")
        yield where, record


def numbered_rows(
    path: Path, needed: Iterable[str], delimiter: str = ",", quoted: bool = True
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield ``file:line`` and fields by column of every row of a table with a header.

    Blank lines are passed over.

    Args:
        path: the file.
        needed: columns that it must have.
        delimiter: between fields.
        quoted: whether fields may stand in double quotes, with line ends inside; without, a quote
            is a character.

    Raises:
        InputError: a column is missing or comes twice, a row has another number of fields, or a
            quote is not closed.
    """
    header: list[str] | None = None
    split_rows = _quoted_rows if quoted else _plain_rows
    for number, fields in split_rows(path, delimiter):
        where = f"{path}:{number}"
        if header is None:
            header = [name.strip() for name in fields]
            _check_header(path, header, list(needed))
        elif len(fields) != len(header):
            raise InputError(
                f"{where}: {counted(len(fields), 'field')}, the header has {len(header)}; "
                "fix the row"
            )
        else:
            yield where, dict(zip(header, fields, strict=True))
    if header is None:
        columns = f"with {list(needed)}" if needed else "and a row for each record"
        raise InputError(f"{path}: no line in it; needed is a header {columns}")


def rows(
    path: Path, needed: Iterable[str], delimiter: str = ",", quoted: bool = True
) -> list[dict[str, str]]:
    """The rows of :func:`numbered_rows`, without file and line."""
    return [row for _, row in numbered_rows(path, needed, delimiter, quoted)]


def columns_of(header: str, delimiter: str) -> list[str]:
    """The columns of a table whose first line is ``header``; none where it cannot be read."""
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    except csv.Error:
        return []


def _check_header(path: Path, header: list[str], needed: list[str]) -> None:
    missing = [name for name in needed if name not in header]
    if missing:
        raise InputError(f"{path}: header {header} lacks {missing}; needed are {needed}")
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        raise InputError(f"{path}: the header has {repeated} twice; rename one of them")


def _plain_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text_lines(path), 1):
        if line.strip():
            yield number, line.split(delimiter)


def _quoted_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the first line, and fields, of every row."""
    csv.field_size_limit(sys.maxsize)  # a field may be a book
    lines = read_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    number = 1
    try:
        for fields in reader:
            if "".join(fields).strip():
                yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}:{number}: no row of a table ({error}); fix its quotes") from error


def xml_root(path: Path) -> ElementTree.Element:
    """The root of an XML file, which names its encoding itself.

    Raises:
        InputError: no XML.
    """
    content = read_bytes(path)
    try:
        return ElementTree.fromstring(content)
    # The latter two of an encoding that the file declares.
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{path}: not XML ({error}); fetch it again") from error


def typed(value: Any, kind: type, where: str) -> Any:
    """The value, if it is of a kind of JSON.

    Args:
        value: as ``json`` gives it.
        kind: one of ``KINDS``; ``float`` takes whole numbers too.
        where: with which errors begin.

    Raises:
        InputError: the value is of another kind, or a number that is not finite.
    """
    if isinstance(value, bool):
        fits = kind is bool  # Python counts it among the whole numbers
    elif kind is float:
        fits = isinstance(value, int | float) and -LARGEST < value < LARGEST
    else:
        fits = isinstance(value, kind)
    if not fits:
        raise InputError(
            f"{where}: got {short_repr(value)}, allowed is {KINDS[kind]}; fix the file"
        )
    return value


def field_of(record: Any, name: str, kind: type, where: str) -> Any:
    """A field of a JSON object.

    Raises:
        InputError: no object, no such field, or one of another kind.
    """
    if name not in typed(record, dict, where):
        raise InputError(f"{where}: got fields {sorted(record)}, {name!r} is missing; add it")
    return typed(record[name], kind, f"{where}, {name}")


def texts(value: Any, where: str) -> list[str]:
    """A list of texts.

    Raises:
        InputError: no list, or something else in it.
    """
    items = typed(value, list, where)
    for number, item in enumerate(items, 1):
        typed(item, str, f"{where}, number {number}")
    return list(items)


def whole_number(text: str, where: str) -> int:
    """A number of at most 18 decimal digits.

    Raises:
        InputError: anything else.
    """
    if not (text.isascii() and text.strip().isdecimal() and len(text) < 19):
        raise InputError(
            f"{where}: got {short_repr(text)}, allowed is a whole number; fix the file"
        )
    return int(text)
