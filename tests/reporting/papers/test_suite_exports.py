"""Exported folders: every suite a task, every task in the group, the human sheet without its key."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from longform.core.documents import BadInput
from longform.core.results import Results
from longform.datasets.test_suites.items import Suite, pair, suites_to_corpus
from longform.reporting.papers import beyer2021
from longform.reporting.pivot import Given
from longform.reporting.printed import Expected

FORMULA = ("(2;%b%) > (2;%a%)",)
SUITES = [Suite(name, "sum", FORMULA, (pair(1, {"a": ["x", "good"], "b": ["x", "bad"]}),)) for name in ("one", "two")]


def given(data):
    return Given(Results([]), Expected("beyer2021", {}), data)


@pytest.fixture
def data(tmp_path):
    corpus = suites_to_corpus(SUITES)
    folder = tmp_path / "corpora" / "toy"
    folder.mkdir(parents=True)
    lines = [json.dumps(document.to_record()) for document in corpus.documents]
    (folder / "documents.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.savez(folder / "truth.npz", **corpus.truth)
    return tmp_path


def test_every_suite_is_a_task_of_the_group(data, tmp_path):
    beyer2021.harness_tasks(given(data), texts="corpora/toy").save(tmp_path, "x")
    group = yaml.safe_load((tmp_path / "_coherencegym.yaml").read_text(encoding="utf-8"))
    assert group["task"] == ["coherencegym_one", "coherencegym_two"]
    for suite in SUITES:
        task = yaml.safe_load((tmp_path / f"{suite.name}.yaml").read_text(encoding="utf-8"))
        assert task["task"] == f"coherencegym_{suite.name}"
        line = json.loads((tmp_path / task["dataset_kwargs"]["data_files"]["test"]).read_text(encoding="utf-8"))
        assert line == {"context": "x", "choices": ["good", "bad"], "target": 0}


def test_the_human_sheet_names_suites_that_exist(data):
    files = beyer2021.human_sheet(given(data), texts="corpora/toy", suites=["one"], per_suite=5, seed=1)
    assert files.contents["sheet.csv"].count("\n") == 2
    assert "left" not in files.contents["sheet.csv"].splitlines()[1]
    with pytest.raises(BadInput, match="no suites"):
        beyer2021.human_sheet(given(data), texts="corpora/toy", suites=["three"], per_suite=5, seed=1)


def test_a_sheet_of_nothing_and_a_corpus_of_something_else_are_refused(data):
    with pytest.raises(BadInput, match="per_suite is 0"):
        beyer2021.human_sheet(given(data), texts="corpora/toy", suites=["one"], per_suite=0, seed=1)
    with pytest.raises(BadInput, match="no such file"):
        beyer2021.harness_tasks(given(data), texts="corpora/absent")
    np.savez(data / "corpora" / "toy" / "truth.npz", other=np.zeros(1))
    with pytest.raises(BadInput, match="no suites"):
        beyer2021.harness_tasks(given(data), texts="corpora/toy")
