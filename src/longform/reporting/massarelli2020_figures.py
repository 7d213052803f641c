"""Figures 2 to 5 of Massarelli et al. (2020), and the trade-off of support against repetition for every decoder and size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from longform.reporting.layout import Cell, Figure, cell
from longform.reporting.massarelli2020 import Records, family_of, run_of, scaled, settings
from longform.reporting.orderings import numbers

Measures = Mapping[str, Mapping[str, Any]]
CORPORA = {"wiki": "W", "books": "B", "web": "O", "news": "C"}  # the paper's letters
SIZES = {"small": "S", "medium": "M", "large": "B"}
SWEEP_OF_SMALL = {"top_k": "top_k_2", "top_p": "top_p_04", "greedy": "greedy", "beam": "beam_15",
                  "delayed_beam": "delayed_100_6_1", "beam_blocked": "beam_blocked_15_20"}  # fmt: skip
MARKS = "osD^vP*Xd<>"
DELAYED = re.compile(r"delayed_(\d+)_(\d+)_(\d+)")
BLOCKED = re.compile(r"beam_blocked_(\d+)_(\d+)")


def of_model(scores: Records, corpus: str, size: str) -> dict[str, Measures]:
    """Decoders of a model on validation prefixes; the small news model's are in the sweep, under the sweep's names."""
    if (corpus, size) == ("news", "small"):
        sweep = settings(scores, "sweep")
        return {name: sweep[key] for name, key in SWEEP_OF_SMALL.items() if key in sweep}
    return dict(settings(scores, f"{corpus}-{size}"))


def value_of(found: Measures, measure: str) -> float:
    """The number that is drawn: percent for shares, nan where there is none."""
    return numbers(scaled(found[measure], measure))["value"]


def figure_2(*, scores: Records) -> Figure:
    """USPV against USPG: (a) small models of four corpora, (b) three sizes of one corpus."""
    panels = [
        {letter: of_model(scores, corpus, "small") for corpus, letter in CORPORA.items()},
        {letter: of_model(scores, "news", size) for size, letter in SIZES.items()},
    ]
    cells = [
        cell(f"({'ab'[n]}) {letter}: {name}", measure, scaled(found[measure], measure))
        for n, panel in enumerate(panels)
        for letter, decoders in panel.items()
        for name, found in decoders.items()
        for measure in ("USPG", "USPV")
    ]
    caption = (
        "Figure 2. USPV against USPG (percent), validation prefixes: (a) by training corpus, wiki (W), books (B), web (O), "
        f"news (C), small model; (b) by size, small (S), medium (M), large (B), news. {_best_corpus(panels[0])}"
    )
    return Figure(caption, cells, lambda canvas: _scatters(canvas, panels), (8.0, 3.6))


def _best_corpus(panel: Mapping[str, Mapping[str, Measures]]) -> str:
    """The paper's claim: the news model has the best recall for all strategies."""
    names = panel.get("C", {})
    first = [name for name in names if all(value_of(names[name], "USPG") >= value_of(other[name], "USPG")
                                           for other in panel.values() if name in other)]  # fmt: skip
    return f"The news model has the highest USPG for {len(first)} of {len(names)} decoders (paper: for all)."


def _scatters(canvas: Any, panels: Sequence[Mapping[str, Mapping[str, Measures]]]) -> None:
    axes, seen = canvas.subplots(1, 2), set[str]()
    for one, panel, title in zip(axes, panels, ("(a) corpora", "(b) sizes"), strict=True):
        for number, (letter, decoders) in enumerate(panel.items()):
            for place, (name, found) in enumerate(decoders.items()):
                x, y = (value_of(found, m) for m in ("USPG", "USPV"))
                one.plot(x, y, MARKS[place], color=f"C{number}", markersize=5, label=None if name in seen else name)
                seen.add(name)
                one.annotate(letter, (x, y), fontsize=6, xytext=(3, 3), textcoords="offset points")
        one.set(xlabel="USPG (%)", ylabel="USPV (%)", title=title)
    axes[0].legend(fontsize=6)


