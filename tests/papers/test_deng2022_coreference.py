"""Tables 6, 15, 16, 17 and the article page, on chains small enough to count by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from longform.critics.mention_chains import MentionCritic
from longform.inference.coreference.chains import Mention, person_chain
from longform.numerics import generator
from longform.papers.coreference_figures import figure_5, figure_doses, label
from longform.papers.coreference_page import article_figure, article_html, marks, wrap
from longform.papers.deng2022_coreference import (
    best_successor,
    dose_rows,
    latent_ppl_rows,
    resolver_rows,
    table_6,
    table_15,
    tables_16_17,
)
from longform.units import BadInput, Chain


def drawn(name: str, count: int, wrong: float = 0.0) -> list[Chain]:
    """Sentences of a man and a woman; with probability ``wrong`` a pronoun has the other gender."""
    rng = generator("test", "tables", name)
    found = []
    for i in range(count):
        symbols = []
        for _ in range(int(rng.integers(3, 9))):
            person = int(rng.integers(0, 2))
            gender = person if rng.random() >= wrong else 1 - person
            symbols += [".", f"{'MALE' if person else 'FEMALE'}:{person}", f"{('she', 'he')[gender]}:{person}"]
        found.append(Chain(f"{name}{i}", "test", tuple(symbols)))
    return found


REAL, HELD_OUT, WRONG = drawn("real", 60), drawn("held", 40), drawn("wrong", 40, 0.3)
CRITIC = MentionCritic().fit(REAL)


def test_contributions_of_all_windows_sum_to_the_gap_per_token():
    rows = table_6(CRITIC, HELD_OUT, WRONG, top=None)
    nll = [-t.total("logprob") / t.total("transitions") for t in (CRITIC.tally(HELD_OUT), CRITIC.tally(WRONG))]
    assert math.fsum(row.contribution for row in rows) == pytest.approx(nll[1] - nll[0], abs=1e-12)
    assert sum(row.percent_real for row in rows) == pytest.approx(100)
    assert [r.contribution for r in rows] == sorted((r.contribution for r in rows), reverse=True)
    assert len(table_6(CRITIC, HELD_OUT, WRONG)) == 10


def test_percentages_are_those_of_a_plain_count():
    def window_share(units: list[Chain]) -> float:
        windows = [(("",) * 4 + u.symbols)[i : i + 5] for u in units for i in range(len(u.symbols))]
        return 100 * Counter(windows)[("", "", "", "", ".")] / len(windows)

    row = next(r for r in table_6(CRITIC, HELD_OUT, WRONG, top=None) if r.window == ("", "", "", "", "."))
    assert row.percent_real == pytest.approx(window_share(HELD_OUT))


def test_wrong_pronouns_raise_the_score_and_the_test_sees_it():
    data, wrong, same = latent_ppl_rows(CRITIC, HELD_OUT, {"wrong": WRONG, "same": drawn("same", 40)}, "t")
    assert data.against_real is None and wrong.against_real is not None and same.against_real is not None
    assert wrong.estimate.low > data.estimate.high and wrong.against_real.p_value < 0.01
    assert same.against_real.p_value > 0.01 and same.estimate.low < data.estimate.value < same.estimate.high


def test_rare_windows_are_below_the_threshold_and_the_expected_symbol_is_the_observed_best():
    rows = table_15(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0)
    assert 0 < len(rows) <= 6 and all(row.log_probability < -3.0 for row in rows)
    for row in rows:
        unit = next(u for u in WRONG if u.unit_id == row.unit_id)
        assert CRITIC.attribute([unit])[0][row.position] == row.log_probability
        assert row.best != "." and row.best_log_probability > row.log_probability
    assert table_15(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0) == rows


def test_best_successor_is_the_arg_max_over_successors_seen_after_the_history():
    critic = MentionCritic(order=2).fit([Chain("u", "test", tuple("ababaca."))])
    key = next(
        int(k) for k in critic.orders[1].keys if critic.packing.names(int(k), critic.forms, "", "?") == ("a", ".")
    )
    symbol, log_prob = best_successor(critic, key)
    assert symbol == "b"
    assert log_prob == pytest.approx(critic.attribute([Chain("v", "test", ("a", "b"))])[0][1])


def test_ratio_tables_rank_frequent_windows_by_two_separate_fits():
    high, low = tables_16_17(CRITIC, HELD_OUT, WRONG)
    assert high[0].log_ratio >= high[-1].log_ratio > low[-1].log_ratio >= low[0].log_ratio
    for row in (*high, *low):
        assert row.log_ratio == pytest.approx(math.log(row.probability_generated / row.probability_real))
        assert 0 < row.probability_real <= 1 and 0 < row.probability_generated <= 1
    alone = MentionCritic().fit(HELD_OUT)
    assert low[0].window in {alone.packing.names(int(k), alone.forms, "", "?") for k in alone.orders[-1].keys}


def test_the_same_table_is_made_once_per_resolver():
    found = resolver_rows(
        MentionCritic(),
        {"gold": REAL, "rules": WRONG},
        {r: {"data": HELD_OUT, "lm": WRONG} for r in ("gold", "rules")},
        "t",
    )
    assert list(found) == ["gold", "rules"]
    assert found["gold"][1].estimate.value > found["rules"][1].estimate.value


def test_dose_rows_score_every_critic_at_every_dose():
    rows = dose_rows({"mentions": CRITIC}, {d: {"mentions": drawn("dose", 20, d)} for d in (0.0, 0.5)}, "t")
    assert [row[:2] for row in rows] == [(0.0, "mentions"), (0.5, "mentions")]
    assert rows[1][2].value > rows[0][2].value


def test_tables_of_chains_without_tokens_are_refused():
    with pytest.raises(BadInput, match="no token"):
        table_6(CRITIC, HELD_OUT, [Chain("e", "test", ())])


TEXT = "Anna <b>met</b> Tom. He liked her & she liked him.\n\nNobody else came."
MENTIONS = [Mention(0, 4, 0, True), Mention(16, 19, 1, True), Mention(21, 23, 1), Mention(30, 33, 0)]


def test_page_colours_mentions_escapes_text_and_circles_what_is_improbable():
    item = person_chain("d", "test", TEXT, MENTIONS)
    found = marks(item, CRITIC, threshold=-2.0)
    assert any(mark.bad for mark in found) and not all(mark.bad for mark in found)
    page = article_html("A & B", TEXT, found)
    assert "&lt;b&gt;met&lt;/b&gt;" in page and "<b>" not in page and "A &amp; B" in page
    assert page.count('class="bad"') == sum(mark.bad and mark.symbol != "." for mark in found)
    assert page.count("<mark") == len(MENTIONS)
    plain = marks(item, CRITIC, threshold=-99.0)
    assert "No 5-gram below the threshold" in article_html("x", TEXT, plain)


def test_figure_draws_one_circle_per_improbable_symbol():
    item = person_chain("d", "test", TEXT, MENTIONS)
    found = marks(item, CRITIC, threshold=-2.0)
    figure = article_figure("title", TEXT, found)
    assert len(figure.axes[0].patches) == sum(mark.bad for mark in found)


@pytest.mark.parametrize("text", ["a bc def", "abcdefghijkl", "ab\n\ncd ef", "", "a " * 30, "x\n"])
def test_wrapped_lines_fit_and_keep_every_visible_character(text):
    rows = wrap(text, 5)
    assert all(b - a <= 5 for a, b in rows)
    assert "".join(text[a:b] for a, b in rows).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert np.all(np.diff([a for a, _ in rows]) > 0)


def test_figure_5_prints_every_symbol_with_its_cost():
    item = person_chain("d", "test", TEXT, MENTIONS)
    figure = figure_5(TEXT, marks(item, CRITIC))
    written = [text.get_text() for text in figure.axes[0].texts]
    assert [label(symbol) for symbol in item.chain.symbols] == [w for w in written if w == "." or w.startswith("[")]
    assert label("MALE:3") == "[Male]3" and label("he:0") == "[he]0" and label(".") == "."


def test_dose_figure_starts_every_critic_at_one():
    rows = dose_rows({"mentions": CRITIC}, {d: {"mentions": drawn("dose", 20, d)} for d in (0.5, 0.0)}, "t")
    line = figure_doses(rows, "wrong pronoun").axes[0].lines[0]
    assert line.get_ydata()[0] == 1.0 and line.get_ydata()[1] > 1.0 and list(line.get_xdata()) == [0.0, 0.5]
