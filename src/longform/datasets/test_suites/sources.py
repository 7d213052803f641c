"""Readers of what the suites are made from: stories, dialogues, statements, Winograd schemas, connectives.

All raise BadInput for a file that is absent or of another form; the message names the file and, where there is one, the line.
"""

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput
from longform.core.malformed import records as json_records
from longform.core.malformed import refusing, rows
from longform.core.text.sentences import sentence_texts

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


@refusing("the Story Cloze test file of spring 2016")
def read_stories(path: Path) -> list[tuple[str, tuple[str, ...], str, str]]:
    """Id, four sentences of context, right and wrong ending of each story (Mostafazadeh et al. 2016), tab- or comma-separated."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    tabs = bool(lines) and "\t" in lines[0]  # the tab-separated release quotes nothing; the comma-separated one does
    rows = csv.DictReader(lines, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL)
    stories = []
    for number, row in enumerate(rows, 2):
        if missing := [name for name in ["InputStoryid", *CONTEXT, *ENDINGS, "AnswerRightEnding"] if not row.get(name)]:
            raise BadInput(f"{path}:{number}: a story lacks {missing}; name a file with the columns of the test")
        answer = row["AnswerRightEnding"].strip()
        if answer not in ("1", "2"):
            raise BadInput(f"{path}:{number}: AnswerRightEnding is {answer!r}, allowed are 1 and 2; fix the line")
        right, wrong = (row[name] for name in (ENDINGS if answer == "1" else ENDINGS[::-1]))
        stories.append((row["InputStoryid"], tuple(row[name] for name in CONTEXT), right, wrong))
    return stories


@refusing("a PERSONA-CHAT file such as test_both_original.txt")
def read_persona_chat(path: Path, drop_last: bool = False) -> list[tuple[str, list[str]]]:
    r"""Id and utterances of each dialogue (Zhang et al. 2018), speakers taking turns, from ParlAI's dialogue lines.

    A line is ``n text``, n starting again at 1 with each dialogue; a turn is ``A\tB\t\tcandidates``. ``drop_last`` leaves out the
    last dialogue, as a parser does that emits one only when the next begins: the paper has 967 items of 968 dialogues.
    """
    dialogues: list[list[str]] = []
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        number, _, text = line.partition(" ")
        if not number.isdigit() or (number != "1" and not dialogues):
            raise BadInput(f"{path}:{place}: got {line[:40]!r}, a line is its number in the dialogue, a blank and text")
        if number == "1":
            dialogues.append([])
        fields = text.split("\t")
        if PERSONA.match(text):  # of a speaker, not said
            continue
        if len(fields) < 2:
            raise BadInput(f"{path}:{place}: got {text[:40]!r}, a turn has an utterance, a tab and its answer")
        dialogues[-1] += [field.replace("\\n", " ") for field in fields[:2]]
    return [(str(i), turns) for i, turns in enumerate(dialogues[:-1] if drop_last else dialogues, 1)]


@refusing("the CSV of Synthetic-Persona-Chat")
def read_generated_dialogues(path: Path) -> list[tuple[str, list[str]]]:
    """Id and utterances of each dialogue of Synthetic-Persona-Chat (Jandaghi et al. 2023), without its marks of speakers."""
    told = (row["Best Generated Conversation"] for row in rows(path, ("Best Generated Conversation",)))
    turns = ([re.sub(r"^User [12]: *", "", line).strip() for line in (text or "").splitlines()] for text in told)
    return [(str(i), said) for i, lines in enumerate(turns, 1) if (said := list(filter(None, lines)))]


@refusing("the CSV of HANNA's stories")
def read_narration(path: Path, sentences: int) -> list[tuple[str, list[str]]]:
    """Id and sentences of one piece after another of so many sentences, of each human story (HANNA, Chhun et al. 2024)."""
    found = []
    for number, story in enumerate(dict.fromkeys(row["Human"] or "" for row in rows(path, ("Human",))), 1):
        told = [" ".join(sentence.split()) for sentence in sentence_texts(story)]
        pieces = range(0, len(told) - sentences + 1, sentences)
        found += [(f"{number}-{start // sentences + 1}", told[start : start + sentences]) for start in pieces]
    return found


@refusing("one JSON array of DialogueNLI")
def read_dialogue_nli(path: Path) -> list[tuple[str, str, str, str]]:
    """Id, two statements and one of ``LABELS`` (Welleck et al. 2019): one JSON array, whatever the file's suffix says."""
    pairs = []
    for place, record in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        if not {"label", "sentence1", "sentence2"} <= record.keys() or record["label"] not in LABELS:
            raise BadInput(f"{path}: record {place} has {record}; needed are sentence1, sentence2 and one of {LABELS}")
        pairs.append((str(record.get("id", place)), record["sentence1"], record["sentence2"], record["label"]))
    return pairs


