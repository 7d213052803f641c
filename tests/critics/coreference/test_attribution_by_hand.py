"""Rows of attribution by hand, of bigrams without and with entities."""

import math

import numpy as np
import pytest

from longform.critics.coreference import attribution
from longform.critics.coreference.attribution import (
    AttributionCritic,
    best_successor,
    gap_rows,
    ngram_attribution,
    rare_rows,
    ratio_rows,
)
from longform.critics.coreference.score import (
    Coreference,
    PersonChain,
    ReleasedCoreference,
    TokenStream,
    read_tokens,
    split_symbol,
)
from longform.documents import Chain, chains_to_predictions
from longform.statistics.random_streams import generator
from tests.refusals import refuses


def chains(*texts, split="test"):
    return [Chain(f"u{n}", split, tuple(text.split())) for n, text in enumerate(texts)]


# Bigrams are met once or three times, so that the discount is 1: P(y | a) is P(y) wherever a was met
# once, and (3 - 1) / 3 + P(y) / 3 after the mention a:0. Of eleven symbols y are four, a:0 three.
MET = chains("a x", "a:7 y", "a:7 y", "a:8 y", "y", "b .")
CRITIC = ReleasedCoreference(order=2).fit(MET)
SYMBOLS = 11
NAMES = [f"{chr(97 + n // 10)}{n % 10}" for n in range(60)]


def key(critic, *symbols):
    tokens = critic.read(chains(" ".join(symbols)))
    return int(attribution.window_keys(tokens, critic.packing)[-1])


@pytest.mark.parametrize(
    ("window", "best"),
    [
        ("a y", ("x", 1 / SYMBOLS)),  # the one successor of a; y follows a:0 alone
        ("a:3 x", ("y", 2 / 3 + 4 / SYMBOLS / 3)),
        ("x a", ("y", 4 / SYMBOLS)),  # nothing follows x: all symbols are candidates
        ("zz a", ("y", 4 / SYMBOLS)),
        ("b x", None),  # a stop alone
    ],
)
def test_the_likeliest_successor_is_one_that_followed_the_history(window, best):
    found = best_successor(CRITIC, key(CRITIC, *window.split()))
    assert found == (best and (best[0], pytest.approx(math.log(best[1]))))
    if best:
        assert type(found[1]) is float


GENERATED = chains("a y", "b x x", "y")
# of their windows: begin a, a y, begin b, b x, x x, begin y; those of x are not met, begin is met 6 times
PROBABILITIES = {
    ("", "a"): (1 - 1) / 6 + 4 / 6 * 1 / SYMBOLS,
    ("a", "y"): 4 / SYMBOLS,
    ("", "b"): 4 / 6 * 1 / SYMBOLS,
    ("b", "x"): 1 / SYMBOLS,
    ("x", "x"): 1 / SYMBOLS,
    ("", "y"): 4 / 6 * 4 / SYMBOLS,
}


def test_improbable_windows_have_their_place_and_what_was_expected():
    begin_a_mention = 2 / 6 + 4 / 6 * 3 / SYMBOLS
    expected = [
        (("", "a"), "a:0", begin_a_mention, "u0", 0), (("", "b"), "a:0", begin_a_mention, "u1", 0),
        (("b", "x"), "", None, "u1", 1), (("x", "x"), "y", 4 / SYMBOLS, "u1", 2),
    ]  # fmt: skip
    found = rare_rows(CRITIC, GENERATED, generator("rows"), threshold=-1.5)
    for row, (window, best, share, unit, position) in zip(found, expected, strict=True):
        best_log_prob = row.pop("best_log_probability")
        assert math.isnan(best_log_prob) if share is None else best_log_prob == pytest.approx(math.log(share))  # fmt: skip
        assert row == {"window": window, "best": best, "unit_id": unit, "position": position,
                       "log_probability": pytest.approx(math.log(PROBABILITIES[window]))}  # fmt: skip
    windows = [row["window"] for row in found]
    # a window at the threshold is not below it
    edge = found[2]["log_probability"]
    below = rare_rows(CRITIC, GENERATED, generator("rows"), threshold=edge)
    assert [row["window"] for row in below] == [("", "a"), ("", "b")]
    critic = AttributionCritic(order=2, threshold=edge, held_out=tuple(GENERATED)).fit(MET)
    counts = critic.describe(GENERATED)["rare_share"]["judged"]
    assert counts == {"rare": 2.0, "windows": 6.0}
    two = [row["window"] for row in rare_rows(CRITIC, GENERATED, generator("rows"), 2, -1.5)]
    chosen = sorted(generator("rows").choice([0, 2, 3, 4], 2, replace=False))
    assert two == [windows[[0, 2, 3, 4].index(n)] for n in chosen]
    many = chains("zz " * 20)
    assert len(rare_rows(CRITIC, many, generator("rows"))) == 13  # 1e-20 each
    assert attribution.RARE_LOG_PROBABILITY == -7.0