def figure_3(*, scores: Records) -> Figure:
    """SPG, SPV and proportion of 4-grams by delay length (delayed beam search) and by blocking size (beam search)."""
    sweep = settings(scores, "sweep")
    lines = {
        "delay length L": _series(sweep, DELAYED, 3, {1: "100"}),
        "blocking size n": _series(sweep, BLOCKED, 2, {}),
    }
    measures = ("SPG", "SPV", "proportion_4grams")
    cells = [
        cell(f"{axis} {at}", measure, scaled(found[measure], measure))
        for axis, rows in lines.items()
        for at, found in rows
        for measure in measures
    ]
    falls = _monotone([value_of(found, "proportion_4grams") for _, found in lines["blocking size n"]])
    caption = (
        "Figure 3. SPG, SPV and 4-gram proportion (percent) by delay length (top-100, six beams; bottom axis) and by blocking "
        f"size (15 beams; top axis). The paper says that diversity falls as n grows: here it {falls}."
    )
    return Figure(caption, cells, lambda canvas: _two_axes(canvas, lines, measures), (8.0, 3.0))


def _series(
    sweep: Mapping[str, Any], form: re.Pattern[str], place: int, fixed: Mapping[int, str]
) -> list[tuple[int, Measures]]:
    """(value of the group ``place``, measures) of the sweep's decoders of a form, in rising order."""
    found = [(form.fullmatch(name), measures) for name, measures in sweep.items()]
    kept = [(m, r) for m, r in found if m and all(m[group] == value for group, value in fixed.items())]
    return sorted(((int(m[place]), measures) for m, measures in kept), key=lambda pair: pair[0])


def _monotone(values: Sequence[float]) -> str:
    if all(a >= b for a, b in pairwise(values)):
        return "falls"
    return "rises" if all(a <= b for a, b in pairwise(values)) else "does not fall steadily"


def _two_axes(canvas: Any, lines: Mapping[str, list[tuple[int, Measures]]], measures: Sequence[str]) -> None:
    axes = canvas.subplots(1, len(measures))
    for one, measure in zip(axes, measures, strict=True):
        upper = one.twiny()
        for axis, (name, rows), colour in zip((one, upper), lines.items(), ("C0", "C1"), strict=True):
            records = [numbers(scaled(found[measure], measure)) for _, found in rows]
            values, errors = [r["value"] for r in records], _errors(records)
            axis.errorbar([at for at, _ in rows], values, errors, color=colour, marker="o", capsize=2)
            axis.set_xlabel(name, color=colour)
        one.set_ylabel(f"{measure} (%)")


def figure_4(*, scores: Records) -> Figure:
    """Pearson correlation of what a sentence is like with whether it is supported, and verified."""
    found = next(iter(scores.values()))["details"]["correlations"]
    cells = [cell(*reversed(name.rsplit("-", 1)), record) for name, record in found.items()]  # type: ignore[arg-type]
    known = {name: record for name, record in found.items() if record["value"] is not None}
    signs = {name: record["value"] > 0 for name, record in known.items()}
    caption = (
        "Figure 4. Pearson correlation with supported and with verified sentences, test prefixes, large model, intervals over "
        f"prefixes. The paper says that log-probability goes with verified ({_holds(signs, 'nats-verified')} here) and tf-idf "
        f"with supported ({_holds(signs, 'tfidf-supported')} here)."
    )
    return Figure(caption, cells, lambda canvas: _bars(canvas, known))


def _holds(signs: Mapping[str, bool], name: str) -> str:
    return "not known" if name not in signs else "holds" if signs[name] else "differs"


def _bars(canvas: Any, found: Mapping[str, Mapping[str, Any]]) -> None:
    axes = canvas.subplots()
    names = list(dict.fromkeys(name.rsplit("-", 1)[0] for name in found))
    for shift, side in ((-0.2, "supported"), (0.2, "verified")):
        rows = [(n, found[f"{name}-{side}"]) for n, name in enumerate(names) if f"{name}-{side}" in found]
        errors = _errors([numbers(r) for _, r in rows])
        axes.barh([n + shift for n, _ in rows], [r["value"] for _, r in rows], 0.38, xerr=errors, label=side)
    axes.set_yticks(range(len(names)), names)
    axes.axvline(0, color="0.4", linewidth=0.8)
    axes.set_xlabel("Pearson correlation")
    axes.legend(fontsize=7)


