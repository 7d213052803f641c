"""Mentions of persons in deng2022.

Tables 6 to 8 and 15 to 17, Figures 5 and 10 to 13, wrong pronouns, sensitivity to the resolver.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.deng2022.report.pages import Mark, chain, drawn_article, label, mention_page
from longform.errors import BadInput
from longform.results import Record
from longform.tables import COLOURS, Cell, Drawing, Figure, Files, Listing, Table, cell, exact
from longform_lab.reporting.pivot import ReportInputs, beside

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
    "gold chains: critic and text are the world's own, persons mentioned once among them, as the "
    "exact value has it (over all splits); Latent PPL: one resolver reads the critic's real text "
    "and the judged text, as in the paper; critic of gold chains: fitted on the world's own "
    "chains, so the resolver's errors count against every text, data included"
)
# As the paper abbreviates entity types.
SHORT_FORMS = {"MALE": "M", "FEMALE": "F", "PLURAL": "P", "NONE": "N"}
UNSEEN = (
    "the released critic gives a symbol that no real chain holds probability 1e-20, which is most "
    "of the chance row; Kneser-Ney does not"
)


def table_7(inputs: ReportInputs) -> Table:
    """A table of the Latent PPL of mentions of persons, for data and models, with exact values."""
    records = inputs.select(LATENT)
    gold = "Latent PPL, gold chains"
    cells = inputs.exact_rows(records.values("corpus"), "mention_latent_ppl", gold)
    cells += inputs.pivot(COLUMNS, "table_07")
    num_aside = max((record.excluded or 0 for record in records), default=0)
    persons = "persons of all articles, films alone in the paper"
    if num_aside:
        persons = f"up to {num_aside} articles set aside by the film filter"
    notes = [*inputs.notes, *inputs.comparisons(records), READERS, persons]
    if len(records.where(system="random_mentions")):
        notes.append(UNSEEN)
    caption = "Table 7. Latent PPL of mentions of persons with 95 % intervals"
    return Table(caption, cells, notes, list(COLUMNS))


def table_8(inputs: ReportInputs) -> Table:
    """Latent PPL of mentions of persons by model size, models with titles, as in Table 8."""
    cells = inputs.pivot({"Latent PPL": LATENT}, "table_08")
    notes = inputs.comparisons(inputs.select(LATENT))
    caption = "Table 8. Latent PPL of mentions of persons by model size, 95 % intervals"
    return Table(caption, cells, [*inputs.notes, *notes])


# Variants of records by what resolves coreference, and details of one by the column's name.
RESOLVERS = {"gold": "gold_repeated", "rules": "", "nearest mention": "nearest"}
PARTS = {"muc": "MUC F1", "b3": "B³ F1", "ceafe": "CEAF-e F1"}


def table_resolvers(inputs: ReportInputs) -> Table:
    """A table of three coreference resolvers on the same texts, a row for each (ours).

    Columns are the resolver's agreement with synthetic gold chains, and the Latent PPL of each
    system's text by its chains.
    """
    cells: list[Cell] = []
    for resolver, variant in RESOLVERS.items():
        # 1. Agreement.
        agreement = {"critic": "coreference", "metric": "conll_f1", "variant": variant}
        for record in inputs.select(agreement):
            cells.append(cell(resolver, "CoNLL F1", record))
            for key, name in PARTS.items():
                f1 = record.details[key]["f1"]
                cells.append(exact(resolver, name, f1, "", units=record.units))
        # 2. Latent PPL: the pivot has a row for each system, which becomes a column here.
        filters = {resolver: {**LATENT, "variant": variant}}
        for of_system in inputs.pivot(filters, rows=("system", "titles")):
            column = f"Latent PPL, {of_system.row}"
            cells.append(replace(of_system, row=resolver, column=column))
    notes = [
        *inputs.notes,
        "entities mentioned once are left out by every reader; a mention counts by the place of "
        "its head word",
        "each critic is fitted on training text as its reader reads it; generated text has no "
        "gold chains",
    ]
    return Table(
        "Sensitivity to the resolver: agreement with synthetic gold, and Latent PPL of mentions",
        cells,
        notes,
    )


def ngrams(
    inputs: ReportInputs,
    table: str,
    kind: str,
    caption: str,
    header: Sequence[str],
    keys: Sequence[str],
) -> Listing:
    """A listing of the 5-grams that models' records hold (Tables 6, 15, 16 and 17).

    Args:
        inputs: the records; they select the models.
        table: the paper's table; a note counts how many of its 5-grams are listed.
        kind: the key of the records' details that holds the 5-grams.
        caption, header: of the listing.
        keys: the fields of a 5-gram that are shown, in the order of the header.
    """
    rows: list[list[Any]] = []
    windows: set[tuple[str, ...]] = set()
    for system, details in _details(inputs):
        for entry in details[kind]:
            window = " ".join(label(symbol) or "∅" for symbol in entry["window"])
            row = [system, window]
            for key in keys:
                row.append(label(entry[key]) if key == "best" else entry[key])
            rows.append(row)
            windows.add(_paper_form(entry["window"]))
    printed = {tuple(row["z"]) for row in inputs.expected[table]["rows"]}
    note = f"of the paper's {len(printed)} 5-grams, {len(printed & windows)} are among these"
    return Listing(caption, ["text", *header], rows, [*inputs.notes, note])


def table_15(inputs: ReportInputs, **settings: Any) -> Listing:
    """A random subset of the improbable 5-grams, each with the symbol that the critic expected."""
    listing = ngrams(inputs, **settings)
    shares = []
    for row, details in _details(inputs):
        share = {}
        for side in ("judged", "real"):
            counts = details["rare_share"][side]
            share[side] = counts["rare"] / counts["windows"]
        shares.append(
            f"{row} {share['judged']:.2%} of windows, held-out real text {share['real']:.2%}"
        )
    return replace(listing, notes=[*listing.notes, f"improbable windows: {'; '.join(shares)}"])


def _details(inputs: ReportInputs) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the label of each model whose texts mention persons, and its record's details."""
    for record in inputs.select(BLAMED):
        if "rare_share" in record.details:
            yield inputs.labels(record, "system", "titles"), record.details


