"""The prediction language: the released tool's own facts, strictness, round trips, and what it refuses."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longform.datasets.test_suites.prediction_formulas import (
    Binary,
    Number,
    RegionValue,
    evaluate,
    parse,
    region_values,
)
from tests.refusals import refuses


def truth(text: str, **values: float) -> bool:
    return bool(evaluate(parse(text), lambda named: values[f"{named.condition}{named.region}"]))


@pytest.mark.parametrize("text", ["5 - 4 - 3 < 0", "5+4=9-1+1", "5-(3+2)=0", "(5-3)+2=4", "[5-3]+2=4", "-1 < 1e0"])
def test_arithmetic_is_left_associative_and_binds_tighter_than_comparison(text):
    assert truth(text)


def test_comparisons_are_strict_equality_is_numpys_and_brackets_are_read():
    assert not truth("(2;%a%) > (2;%b%)", a2=3.0, b2=3.0)
    assert truth("(2;%a%) > (2;%b%)", a2=3.0000001, b2=3.0)
    assert truth("(1;%a%) = (1;%b%)", a1=100.0, b1=100.0 + 0.0019)
    assert not truth("(1;%a%) = (1;%b%)", a1=100.0, b1=100.0 + 0.0021)
    assert not truth("1 < 2 | 1 < 2 & 2 < 1")
    formula = "[(6;%np_mismatch%)-(6;%np_match%)]+[[(5;%v%)+(6;%v%)]-(5;%np_match%)]>0"
    assert next(str(place) for place in region_values(parse(formula))) == "(6;%np_mismatch%)"
    assert truth("[ (6;%a%) + (7;%a%) ] < [ (6;%b-1%) + (7;%b-1%) ]", a6=1, a7=2, **{"b-16": 2, "b-17": 2})


@pytest.mark.parametrize(("text", "says"),
                         [("(2;%a%) > ", "the end"), ("(2;%a%) > (2;%b%) < (3;%a%)", "must be written"),
                          ("(2;%a%) + 1", "is true or false"), ("((2;%a%) > 1", "')' or an operator"),
                          ("[(2;%a%) > 1)", "']' or an operator"), ("(2;%a%) > (2;%b%) extra", "'extra'"),
                          ("(2;%original ending%) > 1", "put _ for blanks"), ("(x;%a%) > 1", "a region such as"),
                          ("((2;%a%) > 1) + 1 > 2", "takes a number"), ("(2;%a%) & (3;%a%)", "takes a truth"),
                          ("", "the end")])  # fmt: skip
def test_a_bad_formula_says_where_and_what_is_allowed(text, says):
    refuses(f"suite s.*{re.escape(says)}", parse, text, "suite s")


numbers = st.one_of(
    st.integers(0, 99).map(lambda n: Number(float(n))),
    st.builds(RegionValue, st.one_of(st.none(), st.integers(1, 9)), st.sampled_from(["a", "b_c", "d-1"])),
)
sums = st.recursive(numbers, lambda inner: st.builds(Binary, st.sampled_from("+-"), inner, inner), max_leaves=5)
comparisons = st.builds(Binary, st.sampled_from("<>="), sums, sums)
formulas = st.recursive(comparisons, lambda inner: st.builds(Binary, st.sampled_from("&|"), inner, inner), max_leaves=4)


@given(formulas)
def test_parsing_what_was_written_gives_the_formula_back(formula):
    assert parse(str(formula)) == formula


@given(comparisons, st.floats(-5, 5), st.floats(-5, 5))
def test_evaluation_agrees_with_python_on_the_written_formula(formula, low, high):
    values = {"a": low, "b_c": high, "d-1": low - high}
    written = str(formula)
    for place in set(region_values(formula)):
        written = written.replace(str(place), f"({values[place.condition]!r})")
    if "=" in written:
        return
    assert evaluate(formula, lambda named: values[named.condition]) == eval(written)
