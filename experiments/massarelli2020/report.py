"""Tables and figures of "How Decoding Strategies Affect the Verifiability of Generated Text".

Massarelli et al. 2020. A record's corpus is a *run* (a language model, prefixes, a list of
decoders) and its system a decoder of it; ``variant`` is ``gold`` where exact rules take the
checker's place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from longform.critics.verifiability.checks import LABELS
from longform.critics.verifiability.reliability import FLAGS, judged, judges_see, read_answers
from longform.results import Record, Results
from longform.tables import COLOURS, Cell, Figure, Files, Table, cell, csv_text
from longform_lab.reporting.pivot import REAL_TEXT, ReportInputs, errors

PERCENT = (
    "proportion_4grams",
    "link_grammar_percent",
    "SPG",
    "SPV",
    "USPG",
    "USPV",
)  # shares, printed in percent
TABLE_1 = ("distinct_4grams", "proportion_4grams", "SPG", "SPV", "USPG", "USPV")
TABLE_2 = ("REP", "NAC", "UNG", "SPG", "SPV", "USPG", "USPV")
TABLE_4 = (
    "distinct_sentences",
    "entities",
    "tokens",
    "conjunctions",
    "link_grammar_percent",
    "tfidf",
)


def _of_checker(
    inputs: ReportInputs, runs: Sequence[str], *measures: str, variant: str = ""
) -> Results:
    """The records of measures of the decoders of some runs.

    Args:
        inputs: the records.
        runs: names of runs, the records' corpora.
        measures: metrics.
        variant: ``gold`` for exact rules in place of the checker.
    """
    return inputs.results.where(
        critic="verifiability", variant=variant, corpus=list(runs), metric=list(measures)
    )


def _factor(metric: str) -> float:
    """The factor by which a measure is multiplied to be printed: 100 for shares."""
    return 100.0 if metric in PERCENT else 1.0


def strategy(settings: Mapping[str, Any]) -> str:
    """The strategy of a decoder: its kind, or ``beam_blocked`` for beams that block repeats."""
    if settings["kind"] == "beam" and settings.get("blocking"):
        return "beam_blocked"
    return str(settings["kind"])


def label(name: str, inputs: ReportInputs) -> str:
    """The label of a decoder: ``delayed beam search (top k 100, beams 6, delay 1)``.

    A decoder whose settings are not listed keeps its name in words.
    """
    if name not in inputs.decoders:
        return inputs.label("system", name)
    settings = []
    for key, value in _without_kind(inputs.decoders[name]).items():
        settings.append(f"{key.replace('_', ' ')} {value:g}")
    text = inputs.label("system", strategy(inputs.decoders[name]))
    return f"{text} ({', '.join(settings)})" if settings else text


def _without_kind(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers among a decoder's settings."""
    return {key: value for key, value in settings.items() if key != "kind"}


def _kind(name: str, inputs: ReportInputs) -> str:
    """The strategy of a decoder by its name, which is the strategy where no settings are listed."""
    return strategy(inputs.decoders.get(name, {"kind": name}))


def in_order(records: Iterable[Record], inputs: ReportInputs) -> list[Record]:
    """Records by strategy in the paper's order, then by settings as numbers, then by name."""
    labelled = list(inputs.expected["labels"]["system"])

    def position(record: Record) -> tuple[Any, ...]:
        kind = _kind(record.system, inputs)
        rank = labelled.index(kind) if kind in labelled else len(labelled)
        settings = inputs.decoders.get(record.system, {})
        numbers = list(_without_kind(settings).values())
        return rank, kind, numbers, record.system

    return sorted(records, key=position)


def chosen(inputs: ReportInputs) -> dict[str, str]:
    """For each strategy the name of the decoder with the highest USPG on validation prefixes.

    Of equal ones it is the first, which has the smaller setting.
    """
    best: dict[str, str] = {}
    highest: dict[str, float] = {}
    for record in _of_checker(inputs, ["sweep"], "USPG"):
        if record.value is None or record.system not in inputs.decoders:
            continue
        kind = _kind(record.system, inputs)
        if kind not in best or record.value > highest[kind]:
            best[kind] = record.system
            highest[kind] = record.value
    return best


