"""Tables 1-3 and Figures 4 and 9 of "BBScore: A Brownian Bridge Based Metric for Assessing Text Coherence" (Sheng et al. 2024).

A score row ``<system>-...`` holds many cells, ``<task>-<judge>`` or ``auc_<task>``; a system is an encoder with its settings. A
cell is the mean over the encoder's heads; the CSV has every head's own number and interval beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longform.reporting.layout import Cell, Figure, Table, cell
from longform.reporting.ledger import Finding, judge_number, judge_ordering

Records = Mapping[str, Mapping[str, Any]]
Expected = Mapping[str, Any]
GLOBAL, LOCAL = ("b1", "b2", "b5", "b10"), ("w123", "w1", "w2", "w3")
JUDGES = {
    "bbscore": "BBScore",
    "three_layer": "BBScore + three-layer CLF",
    "linear": "BBScore + linear CLF",
    "joint": "joint density",
    "grid_transitions": "entity grid, role transitions",
    "grid_ranking": "entity grid, ranking",
}
PRINTED = {
    "bbscore": "bbscore",
    "three_layer": "bbscore_clf",
    "grid_transitions": "entity_grid",
    "grid_ranking": "entity_grid",
}
STROKES = ("-", "--", "-.", ":")  # of one panel's curves, readable in grey
HEAD = ", head "  # marks a row that the CSV has and the wide table leaves out
OTHER_TEXT = "another training corpus, encoder and test set than the paper's; orderings are compared, not values"


class HeadsTable(Table):
    """A table whose wide form leaves single heads out."""

    def markdown(self) -> str:
        """The means over heads only."""
        return Table(self.caption, [c for c in self.cells if HEAD not in c.row], self.notes).markdown()


def flat(scores: Records) -> dict[str, dict[str, Any]]:
    """Cell records by ``<system>-<cell>``."""
    found = {}
    for name, record in scores.items():
        system = name.split("-")[0]
        found |= {f"{system}-{key}": dict(value) for key, value in record["details"]["cells"].items()}
    return found


def tests_of(scores: Records) -> dict[tuple[str, str], dict[str, Any]]:
    """Paired tests by the full names of their two cells."""
    rows = [
        (name.split("-")[0], test) for name, record in scores.items() for test in record["details"].get("tests", ())
    ]
    return {(f"{system}-{test['low']}", f"{system}-{test['high']}"): test for system, test in rows}


def percent(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with value and interval times 100, as the paper prints accuracies."""
    scaled = {key: None if record.get(key) is None else 100 * record[key] for key in ("value", "low", "high")}
    return {**record, **scaled}


def told(found: Finding, test: Mapping[str, Any] | None = None) -> str:
    """One line of the notes."""
    tested = "" if test is None else f"; paired permutation p = {test['p_value']:.3g}"
    return f"{found.claim}: {found.verdict} ({found.why}{tested})"


def printed_value(block: Expected, column: str, columns: Sequence[str] | None = None) -> float | None:
    """The paper's test-set value of a column, None where it prints none."""
    names = list(columns if columns is not None else block.get("columns", ()))
    values = block.get("test")
    return values[names.index(column)] if values and column in names else None


def table_1(*, scores: Records, expected: Expected) -> Table:
    """Pairs of each set: ours from the totals of the discrimination cells, the paper's beside them."""
    cells = []
    for name, record in flat(scores).items():
        system, task, *judge = name.split("-")
        if judge != ["bbscore"]:
            continue
        printed = printed_value(expected["table_1"], task)
        why = "sizes of the test sets differ; the derivation of the printed counts is in deviations.md"
        cells.append(
            Cell(system, task, int(record["totals"]["pairs"]), units=record["units"], excluded=record["excluded"],
                 printed=printed, verdict="not comparable", why=why, signature=record["signature"])
        )  # fmt: skip
    ordered = sorted(cells, key=lambda c: (GLOBAL + LOCAL).index(c.column))
    return Table("Table 1. Pairs of original and distinct shuffle in the test set", ordered)


def table_2(*, scores: Records, expected: Expected) -> Table:
    """Global discrimination: pairwise accuracy by block size."""
    caption = "Table 2. Global discrimination: pairwise accuracy (%) by sentences per shuffled block"
    return _accuracy_table(caption, scores, expected["table_2"], GLOBAL)


def table_3(*, scores: Records, expected: Expected) -> Table:
    """Local discrimination: pairwise accuracy by number of shuffled windows of three sentences."""
    caption = "Table 3. Local discrimination: pairwise accuracy (%) by number of shuffled windows"
    return _accuracy_table(caption, scores, expected["table_3"], LOCAL)


