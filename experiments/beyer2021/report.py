"""Tables of "Is Incoherence Surprising?" (Beyer, Loaiciga, Schlangen 2021), numbered as printed.

Beside them stands what the paper left open. Every number is a share of items with Wilson's
interval; the p-value (in the CSV) is McNemar's against the next smaller model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from longform.datasets.test_suites.harness import contrast
from longform.datasets.test_suites.items import Condition, Suite, SuiteItem, suites_from_documents
from longform.errors import BadInput
from longform.files.artefacts import read_corpus
from longform.results import Results
from longform.statistics.intervals import NORMAL_95
from longform.statistics.random_streams import generator
from longform.tables import COLOURS, Cell, Figure, Files, Table, csv_text, json_lines
from longform_lab.reporting.estimates import select
from longform_lab.reporting.pivot import ReportInputs, errors
from longform_lab.reporting.printed import Printed

CHANCE = 0.5  # a model that cannot tell two conditions apart prefers either
REPLACED = "connective_*_as_*"  # names of suites
FEW = 30  # with fewer texts than this a note asks to read the intervals
ROOM = 0.6  # share of a row's height that the marks of its models take
MARKERS = "osD^vPX"
SPEAKERS = "[SEP]"  # a mark of a change of speaker
LESS, MORE = "predicted less surprising", "predicted more surprising"


def accuracies(inputs: ReportInputs, caption: str, tasks: Sequence[str], note: str = "") -> Table:
    """A table of accuracies: a row for each model, a column for each suite.

    Printed numbers of models that we do not have are in rows below.

    Args:
        inputs: the records.
        caption: the table's heading.
        tasks: names and patterns of suites.
        note: one more note.
    """

    def printed_labels(number: Printed) -> tuple[str, str] | None:
        """Row and column of a printed number; None for other numbers than accuracies."""
        where = number.where or {}
        if where.get("metric") != "accuracy":
            return None
        system = inputs.label("system", where.get("system"))
        return f"{system} (printed)", inputs.label("task", where.get("task"))

    cells = inputs.crossed(
        _accuracies(inputs, *tasks), table=inputs.name, rows=("system",), column="task"
    )
    cells += inputs.printed_alone(inputs.name, printed_labels)
    notes = [note] if note else []
    return Table(f"{caption}: share of items whose prediction holds", cells, notes + inputs.notes)


def other_suites(inputs: ReportInputs, caption: str, inside: Sequence[str]) -> Table:
    """Suites beyond the paper's: other languages, and whatever SyntaxGym files the run read.

    Args:
        inputs: the records.
        caption: the table's heading.
        inside: names and patterns of the suites that other tables show.
    """
    # 1. What other tables show.
    printed = []
    for number in inputs.expected.numbers:
        if number.where:
            printed.append(number.where["task"])
    shown = set(_accuracies(inputs, *inside, *printed).values("task"))
    # Suites of one replaced connective are pooled under the name of the connective.
    for record in _accuracies(inputs, REPLACED):
        shown.add(record.task.rpartition("_as_")[0])
    # 2. The others.
    others = []
    for task in _accuracies(inputs, "*").values("task"):
        if task not in shown:
            others.append(task)
    return accuracies(inputs, caption, others)


def _accuracies(inputs: ReportInputs, *tasks: str) -> Results:
    """The records of suites by name or pattern."""
    return select(
        inputs.results, {"critic": "surprisal", "metric": "accuracy", "task": list(tasks)}
    )


def table_4(inputs: ReportInputs, systems: Sequence[str]) -> Table:
    """Explicit connectives: a row for each connective and sense, a column for each replacement."""
    # 1. A cell for each row and column; the printed number stands alone where we have none.
    block = inputs.expected["table_4"]
    columns = block["columns"]
    cells = []
    for system in systems:
        records = _accuracies(inputs, REPLACED).where(system=system)
        for sense, printed in block["rows"].items():
            words = sense.replace("_", ", ", 1).lower()
            row = f"{inputs.label('system', system)}: {words}"
            values = printed.get(system, [None] * len(columns))
            for column, value in zip(columns, values, strict=True):
                record = records.find(task=f"connective_{sense}_as_{column}")
                if record is None:
                    cells.append(Cell(row, column, None, printed=value))
                else:
                    cells.append(inputs.cell(row, column, record, "table_4"))
    # 2. A note where rows rest on few texts.
    small = set()
    for one in cells:
        if one.value is not None and (one.units or 0) < FEW:
            small.add(one.row)
    notes = []
    if small:
        share = f"{len(small)} of {len(_rows(cells))} rows"
        notes.append(f"fewer than {FEW} texts in {share}: read their intervals")
    caption = (
        "Table 4. Explicit connectives: share of texts in which another connective (column) costs "
        "more"
    )
    return Table(caption, cells, notes + inputs.notes)


def size_sweep(inputs: ReportInputs, tasks: Sequence[str]) -> Figure:
    """Accuracy on every phenomenon (a row each) by model.

    The paper leaves models of several sizes to future work.
    """
    cells = inputs.crossed(
        _accuracies(inputs, *tasks), table="size_sweep", rows=("system",), column="task"
    )
    systems = _rows(cells)
    phenomena = list(dict.fromkeys(map(attrgetter("column"), cells)))
    step = ROOM / max(len(systems), 1)  # between the models of a row
    middle = (len(systems) - 1) / 2

    def draw(canvas: Any) -> None:
        # 1. The models, each a little above or below the middle of a row.
        axes = canvas.add_subplot()
        for number, system in enumerate(systems):
            points = [point for point in cells if point.row == system]
            offset = (number - middle) * step
            heights = [phenomena.index(point.column) + offset for point in points]
            mark = MARKERS[number % len(MARKERS)]
            colour = COLOURS[number % len(COLOURS)]
            look = {"fmt": mark, "color": colour, "markersize": 4, "label": system}
            _across(axes, points, heights, look)
        axes.axvline(CHANCE, color="0.6", linewidth=0.8, linestyle=":")
        # 2. The names of the rows.
        axes.set_yticks(range(len(phenomena)), phenomena)
        axes.set_ylim(len(phenomena) - 0.4, -0.6)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xlabel("share of items whose prediction holds")
        canvas.legend(loc="outside lower center", ncols=4, frameon=False)

    caption = "Accuracy on each phenomenon by model, with 95 % intervals; dotted: chance."
    return Figure(caption, cells, draw, (6, 1.3 + 0.34 * len(phenomena)), inputs.notes)


def _rows(cells: Sequence[Cell]) -> list[str]:
    """The names of the rows, in order of appearance."""
    return list(dict.fromkeys(map(attrgetter("row"), cells)))


def _across(
    axes: Any, points: Sequence[Cell], heights: Sequence[float], look: Mapping[str, Any]
) -> None:
    """Draw numbers with horizontal intervals, each at its height."""
    values = [point.value for point in points]
    axes.errorbar(values, heights, xerr=errors(points), capsize=2, **look)


def _column(cells: Sequence[Cell], column: str) -> list[Cell]:
    """The cells of a column that have a value."""
    return [one for one in cells if one.column == column and one.value is not None]


def measured_models(
    inputs: ReportInputs, suites: Sequence[str], systems: Sequence[str]
) -> list[str]:
    """The models of a list that have records of suites, in the list's order."""
    measured = _accuracies(inputs, *suites).values("system")
    return [name for name in systems if name in measured]


