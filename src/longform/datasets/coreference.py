"""Coreference annotation in its published forms: GAP (tab-separated), LitBank and CoNLL-2012 (columns with brackets)."""

from __future__ import annotations

import csv
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from longform.core.documents import BadInput
from longform.core.malformed import refusing

MAX_MEMBER_BYTES = 20_000_000  # a LitBank document is below 200 kB; anything larger is no such document
GAP_COLUMNS = {"ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref"}


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


@dataclass(frozen=True)
class TokenMention:
    """A mention in tokenised sentences: its first and last token as (sentence, token), and its chain."""

    first: tuple[int, int]
    last: tuple[int, int]
    chain: str


@refusing("a GAP file")
def read_gap(path: Path) -> list[GapItem]:
    """Items of a GAP file, e.g. ``gap-development.tsv``.

    Raises:
        BadInput: a column is missing, or an offset does not point at its words.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or GAP_COLUMNS - rows[0].keys():
        raise BadInput(f"{path}: not a GAP file; its columns are {sorted(GAP_COLUMNS)}")
    items = []
    for number, row in enumerate(rows, 2):
        spans = [(int(row[f"{name}-offset"]), row[name]) for name in ("Pronoun", "A", "B")]
        for start, words in spans:
            if row["Text"][start : start + len(words)] != words:
                raise BadInput(
                    f"{path}, line {number}: {words!r} does not stand at {start} of the text; fix the offset"
                )
        pronoun, first, second = ((start, start + len(words)) for start, words in spans)
        labels = row["A-coref"].upper() == "TRUE", row["B-coref"].upper() == "TRUE"
        items.append(GapItem(row["ID"], row["Text"], pronoun, (first, second), labels))
    return items


def read_brackets(lines: Iterable[str], where: str) -> tuple[list[list[str]], list[TokenMention]]:
    """Sentences and mentions of CoNLL columns: the token in the fourth, coreference brackets such as ``(3|4)`` in the last.

    Raises:
        BadInput: a bracket of another form, or one that closes what was not opened.
    """
    texts: list[list[str]] = [[]]
    opened: dict[str, list[tuple[int, int]]] = {}
    mentions: list[TokenMention] = []
    for number, line in enumerate(lines, 1):
        fields = line.rstrip().split("\t") if "\t" in line else line.split()
        if line.startswith("#") or len(fields) < 5:
            texts += [[]] if texts[-1] else []
            continue
        texts[-1].append(fields[3])
        place = len(texts) - 1, len(texts[-1]) - 1
        for part in fields[-1].strip().split("|") if fields[-1].strip() not in ("", "_", "-") else []:
            found = re.fullmatch(r"(\()?([^()]+)(\))?", part)
            if found is None or not (found[1] or found[3]):
                raise BadInput(
                    f"{where}:{number}: coreference mark {part!r} is not of the form (3, 3) or (3); fix the file"
                )
            if found[1]:
                opened.setdefault(found[2], []).append(place)
            if found[3]:
                if not opened.get(found[2]):
                    raise BadInput(
                        f"{where}:{number}: {part!r} closes chain {found[2]} which is not open; fix the file"
                    )
                mentions.append(TokenMention(opened[found[2]].pop(), place, found[2]))
    return texts[: -1 if not texts[-1] else None], mentions


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
        documents = [_annotated(name, stream.read().decode("utf-8")) for name, stream in texts if stream]
    if not documents:
        raise BadInput(f"{path}: no .conll member in the archive; give LitBank's coref/conll folder as a tar file")
    return documents


def _annotated(name: str, content: str) -> AnnotatedText:
    texts, found = read_brackets(content.splitlines(), name)
    starts, at = [], 0
    for words in texts:
        starts.append(list(accumulate((len(word) + 1 for word in words), initial=at)))
        at = starts[-1][-1]
    mentions = [(starts[m.first[0]][m.first[1]], starts[m.last[0]][m.last[1] + 1] - 1, int(m.chain)) for m in found]
    return AnnotatedText(name.removesuffix(".conll"), "\n".join(map(" ".join, texts)), tuple(sorted(mentions)))
