"""Figures 2 to 5, and the trade-off of support against repetition for every decoder and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.core.results import Record, Results
from longform.reporting.papers.massarelli2020.tables import PERCENT, alike, in_order, label, strategy
from longform.reporting.pivot import COLOURS, Given, errors
from longform.reporting.table import Cell, Figure, cell

MARKS = {  # a strategy, the same mark in every figure
    "human": "*", "top_k": "o", "top_p": "s", "greedy": "D", "beam": "^", "group_beam": "v", "sibling_beam": "P",
    "delayed_beam": "X", "beam_blocked": "p", "min_p": "<", "typical": ">", "contrastive": "d",
}  # fmt: skip


def _found(given: Given, runs: Sequence[str], *measures: str) -> Results:
    return given.results.where(critic="verifiability", variant="", corpus=list(runs), metric=list(measures))


def _cell(row: str, r: Record, given: Given) -> Cell:
    return cell(row, given.label("metric", r.metric), r).times(100.0 if r.metric in PERCENT else 1.0)


def _named(r: Record, given: Given) -> Cell:
    return _cell(f"{given.label('corpus', r.corpus)}: {label(r.system, given)}", r, given)


def _strategy(r: Record, given: Given) -> str:
    return strategy(given.decoders.get(r.system, {"kind": r.system}))


def _points(given: Given, run: str, x: str, y: str, kept: Results) -> list[tuple[str, Cell, Cell]]:
    """(strategy, x, y) of each decoder of a run that has both numbers."""
    across = {r.system: r for r in kept.where(corpus=run, metric=x)}
    pairs = [(across[r.system], r) for r in in_order(kept.where(corpus=run, metric=y), given) if r.system in across]
    made = [(_strategy(b, given), _cell("", a, given), _cell("", b, given)) for a, b in pairs]
    return [(kind, a, b) for kind, a, b in made if a.value is not None and b.value is not None]


def figure_2(
    given: Given,
    corpora: Sequence[str] = ("sweep", "web", "books", "pages"),
    sizes: Sequence[str] = ("sweep", "medium", "large"),
) -> Figure:
    """USPV against USPG on validation prefixes: (a) small models of several training corpora, (b) several sizes of one.

    Args:
        corpora, sizes: runs; of one that sweeps more decoders than the others, those that the others have too.
    """
    names = _found(given, [corpora[-1]], "USPG").values("system")
    shared = [given.decoders[name] for name in names if name in given.decoders]
    found = _found(given, [*corpora, *sizes], "USPG", "USPV")
    kept = Results(r for r in found if alike(r.system, given, shared))
    sides = ((corpora, "(a) training corpora"), (sizes, "(b) sizes"))

    def draw(canvas: Any) -> None:
        for axes, (runs, title) in zip(canvas.subplots(1, 2), sides, strict=True):
            for place, run in enumerate(runs):
                for kind, x, y in _points(given, run, "USPG", "USPV", kept):
                    axes.errorbar([x.value], [y.value], errors([y]), errors([x]), fmt=MARKS.get(kind, "."),
                                  color=COLOURS[place], markersize=5, elinewidth=0.4)  # fmt: skip
                axes.plot([], [], "s", color=COLOURS[place], label=given.label("corpus", run))
            axes.set(xlabel="USPG: unique supported sentences of five (%)", xlim=(0, None), ylim=(0, 105), title=title)
            axes.legend(fontsize=6, title="model", title_fontsize=6, loc="lower right")
            axes.set_ylabel("USPV: supported of the unique verified (%)")
        _legend(canvas, [strategy(settings) for settings in shared], given, coloured=False)

    caption = (
        "Figure 2. USPV against USPG (percent), validation prefixes, with 95 % intervals: (a) by training corpus, small model; "
        "(b) by size of the model. Colours are models, marks are decoding strategies."
    )
    return given.figure(caption, [_named(r, given) for r in kept], draw, (8.4, 4.2))


def _colour(kind: str) -> str:
    """Of a strategy, where colours are not the models'."""
    return COLOURS[list(MARKS).index(kind) % len(COLOURS)] if kind in MARKS else "0.5"


