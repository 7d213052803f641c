"""Scales: what extends, takes out and changes what; what their reports and lists of files say; the papers' own sizes and what the
rehearsal may cut of them."""

import csv
import json
import lzma
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml
from zc.lockfile import LockFile

from experiments.rehearse import PREFIX, SIZES, files_of, overrides
from experiments.stand_ins import BASES, BERT
from longform.documents import Document, Section
from longform.files.artefacts import read_yaml, write_documents
from longform_lab import real_files
from longform_lab.experiment import Experiment
from longform_lab.reporting.printed import read_expected
from longform_lab.scale import make
from longform_lab.scale_overrides import EXTENDS, apply_overrides, key_of_scale, parameters
from longform_lab.scale_results import copy_results
from tests import shape
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
SCALES = sorted(p.parent.name for p in (ROOT / "experiments" / "scales").glob("*/overrides.yaml"))
PAPERS = [name for name in SCALES if name.startswith("paper_")]
REAL = ("real", "real_small")
written = shape.files_of_scale
HUB = {name: f"/stand/in/{number}" for number, name in enumerate([*BASES, BERT])}


def scale(root: Path, name: str, **overrides) -> None:
    folder = root / "experiments" / "scales" / name
    folder.mkdir(parents=True)
    (folder / "overrides.yaml").write_text(yaml.safe_dump(overrides))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump({"seed": 1, "models": {"a": {"width": 2}, "b": {"width": 3}}})
    )
    (tmp_path / "paper.yaml").write_text(
        yaml.safe_dump({"reports": {"corpus": "x", "system": "b"}})
    )
    own = {"without": {"models": ["b"]}, "files": {"paper.yaml": {"reports": {"system": "a"}}}, "targets": ["t"],
           "claims": "c"}  # fmt: skip
    scale(tmp_path, "first", **own, models={"a": {"width": 4}, "c": {"width": 5}})
    scale(tmp_path, "second", extends="first",
          **{"models.c": {"width": 6}, "files": {"paper.yaml": {"reports.corpus": "y"}}})  # fmt: skip
    return tmp_path


def test_a_scale_comes_after_the_one_that_it_extends(root):
    files = parameters("second", root)
    assert files["params.yaml"] == {
        "seed": 1,
        "scale": "c",
        "models": {"a": {"width": 4}, "c": {"width": 6}},
    }
    scale(root, "bare")
    assert parameters("bare", root)["params.yaml"] == read_yaml(root / "params.yaml")
    assert files["paper.yaml"] == {"reports": {"corpus": "y", "system": "a"}}
    assert key_of_scale("second", root, "targets", []) == ["t"]
    assert parameters("first", root)["params.yaml"]["models"]["c"] == {"width": 5}


def test_what_is_not_there_cannot_be_taken_out_or_extended(root):
    without = {"without": {"models": ["bb"]}}
    refuses(
        r"without\.models: .*no 'bb' \(near: b\)",
        apply_overrides,
        read_yaml(root / "params.yaml"),
        without,
    )
    scale(root, "third", extends="four")
    refuses("no scale 'four'; allowed are", parameters, "third", root)
    scale(root, "circle", extends="circle")
    refuses("extend each other", parameters, "circle", root)


def test_a_scale_in_which_a_run_is_at_work_is_left_alone(root, tmp_path):
    folder = tmp_path / "scales" / "first"
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    make("first", root, folder)
    assert json.loads((folder / "scale.json").read_text()) == {"scale": "first", "commit": ""}
    lock = folder / ".dvc" / "tmp" / "lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    (folder / "params.yaml").write_text("as the run reads it")
    with closing(LockFile(str(lock))):
        refuses("a run is at work there", make, "first", root, folder)
    assert (folder / "params.yaml").read_text() == "as the run reads it"
    make("first", root, folder)
    assert (folder / "params.yaml").read_text() != "as the run reads it"


def commits(folder):
    log = ["git", "log", "--format=%s", "main"]
    return subprocess.run(log, cwd=folder, capture_output=True, text=True).stdout.split("\n")[:-1]


