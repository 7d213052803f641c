"""Tables and figures of "How Decoding Strategies Affect the Verifiability of Generated Text" (Massarelli et al. 2020).

A record's corpus is a *run* (a language model, prefixes, a list of decoders) and its system a decoder of it; ``variant`` is
``gold`` where exact rules take the checker's place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from longform.critics.verifiability.checks import LABELS
from longform.critics.verifiability.reliability import FLAGS, judged, judges_see, read_answers
from longform.results import Record, Results
from longform.tables import Cell, Figure, Files, Table, cell, csv_text
from longform_lab.reporting.pivot import COLOURS, REAL_TEXT, Given, errors

PERCENT = (
    "proportion_4grams",
    "link_grammar_percent",
    "SPG",
    "SPV",
    "USPG",
    "USPV",
)  # shares, printed in percent
TABLE_1 = ("distinct_4grams", "proportion_4grams", "SPG", "SPV", "USPG", "USPV")
TABLE_4 = (
    "distinct_sentences",
    "entities",
    "tokens",
    "conjunctions",
    "link_grammar_percent",
    "tfidf",
)


def _found(given: Given, runs: Sequence[str], *measures: str, variant: str = "") -> Results:
    return given.results.where(
        critic="verifiability", variant=variant, corpus=list(runs), metric=list(measures)
    )


def strategy(settings: Mapping[str, Any]) -> str:
    """The strategy of a decoder: its kind, but beam search that blocks repeats is one of its own."""
    return (
        "beam_blocked"
        if settings["kind"] == "beam" and settings.get("blocking")
        else str(settings["kind"])
    )


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


def chosen(given: Given) -> dict[str, str]:
    """For each strategy the decoder with the highest USPG on validation; of equals the first, the one with the smaller setting."""
    best: dict[str, Record] = {}
    for record in _found(given, ["sweep"], "USPG"):
        if record.value is not None and record.system in given.decoders:
            kind = _kind(record.system, given)
            if kind not in best or record.value > (best[kind].value or 0.0):
                best[kind] = record
    return {kind: record.system for kind, record in best.items()}


def measured(
    given: Given,
    run: str,
    measures: Sequence[str],
    table: str = "",
    variant: str = "",
    column: str = "{}",
) -> list[Cell]:
    """A row for each decoder of a run, a column for each measure, shares in percent."""
    cells, found = [], _found(given, [run], *measures, variant=variant)
    for r in sorted(in_order(found, given), key=lambda r: measures.index(r.metric)):
        place = label(r.system, given), column.format(given.label("metric", r.metric))
        cells.append(given.cell(*place, r, table, 100.0 if r.metric in PERCENT else 1.0))
    return cells


def table_1(given: Given) -> Table:
    """Decoders on test prefixes (the run ``test``, then the small model); those of ``grid`` that validation on ``sweep`` chose."""
    cells = measured(given, "test", TABLE_1, "table_1")
    cells += measured(given, "test", TABLE_1[2:], variant="gold", column="{} by exact rules")
    small = replace(given, results=given.results.where(system=list(chosen(given).values())))
    cells += [
        replace(c, row=f"small model, chosen on validation: {c.row}")
        for c in measured(small, "grid", TABLE_1)
    ]
    caption = "Table 1. Repetition and verifiability by decoder, test prefixes (percent, but for distinct 4-grams)"
    return Table(caption, cells, given.notes)


def table_3(given: Given, papers_choice: Sequence[Mapping[str, Any]]) -> Table:
    """What validation chooses by USPG, strategy by strategy, beside the settings of the paper's choice, over the whole grid."""
    best = {label(name, given) for name in chosen(given).values()}
    papers = {label(name, given) for name, own in given.decoders.items() if own in papers_choice}
    cells = [
        replace(c, row=c.row + " (chosen)" * (c.row in best) + " (the paper's)" * (c.row in papers))
        for c in measured(given, "sweep", TABLE_1)
    ]
    note = f"chosen, as in the paper: {len(best & papers)} of {len(best)} strategies"
    caption = (
        "Table 3. The sweep on validation prefixes: the highest USPG of each strategy is chosen"
    )
    return Table(caption, cells, [note, *given.notes])


