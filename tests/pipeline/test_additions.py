"""What docs/ tells to add, on the real parameters: a language model, a critic, a sweep over sizes with DVC's own commands."""

import csv
import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from repro_project import ROOT, command, git, until

import longform.critics
import longform.datasets.settings
from experiments.deng2022 import settings as deng2022
from experiments.deng2022.report import sections
from longform.criticize import judging, panels
from longform.critics import metrics, readings
from longform.files.artefacts import read_documents, read_json, read_yaml, write_json
from longform.results import Record, read_results, write_results
from longform_lab.scale_overrides import apply_overrides
from longform_lab.settings.critics import METRICS, READINGS
from longform_lab.settings.papers import PAPERS
from longform_lab.settings.params import schema_text
from longform_lab.settings.registries import FILE_DATASETS
from longform_lab.stages import main

SMALL = {
    "corpora.wiki": {"documents": {"train": 40, "validation": 25, "test": 24}},
    "corpora.corruptions": {"documents": {"test": 24}, "severities": [0.2]},
    "corpora_from_files.shuffled_wiki": {
        "documents": {"train": 4, "validation": 2, "test": 24},
        "shuffles": 1,
    },
    "articles.corpora": ["wiki"],
    "articles.sizes": {"corpora": [], "models": []},
    "articles.seeds": 2,
    "articles.tokenizer": {"kind": "byte_pair", "vocab_size": 512},
    "articles.training": {"context": 64, "schedule": {"epochs": 0.2, "validations": 1}},
    "articles.sampling": {"documents": 24, "batch": 24, "max_tokens": 60, "context_overlap": 32},
    "articles.critics.section_order.corpora": ["wiki"],
    "articles.critics.section_order.train": {
        "corpora": ["wiki"],
        "schedule": {"epochs": 0.5, "validations": 1},
    },
}
SHAPE = {
    "kind": "network",
    "model_type": "gpt2",
    "n_layer": 1,
    "n_head": 2,
    "n_embd": 16,
    "from_scratch": True,
}
TRACKED = (
    "params.yaml",
    "dvc.yaml",
    ".dvc/config",
    ".dvcignore",
    "experiments",
    "data/metrics",
    "data/plots",
)


def small(folder: Path, **changed) -> dict:
    """A folder with the root's parameters, made small; what it returns may be changed and written again."""
    folder.mkdir(parents=True, exist_ok=True)
    params = apply_overrides(read_yaml(ROOT / "params.yaml"), {**SMALL, **changed})
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    return params


def run(folder: Path, *stages: str) -> None:
    for stage in stages:
        assert main([*stage.split(), "--home", str(folder)]) == 0, stage


@pytest.fixture(scope="module")
def articles(tmp_path_factory):
    """The articles and two corpora of probes, before any model."""
    folder = tmp_path_factory.mktemp("additions")
    small(folder)
    run(folder, "corpus wiki", "corpus corruptions", "corpus shuffled_wiki")
    return folder


def with_exhibits(folder: Path, paper: str, **exhibits) -> None:
    """A paper's folder beside the parameters, whose reports show some exhibits alone."""
    own = read_yaml(ROOT / "experiments" / paper / "params.yaml")["reports"]
    reports = {
        name: {**own[name], "exhibits": {e: own[name]["exhibits"][e] for e in shown}}
        for name, shown in exhibits.items()
    }
    target = folder / "experiments" / paper
    target.mkdir(parents=True)
    (target / "params.yaml").write_text(yaml.safe_dump({"reports": reports}))
    (target / "expected.yaml").write_bytes(
        (ROOT / "experiments" / paper / "expected.yaml").read_bytes()
    )


