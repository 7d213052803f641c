"""Suites handed on: as tasks of lm-evaluation-harness, and as a sheet for human judges (beyer2021, outlook).

``texts`` is the folder of the suites below ``data/``; no record is used.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_corpus
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.datasets.test_suites.items import Condition, Suite, SuiteItem, suites_from_documents
from longform.datasets.test_suites.prediction_formulas import Binary, RegionValue
from longform.reporting.pivot import Given

SPEAKERS = "[SEP]"
SHEET = ("item", "left", "right", "more_coherent", "comment")


@dataclass(frozen=True)
class Contrast:
    """A prediction of the form "this region is more surprising in ``worse`` than in ``better``"."""

    region: int | None
    better: str
    worse: str


def contrast(suite: Suite) -> Contrast:
    """The contrast of a suite with one prediction between the same region of two conditions.

    Raises BadInput: the suite predicts something else.
    """
    formulas = suite.formulas()
    formula = formulas[0]
    if len(formulas) == 1 and isinstance(formula, Binary) and formula.symbol in "<>":
        left, right = (formula.left, formula.right) if formula.symbol == ">" else (formula.right, formula.left)
        if isinstance(left, RegionValue) and isinstance(right, RegionValue) and left.region == right.region:
            return Contrast(left.region, right.condition, left.condition)
    raise BadInput(f"suite {suite.name}: {suite.predictions} contrast no region in two conditions; leave it out")


def harness_task(suite: Suite) -> dict[str, str]:
    """A task of lm-evaluation-harness: a YAML file and its documents as JSON lines.

    Where both conditions of every item share what follows, the model chooses between contexts; where they share what
    comes before, between continuations; else between whole texts. ``acc`` compares sums of log-probabilities, which is
    the suite's decision under metric "sum"; neither of the harness's accuracies is the mean over tokens. A mark
    ``[SEP]`` stays in the text: the harness has no notion of a change of speaker.
    """
    sides = contrast(suite)
    documents = [_harness_document(item, sides) for item in suite.items]
    if all(len(set(one["continuations"])) == 1 for one in documents):
        form = "contexts"
    else:
        alike = all(len(set(one["contexts"])) == 1 and one["contexts"][0] for one in documents)
        form = "continuations" if alike else "texts"
    lines = (json.dumps(_harness_line(one, form), ensure_ascii=False, sort_keys=True) for one in documents)
    return {
        f"{suite.name}.yaml": _harness_yaml(suite, form),
        f"{suite.name}.jsonl": "".join(f"{line}\n" for line in lines),
    }


def _harness_document(item: SuiteItem, sides: Contrast) -> dict[str, Any]:
    """Context and continuation of each side, in the order in which the item writes its conditions, and the better one's place."""
    chosen = [condition for condition in item.conditions if condition.name in (sides.better, sides.worse)]
    contexts, continuations = zip(*(_parts(condition, sides.region) for condition in chosen), strict=True)
    target = [condition.name for condition in chosen].index(sides.better)
    return {"contexts": list(contexts), "continuations": list(continuations), "target": target}


def _parts(condition: Condition, region: int | None) -> tuple[str, str]:
    """Text before the judged region, and the region; all of it for ``*``. What follows the region is never judged."""
    before = [r.content for r in condition.regions if region is not None and r.number < region and r.content]
    judged = [r.content for r in condition.regions if region in (None, r.number) and r.content]
    return " ".join(before), " ".join(judged)


def _harness_line(one: Mapping[str, Any], form: str) -> dict[str, object]:
    if form == "contexts":
        return {"choices": one["contexts"], "target": one["target"], "continuation": one["continuations"][0]}
    if form == "continuations":
        return {"context": one["contexts"][0], "choices": one["continuations"], "target": one["target"]}
    whole = [" ".join(filter(None, parts)) for parts in zip(one["contexts"], one["continuations"], strict=True)]
    return {"context": "", "choices": whole, "target": one["target"]}


def _harness_yaml(suite: Suite, form: str) -> str:
    """Choices between contexts put the right context's number in ``doc_to_text``, as the harness's own wsc273 does.

    Whole texts stand behind an empty context, so no blank goes between the two.
    """
    places = ("{{target}}", "{{continuation}}") if form == "contexts" else ("{{context}}", "{{target}}")
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
target_delimiter: "{"" if form == "texts" else " "}"
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""


@dataclass(frozen=True)
class Judgement:
    """A pair of texts for a human judge; ``gold_side`` is the side of the coherent one, ``condition`` what spoilt the other."""

    item_id: str
    left: str
    right: str
    gold_side: str
    suite: str
    condition: str


