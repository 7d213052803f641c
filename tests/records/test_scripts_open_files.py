"""Scripts open other people's files, and tables of their own, as every reader does."""

import importlib
import json
import sys
import types

import pytest

from experiments.site.exhibits import read_claims

MARK = "\ufeff"


def test_sentences_for_minicons_are_lines_of_json_whatever_is_inside_them(tmp_path, monkeypatch):
    scorer = types.SimpleNamespace(IncrementalLMScorer=None)
    monkeypatch.setitem(sys.modules, "minicons", types.SimpleNamespace(scorer=scorer))
    monkeypatch.setitem(sys.modules, "minicons.scorer", scorer)
    script = importlib.import_module("experiments.beyer2021.against_minicons")
    source = tmp_path / "wsc273.jsonl"
    lines = [json.dumps({"substitutions": ["One\x85two.", "Two."]}, ensure_ascii=False)] * 2
    source.write_text(MARK + "\n".join(lines) + "\n", encoding="utf-8")
    assert script.sentences(source, 3) == ["One\x85two.", "Two.", "One\x85two."]


def test_curves_of_trainings_are_read_with_a_byte_order_mark(tmp_path, monkeypatch, capsys):
    script = importlib.import_module("experiments.deng2022.convergence")
    curve = tmp_path / "data" / "models" / "articles" / "wiki" / "gpt2" / "seed_1" / "training.csv"
    curve.parent.mkdir(parents=True)
    curve.write_text(
        f"{MARK}update,loss,validation_loss\r\n5,2,1.5\r\n9,2,1.25\r\n", encoding="utf-8"
    )
    monkeypatch.setattr(
        sys, "argv", ["convergence", str(tmp_path), "--out", str(tmp_path / "out.json")]
    )
    script.main()
    (found,) = json.loads((tmp_path / "out.json").read_text()).values()
    assert found["updates"] == [5, 9]
    assert found["validation_loss"] == [1.5, 1.25]
    assert found["last_gain"] == 0.25


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({}, "no training.csv below it"),
        ({"seed_1": "5,2,1\n"}, "validations after [[5]]"),
        ({"seed_1": "5,2,1\n9,2,1\n", "seed_2": "5,2,1\n8,2,1\n"}, "[[5, 9], [5, 8]]"),
        ({"seed_1": "5,2,1\n9,2,1\n", "seed_2": "5,2,1\n"}, "[[5, 9], [5]]"),
    ],
)
def test_curves_that_cannot_be_averaged_are_refused(curves, message, tmp_path, monkeypatch, capsys):
    script = importlib.import_module("experiments.deng2022.convergence")
    for seed, lines in curves.items():
        path = tmp_path / "data" / "models" / "articles" / "gpt2" / seed / "training.csv"
        path.parent.mkdir(parents=True)
        path.write_text(f"update,loss,validation_loss\n{lines}", encoding="utf-8")
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["convergence", str(tmp_path), "--out", str(out)])
    with pytest.raises(SystemExit, match="2"):
        script.main()
    assert message in capsys.readouterr().err and not out.exists()


def test_a_claim_may_hold_a_line_end_of_another_kind(tmp_path):
    columns = "paper,claim,row,verdict,says,source,why,scale,compared,difference,low,high"
    (tmp_path / "claims.csv").write_text(
        f'{columns}\np,c,,holds,"a\x85b",s,w\u2028x,,,,,\n', encoding="utf-8"
    )
    (claim,) = read_claims(tmp_path / "claims.csv").values()
    assert claim.says == "a\x85b" and claim.verdict == "holds"