def region_surprisal(
    inputs: ReportInputs, suites: Sequence[str], likelier: Sequence[str], system: str
) -> Figure:
    """Mean surprisal in bits of the judged region under either condition, for each suite.

    Args:
        inputs: the records; their details have the bits of each term of a formula.
        suites: by name or pattern.
        likelier: the conditions in which the region is predicted less surprising.
        system: the model.
    """
    # 1. The mean over items with its normal interval, for each term of a suite's formula.
    records = _accuracies(inputs, *suites)
    cells = []
    for record in inputs.ordered(records.where(system=system), "task"):
        for term, bits in record.details["formula_bits"].items():
            mean, spread = bits["all"]
            num_items = record.units or 0
            half = NORMAL_95 * spread / max(num_items, 1) ** 0.5
            condition = term.split("%")[1]
            side = LESS if condition in likelier else MORE
            row = inputs.label("task", record.task)
            signature = "bits of the judged region"
            interval = (mean - half, mean + half)
            cells.append(Cell(row, side, mean, *interval, num_items, signature=signature))
    names = _rows(cells)[::-1]

    # 2. A line for each suite, a mark for each condition.
    def draw(canvas: Any) -> None:
        from matplotlib.ticker import LogLocator, NullLocator

        axes = canvas.subplots()
        looks = ((LESS, "o", COLOURS[0], 0.1), (MORE, "s", COLOURS[1], -0.1))
        for side, mark, colour, shift in looks:
            points = _column(cells, side)
            heights = [names.index(point.row) + shift for point in points]
            _across(axes, points, heights, {"fmt": mark, "color": colour, "label": side})
        axes.set(xscale="log", xlabel="surprisal of the judged region, bits (log scale)")
        locator = LogLocator(subs=(1, 2, 5))
        axes.xaxis.set(major_locator=locator, minor_locator=NullLocator())
        axes.xaxis.set(major_formatter="{x:g}")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(-0.5, len(names) - 0.5)
        canvas.legend(loc="outside lower center", ncols=2)

    caption = (
        "Surprisal of the judged region under either condition, "
        f"{inputs.label('system', system)}: mean over items with its normal 95 % interval. A "
        "suite's accuracy is the share of items in which the two stand in the predicted order."
    )
    return Figure(caption, cells, draw, (5.6, 1.2 + 0.3 * max(len(names), 1)))


