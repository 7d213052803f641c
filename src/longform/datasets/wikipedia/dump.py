r"""Wikimedia's files: a dump as pages, and page views.

A dump is cut at its bz2 streams into shards, these into the XML of pages, and of these deng2022
(section 4) excludes some. A shard owns the pages whose ``<page>`` begins in its range of streams,
and reads on to finish the last one, so streams that cut pages (pbzip2) lose none. Every page has
one outcome; nothing is skipped in silence.
"""

import bz2
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

from longform.datasets.wikipedia.marks import Holes
from longform.datasets.wikipedia.tags import without_extension_tags
from longform.errors import BadInput, InputError
from longform.files.opening import byte_lines, field_of, json_file

# twice MediaWiki's own limit of 2 MiB of wikitext ($wgMaxArticleSize), for XML escapes
MAX_PAGE_BYTES = 4 * 2**20
READ = 1 << 18  # bytes of bz2 per read

# a block, or an empty stream
_MAGIC = re.compile(rb"BZh[1-9](?:\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)")
_MAGIC_BYTES = 10
_OPEN, _CLOSE = b"<page>", b"</page>"
_REDIRECT = re.compile(r"\s*#\s*redirect\s*:?\s*\[\[", re.IGNORECASE)
_YEAR = re.compile(r"(?:AD )?\d{1,4}(?: (?:BC|BCE|AD|CE))?")
_DISAMBIGUATION = re.compile(
    r"\{\{\s*(?:template:)?(?:[\w -]{0,40}\bdisambig(?:uation)?(?: page| cleanup)?|hndis|geodis|dab"
    r"|disamb|hospitaldis|schooldis|mathdab|numberdis|roaddis|shipdis|letter-numbercombdisambig)"
    r"\s*(?:\||\}\})",
    re.IGNORECASE,
)
_MONTH = re.compile(r"pageviews-(\d{4})(\d\d)(?:-user)?(\.bz2|\.gz|\.json)?")


@dataclass(frozen=True)
class Shard:
    """Consecutive bz2 streams of a dump.

    Attributes:
        number: of the shard in the plan.
        streams: byte offsets of their starts.
        stop: the byte offset after the last.
    """

    number: int
    streams: tuple[int, ...]
    stop: int


def plan(dump: Path, shard_bytes: int) -> list[Shard]:
    """Shards of at least ``shard_bytes`` compressed bytes each; the arguments alone decide.

    Raises BadInput: no such file, or no bz2 stream in it.
    """
    if not dump.is_file():
        raise BadInput(
            f"{dump}: no such file; docs/data_cards/wikipedia.md says where dumps are published"
        )
    starts = _stream_starts(dump)  # offset in bytes of each bz2 stream
    size = dump.stat().st_size
    if not starts:
        raise BadInput(
            f"{dump}: no bz2 stream found in {size} bytes; fetch it again and check its SHA-256"
        )
    # streams join a shard until it is large enough, or the file ends
    shards: list[Shard] = []
    first = 0
    for last, (_, end) in enumerate(pairwise([*starts, size])):
        if end - starts[first] >= shard_bytes or end == size:
            shards.append(Shard(len(shards), tuple(starts[first : last + 1]), end))
            first = last + 1
    return shards


def _stream_starts(dump: Path) -> list[int]:
    """Byte offsets at which a bz2 stream seems to start."""
    starts = set[int]()
    data_start = 0
    tail = b""  # of the last chunk, since a mark may lie across two
    with dump.open("rb") as file:
        while chunk := file.read(1 << 24):
            data = tail + chunk
            for match in _MAGIC.finditer(data):
                starts.add(data_start + match.start())
            tail = data[1 - _MAGIC_BYTES :]
            data_start += len(data) - len(tail)
    return sorted(starts)


