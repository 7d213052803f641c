"""Adding a language model and adding a critic: an entry each, run on the real parameters at a small size."""

import csv
import re
from pathlib import Path

import pytest
import yaml

import longform.critics
from longform.core.artefacts import read_json, read_yaml
from longform.core.results import read_results
from longform.core.stages import main
from longform.pipeline.scale import overridden

ROOT = Path(__file__).parents[2]
SMALL = {
    "corpora.wiki": {"documents": {"train": 40, "validation": 25, "test": 24}},
    "corpora.corruptions": {"documents": {"test": 24}, "severities": [0.2]},
    "corpora_from_files.shuffled_wiki": {"documents": {"train": 4, "validation": 2, "test": 24}, "shuffles": 1},
    "articles.corpora": ["wiki"],
    "articles.sizes": {"corpora": [], "models": []},
    "articles.seeds": 2,
    "articles.tokenizer": {"folder": None, "kind": "byte_pair", "vocab_size": 512},
    "articles.training": {"context": 64, "schedule": {"epochs": 0.2, "validations": 1}},
    "articles.sampling": {"documents": 24, "batch": 24, "max_tokens": 60, "context_overlap": 32},
    "articles.critics.section_order.corpora": ["wiki"],
    "articles.critics.section_order.train": {"corpora": ["wiki"], "schedule": {"epochs": 0.5, "validations": 1}},
}
SHAPE = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "from_scratch": True}


def small(folder: Path, **changed) -> dict:
    """A folder with the root's parameters, made small; what it returns may be changed and written again."""
    folder.mkdir(parents=True, exist_ok=True)
    params = overridden(read_yaml(ROOT / "params.yaml"), {**SMALL, **changed})
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
    (target / "expected.yaml").write_bytes((ROOT / "experiments" / paper / "expected.yaml").read_bytes())


def test_a_model_is_one_entry_and_its_name_in_a_study(articles, monkeypatch):
    with_exhibits(articles, "deng2022", sections=["table_2"], transitions=["table_12"])
    monkeypatch.chdir(articles)
    params = read_yaml(articles / "params.yaml")
    params["models"]["mine"] = SHAPE
    params["articles"]["models"] = ["mine"]
    critics = params["articles"]["critics"]
    for critic, name in (("section_order", "gold"), ("section_order", "probes"), ("perplexity", "probes")):
        critics[critic]["readings"].pop(name)  # what other exhibits show
    latent = {"critic": "validated", "deltas": [0.1, 1], "reading": "titles"}
    critics["section_order"]["scores"] = {"metrics": {"latent_ppl": latent}}
    critics["perplexity"]["corpora"] = ["wiki"]
    critics["perplexity"]["scores"] = {"metrics": critics["perplexity"]["scores"]["metrics"]}
    (articles / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    run(articles, "tokenizer articles", "language_model articles wiki mine", "generate articles wiki mine")
    run(articles, "train articles section_order", "read articles section_order", "score articles section_order")
    run(articles, "read articles perplexity", "score articles perplexity")
    run(articles, "report deng2022 sections", "report deng2022 transitions")
    for table in ("table_2", "table_12"):
        found = list(csv.DictReader((articles / f"paper_figures/deng2022/{table}/{table}.csv").open(encoding="utf-8")))
        assert [row for row in found if "mine" in row["row"]], f"{table} does not show the model"
    records = read_results(articles / "data/scores").where(system="mine", metric="latent_ppl")
    assert {(record.titles, record.seed) for record in records} == {(t, n) for t in (True, False) for n in (1, 2)}
    means = read_json(articles / "data/metrics/articles/section_order.json")["wiki"]
    values = [record.value for record in records if record.titles]
    assert means["mine-with_titles"]["latent_ppl"] == pytest.approx(sum(values) / 2)


def test_a_critic_is_one_folder_and_one_entry_as_the_page_shows(articles, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "add_a_critic.md").read_text(encoding="utf-8")
    for path, code in re.findall(r"`src/longform/critics/(\w+/\w+\.py)`:\n\n```python\n(.*?)```", page, re.S):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(code)
    monkeypatch.setattr(longform.critics, "__path__", [*longform.critics.__path__, str(tmp_path)])
    (added,) = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.S)[1]).items()
    name, entry = added
    params = read_yaml(articles / "params.yaml")
    params["articles"] |= {"models": [], "critics": {name: entry}}
    (articles / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    with_exhibits(articles, "matrix", corruptions=["corruption_matrix"])
    monkeypatch.chdir(articles)
    run(articles, f"read articles {name}", f"score articles {name}", "report matrix corruptions")
    records = read_results(articles / "data/scores/articles" / f"{name}.json")
    assert len(records.where(metric="pairwise_accuracy")) == 8  # the tasks of sheng2024 and whole sections
    assert all(record.low <= record.value <= record.high for record in records.where(metric="pairwise_accuracy"))
    shown = (articles / "paper_figures/matrix/corruption_matrix/corruption_matrix.csv").read_text(encoding="utf-8")
    assert name.replace("_", " ") in shown
