"""Tables 1-6 and Figures 4-7 and 9 of "BBScore: A Brownian Bridge Based Metric for Assessing Text Coherence" (Sheng et al. 2024).

A record's variant names what turns a latent path into a score and, where it is not the paper's, how the encoder was trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.results import Record, Results
from longform.evaluation.measurements import NORMAL_95
from longform.reporting.pivot import COLOURS, crossed, ordered, printed_alone
from longform.reporting.printed import Expected, Printed
from longform.reporting.selection import ANY, select
from longform.reporting.table import Cell, Figure, Table, cell, exact

BLOCKS = [f"block_{size}" for size in (1, 2, 5, 10)]
WINDOWS = ["window_1_2_3", "window_1", "window_2", "window_3"]
ACCURACY, AREA, CLASSES = "pairwise_accuracy", "area", "class_accuracy"
STROKES = ("-", "--", "-.", ":")


def derived(results: Results) -> list[Record]:
    """How many pairs each test set has."""
    found = results.where(critic="bbscore", metric=ACCURACY, variant="", task=[*BLOCKS, *WINDOWS], seed=None)
    return [
        replace(r, metric="pairs", value=int(r.details["pairs"]), low=None, high=None, p_value=None, signature="count")
        for r in found
        if "pairs" in r.details
    ]


def table_1(results: Results, expected: Expected, *, data: Path) -> Table:
    """Pairs of original and shuffle in each test set."""
    found = results.where(critic="bbscore", metric="pairs")
    cells = crossed(found, expected, "table_1", data, rows=("corpus",), column="task")
    return Table("Table 1. Pairs of an original and a shuffle different from it, in the test set", cells)


def table_2(results: Results, expected: Expected, *, data: Path) -> Table:
    """Global discrimination: pairwise accuracy by sentences per shuffled block."""
    caption = "Table 2. Global discrimination: pairwise accuracy (%) by sentences in a shuffled block"
    return _accuracies(caption, "table_2", results, expected, data, metric=ACCURACY, task=BLOCKS)


def table_3(results: Results, expected: Expected, *, data: Path) -> Table:
    """Local discrimination: pairwise accuracy by number of shuffled windows."""
    caption = "Table 3. Local discrimination: pairwise accuracy (%) by shuffled windows of three sentences"
    return _accuracies(caption, "table_3", results, expected, data, metric=ACCURACY, task=WINDOWS)


def table_4(results: Results, expected: Expected, *, data: Path) -> Table:
    """Human against machine: pairwise accuracy by who wrote the other text. The paper's six models are not ours."""
    caption = "Table 4. Human against machine: pairwise accuracy (%) by writer of the other text"
    return _accuracies(caption, "table_4", results, expected, data, "system", metric=ACCURACY, task="")


def table_5(results: Results, expected: Expected, *, data: Path) -> Table:
    """Human or machine: accuracy on one text at a time."""
    caption = "Table 5. Human or machine: accuracy (%) on single texts"
    return _accuracies(caption, "table_5", results, expected, data, "system", metric=CLASSES)


def table_6(results: Results, expected: Expected, *, data: Path) -> Table:
    """Three rated classes of coherence, beside the commonest class, which the paper leaves out."""
    caption = "Table 6. Three classes of coherence: accuracy (%)"
    table = _accuracies(caption, "table_6", results, expected, data, "corpus", metric=CLASSES)
    found = select(results, {"metric": CLASSES, "variant": ANY, **_restricted(expected, "table_6")})
    shares = {r.corpus: r.reference for r in found if r.reference is not None}
    baseline = [
        exact("commonest class", expected.label("corpus", corpus), 100 * share, "share of texts")
        for corpus, share in shares.items()
    ]
    note = "p-values (in the CSV): paired permutation test against always saying the commonest class"
    return replace(table, cells=[*table.cells, *baseline], notes=[note, *table.notes])


def length(results: Results, expected: Expected, *, data: Path) -> Table:
    """Rank correlation of a score with a document's number of sentences; not in the paper."""
    found = results.where(metric="length_correlation")
    cells = crossed(found, expected, "length", data, rows=("critic", "variant"), column="metric")
    caption = "How far a score follows length: Spearman correlation with the number of sentences, unshuffled test texts"
    return Table(caption, cells, expected.notes("length", results, data))


def _restricted(expected: Expected, exhibit: str) -> Mapping[str, Any]:
    """The corpus of an exhibit, and to what else its settings restrict it."""
    corpus = {"table_4": "completions", "table_5": "completions", "table_6": "rated_wiki"}.get(exhibit, "wiki")
    return {"corpus": corpus, **expected.choice(exhibit)}