def measured(
    inputs: ReportInputs,
    run: str,
    measures: Sequence[str],
    table: str = "",
    variant: str = "",
    column: str = "{}",
) -> list[Cell]:
    """Cells of a run: a row for each decoder, a column for each measure, shares in percent.

    Args:
        inputs: the records.
        run: the run whose decoders are shown.
        measures: in the order of the columns.
        table: the paper's table whose numbers stand beside ours; "" for none.
        variant: ``gold`` for exact rules.
        column: the columns' name; ``{}`` stands for the measure's.
    """
    records = in_order(_of_checker(inputs, [run], *measures, variant=variant), inputs)
    records.sort(key=lambda record: measures.index(record.metric))
    cells = []
    for record in records:
        name = column.format(inputs.label("metric", record.metric))
        row = label(record.system, inputs)
        cells.append(inputs.cell(row, name, record, table, _factor(record.metric)))
    return cells


def table_1(inputs: ReportInputs) -> Table:
    """Repetition and verifiability of decoders on test prefixes, of two models.

    Rows are all decoders of the run ``test``, then, of the small model's run ``grid``, those that
    validation on ``sweep`` chose.
    """
    cells = measured(inputs, "test", TABLE_1, table="table_1")
    verifiability = TABLE_1[2:]
    cells += measured(inputs, "test", verifiability, variant="gold", column="{} by exact rules")
    decoders = list(chosen(inputs).values())
    small = replace(inputs, results=inputs.results.where(system=decoders))
    for of_decoder in measured(small, "grid", TABLE_1):
        row = f"small model, chosen on validation: {of_decoder.row}"
        cells.append(replace(of_decoder, row=row))
    caption = (
        "Table 1. Repetition and verifiability by decoder, test prefixes (percent, but for "
        "distinct 4-grams)"
    )
    return Table(caption, cells, inputs.notes)


def table_3(inputs: ReportInputs, papers_choice: Sequence[Mapping[str, Any]]) -> Table:
    """All decoders of the sweep; those chosen by USPG, by us and by the paper, are marked.

    Args:
        inputs: the records.
        papers_choice: settings of the decoders that the paper chose.
    """
    # 1. The two choices, as rows are called.
    best = {label(name, inputs) for name in chosen(inputs).values()}
    papers = set()
    for name, settings in inputs.decoders.items():
        if settings in papers_choice:
            papers.add(label(name, inputs))
    # 2. The whole grid.
    cells = []
    for of_decoder in measured(inputs, "sweep", TABLE_1):
        row = of_decoder.row
        if of_decoder.row in best:
            row += " (chosen)"
        if of_decoder.row in papers:
            row += " (the paper's)"
        cells.append(replace(of_decoder, row=row))
    note = f"chosen, as in the paper: {len(best & papers)} of {len(best)} strategies"
    caption = (
        "Table 3. The sweep on validation prefixes: the highest USPG of each strategy is chosen"
    )
    return Table(caption, cells, [note, *inputs.notes])


def table_4(inputs: ReportInputs) -> Table:
    """Features of sentences (counts of entities, tokens ...) by decoder, validation prefixes.

    They are counted by rules, where the paper uses spaCy's parser.
    """
    cells = measured(inputs, "sweep", TABLE_4, table="table_4")
    notes = [
        "entities are runs of capitals and numbers, conjunctions two per coordinating word: see "
        "deviations.md"
    ]
    grammar = inputs.label("metric", "link_grammar_percent")
    if not any(one.column == grammar and _is_number(one.value) for one in cells):
        notes.append("Link Grammar's Python binding is not installed here, so its column is empty")
    return Table("Table 4. What sentences are like, by decoder, validation prefixes", cells, notes)


