"""Copy tables of runs into the README and the pages of results: ``python experiments/readme.py``.

They stand between marks. A mark names a table below ``paper_figures/``, ``scale:`` before it one
that ``experiments/scales/<scale>`` keeps; and, where it is too long, what the rows to show begin
with, several beginnings with semicolons between.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = r"<!-- (?P<head>(?:(?P<scale>\w+):)?(?P<place>\w+(?:/\w+)?)(?: (?P<begin>\w[^>]*?))?) -->"
END = "<!-- end -->"


def fill(text: str, root: Path) -> str:
    """A page's text with every marked table as ``report`` last wrote it below ``root``."""

    def table(mark: re.Match[str]) -> str:
        exhibit = mark["place"]
        home = root / "experiments" / "scales" / mark["scale"] if mark["scale"] else root
        path = home / "paper_figures" / exhibit / f"{exhibit.rpartition('/')[2]}.md"
        shown = path.read_text(encoding="utf-8").strip()
        if mark["begin"]:
            shown = cut(shown, mark["begin"].split(";"))
        return f"<!-- {mark['head']} -->\n{shown}\n{END}"

    return re.sub(MARK + rf"\n.*?{END}", table, text, flags=re.S)


def cut(text: str, beginnings: list[str]) -> str:
    """Caption, head and the rows with one of these beginnings, of a table's Markdown page.

    Raises:
        ValueError: there is no table.
    """
    before, rule, body = re.split(r"^(\|---.*\n)", text, maxsplit=1, flags=re.M)
    starts = tuple(f"| {beginning}" for beginning in beginnings)
    rows = [line for line in body.splitlines() if line.startswith(starts)]
    return "\n".join([before + rule.rstrip("\n"), *rows])


def pages(root: Path) -> list[Path]:
    """The pages that show tables of runs."""
    return [root / "README.md", *sorted((root / "docs" / "results").glob("*.md"))]


if __name__ == "__main__":
    for path in pages(ROOT):
        path.write_text(fill(path.read_text(encoding="utf-8"), ROOT), encoding="utf-8")
