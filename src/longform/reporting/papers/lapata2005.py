"""Tables of "Automatic Evaluation of Text Coherence: Models and Representations" (Lapata, Barzilay, IJCAI 2005).

Their numbers were stripped from every text of the paper that could be read, so the printed magnitudes are lost: claims hold
ours against what its words state (which models go with people, that the distance goes against them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from longform.core.results import Record, Results
from longform.reporting.pivot import crossed, ordered
from longform.reporting.printed import Expected
from longform.reporting.table import Cell, Table, cell

RATED = {"corpus": "summaries"}  # what exhibits are restricted to unless their settings say otherwise
SHUFFLED = {"corpus": ["shuffled_wiki", "reports"]}
LEVEL = 0.05  # of significance, after Holm's correction
MANY_TIES = 0.1  # share of ties from which a note says so
HUMANS = "people"
SIMULATED = "the marks are those of SIMULATED raters, who see how badly a text was damaged: they say nothing of people"


def correlations(results: Results, expected: Expected, *, data: Path) -> Table:
    """The paper's table of correlations: every model with people's mean marks and with every other model (Pearson).

    Intervals with people resample whole clusters. Only the paper's own models stand here; all others in the meta-evaluation.
    """
    models = list(expected["models"])
    found = results.where(**{**RATED, **expected.choice("correlations")}, critic=[*models, "raters"])
    people = found.where(metric="pearson", task="text")
    cells = [cell(expected.label("critic", r.critic), HUMANS, r) for r in ordered(people, expected, "critic")]
    pairs = found.where(metric="intercorrelation", variant=models)
    cells += [
        cell(expected.label("critic", r.critic), expected.label("critic", r.variant), r)
        for r in ordered(pairs, expected, "variant", "critic")
    ]
    cells += _agreement(found, HUMANS)
    notes = [*_minus_signs(cells, expected), *_simulated(expected), *expected.notes("correlations", results, data)]
    return Table("Correlation with mean marks and between models (Pearson, 95 % intervals)", cells, notes)


def _agreement(found: Results, column: str) -> list[Cell]:
    """Each rater against the mean of the others; what is counted are raters, but the interval resamples texts."""
    records = found.where(metric="rater_agreement")
    return [cell(f"{r.units} raters, each against the others", column, r, units=None) for r in records]


def _minus_signs(cells: Sequence[Cell], expected: Expected) -> list[str]:
    """Minus signs in each row of the triangle: all that survives of the table's numbers."""
    printed = {expected.label("critic", name): key for name, key in expected["models"].items()}
    known = [c for c in cells if c.row in printed and c.value is not None]
    counts = {
        row: sum((c.value or 0.0) < 0 for c in known if c.row == row) for row in dict.fromkeys(c.row for c in known)
    }
    shown = [f"{row} {n} ({expected['table_correlations'][printed[row]]['minus_signs']})" for row, n in counts.items()]
    return [f"minus signs in each row, the paper's in parentheses: {', '.join(shown)}"] if shown else []


def _simulated(expected: Expected) -> list[str]:
    return [] if expected.scale == "paper" else [SIMULATED]


def meta_evaluation(results: Results, expected: Expected, *, data: Path) -> Table:
    """Every scorer against people's mean marks, turned so that higher is better; and who goes with them better than whom."""
    found = results.where(**{**RATED, **expected.choice("meta_evaluation")})
    turned = [_turned(r) for r in found.where(metric=["pearson", "spearman"], task="text")]
    cells = crossed(turned, expected, "", data, rows=("critic",), column="metric")
    cells += _agreement(found, expected.label("metric", "pearson"))
    pairs = [r for r in found.where(metric="pearson_difference") if r.p_value is not None and r.p_value == r.p_value]
    corrected = _holm(pairs)
    beaten = [_told(r, expected) for r, p_value in corrected if p_value < LEVEL]
    apart = [r for r in pairs if r.low is not None and r.high is not None and not r.low <= 0 <= r.high]
    notes = [
        *_simulated(expected),
        f"{len(pairs)} differences, clusters exchanged; below {LEVEL} after Holm's correction: {'; '.join(beaten) or 'none'}; "
        f"uncorrected, {len(apart)} have an interval without 0",
        *expected.notes("meta_evaluation", results, data),
    ]
    return Table("Meta-evaluation: scorers against mean marks, higher is better for all", cells, notes)


