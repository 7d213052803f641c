"""Readers of what suites are made from: stories, dialogues, statements, schemas, connectives.

All raise InputError for a file that is absent or of another form; the message names the file and,
where there is one, the line.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.errors import InputError, counted, short_repr
from longform.files.opening import (
    decode,
    field_of,
    json_file,
    numbered_rows,
    parse_json,
    read_bytes,
    read_text,
    rows,
    text_lines,
    texts,
    typed,
)
from longform.files.opening import records as json_records
from longform.text.sentences import sentence_texts

SENSES = {  # sense of the Penn Discourse Treebank, or how it begins -> name in beyer2021's Table 4
    "Contingency.Cause": "causal",
    "Temporal": "temporal",
    "Comparison.Contrast": "contrast",
    "Comparison.Concession": "concession",
}
CONTEXT = [f"InputSentence{i}" for i in range(1, 5)]
ENDINGS = ["RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2"]
PERSONA = re.compile(r"(?:your|partner's) persona: ")
LABELS = ("positive", "negative", "neutral")  # entailment, contradiction, neutral
# Words that begin a phrase and have a capital only at the beginning of a sentence.
ARTICLES = re.compile(r"(?:The|A|An|His|Her|Its|Their|My|Our|Your|He|She|It|They|We|You)\b")


Ordered = tuple[str, list[str]]  # id, and sentences or utterances in their order


@dataclass(frozen=True)
class Schema:
    """A text around a gap, and two candidates for it.

    Attributes:
        schema_id: of the schema.
        before, after: the text.
        candidates: for the gap.
        right: number of the candidate that makes sense, 0 or 1.
    """

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
    """Stories of four sentences with two endings (Mostafazadeh et al. 2016).

    Args:
        path: a tab- or comma-separated table; the tab-separated release quotes nothing, the
            comma-separated one does.

    Returns: id, context, right and wrong ending of each.
    """
    columns = ["InputStoryid", *CONTEXT, *ENDINGS, "AnswerRightEnding"]
    tabs = "\t" in next(text_lines(path), "")
    stories = []
    for where, row in numbered_rows(path, columns, "\t" if tabs else ",", quoted=not tabs):
        missing = [name for name in columns if not row[name]]
        if missing:
            raise InputError(f"{where}: a story lacks {missing}; fix the row")
        answer = row["AnswerRightEnding"].strip()
        if answer not in ("1", "2"):
            raise InputError(
                f"{where}: AnswerRightEnding is {answer!r:.40}, allowed are 1 and 2; fix the line"
            )
        first, second = row[ENDINGS[0]], row[ENDINGS[1]]
        right, wrong = (first, second) if answer == "1" else (second, first)
        context = tuple(row[name] for name in CONTEXT)
        stories.append((row["InputStoryid"], context, right, wrong))
    return stories


def read_persona_chat(path: Path, drop_last: bool = False) -> list[Ordered]:
    r"""Dialogues of two speakers who take turns (Zhang et al. 2018), from ParlAI's dialogue lines.

    Args:
        path: a line is ``n text``, n starting again at 1 with each dialogue; a turn is
            ``A\tB\t\tcandidates``.
        drop_last: leaves out the last dialogue, as a parser does that emits one only when the next
            begins: the paper has 967 items of 968 dialogues.

    Returns: id and utterances of each.
    """
    dialogues: list[list[str]] = []
    for line_number, line in enumerate(text_lines(path), 1):
        if not line.strip():
            continue
        # a line with the number 1 begins a dialogue
        number, _, text = line.partition(" ")
        if not number.isdecimal() or (number != "1" and not dialogues):
            raise InputError(
                f"{path}:{line_number}: got {line[:40]!r}, "
                "a line is its number in the dialogue, a blank and text"
            )
        if number == "1":
            dialogues.append([])
        # what describes a speaker is not said
        if PERSONA.match(text):
            continue
        fields = text.split("\t")
        if len(fields) < 2:
            raise InputError(
                f"{path}:{line_number}: got {text[:40]!r}, "
                "a turn has an utterance, a tab and its answer"
            )
        for utterance in fields[:2]:
            dialogues[-1].append(utterance.replace("\\n", " "))
    if drop_last:
        dialogues = dialogues[:-1]
    return [(str(number), turns) for number, turns in enumerate(dialogues, 1)]


def read_generated_dialogues(path: Path) -> list[Ordered]:
    """Dialogues of Synthetic-Persona-Chat (Jandaghi et al. 2023), without its marks of speakers.

    Returns: id and utterances of each; dialogues without any are left out.
    """
    dialogues: list[Ordered] = []
    for number, row in enumerate(rows(path, ("Best Generated Conversation",)), 1):
        turns = []
        for line in row["Best Generated Conversation"].split("\n"):
            utterance = re.sub(r"^User [12]: *", "", line).strip()
            if utterance:
                turns.append(utterance)
        if turns:
            dialogues.append((str(number), turns))
    return dialogues


def read_narration(path: Path, length: int) -> list[Ordered]:
    """Pieces of the human stories of HANNA (Chhun et al. 2024), one after another.

    Args:
        path: HANNA's table.
        length: sentences of a piece; a story's last ones, if fewer, are left out.

    Returns: id and sentences of each piece.
    """
    stories = dict.fromkeys(row["Human"] for row in rows(path, ("Human",)))
    pieces: list[Ordered] = []
    for number, story in enumerate(stories, 1):
        sentences = [" ".join(sentence.split()) for sentence in sentence_texts(story)]
        for piece in range(len(sentences) // length):
            start = piece * length
            pieces.append((f"{number}-{piece + 1}", sentences[start : start + length]))
    return pieces


def read_dialogue_nli(path: Path) -> list[tuple[str, str, str, str]]:
    """Pairs of statements (Welleck et al. 2019): one JSON array, whatever the file's suffix says.

    Returns: id, two statements and one of ``LABELS`` of each.
    """
    pairs = []
    for number, record in enumerate(typed(json_file(path), list, f"{path}: not one JSON array")):
        where = f"{path}: record {number}"
        first = field_of(record, "sentence1", str, where)
        second = field_of(record, "sentence2", str, where)
        label = field_of(record, "label", str, where)
        if label not in LABELS:
            raise InputError(
                f"{where} has label {label!r:.40}; "
                f"needed are sentence1, sentence2 and one of {LABELS}"
            )
        pairs.append((str(record.get("id", number)), first, second, label))
    return pairs


Placed = tuple[str, dict[str, Any]]  # where a record stands (file and line), and the record


def read_schemas(path: Path) -> list[Schema]:
    """WSC273 (Levesque et al. 2012) in either of its two layouts.

    Records of a JSON-lines file have ``sentence`` with a mask and ``candidates``; Trinh and Le's
    file (2018) is one JSON array of substituted sentences, two consecutive ones to a schema.
    """
    schema_records = _array_or_lines(path)
    if not schema_records or "substitution" not in schema_records[0][1]:
        return [_masked(record, where) for where, record in schema_records]
    if len(schema_records) % 2:
        raise InputError(
            f"{path}: {counted(len(schema_records), 'substitution')}; they come in pairs, one is "
            "missing"
        )
    schemas = []
    for number in range(len(schema_records) // 2):
        first, second = schema_records[2 * number : 2 * number + 2]
        schemas.append(_substituted(str(path), number, first, second))
    return schemas


def _array_or_lines(path: Path) -> list[Placed]:
    """The objects of one JSON array, or of JSON lines, each with its place for errors."""
    text = read_text(path)
    values: list[tuple[str, Any]] = []
    if text.lstrip().startswith("["):
        array = typed(parse_json(text, str(path)), list, str(path))
        for number, value in enumerate(array, 1):
            values.append((f"{path}: record {number}", value))
    else:
        for number, line in enumerate(text.split("\n"), 1):
            where = f"{path}:{number}"
            if line.strip():
                values.append((where, parse_json(line, where)))
    return [(where, typed(value, dict, where)) for where, value in values]


def _substituted(path: str, number: int, first: Placed, second: Placed) -> Schema:
    """The schema of two consecutive records, the sentence with either candidate.

    Args:
        path: of the file, for errors.
        number: of the schema, from 0; its id, unless a record has one.
        first, second: the records, of which exactly one is correct.
    """
    sentences = []
    for where, record in (first, second):
        sentences.append(field_of(record, "substitution", str, where).split())
    first_is_correct = _flag(first[1], "correctness", first[0])
    second_is_correct = _flag(second[1], "correctness", second[0])
    if first_is_correct == second_is_correct:
        raise InputError(
            f"{path}: substitutions {2 * number} and {2 * number + 1} need exactly one correct one"
        )
    before, candidates, after = gap(*sentences)
    name = str(first[1].get("question_id", number))
    return Schema(name, before, candidates, after, int(second_is_correct))


def _flag(record: dict[str, Any], name: str, where: str) -> bool:
    """A field that is true or false."""
    value = record.get(name)
    if value not in (0, 1):  # True and False among them
        raise InputError(
            f"{where}: {name} is {short_repr(value)}, allowed are true and false, or 1 and 0; "
            "fix it"
        )
    return bool(value)


def _masked(record: dict[str, Any], where: str) -> Schema:
    """The schema of a sentence in which a mask stands for one of two candidates."""
    if not {"sentence", "candidates", "correct"} <= record.keys():
        raise InputError(
            f"{where}: got {sorted(record)}; "
            "a schema has sentence, candidates and correct, or substitution"
        )
    sentence = field_of(record, "sentence", str, where)
    candidates = texts(record["candidates"], f"{where}, candidates")
    mask = typed(record.get("mask", "[MASK]"), str, f"{where}, mask") or "[MASK]"
    before, separator, after = sentence.partition(mask)
    if not separator or len(candidates) != 2:
        raise InputError(f"{where}: {sentence!r:.60} needs one {mask} and two candidates; fix it")
    first, second = candidates
    right = int(_flag(record, "correct", where))  # the index of the right candidate
    name = str(record.get("id", where))
    return Schema(name, before.strip(), (first, second), after.strip(), right)


def gap(first: list[str], second: list[str]) -> tuple[str, tuple[str, str], str]:
    """Split two sentences that differ in one place.

    Args:
        first, second: words of the sentences.

    Returns:
        The text before that place, what either sentence has there, and the text behind it.

    Raises InputError: they are equal, or one only adds words to the other.
    """
    before = _num_shared(first, second)  # words
    after = _num_shared(first[::-1], second[::-1])
    candidate, other = (" ".join(words[before : len(words) - after]) for words in (first, second))
    if not candidate or not other:
        raise InputError(
            f"schema: {' '.join(first)!r} and {' '.join(second)!r} have no candidate each; "
            "fix the pair"
        )
    return " ".join(first[:before]), (candidate, other), " ".join(first[len(first) - after :])


def _num_shared(first: list[str], second: list[str]) -> int:
    """How many words are the same from the start on."""
    for number, (word, other) in enumerate(zip(first, second, strict=False)):
        if word != other:
            return number
    return min(len(first), len(second))


def in_sentence_case(candidate: str, before: str) -> str:
    """A candidate with a capital where it opens a sentence, its article or pronoun small elsewhere.

    "because the city councilmen", not "because The city councilmen".

    Args:
        candidate: what stands in the place of the mask.
        before: the text before it.
    """
    first, rest = candidate[:1], candidate[1:]
    # quotes and brackets close behind the full stop, or open before the candidate
    last_sign = before.rstrip("\"'() ")[-1:]
    # before nothing but quotes a sentence begins too
    opens_sentence = not last_sign or last_sign in ".!?"
    if opens_sentence:
        return first.upper() + rest
    if ARTICLES.match(candidate):
        return first.lower() + rest
    return candidate


def read_disco_annotation(path: Path) -> list[ConnectiveUse]:
    r"""Uses of connectives from lines ``id \t connective \t sense \t segment``.

    The use is marked ``<c>...</c>``, or else it is the connective's first occurrence. The corpus
    (Popescu-Belis et al. 2012) is distributed on request, and its layout could not be checked
    against a copy: this reader is the only place that knows it.
    """
    uses = []
    for number, line in enumerate(text_lines(path), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != 4:
            raise InputError(
                f"{path}:{number}: {counted(len(fields), 'column')}, "
                "allowed are four: id, connective, sense, segment"
            )
        name, connective, sense, segment = fields
        # the use, with its mark or without
        match = re.search(r"<c>(.*?)</c>", segment)
        if match is None:
            match = re.search(rf"\b({re.escape(connective)})\b", segment, re.IGNORECASE)
        if match is None:
            raise InputError(
                f"{path}:{number}: {connective!r} is not in the segment; put <c>...</c> around it"
            )
        start, word = match.start(), match[1]
        text = segment[:start] + word + segment[match.end() :]
        uses.append(ConnectiveUse(name, text, start, start + len(word), sense))
    return uses


def read_connective_lines(path: Path) -> list[ConnectiveUse]:
    """Uses of connectives from JSON lines.

    A record has ``sentence``, ``begin`` and ``end`` (characters of the connective), ``sense`` and,
    perhaps, ``prev_sentence``, which is put in front. Senses get the names of beyer2021's Table 4.
    """
    uses = []
    fields = ("sentence", "begin", "end", "sense")
    for number, (where, record) in enumerate(json_records(path, fields), 1):
        sentence = field_of(record, "sentence", str, where)
        sense = _sense(field_of(record, "sense", str, where))
        begin = field_of(record, "begin", int, where)
        end = field_of(record, "end", int, where)
        if not 0 <= begin < end <= len(sentence):
            raise InputError(
                f"{where}: characters {begin} to {end} are not in its sentence; fix begin and end"
            )
        previous = typed(record.get("prev_sentence") or "", str, f"{where}, prev_sentence")
        context = f"{previous} " if previous else ""
        start, stop = begin + len(context), end + len(context)
        name = str(record.get("id", number))
        uses.append(ConnectiveUse(name, context + sentence, start, stop, sense))
    return uses


def _sense(treebank_name: str) -> str:
    """Our name of a sense of the Penn Discourse Treebank; another name stands as it is."""
    for prefix, name in SENSES.items():
        if treebank_name.startswith(prefix):
            return name
    return treebank_name


def read_discourse_treebank(folder: Path) -> list[ConnectiveUse]:
    """Explicit connectives of a folder in the format of the Penn Discourse Treebank, as GUM has it.

    Args:
        folder: with ``raw``, texts of tokens parted by blanks, and ``gold``, files of those names
            whose lines have fields parted by bars (Liu et al. 2024; field 0 is the kind of
            relation, 1 the characters of the connective, 7 the connective, 8 its sense, 14 and 20
            the characters of its arguments).

    Returns:
        Each use with the sentences of its arguments and the one before them, tokens joined as in
        print. Uses in senses beyond ``SENSES``, of no characters or of several parts ("if ...
        then"), and those of texts that are masked, are left out.

    Raises:
        InputError: no text, or a line of another form.
    """
    texts = sorted(path for path in (folder / "raw").rglob("*") if path.is_file())
    if not texts:
        raise InputError(f"{folder}: no text below raw; name the folder that has raw and gold")
    uses: list[ConnectiveUse] = []
    for path in texts:
        # Decoded without changing line ends, whose characters spans count too.
        text = decode(read_bytes(path), str(path))
        gold = folder / "gold" / path.relative_to(folder / "raw")
        for number, line in enumerate(text_lines(gold), 1):
            fields = line.split("|")
            if fields[0] != "Explicit" or fields[1:2] == [""] or ";" in fields[1]:
                continue
            use = _treebank_use(text, fields, f"{gold}:{number}", f"{path.name}-{number}")
            if use is not None:
                uses.append(use)
    return uses


def _treebank_use(text: str, fields: list[str], where: str, use_id: str) -> ConnectiveUse | None:
    """The use in a line; None for a sense beyond ``SENSES``, or in a masked text.

    Args:
        text: of the treebank's file.
        fields: of the line, as in :func:`read_discourse_treebank`.
        where: file and line, for errors.
        use_id: the use's id.

    Raises:
        InputError: the line is no explicit relation.
    """
    try:
        start, end = _characters(fields[1])
        first_argument = _characters(fields[14])
        second_argument = _characters(fields[20])
        connective, sense = fields[7], fields[8]
    except (IndexError, ValueError) as error:
        raise InputError(
            f"{where}: no explicit relation of the Penn Discourse Treebank; "
            "its fields 1, 14 and 20 are characters as in 3..54"
        ) from error
    sense_name = _sense(sense)
    if sense_name == sense or text[start:end].lower() != connective.lower():
        return None
    # 1. The segment: the sentence before the arguments, and all sentences that hold them.
    span_start = min(start, first_argument[0], second_argument[0])
    span_end = max(end, first_argument[1], second_argument[1])
    sentence_starts, sentence_end = [0], len(text)
    for match in re.finditer(r" [.?!] ", text):
        if match.end() <= span_start:
            sentence_starts.append(match.end())
        elif match.end() >= span_end:
            sentence_end = match.end()
            break
    segment_start = sentence_starts[-2] if len(sentence_starts) > 1 else sentence_starts[-1]
    # 2. The text around the connective as it is printed.
    before = _printed(text[segment_start:start])
    after = _printed(text[end:sentence_end]).rstrip()
    offset = len(before)
    segment = before + text[start:end] + after
    return ConnectiveUse(use_id, segment, offset, offset + end - start, sense_name)


def _characters(field: str) -> tuple[int, int]:
    """First and last character of spans: (3, 70) of ``3..54;60..70``."""
    offsets = list(map(int, field.replace(";", "..").split("..")))
    return min(offsets), max(offsets)


def _printed(tokens: str) -> str:
    """Join tokens as in print: no blank before a comma, behind a bracket or within "don't"."""
    text = re.sub(r" ([,.;:?!)\]])", r"\1", tokens)
    text = re.sub(r"([(\[]) ", r"\1", text)
    return re.sub(r" (n['’]t|['’](?:s|re|ve|ll|d|m))\b", r"\1", text)
