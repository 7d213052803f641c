"""Suites as tasks of lm-evaluation-harness: minimal pairs as multiple choice.

The model chooses between contexts where both conditions of every item share what follows, between
continuations where they share what comes before, else between whole texts. The harness's ``acc``
compares sums of log-probabilities, as metric ``sum`` does; neither of its accuracies is the mean
over tokens. ``[SEP]`` stays in the text: the harness knows no change of speaker.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from longform.datasets.test_suites.items import Condition, Suite
from longform.datasets.test_suites.prediction_formulas import Binary, RegionValue
from longform.errors import InputError
from longform.tables import json_lines

GROUP = "coherencegym"  # the tasks' common name, and what theirs begin with
# A JSON value is YAML too, so that any name or delimiter can stand here.
TASK = """task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: {text}
doc_to_target: {target}
doc_to_choice: "{{{{choices}}}}"
target_delimiter: {delimiter}
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""


@dataclass(frozen=True)
class Contrast:
    """What a suite predicts of one region: it is less surprising in one condition than in another.

    ``region`` is its number, None for the whole text.
    """

    region: int | None
    better: str
    worse: str


def contrast(suite: Suite) -> Contrast:
    """The contrast of a suite. Raises InputError: it predicts anything but one inequality."""
    refusal = f"suite {suite.name}: {suite.predictions} contrast no region in two conditions"
    formulas = suite.formulas()
    formula = formulas[0]
    if len(formulas) == 1 and isinstance(formula, Binary) and formula.symbol in "<>":
        more, less = formula.left, formula.right
        if formula.symbol == "<":
            more, less = less, more
        if not isinstance(more, RegionValue) or not isinstance(less, RegionValue):
            raise InputError(f"{refusal}; leave it out")
        if more.region == less.region:
            return Contrast(more.region, less.condition, more.condition)
    raise InputError(f"{refusal}; leave it out")


@dataclass(frozen=True)
class Choice:
    """An item as a choice between two texts, in the order in which it writes its conditions."""

    contexts: list[str]
    continuations: list[str]
    target: int  # index of the better text, 0 or 1

    @property
    def texts(self) -> list[str]:
        """Each context, a space, and its continuation; without the space where one is empty."""
        texts = []
        for parts in zip(self.contexts, self.continuations, strict=True):
            texts.append(" ".join(filter(None, parts)))
        return texts


def choices_of(suite: Suite) -> list[Choice]:
    """The items of a suite as choices. Raises InputError: the suite is no contrast."""
    predicted = contrast(suite)
    choices = []
    for item in suite.items:
        contexts, continuations, names = [], [], []
        for condition in item.conditions:
            if condition.name in (predicted.better, predicted.worse):
                context, continuation = _parts(condition, predicted.region)
                contexts.append(context)
                continuations.append(continuation)
                names.append(condition.name)
        choices.append(Choice(contexts, continuations, names.index(predicted.better)))
    return choices


def harness_task(suite: Suite, folder: str = "") -> dict[str, str]:
    """A task: a YAML file, and its documents as JSON lines.

    Args:
        suite: a contrast of two conditions.
        folder: where the files will lie, which the harness must know; empty for where it runs.

    Raises InputError: as :func:`contrast`.
    """
    choices = choices_of(suite)
    lines: list[dict[str, Any]] = []
    if all(len(set(choice.continuations)) == 1 for choice in choices):
        # the right context's number stands in ``doc_to_text``, as in the harness's own wsc273
        text, target, delimiter = "{{target}}", "{{continuation}}", " "
        for choice in choices:
            line = {"choices": choice.contexts, "target": choice.target}
            lines.append({**line, "continuation": choice.continuations[0]})
    else:
        text, target, delimiter = "{{context}}", "{{target}}", " "
        # a context that both share, else none
        has_shared_context = all(
            len(set(choice.contexts)) == 1 and choice.contexts[0] for choice in choices
        )
        if not has_shared_context:
            delimiter = ""
        for choice in choices:
            context = choice.contexts[0] if has_shared_context else ""
            options = choice.continuations if has_shared_context else choice.texts
            lines.append({"context": context, "choices": options, "target": choice.target})
    file = f"{suite.name}.jsonl"
    task = TASK.format(
        task=json.dumps(f"{GROUP}_{suite.name}"),
        file=json.dumps(f"{folder}/{file}" if folder else file),
        text=json.dumps(text),
        target=json.dumps(target),
        delimiter=json.dumps(delimiter),
    )
    return {f"{suite.name}.yaml": task, file: json_lines(lines)}


def _parts(condition: Condition, region: int | None) -> tuple[str, str]:
    """Text before the judged region, and the region; "" and the whole text if it is None.

    What follows the region is never judged.
    """
    before, inside = [], []
    for part in condition.regions:
        if not part.content:
            continue
        if region is None or part.number == region:
            inside.append(part.content)
        elif part.number < region:
            before.append(part.content)
    return " ".join(before), " ".join(inside)


def harness_tasks(suites: Sequence[Suite], folder: str = "") -> dict[str, str]:
    """Files of a task for each suite, and of a group of all of them.

    Args:
        suites: contrasts of two conditions.
        folder: as for :func:`harness_task`.

    Raises InputError: as :func:`contrast`.
    """
    files: dict[str, str] = {}
    members = []
    for suite in suites:
        files |= harness_task(suite, folder)
        members.append(f"  - {json.dumps(f'{GROUP}_{suite.name}')}\n")
    files[f"_{GROUP}.yaml"] = f"group: {GROUP}\ntask:\n{''.join(members)}"
    return files
