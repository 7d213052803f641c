"""Printed numbers beside ours; and that claims follow from what was printed."""

from pathlib import Path

import pytest

from longform.core.documents import BadInput
from longform.core.results import Record, Results
from longform.reporting.claims import CONTRADICTED, HOLDS, OURS, judge
from longform.reporting.pivot import Given
from longform.reporting.printed import Expected, ledger_markdown, read_expected, steps_of, write_ledger
from tests.refusals import refuses
from tests.reporting.papers.exhibits import state

CONTENT = {"kinds": {"table_1": "trained", "sizes": "setting", "table_2": "lost"},
           "labels": {"system": {"gpt2": "GPT-2 small"}, "titles": {True: "with titles"}},
           "table_1": {"latent_ppl": {"wiki": {"data": 2.0, "lm1": {"w_title": 2.0}}}},
           "counts": {"wiki": {"train_k": 1.2}}, "table_2": {"first": None},
           "words": {"text": "no number", "pages": 7}, "sizes": {"layers": 6},
           "records": {"table_1": [{"printed": "latent_ppl.{corpus}.data",
                                    "where": {"metric": "latent_ppl", "system": "data"}},
                                   {"printed": "latent_ppl.{corpus}.{system}.{titles}",
                                    "where": {"metric": "latent_ppl"},
                                    "names": {"system": {"lm1": "gpt2"}, "titles": {"w_title": True}}}],
                       "counts": [{"printed": "{corpus}.{split}_k", "fact": "train", "times": 0.001},
                                  {"printed": "{corpus}.train_k", "fact": "train", "times": 0.001}],
                       "words": [{"printed": "pages", "cause": "pages of a book that nobody has"}]}}  # fmt: skip
DATA, MODEL = (
    Record("c", "latent_ppl", "wiki", s, t, value=v, low=v - 0.2, high=v + 0.2, units=50, signature="s")
    for s, t, v in (("data", None, 2.1), ("gpt2", True, 3.0))
)


@pytest.fixture
def folder(tmp_path):
    state(tmp_path, "wiki", train=1200, states=9)
    return tmp_path


def verdicts(lines):
    return {f"{line.table}.{line.number}": line.verdict for line in lines}


def test_every_printed_number_has_a_line_and_equal_numbers_are_told_apart_by_place(folder):
    lines = Expected("paper", CONTENT).ledger(Results([MODEL, DATA]), folder)
    assert verdicts(lines) == {"table_1.latent_ppl.wiki.data": "within interval",
                               "table_1.latent_ppl.wiki.lm1.w_title": "differs",
                               "counts.wiki.train_k": "within interval", "table_2.first": "lost",
                               "words.pages": "not measured here"}  # fmt: skip
    assert [line.ours for line in lines[:3]] == [2.1, 3.0, 1.2]
    assert lines[1].record == "corpus=wiki system=gpt2 titles=True metric=latent_ppl"
    assert lines[4].cause == "pages of a book that nobody has"


@pytest.mark.parametrize(("rule", "scale", "why"),
                         [({"facts": {"states": 256}}, "", "states 9 here, 256 in the paper"),
                          ({"scales": ["paper"], "why": "smaller networks"}, "", "smaller networks"),
                          ({"scales": ["paper"], "facts": {"states": 9}}, "paper", "")])  # fmt: skip
def test_what_is_comparable_is_decided_by_data(folder, rule, scale, why):
    expected = Expected("paper", {**CONTENT, "comparable": rule}, scale)
    line = expected.ledger(Results([MODEL, DATA]), folder)[0]
    assert (line.verdict, line.cause) == (("not comparable at this size", why) if why else ("within interval", ""))


def test_cells_have_the_printed_number_by_labels_or_columns_and_their_verdict(folder):
    given = Given(Results([]), Expected("paper", CONTENT), folder)
    found = given.cell(given.labels(MODEL, "system", "titles"), "Latent PPL", MODEL, "table_1")
    assert (found.row, found.printed, found.verdict) == ("GPT-2 small, with titles", 2.0, "differs")
    assert given.cell("x", "y", MODEL, "table_9").printed is None
    content = {
        "table": {"columns": ["b1", "b2"], "rows": {"grid": [50.0, 60.0]}, "spare": [1.0]},
        "records": {"table": [{"printed": "rows.grid.{task}", "where": {"metric": "accuracy"}}]},
    }
    expected = Expected("paper", content)
    assert [".".join(n.path) for n in expected.numbers] == ["rows.grid.b1", "rows.grid.b2", "spare.0"]
    record = Record("c", "accuracy", task="b2", value=0.61, low=0.58, high=0.63, units=50)
    cell = Given(Results([]), expected, folder).cell("grid", "b2", record, "table", factor=100)
    assert (cell.value, cell.printed, cell.verdict) == (61, 60.0, "within interval")


def test_bad_input_is_named(folder):
    other = Record("another critic", "latent_ppl", "wiki", "data", value=1.0)
    refuses("name more fields", Expected("paper", CONTENT).ledger, Results([DATA, other]), folder)
    with pytest.raises(BadInput, match="keys are"):
        _ = Expected("paper", {**CONTENT, "records": {"table_1": [{"printed": "**", "row": "x"}]}}).numbers


def test_patterns_take_one_step_any_step_or_the_rest():
    assert steps_of("a.{x}.*", ("a", "b", "c")) == {"x": "b"}
    assert steps_of("a.**", ("a", "b", "c")) == {}
    assert steps_of("a.{x}", ("a", "b", "c")) is None


def test_files_are_read_and_written(folder):
    (folder / "paper").mkdir()
    (folder / "paper" / "expected.yaml").write_text("table_1: {x: 1.5}\n")
    lines = read_expected(folder / "paper", "smoke").ledger(Results([]), folder)
    write_ledger(folder / "ledger.csv", lines)
    assert "\npaper,table_1,x,1.5,,,,,,not measured here,no rule" in (folder / "ledger.csv").read_text()
    assert "| paper | 1 |  |  |  | 1 |  |" in ledger_markdown(lines)


EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def as_printed(expected):
    """A record of a great many units for each printed number that has fields; several models print the same fields once each."""
    found = {}
    for number in expected.numbers:
        if number.where and "fact" not in number.rule and number.value is not None:
            value = number.value / number.rule.get("times", 1.0)
            ends = {"low": value - 1e-6, "high": value + 1e-6, "units": 10**6}
            record = Record(**{"critic": "", "metric": "", **number.where}, value=value, **ends)
            found.setdefault(str(number.where), record)
    return Results(found.values())


@pytest.mark.parametrize(
    ("paper", "measured"), [("sheng2024", 9), ("beyer2021", 5), ("massarelli2020", 12), ("lapata2005", 0)]
)
def test_the_printed_numbers_bear_the_claims_out(paper, measured, tmp_path):
    expected = read_expected(EXPERIMENTS / paper, "paper")
    claims = [c for c in expected.claims if not str(c.get("source", "")).startswith(OURS)]
    judged = judge(paper, claims, as_printed(expected), tmp_path, "paper")
    assert [j.claim["id"] for j in judged if j.verdict == CONTRADICTED] == []
    assert sum(j.verdict == HOLDS for j in judged) >= measured
