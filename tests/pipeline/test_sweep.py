"""A sweep over model sizes with DVC's own commands, on the real parameters: docs/sweep_model_sizes.md."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longform.core.artefacts import read_json, read_yaml, write_json

ROOT = Path(__file__).parents[2]
TRACKED = ("params.yaml", "dvc.yaml", ".dvc/config", ".dvcignore", "experiments", "data/metrics", "data/plots")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="DVC's experiments need git")


def command(folder: Path, *words: str) -> str:
    who = {f"GIT_{role}_{what}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr[-2000:]}"
    return done.stdout


def dvc(folder: Path, *words: str) -> str:
    return command(folder, sys.executable, "-m", "dvc", *words)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The pipeline of this repository in a repository of its own, without its data."""
    folder = tmp_path_factory.mktemp("sweep")
    for name in TRACKED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "scores", "paper_figures"))
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    (folder / ".gitignore").write_text("__pycache__\n")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "a state to sweep from")):
        command(folder, "git", *words)
    return folder


def test_dvc_shows_word_ppl_and_latent_ppl_without_another_tool(project):
    if not any((project / "data" / "metrics").rglob("*.json")):
        pytest.skip("no run has been committed")
    shown = list(csv.DictReader(io.StringIO(dvc(project, "exp", "show", "--csv"))))
    for critic, metric in (("perplexity", "word_ppl"), ("section_order", "latent_ppl")):
        for titles in ("with", "without"):
            wanted = f"wiki.gpt2-{titles}_titles.{metric}"
            named = [c for c in shown[0] if c in (wanted, f"data/metrics/articles/{critic}.json:{wanted}")]
            assert len(named) == 1 and float(shown[0][named[0]]) > 1


def test_one_command_queues_every_size_and_changes_nothing_else(project):
    asked = "models.gpt2.n_embd=64,96"
    dvc(project, "exp", "run", "--queue", "-S", asked)
    base = read_yaml(project / "params.yaml")
    assert base == read_yaml(ROOT / "params.yaml")
    del base["models"]["gpt2"]["n_embd"]
    sizes = []
    for ref in command(project, "git", "log", "--walk-reflogs", "--format=%H", "refs/exps/celery/stash").split():
        (project / "swept.yaml").write_text(command(project, "git", "show", f"{ref}:params.yaml"))
        swept = read_yaml(project / "swept.yaml")
        sizes.append(swept["models"]["gpt2"].pop("n_embd"))
        assert swept == base
    assert sorted(sizes) == [64, 96]


def test_two_revisions_are_compared_by_metric_parameter_and_plot(project):
    """The second block of the page, on a branch in place of an experiment: it has another width and another Latent PPL."""
    place = project / "data" / "metrics" / "articles" / "section_order.json"
    if not place.is_file():
        pytest.skip("no run has been committed")
    command(project, "git", "checkout", "--quiet", "-b", "wide")
    params, metrics = project / "params.yaml", read_json(place)
    params.write_text(params.read_text().replace("n_embd: 64", "n_embd: 128", 1))
    metrics["wiki"]["gpt2-with_titles"]["latent_ppl"] = 7.25
    write_json(place, metrics)
    command(project, "git", "commit", "--quiet", "--all", "-m", "a wider network")
    command(project, "git", "checkout", "--quiet", "-")
    main = command(project, "git", "rev-parse", "HEAD").strip()
    found = json.loads(dvc(project, "metrics", "diff", main, "wide", "--json"))
    changed = found["data/metrics/articles/section_order.json"]["wiki.gpt2-with_titles.latent_ppl"]
    assert found.keys() == {"data/metrics/articles/section_order.json"} and changed["new"] == 7.25 != changed["old"]
    assert json.loads(dvc(project, "params", "diff", main, "wide", "--json")) == {
        "params.yaml": {"models.gpt2.n_embd": {"old": 64, "new": 128, "diff": 64}}
    }
    shown = dvc(project, "plots", "diff", main, "wide", "--out", "drawn", "--json")
    drawn = json.loads(shown)["data"]["word_against_latent_ppl"]
    assert {revision for plot in drawn for revision in plot["revisions"]} == {main, "wide"}


def test_a_queued_value_runs_in_a_copy_and_is_shown(project):
    """The first block of the page, with the quickest stage in place of ``curve``."""
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command(project, "git", "add", "--all")
    command(project, "git", "commit", "--quiet", "-m", "the code")
    dvc(project, "queue", "remove", "--all")
    stage, key = "corpus@wiki_short", "corpora.wiki_short.documents.train"
    dvc(project, "exp", "run", "--queue", "--name", "few", "-S", f"{key}=50", stage)
    assert "Queued" in dvc(project, "queue", "status")
    dvc(project, "queue", "start")
    deadline = time.monotonic() + 150
    while "Success" not in (said := dvc(project, "queue", "status")):
        assert "Failed" not in said and time.monotonic() < deadline, said
        time.sleep(1)
    shown = list(csv.DictReader(io.StringIO(dvc(project, "exp", "show", "--csv"))))
    assert next(row for row in shown if row["Experiment"] == "few")[key] == "50"
