"""Targeted test suites: items in two or more conditions, cut into numbered regions, with predictions about them.

The files are SyntaxGym's (cpllab/syntaxgym-core, suite.py): one JSON object with ``meta``, ``region_meta``,
``predictions`` and ``items``. What is read is written back unchanged, so the original tools read what we write. The
edit that made a condition is kept beside the item and travels in ``meta.edits``, a free field of that schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from longform.datasets.test_suites.prediction_formulas import Formula, parse, region_values
from longform.datasets.test_suites.region_metrics import METRICS
from longform.documents import BadInput
from longform.malformed import refusing

FREE = {"name", "metric", "edits"}


@dataclass(frozen=True)
class Region:
    """A numbered piece of text; ``notes`` are fields that an evaluation by the original tools adds."""

    number: int
    content: str
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """One version of an item's text."""

    name: str
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class SuiteItem:
    """One item in all its conditions, with the edits that made the manipulated ones."""

    number: int
    conditions: tuple[Condition, ...]
    edits: tuple[Mapping[str, Any], ...] = ()

    def condition(self, name: str) -> Condition:
        """The condition of a name."""
        return next(condition for condition in self.conditions if condition.name == name)


@dataclass(frozen=True)
class Suite:
    """A named set of items with the same conditions.

    Attributes:
        metric: how the token surprisals of a region become its value; one of ``METRICS``.
        predictions: formulas as written; an item succeeds where all of them hold.
        region_names: for display, by region number.
        meta: further fields of the file's ``meta`` (reference, author, comment ...).
    """

    name: str
    metric: str
    predictions: tuple[str, ...]
    items: tuple[SuiteItem, ...]
    region_names: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def formulas(self) -> tuple[Formula, ...]:
        """The predictions, parsed."""
        return tuple(parse(text, f"suite {self.name}, prediction {i}") for i, text in enumerate(self.predictions))


def pair(number: int, conditions: Mapping[str, Sequence[str]], edits: Sequence[Mapping[str, Any]] = ()) -> SuiteItem:
    """An item from region texts by condition name; regions are numbered from 1."""
    made = tuple(
        Condition(name, tuple(Region(i, normalised(text)) for i, text in enumerate(regions, 1)))
        for name, regions in conditions.items()
    )
    return SuiteItem(number, made, tuple(edits))


def normalised(text: str) -> str:
    """Any run of whitespace (no-break spaces and tabs too) becomes one space, the ends are bare: SyntaxGym's rule."""
    return " ".join(text.split())