def test_gaps_are_differences_of_shares_times_surprise():
    real = chains("a y", "y")  # begin a, a y, begin y: a third each; generated ones a sixth each
    rows = gap_rows(CRITIC, real, GENERATED, top=None)
    expected = []
    for window, probability in PROBABILITIES.items():
        percent = 100 / 3 if window in (("", "a"), ("a", "y"), ("", "y")) else 0.0
        part = (1 / 6 - percent / 100) * -math.log(probability)
        expected.append({"window": window, "percent_real": pytest.approx(percent),
                         "percent_generated": pytest.approx(100 / 6),
                         "contribution": pytest.approx(part)})  # fmt: skip
    order = [("", "b"), ("b", "x"), ("x", "x"), ("a", "y"), ("", "y"), ("", "a")]
    by_window = {row["window"]: row for row in expected}
    assert rows == [by_window[window] for window in order]
    assert gap_rows(CRITIC, real, GENERATED, top=2) == rows[:2]


def test_ratios_are_of_each_sides_own_critic_over_frequent_windows(monkeypatch):
    """Real bigrams 3 2 1 have a discount of 1 / 3, generated ones 3 3 of 1 / 2; y is met once."""
    monkeypatch.setattr(attribution, "MIN_COUNT", 2)
    real, generated = chains("a x", "a x", "a y"), chains("a x", "a x", "a x")
    invalid = Chain("i", "test", ("q",) * 9, valid=False)
    real_shares = {("", "a"): 17 / 18, ("a", "x"): 5 / 9 + 2 / 9 / 3}
    share = 5 / 6 + 1 / 12  # of both, generated
    rows = [{"window": window, "probability_real": pytest.approx(real_shares[window]),
             "probability_generated": pytest.approx(share),
             "log_ratio": pytest.approx(math.log(share / real_shares[window]))}
            for window in (("a", "x"), ("", "a"))]  # fmt: skip
    critic = ReleasedCoreference(order=2)
    assert ratio_rows(critic, [*real, invalid], generated) == (rows, rows[::-1])
    monkeypatch.setattr(attribution, "RATIOS", 1)
    assert ratio_rows(critic, real, generated) == (rows[:1], rows[1:])
    monkeypatch.setattr(attribution, "MIN_COUNT", 3)
    assert ratio_rows(critic, real, generated) == (rows[1:], rows[1:])


def test_equal_rows_stand_in_the_order_of_their_windows():
    """Every second name is met twice as often in generated texts."""
    real, generated = chains(*NAMES * 5), chains(*NAMES * 5, *NAMES[1::2] * 5)
    high, low = ratio_rows(Coreference(order=2), real, generated)
    assert [row["window"][1] for row in high] == NAMES[1:10:2]
    assert [row["window"][1] for row in low] == NAMES[58:48:-2]
    rows = gap_rows(ReleasedCoreference(order=2).fit(real), real, generated)
    assert [row["window"][1] for row in rows] == NAMES[1:20:2]


