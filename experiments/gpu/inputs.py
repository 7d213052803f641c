"""What a job needs of the repository, found by following its imports, and the wheels that it needs besides.

``python -m experiments.gpu.inputs`` (``make gpu-inputs``) downloads the wheels of ``wheels.txt`` for a machine with Python 3.12 and packs
them with the files of all jobs into ``scratch/gpu/inputs.tar``; ``--paths`` prints the files of all jobs alone.
"""

import argparse
import ast
import importlib
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from experiments.gpu import JOBS
from longform.errors import BadInput

ROOT = Path(__file__).parents[2]
OURS = {
    "longform": ROOT / "src",
    "longform_lab": ROOT / "src",
    "synthetic_world": ROOT / "src",
    "experiments": ROOT,
    "benchmarks": ROOT,
}  # top-level packages, and where they lie
THERE = frozenset(
    {  # import names of what a machine for GPUs has: the packages of docs/one_gpu.md and what they need
        "accelerate",
        "huggingface_hub",
        "lightning",
        "matplotlib",
        "numba",
        "numpy",
        "pytorch_lightning",
        "safetensors",
        "scipy",
        "sklearn",
        "statsmodels",
        "tokenizers",
        "torch",
        "transformers",
        "yaml",
    }
)
# imported only where a setting or a file asks for them, which no job does
CHOSEN = frozenset(
    {
        "bm25s",
        "faiss",
        "fastcoref",
        "linkgrammar",
        "mwparserfromhell",
        "pandas",
        "pyarrow",
        "spacy",
        "tomotopy",
    }
)
WHEELS = ROOT / "experiments" / "gpu" / "wheels.txt"
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
)
PLACE = Path("scratch") / "gpu"
MOST = 60 * 2**20  # bytes that travel


def modules_of(tree: ast.AST) -> Iterator[str]:
    """Dotted names that a module imports anywhere, inside functions too, and by ``importlib.import_module("name")``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            yield from (one.value for one in node.args[:1] if isinstance(one, ast.Constant))


def _run_at_import(tree: ast.Module) -> list[ast.stmt]:
    """Statements outside functions, classes and what type checkers alone see."""
    deferred = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If)
    return [statement for statement in tree.body if not isinstance(statement, deferred)]


def files_of(module: str) -> list[Path]:
    """Our files that an import of a dotted name runs: those of its packages and its own; the last part may be no module."""
    parts = module.split(".")
    place = OURS[parts[0]]
    found = []
    for part in parts:
        place = place / part
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if file.is_file():
            found.append(file)
    return found


@cache
def reached(module: str) -> tuple[frozenset[Path], frozenset[tuple[str, Path]]]:
    """What an import of a module can run, however deep.

    Returns:
        Our files, and (import name, file) of packages that are neither ours nor of Python's library.
    """
    waiting, files, outside = files_of(module), set[Path](), set[tuple[str, Path]]()
    while waiting:
        file = waiting.pop()
        if file in files:
            continue
        files.add(file)
        for name in _modules_in(file):
            top = name.split(".")[0]
            if top in OURS:
                waiting += files_of(name)
            elif top not in sys.stdlib_module_names:
                outside.add((top, file))
    return frozenset(files), frozenset(outside)


@cache
def _modules_in(file: Path) -> tuple[str, ...]:
    """The modules that a file imports; many jobs reach one file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    if file.name == "__init__.py":  # what it imports on demand, its users import themselves
        tree = ast.Module(body=_run_at_import(tree), type_ignores=[])
    return tuple(modules_of(tree))


def package_data(files: frozenset[Path]) -> list[Path]:
    """Files beside modules, or in a folder ``data`` beside them, that their packages read."""
    found: list[Path] = []
    for folder in {file.parent for file in files if OURS["longform"] in file.parents}:
        for path in (*folder.iterdir(), *(folder / "data").glob("*")):
            if path.is_file() and path.suffix not in (".py", ".pyc", ".md"):
                found.append(path)
    return found


def paths(job: str) -> list[Path]:
    """Files below the root that a job needs, relative to it. Raises BadInput: it names one that is not there."""
    files, _ = reached(JOBS[job])
    command, _ = reached("experiments.gpu.__main__")
    needed = {*files, *command, *package_data(files | command), WHEELS, ROOT / "pyproject.toml"}
    for name in importlib.import_module(JOBS[job]).INPUTS:
        place = ROOT / name
        if not place.exists():
            raise BadInput(f"gpu {job}: its input {name} is not there; fix INPUTS of {JOBS[job]}")
        needed |= (
            {path for path in place.rglob("*") if path.is_file()} if place.is_dir() else {place}
        )
    return sorted(path.relative_to(ROOT) for path in needed)


def input_bytes(job: str) -> int:
    """Size of the files that a job needs, wheels left out."""
    return sum((ROOT / path).stat().st_size for path in paths(job))


def wheel_names() -> dict[str, str]:
    """Pinned requirements of ``wheels.txt`` by import name."""
    lines = (line.split("#")[0].strip() for line in WHEELS.read_text(encoding="utf-8").splitlines())
    pins = [line for line in lines if line]
    imports = {"pillow": "PIL"}
    names = {pin.split("==")[0]: pin for pin in pins}
    return {imports.get(name, name.replace("-", "_")): pin for name, pin in names.items()}


def download(folder: Path) -> None:
    """The wheels of ``wheels.txt`` for Python 3.12 on Linux. Raises BadInput: pip finds one of them nowhere."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    command += [
        "--only-binary=:all:",
        "--python-version",
        "3.12",
        "--implementation",
        "cp",
        "--dest",
        str(folder),
    ]
    command += [word for platform in PLATFORMS for word in ("--platform", platform)]
    done = subprocess.run([*command, *wheel_names().values()], capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BadInput(
            f"gpu inputs: pip could not download the wheels ({last}); fix {WHEELS.relative_to(ROOT)}"
        )


def pack(target: Path, files: Sequence[Path], wheels: Sequence[Path]) -> int:
    """A tar of the files by their paths and of the wheels below ``wheels/``; returns its bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w") as archive:
        for path in files:
            archive.add(ROOT / path, str(path), recursive=False)
        for wheel in wheels:
            archive.add(wheel, f"wheels/{wheel.name}")
    return target.stat().st_size


def main(given: list[str] | None = None) -> int:
    """Download, pack, and say what travels."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gpu.inputs", description=__doc__)
    parser.add_argument(
        "--paths", action="store_true", help="print the paths of all jobs and do nothing else"
    )
    options = parser.parse_args(given)
    try:
        needed = sorted({path for job in JOBS for path in paths(job)})
        if options.paths:
            print("\n".join(map(str, needed)))
            return 0
        download(ROOT / PLACE / "wheels")
        wheels = sorted((ROOT / PLACE / "wheels").glob("*.whl"))
        size = pack(ROOT / PLACE / "inputs.tar", needed, wheels)
        if size > MOST:
            raise BadInput(
                f"gpu inputs: {size:,} bytes, {MOST:,} may travel; take inputs out of a job"
            )
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    for job in JOBS:
        print(f"{job}: {len(paths(job))} files, {input_bytes(job):,} bytes")
    print(f"{len(wheels)} wheels, {sum(wheel.stat().st_size for wheel in wheels):,} bytes")
    print(f"{PLACE / 'inputs.tar'}: {size:,} bytes; how to use it: docs/one_gpu.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
