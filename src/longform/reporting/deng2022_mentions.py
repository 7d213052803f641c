"""Tables 6, 15, 16 and 17 and Figures 5 and 10 to 13 of deng2022: which mentions of persons are to blame, and where.

Score rows are those of ``critics.coreference.attribution``, which list the attributed 5-grams in their details.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longform.critics.coreference.attribution import MIN_COUNT, Mark, marks_from_record
from longform.documents import BadInput
from longform.reporting.coreference_figures import figure_5 as draw_chain
from longform.reporting.coreference_figures import figure_doses, label
from longform.reporting.coreference_page import article_figure, article_html
from longform.reporting.critic_tables import Records, parts
from longform.reporting.layout import Cell, short
from longform.reporting.listings import Drawing, Listing, Pages

PRINTED_FORMS = {"M": "MALE", "F": "FEMALE", "P": "PLURAL", "N": "NONE"}  # as the paper abbreviates entity types
WHY = "planted text, a resolver by rules, networks trained from scratch; films alone in the paper, all articles here"


def table_6(*, scores: Records, expected: Mapping[str, Any]) -> Listing:
    """5-grams by their part of the Latent NLL gap between generated and held-out real text."""
    rows = [
        [system, _window(row["window"]), row["percent_real"], row["percent_generated"], row["contribution"]]
        for system, details in _details(scores)
        for row in details["gap"]
    ]
    notes = [_shared_windows("table_06", expected, scores, "gap"), f"printed values are not comparable: {WHY}"]
    header = ["text", "5-gram", "% of real", "% of generated", "nats per token"]
    return Listing("Table 6. 5-grams by their part of the gap in Latent NLL, the ten largest", header, rows, notes)


def table_15(*, scores: Records, expected: Mapping[str, Any]) -> Listing:
    """A random subset of the improbable 5-grams, with what the critic expected."""
    rows = [
        [system, _window(row["window"]), row["log_probability"], label(row["best"]) if row["best"] else "",
         row["best_log_probability"]]
        for system, details in _details(scores)
        for row in details["rare"]
    ]  # fmt: skip
    notes = [_rare_claim(scores), _shared_windows("table_15", expected, scores, "rare")]
    header = ["text", "5-gram", "log P", "expected", "its log P"]
    caption = "Table 15. Improbable 5-grams of generated text (log P below -7), a random subset"
    return Listing(caption, header, rows, [note for note in notes if note])


def table_16(*, scores: Records, expected: Mapping[str, Any]) -> Listing:
    """5-grams whose last symbol generated text makes likelier than real text, by the ratio."""
    caption = "Table 16. 5-grams with the largest P(generated) over P(real) of their last symbol"
    return _ratios(scores, expected, "high", "table_16", caption)


def table_17(*, scores: Records, expected: Mapping[str, Any]) -> Listing:
    """5-grams whose last symbol generated text makes rarer than real text, by the ratio."""
    caption = "Table 17. 5-grams with the smallest P(generated) over P(real) of their last symbol"
    return _ratios(scores, expected, "low", "table_17", caption)


def _ratios(scores: Records, expected: Mapping[str, Any], key: str, table: str, caption: str) -> Listing:
    rows = [
        [system, _window(row["window"]), row["probability_real"], row["probability_generated"], row["log_ratio"]]
        for system, details in _details(scores)
        for row in details[key]
    ]
    notes = [f"met at least {MIN_COUNT} times on both sides", _shared_windows(table, expected, scores, key)]
    header = ["text", "5-gram", "P real", "P generated", "log ratio"]
    return Listing(caption, header, rows, notes)


def figure_5(*, scores: Records) -> Drawing:
    """The worst article's beginning with its chain below it, each symbol with its log probability."""
    article, found = _articles(scores)[0]
    cells = [
        Cell(f"{i} {label(mark.symbol)}", "log P (nats)", mark.log_probability, signature="MentionCritic")
        for i, mark in enumerate(found)
    ]
    caption = f"Figure 5. The mentions of {article['unit_id']} and the log probability of each given the four before it"
    return Drawing(caption, cells, draw_chain(article["text"], found))


