"""Tables and figures of "How Decoding Strategies Affect the Verifiability of Generated Text" (Massarelli et al. 2020).

A record's corpus is a *run* (a language model, prefixes, a list of decoders) and its system a decoder of it; ``variant`` is
``gold`` where exact rules take the checker's place.
"""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from longform.core.results import Record, Results
from longform.critics.verifiability.reliability import FLAGS, judged, read_answers
from longform.critics.verifiability.score import LABELS
from longform.reporting.pivot import COLOURS, Given, errors
from longform.reporting.table import Cell, Figure, Table, cell

PERCENT = ("proportion_4grams", "link_grammar_percent", "SPG", "SPV", "USPG", "USPV")  # shares, printed in percent
TABLE_1 = ("distinct_4grams", "proportion_4grams", "SPG", "SPV", "USPG", "USPV")
TABLE_4 = ("distinct_sentences", "entities", "tokens", "conjunctions", "link_grammar_percent", "tfidf")


def strategy(settings: Mapping[str, Any]) -> str:
    """The strategy of a decoder: its kind, but beam search that blocks repeats is one of its own."""
    return "beam_blocked" if settings["kind"] == "beam" and settings.get("blocking") else str(settings["kind"])


def label(name: str, given: Given) -> str:
    """``delayed beam search (top k 100, beams 6, delay 1)``; a decoder without known settings keeps its name in words."""
    if name not in given.decoders:
        return given.label("system", name)
    own = given.decoders[name]
    settings = [f"{key.replace('_', ' ')} {value:g}" for key, value in own.items() if key != "kind"]
    return given.label("system", strategy(own)) + (f" ({', '.join(settings)})" if settings else "")


def _kind(name: str, given: Given) -> str:
    return strategy(given.decoders.get(name, {"kind": name}))


def in_order(records: Iterable[Record], given: Given) -> list[Record]:
    """Records by strategy in the paper's order, then by settings as numbers, then by name."""
    known = list(given.expected["labels"]["system"])

    def place(record: Record) -> tuple[Any, ...]:
        kind, settings = _kind(record.system, given), given.decoders.get(record.system, {})
        numbers = [value for key, value in settings.items() if key != "kind"]
        return (known.index(kind) if kind in known else len(known), kind, numbers, record.system)

    return sorted(records, key=place)


def chosen(given: Given, run: str) -> dict[str, str]:
    """For each strategy the decoder of a run with the highest USPG; of equals the first, the one with the smaller setting."""
    best: dict[str, Record] = {}
    for record in given.results.where(critic="verifiability", metric="USPG", corpus=run, variant=""):
        if record.value is not None and record.system in given.decoders:
            kind = _kind(record.system, given)
            if kind not in best or record.value > (best[kind].value or 0.0):
                best[kind] = record
    return {kind: record.system for kind, record in best.items()}


def measured(
    given: Given, run: str, measures: Sequence[str], table: str = "", variant: str = "", column: str = "{}"
) -> list[Cell]:
    """A row for each decoder of a run, a column for each measure, shares in percent."""
    found = given.results.where(critic="verifiability", corpus=run, variant=variant, metric=list(measures))
    return [
        given.cell(
            label(r.system, given),
            column.format(given.label("metric", r.metric)),
            r,
            table,
            100.0 if r.metric in PERCENT else 1.0,
        )
        for r in sorted(in_order(found, given), key=lambda r: measures.index(r.metric))
    ]


def table_1(given: Given, test: str = "test", grid: str = "grid", sweep: str = "sweep") -> Table:
    """Decoders on test prefixes (the run ``test``, then the small model); those of ``grid`` that validation on ``sweep`` chose."""
    cells = measured(given, test, TABLE_1, "table_1")
    cells += measured(given, test, TABLE_1[2:], variant="gold", column="{} by exact rules")
    small = replace(given, results=given.results.where(system=list(chosen(given, sweep).values())))
    found = measured(small, grid, TABLE_1)
    cells += [replace(c, row=f"small model, chosen on validation: {c.row}") for c in found]
    caption = "Table 1. Repetition and verifiability by decoder, test prefixes (percent, but for distinct 4-grams)"
    return given.table(caption, cells)


