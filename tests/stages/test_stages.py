"""The six verbs on a tiny home: they run end to end, and bad input is one sentence and no half-written output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from longform.artefacts import read_arrays, read_corpus, read_documents, read_json, whole, write_arrays, write_json
from longform.documents import BadInput, Document, Readout
from longform.pipeline.__main__ import main
from longform.pipeline.rows import Row
from longform.pipeline.scales import derive

ROOT = Path(__file__).parents[2]
LANGUAGE = {
    "code": "datasets/hsmm_language.py", "raw": "raw/README.md", "documents": {"train": 30, "validation": 10, "test": 20},
    "num_states": 4, "subsequences": 20, "min_length": 3, "max_length": 4, "steps": 5,
    "temperatures": {"transition": 0.5, "emission": 0.3},
}  # fmt: skip
STATES = {
    "code": "datasets/hsmm_states.py",
    "texts": "corpora/s",
    "reader": "corpora/s",
    "rule": "released",
    "splits": ["test"],
}
SCORE = {
    "paper": "deng2022",
    "code": "markov_chain.py",
    "critic": "true_markov",
    "fit": "s-data",
    "real": "s-data",
    "units": "s-data",
}


@pytest.fixture
def home(tmp_path):
    rows = {
        "seed": 1,
        "prepare": {"s": LANGUAGE},
        "infer": {"s-data": STATES},
        "score": {"synthetic-data-latent": SCORE},
    }
    table = {
        "paper": "deng2022",
        "code": "reporting/deng2022.py",
        "table": "table_1",
        "corpus": "s",
        "rows": ["synthetic-data-latent"],
    }
    rows |= {
        "report": {"t": table},
        "train": {
            "words": {
                "code": "language_models/tokenizers.py",
                "kind": "whitespace",
                "texts": "corpora/s",
                "base": "corpora/s",
            }
        },
    }
    (tmp_path / "data" / "raw").mkdir(parents=True)
    write_params(tmp_path, rows)
    return tmp_path


def write_params(home, rows):
    (home / "params.yaml").write_text(yaml.safe_dump(rows))


def change(home, verb, row, **settings):
    rows = yaml.safe_load((home / "params.yaml").read_text())
    rows[verb][row] |= settings
    write_params(home, rows)


def run(home, verb, row):
    return main([verb, row, "--home", str(home)])


def test_a_study_runs_from_nothing_to_a_table(home, monkeypatch):
    monkeypatch.chdir(ROOT)
    for verb, row in (
        ("prepare", "s"),
        ("train", "words"),
        ("infer", "s-data"),
        ("score", "synthetic-data-latent"),
        ("report", "t"),
    ):
        assert run(home, verb, row) == 0
    record = read_json(home / "data/scores/deng2022/synthetic-data-latent.json")
    assert record["low"] <= record["value"] <= record["high"] and record["units"] == 20 and record["excluded"] == 0
    assert record["signature"].startswith("MarkovCritic(") and record["totals"]["transitions"] == 100
    table = (home / "paper_figures/deng2022/table_1/table_1.csv").read_text()
    assert "not comparable" in table and "closed form" in table


def test_the_same_row_gives_the_same_bytes(home, monkeypatch):
    monkeypatch.chdir(ROOT)
    times = iter(range(0, 10**9, 10**6))
    monkeypatch.setattr("time.time", lambda: float(next(times)))  # no clock may reach a file
    files = ["data/corpora/s/documents.jsonl", "data/corpora/s/truth.npz", "data/inference/s-data.npz"]
    run(home, "prepare", "s"), run(home, "infer", "s-data")
    first = [(home / f).read_bytes() for f in files]
    run(home, "prepare", "s"), run(home, "infer", "s-data")
    assert [(home / f).read_bytes() for f in files] == first


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_sates": 4}, "'num_sates' (near: num_states); allowed are"),
        ({"documents": {"test": 0}}, "zero documents, at least one is needed"),
        ({"subsequences": 1}, "subsequences=1"),
    ],
)
def test_bad_rows_are_one_sentence_and_leave_nothing(home, capsys, settings, sentence):
    change(home, "prepare", "s", **settings)
    assert run(home, "prepare", "s") == 2
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1
    assert not list((home / "data").glob("corpora/*")) and not list((home / "data").rglob("*.partial"))


def test_unknown_rows_codes_and_missing_settings_are_explained(home, capsys):
    assert run(home, "prepare", "t") == 2 and "has no row prepare.t" in capsys.readouterr().err
    rows = yaml.safe_load((home / "params.yaml").read_text())
    del rows["prepare"]["s"]["steps"]
    write_params(home, rows)
    assert run(home, "prepare", "s") == 2 and "lacks ['steps']" in capsys.readouterr().err
    assert main(["infer", "s-data", "--home", str(home)]) == 2
    assert "no such file; run the stage that writes it" in capsys.readouterr().err
    assert main(["infer", "s-data", "--home", str(home / "nowhere")]) == 2
    assert "--home must name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"id": "a", "sections": []}', "sections is []"),
        ('{"id": "a", "sections": [{"title": "t"}]}', "a section is"),
        ('{"id": 7, "sections": [{"text": "t"}]}', "id is 7"),
        ('{"id": "a"}', "lacks ['sections']"),
        ('{"id": "a", "split": "dev", "sections": [{"text": "t"}]}', "split 'dev' is not one of"),
        ("[1]", "a document is a JSON object"),
        ('{"id": "a", ', "not JSON"),
        ("", "not JSON|zero documents"),
    ],
)
def test_a_malformed_record_names_its_line(tmp_path, line, sentence):
    import re

    path = tmp_path / "documents.jsonl"
    path.write_text('{"id": "ok", "sections": [{"text": "t"}]}\n' + line + "\n")
    with pytest.raises(BadInput) as error:
        read_documents(path)
    assert f"{path}:2" in str(error.value)
    assert any(part in str(error.value) for part in re.split(r"\|", sentence))


def test_documents_survive_a_round_trip():
    record = {"id": "é", "split": "train", "sections": [{"title": None, "text": "a\n\nb"}], "edits": [{"kind": "x"}]}
    assert Document.from_record(record).to_record() == record


def test_nothing_half_written_is_left_behind(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("kept")
    with pytest.raises(RuntimeError), whole(tmp_path / "out") as partial:
        partial.mkdir()
        (partial / "new").write_text("lost")
        raise RuntimeError
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "old"]


def test_arrays_refuse_pickles_and_truncated_files(tmp_path):
    with pytest.raises(BadInput, match="dtype object"):
        write_arrays(tmp_path / "a.npz", {"x": np.array([{}])})
    write_arrays(tmp_path / "a.npz", {"x": np.arange(3)})
    whole_file = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(whole_file[: len(whole_file) // 2])
    with pytest.raises(BadInput, match="not a whole npz"):
        read_arrays(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", x=np.array([{"evil": 1}], dtype=object))
    with pytest.raises(BadInput, match="not a whole npz"):
        read_arrays(tmp_path / "c.npz")
    with pytest.raises(BadInput, match="no such file"):
        read_corpus(tmp_path / "nowhere")


def test_json_keeps_infinities_and_drops_nan(tmp_path):
    write_json(tmp_path / "x.json", {"a": float("inf"), "b": [float("-inf"), float("nan")], "c": np.float64(1.5)})
    assert read_json(tmp_path / "x.json") == {"a": float("inf"), "b": [float("-inf"), None], "c": 1.5}
    json.loads((tmp_path / "x.json").read_text(), parse_constant=lambda c: pytest.fail(f"not JSON: {c}"))
    (tmp_path / "y.json").write_text("{")
    with pytest.raises(BadInput, match="not JSON"):
        read_json(tmp_path / "y.json")


def test_overrides_that_match_nothing_are_an_error():
    base = {"seed": 1, "train": {"a-b": {"x": {"y": 1, "z": 2}}}}
    derived = derive(base, {"train.a-*": {"x": {"y": 5}}}, "experiments/scales/smoke")
    assert derived["train"]["a-b"] == {"x": {"y": 5, "z": 2}} and derived["root"] == "../../.."
    assert base["train"]["a-b"]["x"]["y"] == 1
    with pytest.raises(BadInput, match="matches no row"):
        derive(base, {"train.c-*": {}}, "experiments/scales/smoke")


def test_readouts_refuse_repeated_units():
    with pytest.raises(BadInput, match="repeated unit ids"):
        Readout(("a", "a"), ("test", "test"), {})


def test_score_and_report_stages_start_without_torch(home):
    code = "import sys; import longform.pipeline.__main__, longform.pipeline.score, longform.pipeline.report; print(sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "src"}, cwd=ROOT
    )
    assert "'numpy'" in done.stdout and "'torch'" not in done.stdout and "'transformers'" not in done.stdout


def test_a_score_row_keeps_the_units_of_its_system():
    from longform.documents import Chain
    from longform.markov_chain import BigramCritic
    from longform.pipeline.score import judge

    fit = [Chain(f"d{i}", "train", ("a", "b")) for i in range(5)]
    units = [Chain(f"{system}/{i}", "generated", ("a", "b")) for system in ("lm", "lm-large") for i in range(3)]
    settings = {"fit": "f", "real": "u", "units": "u", "system": "lm"}
    record = judge(BigramCritic(), Row("score", "s", settings, Path("."), 1), fit=fit, real=units, units=units)
    assert record["units"] == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"fit": "mentions"},
            "readout has no array 'state_names', its arrays are ['x']; name the row of another reader",
        ),
        ({"units": "mentions"}, "readout has no array 'symbol_names', its arrays are ['x']"),
        ({"paper": "deng2023"}, "paper is 'deng2023', allowed are ['beyer2021'"),
        ({"critic": "BigramCritic", "delta": "a lot"}, "delta is 'a lot', allowed is a number"),
        ({"critic": "BigramCritic", "delta": True}, "delta is True, allowed is a number"),
        ({"critic": "BigramCritic", "end": 1}, "end is 1, allowed is true or false"),
        ({"critic": "BigramCritic", "names": ["x"]}, "has 'names'"),
    ],
)
def test_a_wrong_setting_of_a_score_row_is_one_sentence_and_writes_nothing(home, capsys, change, said):
    assert main(["prepare", "s", "--home", str(home)]) == 0 == main(["infer", "s-data", "--home", str(home)])
    write_arrays(
        home / "data/inference/mentions.npz",
        {"unit_ids": np.array(["a"]), "splits": np.array(["train"]), "x": np.zeros(1)},
    )
    rows = yaml.safe_load((home / "params.yaml").read_text())
    rows["score"]["synthetic-data-latent"] |= change
    write_params(home, rows)
    capsys.readouterr()
    assert main(["score", "synthetic-data-latent", "--home", str(home)]) == 2
    assert said in capsys.readouterr().err
    assert not (home / "data" / "scores").exists()


@pytest.mark.parametrize("seed", [True, -1, "7", None])
def test_a_seed_is_a_whole_number_from_zero(home, capsys, seed):
    rows = yaml.safe_load((home / "params.yaml").read_text())
    write_params(home, rows | {"seed": seed})
    assert main(["prepare", "s", "--home", str(home)]) == 2
    assert "allowed is a whole number from 0" in capsys.readouterr().err
