"""Tables and figures of "BBScore: A Brownian Bridge Based Metric for Assessing Text Coherence" (Sheng et al. 2024).

Score rows are named ``<system>-<b1|b2|b5|b10|w1|w2|w3|w123>[-clf|-linear|-joint]``, ``<system>-auc_b1``,
``<source>-pairs[-clf|-joint|-matched]``, ``<source>-general``, ``<source>-profile`` and ``<domain>-rated``; a system is an
encoder and its settings, a source a model and its decoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longform.critics.bridge_sources import detection
from longform.papers.layout import Cell, Figure, Table, cell
from longform.papers.ledger import judge_number, judge_ordering

Records = Mapping[str, Mapping[str, Any]]
Expected = Mapping[str, Any]
GLOBAL, LOCAL = ("b1", "b2", "b5", "b10"), ("w123", "w1", "w2", "w3")
KINDS = {"": "BBScore", "clf": "BBScore + three-layer CLF", "linear": "BBScore + linear CLF", "joint": "joint density"}
PRINTED = {"": "bbscore", "clf": "bbscore_clf"}
OTHER_TEXT = "another training corpus, encoder and test set than the paper's; orderings are compared, not values"


def percent(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with value and interval times 100, as the paper prints accuracies."""
    scaled = {key: None if record.get(key) is None else 100 * record[key] for key in ("value", "low", "high")}
    return {**record, **scaled}


def table_1(*, scores: Records, expected: Expected) -> Table:
    """Pairs of each set: ours from the totals of the discrimination rows, the paper's beside them."""
    cells = []
    for name, record in scores.items():
        system, task = name.split("-")[:2]
        printed = _printed(expected["table_1"], "test", task)
        why = "sizes of the test sets differ; the derivation of the printed counts is in deviations.md"
        cells.append(
            Cell(system, task, int(record["totals"]["pairs"]), units=record["units"], excluded=record["excluded"],
                 printed=printed, verdict="not comparable", why=why, signature=record["signature"])
        )  # fmt: skip
    return Table("Table 1. Pairs of original and distinct shuffle in the test set", cells)


def table_2(*, scores: Records, expected: Expected) -> Table:
    """Global discrimination: pairwise accuracy by block size."""
    caption = "Table 2. Global discrimination: pairwise accuracy (%) by sentences per shuffled block"
    return _accuracy_table(caption, scores, expected["table_2"], GLOBAL)


def table_3(*, scores: Records, expected: Expected) -> Table:
    """Local discrimination: pairwise accuracy by number of shuffled windows of three sentences."""
    caption = "Table 3. Local discrimination: pairwise accuracy (%) by number of shuffled windows"
    return _accuracy_table(caption, scores, expected["table_3"], LOCAL)


def _accuracy_table(caption: str, scores: Records, block: Expected, columns: Sequence[str]) -> Table:
    cells = []
    for name, record in scores.items():
        system, task, *kind = name.split("-")
        printed = _printed(block.get(PRINTED.get("-".join(kind), ""), {}), "test", task, block["columns"])
        shown = percent(record)
        verdict = "" if printed is None else judge_number(printed, shown["value"], shown["low"], shown["high"])
        row = f"{system}: {KINDS.get('-'.join(kind), '-'.join(kind))}"
        cells.append(cell(row, task, shown, printed=printed, verdict=verdict, why=OTHER_TEXT if verdict else ""))
    return Table(caption, sorted(cells, key=lambda c: columns.index(c.column)), _claims(scores, columns))


def _claims(scores: Records, columns: Sequence[str]) -> list[str]:
    """The paper's orderings: the classifier beats the raw score in every column."""
    notes = []
    for system in dict.fromkeys(name.split("-")[0] for name in scores):
        for task in columns:
            raw, classified = scores.get(f"{system}-{task}"), scores.get(f"{system}-{task}-clf")
            if raw and classified:
                found = judge_ordering(
                    f"{system}, {task}: BBScore < BBScore + CLF", [percent(raw), percent(classified)]
                )
                notes.append(f"{found.claim}: {found.verdict} ({found.why})")
        negative = sum(
            record["totals"].get("negative", 0) for name, record in scores.items() if name.startswith(f"{system}-")
        )
        if negative:
            notes.append(
                f"{system}: {negative:.0f} scored originals with a negative sum, where the absolute value inverts the order"
            )
    return notes


