"""The README shows the tables that the default run wrote, and names only commands that exist."""

import re
import subprocess
from pathlib import Path

import pytest

from experiments.readme import MARK, fill

ROOT = Path(__file__).parents[1]


README = (ROOT / "README.md").read_text(encoding="utf-8")
MARKS = [mark["place"] for mark in re.finditer(MARK, README)]


def test_the_readme_shows_tables_and_names_make_targets_that_exist():
    assert {"deng2022/table_1", "deng2022/table_2", "ledger"} <= set(MARKS)
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_committed_readme_tables_are_the_ones_that_the_committed_run_wrote(tmp_path):
    """A run on another processor, or an edit of the README, changes the working tree and leaves both as committed."""
    archive = ["git", "archive", "HEAD", "README.md", "experiments/scales", "paper_figures/*.md"]
    try:
        committed = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a git checkout whose last commit holds the README and tables ({error})")
    subprocess.run(["tar", "-x", "-C", str(tmp_path)], input=committed, check=True)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert fill(readme, tmp_path) == readme, "copy them: python experiments/readme.py"


def test_a_mark_may_name_a_scale_and_the_rows_to_show(tmp_path):
    for place, value in ((tmp_path, 1), (tmp_path / "experiments" / "scales" / "s", 2)):
        (place / "paper_figures" / "p" / "t").mkdir(parents=True)
        (place / "paper_figures" / "p" / "t" / "t.md").write_text(
            f"**T**\n\n| | x |\n|---|---|\n| wiki a | {value} |\n| arxiv | 2 |\n\n- finding\n"
        )
    whole, part = (f"<!-- {head} -->\nold\n<!-- end -->" for head in ("p/t", "s:p/t wiki"))
    assert "finding" in fill(whole, tmp_path) and "| wiki a | 1 |\n| arxiv" in fill(whole, tmp_path)
    assert fill(part, tmp_path) == "<!-- s:p/t wiki -->\n**T**\n\n| | x |\n|---|---|\n| wiki a | 2 |\n<!-- end -->"
