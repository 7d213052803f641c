"""Suites as a corpus of documents, so that items pass through the stages like any other text.

One document per item, id ``suite/item``; one section per region of each condition, titled ``condition:number``. What
belongs to the suite and not to an item (metric, predictions ...) is one JSON string per suite in ``truth["suite_heads"]``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from longform.datasets.test_suites.items import Condition, Region, Suite, SuiteItem, checked, suite_to_record
from longform.documents import BadInput, Corpus, Document, Section


def suites_to_corpus(suites: Sequence[Suite], facts: Mapping[str, object] | None = None) -> Corpus:
    """Pack suites; ``facts`` gains the number of items of each.

    Raises:
        BadInput: two suites share a name.
    """
    names = [suite.name for suite in suites]
    if len(set(names)) < len(names):
        raise BadInput(f"suites: names repeat in {sorted(names)}; results are kept per name, rename one")
    documents = [_document(suite, item) for suite in suites for item in suite.items]
    heads = np.array([json.dumps(suite_head(suite), sort_keys=True) for suite in suites], dtype=np.str_)
    counts = {suite.name: len(suite.items) for suite in suites}
    return Corpus(documents, {"suite_heads": heads}, {**(facts or {}), "items": counts})


def suite_head(suite: Suite) -> dict[str, object]:
    """Everything of a suite's record but its items and their edits."""
    record = suite_to_record(suite)
    meta = {key: value for key, value in record["meta"].items() if key != "edits"}
    return {"meta": meta, "region_meta": record["region_meta"], "predictions": record["predictions"]}


def _document(suite: Suite, item: SuiteItem) -> Document:
    sections = tuple(
        Section(f"{condition.name}:{region.number}", region.content)
        for condition in item.conditions
        for region in condition.regions
    )
    return Document(f"{suite.name}/{item.number}", "test", sections, item.edits)


def suites_from_documents(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> list[Suite]:
    """Inverse of :func:`suites_to_corpus`.

    Raises:
        BadInput: the corpus holds no suites.
    """
    if "suite_heads" not in truth:
        raise BadInput(
            "the texts carry no suite_heads, so they are no suites; name a corpus that suites were built into"
        )
    heads = [json.loads(text) for text in truth["suite_heads"].tolist()]
    items: dict[str, list[SuiteItem]] = {}
    for document in documents:
        name, number = document.id.rsplit("/", 1)
        items.setdefault(name, []).append(SuiteItem(int(number), _conditions(document), document.edits))
    return [_suite(head, tuple(items.get(head["meta"]["name"], ()))) for head in heads]


def _suite(head: dict[str, Any], items: tuple[SuiteItem, ...]) -> Suite:
    meta = dict(head["meta"])
    predictions = tuple(prediction["formula"] for prediction in head["predictions"])
    return checked(Suite(meta.pop("name"), meta.pop("metric"), predictions, items, head["region_meta"], meta))


def _conditions(document: Document) -> tuple[Condition, ...]:
    places = [(*str(section.title).rsplit(":", 1), section.text) for section in document.sections]
    return tuple(
        Condition(name, tuple(Region(int(number), text) for _, number, text in group))
        for name, group in groupby(places, key=lambda place: place[0])
    )
