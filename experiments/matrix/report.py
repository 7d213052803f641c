"""The response of every critic to every corruption of the synthetic world. No paper has this table.

A response is a critic's score of damaged minus that of sound text (paired); the critic is said to
see the corruption where a permutation test is significant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log10
from statistics import median
from textwrap import wrap
from typing import Any

from longform.errors import BadInput
from longform.results import Record, Results
from longform.tables import COLOURS, Cell, Figure, Table, cell
from longform_lab.reporting.estimates import Estimate, contrast
from longform_lab.reporting.pivot import ReportInputs

LEVEL = 0.01  # of the p-value below which a critic sees a corruption
LINEAR = 3.0  # standard errors up to which the figure's scale is linear; then it is logarithmic
WIDTH = 0.8  # share of a corruption's field that its curve takes
NOT_SCORED, SEEN, NOT_SEEN = "not scored", "seen", "not seen"


def seen(record: Record) -> bool:
    """Whether a critic's score changes significantly under a corruption."""
    return record.p_value is not None and record.p_value < LEVEL and bool(record.difference)


def is_meant(inputs: ReportInputs, critic: str, corruption: str) -> bool:
    """Whether a critic is meant for a corruption."""
    return critic in inputs.expected["meant_for"].get(corruption, ())


def corruption_matrix(inputs: ReportInputs, severity: float = 0.2) -> Table:
    """Responses at one severity, a row for each critic, a column for each corruption.

    Raises:
        BadInput: there is no response at that severity.
    """
    records = _responses(inputs).where(severity=severity)
    if not len(records):
        raise BadInput(
            f"no response at severity {severity:g}; the corpus of corruptions must hold that "
            "severity"
        )
    # 1. A cell for each response, and whether the critic answers.
    cells = []
    answers: dict[bool, list[bool]] = {True: [], False: []}  # by whether the critic is meant for it
    for record in records:
        meant_for_it = is_meant(inputs, record.critic, record.task)
        answers[meant_for_it].append(record.value is not None and seen(record))
        verdict = SEEN if seen(record) else NOT_SEEN
        if record.value is None:
            verdict = NOT_SCORED
        row = inputs.label("critic", record.critic)
        column = inputs.label("task", record.task)
        why = "its own corruption" if meant_for_it else ""
        cells.append(cell(row, column, record, verdict=verdict, why=why))
    # 2. How many answer to what they are meant for, and to the rest.
    note = (
        f"p < {LEVEL:g}: {sum(answers[True])} of {len(answers[True])} critics see a corruption "
        f"that they are meant for, {sum(answers[False])} of {len(answers[False])} one that they "
        "are not"
    )
    caption = (
        "What each critic sees: score of damaged minus sound text at severity "
        f"{severity:g}, with 95 % intervals"
    )
    return Table(caption, cells, [note, *inputs.notes])


def corruption_responses(inputs: ReportInputs) -> Figure:
    """Responses as curves over severity, upward where the critic judges damaged text worse.

    The figure has a strip for each critic, and in it a field for each corruption.
    """
    records = _responses(inputs)
    critics, corruptions = records.values("critic"), records.values("task")
    units = {critic: _unit(records.where(critic=critic)) for critic in critics}
    # 1. The numbers; a response is None where nothing could be scored.
    cells = []
    for record in records:
        row = inputs.label("critic", record.critic)
        column = f"{inputs.label('task', record.task)} {record.severity:g}"
        response = worse(record, units[record.critic])
        numbers: dict[str, Any] = {}
        for name in ("value", "low", "high"):
            numbers[name] = getattr(response, name, None)
        for name in ("units", "excluded", "p_value"):
            numbers[name] = getattr(record, name)
        cells.append(Cell(row, column, **numbers))
    # 2. The figure.
    caption = (
        "How each critic's score changes as text is damaged, in units of its median standard error "
        f"(linear up to {LINEAR:g}, logarithmic beyond, a scale for each row). Up is judged worse: "
        "scores of which higher is better are turned; a critic with ± wants scores near those of "
        "real text, so that its distance from sound text is drawn in either direction. Grey: 95 % "
        "interval of the paired difference. Shaded: the critic is meant for this corruption. Dots: "
        f"the paired test has p < {LEVEL:g}; with so many some pass by chance."
    )
    # Wide enough for the name of the axis, tall enough for those of the corruptions.
    size = max(1.5 + 0.56 * len(corruptions), 4.6), 1.6 + 0.42 * len(critics)
    draw = partial(_draw_strips, inputs=inputs, records=records, units=units)
    return Figure(caption, cells, draw, size)


def _draw_strips(
    canvas: Any, inputs: ReportInputs, records: Results, units: Mapping[str, float]
) -> None:
    """Draw a strip for each critic, in it a field for each corruption.

    Args:
        canvas: of the figure.
        inputs: its labels.
        records: of :func:`_responses`.
        units: for each critic the median standard error of its responses.
    """
    # 1. The strips; an empty one where there is no critic.
    corruptions = records.values("task")
    num_strips = max(len(units), 1)
    strips = canvas.subplots(num_strips, 1, sharex=True, squeeze=False)[:, 0]
    for axes, (critic, unit) in zip(strips, units.items(), strict=False):
        _strip(axes, inputs, records.where(critic=critic), corruptions, unit)
    # 2. The corruptions' names above the first strip.
    names = [inputs.label("task", corruption) for corruption in corruptions]
    strips[0].xaxis.set_tick_params(labeltop=True)
    middles = [position + WIDTH / 2 for position in range(len(corruptions))]
    strips[0].set_xticks(middles, names, rotation=60, ha="left", rotation_mode="anchor")
    for axes in strips:
        axes.xaxis.set_tick_params(labelbottom=False, length=0)
    canvas.supxlabel("within each field: share of the eligible places that are damaged, 0 to 1")
    canvas.supylabel("how much worse than sound text, standard errors")


