"""The documentation speaks of what exists: files, folders, stages, modules; and the example critic runs as it is printed."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

import longform.critics
from longform.core.artefacts import read_yaml, write_documents
from longform.core.documents import Document, Section
from longform.core.results import read_results
from longform.core.stages import STAGES, main

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in ("README.md", "docs/**/*.md", "data/**/*.md", "experiments/**/*.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
)
MADE = (
    "data/",
    "paper_figures/",
    "scales/",
    "scratch/",
    "criticism/",
)  # what runs write, and what only some machines have
TOP = ("src", "docs", "experiments", "tests", "benchmarks", "notebooks")
SOURCE = (
    "core",
    "text",
    "datasets",
    "language_models",
    "decoding",
    "critics",
    "evaluation",
    "reporting",
    "pipeline",
    "study",
)
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


def test_the_index_names_every_page():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in index] == ["index.md"]


def test_the_example_critic_runs_as_printed(tmp_path, monkeypatch):
    page = (ROOT / "docs/add_a_critic.md").read_text(encoding="utf-8")
    folder = tmp_path / "critics" / CRITIC
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    for name in ("read", "score"):
        source = re.search(rf"`src/longform/critics/{CRITIC}/{name}.py`:\n\n```python\n(.*?)```", page, re.S)
        (folder / f"{name}.py").write_text(source[1], encoding="utf-8")
    monkeypatch.setattr(longform.critics, "__path__", [*longform.critics.__path__, str(folder.parent)])
    entry = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.S)[1])
    params = {"seed": 7, "articles": {"corpora": ["wiki"], "models": [], "critics": entry}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    texts = [
        f"The harbour of town {i} is old. Its {'harbour' if i % 3 else 'castle'} is known. It rains." for i in range(24)
    ]
    real = [Document(f"d{i}", ("train", "test")[i % 2], (Section(None, text),)) for i, text in enumerate(texts)]
    sound = [replace(d, id=f"sound@0/{d.id}", split="test") for d in real]
    broken = [Section(None, d.text.replace("harbour is known", "street is known")) for d in real]
    damaged = [
        replace(d, id=f"street@1.0/{d.id}", split="test", sections=(s,)) for d, s in zip(real, broken, strict=True)
    ]
    for corpus, documents in {"wiki": real, "corruptions": sound + damaged}.items():
        write_documents(tmp_path / "data/corpora/articles" / corpus / "documents.jsonl", documents)
    for stage in ("read", "score"):
        assert main([stage, "articles", CRITIC, "--home", str(tmp_path)]) == 0
    records = read_results(tmp_path / "data/scores/articles" / f"{CRITIC}.json")
    share = records.one(metric=CRITIC, corpus="wiki", system="data")
    assert share.value == pytest.approx(1 / 3) and share.low < share.value < share.high and share.units == 12
    assert records.one(corpus="corruptions", task="street").difference == pytest.approx(-1 / 3)