def _accuracy_table(caption: str, scores: Records, block: Expected, columns: Sequence[str]) -> Table:
    found = {name: record for name, record in flat(scores).items() if name.split("-")[1] in columns}
    cells = [c for name, record in found.items() for c in _cells(name, record, block)]
    ordered = sorted(cells, key=lambda c: (_rank(c.row), columns.index(c.column)))
    notes = [*_claims(found, tests_of(scores), columns), *_remarks(found)]
    return HeadsTable(caption, sorted(ordered, key=lambda c: HEAD in c.row), notes)


def _rank(row: str) -> int:
    """Judges in the order of ``JUDGES``, each with all systems."""
    judge = row.partition(": ")[2].partition(HEAD)[0]
    return list(JUDGES.values()).index(judge)


def _cells(name: str, record: Mapping[str, Any], block: Expected) -> list[Cell]:
    """The mean over heads beside the printed number, then each head."""
    system, task, judge = name.split("-")
    row, shown = f"{system}: {JUDGES[judge]}", percent(record)
    printed = printed_value(block.get(PRINTED.get(judge, ""), {}), task, block["columns"])
    verdict = "" if printed is None else judge_number(printed, shown["value"], shown["low"], shown["high"])
    heads = record.get("heads", {})
    return [
        cell(row, task, shown, printed=printed, verdict=verdict, why=OTHER_TEXT if verdict else ""),
        *(cell(f"{row}{HEAD}{head}", task, percent(one)) for head, one in heads.items()),
    ]


def _claims(found: Records, tests: Mapping[tuple[str, str], Any], columns: Sequence[str]) -> list[str]:
    """The paper's orderings: the classifier beats the raw score; the raw score beats the entity grid at b5 and b10."""
    notes = []
    for system in dict.fromkeys(name.split("-")[0] for name in found):
        for task in columns:
            raw, classified = f"{system}-{task}-bbscore", f"{system}-{task}-three_layer"
            notes += _ordered(found, f"{system}, {task}: BBScore < BBScore + CLF", (raw, classified), tests)
            grid = next(
                (name for name in found if name.endswith(f"-{task}-grid_ranking")), ""
            )  # one grid for all encoders
            if task in ("b5", "b10"):
                notes += _ordered(found, f"{system}, {task}: entity grid < BBScore", (grid, raw), tests)
            if task == "w123":
                notes += _ordered(found, f"{system}, {task}: entity grid < BBScore + CLF", (grid, classified), tests)
        rising = tuple(f"{system}-{task}-bbscore" for task in ("w1", "w2", "w3"))
        notes += _ordered(found, f"{system}: BBScore rises with the windows, w1 < w2 < w3", rising, tests)
    return notes


def _ordered(found: Records, claim: str, names: tuple[str, ...], tests: Mapping[tuple[str, str], Any]) -> list[str]:
    if any(name not in found for name in names):
        return []
    test = tests.get(names[:2]) if len(names) == 2 else None  # type: ignore[call-overload]
    return [told(judge_ordering(claim, [percent(found[name]) for name in names]), test)]


def _remarks(found: Records) -> list[str]:
    """Spread over heads, and sums below zero, where the absolute value inverts the order."""
    notes = []
    for system in dict.fromkeys(name.split("-")[0] for name in found):
        own = {name: record for name, record in found.items() if name.split("-")[0] == system}
        spread = [
            f"{name.split('-', 1)[1]} {100 * record['spread']:.1f}"
            for name, record in own.items()
            if "spread" in record
        ]
        if spread:
            notes.append(f"{system}: standard deviation over heads, in points: {', '.join(spread)}")
        negative = sum(r["totals"].get("negative", 0) for name, r in own.items() if name.endswith("-bbscore"))
        if negative:
            notes.append(
                f"{system}: {negative:.0f} scored originals with a negative sum, where the absolute value inverts the order"
            )
    return notes


def length(*, scores: Records) -> Table:
    """Rank correlation of a score with a document's number of sentences; not in the paper."""
    cells, notes = [], []
    found = flat(scores)
    for name, record in found.items():
        system, _, judge = name.split("-")
        row = f"{system}: {JUDGES[judge]}"
        cells.append(cell(row, "correlation", record))
        cells += [cell(f"{row}{HEAD}{head}", "correlation", one) for head, one in record.get("heads", {}).items()]
    for system in dict.fromkeys(name.split("-")[0] for name in found):
        pair = (f"{system}-length-joint", f"{system}-length-bbscore")
        sizes = [abs(found[name]["value"]) for name in pair]
        verdict = "ordering holds" if sizes[0] < sizes[1] else "differs"
        notes.append(f"{system}: the joint density follows length less: {verdict} ({sizes[0]:.2f} and {sizes[1]:.2f})")
    caption = "Length. Spearman correlation of a score with the number of sentences, unshuffled test documents (ours)"
    return HeadsTable(caption, sorted(cells, key=lambda c: HEAD in c.row), notes)


def areas_of(scores: Records) -> dict[str, dict[str, Any]]:
    """The cells that are areas under a ROC curve of originals against shuffles."""
    return {name: record for name, record in flat(scores).items() if name.split("-")[1].startswith("auc_")}


