"""Copy tables of runs into the README and the pages of results: ``python experiments/readme.py``.

They stand between marks. A mark names a table below ``paper_figures/``, ``scale:`` before it one that ``experiments/scales/<scale>`` keeps; and, where it is too
long, what the rows to show begin with, several beginnings with semicolons between.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = r"<!-- (?P<head>(?:(?P<scale>\w+):)?(?P<place>\w+(?:/\w+)?)(?: (?P<begin>\w[^>]*?))?) -->"


def fill(text: str, root: Path) -> str:
    """A page's text with every marked table as ``report`` last wrote it, below a copy of the repository."""

    def table(mark: re.Match[str]) -> str:
        place, begin, scale = mark["place"], mark["begin"], mark["scale"]
        figures = (root / "experiments" / "scales" / scale if scale else root) / "paper_figures"
        written = (figures / place / f"{place.rpartition('/')[2]}.md").read_text(encoding="utf-8")
        return f"<!-- {mark['head']} -->\n{cut(written, begin) if begin else written.strip()}\n<!-- end -->"

    return re.sub(MARK + r"\n.*?<!-- end -->", table, text, flags=re.S)


def cut(written: str, begin: str) -> str:
    """Caption, head and the rows that begin so; the findings below the table are left to its own file."""
    lines = written.strip().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    begins = tuple(f"| {single}" for single in begin.split(";"))
    rows = [line for line in lines[head + 1 :] if line.startswith(begins)]
    return "\n".join(lines[: head + 1] + rows)


def pages(root: Path) -> list[Path]:
    """The pages that show tables of runs."""
    return [root / "README.md", *sorted((root / "docs" / "results").glob("*.md"))]


if __name__ == "__main__":
    for path in pages(ROOT):
        path.write_text(fill(path.read_text(encoding="utf-8"), ROOT), encoding="utf-8")
