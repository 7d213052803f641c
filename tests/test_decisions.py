"""Decisions are dated pages of at most 15 lines, each with context, choice and consequence, and the index names every one."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "decisions"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
HEADINGS = ["## Context", "## Choice", "## Consequence"]


def faults(name, text):
    """What is wrong with a page."""
    lines = text.splitlines()
    headings = [place for place, line in enumerate(lines) if line.startswith("## ")]
    if len(lines) > 15:
        yield f"{len(lines)} lines"
    if [lines[place] for place in headings] != HEADINGS:
        yield "other headings"
    if any(place + 1 == len(lines) or place + 1 in headings for place in headings):
        yield "an empty part"
    if any(len(line) > 150 for line in lines):
        yield "a line over 150 characters"
    if not re.match(r"20\d\d-\d\d-\d\d$", lines[1]) or not name.startswith(f"{lines[1]}-"):
        yield "no date, or another than its name's"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_is_a_dated_page_of_15_lines(page):
    assert list(faults(page.name, page.read_text(encoding="utf-8"))) == []


def test_a_long_undated_or_unfinished_decision_is_noticed():
    page = "# T\n2026-01-02\n\n## Context\na\n## Choice\nb\n## Consequence\nc\n"
    assert list(faults("2026-01-02-t.md", page)) == []
    assert list(faults("2026-01-03-t.md", page)) == ["no date, or another than its name's"]
    assert list(faults("2026-01-02-t.md", page + "d\n" * 7)) == ["16 lines"]
    assert list(faults("2026-01-02-t.md", page.replace("b\n", ""))) == ["an empty part"]
    assert list(faults("2026-01-02-t.md", page.replace("## Choice", "## Why"))) == [
        "other headings"
    ]
    assert list(faults("2026-01-02-t.md", page.replace("b\n", "b" * 151 + "\n"))) == [
        "a line over 150 characters"
    ]


def test_the_index_names_every_decision():
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(PAGES) > 50 and sorted(re.findall(r"\]\((20[^)]+)\)", index)) == [
        page.name for page in PAGES
    ]
