"""Section transitions of deng2022, from the section critic: Tables 12, 13, Figures 1, 4."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.deng2022.report.pages import section_page
from experiments.deng2022.report.sections import LATENT, generated_folder, texts_in
from longform.errors import BadInput
from longform.results import Record
from longform.statistics.intervals import wilson
from longform.statistics.markov_chain import BEGIN, END, FAILURE_PROBABILITY
from longform.tables import Cell, Figure, Files, Table
from longform_lab.reporting.pivot import SYSTEM, ReportInputs, beside

RED = 0.05  # Figure 4 marks transitions with P_c below this; Table 12's threshold is another
TOP_TITLES = 20  # Figure 4
TOP_ERRORS = 5  # Table 12
# Ours: smaller differences are not written into the figure, though the CSV has them.
SHOWN_DIFFERENCE = 0.05
COLUMN = "P model - P data"
COUNTED = "transitions counted as independent (Wilson 1927)"
SHARES = {
    "total failures": "transition_failures",
    "total failures, begin and end included": "transition_failures_with_ends",
    "repetitions among failures": "repeated_failures",
    "repeated titles, probable or not": "repeated_titles",
}


@dataclass(frozen=True)
class Transition:
    """Number of times that one title followed another, and the critic's probability of that."""

    earlier: str
    later: str
    count: int
    probability: float

    @property
    def failed(self) -> bool:
        """Whether the critic's probability is below the threshold of a failure."""
        return self.probability < FAILURE_PROBABILITY

    @property
    def name(self) -> str:
        """Both titles, as ``earlier → later``."""
        return f"{self.earlier} → {self.later}"


def transitions(record: Record, ends: bool = True) -> list[Transition]:
    """The transitions that a record of the section critic lists.

    Args:
        record: with ``transitions`` among its details.
        ends: whether those from the beginning and to the end are among them.
    """
    selected = []
    for earlier, later, count, probability in record.details.get("transitions", []):
        if ends or (earlier != BEGIN and later != END):
            transition = Transition(earlier, later, int(count), float(probability))
            selected.append(transition)
    return selected


def share_records(record: Record) -> list[Record]:
    """Compute the shares of Table 12 from a record, as records with Wilson's intervals.

    There is one for each kind of failure, and one for each transition between sections (``task``).
    """
    # 1. Count transitions between sections: all, failed, repeated titles, both.
    between_sections = transitions(record, ends=False)
    total = failed = repeated = repeated_and_failed = 0
    for transition in between_sections:
        is_repeated = transition.earlier == transition.later
        total += transition.count
        failed += transition.count * transition.failed
        repeated += transition.count * is_repeated
        repeated_and_failed += transition.count * (is_repeated and transition.failed)
    total_with_ends = sum(transition.count for transition in transitions(record))
    # 2. The shares: metric, task, hits and trials.
    shares: list[tuple[str, str, int, int]] = [
        ("transition_failures", "", failed, total),
        ("transition_failures_with_ends", "", failed, total_with_ends),
        ("repeated_failures", "", repeated_and_failed, failed),
        ("repeated_titles", "", repeated, total),
    ]
    for transition in between_sections:
        shares.append(("transition_share", transition.name, transition.count, total))
    records = []
    for metric, task, hits, trials in shares:
        if trials:
            fields = wilson_fields(hits, trials)
            records.append(beside(record, metric, task=task, **fields, signature=COUNTED))
    return records


def wilson_fields(hits: float, trials: float) -> dict[str, Any]:
    """The fields of a record for the share hits / trials, with Wilson's interval."""
    low, high = wilson(hits, trials)
    return {"value": hits / trials, "low": low, "high": high, "units": int(trials)}


