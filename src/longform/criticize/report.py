"""The folder of a report: written whole or not at all, and never over files that are not a report's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longform import __version__
from longform.core.artefacts import read_json, whole, write_json
from longform.core.documents import BadInput
from longform.criticize.pages import SIGNIFICANT, index, page, table
from longform.reporting.table import Cell, Figure

if TYPE_CHECKING:
    from longform.criticize.judging import Criticism, Judged

RECORD = "results.json"
MAKER = "longform criticize"


def check(folder: Path, inputs: Sequence[Any] = ()) -> None:
    """Refuse, before any work, a folder that a report could not replace.

    Raises:
        BadInput: it is a file, holds files that no report wrote, lies in one of the input folders, or cannot be written.
    """
    try:
        _check(folder, folder.resolve(), [one for one in inputs if isinstance(one, Path) and one.is_dir()])
    except OSError as error:
        raise BadInput(f"--out {folder}: no folder can be written there ({error.strerror}); name another") from error


def _check(folder: Path, place: Path, inputs: Sequence[Path]) -> None:
    for given in inputs:
        if place.is_relative_to(given.resolve()):
            raise BadInput(f"--out {folder}: lies in {given}, whose texts are read; name a folder outside")
    base = next(parent for parent in (place, *place.parents) if parent.exists())
    if not base.is_dir():
        raise BadInput(f"--out {folder}: {base} is a file; name a folder")
    foreign = _foreign(place) if base == place else ""
    if foreign:
        raise BadInput(f"--out {folder}: holds {foreign!r}, which no report wrote; name a new or an empty folder")
    beside = place.parent if place.parent.is_dir() else base  # a report is written beside its place, then moved there
    trials = [beside / f".{place.name}.attempt", *([place / ".attempt"] if base == place else [])]
    for trial in trials:
        trial.mkdir(exist_ok=True)
        trial.rmdir()


def _foreign(folder: Path) -> str:
    """The first file that no report wrote, if there is one; a folder without a report's record may be a large one."""
    own = _own(folder)
    there = _files(folder) if own else {path.name for path in folder.iterdir()}
    return min(there - own, default="")


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def _own(folder: Path) -> set[str]:
    """The files that an earlier report in this folder says it wrote."""
    try:
        record = read_json(folder / RECORD)
    except (BadInput, OSError):
        return set()
    return (
        set(map(str, record.get("files", []))) if isinstance(record, dict) and record.get("made_by") == MAKER else set()
    )


def save(found: Criticism, folder: Path) -> Path:
    """All files, in place of an earlier report's; returns the path of ``index.html``.

    Raises:
        BadInput: as :func:`check`.
    """
    check(folder)
    with whole(folder.resolve()) as partial:
        (partial / "texts").mkdir(parents=True)
        cells = [cell for one in found.judged for cell in _cells(one)]
        if found.judged:
            size = (6.5, 1.0 + 0.45 * len(found.judged))
            Figure("", cells, lambda canvas: _draw(found, canvas), size).save(partial, "results")
        (partial / "results.md").write_text(table(found), encoding="utf-8")
        links = []
        for number, document in enumerate(found.generated.documents, 1):
            name = f"texts/{number:04d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', document.id)[:60]}.html"
            (partial / name).write_text(page(document, found.judged), encoding="utf-8")
            links.append((name, document.id))
        (partial / "index.html").write_text(index(found, links), encoding="utf-8")
        write_json(partial / RECORD, _record(found) | {"files": sorted({*_files(partial), RECORD})})
    return folder / "index.html"


def _record(found: Criticism) -> dict[str, Any]:
    critics = [
        {
            "name": one.panel.name, "question": one.panel.question, "real": asdict(one.real),
            "generated": asdict(one.generated), "comparison": asdict(one.difference), "verdict": one.verdict(found.level),
        }
        for one in found.judged
    ]  # fmt: skip
    return {
        "made_by": MAKER,
        "version": __version__,
        "critics": critics,
        "left_out": [list(pair) for pair in found.left_out],
        "set_aside": {"real": found.real.set_aside, "generated": found.generated.set_aside},
    }


def _cells(one: Judged) -> list[Cell]:
    sides = (("real", one.real, None), ("generated", one.generated, one.difference.p_value))
    return [
        Cell(one.panel.name, side, e.value, e.low, e.high, e.units, e.excluded, p, signature=e.signature)
        for side, e, p in sides
    ]


def _draw(found: Criticism, canvas: Any) -> None:
    """Generated minus real in units of the real interval's half width, one critic a line."""
    axes = canvas.subplots()
    for row, one in enumerate(reversed(found.judged)):
        half = _half(one)
        at, low, high = (
            (v - one.real.value) / half for v in (one.generated.value, one.generated.low, one.generated.high)
        )
        alone, sure = one.difference.p_value < SIGNIFICANT, one.difference.p_value < found.level
        axes.plot([low, high], [row, row], color="black" if alone else "0.6", linewidth=1.5)
        axes.plot([at], [row], "o", color="black" if alone else "0.6", markerfacecolor="black" if sure else "white")
    axes.axvspan(-1, 1, color="0.9", zorder=0)
    axes.set_yticks(range(len(found.judged)), [one.panel.name for one in reversed(found.judged)])
    axes.set_xlabel(
        "generated minus real, in half widths of the real texts' 95 % interval (grey band;\nof the generated texts' where real ones do not vary)"
        f"\nfilled: p < {found.level:.2g} (corrected); black: p < 0.05 alone; grey: no difference"
    )
    axes.set_xscale("symlog", linthresh=1.0)


def _half(one: Judged) -> float:
    """Half the width of the real texts' interval; of the generated texts' where real texts do not differ; or one."""
    widths = [(side.high - side.low) / 2 for side in (one.real, one.generated)]
    return next((width for width in widths if width > 1e-9 * max(1.0, abs(one.real.value))), 1.0)
