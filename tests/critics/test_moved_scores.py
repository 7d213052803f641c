"""A change that moves a critic's score on the bundled articles is written down where people look it up."""

import re
from functools import cache

import pytest

import longform
from longform.examples import machine_articles, real_articles
from tests.shape import ROOT

PAGE = ROOT / "docs" / "moved_scores.md"
ROW = re.compile(r"^\| `([a-z_]+)` \| (?:`(.*?)`)? \| ([\d.-]+) \| ([\d.-]+) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


@cache
def scores(name, settings):
    named = dict(pair.split("=") for pair in settings.split(", ")) if settings else {}
    critic = longform.load(
        name, **{key: float(v) if "." in v else int(v) for key, v in named.items()}
    )
    fitted = critic.fit(real_articles())
    return fitted.score(real_articles()).value, fitted.score(machine_articles()).value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_critic_scores_the_bundled_articles_as_the_log_says(row):
    name, settings, real, machine = row
    assert scores(name, settings) == pytest.approx(
        (float(real), float(machine)), abs=6e-5, rel=1e-4
    )


def test_the_log_lists_the_critics_that_need_no_model_at_this_version():
    assert len(ROWS) == 10 and len({row[0] for row in ROWS}) == 10
    assert f"## {longform.__version__}" in PAGE.read_text(encoding="utf-8")
