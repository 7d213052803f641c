"""Another scale of the same study: a copy of the working tree in which ``params.yaml`` has the scale's overrides.

``python -m longform_lab.scale smoke`` makes ``scales/smoke/``, an ordinary DVC project with the cache of this one, so that every
DVC command works there; ``--results`` copies what it measured back to ``experiments/scales/smoke/``. An override is a dotted key and
a value: mappings are merged, everything else, and an entry of another ``kind``, is replaced. Beside overrides a scale may have

- ``extends``: another scale, whose overrides come first;
- ``without``: names by the dotted key below which they are taken out;
- ``files``: overrides of other YAML files than ``params.yaml``, by path;
- ``targets``: the stages that the scale is about; all where it names none;
- ``articles``: how many of each system's generated articles, the first by number, ``--results`` keeps;
- ``claims``: the name by which claims give reasons why they cannot be tested there; the root's own, ``default``, where it has none.
"""

import argparse
import copy
import csv
import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longform.errors import BadInput, did_you_mean
from longform.files.artefacts import atomic_write, read_documents, read_yaml, write_json
from longform.files.opening import rows
from longform.files.yaml_dialect import KIND, yaml_text
from longform.text.rendering import render
from longform_lab.scale_records import FILE as RECORDS
from longform_lab.scale_records import write_scale_records

OWN = (
    "targets",
    "extends",
    "without",
    "files",
    "articles",
    "claims",
)  # keys of a scale that are no overrides
TARGETS, EXTENDS, WITHOUT, FILES, ARTICLES, CLAIMS = OWN
PARAMS = "params.yaml"
MADE_FROM = "scale.json"  # the scale's name and the commit that its code is of
FIGURES = "paper_figures"
LEDGER = "ledger"
SHOWN = (".md", ".html", ".png")  # files of an exhibit that a scale keeps beside its CSV
SAME = re.compile(
    r"The same files as \[(.+?)\]\((.+?)\) at commit (\w+)\."
)  # an exhibit that another run keeps
BUILT = ("scales/", "dvc.lock", "data/plots/", "data/scores/", "data/metrics/", f"{FIGURES}/")


