"""Figure 5 of deng2022, a text with its chain and what each symbol costs; and the figure of a named failure by dose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from longform.critics.coreference.attribution import Mark
from longform.critics.coreference.ngrams import split_symbol
from longform.reporting.coreference_page import OTHERS, STOP, entity_colours, wrap

PER_ROW = 12  # symbols in a row of Figure 5
TEXT_WIDTH = 105


def figure_5(text: str, found: Sequence[Mark], symbols: int = 36) -> Figure:
    """The text up to the last shown symbol, and below it the chain: each mention with its log probability (nats)."""
    shown = list(found[:symbols])
    until = found[symbols].start if len(found) > symbols else len(text)
    lines = [text[a:b] for a, b in wrap(text[:until], TEXT_WIDTH)]
    rows = [shown[i : i + PER_ROW] for i in range(0, len(shown), PER_ROW)]
    figure = Figure(figsize=(9.0, 0.4 + 0.2 * len(lines) + 0.55 * len(rows)))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=(-0.5, PER_ROW), ylim=(0.4 * len(lines) + 1.1 * len(rows) + 0.2, -0.5))
    axes.axis("off")
    for i, line in enumerate(lines):
        axes.text(-0.4, 0.4 * i, line.replace("$", r"\$"), size=8, family="DejaVu Sans Mono")
    colours = entity_colours(found)
    for row, marks in enumerate(rows):
        height = 0.4 * len(lines) + 1.1 * row + 0.5
        for place, mark in enumerate(marks):
            entity = split_symbol(mark.symbol)[1]
            colour = colours[entity] if entity is not None else OTHERS
            axes.text(place, height, label(mark.symbol), color=colour, size=8, ha="center", weight="bold")
            colour, weight = ("#dd0000", "bold") if mark.bad else ("#666666", "normal")
            axes.text(
                place, height + 0.45, f"{mark.log_probability:.1f}", size=7, ha="center", color=colour, weight=weight
            )
    return figure


def label(symbol: str) -> str:
    """A symbol as the paper prints it: ``[he]3``, ``[Male]3``, and the stop alone."""
    form, entity = split_symbol(symbol)
    return (
        symbol
        if symbol == STOP or entity is None
        else f"[{form.title() if form.isupper() and len(form) > 1 else form}]{entity}"
    )


def figure_doses(rows: Sequence[tuple[float, str, Mapping[str, Any]]], failure: str) -> Figure:
    """Latent PPL of each critic by dose of a failure, over its own value at the lowest dose, with 95 % intervals.

    ``rows`` are (dose, critic, estimate with ``value``, ``low`` and ``high``).
    """
    figure = Figure(figsize=(4.2, 3.0), layout="constrained")
    axes = figure.add_subplot()
    for name in dict.fromkeys(row[1] for row in rows):
        points = sorted(((dose, found) for dose, row, found in rows if row == name), key=lambda point: point[0])
        base = points[0][1]["value"]
        values = [found["value"] / base for _, found in points]
        below = [max(0.0, (found["value"] - found["low"]) / base) for _, found in points]
        above = [max(0.0, (found["high"] - found["value"]) / base) for _, found in points]
        axes.errorbar([dose for dose, _ in points], values, yerr=[below, above], marker="o", capsize=2, label=name)
    axes.set(xlabel=f"dose of {failure}", ylabel="Latent PPL over that of dose 0")
    axes.legend(frameon=False)
    return figure
