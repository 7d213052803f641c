"""Topics (section 6: Tables 9 and 14, Figures 6, 8 and 9) and synthetic languages of deng2022: Table 1, whose process is known; Table 10 and Figure 7, mixed ones (appendix C)."""

import math
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.tables import Cell, Figure, Listing, Table, exact, interval, short
from longform_lab.reporting.estimates import folder_of, select
from longform_lab.reporting.pivot import COLOURS, REAL_TEXT, SYSTEM, Given, errors
from longform_lab.reporting.printed import INCOMPARABLE

NLL = {"critic": "topics", "metric": "nll"}
COLUMNS = {
    "Latent NLL (nats), at the posterior's mean": NLL,
    "Latent NLL (nats), expectation": {**NLL, "variant": "full_expectation"},
}
EXACT = "the exact value is that of the synthetic logits themselves; ours are posterior means under fitted topics"
OFF_DOMAIN = "off_domain"  # variant: a model trained on another corpus, read with this one's topics
WORDS = 60  # of an outlier's text that its row shows (ours)
LISTED = 20  # topics up to which the CSV and the cells have every covariance
NAMED = 2  # words in a topic's name


def table_9(given: Given) -> Table:
    """Latent NLL of topic logits in nats per document; the printed numbers stand beside the posterior's mean, as released code scores."""
    read = given.select(NLL)
    truth = given.exact_rows(read.values("corpus"), "topic_latent_nll", next(iter(COLUMNS)))
    lost = f"documents without a known word, at most in one row: {max((r.excluded or 0 for r in read), default=0)}"
    notes = [*given.notes, *given.comparisons(read), *([EXACT] if truth else []), lost]
    caption = "Table 9. Latent NLL of topic logits, nats per document, with 95 % intervals"
    return Table(caption, truth + given.pivot(COLUMNS, "table_09"), notes)


def table_14(given: Given) -> Listing:
    """The documents with the largest T(x), worst first, each with its beginning (the paper's table is lost)."""
    rows, notes = [], []
    for record in given.select(NLL):
        outliers, system = record.details["outliers"], given.labels(record, *SYSTEM)
        texts = record.details.get("outlier_texts") or [""] * len(outliers)
        for (unit, nats), text in zip(outliers, texts, strict=True):
            rows.append([system, unit, nats, " ".join(text.split()[:WORDS])])
        if outliers and record.value is not None:
            notes.append(
                f"{system}: worst {short(outliers[0][1])} nats, mean of all {short(record.value)}"
            )
    notes.append(
        "the paper's own rows are missing from its text, so nothing printed stands beside these"
    )
    header = ["text", "document", "T(x), nats", "its beginning"]
    return Listing("Table 14. Documents whose mix of topics is least probable", header, rows, notes)


def covariances(given: Given, title: str) -> Figure:
    """Covariances of topic logits of the data, of a model of it and of a model of another corpus (Figures 6, 8 and 9)."""
    foreign = {"variant": OFF_DOMAIN, **{k: v for k, v in given.where.items() if k == "corpus"}}
    records = {given.labels(r, "system", "titles"): r for r in given.select(NLL)}
    records |= {given.labels(r, "variant"): r for r in select(given.results, {**NLL, **foreign})}
    real = given.select(NLL, system="data", titles=None).one()
    matrices = {
        row: np.array(record.details["covariance_of_means"]) for row, record in records.items()
    }
    reference = np.array(real.details["covariance_of_means"])
    names = topic_names(given.data, real.corpus)
    order = leaves_list(linkage(reference, method="average", metric="euclidean"))
    columns = {"Latent NLL (nats)": NLL}
    cells = given.pivot(columns, "figures", SYSTEM[1:]) + given.pivot(
        columns, "figures", ("variant",), foreign
    )
    distances = {
        row: float(np.linalg.norm(m - reference))
        for row, m in matrices.items()
        if records[row] is not real
    }
    cells += [
        exact(row, "Frobenius distance to data", distance, "")
        for row, distance in distances.items()
    ]
    places = list(zip(*np.triu_indices(len(order)), strict=True)) if len(order) <= LISTED else []
    for (row, m), (i, j) in product(matrices.items(), places):
        cells.append(Cell(f"{row}, {names[i]}", names[j], float(m[i, j]), detail=True))
    limit = max(float(np.abs(matrix).max()) for matrix in matrices.values())

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, len(matrices), squeeze=False, sharey=True)[0]
        for axes, (row, matrix) in zip(panels, matrices.items(), strict=True):
            turned = matrix[np.ix_(order, order)]
            shown = axes.imshow(
                turned, cmap="coolwarm", vmin=-limit, vmax=limit, interpolation="nearest"
            )
            nll = records[row].value
            axes.set_title(f"{row}\nLatent NLL {'–' if nll is None else short(nll)} nats")
            axes.set_xticks(
                range(len(order)), [names[topic] for topic in order], rotation=90, fontsize=6
            )
            for i, j in np.ndindex(turned.shape) if len(order) <= LISTED else ():
                colour = "white" if abs(turned[i, j]) > 0.7 * limit else "black"
                axes.text(
                    j,
                    i,
                    f"{round(float(turned[i, j]))}",
                    ha="center",
                    va="center",
                    fontsize=5.5,
                    color=colour,
                )
        panels[0].set_yticks(range(len(order)), [names[topic] for topic in order], fontsize=6)
        canvas.colorbar(shown, ax=list(panels), shrink=0.7, label="covariance of topic logits")

    caption = (
        f"{title}. Covariances of the posterior means of topic logits, rounded; a topic bears the {NAMED} words that are most its "
        f"own, in the order of clusters of data's. Colours reach the largest entry, {short(limit)} (the paper's are cut off at 5)."
    )
    return Figure(caption, cells, draw, (2.5 * len(matrices) + 2.0, 4.1), given.notes)


