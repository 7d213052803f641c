"""Programs that no test runs import names that the package has."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

from longform_lab.source_code import PACKAGES

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path for folder in ("benchmarks", "experiments") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_program_imports_names_that_exist(program):
    for node in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        if (
            not isinstance(node, ast.ImportFrom)
            or (node.module or "").split(".")[0] not in PACKAGES
        ):
            continue
        module = importlib.import_module(node.module)
        for alias in node.names:
            known = hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}")
            assert known, f"{node.module} has no {alias.name}"