def _is_number(value: float | None) -> bool:
    """Whether a value is there and is no NaN."""
    return value is not None and value == value


CORRECTIONS = {  # variants of SPG, and the columns that show them
    "": "SPG as given",
    "corrected_by_claims": "SPG, errors as on claims",
    "corrected_by_sample": "SPG, errors as on the sweep",
    "gold": "SPG by exact rules",
}


def checker(inputs: ReportInputs) -> Table:
    """Accuracy of the fact checker, and the share of supported sentences corrected for its errors.

    The paper's numbers are for its checker against people.
    """
    cells: list[Cell] = []
    notes: list[str] = []
    # 1. The checker against the truth.
    for corpus in ("claims", "test"):
        row = f"checker on {inputs.label('corpus', corpus)}"
        records = inputs.results.where(critic="verifiability", corpus=corpus)
        cells += _accuracy_cells(inputs, row, records)
        notes += _accuracy_notes(row, records)
    # 2. Support as the checker counts it, and corrected.
    for variant, column in CORRECTIONS.items():
        shares = _of_checker(inputs, ["test"], "SPG", variant=variant)
        for record in in_order(shares, inputs):
            cells.append(cell(label(record.system, inputs), column, record).times(100))
        unknown: set[str] = set()
        for record in shares:
            unknown.update(record.details.get("unknown_labels", ()))
        for name in sorted(unknown):
            notes.append(f"{column}: no known sentence is truly {name}, so nothing is corrected")
    caption = "The checker against the known truth, and support corrected for its errors (percent)"
    return Table(caption, cells, notes)


def _accuracy_cells(inputs: ReportInputs, row: str, records: Results) -> list[Cell]:
    """Accuracy, precision and recall of the checker, in all and by label, in percent."""
    labels = ("", *LABELS)
    cells = []
    for metric in ("checker_accuracy", "checker_precision", "checker_recall"):
        of_metric = records.where(metric=metric)
        for record in sorted(of_metric, key=lambda record: labels.index(record.task)):
            column = metric.removeprefix("checker_")
            if record.task:
                column += f" of {record.task.replace('_', ' ')}"
            cells.append(inputs.cell(row, column, record, table="table_2", factor=100))
    return cells


def _accuracy_notes(row: str, records: Results) -> list[str]:
    """Notes: the share of known evidence that was retrieved, and the accuracy of guessing."""
    notes = []
    for record in records.where(metric="checker_accuracy"):
        retrieved = 100 * record.details["retrieved"]
        majority = 100 * record.details["majority"]
        notes.append(
            f"{row}: {retrieved:.1f} % of the known evidence was among the judged lines; the most "
            f"frequent true label makes {majority:.1f} %"
        )
    return notes


KEY = ("decoder", "page", "generation", "sentence")  # what judges do not see of an item
NOBODY_ASKED = "nobody was asked: the sheet is beside the table"
OTHER_PEOPLE = "other texts and other people than the paper's"