def table_3(given: Given, papers_choice: Sequence[Mapping[str, Any]], sweep: str = "sweep") -> Table:
    """What validation chooses by USPG, strategy by strategy, beside the settings of the paper's choice, over the whole grid."""
    best = {label(name, given) for name in chosen(given, sweep).values()}
    papers = {label(name, given) for name, own in given.decoders.items() if own in papers_choice}
    cells = [
        replace(c, row=c.row + " (chosen)" * (c.row in best) + " (the paper's)" * (c.row in papers))
        for c in measured(given, sweep, TABLE_1)
    ]
    note = f"chosen, as in the paper: {len(best & papers)} of {len(best)} strategies"
    caption = "Table 3. The sweep on validation prefixes: the highest USPG of each strategy is chosen"
    return given.table(caption, cells, [note])


def table_4(given: Given, sweep: str = "sweep") -> Table:
    """Counts of sentences by decoder on validation prefixes; by rules, where the paper has spaCy's parser."""
    cells = measured(given, sweep, TABLE_4, "table_4")
    grammar = [c for c in cells if c.column == given.label("metric", "link_grammar_percent")]
    notes = ["entities are runs of capitals and numbers, conjunctions two per coordinating word: see deviations.md"]
    if all(c.value is None or c.value != c.value for c in grammar):
        notes.append("Link Grammar's Python binding is not installed here, so its column is empty")
    return Table("Table 4. What sentences are like, by decoder, validation prefixes", cells, notes)


def checker(given: Given, claims: str = "claims", test: str = "test") -> Table:
    """How far the checker can be trusted, and support corrected for it; the paper's lines are its checker against people."""
    cells, notes = [], []
    for corpus in (claims, test):
        found = given.results.where(critic="verifiability", corpus=corpus)
        row = f"checker on {given.label('corpus', corpus)}"
        for metric in ("checker_accuracy", "checker_precision", "checker_recall"):
            for r in sorted(found.where(metric=metric), key=lambda r: ("", *LABELS).index(r.task)):
                of = f" of {r.task.replace('_', ' ')}" if r.task else ""
                cells.append(given.cell(row, metric.removeprefix("checker_") + of, r, "table_2", 100))
        for r in found.where(metric="checker_accuracy"):
            retrieved, majority = (100 * r.details[key] for key in ("retrieved", "majority"))
            notes.append(
                f"{row}: {retrieved:.1f} % of the known evidence was among the judged lines; the most frequent true label "
                f"makes {majority:.1f} %"
            )
    shown = {"": "SPG as given", "corrected_by_claims": "SPG, errors as on claims"}
    shown |= {"corrected_by_sample": "SPG, errors as on the sweep", "gold": "SPG by exact rules"}
    for variant, column in shown.items():
        found = given.results.where(critic="verifiability", corpus=test, metric="SPG", variant=variant)
        cells += [cell(label(r.system, given), column, r).times(100) for r in in_order(found, given)]
        unknown = {name for r in found for name in r.details.get("unknown_labels", ())}
        notes += [f"{column}: no known sentence is truly {name}, so nothing is corrected" for name in sorted(unknown)]
    return Table("The checker against the known truth, and support corrected for its errors (percent)", cells, notes)


MEASURES = ("REP", "NAC", "UNG", "SPG", "SPV", "USPG", "USPV")


@dataclass(frozen=True)
class StudySheet:
    """A table with the files of its study beside it: ``sheet.csv`` and ``sheet.jsonl`` for ``python -m longform.study make claim``,
    ``answers.csv``, an empty form for those who work without the app, and ``key.csv``: which decoder wrote what.
    """

    table: Table
    items: Sequence[Mapping[str, Any]]

    def save(self, folder: Path, stem: str) -> None:
        """The table's files and the study's."""
        self.table.save(folder, stem)
        shown = []
        for item in self.items:
            said = f" Said before: {item['before']}" if item["before"] else ""
            evidence = f"{item['evidence'] or 'No page was found.'}{said}"
            shown.append({"item_id": item["item"], "claim": item["claim"], "evidence": evidence})
        lines = "".join(json.dumps(item, ensure_ascii=False, sort_keys=True) + "\n" for item in shown)
        (folder / "sheet.jsonl").write_text(lines, encoding="utf-8")
        _write(folder / "sheet.csv", ("item_id", "claim", "evidence"), shown)
        _write(folder / "key.csv", ("item", "decoder", "page", "generation", "sentence"),
               [{"item": item["item"], **item["key"]} for item in self.items])  # fmt: skip
        _write(folder / "answers.csv", ("item", "annotator", "label", *FLAGS), [])


