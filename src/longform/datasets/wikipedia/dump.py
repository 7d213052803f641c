r"""Wikimedia's files: a dump as pages (byte ranges of its bz2 streams, raw page XML, the exclusions of deng2022 section 4); page views.

A shard owns the pages whose ``<page>`` begins in its range of streams, and reads on to finish the last one, so streams that cut
pages (pbzip2) lose none. Every page has one outcome; nothing is skipped in silence."""

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

MAX_PAGE_BYTES = (
    4 * 2**20
)  # twice MediaWiki's own limit of 2 MiB of wikitext ($wgMaxArticleSize), for XML escapes
READ = 1 << 18  # bytes of bz2 per read

_MAGIC = re.compile(
    rb"BZh[1-9](?:\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)"
)  # a block, or an empty stream
_OPEN, _CLOSE = b"<page>", b"</page>"
_REDIRECT = re.compile(r"\s*#\s*redirect\s*:?\s*\[\[", re.IGNORECASE)
_YEAR = re.compile(r"(?:AD )?\d{1,4}(?: (?:BC|BCE|AD|CE))?")
_DISAMBIGUATION = re.compile(
    r"\{\{\s*(?:template:)?(?:[\w -]{0,40}\bdisambig(?:uation)?(?: page| cleanup)?|hndis|geodis|dab|disamb|hospitaldis|schooldis|mathdab"
    r"|numberdis|roaddis|shipdis|letter-numbercombdisambig)\s*(?:\||\}\})",
    re.IGNORECASE,
)
_MONTH = re.compile(r"pageviews-(\d{4})(\d\d)(?:-user)?(\.bz2|\.gz|\.json)?")


@dataclass(frozen=True)
class Shard:
    """Consecutive bz2 streams, part ``number`` of the plan: the byte offsets of their starts, and that after the last."""

    number: int
    streams: tuple[int, ...]
    stop: int


def plan(dump: Path, shard_bytes: int) -> list[Shard]:
    """Shards of at least ``shard_bytes`` compressed bytes each; a function of the two arguments alone."""
    if not dump.is_file():
        raise BadInput(
            f"{dump}: no such file; docs/data_cards/wikipedia.md says where dumps are published"
        )
    found, offset, tail = set[int](), 0, b""
    with dump.open("rb") as file:
        while chunk := file.read(1 << 24):
            data = tail + chunk
            found |= {offset - len(tail) + match.start() for match in _MAGIC.finditer(data)}
            offset, tail = offset + len(chunk), data[-9:]
    starts, size = sorted(found), dump.stat().st_size
    if not starts:
        raise BadInput(
            f"{dump}: no bz2 stream found in {size} bytes; fetch it again and check its SHA-256"
        )
    shards: list[Shard] = []
    first = 0
    for last, (_, end) in enumerate(pairwise([*starts, size])):
        if end - starts[first] >= shard_bytes or end == size:
            shards.append(Shard(len(shards), tuple(starts[first : last + 1]), end))
            first = last + 1
    return shards


class PageScanner:
    """Cuts decompressed XML into pages with a bounded buffer, however long a page or a gap between pages is."""

    def __init__(self, max_page_bytes: int) -> None:
        self.limit, self.buffer, self.skipping = max_page_bytes, bytearray(), False

    def feed(self, piece: bytes) -> Iterator[bytes | str]:
        """Pages that are whole now, and ``page too large`` once for each page beyond the limit."""
        self.buffer += piece
        while True:
            if self.skipping:
                end = self.buffer.find(_CLOSE)
                if end < 0:
                    del self.buffer[: 1 - len(_CLOSE)]  # what cannot begin the tag is forgotten
                    return
                del self.buffer[: end + len(_CLOSE)]
                self.skipping = False
            start = self.buffer.find(_OPEN)
            if start < 0:
                del self.buffer[: 1 - len(_OPEN)]
                return
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
        tail = bytes(self.buffer[1 - len(_OPEN) :])
        return (
            self.skipping
            or _OPEN in self.buffer
            or any(tail.endswith(_OPEN[:n]) for n in range(1, len(_OPEN)))
        )

    def flush(self) -> Iterator[str]:
        """Forget a page that will not be finished, and say so."""
        if _OPEN in self.buffer:
            yield "page cut off"
        self.buffer, self.skipping = bytearray(), False


def raw_pages(
    dump: Path, shard: Shard, max_page_bytes: int = MAX_PAGE_BYTES
) -> Iterator[bytes | str]:
    """The XML of each page that begins in the shard, or the reason why it cannot be given, in file order."""
    scanner = PageScanner(max_page_bytes)
    with dump.open("rb") as file:
        for start, stop in pairwise([*shard.streams, shard.stop]):
            for piece in decoded(file, start, stop):
                if isinstance(piece, str):
                    yield piece
                    yield from scanner.flush()
                else:
                    yield from scanner.feed(piece)
        if scanner.open:  # finish the page that the last stream left open; one that begins later is the next shard's
            for piece in decoded(file, shard.stop, os.fstat(file.fileno()).st_size):
                if isinstance(piece, str):
                    break
                if page := next(scanner.feed(piece), None):
                    yield page
                if page or not scanner.open:
                    return
        yield from scanner.flush()


