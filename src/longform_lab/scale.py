"""Another scale of the same study: the working tree copied, with the scale's parameters.

``python -m longform_lab.scale smoke`` makes ``scales/smoke/``, an ordinary DVC project that shares
this one's cache, so that every DVC command works there. ``--results`` copies what it measured back
to ``experiments/scales/smoke/``. What a scale may say stands in ``scale_overrides.py``.
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from longform.errors import BadInput
from longform.files.artefacts import write_json
from longform.files.yaml_dialect import yaml_text
from longform_lab.scale_overrides import TARGETS, key_of_scale, parameters
from longform_lab.scale_results import FIGURES, copy_results, run_command

MADE_FROM = "scale.json"  # the scale's name and the commit that its code is of
# What a run writes: never copied from the working tree, never removed from the scale's folder.
BUILT = ("scales/", "dvc.lock", "data/plots/", "data/scores/", "data/metrics/", f"{FIGURES}/")


def make(name: str, root: Path, folder: Path) -> None:
    """Create a scale's folder, or update it from the working tree; what runs built there stays.

    Args:
        name: the scale.
        root: the repository.
        folder: where the scale is to run.

    Raises:
        BadInput: there is no such scale, an override leads nowhere, or a run is at work in the
            folder.
    """
    files = parameters(name, root)
    folder.mkdir(parents=True, exist_ok=True)
    refuse_if_in_use(folder)
    _copy_tree(root, folder, excluded=set(files))
    for path, content in files.items():
        overrides = f"experiments/scales/{name}/overrides.yaml"
        header = f"# {path} with {overrides}; made by longform_lab.scale.\n"
        _write_if_changed(folder / path, header + yaml_text(content))
    targets = key_of_scale(name, root, TARGETS, [])
    (folder / TARGETS).write_text(" ".join(targets), encoding="utf-8")
    write_json(folder / MADE_FROM, {"scale": name, "commit": _commit(root)})
    if not (folder / ".git").is_dir():
        start_repository(folder)
        share_cache(root, folder)
    commit_all(name, folder)
    # Downloaded data is not copied but linked.
    for raw in (root / "data" / "raw").glob("*"):
        link = folder / "data" / "raw" / raw.name
        if not link.exists():
            link.symlink_to(os.path.relpath(raw, link.parent))


def _copy_tree(root: Path, folder: Path, excluded: set[str]) -> None:
    """Make the tracked files of a scale's folder those of the repository.

    Args:
        root: the repository.
        folder: the scale's folder.
        excluded: paths below ``root`` that are not copied: files that the scale writes itself.
    """
    sources = tracked_files(root)
    # 1. Remove files that the repository has no more. The two files that only a scale's folder has,
    #    and what a run has built, stay.
    targets = tracked_files(folder) if (folder / ".git").is_dir() else set()
    for path in targets - sources:
        if str(path) not in (TARGETS, MADE_FROM) and not _is_built(path):
            (folder / path).unlink(missing_ok=True)
    # 2. Copy the others. An equal file keeps its time, so that DVC need not read it again.
    for path in sources:
        source, target = root / path, folder / path
        if _is_built(path) or str(path) in excluded or not source.is_file():
            continue
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _is_built(path: Path) -> bool:
    """Whether a path below a scale's folder is written by runs."""
    return str(path).startswith(BUILT)


def _write_if_changed(path: Path, text: str) -> None:
    """Write a text to a file; a file that has this text already keeps its modification time."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def refuse_if_in_use(folder: Path) -> None:
    """Raise BadInput while a run holds the folder's DVC lock: it still reads the folder's code."""
    lock = folder / ".dvc" / "tmp" / "lock"
    if not lock.is_file():
        return
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadInput(
                f"{folder}: a run is at work there; wait for its end, or stop it and try again"
            ) from error


def start_repository(folder: Path) -> None:
    """Make a git repository whose first branch is ``main``, with an author of its own."""
    run_command(folder, ["git", "init", "--quiet"])
    run_command(folder, ["git", "symbolic-ref", "HEAD", "refs/heads/main"])
    settings = {
        "user.name": "longform",
        "user.email": "longform@localhost",
        "commit.gpgsign": "false",
    }
    for key, value in settings.items():
        run_command(folder, ["git", "config", key, value])
    # The path of the cache is local, so it is never committed, whatever .gitignore says.
    exclude = folder / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("/.dvc/config.local\n", encoding="utf-8")


def commit_all(name: str, folder: Path) -> None:
    """Commit what differs in a scale's folder: ``dvc exp run`` starts from a commit."""
    run_command(folder, ["git", "add", "--all"])
    if run_command(folder, ["git", "status", "--porcelain"]):
        commit = ["git", "commit", "--quiet", "--no-verify", "--message", f"Scale {name}"]
        run_command(folder, commit)


def _commit(root: Path) -> str:
    """The hash of a working tree's commit, with "-dirty" if files differ; "" without commits."""
    command = ["git", "rev-parse", "--quiet", "--verify", "HEAD"]
    if subprocess.run(command, cwd=root, capture_output=True).returncode != 0:
        return ""
    describe = ["git", "describe", "--always", "--abbrev=40", "--dirty"]
    return run_command(root, describe).strip()


def share_cache(root: Path, folder: Path) -> None:
    """Let the DVC project in ``folder`` use the cache of the one in ``root``.

    It writes the file that ``dvc config --local cache.dir`` would, so that a scale can be made
    where DVC is not installed.
    """
    local = folder / ".dvc" / "config.local"
    local.parent.mkdir(exist_ok=True)
    cache = os.path.relpath(root / ".dvc" / "cache", local.parent)
    local.write_text(f"[cache]\n    dir = {cache}\n", encoding="utf-8")


def tracked_files(folder: Path) -> set[Path]:
    """The paths below a folder of all files that git tracks or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = run_command(folder, command).split("\0")
    return {Path(name) for name in names if name}


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.scale", description=__doc__)
    parser.add_argument("name", help="a folder of experiments/scales/")
    parser.add_argument("--folder", type=Path, help="where to make it (scales/NAME)")
    parser.add_argument("--results", action="store_true", help="copy its results back instead")
    options = parser.parse_args(arguments)
    root = Path()
    folder = options.folder or Path("scales") / options.name
    try:
        if options.results:
            copy_results(options.name, root, folder)
        else:
            make(options.name, root, folder)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
