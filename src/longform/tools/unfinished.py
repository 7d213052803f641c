"""Unfinished work in a user's folder: taken up by the same run, removed by another."""

import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from longform.files.artefacts import read_json, write_json
from longform.version import __version__

UNFINISHED = ".unfinished"  # below the folder of a run
MARK = "run.json"


def fingerprint(parts: Iterable[Any]) -> str:
    """A hash that changes with every part of a run, and with the package's version.

    Args:
        parts: what the result depends on, as JSON has it.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(__version__).encode())
    for part in parts:
        digest.update(json.dumps(part, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def unfinished_folder(folder: Path, run: str) -> Path:
    """The folder of unfinished work; emptied where it is that of another run.

    Args:
        folder: of the run.
        run: its :func:`fingerprint`.
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
