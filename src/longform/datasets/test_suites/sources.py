"""Readers of what the suites are made from: stories, dialogues, statements, Winograd schemas, connectives.

All raise InputError for a file that is absent or of another form; the message names the file and, where there is one, the line.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.errors import InputError, short_repr
from longform.files.opening import (
    field_of,
    json_file,
    numbered_rows,
    parse_json,
    read_text,
    rows,
    text_lines,
    texts,
    typed,
)
from longform.files.opening import records as json_records
from longform.text.sentences import sentence_texts

SENSES = {  # of the Penn Discourse Treebank
    "Contingency.Cause": "causal", "Temporal": "temporal", "Comparison.Contrast": "contrast", "Comparison.Concession": "concession",
}  # fmt: skip
CONTEXT = [f"InputSentence{i}" for i in range(1, 5)]
ENDINGS = ["RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2"]
PERSONA = re.compile(r"(?:your|partner's) persona: ")
LABELS = ("positive", "negative", "neutral")  # entailment, contradiction, neutral
ARTICLES = re.compile(r"(?:The|A|An|His|Her|Its|Their|My|Our|Your|He|She|It|They|We|You)\b")


@dataclass(frozen=True)
class Schema:
    """A text before and after a gap, and two candidates for it, of which that number ``right`` makes sense."""

    schema_id: str
    before: str
    candidates: tuple[str, str]
    after: str
    right: int


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


def read_stories(path: Path) -> list[tuple[str, tuple[str, ...], str, str]]:
    """Id, four sentences of context, right and wrong ending of each story (Mostafazadeh et al. 2016), tab- or comma-separated."""
    needed = ["InputStoryid", *CONTEXT, *ENDINGS, "AnswerRightEnding"]
    tabs = "\t" in next(
        text_lines(path), ""
    )  # the tab-separated release quotes nothing; the comma-separated one does
    stories = []
    for where, row in numbered_rows(path, needed, "\t" if tabs else ",", quoted=not tabs):
        if missing := [name for name in needed if not row[name]]:
            raise InputError(f"{where}: a story lacks {missing}; fix the row")
        answer = row["AnswerRightEnding"].strip()
        if answer not in ("1", "2"):
            raise InputError(
                f"{where}: AnswerRightEnding is {answer!r:.40}, allowed are 1 and 2; fix the line"
            )
        right, wrong = (row[name] for name in (ENDINGS if answer == "1" else ENDINGS[::-1]))
        stories.append((row["InputStoryid"], tuple(row[name] for name in CONTEXT), right, wrong))
    return stories


def read_persona_chat(path: Path, drop_last: bool = False) -> list[tuple[str, list[str]]]:
    r"""Id and utterances of each dialogue (Zhang et al. 2018), speakers taking turns, from ParlAI's dialogue lines.

    A line is ``n text``, n starting again at 1 with each dialogue; a turn is ``A\tB\t\tcandidates``. ``drop_last`` leaves out the
    last dialogue, as a parser does that emits one only when the next begins: the paper has 967 items of 968 dialogues.
    """
    dialogues: list[list[str]] = []
    for place, line in enumerate(text_lines(path), 1):
        number, _, text = line.partition(" ")
        if not line.strip():
            continue
        if not number.isdecimal() or (number != "1" and not dialogues):
            raise InputError(
                f"{path}:{place}: got {line[:40]!r}, a line is its number in the dialogue, a blank and text"
            )
        if number == "1":
            dialogues.append([])
        fields = text.split("\t")
        if PERSONA.match(text):  # of a speaker, not said
            continue
        if len(fields) < 2:
            raise InputError(
                f"{path}:{place}: got {text[:40]!r}, a turn has an utterance, a tab and its answer"
            )
        dialogues[-1] += [field.replace("\\n", " ") for field in fields[:2]]
    return [
        (str(i), turns) for i, turns in enumerate(dialogues[:-1] if drop_last else dialogues, 1)
    ]


def read_generated_dialogues(path: Path) -> list[tuple[str, list[str]]]:
    """Id and utterances of each dialogue of Synthetic-Persona-Chat (Jandaghi et al. 2023), without its marks of speakers."""
    dialogues = []
    for number, row in enumerate(rows(path, ("Best Generated Conversation",)), 1):
        lines = row["Best Generated Conversation"].split("\n")
        turns = [re.sub(r"^User [12]: *", "", line).strip() for line in lines]
        said = [turn for turn in turns if turn]
        if said:
            dialogues.append((str(number), said))
    return dialogues


def read_narration(path: Path, sentences: int) -> list[tuple[str, list[str]]]:
    """Id and sentences of one piece after another of so many sentences, of each human story (HANNA, Chhun et al. 2024)."""
    found = []
    for number, story in enumerate(
        dict.fromkeys(row["Human"] for row in rows(path, ("Human",))), 1
    ):
        told = [" ".join(sentence.split()) for sentence in sentence_texts(story)]
        pieces = range(0, len(told) - sentences + 1, sentences)
        found += [
            (f"{number}-{start // sentences + 1}", told[start : start + sentences])
            for start in pieces
        ]
    return found


def read_dialogue_nli(path: Path) -> list[tuple[str, str, str, str]]:
    """Id, two statements and one of ``LABELS`` (Welleck et al. 2019): one JSON array, whatever the file's suffix says."""
    pairs = []
    for place, record in enumerate(typed(json_file(path), list, f"{path}: not one JSON array")):
        where = f"{path}: record {place}"
        first, second, label = (
            field_of(record, name, str, where) for name in ("sentence1", "sentence2", "label")
        )
        if label not in LABELS:
            raise InputError(
                f"{where} has label {label!r:.40}; needed are sentence1, sentence2 and one of {LABELS}"
            )
        pairs.append((str(record.get("id", place)), first, second, label))
    return pairs