def _accuracies(
    caption: str, table: str, results: Results, expected: Expected, data: Path, column: str = "task", **filters: Any
) -> Table:
    """Scorers by tasks or writers, in percent; the printed rows that none of ours stands beside; the claims."""
    wanted = {"critic": list(expected["labels"]["critic"]), "variant": ANY, **filters, **_restricted(expected, table)}
    found = select(results, wanted)
    rows = ("critic",) if table == "table_5" else ("critic", "variant")  # there the classifier is the critic

    def place(number: Printed) -> tuple[str, str] | None:
        row, split, name = number.path
        name = (number.where or {}).get(column, name)
        return (f"{expected['rows'][row]} (printed)", expected.label(column, name)) if split == "test" else None

    cells = crossed(found, expected, table, data, rows=rows, column=column, factor=100)
    alone = printed_alone(expected, table, results, place)
    columns = [expected.label(column, value) for value in expected["labels"].get(column, {})]
    return Table(caption, cells + alone, expected.notes(table, results, data), columns)


def figure_4(results: Results, expected: Expected, *, data: Path) -> Figure:
    """ROC curves of originals against one shuffle each, and the areas under them."""
    wanted = {"critic": "bbscore", "metric": AREA, "variant": ANY, "task": BLOCKS}
    found = select(results, {**wanted, **_restricted(expected, "figure_4")})
    return _rocs("Figure 4. Originals against one shuffle each", "figure_4", found, results, expected, data, "task")


def figure_5(results: Results, expected: Expected, *, data: Path) -> Figure:
    """ROC curves of human against machine texts, pooled over texts."""
    found = results.where(critic="bbscore", metric=AREA, task="")
    return _rocs("Figure 5. Human against machine texts", "figure_5", found, results, expected, data, "system")


def _rocs(
    what: str, figure: str, found: Results, results: Results, expected: Expected, data: Path, column: str
) -> Figure:
    """A panel for each encoder, a stroke for each task or writer, and the area under the very curve that is drawn."""
    cells = crossed(found, expected, figure, data, rows=("critic", "variant"), column=column)
    drawn = [r for r in ordered(found, expected, "variant", column) if "roc" in r.details]
    panels = dict.fromkeys(r.variant for r in drawn)
    names = list(dict.fromkeys(getattr(r, column) for r in drawn))

    def draw(canvas: Any) -> None:
        axes = canvas.subplots(1, max(len(panels), 1), sharey=True, squeeze=False)[0]
        for one, variant in zip(axes, panels, strict=False):
            for r in (r for r in drawn if r.variant == variant):
                place, rates = names.index(getattr(r, column)), r.details["roc"]
                area = np.trapezoid(rates["true_positive"], rates["false_positive"])
                one.plot(
                    rates["false_positive"], rates["true_positive"], color=COLOURS[place % len(COLOURS)], lw=1.1,
                    linestyle=STROKES[place % len(STROKES)], label=f"{expected.labels(r, column)} ({area:.2f})",
                )  # fmt: skip
            one.plot([0, 1], [0, 1], color="0.8", linewidth=0.6)
            one.set(xlabel="false positive rate", xlim=(0, 1), ylim=(0, 1), aspect="equal")
            one.set_title(expected.label("variant", variant) if variant else "BBScore", fontsize=8)
            one.legend(fontsize=6, title="area under the curve", title_fontsize=6, frameon=False)
        axes[0].set_ylabel("true positive rate")

    caption = (
        f"{what}: ROC curves of BBScore. Where an encoder has several heads, the curve is the first head's with the area under "
        "it; the table has the mean over heads."
    )
    return Figure(caption, cells, draw, (1.0 + 2.6 * max(len(panels), 1), 3.4), expected.notes(figure, results, data))


def figure_6(results: Results, expected: Expected, *, data: Path) -> Figure:
    """Wasserstein distances between the writers' distributions of the diffusion estimate, scaled to [1, 2] per row."""
    share = results.one(metric="own_top_two")
    distances = results.where(metric="distance")
    names = distances.values("system")
    shown = [expected.label("system", name) for name in names]
    cells = [
        cell(f"tested: {expected.label('system', r.system)}", f"known: {expected.label('system', r.variant)}", r)
        for r in distances
    ]
    paper = 100 * expected["figure_6"]["sources_in_their_own_top_two"] / expected["figure_6"]["sources"]
    cells.append(cell("writers in their own top two", "%", share, printed=paper).times(100))
    caption = (
        "Figure 6. Distance of a tested writer's texts to each known writer's, scaled to [1, 2] in each row (darker: nearer). By "
        f"chance {2 / max(len(names), 1):.0%} of the writers would be in their own top two."
    )
    scaled = np.array([[distances.one(system=a, variant=b).details["scaled"] for b in names] for a in names])
    notes = expected.notes("figure_6", results, data)
    return Figure(caption, cells, lambda canvas: _heat(canvas, shown, scaled), (6.0, 4.6), notes)


