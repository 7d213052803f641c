"""Targeted test suites: items in two or more conditions, cut into numbered regions, with predictions about them.

The files are SyntaxGym's (cpllab/syntaxgym-core, suite.py). As a corpus, an item is a document ``suite/item`` with sections
``condition:region``; the rest is JSON in ``truth["suite_heads"]``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.test_suites.prediction_formulas import METRICS, Formula, parse, region_values
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
    """A named set of items with the same conditions."""

    name: str
    metric: str  # one of ``METRICS``: how the token surprisals of a region become its value
    predictions: tuple[str, ...]  # formulas as written; an item succeeds where all of them hold
    items: tuple[SuiteItem, ...]
    region_names: Mapping[str, str] = field(default_factory=dict)  # for display, by region number
    meta: Mapping[str, Any] = field(
        default_factory=dict
    )  # the file's other ``meta``: reference, author, comment

    def formulas(self) -> tuple[Formula, ...]:
        """The predictions, parsed."""
        return tuple(
            parse(text, f"suite {self.name}, prediction {i}")
            for i, text in enumerate(self.predictions)
        )


def pair(
    number: int, conditions: Mapping[str, Sequence[str]], edits: Sequence[Mapping[str, Any]] = ()
) -> SuiteItem:
    """An item from region texts by condition name; regions are numbered from 1.

    Any run of whitespace (no-break spaces and tabs too) becomes one space, the ends are bare: SyntaxGym's rule.
    """
    made = tuple(
        Condition(
            name, tuple(Region(i, " ".join(text.split())) for i, text in enumerate(regions, 1))
        )
        for name, regions in conditions.items()
    )
    return SuiteItem(number, made, tuple(edits))


def read_suite(path: Path) -> Suite:
    """One suite file. Raises BadInput: absent, not JSON, or not a suite; the message names item, condition and what is wrong."""
    return suite_from_record(json_file(path), str(path))


def suite_from_record(record: Any, where: str = "suite") -> Suite:
    """Parse and check one suite; see :func:`read_suite`."""
    if (
        not isinstance(record, dict)
        or not {"meta", "region_meta", "predictions", "items"} <= record.keys()
    ):
        raise BadInput(
            f"{where}: a suite is an object with meta, region_meta, predictions and items; fix it"
        )
    meta, items, formulas = field_of(record, "meta", dict, where), [], []
    for item in field_of(record, "items", list, where):
        number = field_of(item, "item_number", int, where)
        place, conditions = f"{where}, item {number}", []
        for condition in field_of(item, "conditions", list, place):
            name = field_of(condition, "condition_name", str, place)
            inside = f"{place}, condition {name}"
            regions = tuple(
                Region(
                    field_of(region, "region_number", int, inside),
                    field_of(region, "content", str, inside),
                )
                for region in field_of(condition, "regions", list, inside)
            )
            numbers = [region.number for region in regions]
            if len(set(numbers)) < len(numbers):
                raise BadInput(
                    f"{inside}: region numbers are {numbers}; give every region a number of its own"
                )
            conditions.append(Condition(name, regions))
        items.append(SuiteItem(number, tuple(conditions)))
    for prediction in field_of(record, "predictions", list, where):
        if typed(prediction, dict, f"{where}, prediction").get("type") != "formula":
            raise BadInput(
                f"{where}: a prediction has type {prediction.get('type')!r}, allowed is 'formula'; fix it"
            )
        formulas.append(field_of(prediction, "formula", str, where))
    names = {str(key): value for key, value in field_of(record, "region_meta", dict, where).items()}
    free = {key: value for key, value in meta.items() if key not in ("name", "metric")}
    name, metric = (field_of(meta, key, str, where) for key in ("name", "metric"))
    return checked(Suite(name, metric, tuple(formulas), tuple(items), names, free))


def checked(suite: Suite) -> Suite:
    """The suite itself, if every item has every condition and every region that a prediction names.

    Raises BadInput: an unknown metric, a missing condition or region, a repeated item.
    """
    place = f"suite {suite.name}"
    if suite.metric not in METRICS:
        raise BadInput(
            f"{place}: metric {suite.metric!r} is not one of {list(METRICS)}; choose one"
        )
    if not suite.items or not suite.predictions:
        raise BadInput(
            f"{place}: {len(suite.items)} items, {len(suite.predictions)} predictions; give one of each"
        )
    numbers = [item.number for item in suite.items]
    if len(set(numbers)) < len(numbers):
        raise BadInput(
            f"{place}: item numbers repeat; number the items apart, results are kept per number"
        )
    wanted = [condition.name for condition in suite.items[0].conditions]
    for item in suite.items:
        names = [condition.name for condition in item.conditions]
        if sorted(names) != sorted(set(wanted)):
            told = f"conditions are {names}, the first item has {wanted}; give every item each of them once"
            raise BadInput(f"{place}, item {item.number}: {told}")
    for named in (value for formula in suite.formulas() for value in region_values(formula)):
        if named.condition not in wanted:
            raise BadInput(
                f"{place}: a prediction names condition {named.condition!r}, allowed are {wanted}; fix it"
            )
        for item in suite.items:
            present = [region.number for region in item.condition(named.condition).regions]
            if named.region is not None and named.region not in present:
                raise BadInput(
                    f"{place}: a prediction names region {named.region}, item {item.number} has {present}"
                )
    return suite


def suites_to_corpus(suites: Sequence[Suite], facts: Mapping[str, object] | None = None) -> Corpus:
    """Pack suites; ``facts`` gains the number of items of each. Raises BadInput: two suites share a name."""
    names = [suite.name for suite in suites]
    if len(set(names)) < len(names):
        raise BadInput(
            f"suites: names repeat in {sorted(names)}; results are kept per name, rename one"
        )
    documents = []
    for suite in suites:
        for item in suite.items:
            regions = [
                (condition.name, region)
                for condition in item.conditions
                for region in condition.regions
            ]
            sections = tuple(
                Section(f"{name}:{region.number}", region.content) for name, region in regions
            )
            documents.append(Document(f"{suite.name}/{item.number}", "test", sections, item.edits))
    heads = np.array(
        [json.dumps(suite_head(suite), sort_keys=True) for suite in suites], dtype=np.str_
    )
    counts = {suite.name: len(suite.items) for suite in suites}
    return Corpus(documents, {"suite_heads": heads}, {**(facts or {}), "items": counts})


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
            "the texts carry no suite_heads, so they are no suites; name a corpus of suites"
        )
    items: dict[str, list[SuiteItem]] = {}
    for document in documents:
        name, number = document.id.rsplit("/", 1)
        regions: dict[str, list[Region]] = {}  # by condition
        for section in document.sections:
            condition, place = str(section.title).rsplit(":", 1)
            regions.setdefault(condition, []).append(Region(int(place), section.text))
        conditions = tuple(Condition(condition, tuple(rows)) for condition, rows in regions.items())
        items.setdefault(name, []).append(SuiteItem(int(number), conditions, document.edits))
    suites = []
    for head in map(json.loads, truth["suite_heads"].tolist()):
        name, metric, meta = head["meta"].pop("name"), head["meta"].pop("metric"), head["meta"]
        predictions = tuple(prediction["formula"] for prediction in head["predictions"])
        suites.append(
            checked(
                Suite(
                    name, metric, predictions, tuple(items.get(name, ())), head["region_meta"], meta
                )
            )
        )
    return suites
