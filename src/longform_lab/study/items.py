"""What annotators are shown.

Sections to label, claims to check, pairs to choose from; and the files that the commands read and
write. Whatever fails says which file, and which line.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from longform.documents import Document
from longform.errors import BadInput
from longform.files.artefacts import read_documents, read_yaml
from longform.files.opening import field_of, json_file, records, rows, text_lines, texts, typed
from longform.statistics.random_streams import generator

TEXTS = read_yaml(Path(__file__).with_name("texts.yaml"))  # what annotators are told
# By kind of an item that is no article, the keys of ``body`` that hold its texts.
SHOWN = {"claim": ("claim", "evidence"), "pair": ("left", "right")}
PHASES = ("training", "testing")
COHERENT = ("coherent", "incoherent")  # deng2022 Figure 15


@dataclass(frozen=True)
class Item:
    """One thing to judge.

    Attributes:
        id: unique within the study; never shown, since it may name a system.
        kind: "sections", "claim" or "pair".
        phase: training items show the gold labels on request and come first, in order; testing
            items come shuffled.
        body: {"sections": [text]}, {"claim", "evidence"} or {"left", "right"}; kept exactly.
        labels: choices of each drop-down (sections), or of the one question.
        gold: the right answers where they are known, one per section or one; never shown in
            testing.
        check: an attention check: a testing item whose gold answer everybody sees at once.
        source: where it comes from (a system, a suite); never shown.
    """

    id: str
    kind: str
    phase: str
    body: Mapping[str, Any]
    labels: tuple[str, ...]
    gold: tuple[str, ...] = ()
    check: bool = False
    source: str = ""


@dataclass(frozen=True)
class Study:
    """A named set of items with what annotators are told."""

    name: str
    title: str
    consent: str
    instructions: Mapping[str, str]
    items: tuple[Item, ...] = field(repr=False)

    def order(self, annotator: str) -> list[Item]:
        """Training items in order, then testing items in this annotator's own random order."""
        training = [item for item in self.items if item.phase == "training"]
        testing = [item for item in self.items if item.phase == "testing"]
        rng = generator("study", self.name, "order", annotator)
        shuffled = [testing[number] for number in rng.permutation(len(testing))]
        return training + shuffled

    def item(self, item_id: str) -> Item:
        """The item of that id. Raises BadInput: there is none."""
        for item in self.items:
            if item.id == item_id:
                return item
        raise BadInput(f"study {self.name!r} has no item {item_id!r}")

    def save(self, path: Path) -> None:
        """One JSON file."""
        write(path, json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n")


def load_study(path: Path) -> Study:
    """A study as :meth:`Study.save` wrote it.

    Raises:
        BadInput: no such file, not JSON, or an item that is not whole.
    """
    # 1. Its parts.
    record = json_file(path)
    parts = {"name", "title", "consent", "instructions", "items"}
    if not isinstance(record, dict) or not parts <= record.keys():
        raise BadInput(
            f"{path}: not a study, as `python -m longform_lab.study make` writes one; make it anew"
        )
    items: list[Item] = []
    ids: set[str] = set()
    for number, item_record in enumerate(field_of(record, "items", list, str(path))):
        items.append(_item(item_record, f"{path}, item {number}"))
        ids.add(items[-1].id)
    name = field_of(record, "name", str, str(path))
    title = field_of(record, "title", str, str(path))
    consent = field_of(record, "consent", str, str(path))
    instructions = field_of(record, "instructions", dict, str(path))
    for phase, text in instructions.items():
        typed(text, str, f"{path}, instructions of {phase!r:.40}")
    # 2. Each item by an id of its own.
    if not items or len(ids) < len(items):
        raise BadInput(
            f"{path}: a study needs items, each with an id of its own; "
            f"got {len(items)}, {len(ids)} ids"
        )
    return Study(name, title, consent, instructions, tuple(items))


def _item(record: Any, where: str) -> Item:
    """Check a record of a study's file and make its item.

    Args:
        record: what was parsed, of any type.
        where: its place, for messages.

    Raises:
        BadInput: a field is missing, unknown, of another type, or has a value that is not allowed;
            or there is no label.
    """
    # 1. What every item has.
    name = field_of(record, "id", str, where)
    kind = field_of(record, "kind", str, where)
    phase = field_of(record, "phase", str, where)
    body = field_of(record, "body", dict, where)
    labels = texts(record.get("labels"), f"{where}, labels")
    # 2. What its kind needs.
    if kind not in ("sections", *SHOWN) or phase not in PHASES or not labels:
        allowed = f"{('sections', *SHOWN)} and {PHASES}"
        raise BadInput(f"{where}: kind {kind!r:.40}, phase {phase!r:.40}; allowed are {allowed}")
    if kind == "sections" and not texts(body.get("sections"), f"{where}, sections"):
        raise BadInput(f"{where}: no section to show; a {kind} needs texts")
    for key in SHOWN.get(kind, ()):
        field_of(body, key, str, where)
    # 3. What it may have, and nothing else.
    allowed_fields = {field.name for field in fields(Item)}
    if unknown := sorted(record.keys() - allowed_fields):
        raise BadInput(
            f"{where}: got fields {unknown}, allowed are {sorted(allowed_fields)}; "
            "make the study anew"
        )
    gold = tuple(texts(record.get("gold", []), f"{where}, gold"))
    check = typed(record.get("check", False), bool, f"{where}, check")
    source = typed(record.get("source", ""), str, f"{where}, source")
    return Item(name, kind, phase, body, tuple(labels), gold, check, source)


def questions(item: Item) -> list[tuple[str, tuple[str, ...]]]:
    """(name, choices) of every question that an item asks."""
    if item.kind != "sections":
        return [("label", item.labels)]
    every_question = []
    for number in range(len(item.body["sections"])):
        every_question.append((f"section_{number}", item.labels))
    if item.phase == "testing":
        every_question.append(("coherent", COHERENT))
    return every_question


def sections_study(
    training: Sequence[Document],
    testing: Mapping[str, Sequence[Document]],
    *,
    name: str,
    per_system: int,
    seed: int,
) -> Study:
    """deng2022's study: label sections, and say whether articles are coherent.

    Annotators label the sections of real training articles, then, blind, of articles of every
    system.

    Args:
        training: real articles; those with all their titles are shown.
        testing: articles of each system.
        name: of the study.
        per_system: articles of each system that are judged; those shown in training are not among
            them.
        seed: of the draws.

    Raises:
        BadInput: no titled training article, no article of a system left, none asked for, or an id
            that comes twice.
    """
    if per_system < 1:
        raise BadInput(f"study {name!r}: {per_system} articles per system; ask for 1 or more")
    # 1. Training articles, and the section types that they have.
    titled = []
    types: set[str] = set()
    for document in training:
        titles = [section.title for section in document.sections]
        if all(titles):
            titled.append(document)
            types.update(title for title in titles if title)
    if not titled:
        raise BadInput(
            f"study {name!r}: none of {len(training)} training articles has all its titles; "
            "give others"
        )
    labels = tuple(sorted(types))
    items = [_sections(document, "training", labels, "data") for document in titled]
    # 2. Articles of each system that training does not show, in whatever order of sections.
    shown = [_section_texts(document) for document in titled]
    for system, documents in testing.items():
        unseen = [document for document in documents if _section_texts(document) not in shown]
        if not unseen:
            raise BadInput(
                f"study {name!r}: system {system!r} has no article outside training; give it others"
            )
        order = generator("study", name, seed, system).permutation(len(unseen))
        for number in sorted(order[:per_system]):
            items.append(_sections(unseen[number], "testing", labels, system))
    # 3. An attention check for every twenty items.
    for number in range(max(1, len(items) // 20)):
        items.append(_check(number, labels))
    return _study(name, "sections", items)


def _section_texts(document: Document) -> list[str]:
    """What is learnt of an article in training, in whatever order its sections come."""
    return sorted(section.text for section in document.sections)


def _check(number: int, labels: tuple[str, ...]) -> Item:
    """An attention check, which says what to choose."""
    label = labels[number % len(labels)]
    text = f"This is an attention check. Choose “{label}” here and “incoherent” below."
    return Item(
        f"testing/check/{number}",
        "sections",
        "testing",
        {"sections": [text]},
        labels,
        gold=(label, COHERENT[1]),
        check=True,
        source="check",
    )


def _sections(document: Document, phase: str, labels: tuple[str, ...], system: str) -> Item:
    """An article whose sections are labelled; in training with its own titles as gold."""
    gold: tuple[str, ...] = ()
    if phase == "training":
        gold = tuple(section.title or "" for section in document.sections)
    body = {"sections": [section.text for section in document.sections]}
    name = f"{phase}/{system}/{document.id}"
    return Item(name, "sections", phase, body, labels, gold, source=system)


def _study(name: str, kind: str, items: Sequence[Item]) -> Study:
    """The study of some items. Raises BadInput: none, or an id that comes twice."""
    counts: Counter[str] = Counter()
    for item in items:
        counts[item.id] += 1
    twice = [item_id for item_id, count in counts.items() if count > 1]
    if twice or not items:  # answers are kept by id
        what = f"{len(twice)} ids come twice, first {twice[0]!r}" if twice else "no item"
        raise BadInput(f"study {name!r}: {what}; give at least one item, and each an id of its own")
    texts_of_kind = TEXTS[kind]
    return Study(
        name, texts_of_kind["title"], TEXTS["consent"], texts_of_kind["instructions"], tuple(items)
    )


def rows_study(rows: Sequence[Mapping[str, Any]], name: str, kind: str) -> Study:
    """Claims or pairs from the rows of a sheet.

    Raises:
        BadInput: no row, one that lacks a text, or an id that comes twice.
    """
    fields, labels = SHOWN[kind], tuple(TEXTS[kind]["labels"])
    items = []
    for number, row in enumerate(rows):
        missing = [key for key in ("item_id", *fields) if not isinstance(row.get(key), str)]
        if missing:
            raise BadInput(
                f"study {name!r}, row {number}: {missing} is no text; "
                f"a {kind} needs item_id, {fields}"
            )
        body = {key: row[key] for key in fields}
        suite = str(row.get("suite", ""))
        items.append(Item(row["item_id"], kind, "testing", body, labels, source=suite))
    return _study(name, kind, items)


def needed(first: float, second: float, level: float = 0.05, power: float = 0.8) -> int:
    """Judgements per system so that a test finds the difference of two shares.

    A two-sided test, by the normal approximation.

    Args:
        first, second: the shares.
        level: of the test.
        power: probability of finding it.

    Raises:
        BadInput: equal shares, or one outside 0 to 1.
    """
    if first == second or not (0 <= first <= 1 and 0 <= second <= 1):
        raise BadInput(
            f"power of {first} against {second}: allowed are two different shares from 0 to 1"
        )
    from scipy.stats import norm

    mean = (first + second) / 2
    spread = norm.ppf(1 - level / 2) * math.sqrt(2 * mean * (1 - mean))
    spread += norm.ppf(power) * math.sqrt(first * (1 - first) + second * (1 - second))
    return math.ceil((spread / (first - second)) ** 2)


def documents(folder: Path) -> list[Document]:
    """Documents of a corpus or of a system's folder, or of a file of them.

    Raises:
        BadInput: none there, or a line that is none.
    """
    return read_documents(folder / "documents.jsonl" if folder.is_dir() else folder)


def sheet(path: Path) -> list[dict[str, Any]]:
    """Rows of a sheet: JSON lines, or CSV by commas, semicolons or tabs, as its first line has.

    Raises:
        BadInput: naming the line.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name a .jsonl or .csv sheet")
    if path.suffix != ".csv":
        return [row for _, row in records(path)]
    first = next(text_lines(path), None)
    if first is None:
        return []
    delimiter = max(",;\t", key=first.count)  # spreadsheets of many countries write semicolons
    return list(rows(path, (), delimiter))


def write(path: Path, text: str) -> None:
    """Write a text in UTF-8 over what is there; make its parent folders.

    Raises:
        BadInput: the file cannot be written, or the text has a lone surrogate.
    """
    try:
        encoded = text.encode("utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded)
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{path}: half a surrogate pair in what is written, which is no text; fix its source"
        ) from error
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be written ({error.strerror}); name another --out"
        ) from error
