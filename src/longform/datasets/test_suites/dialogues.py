"""PERSONA-CHAT (Zhang et al. 2018) in ParlAI's text format, its synthetic sequel as CSV, and DialogueNLI (Welleck et al. 2019)."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from longform.documents import BadInput
from longform.malformed import refusing

PERSONA = re.compile(r"(?:your|partner's) persona: ")
LABELS = ("positive", "negative", "neutral")  # entailment, contradiction, neutral


@dataclass(frozen=True)
class Dialogue:
    """Utterances in order, speakers taking turns; persona lines are kept apart."""

    dialogue_id: str
    utterances: tuple[str, ...]
    personas: tuple[str, ...] = ()


@dataclass(frozen=True)
class StatementPair:
    """Two statements and how the second stands to the first; one of ``LABELS``."""

    pair_id: str
    first: str
    second: str
    label: str


@refusing("a PERSONA-CHAT file")
def read_persona_chat(path: Path, drop_last: bool = False) -> list[Dialogue]:
    r"""ParlAI's dialogue lines: ``n text``, n starting again at 1 with each dialogue; a turn is ``A\tB\t\tcandidates``.

    Args:
        drop_last: leave out the last dialogue, as a parser does that emits one only when the next begins: the paper
            has 967 items where the test file has 968 dialogues.

    Raises:
        BadInput: a line without number or without an answer, by line.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name a PERSONA-CHAT file such as test_both_original.txt")
    dialogues: list[tuple[list[str], list[str]]] = []
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        number, _, text = line.partition(" ")
        if not number.isdigit() or (number != "1" and not dialogues):
            raise BadInput(f"{path}:{place}: got {line[:40]!r}, a line is its number in the dialogue, a blank and text")
        if number == "1":
            dialogues.append(([], []))
        _add_line(dialogues[-1], text, f"{path}:{place}")
    kept = dialogues[:-1] if drop_last else dialogues
    return [Dialogue(str(i), tuple(turns), tuple(personas)) for i, (turns, personas) in enumerate(kept, 1)]


def _add_line(dialogue: tuple[list[str], list[str]], text: str, where: str) -> None:
    turns, personas = dialogue
    if PERSONA.match(text):
        personas.append(text)
        return
    fields = text.split("\t")
    if len(fields) < 2:
        raise BadInput(f"{where}: got {text[:40]!r}, a turn has an utterance, a tab and its answer")
    turns += [field.replace("\\n", " ") for field in fields[:2]]


@refusing("a CSV file of Synthetic-Persona-Chat")
def read_synthetic_persona_chat(path: Path) -> list[Dialogue]:
    """Synthetic-Persona-Chat: one conversation a row, in the column "Best Generated Conversation"."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    column = "Best Generated Conversation"
    if not rows or column not in rows[0]:
        raise BadInput(f"{path}: no column {column!r}; name a CSV file of Synthetic-Persona-Chat")
    return [Dialogue(str(i), tuple(_said(row[column])), tuple(_personas(row))) for i, row in enumerate(rows, 1)]


def _said(conversation: str) -> Iterator[str]:
    for line in conversation.splitlines():
        text = re.sub(r"^User \d+:\s*", "", line).strip()
        if text:
            yield text


def _personas(row: dict[str, str]) -> Iterator[str]:
    for name, value in row.items():
        if name and name.endswith("personas"):
            yield from value.splitlines()


@refusing("a JSON array of DialogueNLI")
def read_dialogue_nli(path: Path) -> list[StatementPair]:
    """DialogueNLI: one JSON array, whatever the file's suffix says.

    Raises:
        BadInput: not such an array, or a record without its fields.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name dialogue_nli_verified_test.jsonl")
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{path}: not one JSON array ({error}); DialogueNLI's files are arrays despite their name"
        ) from error
    for place, record in enumerate(records):
        if not {"label", "sentence1", "sentence2"} <= record.keys() or record["label"] not in LABELS:
            raise BadInput(
                f"{path}: record {place} has {record}; it needs sentence1, sentence2 and a label of {list(LABELS)}"
            )
    return [
        StatementPair(str(record.get("id", place)), record["sentence1"], record["sentence2"], record["label"])
        for place, record in enumerate(records)
    ]
