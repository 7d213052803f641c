"""What ``criticize`` shows of several systems.

Tables of scores, ranks and pairs, one figure, one page.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from pathlib import Path
from textwrap import wrap
from typing import Any

from longform import __version__
from longform.criticize.cost import duration
from longform.criticize.report import (
    BETTER,
    FEW,
    MAKER,
    RESULT_COLUMNS,
    SIGNIFICANT,
    beside_band,
    check,
    draws_lines,
    few_real_lines,
    half_width,
    html_figure,
    html_list,
    html_page,
    keep_results_so_far,
    reason_lines,
    result_row,
    row_name,
    set_aside_lines,
    write_record,
)
from longform.criticize.systems import (
    REAL,
    CriticOnSystems,
    Plan,
    SystemResult,
    SystemsCriticism,
    record_of,
)
from longform.errors import counted
from longform.files.artefacts import atomic_write
from longform.statistics.estimates import Estimate
from longform.tables import TEXT_COLOURS, markdown_table, save_drawing, short, write_rows

WIDTH = 6.5  # inches, of the figure
LONGEST_NAME = 60  # ours: letters in a line of the legend
MARK_WIDTH, LETTER_WIDTH = 0.5, 0.07  # inches, in the legend
MARKS = "os^D"  # of systems
MORE_PAIRS = 40  # ours: most pairs that a table shows; the CSV beside it has all
Rows = list[list[Any]]
NOT_KNOWN = "not known: real texts do not vary"
PAIR_COLUMNS = ("critic", "first", "second", "difference", "low", "high", "p", "p_corrected")
PLAN_NOTE = (
    "under each system: the smallest difference from real text that one test at .05 sees with a "
    "power of .8, if its texts vary as real ones do"
)


def tables(criticism: SystemsCriticism) -> list[tuple[str, Rows]]:
    """(caption, rows) of each table: scores, p-values, ranks, and pairs if some differ.

    In all tables the first row is the header.
    """
    captioned = [
        (
            "Scores with 95 % intervals; * differs from real text (p < .05, corrected)",
            scores(criticism),
        ),
        ("P-values of the difference from real text, in brackets corrected", p_values(criticism)),
        ("Ranks among the systems with 95 % intervals, 1 the best", ranks(criticism)),
    ]
    differing = pairs(criticism)
    if len(differing) > 1:  # the first row is the header
        captioned.append(("Systems that differ (p < .05, corrected)", differing))
    return captioned


def scores(criticism: SystemsCriticism) -> Rows:
    """A row for each critic: scores of real text and systems, smallest detectable difference."""
    rows = [["critic", "real text", *criticism.systems, "smallest detectable difference"]]
    for critic in criticism.results:
        cells = [_with_interval(critic.real)]
        for system in criticism.systems:
            result = critic.systems[system]
            star = " *" if result.corrected_p < SIGNIFICANT else ""
            cells.append(_with_interval(result.estimate) + star)
        smallest = _detectable(result.detectable for result in critic.systems.values())
        name = row_name(critic.panel, len(criticism.real.documents))
        rows.append([name, *cells, smallest])
    for name, _ in criticism.failed:
        rows.append([name, "failed, see below", *[""] * (len(criticism.systems) + 1)])
    return rows


def _detectable(differences: Iterable[float]) -> str:
    """The largest of the smallest detectable differences; nan is none that is known."""
    finite = [difference for difference in differences if not math.isnan(difference)]
    return short(max(finite)) if finite else NOT_KNOWN


def p_values(criticism: SystemsCriticism) -> Rows:
    """A row for each critic: every system's p-value against real text, and the corrected one."""
    rows = [["critic", *criticism.systems]]
    for critic in criticism.results:
        cells = []
        for name in criticism.systems:
            result = critic.systems[name]
            cells.append(f"{result.difference.p_value:.4f} ({result.corrected_p:.4f})")
        rows.append([critic.panel.name, *cells])
    return rows


def ranks(criticism: SystemsCriticism) -> Rows:
    """A row for each critic: every system's rank."""
    rows = [["critic", *criticism.systems]]
    for critic in criticism.results:
        cells = []
        for name in criticism.systems:
            rank = critic.systems[name].rank
            cells.append(f"{rank.value:g} [{rank.low:g}, {rank.high:g}]")
        rows.append([critic.panel.name, *cells])
    return rows


