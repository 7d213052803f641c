"""Readers of coreference annotation in its published forms: GAP (tab-separated) and LitBank (CoNLL in a tar archive)."""

from __future__ import annotations

import csv
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from longform.documents import BadInput
from longform.malformed import refusing

MAX_MEMBER_BYTES = 20_000_000  # a LitBank document is below 200 kB; anything larger is no such document


@dataclass(frozen=True)
class GapItem:
    """A text with a pronoun and two names; each name corefers with the pronoun or does not (Webster et al. 2018).

    Spans are half-open character offsets.
    """

    id: str
    text: str
    pronoun: tuple[int, int]
    names: tuple[tuple[int, int], tuple[int, int]]
    labels: tuple[bool, bool]


@dataclass(frozen=True)
class AnnotatedText:
    """A text with gold mentions: (start, end, entity), half-open character offsets, nested mentions allowed."""

    id: str
    text: str
    mentions: tuple[tuple[int, int, int], ...]


@refusing("a GAP file")
def read_gap(path: Path) -> list[GapItem]:
    """Items of a GAP file, e.g. ``gap-development.tsv``.

    Raises:
        BadInput: a column is missing, or an offset does not point at its words.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    needed = {"ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref"}
    if rows and (missing := needed - rows[0].keys()):
        raise BadInput(f"{path}: GAP columns {sorted(missing)} are missing; got {sorted(rows[0])}")
    return [_gap_item(row, f"{path}, line {number}") for number, row in enumerate(rows, start=2)]


def _gap_item(row: dict[str, str], where: str) -> GapItem:
    spans = []
    for name in ("Pronoun", "A", "B"):
        start = int(row[f"{name}-offset"])
        span = start, start + len(row[name])
        if row["Text"][slice(*span)] != row[name]:
            raise BadInput(f"{where}: {name} is {row[name]!r}, the text has {row['Text'][slice(*span)]!r} at {start}")
        spans.append(span)
    labels = row["A-coref"].upper() == "TRUE", row["B-coref"].upper() == "TRUE"
    return GapItem(row["ID"], row["Text"], spans[0], (spans[1], spans[2]), labels)


@refusing("a tar archive of LitBank")
def read_litbank(path: Path) -> list[AnnotatedText]:
    """Documents of LitBank's ``litbank_coref_conll.tar.gz``; members are read in memory, none is unpacked.

    Tokens are joined by one space, sentences by one line break.

    Raises:
        BadInput: a mention is closed that was not opened, or the archive holds no document.
    """
    with tarfile.open(path, "r:*") as archive:
        members = sorted((m for m in archive if m.isfile() and m.name.endswith(".conll")), key=lambda m: m.name)
        texts = [(m.name, archive.extractfile(m)) for m in members if m.size <= MAX_MEMBER_BYTES]
        documents = [_conll(name, stream.read().decode("utf-8")) for name, stream in texts if stream]
    if not documents:
        raise BadInput(f"{path}: no .conll member in the archive; give LitBank's coref/conll folder as a tar file")
    return documents


def _conll(name: str, content: str) -> AnnotatedText:
    pieces: list[str] = []
    open_mentions: dict[int, list[int]] = {}
    mentions: list[tuple[int, int, int]] = []
    length = 0
    gap = ""
    for line in content.splitlines():
        fields = line.split("\t")
        if line.startswith("#") or len(fields) < 5:
            gap = "\n" if pieces else ""
            continue
        start = length + len(gap)
        pieces.extend((gap, fields[3]))
        length, gap = start + len(fields[3]), " "
        for entity, opens, closes in _marks(fields[-1] or fields[-2], name):
            if opens:
                open_mentions.setdefault(entity, []).append(start)
            if closes:
                if not open_mentions.get(entity):
                    raise BadInput(f"{name}: mention of entity {entity} closed at {fields[3]!r} but never opened")
                mentions.append((open_mentions[entity].pop(), length, entity))
    return AnnotatedText(name.removesuffix(".conll"), "".join(pieces), tuple(sorted(mentions)))


def _marks(cell: str, name: str) -> Iterator[tuple[int, bool, bool]]:
    """(entity, opens, closes) of ``(3|(4)|5)``, closing marks after opening ones."""
    if cell.strip() in {"", "_", "-"}:
        return
    for part in cell.strip().split("|"):
        number = part.strip("()")
        if not number.isdigit():
            raise BadInput(f"{name}: coreference mark {cell!r} is not of the form (3, 3) or (3); check the last column")
        yield int(number), part.startswith("("), part.endswith(")")
