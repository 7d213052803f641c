"""The one way into files of text that other people wrote: unpacked, decoded, cut into lines, parsed.

Every reader opens its files here, so that all of them agree on what a text file is:

- packed by gzip, bzip2 or xz, told by its first bytes, whatever its name says; Zstandard and zip are refused;
- UTF-8, or what a byte-order mark says (UTF-8, UTF-16, UTF-32); anything else is refused with the byte at which it fails;
- without NUL, which no text holds: a padded or binary file is refused;
- in lines that end at ``\\n`` or ``\\r\\n`` alone. A lone ``\\r``, U+0085, U+2028 and their kin are characters of a line.

Nothing here catches an error of ours: what is translated into a sentence is named by a parser, a format or the operating system.
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
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

from longform.errors import InputError, short_repr

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
UNPACKING = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
)  # what the unpackers raise on damaged files
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
    """The path itself. Raises InputError: nothing is there, or a folder, or what is no plain file."""
    if path.is_dir():
        raise InputError(f"{path}: a folder stands where a file is needed; name the file in it")
    if not path.exists():
        raise InputError(f"{path}: No such file; fix the path, or put the file there")
    if not path.is_file():
        raise InputError(f"{path}: no plain file (a device or a pipe); write it into a file first")
    return path


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked while they are read. Raises InputError: absent, unreadable, or packed in another way."""
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
        unpacker = next((unpack for magic, unpack in PACKED.items() if magic.match(head)), None)
        if unpacker is None:
            yield file
        else:
            with unpacker(file) as unpacked:
                yield unpacked


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

    Raises InputError: the bytes are no text in that encoding, or hold NUL; the sentence names line and byte.
    """
    mark = _mark(content)
    encoding = MARKS.get(mark, "utf-8")
    text, wrong, at = _decoded(content[len(mark) :], encoding)
    if wrong:
        before = content[len(mark) : len(mark) + at].decode(encoding)
        told = f"{wrong} at byte {len(mark) + at}"
        raise InputError(f"{where}:{before.count(chr(10)) + 1}: {told}; save it as UTF-8")
    return text


def decode_line(line: bytes, where: str, offset: int = 0) -> str:
    """Text from a line in UTF-8 whose first byte stands at ``offset`` of its file; see :func:`decode`."""
    text, wrong, at = _decoded(line, "utf-8")
    if wrong:
        raise InputError(f"{where}: {wrong} at byte {offset + at}; save it as UTF-8")
    return text


def _mark(head: bytes) -> bytes:
    return next((mark for mark in MARKS if head.startswith(mark)), b"")


def _decoded(content: bytes, encoding: str) -> tuple[str, str, int]:
    """The text; or what is wrong with it, and at which byte."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        return "", f"not {encoding.upper()} ({error.reason})", error.start
    if "\0" in text:
        at = len(text[: text.index("\0")].encode(encoding))
        return "", f"NUL, which no text in {encoding.upper()} holds,", at
    return text, "", 0


def read_text(path: Path) -> str:
    r"""The whole text of a file; ``\r\n`` becomes ``\n``, all else stays."""
    return decode(read_bytes(path), str(path)).replace("\r\n", "\n")


