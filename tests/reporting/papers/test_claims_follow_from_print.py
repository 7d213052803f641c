"""What a paper claims follows from the numbers that it prints: records of the printed numbers contradict none of its claims."""

from pathlib import Path

import pytest

from longform.core.results import Record, Results
from longform.reporting.claims import CONTRADICTED, HOLDS, OURS, judge
from longform.reporting.printed import read_expected

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
CONTEXT = {"system": "gpt2"}


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