def table_2(inputs: ReportInputs, answers: str | None = None) -> Files:
    """The table of human judgements, with exact repeats counted here, and the files of the study.

    These are ``sheet.csv`` for ``python -m longform_lab.study make claim``, ``key.csv`` with the
    decoder of each sentence, and ``answers.csv``, an empty form.

    Args:
        inputs: the records.
        answers: path below ``data`` of a filled form; the table then has our annotators too.
    """
    sheet = inputs.results.one(
        critic="verifiability", metric="exact_repeats", corpus="test"
    ).details
    items = sheet["items"]
    ours = judged(items, read_answers(inputs.data / answers)) if answers else None
    printed = inputs.expected["table_2"]
    # 1. A row for each decoder.
    cells = _judged_cells(inputs, sheet["exact_repeats"], ours)
    # 2. Who judged.
    notes = [
        f"sheet of {len(items)} sentences after {sheet['prefixes']} prefixes "
        f"(paper: {printed['prefixes']} prefixes)"
    ]
    if ours is None:
        notes.append("give the filled sheet as `answers`, and the table has our numbers too")
    else:
        agreement = ours["agreement"]
        kappa = f"{agreement['cohen_kappa']:.2f} (paper {printed['cohen_kappa']})"
        notes.append(f"{agreement['annotators']} annotators, Cohen's kappa {kappa}")
        notes.append(f"{ours['sentences']} sentences judged, {ours['unanswered']} not")
    # 3. The files of the study.
    keys = []
    for item in items:
        keys.append((item["item"], *map(item["key"].get, KEY)))
    texts = {
        "sheet.csv": csv_text(("item_id", "claim", "evidence"), judges_see(sheet)),
        "key.csv": csv_text(("item", *KEY), keys),
        "answers.csv": csv_text(("item", "annotator", "label", *FLAGS), []),
    }
    caption = "Table 2. What people say of the first five sentences (percent)"
    return Files(texts, Table(caption, cells, [*notes, *inputs.notes]))


def _judged_cells(
    inputs: ReportInputs, repeats_of: Mapping[str, float | None], ours: Mapping[str, Any] | None
) -> list[Cell]:
    """Cells of people's judgements of each decoder's sentences, and of its exact repeats.

    Args:
        inputs: the printed numbers and the labels.
        repeats_of: share of repeated sentences by decoder, None where none could be counted.
        ours: what our annotators say; None where nobody was asked.
    """
    by_decoder = {} if ours is None else ours["decoders"]
    why = OTHER_PEOPLE if ours else NOBODY_ASKED
    cells = []
    for decoder, repeats in repeats_of.items():
        row = inputs.label("system", decoder)
        # 1. Ours beside the paper's.
        values = by_decoder.get(decoder, {})
        printed = dict(zip(TABLE_2, inputs.expected["table_2"].get(decoder, ()), strict=False))
        for measure in TABLE_2:
            value = values.get(measure)
            cells.append(Cell(row, measure, value, printed=printed.get(measure), why=why))
        # 2. Repeats, counted.
        share = None if repeats is None else 100 * repeats
        signature = "sentences equal to an earlier one of the text"
        cells.append(Cell(row, "exact repeats", share, signature=signature))
    return cells


MARKS = {  # a strategy, the same mark in every figure
    "human": "*",
    "top_k": "o",
    "top_p": "s",
    "greedy": "D",
    "beam": "^",
    "group_beam": "v",
    "sibling_beam": "P",
    "delayed_beam": "X",
    "beam_blocked": "p",
    "min_p": "<",
    "typical": ">",
    "contrastive": "d",
}
FILLS = ("full", "none", "left", "bottom")  # of models' marks, beside their colours
# Colours by strategy, where colours are not the models': one for those that go about it alike.
SAMPLING, SEARCH, BOTH, *_ = COLOURS
HUES = {
    "human": REAL_TEXT,
    "top_k": SAMPLING,
    "top_p": SAMPLING,
    "min_p": SAMPLING,
    "typical": SAMPLING,
    "greedy": SEARCH,
    "beam": SEARCH,
    "group_beam": SEARCH,
    "sibling_beam": SEARCH,
    "beam_blocked": SEARCH,
    "delayed_beam": BOTH,
    "contrastive": BOTH,
}


def _cell(row: str, record: Record, inputs: ReportInputs) -> Cell:
    """The cell of a record in a figure's table, shares in percent."""
    return cell(row, inputs.label("metric", record.metric), record).times(_factor(record.metric))


def _values(cells: Iterable[Cell]) -> list[float | None]:
    """The numbers of cells without their intervals."""
    return [one.value for one in cells]