def _printed(block: Expected, split: str, column: str, columns: Sequence[str] | None = None) -> float | None:
    names = list(columns if columns is not None else block.get("columns", ()))
    values = block.get(split)
    return values[names.index(column)] if values and column in names else None


def table_4(*, scores: Records, expected: Expected) -> Table:
    """Human against machine: pairwise accuracy per source; the paper's six models are not ours, so its rows stand alone."""
    names = {"": "BBScore", "clf": "BBScore + CLF", "joint": "joint density", "matched": "BBScore, equal length"}
    cells = [cell(names["-".join(n.split("-")[2:])], n.split("-")[0], percent(r)) for n, r in scores.items()]
    return Table(
        "Table 4. Human against machine: pairwise accuracy (%)", cells + _paper_cells(expected["table_4"]), [OTHER_TEXT]
    )


def table_5(*, scores: Records, expected: Expected) -> Table:
    """Human or machine, one text at a time."""
    cells = [cell("BBScore + CLF", n.split("-")[0], percent(r)) for n, r in scores.items()]
    return Table(
        "Table 5. Human or machine: accuracy (%) on single texts",
        cells + _paper_cells(expected["table_5"]),
        [OTHER_TEXT],
    )


def table_6(*, scores: Records, expected: Expected) -> Table:
    """Three rated classes, with the majority baseline that the paper leaves out."""
    cells = []
    for name, record in scores.items():
        domain = name.split("-")[0]
        cells.append(cell("BBScore + CLF", domain, percent(record)))
        cells.append(Cell("majority class", domain, 100 * record["details"]["majority"], units=record["units"]))
    note = "GCDC is gated; the default rated set is planted: its classes are shuffles of known size"
    return Table("Table 6. Three classes of coherence: accuracy (%)", cells + _paper_cells(expected["table_6"]), [note])


def _paper_cells(block: Expected) -> list[Cell]:
    rows = [(name, values["test"]) for name, values in block.items() if name != "columns"]
    return [
        Cell(f"paper: {name}", column, None, printed=value, verdict="not comparable", why=OTHER_TEXT)
        for name, values in rows
        for column, value in zip(block["columns"], values, strict=True)
    ]


def figure_4(*, scores: Records, expected: Expected) -> Figure:
    """ROC curves of originals against one shuffle each; the numbers are the areas."""
    curves = {name: record["details"]["roc"] for name, record in scores.items()}
    cells = []
    for name, record in scores.items():
        system, task = name.split("-")[:2]
        printed = expected["figure_4"]["auc"].get(task.removeprefix("auc_"))
        verdict = "" if printed is None else judge_number(printed, record["value"], record["low"], record["high"])
        cells.append(cell(system, task, record, printed=printed, verdict=verdict, why=OTHER_TEXT if verdict else ""))
    return Figure(
        "Figure 4. Originals against one block shuffle each: ROC curves.",
        cells,
        lambda canvas: _rocs(canvas, curves, scores),
    )


def figure_5(*, scores: Records) -> Figure:
    """ROC curves of human against machine texts, pooled."""
    curves = {name.split("-")[0]: record["details"]["roc"] for name, record in scores.items()}
    areas = {name.split("-")[0]: {"value": record["details"]["auc"]} for name, record in scores.items()}
    cells = [
        Cell(source, "AUC", area["value"], units=scores[n]["units"])
        for n, (source, area) in zip(scores, areas.items(), strict=True)
    ]
    return Figure(
        "Figure 5. Human against machine: ROC curves of BBScore.", cells, lambda canvas: _rocs(canvas, curves, areas)
    )