def table_4(given: Given) -> Table:
    """Counts of sentences by decoder on validation prefixes; by rules, where the paper has spaCy's parser."""
    cells = measured(given, "sweep", TABLE_4, "table_4")
    grammar = [c for c in cells if c.column == given.label("metric", "link_grammar_percent")]
    notes = [
        "entities are runs of capitals and numbers, conjunctions two per coordinating word: see deviations.md"
    ]
    if all(c.value is None or c.value != c.value for c in grammar):
        notes.append("Link Grammar's Python binding is not installed here, so its column is empty")
    return Table("Table 4. What sentences are like, by decoder, validation prefixes", cells, notes)


def checker(given: Given) -> Table:
    """How far the checker can be trusted, and support corrected for it; the paper's lines are its checker against people."""
    cells, notes = [], []
    for corpus in ("claims", "test"):
        found = given.results.where(critic="verifiability", corpus=corpus)
        row = f"checker on {given.label('corpus', corpus)}"
        for metric in ("checker_accuracy", "checker_precision", "checker_recall"):
            for r in sorted(found.where(metric=metric), key=lambda r: ("", *LABELS).index(r.task)):
                of = f" of {r.task.replace('_', ' ')}" if r.task else ""
                cells.append(
                    given.cell(row, metric.removeprefix("checker_") + of, r, "table_2", 100)
                )
        for r in found.where(metric="checker_accuracy"):
            retrieved, majority = (100 * r.details[key] for key in ("retrieved", "majority"))
            notes.append(
                f"{row}: {retrieved:.1f} % of the known evidence was among the judged lines; the most frequent true label "
                f"makes {majority:.1f} %"
            )
    shown = {"": "SPG as given", "corrected_by_claims": "SPG, errors as on claims"}
    shown |= {"corrected_by_sample": "SPG, errors as on the sweep", "gold": "SPG by exact rules"}
    for variant, column in shown.items():
        found = _found(given, ["test"], "SPG", variant=variant)
        cells += [
            cell(label(r.system, given), column, r).times(100) for r in in_order(found, given)
        ]
        unknown = {name for r in found for name in r.details.get("unknown_labels", ())}
        notes += [
            f"{column}: no known sentence is truly {name}, so nothing is corrected"
            for name in sorted(unknown)
        ]
    return Table(
        "The checker against the known truth, and support corrected for its errors (percent)",
        cells,
        notes,
    )


def table_2(given: Given, answers: str | None = None) -> Files:
    """What the paper's annotators found, exact repeats counted here, and, with ``answers``, what ours found.

    Beside it ``sheet.csv`` for ``python -m longform_lab.study make claim``, ``key.csv``, which decoder wrote what,
    and ``answers.csv``, an empty form; ``answers`` is a filled one's path below ``data``.
    """
    sheet = given.results.one(critic="verifiability", metric="exact_repeats", corpus="test").details
    items, block = sheet["items"], given.expected["table_2"]
    ours = judged(items, read_answers(given.data / answers)) if answers else None
    why = (
        "other texts and other people than the paper's"
        if ours
        else "nobody was asked: the sheet is beside the table"
    )
    cells = []
    for decoder, repeats in sheet["exact_repeats"].items():
        row = given.label("system", decoder)
        for place, measure in enumerate(("REP", "NAC", "UNG", "SPG", "SPV", "USPG", "USPV")):
            value = ours["decoders"].get(decoder, {}).get(measure) if ours else None
            printed = block[decoder][place] if decoder in block else None
            cells.append(Cell(row, measure, value, printed=printed, why=why))
        share = None if repeats is None else 100 * repeats
        cells.append(
            Cell(
                row,
                "exact repeats",
                share,
                signature="sentences equal to an earlier one of the text",
            )
        )
    asked = f"{len(items)} sentences after {sheet['prefixes']} prefixes (paper: {block['prefixes']} prefixes)"
    notes = [
        f"sheet of {asked}",
        "give the filled sheet as `answers`, and the table has our numbers too",
    ]
    if ours is not None:
        held, found = (
            ours["agreement"],
            f"{ours['sentences']} sentences judged, {ours['unanswered']} not",
        )
        kappa = f"Cohen's kappa {held['cohen_kappa']:.2f} (paper {block['cohen_kappa']})"
        notes[1:] = [f"{held['annotators']} annotators, {kappa}", found]
    asked_for, known = (
        ("item_id", "claim", "evidence"),
        ("decoder", "page", "generation", "sentence"),
    )
    texts = {
        "sheet.csv": csv_text(asked_for, judges_see(sheet)),
        "key.csv": csv_text(
            ("item", *known), [(item["item"], *map(item["key"].get, known)) for item in items]
        ),
        "answers.csv": csv_text(("item", "annotator", "label", *FLAGS), []),
    }
    caption = "Table 2. What people say of the first five sentences (percent)"
    return Files(texts, Table(caption, cells, [*notes, *given.notes]))