def figure_5(*, scores: Records) -> Figure:
    """Different supported sentences by delay length, with plain top-k as lines."""
    sweep = settings(scores, "sweep")
    widths = sorted({int(m[1]) for m in map(DELAYED.fullmatch, sweep) if m})
    curves = {k: _series(sweep, DELAYED, 3, {1: str(k)}) for k in widths}
    plain = {name: found for name, found in sweep.items() if family_of(name) == "top_k"}
    measure = "distinct_supported"
    cells = [cell(f"top-{k}, L = {at}", measure, found[measure]) for k, rows in curves.items() for at, found in rows]
    cells += [cell(name, measure, found[measure]) for name, found in plain.items()]
    caption = "Figure 5. Different supported sentences among five, by delay length; dashed: plain top-k sampling."
    return Figure(caption, cells, lambda canvas: _delays(canvas, curves, plain, measure))


def _errors(records: Sequence[Mapping[str, float]]) -> list[list[float]]:
    """Arms of the error bars; a value outside its percentile interval has no arm on that side."""
    low = [max(r["value"] - r["low"], 0.0) for r in records]
    return [low, [max(r["high"] - r["value"], 0.0) for r in records]]


def _delays(canvas: Any, curves: Mapping[int, Any], plain: Mapping[str, Measures], measure: str) -> None:
    axes = canvas.subplots()
    for number, (k, rows) in enumerate(curves.items()):
        values = [value_of(found, measure) for _, found in rows]
        axes.plot([at for at, _ in rows], values, marker="o", color=f"C{number}", label=f"delayed, top-{k}")
    for number, (name, found) in enumerate(plain.items()):
        axes.axhline(value_of(found, measure), linestyle="--", linewidth=0.8, color=f"C{number}", label=name)
    axes.set(xlabel="delay length L", ylabel="different supported sentences")
    axes.legend(fontsize=6, ncols=2)


def trade_off(*, scores: Records) -> Figure:
    """Support against repetition for every decoder and model of the run: SPV over the share of the human 4-grams."""
    runs = {run_of(name): settings(scores, run_of(name)) for name in scores}
    cells: list[Cell] = []
    for run, decoders in runs.items():
        for name, found in decoders.items():
            cells += [
                cell(f"{run}: {name}", m, scaled(found[m], m)) for m in ("proportion_4grams", "SPG", "SPV", "USPG")
            ]
    caption = (
        "Support against repetition, every decoder and model: SPG and USPG (percent) over different 4-grams as a share of the "
        "human text's. One colour a model; marks are the decoder's family."
    )
    return Figure(caption, cells, lambda canvas: _trade(canvas, runs), (8.5, 4.0))


def _trade(canvas: Any, runs: Mapping[str, Mapping[str, Measures]]) -> None:
    axes = canvas.subplots(1, 2)
    families = list(dict.fromkeys(family_of(name) for decoders in runs.values() for name in decoders))
    for one, measure in zip(axes, ("SPG", "USPG"), strict=True):
        for number, decoders in enumerate(runs.values()):
            for name, found in decoders.items():
                x, y = (value_of(found, m) for m in ("proportion_4grams", measure))
                one.plot(x, y, MARKS[families.index(family_of(name)) % len(MARKS)], color=f"C{number}", markersize=4)
        one.set(xlabel="4-gram proportion (%)", ylabel=f"{measure} (%)")
    for number, run in enumerate(runs):
        axes[0].plot([], [], "s", color=f"C{number}", label=run)
    for place, family in enumerate(families):
        axes[1].plot([], [], MARKS[place % len(MARKS)], color="0.3", label=family)
    for one in axes:
        one.legend(fontsize=5)
