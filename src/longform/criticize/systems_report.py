"""What ``criticize`` shows of several systems: tables of scores, ranks and pairs, one figure, one page."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from longform import __version__
from longform.criticize.cost import duration
from longform.criticize.report import (
    COLOURS,
    FEW,
    MAKER,
    RECORD,
    SIGNIFICANT,
    SO_FAR,
    check,
    files_of,
    html_page,
)
from longform.criticize.systems import (
    REAL,
    CriticOnSystems,
    Plan,
    SystemJudged,
    SystemsCriticism,
    record_of,
)
from longform.files.artefacts import atomic_write, write_json
from longform.statistics.estimates import Estimate
from longform.tables import Cell, Figure, markdown_table, short, write_rows

MORE_PAIRS = 40  # ours: pairs that a table shows; the CSV beside it has all
Rows = list[list[Any]]
PAIR_COLUMNS = ("critic", "first", "second", "difference", "low", "high", "p", "p_corrected")
PLAN_NOTE = (
    "under each system: the smallest difference from real text that one test at .05 sees with a power of .8, if its "
    "texts vary as real ones do"
)


def tables(found: SystemsCriticism) -> list[tuple[str, Rows]]:
    """Every table with its caption: scores, ranks, pairs of systems that differ."""
    return [
        (
            "Scores with 95 % intervals; * differs from real text (p < .05, corrected)",
            scores(found),
        ),
        ("Ranks among the systems with 95 % intervals, 1 the best", ranks(found)),
        ("Systems that differ (p < .05, corrected)", pairs(found)),
    ]


def scores(found: SystemsCriticism) -> Rows:
    """A row for each critic: real text, each system, and the smallest difference that is seen."""
    rows = [["critic", "real text", *found.systems, "smallest difference seen"]]
    for critic in found.judged:
        cells = [_with_interval(critic.real)]
        for name in found.systems:
            judged = critic.systems[name]
            star = " *" if judged.corrected_p < SIGNIFICANT else ""
            cells.append(_with_interval(judged.estimate) + star)
        smallest = max(judged.detectable for judged in critic.systems.values())
        rows.append([critic.panel.name, *cells, short(smallest)])
    for name, _ in found.failed:
        rows.append([name, "failed, see below", *[""] * (len(found.systems) + 1)])
    return rows


def ranks(found: SystemsCriticism) -> Rows:
    """A row for each critic: every system's rank."""
    rows = [["critic", *found.systems]]
    for critic in found.judged:
        cells = []
        for name in found.systems:
            rank = critic.systems[name].rank
            cells.append(f"{rank.value:g} [{rank.low:g}, {rank.high:g}]")
        rows.append([critic.panel.name, *cells])
    return rows


def pairs(found: SystemsCriticism) -> Rows:
    """A row for each critic and pair of systems that differ."""
    rows = [["critic", "systems", "difference", "p, corrected"]]
    for critic in found.judged:
        for pair in critic.pairs:
            if pair.corrected_p < SIGNIFICANT:
                value = short(pair.difference.difference)
                interval = f"[{short(pair.low)}, {short(pair.high)}]"
                names = f"{pair.first} minus {pair.second}"
                p_value = f"{pair.corrected_p:.4f}"
                rows.append([critic.panel.name, names, f"{value} {interval}", p_value])
    return rows


def plan_rows(plans: Sequence[Plan], systems: Sequence[str]) -> Rows:
    """A row for each critic: its time, real text's score, and the smallest difference seen of each system."""
    rows = [["critic", "time on one core", "real text", *systems]]
    for plan in plans:
        if plan.reason:
            time = duration(plan.seconds) if plan.seconds else "left out"
            rows.append([plan.name, time, plan.reason, *[""] * len(systems)])
        else:
            seen = [short(plan.detectable[name]) for name in systems]
            rows.append([plan.name, duration(plan.seconds), short(plan.real), *seen])
    return rows


def _with_interval(estimate: Estimate) -> str:
    interval = f"[{short(estimate.low)}, {short(estimate.high)}]"
    left_out = f", {estimate.excluded} left out" if estimate.excluded else ""
    return f"{short(estimate.value)} {interval if estimate.units > 1 else '(one text)'}{left_out}"