def _turned(r: Record) -> Record:
    """The correlation of a scorer whose lower values are better, its sign changed."""
    if r.better == "higher" or r.value is None:
        return r
    low, high = (None if end is None else -end for end in (r.high, r.low))
    return replace(r, value=-r.value, low=low, high=high)


def _holm(records: Sequence[Record]) -> list[tuple[Record, float]]:
    """p-values after Holm's (1979) correction, smallest first."""
    found, running = sorted(records, key=lambda r: r.p_value or 0.0), 0.0
    corrected = []
    for place, r in enumerate(found):
        running = max(running, min(1.0, (r.p_value or 0.0) * (len(found) - place)))
        corrected.append((r, running))
    return corrected


def _told(r: Record, expected: Expected) -> str:
    """``A over B``; the difference is of the record's critic less its variant."""
    names = [expected.label("critic", name) for name in (r.critic, r.variant)]
    return " over ".join(names if (r.value or 0.0) > 0 else reversed(names))


def regression(results: Results, expected: Expected, *, data: Path) -> Table:
    """The combined model: stepwise regression on two thirds of the clusters, its correlation with marks on the rest.

    The paper's procedure, predictors and result are lost; the procedure is ours.
    """
    found = results.where(**{**RATED, **expected.choice("regression")})
    weights = ordered(found.where(metric="weight"), expected, "critic")
    cells = [cell(expected.label("critic", r.critic), "weight per standard deviation", r) for r in weights]
    held = found.where(metric="held_out_correlation")
    for r in held:
        name = expected.label("critic", r.critic)
        row = name if r.critic == "combined" else f"best single model of the fitted part: {name}"
        cells.append(cell(row, "held-out correlation", r))
    fitted = {r.details["fitted_on"] for r in held if "fitted_on" in r.details}
    notes = [f"fitted on {n} texts; enter p < 0.05, remove p > 0.10, z-scored predictors (ours)" for n in fitted]
    notes += [
        "intervals resample whole clusters; the paper's procedure, predictors and result are lost",
        *_simulated(expected),
    ]
    return Table("Stepwise regression of mean marks on the models", cells, notes)


def matrix(results: Results, expected: Expected, *, data: Path) -> Table:
    """Every scorer on every shuffle task: pairwise accuracy with a test against chance, ties one half.

    A scorer that ties on every pair is blind to order: it has a dash.
    """
    found = Results(
        r
        for r in results.where(metric="pairwise_accuracy", **{**SHUFFLED, **expected.choice("matrix")})
        if r.task and r.critic in expected["labels"]["critic"]
    )
    seen = [replace(r, value=None, low=None, high=None, p_value=None) if _blind(r) else r for r in found]
    table, rows = "accuracy_cited_by_others", ("corpus", "critic", "variant")
    cells = crossed(seen, expected, table, data, rows=rows, column="task")
    notes = [
        "a pair that ties counts one half; p-values (in the CSV) are permutation tests over documents against a coin"
    ]
    notes += _pairs(found, expected)
    ties = [(r, r.details.get("ties", 0) / r.details["pairs"]) for r in found if r.details.get("pairs")]
    many = [
        f"{expected.labels(r, 'corpus', 'critic', 'variant', 'task')} {share:.0%}"
        for r, share in ties
        if MANY_TIES < share < 1
    ]
    notes += [f"ties: {'; '.join(many)}"] if many else []
    return Table("Pairwise accuracy of every scorer on every shuffle task (95 % intervals)", cells, notes)


def _blind(r: Record) -> bool:
    return bool(r.details.get("pairs")) and r.details.get("ties") == r.details["pairs"]


def _pairs(found: Results, expected: Expected) -> list[str]:
    """The most pairs of any scorer, by corpus and task."""
    notes = []
    for (corpus,), own in found.groups("corpus").items():
        most = {
            task: max(int(r.details.get("pairs", 0)) for r in records)
            for (task,), records in own.groups("task").items()
            if task
        }
        shown = ", ".join(f"{expected.label('task', task)} {n:,}" for task, n in most.items())
        notes.append(f"{expected.label('corpus', corpus)}: pairs by task, at most: {shown}")
    return notes
