"""Tables of "Automatic Evaluation of Text Coherence: Models and Representations".

Lapata and Barzilay, IJCAI 2005. Their numbers are lost from every text of the paper that could be
read: claims hold ours against what its words state.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from statsmodels.stats.multitest import multipletests

from longform.results import Record, Results
from longform.tables import Cell, Table, cell
from longform_lab.reporting.pivot import ReportInputs

LEVEL = 0.05  # of significance, after Holm's correction
MANY_TIES = 0.1  # share of ties from which a note says so
HUMANS = "people"
SIMULATED = (
    "the marks are those of SIMULATED raters, who see how badly a text was damaged: they say "
    "nothing of people"
)
NUMBERS = ("value", "low", "high", "p_value", "reference", "difference")  # of a record


def _records(inputs: ReportInputs, **filters: Any) -> Results:
    """Records of the corpus ``summaries`` that agree with filters.

    Args:
        inputs: the records; fields to which the exhibit is restricted replace all others.
        filters: values of fields, in addition to the corpus or in its place.
    """
    return inputs.results.where(**{"corpus": "summaries", **filters, **inputs.where})


def correlations(inputs: ReportInputs) -> Table:
    """Pearson correlations of the paper's own models with people's mean ratings and each other.

    All other models stand in the meta-evaluation. Intervals of correlations with people resample
    whole clusters. Of the paper's printed table only minus signs survive; a note counts them.
    """
    models = inputs.expected["models"]
    records = _records(inputs, critic=[*models, "raters"])
    with_people = records.where(metric="pearson", task="text")
    between_models = records.where(metric="intercorrelation", variant=list(models))
    cells = []
    for record in inputs.ordered(with_people, "critic"):
        cells.append(cell(inputs.label("critic", record.critic), HUMANS, record))
    for record in inputs.ordered(between_models, "variant", "critic"):
        row = inputs.label("critic", record.critic)
        cells.append(cell(row, inputs.label("critic", record.variant), record))
    notes = _minus_signs(inputs, cells)
    caption = "Correlation with mean marks and between models (Pearson, 95 % intervals)"
    cells += _agreement(records, HUMANS)
    return Table(caption, cells, [*notes, *_simulated(inputs), *inputs.notes])


def _minus_signs(inputs: ReportInputs, cells: Iterable[Cell]) -> list[str]:
    """A note that counts the negative numbers in each model's row, the paper's count beside it."""
    printed_names = {}
    for name, printed_name in inputs.expected["models"].items():
        printed_names[inputs.label("critic", name)] = printed_name
    counts: dict[str, int] = {}
    for number in cells:
        if number.row in printed_names and number.value is not None:
            counts[number.row] = counts.get(number.row, 0) + (number.value < 0)
    if not counts:
        return []
    table = inputs.expected["table_correlations"]
    words = []
    for row, count in counts.items():
        words.append(f"{row} {count} ({table[printed_names[row]]['minus_signs']})")
    return [f"minus signs in each row, the paper's in parentheses: {', '.join(words)}"]


def _agreement(records: Results, column: str) -> list[Cell]:
    """Cells of the correlation of each rater with the mean of the other raters.

    A cell shows no number of units: the record's counts raters, but its interval resamples texts.
    """
    cells = []
    for record in records.where(metric="rater_agreement"):
        row = f"{record.units} raters, each against the others"
        cells.append(cell(row, column, record, units=None))
    return cells


def _simulated(inputs: ReportInputs) -> list[str]:
    """A note where the raters are simulated."""
    return [] if inputs.expected.scale == "paper" else [SIMULATED]


def meta_evaluation(inputs: ReportInputs) -> Table:
    """Correlations of every scorer with people's mean ratings of texts (Pearson, Spearman).

    Where lower scores are better the sign is changed, so that higher is better in all rows. A note
    lists the pairs of scorers of which one correlates significantly better than the other.
    """
    records = _records(inputs)
    signed = []
    # Task "text": correlations over single texts, not over the means of systems.
    for record in records.where(metric=["pearson", "spearman"], task="text"):
        signed.append(record if record.better == "higher" else _negated(record))
    # Table "" has no printed numbers: the paper's own are lost.
    cells = inputs.crossed(signed, table="", rows=("critic",), column="metric")
    cells += _agreement(records, inputs.label("metric", "pearson"))
    note = _differences(inputs, records.where(metric="pearson_difference"))
    caption = "Meta-evaluation: scorers against mean marks, higher is better for all"
    return Table(caption, cells, [*_simulated(inputs), note, *inputs.notes])


def _negated(record: Record) -> Record:
    """A correlation and its interval with the sign changed; one without a value as it is."""
    if record.value is None:
        return record
    low = None if record.high is None else -record.high
    high = None if record.low is None else -record.low
    return replace(record, value=-record.value, low=low, high=high)


def _differences(inputs: ReportInputs, records: Results) -> str:
    """A note that lists the pairs of scorers of which one correlates better with people."""
    # 1. Differences with a p-value, the smallest first.
    tested = []
    for record in records:
        if record.p_value is not None and not math.isnan(record.p_value):
            tested.append(record)
    tested.sort(key=lambda record: record.p_value or 0.0)
    # 2. Those that stay below the level after Holm's correction.
    better = []
    for record, corrected in zip(tested, _holm(tested), strict=True):
        if corrected < LEVEL:
            # The value is the critic's correlation minus that of its variant, the other scorer.
            names = [inputs.label("critic", record.critic), inputs.label("critic", record.variant)]
            if (record.value or 0.0) <= 0:
                names.reverse()
            better.append(" over ".join(names))
    # 3. Those whose own interval leaves out zero.
    num_without_zero = 0
    for record in tested:
        if record.low is not None and record.high is not None:
            num_without_zero += not record.low <= 0 <= record.high
    return (
        f"{len(tested)} differences, clusters exchanged; below {LEVEL} after Holm's correction: "
        f"{'; '.join(better) or 'none'}; uncorrected, {num_without_zero} have an interval without 0"
    )


def _holm(records: Sequence[Record]) -> Sequence[float]:
    """The records' p-values after Holm's correction for that many tests, in their order."""
    if not records:
        return []
    corrected: Sequence[float] = multipletests([r.p_value for r in records], method="holm")[1]
    return corrected


def regression(inputs: ReportInputs) -> Table:
    """Weights of the combined model, and its correlation with ratings on held-out clusters.

    The model is a stepwise regression (our procedure) on two thirds of the clusters; the held-out
    correlation is that on the last third.
    """
    # 1. The weights.
    records = _records(inputs)
    cells = []
    for record in inputs.ordered(records.where(metric="weight"), "critic"):
        row = inputs.label("critic", record.critic)
        cells.append(cell(row, "weight per standard deviation", record))
    # 2. The correlation of each model with ratings, and how many texts it was fitted on.
    sizes: list[int] = []
    for record in records.where(metric="held_out_correlation"):
        row = inputs.label("critic", record.critic)
        if record.critic != "combined":
            row = f"best single model of the fitted part: {row}"
        cells.append(cell(row, "held-out correlation", record))
        if record.details.get("fitted_on") not in (None, *sizes):
            sizes.append(record.details["fitted_on"])
    rule = "enter p < 0.05, remove p > 0.10, z-scored predictors (ours)"
    notes = [f"fitted on {size} texts; {rule}" for size in sizes]
    notes.append(
        "intervals resample whole clusters; the paper's procedure, predictors and result are lost"
    )
    notes += _simulated(inputs)
    return Table("Stepwise regression of mean marks on the models", cells, notes)


def matrix(inputs: ReportInputs) -> Table:
    """Pairwise accuracy of every scorer on every shuffle task.

    A scorer that ties on every pair is blind to order and has a dash.
    """
    labelled = inputs.expected.labels("critic")
    records = _records(inputs, metric="pairwise_accuracy", corpus=["shuffled_wiki", "reports"])
    records = Results(r for r in records if r.task and r.critic in labelled)
    # 1. Cells; nothing is shown of a scorer that is blind to order.
    blank: dict[str, Any] = dict.fromkeys(NUMBERS)
    shown = []
    for record in records:
        shown.append(replace(record, **blank) if _ties(record) == 1 else record)
    rows = ("corpus", "critic", "variant")
    cells = inputs.crossed(shown, table="accuracy_cited_by_others", rows=rows, column="task")
    # 2. Notes: how many pairs, and which scorers tie on many.
    notes = [
        "a pair that ties counts one half; p-values (in the CSV) are permutation tests over "
        "documents against a coin"
    ]
    for (corpus,), of_corpus in records.groups("corpus").items():
        name = inputs.label("corpus", corpus)
        notes.append(f"{name}: pairs by task, at most: {_pairs_by_task(inputs, of_corpus)}")
    ties = []
    for record in records:
        if MANY_TIES < _ties(record) < 1:
            ties.append(f"{inputs.labels(record, *rows, 'task')} {_ties(record):.0%}")
    if ties:
        notes.append(f"ties: {'; '.join(ties)}")
    caption = "Pairwise accuracy of every scorer on every shuffle task (95 % intervals)"
    return Table(caption, cells, notes)


def _pairs_by_task(inputs: ReportInputs, records: Results) -> str:
    """The largest number of pairs that a scorer has, task by task."""
    words = []
    for (task,), of_task in records.groups("task").items():
        pairs = max(int(record.details.get("pairs", 0)) for record in of_task)
        words.append(f"{inputs.label('task', task)} {pairs:,}")
    return ", ".join(words)


def _ties(record: Record) -> float:
    """Share of a record's pairs in which both texts have the same score; 0 without pairs."""
    pairs = record.details.get("pairs")
    return record.details.get("ties", 0) / pairs if pairs else 0.0
