"""Tables 4-6 and Figures 5-7 of sheng2024: who wrote it, and rated classes. The paper's six models are not ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longform.reporting.layout import Cell, Figure, Table, cell
from longform.reporting.ledger import judge_ordering
from longform.reporting.sheng2024 import JUDGES, OTHER_TEXT, Expected, Records, flat, percent, rocs, tests_of, told

PAIRS = {**JUDGES, "three_layer": "BBScore + three-layer CLF", "matched": "BBScore, equal length"}
GENERAL = {"general_three_layer": "BBScore + three-layer CLF", "general_linear": "BBScore + linear CLF"}
HALF = {"value": 50.0, "low": 50.0, "high": 50.0}
NORMAL = 1.96  # half-width of a normal 95 % interval in standard errors


def _by_judge(scores: Records, judges: Mapping[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Cell records by (source, judge)."""
    split = {tuple(name.split("-")[1:]): record for name, record in flat(scores).items()}
    return {(key[0], key[1]): r for key, r in split.items() if len(key) == 2 and key[1] in judges}


def table_4(*, scores: Records, expected: Expected) -> Table:
    """Human against machine: pairwise accuracy per source; the paper's six models are not ours, so its rows stand alone."""
    found, tests, notes = _by_judge(scores, PAIRS), tests_of(scores), [OTHER_TEXT]
    cells = [cell(PAIRS[judge], source, percent(record)) for (source, judge), record in found.items()]
    for source in dict.fromkeys(source for source, _ in found):
        raw, classified = found[source, "bbscore"], found.get((source, "three_layer"))
        finding = judge_ordering(f"{source}: human text has the lower BBScore in most pairs", [HALF, percent(raw)])
        notes.append(told(finding, raw.get("comparison")))
        if classified:
            names = [
                name for name in tests if name[0].endswith(f"-{source}-bbscore") and name[1].endswith("-three_layer")
            ]
            claim = judge_ordering(f"{source}: BBScore < BBScore + CLF", [percent(raw), percent(classified)])
            notes.append(told(claim, tests[names[0]] if names else None))
    return Table(
        "Table 4. Human against machine: pairwise accuracy (%)", cells + paper_cells(expected["table_4"]), notes
    )


def table_5(*, scores: Records, expected: Expected) -> Table:
    """Human or machine, one text at a time."""
    found = _by_judge(scores, GENERAL)
    cells = [cell(GENERAL[judge], source, percent(record)) for (source, judge), record in found.items()]
    claims = [
        told(judge_ordering(f"{source}: {GENERAL[judge]} better than chance", [HALF, percent(record)]))
        for (source, judge), record in found.items()
    ]
    caption = "Table 5. Human or machine: accuracy (%) on single texts"
    return Table(caption, cells + paper_cells(expected["table_5"]), [OTHER_TEXT, *claims])


def table_6(*, scores: Records, expected: Expected) -> Table:
    """Three rated classes, with the majority baseline that the paper leaves out."""
    cells, notes = [], ["GCDC is gated; the default rated set is planted: its classes are shuffles of known size"]
    for name, record in scores.items():
        domain, *kind = name.split("-")
        row = "length alone" if "length" in kind else "BBScore + CLF"
        details, shown = record["details"], percent(record)
        cells.append(cell(row, domain, {**shown, "comparison": details["against_majority"]}))
        if row == "BBScore + CLF":
            majority = 100 * details["majority"]
            cells.append(Cell("majority class", domain, majority, units=record["units"]))
            line = {"value": majority, "low": majority, "high": majority}
            claim = judge_ordering(f"{domain}: BBScore + CLF above the majority class", [line, shown])
            notes.append(told(claim, details["against_majority"]))
    return Table("Table 6. Three classes of coherence: accuracy (%)", cells + paper_cells(expected["table_6"]), notes)


def paper_cells(block: Expected) -> list[Cell]:
    """The paper's rows, for models and texts that are not here."""
    rows = [(name, values["test"]) for name, values in block.items() if name != "columns"]
    return [
        Cell(f"paper: {name}", column, None, printed=value, verdict="not comparable", why=OTHER_TEXT)
        for name, values in rows
        for column, value in zip(block["columns"], values, strict=True)
    ]