def _by_run_and_decoder(records: Iterable[Record], inputs: ReportInputs) -> list[Cell]:
    """The cells of a figure's records, in rows named after the run and the decoder."""
    cells = []
    for record in records:
        row = f"{inputs.label('corpus', record.corpus)}: {label(record.system, inputs)}"
        cells.append(_cell(row, record, inputs))
    return cells


@dataclass(frozen=True)
class Panel:
    """One side of Figure 2."""

    title: str
    runs: Sequence[str]


def figure_2(inputs: ReportInputs) -> Figure:
    """USPV against USPG on validation prefixes, of the decoders that all runs have.

    (a) models of several corpora; (b) sizes, where there are several.
    """
    corpora = ("sweep", "web", "books", "pages")
    sizes = ("sweep", "medium", "large")
    # 1. The decoders that all runs have.
    shared = []
    kinds = []
    for name in _of_checker(inputs, ["pages"], "USPG").values("system"):
        if name in inputs.decoders:
            shared.append(inputs.decoders[name])
            kinds.append(strategy(inputs.decoders[name]))
    records = []
    for record in _of_checker(inputs, [*corpora, *sizes], "USPG", "USPV"):
        if inputs.decoders.get(record.system) in shared:
            records.append(record)
    # 2. The panels.
    sides = [Panel("(a) training corpora", corpora)]
    if _of_checker(inputs, sizes[1:], "USPG"):
        sides.append(Panel("(b) sizes", sizes))
    titles = " and ".join([side.title for side in sides])
    caption = (
        f"Figure 2. USPV against USPG (percent), validation prefixes: {titles}. Colours and "
        "fillings are models, marks are decoding strategies, bars 95 % intervals over prefixes."
        f"{_at_zero(inputs, Results(records))}"
    )
    draw = partial(_draw_runs, inputs=inputs, sides=sides, records=Results(records), kinds=kinds)
    size = (3.0 + 2.1 * len(sides), 4.4)
    return Figure(caption, _by_run_and_decoder(records, inputs), draw, size, inputs.notes)


def _at_zero(inputs: ReportInputs, records: Results) -> str:
    """A sentence on models with several marks at (0, 0), which cover each other; "" for none."""
    covered = []
    for (run,), of_run in records.groups("corpus").items():
        num_zeros = 0
        for record in of_run:
            other = records.find(metric="USPV", corpus=run, system=record.system)
            is_zero = record.metric == "USPG" and record.value == 0
            num_zeros += is_zero and other is not None and other.value == 0
        if num_zeros > 1:
            covered.append(f"{num_zeros} of {inputs.label('corpus', run)}")
    return f" Marks at (0, 0) cover each other: {', '.join(covered)}." if covered else ""


def _draw_runs(
    canvas: Any,
    inputs: ReportInputs,
    sides: Sequence[Panel],
    records: Results,
    kinds: Sequence[str],
) -> None:
    """Draw Figure 2: a panel for each side, a colour for each run, below them the marks' legend."""
    panels = canvas.subplots(1, len(sides), sharex=True, sharey=True, squeeze=False)[0]
    for axes, side in zip(panels, sides, strict=True):
        for colour, fill, run in zip(COLOURS, FILLS, side.runs, strict=False):
            hues = dict.fromkeys(MARKS, colour)
            of_run = records.where(corpus=run)
            _scatter(axes, inputs, of_run, ("USPG", "USPV"), hues, fillstyle=fill)
            name = inputs.label("corpus", run)
            axes.plot([], [], "o", color=colour, fillstyle=fill, label=name)
        axes.set(xlabel="USPG: unique supported sentences of five (%)", title=side.title)
        axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    first = canvas.axes[0]
    first.set(xlim=(-2, None), ylim=(-3, 103), ylabel="USPV: supported of the unique verified (%)")
    _legend(canvas, kinds, inputs, dict.fromkeys(MARKS, "0.3"))