@refusing("a suite of SyntaxGym")
def read_suite(path: Path) -> Suite:
    """One suite file.

    Raises:
        BadInput: absent, not JSON, or not a suite; the message names item, condition and what is wrong.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; name a suite in SyntaxGym's JSON")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not JSON ({error}); export the suite again") from error
    return suite_from_record(record, str(path))


@refusing("a suite of SyntaxGym")
def suite_from_record(record: Any, where: str = "suite") -> Suite:
    """Parse and check one suite; see :func:`read_suite`."""
    if not isinstance(record, dict) or not {"meta", "region_meta", "predictions", "items"} <= record.keys():
        raise BadInput(
            f"{where}: a suite is an object with meta, region_meta, predictions and items; add what is missing"
        )
    meta = _a(dict, record["meta"], f"{where}, meta")
    edits = _a(dict, meta.get("edits", {}), f"{where}, meta.edits")
    items = tuple(_item(item, edits, where) for item in _a(list, record["items"], f"{where}, items"))
    free = {key: value for key, value in meta.items() if key not in FREE}
    formulas = tuple(_formula(each, where) for each in _a(list, record["predictions"], f"{where}, predictions"))
    names = {str(key): value for key, value in _a(dict, record["region_meta"], f"{where}, region_meta").items()}
    return checked(Suite(_field(meta, "name", where), _field(meta, "metric", where), formulas, items, names, free))


def _a(kind: type, value: Any, where: str) -> Any:
    """The value, if it is of that kind: dict, list or int."""
    if not isinstance(value, kind):
        names = {dict: "an object", list: "a list", int: "a whole number"}
        raise BadInput(f"{where}: got {value!r:.60}, allowed is {names[kind]}; mend the file")
    return value


def _field(record: Any, key: str, where: str) -> Any:
    if key not in _a(dict, record, where):
        raise BadInput(f"{where}: got fields {sorted(record)}, {key!r} is missing; add it")
    return record[key]


def _formula(prediction: Mapping[str, Any], where: str) -> str:
    if _a(dict, prediction, f"{where}, prediction").get("type") != "formula":
        raise BadInput(
            f"{where}: a prediction has type {prediction.get('type')!r}, allowed is 'formula'; rewrite it as one"
        )
    return str(_field(prediction, "formula", where))


def _item(record: Mapping[str, Any], edits: Mapping[str, Any], where: str) -> SuiteItem:
    number = _a(int, _field(record, "item_number", where), f"{where}, item_number")
    place = f"{where}, item {number}"
    conditions = tuple(
        _condition(condition, place) for condition in _a(list, _field(record, "conditions", place), place)
    )
    return SuiteItem(number, conditions, tuple(edits.get(str(number), ())))


def _condition(record: Mapping[str, Any], where: str) -> Condition:
    name = str(_field(record, "condition_name", where))
    place = f"{where}, condition {name}"
    regions = [_region(region, place) for region in _a(list, _field(record, "regions", place), f"{place}, regions")]
    numbers = [region.number for region in regions]
    if len(set(numbers)) < len(numbers):
        raise BadInput(f"{place}: region numbers are {numbers}; give every region a number of its own")
    return Condition(name, tuple(regions))


def _region(record: Mapping[str, Any], where: str) -> Region:
    number = _a(int, _field(record, "region_number", where), f"{where}, region_number")
    notes = {key: value for key, value in record.items() if key not in ("region_number", "content")}
    return Region(number, str(_field(record, "content", where)), notes)


def checked(suite: Suite) -> Suite:
    """The suite itself, if every item has every condition and every region that a prediction names.

    Raises:
        BadInput: an unknown metric, a missing condition or region, a repeated item.
    """
    if suite.metric not in METRICS:
        raise BadInput(f"suite {suite.name}: metric {suite.metric!r} is not one of {list(METRICS)}; choose one")
    if not suite.items or not suite.predictions:
        raise BadInput(
            f"suite {suite.name}: {len(suite.items)} items, {len(suite.predictions)} predictions; give one of each"
        )
    numbers = [item.number for item in suite.items]
    if len(set(numbers)) < len(numbers):
        raise BadInput(f"suite {suite.name}: item numbers repeat; number the items apart, results are kept per number")
    wanted = [c.name for c in suite.items[0].conditions]
    for item in suite.items:
        _check_item(suite, item, wanted)
    _check_formulas(suite)
    return suite


def _check_item(suite: Suite, item: SuiteItem, wanted: Sequence[str]) -> None:
    names, where = [c.name for c in item.conditions], f"suite {suite.name}, item {item.number}"
    if sorted(names) != sorted(set(wanted)):
        raise BadInput(
            f"{where}: conditions are {names}, the first item has {list(wanted)}; give every item each of them once"
        )


def _check_formulas(suite: Suite) -> None:
    for formula in suite.formulas():
        for named in region_values(formula):
            for item in suite.items:
                _check_reference(suite.name, item, named.region, named.condition)


def _check_reference(name: str, item: SuiteItem, region: int | None, condition: str) -> None:
    names = [c.name for c in item.conditions]
    if condition not in names:
        raise BadInput(
            f"suite {name}: a prediction names condition {condition!r}, allowed are {names}; mend the formula"
        )
    numbers = [r.number for r in item.condition(condition).regions]
    if region is not None and region not in numbers:
        raise BadInput(
            f"suite {name}: a prediction names region {region}, item {item.number} has {numbers}; mend the formula"
        )


def suite_to_record(suite: Suite) -> dict[str, Any]:
    """The JSON form, readable by the original tools."""
    edits = {str(item.number): [dict(edit) for edit in item.edits] for item in suite.items if item.edits}
    meta = {"name": suite.name, "metric": suite.metric, **suite.meta} | ({"edits": edits} if edits else {})
    predictions = [{"type": "formula", "formula": text} for text in suite.predictions]
    items = [_item_record(item) for item in suite.items]
    return {"meta": meta, "region_meta": dict(suite.region_names), "predictions": predictions, "items": items}


def _item_record(item: SuiteItem) -> dict[str, Any]:
    conditions = [
        {
            "condition_name": condition.name,
            "regions": [{"region_number": r.number, "content": r.content, **r.notes} for r in condition.regions],
        }
        for condition in item.conditions
    ]
    return {"item_number": item.number, "conditions": conditions}


def renamed(suite: Suite, name: str, **changes: Any) -> Suite:
    """The suite under another name, with other fields changed, checked again."""
    return checked(replace(suite, name=name, **changes))
