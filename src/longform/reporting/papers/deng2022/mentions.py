"""Mentions of persons in deng2022: Tables 6 to 8 and 15 to 17, Figures 5 and 10 to 13, wrong pronouns, sensitivity to the resolver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput
from longform.core.results import Record, Results
from longform.reporting.papers.deng2022.pages import Mark, MentionPages, chain_size, draw_chain, label
from longform.reporting.papers.deng2022.transitions import blank
from longform.reporting.pivot import SYSTEM, comparison_notes, exact_rows, pivot
from longform.reporting.printed import Expected
from longform.reporting.selection import select
from longform.reporting.table import Cell, Figure, Listing, Table, cell, exact

LATENT = {"critic": "coreference", "metric": "latent_ppl"}
BLAMED = {"critic": "coreference", "metric": "ngram_attribution"}
COLUMNS = {
    "Latent PPL, gold chains": {**LATENT, "variant": "gold"},
    "Latent PPL, gold chains, Kneser-Ney": {**LATENT, "variant": "gold-kneser_ney"},
    "Latent PPL": LATENT,
    "Latent PPL, Kneser-Ney": {**LATENT, "variant": "kneser_ney"},
    "Latent PPL, critic of gold chains": {**LATENT, "variant": "gold_prior"},
    "Latent PPL, critic of gold chains, Kneser-Ney": {**LATENT, "variant": "gold_prior-kneser_ney"},
}
READERS = (
    "gold chains: critic and text are the world's own, persons mentioned once among them, as the exact value has it (over "
    "all splits); Latent PPL: one resolver reads the critic's real text and the judged text, as in the paper; critic of gold "
    "chains: fitted on the world's own chains, so the resolver's errors count against every text, data included"
)
SHORT_FORMS = {"MALE": "M", "FEMALE": "F", "PLURAL": "P", "NONE": "N"}  # as the paper abbreviates entity types
OTHER_ARTICLES = "the paper's articles are others"


def table_7(results: Results, expected: Expected, *, data: Path) -> Table:
    """Latent PPL of mentions of persons, for data and models with and without titles, beside the exact value."""
    where = expected.choice("table_7")
    read = select(results, {**where, **LATENT})
    cells = exact_rows(expected, data, read.values("corpus"), "mention_latent_ppl", "Latent PPL, gold chains")
    cells += pivot(results, expected, data, COLUMNS, printed="table_07", where=where)
    aside = max((record.excluded or 0 for record in read), default=0)
    persons = (
        f"up to {aside} articles set aside by the film filter"
        if aside
        else "persons of all articles, films alone in the paper"
    )
    notes = [*expected.notes("table_7", results, data), *comparison_notes(read, expected), READERS, persons]
    return Table("Table 7. Latent PPL of mentions of persons with 95 % intervals", cells, notes, list(COLUMNS))


def table_8(results: Results, expected: Expected, *, data: Path) -> Table:
    """Latent PPL of mentions of persons by model size, models with titles, as in Table 8."""
    where = expected.choice("table_8")
    cells = pivot(results, expected, data, {"Latent PPL": LATENT}, printed="table_08", where=where)
    notes = [
        *expected.notes("table_8", results, data),
        *comparison_notes(select(results, {**where, **LATENT}), expected),
    ]
    return Table("Table 8. Latent PPL of mentions of persons by model size, 95 % intervals", cells, notes)


RESOLVERS = {"gold": "gold_repeated", "rules": "", "nearest mention": "nearest"}
PARTS = {"muc": "MUC F1", "b3": "B³ F1", "ceafe": "CEAF-e F1"}


def table_resolvers(results: Results, expected: Expected, *, data: Path) -> Table:
    """The same chains under three readers: Latent PPL of each text, and agreement with the synthetic truth (ours)."""
    where = expected.choice("table_resolvers")
    cells: list[Cell] = []
    for resolver, variant in RESOLVERS.items():
        for record in select(results, {**where, "critic": "coreference", "metric": "conll_f1", "variant": variant}):
            cells.append(cell(resolver, "CoNLL F1", record))
            cells += [
                exact(resolver, name, record.details[key]["f1"], "", units=record.units) for key, name in PARTS.items()
            ]
        made = pivot(results, expected, data, {resolver: {**LATENT, "variant": variant}}, rows=SYSTEM[1:], where=where)
        cells += [replace(c, row=resolver, column=f"Latent PPL, {c.row}") for c in made]
    notes = expected.notes("table_resolvers", results, data)
    notes.append("entities mentioned once are left out by every reader; a mention counts by the place of its head word")
    notes.append("each critic is fitted on training text as its reader reads it; generated text has no gold chains")
    return Table("Sensitivity to the resolver: agreement with synthetic gold, and Latent PPL of mentions", cells, notes)


def table_6(results: Results, expected: Expected, *, data: Path) -> Listing:
    """5-grams by their part of the Latent NLL gap between generated and held-out real text."""
    header = ["text", "5-gram", "% of real", "% of generated", "nats per token"]
    keys = ("percent_real", "percent_generated", "contribution")
    caption = "Table 6. 5-grams by their part of the gap in Latent NLL, the ten largest"
    return _ngrams("table_6", "table_06", "gap", caption, header, keys, results, expected)


def table_15(results: Results, expected: Expected, *, data: Path) -> Listing:
    """A random subset of the improbable 5-grams, with what the critic expected."""
    header = ["text", "5-gram", "log P", "expected", "its log P"]
    caption = "Table 15. Improbable 5-grams of generated text (log P below -7), a random subset"
    keys = ("log_probability", "best", "best_log_probability")
    found = _ngrams("table_15", "table_15", "rare", caption, header, keys, results, expected)
    shares = [
        f"{row} {sides['judged']['rare'] / sides['judged']['windows']:.2%} of windows, held-out real text "
        f"{sides['real']['rare'] / sides['real']['windows']:.2%}"
        for row, sides in ((row, d["rare_share"]) for row, d in _details("table_15", results, expected))
    ]
    return replace(found, notes=[*found.notes, f"improbable windows: {'; '.join(shares)}"])


def table_16(results: Results, expected: Expected, *, data: Path) -> Listing:
    """5-grams whose last symbol generated text makes likelier than real text, by the ratio."""
    caption = "Table 16. 5-grams with the largest P(generated) over P(real) of their last symbol"
    return _ngrams("table_16", "table_16", "high", caption, RATIO_HEADER, RATIOS, results, expected)


def table_17(results: Results, expected: Expected, *, data: Path) -> Listing:
    """5-grams whose last symbol generated text makes rarer than real text, by the ratio."""
    caption = "Table 17. 5-grams with the smallest P(generated) over P(real) of their last symbol"
    return _ngrams("table_17", "table_17", "low", caption, RATIO_HEADER, RATIOS, results, expected)


RATIO_HEADER = ["text", "5-gram, met five times on both sides", "P real", "P generated", "log ratio"]
RATIOS = ("probability_real", "probability_generated", "log_ratio")


def _details(name: str, results: Results, expected: Expected) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for record in select(results, {**expected.choice(name), **BLAMED}):
        yield expected.labels(record, "system", "titles"), record.details


def _ngrams(
    name: str,
    table: str,
    key: str,
    caption: str,
    header: Sequence[str],
    keys: Sequence[str],
    results: Results,
    expected: Expected,
) -> Listing:
    details = list(_details(name, results, expected))
    rows = [
        [system, _window(row["window"]), *(label(row[k]) if k == "best" else row[k] for k in keys)]
        for system, held in details
        for row in held[key]
    ]
    printed = {tuple(row["z"]) for row in expected[table]["rows"]}
    listed = {_paper_form(row["window"]) for _, held in details for row in held[key]}
    notes = [
        *expected.notes(name, results, Path()),
        f"of the paper's {len(printed)} 5-grams, {len(printed & listed)} are among these",
    ]
    return Listing(caption, header, rows, notes)


def _window(symbols: Sequence[str]) -> str:
    return " ".join(label(symbol) or "∅" for symbol in symbols)


def _paper_form(symbols: Sequence[str]) -> tuple[str, ...]:
    """Symbols as ``expected.yaml`` has them: entity types by their first letter."""
    parts = (symbol.partition(":") for symbol in symbols)
    return tuple(f"{SHORT_FORMS.get(form, form)}{mark}{entity}" for form, mark, entity in parts)


NGRAM_METRICS = {
    "gap": {"percent_real": "percent_of_real", "percent_generated": "percent_of_generated"},
    "rare": {"log_probability": "rare_log_probability", "best_log_probability": "rare_best_log_probability"},
    "high": {"probability_real": "likelier_real", "probability_generated": "likelier_generated"},
    "low": {"probability_real": "rarer_real", "probability_generated": "rarer_generated"},
}


def ngram_records(record: Record) -> list[Record]:
    """The 5-grams that a record lists, each number a record whose task is the 5-gram as the paper writes it."""
    made = {
        (metric, " ".join(_paper_form(row["window"]))): row[key]
        for kind, metrics in NGRAM_METRICS.items()
        for row in record.details.get(kind, [])
        for key, metric in metrics.items()
        if row[key] is not None
    }
    return [replace(blank(record), metric=metric, task=task, value=value) for (metric, task), value in made.items()]


def _articles(name: str, results: Results, expected: Expected) -> list[tuple[str, str, list[Mark]]]:
    found = [article for _, details in _details(name, results, expected) for article in details["articles"]]
    if not found:
        raise BadInput(f"{name}: no record carries an article; read the texts of its system with their text kept")
    return [(a["unit_id"], a["text"], [Mark(**mark) for mark in a["marks"]]) for a in found]


SYMBOLS = 36  # of Figure 5


def figure_5(results: Results, expected: Expected, *, data: Path) -> Figure:
    """The worst article's beginning with its chain below it, each symbol with its log probability."""
    unit, text, marks = _articles("figure_5", results, expected)[0]
    cells = [exact(f"{i} {label(m.symbol)}", "log P (nats)", m.log_probability, "") for i, m in enumerate(marks)]
    caption = f"Figure 5. The mentions of {unit} and the log probability of each given the four before it"
    return Figure(
        caption, cells, lambda canvas: draw_chain(canvas, text, marks, SYMBOLS), chain_size(text, marks, SYMBOLS)
    )


