"""Tables of "Is Incoherence Surprising?" (Beyer, Loaiciga, Schlangen 2021), numbered as printed, with what it left open.

Score rows are named ``suites-<system>``, systems in the order of the row (for sizes: rising). Every cell is a share of
items with Wilson's interval; its p-value is McNemar's against the system that the score row names as ``real``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longform.critics.surprisal.score import mcnemar
from longform.datasets.test_suites.sources import CONNECTIVES
from longform.evaluation.intervals import wilson
from longform.reporting.beyer2021_claims import CHANCE, pooled
from longform.reporting.layout import Cell, Figure, Table
from longform.reporting.ledger import judge_number

Records = Mapping[str, Mapping[str, Any]]
COLUMNS = {
    "table_1": ("N_all", "N_context", "D_all", "D_context"),
    "table_2": ("story_cloze", "winograd_full", "winograd_partial"),
    "table_5": ("speaker_commitment",),
}
ACROSS = 4  # panels in a row of the size sweep
COUNTS = ("items", "correct", "gained", "lost")


def table_1(*, scores: Records, expected: Mapping[str, Any], published: Mapping[str, str] | None = None) -> Table:
    """Sentence order: all units shuffled, or all but the last; narration (N) and dialogue (D)."""
    return _table("Table 1. Sentence order", COLUMNS["table_1"], scores, expected["table_1"], published)


def table_2(*, scores: Records, expected: Mapping[str, Any], published: Mapping[str, str] | None = None) -> Table:
    """Story cloze and Winograd schemas."""
    return _table(
        "Table 2. Story cloze and Winograd schemas", COLUMNS["table_2"], scores, expected["table_2"], published
    )


def table_3(*, scores: Records, expected: Mapping[str, Any], published: Mapping[str, str] | None = None) -> Table:
    """Entity re-mention, by genre."""
    names = sorted(
        {name for record in scores.values() for name in suite_names(record) if name.startswith("coreference_")}
    )
    columns = list(dict.fromkeys([*names, *(f"coreference_{genre}" for genre in expected["table_3"]["columns"])]))
    note = "about 0.5 is what the paper's hypothesis predicts here: it is no failure"
    return _table("Table 3. Entity re-mention", columns, scores, expected["table_3"], published, [note])


def table_4(*, scores: Records, expected: Mapping[str, Any], published: Mapping[str, str] | None = None) -> Table:
    """Explicit connectives: a row for each connective and sense, a column for each system and replacement."""
    cells = [
        cell
        for system, record in _systems(scores)
        for cell in _connective_cells(system, record, expected["table_4"], published or {})
    ]
    rows = sorted({cell.row for cell in cells})
    ordered = [cell for row in rows for cell in cells if cell.row == row]
    few = sorted({cell.row for cell in ordered if (cell.units or 0) < 30 and cell.value is not None})
    notes = [f"fewer than 30 items in {len(few)} of {len(rows)} rows: read their intervals"] if few else []
    return Table(
        "Table 4. Explicit connectives: share of items in which another connective costs more",
        ordered,
        notes + _meaning(scores),
    )


def table_5(*, scores: Records, expected: Mapping[str, Any], published: Mapping[str, str] | None = None) -> Table:
    """Speaker commitment; for models without a sign for a change of speaker both conditions are one text, so nothing can hold."""
    note = "meaningful only for models that have met the sign for a change of speaker in training"
    return _table("Table 5. Speaker commitment", COLUMNS["table_5"], scores, expected["table_5"], published, [note])


def other_suites(*, scores: Records, expected: Mapping[str, Any]) -> Table:
    """Suites beyond the paper: order in other languages, and whatever SyntaxGym files the run read."""
    inside = {name for columns in COLUMNS.values() for name in columns}
    every = dict.fromkeys(name for record in scores.values() for name in suite_names(record))
    columns = [name for name in every if name not in inside and not name.startswith(("coreference_", "connective_"))]
    cells = [_cell(system, name, record, name) for system, record in _systems(scores) for name in columns]
    return Table("Suites beyond the paper", cells, _meaning(scores))


def size_sweep(*, scores: Records, expected: Mapping[str, Any]) -> Figure:
    """Accuracy of every phenomenon over the systems of the row, which the paper left to future work."""
    groups = {phenomenon(name) for record in scores.values() for name in suite_names(record)}
    cells = [_pooled(system, group, record) for group in sorted(groups) for system, record in _systems(scores)]
    systems = [system for system, _ in _systems(scores)]

    rows = -(-len(groups) // ACROSS)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(rows, ACROSS, sharex=True, sharey=True, squeeze=False).ravel()
        for group, axes in zip(sorted(groups), panels, strict=False):
            _line(axes, systems, [cell for cell in cells if cell.column == group and cell.value is not None])
            axes.axhline(CHANCE, color="0.6", linewidth=0.8, linestyle=":")
            axes.set_title(group.replace("_", " "), fontsize=8)
            axes.set_xticks(range(len(systems)), systems, rotation=60, fontsize=7)
            axes.set_ylim(0, 1.03)
        for axes in panels[len(groups) :]:
            axes.set_axis_off()
        canvas.supylabel("share of items", fontsize=8)

    caption = "Accuracy of each phenomenon by model, with Wilson intervals; dotted: chance."
    return Figure(caption, cells, draw, (7.5, 1.1 + 1.5 * rows))


def region_surprisal(*, scores: Records, expected: Mapping[str, Any], suites: Sequence[str]) -> Figure:
    """Mean bits a token in each region of each condition: the plots of the paper's repository, for the named suites."""
    cells = [
        cell for system, record in _systems(scores) for name in suites for cell in _region_cells(system, record, name)
    ]
    systems = [system for system, _ in _systems(scores)]

    def draw(canvas: Any) -> None:
        grid = canvas.subplots(len(suites), len(systems), squeeze=False)
        for row, name in enumerate(suites):
            for column, system in enumerate(systems):
                chosen = [cell for cell in cells if cell.row == f"{system}: {name}"]
                _bars(grid[row][column], chosen)
                grid[row][column].set_title(f"{name}, {system}", fontsize=7)

    return Figure(
        "Mean surprisal in bits a token, by region and condition.",
        cells,
        draw,
        (2.4 * len(systems) + 1, 2.0 * len(suites) + 0.5),
    )


