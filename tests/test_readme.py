"""The README shows the tables that the default run wrote, and names only commands that exist."""

import re
from pathlib import Path

from longform.pipeline.readme import fill

ROOT = Path(__file__).parents[1]


README = (ROOT / "README.md").read_text(encoding="utf-8")
MARKS = re.findall(r"<!-- (\w+(?:/\w+)?)(?: \w+)? -->", README)


def test_the_readme_shows_tables():
    assert {"deng2022/table_1", "deng2022/table_2", "ledger"} <= set(MARKS)


def test_readme_tables_are_the_ones_that_the_run_wrote():
    assert fill(README, ROOT / "paper_figures") == README, "copy them: python -m longform.pipeline.readme"


def test_a_mark_may_name_the_rows_to_show(tmp_path):
    (tmp_path / "p" / "t").mkdir(parents=True)
    (tmp_path / "p" / "t" / "t.md").write_text(
        "**T**\n\n| | x |\n|---|---|\n| wiki a | 1 |\n| arxiv | 2 |\n\n- finding\n"
    )
    whole, part = (f"<!-- p/t{begin} -->\nold\n<!-- end -->" for begin in ("", " wiki"))
    assert "finding" in fill(whole, tmp_path) and "arxiv" in fill(whole, tmp_path)
    assert fill(part, tmp_path) == "<!-- p/t wiki -->\n**T**\n\n| | x |\n|---|---|\n| wiki a | 1 |\n<!-- end -->"


def test_files_that_the_readme_links_to_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_make_targets_named_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
