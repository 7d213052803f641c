"""The page on one's own texts does what it says: its rows and its commands, on a tiny model and a tiny corpus."""

import json
import re
from dataclasses import replace
from pathlib import Path

from tiny import documents, lm_folder

from longform.core.artefacts import read_json, write_documents
from longform.core.documents import Document
from longform.pipeline.__main__ import main

PAGE = (Path(__file__).parents[1] / "docs" / "own_texts.md").read_text(encoding="utf-8")


def block(kind):
    return re.search(rf"```{kind}\n(.*?)```", PAGE, re.S).group(1)


def test_the_pages_rows_run_in_a_folder_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    home = tmp_path / "mine"
    real = documents(20, ("train", "test"))
    write_documents(home / "data" / "articles" / "documents.jsonl", real)
    generated = [replace(d, split="generated", sections=d.sections[::-1]) for d in real[:8]]
    write_documents(home / "data" / "samples" / "documents.jsonl", generated)
    lm_folder(home / "data" / "gpt2")
    (home / "params.yaml").write_text(block("yaml"), encoding="utf-8")
    for names, verb in re.findall(
        r"for row in (.*?); do python -m longform.pipeline (\w+) \$row --home mine; done", block("sh")
    ):
        for name in names.split():
            assert main([verb, name, "--home", str(home)]) == 0
    order, words = (read_json(home / "data" / "scores" / "deng2022" / f"{name}.json") for name in ("order", "words"))
    assert order["value"] > order["real"] and order["comparison"]["p_value"] < 0.01  # every text is the wrong way round
    assert words["units"] == 8 and words["value"] > 1


def test_the_pages_document_is_one():
    assert Document.from_record(json.loads(block("json"))).sections[0].title == "History"
