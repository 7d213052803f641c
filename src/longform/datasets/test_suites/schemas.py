"""Winograd schemas (WSC273; Levesque et al. 2012; Trinh and Le 2018): a text with a gap and two candidates for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.documents import BadInput
from longform.malformed import refusing

ARTICLES = re.compile(r"(?:The|A|An|His|Her|Its|Their|My|Our|Your|He|She|It|They|We|You)\b")


@dataclass(frozen=True)
class Schema:
    """A text before and after a gap, and two candidates.

    Attributes:
        right: index of the candidate that makes sense.
    """

    schema_id: str
    before: str
    candidates: tuple[str, str]
    after: str
    right: int


@refusing("WSC273 or JSON lines of schemas")
def read_schemas(path: Path) -> list[Schema]:
    """WSC273 in either of its two layouts.

    Records of a JSON-lines file have ``sentence`` with a mask and ``candidates``; Trinh and Le's file is one JSON
    array of substituted sentences, two consecutive ones to a schema.

    Raises:
        BadInput: neither of the two.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name wsc273.json or a JSON-lines version of it")
    text = path.read_text(encoding="utf-8")
    try:
        whole = text.lstrip().startswith("[")
        records = json.loads(text) if whole else [json.loads(line) for line in text.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}: not JSON ({error}); name wsc273.json or a JSON-lines version of it") from error
    if records and "substitution" in records[0]:
        return list(_substitutions(records, str(path)))
    return [_masked(record, f"{path}:{place}") for place, record in enumerate(records, 1)]


def _masked(record: Mapping[str, Any], where: str) -> Schema:
    if not {"sentence", "candidates", "correct"} <= record.keys():
        raise BadInput(
            f"{where}: got {sorted(record)}; a schema has sentence, candidates and correct (or substitution)"
        )
    before, found, after = record["sentence"].partition(record.get("mask", "[MASK]"))
    if not found or len(record["candidates"]) != 2:
        raise BadInput(f"{where}: {record['sentence']!r} must hold one mask and come with two candidates")
    first, second = record["candidates"]
    return Schema(str(record.get("id", where)), before.strip(), (first, second), after.strip(), int(record["correct"]))


def _substitutions(records: list[Mapping[str, Any]], where: str) -> Iterator[Schema]:
    if len(records) % 2:
        raise BadInput(f"{where}: {len(records)} substitutions; they come in pairs, one is missing")
    for place in range(0, len(records), 2):
        pair = records[place : place + 2]
        if sum(bool(record["correctness"]) for record in pair) != 1:
            raise BadInput(f"{where}: substitutions {place} and {place + 1} need exactly one correct one")
        before, candidates, after = gap(pair[0]["substitution"].split(), pair[1]["substitution"].split())
        right = int(not pair[0]["correctness"])
        yield Schema(str(pair[0].get("question_id", place // 2)), before, candidates, after, right)


def gap(first: list[str], second: list[str]) -> tuple[str, tuple[str, str], str]:
    """What two sentences share in front, in what they differ, and what they share behind.

    Raises:
        BadInput: they are equal, or one of them is nothing but the other's frame.
    """
    shorter = min(len(first), len(second))
    before = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    most = shorter - before
    after = next((i for i in range(most) if first[-1 - i] != second[-1 - i]), most)
    middles = tuple(" ".join(words[before : len(words) - after]) for words in (first, second))
    if not all(middles):
        raise BadInput(
            f"schema: {' '.join(first)!r} and {' '.join(second)!r} do not differ in a candidate each; mend the pair"
        )
    return " ".join(first[:before]), (middles[0], middles[1]), " ".join(first[len(first) - after :])


def in_sentence_case(candidate: str, before: str) -> str:
    """A candidate's article in lower case unless it opens a sentence ("because the city councilmen", not "because The")."""
    opens = not before or before.rstrip("\"')")[-1:] in ".!?"
    if opens:
        return candidate[:1].upper() + candidate[1:]
    return candidate[:1].lower() + candidate[1:] if ARTICLES.match(candidate) else candidate
