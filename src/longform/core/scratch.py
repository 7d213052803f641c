"""Checkpoints of unfinished stages: kept outside DVC's outputs, so that a killed run is taken up, never mistaken for another."""

import ast
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_json, write_json
from longform.core.experiment import Experiment
from longform.core.processes import first_process

HARDWARE = ("threads", "workers")  # settings that say how a stage runs, not what comes out
SOURCES = Path(__file__).parents[2]


@dataclass(frozen=True)
class Work:
    """What defines a result, and where its checkpoints are kept while it is unfinished.

    Attributes:
        experiment: whose seed and home folder count.
        name: words apart; folders below ``scratch/``.
        settings: of the function that does the work.
    """

    experiment: Experiment
    name: str
    settings: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.experiment.seed

    @property
    def scratch(self) -> Path:
        """Outside DVC's outputs: survives a killed run."""
        return self.experiment.home / "scratch" / Path(*self.name.split())


@contextmanager
def resumable(work: Work, *inputs: Path) -> Iterator[Path]:
    """The work's scratch folder: emptied when what defines its result has changed since it was begun, gone after success.

    That is its settings, hardware apart, its seed, its inputs, and the code that it runs. Of several processes only the
    first empties and removes it.
    """
    if not first_process():
        work.scratch.mkdir(parents=True, exist_ok=True)
        yield work.scratch
        return
    settings = json.loads(json.dumps(_without_hardware(work.settings)))
    stamp = {"settings": settings, "seed": work.seed, "inputs": [_digest(p) for p in inputs], "code": _code(work)}
    marker = work.scratch / "begun.json"
    if not marker.is_file() or read_json(marker) != stamp:
        shutil.rmtree(work.scratch, ignore_errors=True)
        write_json(marker, stamp)
    yield work.scratch
    shutil.rmtree(work.scratch)


def _without_hardware(settings: Any) -> Any:
    if not isinstance(settings, dict):
        return settings
    return {key: _without_hardware(value) for key, value in settings.items() if key not in HARDWARE}


def _digest(path: Path) -> str:
    """One hash over a file, or over a folder's file names and contents; files are read piece by piece."""
    digest = hashlib.blake2b(digest_size=16)
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        digest.update(str(file.relative_to(path.parent)).encode())
        if file.is_file():
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "blake2b").digest())
    return digest.hexdigest()


def _code(work: Work) -> str:
    """One hash over the statements of the work's module and of all modules that it imports; comments and docstrings are none."""
    place = SOURCES / "longform" / str(work.settings.get("code", ""))
    waiting = set(place.rglob("*.py")) if place.is_dir() else {place.with_suffix(".py")}
    trees: dict[Path, str] = {}
    while waiting:
        path = waiting.pop()
        if path in trees or not path.is_file():
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        waiting |= {file for node in ast.walk(tree) for name in _imported(node) for file in _files(name)}
        for node in ast.walk(tree):
            documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if documented and ast.get_docstring(node, clean=False) is not None:  # type: ignore[arg-type]
                del node.body[0]  # type: ignore[attr-defined]
        trees[path] = ast.dump(tree)
    text = "\n".join(f"{path.relative_to(SOURCES)} {trees[path]}" for path in sorted(trees))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _imported(node: ast.AST) -> list[str]:
    """Names of modules that a statement imports, and of what it takes out of them, which may be modules too."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    return [name.name for name in node.names] if isinstance(node, ast.Import) else []


def _files(module: str) -> list[Path]:
    """The file or package file of a module of this package."""
    if module.split(".")[0] != "longform":
        return []
    place = SOURCES.joinpath(*module.split("."))
    return [place.with_suffix(".py"), place / "__init__.py"]
