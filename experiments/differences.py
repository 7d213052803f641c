"""What a run changed: its numbers and verdicts beside the last commit's, ``python experiments/differences.py [FOLDER]``.

Reads ``data/scores`` and the ledger's claims of the working tree and of HEAD, or of another checkout (a run of other code, or on another
machine), writes ``data/differences.md``, never fails.
"""

import csv
import io
import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from longform.files.artefacts import atomic_write
from longform.results import NAMES

SCORES, CLAIMS, PAGE = "data/scores", "paper_figures/ledger/claims.csv", "data/differences.md"
IDENTITY = NAMES[: NAMES.index("seed") + 1]  # the fields that say what a record is a number of
BORDERLINE = "borderline"
COUNTS = ("equal", "within 1e-9", "differing", "outside the committed interval", "new", "gone")


def committed(folder: Path) -> dict[str, str]:
    """Results of HEAD: path -> text; empty outside git, and where HEAD holds none."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, check=True, encoding="utf-8"
        ).stdout

    try:
        listed = git("ls-tree", "-r", "-z", "--name-only", "HEAD", SCORES, CLAIMS).split("\0")
        return {
            path: git("show", f"HEAD:./{path}")
            for path in listed
            if path.endswith(".json") or path == CLAIMS
        }
    except (OSError, subprocess.CalledProcessError):
        return {}


def made(folder: Path) -> dict[str, str]:
    """The same of the working tree."""
    files = [*(folder / SCORES).rglob("*.json"), folder / CLAIMS]
    return {
        f.relative_to(folder).as_posix(): f.read_text(encoding="utf-8")
        for f in files
        if f.is_file()
    }


def compared(old: str, new: str) -> tuple[Counter[str], float]:
    """How many records of two files are what of ``COUNTS``, and the largest relative difference of a value.

    Records that share their identity are matched in the order of the files.
    """
    sides: dict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for side, text in enumerate((old, new)):
        for record in json.loads(text):
            sides[tuple(record.get(name) for name in IDENTITY)][side].append(record)
    counts, largest = Counter[str](), 0.0
    for before, after in (pair for found in sides.values() for pair in zip_longest(*found)):
        if before is None or after is None:
            counts["new" if before is None else "gone"] += 1
            continue
        counts[
            "equal" if before == after else "within 1e-9" if close(before, after) else "differing"
        ] += 1
        numbers = before.get("value"), before.get("low"), before.get("high"), after.get("value")
        value, low, high, now = (
            math.nan if number is None else float(number) for number in numbers
        )
        if not close(value, now):
            finite = math.isfinite(now - value)
            largest = max(
                largest, abs(now - value) / max(abs(now), abs(value)) if finite else math.inf
            )
            counts["outside the committed interval"] += now < low or now > high
    return counts, largest


def close(old: Any, new: Any) -> bool:
    """Whether two values are equal but for the rounding of numbers."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(close(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(close, old, new))
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12) or (
            math.isnan(old) and math.isnan(new)
        )
    return bool(old == new)


def verdicts(text: str) -> dict[str, tuple[str, bool]]:
    """Of claims as a whole, whose ``row`` is empty: ``paper claim`` -> verdict, and whether it is borderline."""
    found = {}
    for line in csv.DictReader(io.StringIO(text, newline="")):
        if not line["row"]:
            found[f"{line['paper']} {line['claim']}"] = (
                line["verdict"],
                bool(line.get("borderline")),
            )
    return found


def turned_verdicts(old: str, new: str) -> tuple[list[str], int]:
    """What is told of each verdict that differs between two files of claims, and how many claims there are."""
    sides = verdicts(old), verdicts(new)
    told = []
    names = list(sides[0] | sides[1])
    for name in names:
        (before, hair), (after, hair_now) = (side.get(name, ("no claim", False)) for side in sides)
        if before != after:
            told.append(
                f"{name}: {before} -> {after}" + (f" ({BORDERLINE})" if hair or hair_now else "")
            )
    return told, len(names)


def told(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """What differs, the most important first, and a table by file."""
    turned, claims = turned_verdicts(old.get(CLAIMS, ""), new.get(CLAIMS, ""))
    files = {
        path: compared(old.get(path, "[]"), new.get(path, "[]"))
        for path in sorted({*old, *new} - {CLAIMS})
    }
    total = sum((counts for counts, _ in files.values()), Counter[str]())
    counted = ", ".join(f"{total[name]} {name}" for name in COUNTS)
    if not turned and not total.keys() - {"equal", "within 1e-9"}:
        return [f"the same as the committed run; records: {counted}; verdicts: {claims}"], []
    largest = max((most for _, most in files.values()), default=0.0)
    table = [
        f"| file | {' | '.join(COUNTS)} | largest relative difference |",
        "|---" * (len(COUNTS) + 2) + "|",
    ]
    for path, (counts, most) in files.items():
        table.append(
            f"| {path} | {' | '.join(str(counts[name]) for name in COUNTS)} | {most:.2g} |"
        )
    lines = [f"records: {counted}; largest relative difference: {largest:.2g}"]
    lines.append(f"verdicts that differ: {len(turned)} of {claims}")
    if any(line.endswith(f"({BORDERLINE})") for line in turned):
        lines[-1] += (
            f"; {BORDERLINE}: a 90 % or a 99 % interval says otherwise, so that a processor's last bits may decide"
        )
    return [*lines, *turned], table


def main(folder: Path = Path(), other: Path | None = None) -> int:
    """Write the page and print how it begins."""
    old = committed(folder) if other is None else made(other)
    table: list[str] = []
    lines = [f"no {'committed ' if other is None else ''}results to compare this run with"]
    try:
        if old:
            lines, table = told(old, made(folder))
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        lines = [f"cannot compare this run with the committed one: {type(error).__name__}: {error}"]
    with atomic_write(folder / PAGE) as partial:
        page = [
            "# This run beside the committed one",
            "",
            *(f"- {line}" for line in lines),
            "",
            *table,
        ]
        partial.write_text("\n".join(page).rstrip() + "\n", encoding="utf-8")
    print("\n".join([*lines[:9], *([f"all of it: {PAGE}"] if table else [])]))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(), *map(Path, sys.argv[1:2])))
