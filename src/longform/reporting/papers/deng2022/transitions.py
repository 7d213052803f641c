"""Section transitions of deng2022: Tables 12 and 13, the errors of Figure 4, the marked article of Figure 1.

They are read from the details of the section critic's records: how often each transition was made, how probable the critic
finds it, and the most improbable articles of the set.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput
from longform.core.markov_chain import BEGIN, END, FAILURE_PROBABILITY
from longform.core.results import Record
from longform.evaluation.measurements import wilson
from longform.reporting.papers.deng2022.pages import MarkedSection, SectionPage
from longform.reporting.papers.deng2022.sections import LATENT, generated_folder
from longform.reporting.pivot import SYSTEM, Given
from longform.reporting.table import Cell, Figure, Table

RED = 0.05  # Figure 4 marks transitions with P_c below this; Table 12's threshold is another
TOP_TITLES = 20  # Figure 4
TOP_ERRORS = 5  # Table 12
SHOWN_DIFFERENCE = 0.05  # ours: smaller differences are not written into the figure, though the CSV has them
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
    def inner(self) -> bool:
        """Whether it lies between two sections."""
        return self.earlier != BEGIN and self.later != END

    @property
    def name(self) -> str:
        """As Table 12 writes it."""
        return f"{self.earlier} → {self.later}"


def transitions(record: Record) -> list[Transition]:
    """The transitions that a record of the section critic lists."""
    return [Transition(a, b, int(n), float(p)) for a, b, n, p in record.details.get("transitions", [])]


def share_records(record: Record) -> list[Record]:
    """The shares of Table 12 as records: of each kind of failure, and of each transition between two sections (``task``)."""
    found = transitions(record)
    inner = [t for t in found if t.inner]
    failed = [t for t in inner if t.probability < FAILURE_PROBABILITY]
    total, wrong = _sum(inner), _sum(failed)
    counts = {
        ("transition_failures", ""): (wrong, total),
        ("transition_failures_with_ends", ""): (wrong, _sum(found)),
        ("repeated_failures", ""): (_sum(t for t in failed if t.earlier == t.later), wrong),
        ("repeated_titles", ""): (_sum(t for t in inner if t.earlier == t.later), total),
        **{("transition_share", t.name): (t.count, total) for t in inner},
    }
    return [
        replace(blank(record), metric=metric, task=task, **wilson_fields(hits, trials), signature=COUNTED)
        for (metric, task), (hits, trials) in counts.items()
        if trials
    ]


def _sum(found: Iterable[Transition]) -> int:
    return sum(t.count for t in found)


def blank(record: Record) -> Record:
    """A record of the same system, seed and critic that measures nothing yet."""
    kept = ("critic", "metric", "corpus", "system", "titles", "seed")
    return Record(**{name: getattr(record, name) for name in kept})


def wilson_fields(hits: float, trials: float) -> dict[str, Any]:
    """A share as the fields of a record, with Wilson's interval."""
    low, high = wilson(hits, trials)
    return {"value": hits / trials, "low": low, "high": high, "units": int(trials)}


def table_12(given: Given) -> Table:
    """The most common improbable transitions of each system, in % of its transitions between sections."""
    cells: list[Cell] = []
    for record in given.select(LATENT):
        own = {**{name: getattr(record, name) for name in (*SYSTEM, "seed")}, "critic": "section_order"}
        failed = [t for t in transitions(record) if t.inner and t.probability < FAILURE_PROBABILITY]
        names = [t.name for t in sorted(failed, key=lambda t: (-t.count, t.name))[:TOP_ERRORS]]
        columns = {name: {"metric": "transition_share", "task": name} for name in names}
        columns |= {label: {"metric": metric} for label, metric in SHARES.items()}
        made = given.pivot(columns, "table_12", where=own, factor=100)
        cells += [replace(c, row=f"{c.row}: {c.column}", column="frequency, %") for c in made]
    note = f"a transition fails where the critic's probability is below {FAILURE_PROBABILITY}; {COUNTED}"
    return given.table("Table 12. Section transition errors, % of transitions between sections", cells, after=[note])


@dataclass(frozen=True)
class Edge:
    """How much likelier a model makes a transition than real text, with a 95 % interval; whether the critic objects.

    ``units`` are the visits of the earlier title on the side that has fewer.
    """

    earlier: str
    later: str
    difference: float
    low: float
    high: float
    red: bool
    units: int

    @property
    def name(self) -> str:
        return f"{self.earlier} → {self.later}"


