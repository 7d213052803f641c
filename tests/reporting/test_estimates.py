"""Numbers with intervals: signs, logarithms, and verdicts at the edge of a margin."""

import math
from types import SimpleNamespace

import pytest

from longform.results import Record, Results
from longform_lab.reporting.estimates import Estimate
from longform_lab.reporting.printed import Expected, read_expected
from longform_lab.reporting.verdicts import CONTRADICTED, HOLDS, UNDECIDED, decide
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("given", "ends"),
    [((-3.0, -4.0, -1.0), (3.0, 1.0, 4.0)), ((1.0, -2.0, 3.0), (1.0, 0.0, 3.0)),
     ((2.0, 1.0, 3.0), (2.0, 1.0, 3.0)), ((-2.0, None, None), (2.0, None, None)), ((-2.0, None, 3.0), (2.0, None, 3.0))],
)  # fmt: skip
def test_an_absolute_value_reflects_its_interval_or_begins_at_zero(given, ends):
    found = Estimate(*given, units=50).absolute()
    assert (found.value, found.low, found.high, found.units) == (*ends, 50)


def test_logarithms_and_back_keep_value_ends_and_missing_ends():
    found = Estimate(2.0, 1.0, 4.0).log()
    assert (found.value, found.low, found.high) == (math.log(2), 0.0, math.log(4))
    back = found.exp()
    assert (back.value, back.low, back.high) == pytest.approx((2.0, 1.0, 4.0))
    alone = Estimate(2.0).log()
    assert (alone.low, alone.high, alone.known) == (None, None, False)


@pytest.mark.parametrize(
    ("form", "ends", "verdict"),
    [("contains", (-0.5, 0.5), HOLDS), ("contains", (-0.6, 0.4), UNDECIDED),
     ("contains", (-0.4, 0.6), UNDECIDED), ("contains", (0.6, 0.9), CONTRADICTED),
     ("contains", (-0.9, -0.6), CONTRADICTED), ("order", (0.6, 0.9), HOLDS),
     ("order", (0.4, 0.9), UNDECIDED), ("order", (0.1, 0.4), CONTRADICTED),
     ("order", (0.5, 0.9), UNDECIDED), ("order", (0.1, 0.5), UNDECIDED),
     ("differ", (0.1, 0.2), HOLDS), ("differ", (-0.2, -0.1), HOLDS),
     ("differ", (-0.1, 0.2), UNDECIDED), ("differ", (0.0, 0.2), UNDECIDED)],
)  # fmt: skip
def test_a_verdict_needs_the_whole_interval_on_its_side_of_the_margin(form, ends, verdict):
    found = Estimate(sum(ends) / 2, *ends, units=100)
    assert decide(form, found, 0.5) == verdict


def test_a_higher_level_or_more_comparisons_stretch_the_interval():
    found = Estimate(1.0, 0.2, 1.8, units=100)
    assert decide("order", found, 0.0) == HOLDS
    assert decide("order", found, 0.0, level=0.99) == UNDECIDED  # 1 - 0.8 * 2.576 / 1.96 < 0
    assert decide("order", found, 0.0, comparisons=5) == UNDECIDED  # the same quantile, 2.576
    assert decide("order", found, 0.0, level=0.9) == HOLDS


def test_a_logarithm_too_large_for_a_number_is_of_infinity():
    assert Estimate(1.0, 0.0, 720.0).exp() == Estimate(math.e, 1.0, math.inf)


def table(printed, **rule):
    rules = [{"printed": printed, "where": {"metric": "ppl", **rule}}]
    return Expected("paper", {"table_1": {"a": 1}, "records": {"table_1": rules}})


def test_what_expected_files_lack_is_said(tmp_path):
    refuses("no table 'table_9'", table("a").__getitem__, "table_9")
    refuses("'a' has no step or word 'who'", lambda: table("a", system="{who}").numbers)
    refuses("nan is no printed number", lambda: Expected("paper", {"t": {"a": math.nan}}).numbers)
    (tmp_path / "expected.yaml").write_text("- 1\n")
    refuses("no mapping of tables", read_expected, tmp_path)


def test_a_system_beside_what_is_printed_may_be_a_pattern(tmp_path):
    ours = Results([Record("c", "ppl", system=system, value=1.0) for system in ("gpt2", "gpt3")])
    (line,) = table("a", system=["lstm", "gpt2*"]).ledger(ours, tmp_path)
    assert line.ours == 1.0


def test_of_several_systems_the_first_listed_stands_beside_what_is_printed():
    records = [Record("c", "m", system=name, value=float(ord(name))) for name in "ab"]
    where = {"metric": "m", "system": ["b", "a"]}
    printed = SimpleNamespace(where=where, fact=None, times=1.0, table="t", name="n")
    found = Expected._ours(SimpleNamespace(paper="p"), printed, Results(records), None)
    assert found.value == ord("b")
