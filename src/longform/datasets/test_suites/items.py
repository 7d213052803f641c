"""Targeted test suites: items in two or more conditions, cut into numbered regions.

A suite has predictions about the regions. Its files are SyntaxGym's (cpllab/syntaxgym-core,
suite.py). As a corpus, an item is a document ``suite/item`` with sections ``condition:region``; the
rest is JSON in ``truth["suite_heads"]``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.test_suites.prediction_formulas import (
    METRICS,
    Formula,
    RegionValue,
    parse,
    region_values,
)
from longform.documents import Corpus, Document, Section
from longform.errors import BadInput
from longform.files.opening import field_of, json_file, typed


@dataclass(frozen=True)
class Region:
    """A numbered piece of text."""

    number: int
    content: str


@dataclass(frozen=True)
class Condition:
    """One version of an item's text."""

    name: str
    regions: tuple[Region, ...]

    @property
    def region_numbers(self) -> list[int]:
        """Numbers of the regions, in their order."""
        return [region.number for region in self.regions]


@dataclass(frozen=True)
class SuiteItem:
    """One item in all its conditions, with the edits that made the manipulated ones."""

    number: int
    conditions: tuple[Condition, ...]
    edits: tuple[Mapping[str, Any], ...] = ()

    @property
    def condition_names(self) -> list[str]:
        """Names of the conditions, in their order."""
        return [condition.name for condition in self.conditions]

    def condition(self, name: str) -> Condition:
        """The condition with this name."""
        return next(condition for condition in self.conditions if condition.name == name)


@dataclass(frozen=True)
class Suite:
    """A named set of items with the same conditions.

    Attributes:
        name: of the suite.
        metric: one of ``METRICS``: how the token surprisals of a region become its value.
        predictions: formulas as written; an item succeeds where all of them hold.
        items: at least one.
        region_names: for display, by region number.
        meta: the file's other ``meta``: reference, author, comment.
    """

    name: str
    metric: str
    predictions: tuple[str, ...]
    items: tuple[SuiteItem, ...]
    region_names: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def formulas(self) -> tuple[Formula, ...]:
        """The predictions, parsed. Raises BadInput: one of them is no formula."""
        formulas = []
        for number, text in enumerate(self.predictions):
            formulas.append(parse(text, f"suite {self.name}, prediction {number}"))
        return tuple(formulas)


def pair(
    number: int, conditions: Mapping[str, Sequence[str]], edits: Sequence[Mapping[str, Any]] = ()
) -> SuiteItem:
    """Make an item of the texts of its regions.

    Args:
        number: of the item.
        conditions: texts of the regions, which are numbered from 1, by condition name. Any run of
            whitespace (no-break spaces and tabs too) becomes one space, the ends are bare:
            SyntaxGym's rule.
        edits: what made the manipulated conditions.
    """
    item_conditions = []
    for name, texts in conditions.items():
        regions = []
        for region, text in enumerate(texts, 1):
            regions.append(Region(region, " ".join(text.split())))
        item_conditions.append(Condition(name, tuple(regions)))
    return SuiteItem(number, tuple(item_conditions), tuple(edits))


def read_suite(path: Path) -> Suite:
    """One suite file.

    Raises BadInput: absent, not JSON, or not a suite; the message names item, condition and what is
        wrong.
    """
    return suite_from_record(json_file(path), str(path))


def suite_from_record(record: Any, where: str = "suite") -> Suite:
    """Parse and check one suite; see :func:`read_suite`."""
    needed = {"meta", "region_meta", "predictions", "items"}
    if not isinstance(record, dict) or not needed <= record.keys():
        raise BadInput(
            f"{where}: a suite is an object with meta, region_meta, predictions and items; fix it"
        )
    meta = field_of(record, "meta", dict, where)
    items = []
    for item in field_of(record, "items", list, where):
        items.append(_item_from_record(item, where))
    formulas = []
    for prediction in field_of(record, "predictions", list, where):
        kind = typed(prediction, dict, f"{where}, prediction").get("type")
        if kind != "formula":
            raise BadInput(f"{where}: a prediction has type {kind!r}, allowed is 'formula'; fix it")
        formulas.append(field_of(prediction, "formula", str, where))
    # region numbers are keys, which other writers of JSON may not make texts
    region_meta = field_of(record, "region_meta", dict, where)
    region_names = {str(number): name for number, name in region_meta.items()}
    name = field_of(meta, "name", str, where)
    metric = field_of(meta, "metric", str, where)
    other_meta = dict(meta)
    del other_meta["name"], other_meta["metric"]
    suite = Suite(name, metric, tuple(formulas), tuple(items), region_names, other_meta)
    return checked(suite, f"{where}, ")


def _item_from_record(item: Any, where: str) -> SuiteItem:
    """Parse one item of a suite."""
    number = field_of(item, "item_number", int, where)
    inside = f"{where}, item {number}"
    conditions = []
    for condition in field_of(item, "conditions", list, inside):
        name = field_of(condition, "condition_name", str, inside)
        regions = _regions_from_record(condition, f"{inside}, condition {name}")
        conditions.append(Condition(name, regions))
    return SuiteItem(number, tuple(conditions))


def _regions_from_record(condition: Any, where: str) -> tuple[Region, ...]:
    """Parse the regions of one condition, whose numbers may not repeat."""
    regions = []
    numbers = []
    for region in field_of(condition, "regions", list, where):
        number = field_of(region, "region_number", int, where)
        numbers.append(number)
        regions.append(Region(number, field_of(region, "content", str, where)))
    if len(set(numbers)) < len(numbers):
        raise BadInput(
            f"{where}: region numbers are {numbers}; give every region a number of its own"
        )
    return tuple(regions)


