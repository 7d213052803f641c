"""Every command and snippet of the pages on any model runs, on a tiny model that is made here."""

import re
from pathlib import Path

import pytest
from tiny import lm_folder

from longform.cli import main
from tests.tools.any_model_files import write_samples

ROOT = Path(__file__).parents[1]
PAGES = ("suites", "generate", "verify", "exports")


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with everything that the pages name."""
    folder = tmp_path_factory.mktemp("pages")
    lm_folder(folder / "models" / "mine", window=512)
    write_samples(folder)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_snippet_of_a_page_runs(page, place, monkeypatch):
    monkeypatch.chdir(place)
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 800
    ran = 0
    for block in blocks(text, "sh"):
        for line in block.splitlines():
            words = re.findall(r"'[^']*'|\S+", line.partition("#")[0])
            if words[:1] == ["longform"]:
                assert main([word.strip("'") for word in words[1:]]) == 0, line
                ran += 1
    for block in blocks(text, "python"):
        exec(block, {})
        ran += 1
    assert ran > 2
