"""Tables of "Is Incoherence Surprising?" (Beyer, Loaiciga, Schlangen 2021), numbered as printed, and what it left open.

Every number is a share of items with Wilson's interval; the p-value (in the CSV) is McNemar's against the next smaller model.
"""

from collections.abc import Sequence
from pathlib import Path
from string import Template
from textwrap import fill
from typing import Any

from longform.datasets.test_suites.items import Condition, Suite, SuiteItem, suites_from_documents
from longform.datasets.test_suites.prediction_formulas import Binary, RegionValue
from longform.errors import BadInput
from longform.files.artefacts import read_corpus
from longform.results import Results
from longform.statistics.intervals import NORMAL_95
from longform.statistics.random_streams import generator
from longform.tables import Cell, Figure, Files, Table, csv_text, json_lines
from longform_lab.reporting.estimates import select
from longform_lab.reporting.pivot import COLOURS, Given, errors, panels
from longform_lab.reporting.printed import Printed

CHANCE = 0.5  # a model that cannot tell two conditions apart prefers either
REPLACED = "connective_*_as_*"  # names of suites
FEW = 30  # texts below which a row's intervals are to be read
ACROSS = 4  # panels in a row of the sweep
SPEAKERS = "[SEP]"  # a mark of a change of speaker


def accuracies(given: Given, caption: str, tasks: Sequence[str], note: str = "") -> Table:
    """Models by suites, and beneath them the printed rows of models that are not here; the paper's tables but one."""

    def place(number: Printed) -> tuple[str, str] | None:
        where = number.where or {}
        named = given.label("system", where.get("system")), given.label("task", where.get("task"))
        return (f"{named[0]} (printed)", named[1]) if where.get("metric") == "accuracy" else None

    cells = given.crossed(_accuracies(given, *tasks), given.name, ("system",), "task")
    cells += given.printed_alone(given.name, place)
    return Table(
        f"{caption}: share of items whose prediction holds",
        cells,
        [*([note] if note else []), *given.notes],
    )


def other_suites(given: Given, caption: str, inside: Sequence[str]) -> Table:
    """Suites beyond the paper's, which ``inside`` names: other languages, and whatever SyntaxGym files the run read."""
    printed = [n.where["task"] for n in given.expected.numbers if n.where]
    pooled = {r.task.rpartition("_as_")[0] for r in _accuracies(given, REPLACED)}
    found = set(_accuracies(given, *inside, *printed).values("task")) | pooled
    return accuracies(
        given,
        caption,
        [task for task in _accuracies(given, "*").values("task") if task not in found],
    )


def _accuracies(given: Given, *tasks: str) -> Results:
    """The records of suites by name or pattern."""
    return select(given.results, {"critic": "surprisal", "metric": "accuracy", "task": list(tasks)})


def table_4(given: Given, systems: Sequence[str]) -> Table:
    """Explicit connectives: a row for each connective and sense, a column for each connective put in its place."""
    block, cells = given.expected["table_4"], []
    for system in systems:
        found = {r.task: r for r in _accuracies(given, REPLACED).where(system=system)}
        for sense, printed in block["rows"].items():
            row = f"{given.label('system', system)}: {sense.replace('_', ', ', 1).lower()}"
            for other, value in zip(
                block["columns"], printed.get(system, [None] * len(block["columns"])), strict=True
            ):
                record = found.get(f"connective_{sense}_as_{other}")
                alone = Cell(row, other, None, printed=value)
                cells.append(alone if record is None else given.cell(row, other, record, "table_4"))
    few = sorted({c.row for c in cells if c.value is not None and (c.units or 0) < FEW})
    note = f"fewer than {FEW} texts in {len(few)} of {len({c.row for c in cells})} rows: read their intervals"
    caption = "Table 4. Explicit connectives: share of texts in which another connective (column) costs more"
    return Table(caption, cells, [*([note] if few else []), *given.notes])