def _scatter(
    axes: Any,
    inputs: ReportInputs,
    records: Results,
    metrics: tuple[str, str],
    hues: Mapping[str, str],
    **look: Any,
) -> None:
    """Draw a mark for each decoder at its values of two measures, with thin bars for intervals.

    Decoders that lack one of them are left out.

    Args:
        axes: of the panel.
        inputs: the settings of decoders, and labels.
        records: of one run.
        metrics: the measures on the horizontal and the vertical axis.
        hues: colours by strategy.
        look: how marks are drawn.
    """
    across, upwards = metrics
    for record in in_order(records.where(metric=upwards), inputs):
        other = records.find(metric=across, system=record.system)
        if other is None or other.value is None or record.value is None:
            continue
        x = _cell("", other, inputs)
        y = _cell("", record, inputs)
        kind = _kind(record.system, inputs)
        look |= {"fmt": MARKS.get(kind, "."), "color": hues.get(kind, "0.5")}
        look |= {"markersize": 6, "elinewidth": 0.4}
        axes.errorbar([x.value], [y.value], errors([y]), errors([x]), **look)


def _legend(
    canvas: Any, kinds: Sequence[str], inputs: ReportInputs, hues: Mapping[str, str]
) -> None:
    """Draw a legend of the marks of strategies (``kinds``), in their ``hues``, below all panels."""
    from matplotlib.lines import Line2D

    handles = []
    for kind, mark in MARKS.items():
        if kind in kinds:
            name = inputs.label("system", kind)
            handle = Line2D([], [], marker=mark, color=hues[kind], linestyle="", label=name)
            handles.append(handle)
    across = 4 if canvas.get_figwidth() > 6 else 3
    canvas.legend(handles=handles, loc="outside lower center", ncols=across)


Point = tuple[float, Record]  # a setting of a decoder, and a number of it


def _series(inputs: ReportInputs, measure: str, over: str, fixed: Mapping[str, Any]) -> list[Point]:
    """A measure of the sweep's decoders as points over one of their settings, in rising order.

    Args:
        inputs: the records.
        measure: the metric.
        over: the setting that varies.
        fixed: values of other settings; decoders with other values are left out.
    """
    points = []
    for record in _of_checker(inputs, ["sweep"], measure):
        settings = inputs.decoders.get(record.system, {})
        agrees = all(settings.get(key) == value for key, value in fixed.items())
        if over in settings and agrees:
            points.append((float(settings[over]), record))
    return sorted(points, key=lambda point: point[0])


# By the name of its axis, the setting of each row and the decoders that vary in it.
FIGURE_3: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "delay (tokens sampled before the beams)": (
        "delay",
        {"kind": "delayed_beam", "top_k": 100, "beams": 6},
    ),
    "blocking size (longest repeat, in tokens)": ("blocking", {"kind": "beam", "beams": 15}),
}
IN_CAPTION_3 = {
    "delay": "delay length (top-100, six beams)",
    "blocking": "blocking size (15 beams)",
}
MEASURES_3 = ("SPG", "SPV", "proportion_4grams")