def _write(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def table_2(given: Given, answers: str | None = None, test: str = "test") -> StudySheet:
    """What the paper's annotators found, exact repeats counted here, and, with ``answers``, what ours found.

    Args:
        answers: a filled ``answers.csv``, its path below ``data``; none at the default scale, where nobody was asked.
    """
    sheet = given.results.one(critic="verifiability", metric="exact_repeats", corpus=test).details
    block = given.expected["table_2"]
    ours = judged(sheet["items"], read_answers(given.data / answers)) if answers else None
    why = "other texts and other people than the paper's" if ours else "nobody was asked: the sheet is beside the table"
    cells = []
    for decoder, repeats in sheet["exact_repeats"].items():
        row = given.label("system", decoder)
        for place, measure in enumerate(MEASURES):
            value = ours["decoders"].get(decoder, {}).get(measure) if ours else None
            printed = block[decoder][place] if decoder in block else None
            cells.append(Cell(row, measure, value, printed=printed, why=why))
        share = None if repeats is None else 100 * repeats
        signature = "sentences equal to an earlier one of the text"
        cells.append(Cell(row, "exact repeats", share, signature=signature))
    asked = f"{len(sheet['items'])} sentences after {sheet['prefixes']} prefixes (paper: {block['prefixes']} prefixes)"
    notes = [f"sheet of {asked}", "give the filled sheet as `answers`, and the table has our numbers too"]
    if ours is not None:
        held, found = ours["agreement"], f"{ours['sentences']} sentences judged, {ours['unanswered']} not"
        kappa = f"Cohen's kappa {held['cohen_kappa']:.2f} (paper {block['cohen_kappa']})"
        notes[1:] = [f"{held['annotators']} annotators, {kappa}", found]
    caption = "Table 2. What people say of the first five sentences (percent)"
    return StudySheet(given.table(caption, cells, notes), sheet["items"])


MARKS = {  # a strategy, the same mark in every figure
    "human": "*", "top_k": "o", "top_p": "s", "greedy": "D", "beam": "^", "group_beam": "v", "sibling_beam": "P",
    "delayed_beam": "X", "beam_blocked": "p", "min_p": "<", "typical": ">", "contrastive": "d",
}  # fmt: skip
FILLS = ("full", "none", "left", "bottom")  # of models' marks, beside their colours
HUES = {kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(MARKS)}  # where colours are not the models'


def _found(given: Given, runs: Sequence[str], *measures: str) -> Results:
    return given.results.where(critic="verifiability", variant="", corpus=list(runs), metric=list(measures))


def _cell(row: str, r: Record, given: Given) -> Cell:
    return cell(row, given.label("metric", r.metric), r).times(100.0 if r.metric in PERCENT else 1.0)


def _named(r: Record, given: Given) -> Cell:
    return _cell(f"{given.label('corpus', r.corpus)}: {label(r.system, given)}", r, given)


def _points(given: Given, run: str, x: str, y: str, kept: Results) -> list[tuple[str, Cell, Cell]]:
    """(strategy, x, y) of each decoder of a run that has both numbers."""
    across = {r.system: r for r in kept.where(corpus=run, metric=x)}
    pairs = [(across[r.system], r) for r in in_order(kept.where(corpus=run, metric=y), given) if r.system in across]
    made = [(_kind(b.system, given), _cell("", a, given), _cell("", b, given)) for a, b in pairs]
    return [(kind, a, b) for kind, a, b in made if a.value is not None and b.value is not None]


def figure_2(given: Given) -> Figure:
    """USPV against USPG on validation prefixes: (a) small models of several training corpora, (b) several sizes of one, where there are.

    Of a run that sweeps more decoders than the others, those are shown that the others have too.
    """
    corpora, sizes = ("sweep", "web", "books", "pages"), ("sweep", "medium", "large")
    names = _found(given, [corpora[-1]], "USPG").values("system")
    shared = [given.decoders[name] for name in names if name in given.decoders]
    found = _found(given, [*corpora, *sizes], "USPG", "USPV")
    kept = Results(r for r in found if given.decoders.get(r.system) in shared)
    sides: list[tuple[Sequence[str], str]] = [(corpora, "(a) training corpora")]
    sides += [(sizes, "(b) sizes")] if _found(given, sizes[1:], "USPG") else []

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, len(sides), sharex=True, sharey=True, squeeze=False)[0]
        for axes, (runs, title) in zip(panels, sides, strict=True):
            for colour, fill, run in zip(COLOURS, FILLS, runs, strict=False):
                points = _points(given, run, "USPG", "USPV", kept)
                _scatter(axes, points, dict.fromkeys(MARKS, colour), fillstyle=fill)
                axes.plot([], [], "o", color=colour, fillstyle=fill, label=given.label("corpus", run))
            axes.set(xlabel="USPG: unique supported sentences of five (%)", title=title)
            axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        canvas.axes[0].set(xlim=(-2, None), ylim=(-3, 103), ylabel="USPV: supported of the unique verified (%)")
        _legend(canvas, [strategy(settings) for settings in shared], given, dict.fromkeys(MARKS, "0.3"))

    caption = (
        f"Figure 2. USPV against USPG (percent), validation prefixes: {' and '.join(title for _, title in sides)}. "
        "Colours and fillings are models, marks are decoding strategies, bars 95 % intervals over prefixes."
    )
    return given.figure(caption, [_named(r, given) for r in kept], draw, (3.0 + 2.1 * len(sides), 4.4))


