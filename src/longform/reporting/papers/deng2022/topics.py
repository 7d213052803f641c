"""Topics in deng2022: Tables 9 and 14 and Figures 6, 8 and 9, of data and of what models write (section 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from longform.reporting.pivot import SYSTEM, Given
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


def table_9(given: Given) -> Table:
    """Latent NLL of topic logits in nats per document, for data and models with and without titles.

    The released code scores the posterior's mean, so the printed numbers, of models without titles, stand beside that.
    """
    read = given.select(NLL)
    truth = given.exact_rows(read.values("corpus"), "topic_latent_nll", next(iter(COLUMNS)))
    lost = f"documents without a known word, at most in one row: {max((r.excluded or 0 for r in read), default=0)}"
    notes = [*given.comparisons(read), *([EXACT] if truth else []), lost]
    caption = "Table 9. Latent NLL of topic logits, nats per document, with 95 % intervals"
    return given.table(caption, truth + given.pivot(COLUMNS, "table_09"), after=notes)


def table_14(given: Given) -> Listing:
    """The documents with the largest T(x), worst first, each with its beginning (the paper's table is lost)."""
    rows, notes = [], []
    for record in given.select(NLL):
        outliers, system = record.details["outliers"], given.labels(record, *SYSTEM)
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


def covariances(given: Given, title: str) -> Figure:
    """Covariances of topic logits, a panel for the data, a model of it and a model of another corpus (Figures 6, 8 and 9).

    Clusters of data's topics order the topics of every panel (average linkage, Euclidean).
    """
    foreign = {"variant": OFF_DOMAIN, **{k: v for k, v in given.where.items() if k == "corpus"}}
    records = {given.labels(r, "system", "titles"): r for r in given.select(NLL)}
    records |= {given.labels(r, "variant"): r for r in select(given.results, {**NLL, **foreign})}
    real = given.select(NLL, system="data", titles=None).one()
    matrices = {row: np.array(record.details["covariance_of_means"]) for row, record in records.items()}
    reference = np.array(real.details["covariance_of_means"])
    order = leaves_list(linkage(reference, method="average", metric="euclidean"))
    columns = {"Latent NLL (nats)": NLL}
    cells = given.pivot(columns, "figures", SYSTEM[1:]) + given.pivot(columns, "figures", ("variant",), foreign)
    cells += [
        exact(row, "Frobenius distance to data", float(np.linalg.norm(matrix - reference)), "")
        for row, matrix in matrices.items()
        if records[row] is not real
    ]
    if len(order) <= LISTED:
        cells += [
            Cell(f"{row}, topic {i}", f"topic {j}", float(m[i, j]), detail=True)
            for row, m in matrices.items()
            for i, j in zip(*np.triu_indices(len(order)), strict=True)
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
    return given.figure(caption, cells, draw, (2.7 * len(matrices) + 1.0, 3.1))
