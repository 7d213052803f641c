"""Which stages an edit reruns: ``python -m tests.edits`` prints a table for comments, and for one constant of each critic.

Each edit is made in a copy of the sources, and the hashes that the first stage would write there are compared with
those of the sources as they are. The first stage itself, ``code``, runs after any edit of a source file.
"""

import ast
import gc
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from networkx import ancestors

from longform_lab.code import APART, PIPELINE, SOURCE, read_entry_points
from longform_lab.source_code import Module, SourceTree
from longform_lab.stale import stages_by_file
from tests.shape import ROOT, SOURCES, critics, stage_closures, stages, statements_that_run, tree

Hashes = dict[str, dict[str, str]]  # by the file of a kind of stage: a hash for each source file
SHARED = ("longform/statistics", "longform/text", "longform/files")  # what came of the folder core
TRANSLATION = "longform/language_models/translation.py"


class Remembering(SourceTree):
    """A tree that parses a source file again only where it has changed."""

    parsed: ClassVar[dict[tuple[str, bytes], Module]] = {}

    def _parsed(self, name: str, path: Path) -> Module:
        key = (name, path.read_bytes())
        if key not in self.parsed:
            self.parsed[key] = super()._parsed(name, path)
        return replace(self.parsed[key], path=path)


def hashes_in(home: Path) -> Hashes:
    """What the first stage would write in a folder."""
    tree = Remembering(home / SOURCE, dispatching=PIPELINE, apart=APART)
    starts = read_entry_points(home, tree)
    return {file: tree.hashes(tree.closure(requests)) for file, requests in starts.items()}


def copied(folder: Path) -> Path:
    """A copy of what the first stage reads."""
    compiled = shutil.ignore_patterns("__pycache__", "measured", "scales")
    for name in ("src", "experiments"):
        shutil.copytree(ROOT / name, folder / name, ignore=compiled)
    shutil.copy(ROOT / "params.yaml", folder)
    return folder


def commented(source: str) -> str:
    """A program with a comment before each statement that begins a line."""
    lines = source.splitlines()
    places = {(node.lineno, node.col_offset) for node in statements_that_run(ast.parse(source))}
    for line, column in sorted(places, reverse=True):
        if not lines[line - 1][:column].strip():
            lines.insert(line - 1, " " * column + "# a comment")
    return "\n".join(lines) + "\n"


def comment(paths: Iterable[Path]) -> None:
    """Write comments into programs and YAML files."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        text = commented(text) if path.suffix == ".py" else f"# a comment\n{text}"
        path.write_text(text, encoding="utf-8")


def number_of(path: Path) -> ast.Constant | None:
    """A number of a module in code that some stage runs; top-level ones come first."""
    name = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    definitions = tree().module(name).definitions
    run = {place for closure in stage_closures().values() for place in closure.get(name, ())}
    starts = [definition.line for definition in definitions]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            place = bisect_right(starts, node.lineno) - 1
            if place in run:
                return node
    return None


def change(path: Path, number: ast.Constant) -> None:
    """Add one to a number of a program."""
    lines = path.read_bytes().splitlines()
    line = lines[number.lineno - 1]
    more = repr(number.value + 1).encode()
    lines[number.lineno - 1] = line[: number.col_offset] + more + line[number.end_col_offset :]
    path.write_bytes(b"\n".join(lines) + b"\n")


def stale(before: Hashes, after: Hashes) -> list[str]:
    """The stages whose code changed."""
    files = [file for file in before if before[file] != after[file]]
    by_file = stages_by_file(ROOT)
    return [stage for file in files for stage in by_file.get(file, [])]


def reports_behind(names: Sequence[str]) -> list[str]:
    """The reports that read what these stages write, directly or not; they rerun where it changes."""
    graph = stages()[0].repo.index.graph  # edges lead to what a stage needs
    changed = [stage for stage in graph if stage.addressing in names]
    behind = {later for stage in changed for later in ancestors(graph, stage)}
    return sorted(stage.name for stage in behind if (stage.name or "").startswith("report_"))


def files_of(folder: Path) -> list[Path]:
    """A folder's programs and YAML files, or the file itself."""
    if folder.is_file():
        return [folder]
    return sorted([*folder.rglob("*.py"), *folder.rglob("*.yaml")])


def scoring_first(folder: Path) -> list[Path]:
    """A critic's modules: what scores, reads and trains, then the others."""
    modules = sorted(folder.glob("*.py"))
    for name in ("train.py", "read.py", "score.py"):
        modules.sort(key=lambda path, name=name: path.name != name)
    return modules


def after_comments(home: Path, folders: Iterable[str]) -> Hashes:
    """The hashes with comments in all files of these folders, which are then as before."""
    paths = [path for folder in folders for path in files_of(home / SOURCE / folder)]
    before = {path: path.read_bytes() for path in paths}
    comment(paths)
    hashes = hashes_in(home)
    for path, content in before.items():
        path.write_bytes(content)
    return hashes


def after_one_number(home: Path, critic: Path) -> tuple[str, Hashes]:
    """The hashes with another number in a critic, which is then as before, and where it stands."""
    for module in scoring_first(SOURCES / critic):
        number = number_of(module)
        if number is not None:
            break
    else:
        raise LookupError(f"no number of {critic} is run by a stage")
    path = home / SOURCE / module.relative_to(SOURCES)
    before = path.read_bytes()
    change(path, number)
    hashes = hashes_in(home)
    path.write_bytes(before)
    value = number.value
    return f"{module.name}: {value} becomes {value + 1}", hashes


def main() -> None:
    """Print the table."""
    gc.disable()  # as in longform_lab.code
    before = hashes_in(ROOT)
    places = [list(SHARED), [TRANSLATION], *([critic.as_posix()] for critic in critics())]
    with tempfile.TemporaryDirectory() as name:
        home = copied(Path(name))
        print(
            "| comments before every statement of | stages to rerun beside `code` |",
            "|---|--:|",
            sep="\n",
        )
        for folders in places:
            names = stale(before, after_comments(home, folders))
            print(f"| {', '.join(f'`{folder}`' for folder in folders)} | {len(names)} |")
        print(
            "\n| critic, and the number that is changed | stages that run it | reports behind them |"
        )
        print("|---|---|--:|")
        for critic in critics():
            what, after = after_one_number(home, critic)
            names = stale(before, after)
            listed = ", ".join(f"`{name}`" for name in names)
            print(f"| `{critic.name}`: {what} | {listed} | {len(reports_behind(names))} |")


if __name__ == "__main__":
    main()
