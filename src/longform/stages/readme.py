"""Copy the tables of the default run into the README between their marks: ``python -m longform.stages.readme``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def fill(text: str, figures: Path) -> str:
    """The README's text with every marked table as ``report`` last wrote it."""

    def table(mark: re.Match[str]) -> str:
        name = mark.group(1).rpartition("/")[2]
        written = (figures / mark.group(1) / f"{name}.md").read_text(encoding="utf-8")
        return f"<!-- {mark.group(1)} -->\n{written.strip()}\n<!-- end -->"

    return re.sub(r"<!-- (\w+(?:/\w+)?) -->\n.*?<!-- end -->", table, text, flags=re.S)


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(fill(path.read_text(encoding="utf-8"), ROOT / "paper_figures"), encoding="utf-8")