def byte_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of every line of a file, in UTF-8, not checked; without byte-order mark and line ends.

    The offset counts bytes of the unpacked file; of UTF-16 and UTF-32 it counts bytes of the same text in UTF-8.
    """
    with opened(path) as file:
        try:
            head = file.read(HEAD)
            mark = _mark(head)
            if mark and mark != codecs.BOM_UTF8:
                content = decode(head + file.read(), str(path)).encode("utf-8")
                lines: Iterable[bytes] = io.BytesIO(content)
                offset = 0
            else:
                # the head may hold several lines, the last of them begun
                begun = io.BytesIO(head[len(mark) :] + file.readline()) if head else io.BytesIO()
                lines = _chained(begun, file)
                offset = len(mark)
            for line in lines:
                yield offset, line.removesuffix(b"\n").removesuffix(b"\r")
                offset += len(line)
        except UNPACKING as error:
            raise _damaged(path, error) from error


def _chained(first: Iterable[bytes], second: Iterable[bytes]) -> Iterator[bytes]:
    yield from first
    yield from second


def text_lines(path: Path) -> Iterator[str]:
    """Every line of a text file, without its line end, one in memory at a time."""
    for number, (offset, line) in enumerate(byte_lines(path), 1):
        yield decode_line(line, f"{path}:{number}", offset)


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text. Raises InputError: no JSON, or an object that has one key twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{where}: an object has the key {repeated!r} twice; keep one of them")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except InputError:
        raise
    except (
        ValueError,
        RecursionError,
    ) as error:  # JSONDecodeError; a number of too many digits; nested too deep
        raise InputError(
            f"{where}: not JSON ({' '.join(str(error).split())[:160]}); fix it"
        ) from error


def json_file(path: Path) -> Any:
    """The value of one JSON file that somebody else wrote."""
    return parse_json(read_text(path), str(path))


def json_lines_in(folder: Path) -> list[Path]:
    """Files of JSON lines in a folder, packed or not, by name."""
    return sorted(
        path
        for path in folder.glob("*.jsonl*")
        if path.name.endswith(JSON_LINES) and path.is_file()
    )


def records(path: Path, needed: Iterable[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """``file:line`` and the object of every line of a file of JSON lines.

    Raises InputError: a line that is no JSON object, or one without a needed field.
    """
    wanted = set(needed)
    for number, line in enumerate(text_lines(path), 1):
        where = f"{path}:{number}"
        record = parse_json(
            line.removeprefix("\ufeff"), where
        )  # files that were joined keep their marks
        if not isinstance(record, dict):
            raise InputError(
                f"{where}: got {short_repr(record)}, allowed is a JSON object; fix or drop the line"
            )
        if missing := sorted(wanted - record.keys()):
            raise InputError(f"{where}: lacks {missing}, got {sorted(record)}; add what is missing")
        yield where, record


def numbered_rows(
    path: Path, needed: Iterable[str], delimiter: str = ",", quoted: bool = True
) -> Iterator[tuple[str, dict[str, str]]]:
    """``file:line`` and fields by column of every row of a table with a header; blank lines are passed over.

    Args:
        path: the file.
        needed: columns that it must have.
        delimiter: between fields.
        quoted: whether fields may stand in double quotes, with line ends inside; without, a quote is a character.

    Raises:
        InputError: a column is missing or comes twice, a row has another number of fields, or a quote is not closed.
    """
    header: list[str] | None = None
    for number, fields in _quoted_rows(path, delimiter) if quoted else _plain_rows(path, delimiter):
        where = f"{path}:{number}"
        if header is None:
            header = [name.strip() for name in fields]
            _check_header(path, header, list(needed))
        elif len(fields) != len(header):
            raise InputError(
                f"{where}: {len(fields)} fields, the header has {len(header)}; fix the row"
            )
        else:
            yield where, dict(zip(header, fields, strict=True))
    if header is None:
        raise InputError(f"{path}: no line in it; needed is a header with {list(needed)}")


def rows(
    path: Path, needed: Iterable[str], delimiter: str = ",", quoted: bool = True
) -> list[dict[str, str]]:
    """The rows of :func:`numbered_rows`, without their places."""
    return [row for _, row in numbered_rows(path, needed, delimiter, quoted)]


def _check_header(path: Path, header: list[str], needed: list[str]) -> None:
    if missing := [name for name in needed if name not in header]:
        raise InputError(f"{path}: header {header} lacks {missing}; needed are {needed}")
    if repeated := sorted({name for name in header if name and header.count(name) > 1}):
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
    before = 0
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield before + 1, fields
            before = reader.line_num
    except csv.Error as error:
        raise InputError(
            f"{path}:{before + 1}: no row of a table ({error}); fix its quotes"
        ) from error


def xml_root(path: Path) -> ElementTree.Element:
    """The root of an XML file, which names its encoding itself. Raises InputError: no XML."""
    content = read_bytes(path)
    try:
        return ElementTree.fromstring(content)
    except (
        ElementTree.ParseError,
        ValueError,
        LookupError,
    ) as error:  # the latter two of a declared encoding
        raise InputError(f"{path}: not XML ({error}); fetch it again") from error


def typed(value: Any, kind: type, where: str) -> Any:
    """The value, if it is of a kind of JSON. Raises InputError: ``where`` names the place."""
    right = isinstance(value, (int, float) if kind is float else kind)
    right = right and (kind is not float or -LARGEST < value < LARGEST)  # neither NaN nor infinite
    if not right or (isinstance(value, bool) and kind is not bool):
        raise InputError(
            f"{where}: got {short_repr(value)}, allowed is {KINDS[kind]}; fix the file"
        )
    return value


def field_of(record: Any, name: str, kind: type, where: str) -> Any:
    """A field of a JSON object. Raises InputError: no object, no such field, or one of another kind."""
    if name not in typed(record, dict, where):
        raise InputError(f"{where}: got fields {sorted(record)}, {name!r} is missing; add it")
    return typed(record[name], kind, f"{where}, {name}")


def texts(value: Any, where: str) -> list[str]:
    """A list of texts. Raises InputError: no list, or something else in it."""
    return [
        typed(text, str, f"{where}, number {place}")
        for place, text in enumerate(typed(value, list, where), 1)
    ]


def whole_number(text: str, where: str) -> int:
    """A number of decimal digits. Raises InputError: anything else."""
    if not (text.isascii() and text.strip().isdecimal() and len(text) < 19):
        raise InputError(
            f"{where}: got {short_repr(text)}, allowed is a whole number; fix the file"
        )
    return int(text)
