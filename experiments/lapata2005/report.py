"""Tables of "Automatic Evaluation of Text Coherence: Models and Representations".

Lapata and Barzilay, IJCAI 2005. Their numbers are lost from every text of the paper that could be
read: claims hold ours against what its words state.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from statsmodels.stats.multitest import multipletests

from longform.results import Record, Results
from longform.tables import Cell, Table, cell
from longform_lab.reporting.pivot import Given

LEVEL = 0.05  # of significance, after Holm's correction
MANY_TIES = 0.1  # share of ties from which a note says so
HUMANS = "people"
SIMULATED = (
    "the marks are those of SIMULATED raters, who see how badly a text was damaged: they say "
    "nothing of people"
)
NUMBERS = ("value", "low", "high", "p_value", "reference", "difference")  # of a record


def _records(given: Given, **filters: Any) -> Results:
    """Records of the rated corpus, or of those that the table is restricted to."""
    return given.results.where(**{"corpus": "summaries", **filters, **given.where})


def correlations(given: Given) -> Table:
    """The paper's own models with people's mean marks and with each other (Pearson).

    All other models stand in the meta-evaluation. Intervals with people resample whole clusters.
    All that survives of the table's numbers are minus signs, counted in a note.
    """
    models = given.expected["models"]
    records = _records(given, critic=[*models, "raters"])
    with_people = records.where(metric="pearson", task="text")
    between_models = records.where(metric="intercorrelation", variant=list(models))
    cells = []
    for record in given.ordered(with_people, "critic"):
        cells.append(cell(given.label("critic", record.critic), HUMANS, record))
    for record in given.ordered(between_models, "variant", "critic"):
        row = given.label("critic", record.critic)
        cells.append(cell(row, given.label("critic", record.variant), record))
    notes = _minus_signs(given, cells)
    caption = "Correlation with mean marks and between models (Pearson, 95 % intervals)"
    cells += _agreement(records, HUMANS)
    return Table(caption, cells, [*notes, *_simulated(given), *given.notes])


def _minus_signs(given: Given, cells: Iterable[Cell]) -> list[str]:
    """A note with the negative numbers of each model's row, and how many the paper has."""
    printed_names = {}
    for name, printed_name in given.expected["models"].items():
        printed_names[given.label("critic", name)] = printed_name
    counts: dict[str, int] = {}
    for number in cells:
        if number.row in printed_names and number.value is not None:
            counts[number.row] = counts.get(number.row, 0) + (number.value < 0)
    if not counts:
        return []
    table = given.expected["table_correlations"]
    words = []
    for row, count in counts.items():
        words.append(f"{row} {count} ({table[printed_names[row]]['minus_signs']})")
    return [f"minus signs in each row, the paper's in parentheses: {', '.join(words)}"]


def _agreement(records: Results, column: str) -> list[Cell]:
    """Each rater against the mean of the others.

    What is counted are raters, but the interval resamples texts.
    """
    cells = []
    for record in records.where(metric="rater_agreement"):
        row = f"{record.units} raters, each against the others"
        cells.append(cell(row, column, record, units=None))
    return cells


def _simulated(given: Given) -> list[str]:
    """A note where the raters are simulated."""
    return [] if given.expected.scale == "paper" else [SIMULATED]


def meta_evaluation(given: Given) -> Table:
    """Every scorer against people's mean marks, turned so that higher is better.

    A note says who goes with them better than whom.
    """
    records = _records(given)
    turned = []
    for record in records.where(metric=["pearson", "spearman"], task="text"):
        turned.append(record if record.better == "higher" else _turned(record))
    cells = given.crossed(turned, "", ("critic",), "metric")
    cells += _agreement(records, given.label("metric", "pearson"))
    note = _differences(given, records.where(metric="pearson_difference"))
    caption = "Meta-evaluation: scorers against mean marks, higher is better for all"
    return Table(caption, cells, [*_simulated(given), note, *given.notes])


def _turned(record: Record) -> Record:
    """A correlation with its sign turned; one without a value as it is."""
    if record.value is None:
        return record
    low = None if record.high is None else -record.high
    high = None if record.low is None else -record.low
    return replace(record, value=-record.value, low=low, high=high)