def suite_names(record: Mapping[str, Any]) -> list[str]:
    """The suites that a score record counts."""
    return list(record["details"])


def phenomenon(name: str) -> str:
    """What a suite tests: its name without genre, connective or language."""
    for start, group in (("connective_", "connectives"), ("coreference_", "re-mention")):
        if name.startswith(start):
            return group
    return name


def _systems(scores: Records) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, record in scores.items():
        yield name.split("-")[1], record


def _table(
    caption: str,
    columns: Sequence[str],
    scores: Records,
    printed: Mapping[str, Any],
    published: Mapping[str, str] | None,
    notes: Sequence[str] = (),
) -> Table:
    """Systems by suites, and beneath them the printed rows."""
    mapping = published or {}
    short = [name.removeprefix("coreference_") for name in columns]
    cells = []
    for system, record in _systems(scores):
        paper = dict(zip(printed["columns"], printed.get(mapping.get(system, ""), []), strict=False))
        cells += [
            _cell(system, label, record, name, paper.get(label)) for name, label in zip(columns, short, strict=True)
        ]
    for key in ("gpt2", "dialogpt"):
        row = dict(zip(printed["columns"], printed.get(key) or [], strict=False))
        if key not in mapping.values():
            cells += [_printed(key, label, row[label]) for label in short if row.get(label) is not None]
    return Table(
        f"{caption}: share of items whose prediction holds, Wilson intervals", cells, [*notes, *_meaning(scores)]
    )


def _printed(key: str, column: str, value: float) -> Cell:
    name = {"gpt2": "GPT-2 117M (printed)", "dialogpt": "DialoGPT 345M (printed)"}[key]
    return Cell(
        name,
        column,
        None,
        printed=value,
        verdict="not runnable here",
        why="needs the pretrained weights and the licensed corpora",
    )


def _cell(row: str, column: str, record: Mapping[str, Any], suite: str, printed: float | None = None) -> Cell:
    """One suite of one system; a suite that the run lacks is an empty cell."""
    if suite not in record["details"]:
        return Cell(row, column, None, why="no such suite in this run")
    counts = [record["details"][suite]["counts"][name] for name in COUNTS]
    return _share(row, column, counts, record["signature"], printed)


