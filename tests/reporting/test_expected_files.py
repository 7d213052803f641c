"""What ``expected.yaml`` of a paper may say: typed, with the nearest name for a misspelt one."""

from pathlib import Path

import pytest

from longform.files.artefacts import read_yaml
from longform_lab.reporting.claims import Claim
from longform_lab.reporting.printed import Expected
from longform_lab.settings.expected import SCHEMA, check, exhibits_of, main, schema_text
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
PAPERS = sorted(path.parent.name for path in (ROOT / "experiments").glob("*/expected.yaml"))
CONTENT = {
    "kinds": {"table_1": "trained"},
    "labels": {"system": {"gpt2": "GPT-2"}},
    "table_1": {"wiki": {"gpt2": 2.0}},
    "records": {"table_1": [{"printed": "{corpus}.{system}", "where": {"metric": "ppl"}}]},
    "instruments": [{"where": {"critic": "rules"}, "why": "rules of ours"}],
    "claims": [{"id": "better", "says": "Better.", "exhibit": "table_1",
                "order": [{"system": "gpt2"}, {"value": 3}]}],
}  # fmt: skip


@pytest.mark.parametrize("paper", PAPERS)
def test_the_file_of_a_paper_is_sound_and_names_its_schema(paper):
    path = ROOT / "experiments" / paper / "expected.yaml"
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    assert first == f"# yaml-language-server: $schema=../../{SCHEMA}"
    content = read_yaml(path)
    count = check(paper, content, exhibits_of(paper, ROOT / "experiments"))
    rules = sum(len(listed) for listed in content.get("records", {}).values())
    assert count == len(content["claims"]) + rules > 9


def test_the_schema_in_git_is_that_of_the_classes():
    assert (ROOT / SCHEMA).read_text(encoding="utf-8") == schema_text(), (
        "run python -m longform_lab.settings.expected"
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kinds", {"tabel_1": "trained"}, r"kinds name the table 'tabel_1' \(near: table_1\)"),
        ("kinds", {"table_1": "traned"}, "table_1 is 'traned', allowed is 'trained', 'exact'"),
        ("labels", {"sytem": {}}, r"labels: got 'sytem' \(near: system"),
        ("records", {"table_2": []}, r"records name the table 'table_2' \(near: table_1\)"),
        ("records", {"table_1": [{"printed": "wiki"}]}, "needs 'where' or 'fact' or 'cause'"),
        ("records", {"table_1": [{"printed": "*.*", "were": {}}]}, r"has 'were' \(near: where"),
        ("records", {"table_1": [{"printed": "a.{b}", "cause": "x"}]}, "no number stands at"),
        ("instruments", [{"where": {"citric": "a"}, "why": "b"}], r"'citric' \(near: .*critic"),
        ("comparable", {"scale": ["paper"]}, r"has 'scale' \(near: scales"),
        ("claims", CONTENT["claims"] * 2, "2 claims have the id 'better'"),
        ("claims", [{**CONTENT["claims"][0], "exhibit": "table_2"}], r"'table_2' \(near: table_1"),
        ("claims", [{"id": "x", "order": []}], r"claim 'x' lacks \['says'\]"),
    ],
)
def test_a_wrong_entry_is_one_sentence_with_the_nearest_name(key, value, message):
    assert check("paper", CONTENT, ["table_1"]) == 2
    refuses(rf"{message}.*experiments/paper/expected\.yaml", check, "paper",
            {**CONTENT, key: value}, ["table_1"])  # fmt: skip


def test_fields_of_a_filter_keep_the_order_in_which_they_were_written():
    where = {"task": "t", "critic": "c", "severity": None}
    claim = Claim.model_validate({"id": "a", "says": "b", "where": where, "differ": [{}, {}]})
    assert list(claim.where.fields.items()) == list(where.items())
    assert list(claim.filters) == [where, where]


def test_a_scale_may_draw_exhibits_that_the_default_run_does_not():
    assert {"table_2", "table_5", "table_8"} <= exhibits_of("deng2022", ROOT / "experiments")


def test_the_command_names_the_first_wrong_file(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "experiments" / "nobody1999"
    folder.mkdir(parents=True)
    (folder / "params.yaml").write_text("reports: {all: {exhibits: {table_1: null}}}\n")
    (folder / "expected.yaml").write_text("kinds: {table_1: setting}\ntable_1: {a: 1}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["--check"]) == 0 and "0 claims and rules" in capsys.readouterr().out
    (folder / "expected.yaml").write_text("kinds: {table_2: setting}\ntable_1: {a: 1}\n")
    assert main(["--check"]) == 2
    assert "(near: table_1)" in capsys.readouterr().err
    assert main([]) == 0 and Path(SCHEMA).read_text() == schema_text()


def test_rules_and_labels_are_read_once_they_are_asked_for():
    expected = Expected("paper", {**CONTENT, "labels": {"sytem": {}}})
    assert expected["table_1"] == CONTENT["table_1"]
    refuses("near: system", expected.label, "system", "gpt2")