def _differences(given: Given, records: Results) -> str:
    """A note with the pairs of scorers of which one goes with people better than the other."""
    # 1. Differences with a p-value, the smallest first.
    tested = []
    for record in records:
        if record.p_value is not None and record.p_value == record.p_value:
            tested.append(record)
    tested.sort(key=lambda record: record.p_value or 0.0)
    # 2. Those that stay below the level after Holm's correction.
    better = []
    for record, corrected in zip(tested, _holm(tested), strict=True):
        if corrected < LEVEL:
            names = [given.label("critic", record.critic), given.label("critic", record.variant)]
            if (record.value or 0.0) <= 0:
                names.reverse()
            better.append(" over ".join(names))
    # 3. Those whose own interval leaves out zero.
    apart = 0
    for record in tested:
        if record.low is not None and record.high is not None:
            apart += not record.low <= 0 <= record.high
    return (
        f"{len(tested)} differences, clusters exchanged; below {LEVEL} after Holm's correction: "
        f"{'; '.join(better) or 'none'}; uncorrected, {apart} have an interval without 0"
    )


def _holm(records: Sequence[Record]) -> Sequence[float]:
    """Holm's p-values of records."""
    if not records:
        return []
    corrected: Sequence[float] = multipletests([r.p_value for r in records], method="holm")[1]
    return corrected


def regression(given: Given) -> Table:
    """The combined model: stepwise regression (ours) on two thirds of the clusters.

    Its correlation with marks is that on the rest.
    """
    # 1. The weights.
    records = _records(given)
    cells = []
    for record in given.ordered(records.where(metric="weight"), "critic"):
        row = given.label("critic", record.critic)
        cells.append(cell(row, "weight per standard deviation", record))
    # 2. How the model goes with marks, and how many texts it was fitted on.
    sizes: list[int] = []
    for record in records.where(metric="held_out_correlation"):
        row = given.label("critic", record.critic)
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
    notes += _simulated(given)
    return Table("Stepwise regression of mean marks on the models", cells, notes)


def matrix(given: Given) -> Table:
    """Pairwise accuracy of every scorer on every shuffle task.

    A scorer that ties on every pair is blind to order and has a dash.
    """
    labelled = given.expected.labels("critic")
    records = _records(given, metric="pairwise_accuracy", corpus=["shuffled_wiki", "reports"])
    records = Results(r for r in records if r.task and r.critic in labelled)
    # 1. Cells; nothing is shown of a scorer that is blind to order.
    blank: dict[str, Any] = dict.fromkeys(NUMBERS)
    shown = []
    for record in records:
        shown.append(replace(record, **blank) if _ties(record) == 1 else record)
    rows = ("corpus", "critic", "variant")
    cells = given.crossed(shown, "accuracy_cited_by_others", rows, "task")
    # 2. Notes: how many pairs, and which scorers tie on many.
    notes = [
        "a pair that ties counts one half; p-values (in the CSV) are permutation tests over "
        "documents against a coin"
    ]
    for (corpus,), of_corpus in records.groups("corpus").items():
        name = given.label("corpus", corpus)
        notes.append(f"{name}: pairs by task, at most: {_pairs_by_task(given, of_corpus)}")
    ties = []
    for record in records:
        if MANY_TIES < _ties(record) < 1:
            ties.append(f"{given.labels(record, *rows, 'task')} {_ties(record):.0%}")
    if ties:
        notes.append(f"ties: {'; '.join(ties)}")
    caption = "Pairwise accuracy of every scorer on every shuffle task (95 % intervals)"
    return Table(caption, cells, notes)


def _pairs_by_task(given: Given, records: Results) -> str:
    """The largest number of pairs that a scorer has, task by task."""
    words = []
    for (task,), of_task in records.groups("task").items():
        pairs = max(int(record.details.get("pairs", 0)) for record in of_task)
        words.append(f"{given.label('task', task)} {pairs:,}")
    return ", ".join(words)


def _ties(record: Record) -> float:
    """Share of pairs that tie."""
    pairs = record.details.get("pairs")
    return record.details.get("ties", 0) / pairs if pairs else 0.0
