"""Copy the tables of the default run into the README between their marks: ``python -m longform.pipeline.readme``.

A mark names a table below ``paper_figures/`` and, where that is too long, what the rows to show begin with.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def fill(text: str, figures: Path) -> str:
    """The README's text with every marked table as ``report`` last wrote it."""

    def table(mark: re.Match[str]) -> str:
        place, begin = mark.group("place"), mark.group("begin")
        written = (figures / place / f"{place.rpartition('/')[2]}.md").read_text(encoding="utf-8")
        shown = cut(written, begin) if begin else written.strip()
        return f"<!-- {place}{f' {begin}' if begin else ''} -->\n{shown}\n<!-- end -->"

    return re.sub(r"<!-- (?P<place>\w+(?:/\w+)?)(?: (?P<begin>\w+))? -->\n.*?<!-- end -->", table, text, flags=re.S)


def cut(written: str, begin: str) -> str:
    """Caption, head and the rows that begin so; the findings below the table are left to its own file."""
    lines = written.strip().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    rows = [line for line in lines[head + 1 :] if line.startswith(f"| {begin}")]
    return "\n".join(lines[: head + 1] + rows)


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(fill(path.read_text(encoding="utf-8"), ROOT / "paper_figures"), encoding="utf-8")
