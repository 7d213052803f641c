"""Which stages an edit makes stale: ``python -m longform_lab.stale`` prints a line for each module.

``python -m longform_lab.stale statistics/estimates.py`` prints each definition of that module with
the number of stages that run it, and their names. Counted are stages that run the code; what stands
behind them in ``dvc.yaml`` runs again only where their results change.
"""

import argparse
import gc
import sys
from pathlib import Path
from statistics import median_low

from longform.extras import exit_if_missing
from longform_lab.code import FOLDER, SOURCE, read_entry_points, source_tree
from longform_lab.source_code import PACKAGES, Closure, SourceTree

with exit_if_missing("study"):
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
    """The definitions that each stage of ``dvc.yaml`` may run, by the stage's name.

    A stage depends on the file of its entry points below ``data/code``; one without is left out.
    """
    stages = stages_by_file(home)
    by_stage: dict[str, Closure] = {}
    for file, starts in read_entry_points(home, tree).items():
        if file in stages:
            closure = tree.closure(starts)
            for stage in stages[file]:
                by_stage[stage] = closure
    return by_stage


def stages_of(module: str, number: int, by_stage: dict[str, Closure]) -> list[str]:
    """The stages that run one definition of a module."""
    return [stage for stage, closure in by_stage.items() if number in closure.get(module, ())]


def _show_modules(tree: SourceTree, by_stage: dict[str, Closure]) -> None:
    """Print, for each module, how many stages an edit of it makes stale."""
    print(
        f"Of {len(by_stage)} stages an edit makes stale: at most (any definition of the module), "
        "and for the median one"
    )
    files: list[Path] = []
    for package in PACKAGES:
        files += (tree.folder / package).rglob("*.py")
    for path in sorted(files):
        dotted = ".".join(path.relative_to(tree.folder).with_suffix("").parts)
        name = dotted.removesuffix(".__init__")
        module = tree.module(name)
        if module is None or not module.definitions:
            continue
        counts = []
        for number in range(len(module.definitions)):
            counts.append(len(stages_of(name, number, by_stage)))
        maximum = sum(bool(closure.get(name)) for closure in by_stage.values())
        print(f"{maximum:5} {median_low(counts):5}  {path.relative_to(tree.folder)}")


def _show_module(name: str, tree: SourceTree, by_stage: dict[str, Closure]) -> None:
    """Print, for each definition of a module, how many stages run it, and the stages' names."""
    module = tree.module(name)
    assert module is not None
    for number, definition in enumerate(module.definitions):
        names = ", ".join(definition.names) or "(runs at import)"
        count = len(stages_of(name, number, by_stage))
        print(f"{count:5}  line {definition.line:4}  {names}")
    stages = [stage for stage, closure in by_stage.items() if closure.get(name)]
    print(f"{len(stages)} of {len(by_stage)} stages run some of it:")
    for stage in stages:
        print(f"  {stage}")


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.stale", description=__doc__)
    parser.add_argument(
        "module",
        nargs="?",
        help="a file below src/longform, or of another package, such as statistics/estimates.py; "
        "default: all",
    )
    options = parser.parse_args(arguments)
    gc.disable()  # as in longform_lab.code
    tree = source_tree(SOURCE)
    by_stage = closures(Path(), tree)
    if options.module is None:
        _show_modules(tree, by_stage)
        return 0
    # The dotted name of the file; without a package it is below longform.
    name = options.module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    if name.partition(".")[0] not in PACKAGES:
        name = f"longform.{name}"
    if tree.module(name) is None:
        file = f"{SOURCE}/{name.replace('.', '/')}.py"
        print(f"longform: there is no {file}; name a file below {SOURCE}", file=sys.stderr)
        return 2
    _show_module(name, tree, by_stage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
