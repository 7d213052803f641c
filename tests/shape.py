"""What the repository's parts are and which of them depend on which.

``python -m tests.shape`` prints the figures of the budget, the density of each room among them.
"""

import ast
import pickle
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from dvc.repo import Repo

from longform.files import artefacts
from longform.files.artefacts import read_yaml
from longform_lab.code import code_file, read_entry_points, source_tree
from longform_lab.experiment import Experiment
from longform_lab.scale_overrides import parameters
from longform_lab.settings.critics import METRICS
from longform_lab.source_code import AT_IMPORT, EVERYTHING, Closure, Request, SourceTree
from longform_lab.stale import closures
from tests import density

ROOT = Path(__file__).parents[1]
FOR_PEOPLE_ALONE = ("order_and_repetition",)  # critics of ours that no stage runs
SOURCES = ROOT / "src"
PACKAGES = ("longform", "synthetic_world", "longform_lab")
MODULES = sorted(
    path.relative_to(SOURCES) for package in PACKAGES for path in (SOURCES / package).rglob("*.py")
)


@cache
def pickled_yaml(path: Path) -> bytes:
    """The content of a YAML file, parsed once; unpickling is much faster than parsing again."""
    return pickle.dumps(read_yaml(path))


def yaml_copy(path: Path) -> Any:
    """A copy of the content of a YAML file of the repository."""
    return pickle.loads(pickled_yaml(path))


@cache
def files_of_scale(scale: str) -> dict[str, dict]:
    """Every YAML file that a scale changes, which tests read and leave as they are."""
    with mock.patch.object(artefacts, "read_yaml", yaml_copy):
        return parameters(scale, ROOT)