def judgements(suites: Sequence[Suite], per_suite: int, seed: int) -> list[Judgement]:
    """Pairs with items, sides and order drawn by seed; pairs whose two sides read alike are never drawn.

    Raises BadInput: a suite that is no contrast, or of which all pairs read alike; no pair asked for.
    """
    if per_suite < 1:
        raise BadInput(f"judgement sheet: per_suite is {per_suite!r}, allowed is a whole number from 1; fix the entry")
    drawn = [(suite, item) for suite in suites for item in _drawn(suite, per_suite, seed)]
    order = generator(seed, "judgement order").permutation(len(drawn))
    return [_judgement(*drawn[int(place)], seed) for place in order]


def _judgement(suite: Suite, item: SuiteItem, seed: int) -> Judgement:
    sides, unit = contrast(suite), f"{suite.name}/{item.number}"
    swap = bool(generator(seed, "judgement side", unit).integers(2))
    names = [sides.worse, sides.better] if swap else [sides.better, sides.worse]
    left, right = (_shown(item.condition(name)) for name in names)
    return Judgement(unit, left, right, "right" if swap else "left", suite.name, sides.worse)


def judgement_sheet(suites: Sequence[Suite], per_suite: int, seed: int) -> dict[str, str]:
    """The pairs of :func:`judgements` as files.

    ``sheet.csv``: item, left, right, and two empty columns for the judge; ``key.csv``: item and the coherent side, apart
    from it. ``study.jsonl`` and ``study.csv``: all fields of :class:`Judgement`, for a program that shows the pairs.
    """
    pairs = judgements(suites, per_suite, seed)
    fields = tuple(Judgement.__annotations__)
    lines = "".join(json.dumps(asdict(pair), ensure_ascii=False, sort_keys=True) + "\n" for pair in pairs)
    return {
        "sheet.csv": _csv(SHEET, [(p.item_id, p.left, p.right, "", "") for p in pairs]),
        "key.csv": _csv(("item", "coherent"), [(p.item_id, p.gold_side) for p in pairs]),
        "study.csv": _csv(fields, [[getattr(p, field) for field in fields] for p in pairs]),
        "study.jsonl": lines,
    }


def _drawn(suite: Suite, count: int, seed: int) -> list[SuiteItem]:
    sides = contrast(suite)
    unlike = [i for i in suite.items if _shown(i.condition(sides.better)) != _shown(i.condition(sides.worse))]
    if not unlike:
        raise BadInput(f"suite {suite.name}: both sides of every item read alike, so no one can judge; leave it out")
    rng = generator(seed, "judgement items", suite.name)
    chosen = rng.choice(len(unlike), min(count, len(unlike)), replace=False)
    return [unlike[int(i)] for i in chosen]


def _shown(condition: Condition) -> str:
    """The text as people read it: a change of speaker begins a line with a dash."""
    text = " ".join(region.content for region in condition.regions if region.content)
    turns = [turn.strip() for turn in text.split(SPEAKERS) if turn.strip()]
    return "\n".join(f"– {turn}" for turn in turns) if SPEAKERS in text else text


def _csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([header, *rows])
    return text.getvalue()


@dataclass(frozen=True)
class Files:
    """Text files by relative path."""

    contents: Mapping[str, str]

    def save(self, folder: Path, stem: str) -> None:
        """Every file below ``folder``; ``stem`` names nothing, since the files bring their names."""
        for name, text in self.contents.items():
            (folder / name).write_text(text, encoding="utf-8")


def harness_tasks(given: Given, texts: str) -> Files:
    """A task of lm-evaluation-harness for each suite of a corpus, and a group of all of them."""
    suites = _suites(given.data / texts)
    contents = {name: text for suite in suites for name, text in harness_task(suite).items()}
    tasks = "".join(f"  - coherencegym_{suite.name}\n" for suite in suites)
    return Files(contents | {"_coherencegym.yaml": f"group: coherencegym\ntask:\n{tasks}"})


def human_sheet(given: Given, texts: str, suites: Sequence[str], per_suite: int, seed: int) -> Files:
    """Pairs of texts for human judges from the named suites, sides by seed, the key in a file of its own.

    Raises BadInput: the corpus lacks one of the suites.
    """
    known = {suite.name: suite for suite in _suites(given.data / texts)}
    missing = sorted(set(suites) - known.keys())
    if missing:
        raise BadInput(f"judgement sheet: no suites {missing} in {texts}; allowed are {sorted(known)}")
    return Files(judgement_sheet([known[name] for name in suites], per_suite, seed))


def _suites(folder: Path) -> list[Suite]:
    corpus = read_corpus(folder)
    return suites_from_documents(corpus.documents, {k: v for k, v in corpus.truth.items() if k == "suite_heads"})
