"""Unfinished work in a user's folder: taken up by the same run, removed by another."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from longform.datasets.text_sources import split_column
from longform.errors import InputError
from longform.files.artefacts import read_json, write_json

UNFINISHED = ".unfinished"  # below the folder of a run
MARK = "run.json"


def check_folder(folder: Path) -> None:
    """Make a folder. Raises InputError: none can be made or written there."""
    try:
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            raise InputError(f"{folder}: {existing} is no folder to write in; name another folder")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # a name that is too long, or a file system that takes no folder
        raise InputError(
            f"{folder}: no folder can be made there ({error.strerror}); name another folder"
        ) from error


def refuse_overwriting(outputs: Iterable[Path], sources: Iterable[str | Path]) -> None:
    """Check that no file that is read would be overwritten.

    Raises InputError: one would.

    Args:
        outputs: files that will be written.
        sources: what is read, as the person named it: PATH, PATH:COLUMN, NAME=PATH.
    """
    written_over = {path.resolve() for path in outputs if path.is_file()}
    for source in sources:
        for name in (str(source), str(source).partition("=")[2]):
            path, _ = split_column(name)
            if name and path.resolve() in written_over:
                raise InputError(
                    f"--out: {path} is read, and would be overwritten; name another place"
                )


def unfinished_folder(folder: Path, run: str) -> Path:
    """The folder of unfinished work; emptied where it is that of another run.

    Args:
        folder: of the run.
        run: its :func:`longform.files.fingerprints.fingerprint`.

    Raises InputError: no folder can be made or written there.
    """
    check_folder(folder)
    unfinished = folder / UNFINISHED
    mark = unfinished / MARK
    if mark.is_file() and read_json(mark) != {"fingerprint": run}:
        shutil.rmtree(unfinished)
    write_json(mark, {"fingerprint": run})
    return unfinished


def forget_unfinished(folder: Path) -> None:
    """Remove the unfinished work when all of it is done."""
    shutil.rmtree(folder / UNFINISHED)
