"""For each printed number of the five papers, the target whose run compares a number with it.

``PYTHONPATH=src python experiments/printed_numbers.py`` after ``make rehearse`` writes
``experiments/printed_numbers.csv.xz``. The column ``target`` is the variable of ``make paper`` (of
``make scale`` for Table 1 of deng2022) whose rehearsal compared a number of ours with the printed
one; for that Table 1, whose run in git did. A number with a cell that the stand-ins give no value,
say a chain of mentions that they do not have, belongs to the target that draws its table. The
numbers and their cells stand in ``paper_figures/ledger/ledger.csv``, line for line. The exit status
is 1 where a number has neither a target nor a reason.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rehearse import COMPARED, PREFIX, SIZES

from longform.files.artefacts import read_yaml
from longform.files.opening import rows as table_rows
from longform.tables import write_rows
from longform_lab.reporting.claims import stands_in
from longform_lab.reporting.printed import INCOMPARABLE, LOST, read_expected
from longform_lab.scale_overrides import key_of_scale, parameters
from longform_lab.scale_results import pack

ROOT = Path(__file__).parents[1]
PATH = Path("experiments") / "printed_numbers.csv"  # packed once it is written
COLUMNS = ("paper", "table", "number", "target", "compared")
# The scale of deng2022's Table 1, which needs no files of anybody's and was run.
OWN_RUN = "table_1"
TARGET = COLUMNS.index("target")
MEASURED = "measured there, not compared"
REHEARSED, RUN = "rehearsal", "in its run"
DRAWN = "where its texts have it; the stand-ins do not"
BY_NONE = "by none"

Number = tuple[str, str, str]  # paper, table and name of a printed number


class Target(NamedTuple):
    """A target of make: its variable, words for the column ``compared``, and its run's ledger."""

    command: str
    how: str
    lines: dict[Number, dict[str, str]]


def command(scale: str) -> str:
    """The variable that ``make paper`` takes for a scale of a paper."""
    return f"PAPER={scale.removeprefix('paper_')}"


def targets(rehearsal: Path) -> list[Target]:
    """The targets of all rehearsed scales, then that of the run in git."""
    all_targets = []
    for scale in SIZES:
        lines = ledger(rehearsal / f"{PREFIX}{scale}")
        all_targets.append(Target(command(scale), REHEARSED, lines))
    lines = ledger(ROOT / "experiments" / "scales" / OWN_RUN)
    all_targets.append(Target(f"SCALE={OWN_RUN}", RUN, lines))
    return all_targets


def ledger(folder: Path) -> dict[Number, dict[str, str]]:
    """The lines of a run's ledger by the printed number; that of a scale in git is packed."""
    path = folder / "paper_figures" / "ledger" / "ledger.csv"
    if not path.is_file():
        path = path.with_name("ledger.csv.xz")
    lines = {}
    for line in table_rows(path, ("paper", "table", "number")):
        lines[line["paper"], line["table"], line["number"]] = line
    return lines


def drawing_targets() -> dict[tuple[str, str], str]:
    """The command of the first target that draws a table, by (paper, table).

    Names of tables have no leading zeros.
    """
    commands: dict[tuple[str, str], str] = {}
    for scale in SIZES:
        files = parameters(scale, ROOT)
        for target in key_of_scale(scale, ROOT, "targets", []):
            report = re.fullmatch(r"report_([a-z]+\d+)_(\w+)", target)
            if report is None:
                continue
            paper, name = report.groups()
            path = f"experiments/{paper}/params.yaml"
            settings: Any = files.get(path) or read_yaml(ROOT / path)
            for exhibit in settings["reports"][name]["exhibits"]:
                commands.setdefault((paper, exhibit), command(scale))
    return commands


def replaced(experiments: Path) -> dict[Number, str]:
    """Printed numbers that another instrument than the paper's measures, with the reason for it.

    Args:
        experiments: the folder of all papers.
    """
    reasons = {}
    for path in sorted(experiments.glob("*/expected.yaml")):
        expected = read_expected(path.parent, "paper")
        for number in expected.numbers:
            instrument = stands_in(number.where or {}, expected.instruments)
            if instrument:
                reasons[expected.paper, number.table, number.name] = instrument.why
    return reasons


def set_apart(rows: Iterable[list[str]], experiments: Path) -> list[list[str]]:
    """Mark in the last column the numbers that another instrument than the paper's measures.

    Such a number is not compared. The reason is written in the first row that has it.

    Args:
        rows: paper, table and name of a printed number first; a row without a target stays.
        experiments: the folder of all papers.
    """
    reasons = replaced(experiments)
    shown_reasons: set[str] = set()
    marked = []
    for row in rows:
        paper, table, number, *_ = row
        why = reasons.get((paper, table, number), "")
        if not (why and row[TARGET]):
            marked.append(row)
            continue
        marked.append([*row[:-1], MEASURED if why in shown_reasons else f"{MEASURED}: {why}"])
        shown_reasons.add(why)
    return marked


def rows(rehearsal: Path) -> list[list[str]]:
    """A row for each printed number."""
    every_target, drawing = targets(rehearsal), drawing_targets()
    reasons = replaced(ROOT / "experiments")
    table = []
    for number, first_line in every_target[0].lines.items():
        line, command, how = first_line, "", ""
        # The first target that compares it, or that measures it with another instrument.
        for target in every_target:
            candidate = target.lines.get(number)  # a ledger in git has only what was measured
            if candidate is not None and is_compared(candidate, number in reasons):
                line, command, how = candidate, target.command, target.how
                break
        # Else why there is none, or the target that draws its table.
        else:
            if line["verdict"] == LOST:
                how = LOST
            elif line["cause"]:
                how = f"{BY_NONE}: {line['cause']}"
            elif line["record"]:
                command = drawing.get((line["paper"], re.sub(r"_0+", "_", line["table"])), "")
                how = DRAWN if command else ""
        table.append([*number, command, how])
    return set_apart(table, ROOT / "experiments")


def is_compared(line: Mapping[str, str], has_other_instrument: bool) -> bool:
    """Whether a line of a ledger has a number of ours beside the printed one."""
    if line["verdict"] in COMPARED:
        return True
    return line["verdict"] == INCOMPARABLE and has_other_instrument and bool(line["ours"])


def main() -> int:
    """Write the table and say what is blank."""
    default = ROOT / "scratch" / "rehearsal" / "tree" / "scales"
    rehearsal = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    table = rows(rehearsal)
    write_rows(ROOT / PATH, COLUMNS, table)
    pack(ROOT / PATH)
    # What is blank.
    reasons = [row[-1] for row in table]
    blank = [row for row in table if not row[-1]]
    for row in blank:
        print(f"no target and no reason: {' '.join(row[:3])}")
    # How many are compared how.
    by_none = [reason for reason in reasons if reason.startswith(BY_NONE)]
    for how, count in Counter(reasons).items():
        if not how.startswith(BY_NONE):
            print(f"{count} {how}")
    print(f"{len(by_none)} {BY_NONE}, with the reason; {len(table)} in all")
    return bool(blank)


if __name__ == "__main__":
    sys.exit(main())
