"""Tables 1-6 and Figures 4-7 and 9 of "BBScore: A Brownian Bridge Based Metric for Assessing Text Coherence" (Sheng et al. 2024).

A record's variant names what turns a latent path into a score and, where it is not the paper's, how the encoder was trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from longform.results import ANY, Record, Results
from longform.statistics.intervals import NORMAL_95
from longform.tables import Cell, Figure, Table, cell, exact
from longform_lab.reporting.estimates import select
from longform_lab.reporting.pivot import COLOURS, SYSTEM, Given, panels, training_notes
from longform_lab.reporting.printed import Printed

STROKES = ("-", "--", "-.", ":")
CHANCE = "own_top_two_by_chance"


def derived(results: Results) -> list[Record]:
    """How many pairs each test set has, and how many writers would be in their own top two by chance."""
    tasks = {"critic": "bbscore", "metric": "pairwise_accuracy", "task": ["block_*", "window_*"]}
    counted = [r for r in select(results, tasks) if "pairs" in r.details]
    same = ("critic", *SYSTEM, "task", "variant")
    plain: dict[str, Any] = {"value": None, "low": None, "high": None, "signature": "count"}
    records = []
    for group in Results(counted).groups(*same).values():
        pairs = max(
            int(r.details["pairs"] + r.details.get("unscored", 0)) for r in group
        )  # the same for every head
        fields = {name: getattr(group[0], name) for name in (*same, "units", "excluded", "better")}
        records.append(Record(metric="pairs", **fields, **{**plain, "value": pairs}))
    by_chance = 2 / max(len(results.where(metric="distance").values("system")), 2)
    known = {"value": by_chance, "low": by_chance, "high": by_chance}
    for r in results.where(metric="own_top_two"):
        fields = {name: getattr(r, name) for name in (*same, "seed", "better")}
        records.append(Record(metric=CHANCE, **fields, **{**plain, **known}))
    return records


def table_1(given: Given) -> Table:
    """Pairs of original and shuffle in each test set."""
    cells = given.crossed(
        given.results.where(critic="bbscore", metric="pairs"), "table_1", ("corpus",), "task"
    )
    return Table(
        "Table 1. Pairs of an original and a shuffle different from it, in the test set", cells
    )


def table_6(given: Given, **settings: Any) -> Table:
    """Three rated classes of coherence, beside the commonest class, which the paper leaves out."""
    table = accuracies(given, **settings)
    shares = {
        r.corpus: r.reference
        for r in given.select(settings["where"], variant=ANY)
        if r.reference is not None
    }
    row, source = "commonest class", "share of texts"
    baseline = [
        exact(row, given.label("corpus", corpus), 100 * share, source)
        for corpus, share in shares.items()
    ]
    note = (
        "p-values (in the CSV): paired permutation test against always saying the commonest class"
    )
    return replace(table, cells=[*table.cells, *baseline], notes=[note, *table.notes])


def length(given: Given) -> Table:
    """Rank correlation of a score with a document's number of sentences; not in the paper."""
    cells = given.crossed(
        given.results.where(metric="length_correlation"), "length", ("critic", "variant"), "metric"
    )
    what = "Spearman correlation with the number of sentences, unshuffled test texts"
    notes = given.notes + training_notes(given.results.where(metric="length_correlation"))
    return Table(f"How far a score follows length: {what}", cells, notes)


def accuracies(
    given: Given,
    caption: str,
    where: Mapping[str, Any],
    column: str,
    rows: Sequence[str] = ("critic", "variant"),
) -> Table:
    """Scorers by tasks or writers, in percent; the printed rows that none of ours stands beside (Tables 2 to 6)."""

    def place(number: Printed) -> tuple[str, str] | None:
        row, split, name = number.path
        name = (number.where or {}).get(column, name)
        return (
            (f"{given.expected['rows'][row]} (printed)", given.label(column, name))
            if split == "test"
            else None
        )

    found = given.select(
        {"critic": list(given.expected.labels("critic")), "variant": ANY}, where, given.where
    )
    cells = given.crossed(found, given.name, tuple(rows), column, factor=100)
    columns = [given.label(column, value) for value in given.expected.labels(column)]
    notes = given.notes + training_notes(found)
    return Table(caption, cells + given.printed_alone(given.name, place), notes, columns)


