"""The example in each critic's README runs, and prints what the page shows."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

import longform.critics

ROOM = Path(longform.critics.__file__).parent
PAGES = sorted(ROOM.glob("*/README.md"))
LINES = 24  # of prose and example together; a page is read in a minute


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_critics_example_prints_what_its_page_shows(page):
    text = page.read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(example, str(page), "exec"), {})
    assert printed.getvalue() == shown
    assert len(text.splitlines()) <= LINES and "**Asks**" in text and "**Needs**" in text
