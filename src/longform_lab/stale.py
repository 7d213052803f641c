"""Which stages an edit makes stale: ``python -m longform_lab.stale`` prints a line for each module.

``python -m longform_lab.stale statistics/estimates.py`` prints each definition of that module with the number of
stages that run it, and their names. Counted are stages that run the code; what stands behind them in
``dvc.yaml`` runs again only where their results change.
"""

import argparse
import gc
import sys
from pathlib import Path
from statistics import median_low

from longform.extras import told
from longform_lab.code import FOLDER, SOURCE, read_entry_points, source_tree
from longform_lab.source_code import PACKAGES, Closure, SourceTree

with told("study"):
    from dvc.repo import Repo


def stages_by_file(home: Path) -> dict[str, list[str]]:
    """The names of the stages of ``dvc.yaml`` that depend on each file below ``data/code``."""
    stages: dict[str, list[str]] = {}
    for stage in Repo(str(home)).index.stages:
        for dependency in stage.deps:
            path = Path(str(dependency))
            if path.is_relative_to(FOLDER):
                stages.setdefault(path.relative_to(FOLDER).as_posix(), []).append(stage.addressing)
    return stages


def closures(home: Path, tree: SourceTree) -> dict[str, Closure]:
    """What each stage of ``dvc.yaml`` runs, by the stage's name."""
    stages, found = stages_by_file(home), {}
    for name, starts in read_entry_points(home, tree).items():
        if name in stages:
            closure = tree.closure(starts)
            found.update(dict.fromkeys(stages[name], closure))
    return found


def stages_of(module: str, place: int, found: dict[str, Closure]) -> list[str]:
    """The stages that run one definition of a module."""
    return [stage for stage, closure in found.items() if place in closure.get(module, ())]


def _show_modules(tree: SourceTree, found: dict[str, Closure]) -> None:
    print(
        f"Of {len(found)} stages an edit makes stale: at most (any definition of the module), and for the median one"
    )
    for path in sorted(
        path for package in PACKAGES for path in (tree.folder / package).rglob("*.py")
    ):
        name = ".".join(path.relative_to(tree.folder).with_suffix("").parts).removesuffix(
            ".__init__"
        )
        module = tree.module(name)
        if module is None or not module.definitions:
            continue
        counts = [len(stages_of(name, place, found)) for place in range(len(module.definitions))]
        most = sum(bool(closure.get(name)) for closure in found.values())
        print(f"{most:5} {median_low(counts):5}  {path.relative_to(tree.folder)}")


def _show_module(name: str, tree: SourceTree, found: dict[str, Closure]) -> None:
    module = tree.module(name)
    assert module is not None
    for place, definition in enumerate(module.definitions):
        called = ", ".join(definition.names) or "(runs at import)"
        print(f"{len(stages_of(name, place, found)):5}  line {definition.line:4}  {called}")
    stages = [stage for stage, closure in found.items() if closure.get(name)]
    print(f"{len(stages)} of {len(found)} stages run some of it:")
    for stage in stages:
        print(f"  {stage}")


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.stale", description=__doc__)
    parser.add_argument(
        "module",
        nargs="?",
        help="a file below src/longform, or of another package, such as statistics/estimates.py; default: all",
    )
    chosen = parser.parse_args(arguments)
    gc.disable()  # as in longform_lab.code
    tree = source_tree(SOURCE)
    found = closures(Path(), tree)
    if chosen.module is None:
        _show_modules(tree, found)
        return 0
    name = chosen.module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    if name.partition(".")[0] not in PACKAGES:
        name = f"longform.{name}"
    if tree.module(name) is None:
        print(
            f"longform: there is no {SOURCE}/{name.replace('.', '/')}.py; name a file below {SOURCE}",
            file=sys.stderr,
        )
        return 2
    _show_module(name, tree, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