def figure_3(inputs: ReportInputs) -> Figure:
    """SPG, SPV and proportion of 4-grams over the delay length of delayed beam search, and over
    the blocking size of beam search.
    """
    # 1. The numbers, by row and measure.
    series: dict[tuple[str, str], list[Point]] = {}
    cells = []
    for row, (over, fixed) in FIGURE_3.items():
        for measure in MEASURES_3:
            points = _series(inputs, measure, over, fixed)
            series[row, measure] = points
            for setting, record in points:
                cells.append(_cell(f"{row}: {setting:g}", record, inputs))

    # 2. A row of panels for each setting that was run.
    rows = [row for row in FIGURE_3 if any(series[row, measure] for measure in MEASURES_3)]
    colours = dict(zip(FIGURE_3, COLOURS, strict=False))

    def draw(canvas: Any) -> None:
        down = max(len(rows), 1)
        panels = canvas.subplots(down, len(MEASURES_3), squeeze=False, sharey=True)
        for i, row in enumerate(rows):
            for axes, measure in zip(panels[i], MEASURES_3, strict=True):
                title = "" if i else inputs.label("metric", measure)
                _draw_series(axes, series[row, measure], inputs, colours[row])
                axes.set_title(title)
            # One name of the axis for the row's three panels, which have the same settings.
            panels[i][1].set_xlabel(row)
        # Of more than the human text's 4-grams there may be more than 100 %.
        _, highest = panels[0][0].get_ylim()
        panels[0][0].set_ylim(0, max(highest, 105))
        canvas.supylabel("percent")

    settings = [IN_CAPTION_3[FIGURE_3[row][0]] for row in rows]
    caption = (
        "Figure 3. Supported sentences of all (SPG) and of those verified (SPV), and share of the "
        f"human text's 4-grams (percent) by {' and by '.join(settings)}, small model, validation "
        "prefixes, with 95 % intervals where 20 prefixes or more have the number. Settings stand "
        "at equal distances."
    )
    return Figure(caption, cells, draw, (7.2, 0.4 + 2.0 * max(len(rows), 1)), inputs.notes)


def _draw_series(axes: Any, points: Sequence[Point], inputs: ReportInputs, colour: str) -> None:
    """Draw a line over evenly spaced settings; missing numbers are left out."""
    names = []
    cells = []
    for setting, record in points:
        if record.value is not None:
            names.append(f"{setting:g}")
            cells.append(_cell("", record, inputs))
    style = {"color": colour, "marker": "o", "markersize": 4, "capsize": 2}
    positions = range(len(cells))
    axes.errorbar(positions, _values(cells), errors(cells), **style)
    axes.set_xticks(positions, names)


def figure_4(inputs: ReportInputs) -> Figure:
    """Pearson correlations of features of sentences with being supported and being verified."""
    cells = []
    shown = []
    for record in inputs.results.where(critic="verifiability", metric="correlation", corpus="test"):
        correlation = cell(inputs.label("task", record.task), record.variant, record)
        cells.append(correlation)
        if record.value is not None:
            shown.append(correlation)
    names = list(dict.fromkeys(map(attrgetter("row"), shown)))

    # Each side a little above or below the name's height.
    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for shift, side, mark, colour in (
            (-0.12, "supported", "o", COLOURS[0]),
            (0.12, "verified", "s", COLOURS[4]),
        ):
            of_side = [one for one in shown if one.column == side]
            heights = [names.index(one.row) + shift for one in of_side]
            look = {"fmt": mark, "color": colour, "capsize": 2, "label": f"is {side}"}
            axes.errorbar(_values(of_side), heights, xerr=errors(of_side), **look)
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set(xlabel="Pearson correlation over sentences", xlim=(-1, 1))
        axes.legend()

    caption = (
        "Figure 4. What a sentence is like and whether it is supported, or verified: test "
        "prefixes, 95 % intervals over prefixes."
    )
    return Figure(caption, cells, draw, (6.4, 3.6), inputs.notes)


@dataclass(frozen=True)
class Curve:
    """The delayed beams of one k in Figure 5, and plain sampling of the same k.

    Attributes:
        delayed: by delay.
        plain: without beams; empty where that k was not run alone.
    """

    top_k: int
    delayed: Sequence[tuple[float, Cell]]
    plain: Sequence[Cell]