@pytest.mark.long  # ten stages; test_study.py runs the same kind on a smaller study, test_pipeline.py reads every entry
def test_a_model_is_one_entry_and_its_name_in_a_study(articles, monkeypatch):
    with_exhibits(articles, "deng2022", sections=["table_2"], transitions=["table_12"])
    monkeypatch.chdir(articles)
    params = read_yaml(articles / "params.yaml")
    params["models"]["mine"] = SHAPE
    params["articles"]["models"] = ["mine"]
    critics = params["articles"]["critics"]
    for critic, name in (
        ("section_order", "gold"),
        ("section_order", "probes"),
        ("perplexity", "probes"),
    ):
        critics[critic]["predictions"].pop(name)  # what other exhibits show
    latent = {"kind": "title_ppl", "deltas": [0.1, 1], "predictions": "titles"}
    critics["section_order"]["scores"] = {"metrics": {"latent_ppl": latent}}
    critics["perplexity"]["corpora"] = ["wiki"]
    critics["perplexity"]["scores"] = {"metrics": critics["perplexity"]["scores"]["metrics"]}
    (articles / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    run(
        articles,
        "tokenizer articles",
        "language_model articles wiki mine",
        "generate articles wiki mine",
    )
    run(
        articles,
        "train articles section_order",
        "read articles section_order",
        "score articles section_order",
    )
    run(articles, "read articles perplexity", "score articles perplexity")
    run(articles, "report deng2022 sections", "report deng2022 transitions")
    for table in ("table_2", "table_12"):
        found = list(
            csv.DictReader(
                (articles / f"paper_figures/deng2022/{table}/{table}.csv").open(encoding="utf-8")
            )
        )
        assert [row for row in found if "mine" in row["row"]], f"{table} does not show the model"
    records = read_results(articles / "data/scores").where(system="mine", metric="latent_ppl")
    assert {(record.titles, record.seed) for record in records} == {
        (t, n) for t in (True, False) for n in (1, 2)
    }
    means = read_json(articles / "data/metrics/articles/section_order.json")["wiki"]
    values = [record.value for record in records if record.titles]
    assert means["mine-with_titles"]["latent_ppl"] == pytest.approx(sum(values) / 2)


@pytest.fixture
def critic_page(tmp_path, monkeypatch):
    """The page on critics, whose example lies where the page says."""
    page = (ROOT / "docs" / "add_a_critic.md").read_text(encoding="utf-8")
    (path, code), *others = re.findall(
        r"`src/longform/critics/(\w+/\w+\.py)`:\n\n```python\n(.*?)```", page, re.S
    )
    assert path == "word_recurrence/score.py" and not others
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text(code)
    monkeypatch.setattr(longform.critics, "__path__", [*longform.critics.__path__, str(tmp_path)])
    yield page
    for name in [name for name in sys.modules if "word_recurrence" in name]:
        del sys.modules[name]


def test_the_critic_of_the_page_judges_texts_as_the_page_prints(critic_page, capsys):
    code, printed = re.search(
        r"Try it:\n\n```python\n(.*?)```\n\n```text\n(.*?)```", critic_page, re.S
    ).groups()
    names = {}
    exec(code, names)
    assert capsys.readouterr().out == printed
    text = "The harbour was old. It froze. A harbour thawed. The harbour sank."
    values = [part.value for part in names["WordRecurrence"]().attribute(text).parts]
    assert values == [0, 0, 1]


def test_the_critic_of_the_page_is_a_row_of_criticize(critic_page, monkeypatch):
    from longform.critics.word_recurrence.score import WordRecurrence

    line = re.search(r"```python\n(plain_panel\(.*?)```", critic_page, re.S)[1]
    panel = eval(line, {**vars(panels), "WordRecurrence": WordRecurrence})
    monkeypatch.setattr(judging, "panels", lambda options: [panel])
    dull = ["The harbour was old. The harbour was small."] * 3
    lively = ["The harbour was old. Nobody came."] * 3
    (judged,) = judging.criticize(dull, lively, model="none", encoder="none").results
    assert judged.panel.name == "word recurrence"
    assert (judged.real.value, judged.generated.value) == (1, 0)


@pytest.mark.long  # its stages run; that an entry becomes stages is in test_pipeline.py
def test_a_critic_is_one_folder_and_one_entry_as_the_page_shows(articles, critic_page, monkeypatch):
    page = critic_page
    for module, registry in ((readings, READINGS), (metrics, METRICS)):
        file = f"critics/{Path(module.__file__).name}"
        said = rf'`src/longform/{file}`, with `"word_recurrence": (\w+),`.*?```python\n(.*?)```'
        class_name, code = re.search(said, page, re.S).groups()
        names = dict(vars(module))
        exec(code, names)
        monkeypatch.setitem(registry, "word_recurrence", names[class_name])
    assert json.loads(schema_text())["$defs"]["predictions.word_recurrence"]
    ((name, entry),) = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.S)[1]).items()
    params = read_yaml(articles / "params.yaml")
    params["articles"] |= {"models": [], "critics": {name: entry}}
    (articles / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    with_exhibits(articles, "matrix", corruptions=["corruption_matrix"])
    monkeypatch.chdir(articles)
    run(articles, f"read articles {name}", f"score articles {name}", "report matrix corruptions")
    records = read_results(articles / "data/scores/articles" / f"{name}.json")
    # the tasks of sheng2024 and whole sections
    assert len(records.where(metric="pairwise_accuracy")) == 8
    assert all(
        record.low <= record.value <= record.high
        for record in records.where(metric="pairwise_accuracy")
    )
    shown = (articles / "paper_figures/matrix/corruption_matrix/corruption_matrix.csv").read_text(
        encoding="utf-8"
    )
    assert name.replace("_", " ") in shown


def test_the_data_set_of_the_page_becomes_a_corpus(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "add_a_data_set.md").read_text(encoding="utf-8")
    reader, settings = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "letters.py").write_text(reader)
    monkeypatch.setattr(longform.datasets, "__path__", [*longform.datasets.__path__, str(tmp_path)])
    names = dict(vars(longform.datasets.settings))
    exec(settings, names)
    monkeypatch.setitem(FILE_DATASETS, "letters", names["Letters"])
    entry = re.search(r"```yaml\n(.*?)```", page, re.S)[1]
    (tmp_path / "params.yaml").write_text("seed: 1\n" + entry)
    raw = tmp_path / "data" / "raw" / "letters"
    raw.mkdir(parents=True)
    assert main(["corpus", "letters", "--home", str(tmp_path)]) == 2
    assert "no .txt files; put the letters there" in capsys.readouterr().err
    for number in range(40):
        (raw / f"{number:02}.txt").write_text(f"Dear friend, this is letter {number}.")
    run(tmp_path, "corpus letters")
    documents = read_documents(tmp_path / "data/corpora/articles/letters/documents.jsonl")
    texts = [document.text for document in documents]
    assert texts == [f"Dear friend, this is letter {number}." for number in range(40)]
    assert {document.split for document in documents} == {"train", "test"}
    monkeypatch.delitem(sys.modules, "longform.datasets.letters")