def figure_4(*, scores: Records, expected: Expected) -> Figure:
    """ROC curves of originals against one shuffle each; the numbers are the areas."""
    found, cells, claims = areas_of(scores), [], []
    for name, record in found.items():
        system, task = name.split("-")
        printed = expected["figure_4"]["auc"].get(task.removeprefix("auc_"))
        verdict = "" if printed is None else judge_number(printed, record["value"], record["low"], record["high"])
        cells.append(cell(system, task, record, printed=printed, verdict=verdict, why=OTHER_TEXT if verdict else ""))
        cells += [cell(f"{system}{HEAD}{head}", task, one) for head, one in record.get("heads", {}).items()]
    for system in dict.fromkeys(name.split("-")[0] for name in found):
        ends = (f"{system}-auc_b10", f"{system}-auc_b1")
        claims += _ordered(found, f"{system}: AUC falls with the block, b10 < b1", ends, {})
    caption = f"Figure 4. Originals against one block shuffle each: ROC curves. {'; '.join(claims)}."
    curves = {name: record["details"]["roc"] for name, record in found.items()}
    width = 1.0 + 2.6 * len({name.split("-")[0] for name in found})
    return Figure(caption, cells, lambda canvas: rocs(canvas, curves, found), (width, 3.2))


def rocs(canvas: Any, curves: Mapping[str, Mapping[str, Sequence[float]]], areas: Records) -> None:
    """A panel per system, a curve per task with its area; a curve is the first head's, its area the mean over heads."""
    systems = list(dict.fromkeys(name.split("-")[0] for name in curves))
    panels = canvas.subplots(1, len(systems), sharey=True, squeeze=False)[0]
    for system, axes in zip(systems, panels, strict=True):
        own = [name for name in curves if name.split("-")[0] == system]
        for place, name in enumerate(sorted(own, key=_block)):
            task = name.partition("-")[2].removeprefix("auc_") or name
            shade = str(0.7 * place / max(len(own) - 1, 1))
            dashes = STROKES[place % len(STROKES)]
            rates = curves[name]["false_positive"], curves[name]["true_positive"]
            label = f"{task} ({areas[name]['value']:.3f})"
            axes.plot(*rates, label=label, color=shade, linestyle=dashes, linewidth=1.2)
        axes.plot([0, 1], [0, 1], color="0.8", linewidth=0.6)
        axes.set(xlabel="false positive rate", xlim=(0, 1), ylim=(0, 1), title=system, aspect="equal")
        axes.legend(loc="best", fontsize=6, title="AUC", title_fontsize=6, frameon=False)
    panels[0].set_ylabel("true positive rate")


def _block(name: str) -> tuple[int, str]:
    """Sorts b2 before b10."""
    size = name.rpartition("_b")[2]
    return (int(size), name) if size.isdigit() else (0, name)


def figure_9(*, scores: Records, expected: Expected) -> Figure:
    """AUC, and pairwise accuracy as a control that cannot move, over the variance; the estimate and the best are marked."""
    name, record = next((name, r) for name, r in areas_of(scores).items() if name.endswith("auc_b1"))
    found, head = record["details"], next(iter(record.get("heads", {"": record}).values()))
    sweep = found["sweep"]
    best = int(np.argmax(sweep["auc"]))
    cells = [Cell(name, f"AUC at {s:.3g}", value) for s, value in zip(sweep["sigma2"], sweep["auc"], strict=True)]
    cells += [cell(name, "AUC at the estimate", head), Cell(name, "best AUC", sweep["auc"][best])]
    claim = judge_ordering(
        "the estimate is good but not the best", [head, {"value": sweep["auc"][best], "low": 1.0, "high": 1.0}]
    )
    caption = (
        f"Figure 9. AUC over the diffusion variance ({name}, one head): estimate {found['sigma2']:.3g} (red), best "
        f"{sweep['sigma2'][best]:.3g} (olive). {claim.claim}: {claim.verdict}, {head['value']:.3f} against {sweep['auc'][best]:.3f}."
    )
    return Figure(caption, cells, lambda canvas: _sweep(canvas, sweep, found["sigma2"], sweep["sigma2"][best]))


def _sweep(canvas: Any, sweep: Mapping[str, Sequence[float]], estimate: float, best: float) -> None:
    axes = canvas.subplots()
    axes.semilogx(sweep["sigma2"], sweep["auc"], label="AUC, one shuffle of single sentences")
    axes.semilogx(sweep["sigma2"], sweep["accuracy"], color="0.6", label="pairwise accuracy")
    axes.axvline(estimate, color="red", linestyle="--", label="estimate")
    axes.axvline(best, color="olive", linestyle="--", label="best")
    axes.set(xlabel=r"$\sigma_m^2$", ylabel="AUC")
    axes.legend(fontsize=7)