def _scatter(axes: Any, points: Sequence[tuple[str, Cell, Cell]], hues: Mapping[str, str], **look: Any) -> None:
    """The mark of each strategy at its two numbers, with thin bars to the ends of their intervals."""
    for kind, x, y in points:
        look |= {"fmt": MARKS.get(kind, "."), "color": hues.get(kind, "0.5"), "markersize": 6, "elinewidth": 0.4}
        axes.errorbar([x.value], [y.value], errors([y]), errors([x]), **look)


def _legend(canvas: Any, kinds: Sequence[str], given: Given, hues: Mapping[str, str]) -> None:
    """The marks of the strategies, below all panels."""
    from matplotlib.lines import Line2D

    names = {kind: given.label("system", kind) for kind in MARKS if kind in kinds}
    handles = [Line2D([], [], marker=MARKS[k], color=hues[k], linestyle="", label=name) for k, name in names.items()]
    canvas.legend(handles=handles, loc="outside lower center", ncols=4 if canvas.get_figwidth() > 6 else 3)


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
        panels = canvas.subplots(len(rows), len(measures), squeeze=False, sharey=True)
        for (i, row), (j, measure) in product(enumerate(rows), enumerate(measures)):
            _curve(panels[i][j], lines[row, measure], given, COLOURS[i])
            panels[i][j].set(ylim=(0, 105), xlabel=row, title="" if i else given.label("metric", measure))
        canvas.supylabel("percent")

    caption = (
        "Figure 3. SPG, SPV and share of the human text's 4-grams (percent) by delay length (top-100, six beams) and by blocking "
        "size (15 beams), small model, validation prefixes, with 95 % intervals."
    )
    return given.figure(caption, cells, draw, (8.0, 4.4))