def test_experiments_can_start_from_a_commit_of_the_scale(root, tmp_path, monkeypatch):
    """DVC refuses experiments in a repository without commits; a machine may have no author."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    folder = tmp_path / "scales" / "first"
    make("first", root, folder)
    assert commits(folder) == ["Scale first"]
    make("first", root, folder)
    assert commits(folder) == ["Scale first"]  # nothing has changed
    (root / "new.py").write_text("")
    make("first", root, folder)
    assert commits(folder) == ["Scale first", "Scale first"]


def test_a_scale_keeps_a_text_that_looks_like_a_number(root, tmp_path):
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    folder = root / "experiments" / "scales" / "quoted"
    folder.mkdir(parents=True)
    (folder / "overrides.yaml").write_text("models: {a: {width: 1e-05, name: '1e-05'}}\n")
    make("quoted", root, tmp_path / "made")
    assert read_yaml(tmp_path / "made" / "params.yaml")["models"]["a"] == {
        "width": 1e-05,
        "name": "1e-05",
    }


def test_a_scale_shares_the_cache_of_the_repository_that_it_is_made_in(root, monkeypatch):
    (root / ".dvc").mkdir()
    (root / ".dvc" / "config").write_text("")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    monkeypatch.chdir(root)
    for place in ("data/plots/systems.csv", "data/scores/a.json"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("of the default run")
    make("first", Path(), Path("scales/first"))
    assert not list(
        Path("scales/first/data").rglob("*.*")
    )  # else a stage would find its output changed each time that the scale is made
    kept = (
        (root / "scales" / "first" / ".dvc" / "config.local")
        .read_text()
        .partition("dir = ")[2]
        .split("\n")[0]
    )
    assert (root / "scales" / "first" / ".dvc" / kept).resolve() == (
        root / ".dvc" / "cache"
    ).resolve()


def test_results_come_with_the_first_articles_by_number(root):
    scale(root, "shown", articles=2)
    scale(root, "bare")
    for folder, title in (("with", "history"), ("without", None)):
        made = [Document(f"a-{i}", "generated", (Section(title, f"Text {i}."),)) for i in range(3)]
        write_documents(
            root
            / "run"
            / "data"
            / "generations"
            / "articles"
            / "wiki"
            / folder
            / "documents.jsonl",
            made,
        )
    for name in ("shown", "bare"):
        copy_results(name, root, root / "run")
    kept = root / "experiments" / "scales" / "shown" / "articles"
    texts = {path.name: path.read_text() for path in kept.iterdir()}
    assert texts.keys() == {"articles-wiki-with.md", "articles-wiki-without.md"}
    assert (
        "## a-1" in texts["articles-wiki-with.md"] and "a-2" not in texts["articles-wiki-with.md"]
    )
    assert "\nhistory: Text 0." in texts["articles-wiki-with.md"]
    assert "\nText 1." in texts["articles-wiki-without.md"]
    assert not (root / "experiments" / "scales" / "bare" / "articles").exists()


@pytest.mark.parametrize("name", REAL)
def test_a_real_scale_writes_with_one_tokenizer_and_has_all_its_names(name):
    asked = Experiment(ROOT)
    asked.__dict__["params"] = params = written(name)["params.yaml"]
    tokenizer = params["articles"]["tokenizer"]
    assert tokenizer == params["suites"]["tokenizer"]
    assert {**tokenizer, "kind": "finetuned"} == params["models"]["smollm2"]
    made = {**params["corpora"], **params["corpora_from_files"]}
    # two stages may not write one folder
    assert not params["corpora"].keys() & params["corpora_from_files"].keys()
    for critic in ("section_order", "coreference", "topics", "perplexity"):
        entry = params["articles"]["critics"][critic]
        readings = {settings.get("as", key) for key, settings in entry["predictions"].items()}
        for settings in [*entry["predictions"].values(), *entry["scores"]["metrics"].values()]:
            assert set(settings.get("corpora", entry["corpora"])) <= made.keys()
            assert {settings.get("predictions"), settings.get("train")} - {None} <= readings
    for study, models in (
        ("articles", params["articles"]["models"]),
        ("suites", params["suites"]["models"]),
    ):
        for corpus in params[study]["corpora"]:
            assert (
                {system.model for system in asked.systems(study, corpus)}
                == set(models)
                <= params["models"].keys()
            )


@pytest.mark.parametrize("name", ["", *SCALES])
def test_a_report_makes_the_exhibits_that_its_scale_shows(name):
    files = written(name) if name else {}
    stages = files.get("dvc.yaml", shape.yaml_copy(ROOT / "dvc.yaml"))["stages"]
    for path in sorted(ROOT.glob("experiments/*/params.yaml")):
        shown = files.get(str(path.relative_to(ROOT)), shape.yaml_copy(path))["reports"]
        for subject, entry in shown.items():
            stage = stages[f"report_{path.parent.name}_{subject}"]
            outs = [Path(next(iter(out))) for out in stage["outs"]]
            assert [out.name for out in outs] == list(entry["exhibits"]), f"{name} {path} {subject}"
            read = {
                dep.removesuffix(".json") for dep in stage["deps"] if dep.startswith("data/scores/")
            }
            assert read == {f"data/scores/{scores}" for scores in entry["scores"]}, (
                f"{name} {path} {subject}"
            )


@pytest.mark.parametrize("name", SCALES)
def test_every_target_of_a_scale_is_a_stage_and_claims_are_its_papers(name):
    listed, params = shape.yaml_copy(ROOT / "dvc.yaml")["stages"], written(name)["params.yaml"]
    for target in key_of_scale(name, ROOT, "targets", []):
        stage, at, item = target.partition("@")
        assert stage in listed and (name not in PAPERS or bool(at) == ("foreach" in listed[stage]))
        if at:
            names = params
            for key in listed[stage]["foreach"].strip("${}").split("."):
                names = names[key]
            assert item in names
    assert name not in PAPERS or params.get("scale") == "paper"


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Values of nested mappings and lists with their paths."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(below, (*path, str(key)))
    else:
        yield path, value


@pytest.mark.parametrize("name", [*PAPERS, *(name for name in SCALES if name.startswith("real"))])
def test_a_list_has_every_raw_file_that_the_parameters_read(name):
    params, listed = written(name)["params.yaml"], real_files.needed_data(name, ROOT)["files"]
    raw = {
        str(value).removeprefix("raw/")
        for _, value in leaves(params)
        if str(value).startswith("raw/")
    }
    places = {place.partition("/")[0].replace("_small", "") for place in raw}
    found = {entry["to"].partition("/")[0] for entry in listed}
    assert places <= found and found - places <= (
        {"gpt2", "gpt2_tokenizer.json"} if name in PAPERS else set()
    )
    for entry in listed:
        ways = [key for key in ("url", "by_hand", "hub", "commit", "package") if key in entry]
        assert entry["terms"] and len(ways) == 1 and ("sha256" in entry or ways != ["url"])
        assert ways != ["commit"] or {"repository", "under", "tree"} <= entry.keys()
    hubs = [entry for entry in [*listed, *params["models"].values()] if "hub" in entry]
    assert all(
        re.fullmatch("[0-9a-f]{40}", entry["revision"]) and entry["hub"] in HUB for entry in hubs
    )
    assert len({(entry["hub"], entry["revision"]) for entry in hubs}) == len(
        {entry["hub"] for entry in hubs}
    )


def test_the_list_names_every_file_of_the_suites():
    listed = {entry["to"]: entry for entry in real_files.needed_data("real", ROOT)["files"]}
    suites = [
        written(s)["params.yaml"]["corpora_from_files"]["suites"]
        for s in ("real", "real_connectives")
    ]
    sources = [place for corpus in suites for place in corpus["sources"].values()]
    named = [
        name
        for place in sources
        for name in (place.values() if isinstance(place, dict) else [place])
    ]
    assert set(listed) == {"cities.txt", *(f"suites/{name}" for name in named)}


@pytest.mark.parametrize("name", PAPERS)
def test_the_rehearsal_changes_numbers_and_places_and_nothing_else(name):
    paper = written(name)["params.yaml"]
    cut = overrides(name, HUB)
    assert cut[EXTENDS] == name and name in SIZES
    before, after = dict(leaves(paper)), dict(leaves(apply_overrides(paper, cut)))
    assert before.keys() == after.keys()
    changed = {path for path in before if before[path] != after[path]}
    for path in changed:
        numbers = all(type(side[path]) in (int, float) for side in (before, after))
        assert numbers or path[-1] == "hub", f"{PREFIX}{name} changes {'.'.join(path)}"
    fake = MagicMock(
        **{"read_bytes.return_value": b""}
    )  # a folder in which every file has the same content
    fake.__truediv__.return_value = fake
    kept = files_of(name, HUB, fake)["files"]
    assert [e["to"] for e in kept] == [e["to"] for e in real_files.needed_data(name, ROOT)["files"]]


def test_every_printed_number_has_a_target_and_a_cell_or_a_reason():
    papers = sorted(path.parent for path in (ROOT / "experiments").glob("*/expected.yaml"))
    has_cell = {
        (folder.name, n.table, ".".join(n.path)): n.where is not None or n.fact is not None
        for folder in papers
        for n in read_expected(folder).numbers
    }
    path = ROOT / "experiments" / "printed_numbers.csv.xz"
    with lzma.open(path, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    names = [(row["paper"], row["table"], row["number"]) for row in rows]
    assert sorted(names) == sorted(has_cell)
    for name, row in zip(names, rows, strict=True):
        none = row["compared"] == "lost" or re.fullmatch("by none: .{10,}", row["compared"])
        assert bool(none) != bool(row["target"] and has_cell[name]), row
