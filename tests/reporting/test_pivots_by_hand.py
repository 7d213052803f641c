"""What tables are drawn from: small records laid out by hand, each rule of the layout by itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from longform.errors import BadInput
from longform.results import Record, Results
from longform_lab.reporting import pivot as p
from longform_lab.reporting.estimates import Estimate
from longform_lab.reporting.pivot import ReportInputs
from longform_lab.reporting.printed import Expected, Printed, Rule, verdict_on
from tests.reporting.papers.exhibits import state

CONTENT = {
    "labels": {
        "system": {"small": "Small", "big": "Big"},
        "titles": {True: "with titles"},
        "corpus": {"wiki": "Wikipedia"},
        "variant": {"mean": "mean reader"},
    },
    "table_1": {"small": 0.5, "big": 0.7, "lost": None},
    "records": {
        "table_1": [{"printed": "{system}", "where": {"metric": "share", "corpus": "wiki"}}]
    },
}
EXPECTED = Expected("paper", CONTENT)


def record(system="small", value=0.5, metric="share", **more):
    return Record("c", metric, "wiki", system, value=value, **more)


def given(*records, **more):
    return ReportInputs(Results(records), EXPECTED, Path(), **more)


def test_a_table_is_restricted_to_its_fields_and_to_one_system():
    records = [record(), record("big"), record("data"), record("big", task="t")]
    expected = replace(EXPECTED, choices={"a": {"system": "big"}, "b": {"task": "t"}})
    a, b, c = (ReportInputs(Results(records), expected, Path(), name) for name in "abc")
    assert list(a.select()) == [records[1]]
    assert list(a.select({"system": "small"})) == [records[0]]
    assert list(a.select({"system": "small"}, system="data")) == [records[2]]
    assert list(b.select()) == [records[3]]
    assert (b.models(), c.models()) == (["big"], ["small", "big"])
    assert c.models({"system": "big"}) == ["big"]
    single = b.of_system("small")
    assert single.where == {"task": "t", "system": "small"} and list(single.select()) == []
    assert single.expected.choices["a"] == {"system": "big"} and c.where == {}
    assert c.of_system("data").where == {"system": "data"}
    assert ReportInputs(Results(()), EXPECTED, Path(), "a").where == {}


def test_a_pivot_has_a_mean_and_a_detail_for_each_seed_in_reading_order():
    seeds = [record("big", value, seed=seed) for seed, value in ((1, 0.2), (2, 0.4))]
    whole = record("small", 0.3, units=30, low=0.2, high=0.4, excluded=3, p_value=0.5)
    other = record("small", 9.0, metric="ppl", units=30)
    cells = given(*seeds, whole, other).pivot(
        {"share": {"metric": "share"}, "PPL": {"metric": "ppl"}}, rows=("system",), factor=100
    )
    assert [(c.row, c.column, c.detail) for c in cells] == [
        ("Small", "share", False),
        ("Small", "PPL", False),
        ("Big", "share", False),
        ("Big, seed 1", "share", True),
        ("Big, seed 2", "share", True),
    ]
    assert [c.value for c in cells] == pytest.approx([30, 900, 30, 20, 40])
    assert (cells[0].low, cells[0].high, cells[0].units) == (20, 40, 30)
    assert (cells[0].excluded, cells[0].p_value, cells[0].printed) == (3, 0.5, None)
    assert cells[2].signature == "mean of 2 seeds"


def test_a_mean_over_seeds_is_geometric_for_perplexities():
    shares = [record(value=v, seed=s, excluded=e) for v, s, e in ((2.0, 0, 4), (8.0, 1, None))]
    mean = p.mean_over_seeds(Results(shares))
    assert (mean.value, mean.low, mean.high, mean.units, mean.excluded) == (
        5.0,
        None,
        None,
        None,
        4,
    )
    assert (mean.critic, mean.metric, mean.corpus, mean.system) == ("c", "share", "wiki", "small")
    assert (mean.seed, mean.signature) == (None, "mean of 2 seeds")
    ppls = [replace(one, metric="latent_ppl", better="lower") for one in shares]
    geometric = p.mean_over_seeds(Results(ppls))
    assert geometric.value == pytest.approx(4.0) and geometric.better == "lower"
    holed = [replace(shares[0], value=None), shares[1]]
    assert p.mean_over_seeds(Results(holed)).value is None
    assert p.mean_over_seeds(Results([ppls[0], replace(ppls[1], value=None)])).value is None
    with pytest.raises(BadInput, match="2 records of one seed"):
        p.mean_over_seeds(Results([shares[0], shares[0]]))


def test_the_interval_of_a_mean_of_shares_ends_at_zero_and_one():
    # Student's arm of 0.5 and 1.0 is 12.7 * 0.25 = 3.2, so that both ends would lie outside.
    rates = [
        record(value=v, metric="parse_rate", seed=s, low=v, high=v, units=30)
        for v, s in ((0.5, 0), (1.0, 1))
    ]
    mean = p.mean_over_seeds(Results(rates))
    assert (mean.value, mean.low, mean.high) == (0.75, 0.0, 1.0)
    lengths = Results([replace(one, metric="words") for one in rates])
    assert p.mean_over_seeds(lengths).high == pytest.approx(0.75 + 12.7062 * 0.25, abs=1e-4)


def test_a_printed_number_gives_its_cell_a_verdict_or_the_reason_for_none(tmp_path):
    expected = Expected("paper", {**CONTENT, "comparable": {"facts": {"states": 9}, "why": "few"}})
    state(tmp_path, "wiki", states=9)
    here = ReportInputs(Results(()), expected, tmp_path)
    ours = record(value=0.4, low=0.3, high=0.494, units=40)
    assert here.cell("r", "c", ours, "table_1").verdict == "differs"
    wide = here.cell("r", "c", replace(ours, high=0.496), "table_1")
    assert (wide.row, wide.column, wide.printed, wide.verdict) == ("r", "c", 0.5, "within interval")
    assert (wide.value, wide.low, wide.high, wide.why) == (0.4, 0.3, 0.496, "")
    percent = here.cell("r", "c", replace(ours, value=0.004, low=None), "table_1", factor=125)
    assert (percent.value, percent.verdict) == (0.5, "within interval")
    assert here.cell("r", "c", replace(ours, value=None), "table_1").verdict == "not measured here"
    assert here.cell("r", "c", record("lost"), "table_1").printed is None
    state(tmp_path / "other", "wiki", states=4)
    there = ReportInputs(Results(()), expected, tmp_path / "other").cell("r", "c", ours, "table_1")
    assert there.verdict == "not comparable at this size"
    assert there.why == "states 4 here, 9 in the paper; few"


@pytest.mark.parametrize(
    ("printed", "ours", "precision", "verdict"),
    [
        (None, Estimate(1.0), None, "lost"),
        (1.0, None, None, "not measured here"),
        (1.005, Estimate(1.0), None, "within interval"),
        (0.995, Estimate(1.0), None, "within interval"),
        (1.0051, Estimate(1.0), None, "differs"),
        (0.9949, Estimate(1.0), None, "differs"),
        (1.5, Estimate(1.0), 0.5, "within interval"),
        (1.51, Estimate(1.0), 0.5, "differs"),
        (2.0, Estimate(1.0, 0.5, 2.0, 50), None, "within interval"),
        (2.01, Estimate(1.0, 0.5, 2.0, 50), None, "differs"),
        (0.49, Estimate(1.0, 0.5, 2.0, 50), None, "differs"),
        (1.5, Estimate(1.0, None, 2.0), None, "differs"),
        (0.7, Estimate(1.0, 0.5, None), None, "differs"),
    ],
)  # fmt: skip
def test_a_verdict_asks_whether_the_printed_number_lies_in_our_interval(
    printed, ours, precision, verdict
):
    rule = None if precision is None else Rule(printed="x", cause="why", precision=precision)
    assert verdict_on(Printed("t", ("x",), printed, rule=rule), ours) == verdict


LEDGER = {
    "kinds": {"t": "trained", "gone": "lost", "sizes": "setting", "quoted": "quoted"},
    "t": {"columns": ["one", "two"], "grid": {"why": "a word", "names": ["x", 2],
          "row": [1.0, 2], "longer": [3.0, None, True]}, "off": "text", "n": None},
    "gone": {"x": None}, "sizes": {"x": 1.0}, "quoted": {"x": 2.0}, "claims": [],
    "facts": {"wiki": {"k": 4.0, "z": 9.0}},
    "records": {
        "t": [
            {"printed": "grid.row.{task}", "where": {"critic": "{why}", "variant": "{names}"},
             "names": {"task": {"two": "block_2"}}, "times": 10.0, "cause": "tenths"},
            {"printed": "grid.longer.{step}", "where": {"metric": "m", "system": ["a", "b"]}},
        ],
        "facts": [{"printed": "{corpus}.{name}", "fact": "{name}.in", "times": 0.5}],
    },
}  # fmt: skip


def test_numbers_are_found_in_the_order_of_the_file_with_their_records():
    found = {one.table + "." + one.name: one for one in Expected("paper", LEDGER).numbers}
    assert {name: one.value for name, one in found.items()} == {
        "t.grid.names.two": 2.0, "t.grid.row.one": 1.0, "t.grid.row.two": 2.0,
        "t.grid.longer.0": 3.0, "gone.x": None, "facts.wiki.k": 4.0, "facts.wiki.z": 9.0,
    }  # fmt: skip
    row = found["t.grid.row.two"]
    assert row.where == {"task": "block_2", "critic": "a word", "variant": "x 2"}
    assert (row.times, row.fact, row.cause) == (10.0, None, "tenths")
    assert found["t.grid.longer.0"].where == {"metric": "m", "system": ["a", "b"]}
    assert found["t.grid.longer.0"].cause == "" and found["t.grid.longer.0"].times == 1.0
    assert (found["facts.wiki.k"].fact, found["facts.wiki.k"].where["corpus"]) == ("k.in", "wiki")
    listed = {"t": [1.5], "records": {"t": [{"printed": "{task}", "where": {"metric": "m"}}]}}
    (one,) = Expected("paper", listed).numbers
    assert (one.value, one.where) == (1.5, {"task": "0", "metric": "m"})
    assert found["gone.x"].cause == "no rule leads to a record" and found["gone.x"].where is None


def test_the_ledger_has_ours_with_its_units_verdict_and_cause(tmp_path):
    """The printed 0.5 lies in ours and 0.7 does not; nine is half of what the corpus counts."""
    state(tmp_path, "wiki", texts=18, states=4)
    sizes = [{"printed": "{corpus}", "fact": "texts", "times": 0.5}]
    rules = {**CONTENT["records"], "sizes": sizes}
    content = {**CONTENT, "sizes": {"wiki": 9.0}, "records": rules}
    ours = Results([record(value=0.48, low=0.4, high=0.6, units=40), record("big", 0.3, units=20)])
    where = "metric=share corpus=wiki"
    small = ("paper", "table_1", "small", 0.5, 0.48, 0.4, 0.6, 40, f"system=small {where}")
    big = ("paper", "table_1", "big", 0.7, 0.3, None, None, 20, f"system=big {where}")
    wiki = ("paper", "sizes", "wiki", 9.0, 9.0, None, None, None, "corpus=wiki fact=texts")
    assert Expected("paper", content).ledger(ours, tmp_path) == [
        (*small, "within interval", ""), (*big, "differs", ""), (*wiki, "within interval", "")
    ]  # fmt: skip
    content["comparable"] = {"facts": {"states": 9}, "why": "few"}
    cause = "states 4 here, 9 in the paper; few"
    assert Expected("paper", content).ledger(ours, tmp_path) == [
        (*line, "not comparable at this size", cause) for line in (small, big, wiki)
    ]