def _legend(canvas: Any, kinds: Sequence[str], given: Given, coloured: bool) -> None:
    """The marks of the strategies, below all panels."""
    from matplotlib.lines import Line2D

    used = [kind for kind in MARKS if kind in kinds]
    handles = [Line2D([], [], marker=MARKS[k], color=_colour(k) if coloured else "0.3", linestyle="") for k in used]
    names = [given.label("system", kind) for kind in used]
    canvas.legend(handles, names, loc="outside lower center", ncols=6, fontsize=7, frameon=False)


def _series(given: Given, run: str, measure: str, over: str, fixed: Mapping[str, Any]) -> list[tuple[float, Record]]:
    """(setting, record) of the decoders that agree in ``fixed`` and have the setting ``over``, in rising order."""
    found = []
    for r in _found(given, [run], measure):
        settings = given.decoders.get(r.system, {})
        if over in settings and all(settings.get(key) == value for key, value in fixed.items()):
            found.append((float(settings[over]), r))
    return sorted(found, key=lambda pair: pair[0])


def figure_3(given: Given, sweep: str = "sweep") -> Figure:
    """SPG, SPV and proportion of 4-grams by delay length (delayed beam search) and by blocking size (beam search)."""
    rows = {
        "delay (tokens sampled before the beams)": ("delay", {"kind": "delayed_beam", "top_k": 100, "beams": 6}),
        "blocking size (longest repeat, in tokens)": ("blocking", {"kind": "beam", "beams": 15}),
    }
    measures = ("SPG", "SPV", "proportion_4grams")
    lines = {(row, m): _series(given, sweep, m, *asked) for row, asked in rows.items() for m in measures}
    cells = [_cell(f"{row}: {at:g}", r, given) for (row, _), pairs in lines.items() for at, r in pairs]

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(len(rows), len(measures), squeeze=False, sharey="col")
        for i, row in enumerate(rows):
            for j, measure in enumerate(measures):
                _curve(panels[i][j], lines[row, measure], given, COLOURS[i])
                panels[i][j].set(ylim=(0, 105))
                panels[i][j].set_xlabel(row, fontsize=7)
                panels[i][j].set_ylabel(f"{given.label('metric', measure)} (%)", fontsize=7)

    caption = (
        "Figure 3. SPG, SPV and share of the human text's 4-grams (percent) by delay length (top-100, six beams) and by blocking "
        "size (15 beams), small model, validation prefixes, with 95 % intervals."
    )
    return given.figure(caption, cells, draw, (8.0, 4.4))


def _curve(axes: Any, pairs: Sequence[tuple[float, Record]], given: Given, colour: str, name: str = "") -> None:
    """Values with intervals at evenly spaced places that bear their settings' names."""
    cells = [(f"{at:g}", _cell("", r, given)) for at, r in pairs if r.value is not None]
    drawn, style = [c for _, c in cells], {"color": colour, "marker": "o", "markersize": 4, "capsize": 2, "label": name}
    axes.errorbar(range(len(cells)), [c.value for c in drawn], errors(drawn), **style)
    axes.set_xticks(range(len(cells)), [at for at, _ in cells])


def figure_4(given: Given, test: str = "test") -> Figure:
    """Pearson correlation of what a sentence is like with whether it is supported, and verified."""
    found = given.results.where(critic="verifiability", metric="correlation", corpus=test)
    cells = [cell(given.label("task", r.task), r.variant, r) for r in found]
    known = [c for c in cells if c.value is not None]
    names = list(dict.fromkeys(c.row for c in known))

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for shift, side, colour in ((-0.2, "supported", COLOURS[0]), (0.2, "verified", COLOURS[1])):
            own = [c for c in known if c.column == side]
            places, values = [names.index(c.row) + shift for c in own], [c.value for c in own]
            axes.barh(places, values, 0.38, xerr=errors(own), color=colour, label=f"is {side}", ecolor="0.3")
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set(xlabel="Pearson correlation over sentences", xlim=(-1, 1))
        axes.legend(fontsize=7)

    caption = "Figure 4. What a sentence is like and whether it is supported, or verified: test prefixes, large model, intervals over prefixes."
    return given.figure(caption, cells, draw, (6.4, 3.6))


