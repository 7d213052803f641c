"""Tables of "Automatic Evaluation of Text Coherence: Models and Representations" (Lapata, Barzilay, IJCAI 2005).

Their numbers are lost from every text of the paper that could be read: claims hold ours against what its words state.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

from statsmodels.stats.multitest import multipletests

from longform.results import Record, Results
from longform.tables import Cell, Table, cell
from longform_lab.reporting.pivot import Given

LEVEL = 0.05  # of significance, after Holm's correction
MANY_TIES = 0.1  # share of ties from which a note says so
HUMANS = "people"
SIMULATED = "the marks are those of SIMULATED raters, who see how badly a text was damaged: they say nothing of people"


def _found(given: Given, **wanted: Any) -> Results:
    """Records of the rated corpus, or of those that the exhibit chooses."""
    return given.results.where(**{"corpus": "summaries", **wanted, **given.where})


def correlations(given: Given) -> Table:
    """The paper's own models with people's mean marks and with each other (Pearson); all others stand in the meta-evaluation.

    Intervals with people resample whole clusters. All that survives of the table's numbers are minus signs, counted in a note.
    """
    models = given.expected["models"]
    found = _found(given, critic=[*models, "raters"])
    people = given.ordered(found.where(metric="pearson", task="text"), "critic")
    pairs = given.ordered(
        found.where(metric="intercorrelation", variant=list(models)), "variant", "critic"
    )
    cells = [cell(given.label("critic", r.critic), HUMANS, r) for r in people]
    cells += [
        cell(given.label("critic", r.critic), given.label("critic", r.variant), r) for r in pairs
    ]
    printed = {given.label("critic", name): key for name, key in models.items()}
    counts: Counter[str] = Counter()
    for c in cells:
        if c.row in printed and c.value is not None:
            counts[c.row] += c.value < 0
    signs = given.expected["table_correlations"]
    shown = [f"{row} {n} ({signs[printed[row]]['minus_signs']})" for row, n in counts.items()]
    notes = (
        [f"minus signs in each row, the paper's in parentheses: {', '.join(shown)}"]
        if shown
        else []
    )
    caption = "Correlation with mean marks and between models (Pearson, 95 % intervals)"
    return Table(
        caption, cells + _agreement(found, HUMANS), [*notes, *_simulated(given), *given.notes]
    )


def _agreement(found: Results, column: str) -> list[Cell]:
    """Each rater against the mean of the others; what is counted are raters, but the interval resamples texts."""
    records = found.where(metric="rater_agreement")
    return [
        cell(f"{r.units} raters, each against the others", column, r, units=None) for r in records
    ]


def _simulated(given: Given) -> list[str]:
    return [] if given.expected.scale == "paper" else [SIMULATED]


def meta_evaluation(given: Given) -> Table:
    """Every scorer against people's mean marks, turned so that higher is better; and who goes with them better than whom."""
    found = _found(given)
    turned = []
    for r in found.where(metric=["pearson", "spearman"], task="text"):
        if r.better != "higher" and r.value is not None:
            low, high = (None if end is None else -end for end in (r.high, r.low))
            r = replace(r, value=-r.value, low=low, high=high)
        turned.append(r)
    cells = given.crossed(turned, "", ("critic",), "metric") + _agreement(
        found, given.label("metric", "pearson")
    )
    pairs = [
        r
        for r in found.where(metric="pearson_difference")
        if r.p_value is not None and r.p_value == r.p_value
    ]
    pairs.sort(key=lambda r: r.p_value or 0.0)
    corrected = multipletests([r.p_value for r in pairs], method="holm")[1] if pairs else []
    beaten = []
    for r in (r for r, p_value in zip(pairs, corrected, strict=True) if p_value < LEVEL):
        names = [given.label("critic", name) for name in (r.critic, r.variant)]
        beaten.append(" over ".join(names if (r.value or 0.0) > 0 else reversed(names)))
    apart = [
        r for r in pairs if r.low is not None and r.high is not None and not r.low <= 0 <= r.high
    ]
    note = (
        f"{len(pairs)} differences, clusters exchanged; below {LEVEL} after Holm's correction: {'; '.join(beaten) or 'none'}; "
        f"uncorrected, {len(apart)} have an interval without 0"
    )
    caption = "Meta-evaluation: scorers against mean marks, higher is better for all"
    return Table(caption, cells, [*_simulated(given), note, *given.notes])


def regression(given: Given) -> Table:
    """The combined model: stepwise regression (ours) on two thirds of the clusters, its correlation with marks on the rest."""
    found = _found(given)
    weights = given.ordered(found.where(metric="weight"), "critic")
    cells = [
        cell(given.label("critic", r.critic), "weight per standard deviation", r) for r in weights
    ]
    held = found.where(metric="held_out_correlation")
    for r in held:
        name = given.label("critic", r.critic)
        row = name if r.critic == "combined" else f"best single model of the fitted part: {name}"
        cells.append(cell(row, "held-out correlation", r))
    fitted = {r.details["fitted_on"] for r in held if "fitted_on" in r.details}
    notes = [
        f"fitted on {n} texts; enter p < 0.05, remove p > 0.10, z-scored predictors (ours)"
        for n in fitted
    ]
    notes.append(
        "intervals resample whole clusters; the paper's procedure, predictors and result are lost"
    )
    return Table(
        "Stepwise regression of mean marks on the models", cells, [*notes, *_simulated(given)]
    )


def matrix(given: Given) -> Table:
    """Pairwise accuracy of every scorer on every shuffle task; one that ties on every pair is blind to order and has a dash."""
    known = given.expected["labels"]["critic"]
    records = _found(given, metric="pairwise_accuracy", corpus=["shuffled_wiki", "reports"])
    found = Results(r for r in records if r.task and r.critic in known)
    blank: dict[str, Any] = dict.fromkeys(
        ("value", "low", "high", "p_value", "reference", "difference")
    )
    seen = [replace(r, **blank) if _tied(r) == 1 else r for r in found]
    cells = given.crossed(seen, "accuracy_cited_by_others", ("corpus", "critic", "variant"), "task")
    rule = "a pair that ties counts one half; p-values (in the CSV) are permutation tests over documents against a coin"
    notes = [rule]
    for (corpus,), own in found.groups("corpus").items():
        tasks = own.groups("task").items()
        most = {
            task: max(int(r.details.get("pairs", 0)) for r in records) for (task,), records in tasks
        }
        shown = ", ".join(f"{given.label('task', task)} {n:,}" for task, n in most.items())
        notes.append(f"{given.label('corpus', corpus)}: pairs by task, at most: {shown}")
    named = ("corpus", "critic", "variant", "task")
    many = [f"{given.labels(r, *named)} {_tied(r):.0%}" for r in found if MANY_TIES < _tied(r) < 1]
    notes += [f"ties: {'; '.join(many)}"] if many else []
    return Table(
        "Pairwise accuracy of every scorer on every shuffle task (95 % intervals)", cells, notes
    )


def _tied(r: Record) -> float:
    """Share of pairs that tie."""
    return r.details.get("ties", 0) / r.details["pairs"] if r.details.get("pairs") else 0.0
