"""Checkpoints of unfinished stages, kept outside DVC's outputs.

So a killed run is taken up, and never mistaken for another.
"""

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
    """A work's scratch folder, gone after success.

    It is emptied first when what defines the work's result has changed since the work was begun:
    its settings (hardware apart), the seed, its inputs, and the code that it runs. Of several
    processes only the first empties and removes it. Where a stage makes several things, what one of
    them made may stay here until all are there: see :func:`keep_finished`.

    Args:
        experiment: gives the seed, and the folder below which scratch folders lie.
        name: of the work; its words are folders.
        settings: of the work.
        inputs: files and folders that it reads.
    """
    scratch = experiment.home / "scratch" / Path(*name.split())
    if not first_process():
        scratch.mkdir(parents=True, exist_ok=True)
        yield scratch
        return
    # 1. Is this the work that was begun?
    values, starts = [], []
    for one in settings:
        values.append(_without_hardware(one.given()))
        starts.append((type(one).__module__, type(one).__name__))
    stamp = {
        "settings": json.loads(json.dumps(values)),  # as they are read back
        "seed": experiment.seed,
        "inputs": [_digest(path) for path in inputs],
        "code": _code(starts),
    }
    marker = scratch / "begun.json"
    if not _is_begun(marker, stamp):
        shutil.rmtree(scratch, ignore_errors=True)
        write_json(marker, stamp)
    # 2. The work.
    yield scratch
    # 3. It succeeded: only what is finished stays.
    if not (scratch / FINISHED).exists():
        shutil.rmtree(scratch)
        return
    for path in scratch.iterdir():
        if path.name not in (FINISHED, marker.name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def keep_finished(scratch: Path, result: Path) -> None:
    """Keep what a work made in its scratch folder.

    A kill of its stage, whose outputs DVC removes, does not cost it then.
    """
    with atomic_write(scratch / FINISHED) as partial:
        shutil.copytree(result, partial, copy_function=link_or_copy)


def bring_back(scratch: Path, result: Path) -> bool:
    """Put what a work had made before its stage was killed where it belongs.

    Returns:
        False where there is nothing.
    """
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
    """The same file under another name where both lie on one disk, else a copy.

    Checkpoints have hundreds of megabytes.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _is_begun(marker: Path, stamp: Mapping[str, Any]) -> bool:
    """Whether a work of this stamp was begun.

    A marker that is cut says nothing of the files beside it, so they are begun anew.
    """
    if not marker.is_file():
        return False
    try:
        return read_json(marker) == stamp
    except ArtefactError:
        print(f"{marker}: missing or cut; what stands beside it is begun anew", flush=True)
        return False


def _without_hardware(settings: Any) -> Any:
    """Settings without those of the machine, at any depth."""
    if isinstance(settings, list):
        return [_without_hardware(value) for value in settings]
    if not isinstance(settings, dict):
        return settings
    result = {}
    for key, value in settings.items():
        if key not in HARDWARE:
            result[key] = _without_hardware(value)
    return result


def _digest(path: Path) -> str:
    """One hash over a file, or over a folder's file names and contents.

    Files are read piece by piece.
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(str(file.relative_to(path.parent)).encode())
        if file.is_file():
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "blake2b").digest())
    return digest.hexdigest()


def _code(starts: Sequence[Request]) -> str:
    """One hash over the code that begins in some places, and all that it uses.

    Comments and docstrings do not count.
    """
    tree = SourceTree(SOURCES)
    hashes = tree.hashes(tree.closure(starts))
    return hashlib.blake2b(json.dumps(hashes).encode(), digest_size=16).hexdigest()