def table_12(inputs: ReportInputs) -> Table:
    """The most common improbable transitions of each system, in % of all between its sections."""
    cells: list[Cell] = []
    for record in inputs.select(LATENT):
        # 1. A column for each of its most common failures, and for each kind of them.
        failures = [step for step in transitions(record, ends=False) if step.failed]
        failures.sort(key=lambda step: (-step.count, step.name))
        columns: dict[str, dict[str, str]] = {}
        for failure in failures[:TOP_ERRORS]:
            columns[failure.name] = {"metric": "transition_share", "task": failure.name}
        for label, metric in SHARES.items():
            columns[label] = {"metric": metric}
        # 2. Which the table shows as rows.
        where: dict[str, Any] = {"critic": "section_order"}
        for name in (*SYSTEM, "seed"):
            where[name] = getattr(record, name)
        for cell in inputs.pivot(columns, "table_12", where=where, factor=100):
            row = f"{cell.row}: {cell.column}"
            cells.append(replace(cell, row=row, column="frequency, %"))
    note = (
        f"a transition fails where the critic's probability is below {FAILURE_PROBABILITY}; "
        f"{COUNTED}"
    )
    return Table(
        "Table 12. Section transition errors, % of transitions between sections",
        cells,
        [*inputs.notes, note],
    )


Edge = tuple[str, str]  # earlier and later title


def figure_4(inputs: ReportInputs) -> Figure:
    """A matrix of P(z_m | z_{m-1}) of a model minus that of real text, for the commonest titles.

    Improbable transitions that the model makes likelier are framed. The paper draws a graph of the
    same numbers. The end of a text counts among what may follow a title.

    Raises:
        BadInput: the choice is not one model.
    """
    model = inputs.select(LATENT).one()
    real_steps = transitions(inputs.select(LATENT, system="data", titles=None).one())
    model_steps = transitions(model)
    # 1. The titles that both visit most often, and the differences between them.
    visits: Counter[str] = Counter()
    probability: dict[Edge, float] = {}
    for step in (*real_steps, *model_steps):
        visits[step.later] += step.count
        probability[step.earlier, step.later] = step.probability
    titles = sorted(visits.keys() - {BEGIN, END}, key=lambda title: (-visits[title], title))
    common = titles[:TOP_TITLES]
    cells: dict[Edge, Cell] = {}
    for earlier, later in sorted(probability):
        if earlier in common and later in common:
            cells[earlier, later] = _difference((earlier, later), real_steps, model_steps)
    # 2. Those that the model makes likelier than the critic does are framed.
    differences = {edge: cell.value or 0.0 for edge, cell in cells.items()}
    edges = sorted(cells, key=lambda edge: (-abs(differences[edge]), edge))
    framed = []
    for edge in edges:
        if probability[edge] < RED and differences[edge] >= SHOWN_DIFFERENCE:
            framed.append(edge)
    num_repeated = sum(earlier == later for earlier, later in framed)
    shown_titles = sorted({title for edge in edges for title in edge})
    caption = (
        f"Figure 4. Section transitions of {inputs.labels(model, *SYSTEM)} "
        "less those of real text, "
        f"{TOP_TITLES} most common titles at most, from row to column; differences of "
        f"{SHOWN_DIFFERENCE} and more as numbers, framed where the model is likelier and the "
        f"critic's probability is below {RED}. Of {len(framed)} framed transitions that the model "
        f"makes likelier by so much, {num_repeated} repeat the title (the paper finds mostly "
        "repetitions). Intervals in the CSV count transitions as independent."
    )
    size = 2.0 + 0.35 * len(shown_titles)  # inches
    return Figure(
        caption,
        [cells[edge] for edge in edges],
        lambda canvas: _draw_matrix(canvas, shown_titles, differences, edges, framed),
        (size + 0.7, size),
    )