def _curve(axes: Any, pairs: Sequence[tuple[float, Record]], given: Given, colour: str) -> None:
    """Values with intervals at evenly spaced places that bear their settings' names."""
    cells = [(f"{at:g}", _cell("", r, given)) for at, r in pairs if r.value is not None]
    drawn, style = [c for _, c in cells], {"color": colour, "marker": "o", "markersize": 4, "capsize": 2}
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
        for shift, side, mark, colour in ((-0.12, "supported", "o", COLOURS[0]), (0.12, "verified", "s", COLOURS[4])):
            own = [c for c in known if c.column == side]
            places, values = [names.index(c.row) + shift for c in own], [c.value for c in own]
            axes.errorbar(values, places, xerr=errors(own), fmt=mark, color=colour, capsize=2, label=f"is {side}")
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set(xlabel="Pearson correlation over sentences", xlim=(-1, 1))
        axes.legend()

    caption = "Figure 4. What a sentence is like and whether it is supported, or verified: test prefixes, 95 % intervals over prefixes."
    return given.figure(caption, cells, draw, (6.4, 3.6))


def figure_5(given: Given, sweep: str = "sweep") -> Figure:
    """Different supported sentences by delay length, a line for each k that has several; beside them plain sampling of the same k."""
    measure, kind = "distinct_supported", "delayed_beam"
    widths = sorted({s["top_k"] for s in given.decoders.values() if s["kind"] == kind})
    curves = {k: _series(given, sweep, measure, "delay", {"kind": kind, "top_k": k}) for k in widths}
    sampled = _series(given, sweep, measure, "k", {"kind": "top_k"})
    plain = [(k, _cell(f"plain top-{k:g}", r, given)) for k, r in sampled]
    held = {k: [(at, _cell(f"delayed, top-{k}, delay {at:g}", r, given)) for at, r in own] for k, own in curves.items()}
    held = {k: own for k, own in held.items() if own}
    delays = sorted({at for pairs in held.values() for at, _ in pairs})

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for place, (k, pairs) in enumerate(held.items()):
            shift = 0.1 * (place - (len(held) - 1) / 2)
            look = {"color": COLOURS[place % len(COLOURS)], "marker": "osD^vP"[place % 6], "capsize": 2}
            own = [(delays.index(at) + shift, c) for at, c in pairs if c.value is not None]
            beside = [(len(delays) + shift, c) for width, c in plain if width == k and c.value is not None]
            for drawn, style in ((own, {"label": f"top-{k}"}), (beside, {"fillstyle": "none"})):
                cells = [c for _, c in drawn]
                axes.errorbar([x for x, _ in drawn], [c.value for c in cells], errors(cells), **look, **style)
        axes.set_xticks(range(len(delays) + 1), [*(f"{at:g}" for at in delays), "no beams"])
        axes.set(xlabel="delay (tokens sampled before the beams)", ylabel="different supported of five", ylim=(0, None))
        axes.legend(title="sampled from")

    caption = (
        "Figure 5. Different supported sentences among the first five by delay length, small model, validation prefixes, with 95 % "
        "intervals over prefixes; hollow, at the right: plain sampling of the same k, which never begins its beams."
    )
    cells = [c for pairs in held.values() for _, c in pairs] + [c for _, c in plain]
    return given.figure(caption, cells, draw, (5.4, 3.4))


def trade_off(given: Given, run: str = "test") -> Figure:
    """Support against repetition for every decoder of a run: SPG at the left, USPG at the right."""
    measures = ("SPG", "USPG")
    found = _found(given, [run], "proportion_4grams", *measures)

    def draw(canvas: Any) -> None:
        for axes, measure in zip(canvas.subplots(1, 2, sharex=True, sharey=True), measures, strict=True):
            _scatter(axes, _points(given, run, "proportion_4grams", measure, found), HUES)
            axes.set(ylim=(0, None), xlabel="different 4-grams, % of the human text's", title=measure)
        canvas.axes[0].set_ylabel("supported sentences (%)")
        _legend(canvas, [_kind(r.system, given) for r in found.where(metric="SPG")], given, HUES)

    caption = (
        f"Support against repetition, {given.label('corpus', run)}: supported sentences among all (SPG) and, counted once, among all "
        "(USPG), over different 4-grams as a share of the human text's. Mark and colour are the strategy, bars 95 % intervals."
    )
    return Figure(caption, [_named(r, given) for r in found], draw, (7.2, 3.8))