def _paper_form(symbols: Sequence[str]) -> tuple[str, ...]:
    """Symbols as ``expected.yaml`` has them: entity types by their first letter."""
    short = []
    for symbol in symbols:
        form, mark, entity = symbol.partition(":")
        short.append(f"{SHORT_FORMS.get(form, form)}{mark}{entity}")
    return tuple(short)


NGRAM_METRICS = {
    "gap": {"percent_real": "percent_of_real", "percent_generated": "percent_of_generated"},
    "rare": {
        "log_probability": "rare_log_probability",
        "best_log_probability": "rare_best_log_probability",
    },
    "high": {"probability_real": "likelier_real", "probability_generated": "likelier_generated"},
    "low": {"probability_real": "rarer_real", "probability_generated": "rarer_generated"},
}


def ngram_records(record: Record) -> list[Record]:
    """Turn the numbers of a record's 5-grams into records of their own.

    The task of each is the 5-gram as the paper writes it. If two 5-grams are written alike, the
    last one's number is used.
    """
    values: dict[tuple[str, str], float] = {}
    for kind, metrics in NGRAM_METRICS.items():
        for row in record.details.get(kind, []):
            window = " ".join(_paper_form(row["window"]))
            for key, metric in metrics.items():
                if row[key] is not None:
                    values[metric, window] = row[key]
    records = []
    for (metric, window), value in values.items():
        records.append(beside(record, metric, value, task=window))
    return records


def models_with_articles(inputs: ReportInputs) -> list[str]:
    """The models whose records carry articles to show, in the order of their labels."""
    records = [record for record in inputs.select(BLAMED) if record.details.get("articles")]
    return list(dict.fromkeys(record.system for record in inputs.ordered(records, "system")))


def _articles(inputs: ReportInputs) -> list[tuple[str, str, list[Mark]]]:
    """Id, text and marks of each article. Raises BadInput: no record carries one."""
    articles = []
    for _, details in _details(inputs):
        for article in details["articles"]:
            marks = [Mark(**mark) for mark in article["marks"]]
            articles.append((article["unit_id"], article["text"], marks))
    if not articles:
        raise BadInput(
            f"{inputs.name}: no record carries an article; "
            "read the texts of its system with their text kept"
        )
    return articles


