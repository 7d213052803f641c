"""The page on one's own texts does what it says: its settings and its commands, on a tiny corpus."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tiny import documents, lm_folder

from longform.documents import Document
from longform.files.artefacts import read_documents, write_documents
from longform.language_models.checkpoints import published
from longform.results import read_results
from longform_lab.stages import main
from tests.refusals import refuses

PAGE = (Path(__file__).parents[1] / "docs" / "own_texts.md").read_text(encoding="utf-8")
COMMIT = "0" * 40


def block(kind):
    return re.search(rf"```{kind}\n(.*?)```", PAGE, re.S).group(1)


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "mine"
    real = documents(20, ("train", "validation", "test"))
    write_documents(folder / "data" / "raw" / "articles.jsonl", real)
    generated = [replace(d, split="generated", sections=d.sections[::-1]) for d in real[:8]]
    write_documents(folder / "data/generations/mine/articles/samples/documents.jsonl", generated)
    (folder / "params.yaml").write_text(block("yaml"), encoding="utf-8")
    return folder


def test_the_pages_stages_run_in_a_users_folder_with_one_document(home):
    stages = re.findall(r"^stage (.*)$", block("sh"), re.M)
    assert len(stages) == 8
    for stage in stages:
        assert main([*stage.split(), "--home", str(home)]) == 0, stage
    order = read_results(home / "data/scores/mine/section_order.json").one(system="samples")
    words = read_results(home / "data/scores/mine/perplexity.json").one(system="samples")
    # every text is the wrong way round
    assert order.value > order.reference and order.p_value < 0.01
    assert words.units == 8 and words.value > 1
    assert len(read_documents(home / "data/generations/mine/articles/small/documents.jsonl")) == 8
    assert Document.from_record(json.loads(block("json"))).sections[0].title == "History"


@pytest.mark.long  # a training; test_training.py starts from a pinned checkpoint too
def test_a_published_model_is_finetuned_where_it_is_pinned_to_a_commit(home, tmp_path):
    """A folder stands for the hub here: transformers takes either."""
    params = yaml.safe_load(block("yaml"))
    params["models"]["small"] = {
        "kind": "finetuned",
        "hub": str(lm_folder(tmp_path / "published")),
        "revision": COMMIT,
    }
    (home / "params.yaml").write_text(yaml.safe_dump(params))
    for stage in ("corpus articles", "language_model mine articles small"):
        assert main([*stage.split(), "--home", str(home)]) == 0, stage
    assert (
        json.loads((home / "data/models/mine/articles/small/config.json").read_text())["n_embd"]
        == 16
    )
    for revision in (None, "main", "607a30d", 607):
        refuses(
            "a commit of 40 hexadecimal digits; copy the one",
            published,
            hub="openai/gpt2",
            revision=revision,
        )
