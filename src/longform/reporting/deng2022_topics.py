"""Tables 9 and 14 and Figures 6, 8 and 9 of deng2022: topics of data and of what models write (section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.topics.score import clamped, cluster_order
from longform.documents import BadInput
from longform.reporting.critic_tables import (
    Records,
    cells_of,
    comparison_lines,
    exact_cells,
    left_out,
    orderings,
    parts,
)
from longform.reporting.layout import Cell, Figure, Table, cell, short
from longform.reporting.ledger import judge_ordering
from longform.reporting.listings import Listing

COLUMNS = {
    "topics": "Latent NLL (nats), at the posterior's mean",
    "topics_expectation": "Latent NLL (nats), expectation",
}
PRINTED_CORPORA = {"planted_pubmed": "pubmed", "planted_arxiv": "arxiv"}  # block of the paper; else its wiki
MODELS = {"gpt2-wo_title": "lm1", "gpt_neo-wo_title": "lm2"}  # the paper's are without titles
OFF_DOMAIN = "offdomain"  # a model trained on another corpus, read with this one's topics
WHY = "planted text, fewer topics than the paper's 100 (section 6), networks trained from scratch"
EXACT = "the exact value is that of the planted logits themselves; ours are posterior means under fitted topics"
LIMIT = 5.0  # colours of covariances, from -5 to 5 (released code)
WORDS = 60  # of an outlier's text that its row shows (ours)


def table_9(*, scores: Records, expected: Mapping[str, Any], data: Path) -> Table:
    """Latent NLL of topic logits in nats per document, for data and models with and without titles.

    Score rows are named ``<corpus>-<data|family-w_title|family-wo_title>-<topics|topics_expectation>``. The released
    code scores the posterior's mean, so the printed numbers, of models without titles, stand beside that.

    Raises:
        BadInput: a row of another kind.
    """
    cells = exact_cells(scores, data, "topic_latent_nll", COLUMNS["topics"])
    notes = [EXACT] if cells else []
    for corpus in dict.fromkeys(parts(name)[0] for name in scores):
        own = {name: record for name, record in scores.items() if parts(name)[0] == corpus}
        cells = cells + cells_of(own, COLUMNS, _printed(expected, corpus), WHY)
    claims = orderings(scores, COLUMNS, "W/O Title < data", "gpt2-wo_title", "data", source="Table 9")
    claims += orderings(scores, COLUMNS, "W/ Title < data", "gpt2-w_title", "data", source="not in the paper")
    claims += orderings(scores, COLUMNS, "LM2 W/O Title < data", "gpt_neo-wo_title", "data", source="Table 9")
    notes = [*claims, *comparison_lines(scores), f"printed values are not comparable: {WHY}", *notes]
    notes.append(f"documents without a known word, at most in one row: {left_out(scores)}")
    return Table("Table 9. Latent NLL of topic logits, nats per document, with 95 % intervals", cells, notes)


def _printed(expected: Mapping[str, Any], corpus: str) -> dict[tuple[str, str], float]:
    block = expected["table_09"]["latent_nll"][PRINTED_CORPORA.get(corpus, "wiki")]
    systems = {"data": "data", **MODELS}
    return {(system, "topics"): block[key] for system, key in systems.items() if key in block}


def table_14(*, scores: Records) -> Listing:
    """The documents with the largest T(x), worst first, each with its beginning (the paper's table is lost)."""
    rows = []
    for name, record in scores.items():
        found = record["details"]
        texts = found.get("outlier_texts") or [""] * len(found["outliers"])
        for (unit, nats), text in zip(found["outliers"], texts, strict=True):
            rows.append([parts(name)[1].replace("-", " "), unit, nats, " ".join(text.split()[:WORDS])])
    notes = [_outlier_note(name, record) for name, record in scores.items()]
    notes.append("the paper's own rows are missing from its text, so nothing printed stands beside these")
    header = ["text", "document", "T(x), nats", "its beginning"]
    return Listing("Table 14. Documents whose mix of topics is least probable", header, rows, notes)


def _outlier_note(name: str, record: Mapping[str, Any]) -> str:
    worst = record["details"]["outliers"][0][1]
    return f"{name}: worst {short(worst)} nats, mean of all {short(record['value'])}"


def figure_6(*, scores: Records, expected: Mapping[str, Any]) -> Figure:
    """Covariances of topic logits in encyclopedia text: data, a model of it, a model of another corpus."""
    printed = expected["figures"]["fig_06"]["latent_nll"]
    return _covariances(scores, "Figure 6", {"data": printed["test"], "model": printed["lm1"],
                                             OFF_DOMAIN: printed["lm1_trained_on_pubmed"]})  # fmt: skip


def figure_8(*, scores: Records) -> Figure:
    """As Figure 6, for planted medical articles."""
    return _covariances(scores, "Figure 8", {})


def figure_9(*, scores: Records) -> Figure:
    """As Figure 6, for planted physics articles."""
    return _covariances(scores, "Figure 9", {})


def _covariances(scores: Records, title: str, printed: Mapping[str, float]) -> Figure:
    """One panel per row; the first row is data, whose clusters order the topics of every panel."""
    found = {parts(name)[1]: np.array(record["details"]["covariance_of_means"]) for name, record in scores.items()}
    records = {parts(name)[1]: record for name, record in scores.items()}
    if "data" not in found:
        raise BadInput(f"{title}: rows {list(scores)} have none of data, whose clusters order the topics; name it")
    order = cluster_order(found["data"])
    apart = {system: float(np.linalg.norm(matrix - found["data"])) for system, matrix in found.items()}
    paper = {system: printed.get(system if system in ("data", OFF_DOMAIN) else "model") for system in records}
    cells = [
        cell(system, COLUMNS["topics"], record, printed=paper[system],
             verdict="not comparable" if paper[system] else "", why=WHY if paper[system] else "")
        for system, record in records.items()
    ]  # fmt: skip
    cells += [Cell(system, "Frobenius distance to data", value) for system, value in apart.items() if system != "data"]
    lines = [f"{title}. Covariances of the posterior means of topic logits, topics reordered by clusters of data's,"]
    lines += [f"colours from {-LIMIT:g} to {LIMIT:g}.", "", *(f"- {line}" for line in _panel_notes(records, apart))]

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, len(found), squeeze=False)[0]
        for axes, (system, matrix) in zip(panels, found.items(), strict=True):
            shown = axes.imshow(clamped(matrix, order, LIMIT), cmap="jet", vmin=-LIMIT, vmax=LIMIT,
                                interpolation="nearest")  # fmt: skip
            axes.set_title(f"{system.replace('-', ' ')}\nLatent NLL {short(records[system]['value'])}", fontsize=9)
            axes.set(xticks=[], yticks=[])
        canvas.colorbar(shown, ax=list(panels), shrink=0.8)

    return Figure("\n".join(lines), cells, draw, size=(2.7 * len(found) + 0.8, 2.9))


def _panel_notes(records: Records, apart: Mapping[str, float]) -> list[str]:
    lines = [
        f"{system}: Latent NLL {short(r['value'])} [{short(r['low'])}, {short(r['high'])}]"
        + (f", Frobenius distance to data's covariance {short(apart[system])}" if system != "data" else "")
        for system, r in records.items()
    ]
    near = [system for system in records if system not in ("data", OFF_DOMAIN)]
    if OFF_DOMAIN in records and near:
        claim = "the model is nearer to data than one of another corpus (Figure 6)"
        finding = judge_ordering(f"Latent NLL: {near[0]} < off-domain", [records[near[0]], records[OFF_DOMAIN]])
        lines.append(f"{finding.claim} (Figure 6): {finding.verdict} ({finding.why})")
        verdict = "ordering holds" if apart[near[0]] < apart[OFF_DOMAIN] else "differs"
        lines.append(f"covariance: {claim}: {verdict}")
    return lines
