"""The ledger: rules lead to cells, verdicts follow from the numbers, and a wrong printed value is caught."""

import copy
from pathlib import Path

import pytest

from longform.documents import BadInput
from longform.reporting.layout import Cell, Table
from longform.reporting.ledger_lines import Ours, checked, ledger, line, printed_numbers, steps_of

EXPECTED = {
    "kinds": {"table_1": "exact", "table_2": "lost"},
    "table_1": {"unit": "nats", "ppl": {"wiki": {"lm1": 2.0, "lm2": 3.5}, "news": {"lm1": None}}, "n": [10, 20]},
    "table_2": {"score": None},
}
RULES = {
    "table_1": [
        {
            "printed": "ppl.{c}.{m}",
            "table": "table_1",
            "row": "{c} {m}",
            "column": "PPL",
            "names": {"m": {"lm1": "gpt"}},
        },
        {"printed": "ppl.**", "verdict": "not runnable here", "cause": "needs the hub"},
        {
            "printed": "n.*",
            "table": "table_1",
            "row": "wiki gpt",
            "column": "PPL",
            "claims": "small < large",
            "cause": "planted",
        },
    ],
    "table_2": [{"printed": "**", "verdict": "lost", "cause": "cut off in the print"}],
}


@pytest.fixture
def ours(tmp_path):
    cells = [Cell("wiki gpt", "PPL", 2.001, 1.9, 2.1), Cell("news gpt", "PPL", 9.0, 8.0, 10.0)]
    notes = ["size: small < large: ordering holds (1.00 < 2.00; intervals apart)", "other: a < b: differs (2, 1)"]
    (tmp_path / "table_1").mkdir()
    Table("A table", cells, notes).save(tmp_path / "table_1", "table_1")
    return Ours.read(tmp_path / "table_1")


def made(expected, ours, rules=RULES):
    return ledger({"p": expected}, {"p": rules}, {"planted": {"p/table_1": ours}})


def verdicts(found):
    return {f"{one.table}.{one.number}": one.verdict for one in found.lines}


def test_every_number_is_listed_and_a_null_only_where_the_print_lost_it():
    numbers = {".".join((n.table, *n.path)): n.value for n in printed_numbers("p", EXPECTED)}
    assert numbers == {
        "table_1.ppl.wiki.lm1": 2.0,
        "table_1.ppl.wiki.lm2": 3.5,
        "table_1.n.0": 10.0,
        "table_1.n.1": 20.0,
        "table_2.score": None,
    }


def test_verdicts_follow_from_number_interval_claim_and_rule(ours):
    assert verdicts(made(EXPECTED, ours)) == {
        "table_1.ppl.wiki.lm1": "equal",
        "table_1.ppl.wiki.lm2": "not runnable here",
        "table_1.n.0": "ordering holds",
        "table_1.n.1": "ordering holds",
        "table_2.score": "lost",
    }


@pytest.mark.parametrize(("printed", "verdict"), [(2.05, "within interval"), (2.5, "differs")])
def test_a_wrong_printed_value_is_caught(ours, printed, verdict):
    wrong = copy.deepcopy(EXPECTED)
    wrong["table_1"]["ppl"]["wiki"]["lm1"] = printed
    assert verdicts(made(wrong, ours))["table_1.ppl.wiki.lm1"] == verdict


def test_a_claim_that_fails_makes_its_numbers_differ_and_names_itself(ours):
    rules = copy.deepcopy(RULES)
    rules["table_1"][2]["claims"] = "a < b"
    found = next(one for one in made(EXPECTED, ours, rules).lines if one.number == "n.0")
    assert found.verdict == "differs"
    assert found.cause == "planted; does not hold: other: a < b"


def test_a_number_without_a_rule_says_so(ours):
    number = printed_numbers("p", EXPECTED)[0]
    assert "no rule" in line(number, [], {"planted": {"p/table_1": ours}}).cause


def test_a_cell_that_names_its_printed_number_is_found_by_it_once_and_keeps_its_verdict(tmp_path):
    cells = [
        Cell("a", "PPL", 1.0, printed=2.0, verdict="not comparable", why="planted"),
        Cell("b", "PPL", 2.5, 2.0, 3.0, printed=2.0),
    ]
    (tmp_path / "table_1").mkdir()
    Table("A table", cells).save(tmp_path / "table_1", "table_1")
    expected = {"table_1": {"x": 2.0, "y": 2.0, "z": 2.0}}
    rules = {"table_1": [{"printed": "**", "table": "table_1"}, {"printed": "**", "verdict": "lost", "cause": "gone"}]}
    found = ledger({"p": expected}, {"p": rules}, {"planted": {"p/table_1": Ours.read(tmp_path / "table_1")}}).lines
    assert [(one.verdict, one.cell, one.cause) for one in found] == [
        ("not comparable", "table_1: a / PPL", "planted"),
        ("within interval", "table_1: b / PPL", ""),
        ("lost", "", "gone"),
    ]


def test_a_listing_has_no_cells(tmp_path):
    (tmp_path / "listing").mkdir()
    (tmp_path / "listing" / "listing.csv").write_text("text,count\na b,3\n")
    assert Ours.read(tmp_path / "listing") == Ours({}, [])


def test_patterns_bind_one_step_each():
    assert steps_of("a.{x}.{y}", ("a", "b", "c")) == {"x": "b", "y": "c"}
    assert steps_of("a.{x}", ("a", "b", "c")) is None
    assert steps_of("a.{x}.{y}", ("a", "b")) is None
    assert steps_of("a.**", ("a", "b", "c")) == {}
    assert steps_of("b.**", ("a", "b")) is None


@pytest.mark.parametrize("rule", [{"printed": "a", "colour": 1}, {"printed": "a"}, {"verdict": "lost"}])
def test_a_malformed_rule_is_bad_input(rule):
    with pytest.raises(BadInput, match=r"ledger\.yaml: t"):
        checked({"t": [rule]}, "ledger.yaml")


def test_what_is_saved_counts_every_line(tmp_path, ours):
    found = made(EXPECTED, ours)
    found.save(tmp_path)
    assert len((tmp_path / "ledger.csv").read_text().splitlines()) == 1 + len(found.lines)
    text = (tmp_path / "ledger.md").read_text()
    assert "| p | 5 | 1 | 2 | 1 | 1 | 1 of 2 |" in text


def test_every_printed_number_of_the_papers_has_a_rule():
    import yaml

    root = Path(__file__).parents[2] / "experiments"
    for paper in ("deng2022", "sheng2024", "beyer2021", "lapata2005", "massarelli2020"):
        expected, rules = (
            yaml.safe_load((root / paper / f"{name}.yaml").read_text()) for name in ("expected", "ledger")
        )
        found = ledger({paper: expected}, {paper: checked(rules, paper)}, {}).lines
        assert found and not [one for one in found if "no rule" in one.cause]