def pairs(criticism: SystemsCriticism) -> Rows:
    """A row for each critic and pair of systems that differ."""
    rows = [["critic", "systems", "difference", "p", "p, corrected"]]
    for critic in criticism.results:
        for pair in critic.pairs:
            if pair.corrected_p < SIGNIFICANT:
                value = short(pair.difference.difference)
                interval = f"[{short(pair.low)}, {short(pair.high)}]"
                names = f"{pair.first} minus {pair.second}"
                both = [f"{pair.difference.p_value:.4f}", f"{pair.corrected_p:.4f}"]
                rows.append([critic.panel.name, names, f"{value} {interval}", *both])
    return rows


def plan_rows(plans: Sequence[Plan], systems: Sequence[str]) -> Rows:
    """A row for each critic: time, real text's score, smallest detectable difference."""
    rows = [["critic", "time on one core", "real text", *systems]]
    for plan in plans:
        if plan.reason:
            time = duration(plan.seconds) if plan.seconds else "left out"
            rows.append([plan.name, time, plan.reason, *[""] * len(systems)])
        else:
            seen = [_detectable([plan.detectable[name]]) for name in systems]
            rows.append([plan.name, duration(plan.seconds), short(plan.real), *seen])
    return rows


def _with_interval(estimate: Estimate) -> str:
    """A value with its interval, such as ``1.2 [1, 1.5], 3 left out``."""
    interval = "(one text)"
    if estimate.units > 1:
        interval = f"[{short(estimate.low)}, {short(estimate.high)}]"
    left_out = f", {estimate.excluded} left out" if estimate.excluded else ""
    return f"{short(estimate.value)} {interval}{left_out}"