def figures_10_13(results: Results, expected: Expected, *, data: Path) -> MentionPages:
    """Four generated articles, mentions coloured by entity, improbable 5-grams circled: HTML and PDF pages."""
    pages, rows = {}, []
    for number, (unit, text, marks) in enumerate(_articles("figures_10_13", results, expected)[:4], 10):
        pages[f"figure_{number}"] = (f"Figure {number}. {unit}", text, marks)
        rows += [
            [number, label(m.symbol), m.log_probability, label(m.best) if m.best else "", m.best_log_probability]
            for m in marks
            if m.bad
        ]
    caption = (
        "Figures 10 to 13. Generated articles with the largest share of improbable mentions; circled: log P below -7"
    )
    return MentionPages(
        Listing(caption, ["figure", "circled", "log P", "expected", "its log P"], rows, [OTHER_ARTICLES]), pages
    )


def figure_wrong_pronoun(results: Results, expected: Expected, *, data: Path) -> Figure:
    """Latent PPL of mentions and of section titles as ever more pronouns get the wrong gender (ours, after section 5)."""
    where = {"metric": "score", "task": "*", "severity": "*", **expected.choice("figure_wrong_pronoun")}
    found = select(results, where)
    cells = [cell(expected.label("critic", r.critic), f"severity {r.severity:g}", r) for r in found]
    curves = {
        expected.label("critic", critic): sorted(records, key=lambda r: r.severity or 0.0)
        for (critic,), records in found.groups("critic").items()
    }

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for (name, records), colour, mark in zip(curves.items(), ("#0072B2", "#D55E00"), ("o", "s"), strict=False):
            base = records[0].value or 1.0
            values = [(r.value or 0.0) / base for r in records]
            below, above = (
                [abs((end or 0.0) - (r.value or 0.0)) / base for r, end in ((r, getattr(r, side)) for r in records)]
                for side in ("low", "high")
            )
            places = [r.severity for r in records]
            axes.errorbar(places, values, yerr=[below, above], marker=mark, color=colour, capsize=2, label=name)
        axes.set(xlabel="share of pronouns with the wrong gender", ylabel="Latent PPL over that of the sound text")
        axes.margins(y=0.2)
        axes.legend(frameon=False, loc="upper left")

    caption = "Wrong pronouns. Latent PPL as a share of pronouns gets the other gender, with 95 % intervals, over that of the sound text"
    return Figure(caption, cells, draw, (4.2, 3.0), expected.notes("figure_wrong_pronoun", results, data))