def figure_5(given: Given, sweep: str = "sweep") -> Figure:
    """Different supported sentences by delay length: a panel for each k, with plain sampling of the same k beside it."""
    measure, kind = "distinct_supported", "delayed_beam"
    widths = sorted({s["top_k"] for s in given.decoders.values() if s["kind"] == kind})
    curves = {k: _series(given, sweep, measure, "delay", {"kind": kind, "top_k": k}) for k in widths}
    curves = {k: pairs for k, pairs in curves.items() if pairs}
    sampled = _series(given, sweep, measure, "k", {"kind": "top_k"})
    plain = {k: _cell(f"plain top-{k:g}", r, given) for k, r in sampled}
    cells = [_cell(f"delayed, top-{k}, delay {at:g}", r, given) for k, pairs in curves.items() for at, r in pairs]
    cells += plain.values()
    top = max((c.high or c.value or 0.0 for c in cells), default=1.0)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, max(len(curves), 1), sharey=True, squeeze=False)[0]
        for axes, (k, pairs) in zip(panels, curves.items(), strict=False):
            _curve(axes, pairs, given, COLOURS[0], "delayed beam search")
            if (same := plain.get(k)) is not None and same.value is not None:
                axes.axhline(same.value, color=COLOURS[1], linestyle="--", linewidth=1, label=f"plain top-{k}")
                if same.low is not None and same.high is not None:
                    axes.axhspan(same.low, same.high, color=COLOURS[1], alpha=0.15, linewidth=0)
            axes.set(title=f"top-{k}", ylim=(0, 1.1 * top))
            axes.set_xlabel("delay (tokens)", fontsize=8)
            axes.legend(fontsize=6, loc="lower left")
        panels[0].set_ylabel("different supported sentences")

    caption = (
        "Figure 5. Different supported sentences among the first five by delay length, with 95 % intervals; dashed with its band: "
        "plain sampling of the same k, where the sweep has it."
    )
    return given.figure(caption, cells, draw, (1.0 + 2.2 * max(len(curves), 1), 3.2))


def trade_off(
    given: Given, runs: Sequence[str] = ("sweep", "medium", "large", "web", "books", "pages", "test")
) -> Figure:
    """Support against repetition for every decoder: a column for each run, SPG above and USPG below."""
    measures = ("SPG", "USPG")
    shown = [run for run in runs if len(_found(given, [run], "SPG"))]
    found = _found(given, shown, "proportion_4grams", *measures)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(len(measures), max(len(shown), 1), sharex=True, sharey=True, squeeze=False)
        for i, measure in enumerate(measures):
            for j, run in enumerate(shown):
                for kind, x, y in _points(given, run, "proportion_4grams", measure, found):
                    panels[i][j].plot(x.value, y.value, MARKS.get(kind, "."), color=_colour(kind), markersize=5)
                panels[i][j].set(xlim=(0, 105), ylim=(0, 100))
                panels[0][j].set_title(given.label("corpus", run), fontsize=7)
            panels[i][0].set_ylabel(f"{measure} (%)")
        middle = panels[-1][max(len(shown), 1) // 2]
        middle.set_xlabel("different 4-grams, as a share of the human text's (%)", fontsize=8)
        _legend(canvas, [_strategy(r, given) for r in found.where(metric="SPG")], given, coloured=True)

    caption = (
        "Support against repetition, every decoder and model: SPG and USPG over different 4-grams as a share of the human text's. "
        "Mark and colour are the strategy."
    )
    return Figure(caption, [_named(r, given) for r in found], draw, (0.8 + 1.5 * max(len(shown), 1), 4.4))