@cache
def experiment(scale: str = "") -> Experiment:
    asked = Experiment(ROOT)
    if scale:
        asked.__dict__["params"] = files_of_scale(scale)["params.yaml"]
    return asked


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a source file, which tests read and leave as it is."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(module: Path) -> frozenset[Path]:
    """Our own files that a file imports, anywhere in it but for type checkers."""
    found = set()
    for node in statements_that_run(parsed(SOURCES / module)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = [f"{node.module}.{a.name}" for a in node.names]
            names = [part if _file(part) else node.module for part in parts]
        found |= {path for name in names if (path := _file(name))}
    return frozenset(found)


def statements_that_run(node: ast.AST) -> Iterator[ast.stmt]:
    """Every statement below a node, at any depth, but for those that type checkers alone read."""
    for_type_checkers = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        if name == "body" and for_type_checkers:
            continue
        for part in getattr(node, name, []):
            if isinstance(part, ast.stmt):
                yield part
            yield from statements_that_run(part)


def _file(name: str) -> Path | None:
    place = Path(*name.split("."))
    paths = (place.with_suffix(".py"), place / "__init__.py") if place.parts else ()
    return next((path for path in paths if (SOURCES / path).is_file()), None)


def closure(*starts: Path) -> set[Path]:
    seen: set[Path] = set()
    left = list(starts)
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            left += imports(module)
    return seen


def room(module: Path) -> str:
    """A folder or file of the library, or another package."""
    return module.with_suffix("").parts[1] if module.parts[0] == "longform" else module.parts[0]


@cache
def stages():
    return [stage for stage in Repo(str(ROOT)).index.stages if stage.name]


@cache
def tree() -> SourceTree:
    return source_tree(ROOT / "src")


@cache
def starts() -> dict[str, list[Request]]:
    """The functions that each kind of stage calls by name, by its file below data/code."""
    return read_entry_points(ROOT, tree())


def code_of(words: list[str]) -> Closure:
    """What a stage runs, from the words of its command."""
    return code_in(code_file(words))


@cache
def code_in(file: str) -> Closure:
    """What the stages run whose code a file below data/code hashes."""
    return tree().closure(starts()[file])


def critics() -> list[Path]:
    """The critics' folders below ``src``."""
    found = [
        *SOURCES.glob("longform/critics/*/__init__.py"),
        *SOURCES.glob("synthetic_world/*/__init__.py"),
    ]
    return sorted(path.parent.relative_to(SOURCES) for path in found)


def critics_of_stages() -> list[Path]:
    """The critics' folders but for those of ``FOR_PEOPLE_ALONE``."""
    return [critic for critic in critics() if critic.name not in FOR_PEOPLE_ALONE]


@cache
def stage_closures() -> dict[str, Closure]:
    """What each stage of dvc.yaml runs."""
    return closures(ROOT, tree())


def stale_after_an_edit(folder: Path) -> list[str]:
    """Stages that run code of a folder."""
    prefix = f"{'.'.join(folder.parts)}."
    found = stage_closures()
    return [
        stage
        for stage, code in found.items()
        if any(places and f"{m}.".startswith(prefix) for m, places in code.items())
    ]


def lines(pattern: str) -> int:
    """Lines of all files of a pattern below the repository."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob(pattern))


def behind_a_cell_of_table_2() -> set[str]:
    """Modules with code that runs between the scores of a system and the cell that shows its Latent PPL.

    The cell is one metric: others of the critic, the questions that the same stage asks of a critic (corruptions, orders,
    ratings) are no part of it, nor are records that the paper's other tables derive.
    """
    entry = experiment().entry(
        *["articles", "critics", "section_order", "scores", "metrics", "latent_ppl"]
    )
    metric = METRICS[entry["kind"]]
    score = {
        ("longform_lab.__main__", EVERYTHING),
        ("longform_lab.score_entries", "_read_entry"),
        ("longform_lab.score_entries", "measure"),
        (metric.__module__, metric.__name__),
    }
    report = set()
    for start in starts()["report/deng2022/sections.json"]:
        if start[1] not in ("Deng2022", AT_IMPORT):
            report.add(start)
    modules = set()
    for code in (tree().closure(score), tree().closure(report)):
        modules |= {module for module, places in code.items() if places}
    return modules


def figures() -> dict[str, int]:
    """The figures of the budget."""
    return {"modules of src": len(MODULES), "lines of src": lines("src/**/*.py"),
            "lines of tests": lines("tests/**/*.py"),
            "lines of parameters": lines("params.yaml") + lines("experiments/*/params.yaml"), "stages": len(stages()),
            "lines of dvc.lock": lines("dvc.lock"),
            "modules behind a cell of Table 2": len(behind_a_cell_of_table_2()),
            "tracked bytes": tracked_bytes()}  # fmt: skip


def tracked_bytes() -> int:
    """The sizes of all files that git tracks, as they lie in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    return sum(file.stat().st_size for file in files if file.is_file())


def script_folders() -> list[Path]:
    """The folders outside the packages that have scripts."""
    folders = {path.parent for path in (ROOT / "experiments").glob("*/*.py")}
    return [ROOT / "benchmarks", *sorted(folders)]


def rooms() -> list[Path]:
    """The packages, their folders, and the folder of each critic."""
    folders = []
    for package in PACKAGES:
        folders.append(SOURCES / package)
        folders += sorted(path.parent for path in (SOURCES / package).glob("*/__init__.py"))
    return folders + [SOURCES / path for path in critics() if path.parts[0] == "longform"]


def main() -> None:
    """Print the density of each room, the figures, and the stages that an edit makes stale."""
    print(*density.table(rooms(), SOURCES), sep="\n")
    print(*density.table(script_folders(), ROOT), sep="\n")
    for name, figure in figures().items():
        print(f"{figure:6} {name}")
    for folder in critics():
        stale = stale_after_an_edit(folder)
        print(
            f"{len(stale):6} stages stale ({len(stale) / len(stages()):.0%}) after an edit in {folder}"
        )


if __name__ == "__main__":
    main()