def rocs(given: Given, what: str, where: Mapping[str, Any], column: str) -> Figure:
    """ROC curves: a panel for each encoder, a stroke for each task or writer, and the area under the very curve that is drawn."""
    found = given.select(
        {"critic": "bbscore", "metric": "area", "variant": ANY}, where, given.where
    )
    cells = given.crossed(found, given.name, ("critic", "variant"), column)
    drawn = Results(r for r in given.ordered(found, "variant", column) if "roc" in r.details)
    encoders, names = drawn.values("variant"), drawn.values(column)
    across = min(max(len(encoders), 1), 3)
    down = max(-(-len(encoders) // across), 1)

    def draw(canvas: Any) -> None:
        grid = panels(canvas, len(encoders), across, sharey=True)
        for one, variant in zip(grid, encoders, strict=True):
            for (value,), own in drawn.where(variant=variant).groups(column).items():
                place = names.index(value)
                false, up = mean_roc(own)
                look = {
                    "color": COLOURS[place % len(COLOURS)],
                    "linestyle": STROKES[place % len(STROKES)],
                    "lw": 1.1,
                }
                one.plot(
                    false,
                    up,
                    label=f"{given.label(column, value)} ({np.trapezoid(up, false):.2f})",
                    **look,
                )
            one.plot([0, 1], [0, 1], color="0.8", linewidth=0.6)
            one.set(xlabel="false positive rate", xlim=(0, 1), ylim=(0, 1), aspect="equal")
            one.set_title(given.label("variant", variant) if variant else "BBScore", fontsize=8)
            one.legend(fontsize=6, title="area under the curve", title_fontsize=6, frameon=False)
        for one in grid[::across]:
            one.set_ylabel("true positive rate")

    caption = f"{what}: ROC curves of BBScore."
    if any("trainings" in r.details for r in found):
        curves = max((len(own) for own in drawn.groups("variant", column).values()), default=0)
        caption += (
            f" Where an encoder was trained several times, a curve is the mean of {curves} trainings with the area under it; "
            "the table has the mean over all."
        )
    return Figure(
        caption,
        cells,
        draw,
        (1.0 + 2.6 * across, 0.4 + 3.0 * down),
        given.notes + training_notes(found),
    )


def mean_roc(records: Sequence[Record]) -> tuple[np.ndarray, np.ndarray]:
    """False positive rates, and at each the mean of the records' true positive rates (vertical averaging, Fawcett 2006)."""
    curves = [record.details["roc"] for record in records]
    return np.array(curves[0]["false_positive"]), np.mean(
        [curve["true_positive"] for curve in curves], axis=0
    )


def figure_6(given: Given) -> Figure:
    """Wasserstein distances between the writers' distributions of the diffusion estimate, scaled to [1, 2] per row."""
    distances = given.results.where(metric="distance")
    names = distances.values("system")
    shown = [given.label("system", name) for name in names]
    cells = []
    for r in distances:
        tested, known = given.label("system", r.system), given.label("system", r.variant)
        cells.append(cell(f"tested: {tested}", f"known: {known}", r))
    block, share = given.expected["figure_6"], given.results.one(metric="own_top_two")
    paper = 100 * block["sources_in_their_own_top_two"] / block["sources"]
    cells.append(cell("writers in their own top two", "%", share, printed=paper).times(100))
    scaled = np.array(
        [[distances.one(system=a, variant=b).details["scaled"] for b in names] for a in names]
    )

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        drawn = axes.imshow(scaled, vmin=1, vmax=2, cmap="cividis")
        axes.set_xticks(range(len(shown)), shown, rotation=30, ha="right")
        axes.set_yticks(range(len(shown)), shown)
        axes.set(xlabel="known writer", ylabel="tested writer")
        for i, j in np.ndindex(scaled.shape):
            colour = "black" if scaled[i, j] > 1.5 else "white"
            axes.text(
                j, i, f"{scaled[i, j]:.2f}", ha="center", va="center", color=colour, fontsize=7
            )
        canvas.colorbar(drawn, ax=axes, label="scaled distance")

    caption = (
        "Figure 6. Distance of a tested writer's texts to each known writer's, scaled to [1, 2] in each row (darker: nearer). By "
        f"chance {given.results.one(metric=CHANCE).value:.0%} of the writers would be in their own top two."
    )
    return Figure(caption, cells, draw, (6.0, 4.6), given.notes)


def figure_7(given: Given) -> Figure:
    """Mean absolute latent along a document, texts stretched to one length: each writer beside human text."""
    found = {r.system: r for r in given.results.where(critic="bbscore", metric="trajectory")}
    human = found.pop("human")
    cells = []
    for r, share in product((human, *found.values()), (0.0, 0.25, 0.5, 0.75, 1.0)):
        value, low, high = (
            float(curve[min(len(curve) - 1, int(len(curve) * share))]) for curve in _band(r)
        )
        cells.append(
            Cell(given.label("system", r.system), f"at {share:.0%}", value, low, high, r.units)
        )
    across = min(3, max(len(found), 1))

    def draw(canvas: Any) -> None:
        for axes, r in zip(
            panels(canvas, len(found), across, sharex=True, sharey=True),
            found.values(),
            strict=True,
        ):
            for one, colour in ((human, "0.45"), (r, COLOURS[0])):
                mean, low, high = _band(one)
                places = np.linspace(0, 1, len(mean))
                axes.plot(
                    places,
                    mean,
                    color=colour,
                    label=given.label("system", one.system),
                    linewidth=1.2,
                )
                axes.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)
            axes.set(xlim=(0, 1), ylim=(0, None))
            axes.legend(fontsize=6, frameon=False, loc="lower right")
        canvas.supxlabel("place in the text, as a share of its length", fontsize=8)
        canvas.supylabel("mean absolute latent", fontsize=8)

    caption = "Figure 7. Latent paths of each writer beside human text: mean over texts, with 95 % intervals of the mean."
    return Figure(
        caption,
        cells,
        draw,
        (2.4 * across, 0.6 + 1.9 * max(-(-len(found) // across), 1)),
        given.notes,
    )


def _band(r: Record) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean at each place with a normal 95 % interval of the mean."""
    mean, spread = (np.array(r.details["trajectory"][key]) for key in ("mean", "spread"))
    half = NORMAL_95 * spread / max(r.units or 1, 1) ** 0.5
    return mean, mean - half, mean + half


def figure_9(given: Given) -> Figure:
    """Area under the ROC curve over the diffusion variance; pairwise accuracy, which cannot move, is the control."""
    found = given.results.where(critic="bbscore", variant="", metric="area", task="block_1")
    record = next(r for r in found if "sweep" in r.details)
    sweep, estimate = record.details["sweep"], record.details["sigma2"]
    best = int(np.argmax(sweep["auc"]))
    at = int(np.abs(np.log(np.array(sweep["sigma2"]) / estimate)).argmin())
    pairs = zip(sweep["sigma2"], sweep["auc"], strict=True)
    cells = [Cell("BBScore", f"area at variance {sigma2:.3g}", area) for sigma2, area in pairs]
    marked = (
        ("estimated variance", estimate, "--"),
        ("best of the sweep", sweep["sigma2"][best], ":"),
    )

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.semilogx(
            sweep["sigma2"], sweep["auc"], color=COLOURS[0], label="area under the ROC curve"
        )
        axes.semilogx(sweep["sigma2"], sweep["accuracy"], color="0.6", label="pairwise accuracy")
        for (name, variance, stroke), colour in zip(marked, COLOURS[1:], strict=False):
            axes.axvline(variance, color=colour, linestyle=stroke, label=f"{name}, {variance:.3g}")
        axes.axhline(0.5, color="0.85", linewidth=0.6)
        axes.set(xlabel=r"diffusion variance $\sigma_m^2$", ylabel="area, accuracy", ylim=(0, 1))
        axes.legend(fontsize=7)

    caption = (
        f"Figure 9. What the diffusion variance changes (first head, blocks of 1). At its estimate, {estimate:.3g}, the area is "
        f"{sweep['auc'][at]:.3f}; the best of the sweep, {sweep['auc'][best]:.3f}, is chosen on the same texts."
    )
    return Figure(caption, cells, draw, notes=given.notes)
