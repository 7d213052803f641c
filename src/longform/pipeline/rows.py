"""A row of ``params.yaml``, and calling a function with exactly the settings that it knows."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longform.artefacts import read_yaml
from longform.documents import BadInput
from longform.experiment import near
from longform.pipeline import calls

EXPERIMENTS = Path("experiments")
VERBS = ("prepare", "train", "generate", "infer", "score", "report")


@dataclass(frozen=True)
class Row:
    """One experiment.

    Attributes:
        verb, name: the stage is ``verb@name``.
        settings: the row as written in ``params.yaml``.
        home: the folder of ``params.yaml``, ``data/`` and ``paper_figures/``.
        seed: of the whole run; every draw is named after it and the row.
    """

    verb: str
    name: str
    settings: Mapping[str, Any]
    home: Path
    seed: int

    @property
    def data(self) -> Path:
        """The data folder of this scale."""
        return self.home / "data"

    @property
    def scratch(self) -> Path:
        """Where an unfinished stage keeps its checkpoints; not an output, survives a killed run."""
        return self.home / "scratch" / self.verb / self.name

    def slot(self, key: str) -> Path:
        """The path that a slot of the row (``texts``, ``model`` …) points to, below ``data/``.

        Raises:
            BadInput: the row lacks the slot.
        """
        if not isinstance(self.settings.get(key), str):
            raise BadInput(f"row {self.verb}.{self.name} lacks {key!r}; name what it reads, as the other rows do")
        return self.data / self.settings[key]

    @property
    def paper(self) -> str:
        """The folder of ``experiments/`` that the row belongs to.

        Raises:
            BadInput: there is none of that name, or it prints nothing to compare with.
        """
        papers = sorted(path.parent.name for path in EXPERIMENTS.glob("*/expected.yaml"))
        if self.settings.get("paper") not in papers:
            raise BadInput(
                f"row {self.verb}.{self.name}: paper is {self.settings.get('paper')!r}, allowed are {papers}; mend params.yaml"
            )
        return str(self.settings["paper"])

    def others(self, *slots: str) -> dict[str, Any]:
        """The settings that are not slots."""
        return {key: value for key, value in self.settings.items() if key not in {"code", *slots}}

    def module(self) -> Any:
        """The module that the row's ``code`` names: the file system is the registry."""
        code = self.settings.get("code")
        if not isinstance(code, str):
            raise BadInput(f"row {self.verb}.{self.name} lacks 'code'; name a file or folder of src/longform/")
        name = f"longform.{code.removesuffix('.py').replace('/', '.')}"
        if not _exists(name):
            raise BadInput(f"row {self.verb}.{self.name}: no file src/longform/{code}; mend code")
        return importlib.import_module(name)

    def function(self, name: str) -> Any:
        """The function or class ``name`` of the row's module.

        Raises:
            BadInput: the module has none of that name.
        """
        module = self.module()
        found = getattr(module, name, None)
        if not callable(found):
            raise BadInput(f"row {self.verb}.{self.name}: {module.__name__} has no function {name!r}; mend the row")
        return found

    def require(self, *keys: str) -> None:
        """Refuse a row that lacks one of the settings.

        Raises:
            BadInput: naming what is missing.
        """
        missing = [key for key in keys if self.settings.get(key) is None]
        if missing:
            raise BadInput(f"row {self.verb}.{self.name} lacks {missing}; add them, as the other rows do")


def read_row(home: Path, verb: str, name: str) -> Row:
    """One row of ``<home>/params.yaml``.

    Raises:
        BadInput: no such file, verb or row; close names are offered.
    """
    path = home / "params.yaml"
    if not path.is_file():
        raise BadInput(f"{path}: no such file; --home must name the repository or a folder of experiments/scales/")
    params = read_yaml(path)
    seed = params.get("seed") if isinstance(params, dict) else None
    if type(seed) is not int or seed < 0:
        raise BadInput(
            f"{path}: seed is {seed!r:.60}, allowed is a whole number from 0 at the top level, as in the root's params.yaml"
        )
    rows = params.get(verb) or {}
    if not isinstance(rows, dict):
        raise BadInput(f"{path}: {verb} is {rows!r:.60}, allowed is a mapping of rows; mend it")
    if name not in rows:
        raise BadInput(f"{path} has no row {verb}.{name}{near(name, rows)}; add it or mend the name")
    if not isinstance(rows[name], dict):
        raise BadInput(f"{path}: row {verb}.{name} is {rows[name]!r}, allowed is a mapping of settings; mend it")
    return Row(verb, name, rows[name], home, seed)


def call(function: Callable[..., Any], row: Row, settings: Mapping[str, Any], **given: Any) -> Any:
    """Call ``function`` with the row's settings as keywords; a misspelt, missing or mistyped one is a sentence, not a trace.

    ``given`` are objects of the stage; those that the function does not take are left out.
    """
    return function(**arguments(function, row, settings, given))


def arguments(
    function: Callable[..., Any], row: Row, settings: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings, and what the function takes of ``given``. What fitting sets is no setting.

    Raises:
        BadInput: a setting that is unknown, missing or of the wrong type, by name, and what is allowed.
    """
    return calls.arguments(f"row {row.verb}.{row.name}", function, settings, given)


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