def overridden(params: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with a scale's overrides. Raises BadInput: a key that leads nowhere; close names are offered."""
    result = copy.deepcopy(dict(params))

    def holder(key: str, *path: str) -> Any:
        """The mapping that has the last name of a path."""
        inner: Any = result
        for name in path:
            if not isinstance(inner, dict) or name not in inner:
                close = did_you_mean(name, inner if isinstance(inner, dict) else ())
                raise BadInput(f"override {key}: params.yaml has no {name!r}{close}; fix the key")
            outer, inner = inner, inner[name]
        return outer

    for key, names in (overrides.get(WITHOUT) or {}).items():
        for name in names:
            del holder(f"{WITHOUT}.{key}", *key.split("."), name)[name]
    for key, value in overrides.items():
        if key not in OWN:
            *_, last = path = key.split(".")
            place = holder(key, *path)
            place[last] = _merged(place[last], value)
    return result


def scales(name: str, root: Path) -> dict[str, dict[str, Any]]:
    """The overrides of a scale by its name, after those of the scales that it extends.

    Raises BadInput: no such scale, or scales that extend each other.
    """
    chain: dict[str, dict[str, Any]] = {}
    wanted: str | None = name
    while wanted is not None:
        source = root / "experiments" / "scales" / wanted / "overrides.yaml"
        if not source.is_file():
            known = sorted(path.parent.name for path in source.parents[1].glob("*/overrides.yaml"))
            raise BadInput(f"there is no scale {wanted!r}; allowed are {known}")
        chain[wanted] = read_yaml(source) or {}
        wanted = chain[wanted].get(EXTENDS)
        if wanted in chain:
            raise BadInput(f"scales {list(chain)} extend each other; fix {EXTENDS} of one")
    return dict(reversed(chain.items()))


def parameters(name: str, root: Path) -> dict[str, dict[str, Any]]:
    """Every YAML file that a scale changes, by its path, with its overrides: ``params.yaml`` first, with the scale's name for claims.

    Where it shows other exhibits of a paper or from other scores, ``dvc.yaml`` lists those as outputs and dependencies of its reports.
    """
    called = said(name, root, CLAIMS, None)
    files = {PARAMS: {**read_yaml(root / PARAMS), **({"scale": called} if called else {})}}
    for overrides in scales(name, root).values():
        files[PARAMS] = overridden(files[PARAMS], overrides)
        for path, own in (overrides.get(FILES) or {}).items():
            files[path] = overridden(files[path] if path in files else read_yaml(root / path), own)
    reports = {
        Path(path).parent.name: own["reports"]
        for path, own in files.items()
        if path.endswith("/params.yaml")
    }
    if reports:
        files.setdefault("dvc.yaml", read_yaml(root / "dvc.yaml"))
    for paper, subjects in reports.items():
        for subject, entry in subjects.items():
            stage = files["dvc.yaml"]["stages"][f"report_{paper}_{subject}"]
            stage["outs"] = [
                {f"paper_figures/{paper}/{exhibit}": {"cache": False}}
                for exhibit in entry["exhibits"]
            ]
            read = [
                f"data/scores/{scores}" + ".json" * ("/" in scores) for scores in entry["scores"]
            ]
            stage["deps"] = [
                *(dep for dep in stage["deps"] if not dep.startswith("data/scores/")),
                *read,
            ]
    return files


def said(name: str, root: Path, key: str, default: Any) -> Any:
    """What a scale, or the one that it extends, says under one of the keys that are no overrides."""
    return next((own[key] for own in reversed(scales(name, root).values()) if key in own), default)


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        if KIND in new and new[KIND] != old.get(KIND):
            return new  # settings of another kind have other names
        return {
            **old,
            **{
                key: _merged(old[key], value) if key in old else value for key, value in new.items()
            },
        }
    return new


def make(name: str, root: Path, folder: Path) -> None:
    """Bring ``folder`` up to date with the working tree and write the scale's parameters; what was built there stays.

    Raises BadInput: no such scale, or a bad override.
    """
    files = parameters(name, root)
    folder.mkdir(parents=True, exist_ok=True)
    refuse_if_in_use(folder)
    kept = _tracked(root)
    for path in _tracked(folder) if (folder / ".git").is_dir() else []:
        if (
            path not in kept
            and str(path) not in (TARGETS, MADE_FROM)
            and not str(path).startswith(BUILT)
        ):
            (folder / path).unlink(missing_ok=True)
    for path in kept:
        if not str(path).startswith(BUILT) and str(path) not in files and (root / path).is_file():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if (
                not (folder / path).is_file()
                or (folder / path).read_bytes() != (root / path).read_bytes()
            ):
                shutil.copy2(root / path, folder / path)
    for changed, content in files.items():
        header = f"# {changed} with experiments/scales/{name}/overrides.yaml; made by longform_lab.scale.\n"
        text = header + yaml_text(content)
        written = folder / changed
        if not written.is_file() or written.read_text(encoding="utf-8") != text:
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(text, encoding="utf-8")
    (folder / TARGETS).write_text(" ".join(said(name, root, TARGETS, [])), encoding="utf-8")
    commit = (
        _run(root, "git", "describe", "--always", "--abbrev=40", "--dirty").strip()
        if _has_commits(root)
        else ""
    )
    write_json(folder / MADE_FROM, {"scale": name, "commit": commit})
    if not (folder / ".git").is_dir():
        _run(folder, "git", "init", "--quiet")
        share_cache(root, folder)
    for raw in (root / "data" / "raw").glob("*"):
        link = folder / "data" / "raw" / raw.name
        if not link.exists():
            link.symlink_to(os.path.relpath(raw, link.parent))


def refuse_if_in_use(folder: Path) -> None:
    """Raise BadInput where a run holds DVC's lock of a folder, whose code and parameters it is reading."""
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


def _has_commits(root: Path) -> bool:
    command = ["git", "rev-parse", "--quiet", "--verify", "HEAD"]
    return subprocess.run(command, cwd=root, capture_output=True).returncode == 0


def share_cache(root: Path, folder: Path) -> None:
    """Let the DVC project in ``folder`` use the cache of the one in ``root``, as ``dvc config --local cache.dir`` does.

    The file is written here, so that a scale can be made where DVC is not installed.
    """
    local = folder / ".dvc" / "config.local"
    local.parent.mkdir(exist_ok=True)
    cache = os.path.relpath(root / ".dvc" / "cache", local.parent)
    local.write_text(f"[cache]\n    dir = {cache}\n", encoding="utf-8")


def _tracked(folder: Path) -> set[Path]:
    """Files that git knows or would add."""
    listed = _run(folder, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return {Path(name) for name in listed.split("\0") if name}


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise BadInput(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def keep_results(name: str, root: Path, folder: Path) -> None:
    """Copy what a scale measured into ``experiments/scales/<name>/``, where git keeps it.

    Kept are one file of records, tables and pictures, and its first articles as Markdown.
    """
    home = root / "experiments" / "scales" / name
    for part in (FIGURES, ARTICLES):
        shutil.rmtree(home / part, ignore_errors=True)
    if (folder / "data" / "scores").is_dir():
        write_scale_records(folder / "data" / "scores", home / RECORDS)
    keep_exhibits(root, folder / FIGURES, home / FIGURES)
    count, generations = said(name, root, ARTICLES, 0), folder / "data" / "generations"
    for file in sorted(generations.rglob("documents.jsonl")) if count else ():
        pages = [f"# The first {count} articles by number, none left out"]
        for document in read_documents(file)[:count]:  # as they were written
            titled = all(section.title is not None for section in document.sections)
            pages += [f"## {document.id}", f"~~~~text\n{render(document, titled)}\n~~~~"]
        place = home / ARTICLES / ("-".join(file.parent.relative_to(generations).parts) + ".md")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n\n".join(pages) + "\n", encoding="utf-8")


def keep_exhibits(root: Path, written: Path, home: Path) -> None:
    """Copy exhibits: their tables and pictures; one whose files another run keeps already becomes a line that leads there.

    An exhibit without Markdown (files for another program) and files beside the tables are left out; a command makes them.
    """
    known: dict[tuple[tuple[str, bytes], ...], Path] = {}
    scales = sorted(path for path in root.glob(f"experiments/scales/*/{FIGURES}") if path != home)
    for figures in (root / FIGURES, *scales):
        for page in sorted(figures.glob("*/*/*.md")):
            if page.stem == page.parent.name and not SAME.search(page.read_text(encoding="utf-8")):
                known.setdefault(_content(page.parent), page)
    for folder in sorted(
        path.parent for path in written.rglob("*.md") if path.stem == path.parent.name
    ):
        place = home / folder.relative_to(written)
        place.mkdir(parents=True)
        twin = known.get(_content(folder))
        if twin is None:
            for file in _shown(folder):
                shutil.copyfile(file, place / file.name)
            if (place / "ledger.csv").is_file():
                keep_measured(place / "ledger.csv")
            continue
        link = os.path.relpath(twin, place)
        commit = _run(root, "git", "rev-parse", "--short=8", "HEAD").strip()
        run = (
            "the default run"
            if twin.is_relative_to(root / FIGURES)
            else f"the scale {twin.parts[-5]}"
        )
        text = f"The same files as [{place.name} of {run}]({link}) at commit {commit}.\n"
        (place / f"{place.name}.md").write_text(text, encoding="utf-8")


def keep_measured(ledger: Path) -> None:
    """Take the printed numbers that a run did not measure out of its ledger."""
    lines = rows(ledger, ("ours",))
    measured = [list(line.values()) for line in lines if line["ours"]]
    with atomic_write(ledger) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([list(lines[0]), *measured])


def _shown(folder: Path) -> list[Path]:
    """The files of an exhibit that a reader opens, and the ledger's CSV; numbers of the others stand in the records."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return [path for path in files if path.suffix in SHOWN or folder.name == LEDGER]


def _content(folder: Path) -> tuple[tuple[str, bytes], ...]:
    """Names and bytes of an exhibit's files, to find equal ones."""
    return tuple((path.name, path.read_bytes()) for path in _shown(folder))


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.scale", description=__doc__)
    parser.add_argument("name", help="a folder of experiments/scales/")
    parser.add_argument("--folder", type=Path, help="where to make it (scales/NAME)")
    parser.add_argument("--results", action="store_true", help="copy its results back instead")
    chosen = parser.parse_args(arguments)
    root, folder = Path(), chosen.folder or Path("scales") / chosen.name
    try:
        (keep_results if chosen.results else make)(chosen.name, root, folder)
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
