"""Compare the numbers and verdicts of a run with those of the last commit.

``python experiments/differences.py [FOLDER]`` reads ``data/scores`` and the ledger's claims of the
working tree and of HEAD, or of another checkout (a run of other code, or on another machine),
and writes ``data/differences.md``. A file that cannot be read as results is an error that the page
names; the exit status is 0 all the same, so that a run goes on.
"""

import csv
import io
import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from longform.errors import InputError
from longform.files.artefacts import atomic_write
from longform.results import NAMES

SCORES, CLAIMS, PAGE = "data/scores", "paper_figures/ledger/claims.csv", "data/differences.md"
IDENTITY = NAMES[: NAMES.index("seed") + 1]  # the fields that say what a record's value measures
NUMBERS = ("value", "low", "high")
BORDERLINE = "borderline"
EQUAL, CLOSE, DIFFERING = "equal", "within 1e-9", "differing"
OUTSIDE, NEW, GONE = "outside the committed interval", "new", "gone"
# The columns of counts. Each record is of one of these; records outside are among the differing.
COUNTS = (EQUAL, CLOSE, DIFFERING, OUTSIDE, NEW, GONE)
BORDERLINE_NOTE = (
    f"; {BORDERLINE}: a 90 % or a 99 % interval says otherwise, so that a processor's last bits may"
    " decide"
)

Files = Mapping[str, str]  # texts of result files by their paths
Record = Mapping[str, Any]


def committed(folder: Path) -> dict[str, str]:
    """The texts of HEAD's result files by path; empty outside git, and where HEAD has none."""
    files = {}
    try:
        paths = _git(folder, "ls-tree", "-r", "-z", "--name-only", "HEAD", SCORES, CLAIMS)
        for path in paths.split("\0"):
            if path.endswith(".json") or path == CLAIMS:
                files[path] = _git(folder, "show", f"HEAD:./{path}")
    except (OSError, subprocess.CalledProcessError):
        return {}
    return files


def _git(folder: Path, *words: str) -> str:
    """Run a git command in a folder and return what it prints."""
    command = ["git", *words]
    process = subprocess.run(command, cwd=folder, capture_output=True, check=True, encoding="utf-8")
    return process.stdout


def made(folder: Path) -> dict[str, str]:
    """The texts of a working tree's result files by path."""
    files = {}
    for path in (*(folder / SCORES).rglob("*.json"), folder / CLAIMS):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
    return files