def _difference(edge: Edge, real: Sequence[Transition], model: Sequence[Transition]) -> Cell:
    """A cell with the difference of a transition's share, the model's minus real text's.

    Its interval is Newcombe's (1998) from two of Wilson's; its units are the visits of the earlier
    title, on the side that has fewer.
    """
    p, p_low, p_high, real_visits = _share(edge, real)
    q, q_low, q_high, model_visits = _share(edge, model)
    low = q - p - math.hypot(q - q_low, p_high - p)
    high = q - p + math.hypot(q_high - q, p - p_low)
    num_visits = min(real_visits, model_visits)
    name = " → ".join(edge)
    return Cell(name, COLUMN, q - p, low, high, num_visits, signature="Newcombe 1998")


def _share(edge: Edge, steps: Sequence[Transition]) -> tuple[float, float, float, int]:
    """The share of visits of an edge's earlier title that the later one follows.

    Returns:
        The share, the ends of its interval, and the number of visits.
    """
    earlier, later = edge
    hits = trials = 0
    for step in steps:
        if step.earlier == earlier:
            trials += step.count
            if step.later == later:
                hits += step.count
    if not trials:  # never visited: nothing is known of the share
        return 0.0, 0.0, 1.0, 0
    return hits / trials, *wilson(hits, trials), trials


def _draw_matrix(
    canvas: Any,
    titles: Sequence[str],
    differences: Mapping[Edge, float],
    edges: Sequence[Edge],
    framed: Sequence[Edge],
) -> None:
    """Draw differences as colours, the larger ones as numbers too.

    Args:
        canvas: of the figure.
        titles: of rows and columns.
        differences: by earlier and later title.
        edges: those that have a difference.
        framed: those that get a frame.
    """
    from matplotlib.patches import Rectangle

    # 1. The matrix.
    axes = canvas.add_subplot()
    values = []
    for row in titles:
        values.append([differences.get((row, column), math.nan) for column in titles])
    limit = max(map(abs, differences.values()), default=1.0) or 1.0
    shown = axes.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit)
    axes.set_xticks(range(len(titles)), titles, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(titles)), titles)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    # 2. Frames and numbers.
    for edge in edges:
        y, x = map(titles.index, edge)
        if edge in framed:
            look: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 1.4}
            axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, **look))
        if abs(differences[edge]) >= SHOWN_DIFFERENCE:
            colour = "white" if abs(differences[edge]) > 0.6 * limit else "black"
            text = f"{differences[edge]:+.2f}".replace("0.", ".")
            axes.text(x, y, text, size=7, ha="center", va="center", color=colour)
    canvas.colorbar(shown, ax=axes, shrink=0.7, label=COLUMN)


def article_page(inputs: ReportInputs, caption: str, kind: str) -> Files:
    """The page of the most improbable article of a kind, with its bad transitions marked.

    Figure 1 and Table 13.

    Args:
        inputs: the records; they select one model.
        caption: of the page.
        kind: "worst" or "repeating".

    Raises:
        BadInput: the texts that the scores were read from are not there.
    """
    record = inputs.select(LATENT).one()
    articles = record.details[kind]
    if not articles:
        return section_page(inputs.name, caption, "no such article in this set", [])
    # 1. Its text.
    article = articles[0]
    unit = article["unit"]
    folder = generated_folder(inputs.data, record)
    document = next((text for text in texts_in(folder) if text.id == unit), None)
    if document is None:
        raise BadInput(
            f"{folder / 'documents.jsonl'} has no document {unit!r}; "
            "generate the texts that the scores were read from"
        )
    # 2. Its sections, and its end unless the text was cut at a limit of length.
    titles = list(article["titles"])
    texts = [section.text for section in document.sections]
    if len(article["log_probs"]) > len(titles):
        titles.append(END)
        texts.append("")
    # 3. How probable each is, and what is likeliest in its place.
    likeliest = record.details["likeliest"]
    sections = []
    before = BEGIN
    for title, text, log_prob in zip(titles, texts, article["log_probs"], strict=True):
        sections.append((title, text, math.exp(log_prob), likeliest[before]))
        before = title
    return section_page(inputs.name, caption, unit, sections)