MARKS = {  # a strategy, the same mark in every figure
    "human": "*", "top_k": "o", "top_p": "s", "greedy": "D", "beam": "^", "group_beam": "v", "sibling_beam": "P",
    "delayed_beam": "X", "beam_blocked": "p", "min_p": "<", "typical": ">", "contrastive": "d",
}  # fmt: skip
FILLS = ("full", "none", "left", "bottom")  # of models' marks, beside their colours
HUES = {
    kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(MARKS)
}  # where colours are not the models'
HUES["human"] = REAL_TEXT


def _cell(row: str, r: Record, given: Given) -> Cell:
    return cell(row, given.label("metric", r.metric), r).times(
        100.0 if r.metric in PERCENT else 1.0
    )


def _named(r: Record, given: Given) -> Cell:
    return _cell(f"{given.label('corpus', r.corpus)}: {label(r.system, given)}", r, given)


def figure_2(given: Given) -> Figure:
    """USPV against USPG on validation prefixes, decoders that all runs have: (a) models of several corpora, (b) sizes, where there are."""
    corpora, sizes = ("sweep", "web", "books", "pages"), ("sweep", "medium", "large")
    names = _found(given, ["pages"], "USPG").values("system")
    shared = [given.decoders[name] for name in names if name in given.decoders]
    found = _found(given, [*corpora, *sizes], "USPG", "USPV")
    kept = Results(r for r in found if given.decoders.get(r.system) in shared)
    sides: list[tuple[Sequence[str], str]] = [(corpora, "(a) training corpora")]
    sides += [(sizes, "(b) sizes")] if _found(given, sizes[1:], "USPG") else []

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, len(sides), sharex=True, sharey=True, squeeze=False)[0]
        for axes, (runs, title) in zip(panels, sides, strict=True):
            for colour, fill, run in zip(COLOURS, FILLS, runs, strict=False):
                own = kept.where(corpus=run)
                _scatter(
                    axes, given, own, "USPG", "USPV", dict.fromkeys(MARKS, colour), fillstyle=fill
                )
                axes.plot(
                    [], [], "o", color=colour, fillstyle=fill, label=given.label("corpus", run)
                )
            axes.set(xlabel="USPG: unique supported sentences of five (%)", title=title)
            axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        canvas.axes[0].set(
            xlim=(-2, None), ylim=(-3, 103), ylabel="USPV: supported of the unique verified (%)"
        )
        _legend(
            canvas, [strategy(settings) for settings in shared], given, dict.fromkeys(MARKS, "0.3")
        )

    caption = (
        f"Figure 2. USPV against USPG (percent), validation prefixes: {' and '.join(title for _, title in sides)}. "
        "Colours and fillings are models, marks are decoding strategies, bars 95 % intervals over prefixes."
    )
    return Figure(
        caption, [_named(r, given) for r in kept], draw, (3.0 + 2.1 * len(sides), 4.4), given.notes
    )


