"""Checkpoints of unfinished stages: kept outside DVC's outputs, so that a killed run is taken up, never mistaken for another."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longform.errors import ArtefactError
from longform.files.artefacts import atomic_write, read_json, write_json
from longform.processes import first_process
from longform.settings import Settings
from longform_lab.experiment import Experiment
from longform_lab.source_code import Request, SourceTree

FINISHED = "finished"  # what one system of a stage made, beside its marker
HARDWARE = ("threads", "workers")  # settings that say how a stage runs, not what comes out
SOURCES = Path(__file__).parents[1]


@contextmanager
def resumable(
    experiment: Experiment,
    name: str,
    settings: Sequence[Settings],
    *inputs: Path,
) -> Iterator[Path]:
    """A work's scratch folder: emptied when what defines its result has changed since it was begun, gone after success.

    That is its settings, hardware apart, the seed, its inputs, and the code that it runs. It lies outside DVC's outputs, the
    words of its name are folders. Of several processes only the first empties and removes it. Where a stage makes several
    things, what one of them made may be kept here until all are there: see :func:`keep_finished`.
    """
    scratch = experiment.home / "scratch" / Path(*name.split())
    if not first_process():
        scratch.mkdir(parents=True, exist_ok=True)
        yield scratch
        return
    given = [one.given() for one in settings]
    starts = [(type(one).__module__, type(one).__name__) for one in settings]
    own, code = json.loads(json.dumps(_without_hardware(given))), _code(starts)
    stamp = {
        "settings": own,
        "seed": experiment.seed,
        "inputs": [_digest(path) for path in inputs],
        "code": code,
    }
    marker = scratch / "begun.json"
    if not _is_begun(marker, stamp):
        shutil.rmtree(scratch, ignore_errors=True)
        write_json(marker, stamp)
    yield scratch
    if not (scratch / FINISHED).exists():
        shutil.rmtree(scratch)
        return
    for path in scratch.iterdir():
        if path.name not in (FINISHED, marker.name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def keep_finished(scratch: Path, result: Path) -> None:
    """Keep what a work made in its scratch folder, so that a kill of its stage, whose outputs DVC removes, does not cost it."""
    with atomic_write(scratch / FINISHED) as partial:
        shutil.copytree(result, partial, copy_function=link_or_copy)


def bring_back(scratch: Path, result: Path) -> bool:
    """Put what a work had made before its stage was killed where it belongs; False where there is nothing."""
    if not (scratch / FINISHED).is_dir():
        return False
    with atomic_write(result) as partial:
        shutil.copytree(scratch / FINISHED, partial, copy_function=link_or_copy)
    return True


def forget_finished(experiment: Experiment, names: Iterable[str]) -> None:
    """Remove what works kept, by their names, when all that their stage makes is there."""
    for name in names:
        shutil.rmtree(experiment.home / "scratch" / Path(*name.split()), ignore_errors=True)


def link_or_copy(source: str, target: str) -> None:
    """The same file under another name where both lie on one disk: checkpoints have hundreds of megabytes."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _is_begun(marker: Path, stamp: Mapping[str, Any]) -> bool:
    """Whether a work of this stamp was begun; a marker that is cut says nothing of the files beside it, so they are none."""
    if not marker.is_file():
        return False
    try:
        return read_json(marker) == stamp
    except ArtefactError:
        print(f"{marker}: missing or cut; what stands beside it is begun anew", flush=True)
        return False


def _without_hardware(settings: Any) -> Any:
    if isinstance(settings, list):
        return [_without_hardware(value) for value in settings]
    if not isinstance(settings, dict):
        return settings
    return {key: _without_hardware(value) for key, value in settings.items() if key not in HARDWARE}


def _digest(path: Path) -> str:
    """One hash over a file, or over a folder's file names and contents; files are read piece by piece."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        digest.update(str(file.relative_to(path.parent)).encode())
        if file.is_file():
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "blake2b").digest())
    return digest.hexdigest()


def _code(starts: Sequence[Request]) -> str:
    """One hash over the code that begins in some places, and all that it uses; comments and docstrings are none."""
    tree = SourceTree(SOURCES)
    hashes = tree.hashes(tree.closure(starts))
    return hashlib.blake2b(json.dumps(hashes).encode(), digest_size=16).hexdigest()
