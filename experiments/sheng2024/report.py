"""Tables 1-6 and Figures 4-7 and 9 of "BBScore: A Brownian Bridge Based Metric".

Sheng et al. 2024. A record's variant names what turns a latent path into a score and, where it is
not the paper's, how the encoder was trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from longform.results import ANY, Record, Results
from longform.statistics.intervals import NORMAL_95
from longform.tables import COLOURS, Cell, Figure, Table, cell, exact
from longform_lab.reporting.estimates import select
from longform_lab.reporting.pivot import SYSTEM, ReportInputs, panels, training_notes
from longform_lab.reporting.printed import Printed

STROKES = ("-", "--", "-.", ":")
CHANCE = "own_top_two_by_chance"
SHUFFLE_TASKS = {
    "critic": "bbscore",
    "metric": "pairwise_accuracy",
    "task": ["block_*", "window_*"],
}
# Fields that a derived record copies from the record that it is derived from.
SAME = ("critic", *SYSTEM, "task", "variant")
# Fields of a derived record that is a count; the value is filled in.
COUNT: Mapping[str, Any] = {"value": None, "low": None, "high": None, "signature": "count"}


def derived(results: Results) -> list[Record]:
    """Records computed from others: pairs per test set, and the top-two share expected by chance.

    Returns:
        Records of the metric ``pairs`` (a count for each critic, system, task and variant) and of
        ``CHANCE`` (the share of writers that random distances put among their own nearest two).
    """
    # 1. The number of pairs, which is the same for every head of an encoder.
    with_pairs = []
    for record in select(results, SHUFFLE_TASKS):
        if "pairs" in record.details:
            with_pairs.append(record)
    records = []
    for heads in Results(with_pairs).groups(*SAME).values():
        fields = _fields(heads[0], *SAME, "units", "excluded", "better")
        fields |= {**COUNT, "value": max(map(_num_pairs, heads))}
        records.append(Record(metric="pairs", **fields))
    # 2. By chance a writer is among the nearest two of all writers.
    num_writers = len(results.where(metric="distance").values("system"))
    by_chance = 2 / max(num_writers, 2)
    for record in results.where(metric="own_top_two"):
        fields = _fields(record, *SAME, "seed", "better")
        fields |= {**COUNT, "value": by_chance, "low": by_chance, "high": by_chance}
        records.append(Record(metric=CHANCE, **fields))
    return records


def _fields(record: Record, *names: str) -> dict[str, Any]:
    """The values of the named fields of a record."""
    return {name: getattr(record, name) for name in names}


def _num_pairs(record: Record) -> int:
    """The number of pairs of a test set, those that could not be scored included."""
    return int(record.details["pairs"] + record.details.get("unscored", 0))


def table_1(inputs: ReportInputs) -> Table:
    """Pairs of original and shuffle in each test set."""
    records = inputs.results.where(critic="bbscore", metric="pairs")
    cells = inputs.crossed(records, table="table_1", rows=("corpus",), column="task")
    return Table(
        "Table 1. Pairs of an original and a shuffle different from it, in the test set", cells
    )


def table_6(inputs: ReportInputs, where: Mapping[str, Any], **settings: Any) -> Table:
    """Accuracy of each scorer on three rated classes of coherence, in percent.

    A row for always choosing the commonest class is added, which the paper leaves out.

    Args:
        inputs: the records.
        where: fields of the records that are shown.
        settings: others of :func:`accuracies`.
    """
    table = accuracies(inputs, where=where, **settings)
    shares = {}
    for record in inputs.select(where, variant=ANY):
        if record.reference is not None:
            shares[record.corpus] = record.reference
    cells = list(table.cells)
    for corpus, share in shares.items():
        name = inputs.label("corpus", corpus)
        cells.append(exact("commonest class", name, 100 * share, "share of texts"))
    note = (
        "p-values (in the CSV): paired permutation test against always saying the commonest class"
    )
    return replace(table, cells=cells, notes=[note, *table.notes])


def length(inputs: ReportInputs) -> Table:
    """Spearman correlation of each score with the number of sentences of a test document.

    A row for each critic and variant. The paper has no such table.
    """
    records = inputs.results.where(metric="length_correlation")
    rows = ("critic", "variant")
    cells = inputs.crossed(records, table="length", rows=rows, column="metric")
    notes = inputs.notes + training_notes(records)
    caption = (
        "How far a score follows length: Spearman correlation with the number of sentences, "
        "unshuffled test texts"
    )
    return Table(caption, cells, notes)


def accuracies(
    inputs: ReportInputs,
    caption: str,
    where: Mapping[str, Any],
    column: str,
    rows: Sequence[str] = ("critic", "variant"),
) -> Table:
    """A table of percentages: a row for each scorer, a column for each task or writer (Tables 2-6).

    Rows of the paper for scorers that we do not have are shown with the printed numbers alone.

    Args:
        inputs: the records.
        caption: the table's heading.
        where: fields of the records that are shown.
        column: the field that names a column.
        rows: fields whose labels name a row.
    """
    # 1. Our cells; each has the printed number that it is compared with.
    critics = list(inputs.expected.labels("critic"))
    records = inputs.select({"critic": critics, "variant": ANY}, where, inputs.where)
    cells = inputs.crossed(records, table=inputs.name, rows=tuple(rows), column=column, factor=100)

    # 2. Printed numbers that no record of ours stands beside, as rows of their own.
    def names_in_table(number: Printed) -> tuple[str, str] | None:
        """Row and column of a printed number; None for other splits than test."""
        row, split, name = number.path
        if split != "test":
            return None
        name = (number.where or {}).get(column, name)
        scorer = inputs.expected["rows"][row]
        return f"{scorer} (printed)", inputs.label(column, name)

    cells += inputs.printed_alone(inputs.name, names_in_table)
    columns = [inputs.label(column, value) for value in inputs.expected.labels(column)]
    notes = inputs.notes + training_notes(records)
    return Table(caption, cells, notes, columns)


def rocs(inputs: ReportInputs, what: str, where: Mapping[str, Any], column: str) -> Figure:
    """ROC curves: a panel for each encoder, in it a line style for each task or writer.

    The legend's areas are those under the curves as drawn.

    Args:
        inputs: the records.
        what: the figure's heading.
        where: fields of the records that are shown.
        column: the field that names a stroke.
    """
    # 1. The records, and those among them that hold a curve.
    areas = {"critic": "bbscore", "metric": "area", "variant": ANY}
    records = inputs.select(areas, where, inputs.where)
    rows = ("critic", "variant")
    cells = inputs.crossed(records, table=inputs.name, rows=rows, column=column)
    with_curves = []
    for record in inputs.ordered(records, "variant", column):
        if "roc" in record.details:
            with_curves.append(record)
    curves = Results(with_curves)
    # 2. What the figure says of several trainings.
    caption = (
        f"{what}: ROC curves of BBScore. A true positive is an original or human text above the "
        "threshold; grey diagonal: chance."
    )
    if any("trainings" in record.details for record in records):
        groups = curves.groups("variant", column).values()
        num_trainings = max(map(len, groups), default=0)
        shown = "that of one training"
        if num_trainings > 1:
            shown = f"the mean of {num_trainings} trainings"
        caption += (
            f" Where an encoder was trained several times, a curve is {shown} with the area under "
            "it; the table has the mean over all."
        )
    # 3. Its panels.
    num_panels = max(len(curves.values("variant")), 1)
    across = min(num_panels, 3)
    down = -(-num_panels // across)
    draw = partial(_draw_rocs, inputs=inputs, curves=curves, column=column, across=across)
    size = (0.7 + 2.3 * across, 0.3 + 3.6 * down)
    return Figure(caption, cells, draw, size, inputs.notes + training_notes(records))


def _draw_rocs(
    canvas: Any, inputs: ReportInputs, curves: Results, column: str, across: int
) -> None:
    """Draw the curves, a panel for each encoder.

    Args:
        canvas: of the figure.
        inputs: the names.
        curves: records that hold a curve, in the order in which they are drawn.
        column: the field that names a stroke.
        across: panels in a row.
    """
    encoders = curves.values("variant")
    names = curves.values(column)
    grid = panels(canvas, len(encoders), across, sharey=True)
    for axes, encoder in zip(grid, encoders, strict=True):
        # 1. A curve for each task or writer, in the same stroke in every panel.
        strokes = curves.where(variant=encoder).groups(column)
        for (value,), trainings in strokes.items():
            number = names.index(value)
            false, true = mean_roc(trainings)
            area = np.trapezoid(true, false)
            name = f"{inputs.label(column, value)} ({area:.2f})"
            colour = COLOURS[number % len(COLOURS)]
            stroke = STROKES[number % len(STROKES)]
            axes.plot(false, true, label=name, color=colour, linestyle=stroke, lw=1.1)
        # 2. Chance, and the names.
        axes.plot([0, 1], [0, 1], color="0.8", linewidth=0.6)
        axes.set(xlabel="false positive rate", xlim=(0, 1), ylim=(0, 1), aspect="equal", anchor="N")
        title = inputs.label("variant", encoder) if encoder else "BBScore"
        axes.set_title(title)
        axes.legend(title="area under the curve", loc="upper center", bbox_to_anchor=(0.5, -0.16))
    for axes in grid[::across]:
        axes.set_ylabel("true positive rate")


def mean_roc(records: Sequence[Record]) -> tuple[np.ndarray, np.ndarray]:
    """The mean ROC curve of several records by vertical averaging (Fawcett 2006).

    Returns:
        False positive rates (points,), which all records share, and at each the mean of the true
        positive rates (points,).
    """
    curves = [record.details["roc"] for record in records]
    false_positive = np.array(curves[0]["false_positive"])
    true_positive = np.array([curve["true_positive"] for curve in curves])
    return false_positive, true_positive.mean(axis=0)


def figure_6(inputs: ReportInputs) -> Figure:
    """A matrix of Wasserstein distances between writers' distributions of the diffusion estimate.

    Rows are tested writers, columns known ones; each row is scaled to [1, 2].
    """
    # 1. The distances, and the share of writers whose own known texts are among the nearest two.
    distances = inputs.results.where(metric="distance")
    writers = distances.values("system")
    cells = []
    for record in distances:
        row = f"tested: {inputs.label('system', record.system)}"
        column = f"known: {inputs.label('system', record.variant)}"
        cells.append(cell(row, column, record))
    share = inputs.results.one(metric="own_top_two")
    block = inputs.expected["figure_6"]
    num_own = block["sources_in_their_own_top_two"]
    paper = 100 * num_own / block["sources"]
    own_top_two = cell("writers in their own top two", "%", share, printed=paper)
    cells.append(own_top_two.times(100))
    # 2. As they are drawn: a row for each tested writer, a column for each known one.
    scaled = []
    for tested in writers:
        row_of_tested = []
        for reference in writers:
            record = distances.one(system=tested, variant=reference)
            row_of_tested.append(record.details["scaled"])
        scaled.append(row_of_tested)
    names = [inputs.label("system", writer) for writer in writers]
    by_chance = inputs.results.one(metric=CHANCE).value
    caption = (
        "Figure 6. Distance of a tested writer's texts to each known writer's, scaled to [1, 2] in "
        f"each row (darker: nearer). By chance {by_chance:.0%} of the writers would be in their "
        "own top two."
    )
    draw = partial(_draw_distances, scaled=np.array(scaled), names=names)
    return Figure(caption, cells, draw, (6.0, 4.6), inputs.notes)


def _draw_distances(canvas: Any, scaled: np.ndarray, names: Sequence[str]) -> None:
    """Draw distances as colours and numbers.

    Args:
        canvas: of the figure.
        scaled: (tested writers, known writers).
        names: of the writers.
    """
    axes = canvas.subplots()
    image = axes.imshow(scaled, vmin=1, vmax=2, cmap="cividis")
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="known writer", ylabel="tested writer")
    look = {"ha": "center", "va": "center", "fontsize": 7}
    for (row, column), distance in np.ndenumerate(scaled):
        colour = "black" if distance > 1.5 else "white"
        axes.text(column, row, f"{distance:.2f}", color=colour, **look)
    canvas.colorbar(image, ax=axes, label="scaled distance")


def figure_7(inputs: ReportInputs) -> Figure:
    """Mean absolute latent value along a document, for each writer beside human text.

    Texts are stretched to one length, so that place 0 is their start and 1 their end.
    """
    # 1. Numbers at five places of each writer's mean path.
    path_of = {}
    for record in inputs.results.where(critic="bbscore", metric="trajectory"):
        path_of[record.system] = record
    human = path_of.pop("human")
    cells = []
    for record in (human, *path_of.values()):
        name = inputs.label("system", record.system)
        band = _band(record)
        num_points = band.shape[1]
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            point = min(int(num_points * share), num_points - 1)
            value, low, high = band[:, point].tolist()
            cells.append(Cell(name, f"at {share:.0%}", value, low, high, record.units))
    # 2. A panel for each writer.
    writers = list(path_of.values())
    num_panels = max(len(writers), 1)
    across = min(3, num_panels)
    down = -(-num_panels // across)
    caption = (
        "Figure 7. Latent paths of each writer beside human text: mean over texts, with 95 % "
        "intervals of the mean."
    )
    draw = partial(_draw_paths, inputs=inputs, human=human, writers=writers, across=across)
    size = (2.4 * across, 0.6 + 1.9 * down)
    return Figure(caption, cells, draw, size, inputs.notes)


def _draw_paths(
    canvas: Any, inputs: ReportInputs, human: Record, writers: Sequence[Record], across: int
) -> None:
    """Draw mean paths with their intervals, the human one in grey in every panel."""
    grid = panels(canvas, len(writers), across, sharex=True, sharey=True)
    for axes, writer in zip(grid, writers, strict=True):
        for record, colour in ((human, "0.45"), (writer, COLOURS[0])):
            mean, low, high = _band(record)
            shares = np.linspace(0, 1, len(mean))
            name = inputs.label("system", record.system)
            axes.plot(shares, mean, color=colour, label=name, linewidth=1.2)
            axes.fill_between(shares, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.legend(loc="lower right")
    # After all curves: a limit stops the axes that panels share from growing with later ones.
    for axes in grid:
        axes.set(xlim=(0, 1), ylim=(0, None))
    canvas.supxlabel("place in the text, as a share of its length")
    canvas.supylabel("mean absolute latent")


def _band(record: Record) -> np.ndarray:
    """The mean path of a writer's texts with a normal 95 % interval: mean, low, high.

    Returns:
        float64 (3, places), absolute latent values at equally spaced places of a text.
    """
    trajectory = record.details["trajectory"]
    mean = np.array(trajectory["mean"])
    spread = np.array(trajectory["spread"])
    num_texts = max(record.units or 1, 1)
    half_width = NORMAL_95 * spread / num_texts**0.5
    return np.stack([mean, mean - half_width, mean + half_width])


def figure_9(inputs: ReportInputs) -> Figure:
    """Area under the ROC curve as a function of the diffusion variance.

    Pairwise accuracy is drawn as a control: a text and its shuffle have the same number of
    sentences, so the variance cannot change which of the two scores higher.
    """
    # 1. The sweep: areas by variance.
    records = inputs.results.where(critic="bbscore", variant="", metric="area", task="block_1")
    record = next(record for record in records if "sweep" in record.details)  # the first head's
    sweep = record.details["sweep"]
    variances = sweep["sigma2"]
    areas = sweep["auc"]
    cells = []
    for variance, area in zip(variances, areas, strict=True):
        cells.append(Cell("BBScore", f"area at variance {variance:.3g}", area))
    # 2. The estimated variance, and the best one.
    estimate = record.details["sigma2"]
    distances = np.log(np.array(variances) / estimate)
    nearest = int(np.abs(distances).argmin())
    best = int(np.argmax(areas))

    # 3. Curves over the variance, the two as vertical lines.
    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.semilogx(variances, areas, color=COLOURS[0], label="area under the ROC curve")
        axes.semilogx(variances, sweep["accuracy"], color="0.6", label="pairwise accuracy")
        _vertical(axes, "estimated variance", estimate, linestyle="--", color=COLOURS[1])
        _vertical(axes, "best of the sweep", variances[best], linestyle=":", color=COLOURS[2])
        axes.axhline(0.5, color="0.85", linewidth=0.6)
        axes.set(xlabel=r"diffusion variance $\sigma_m^2$", ylabel="area, accuracy", ylim=(0, 1))
        axes.legend(fontsize=7)

    caption = (
        "Figure 9. What the diffusion variance changes (first head, blocks of 1; variances on a "
        f"log scale). At its estimate, {estimate:.3g}, the area is {areas[nearest]:.3f}; the best "
        f"of the sweep, {areas[best]:.3f}, is chosen on the same texts. Thin line at 0.5: chance."
    )
    return Figure(caption, cells, draw, notes=inputs.notes)


def _vertical(axes: Any, name: str, variance: float, **look: Any) -> None:
    """Draw a vertical line at a variance; the legend has its name and value."""
    axes.axvline(variance, label=f"{name}, {variance:.3g}", **look)