def read_schemas(path: Path) -> list[Schema]:
    """WSC273 (Levesque et al. 2012) in either of its two layouts.

    Records of a JSON-lines file have ``sentence`` with a mask and ``candidates``; Trinh and Le's file (2018) is one JSON
    array of substituted sentences, two consecutive ones to a schema.
    """
    text = read_text(path)
    if text.lstrip().startswith("["):
        schemas = typed(parse_json(text, str(path)), list, str(path))
        found = [(f"{path}: record {place}", record) for place, record in enumerate(schemas, 1)]
    else:
        lines = [
            (f"{path}:{number}", line)
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip()
        ]
        found = [(where, parse_json(line, where)) for where, line in lines]
    for where, record in found:
        typed(record, dict, where)
    if not found or "substitution" not in found[0][1]:
        return [_masked(record, where) for where, record in found]
    if len(found) % 2:
        raise InputError(f"{path}: {len(found)} substitutions; they come in pairs, one is missing")
    pairs = zip(found[::2], found[1::2], strict=True)
    return [
        _substituted(str(path), place, first, second) for place, (first, second) in enumerate(pairs)
    ]


Placed = tuple[str, dict[str, Any]]  # a record with its place


def _substituted(path: str, place: int, first: Placed, second: Placed) -> Schema:
    """The schema of two consecutive substitutions, of which one is correct."""
    sentences = [
        field_of(record, "substitution", str, where).split() for where, record in (first, second)
    ]
    correct = [_flag(record, "correctness", where) for where, record in (first, second)]
    if correct[0] == correct[1]:
        raise InputError(
            f"{path}: substitutions {2 * place} and {2 * place + 1} need exactly one correct one"
        )
    before, candidates, after = gap(*sentences)
    name = str(first[1].get("question_id", place))
    return Schema(name, before, candidates, after, int(not correct[0]))


def _flag(record: dict[str, Any], name: str, where: str) -> bool:
    value = record.get(name)
    if value not in (0, 1):  # True and False among them
        raise InputError(
            f"{where}: {name} is {short_repr(value)}, allowed are true and false, or 1 and 0; fix it"
        )
    return bool(value)


