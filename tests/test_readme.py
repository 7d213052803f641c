"""The README shows the tables that the default run wrote, and names only commands that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


MARKED = re.findall(r"<!-- (\w+(?:/\w+)?) -->\n(.*?)<!-- end -->", (ROOT / "README.md").read_text(), re.S)


def test_the_readme_shows_tables():
    assert {"deng2022/table_1", "deng2022/table_2"} <= {place for place, _ in MARKED}


@pytest.mark.parametrize(("place", "shown"), MARKED, ids=[place for place, _ in MARKED])
def test_readme_tables_are_the_ones_that_the_run_wrote(place, shown):
    written = (ROOT / "paper_figures" / place / f"{place.rpartition('/')[2]}.md").read_text()
    assert shown.strip() == written.strip(), "copy the table into the README: python -m longform.stages.readme"


def test_make_targets_named_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
