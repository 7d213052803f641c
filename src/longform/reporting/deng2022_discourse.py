"""Tables 3 and 5 of deng2022, and what stands beyond it: the classifier's calibration and errors, and appendix A."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from longform.evaluation.intervals import wilson
from longform.reporting.deng2022 import (
    FAMILIES,
    Records,
    corpora_of,
    family_claims,
    reading_notes,
    title_cell,
    title_claims,
)
from longform.reporting.layout import Cell, Figure, Table, cell
from longform.reporting.ledger import Finding

LADDER = ("gpt2_s", "gpt2_m", "gpt2_l", "gpt2_xl")  # Table 5's sizes as expected.yaml names them


def table_3(*, scores: Records, expected: Mapping[str, Any], data: Path) -> Table:
    """Latent PPL where any two neighbouring sections fit into the window (WIKI-SHORT)."""
    printed = expected["table_03"]["wiki_short"]["latent_ppl"]
    cells = []
    for name, record in scores.items():
        _, *system, kind = name.split("-")
        block = printed if system == ["data"] else printed.get(FAMILIES.get(system[0], ""), {})
        paper = block.get(system[-1]) if kind == "latent" else None
        cells.append(title_cell(name, record, paper))
    notes = _sentences([*title_claims(scores), *family_claims(scores)])
    return Table(
        "Table 3. Latent PPL on short sections with 95 % intervals", cells, notes + reading_notes(scores, data)
    )


def table_5(*, scores: Records, expected: Mapping[str, Any], data: Path, sizes: Sequence[str]) -> Table:
    """Word PPL and Latent PPL by size of the network.

    Args:
        sizes: families from the smallest to the largest; four of them stand beside the paper's S, M, L and XL.
    """
    printed = expected["table_05"]["wiki"]
    counterpart = dict(zip(sizes, LADDER, strict=False)) if len(sizes) == len(LADDER) else {}
    cells = []
    for name, record in scores.items():
        _, *system, kind = name.split("-")
        block = printed["ppl" if kind == "word" else "latent_ppl"]
        known = block.get(counterpart.get(system[0], ""), {})
        paper = block.get("data") if system == ["data"] else known.get(system[-1])
        cells.append(title_cell(name, record, paper))
    findings = [*size_claims(scores, sizes), *title_claims(scores)]
    return Table(
        "Table 5. Size of the network: word PPL and Latent PPL with 95 % intervals",
        cells,
        _sentences(findings) + reading_notes(scores, data),
    )


def size_claims(scores: Records, sizes: Sequence[str]) -> list[Finding]:
    """Growing improves word PPL and does not improve Latent PPL (section 4), in either setting."""
    findings = []
    for corpus in corpora_of(scores):
        for setting in ("w_title", "wo_title"):
            for kind, wanted in (("word", True), ("latent", False)):
                names = [f"{corpus}-{size}-{setting}-{kind}" for size in sizes]
                if all(name in scores for name in names):
                    claim = f"{corpus} {setting}: size {'improves PPL' if wanted else 'does not improve Latent PPL'}"
                    findings.append(_falls(claim, [scores[name] for name in names], wanted))
    return findings


def _falls(claim: str, records: Sequence[Mapping[str, Any]], wanted: bool) -> Finding:
    """Whether the largest is below the smallest with intervals apart, which a claim may want or deny."""
    values = [record["value"] for record in records]
    if any(record[key] is None for record in records for key in ("value", "low", "high")):
        return Finding(claim, "not runnable here", "a score is not finite")
    improved = records[-1]["high"] < records[0]["low"]
    steps = "every step down" if all(a > b for a, b in pairwise(values)) else "not at every step"
    why = ", ".join(f"{value:.2f}" for value in values) + f" from smallest to largest; {steps}; intervals of the ends "
    apart = improved or records[0]["high"] < records[-1]["low"]
    return Finding(
        claim, "ordering holds" if improved == wanted else "differs", why + ("apart" if apart else "overlap")
    )


def title_calibration(*, scores: Records) -> Figure:
    """Reliability of the title classifiers on test sections, with accuracy and calibration error."""
    cells = []
    for name, record in scores.items():
        corpus, kind = name.split("-")[0], name.split("-")[-1]
        cells.append(cell(corpus, "accuracy" if kind == "accuracy" else "calibration error", record))
        if kind == "calibration":
            details, signature = record["details"], record["signature"]
            cells.append(Cell(corpus, "error expected by chance", details["expected_by_chance"], signature=signature))
            cells.append(Cell(corpus, "share over 90 % certain", details["share_over_90"], signature=signature))
            cells += _bin_cells(corpus, details["bins"])
    bins = {n.split("-")[0]: r["details"]["bins"] for n, r in scores.items() if n.endswith("-calibration")}
    caption = (
        "Title classifiers: share of correct titles by confidence, test sections; the paper's BERT is mostly over 90 % "
        "certain (section 4). Numbers with intervals in the CSV."
    )
    return Figure(caption, cells, lambda canvas: _reliability(canvas, bins), (4.2, 3.8))


def _bin_cells(corpus: str, bins: Sequence[Sequence[float]]) -> list[Cell]:
    return [
        Cell(corpus, f"accuracy in ({low:.2f}, {high:.2f}]", correct / count, *wilson(correct, count), units=int(count))
        for low, high, count, _, correct in bins
    ]


def _reliability(canvas: Any, bins: Mapping[str, Sequence[Sequence[float]]]) -> None:
    axes = canvas.add_subplot()
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
    for corpus, rows in bins.items():
        points = [(c / n, k / n, *wilson(k, n)) for _, _, n, c, k in rows]
        below, above = [[p[1] - p[2] for p in points], [p[3] - p[1] for p in points]]
        axes.errorbar(
            [p[0] for p in points], [p[1] for p in points], yerr=[below, above], marker="o", markersize=3,
            capsize=2, linewidth=0.8, label=corpus,
        )  # fmt: skip
    axes.set(xlabel="mean confidence of the bin", ylabel="share correct", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.legend(frameon=False)


ERROR_COLUMNS = {
    "latent": "Latent PPL, predicted titles",
    "corrected": "Latent PPL, corrected",
    "gold": "Latent PPL, gold titles",
}


def inference_error(*, scores: Records) -> Table:
    """Latent PPL before and after the classifier's errors are taken out, beside gold titles and the exact values.

    ``exact`` is the planted process under the fitted critic: what gold titles score on infinitely many documents.
    """
    cells, findings = [], []
    for corpus in corpora_of(scores):
        exact = scores.get(f"{corpus}-data-corrected", {}).get("details", {}).get("exact_latent_ppl")
        if exact is not None:
            cells.append(
                Cell(f"{corpus} truth (exact)", "Latent PPL, gold titles", exact, exact, exact, signature="closed form")
            )
            findings.append(_covered(f"{corpus}: corrected Data covers the exact value", scores, corpus, exact))
        gold = scores.get(f"{corpus}-data-gold", {}).get("value")
        if gold is not None and f"{corpus}-data-corrected" in scores:
            findings.append(_covered(f"{corpus}: corrected Data covers its own gold titles", scores, corpus, gold))
    for name, record in scores.items():
        corpus, *system, kind = name.split("-")
        cells.append(cell(f"{corpus} {' '.join(system)}", ERROR_COLUMNS[kind], record))
    notes = _sentences(findings)
    for name, record in scores.items():
        if name.endswith("-data-corrected"):
            d = record["details"]
            notes.append(
                f"{name}: confusion matrix of {d['validation_sections']:.0f} validation sections, "
                f"{d['validation_errors']:.0f} misread, {d['titles_without_sections']} titles without a section"
            )
    notes.append("the confusion matrix is that of real sections; a model's sections may be harder to read than those")
    return Table("Inference error: Latent PPL with the classifier's confusion matrix taken out", cells, notes)


def _covered(claim: str, scores: Records, corpus: str, value: float) -> Finding:
    record = scores[f"{corpus}-data-corrected"]
    if any(record[key] is None for key in ("value", "low", "high")):
        return Finding(claim, "not runnable here", "the corrected value is not finite")
    inside = record["low"] <= value <= record["high"]
    why = f"{value:.3f}; corrected {record['value']:.3f} [{record['low']:.3f}, {record['high']:.3f}]"
    return Finding(claim, "within interval" if inside else "differs", why)


TERMS = {
    "latent": "Latent PPL, arg max",
    "expected": "Latent PPL, full posterior (1)",
    "likelihood": "log-likelihood of the text given titles (2), nats a transition",
    "entropy": "entropy of the posterior (3), nats a transition",
    "diversity": "diversity of the set, exp H(q)",
}


def appendix_a(*, scores: Records) -> Table:
    """Appendix A's three terms, and the Latent NLL of a set split into its own diversity and its distance to the prior."""
    cells = []
    for name, record in scores.items():
        corpus, *system, kind = name.split("-")
        row = f"{corpus} {' '.join(system)}"
        cells.append(cell(row, TERMS[kind], record))
        whole = scores.get(name.removesuffix("-diversity") + "-latent")
        if kind == "diversity" and whole and whole["value"] and record["value"]:
            distance = math.log(whole["value"] / record["value"])
            cells.append(Cell(row, "KL(q || prior), nats a transition", distance, signature="log of the ratio"))
        if kind == "expected":
            total = record["totals"]["evidence"] / record["totals"]["transitions"]
            cells.append(Cell(row, "(1) + (2) + (3), nats a transition", total, signature="forward sum"))
    notes = [
        "(2) and the sum are relative to sections drawn without an order",
        "arg max Latent NLL = H(q) + KL(q || prior) with q the bigram of the set's own predicted titles",
    ]
    return Table("Appendix A: the terms of log P(x), and the diversity that the Latent PPL leaves out", cells, notes)


def _sentences(findings: Sequence[Finding]) -> list[str]:
    return [f"{f.claim}: {f.verdict} ({f.why})" for f in findings]