def _masked(record: dict[str, Any], where: str) -> Schema:
    if not {"sentence", "candidates", "correct"} <= record.keys():
        raise InputError(
            f"{where}: got {sorted(record)}; a schema has sentence, candidates and correct, or substitution"
        )
    sentence, candidates = (
        field_of(record, "sentence", str, where),
        texts(record["candidates"], f"{where}, candidates"),
    )
    before, mask, after = sentence.partition(
        typed(record.get("mask", "[MASK]"), str, f"{where}, mask") or "[MASK]"
    )
    if not mask or len(candidates) != 2:
        raise InputError(
            f"{where}: {sentence!r:.60} must hold one mask and come with two candidates"
        )
    right = int(_flag(record, "correct", where))
    name = str(record.get("id", where))
    return Schema(name, before.strip(), (candidates[0], candidates[1]), after.strip(), right)


def gap(first: list[str], second: list[str]) -> tuple[str, tuple[str, str], str]:
    """What two sentences share in front, in what they differ, and what they share behind.

    Raises InputError: they are equal, or one of them is nothing but the other's frame.
    """
    shorter = min(len(first), len(second))
    before = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    most = shorter - before
    after = next((i for i in range(most) if first[-1 - i] != second[-1 - i]), most)
    one, other = (" ".join(words[before : len(words) - after]) for words in (first, second))
    if not one or not other:
        raise InputError(
            f"schema: {' '.join(first)!r} and {' '.join(second)!r} have no candidate each; fix the pair"
        )
    return " ".join(first[:before]), (one, other), " ".join(first[len(first) - after :])


def in_sentence_case(candidate: str, before: str) -> str:
    """A candidate's article in lower case unless it opens a sentence ("because the city councilmen", not "because The")."""
    if not before or before.rstrip("\"')")[-1:] in ".!?":
        return candidate[:1].upper() + candidate[1:]
    return candidate[:1].lower() + candidate[1:] if ARTICLES.match(candidate) else candidate


def read_disco_annotation(path: Path) -> list[ConnectiveUse]:
    r"""Lines ``id \t connective \t sense \t segment``, the use marked ``<c>...</c>`` or else its first occurrence.

    The corpus (Popescu-Belis et al. 2012) is distributed on request, and its layout could not be checked against a copy: this
    reader is the only place that knows it.
    """
    uses = []
    for place, line in enumerate(text_lines(path), 1):
        fields = line.split("\t")
        if not line.strip():
            continue
        if len(fields) != 4:
            raise InputError(
                f"{path}:{place}: {len(fields)} columns, allowed are four: id, connective, sense, segment"
            )
        name, connective, sense, text = fields
        found = re.search(r"<c>(.*?)</c>", text) or re.search(
            rf"\b({re.escape(connective)})\b", text, re.IGNORECASE
        )
        if found is None:
            raise InputError(
                f"{path}:{place}: {connective!r} is not in the segment; mark the use with <c>...</c>"
            )
        start, word = found.start(), found[1]
        uses.append(
            ConnectiveUse(
                name, text[:start] + word + text[found.end() :], start, start + len(word), sense
            )
        )
    return uses


def read_connective_lines(path: Path) -> list[ConnectiveUse]:
    """``sentence``, ``begin``, ``end`` and ``sense`` (by the names of beyer2021's Table 4), with ``prev_sentence``, if any, in front."""
    uses = []
    for place, (where, record) in enumerate(
        json_records(path, ("sentence", "begin", "end", "sense")), 1
    ):
        sentence, written_sense = (
            field_of(record, name, str, where) for name in ("sentence", "sense")
        )
        begin, end = (field_of(record, name, int, where) for name in ("begin", "end"))
        if not 0 <= begin < end <= len(sentence):
            raise InputError(
                f"{where}: characters {begin} to {end} are not in its sentence; fix begin and end"
            )
        previous = typed(record.get("prev_sentence") or "", str, f"{where}, prev_sentence")
        context = f"{previous} " if previous else ""
        sense = next(
            (ours for theirs, ours in SENSES.items() if written_sense.startswith(theirs)),
            written_sense,
        )
        name = str(record.get("id", place))
        uses.append(
            ConnectiveUse(name, context + sentence, begin + len(context), end + len(context), sense)
        )
    return uses