def topic_names(data: Path, corpus: str) -> list[str]:
    r"""A name for each topic: words with the largest :math:`\beta_{kw}^2 / \sum_j \beta_{jw}`, frequent and its own. Raises BadInput: no model."""
    folder = folder_of(data / "critics", f"topics/{corpus}")
    if folder is None:
        raise BadInput(
            f"{data / 'critics'} has no topic model of {corpus!r}; `dvc repro` trains it; docs/share_results.md says how to get a finished run"
        )
    words = [word.strip(".,") for word in read_json(folder / "topics.json")["vocabulary"]]
    with np.load(folder / "topics.npz", allow_pickle=False) as arrays:
        beta = arrays["beta"]
    best = (-(beta**2) / beta.sum(axis=0)).argsort(axis=1)
    firsts = (list(dict.fromkeys(words[i] for i in row[: 2 * NAMED]))[:NAMED] for row in best)
    return [f"{', '.join(first)} ({topic})" for topic, first in enumerate(firsts)]


LATENT = {"critic": "synthetic_states", "metric": "latent_ppl"}
TABLE_1 = {"word PPL": {"critic": "perplexity", "metric": "word_ppl"}, "Latent PPL": LATENT}
TABLE_1 |= {
    "Latent PPL, strict rule": {**LATENT, "variant": "strict"},
    "parse rate": {**LATENT, "metric": "parse_rate"},
}
MIX = {"critic": "code_mixing", "metric": "dispersion"}
MIXTURES = {
    "dispersion, 1 - Σ z²": MIX,
    "share with 90 % of one language": {**MIX, "variant": "corners"},
}
MIXTURES |= {"Latent NLL (nats per sentence)": {**MIX, "metric": "languages"}}
FACTS = {"word PPL": "word_ppl", "Latent PPL": "latent_ppl"}  # facts of the corpus
FAMILIES = ("hsmm", "transformer")  # what systems' names begin with
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])  # of the simplex of three languages


def table_1(given: Given) -> Table:
    """Word PPL and Latent PPL of data, transformer and HSMMs, beside the exact values; survival is the share that the oracle reads."""
    places = product(given.select(LATENT).values("corpus"), FACTS.items())
    known = [(column, given.facts.number(corpus, fact)) for corpus, (column, fact) in places]
    cells = [exact("exact", column, value) for column, value in known if value is not None]
    cells += given.pivot(TABLE_1, "table_01", SYSTEM[1:])
    caption = "Table 1. Synthetic language: word PPL and Latent PPL with 95 % intervals"
    return Table(caption, cells, given.notes, list(TABLE_1))