def _scatter(
    axes: Any, given: Given, found: Results, x: str, y: str, hues: Mapping[str, str], **look: Any
) -> None:
    """The mark of its strategy at the two numbers of each decoder that has both, with thin bars to the ends of their intervals."""
    across = {r.system: r for r in found.where(metric=x)}
    for r in in_order(found.where(metric=y), given):
        if r.system in across and r.value is not None and across[r.system].value is not None:
            kind, a, b = (
                _kind(r.system, given),
                _cell("", across[r.system], given),
                _cell("", r, given),
            )
            look |= {
                "fmt": MARKS.get(kind, "."),
                "color": hues.get(kind, "0.5"),
                "markersize": 6,
                "elinewidth": 0.4,
            }
            axes.errorbar([a.value], [b.value], errors([b]), errors([a]), **look)


def _legend(canvas: Any, kinds: Sequence[str], given: Given, hues: Mapping[str, str]) -> None:
    """The marks of the strategies, below all panels."""
    from matplotlib.lines import Line2D

    names = {kind: given.label("system", kind) for kind in MARKS if kind in kinds}
    handles = [
        Line2D([], [], marker=MARKS[k], color=hues[k], linestyle="", label=name)
        for k, name in names.items()
    ]
    canvas.legend(
        handles=handles, loc="outside lower center", ncols=4 if canvas.get_figwidth() > 6 else 3
    )


def _series(
    given: Given, measure: str, over: str, fixed: Mapping[str, Any]
) -> list[tuple[float, Record]]:
    """(setting, record) of the sweep's decoders that agree in ``fixed`` and have the setting ``over``, in rising order."""
    found = []
    for r in _found(given, ["sweep"], measure):
        settings = given.decoders.get(r.system, {})
        if over in settings and all(settings.get(key) == value for key, value in fixed.items()):
            found.append((float(settings[over]), r))
    return sorted(found, key=lambda pair: pair[0])


def figure_3(given: Given) -> Figure:
    """SPG, SPV and proportion of 4-grams by delay length (delayed beam search) and by blocking size (beam search)."""
    rows = {
        "delay (tokens sampled before the beams)": (
            "delay",
            {"kind": "delayed_beam", "top_k": 100, "beams": 6},
        ),
        "blocking size (longest repeat, in tokens)": ("blocking", {"kind": "beam", "beams": 15}),
    }
    measures = ("SPG", "SPV", "proportion_4grams")
    lines = {(row, m): _series(given, m, *asked) for row, asked in rows.items() for m in measures}
    cells = [
        _cell(f"{row}: {at:g}", r, given) for (row, _), pairs in lines.items() for at, r in pairs
    ]

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(len(rows), len(measures), squeeze=False, sharey=True)
        for (i, row), (j, measure) in product(enumerate(rows), enumerate(measures)):
            axes, pairs = (
                panels[i][j],
                [(f"{at:g}", r) for at, r in lines[row, measure] if r.value is not None],
            )
            drawn = [_cell("", r, given) for _, r in pairs]
            style = {"color": COLOURS[i], "marker": "o", "markersize": 4, "capsize": 2}
            axes.errorbar(range(len(drawn)), [c.value for c in drawn], errors(drawn), **style)
            axes.set_xticks(range(len(drawn)), [at for at, _ in pairs])
            axes.set(ylim=(0, 105), xlabel=row, title="" if i else given.label("metric", measure))
        canvas.supylabel("percent")

    caption = (
        "Figure 3. SPG, SPV and share of the human text's 4-grams (percent) by delay length (top-100, six beams) and by blocking "
        "size (15 beams), small model, validation prefixes, with 95 % intervals."
    )
    return Figure(caption, cells, draw, (8.0, 4.4), given.notes)