@refusing("WSC273 or JSON lines of schemas")
def read_schemas(path: Path) -> list[Schema]:
    """WSC273 (Levesque et al. 2012) in either of its two layouts.

    Records of a JSON-lines file have ``sentence`` with a mask and ``candidates``; Trinh and Le's file (2018) is one JSON
    array of substituted sentences, two consecutive ones to a schema.
    """
    text = path.read_text(encoding="utf-8")
    whole = text.lstrip().startswith("[")
    records = json.loads(text) if whole else [json.loads(line) for line in text.splitlines() if line.strip()]
    if not records or "substitution" not in records[0]:
        return [_masked(record, f"{path}:{place}") for place, record in enumerate(records, 1)]
    if len(records) % 2:
        raise BadInput(f"{path}: {len(records)} substitutions; they come in pairs, one is missing")
    schemas = []
    for place, (first, second) in enumerate(zip(records[::2], records[1::2], strict=True)):
        if bool(first["correctness"]) == bool(second["correctness"]):
            raise BadInput(f"{path}: substitutions {2 * place} and {2 * place + 1} need exactly one correct one")
        before, candidates, after = gap(first["substitution"].split(), second["substitution"].split())
        name = str(first.get("question_id", place))
        schemas.append(Schema(name, before, candidates, after, int(not first["correctness"])))
    return schemas


def _masked(record: Any, where: str) -> Schema:
    if not {"sentence", "candidates", "correct"} <= record.keys():
        raise BadInput(f"{where}: got {sorted(record)}; a schema has sentence, candidates and correct, or substitution")
    before, found, after = record["sentence"].partition(record.get("mask", "[MASK]"))
    if not found or len(record["candidates"]) != 2:
        raise BadInput(f"{where}: {record['sentence']!r} must hold one mask and come with two candidates")
    first, second = record["candidates"]
    return Schema(str(record.get("id", where)), before.strip(), (first, second), after.strip(), int(record["correct"]))


def gap(first: list[str], second: list[str]) -> tuple[str, tuple[str, str], str]:
    """What two sentences share in front, in what they differ, and what they share behind.

    Raises BadInput: they are equal, or one of them is nothing but the other's frame.
    """
    shorter = min(len(first), len(second))
    before = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    most = shorter - before
    after = next((i for i in range(most) if first[-1 - i] != second[-1 - i]), most)
    one, other = (" ".join(words[before : len(words) - after]) for words in (first, second))
    if not one or not other:
        raise BadInput(f"schema: {' '.join(first)!r} and {' '.join(second)!r} have no candidate each; fix the pair")
    return " ".join(first[:before]), (one, other), " ".join(first[len(first) - after :])


def in_sentence_case(candidate: str, before: str) -> str:
    """A candidate's article in lower case unless it opens a sentence ("because the city councilmen", not "because The")."""
    if not before or before.rstrip("\"')")[-1:] in ".!?":
        return candidate[:1].upper() + candidate[1:]
    return candidate[:1].lower() + candidate[1:] if ARTICLES.match(candidate) else candidate


@refusing("a file of Disco-Annotation")
def read_disco_annotation(path: Path) -> list[ConnectiveUse]:
    r"""Lines ``id \t connective \t sense \t segment``, the use marked ``<c>...</c>`` or else its first occurrence.

    The corpus (Popescu-Belis et al. 2012) is distributed on request, and its layout could not be checked against a copy: this
    reader is the only place that knows it.
    """
    uses = []
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split("\t")
        if not line.strip():
            continue
        if len(fields) != 4:
            raise BadInput(f"{path}:{place}: {len(fields)} columns, allowed are four: id, connective, sense, segment")
        name, connective, sense, text = fields
        found = re.search(r"<c>(.*?)</c>", text) or re.search(rf"\b({re.escape(connective)})\b", text, re.IGNORECASE)
        if found is None:
            raise BadInput(f"{path}:{place}: {connective!r} is not in the segment; mark the use with <c>...</c>")
        start, word = found.start(), found[1]
        uses.append(ConnectiveUse(name, text[:start] + word + text[found.end() :], start, start + len(word), sense))
    return uses


@refusing("JSON lines of connectives")
def read_connective_lines(path: Path) -> list[ConnectiveUse]:
    """``sentence``, ``begin``, ``end`` and ``sense`` (by the names of beyer2021's Table 4), with ``prev_sentence``, if any, in front."""
    uses = []
    for place, (_, record) in enumerate(json_records(path, ("sentence", "begin", "end", "sense")), 1):
        context = f"{record['prev_sentence']} " if record.get("prev_sentence") else ""
        start, end = (int(record[name]) + len(context) for name in ("begin", "end"))
        name = str(record.get("id", place))
        sense = next((ours for theirs, ours in SENSES.items() if record["sense"].startswith(theirs)), record["sense"])
        uses.append(ConnectiveUse(name, context + record["sentence"], start, end, sense))
    return uses
