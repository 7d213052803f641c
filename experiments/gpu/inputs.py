"""Find the repository's files that a job needs, by following its imports, and fetch its wheels.

``python -m experiments.gpu.inputs`` (``make gpu-inputs``) downloads the wheels of ``wheels.txt``
for a machine with Python 3.12 and packs them with the files of all jobs into
``scratch/gpu/inputs.tar``; ``--paths`` prints the files of all jobs alone.
"""

import argparse
import ast
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from experiments.gpu import JOBS, job_named
from longform.errors import BadInput

ROOT = Path(__file__).parents[2]
# Top-level packages, and where they lie.
OURS = {
    "longform": ROOT / "src",
    "longform_lab": ROOT / "src",
    "synthetic_world": ROOT / "src",
    "experiments": ROOT,
    "benchmarks": ROOT,
}
# Import names of what a machine for GPUs has: the packages of docs/one_gpu.md and what they need.
INSTALLED = frozenset(
    [
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
    ]
)
# Imported only where a setting or a file asks for them, which no job does.
OPTIONAL = frozenset(
    [
        "bm25s",
        "faiss",
        "fastcoref",
        "linkgrammar",
        "mwparserfromhell",
        "pandas",
        "pyarrow",
        "spacy",
        "tomotopy",
    ]
)
WHEELS = ROOT / "experiments" / "gpu" / "wheels.txt"
IMPORT_NAMES = {
    "pillow": "PIL",
    "markdown-it-py": "markdown_it",
}  # of packages, where it is not their own
# A wheel has one of these tags; pip takes any of them.
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
)
FOLDER = Path("scratch") / "gpu"
MAX_BYTES = 60 * 2**20  # that travel


def modules_of(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a module imports, of whatever package: ``os.path``.

    Imports inside functions count, and ``importlib.import_module("name")``; relative ones do not.
    Of ``from a import b`` both ``a`` and ``a.b`` are given, since b may be a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Call) and _imports_by_name(node):
            yield node.args[0].value


def _imports_by_name(call: ast.Call) -> bool:
    """Whether a call is ``importlib.import_module("name")``."""
    if ast.unparse(call.func) != "importlib.import_module":
        return False
    return bool(call.args) and isinstance(call.args[0], ast.Constant)


def _run_at_import(tree: ast.Module) -> list[ast.stmt]:
    """The statements at the top that are no function, class or ``if`` (as TYPE_CHECKING)."""
    deferred = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If)
    return [statement for statement in tree.body if not isinstance(statement, deferred)]


def files_of(module: str) -> list[Path]:
    """The files of ours that an import of a dotted name runs: its packages' and its own.

    The name's last part need not be a module; it may be a function of one.
    """
    parts = module.split(".")
    path = OURS[parts[0]]
    files = []
    for part in parts:
        path = path / part
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.is_file():
            files.append(file)
    return files


@cache
def reached(module: str) -> tuple[frozenset[Path], frozenset[tuple[str, Path]]]:
    """Find all files that importing a module can run, directly or through other imports.

    Returns:
        Our files, and (import name, file) of packages that are neither ours nor Python's.
    """
    waiting = files_of(module)
    files: set[Path] = set()
    outside: set[tuple[str, Path]] = set()
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
    """The dotted names that a file imports, cached since many jobs reach one file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    # A package may import modules only when one of their names is asked for (``__getattr__``).
    # Whoever asks imports the module by an own statement, so here these imports do not count.
    if file.name == "__init__.py":
        tree = ast.Module(body=_run_at_import(tree), type_ignores=[])
    return tuple(modules_of(tree))


def package_data(files: frozenset[Path]) -> list[Path]:
    """Files beside modules, or in a folder ``data`` beside them, that their packages read."""
    folders = set()
    for file in files:
        if OURS["longform"] in file.parents:
            folders |= {file.parent, file.parent / "data"}
    data = []
    for folder in folders:
        for path in folder.glob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc", ".md"):
                data.append(path)
    return data


def paths(job: str) -> list[Path]:
    """Files below the root that a job needs, relative to it.

    Raises:
        BadInput: it names one that is not there.
    """
    files, _ = reached(JOBS[job])
    command, _ = reached("experiments.gpu.__main__")
    needed = {*files, *command, *package_data(files | command), WHEELS, ROOT / "pyproject.toml"}
    for name in job_named(job).inputs:
        path = ROOT / name
        if not path.exists():
            raise BadInput(
                f"gpu {job}: its input {name} is not there; fix the inputs of {JOBS[job]}"
            )
        needed.update(files_below(path) if path.is_dir() else [path])
    return sorted(path.relative_to(ROOT) for path in needed)


def files_below(folder: Path) -> list[Path]:
    """All files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def paths_of_all_jobs() -> list[Path]:
    """Files below the root that any job needs, relative to it."""
    needed: set[Path] = set()
    for job in JOBS:
        needed.update(paths(job))
    return sorted(needed)


