"""Drawing a graph of section transitions on a circle (deng2022 Figure 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.patches import Arc, FancyArrowPatch

RED, GREY = "#d00000", "#555555"
WIDTH = 6.0  # points of a difference of one


@dataclass(frozen=True)
class Edge:
    """A transition: how much likelier a model makes it than real text, with a 95 % interval.

    Attributes:
        red: whether the critic finds it improbable.
    """

    earlier: str
    later: str
    difference: float
    low: float
    high: float
    red: bool


def draw_graph(canvas: Any, edges: Sequence[Edge]) -> None:
    """Titles on a circle, an arrow per edge, its width by the difference; titles without an edge are left out."""
    axes = canvas.add_subplot()
    axes.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal")
    axes.axis("off")
    titles = sorted({title for edge in edges for title in (edge.earlier, edge.later)})
    angles = {title: 2 * math.pi * place / len(titles) for place, title in enumerate(titles)}
    places = {title: (math.cos(angle), math.sin(angle)) for title, angle in angles.items()}
    for edge in sorted(edges, key=lambda e: abs(e.difference)):
        if edge.earlier == edge.later:
            _loop(axes, angles[edge.earlier], edge)
        else:
            _arrow(axes, places[edge.earlier], places[edge.later], edge)
    for title, (x, y) in places.items():
        axes.text(
            x, y, title, ha="center", va="center", size=8,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#222222", "linewidth": 0.6},
        )  # fmt: skip


def _style(edge: Edge) -> dict[str, Any]:
    return {"color": RED if edge.red else GREY, "linewidth": max(0.4, WIDTH * abs(edge.difference)), "alpha": 0.75}


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], edge: Edge) -> None:
    bend = 0.12
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=9, shrinkA=16, shrinkB=16,
            connectionstyle=f"arc3,rad={bend}", **_style(edge),
        )
    )  # fmt: skip
    along = 0.62  # nearer the head, so that labels of opposite arrows part
    dx, dy = end[0] - start[0], end[1] - start[1]
    x, y = start[0] + along * dx + bend * dy / 2, start[1] + along * dy - bend * dx / 2
    _label(axes, x, y, edge)


def _loop(axes: Any, angle: float, edge: Edge) -> None:
    x, y = 1.1 * math.cos(angle), 1.1 * math.sin(angle)  # the ring passes below the title's own box
    axes.add_patch(Arc((x, y), 0.2, 0.2, theta1=0, theta2=360, zorder=0, **_style(edge)))
    _label(axes, 1.27 * math.cos(angle), 1.27 * math.sin(angle), edge)


def _label(axes: Any, x: float, y: float, edge: Edge) -> None:
    axes.text(
        x, y, f"{edge.difference:+.2f}", size=7, ha="center", va="center", color=RED if edge.red else GREY,
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )  # fmt: skip