def figures_10_13(*, scores: Records) -> Pages:
    """Four generated articles, mentions coloured by entity, improbable 5-grams circled: HTML and PDF pages."""
    pages, rows = {}, []
    for number, (article, found) in enumerate(_articles(scores), 10):
        title = f"Figure {number}. {article['unit_id']}"
        text = article["text"]
        pages[f"figure_{number}"] = (article_html(title, text, found), article_figure(title, text, found))
        rows += [
            [number, label(m.symbol), m.log_probability, label(m.best) if m.best else "", m.best_log_probability]
            for m in found
            if m.bad
        ]
    header = ["figure", "circled", "log P", "expected", "its log P"]
    caption = (
        "Figures 10 to 13. Generated articles with the largest share of improbable mentions; circled: log P below -7"
    )
    return Pages(Listing(caption, header, rows, [f"the paper's articles are others: {WHY}"]), pages)


def figure_wrong_pronoun(*, scores: Records) -> Drawing:
    """Latent PPL of mentions and of section titles as ever more pronouns get the wrong gender (ours, after section 5)."""
    cells, curves, verdicts = [], [], []
    for name, record in scores.items():
        critic = parts(name)[2].removeprefix("wrong_pronoun_")
        doses = record["details"]["doses"]
        curves += [(row["dose"], critic, row) for row in doses]
        for row in doses:
            tested = row["comparison"] or {}
            kept = {key: row[key] for key in ("value", "low", "high", "units", "excluded", "signature")}
            cells.append(Cell(critic, f"dose {row['dose']:g}", **kept, p_value=tested.get("p_value")))
        verdicts.append(_dose_claim(critic, doses))
    caption = (
        "Wrong pronouns. Latent PPL as a share of pronouns gets the other gender, with 95 % intervals, over that of "
        "the sound text"
    )
    return Drawing(caption, cells, figure_doses(curves, "wrong pronouns"), verdicts)


def _dose_claim(critic: str, doses: Sequence[Mapping[str, Any]]) -> str:
    """The mention critic should answer at every dose, any other at none (paired test at 5 %)."""
    tested = [(row["dose"], row["value"], row["comparison"]) for row in doses if row["comparison"]]
    moved = [found["p_value"] < 0.05 for _, _, found in tested]
    wanted = critic == "mentions"
    verdict = "ordering holds" if all(move == wanted for move in moved) else "differs"
    steps = "; ".join(
        f"{short(value)} at {dose:g} ({found['difference']:+.3f}, p = {found['p_value']:.4f})"
        for dose, value, found in tested
    )
    claim = "move at every dose" if wanted else "stay at every dose"
    return f"{critic} {claim}: {verdict}; Latent PPL {short(doses[0]['value'])} at 0; {steps}"


def _details(scores: Records) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, record in scores.items():
        if "gap" not in (record.get("details") or {}):
            raise BadInput(
                f"score row {name!r} lists no 5-grams; give it critic 'ngram_attribution' of critics/coreference/attribution.py"
            )
        yield parts(name)[1].replace("-", " "), record["details"]


def _articles(scores: Records) -> list[tuple[Mapping[str, Any], list[Mark]]]:
    found = [article for _, details in _details(scores) for article in details["articles"]]
    if not found:
        raise BadInput("article pages: no score row carries an article; set keep_text in the infer row of its units")
    return [(article, marks_from_record(article)) for article in found]


def _window(symbols: Sequence[str]) -> str:
    return " ".join(label(symbol) or "∅" for symbol in symbols)


def _shared_windows(table: str, expected: Mapping[str, Any], scores: Records, key: str) -> str:
    printed = {tuple(_ours(symbol) for symbol in row["z"]) for row in expected[table]["rows"]}
    listed = {tuple(row["window"]) for _, details in _details(scores) for row in details[key]}
    return f"of the paper's {len(printed)} 5-grams, {len(printed & listed)} are among these"


def _ours(symbol: str) -> str:
    form, mark, entity = symbol.partition(":")
    return f"{PRINTED_FORMS.get(form, form)}{mark}{entity}"


def _rare_claim(scores: Records) -> str:
    lines = []
    for system, details in _details(scores):
        share = {side: row["rare"] / row["windows"] for side, row in details["rare_share"].items()}
        lines.append(f"{system} {share['judged']:.2%} of windows, held-out real text {share['real']:.2%}")
    return "improbable windows: " + "; ".join(lines)
