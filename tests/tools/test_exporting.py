"""Folders for other tools are what these tools read; where one is not installed, its test says so."""

import importlib.util
import json

import pytest
import yaml
from tiny import lm_folder

from longform.cli import main
from longform.critics import EntityGrid
from longform.examples import machine_articles, real_articles
from longform.tools.exporting import export_evaluate, export_harness
from longform.tools.suites import judge_suites
from tests.refusals import refuses
from tests.tools.any_model_files import write_samples


def without(package):
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(
        missing, reason=f"{package} is not installed (make check installs it)"
    )


def test_the_evaluate_folder_is_named_as_its_module(tmp_path, capsys):
    paths = export_evaluate(tmp_path / "longform_critics")
    names = sorted(path.name for path in paths)
    assert names == ["README.md", "app.py", "longform_critics.py", "requirements.txt"]
    assert main(["export", "evaluate", str(tmp_path / "again")]) == 0
    assert "again/again.py" in capsys.readouterr().out
    refuses("take letters, digits and _", export_evaluate, tmp_path / "longform-critics")


@without("evaluate")
def test_evaluate_computes_what_the_critic_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    import evaluate

    export_evaluate(tmp_path / "longform_critics")
    module = evaluate.load(str(tmp_path / "longform_critics"), "entity_grid")
    real = [article.text for article in real_articles()]
    machine = [article.text for article in machine_articles()]
    found = module.compute(predictions=machine, real=real[:10], held_out=real[10:])
    critic = EntityGrid().fit(real[:10])
    score = critic.score(machine)
    assert (found["score"], found["low"], found["high"]) == (score.value, score.low, score.high)
    assert found["p_value"] == critic.compare(machine, real[10:]).p_value
    assert found["signature"] == critic.identity


def test_harness_tasks_lie_beside_their_data_and_in_one_group(tmp_path, capsys):
    write_samples(tmp_path)
    folder = tmp_path / "tasks"
    assert main(["export", "harness", str(folder), str(tmp_path / "pairs.csv")]) == 0
    assert "lm_eval --include_path" in capsys.readouterr().out
    task = yaml.safe_load((folder / "pairs.yaml").read_text(encoding="utf-8"))
    assert task["task"] == "coherencegym_pairs" and task["doc_to_choice"] == "{{choices}}"
    data = task["dataset_kwargs"]["data_files"]["test"]
    assert data == str(folder / "pairs.jsonl")
    rows = (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    lines = list(map(json.loads, rows))
    assert lines[0]["context"] == "It lies on a river."
    assert lines[0]["choices"][lines[0]["target"]] == "The town is old."
    group = yaml.safe_load((folder / "_coherencegym.yaml").read_text(encoding="utf-8"))
    assert group == {"group": "coherencegym", "task": ["coherencegym_pairs"]}
    assert len(export_harness(folder, [tmp_path / "pairs.csv"])) == 3  # over the older ones


@without("lm_eval")
def test_the_harness_passes_the_items_that_we_pass(tmp_path):
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    write_samples(tmp_path)
    model = lm_folder(tmp_path / "lm", window=512)
    names = [tmp_path / "pairs.csv", tmp_path / "texts" / "machine.jsonl"]
    export_harness(tmp_path / "tasks", names)
    ours = judge_suites(model, names, metric="sum")
    wanted = {result.suite: result.accuracy for result in ours.results}
    found = simple_evaluate(
        model="hf",
        model_args={
            "pretrained": str(model),
            "device": "cpu",
            "add_bos_token": True,
            "logits_cache": False,
        },
        tasks=["coherencegym"],
        task_manager=TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False),
        bootstrap_iters=0,
    )
    for suite in ("pairs", "machine_all", "machine_context"):
        assert found["results"][f"coherencegym_{suite}"]["acc,none"] == wanted[suite]
