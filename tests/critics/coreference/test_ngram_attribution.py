"""n-gram attribution on chains small enough to count by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from samples.chains import pronoun_chains as drawn

from longform.core.documents import BadInput, Chain, Document, Section, chains_to_readout
from longform.core.resampling import generator
from longform.critics.coreference.attribution import (
    AttributionCritic,
    best_successor,
    gap_rows,
    ngram_attribution,
    rare_rows,
    ratio_rows,
    units_from_readout,
)
from longform.critics.coreference.chains import read_with
from longform.critics.coreference.rules import RuleResolver
from longform.critics.coreference.score import MentionCritic

REAL, HELD_OUT, WRONG = drawn("real", 60), drawn("held", 40), drawn("wrong", 40, 0.3)
CRITIC = MentionCritic().fit(REAL)


def test_contributions_of_all_windows_sum_to_the_gap_per_token():
    rows = gap_rows(CRITIC, HELD_OUT, WRONG, top=None)
    nll = [-t.total("logprob") / t.total("transitions") for t in (CRITIC.tally(HELD_OUT), CRITIC.tally(WRONG))]
    assert math.fsum(row["contribution"] for row in rows) == pytest.approx(nll[1] - nll[0], abs=1e-12)
    assert sum(row["percent_real"] for row in rows) == pytest.approx(100)
    assert [r["contribution"] for r in rows] == sorted((r["contribution"] for r in rows), reverse=True)
    assert len(gap_rows(CRITIC, HELD_OUT, WRONG)) == 10


def test_percentages_are_those_of_a_plain_count():
    def window_share(units: list[Chain]) -> float:
        windows = [(("",) * 4 + u.symbols)[i : i + 5] for u in units for i in range(len(u.symbols))]
        return 100 * Counter(windows)[("", "", "", "", ".")] / len(windows)

    row = next(r for r in gap_rows(CRITIC, HELD_OUT, WRONG, top=None) if r["window"] == ("", "", "", "", "."))
    assert row["percent_real"] == pytest.approx(window_share(HELD_OUT))


def test_rare_windows_are_below_the_threshold_and_the_expected_symbol_is_the_observed_best():
    rows = rare_rows(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0)
    assert 0 < len(rows) <= 6 and all(row["log_probability"] < -3.0 for row in rows)
    for row in rows:
        unit = next(u for u in WRONG if u.unit_id == row["unit_id"])
        assert CRITIC.attribute([unit])[0][row["position"]] == row["log_probability"]
        assert row["best"] != "." and row["best_log_probability"] > row["log_probability"]
    assert rare_rows(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0) == rows


def test_best_successor_is_the_arg_max_over_successors_seen_after_the_history():
    critic = MentionCritic(order=2).fit([Chain("u", "test", tuple("ababaca."))])
    key = next(
        int(k) for k in critic.orders[1].keys if critic.packing.names(int(k), critic.forms, "", "?") == ("a", ".")
    )
    symbol, log_prob = best_successor(critic, key)
    assert symbol == "b"
    assert log_prob == pytest.approx(critic.attribute([Chain("v", "test", ("a", "b"))])[0][1])


def test_ratio_tables_rank_frequent_windows_by_two_separate_fits():
    high, low = ratio_rows(CRITIC, HELD_OUT, WRONG)
    assert high[0]["log_ratio"] >= high[-1]["log_ratio"] > low[-1]["log_ratio"] >= low[0]["log_ratio"]
    for row in (*high, *low):
        assert row["log_ratio"] == pytest.approx(math.log(row["probability_generated"] / row["probability_real"]))
        assert 0 < row["probability_real"] <= 1 and 0 < row["probability_generated"] <= 1
    alone = MentionCritic().fit(HELD_OUT)
    assert low[0]["window"] in {alone.packing.names(int(k), alone.forms, "", "?") for k in alone.orders[-1].keys}


def test_tables_of_chains_without_tokens_are_refused():
    with pytest.raises(BadInput, match="no token"):
        gap_rows(CRITIC, HELD_OUT, [Chain("e", "test", ())])


def test_the_attribution_critic_scores_as_the_released_one_and_lists_the_same_rows():
    train = [Chain(c.unit_id, "train", c.symbols) for c in REAL]
    critic = ngram_attribution(real=chains_to_readout([*train, *HELD_OUT])).fit(train)
    assert critic.score(critic.tally(WRONG)) == CRITIC.score(CRITIC.tally(WRONG))
    found = critic.describe(WRONG)
    assert found["gap"] == gap_rows(CRITIC, HELD_OUT, WRONG)
    rare = np.concatenate(CRITIC.attribute(WRONG)) < critic.threshold
    assert found["rare_share"]["judged"] == {"rare": rare.sum(), "windows": len(rare)}
    assert found["articles"] == []  # chains without their text make no page
    with pytest.raises(BadInput, match="no chain of split test"):
        ngram_attribution(real=chains_to_readout(train))


def test_an_article_keeps_its_text_through_a_readout_and_marks_every_symbol():
    text = "Anna Lee met Tom Reed. He liked her. She liked him. " * 6
    documents = [
        Document("a", "generated", (Section(None, text + "Zoë ß."),)),
        Document("b", "generated", (Section(None, "?"),)),
    ]
    units = units_from_readout(read_with(RuleResolver(), documents, False, None, keep_text=True))
    assert units[0].text == documents[0].text and units[1].text == "?"
    critic = AttributionCritic(threshold=0.0, held_out=tuple(HELD_OUT)).fit(REAL)
    article, _ = critic.describe(units)["articles"]  # the long one first
    assert [mark["symbol"] for mark in article["marks"]] == list(units[0].symbols)
    assert all(text[m["start"] : m["end"]] in {"", "Lee", "Reed", "He", "her", "She", "him"} for m in article["marks"])
