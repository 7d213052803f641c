"""Word PPL and Latent PPL with and without titles: the paper's corpora, real ones here, synthetic.

``PYTHONPATH=src python experiments/deng2022/titles_by_corpus.py`` writes
``measured/titles_by_corpus.md``, ``.csv`` and ``.png`` from the results in git, which are those of
the scales ``real_openings`` and ``three_seeds``, and from the numbers of Table 2 in the paper.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longform.files.artefacts import read_yaml
from longform.results import Results
from longform.tables import COLOURS, Cell, Figure, cell, exact
from longform_lab.reporting.estimates import of_records
from longform_lab.reporting.pivot import errors
from longform_lab.scale_records import FILE, scale_results

HERE = Path(__file__).parent
OUT = HERE / "measured"
STEM = "titles_by_corpus"
WORDS, SECTIONS = "word PPL", "Latent PPL"
RECORDS = {
    WORDS: {"critic": "perplexity", "metric": "word_ppl", "variant": ""},
    SECTIONS: {"critic": "section_order", "metric": "latent_ppl", "variant": ""},
}
REAL_TEXT, WITH, WITHOUT, CHANCE = "real text", "with titles", "without titles", "titles at random"
LOOKS: Mapping[str, Mapping[str, Any]] = {
    REAL_TEXT: {"marker": "|", "color": "0.2", "markersize": 12, "markeredgewidth": 2},
    WITH: {"marker": "o", "color": COLOURS[0]},
    WITHOUT: {"marker": "s", "color": COLOURS[1]},
    CHANCE: {"marker": "x", "color": "0.5"},
}
CAPTION = (
    "Word PPL and Latent PPL of section titles, by corpus, both on log scales, with 95 % intervals"
    " over three trainings and documents; the paper prints one training without an interval. The"
    " systems are GPT-2 small (paper), SmolLM2-135M after one pass over the first sentence of every"
    " section (cities, PEPs), and a small GPT-2 (synthetic). Word PPL is comparable within a row"
    " alone: words, tokens and networks differ between rows"
)


class Corpus(NamedTuple):
    """A row of the figure: its name, whose numbers it has, and the corpus and system there."""

    label: str
    scale: str  # empty: the paper's Table 2
    corpus: str
    system: str


CORPORA = (
    Corpus("Wikipedia (paper)", "", "wiki", "lm1"),
    Corpus("arXiv (paper)", "", "arxiv", "lm1"),
    Corpus("PubMed (paper)", "", "pubmed", "lm1"),
    Corpus("PEPs", "real_openings", "peps", "smollm2"),
    Corpus("cities", "real_openings", "wiki", "smollm2"),
    Corpus("synthetic WIKI", "three_seeds", "wiki", "gpt2"),
    Corpus("synthetic ARXIV", "three_seeds", "arxiv", "gpt2"),
    Corpus("synthetic PUBMED", "three_seeds", "pubmed", "gpt2"),
)


def cells() -> list[Cell]:
    """Every number of the figure: the row is the corpus, the column what it is of which text."""
    results: dict[str, Results] = {}
    for name in {row.scale for row in CORPORA} - {""}:
        results[name] = scale_results(HERE.parent / "scales" / name / FILE)
    printed = read_yaml(HERE / "expected.yaml")["table_02"]
    numbers: list[Cell] = []
    for row in CORPORA:
        if row.scale:
            numbers += _measured(row, results[row.scale])
        else:
            numbers += _printed(row, printed)
    return numbers


def _measured(row: Corpus, results: Results) -> Iterator[Cell]:
    """Yield the means over trainings of a corpus' systems, and its real text and chance.

    Args:
        row: the corpus.
        results: of its scale.
    """
    texts = {
        REAL_TEXT: {"system": "data"},
        WITH: {"system": row.system, "titles": True},
        WITHOUT: {"system": row.system, "titles": False},
        CHANCE: {"system": "random_titles"},
    }
    for measure, records in RECORDS.items():
        for text, of_text in texts.items():
            found = list(results.where(corpus=row.corpus, task="", **records, **of_text))
            mean = of_records(found, log=True)
            if mean is None:  # word PPL of real text and of chance: no network gives it
                continue
            mean = mean.exp()
            numbers = {"value": mean.value, "low": mean.low, "high": mean.high, "p_value": None}
            yield cell(row.label, f"{measure}, {text}", found[0], **numbers)


def _printed(row: Corpus, table: Mapping[str, Any]) -> Iterator[Cell]:
    """Yield the paper's numbers of a corpus.

    Args:
        row: the corpus.
        table: Table 2 of the paper.
    """
    for measure, key in ((WORDS, "ppl"), (SECTIONS, "latent_ppl")):
        of_corpus = table[key][row.corpus]
        if "data" in of_corpus:
            yield exact(row.label, f"{measure}, {REAL_TEXT}", of_corpus["data"], "printed")
        for text, titles in ((WITH, "w_title"), (WITHOUT, "wo_title")):
            value = of_corpus[row.system][titles]
            yield exact(row.label, f"{measure}, {text}", value, "printed")


def figure() -> Figure:
    """A panel for each perplexity, a line for each corpus."""
    numbers = cells()
    return Figure(CAPTION, numbers, lambda canvas: _draw(canvas, numbers), (6.4, 3.9))


def _draw(canvas: Any, numbers: Sequence[Cell]) -> None:
    """Draw the panels.

    Args:
        canvas: of the figure.
        numbers: of :func:`cells`.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    # 1. Points of every text at the height of its corpus.
    labels = [row.label for row in CORPORA]
    panels = canvas.subplots(1, len(RECORDS), sharey=True)
    for axes, measure in zip(panels, RECORDS, strict=True):
        for text, look in LOOKS.items():
            of_text = [number for number in numbers if number.column == f"{measure}, {text}"]
            heights = [-labels.index(number.row) for number in of_text]
            values = [number.value for number in of_text]
            style = {"linestyle": "none", "markersize": 5, "label": text, **look}
            axes.errorbar(values, heights, xerr=errors(of_text), **style)
        axes.set(xscale="log", xlabel=measure)
        axes.xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), minor_locator=NullLocator())
        axes.xaxis.set(major_formatter="{x:g}")
        axes.grid(axis="y", linewidth=0.4)
    # 2. Names of the corpora on the left, and one legend for both panels.
    panels[0].set_yticks([-number for number in range(len(labels))], labels)
    handles, names = panels[-1].get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside lower center", ncols=len(LOOKS))


if __name__ == "__main__":
    figure().save(OUT, STEM)