def compared(old: str, new: str) -> tuple[Counter[str], float]:
    """Compare two files of records.

    Records that share their identity are matched in the order of the files.

    Returns:
        The number of records by ``COUNTS``, and the largest relative difference of a value.
    """
    by_identity: dict[Any, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for side, text in enumerate((old, new)):
        for record in records_in(text):
            identity = tuple(record.get(name) for name in IDENTITY)
            by_identity[identity][side].append(record)
    counts, largest = Counter[str](), 0.0
    for sides in by_identity.values():
        for before, after in zip_longest(*sides):
            counts[change(before, after)] += 1
            if before is not None and after is not None:
                largest = max(largest, relative_difference(before, after))
                counts[OUTSIDE] += is_outside(before, after)
    return counts, largest


def records_in(text: str) -> list[Record]:
    """The records in the text of a result file.

    Raises:
        InputError: the text is not JSON or no list of objects, or a field of ``IDENTITY`` or
            ``NUMBERS`` holds a list or an object.
    """
    try:
        records = json.loads(text)
    except ValueError as error:
        raise InputError(f"not JSON ({error})") from error
    if not isinstance(records, list):
        raise InputError("not a list of records")
    for record in records:
        if not isinstance(record, dict):
            raise InputError(f"{record!r} is no record")
        for name in (*IDENTITY, *NUMBERS):
            if isinstance(record.get(name), dict | list):
                raise InputError(f"the {name} of a record is {record[name]!r}")
    return records


def change(before: Record | None, after: Record | None) -> str:
    """How a record changed: one of ``COUNTS``, but never ``OUTSIDE``. None: a side lacks it."""
    if before is None:
        return NEW
    if after is None:
        return GONE
    if before == after:
        return EQUAL
    return CLOSE if close(before, after) else DIFFERING


def number_of(record: Record, name: str) -> float:
    """A numeric field of a record; NaN where it is absent. Raises InputError: it is no number."""
    value = record.get(name)
    try:
        return math.nan if value is None else float(value)
    except ValueError as error:
        raise InputError(f"the {name} of a record is {value!r}, which is no number") from error


def relative_difference(before: Record, after: Record) -> float:
    """The relative difference of two records' values: 0 where they differ by rounding alone.

    It is infinite where one of them has no finite value.
    """
    old, new = number_of(before, "value"), number_of(after, "value")
    if close(old, new):
        return 0.0
    if not math.isfinite(new - old):
        return math.inf
    return abs(new - old) / max(abs(new), abs(old))


def is_outside(before: Record, after: Record) -> bool:
    """Whether a value changed so much that it lies outside the earlier interval."""
    value = number_of(after, "value")
    if close(number_of(before, "value"), value):
        return False
    return value < number_of(before, "low") or value > number_of(before, "high")


def close(old: Any, new: Any) -> bool:
    """Whether two values are equal but for the rounding of numbers."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(close(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(close, old, new))
    if isinstance(old, int | float) and isinstance(new, int | float):
        if math.isnan(old) and math.isnan(new):
            return True
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12)
    return bool(old == new)


@dataclass(frozen=True)
class Verdict:
    """A verdict on a claim, and whether an interval of another level than 95 % changes it."""

    word: str = "no claim"
    is_borderline: bool = False


def verdicts(text: str) -> dict[str, Verdict]:
    """The verdict on each claim of a file of claims, by ``paper claim``.

    A claim has a line of its own, whose column ``row`` is empty; lines with a row are on parts of
    it and left out. The column ``borderline`` is empty or says at which level the verdict turns.

    Args:
        text: of the file; empty where there is none.

    Raises:
        InputError: a column is missing.
    """
    by_claim = {}
    lines = csv.DictReader(io.StringIO(text, newline=""))
    missing = {"paper", "claim", "row", "verdict"} - set(lines.fieldnames or ())
    if text and missing:
        raise InputError(f"{CLAIMS}: no column {sorted(missing)}")
    for line in lines:
        if line["row"]:
            continue
        name = f"{line['paper']} {line['claim']}"
        is_borderline = bool(line.get(BORDERLINE))
        by_claim[name] = Verdict(line["verdict"], is_borderline)
    return by_claim


def turned_verdicts(old: str, new: str) -> tuple[list[str], int]:
    """Compare the verdicts in two files of claims.

    Args:
        old, new: the texts of the files.

    Returns:
        A line for each verdict that differs, and the number of claims.
    """
    before, after = verdicts(old), verdicts(new)
    lines = []
    names = list(before | after)
    for name in names:
        old_verdict = before.get(name, Verdict())
        new_verdict = after.get(name, Verdict())
        if old_verdict.word != new_verdict.word:
            is_borderline = old_verdict.is_borderline or new_verdict.is_borderline
            note = f" ({BORDERLINE})" if is_borderline else ""
            lines.append(f"{name}: {old_verdict.word} -> {new_verdict.word}{note}")
    return lines, len(names)


def described(old: Files, new: Files) -> tuple[list[str], list[str]]:
    """Describe the differences between two sets of result files.

    Args:
        old, new: texts of the files by path.

    Returns:
        Lines with the sums and each verdict that differs, and the lines of a table by file (empty
        where nothing differs).

    Raises:
        InputError: a file does not hold results.
    """
    # Records by file, and verdicts.
    comparisons = {}
    for path in sorted({*old, *new} - {CLAIMS}):
        try:
            comparisons[path] = compared(old.get(path, "[]"), new.get(path, "[]"))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    total = Counter[str]()
    largest = 0.0
    for counts, difference in comparisons.values():
        total += counts
        largest = max(largest, difference)
    turned, claims = turned_verdicts(old.get(CLAIMS, ""), new.get(CLAIMS, ""))

    # One line where nothing differs.
    numbers = ", ".join(f"{total[name]} {name}" for name in COUNTS)
    if not turned and not total.keys() - {EQUAL, CLOSE}:
        return [f"the same as the committed run; records: {numbers}; verdicts: {claims}"], []

    # Else the sums, each turned verdict, and the table.
    summary = f"verdicts that differ: {len(turned)} of {claims}"
    if any(line.endswith(f"({BORDERLINE})") for line in turned):
        summary += BORDERLINE_NOTE
    lines = [f"records: {numbers}; largest relative difference: {largest:.2g}", summary, *turned]
    table = [
        f"| file | {' | '.join(COUNTS)} | largest relative difference |",
        "|---" * (len(COUNTS) + 2) + "|",
    ]
    for path, (counts, difference) in comparisons.items():
        cells = " | ".join(str(counts[name]) for name in COUNTS)
        table.append(f"| {path} | {cells} | {difference:.2g} |")
    return lines, table


def main(folder: Path = Path(), other: Path | None = None) -> int:
    """Write the page of differences and print its first lines.

    Args:
        folder: the working tree of the run.
        other: another checkout to compare with; None for HEAD.

    Returns:
        0, also where the results cannot be compared.
    """
    # What differs, or why they cannot be compared.
    old = committed(folder) if other is None else made(other)
    table: list[str] = []
    lines = [f"no {'committed ' if other is None else ''}results to compare this run with"]
    try:
        if old:
            lines, table = described(old, made(folder))
    except (InputError, OSError) as error:
        lines = [f"cannot compare this run with the committed one: {error}"]
    # All of it as a page, and its first lines.
    page = ["# This run beside the committed one", ""]
    page += [f"- {line}" for line in lines]
    page += ["", *table]
    with atomic_write(folder / PAGE) as partial:
        partial.write_text("\n".join(page).rstrip() + "\n", encoding="utf-8")
    print("\n".join(lines[:9]))
    if table:
        print(f"all of it: {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(), *map(Path, sys.argv[1:2])))
