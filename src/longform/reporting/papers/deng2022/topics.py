"""Topics in deng2022: Tables 9 and 14 and Figures 6, 8 and 9, of data and of what models write (section 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from longform.core.results import Results
from longform.reporting.pivot import SYSTEM, comparison_notes, exact_rows, pivot
from longform.reporting.printed import Expected
from longform.reporting.selection import select
from longform.reporting.table import Cell, Figure, Listing, Table, exact, short

NLL = {"critic": "topics", "metric": "nll"}
COLUMNS = {
    "Latent NLL (nats), at the posterior's mean": NLL,
    "Latent NLL (nats), expectation": {**NLL, "variant": "full_expectation"},
}
EXACT = "the exact value is that of the synthetic logits themselves; ours are posterior means under fitted topics"
OFF_DOMAIN = "off_domain"  # variant: a model trained on another corpus, read with this one's topics
WORDS = 60  # of an outlier's text that its row shows (ours)
LINEAR = 1.0  # covariances up to this lie on the linear part of the colour scale
LISTED = 20  # topics up to which the CSV has every covariance


def table_9(results: Results, expected: Expected, *, data: Path) -> Table:
    """Latent NLL of topic logits in nats per document, for data and models with and without titles.

    The released code scores the posterior's mean, so the printed numbers, of models without titles, stand beside that.
    """
    where = expected.choice("table_9")
    read = select(results, {**where, **NLL})
    truth = exact_rows(expected, data, read.values("corpus"), "topic_latent_nll", next(iter(COLUMNS)))
    cells = [*truth, *pivot(results, expected, data, COLUMNS, printed="table_09", where=where)]
    notes = [*expected.notes("table_9", results, data), *comparison_notes(read, expected), *([EXACT] if truth else [])]
    notes.append(
        f"documents without a known word, at most in one row: {max((r.excluded or 0 for r in read), default=0)}"
    )
    return Table("Table 9. Latent NLL of topic logits, nats per document, with 95 % intervals", cells, notes)


def table_14(results: Results, expected: Expected, *, data: Path) -> Listing:
    """The documents with the largest T(x), worst first, each with its beginning (the paper's table is lost)."""
    rows, notes = [], []
    for record in select(results, {**expected.choice("table_14"), **NLL}):
        outliers, system = record.details["outliers"], expected.labels(record, *SYSTEM)
        texts = record.details.get("outlier_texts") or [""] * len(outliers)
        rows += [
            [system, unit, nats, " ".join(text.split()[:WORDS])]
            for (unit, nats), text in zip(outliers, texts, strict=True)
        ]
        if outliers and record.value is not None:
            notes.append(f"{system}: worst {short(outliers[0][1])} nats, mean of all {short(record.value)}")
    notes.append("the paper's own rows are missing from its text, so nothing printed stands beside these")
    header = ["text", "document", "T(x), nats", "its beginning"]
    return Listing("Table 14. Documents whose mix of topics is least probable", header, rows, notes)


def figure_6(results: Results, expected: Expected, *, data: Path) -> Figure:
    """Covariances of topic logits in encyclopedia text: data, a model of it, a model of another corpus."""
    return _covariances("figure_6", "Figure 6", results, expected, data)


def figure_8(results: Results, expected: Expected, *, data: Path) -> Figure:
    """As Figure 6, for medical articles."""
    return _covariances("figure_8", "Figure 8", results, expected, data)


def figure_9(results: Results, expected: Expected, *, data: Path) -> Figure:
    """As Figure 6, for physics articles."""
    return _covariances("figure_9", "Figure 9", results, expected, data)


def _covariances(name: str, title: str, results: Results, expected: Expected, data: Path) -> Figure:
    """One panel per system; clusters of data's topics order the topics of every panel (average linkage, Euclidean)."""
    where = expected.choice(name)
    foreign = {"variant": OFF_DOMAIN, **{k: v for k, v in where.items() if k == "corpus"}}
    records = {expected.labels(r, "system", "titles"): r for r in select(results, {**where, **NLL})}
    records |= {expected.labels(r, "variant"): r for r in select(results, {**NLL, **foreign})}
    real = select(results, {**where, **NLL, "system": "data", "titles": None}).one()
    matrices = {row: np.array(record.details["covariance_of_means"]) for row, record in records.items()}
    reference = np.array(real.details["covariance_of_means"])
    order = leaves_list(linkage(reference, method="average", metric="euclidean"))
    columns = {"Latent NLL (nats)": NLL}
    cells = pivot(results, expected, data, columns, printed="figures", rows=SYSTEM[1:], where=where)
    cells += pivot(results, expected, data, columns, printed="figures", rows=("variant",), where=foreign)
    cells += [
        exact(row, "Frobenius distance to data", float(np.linalg.norm(matrix - reference)), "")
        for row, matrix in matrices.items()
        if records[row] is not real
    ]
    if len(order) <= LISTED:
        pairs = [(i, j) for i in range(len(order)) for j in range(i, len(order))]
        cells += [
            Cell(f"{row}, topic {i}", f"topic {j}", float(m[i, j]), detail=True)
            for row, m in matrices.items()
            for i, j in pairs
        ]
    limit = max(float(np.abs(matrix).max()) for matrix in matrices.values())

    def draw(canvas: Any) -> None:
        from matplotlib.colors import SymLogNorm

        panels = canvas.subplots(1, len(matrices), squeeze=False)[0]
        step = max(1, len(order) // 15)
        for axes, (row, matrix) in zip(panels, matrices.items(), strict=True):
            scale = SymLogNorm(LINEAR, vmin=-limit, vmax=limit)
            shown = axes.imshow(matrix[np.ix_(order, order)], cmap="PuOr_r", norm=scale, interpolation="nearest")
            nll = records[row].value
            axes.set_title(f"{row}\nLatent NLL {'–' if nll is None else short(nll)}", fontsize=9)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_ticks(range(0, len(order), step), [str(topic) for topic in order[::step]], fontsize=6)
            axes.set_xlabel("topic", fontsize=7)
        panels[0].set_ylabel("topic, by clusters of data's", fontsize=7)
        canvas.colorbar(shown, ax=list(panels), shrink=0.8, label="covariance (log scale beyond 1)")

    caption = (
        f"{title}. Covariances of the posterior means of topic logits, topics in the order of clusters of data's; the scale reaches "
        f"the largest entry, {short(limit)}, so that none is cut off (the paper cuts at 5)."
    )
    return Figure(caption, cells, draw, (2.7 * len(matrices) + 1.0, 3.1), expected.notes(name, results, data))