def notes(found: SystemsCriticism) -> list[str]:
    """What a reader must know beside the numbers."""
    sizes = {REAL: len(found.real.documents)}
    sizes |= {name: len(texts.documents) for name, texts in found.systems.items()}
    counts = ", ".join(f"{name} {count}" for name, count in sizes.items())
    lines = [
        f"texts: {counts}; a critic that learns is taught by half of the real texts and compares the "
        "others, several halvings over",
        "all sides are cut to the same lengths: each text to the shortest text of its rank",
        "a rank follows distance from real text's score where a critic has no better side; "
        "p-values are permutation tests, corrected for all critics and systems (Holm)",
        "the smallest difference seen is that of one test at .05 with a power of .8",
    ]
    if found.paired:
        lines.append("paired: texts of one prompt are compared with each other")
    if min(sizes[REAL] // 2, *sizes.values()) < FEW:
        lines.append(f"fewer than {FEW} texts on a side: small differences cannot be seen")
    differing = sum(pair.corrected_p < SIGNIFICANT for one in found.judged for pair in one.pairs)
    if differing > MORE_PAIRS:
        lines.append(f"{differing - MORE_PAIRS} more pairs differ: pairs.csv")
    lines += [f"failed: {name}: {why}" for name, why in found.failed]
    lines += [f"left out: {name}: {why}" for name, why in found.left_out]
    for name, texts in {REAL: found.real, **found.systems}.items():
        lines += [f"set aside ({name}) {place}: {why}" for place, why in texts.set_aside[:20]]
        if len(texts.set_aside) > 20:
            lines.append(f"set aside ({name}): {len(texts.set_aside) - 20} more")
    return lines


def markdown(found: SystemsCriticism) -> str:
    """All tables and notes."""
    captioned = tables(found)
    parts = []
    for place, (caption, rows) in enumerate(captioned, 1):
        shown = _shown(rows)
        below = notes(found) if place == len(captioned) else []
        parts.append(markdown_table(caption, shown[0], shown[1:], below))
    return "\n".join(parts)


def plan_markdown(plans: Sequence[Plan], systems: Sequence[str]) -> str:
    """The plan as a table."""
    header, *rows = plan_rows(plans, systems)
    return markdown_table("Before the work", header, rows, [PLAN_NOTE])


def _shown(rows: Rows) -> Rows:
    return rows[: MORE_PAIRS + 1]


def save(found: SystemsCriticism, folder: Path | str) -> Path:
    """``index.html`` with all tables and one figure; ``results`` as .md, .csv, .json, .png; ``pairs.csv``.

    Raises:
        InputError: the folder holds files that no report wrote, or cannot be written.
    """
    folder = Path(folder)
    check(folder)
    with atomic_write(folder.resolve()) as partial:
        partial.mkdir(parents=True)
        if found.judged:
            size = (6.5, 1.2 + 0.45 * len(found.judged))
            Figure("", _cells(found), _drawing(found), size).save(partial, "results")
        (partial / "results.md").write_text(markdown(found), encoding="utf-8")
        write_rows(partial / "pairs.csv", PAIR_COLUMNS, _pair_rows(found))
        if (folder / SO_FAR).is_file():
            shutil.copyfile(folder / SO_FAR, partial / SO_FAR)
        (partial / "index.html").write_text(_page(found), encoding="utf-8")
        record = as_json(found)
        record["files"] = sorted({*files_of(partial), RECORD})
        write_json(partial / RECORD, record)
    return folder / "index.html"


def as_json(found: SystemsCriticism) -> dict[str, Any]:
    """Everything as plain data."""
    critics = []
    for critic in found.judged:
        head = {"name": critic.panel.name, "question": critic.panel.question}
        critics.append({**head, "better": critic.panel.critic.better, **record_of(critic)})
    aside = {name: list(texts.set_aside) for name, texts in found.systems.items()}
    return {
        "made_by": MAKER,
        "version": __version__,
        "systems": list(found.systems),
        "paired": found.paired,
        "critics": critics,
        "left_out": list(found.left_out),
        "failed": list(found.failed),
        "set_aside": {REAL: list(found.real.set_aside), **aside},
    }


def _pair_rows(found: SystemsCriticism) -> Rows:
    """A row for each critic and pair of systems, whether they differ or not."""
    rows = []
    for critic in found.judged:
        for pair in critic.pairs:
            names = [critic.panel.name, pair.first, pair.second]
            numbers = [pair.difference.difference, pair.low, pair.high]
            rows.append([*names, *numbers, pair.difference.p_value, pair.corrected_p])
    return rows


def _cells(found: SystemsCriticism) -> list[Cell]:
    cells = []
    for critic in found.judged:
        cells.append(_cell(critic, REAL, critic.real, None))
        for name, judged in critic.systems.items():
            cells.append(_cell(critic, name, judged.estimate, judged.difference.p_value))
    return cells


def _cell(critic: CriticOnSystems, name: str, one: Estimate, p_value: float | None) -> Cell:
    numbers = (one.value, one.low, one.high, one.units, one.excluded, p_value)
    return Cell(critic.panel.name, name, *numbers, signature=one.signature)


def _drawing(found: SystemsCriticism) -> Callable[[Any], None]:
    """Each system minus real text in half widths of real text's interval, a line for each critic."""

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        names = list(found.systems)
        for row, critic in enumerate(reversed(found.judged)):
            half = _half_width(critic)
            for number, name in enumerate(names):
                judged = critic.systems[name]
                height = row + 0.6 * (0.5 - (number + 0.5) / len(names))
                colour = COLOURS[number % len(COLOURS)]
                _draw_system(axes, judged, critic.real.value, half, height, colour)
        axes.axvspan(-1, 1, color="0.9", zorder=0)
        labels = [critic.panel.name for critic in reversed(found.judged)]
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xlabel(
            "system minus real text, in half widths of real text's 95 % interval (grey band)\n"
            "filled: differs from real text (p < .05, corrected)"
        )
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_formatter("{x:g}")
        dots = []
        for number in range(len(names)):
            dots += axes.plot([], [], "o", color=COLOURS[number % len(COLOURS)])
        # names beside their dots: as labels of plots those that begin with an underscore are left out
        canvas.legend(dots, names, loc="outside upper center", ncols=min(4, len(names)))

    return draw


def _draw_system(
    axes: Any, judged: SystemJudged, real: float, half: float, height: float, colour: str
) -> None:
    ends = [(judged.estimate.low - real) / half, (judged.estimate.high - real) / half]
    axes.plot(ends, [height, height], color=colour, linewidth=1.2)
    face = colour if judged.corrected_p < SIGNIFICANT else "white"
    axes.plot(
        [(judged.estimate.value - real) / half],
        [height],
        "o",
        color=colour,
        markerfacecolor=face,
        markersize=4,
    )


def _half_width(critic: CriticOnSystems) -> float:
    """Half of real text's interval; of the first system's that varies, where real text does not."""
    estimates = [critic.real, *(judged.estimate for judged in critic.systems.values())]
    for estimate in estimates:
        half = (estimate.high - estimate.low) / 2
        if half > 1e-9 * abs(critic.real.value):
            return half
    return 1.0


def _page(found: SystemsCriticism) -> str:
    questions: Mapping[str, str] = {one.panel.name: one.panel.question for one in found.judged}
    parts = [f"<h1>{len(found.systems)} systems against real texts</h1>"]
    if found.judged:
        parts.append('<img src="results.png" alt="each system against real text, by critic">')
    for caption, rows in tables(found):
        parts.append(f"<h2>{escape(caption)}</h2>{_html_table(_shown(rows), questions)}")
    parts.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in notes(found)) + "</ul>")
    return html_page("longform criticize", "".join(parts))


def _html_table(rows: Rows, questions: Mapping[str, str]) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = []
    for first, *others in rows[1:]:
        question = questions.get(first, "")
        name = f'<th scope="row" title="{escape(question)}">{escape(first)}</th>'
        body.append(f"<tr>{name}{''.join(f'<td>{escape(cell)}</td>' for cell in others)}</tr>")
    return f'<div style="overflow-x: auto"><table><tr>{head}</tr>{"".join(body)}</table></div>'
