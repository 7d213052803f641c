"""Every requirement is pinned, listed with its licence, and free of copyleft where the study needs it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME, DEVELOPMENT = "requirements.txt", "requirements-dev.txt"


def required(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line.split("#")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]


def listed(heading):
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    part = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [[field.strip() for field in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("|")]
    return {row[0]: row[1] for row in rows[2:]}


@pytest.mark.parametrize(("name", "heading"), [(RUNTIME, "Runtime"), (DEVELOPMENT, "Development only")])
def test_every_requirement_is_pinned_and_listed_with_its_licence(name, heading):
    lines = required(name)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][\w.]*", line) for line in lines), lines
    assert {line.partition("==")[0] for line in lines} == listed(heading).keys()
    assert all(listed(heading).values())


def test_no_copyleft_at_run_time():
    assert not {package for package, licence in listed("Runtime").items() if re.search(r"GPL|MPL|EUPL", licence)}
    assert any("GPL" in licence for licence in listed("Development only").values()), "the pattern must match something"
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*(import|from) (mauve|gensim)\b", path.read_text(encoding="utf-8"), re.M), path