def test_the_table_of_the_page_shows_its_metric(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "add_a_table.md").read_text(encoding="utf-8")
    function, settings = re.findall(r"```python\n(.*?)```", page, re.S)
    names = dict(vars(deng2022))
    exec(function, names)
    monkeypatch.setattr(sections, "lengths", names["lengths"], raising=False)
    exec(settings, names)
    monkeypatch.setitem(PAPERS["deng2022"].exhibits, "lengths", names["Lengths"])
    paper = tmp_path / "experiments" / "deng2022"
    paper.mkdir(parents=True)
    (paper / "params.yaml").write_text(re.search(r"```yaml\n(.*?)```", page, re.S)[1])
    shutil.copy(ROOT / "experiments" / "deng2022" / "expected.yaml", paper)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    for critic, metric, value in (
        ("perplexity", "word_ppl", 12.5),
        ("section_order", "latent_ppl", 3.25),
    ):
        record = Record(critic, metric, corpus="wiki", system="data", value=value)
        write_results(tmp_path / f"data/scores/articles/{critic}.json", [record])
    monkeypatch.chdir(tmp_path)
    run(tmp_path, "report deng2022 sections")
    shown = (tmp_path / "paper_figures/deng2022/lengths/lengths.md").read_text(encoding="utf-8")
    assert "12.5" in shown and "3.25" not in shown