def figure_5(inputs: ReportInputs) -> Figure:
    """Different supported sentences by delay length.

    There is a line for each k that has several; beside them is plain sampling of the same k.
    """
    measure = "distinct_supported"
    # 1. Plain sampling.
    plain: list[tuple[float, Cell]] = []
    for k, record in _series(inputs, measure, "k", {"kind": "top_k"}):
        plain.append((k, _cell(f"plain top-{k:g}", record, inputs)))
    # 2. Delayed beams, by k.
    widths = set()
    for settings in inputs.decoders.values():
        if settings["kind"] == "delayed_beam":
            widths.add(settings["top_k"])
    curves = []
    for k in sorted(widths):
        delayed = []
        fixed = {"kind": "delayed_beam", "top_k": k}
        for delay, record in _series(inputs, measure, "delay", fixed):
            row = f"delayed, top-{k}, delay {delay:g}"
            delayed.append((delay, _cell(row, record, inputs)))
        if delayed:
            same_k = [one for width, one in plain if width == k]
            curves.append(Curve(k, delayed, same_k))
    # 3. The numbers in the figure.
    delays = set()
    cells = []
    for curve in curves:
        for delay, one in curve.delayed:
            delays.add(delay)
            cells.append(one)
    cells += [one for _, one in plain]
    caption = (
        "Figure 5. Different supported sentences among the first five by delay length, small "
        "model, validation prefixes, with 95 % intervals over prefixes; hollow, at the right: "
        "plain sampling of the same k, which never begins its beams."
    )
    draw = partial(_draw_delays, curves=curves, delays=sorted(delays))
    return Figure(caption, cells, draw, (5.4, 3.4), inputs.notes)


def _draw_delays(canvas: Any, curves: Sequence[Curve], delays: Sequence[float]) -> None:
    """Draw a line for each curve, a little beside the others, and its hollow mark at the right."""
    axes = canvas.subplots()
    for number, curve in enumerate(curves):
        shift = 0.1 * (number - (len(curves) - 1) / 2)
        colour = COLOURS[number % len(COLOURS)]
        look = {"color": colour, "marker": "osD^vP"[number % 6], "capsize": 2}
        delayed = [(delays.index(delay) + shift, one) for delay, one in curve.delayed]
        _errorbar(axes, delayed, **look, label=f"top-{curve.top_k}")
        plain = [(len(delays) + shift, one) for one in curve.plain]
        _errorbar(axes, plain, **look, fillstyle="none")
    names = [f"{delay:g}" for delay in delays]
    axes.set_xticks(range(len(delays) + 1), [*names, "no beams"])
    axes.set(xlabel="delay (tokens sampled before the beams)")
    axes.set(ylabel="different supported of five", ylim=(0, None))
    axes.legend(title="sampled from")


def _errorbar(axes: Any, placed: Sequence[tuple[float, Cell]], **look: Any) -> None:
    """Draw numbers with their intervals at horizontal positions; missing ones are left out.

    Args:
        axes: of the figure.
        placed: (position, cell) of each.
        look: how they are drawn.
    """
    positions = []
    cells = []
    for position, one in placed:
        if one.value is not None:
            positions.append(position)
            cells.append(one)
    axes.errorbar(positions, _values(cells), errors(cells), **look)


def trade_off(inputs: ReportInputs) -> Figure:
    """Support against repetition for every decoder on test prefixes: SPG left, USPG right."""
    measures = ("SPG", "USPG")
    records = _of_checker(inputs, ["test"], "proportion_4grams", *measures)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, 2, sharex=True, sharey=True)
        for axes, measure in zip(panels, measures, strict=True):
            _scatter(axes, inputs, records, ("proportion_4grams", measure), HUES)
            label_across = "different 4-grams, % of the human text's"
            axes.set(ylim=(0, None), xlabel=label_across, title=measure)
        canvas.axes[0].set_ylabel("supported sentences (%)")
        kinds = [_kind(record.system, inputs) for record in records.where(metric="SPG")]
        _legend(canvas, kinds, inputs, HUES)

    caption = (
        f"Support against repetition, {inputs.label('corpus', 'test')}: supported sentences among "
        "all (SPG) and, counted once, among all (USPG), over different 4-grams as a share of the "
        "human text's. A mark is a strategy, its colour a family: sampling, search, or something "
        "of both. Bars are 95 % intervals."
    )
    return Figure(caption, _by_run_and_decoder(records, inputs), draw, (7.2, 3.8))