def notes(criticism: SystemsCriticism) -> list[str]:
    """The notes below the tables, a line each."""
    # 1. How texts are compared.
    sides = {REAL: criticism.real, **criticism.systems}
    num_texts = []
    counts = []
    for name, texts in sides.items():
        num_texts.append(len(texts.documents))
        counts.append(f"{name} {len(texts.documents)}")
    lines = [
        f"texts: {', '.join(counts)}; a critic that learns is taught by half of the real texts and "
        "compares the others, several halvings over",
        "all sides are cut to the same lengths: each text to the shortest text of its rank",
        "ranks are those of the scores, equal scores share the mean of their places; their "
        "intervals are not corrected for the number of systems and critics: whether two systems "
        "differ is read from the corrected p-values of pairs; a rank "
        "follows distance from real text's score where a critic has no better side; "
        "p-values are permutation tests, corrected for all critics and systems (Holm)",
        "the smallest detectable difference is what one test at .05 sees in 80 of 100 comparisons",
    ]
    lines += _pairing(criticism)
    lines += _same_texts(criticism)
    for name, texts in criticism.systems.items():
        lines += draws_lines(name, texts)
    if min(num_texts[0] // 2, *num_texts) < FEW:  # half of the real texts teach
        lines.append(
            f"fewer than {FEW} texts on a side (half of the real ones teach): "
            "small differences cannot be seen"
        )
    num_differing = len(pairs(criticism)) - 1  # without the header
    if criticism.results and len(criticism.systems) > 1 and not num_differing:
        lines.append("no critic finds a difference between two systems (p < .05, corrected)")
    if num_differing > MORE_PAIRS:
        others = num_differing - MORE_PAIRS
        lines.append(f"{counted(others, 'more pair differs', 'more pairs differ')}: pairs.csv")
    # 2. What each critic asks.
    for result in criticism.results:
        panel = result.panel
        lines.append(f"{panel.name} ({BETTER[panel.critic.better]}): {panel.question}")
    critics = [result.panel for result in criticism.results]
    lines += few_real_lines(critics, num_texts[0])
    # 3. What is not compared.
    lines += reason_lines("failed", criticism.failed)
    lines += reason_lines("left out", criticism.left_out)
    for name, texts in sides.items():
        lines += set_aside_lines(name, texts)
    return lines


def _pairing(criticism: SystemsCriticism) -> list[str]:
    """A note on paired texts: of how many prompts, or that there is nothing to pair."""
    if not criticism.paired:
        return []
    if len(criticism.systems) == 1:
        (name,) = criticism.systems
        return [
            f"paired: {name} is the only system, so none of its texts has a partner; they are "
            "compared with real texts as texts of other prompts"
        ]
    num_prompts = len(next(iter(criticism.systems.values())).documents)
    return [
        f"paired: {counted(num_prompts, 'prompt')}, of which every system has a text: texts of one "
        "prompt are compared with each other"
    ]


def _same_texts(criticism: SystemsCriticism) -> list[str]:
    """A note for each two systems that have the same texts, word for word."""
    lines = []
    for first, second in combinations(criticism.systems, 2):
        texts = []
        for name in (first, second):
            texts.append(sorted(one.text for one in criticism.systems[name].documents))
        if texts[0] == texts[1]:
            lines.append(
                f"{first} and {second} have the same texts: their numbers differ by chance alone"
            )
    return lines


def markdown(criticism: SystemsCriticism) -> str:
    """All tables as Markdown, the notes below the last."""
    captioned = tables(criticism)
    parts = []
    for number, (caption, rows) in enumerate(captioned, 1):
        header, *shown = _shown(rows)
        below = notes(criticism) if number == len(captioned) else []
        parts.append(markdown_table(caption, header, shown, below))
    return "\n".join(parts)


def plan_markdown(plans: Sequence[Plan], systems: Sequence[str]) -> str:
    """The plan as a table."""
    header, *rows = plan_rows(plans, systems)
    return markdown_table("Before the work", header, rows, [PLAN_NOTE])


def _shown(rows: Rows) -> Rows:
    """The header and the first ``MORE_PAIRS`` rows."""
    return rows[: MORE_PAIRS + 1]


def save(criticism: SystemsCriticism, folder: Path | str) -> Path:
    """Write the report; the folder is replaced as a whole when everything is written.

    It holds ``index.html`` with all tables and one figure; ``results`` as .md, .csv, .json and
    .png; and ``pairs.csv``.

    Returns:
        The path of ``index.html``.

    Raises:
        InputError: the folder holds files that no report wrote, or cannot be written.
    """
    folder = Path(folder)
    check(folder)
    with atomic_write(folder.resolve()) as partial:
        partial.mkdir()
        if criticism.results:
            height = 1.05 + 0.15 * _legend(list(criticism.systems)).lines
            size = (WIDTH, height + 0.45 * len(criticism.results))  # inches
            save_drawing((_drawing(criticism), size), partial / "results")
            write_rows(partial / "results.csv", RESULT_COLUMNS, _result_rows(criticism))
        (partial / "results.md").write_text(markdown(criticism), encoding="utf-8")
        write_rows(partial / "pairs.csv", PAIR_COLUMNS, _pair_rows(criticism))
        keep_results_so_far(folder, partial)
        (partial / "index.html").write_text(_page(criticism), encoding="utf-8")
        write_record(partial, as_json(criticism))
    return folder / "index.html"


def as_json(criticism: SystemsCriticism) -> dict[str, Any]:
    """The whole comparison as plain data for JSON."""
    critics = []
    for critic in criticism.results:
        head = {
            "name": critic.panel.name,
            "question": critic.panel.question,
            "better": critic.panel.critic.better,
        }
        critics.append({**head, **record_of(critic)})
    set_aside = {REAL: list(criticism.real.set_aside)}
    for name, texts in criticism.systems.items():
        set_aside[name] = list(texts.set_aside)
    return {
        "made_by": MAKER,
        "version": __version__,
        "systems": list(criticism.systems),
        "paired": criticism.paired,
        "critics": critics,
        "left_out": list(criticism.left_out),
        "failed": list(criticism.failed),
        "set_aside": set_aside,
    }


def _pair_rows(criticism: SystemsCriticism) -> Rows:
    """A row for each critic and pair of systems, whether they differ or not."""
    rows = []
    for critic in criticism.results:
        for pair in critic.pairs:
            names = [critic.panel.name, pair.first, pair.second]
            numbers = [pair.difference.difference, pair.low, pair.high]
            rows.append([*names, *numbers, pair.difference.p_value, pair.corrected_p])
    return rows


def _result_rows(criticism: SystemsCriticism) -> Rows:
    """A row for each critic and side, as ``RESULT_COLUMNS`` names its numbers."""
    rows = []
    for critic in criticism.results:
        name = critic.panel.name
        rows.append(result_row(name, REAL, critic.real))
        for system, result in critic.systems.items():
            tests = result.difference.p_value, result.corrected_p
            rows.append(result_row(name, system, result.estimate, *tests))
    return rows


def _drawing(criticism: SystemsCriticism) -> Callable[[Any], None]:
    """A function that draws the figure on a canvas.

    A line for each critic: every system minus real text, in half widths of real text's interval.
    """

    def draw(canvas: Any) -> None:
        """Draw a dot for each system and critic; a row is 1 high."""
        axes = canvas.subplots()
        names = list(criticism.systems)
        # 1. A line for each critic, the first at the top, and the systems below each other on it.
        labels = []
        for row, critic in enumerate(reversed(criticism.results)):
            labels.append(critic.panel.name)
            half = _half_width(critic)
            for number, name in enumerate(names):
                height = row + 0.6 * (0.5 - (number + 0.5) / len(names))
                _draw_system(
                    axes,
                    critic.systems[name],
                    real=critic.real.value,
                    half_width=half,
                    height=height,
                    number=number,
                )
        # 2. The band of real text, and what the marks mean.
        beside_band(axes, labels)
        canvas.supxlabel(
            "system minus real text, in half widths of real text's 95 % interval (grey band)\n"
            "filled: differs from real text (p < .05, corrected)"
        )
        # 3. The legend, from empty plots: matplotlib leaves out labels of plots that begin with an
        # underscore, as a system's name may.
        dots = []
        for number in range(len(names)):
            colour, mark = _look(number)
            dots += axes.plot([], [], mark, color=colour)
        legend = _legend(names)
        canvas.legend(dots, legend.names, loc="outside upper center", ncols=legend.columns)

    return draw


def _draw_system(
    axes: Any, result: SystemResult, real: float, half_width: float, height: float, number: int
) -> None:
    """Draw the interval and the middle of the system of that number.

    On the axis ``real`` (real text's score) is zero and ``half_width`` (of its interval) is 1.
    """
    estimate = result.estimate
    low, middle, high = (
        (value - real) / half_width for value in (estimate.low, estimate.value, estimate.high)
    )
    colour, mark = _look(number)
    face = colour if result.corrected_p < SIGNIFICANT else "white"
    axes.plot([low, high], [height, height], color=colour, linewidth=1.2)
    axes.plot([middle], [height], mark, color=colour, markerfacecolor=face, markersize=4)


def _look(number: int) -> tuple[str, str]:
    """Colour and mark of the system of that number; a mark serves as many as there are colours."""
    round_of_colours, colour = divmod(number, len(TEXT_COLOURS))
    return TEXT_COLOURS[colour], MARKS[round_of_colours % len(MARKS)]


@dataclass(frozen=True)
class Legend:
    """The names of systems above the figure.

    Attributes:
        names: long ones in several lines.
        columns: how many stand side by side.
        lines: of text that they take.
    """

    names: Sequence[str]
    columns: int
    lines: int


def _legend(systems: Sequence[str]) -> Legend:
    """As many columns of names as have room in the figure's width, four at most."""
    names = []
    longest = most_lines = 0
    for system in systems:
        lines = wrap(system, LONGEST_NAME) or [system]
        longest = max(longest, *map(len, lines))
        most_lines = max(most_lines, len(lines))
        names.append("\n".join(lines))
    columns = int(WIDTH / (MARK_WIDTH + LETTER_WIDTH * longest))
    columns = max(1, min(columns, 4, len(names)))
    return Legend(names, columns, most_lines * math.ceil(len(names) / columns))


def _half_width(critic: CriticOnSystems) -> float:
    """Half the width of real text's interval, else of the first system's that is no point."""
    estimates = [critic.real]
    for result in critic.systems.values():
        estimates.append(result.estimate)
    return half_width(critic.real.value, estimates)


def _page(criticism: SystemsCriticism) -> str:
    """The page of a report: figure, tables and notes."""
    questions = {critic.panel.name: critic.panel.question for critic in criticism.results}
    parts = [f"<h1>{counted(len(criticism.systems), 'system')} against real texts</h1>"]
    if criticism.results:
        parts.append(html_figure("each system against real text, by critic"))
    for caption, rows in tables(criticism):
        parts.append(f"<h2>{escape(caption)}</h2>{_html_table(_shown(rows), questions)}")
    parts.append(html_list(notes(criticism)))
    return html_page("longform criticize", "".join(parts))


def _html_table(rows: Rows, questions: Mapping[str, str]) -> str:
    """A table as HTML; the first cell of a row shows its critic's question when it is pointed at.

    Args:
        rows: the first is the header.
        questions: critic's name -> its question.
    """
    header, *body = rows
    lines = ["<tr>"]
    for title in header:
        lines.append(f'<th scope="col">{escape(title)}</th>')
    lines.append("</tr>")
    for first, *others in body:
        question = escape(questions.get(first, ""))
        lines.append(f'<tr><th scope="row" title="{question}">{escape(first)}</th>')
        for value in others:
            lines.append(f"<td>{escape(value)}</td>")
        lines.append("</tr>")
    return f'<div style="overflow-x: auto"><table>{"".join(lines)}</table></div>'