def figure_4(given: Given) -> Figure:
    """Pearson correlation of what a sentence is like with whether it is supported, and verified."""
    found = given.results.where(critic="verifiability", metric="correlation", corpus="test")
    cells = [cell(given.label("task", r.task), r.variant, r) for r in found]
    known = [c for c in cells if c.value is not None]
    names = list(dict.fromkeys(c.row for c in known))

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for shift, side, mark, colour in (
            (-0.12, "supported", "o", COLOURS[0]),
            (0.12, "verified", "s", COLOURS[4]),
        ):
            own = [c for c in known if c.column == side]
            places, values = [names.index(c.row) + shift for c in own], [c.value for c in own]
            axes.errorbar(
                values,
                places,
                xerr=errors(own),
                fmt=mark,
                color=colour,
                capsize=2,
                label=f"is {side}",
            )
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set(xlabel="Pearson correlation over sentences", xlim=(-1, 1))
        axes.legend()

    caption = "Figure 4. What a sentence is like and whether it is supported, or verified: test prefixes, 95 % intervals over prefixes."
    return Figure(caption, cells, draw, (6.4, 3.6), given.notes)


def figure_5(given: Given) -> Figure:
    """Different supported sentences by delay length, a line for each k that has several; beside them plain sampling of the same k."""
    measure, kind = "distinct_supported", "delayed_beam"
    widths = sorted({s["top_k"] for s in given.decoders.values() if s["kind"] == kind})
    curves = {k: _series(given, measure, "delay", {"kind": kind, "top_k": k}) for k in widths}
    plain = [
        (k, _cell(f"plain top-{k:g}", r, given))
        for k, r in _series(given, measure, "k", {"kind": "top_k"})
    ]
    held = {
        k: [(at, _cell(f"delayed, top-{k}, delay {at:g}", r, given)) for at, r in own]
        for k, own in curves.items()
    }
    held = {k: own for k, own in held.items() if own}
    delays = sorted({at for pairs in held.values() for at, _ in pairs})

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for place, (k, pairs) in enumerate(held.items()):
            shift = 0.1 * (place - (len(held) - 1) / 2)
            look = {
                "color": COLOURS[place % len(COLOURS)],
                "marker": "osD^vP"[place % 6],
                "capsize": 2,
            }
            own = [(delays.index(at) + shift, c) for at, c in pairs if c.value is not None]
            beside = [
                (len(delays) + shift, c) for width, c in plain if width == k and c.value is not None
            ]
            for drawn, style in ((own, {"label": f"top-{k}"}), (beside, {"fillstyle": "none"})):
                cells = [c for _, c in drawn]
                axes.errorbar(
                    [x for x, _ in drawn], [c.value for c in cells], errors(cells), **look, **style
                )
        axes.set_xticks(range(len(delays) + 1), [*(f"{at:g}" for at in delays), "no beams"])
        axes.set(
            xlabel="delay (tokens sampled before the beams)",
            ylabel="different supported of five",
            ylim=(0, None),
        )
        axes.legend(title="sampled from")

    caption = (
        "Figure 5. Different supported sentences among the first five by delay length, small model, validation prefixes, with 95 % "
        "intervals over prefixes; hollow, at the right: plain sampling of the same k, which never begins its beams."
    )
    cells = [c for pairs in held.values() for _, c in pairs] + [c for _, c in plain]
    return Figure(caption, cells, draw, (5.4, 3.4), given.notes)


def trade_off(given: Given) -> Figure:
    """Support against repetition for every decoder on test prefixes: SPG at the left, USPG at the right."""
    measures = ("SPG", "USPG")
    found = _found(given, ["test"], "proportion_4grams", *measures)

    def draw(canvas: Any) -> None:
        for axes, measure in zip(
            canvas.subplots(1, 2, sharex=True, sharey=True), measures, strict=True
        ):
            _scatter(axes, given, found, "proportion_4grams", measure, HUES)
            axes.set(
                ylim=(0, None), xlabel="different 4-grams, % of the human text's", title=measure
            )
        canvas.axes[0].set_ylabel("supported sentences (%)")
        _legend(canvas, [_kind(r.system, given) for r in found.where(metric="SPG")], given, HUES)

    caption = (
        f"Support against repetition, {given.label('corpus', 'test')}: supported sentences among all (SPG) and, counted once, among all "
        "(USPG), over different 4-grams as a share of the human text's. Mark and colour are the strategy, bars 95 % intervals."
    )
    return Figure(caption, [_named(r, given) for r in found], draw, (7.2, 3.8))