def figure_latent_over_word(given: Given) -> Figure:
    """Latent PPL over word PPL of every model (ours, after section 3); hollow points are the paper's, where our language has its size."""
    cells = given.pivot({column: TABLE_1[column] for column in FACTS}, "table_01", SYSTEM[1:])
    whole = {
        (cell.row, cell.column): cell
        for cell in cells
        if not cell.detail and cell.value is not None
    }
    systems = {given.labels(record, *SYSTEM[1:]): record.system for record in given.select(LATENT)}

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        for row in dict.fromkeys(row for row, _ in whole):
            word, latent = (whole.get((row, column)) for column in FACTS)
            if word is None or latent is None:
                continue
            family = next(
                (i for i, name in enumerate(FAMILIES) if systems[row].startswith(name)),
                len(FAMILIES),
            )
            colour = COLOURS[family] if family < len(FAMILIES) else REAL_TEXT
            style: dict[str, Any] = {"fmt": "os^"[family], "color": colour}
            x, y = word.value, latent.value
            axes.errorbar(x, y, xerr=errors([word]), yerr=errors([latent]), capsize=2, **style)
            beside: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "va": "center"}
            axes.annotate(row, (x, y), xytext=(6, 7 if family < len(FAMILIES) else -10), **beside)
            if (
                word.printed
                and latent.printed
                and INCOMPARABLE not in (word.verdict, latent.verdict)
            ):
                axes.errorbar(word.printed, latent.printed, mfc="none", **style)
                if family < len(FAMILIES):
                    axes.annotate(
                        "printed", (word.printed, latent.printed), xytext=(6, 0), **beside
                    )
        axes.set(xlabel="word PPL", ylabel="Latent PPL", yscale="log")
        low, high = axes.get_ylim()
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        axes.set_yticks(
            [step * 10.0**decade for decade in decades for step in (1, 2, 5)], minor=False
        )
        axes.set_yticks([], minor=True)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylim(low / 2, high * 2)
        axes.margins(x=0.3)

    caption = "Latent PPL over word PPL of models of the synthetic language, with 95 % intervals; good is near the data in both"
    if any(cell.printed and cell.verdict != INCOMPARABLE for cell in cells):
        caption += "; hollow: as printed"
    return Figure(caption, cells, draw, (5.4, 3.8), given.notes)


def table_10(given: Given) -> Listing:
    """The most probable words of each language of the mixture, and which synthetic language they belong to."""
    # Here, so that no other table of the paper depends on the synthetic languages.
    from synthetic_world.languages import language_of

    record = given.select(MIXTURES["Latent NLL (nats per sentence)"], system="data").one()
    rows = []
    for words in record.details["top_words"]:
        counts = Counter(found for word in words if (found := language_of(word)))
        language, number = counts.most_common(1)[0] if counts else ("", 0)
        rows.append([language, f"{number} of {len(words)}", " ".join(words)])
    own = f"{len({row[0] for row in rows} - {''})} of {len(rows)} components are a language of their own"
    header = [
        "language of most words",
        "words of it",
        f"{len(record.details['top_words'][0])} most probable words",
    ]
    caption = "Table 10. The most probable words of each language of the mixture"
    return Listing(caption, header, rows, [own, "the paper's languages are others"])


def _corner_names(given: Given) -> list[str]:
    """What the corners of the simplex are: the language of most of a component's words, or its number."""
    from synthetic_world.languages import language_of

    numbers = [f"component {number}" for number in range(1, len(CORNERS) + 1)]
    record = given.select(MIXTURES["Latent NLL (nats per sentence)"], system="data").find()
    if record is None or "top_words" not in record.details:
        return numbers
    names = []
    for number, words in zip(numbers, record.details["top_words"], strict=False):
        counts = Counter(language for word in words if (language := language_of(word)))
        names.append(counts.most_common(1)[0][0] if counts else number)
    return [*names, *numbers[len(names) :]][: len(CORNERS)]


def figure_7(given: Given) -> Figure:
    """Mixes of languages of sentences on the simplex, one panel per system, with the dispersion as a number."""
    mixes = given.select(MIX)
    corners = _corner_names(given)

    def draw(canvas: Any) -> None:
        for axes, record in zip(
            canvas.subplots(1, len(mixes), squeeze=False)[0], mixes, strict=True
        ):
            at = np.array(record.details["points"])[:, : len(CORNERS)] @ CORNERS
            axes.fill(*CORNERS.T, fill=False, edgecolor="#444444", linewidth=0.8)
            axes.scatter(*at.T, s=6, alpha=0.35, linewidths=0, color=COLOURS[0])
            told = "" if record.value is None else interval(record.value, record.low, record.high)
            axes.set_title(f"{given.labels(record, 'system')}\ndispersion {told}", pad=12)
            for (x, y), name in zip(CORNERS, corners, strict=True):
                below = y == 0
                place = {"ha": "center", "va": "top" if below else "bottom", "fontsize": 7}
                axes.annotate(
                    name, (x, y), (0, -4 if below else 4), textcoords="offset points", **place
                )
            axes.margins(0.15)
            axes.set_aspect("equal")
            axes.axis("off")

    caption = "Figure 7. Mixes of languages of sentences, a draw of the posterior each, over the simplex of three."
    notes = [*given.notes, *given.comparisons(mixes)]
    return Figure(
        caption, given.pivot(MIXTURES, rows=("system",)), draw, (3.0 * len(mixes), 3.1), notes
    )
