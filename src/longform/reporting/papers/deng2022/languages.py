"""Synthetic languages in deng2022: Table 1, whose process is known; Table 10 and Figure 7, mixed languages (appendix C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from longform.core.results import Record
from longform.datasets.synthetic_world.languages import language_of
from longform.reporting.pivot import COLOURS, SYSTEM, Given, mean_over_seeds
from longform.reporting.table import Figure, Listing, Table, exact, short

LATENT = {"critic": "synthetic_states", "metric": "latent_ppl"}
TABLE_1 = {
    "word PPL": {"critic": "perplexity", "metric": "word_ppl"},
    "Latent PPL": LATENT,
    "Latent PPL, strict rule": {**LATENT, "variant": "strict"},
    "survival": {"critic": "synthetic_states", "metric": "survival"},
}
MIX = {"critic": "code_mixing", "metric": "dispersion"}
COLUMNS = {
    "dispersion, 1 - Σ z²": MIX,
    "share with 90 % of one language": {**MIX, "variant": "corners"},
    "Latent NLL (nats per sentence)": {"critic": "code_mixing", "metric": "languages"},
}
EXACT = {"word PPL": "word_ppl", "Latent PPL": "latent_ppl"}  # facts of the corpus
FAMILIES = ("hsmm", "transformer")  # what systems' names begin with
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])  # of the simplex of three languages


def table_1(given: Given) -> Table:
    """Word PPL and Latent PPL of data, transformer and HSMMs, beside the exact values; survival is the share that the oracle reads."""
    cells = []
    for corpus in given.select(LATENT).values("corpus"):
        values = {column: given.facts.number(corpus, fact) for column, fact in EXACT.items()}
        cells += [exact("exact", column, value) for column, value in values.items() if value is not None]
    cells += given.pivot(TABLE_1, "table_01", SYSTEM[1:])
    caption = "Table 1. Synthetic language: word PPL and Latent PPL with 95 % intervals"
    return given.table(caption, cells, columns=list(TABLE_1))


def figure_latent_over_word(given: Given) -> Figure:
    """Latent PPL over word PPL of every model (ours, after section 3): HSMMs of several numbers of states, transformers of several sizes."""
    columns = {column: TABLE_1[column] for column in EXACT}
    words, latents = (
        {own[0].system: mean_over_seeds(own) for own in given.select(columns[column]).groups("system").values()}
        for column in ("word PPL", "Latent PPL")
    )

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for system in words.keys() & latents.keys():
            at = words[system], latents[system]
            family = next((i for i, name in enumerate(FAMILIES) if system.startswith(name)), len(FAMILIES))
            (x, across), (y, along) = (_with_ends(record) for record in at)
            axes.errorbar(x, y, xerr=across, yerr=along, fmt="os^"[family], color=COLOURS[family], capsize=2)
            axes.annotate(given.label("system", system), (x, y), xytext=(5, 4), textcoords="offset points", fontsize=7)
        axes.set(xlabel="word PPL", ylabel="Latent PPL", yscale="log")
        axes.margins(0.15)

    caption = "Latent PPL over word PPL of models of the synthetic language, with 95 % intervals; good is near the data in both"
    return given.figure(caption, given.pivot(columns, rows=SYSTEM[1:]), draw, (5.4, 3.8))


def _with_ends(record: Record) -> tuple[float, list[list[float]]]:
    """A record's value and how far its interval reaches below and above it, as error bars want them."""
    value = record.value or 0.0
    return value, [[value - (record.low or value)], [(record.high or value) - value]]


def table_10(given: Given) -> Listing:
    """The most probable words of each language of the mixture, and which synthetic language they belong to."""
    record = given.select(COLUMNS["Latent NLL (nats per sentence)"], system="data").one()
    listed = record.details["top_words"]
    rows = [[*_named(words), " ".join(words)] for words in listed]
    distinct = {row[0] for row in rows} - {""}
    notes = [
        f"{len(distinct)} of {len(rows)} components are a language of their own",
        "the paper's languages are others",
    ]
    header = ["language of most words", "words of it", f"{len(listed[0])} most probable words"]
    return Listing("Table 10. The most probable words of each language of the mixture", header, rows, notes)


def _named(words: Sequence[str]) -> tuple[str, str]:
    """The synthetic language that most words show, and how many do; blank where none shows any."""
    counts = Counter(found for word in words if (found := language_of(word)))
    language, number = counts.most_common(1)[0] if counts else ("", 0)
    return language, f"{number} of {len(words)}"


def figure_7(given: Given) -> Figure:
    """Mixes of languages of sentences on the simplex, one panel per system, with the dispersion as a number."""
    mixes = given.select(MIX)

    def draw(canvas: Any) -> None:
        for axes, record in zip(canvas.subplots(1, len(mixes), squeeze=False)[0], mixes, strict=True):
            _panel(axes, given.labels(record, "system"), record)

    caption = "Figure 7. Mixes of languages of sentences, a draw of the posterior each, over the simplex of three."
    cells, notes = given.pivot(COLUMNS, rows=("system",)), [*given.notes, *given.comparisons(mixes)]
    return Figure(caption, cells, draw, (3.0 * len(mixes), 3.1), notes)


def _panel(axes: Any, name: str, record: Record) -> None:
    at = np.array(record.details["points"])[:, : len(CORNERS)] @ CORNERS
    axes.fill(*CORNERS.T, fill=False, edgecolor="#444444", linewidth=0.8)
    axes.scatter(*at.T, s=6, alpha=0.35, linewidths=0, color="#0072B2")
    numbers = [short(number) for number in (record.value, record.low, record.high) if number is not None]
    interval = f"{numbers[0]} [{', '.join(numbers[1:])}]" if len(numbers) == 3 else ", ".join(numbers)
    axes.set_title(f"{name}\ndispersion {interval}", fontsize=9)
    axes.set_aspect("equal")
    axes.axis("off")