def test_a_description_has_the_worst_articles_with_their_marks(monkeypatch):
    monkeypatch.setattr(attribution, "ARTICLES", 3)
    monkeypatch.setattr(attribution, "MIN_SYMBOLS", 2)

    def page(name, symbols, text="text", **more):
        row = tuple(symbols.split())
        spans = tuple((n, n + 1) for n in range(len(row)))
        return PersonChain(name, "test", row, spans=spans, text=text, **more)

    units = [page("d", "y"), page("c", "b x"), page("b", "b x"), page("a", "y y"),
             page("e", "b x", text=""), page("f", "b", valid=False), page("g", "")]  # fmt: skip
    critic = AttributionCritic(order=2, threshold=-2.0, held_out=tuple(GENERATED)).fit(MET)
    found = critic.describe(units)
    assert list(found) == ["rare", "high", "low", "gap", "rare_share", "articles"]
    assert found["rare_share"] == {"real": {"rare": 4.0, "windows": 6.0},
                                   "judged": {"rare": 6.0, "windows": 9.0}}  # fmt: skip
    begin = {"start": 0, "end": 1, "symbol": "b", "bad": True, "best": "a:0",
             "log_probability": pytest.approx(math.log(PROBABILITIES["", "b"])),
             "best_log_probability": pytest.approx(math.log(2 / 6 + 4 / 6 * 3 / SYMBOLS))}  # fmt: skip
    stop = {"start": 1, "end": 2, "symbol": "x", "bad": True, "best": "",
            "log_probability": pytest.approx(math.log(1 / SYMBOLS)), "best_log_probability": None}  # fmt: skip
    likely = {"start": 0, "end": 1, "symbol": "y", "bad": False, "best": "",
              "log_probability": pytest.approx(math.log(PROBABILITIES["", "y"])),
              "best_log_probability": None}  # fmt: skip
    again = {
        **likely,
        "start": 1,
        "end": 2,
        "log_probability": pytest.approx(math.log(4 / SYMBOLS)),
    }
    assert found["articles"] == [
        {"unit_id": name, "text": "text", "marks": marks}
        for name, marks in (("b", [begin, stop]), ("c", [begin, stop]), ("a", [likely, again]))
    ]
    assert critic.describe([units[-1], units[-2]]) == {}
    bare = AttributionCritic(order=2).fit(MET)
    assert bare.describe(units) == {} and bare.threshold == -7.0
    made = ngram_attribution(
        real=chains_to_predictions([*chains("a", split="train"), *GENERATED[1:]])
    )
    assert (made.order, made.threshold, made.held_out) == (5, -7.0, tuple(GENERATED[1:]))
    real = chains_to_predictions(GENERATED)
    made = ngram_attribution(real=real, order=3, threshold=-2.0)
    assert (made.order, made.threshold, made.held_out) == (3, -2.0, tuple(GENERATED))
    real = chains_to_predictions(chains("a", split="train"))
    refuses("no chain of split test", ngram_attribution, real=real)
    refuses("hold no token", gap_rows, CRITIC, GENERATED, chains(""))


def test_tokens_are_forms_entities_and_the_starts_of_their_chains():
    units = [*chains("a:5 . b:9 a:9 zz:5 :7 c:"), Chain("i", "test", ("a",), valid=False), *chains("b:5 a")]  # fmt: skip
    found = read_tokens(units, {"a": 0, "b": 1, ".": 2, ":7": 3, "c:": 4})
    expected = TokenStream(
        np.array([0, 2, 1, 0, -1, 3, 4, 1, 0], np.int32),
        np.array([0, -1, 1, 1, 0, -1, -1, 0, -1], np.int32),
        np.array([0, 0, 0, 0, 0, 0, 0, 7, 7]),
        np.array([7, 0, 2]),
    )
    for array, values in zip(found, expected, strict=True):
        assert array.dtype == values.dtype and array.tolist() == values.tolist()
    assert split_symbol("a:b:1") == ("a:b", "1") and split_symbol("x") == ("x", None)