def _rocs(canvas: Any, curves: Mapping[str, Mapping[str, Sequence[float]]], areas: Records) -> None:
    axes = canvas.subplots()
    for name, curve in curves.items():
        axes.plot(curve["false_positive"], curve["true_positive"], label=f"{name} (AUC {areas[name]['value']:.3f})")
    axes.plot([0, 1], [0, 1], color="0.7", linestyle=":")
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1))
    axes.legend(loc="lower right", fontsize=7)


def figure_6(*, scores: Records, expected: Expected) -> Figure:
    """Wasserstein distances between the sources' distributions of the diffusion estimate, scaled to [1, 2] per row."""
    named = {name.split("-")[0]: record["details"] for name, record in scores.items()}
    distances, scaled = detection({k: v["train"] for k, v in named.items()}, {k: v["test"] for k, v in named.items()})
    sources = list(named)
    pairs = [(i, j) for i in range(len(sources)) for j in range(len(sources))]
    cells = [Cell(f"test {sources[i]}", f"known {sources[j]}", float(distances[i, j])) for i, j in pairs]
    ranks = [int((row < row[place]).sum()) for place, row in enumerate(distances)]
    near = sum(rank < 2 for rank in ranks)
    paper = expected["figure_6"]
    caption = (
        f"Figure 6. Distance to each known source, scaled to [1, 2] per tested source. {near} of {len(sources)} sources lie in "
        f"their own top two (paper: {paper['sources_in_their_own_top_two']} of {paper['sources']})."
    )
    return Figure(caption, cells, lambda canvas: _matrix(canvas, sources, scaled))


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
    paths = {name.split("-")[0]: record["details"]["trajectory"] for name, record in scores.items()}
    cells = [
        Cell(name, f"at {share:.0%}", found["mean"][min(99, int(100 * share))], units=scores[key]["units"])
        for key, (name, found) in zip(scores, paths.items(), strict=True)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    caption = "Figure 7. Latent trajectories: mean over documents of the mean absolute latent, shaded by one standard deviation."
    return Figure(caption, cells, lambda canvas: _trajectories(canvas, paths))


def _trajectories(canvas: Any, paths: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    axes = canvas.subplots()
    for name, found in paths.items():
        mean, spread = np.array(found["mean"]), np.array(found["spread"])
        share = np.linspace(0, 1, len(mean))
        (line,) = axes.plot(share, mean, label=name)
        axes.fill_between(share, mean - spread, mean + spread, color=line.get_color(), alpha=0.12)
    axes.set(xlabel="place in the document", ylabel="mean |latent|", xlim=(0, 1))
    axes.legend(fontsize=7)


def figure_9(*, scores: Records) -> Figure:
    """AUC, and pairwise accuracy as a control that cannot move, over the variance; the estimate and the best are marked."""
    name, record = next(iter(scores.items()))
    found = record["details"]
    sweep = found["sweep"]
    best = int(np.argmax(sweep["auc"]))
    cells = [Cell(name, f"AUC at {s:.3g}", value) for s, value in zip(sweep["sigma2"], sweep["auc"], strict=True)]
    cells += [
        Cell(name, "AUC at the estimate", record["value"], record["low"], record["high"]),
        Cell(name, "best AUC", sweep["auc"][best]),
    ]
    caption = f"Figure 9. AUC over the diffusion variance: estimate {found['sigma2']:.3g} (red), best {sweep['sigma2'][best]:.3g} (olive)."
    return Figure(caption, cells, lambda canvas: _sweep(canvas, sweep, found["sigma2"], sweep["sigma2"][best]))


def _sweep(canvas: Any, sweep: Mapping[str, Sequence[float]], estimate: float, best: float) -> None:
    axes = canvas.subplots()
    axes.semilogx(sweep["sigma2"], sweep["auc"], label="AUC, one shuffle of single sentences")
    axes.semilogx(sweep["sigma2"], sweep["accuracy"], color="0.6", label="pairwise accuracy")
    axes.axvline(estimate, color="red", linestyle="--", label="estimate")
    axes.axvline(best, color="olive", linestyle="--", label="best")
    axes.set(xlabel=r"$\sigma_m^2$", ylabel="AUC")
    axes.legend(fontsize=7)
