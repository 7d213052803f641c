"""The paper scale is ready to run: it resolves, it is pinned, and each of its stages runs on tiny checkpoints of the same kinds."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from tiny import bpe_folder
from transformers import (
    BertConfig,
    BertForPreTraining,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
)

from longform.artefacts import read_corpus, read_json
from longform.datasets.synthetic_world import native_corpus as planted_raw
from longform.datasets.synthetic_world import wikipedia_dump
from longform.documents import BadInput
from longform.language_models import hub
from longform.pipeline.__main__ import main
from longform.pipeline.ladders import expand
from longform.pipeline.rows import VERBS

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "experiments" / "scales" / "paper"
ROWS = yaml.safe_load((PAPER / "params.yaml").read_text(encoding="utf-8"))
SIZES = {
    "gpt2": 124,
    "gpt2_m": 355,
    "gpt2_l": 774,
    "gpt2_xl": 1558,
}  # millions of parameters; deng2022 rounds otherwise
PYTHIA = {"14m", "70m", "160m", "410m", "1b", "1b4", "2b8", "6b9", "12b"}
WINDOW = 48


def test_a_dry_run_resolves_every_stage():
    """``--force``, since DVC 3.67 hashes what a stage reads before the stage before it has run, even in a dry run."""
    command = [sys.executable, "-m", "dvc", "repro", "--dry", "--force", str(PAPER / "dvc.yaml")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "DVC_NO_ANALYTICS": "1"}
    )
    assert done.returncode == 0, done.stderr
    stages = set(re.findall(r"Running stage '.*dvc\.yaml:(\w+@[\w-]+)'", done.stdout))
    assert stages == {f"{verb}@{row}" for verb in VERBS for row in ROWS[verb]} and len(stages) > 300


def test_every_published_checkpoint_is_pinned_to_a_commit():
    pointers = {name: row for name, row in ROWS["train"].items() if row["code"] == "language_models/hub.py"}
    assert {f"pythia_{size}" for size in PYTHIA} | SIZES.keys() | {"gpt_neo", "bert"} == pointers.keys()
    assert len({row["revision"] for row in pointers.values()}) == len(pointers)
    for name, row in pointers.items():
        assert hub.fit(name=name, hub=row["hub"], revision=row["revision"]).hub == row["hub"]


@pytest.mark.parametrize("revision", [None, "main", "607a30d", 607])
def test_a_branch_or_no_revision_is_refused(revision):
    with pytest.raises(BadInput, match="a commit of 40 hexadecimal digits; copy the one"):
        hub.fit(name="gpt2", hub="openai-community/gpt2", revision=revision)


def test_tables_2_3_and_5_and_the_ladder_have_all_their_systems():
    systems = {name for name, row in ROWS["generate"].items() if row["code"] == "decoding/long_documents.py"}
    for setting in ("w_title", "wo_title"):
        for corpus in ("wiki", "wiki_short", "pubmed", "arxiv"):
            assert {f"{corpus}-gpt2-{setting}", f"{corpus}-gpt_neo-{setting}"} <= systems
        assert {f"wiki-{size}-{setting}" for size in SIZES} <= systems
        assert {f"wiki-pythia_{size}-{setting}" for size in PYTHIA} <= systems
    schedule = ROWS["train"]["wiki-gpt2-w_title"]["schedule"]
    assert (schedule["learning_rate"], schedule["batch"], schedule["epochs"]) == (5e-5, 8, 20)  # deng2022 section 4
    sampling = ROWS["generate"]["wiki-gpt2-w_title"]
    assert (sampling["documents"], sampling["context_overlap"], sampling["preset"]) == (10_000, None, "paper")


NETWORKS = {
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(vocab_size=300, n_positions=WINDOW, n_embd=16, n_layer=1, n_head=2)),
    "gpt_neo": lambda: GPTNeoForCausalLM(
        GPTNeoConfig(
            vocab_size=300, hidden_size=16, num_layers=2, num_heads=2, max_position_embeddings=WINDOW, window_size=8,
            attention_types=[[["global", "local"], 1]],
        )
    ),
    "pythia_14m": lambda: GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=300, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=WINDOW,
        )
    ).half(),  # as the published ones
    "bert": lambda: BertForPreTraining(
        BertConfig(vocab_size=300, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    ),
}  # fmt: skip
SYSTEMS = ("wiki-gpt2-w_title", "wiki-gpt_neo-wo_title", "wiki-pythia_14m-wo_title")
CORPORA = ("wiki", "wiki_short", "pubmed", "arxiv")
SMALL = {
    "language_models/hub.py": lambda row, place: {"hub": str(place / row["base_name"])},
    "critics/section_order/train.py": lambda row, _: {"max_length": 32, "schedule": {"epochs": 0.2, "validations": 1}},
    "language_models/causal_lm.py": lambda row, _: {
        "context": WINDOW,
        "schedule": {"epochs": 0.01, "validations": 1, "learning_rate": 1e-3},
    },
    "decoding/long_documents.py": lambda row, _: {"documents": 4, "batch": 3, "max_tokens": 70},
    "critics/section_order/read.py": lambda row, _: {"max_length": 32},
    "datasets/wikipedia/building.py": lambda row, _: {"filters": {"min_title_count": 2}},
    "datasets/scientific.py": lambda row, _: {"filters": {"min_title_count": 2}},
}


def small(row, place, name):
    """A row of the paper scale with small numbers; which code it runs and what it reads stay as they are."""
    made = copy.deepcopy(row)
    for key, value in SMALL.get(row["code"], lambda *_: {})({**row, "base_name": name}, place).items():
        made[key] = {**made[key], **value} if isinstance(value, dict) else value
    return made


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place, home = tmp_path_factory.mktemp("checkpoints"), tmp_path_factory.mktemp("paper")
    for name, make in NETWORKS.items():
        torch.manual_seed(0)
        make().save_pretrained(bpe_folder(place / name))
    files = {"wikipedia": wikipedia_dump.dump_files(3, 80), "pubmed": planted_raw.FORMS["pubmed"][0](3, 50)}
    files["arxiv"] = planted_raw.FORMS["arxiv"][0](3, 50)
    for source, contents in files.items():
        folder = home / "data" / "raw" / source
        folder.mkdir(parents=True)
        contents = contents | {"tokenizer.json": (place / "gpt2" / "tokenizer.json").read_bytes()}
        for file, content in contents.items():
            (folder / file).write_bytes(content)
    rows = {verb: {name: small(row, place, name) for name, row in ROWS[verb].items()} for verb in VERBS}
    kept = lambda name: name.startswith(SYSTEMS) or name in NETWORKS or re.match(r"wiki-(gold|titles|data)", name)  # noqa: E731
    chosen = {
        verb: {name: row for name, row in rows[verb].items() if kept(name)}
        for verb in ("train", "generate", "infer", "score")
    }
    chosen["prepare"] = {name: rows["prepare"][name] for name in CORPORA}
    chosen["report"] = {name: rows["report"][name] for name in ("deng2022-table_2", "deng2022-table_11")}
    chosen["report"]["deng2022-table_2"]["rows"] = list(chosen["score"])
    (home / "params.yaml").write_text(yaml.safe_dump({"seed": 1234, **chosen}), encoding="utf-8")
    return home


def test_every_code_path_of_the_paper_scale_runs_on_tiny_checkpoints(home, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.chdir(ROOT)
    rows = yaml.safe_load((home / "params.yaml").read_text(encoding="utf-8"))
    for verb in VERBS:
        first = {name: row["code"] == "language_models/hub.py" for name, row in rows[verb].items()}
        order = sorted(rows[verb], key=lambda name: (not first[name], name in SYSTEMS))
        for name in order:
            assert main([verb, name, "--home", str(home)]) == 0, f"{verb} {name}: {capsys.readouterr().err}"
    for system in SYSTEMS:
        assert read_json(home / "data" / "models" / system / "config.json")["dtype"] == "float32"
        assert len(read_corpus(home / "data" / "generations" / system).documents) >= 1
    table = (home / "paper_figures" / "deng2022" / "table_2" / "table_2.csv").read_text()
    assert all(" ".join(system.split("-")) in table for system in SYSTEMS)
    ran = {row["code"] for verb in VERBS for row in rows[verb].values()}
    whole = {row["code"] for verb in VERBS for name, row in ROWS[verb].items() if "synthetic" not in name}
    assert ran == whole - {"deng2022_table_1"}


def test_templates_fill_in_every_case_and_refuse_two_rows_of_one_name():
    written = {
        "words": {"a": {"size": 3}, "b": {"size": 4}},
        "groups": {"pairs": [{"word": ["a", "b"], "other": ["x"]}]},
        "rows": [
            {"for": "pairs", "train": {"{word}-{other}": {"base": "models/{word}", "size": "{size}"}}},
            {"report": {"t": {"rows": ["first", {"each": "pairs", "as": ["{word}-1", "{word}-2"]}]}}},
        ],
    }
    assert expand(written) == {
        "train": {"a-x": {"base": "models/a", "size": 3}, "b-x": {"base": "models/b", "size": 4}},
        "report": {"t": {"rows": ["first", "a-1", "a-2", "b-1", "b-2"]}},
    }
    with pytest.raises(BadInput, match=r"train\.a-x twice"):
        expand({**written, "rows": written["rows"][:1] * 2})
    with pytest.raises(BadInput, match="no group 'triples'"):
        expand({**written, "rows": [{"for": "triples", "train": {}}]})
    with pytest.raises(BadInput, match="needs 'missing'"):
        expand({**written, "rows": [{"for": "pairs", "train": {"{missing}": {}}}]})