class PageScanner:
    """Cuts decompressed XML into pages.

    Its buffer is bounded, however long a page or a gap between pages is.
    """

    def __init__(self, max_page_bytes: int) -> None:
        self.limit = max_page_bytes
        self.buffer = bytearray()
        self.skipping = False  # whether the rest of a page beyond the limit is passed over

    def feed(self, piece: bytes) -> Iterator[bytes | str]:
        """Take a piece; yields each page that it ends, and ``page too large`` for one too large."""
        self.buffer += piece
        while True:
            # 1. Pass over what is left of a page beyond the limit.
            if self.skipping:
                end = self.buffer.find(_CLOSE)
                if end < 0:
                    del self.buffer[: 1 - len(_CLOSE)]  # what cannot begin the tag is forgotten
                    return
                del self.buffer[: end + len(_CLOSE)]
                self.skipping = False
            # 2. Pass over what stands before the next page.
            start = self.buffer.find(_OPEN)
            if start < 0:
                del self.buffer[: 1 - len(_OPEN)]
                return
            # 3. Give the page, or wait for its end.
            end = self.buffer.find(_CLOSE, start)
            if 0 <= end <= start + self.limit:
                yield bytes(self.buffer[start : end + len(_CLOSE)])
                del self.buffer[: end + len(_CLOSE)]
            elif end >= 0 or len(self.buffer) - start > self.limit:
                yield "page too large"
                self.skipping = True
            else:
                del self.buffer[:start]
                return

    @property
    def open(self) -> bool:
        """Whether a page, or the tag that begins one, has begun and not ended."""
        if self.skipping or _OPEN in self.buffer:
            return True
        tail = bytes(self.buffer[1 - len(_OPEN) :])
        return any(tail.endswith(_OPEN[:length]) for length in range(1, len(_OPEN)))

    def flush(self) -> Iterator[str]:
        """Empty the buffer; yields ``page cut off`` if it held an unfinished page."""
        if _OPEN in self.buffer:
            yield "page cut off"
        self.buffer, self.skipping = bytearray(), False


def raw_pages(
    dump: Path, shard: Shard, max_page_bytes: int = MAX_PAGE_BYTES
) -> Iterator[bytes | str]:
    """The XML of each page that begins in the shard, in file order.

    Args:
        dump: the file.
        shard: a part of its plan.
        max_page_bytes: of XML; a larger page is not given.

    Returns: a page, or the reason why it cannot be given.
    """
    scanner = PageScanner(max_page_bytes)
    with dump.open("rb") as file:
        # 1. The shard's own streams.
        for start, stop in pairwise([*shard.streams, shard.stop]):
            for piece in decoded(file, start, stop):
                if isinstance(piece, str):
                    yield piece
                    yield from scanner.flush()
                else:
                    yield from scanner.feed(piece)
        # 2. The page that the last stream left open; one that begins later is the next shard's.
        if scanner.open:
            size = os.fstat(file.fileno()).st_size
            for piece in decoded(file, shard.stop, size):
                if isinstance(piece, str):
                    break
                page = next(scanner.feed(piece), None)
                if page:
                    yield page
                if page or not scanner.open:
                    return
        yield from scanner.flush()


def decoded(file: BinaryIO, start: int, stop: int) -> Iterator[bytes | str]:
    """Decompressed pieces, of at most 1 MiB, of the streams between two byte offsets.

    A broken stream ends with its reason.

    Args:
        file: of streams of bzip2, one behind another.
        start, stop: the offsets, at which streams begin and end.
    """
    file.seek(start)
    left, data = stop - start, b""
    decoder = bz2.BZ2Decompressor()
    complete = True  # no stream is open
    while left or data:
        # 1. Read on where all is decompressed.
        if not data:
            data = file.read(min(READ, left))
            left -= len(data)
            if not data:
                break
        # 2. Decompress it, to the end of a stream at most.
        try:
            yield decoder.decompress(data, max_length=1 << 20)
            while not decoder.eof and not decoder.needs_input:
                yield decoder.decompress(b"", max_length=1 << 20)
        except OSError:
            yield "stream: corrupt bz2"
            return
        data = decoder.unused_data
        complete = decoder.eof
        if complete:
            decoder = bz2.BZ2Decompressor()
    if not complete:
        yield "stream: truncated bz2"


@dataclass(frozen=True)
class Page:
    """One page of the dump, with the wikitext of its last revision."""

    id: str
    title: str
    text: str


def parse_page(xml: bytes) -> Page | str:
    """An article, or the reason why it is none (deng2022 section 4) or cannot be read."""
    try:
        element = ElementTree.fromstring(xml.decode("utf-8"))
    except UnicodeDecodeError:
        return "invalid UTF-8"
    except ElementTree.ParseError:
        return "malformed XML"
    # what deng2022 excludes, and what is no text
    model, text = element.findtext("revision/model"), element.findtext("revision/text")
    title = element.findtext("title") or ""
    if element.findtext("ns", "0") != "0":
        return "other namespace"
    if element.find("redirect") is not None or _REDIRECT.match(text or ""):
        return "redirect"
    if model not in (None, "wikitext"):
        return "no wikitext"
    if not text or not text.strip():
        return "no text"
    if _YEAR.fullmatch(title):
        return "year"
    if title.lower().endswith("(disambiguation)") or _says_disambiguation(text):
        return "disambiguation"
    return Page(element.findtext("id") or title, title, text)


