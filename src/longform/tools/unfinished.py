"""Unfinished work in a user's folder: taken up by the same run, removed by another."""

import shutil
from pathlib import Path

from longform.files.artefacts import read_json, write_json

UNFINISHED = ".unfinished"  # below the folder of a run
MARK = "run.json"


def unfinished_folder(folder: Path, run: str) -> Path:
    """The folder of unfinished work; emptied where it is that of another run.

    Args:
        folder: of the run.
        run: its :func:`longform.files.fingerprints.fingerprint`.
    """
    unfinished = folder / UNFINISHED
    mark = unfinished / MARK
    if mark.is_file() and read_json(mark) != {"fingerprint": run}:
        shutil.rmtree(unfinished)
    write_json(mark, {"fingerprint": run})
    return unfinished


def forget_unfinished(folder: Path) -> None:
    """Remove the unfinished work when all of it is done."""
    shutil.rmtree(folder / UNFINISHED)
