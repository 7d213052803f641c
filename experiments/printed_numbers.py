"""For each printed number of the five papers, the target and the cell that is compared with it: ``experiments/printed_numbers.csv``.

``PYTHONPATH=src python experiments/printed_numbers.py`` after ``make rehearse``: a target has a number where its rehearsal compared one of
ours with it (Table 1 of deng2022: where the run in git did). A number with a cell that the stand-ins give no value, say a chain of
mentions that they do not have, belongs to the target that draws its table. The exit status is 1 where a number has neither a target nor
a reason.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rehearse import COMPARED, PREFIX, SIZES

from longform.files.artefacts import read_yaml
from longform.files.opening import rows as table_rows
from longform.tables import write_rows
from longform_lab.reporting.claims import stands_in
from longform_lab.reporting.printed import INCOMPARABLE, LOST, read_expected
from longform_lab.scale_overrides import key_of_scale, parameters

ROOT = Path(__file__).parents[1]
PLACE = Path("experiments") / "printed_numbers.csv"
COLUMNS = ("paper", "table", "number", "printed", "target", "cell", "compared")
OWN_RUN = (
    "table_1"  # the scale of deng2022's Table 1, which needs no files of anybody's and was run
)
TARGET = COLUMNS.index("target")
MEASURED = "measured there, not compared"
REHEARSED, RUN, DRAWN = (
    "in the rehearsal",
    "in its run",
    "where its texts have it; the stand-ins do not",
)


def command(scale: str) -> str:
    """What makes a target."""
    return f"make paper PAPER={scale.removeprefix('paper_')}"


def ledgers(rehearsal: Path) -> Iterator[tuple[str, str, list[dict[str, str]]]]:
    """Of each target: its command, how it compares, and the lines of its ledger."""
    places = [(command(scale), REHEARSED, rehearsal / f"{PREFIX}{scale}") for scale in SIZES]
    places.append((f"make scale SCALE={OWN_RUN}", RUN, ROOT / "experiments" / "scales" / OWN_RUN))
    for made_by, how, folder in places:
        yield (
            made_by,
            how,
            table_rows(
                folder / "paper_figures" / "ledger" / "ledger.csv", ("paper", "table", "number")
            ),
        )


def drawn() -> dict[tuple[str, str], str]:
    """The first target that draws a table, by paper and the table's name without leading zeros."""
    found: dict[tuple[str, str], str] = {}
    for scale in SIZES:
        files = parameters(scale, ROOT)
        for target in key_of_scale(scale, ROOT, "targets", []):
            if report := re.fullmatch(r"report_([a-z]+\d+)_(\w+)", target):
                place = f"experiments/{report[1]}/params.yaml"
                reports: Any = (files.get(place) or read_yaml(ROOT / place))["reports"]
                for exhibit in reports[report[2]]["exhibits"]:
                    found.setdefault((report[1], exhibit), command(scale))
    return found


def replaced(experiments: Path) -> dict[tuple[str, str, str], str]:
    """Why a printed number that is measured is not compared: an instrument of ours stands in the place of the paper's."""
    found = {}
    for path in sorted(experiments.glob("*/expected.yaml")):
        expected = read_expected(path.parent, "paper")
        for number in expected.numbers:
            if instrument := stands_in(number.where or {}, expected.instruments):
                found[expected.paper, number.table, number.name] = instrument.why
    return found


def set_apart(rows: Iterable[list[str]], experiments: Path) -> list[list[str]]:
    """The rows; those that have a target but another instrument than the paper's say so instead of how they are compared."""
    reasons = replaced(experiments)
    made = []
    for row in rows:
        why = reasons.get((row[0], row[1], row[2]), "")
        made.append([*row[:-1], f"{MEASURED}: {why}"] if why and row[TARGET] else row)
    return made


def numbered(line: Mapping[str, str]) -> tuple[str, str, str]:
    """Which printed number a line of a ledger is about."""
    return line["paper"], line["table"], line["number"]


def rows(rehearsal: Path) -> list[list[str]]:
    """A row for each printed number."""
    own, tables, made = list(ledgers(rehearsal)), drawn(), []
    by_number = [
        (made_by, way, {numbered(line): line for line in lines}) for made_by, way, lines in own
    ]
    reasons = replaced(ROOT / "experiments")
    for line in own[0][2]:
        key = numbered(line)
        target, how = "", ""
        for made_by, way, lines in by_number:
            same = lines.get(key)
            if same is None:  # a run's ledger in git holds what it measured
                continue
            by_another = same["verdict"] == INCOMPARABLE and key in reasons and same["ours"]
            if (same["verdict"] in COMPARED or by_another) and not target:
                target, how, line = made_by, way, same
        if not target and line["verdict"] == LOST:
            how = LOST
        elif not target and line["cause"]:
            how = f"by none: {line['cause']}"
        elif not target and line["record"]:
            target = tables.get((line["paper"], re.sub(r"_0+", "_", line["table"])), "")
            how = DRAWN if target else ""
        made.append([*key, line["printed"], target, line["record"], how])
    return set_apart(made, ROOT / "experiments")


def main() -> int:
    """Write the table and say what is blank."""
    rehearsal = (
        ROOT / "scratch" / "rehearsal" / "tree" / "scales"
        if len(sys.argv) < 2
        else Path(sys.argv[1])
    )
    made = rows(rehearsal)
    write_rows(ROOT / PLACE, COLUMNS, made)
    blank = [row for row in made if not row[-1]]
    for row in blank:
        print(f"no target and no reason: {' '.join(row[:3])}")
    for how, count in Counter(row[-1] for row in made if not row[-1].startswith("by none")).items():
        print(f"{count} {how}")
    print(
        f"{sum(row[-1].startswith('by none') for row in made)} by none, with the reason; {len(made)} in all"
    )
    return bool(blank)


if __name__ == "__main__":
    sys.exit(main())