def decoded(file: BinaryIO, start: int, stop: int) -> Iterator[bytes | str]:
    """Decompressed pieces of at most 1 MiB of the streams between two offsets; a broken stream ends with its reason."""
    file.seek(start)
    left, data, decoder, whole = stop - start, b"", bz2.BZ2Decompressor(), True
    while left or data:
        if not data:
            data = file.read(min(READ, left))
            left -= len(data)
            if not data:
                break
        try:
            yield decoder.decompress(data, max_length=1 << 20)
            while not decoder.eof and not decoder.needs_input:
                yield decoder.decompress(b"", max_length=1 << 20)
        except OSError:
            yield "stream: corrupt bz2"
            return
        data = decoder.unused_data
        whole = decoder.eof
        decoder = bz2.BZ2Decompressor() if whole else decoder
    if not whole:
        yield "stream: truncated bz2"


@dataclass(frozen=True)
class Page:
    """One page of the dump, with the wikitext of its last revision."""

    id: str
    title: str
    text: str


def parse_page(xml: bytes) -> Page | str:
    """An article, or the reason for which it is no article (deng2022 section 4) or cannot be read."""
    try:
        element = ElementTree.fromstring(xml.decode("utf-8"))
    except UnicodeDecodeError:
        return "invalid UTF-8"
    except ElementTree.ParseError:
        return "malformed XML"
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
    """Whether a template says it: one that is commented out or shown as it stands does not."""
    return bool(
        _DISAMBIGUATION.search(text)
        and _DISAMBIGUATION.search(without_extension_tags(text, Holes()))
    )


@dataclass(frozen=True)
class RankedPage:
    """Views of one page in a year; its id where Wikimedia gave one (else empty), its titles with underscores."""

    id: str
    titles: tuple[str, ...]
    views: int


def most_viewed(folder: Path, year: int, least: int) -> tuple[list[RankedPage], Counter[str]]:
    """Pages of the English Wikipedia, the most visited of a year first, and counts of the lines that say so."""
    listed = [(_MONTH.fullmatch(path.name), path) for path in sorted(folder.glob("pageviews-*"))]
    months = [(int(match[2]), path) for match, path in listed if match and int(match[1]) == year]
    if sorted(month for month, _ in months) != list(range(1, 13)):
        needed = f"one file for each, pageviews-{year}01-user.bz2 ..."
        raise BadInput(
            f"{folder}: months of {year}: {[path.name for _, path in months]}; needed is {needed}"
        )
    by_title, ids, counts = Counter[str](), dict[str, str](), Counter[str]()
    for _, path in months:
        if path.suffix == ".json":
            _count_top(path, by_title, counts)
        else:
            _count_lines(path, least, by_title, ids, counts)
    views, titles = Counter[str](), dict[str, list[str]]()
    for title, count in by_title.items():
        key = ids.get(
            title, f" {title}"
        )  # titles of one id are one page; a title may look like an id
        views[key] += count
        titles.setdefault(key, []).append(title)
    order = sorted(views, key=lambda key: (-views[key], key))
    return [
        RankedPage("" if key[0] == " " else key, tuple(sorted(titles[key])), views[key])
        for key in order
    ], counts


def _count_lines(
    path: Path, least: int, views: Counter[str], ids: dict[str, str], counts: Counter[str]
) -> None:
    """Lines of Wikimedia's page views are read one by one: wiki, title, id or null, access, views, views by day.

    Old files leave the id out. Raises InputError: no line is of the English Wikipedia.
    """
    found = False
    for _, line in byte_lines(path):
        if not line.startswith(b"en.wikipedia "):
            continue
        found = True
        fields = line.split()
        if len(fields) not in (5, 6) or not 0 < len(fields[-2]) < 19 or not fields[-2].isdigit():
            counts["malformed lines"] += 1
        elif int(fields[-2]) < least:
            counts["lines of few views"] += 1
        else:
            counts["lines"] += 1
            title = fields[1].decode("utf-8", "replace")
            views[title] += int(fields[-2])
            if len(fields) == 6 and fields[2].isdigit():
                ids[title] = fields[2].decode()
    if not found:
        raise InputError(f"{path}: no line of page views of the English Wikipedia; fetch it again")


def _count_top(path: Path, views: Counter[str], counts: Counter[str]) -> None:
    """Take the answer of Wikimedia's REST call ``pageviews/top``."""
    for item in field_of(json_file(path), "items", list, str(path)):
        for place, row in enumerate(field_of(item, "articles", list, f"{path}, item"), 1):
            where = f"{path}, article {place}"
            counts["lines"] += 1
            views[field_of(row, "article", str, where)] += field_of(row, "views", int, where)
