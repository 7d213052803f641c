"""The README shows the tables that the default run wrote, and names only commands that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["table_1", "table_2"])
def test_readme_tables_are_the_ones_that_the_run_wrote(name):
    shown = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", (ROOT / "README.md").read_text(), re.S)
    written = (ROOT / "paper_figures" / "deng2022" / name / f"{name}.md").read_text()
    assert shown and shown.group(1).strip() == written.strip(), (
        "copy the table into the README: python -m longform.stages.readme"
    )


def test_make_targets_named_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