def _heat(canvas: Any, names: Sequence[str], scaled: np.ndarray) -> None:
    axes = canvas.subplots()
    drawn = axes.imshow(scaled, vmin=1, vmax=2, cmap="cividis")
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="known writer", ylabel="tested writer")
    for i, j in np.ndindex(scaled.shape):
        colour = "black" if scaled[i, j] > 1.5 else "white"
        axes.text(j, i, f"{scaled[i, j]:.2f}", ha="center", va="center", color=colour, fontsize=7)
    canvas.colorbar(drawn, ax=axes, label="scaled distance")


def figure_7(results: Results, expected: Expected, *, data: Path) -> Figure:
    """Mean absolute latent along a document, texts stretched to one length: each writer beside human text."""
    found = {r.system: r for r in results.where(critic="bbscore", metric="trajectory")}
    human = found.pop("human")
    cells = [_point(r, expected, share) for r in (human, *found.values()) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    across = min(3, max(len(found), 1))
    rows = max(-(-len(found) // across), 1)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(rows, across, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, r in zip(panels, found.values(), strict=False):
            for one, colour in ((human, "0.45"), (r, COLOURS[0])):
                mean, low, high = _band(one)
                places = np.linspace(0, 1, len(mean))
                axes.plot(places, mean, color=colour, label=expected.label("system", one.system), linewidth=1.2)
                axes.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)
            axes.set(xlim=(0, 1), ylim=(0, None))
            axes.legend(fontsize=6, frameon=False, loc="lower right")
        for axes in panels[len(found) :]:
            axes.set_axis_off()
        canvas.supxlabel("place in the text, as a share of its length", fontsize=8)
        canvas.supylabel("mean absolute latent", fontsize=8)

    caption = (
        "Figure 7. Latent paths of each writer beside human text: mean over texts, with 95 % intervals of the mean."
    )
    return Figure(caption, cells, draw, (2.4 * across, 0.6 + 1.9 * rows), expected.notes("figure_7", results, data))


def _band(r: Record) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean at each place with a normal 95 % interval of the mean."""
    mean, spread = (np.array(r.details["trajectory"][key]) for key in ("mean", "spread"))
    half = NORMAL_95 * spread / max(r.units or 1, 1) ** 0.5
    return mean, mean - half, mean + half


def _point(r: Record, expected: Expected, share: float) -> Cell:
    value, low, high = (float(curve[min(len(curve) - 1, int(len(curve) * share))]) for curve in _band(r))
    return Cell(expected.label("system", r.system), f"at {share:.0%}", value, low, high, r.units)


def figure_9(results: Results, expected: Expected, *, data: Path) -> Figure:
    """Area under the ROC curve over the diffusion variance; pairwise accuracy, which cannot move, is the control."""
    record = next(
        r for r in results.where(critic="bbscore", variant="", metric=AREA, task="block_1") if "sweep" in r.details
    )
    sweep, estimate = record.details["sweep"], record.details["sigma2"]
    best = int(np.argmax(sweep["auc"]))
    at = int(np.abs(np.log(np.array(sweep["sigma2"]) / estimate)).argmin())
    pairs = zip(sweep["sigma2"], sweep["auc"], strict=True)
    cells = [Cell("BBScore", f"area at variance {sigma2:.3g}", area) for sigma2, area in pairs]
    caption = (
        f"Figure 9. What the diffusion variance changes (first head, blocks of 1). At its estimate, {estimate:.3g}, the area is "
        f"{sweep['auc'][at]:.3f}; the best of the sweep, {sweep['auc'][best]:.3f}, is chosen on the same texts."
    )
    marked = {
        "estimated variance": (estimate, COLOURS[1], "--"),
        "best of the sweep": (sweep["sigma2"][best], COLOURS[2], ":"),
    }
    notes = expected.notes("figure_9", results, data)
    return Figure(caption, cells, lambda canvas: _sweep(canvas, sweep, marked), notes=notes)


def _sweep(canvas: Any, sweep: Mapping[str, Sequence[float]], marked: Mapping[str, tuple[float, str, str]]) -> None:
    axes = canvas.subplots()
    axes.semilogx(sweep["sigma2"], sweep["auc"], color=COLOURS[0], label="area under the ROC curve")
    axes.semilogx(sweep["sigma2"], sweep["accuracy"], color="0.6", label="pairwise accuracy")
    for name, (variance, colour, stroke) in marked.items():
        axes.axvline(variance, color=colour, linestyle=stroke, label=f"{name}, {variance:.3g}")
    axes.axhline(0.5, color="0.85", linewidth=0.6)
    axes.set(xlabel=r"diffusion variance $\sigma_m^2$", ylabel="area, accuracy", ylim=(0, 1))
    axes.legend(fontsize=7)
