"""Checkpoints of unfinished stages: kept outside DVC's outputs, so that a killed run is taken up, never mistaken for another."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longform.artefacts import read_json, write_json
from longform.pipeline.rows import Row

RANKS = ("RANK", "SLURM_PROCID", "LOCAL_RANK")  # torchrun's, Slurm's, and what Lightning gives to those that it starts


def first_process() -> bool:
    """Whether this process is the one that writes; the others of a distributed stage only work."""
    return all(os.environ.get(name, "0") == "0" for name in RANKS)


@contextmanager
def resumable(row: Row, *inputs: Path) -> Iterator[Path]:
    """The row's scratch folder: emptied when settings, code or inputs differ from those it was begun with, gone after success.

    Of several processes only the first empties and removes it.
    """
    if not first_process():
        row.scratch.mkdir(parents=True, exist_ok=True)
        yield row.scratch
        return
    stamp = {"settings": json.loads(json.dumps(row.settings)), "seed": row.seed, "inputs": [_digest(p) for p in inputs]}
    stamp["code"] = _digest(Path(__file__).parents[1])
    marker = row.scratch / "begun.json"
    if not marker.is_file() or read_json(marker) != stamp:
        shutil.rmtree(row.scratch, ignore_errors=True)
        write_json(marker, stamp)
    yield row.scratch
    shutil.rmtree(row.scratch)


def _digest(path: Path) -> str:
    """One hash over a file, or over a folder's file names and contents."""
    digest = hashlib.blake2b(digest_size=16)
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix != ".pyc") if path.is_dir() else [path]
    for file in files:
        digest.update(str(file.relative_to(path.parent)).encode())
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()
