"""The documentation speaks of what exists: files, folders, stages, modules; and the example critic runs as it is printed."""

import re
from functools import cache
from pathlib import Path

import pytest

from longform.core.artefacts import read_yaml
from longform.core.stages import STAGES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in ("README.md", "docs/**/*.md", "data/**/*.md", "experiments/**/*.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
)
MADE = ("data/", "paper_figures/", "scales/", "scratch/", "criticism/")  # of runs, and of some machines alone
TOP = ("src", "docs", "experiments", "tests", "benchmarks", "notebooks")
SOURCE = ("core", "text", "datasets", "language_models", "decoding", "critics", "evaluation", "reporting",
          "pipeline", "study")  # fmt: skip
MODEL = "gpt2_wide"  # of the examples
CRITIC = "word_recurrence"


@cache
def stage_names() -> frozenset[str]:
    return frozenset(read_yaml(ROOT / "dvc.yaml")["stages"])


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8")):
        assert target.startswith(MADE) or (ROOT / page.parent / target).exists(), f"{page} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for place in re.findall(r"(?<![\w/.-])((?:\w+/)+[\w.-]*\w/?)(?![\w*<{])", re.sub(r"https?://\S+", "", text)):
        if place.startswith(MADE) or CRITIC in place or "mine" in place:
            continue
        top = place.split("/")[0]
        if top in TOP:
            assert (ROOT / place).exists(), f"{page} names {place}"
        elif top in SOURCE and re.search(r"(/|\.(py|yaml|md|json))$", place):
            folders = (ROOT / "src" / "longform", ROOT / page.parent)
            assert any((folder / place).exists() for folder in folders), f"{page} names {place}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_stages_and_modules_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    families = "|".join(sorted({name.split("_")[0] for name in stage_names() if "_" in name}))
    for name in re.findall(rf"\b((?:{families})_\w+)@", text) + re.findall(r"\b(report_\w+)", text):
        assert name in stage_names(), f"{page} names the stage {name}"
    for line in re.findall(r"dvc repro ((?:[\w@<>-]+ ?)+)", text):
        for name in (word for word in line.split() if re.match(r"\w+_\w+", word)):
            assert name.partition("@")[0] in stage_names(), f"{page} runs the stage {name}"
    for stage in re.findall(r"python -m longform\.pipeline (\w+)", text):
        assert stage in STAGES, f"{page} runs {stage}"
    for module in re.findall(r"python -m longform\.([\w.]*\w)", text):
        place = ROOT / "src" / "longform" / module.replace(".", "/")
        assert place.is_dir() or place.with_suffix(".py").is_file(), f"{page} runs longform.{module}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_of_a_page_find_what_their_program_imports(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for before, program in re.findall(r"(\S*) ?python ((?:experiments|benchmarks)/[\w/]+\.py)", text):
        source = (ROOT / program).read_text(encoding="utf-8")
        if re.search(r"^from (experiments|benchmarks)\.", source, re.M):
            assert before.endswith("PYTHONPATH=src:."), f"{page}: {program} imports from the repository's root"


def test_the_index_names_every_page():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in index] == ["index.md"]


def test_every_scale_has_a_line_in_the_table_of_scales():
    text = (ROOT / "experiments/README.md").read_text(encoding="utf-8")
    scales = [path.parent.name for path in (ROOT / "experiments/scales").glob("*/overrides.yaml")]
    told = [name for name in scales if not name.startswith("paper_")]  # those have a page of their own
    assert told and [name for name in told if f"scales/{name}/overrides.yaml" not in text] == []
