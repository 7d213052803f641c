"""What annotators are shown: sections to label, claims to check, pairs to choose from; and the files that the commands read and write.

Whatever fails says which file, and which line.
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
SHOWN = {
    "claim": ("claim", "evidence"),
    "pair": ("left", "right"),
}  # the texts of an item that is no article
PHASES = ("training", "testing")
COHERENT = ("coherent", "incoherent")  # deng2022 Figure 15


@dataclass(frozen=True)
class Item:
    """One thing to judge."""

    id: str  # unique within the study; never shown, since it may name a system
    kind: str  # "sections", "claim" or "pair"
    phase: str  # training items show the gold labels on request and come first, in order; testing items come shuffled
    body: Mapping[
        str, Any
    ]  # {"sections": [text]}, {"claim", "evidence"} or {"left", "right"}; kept exactly
    labels: tuple[str, ...]  # choices of each drop-down (sections), or of the one question
    gold: tuple[
        str, ...
    ] = ()  # the right answers where they are known, one per section or one; never shown in testing
    check: bool = (
        False  # an attention check: a testing item whose gold answer everybody sees at once
    )
    source: str = ""  # where it comes from (a system, a suite); never shown


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
        training, testing = (
            [item for item in self.items if item.phase == phase] for phase in PHASES
        )
        draw = generator("study", self.name, "order", annotator)
        return training + [testing[i] for i in draw.permutation(len(testing))]

    def item(self, item_id: str) -> Item:
        """The item of that id. Raises BadInput: there is none."""
        if (found := next((item for item in self.items if item.id == item_id), None)) is None:
            raise BadInput(f"study {self.name!r} has no item {item_id!r}")
        return found

    def save(self, path: Path) -> None:
        """One JSON file."""
        write(path, json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n")


def load_study(path: Path) -> Study:
    """A study as :meth:`Study.save` wrote it. Raises BadInput: no such file, not JSON, or an item that is not whole."""
    held = json_file(path)
    if (
        not isinstance(held, dict)
        or not {"name", "title", "consent", "instructions", "items"} <= held.keys()
    ):
        raise BadInput(
            f"{path}: not a study, as `python -m longform_lab.study make` writes one; make it anew"
        )
    items = tuple(
        _item(one, f"{path}, item {place}")
        for place, one in enumerate(field_of(held, "items", list, str(path)))
    )
    name, title, consent = (
        field_of(held, key, str, str(path)) for key in ("name", "title", "consent")
    )
    instructions = field_of(held, "instructions", dict, str(path))
    for phase, text in instructions.items():
        typed(text, str, f"{path}, instructions of {phase!r:.40}")
    ids = [item.id for item in items]
    if not ids or len(set(ids)) < len(ids):
        raise BadInput(
            f"{path}: a study needs items, each with an id of its own; got {len(ids)}, {len(set(ids))} ids"
        )
    return Study(name, title, consent, instructions, items)


def _item(held: Any, where: str) -> Item:
    name, kind, phase = (field_of(held, key, str, where) for key in ("id", "kind", "phase"))
    body, labels = (
        field_of(held, "body", dict, where),
        texts(held.get("labels"), f"{where}, labels"),
    )
    if kind not in ("sections", *SHOWN) or phase not in PHASES or not labels:
        allowed = f"{('sections', *SHOWN)} and {PHASES}"
        raise BadInput(f"{where}: kind {kind!r:.40}, phase {phase!r:.40}; allowed are {allowed}")
    if kind == "sections" and not texts(body.get("sections"), f"{where}, sections"):
        raise BadInput(f"{where}: no section to show; a {kind} needs texts")
    for key in SHOWN.get(kind, ()):
        field_of(body, key, str, where)
    known = {one.name for one in fields(Item)}
    if unknown := sorted(held.keys() - known):
        raise BadInput(
            f"{where}: got fields {unknown}, allowed are {sorted(known)}; make the study anew"
        )
    gold = tuple(texts(held.get("gold", []), f"{where}, gold"))
    check, source = (
        typed(held.get(key, kind()), kind, f"{where}, {key}")
        for key, kind in (("check", bool), ("source", str))
    )
    return Item(name, kind, phase, body, tuple(labels), gold, check, source)


def questions(item: Item) -> list[tuple[str, tuple[str, ...]]]:
    """(name, choices) of every question that an item asks."""
    if item.kind != "sections":
        return [("label", item.labels)]
    asked = [(f"section_{i}", item.labels) for i in range(len(item.body["sections"]))]
    return asked + ([("coherent", COHERENT)] if item.phase == "testing" else [])


def sections_study(
    training: Sequence[Document],
    testing: Mapping[str, Sequence[Document]],
    *,
    name: str,
    per_system: int,
    seed: int,
) -> Study:
    """deng2022's study: label the sections of real training articles, then, blind, of ``per_system`` others of every system.

    Raises BadInput: no titled training article, no article of a system left, none asked for, or an id that comes twice.
    """
    if per_system < 1:
        raise BadInput(f"study {name!r}: {per_system} articles per system; ask for 1 or more")
    titled = [
        document for document in training if all(section.title for section in document.sections)
    ]
    if not titled:
        raise BadInput(
            f"study {name!r}: none of {len(training)} training articles has all its titles; give others"
        )
    labels = tuple(
        sorted(
            {section.title for document in titled for section in document.sections if section.title}
        )
    )
    items = [_sections(document, "training", labels, "data") for document in titled]

    def texts(
        document: Document,
    ) -> list[str]:  # what is learnt of it in training, in whatever order its sections come
        return sorted(section.text for section in document.sections)

    shown = list(map(texts, titled))
    for system, documents in testing.items():
        unseen = [document for document in documents if texts(document) not in shown]
        if not unseen:
            raise BadInput(
                f"study {name!r}: system {system!r} has no article outside training; give it others"
            )
        drawn = generator("study", name, seed, system).permutation(len(unseen))[:per_system]
        items += [_sections(unseen[i], "testing", labels, system) for i in sorted(drawn)]
    for number in range(max(1, len(items) // 20)):
        wanted = labels[number % len(labels)]
        body = {
            "sections": [
                f"This is an attention check. Choose “{wanted}” here and “incoherent” below."
            ]
        }
        told = ("sections", "testing", body, labels, (wanted, COHERENT[1]), True, "check")
        items.append(Item(f"testing/check/{number}", *told))
    return _study(name, "sections", items)


def _sections(document: Document, phase: str, labels: tuple[str, ...], system: str) -> Item:
    gold = (
        tuple(section.title or "" for section in document.sections) if phase == "training" else ()
    )
    body = {"sections": [section.text for section in document.sections]}
    return Item(
        f"{phase}/{system}/{document.id}", "sections", phase, body, labels, gold, source=system
    )


def _study(name: str, kind: str, items: Sequence[Item]) -> Study:
    twice = [item_id for item_id, count in Counter(item.id for item in items).items() if count > 1]
    if twice or not items:  # answers are kept by id
        what = f"{len(twice)} ids come twice, first {twice[0]!r}" if twice else "no item"
        raise BadInput(f"study {name!r}: {what}; give at least one item, and each an id of its own")
    return Study(
        name, TEXTS[kind]["title"], TEXTS["consent"], TEXTS[kind]["instructions"], tuple(items)
    )


def rows_study(rows: Sequence[Mapping[str, Any]], name: str, kind: str) -> Study:
    """Claims or pairs from the rows of a sheet. Raises BadInput: no row, one that lacks a text, or an id that comes twice."""
    fields, labels = SHOWN[kind], tuple(TEXTS[kind]["labels"])
    items = []
    for place, row in enumerate(rows):
        if missing := [key for key in ("item_id", *fields) if not isinstance(row.get(key), str)]:
            raise BadInput(
                f"study {name!r}, row {place}: {missing} is no text; a {kind} needs item_id, {fields}"
            )
        body = {key: row[key] for key in fields}
        items.append(
            Item(row["item_id"], kind, "testing", body, labels, source=str(row.get("suite", "")))
        )
    return _study(name, kind, items)


def needed(first: float, second: float, level: float = 0.05, power: float = 0.8) -> int:
    """Judgements per system so that a two-sided test of two shares finds their difference (normal approximation).

    Raises BadInput: equal shares, or one outside 0 to 1.
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
    """Documents of a corpus or of a system's folder, or of a file of them. Raises BadInput: none there, or a line that is none."""
    return read_documents(folder / "documents.jsonl" if folder.is_dir() else folder)


def sheet(path: Path) -> list[dict[str, Any]]:
    """Rows of a sheet, CSV (by commas, semicolons or tabs, as its first line has them) or JSON lines. Raises BadInput: naming the line."""
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
    """Write UTF-8, parent folders too. Raises BadInput: the place cannot be written, or the text has half a surrogate pair."""
    try:
        held = text.encode("utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(held)
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{path}: half a surrogate pair in what is written, which is no text; fix its source"
        ) from error
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be written ({error.strerror}); name another --out"
        ) from error