def figure_5(*, scores: Records) -> Figure:
    """ROC curves of human against machine texts, pooled."""
    found = {source: record for (source, _), record in _by_judge(scores, {"area": ""}).items()}
    curves = {source: record["details"]["roc"] for source, record in found.items()}
    cells = [cell(source, "AUC", record) for source, record in found.items()]
    claims = [
        told(judge_ordering(f"{source}: AUC above one half", [{"value": 0.5, "low": 0.5, "high": 0.5}, record]))
        for source, record in found.items()
    ]
    caption = f"Figure 5. Human against machine: ROC curves of BBScore. {'; '.join(claims)}."
    return Figure(
        caption,
        cells,
        lambda canvas: rocs(canvas, curves, found),
        (1.0 + 2.6 * len({n.split("-")[0] for n in found}), 3.2),
    )


def figure_6(*, scores: Records, expected: Expected) -> Figure:
    """Wasserstein distances between the sources' distributions of the diffusion estimate, scaled to [1, 2] per row."""
    record = next(iter(scores.values()))
    found, paper = record["details"], expected["figure_6"]
    sources, distances = found["sources"], np.array(found["distances"])
    cells = [
        Cell(f"test {one}", f"known {other}", float(distances[i, j]), *found["bounds"][i][j], units=record["units"])
        for i, one in enumerate(sources)
        for j, other in enumerate(sources)
    ]
    printed = 100 * paper["sources_in_their_own_top_two"] / paper["sources"]
    cells.append(
        cell(
            "sources in their own top two",
            "%",
            percent(record),
            printed=printed,
            verdict="not comparable",
            why=OTHER_TEXT,
        )
    )
    caption = (
        f"Figure 6. Distance to each known source, scaled to [1, 2] per tested source. {record['value'] * len(sources):.0f} of "
        f"{len(sources)} sources lie in their own top two (paper: {paper['sources_in_their_own_top_two']} of {paper['sources']}; "
        f"by chance {2 / len(sources):.0%})."
    )
    return Figure(caption, cells, lambda canvas: _matrix(canvas, sources, np.array(found["scaled"])))


def _matrix(canvas: Any, sources: Sequence[str], scaled: np.ndarray) -> None:
    axes = canvas.subplots()
    shown = axes.imshow(scaled, vmin=1, vmax=2, cmap="viridis_r")
    axes.set_xticks(range(len(sources)), sources, rotation=45, ha="right")
    axes.set_yticks(range(len(sources)), sources)
    axes.set(xlabel="known source", ylabel="tested source")
    for i, j in np.ndindex(scaled.shape):
        axes.text(
            j, i, f"{scaled[i, j]:.2f}", ha="center", va="center", color="white" if scaled[i, j] > 1.5 else "black"
        )
    canvas.colorbar(shown, ax=axes)


def figure_7(*, scores: Records) -> Figure:
    """Mean absolute latent along a document, all documents stretched to one length, with one standard deviation."""
    records = {name.split("-")[1]: record for name, record in flat(scores).items()}
    paths = {name: record["details"]["trajectory"] for name, record in records.items()}
    cells = [_point(name, records[name], share) for name in paths for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    ranges = {name: float(np.ptp(path["mean"])) for name, path in paths.items()}
    levels = [{"value": ranges[name], "low": ranges[name], "high": ranges[name]} for name in ("shuffled", "human")]
    claim = judge_ordering("shuffled text is flatter than human text (range of the mean path)", levels)
    caption = (
        "Figure 7. Latent trajectories: mean over documents of the mean absolute latent, shaded by one standard deviation. "
        f"{claim.claim}: {claim.verdict} ({ranges['shuffled']:.3g} and {ranges['human']:.3g})."
    )
    return Figure(caption, cells, lambda canvas: _trajectories(canvas, paths))


def _point(name: str, record: Mapping[str, Any], share: float) -> Cell:
    """The mean at a share of the way, with a normal interval over documents."""
    path = record["details"]["trajectory"]
    place = min(len(path["mean"]) - 1, int(len(path["mean"]) * share))
    half = NORMAL * path["spread"][place] / max(1, record["units"]) ** 0.5
    mean = path["mean"][place]
    return Cell(name, f"at {share:.0%}", mean, mean - half, mean + half, units=record["units"])


def _trajectories(canvas: Any, paths: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    axes = canvas.subplots()
    for name, found in paths.items():
        mean, spread = np.array(found["mean"]), np.array(found["spread"])
        share = np.linspace(0, 1, len(mean))
        (line,) = axes.plot(share, mean, label=name)
        axes.fill_between(share, mean - spread, mean + spread, color=line.get_color(), alpha=0.12)
    axes.set(xlabel="place in the document", ylabel="mean |latent|", xlim=(0, 1))
    axes.legend(fontsize=7)