def size_sweep(given: Given, tasks: Sequence[str]) -> Figure:
    """Accuracy of every phenomenon over the sizes of a model, which the paper left to future work."""
    cells = given.crossed(_accuracies(given, *tasks), "size_sweep", ("system",), "task")
    systems, shown = (
        list(dict.fromkeys(getattr(c, name) for c in cells)) for name in ("row", "column")
    )

    def draw(canvas: Any) -> None:
        for task, axes in zip(
            shown, panels(canvas, len(shown), ACROSS, sharex=True, sharey=True), strict=True
        ):
            own = [c for c in cells if c.column == task and c.value is not None]
            places, values = [systems.index(c.row) for c in own], [c.value for c in own]
            axes.errorbar(
                places,
                values,
                errors(own),
                marker="o",
                markersize=3,
                lw=1,
                color=COLOURS[0],
                capsize=2,
            )
            axes.axhline(CHANCE, color="0.6", linewidth=0.8, linestyle=":")
            axes.set_title(fill(task, 22))
            axes.set_xticks(range(len(systems)), systems, rotation=60, ha="right")
            axes.set_ylim(0, 1.03)
        canvas.supylabel("share of items whose prediction holds")

    caption = "Accuracy on each phenomenon by model, with 95 % intervals; dotted: chance."
    return Figure(
        caption, cells, draw, (7.5, 1.2 + 1.6 * max(-(-len(shown) // ACROSS), 1)), given.notes
    )


def region_surprisal(
    given: Given, suites: Sequence[str], likelier: Sequence[str], systems: Sequence[str]
) -> Figure:
    """Bits of the judged region under the conditions predicted ``likelier`` and the others, of the first system that the run has."""
    found = _accuracies(given, *suites)
    system = next((name for name in systems if len(found.where(system=name))), "")
    sides = ("predicted less surprising", "predicted more surprising")
    cells = []
    for r in given.ordered(found.where(system=system), "task"):
        for term, held in r.details["formula_bits"].items():
            mean, spread = held["all"]
            half = NORMAL_95 * spread / max(r.units or 0, 1) ** 0.5
            place = given.label("task", r.task), sides[term.split("%")[1] not in likelier]
            ends = (mean, mean - half, mean + half)
            cells.append(Cell(*place, *ends, r.units or 0, signature="bits of the judged region"))
    names = list(dict.fromkeys(c.row for c in cells))[::-1]

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for side, mark, colour, shift in zip(sides, "os", COLOURS, (0.1, -0.1), strict=False):
            own = [c for c in cells if c.column == side]
            places, values = [names.index(c.row) + shift for c in own], [c.value for c in own]
            axes.errorbar(
                values, places, xerr=errors(own), fmt=mark, color=colour, capsize=2, label=side
            )
        axes.set(xscale="log", xlabel="surprisal of the judged region, bits (log scale)")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_yticks(range(len(names)), names)
        canvas.legend(loc="outside lower center", ncols=2)

    caption = (
        f"Surprisal of the judged region under either condition, {given.label('system', system)}: mean over items with its normal "
        "95 % interval. A suite's accuracy is the share of items in which the two stand in the predicted order."
    )
    return Figure(caption, cells, draw, (5.6, 1.2 + 0.3 * max(len(names), 1)))


def contrast(suite: Suite) -> tuple[int | None, str, str]:
    """Region, and the conditions in which it is predicted less and more surprising. Raises BadInput: a suite predicts otherwise."""
    formulas = suite.formulas()
    formula = formulas[0]
    if len(formulas) == 1 and isinstance(formula, Binary) and formula.symbol in "<>":
        left, right = (
            (formula.left, formula.right)
            if formula.symbol == ">"
            else (formula.right, formula.left)
        )
        if (
            isinstance(left, RegionValue)
            and isinstance(right, RegionValue)
            and left.region == right.region
        ):
            return left.region, right.condition, left.condition
    raise BadInput(
        f"suite {suite.name}: {suite.predictions} contrast no region in two conditions; leave it out"
    )


def harness_task(suite: Suite) -> dict[str, str]:
    """A task of lm-evaluation-harness: a YAML file and its documents as JSON lines.

    The model chooses between contexts where both conditions of every item share what follows, between continuations where they
    share what comes before, else between whole texts. ``acc`` compares sums of log-probabilities, as metric "sum" does; neither of
    the harness's accuracies is the mean over tokens. ``[SEP]`` stays in the text: the harness knows no change of speaker.
    """
    region, better, worse = contrast(suite)
    # contexts, continuations and the better one's place, in the order in which an item writes its conditions
    rows: list[Any] = []
    for item in suite.items:
        chosen = [condition for condition in item.conditions if condition.name in (better, worse)]
        sides = zip(*(_parts(condition, region) for condition in chosen), strict=True)
        rows.append((*map(list, sides), [condition.name for condition in chosen].index(better)))
    if all(len(set(continuations)) == 1 for _, continuations, _ in rows):
        # the right context's number stands in ``doc_to_text``, as in the harness's own wsc273
        text, target, delimiter = "{{target}}", "{{continuation}}", " "
        lines = [
            {"choices": before, "target": n, "continuation": after[0]} for before, after, n in rows
        ]
    else:
        text, target, delimiter = "{{context}}", "{{target}}", " "
        lines = [{"context": before[0], "choices": after, "target": n} for before, after, n in rows]
        if not all(len(set(contexts)) == 1 and contexts[0] for contexts, _, _ in rows):
            wholes = [
                [" ".join(filter(None, two)) for two in zip(b, a, strict=True)] for b, a, _ in rows
            ]
            lines = [
                {"context": "", "choices": w, "target": n}
                for w, (_, _, n) in zip(wholes, rows, strict=True)
            ]
            delimiter = ""
    named = {"name": suite.name, "text": text, "target": target, "delimiter": delimiter}
    task = Template(
        Path(__file__).with_name("harness_task.yaml").read_text(encoding="utf-8")
    ).substitute(named)
    return {f"{suite.name}.yaml": task, f"{suite.name}.jsonl": json_lines(lines)}


def _parts(condition: Condition, region: int | None) -> tuple[str, str]:
    """Text before the judged region, and the region; all of it for ``*``. What follows the region is never judged."""
    before = [
        r.content
        for r in condition.regions
        if region is not None and r.number < region and r.content
    ]
    judged = [r.content for r in condition.regions if region in (None, r.number) and r.content]
    return " ".join(before), " ".join(judged)


def judgement_sheet(suites: Sequence[Suite], per_suite: int, seed: int) -> dict[str, str]:
    """Pairs of texts with items, sides and order drawn by seed, as files; pairs whose two sides read alike are never drawn.

    ``sheet.csv`` has two empty columns for the judge, ``key.csv`` the coherent side; ``study.jsonl`` and ``study.csv`` have all
    fields, with the condition that spoilt the other side, for a program that shows the pairs.
    Raises BadInput: a suite that is no contrast, or of which all pairs read alike; no pair asked for.
    """
    if per_suite < 1:
        raise BadInput(
            f"judgement sheet: per_suite is {per_suite!r}, allowed is a whole number from 1; fix the entry"
        )
    drawn: list[tuple[str, SuiteItem, str, str]] = []
    for suite in suites:
        _, better, worse = contrast(suite)
        unlike = [
            one
            for one in suite.items
            if _shown(one.condition(better)) != _shown(one.condition(worse))
        ]
        if not unlike:
            told = "both sides of every item read alike, so no one can judge; leave it out"
            raise BadInput(f"suite {suite.name}: {told}")
        rng = generator(seed, "judgement items", suite.name)
        chosen = rng.choice(len(unlike), min(per_suite, len(unlike)), replace=False)
        drawn += [(suite.name, unlike[int(i)], better, worse) for i in chosen]
    pairs = []
    for place in generator(seed, "judgement order").permutation(len(drawn)):
        name, item, better, worse = drawn[int(place)]
        unit = f"{name}/{item.number}"
        swap = bool(generator(seed, "judgement side", unit).integers(2))
        left, right = (
            _shown(item.condition(side)) for side in ((worse, better) if swap else (better, worse))
        )
        pairs.append((unit, left, right, "right" if swap else "left", name, worse))
    fields = ("item_id", "left", "right", "gold_side", "suite", "condition")
    asked = ("item", "left", "right", "more_coherent", "comment")
    return {
        "sheet.csv": csv_text(asked, [(*pair[:3], "", "") for pair in pairs]),
        "key.csv": csv_text(("item", "coherent"), [(pair[0], pair[3]) for pair in pairs]),
        "study.csv": csv_text(fields, pairs),
        "study.jsonl": json_lines(dict(zip(fields, pair, strict=True)) for pair in pairs),
    }


def _shown(condition: Condition) -> str:
    """The text as people read it: a change of speaker begins a line with a dash."""
    text = " ".join(region.content for region in condition.regions if region.content)
    turns = [turn.strip() for turn in text.split(SPEAKERS) if turn.strip()]
    return "\n".join(f"– {turn}" for turn in turns) if SPEAKERS in text else text


def harness_tasks(corpus: Path) -> Files:
    """A task of lm-evaluation-harness for each suite of a corpus, and a group of all of them.

    Args:
        corpus: the folder of the corpus, for instance ``data/corpora/probes/suites``.

    Raises:
        BadInput: the folder is no corpus or has no suites, or a suite is no contrast.
    """
    contents = {}
    group = "group: coherencegym\ntask:\n"
    for suite in _suites(corpus):
        contents.update(harness_task(suite))
        group += f"  - coherencegym_{suite.name}\n"
    return Files(contents | {"_coherencegym.yaml": group})


def human_sheet(
    given: Given, texts: str, suites: Sequence[str], per_suite: int, seed: int
) -> Files:
    """Pairs of texts for human judges from the named suites, sides by seed. Raises BadInput: the corpus lacks one of the suites."""
    known = {suite.name: suite for suite in _suites(given.data / texts)}
    if missing := sorted(set(suites) - known.keys()):
        raise BadInput(
            f"judgement sheet: no suites {missing} in {texts}; allowed are {sorted(known)}"
        )
    return Files(judgement_sheet([known[name] for name in suites], per_suite, seed))


def _suites(folder: Path) -> list[Suite]:
    corpus = read_corpus(folder)
    return suites_from_documents(
        corpus.documents, {k: v for k, v in corpus.truth.items() if k == "suite_heads"}
    )
