"""Section transitions of deng2022, from details of the section critic's records: Tables 12 and 13, Figures 1 and 4."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from experiments.deng2022.report.pages import section_page
from experiments.deng2022.report.sections import LATENT, generated_folder, texts_in
from longform.errors import BadInput
from longform.results import Record
from longform.statistics.intervals import wilson
from longform.statistics.markov_chain import BEGIN, END, FAILURE_PROBABILITY
from longform.tables import Cell, Figure, Files, Table
from longform_lab.reporting.pivot import SYSTEM, Given, beside

RED = 0.05  # Figure 4 marks transitions with P_c below this; Table 12's threshold is another
TOP_TITLES = 20  # Figure 4
TOP_ERRORS = 5  # Table 12
SHOWN_DIFFERENCE = (
    0.05  # ours: smaller differences are not written into the figure, though the CSV has them
)
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
    """How often one title followed another, and the critic's probability of that."""

    earlier: str
    later: str
    count: int
    probability: float

    @property
    def failed(self) -> bool:
        return self.probability < FAILURE_PROBABILITY

    @property
    def name(self) -> str:
        return f"{self.earlier} → {self.later}"


def transitions(record: Record, ends: bool = True) -> list[Transition]:
    """The transitions that a record of the section critic lists, or without ``ends`` those that lie between two sections."""
    found = [
        Transition(a, b, int(n), float(p)) for a, b, n, p in record.details.get("transitions", [])
    ]
    return [t for t in found if ends or (t.earlier != BEGIN and t.later != END)]


def share_records(record: Record) -> list[Record]:
    """The shares of Table 12 as records: of each kind of failure, and of each transition between two sections (``task``)."""
    inner = transitions(record, ends=False)
    failed = [t for t in inner if t.failed]
    total, wrong = _sum(inner), _sum(failed)
    counts = {
        ("transition_failures", ""): (wrong, total),
        ("transition_failures_with_ends", ""): (wrong, _sum(transitions(record))),
        ("repeated_failures", ""): (_sum(t for t in failed if t.earlier == t.later), wrong),
        ("repeated_titles", ""): (_sum(t for t in inner if t.earlier == t.later), total),
        **{("transition_share", t.name): (t.count, total) for t in inner},
    }
    return [
        beside(record, metric, task=task, **wilson_fields(hits, trials), signature=COUNTED)
        for (metric, task), (hits, trials) in counts.items()
        if trials
    ]


def _sum(found: Iterable[Transition]) -> int:
    return sum(t.count for t in found)


def wilson_fields(hits: float, trials: float) -> dict[str, Any]:
    """A share as the fields of a record, with Wilson's interval."""
    low, high = wilson(hits, trials)
    return {"value": hits / trials, "low": low, "high": high, "units": int(trials)}


def table_12(given: Given) -> Table:
    """The most common improbable transitions of each system, in % of its transitions between sections."""
    cells: list[Cell] = []
    for record in given.select(LATENT):
        own = {
            **{name: getattr(record, name) for name in (*SYSTEM, "seed")},
            "critic": "section_order",
        }
        failed = [t for t in transitions(record, ends=False) if t.failed]
        names = [t.name for t in sorted(failed, key=lambda t: (-t.count, t.name))[:TOP_ERRORS]]
        columns = {name: {"metric": "transition_share", "task": name} for name in names}
        columns |= {label: {"metric": metric} for label, metric in SHARES.items()}
        made = given.pivot(columns, "table_12", where=own, factor=100)
        cells += [replace(c, row=f"{c.row}: {c.column}", column="frequency, %") for c in made]
    note = f"a transition fails where the critic's probability is below {FAILURE_PROBABILITY}; {COUNTED}"
    return Table(
        "Table 12. Section transition errors, % of transitions between sections",
        cells,
        [*given.notes, note],
    )