def figure_4(given: Given) -> Figure:
    """P(z_m | z_{m-1}) of a model less that of real text, on the most common titles, improbable ones framed.

    The paper draws a graph; the same numbers stand here in a matrix, where no label hides another.

    Raises BadInput: the exhibit's choice is not one model.
    """
    model = given.select(LATENT).one()
    real = given.select(LATENT, system="data", titles=None).one()
    edges = _edges(transitions(real), transitions(model))
    cells = [
        Cell(e.name, "P model - P data", e.difference, e.low, e.high, e.units, signature="Newcombe 1998") for e in edges
    ]
    red = [e for e in edges if e.red and e.difference >= SHOWN_DIFFERENCE]
    caption = (
        f"Figure 4. Section transitions of {given.labels(model, *SYSTEM)} less those of real text, {TOP_TITLES} most common "
        f"titles at most, from row to column; differences of {SHOWN_DIFFERENCE} and more as numbers, framed where the model is likelier "
        f"and the critic's probability is below {RED}. Of {len(red)} framed transitions that the model makes likelier by so much, "
        f"{sum(e.earlier == e.later for e in red)} repeat the title (the paper finds mostly repetitions). Intervals in the CSV "
        "count transitions as independent."
    )
    size = 2.2 + 0.42 * len({e.earlier for e in edges} | {e.later for e in edges})
    return Figure(caption, cells, lambda canvas: _matrix(canvas, edges), (size + 0.9, size))


def _edges(data: Sequence[Transition], model: Sequence[Transition]) -> list[Edge]:
    """Edges between the common titles, largest difference first; a title's end counts among what may follow it."""
    visits: Counter[str] = Counter()
    for t in (*data, *model):
        visits[t.later] += t.count
    common = sorted(set(visits) - {BEGIN, END}, key=lambda title: (-visits[title], title))[:TOP_TITLES]
    probability = {(t.earlier, t.later): t.probability for t in (*data, *model)}
    edges = [
        _edge(a, b, _hits(data, a, b), _hits(model, a, b), p)
        for (a, b), p in sorted(probability.items())
        if a in common and b in common
    ]
    return sorted(edges, key=lambda e: (-abs(e.difference), e.earlier, e.later))


def _hits(found: Sequence[Transition], earlier: str, later: str) -> tuple[int, int]:
    after = [t for t in found if t.earlier == earlier]
    return sum(t.count for t in after if t.later == later), sum(t.count for t in after)


def _edge(a: str, b: str, data: tuple[int, int], model: tuple[int, int], probability: float) -> Edge:
    """Difference of two shares with Newcombe's (1998) interval from the two Wilson intervals; an unseen title has 0/0."""
    (p, p_low, p_high), (q, q_low, q_high) = (
        (hits / trials, *wilson(hits, trials)) if trials else (0.0, 0.0, 1.0) for hits, trials in (data, model)
    )
    low = q - p - math.hypot(q - q_low, p_high - p)
    high = q - p + math.hypot(q_high - q, p - p_low)
    return Edge(a, b, q - p, low, high, probability < RED, min(data[1], model[1]))


def _matrix(canvas: Any, edges: Sequence[Edge]) -> None:
    from matplotlib.patches import Rectangle

    titles = sorted({title for e in edges for title in (e.earlier, e.later)})
    place = {title: i for i, title in enumerate(titles)}
    axes = canvas.add_subplot()
    values = [[math.nan] * len(titles) for _ in titles]
    for e in edges:
        values[place[e.earlier]][place[e.later]] = e.difference
    limit = max((abs(e.difference) for e in edges), default=1.0) or 1.0
    shown = axes.imshow(values, cmap="PuOr_r", vmin=-limit, vmax=limit)
    axes.set_xticks(range(len(titles)), titles, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(titles)), titles)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for e in edges:
        x, y = place[e.later], place[e.earlier]
        if e.red and e.difference >= SHOWN_DIFFERENCE:
            axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.4))
        if abs(e.difference) >= SHOWN_DIFFERENCE:
            colour = "white" if abs(e.difference) > 0.6 * limit else "black"
            axes.text(x, y, f"{e.difference:+.2f}".replace("0.", "."), size=7, ha="center", va="center", color=colour)
    canvas.colorbar(shown, ax=axes, shrink=0.7, label="P model - P data")


def article_page(given: Given, caption: str, kind: str) -> SectionPage:
    """The most improbable article of a kind, ``worst`` or ``repeating``, its bad transitions marked (Figure 1, Table 13)."""
    record = given.select(LATENT).one()
    found = record.details[kind]
    if not found:
        return SectionPage(caption, "no such article in this set", ())
    entry, likeliest = found[0], record.details["likeliest"]
    sections = _texts(generated_folder(given.data, record) / "documents.jsonl", entry["unit"])
    before = [BEGIN, *entry["titles"]]
    steps = zip([*entry["titles"], END], [*sections, ""], entry["log_probs"], before, strict=True)
    rows = [
        MarkedSection(title, text, math.exp(log), likeliest[earlier], math.exp(log) < FAILURE_PROBABILITY)
        for title, text, log, earlier in steps
    ]
    return SectionPage(caption, entry["unit"], rows)


def _texts(path: Path, unit: str) -> list[str]:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; generate the texts that the scores were read from")
    for document in read_documents(path):
        if document.id == unit:
            return [section.text for section in document.sections]
    raise BadInput(f"{path} has no document {unit!r}; generate the texts that the scores were read from")