def dvc(folder: Path, *words: str) -> str:
    return command(folder, sys.executable, "-m", "dvc", *words)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The pipeline of this repository in a repository of its own, without its data."""
    if shutil.which("git") is None:
        pytest.skip("DVC's experiments need git")
    folder = tmp_path_factory.mktemp("sweep")
    for name in TRACKED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(
                source,
                target,
                ignore=shutil.ignore_patterns("__pycache__", "scores", "paper_figures"),
            )
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    (folder / ".gitignore").write_text("__pycache__\n")
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        ("commit", "--quiet", "-m", "a state to sweep from"),
    ):
        git(folder, *words)
    return folder


@pytest.mark.long  # DVC's own display of what test_scoring.py writes
def test_dvc_shows_word_ppl_and_latent_ppl_without_another_tool(project):
    if not any((project / "data" / "metrics").rglob("*.json")):
        pytest.skip("no run has been committed")
    shown = list(csv.DictReader(io.StringIO(dvc(project, "exp", "show", "--csv"))))
    for critic, metric in (("perplexity", "word_ppl"), ("section_order", "latent_ppl")):
        for titles in ("with", "without"):
            wanted = f"wiki.gpt2-{titles}_titles.{metric}"
            named = [
                c
                for c in shown[0]
                if c in (wanted, f"data/metrics/articles/{critic}.json:{wanted}")
            ]
            assert len(named) == 1 and float(shown[0][named[0]]) > 1


@pytest.mark.long  # DVC's own queue; that a changed value is one changed line is in test_pipeline.py
def test_one_command_queues_every_size_and_changes_nothing_else(project):
    dvc(project, "exp", "run", "--queue", "-S", "models.gpt2.n_embd=64,96")
    base = read_yaml(project / "params.yaml")
    assert base == read_yaml(ROOT / "params.yaml")
    del base["models"]["gpt2"]["n_embd"]
    sizes = []
    for ref in git(
        project, "log", "--walk-reflogs", "--format=%H", "refs/exps/celery/stash"
    ).split():
        (project / "swept.yaml").write_text(git(project, "show", f"{ref}:params.yaml"))
        swept = read_yaml(project / "swept.yaml")
        sizes.append(swept["models"]["gpt2"].pop("n_embd"))
        assert swept == base
    assert sorted(sizes) == [64, 96]


@pytest.mark.long  # two runs of the stages; that DVC shows our metrics is tested on one
def test_two_revisions_are_compared_by_metric_parameter_and_plot(project):
    """The second block of the page, on a branch in place of an experiment: it has another width and another Latent PPL."""
    place = project / "data" / "metrics" / "articles" / "section_order.json"
    if not place.is_file():
        pytest.skip("no run has been committed")
    git(project, "checkout", "--quiet", "-b", "wide")
    params, metrics = project / "params.yaml", read_json(place)
    params.write_text(params.read_text().replace("n_embd: 64", "n_embd: 128", 1))
    metrics["wiki"]["gpt2-with_titles"]["latent_ppl"] = 7.25
    write_json(place, metrics)
    git(project, "commit", "--quiet", "--all", "-m", "a wider network")
    git(project, "checkout", "--quiet", "-")
    first = git(project, "rev-parse", "HEAD").strip()
    found = json.loads(dvc(project, "metrics", "diff", first, "wide", "--json"))
    changed = found["data/metrics/articles/section_order.json"]["wiki.gpt2-with_titles.latent_ppl"]
    assert found.keys() == {"data/metrics/articles/section_order.json"}
    assert changed["new"] == 7.25 != changed["old"]
    wider = {"models.gpt2.n_embd": {"old": 64, "new": 128, "diff": 64}}
    assert json.loads(dvc(project, "params", "diff", first, "wide", "--json")) == {
        "params.yaml": wider
    }
    shown = dvc(project, "plots", "diff", first, "wide", "--out", "drawn", "--json")
    drawn = json.loads(shown)["data"]["word_against_latent_ppl"]
    assert {revision for plot in drawn for revision in plot["revisions"]} == {first, "wide"}


@pytest.mark.long  # DVC's own queue; that one command fills it and changes nothing else is the test above it
def test_a_queued_value_runs_in_a_copy_and_is_shown(project):
    """The first block of the page, with the quickest stage in place of ``curve``."""
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("__pycache__"))
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "-m", "the code")
    dvc(project, "queue", "remove", "--all")
    stage, key = "corpus@wiki_short", "corpora.wiki_short.documents.train"
    dvc(project, "exp", "run", "--queue", "--name", "few", "-S", f"{key}=50", stage)
    assert "Queued" in dvc(project, "queue", "status")
    dvc(project, "queue", "start")
    until(lambda: re.search("Success|Failed", dvc(project, "queue", "status")), 150)
    assert "Success" in (said := dvc(project, "queue", "status")), said
    shown = list(csv.DictReader(io.StringIO(dvc(project, "exp", "show", "--csv"))))
    assert next(row for row in shown if row["Experiment"] == "few")[key] == "50"
