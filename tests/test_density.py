"""Rooms that were written to be read stay so: their density is within the budget."""

import re

import pytest

from tests import density, draws
from tests.shape import ROOT, SOURCES

CRITICS = sorted(path.parent for path in (SOURCES / "longform/critics").glob("*/__init__.py"))
FINISHED = (
    "longform",
    "longform/criticize",
    "longform/critics",
    *(folder.relative_to(SOURCES).as_posix() for folder in CRITICS),
    "longform/datasets",
    "longform/datasets/test_suites",
    "longform/decoding",
    "longform/evaluation",
    "longform/files",
    "longform/hsmm",
    "longform/language_models",
    "longform/statistics",
    "longform/text",
    "longform/tools",
    "longform_lab",
    "longform_lab/reporting",
    "longform_lab/settings",
    "longform_lab/study",
    "synthetic_world",
)

# Folders of scripts.
FINISHED_SCRIPTS = ("benchmarks", "experiments/gpu", "experiments/site")

TEST_NAME = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)

PLANTED = '''
"""A docstring is no statement."""


def pairs(rows):
    found = [[cell for cell in row] for row in rows]
    total = sum(len(row) for row in found)
    if total > 1:
        total = 1
    return total
'''


@pytest.mark.parametrize("folder", FINISHED)
def test_a_finished_room_keeps_the_budget_of_density(folder):
    measured = density.measure(SOURCES / folder)
    assert measured.statements > 20
    assert density.over_budget(measured) == {}


@pytest.mark.parametrize("folder", FINISHED_SCRIPTS)
def test_a_finished_folder_of_scripts_keeps_the_budget_of_density(folder):
    measured = density.measure(ROOT / folder)
    assert measured.statements > 20
    assert density.over_budget(measured) == {}


def test_the_scripts_of_all_papers_keep_the_budget_of_density():
    measured = density.measure_files(sorted((ROOT / "experiments").glob("*.py")))
    assert measured.statements > 20
    assert density.over_budget(measured) == {}


def test_density_counts_nodes_loops_names_and_long_lines(tmp_path):
    (tmp_path / "planted.py").write_text(PLANTED + "x = 1  # " + "-" * 100 + "\n")
    measured = density.measure(tmp_path)
    # By hand: def 0, found 10, total 10, if 3, total 2, return 1, x 2.
    assert measured.statements == 7
    assert measured.nodes_mean == pytest.approx((0 + 10 + 10 + 3 + 2 + 1 + 2) / 7)
    assert measured.nodes_median == 2
    assert measured.comprehensions == pytest.approx(100 * 3 / 7)
    assert measured.nested == pytest.approx(100 / 7)
    # Seven names are assigned (found, cell, row, total, row, total, x), one of them weak.
    assert measured.weak_names == pytest.approx(100 / 7)
    assert measured.long_lines == 1


def test_a_long_function_without_comments_lacks_steps(tmp_path):
    body = "".join(f"    x{i} = {i}\n" for i in range(16))
    (tmp_path / "long.py").write_text(
        f"def bare():\n{body}\n\ndef told():\n    # 1. Start.\n{body}"
    )
    assert density.measure(tmp_path).unexplained == ("long.py:bare",)


def test_names_of_tests_have_at_most_70_characters():
    long_names = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in TEST_NAME.findall(path.read_text(encoding="utf-8")):
            if len(name) > 70:
                long_names.append(f"{path.name}: {name}")
    assert long_names == []


def test_functions_are_drawn_by_the_commits_hash():
    first, again, other = (draws.drawn(commit) for commit in ("ab12", "ab12", "cd34"))
    assert first == again != other and len({function.place for function in first}) == 20
    assert all(f"def {function.name}(" in function.source for function in first)


@pytest.mark.parametrize(
    "paper", ["beyer2021", "deng2022", "lapata2005", "massarelli2020", "matrix", "sheng2024"]
)
def test_the_scripts_of_a_paper_keep_the_budget_of_density(paper):
    measured = density.measure_files(sorted((ROOT / "experiments" / paper).rglob("*.py")))
    assert measured.statements > 20
    assert density.over_budget(measured) == {}