def checked(suite: Suite, source: str = "") -> Suite:
    """The suite itself, if every item has every condition and every region that a prediction names.

    Args:
        suite: what is checked.
        source: where it comes from, with which errors begin.

    Raises BadInput: an unknown metric, a missing condition or region, a repeated item.
    """
    # 1. The suite as a whole.
    where = f"{source}suite {suite.name}"
    if suite.metric not in METRICS:
        raise BadInput(
            f"{where}: metric {suite.metric!r} is not one of {list(METRICS)}; choose one"
        )
    if not suite.items or not suite.predictions:
        raise BadInput(
            f"{where}: {len(suite.items)} items, {len(suite.predictions)} predictions; "
            "give one of each"
        )
    numbers = [item.number for item in suite.items]
    if len(set(numbers)) < len(numbers):
        raise BadInput(
            f"{where}: item numbers repeat; number the items apart, results are kept per number"
        )
    # 2. Its items, against the first.
    conditions = suite.items[0].condition_names
    for item in suite.items:
        names = item.condition_names
        if sorted(names) != sorted(set(conditions)):
            raise BadInput(
                f"{where}, item {item.number}: conditions are {names}, "
                f"the first item has {conditions}; give every item each of them once"
            )
    # 3. Its predictions, against the items.
    for number, text in enumerate(suite.predictions):
        for value in region_values(parse(text, f"{where}, prediction {number}")):
            _check_region(suite, value, conditions, where)
    return suite


def _check_region(suite: Suite, value: RegionValue, conditions: list[str], where: str) -> None:
    """Check that every item has a condition and a region that a prediction names.

    Args:
        suite: whose items are checked.
        value: condition and region of the prediction.
        conditions: names of the suite's conditions.
        where: the suite, for errors.

    Raises BadInput: an item lacks one of them.
    """
    if value.condition not in conditions:
        raise BadInput(
            f"{where}: a prediction names condition {value.condition!r}, "
            f"allowed are {conditions}; fix it"
        )
    if value.region is None:
        return
    for item in suite.items:
        present = item.condition(value.condition).region_numbers
        if value.region not in present:
            raise BadInput(
                f"{where}: a prediction names region {value.region}, "
                f"item {item.number} has {present}; fix one of them"
            )


def suites_to_corpus(suites: Sequence[Suite], facts: Mapping[str, object] | None = None) -> Corpus:
    """Pack suites as a corpus.

    Args:
        suites: with names of their own.
        facts: of the corpus; they gain the number of items of each suite.

    Raises BadInput: two suites share a name.
    """
    names = [suite.name for suite in suites]
    if len(set(names)) < len(names):
        raise BadInput(
            f"suites: names repeat in {sorted(names)}; results are kept per name, rename one"
        )
    documents = []
    heads = []
    counts = {}
    for suite in suites:
        heads.append(json.dumps(suite_head(suite), sort_keys=True))
        counts[suite.name] = len(suite.items)
        for item in suite.items:
            unit = f"{suite.name}/{item.number}"
            documents.append(Document(unit, "test", _sections(item), item.edits))
    truth = {"suite_heads": np.array(heads, dtype=np.str_)}
    return Corpus(documents, truth, {**(facts or {}), "items": counts})


def _sections(item: SuiteItem) -> tuple[Section, ...]:
    """The sections of an item's document: a region each, titled ``condition:region``."""
    sections = []
    for condition in item.conditions:
        for region in condition.regions:
            sections.append(Section(f"{condition.name}:{region.number}", region.content))
    return tuple(sections)


def suite_head(suite: Suite) -> dict[str, object]:
    """Everything of a suite's record but its items."""
    return {
        "meta": {"name": suite.name, "metric": suite.metric, **suite.meta},
        "region_meta": dict(suite.region_names),
        "predictions": [{"type": "formula", "formula": text} for text in suite.predictions],
    }


def suites_from_documents(
    documents: Sequence[Document], truth: Mapping[str, np.ndarray]
) -> list[Suite]:
    """Inverse of :func:`suites_to_corpus`. Raises BadInput: the corpus holds no suites."""
    if "suite_heads" not in truth:
        raise BadInput(
            "the corpus has no suite_heads, so it is none of test suites; name one that is"
        )
    items: dict[str, list[SuiteItem]] = {}  # by suite
    for document in documents:
        name, number = document.id.rsplit("/", 1)
        items.setdefault(name, []).append(_item_from_document(document, int(number)))
    suites = []
    for text in truth["suite_heads"].tolist():
        head = json.loads(text)
        meta = head["meta"]
        name, metric = meta.pop("name"), meta.pop("metric")
        formulas = tuple(prediction["formula"] for prediction in head["predictions"])
        its_items = tuple(items.get(name, ()))
        suites.append(checked(Suite(name, metric, formulas, its_items, head["region_meta"], meta)))
    return suites


def _item_from_document(document: Document, number: int) -> SuiteItem:
    """Inverse of :func:`_sections`."""
    regions: dict[str, list[Region]] = {}  # by condition
    for section in document.sections:
        condition, region = str(section.title).rsplit(":", 1)
        regions.setdefault(condition, []).append(Region(int(region), section.text))
    conditions = tuple(Condition(name, tuple(rows)) for name, rows in regions.items())
    return SuiteItem(number, conditions, document.edits)