def _says_disambiguation(text: str) -> bool:
    """Whether a template, outside of comments and ``nowiki``, marks a disambiguation page."""
    if _DISAMBIGUATION.search(text) is None:
        return False
    return _DISAMBIGUATION.search(without_extension_tags(text, Holes())) is not None


@dataclass(frozen=True)
class RankedPage:
    """A page with its views in a year.

    Attributes:
        id: where Wikimedia gave one, else empty.
        titles: with underscores.
        views: of all its titles.
    """

    id: str
    titles: tuple[str, ...]
    views: int


def most_viewed(folder: Path, year: int, least: int) -> tuple[list[RankedPage], Counter[str]]:
    """Pages of the English Wikipedia, the most visited of a year first.

    Args:
        folder: one file a month, see :func:`.building.most_visited`.
        year: which files are read.
        least: views; a line of fewer is not counted.

    Returns: the pages, and the number of lines by outcome.
    Raises BadInput: a month is missing or there twice. InputError: a file of another form.
    """
    # 1. Views of each title in all months.
    by_title, ids, counts = Counter[str](), dict[str, str](), Counter[str]()
    for path in _months(folder, year):
        if path.suffix == ".json":
            _count_top(path, by_title, counts)
        else:
            _count_lines(path, least, by_title, ids, counts)
    # 2. Titles of one id are one page; a blank keeps a title that looks like an id from being one.
    views, titles = Counter[str](), dict[str, list[str]]()
    for title, count in by_title.items():
        key = ids.get(title, f" {title}")
        views[key] += count
        titles.setdefault(key, []).append(title)
    # 3. Ranked pages.
    pages = []
    for key in sorted(views, key=lambda key: (-views[key], key)):
        page_id = "" if key[0] == " " else key
        pages.append(RankedPage(page_id, tuple(sorted(titles[key])), views[key]))
    return pages, counts


def _months(folder: Path, year: int) -> list[Path]:
    """The files of a year's page views. Raises BadInput: a month is missing or there twice."""
    months = []
    paths = []
    for path in sorted(folder.glob("pageviews-*")):
        match = _MONTH.fullmatch(path.name)
        if match is not None and int(match[1]) == year:
            months.append(int(match[2]))
            paths.append(path)
    if sorted(months) != list(range(1, 13)):
        raise BadInput(
            f"{folder}: months of {year}: {[path.name for path in paths]}; "
            f"needed is one file for each, pageviews-{year}01-user.bz2 ..."
        )
    return paths


def _count_lines(
    path: Path, least: int, views: Counter[str], ids: dict[str, str], counts: Counter[str]
) -> None:
    """Count the views in a file of Wikimedia's page views, line by line.

    They hold wiki, title, id or null, access, views, views by day; old files leave the id out.

    Args:
        path: the file.
        least: views; a line of fewer is not counted.
        views: by title; added to.
        ids: of pages, by title; added to.
        counts: of lines by what became of them; added to.

    Raises:
        InputError: no line is of the English Wikipedia.
    """
    has_english = False
    for _, line in byte_lines(path):
        if not line.startswith(b"en.wikipedia "):
            continue
        has_english = True
        # what cannot be a number of views is counted apart
        fields = line.split()
        digits = fields[-2] if len(fields) in (5, 6) else b""
        if not digits.isdigit() or len(digits) > 18:
            counts["malformed lines"] += 1
        elif int(digits) < least:
            counts["lines of few views"] += 1
        else:
            counts["lines"] += 1
            title = fields[1].decode("utf-8", "replace")
            views[title] += int(digits)
            if len(fields) == 6 and fields[2].isdigit():
                ids[title] = fields[2].decode()
    if not has_english:
        raise InputError(f"{path}: no line of page views of the English Wikipedia; fetch it again")


def _count_top(path: Path, views: Counter[str], counts: Counter[str]) -> None:
    """Count the views in an answer of Wikimedia's REST call ``pageviews/top``."""
    for item in field_of(json_file(path), "items", list, str(path)):
        for number, row in enumerate(field_of(item, "articles", list, f"{path}, item"), 1):
            where = f"{path}, article {number}"
            counts["lines"] += 1
            views[field_of(row, "article", str, where)] += field_of(row, "views", int, where)
