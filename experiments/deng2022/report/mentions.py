"""Mentions of persons in deng2022: Tables 6 to 8 and 15 to 17, Figures 5 and 10 to 13, wrong pronouns, sensitivity to the resolver."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.deng2022.report.pages import Mark, chain, drawn_article, label, mention_page
from longform.errors import BadInput
from longform.results import Record
from longform.tables import Cell, Drawing, Figure, Files, Listing, Table, cell, exact
from longform_lab.reporting.pivot import COLOURS, SYSTEM, Given, beside

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
SHORT_FORMS = {
    "MALE": "M",
    "FEMALE": "F",
    "PLURAL": "P",
    "NONE": "N",
}  # as the paper abbreviates entity types
UNSEEN = "the released critic gives a symbol that no real chain holds probability 1e-20, which is most of the chance row; Kneser-Ney does not"


def table_7(given: Given) -> Table:
    """Latent PPL of mentions of persons, for data and models with and without titles, beside the exact value."""
    read = given.select(LATENT)
    cells = given.exact_rows(read.values("corpus"), "mention_latent_ppl", "Latent PPL, gold chains")
    aside = max((record.excluded or 0 for record in read), default=0)
    filtered = f"up to {aside} articles set aside by the film filter"
    persons = filtered if aside else "persons of all articles, films alone in the paper"
    caption = "Table 7. Latent PPL of mentions of persons with 95 % intervals"
    notes = [*given.notes, *given.comparisons(read), READERS, persons]
    notes += [UNSEEN] if len(read.where(system="random_mentions")) else []
    return Table(caption, cells + given.pivot(COLUMNS, "table_07"), notes, list(COLUMNS))


def table_8(given: Given) -> Table:
    """Latent PPL of mentions of persons by model size, models with titles, as in Table 8."""
    cells, notes = (
        given.pivot({"Latent PPL": LATENT}, "table_08"),
        given.comparisons(given.select(LATENT)),
    )
    caption = "Table 8. Latent PPL of mentions of persons by model size, 95 % intervals"
    return Table(caption, cells, [*given.notes, *notes])


RESOLVERS = {"gold": "gold_repeated", "rules": "", "nearest mention": "nearest"}
PARTS = {"muc": "MUC F1", "b3": "B³ F1", "ceafe": "CEAF-e F1"}


def table_resolvers(given: Given) -> Table:
    """The same chains under three readers: Latent PPL of each text, and agreement with the synthetic truth (ours)."""
    cells: list[Cell] = []
    for resolver, variant in RESOLVERS.items():
        for record in given.select(
            {"critic": "coreference", "metric": "conll_f1", "variant": variant}
        ):
            cells.append(cell(resolver, "CoNLL F1", record))
            for key, name in PARTS.items():
                cells.append(
                    exact(resolver, name, record.details[key]["f1"], "", units=record.units)
                )
        made = given.pivot({resolver: {**LATENT, "variant": variant}}, rows=SYSTEM[1:])
        cells += [replace(c, row=resolver, column=f"Latent PPL, {c.row}") for c in made]
    notes = [
        *given.notes,
        "entities mentioned once are left out by every reader; a mention counts by the place of its head word",
        "each critic is fitted on training text as its reader reads it; generated text has no gold chains",
    ]
    return Table(
        "Sensitivity to the resolver: agreement with synthetic gold, and Latent PPL of mentions",
        cells,
        notes,
    )


def ngrams(
    given: Given, table: str, kind: str, caption: str, header: Sequence[str], keys: Sequence[str]
) -> Listing:
    """5-grams that a record lists under ``kind``, and what it says of each (Tables 6, 15, 16 and 17)."""
    rows, listed = [], set()
    for system, held in _details(given):
        for row in held[kind]:
            window = " ".join(label(symbol) or "∅" for symbol in row["window"])
            rows.append([system, window, *(label(row[k]) if k == "best" else row[k] for k in keys)])
            listed.add(_paper_form(row["window"]))
    printed = {tuple(row["z"]) for row in given.expected[table]["rows"]}
    note = f"of the paper's {len(printed)} 5-grams, {len(printed & listed)} are among these"
    return Listing(caption, ["text", *header], rows, [*given.notes, note])


def table_15(given: Given, **settings: Any) -> Listing:
    """A random subset of the improbable 5-grams, with what the critic expected."""
    found = ngrams(given, **settings)
    shares = []
    for row, details in _details(given):
        judged, real = (
            held["rare"] / held["windows"]
            for held in map(details["rare_share"].get, ("judged", "real"))
        )
        shares.append(f"{row} {judged:.2%} of windows, held-out real text {real:.2%}")
    return replace(found, notes=[*found.notes, f"improbable windows: {'; '.join(shares)}"])


def _details(given: Given) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Of each model whose texts mention persons, what its records list."""
    for record in given.select(BLAMED):
        if "rare_share" in record.details:
            yield given.labels(record, "system", "titles"), record.details