def figure_4(given: Given) -> Figure:
    """P(z_m | z_{m-1}) of a model less that of real text, on the most common titles, improbable ones framed.

    The paper draws a graph; the same numbers stand here in a matrix. A title's end counts among what may follow it. Intervals are
    Newcombe's (1998) from two of Wilson's; units are visits of the earlier title. Raises BadInput: the choice is not one model.
    """
    model = given.select(LATENT).one()
    sides = [
        transitions(given.select(LATENT, system="data", titles=None).one()),
        transitions(model),
    ]
    visits: Counter[str] = Counter()
    for t in (t for side in sides for t in side):
        visits[t.later] += t.count
    common = sorted(set(visits) - {BEGIN, END}, key=lambda title: (-visits[title], title))[
        :TOP_TITLES
    ]
    probability = {(t.earlier, t.later): t.probability for side in sides for t in side}
    cells: dict[tuple[str, str], Cell] = {}
    for a, b in sorted(probability):
        if a in common and b in common:
            after = [[t for t in side if t.earlier == a] for side in sides]
            trials = [_sum(side) for side in after]
            hits = [_sum(t for t in side if t.later == b) for side in after]
            (p, p_low, p_high), (q, q_low, q_high) = (
                (k / n, *wilson(k, n)) if n else (0.0, 0.0, 1.0)
                for k, n in zip(hits, trials, strict=True)
            )
            low, high = (
                q - p - math.hypot(q - q_low, p_high - p),
                q - p + math.hypot(q_high - q, p - p_low),
            )
            cells[a, b] = Cell(
                f"{a} → {b}", COLUMN, q - p, low, high, min(trials), signature="Newcombe 1998"
            )
    differences = {edge: c.value or 0.0 for edge, c in cells.items()}
    edges = sorted(cells, key=lambda edge: (-abs(differences[edge]), edge))
    framed = [
        edge for edge in edges if probability[edge] < RED and differences[edge] >= SHOWN_DIFFERENCE
    ]
    titles = sorted({title for edge in edges for title in edge})

    def draw(canvas: Any) -> None:
        from matplotlib.patches import Rectangle

        axes = canvas.add_subplot()
        values = [[differences.get((a, b), math.nan) for b in titles] for a in titles]
        limit = max((abs(difference) for difference in differences.values()), default=1.0) or 1.0
        shown = axes.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit)
        axes.set_xticks(range(len(titles)), titles, rotation=60, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(titles)), titles)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        for edge in edges:
            y, x = (titles.index(title) for title in edge)
            if edge in framed:
                look: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 1.4}
                axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, **look))
            if abs(differences[edge]) >= SHOWN_DIFFERENCE:
                colour = "white" if abs(differences[edge]) > 0.6 * limit else "black"
                text = f"{differences[edge]:+.2f}".replace("0.", ".")
                axes.text(x, y, text, size=7, ha="center", va="center", color=colour)
        canvas.colorbar(shown, ax=axes, shrink=0.7, label=COLUMN)

    caption = (
        f"Figure 4. Section transitions of {given.labels(model, *SYSTEM)} less those of real text, {TOP_TITLES} most common "
        f"titles at most, from row to column; differences of {SHOWN_DIFFERENCE} and more as numbers, framed where the model is likelier "
        f"and the critic's probability is below {RED}. Of {len(framed)} framed transitions that the model makes likelier by so much, "
        f"{sum(a == b for a, b in framed)} repeat the title (the paper finds mostly repetitions). Intervals in the CSV "
        "count transitions as independent."
    )
    size = 2.2 + 0.42 * len(titles)
    return Figure(caption, [cells[edge] for edge in edges], draw, (size + 0.9, size))


def article_page(given: Given, caption: str, kind: str) -> Files:
    """The most improbable article of a kind, ``worst`` or ``repeating``, its bad transitions marked (Figure 1, Table 13)."""
    record = given.select(LATENT).one()
    found = record.details[kind]
    if not found:
        return section_page(given.name, caption, "no such article in this set", [])
    entry, likeliest = found[0], record.details["likeliest"]
    folder, unit = generated_folder(given.data, record), entry["unit"]
    document = next((one for one in texts_in(folder) if one.id == unit), None)
    if document is None:
        told = f"{folder / 'documents.jsonl'} has no document {unit!r}"
        raise BadInput(f"{told}; generate the texts that the scores were read from")
    titles, texts = list(entry["titles"]), [section.text for section in document.sections]
    if len(entry["log_probs"]) > len(
        titles
    ):  # a text that was cut at a limit of length has no end to show
        titles.append(END)
        texts.append("")
    before_each = [BEGIN, *titles[:-1]]
    steps = zip(titles, texts, entry["log_probs"], before_each, strict=True)
    sections = [
        (title, text, math.exp(log), likeliest[before]) for title, text, log, before in steps
    ]
    return section_page(given.name, caption, unit, sections)
