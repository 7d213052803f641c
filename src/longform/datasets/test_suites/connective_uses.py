"""Uses of discourse connectives with their senses, from three annotated corpora.

- Disco-Annotation (Popescu-Belis et al. 2012): Europarl segments, one tab-separated line each.
- TED-MDB (Zeyrek et al. 2018): stand-off annotation in the Penn Discourse Treebank's bar-separated columns.
- JSON lines with ``sentence``, ``connective``, ``begin``, ``end`` and ``sense``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from longform.documents import BadInput
from longform.malformed import refusing
from longform.text.sentences import sentences

CONNECTIVES = ("although", "as", "however", "since", "though", "while", "yet")  # meanwhile only opens segments


@dataclass(frozen=True)
class ConnectiveUse:
    """A connective at characters ``start`` to ``end`` of a text, in one of its senses."""

    use_id: str
    text: str
    start: int
    end: int
    sense: str

    @property
    def connective(self) -> str:
        """The connective in lower case."""
        return self.text[self.start : self.end].lower()


@refusing("a file of Disco-Annotation")
def read_disco_annotation(path: Path) -> list[ConnectiveUse]:
    r"""Lines ``id \t connective \t sense \t segment``, the use marked ``<c>...</c>`` or else its first occurrence.

    The corpus is distributed on request, and its layout could not be checked against a copy: this reader is the only
    place that knows it.

    Raises:
        BadInput: too few columns, or a connective that the segment does not hold; by line.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name a file of Disco-Annotation")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_marked(line, f"{path}:{place}") for place, line in enumerate(lines, 1) if line.strip()]


def _marked(line: str, where: str) -> ConnectiveUse:
    fields = line.split("\t")
    if len(fields) != 4:
        raise BadInput(f"{where}: {len(fields)} columns, allowed are four: id, connective, sense, segment")
    name, connective, sense, text = fields
    marked = re.search(r"<c>(.*?)</c>", text)
    if marked:
        bare = text[: marked.start()] + marked.group(1) + text[marked.end() :]
        return ConnectiveUse(name, bare, marked.start(), marked.start() + len(marked.group(1)), sense)
    found = re.search(rf"\b{re.escape(connective)}\b", text, re.IGNORECASE)
    if found is None:
        raise BadInput(f"{where}: {connective!r} is not in the segment; mend the line or mark the use with <c>...</c>")
    return ConnectiveUse(name, text, found.start(), found.end(), sense)


@refusing("JSON lines of connectives")
def read_connective_lines(path: Path) -> list[ConnectiveUse]:
    """JSON lines; the previous sentence, where there is one, is put in front as context.

    Raises:
        BadInput: a record without its fields, by line.
    """
    uses = []
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        if not {"sentence", "begin", "end", "sense"} <= record.keys():
            raise BadInput(f"{path}:{place}: got {sorted(record)}; a use has sentence, begin, end and sense")
        context = f"{record['prev_sentence']} " if record.get("prev_sentence") else ""
        start, end = (int(record[name]) + len(context) for name in ("begin", "end"))
        uses.append(
            ConnectiveUse(str(record.get("id", place)), context + record["sentence"], start, end, record["sense"])
        )
    return uses


@refusing("an annotation of TED-MDB")
def read_ted_mdb(annotation: Path, raw: Path) -> list[ConnectiveUse]:
    """Explicit relations of one talk, each with its sentence and the one before.

    The columns are those of the PDTB 3 (Prasad et al. 2018): relation type, span of the connective, ..., sense in the
    ninth. Spans are ``begin..end`` in characters; connectives in two parts are left out.
    """
    text = raw.read_text(encoding="utf-8")
    spans = sentences(text)
    uses = []
    for place, line in enumerate(annotation.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split("|")
        found = re.fullmatch(r"(\d+)\.\.(\d+)", fields[1]) if fields[0] == "Explicit" and len(fields) > 8 else None
        if found is None or not fields[8]:
            continue
        start, end = map(int, found.groups())
        index = next((i for i, (first, last) in enumerate(spans) if first <= start < last), None)
        if index is not None:
            first = spans[max(index - 1, 0)][0]
            segment = text[first : spans[index][1]]
            uses.append(ConnectiveUse(f"{raw.stem}:{place}", segment, start - first, end - first, fields[8]))
    return uses