def article_name(unit: str) -> str:
    """The name of a generated article in a figure: the number at the end of its id."""
    number = unit.rpartition("-")[2]
    return f"generated article {number}" if number.isdecimal() else unit


def figure_5(inputs: ReportInputs) -> Figure:
    """The beginning of the worst article, and its chain of mentions with log probabilities."""
    unit, text, marks = _articles(inputs)[0]
    cells = []
    for number, mark in enumerate(marks):
        row = f"{number} {label(mark.symbol)}"
        cells.append(exact(row, "log P (nats)", mark.log_probability, ""))
    caption = (
        f"Figure 5. The mentions of {article_name(unit)} and the log probability (nats) of each "
        "given the four before it, red where it is improbable. [she]3: entity 3 is mentioned as "
        "she, [Male]3: by a man's name; a stop ends a sentence; each entity has a colour, rare "
        "ones are grey"
    )
    return Figure(caption, cells, *chain(text, marks))


def figures_10_13(inputs: ReportInputs) -> Files:
    """HTML pages of four generated articles, and a picture of the first.

    Mentions are coloured by entity, and improbable 5-grams circled.
    """
    pages: dict[str, str] = {}
    drawings: dict[str, Drawing] = {}
    rows: list[list[Any]] = []
    links = ""
    for number, (unit, text, marks) in enumerate(_articles(inputs)[:4], 10):
        # 1. Its page.
        name = f"figure_{number}"
        article = (f"Figure {number}: {article_name(unit)}", text, marks)
        pages[f"{name}.html"] = mention_page(*article)
        links += f"\n- {name}: [HTML]({name}.html)"
        if not drawings:
            drawings[name] = drawn_article(*article)
            links += f"\n\n![{name}]({name}.png)\n"
        # 2. Its improbable mentions.
        for mark in marks:
            if mark.bad:
                best = label(mark.best) if mark.best else ""
                probabilities = (mark.log_probability, best, mark.best_log_probability)
                rows.append([number, label(mark.symbol), *probabilities])
    caption = (
        "Figures 10 to 13. Generated articles with the largest share of improbable mentions; "
        "circled: log P below -7. A picture shows the beginning of the first, HTML each in full"
    )
    header = ["figure", "circled", "log P", "expected", "its log P"]
    listing = Listing(caption, header, rows, ["the paper's articles are others"])
    return Files(pages, listing, f"{links}\n", drawings)


def figure_wrong_pronoun(inputs: ReportInputs) -> Figure:
    """Latent PPL of mentions and of section titles over the share of pronouns of a wrong gender.

    The figure is ours, after section 5.
    """
    records = inputs.select({"metric": "score", "task": "*", "severity": "*"}, inputs.where)
    cells = []
    for record in records:
        critic = inputs.label("critic", record.critic)
        cells.append(cell(critic, f"severity {record.severity:g}", record))
    # A curve for each critic.
    curves = records.groups("critic").items()

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for ((critic,), of_critic), colour, mark in zip(curves, COLOURS, "os", strict=False):
            by_severity = sorted(of_critic, key=lambda record: record.severity or 0.0)
            _draw_curve(axes, by_severity, inputs.label("critic", critic), colour, mark)
        axes.set(
            xlabel="share of pronouns with the wrong gender",
            ylabel="Latent PPL over that of the sound text",
        )
        axes.margins(y=0.2)
        axes.legend(frameon=False, loc="upper left")

    caption = (
        "Wrong pronouns. Latent PPL as a share of pronouns gets the other gender, with 95 % "
        "intervals, over that of the sound text; where all are wrong, pronouns agree with one "
        "another again"
    )
    return Figure(caption, cells, draw, (4.2, 3.0), inputs.notes)


def _draw_curve(axes: Any, records: Sequence[Record], name: str, colour: str, mark: str) -> None:
    """Draw one critic's Latent PPL with intervals, each divided by the first record's value."""
    base = records[0].value or 1.0
    severities, values, below, above = [], [], [], []
    for record in records:
        value = record.value or 0.0
        severities.append(record.severity)
        values.append(value / base)
        below.append(abs((record.low or 0.0) - value) / base)
        above.append(abs((record.high or 0.0) - value) / base)
    look = {"marker": mark, "color": colour, "label": name}
    axes.errorbar(severities, values, yerr=[below, above], capsize=2, **look)