def _unit(records: Results) -> float:
    """The median standard error of a critic's responses; 1 where none is known."""
    spreads = []
    for record in records:
        spread = record.details.get("difference_spread")
        if spread:
            spreads.append(float(spread))
    return median(spreads or [1.0])


def worse(record: Record, unit: float) -> Estimate | None:
    """How much worse a critic judges damaged text than sound text.

    Args:
        record: of :func:`_responses`, the score of damaged minus that of sound text.
        unit: the difference is divided by it; here the critic's median standard error.

    Returns:
        The estimate, positive where damaged text is judged worse; the sign is changed for scores of
        which higher is better. For a score that should match that of real text it is the absolute
        difference. None where nothing could be scored.
    """
    if record.value is None:
        return None
    sign = -1.0 if record.better == "higher" else 1.0
    difference = Estimate(record.value, record.low, record.high)
    in_units = contrast([sign / unit], [difference])
    return in_units.absolute() if record.better == "reference_matched" else in_units


def _responses(inputs: ReportInputs) -> Results:
    """Records whose values and intervals are the differences of damaged from sound text."""
    records = inputs.results.where(metric="score", corpus="corruptions")
    responses = []
    for record in inputs.ordered(records, "critic", "task"):
        if record.task in inputs.expected.labels("task"):
            response = replace(
                record,
                value=record.difference,
                low=record.details.get("difference_low"),
                high=record.details.get("difference_high"),
                reference=None,  # the sound texts' score is in the difference already
            )
            responses.append(response)
    return Results(responses)


def _strip(
    axes: Any, inputs: ReportInputs, records: Results, corruptions: Sequence[str], unit: float
) -> None:
    """Draw one critic's responses to all corruptions.

    Args:
        axes: what it is drawn on.
        inputs: the names, and which critic is meant for what.
        records: the critic's responses.
        corruptions: a field for each.
        unit: the critic's standard error.
    """
    # 1. A curve for each corruption, shaded where the critic is meant for it.
    critic = records[0].critic
    for position, corruption in enumerate(corruptions):
        _field(axes, position, records.where(task=corruption), unit)
        if is_meant(inputs, critic, corruption):
            ends = position - 0.08, position + 0.88
            axes.axvspan(*ends, color=COLOURS[4], alpha=0.3, linewidth=0)
    # 2. The critic's name.
    name = "\n".join(wrap(inputs.label("critic", critic), 22))
    if "reference_matched" in records.values("better"):
        name += " ±"
    axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=7)
    # 3. A scale that is linear near zero, with a tick at the largest power of ten below its top.
    axes.set_yscale("symlog", linthresh=LINEAR)
    bottom, upper = axes.get_ylim()
    top = max(LINEAR, abs(bottom), abs(upper))
    axes.set(ylim=(min(bottom, -1.0), 1.3 * top), xlim=(-0.1, len(corruptions) - 0.1))
    _ticks(axes, int(log10(top)))
    axes.spines["bottom"].set_visible(False)


def _ticks(axes: Any, decade: int) -> None:
    """Set ticks at zero and at a power of ten."""
    from matplotlib.ticker import NullLocator

    axes.set_yticks([0, 10**decade], ["0", f"$10^{decade}$"])
    axes.yaxis.set_minor_locator(NullLocator())


def _field(axes: Any, position: int, records: Results, unit: float) -> None:
    """Draw the responses to one corruption from severity 0 to 1, over ``WIDTH`` of its field."""
    # 1. The curve and its interval begin at sound text; a dot stands where the damage is seen.
    curve: Mapping[str, list[float]] = {name: [] for name in ("x", "value", "low", "high")}
    dots: Mapping[str, list[float]] = {"x": [], "value": []}
    _add(curve, x=position, value=0.0, low=0.0, high=0.0)
    for record in sorted(records, key=lambda record: record.severity or 0.0):
        response = worse(record, unit)
        if response is None:
            continue
        value = response.value
        x = position + WIDTH * (record.severity or 0.0)
        _add(curve, x=x, value=value, low=response.low or value, high=response.high or value)
        if seen(record):
            _add(dots, x=x, value=value)
    # 2. Drawn one above the other.
    axes.axhline(0, color="0.8", linewidth=0.5)
    axes.fill_between(curve["x"], curve["low"], curve["high"], color="0.75", linewidth=0)
    axes.plot(curve["x"], curve["value"], color="black", linewidth=0.9)
    axes.plot(dots["x"], dots["value"], ".", color="black", markersize=4)


def _add(points: Mapping[str, list[float]], **numbers: float) -> None:
    """Append one point to lists of coordinates."""
    for name, number in numbers.items():
        points[name].append(number)