@dataclass(frozen=True)
class Pair:
    """Two versions of a text, of which a person chooses the more coherent one."""

    item_id: str
    left: str
    right: str
    gold_side: str  # ``left`` or ``right``: the coherent version
    suite: str
    condition: str  # the suite's condition of the other version


def judgement_sheet(suites: Sequence[Suite], per_suite: int, seed: int) -> dict[str, str]:
    """Draw pairs of texts for human judges, and write them as the texts of files.

    Items, their order and the side of the coherent text are drawn. Pairs whose two sides read alike
    are left out. ``sheet.csv`` has two empty columns for the
    judge, ``key.csv`` the coherent side; ``study.jsonl`` and ``study.csv`` have all fields, for a
    program that shows the pairs.

    Args:
        suites: each a contrast of two conditions.
        per_suite: number of pairs of each suite; all if it has fewer.
        seed: of the draws.

    Returns:
        The texts of the files by name.

    Raises:
        BadInput: a suite is no contrast, all pairs of a suite read alike, or ``per_suite`` is 0.
    """
    if per_suite < 1:
        raise BadInput(
            f"judgement sheet: per_suite is {per_suite!r}, allowed is a whole number from 1; fix "
            "the entry"
        )
    # 1. Items of each suite.
    items: list[tuple[Suite, SuiteItem]] = []
    for suite in suites:
        unlike = _items_that_differ(suite)
        rng = generator(seed, "judgement items", suite.name)
        chosen = rng.choice(len(unlike), min(per_suite, len(unlike)), replace=False)
        for number in chosen:
            items.append((suite, unlike[int(number)]))
    # 2. Their order, and the side of each coherent text.
    order = generator(seed, "judgement order").permutation(len(items))
    pairs = []
    for number in order:
        suite, item = items[int(number)]
        pairs.append(_pair(suite, item, seed))
    # 3. The files.
    fields = ("item_id", "left", "right", "gold_side", "suite", "condition")
    sheet, key, rows = [], [], []
    for pair in pairs:
        sheet.append((pair.item_id, pair.left, pair.right, "", ""))
        key.append((pair.item_id, pair.gold_side))
        rows.append(tuple(vars(pair).values()))
    return {
        "sheet.csv": csv_text(("item", "left", "right", "more_coherent", "comment"), sheet),
        "key.csv": csv_text(("item", "coherent"), key),
        "study.csv": csv_text(fields, rows),
        "study.jsonl": json_lines(map(vars, pairs)),
    }


def _items_that_differ(suite: Suite) -> list[SuiteItem]:
    """The items of a suite whose two sides differ as read. Raises BadInput: there are none."""
    predicted = contrast(suite)
    items = []
    for item in suite.items:
        better = item.condition(predicted.better)
        worse = item.condition(predicted.worse)
        if _as_read(better) != _as_read(worse):
            items.append(item)
    if not items:
        raise BadInput(
            f"suite {suite.name}: both sides of every item read alike, so no one can judge; leave "
            "it out"
        )
    return items


def _pair(suite: Suite, item: SuiteItem, seed: int) -> Pair:
    """The two versions of an item; the seed decides on which side the coherent one is."""
    predicted = contrast(suite)
    name = f"{suite.name}/{item.number}"
    better = _as_read(item.condition(predicted.better))
    worse = _as_read(item.condition(predicted.worse))
    swap = bool(generator(seed, "judgement side", name).integers(2))
    if swap:
        return Pair(name, worse, better, "right", suite.name, predicted.worse)
    return Pair(name, better, worse, "left", suite.name, predicted.worse)


def _as_read(condition: Condition) -> str:
    """A condition's text as people read it: each speaker's turn on a line with a dash."""
    text = " ".join(region.content for region in condition.regions if region.content)
    if SPEAKERS not in text:
        return text
    turns = []
    for turn in text.split(SPEAKERS):
        if turn.strip():
            turns.append(f"– {turn.strip()}")
    return "\n".join(turns)


def human_sheet(
    inputs: ReportInputs, texts: str, suites: Sequence[str], per_suite: int, seed: int
) -> Files:
    """Pairs of texts for human judges, sides by seed.

    Args:
        inputs: where the data folder is.
        texts: the corpus' folder below it.
        suites: names of suites of the corpus.
        per_suite: pairs of each.
        seed: what draws are named after.

    Raises:
        BadInput: the corpus lacks one of the suites.
    """
    by_name = {suite.name: suite for suite in _suites(inputs.data / texts)}
    missing = sorted(set(suites) - by_name.keys())
    if missing:
        raise BadInput(
            f"judgement sheet: no suites {missing} in {texts}; allowed are {sorted(by_name)}"
        )
    return Files(judgement_sheet([by_name[name] for name in suites], per_suite, seed))


def _suites(folder: Path) -> list[Suite]:
    """The suites of a corpus."""
    corpus = read_corpus(folder)
    heads = {}
    if "suite_heads" in corpus.truth:
        heads["suite_heads"] = corpus.truth["suite_heads"]
    return suites_from_documents(corpus.documents, heads)
