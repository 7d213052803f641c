"""Suites in other people's formats: task folders of lm-evaluation-harness, and a sheet for human judges.

Every function returns file contents by relative path; writing them is for stages.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

from longform.corpora.suites.prediction_formulas import Binary, RegionValue
from longform.corpora.suites.items import Condition, Suite, SuiteItem, suite_to_record
from longform.numerics import generator
from longform.units import BadInput

SHEET = ("item", "left", "right", "more_coherent", "comment")


@dataclass(frozen=True)
class Contrast:
    """A prediction of the form "this region is more surprising in ``worse`` than in ``better``"."""

    region: int | None
    better: str
    worse: str


def contrast(suite: Suite) -> Contrast:
    """The contrast of a suite with one prediction between the same region of two conditions.

    Raises:
        BadInput: the suite predicts something else.
    """
    formulas = suite.formulas()
    formula = formulas[0]
    if len(formulas) == 1 and isinstance(formula, Binary) and formula.symbol in "<>":
        left, right = (formula.left, formula.right) if formula.symbol == ">" else (formula.right, formula.left)
        if isinstance(left, RegionValue) and isinstance(right, RegionValue) and left.region == right.region:
            return Contrast(left.region, right.condition, left.condition)
    raise BadInput(
        f"suite {suite.name}: {suite.predictions} is no contrast of one region in two conditions; leave it out"
    )


def syntaxgym_file(suite: Suite) -> dict[str, str]:
    """The suite in its native JSON."""
    return {f"{suite.name}.json": json.dumps(suite_to_record(suite), ensure_ascii=False, indent=2) + "\n"}


def harness_task(suite: Suite) -> dict[str, str]:
    """A task of lm-evaluation-harness: a YAML file and its documents as JSON lines.

    Where both conditions share what follows, the model chooses between contexts, else between continuations; ``acc``
    compares sums of log-probabilities, which is the suite's decision under metric "sum". Neither of the harness's
    accuracies is the mean over tokens.
    """
    sides = contrast(suite)
    documents = [_harness_document(item, sides) for item in suite.items]
    shared = all(len(set(document["continuations"])) == 1 for document in documents)
    lines = "".join(
        json.dumps(_harness_line(document, shared), ensure_ascii=False, sort_keys=True) + "\n" for document in documents
    )
    return {f"{suite.name}.yaml": _harness_yaml(suite, shared), f"{suite.name}.jsonl": lines}


def _harness_document(item: SuiteItem, sides: Contrast) -> dict[str, list[str]]:
    """Context and continuation of each side, in the order in which the item writes its conditions."""
    chosen = [condition for condition in item.conditions if condition.name in (sides.better, sides.worse)]
    parts = [_parts(condition, sides.region) for condition in chosen]
    names = [condition.name for condition in chosen]
    return {
        "contexts": [c for c, _ in parts],
        "continuations": [c for _, c in parts],
        "order": names,
        "better": [sides.better],
    }


def _parts(condition: Condition, region: int | None) -> tuple[str, str]:
    """Text before the judged region, and the region; all of it for ``*``. What follows the region is never judged."""
    before = [r.content for r in condition.regions if region is not None and r.number < region and r.content]
    judged = [r.content for r in condition.regions if region in (None, r.number) and r.content]
    return " ".join(before), " ".join(judged)


def _harness_line(document: dict[str, list[str]], shared: bool) -> dict[str, object]:
    target = document["order"].index(document["better"][0])
    if shared:
        return {"choices": document["contexts"], "target": target, "continuation": document["continuations"][0]}
    if len(set(document["contexts"])) == 1:
        return {"context": document["contexts"][0], "choices": document["continuations"], "target": target}
    whole = [
        " ".join(filter(None, parts)) for parts in zip(document["contexts"], document["continuations"], strict=True)
    ]
    return {"context": "", "choices": whole, "target": target}


def _harness_yaml(suite: Suite, shared: bool) -> str:
    """With shared continuations ``doc_to_text`` is the number of the right context, as in the harness's wsc273 task."""
    places = ("{{target}}", "{{continuation}}") if shared else ("{{context}}", "{{target}}")
    return f"""task: coherencegym_{suite.name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {suite.name}.jsonl
test_split: test
output_type: multiple_choice
doc_to_text: "{places[0]}"
doc_to_target: "{places[1]}"
doc_to_choice: "{{{{choices}}}}"
target_delimiter: " "
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""


def judgement_sheet(suites: Sequence[Suite], per_suite: int, seed: int) -> dict[str, str]:
    """A sheet of text pairs with sides and items drawn by seed, and, apart from it, the key.

    ``sheet.csv``: item, left, right, and two empty columns for the judge. ``key.csv``: item and the coherent side.
    """
    drawn = [(suite, item) for suite in suites for item in _drawn(suite, per_suite, seed)]
    order = generator(seed, "judgement order").permutation(len(drawn))
    sheet, key = [], []
    for place in order:
        suite, item = drawn[int(place)]
        sides, unit = contrast(suite), f"{suite.name}/{item.number}"
        swap = bool(generator(seed, "judgement side", unit).integers(2))
        names = [sides.worse, sides.better] if swap else [sides.better, sides.worse]
        sheet.append((unit, *(_whole(item.condition(name)) for name in names), "", ""))
        key.append((unit, "right" if swap else "left"))
    return {"sheet.csv": _csv(SHEET, sheet), "key.csv": _csv(("item", "coherent"), key)}


def _drawn(suite: Suite, count: int, seed: int) -> list[SuiteItem]:
    rng = generator(seed, "judgement items", suite.name)
    chosen = rng.choice(len(suite.items), min(count, len(suite.items)), replace=False)
    return [suite.items[int(i)] for i in chosen]


def _whole(condition: Condition) -> str:
    return " ".join(region.content for region in condition.regions if region.content)


def _csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([header, *rows])
    return text.getvalue()
