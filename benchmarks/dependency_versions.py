"""Do the ranges of ``pip install .`` hold at their ends? The quick tests at both ends.

``python benchmarks/dependency_versions.py PYTHON oldest|newest [FOLDER]``, for instance
``python3.13 oldest``. An environment is made in FOLDER (a temporary one by default), the package is
built and installed there, and :data:`TESTS` are run on what was installed. "Oldest" are the lower
bounds of ``pyproject.toml``; where these have no wheel for a Python, the first version that has one
(:data:`FIRST_WHEELS`).
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIRST_WHEELS = {"3.13": {"numpy": "2.1.0", "pillow": "11.0.0", "PyYAML": "6.0.2"}}
FOR_TESTS = ("pytest", "pytest-timeout", "hypothesis", "pydantic", "statsmodels", "pandas")
TESTS = (
    "tests/critics/entity_grid",
    "tests/critics/lexical",
    "tests/critics/section_order",
    "tests/critics/coreference",
    "tests/critics/topics",
    "tests/critics/test_face.py",
    "tests/critics/test_moved_scores.py",
    "tests/criticize",
)


def lower_bounds(python_version: str) -> list[str]:
    """Each requirement of the package without extras, at its oldest version that has a wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    first_wheels = FIRST_WHEELS.get(python_version, {})
    pinned = []
    for line in project["dependencies"]:
        name, bound = re.findall(r"^([\w-]+)>=([\d.]+)", line)[0]
        pinned.append(f"{name}=={first_wheels.get(name, bound)}")
    return pinned


def main(python: str, versions: str, folder: Path) -> int:
    """Make the environment and run the tests; their exit code."""
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    python_version = subprocess.check_output([python, "-c", show], text=True).strip()
    pinned = lower_bounds(python_version) if versions == "oldest" else []
    subprocess.run([python, "-m", "venv", folder], check=True)
    own_python = folder / "bin" / "python"
    pip = [own_python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*pip, str(ROOT), *FOR_TESTS, *pinned], check=True)
    subprocess.run([own_python, "-m", "pip", "list"], check=True)
    # The installed package is tested, and src/ stays off the path.
    pytest = [own_python, "-m", "pytest", "-o", "addopts=-q", "-o", "pythonpath=."]
    pytest += ["--continue-on-collection-errors", *TESTS]
    return subprocess.run(pytest, cwd=ROOT).returncode


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("oldest", "newest"):
        sys.exit(__doc__)
    if len(sys.argv) == 4:
        sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1], sys.argv[2], Path(temporary)))