def _paper_form(symbols: Sequence[str]) -> tuple[str, ...]:
    """Symbols as ``expected.yaml`` has them: entity types by their first letter."""
    parts = (symbol.partition(":") for symbol in symbols)
    return tuple(f"{SHORT_FORMS.get(form, form)}{mark}{entity}" for form, mark, entity in parts)


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
    """The 5-grams that a record lists, each number a record whose task is the 5-gram as the paper writes it."""
    made = {
        (metric, " ".join(_paper_form(row["window"]))): row[key]
        for kind, metrics in NGRAM_METRICS.items()
        for row in record.details.get(kind, [])
        for key, metric in metrics.items()
        if row[key] is not None
    }
    return [beside(record, metric, value, task=task) for (metric, task), value in made.items()]


def models_with_articles(given: Given) -> list[str]:
    """The models whose records carry articles to show, in the order of their labels."""
    found = [record for record in given.select(BLAMED) if record.details.get("articles")]
    return list(dict.fromkeys(record.system for record in given.ordered(found, "system")))


def _articles(given: Given) -> list[tuple[str, str, list[Mark]]]:
    found = [article for _, details in _details(given) for article in details["articles"]]
    if not found:
        raise BadInput(
            f"{given.name}: no record carries an article; read the texts of its system with their text kept"
        )
    return [(a["unit_id"], a["text"], [Mark(**mark) for mark in a["marks"]]) for a in found]


def figure_5(given: Given) -> Figure:
    """The worst article's beginning with its chain below it, each symbol with its log probability."""
    unit, text, marks = _articles(given)[0]
    cells = [
        exact(f"{i} {label(m.symbol)}", "log P (nats)", m.log_probability, "")
        for i, m in enumerate(marks)
    ]
    caption = (
        f"Figure 5. The mentions of {unit} and the log probability of each given the four before it"
    )
    return Figure(caption, cells, *chain(text, marks))


def figures_10_13(given: Given) -> Files:
    """Four generated articles, mentions coloured by entity, improbable 5-grams circled: HTML pages, a picture of the first."""
    pages: dict[str, str] = {}
    drawings: dict[str, Drawing] = {}
    rows: list[list[Any]] = []
    links = ""
    for number, (unit, text, marks) in enumerate(_articles(given)[:4], 10):
        name, article = f"figure_{number}", (f"Figure {number}. {unit}", text, marks)
        pages[f"{name}.html"] = mention_page(*article)
        links += f"\n- {name}: [HTML]({name}.html)"
        if not drawings:
            drawings[name] = drawn_article(*article)
            links += f"\n\n![{name}]({name}.png)\n"
        for m in (m for m in marks if m.bad):
            best = label(m.best) if m.best else ""
            rows.append([number, label(m.symbol), m.log_probability, best, m.best_log_probability])
    caption = "Figures 10 to 13. Generated articles with the largest share of improbable mentions; circled: log P below -7"
    header = ["figure", "circled", "log P", "expected", "its log P"]
    return Files(
        pages,
        Listing(caption, header, rows, ["the paper's articles are others"]),
        f"{links}\n",
        drawings,
    )


def figure_wrong_pronoun(given: Given) -> Figure:
    """Latent PPL of mentions and of section titles as ever more pronouns get the wrong gender (ours, after section 5)."""
    found = given.select({"metric": "score", "task": "*", "severity": "*"}, given.where)
    cells = [cell(given.label("critic", r.critic), f"severity {r.severity:g}", r) for r in found]
    curves = found.groups("critic").items()

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for ((critic,), records), colour, mark in zip(curves, COLOURS, "os", strict=False):
            own = sorted(records, key=lambda r: r.severity or 0.0)
            base = own[0].value or 1.0
            places, values = [r.severity for r in own], [(r.value or 0.0) / base for r in own]
            arms = [
                [abs((getattr(r, end) or 0.0) - (r.value or 0.0)) / base for r in own]
                for end in ("low", "high")
            ]
            look = {"marker": mark, "color": colour, "label": given.label("critic", critic)}
            axes.errorbar(places, values, yerr=arms, capsize=2, **look)
        axes.set(
            xlabel="share of pronouns with the wrong gender",
            ylabel="Latent PPL over that of the sound text",
        )
        axes.margins(y=0.2)
        axes.legend(frameon=False, loc="upper left")

    caption = "Wrong pronouns. Latent PPL as a share of pronouns gets the other gender, with 95 % intervals, over that of the sound text"
    return Figure(caption, cells, draw, (4.2, 3.0), given.notes)
