"""The prediction language of SyntaxGym's suites: what it says, what it refuses, and formulas drawn at random."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longform.datasets.test_suites import prediction_formulas as formulas
from tests.refusals import refuses


def truth(text: str, **values: float) -> bool:
    return bool(
        formulas.evaluate(
            formulas.parse(text), lambda named: values[f"{named.condition}{named.region}"]
        )
    )


def test_arithmetic_is_left_associative_and_comparisons_are_strict():
    for text in ("5 - 4 - 3 < 0", "5+4=9-1+1", "5-(3+2)=0", "(5-3)+2=4", "[5-3]+2=4", "-1 < 1e0"):
        assert truth(text)
    assert not truth("(2;%a%) > (2;%b%)", a2=3.0, b2=3.0)
    assert truth("(2;%a%) > (2;%b%)", a2=3.0000001, b2=3.0)
    assert truth("(1;%a%) = (1;%b%)", a1=100.0, b1=100.0 + 0.0019)
    assert not truth("(1;%a%) = (1;%b%)", a1=100.0, b1=100.0 + 0.0021)
    assert truth("0.001 = 0") and truth("0 - 0.001 = 0") and not truth("0.00101 = 0")
    assert truth("0 - 100.0019 = 0 - 100")
    assert not truth("1 < 2 | 1 < 2 & 2 < 1")
    formula = "[(6;%np_mismatch%)-(6;%np_match%)]+[[(5;%v%)+(6;%v%)]-(5;%np_match%)]>0"
    assert (
        next(str(place) for place in formulas.region_values(formulas.parse(formula)))
        == "(6;%np_mismatch%)"
    )
    assert truth(
        "[ (6;%a%) + (7;%a%) ] < [ (6;%b-1%) + (7;%b-1%) ]", a6=1, a7=2, **{"b-16": 2, "b-17": 2}
    )


@pytest.mark.parametrize(("text", "says"),
                         [("(2;%a%) > ", "the end"), ("(2;%a%) > (2;%b%) < (3;%a%)", "must be written"),
                          ("(2;%a%) + 1", "is true or false"), ("((2;%a%) > 1", "')' or an operator"),
                          ("[(2;%a%) > 1)", "']' or an operator"), ("(2;%a%) > (2;%b%) extra", "'extra'"),
                          ("(2;%original ending%) > 1", "put _ for blanks"), ("(x;%a%) > 1", "a region such as"),
                          ("((2;%a%) > 1) + 1 > 2", "takes a number"), ("(2;%a%) & (3;%a%)", "takes a truth"),
                          ("", "the end")])  # fmt: skip
def test_a_bad_formula_says_where_and_what_is_allowed(text, says):
    refuses(f"suite s.*{re.escape(says)}", formulas.parse, text, "suite s")


NUMBERS = st.one_of(
    st.integers(0, 99).map(lambda n: formulas.Number(float(n))),
    st.builds(
        formulas.RegionValue,
        st.one_of(st.none(), st.integers(1, 9)),
        st.sampled_from(["a", "b_c", "d-1"]),
    ),
)


def of_two(signs, part):
    return st.builds(formulas.Binary, st.sampled_from(signs), part, part)


SUMS = st.recursive(NUMBERS, lambda inner: of_two("+-", inner), max_leaves=5)
COMPARISONS = of_two("<>=", SUMS)
WRITTEN = st.recursive(COMPARISONS, lambda inner: of_two("&|", inner), max_leaves=4)


@given(WRITTEN)
def test_parsing_what_was_written_gives_the_formula_back(formula):
    assert formulas.parse(str(formula)) == formula


@given(COMPARISONS, st.floats(-5, 5), st.floats(-5, 5))
def test_evaluation_agrees_with_python_on_the_written_formula(formula, low, high):
    values = {"a": low, "b_c": high, "d-1": low - high}
    written = str(formula)
    for place in set(formulas.region_values(formula)):
        written = written.replace(str(place), f"({values[place.condition]!r})")
    assert "=" in written or formulas.evaluate(
        formula, lambda named: values[named.condition]
    ) == eval(written)