def input_bytes(job: str) -> int:
    """Size of the files that a job needs, wheels left out."""
    return sum((ROOT / path).stat().st_size for path in paths(job))


def wheel_names() -> dict[str, str]:
    """Requirements of ``wheels.txt``, as ``minicons==0.3.39``, by the package's import name."""
    pins = {}
    for line in WHEELS.read_text(encoding="utf-8").splitlines():
        pin = line.split("#")[0].strip()
        if pin:
            package = pin.split("==")[0]
            pins[IMPORT_NAMES.get(package, package.replace("-", "_"))] = pin
    return pins


def download(folder: Path) -> None:
    """Download the wheels of ``wheels.txt`` for Python 3.12 on Linux, in place of those there.

    Raises:
        BadInput: pip cannot find one of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--python-version", "3.12"]
    command += ["--implementation", "cp", "--dest", str(folder)]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    requirements = wheel_names().values()
    process = subprocess.run([*command, *requirements], capture_output=True, text=True)
    if process.returncode:
        messages = process.stderr.strip().splitlines() or ["no message"]
        raise BadInput(
            f"gpu inputs: pip could not download the wheels ({messages[-1]}); fix"
            f" {WHEELS.relative_to(ROOT)}"
        )


def pack(target: Path, files: Sequence[Path], wheels: Sequence[Path]) -> int:
    """Write a tar of files by their paths and of wheels below ``wheels/``; return its bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w") as archive:
        for path in files:
            archive.add(ROOT / path, str(path), recursive=False)
        for wheel in wheels:
            archive.add(wheel, f"wheels/{wheel.name}")
    return target.stat().st_size


def main(arguments: list[str] | None = None) -> int:
    """Download wheels and pack them with all jobs' files, or print the files' paths."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gpu.inputs", description=__doc__)
    only_paths = "print the paths of all jobs and do nothing else"
    parser.add_argument("--paths", action="store_true", help=only_paths)
    options = parser.parse_args(arguments)
    try:
        if options.paths:
            print("\n".join(map(str, paths_of_all_jobs())))
        else:
            pack_everything()
    except BadInput as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0


def pack_everything() -> None:
    """Download the wheels, pack them with the files of all jobs, and say what travels.

    Raises:
        BadInput: it is too much, or a wheel or an input is not there.
    """
    folder = ROOT / FOLDER
    files = paths_of_all_jobs()
    download(folder / "wheels")
    wheels = sorted((folder / "wheels").glob("*.whl"))
    size = pack(folder / "inputs.tar", files, wheels)
    if size > MAX_BYTES:
        raise BadInput(
            f"gpu inputs: {size:,} bytes, {MAX_BYTES:,} may travel; take inputs out of a job"
        )
    for job in JOBS:
        print(f"{job}: {len(paths(job))} files, {input_bytes(job):,} bytes")
    size_of_wheels = sum(wheel.stat().st_size for wheel in wheels)
    print(f"{len(wheels)} wheels, {size_of_wheels:,} bytes")
    print(f"{FOLDER / 'inputs.tar'}: {size:,} bytes; how to use it: docs/one_gpu.md")


if __name__ == "__main__":
    sys.exit(main())
