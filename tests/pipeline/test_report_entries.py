"""Reports of papers are checked before any stage runs: kinds, settings, and what ``dvc.yaml`` says of them."""

import copy

import pytest
import yaml

import longform_lab.code
from longform.errors import ConfigError
from longform.settings import Nothing, Settings
from longform_lab.settings import params
from longform_lab.settings.reports import check_reports

ENTRY = {
    "scores": ["articles/topics"],
    "exhibits": {"table_2": {"corpus": "wiki"}},
    "settings": {"table_2": {"kind": "titles", "printed": "table_02", "caption": "Titles"}},
}
STAGE = {
    "cmd": "PYTHONPATH=src python -m longform_lab report deng2022 sections",
    "deps": ["data/scores/articles/topics.json"],
    "outs": [{"paper_figures/deng2022/table_2": {"cache": False}}],
}


def checked(paper="deng2022", stage=STAGE, **changed):
    reports = {paper: {"sections": {**copy.deepcopy(ENTRY), **changed}}}
    return check_reports(reports, {"stages": {"report_deng2022_sections": stage}})


def test_a_right_report_is_counted_with_and_without_a_stage():
    assert checked() == 1
    assert check_reports({"deng2022": {"sections": ENTRY}}, {}) == 1


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"settings": {"table_2": {"kind": "titels", "printed": "table_02", "caption": "T"}}},
            "reports.sections.settings.table_2: kind is 'titels' (near: titles), allowed are ",
        ),
        ({"exhibit": {}}, "reports.sections has 'exhibit' (near: exhibits); "),
        (
            {"scores": ["articles/topics", "articles/mine"]},
            "dvc.yaml: stage report_deng2022_sections does not wait for data/scores/articles/mine.json, "
            "which its report reads; add data/scores/articles/mine.json to its deps",
        ),
        (
            {"exhibits": {"table_2": None, "table_9": None}},
            "dvc.yaml: stage report_deng2022_sections does not list paper_figures/deng2022/table_9, "
            'which its report writes; add {"paper_figures/deng2022/table_9": {cache: false}} to its outs',
        ),
        (
            {"paper": "deng202"},
            "experiments/deng202/params.yaml has reports, and there is no paper 'deng202' (near: ",
        ),
    ],
    ids=["kind", "key", "scores", "exhibits", "paper"],
)
def test_a_wrong_report_is_one_sentence(changed, sentence):
    with pytest.raises(ConfigError) as raised:
        checked(**changed)
    assert str(raised.value).startswith(sentence) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [(params.main, [["--check"]]), (longform_lab.code.main, [])],
    ids=["check", "first stage"],
)
def test_a_report_that_dvc_does_not_know_is_refused(
    command, arguments, tmp_path, monkeypatch, capsys
):
    own = tmp_path / "experiments" / "deng2022" / "params.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(yaml.safe_dump({"reports": {"sections": ENTRY}}))
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    stages = {"report_deng2022_sections": {**STAGE, "deps": []}}
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["code"])
    assert command(*arguments) == 2
    assert "does not wait for data/scores/articles/topics.json" in capsys.readouterr().err


def test_two_classes_of_one_name_are_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    reading = type("Sentences", (Settings,), {"__doc__": "How it reads."})
    metric = type("Sentences", (Settings,), {"__doc__": "What it scores."})
    rooms = {
        "predictions": params.Room({"sentences": reading}, Nothing),
        "metrics": params.Room({"sentences": metric}, Nothing),
    }
    monkeypatch.setattr(params, "ROOMS", rooms)
    assert params.main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith("longform: two classes of settings are called Sentences, ")
    assert said.count("\n") == 1 and not list(tmp_path.iterdir())