def _share(row: str, column: str, counts: Sequence[float], signature: str, printed: float | None = None) -> Cell:
    """A share with Wilson's interval and McNemar's test, from the four counts of ``COUNTS``."""
    items, correct, gained, lost = counts
    low, high = wilson(correct, items)
    value = correct / items
    p_value = mcnemar(gained, lost) if gained or lost else None
    verdict = judge_number(printed, value, low, high) if printed is not None else ""
    return Cell(row, column, value, low, high, int(items), 0, p_value, printed, verdict, "", signature)


def _pooled(system: str, group: str, record: Mapping[str, Any]) -> Cell:
    """All suites of one phenomenon together; the interval counts texts (see :mod:`longform.reporting.beyer2021_claims`)."""
    share = pooled(record, lambda name: phenomenon(name) == group)
    if share is None:
        return Cell(system, group, None, why="no such suite in this run")
    low, high = share.interval
    return Cell(system, group, share.value, low, high, int(share.items), 0, signature=record["signature"])


def _connective_cells(
    system: str, record: Mapping[str, Any], printed: Mapping[str, Any], published: Mapping[str, str]
) -> Iterator[Cell]:
    for name in suite_names(record):
        if not name.startswith("connective_"):
            continue
        row, other = name.removeprefix("connective_").rsplit("_as_", 1)
        papers = (printed["rows"].get(row) or {}).get(published.get(system, ""))
        paper = papers[printed["columns"].index(other)] if papers and other in CONNECTIVES else None
        yield _cell(row, f"{system}: {other}", record, name, paper)


def _meaning(scores: Records) -> list[str]:
    """Which systems are above chance where, and what the p-values compare."""
    notes = [
        f"p-values: McNemar's exact test against the system that each score row compares with ({_references(scores)})"
    ]
    for system, record in _systems(scores):
        groups = sorted({phenomenon(name) for name in suite_names(record)})
        above = [group for group in groups if (_pooled(system, group, record).low or 0.0) > CHANCE]
        notes.append(f"{system}: above chance (interval over {CHANCE}) in {', '.join(above) if above else 'nothing'}")
    return notes


def _references(scores: Records) -> str:
    pairs = [f"{system}: {record['inputs']['real']}" for system, record in _systems(scores) if "inputs" in record]
    return "; ".join(pairs) if pairs else "none"


def _region_cells(system: str, record: Mapping[str, Any], suite: str) -> Iterator[Cell]:
    for condition, regions in record.get("details", {}).get(suite, {}).get("token_bits", {}).items():
        for number, bits in regions.items():
            yield Cell(f"{system}: {suite}", f"{condition}, region {number}", bits, signature="bits a token")


def _line(axes: Any, systems: Sequence[str], cells: Sequence[Cell]) -> None:
    places = [systems.index(cell.row) for cell in cells]
    values = [cell.value for cell in cells]
    below = [max(cell.value - cell.low, 0.0) for cell in cells]  # type: ignore[operator]  # rounding at shares of 0 and 1
    above = [max(cell.high - cell.value, 0.0) for cell in cells]  # type: ignore[operator]
    axes.errorbar(
        places,
        values,
        yerr=[below, above],
        marker="o",
        markersize=3,
        linewidth=1,
        color="black",
        capsize=2,
    )


def _bars(axes: Any, cells: Sequence[Cell]) -> None:
    places = sorted({cell.column.split(", region ")[1] for cell in cells})
    conditions = list(dict.fromkeys(cell.column.split(", region ")[0] for cell in cells))
    for index, condition in enumerate(conditions):
        found = {
            cell.column.split(", region ")[1]: cell.value for cell in cells if cell.column.startswith(f"{condition}, ")
        }
        offsets = [places.index(place) + 0.4 * index for place in found]
        axes.bar(offsets, list(found.values()), width=0.38, label=condition)
    axes.set_xticks([place + 0.2 for place in range(len(places))], [f"region {place}" for place in places], fontsize=6)
    axes.set_ylim(0, 1.25 * max((cell.value or 0.0 for cell in cells), default=1.0))  # room for the legend
    axes.legend(fontsize=5, ncols=2, loc="upper center")
