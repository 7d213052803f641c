"""What each critic sees: every critic's response to every corruption of the synthetic world. No paper has this table.

A response is the paired difference of damaged from sound text; the critic sees the corruption where the permutation test says so.
"""

from dataclasses import replace
from math import log10
from statistics import median
from textwrap import wrap
from typing import Any

from longform.errors import BadInput
from longform.results import Record, Results
from longform.tables import Cell, Figure, Table, cell
from longform_lab.reporting.estimates import Estimate, contrast
from longform_lab.reporting.pivot import COLOURS, Given

LEVEL = 0.01  # at which a response counts as seen
LINEAR = 3.0  # standard errors, beyond which the figure's scale is logarithmic


def seen(r: Record) -> bool:
    """Whether a critic answers to a corruption."""
    return r.p_value is not None and r.p_value < LEVEL and bool(r.difference)


def corruption_matrix(given: Given, severity: float = 0.2) -> Table:
    """Responses at one severity, a row for each critic, a column for each corruption. Raises BadInput: none at that severity."""
    found = _responses(given).where(severity=severity)
    if not len(found):
        raise BadInput(
            f"no response at severity {severity:g}; the corpus of corruptions must hold that severity"
        )
    cells = []
    for r in found:
        meant = (
            "its own corruption" if r.critic in given.expected["meant_for"].get(r.task, ()) else ""
        )
        verdict = "not scored" if r.value is None else "seen" if seen(r) else "not seen"
        row, column = given.label("critic", r.critic), given.label("task", r.task)
        cells.append(cell(row, column, r, verdict=verdict, why=meant))
    own, other = (
        [c.verdict == "seen" for c in cells if bool(c.why) is meant] for meant in (True, False)
    )
    note = (
        f"p < {LEVEL:g}: {sum(own)} of {len(own)} critics see a corruption that they are meant for, "
        f"{sum(other)} of {len(other)} one that they are not"
    )
    caption = f"What each critic sees: score of damaged minus sound text at severity {severity:g}, with 95 % intervals"
    return Table(caption, cells, [note, *given.notes])


def corruption_responses(given: Given) -> Figure:
    """Responses over severity, upward where the critic judges worse: a strip for each critic, a field of it for each corruption."""
    found = _responses(given)
    critics, corruptions = found.values("critic"), found.values("task")
    spreads = {
        c: [r.details.get("difference_spread") for r in found.where(critic=c)] for c in critics
    }
    units = {
        c: median([float(spread) for spread in own if spread] or [1.0])
        for c, own in spreads.items()
    }
    cells = []
    for r in found:
        row, column = (
            given.label("critic", r.critic),
            f"{given.label('task', r.task)} {r.severity:g}",
        )
        ends: dict[str, Any] = {
            end: getattr(worse(r, units[r.critic]), end, None) for end in ("value", "low", "high")
        }
        cells.append(
            Cell(row, column, units=r.units, excluded=r.excluded, p_value=r.p_value, **ends)
        )

    def draw(canvas: Any) -> None:
        from matplotlib.ticker import NullLocator

        strips = canvas.subplots(max(len(critics), 1), 1, sharex=True, squeeze=False)[:, 0]
        for axes, critic in zip(strips, critics, strict=False):
            for place, corruption in enumerate(corruptions):
                _field(axes, place, found.where(critic=critic, task=corruption), units[critic])
                if critic in given.expected["meant_for"].get(corruption, ()):
                    axes.axvspan(
                        place - 0.08, place + 0.88, color=COLOURS[4], alpha=0.3, linewidth=0
                    )
            sides = found.where(critic=critic).values("better")
            name = "\n".join(wrap(given.label("critic", critic), 22)) + (
                " ±" if "reference_matched" in sides else ""
            )
            axes.set_ylabel(name, rotation=0, ha="right", va="center")
            axes.set_yscale("symlog", linthresh=LINEAR)
            top = max([LINEAR, *(abs(end) for end in axes.get_ylim())])
            axes.set(
                ylim=(min(axes.get_ylim()[0], -1.0), 1.3 * top), xlim=(-0.1, len(corruptions) - 0.1)
            )
            decade = int(log10(top))
            axes.set_yticks([0, 10**decade], ["0", f"$10^{decade}$"])
            axes.yaxis.set_minor_locator(NullLocator())
            axes.spines["bottom"].set_visible(False)
        names = [
            "\n".join(wrap(given.label("task", c), 11, break_long_words=False)) for c in corruptions
        ]
        strips[0].xaxis.set_tick_params(labeltop=True, labelsize=6.5)
        strips[0].set_xticks([place + 0.4 for place in range(len(corruptions))], names)
        for axes in strips:
            axes.xaxis.set_tick_params(labelbottom=False, length=0)
        canvas.supxlabel("within each field: share of the eligible places that are damaged, 0 to 1")
        canvas.supylabel("how much worse than sound text, standard errors")

    caption = (
        "How each critic's score changes as text is damaged, in units of its median standard error (linear up to "
        f"{LINEAR:g}, logarithmic beyond, a scale for each row). Up is judged worse: scores of which higher is better are turned; a "
        "critic with ± wants scores near those of real text, so that its distance from sound text is drawn in either direction. "
        "Grey: 95 % interval of the paired difference. "
        f"Shaded: the critic is meant for this corruption. Dots: the paired test has p < {LEVEL:g}; with so many some pass by chance."
    )
    return Figure(caption, cells, draw, (1.8 + 0.64 * len(corruptions), 1.2 + 0.42 * len(critics)))


def worse(r: Record, unit: float) -> Estimate | None:
    """How much worse the critic judges damaged text, in units; None where nothing could be scored."""
    if r.value is None:
        return None
    turned = contrast(
        [(-1.0 if r.better == "higher" else 1.0) / unit], [Estimate(r.value, r.low, r.high)]
    )
    return turned.absolute() if r.better == "reference_matched" else turned


def _responses(given: Given) -> Results:
    """The differences from sound text with their paired intervals, in the places of value and interval."""
    found = given.ordered(
        given.results.where(metric="score", corpus="corruptions"), "critic", "task"
    )
    return Results(
        replace(
            r,
            value=r.difference,
            low=r.details.get("difference_low"),
            high=r.details.get("difference_high"),
            reference=None,  # the sound texts' score is in the difference already
        )
        for r in found
        if r.task in given.expected.labels("task")
    )


def _field(axes: Any, place: int, records: Results, unit: float) -> None:
    """One corruption's responses from severity 0 to 1, on 0.8 of the field's width."""
    found = [
        (r, turned)
        for r in sorted(records, key=lambda r: r.severity or 0.0)
        if (turned := worse(r, unit))
    ]
    across = [place, *(place + 0.8 * (r.severity or 0.0) for r, _ in found)]
    values = [0.0, *(turned.value for _, turned in found)]
    ends = [
        (0.0, 0.0),
        *((turned.low or turned.value, turned.high or turned.value) for _, turned in found),
    ]
    axes.axhline(0, color="0.8", linewidth=0.5)
    axes.fill_between(across, *zip(*ends, strict=True), color="0.75", linewidth=0)
    axes.plot(across, values, color="black", linewidth=0.9)
    dots = [(x, y) for x, y, (r, _) in zip(across[1:], values[1:], found, strict=True) if seen(r)]
    axes.plot([x for x, _ in dots], [y for _, y in dots], ".", color="black", markersize=4)
