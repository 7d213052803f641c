"""5-gram critics: hand-made counts, a plain dictionary version of the released critic, identities; their attribution."""

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from samples.chains import pronoun_chains

from longform.critics.coreference import attribution, score
from longform.critics.coreference.attribution import gap_rows, ngram_attribution, rare_rows
from longform.critics.coreference.chains import read_with
from longform.critics.coreference.rules import RuleResolver
from longform.critics.coreference.score import (
    UNSEEN_PROBABILITY,
    Coreference,
    RandomMentionCritic,
    ReleasedCoreference,
)
from longform.documents import Chain, Document, Section, chains_to_predictions
from longform.statistics.random_streams import generator
from tests.refusals import refuses


def chain(text: str, name: str = "u", valid: bool = True) -> Chain:
    return Chain(name, "test", tuple(text.split()), valid)


def drawn_chains(name: str, count: int, length: int = 30) -> list[Chain]:
    """Chains of persons who come back as a pronoun or as a name, with sentence stops."""
    rng = generator("test", name)
    found = []
    for i in range(count):
        symbols, people = [], 1
        for _ in range(int(rng.integers(1, length))):
            kind = rng.integers(0, 10)
            people += kind == 0
            person = int(rng.integers(0, people)) + 40
            form = ("M", "he", "his", "F", "she", "her")[int(rng.integers(0, 3)) + 3 * (person % 2)]
            symbols.append("." if kind > 6 else f"{form}:{person}")
        found.append(Chain(f"{name}{i}", "test", tuple(symbols)))
    return found


def renumber(window: tuple[str, ...]) -> tuple[str, ...]:
    labels: dict[str, int] = {}
    split = [symbol.split(":") for symbol in window]
    return tuple(
        s[0] if len(s) == 1 else f"{s[0]}:{labels.setdefault(s[1], len(labels))}" for s in split
    )


class PlainReleasedCritic:
    """The released model in dictionaries, read off its description; slow, and shares no idea with the fast one."""

    def __init__(self, real: list[Chain], order: int = 5) -> None:
        self.order, self.counts, self.context, self.following = (
            order,
            Counter(),
            Counter(),
            defaultdict(set),
        )
        for window in itertools.chain.from_iterable(self.windows(c) for c in real):
            for n in range(1, order + 1):
                gram = window[order - n :]
                self.counts[gram] += 1
                self.context[gram[:-1]] += 1
                self.following[gram[:-1]].add(gram[-1])
        self.discount = {1: 0.0}
        for n in range(2, order + 1):
            seen = Counter(c for gram, c in self.counts.items() if len(gram) == n)
            self.discount[n] = seen[1] / (seen[1] + 2 * seen[2]) if seen[1] else 0.5

    def windows(self, unit: Chain) -> list[tuple[str, ...]]:
        row = ("<bos>",) * (self.order - 1) + unit.symbols
        return [renumber(row[i : i + self.order]) for i in range(len(unit.symbols))]

    def probability(self, gram: tuple[str, ...]) -> float:
        history = gram[:-1]
        if not history:
            return (
                self.counts[gram] / self.context[()] if gram in self.counts else UNSEEN_PROBABILITY
            )
        if history not in self.context:
            return self.probability(gram[1:])
        discount, total = self.discount[len(gram)], self.context[history]
        reserved = discount * len(self.following[history]) / total
        return max(self.counts[gram] - discount, 0.0) / total + reserved * self.probability(
            gram[1:]
        )


def test_probabilities_equal_the_plain_version_and_unseen_cost_the_floor():
    real, other = drawn_chains("real", 60), drawn_chains("other", 30)
    critic, plain = ReleasedCoreference().fit(real), PlainReleasedCritic(real)
    for unit, fast in zip(real + other, critic.part_values(real + other), strict=True):
        slow = [math.log(plain.probability(window)) for window in plain.windows(unit)]
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-11)
    assert [d for (d,) in critic.fitted_discounts] == pytest.approx(
        [plain.discount[n] for n in range(1, 6)]
    )
    critic = ReleasedCoreference().fit([chain("a b c")])
    statistics = critic.sufficient_statistics([chain("zz")])
    assert statistics.total("unknown") == 1 and statistics.total("transitions") == 1
    reserved = math.prod(
        discount for (discount,) in critic.fitted_discounts[1:]
    )  # a context met once, one successor
    assert statistics.total("logprob") == pytest.approx(math.log(UNSEEN_PROBABILITY * reserved))


def test_modified_discounts_of_hand_made_counts_of_counts():
    counts = np.array([1] * 8 + [2] * 4 + [3] * 2 + [4] * 1 + [9])
    y = 8 / (8 + 2 * 4)
    assert score.modified_discounts(counts) == pytest.approx(
        (1 - 2 * y * 4 / 8, 2 - 3 * y * 2 / 4, 3 - 4 * y * 1 / 2)
    )
    assert score.modified_discounts(np.array([1, 3, 3])) == (0.5, 1.0, 1.5)
    of_zero = {
        (4, 1, 1, 0): (2 / 3, 0, 3),
        (4, 2, 2, 3): (0.5, 0.5, 0),
        (4, 2, 2, 4): (0.5, 1.0, 1.5),
    }
    for counts_of_counts, discounts in of_zero.items():
        counts = np.repeat([1, 2, 3, 4], counts_of_counts)
        assert score.modified_discounts(counts) == pytest.approx(discounts)
    assert score.absolute_discount(counts) == pytest.approx(8 / 16)
    assert score.absolute_discount(np.array([2, 2, 5])) == 0.5


@pytest.mark.parametrize("critic", [ReleasedCoreference(), Coreference()])
def test_probabilities_sum_to_one_after_every_context_met(critic):
    fitted = critic.fit(drawn_chains("sum", 12, 20))
    bits, words = fitted.packing.bits, fitted.orders[0].keys
    unseen = 0.0 if isinstance(fitted, ReleasedCoreference) else math.exp(fitted.log_unknown)
    for context in [
        0,
        *itertools.chain.from_iterable(order.context_keys.tolist() for order in fitted.orders),
    ]:
        keys = (context << bits) | words
        total = np.exp(fitted.score_windows(keys)).sum()
        rest = math.exp(fitted.score_windows(np.array([context << bits]))[0]) if unseen else 0.0
        assert total + rest == pytest.approx(1.0, abs=1e-12)


def plain_kneser_ney(real: list[Chain], order: int, critic: Coreference):
    """Kneser-Ney straight from its definition, discounts given: sets of left neighbours, recursion, no keys."""
    windows = [
        ("<s>", *u.symbols)[max(0, i - order + 1) : i + 1]
        for u in real
        for i in range(1, len(u.symbols) + 1)
    ]
    full = Counter(w for w in windows if len(w) == order)
    begins = Counter(
        ("<s>", *u.symbols)[:n] for u in real for n in range(2, order) if len(u.symbols) >= n - 1
    )
    left = defaultdict(set)
    for window in windows:
        for n in range(1, len(window)):
            left[window[-n:]].add(window[-n - 1])

    def count(g: tuple[str, ...]) -> int:
        return full[g] if len(g) == order else begins[g] if g[0] == "<s>" else len(left[g])

    vocabulary = sorted({s for u in real for s in u.symbols})

    def probability(g: tuple[str, ...]) -> float:
        if not g:
            return 1 / (len(vocabulary) + 1)
        counts = {w: count((*g[:-1], w)) for w in vocabulary}
        total = sum(counts.values())
        if not total:
            return probability(g[1:])
        d = (0.0, *critic.fitted_discounts[len(g) - 1])
        reserved = sum(d[min(c, 3)] for c in counts.values()) / total
        own = counts.get(g[-1], 0)
        return (own - d[min(own, 3)]) / total + reserved * probability(g[1:])

    return probability


@pytest.mark.parametrize("order", [2, 3, 5])
def test_kneser_ney_equals_its_definition_on_a_stream_without_entities(order):
    rng = generator("test", "kn", order)
    real = [Chain(f"r{i}", "test", tuple("abcd"[j] for j in rng.choice(4, rng.integers(1, 12), p=[0.5, 0.3, 0.15, 0.05])))
            for i in range(25)]  # fmt: skip
    critic = Coreference(order=order).fit(real)
    probability = plain_kneser_ney(real, order, critic)
    for text in ("a b a a c", "d d d", "c", "a z a"):
        row = ("<s>", *text.split())
        expected = [probability(row[max(0, i - order + 1) : i + 1]) for i in range(1, len(row))]
        np.testing.assert_allclose(
            np.exp(critic.part_values([chain(text)])[0]), expected, rtol=1e-12
        )


def test_bad_input_is_named():
    for real in ([], [chain("a", valid=False)]):
        refuses("no token", ReleasedCoreference().fit_units, real)
    for order, text in ((1, "a"), (9, "a"), (5, " ".join(f"w{i}" for i in range(5000)))):
        refuses("allowed is an order of 2 to 8", ReleasedCoreference(order).fit, [chain(text)])
    for kind in (Coreference, RandomMentionCritic, score.RandomKneserNeyCritic):
        refuses("call fit", kind().sufficient_statistics, [chain("a")])


STEPS = np.array(
    [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1]]
)  # a chain of three symbols without entities


def order_one(name: str, count: int, length: int) -> list[Chain]:
    rng = generator("order one", name)
    chains = []
    for i in range(count):
        states = [int(rng.integers(0, 3))]
        for _ in range(length - 1):
            states.append(int(rng.choice(3, p=STEPS[states[-1]])))
        chains.append(Chain(f"{name}{i}", "test", tuple("abc"[state] for state in states)))
    return chains


@pytest.mark.parametrize(
    "kinds",
    [
        (ReleasedCoreference, RandomMentionCritic),
        pytest.param((Coreference, score.RandomKneserNeyCritic), marks=pytest.mark.long),
    ],
)
def test_symbols_at_random_score_the_cross_entropy_of_independent_draws(kinds):
    train, test = order_one("train", 300, 100), order_one("test", 100, 200)
    own, chance = (kind(order=2).fit(train) for kind in kinds)
    shares = np.linalg.matrix_power(STEPS, 200)[0]  # stationary
    joints = shares[:, None] * STEPS, np.outer(shares, shares)
    entropy, crossed = (-float(np.sum(joint * np.log(STEPS))) for joint in joints)
    assert own.score_of(own.sufficient_statistics(test)) == pytest.approx(
        math.exp(entropy), rel=0.02
    )
    assert chance.score_of(chance.sufficient_statistics(test)) == pytest.approx(
        math.exp(crossed), rel=0.02
    )
    assert crossed > entropy + 0.5


def test_random_symbols_have_the_length_of_every_chain_in_any_company():
    critic = RandomMentionCritic().fit(drawn_chains("train", 40))
    test = [*drawn_chains("test", 20), chain("M:1 he:1", "lost", valid=False)]
    drawn = critic.judged(test)
    assert [(len(c.symbols), c.valid) for c in drawn] == [(len(c.symbols), c.valid) for c in test]
    assert critic.judged(test[::-1])[::-1] == drawn


def test_nltk_gives_the_same_perplexity_under_one_discount(monkeypatch):
    lm = pytest.importorskip("nltk.lm")
    real, order, discount = order_one("nltk", 120, 10), 4, 0.6
    monkeypatch.setattr(score, "absolute_discount", lambda counts: discount)
    model = lm.AbsoluteDiscountingInterpolated(order, discount=discount)
    rows = [("<bos>",) * (order - 1) + unit.symbols for unit in real]
    grams = [
        [row[i - n : i] for row in rows for i in range(order, len(row) + 1)]
        for n in range(1, order + 1)
    ]
    model.fit(
        [[gram for level in grams for gram in level]],
        vocabulary_text=sorted({s for row in rows for s in row}),
    )
    test, logprob = order_one("nltk test", 40, 10), 0.0
    for unit in test:
        row = ("<bos>",) * (order - 1) + unit.symbols
        logprob += sum(
            math.log(model.score(row[i], row[i - order + 1 : i]))
            for i in range(order - 1, len(row))
        )
    statistics = ReleasedCoreference(order=order).fit(real).sufficient_statistics(test)
    assert statistics.total("logprob") == pytest.approx(logprob, rel=1e-12)


REAL, HELD_OUT, WRONG = (
    pronoun_chains(*given) for given in (("real", 60), ("held", 40), ("wrong", 40, 0.3))
)
CRITIC = ReleasedCoreference().fit(REAL)


def test_contributions_of_all_windows_sum_to_the_gap_per_token():
    rows = gap_rows(CRITIC, HELD_OUT, WRONG, top=None)
    nll = [
        -t.total("logprob") / t.total("transitions")
        for t in (CRITIC.sufficient_statistics(HELD_OUT), CRITIC.sufficient_statistics(WRONG))
    ]
    assert math.fsum(row["contribution"] for row in rows) == pytest.approx(
        nll[1] - nll[0], abs=1e-12
    )
    assert sum(row["percent_real"] for row in rows) == pytest.approx(100)
    stops = [u.symbols[0] == "." for u in HELD_OUT]
    first = next(row for row in rows if row["window"] == ("", "", "", "", "."))
    assert first["percent_real"] == pytest.approx(
        100 * sum(stops) / sum(len(u.symbols) for u in HELD_OUT)
    )
    assert [r["contribution"] for r in rows] == sorted(
        (r["contribution"] for r in rows), reverse=True
    )
    assert len(gap_rows(CRITIC, HELD_OUT, WRONG)) == 10
    refuses("no token", gap_rows, CRITIC, HELD_OUT, [Chain("e", "test", ())])


def test_rare_windows_are_below_the_threshold_with_the_best_successor():
    rows = rare_rows(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0)
    assert 0 < len(rows) <= 6 and all(row["log_probability"] < -3.0 for row in rows)
    for row in rows:
        unit = next(u for u in WRONG if u.unit_id == row["unit_id"])
        assert CRITIC.part_values([unit])[0][row["position"]] == row["log_probability"]
        assert row["best"] != "." and row["best_log_probability"] > row["log_probability"]
    assert rare_rows(CRITIC, WRONG, generator("test", "15"), rows=6, threshold=-3.0) == rows
    every = rare_rows(CRITIC, WRONG, generator("test", "15"), rows=10**6, threshold=-3.0)
    assert len({(row["unit_id"], row["position"]) for row in every}) == len(every) > 6


def test_best_successor_is_the_arg_max_over_seen_successors():
    critic = ReleasedCoreference(order=2).fit([Chain("u", "test", tuple("ababaca."))])
    key = next(int(k) for k in critic.orders[1].keys if critic.window(int(k)) == ("a", "."))
    best = critic.part_values([Chain("v", "test", ("a", "b"))])[0][1]
    assert attribution.best_successor(critic, key) == ("b", pytest.approx(best))


def test_ratio_tables_rank_frequent_windows_by_two_separate_fits():
    high, low = attribution.ratio_rows(CRITIC, HELD_OUT, WRONG)
    assert (
        high[0]["log_ratio"] >= high[-1]["log_ratio"] > low[-1]["log_ratio"] >= low[0]["log_ratio"]
    )
    for row in (*high, *low):
        assert row["log_ratio"] == pytest.approx(
            math.log(row["probability_generated"] / row["probability_real"])
        )
        assert 0 < row["probability_real"] <= 1 and 0 < row["probability_generated"] <= 1
    alone = ReleasedCoreference().fit(HELD_OUT)
    assert low[0]["window"] in {alone.window(int(k)) for k in alone.orders[-1].keys}


def test_the_attribution_critic_scores_and_lists_as_the_released_one():
    train = [Chain(c.unit_id, "train", c.symbols) for c in REAL]
    critic = ngram_attribution(real=chains_to_predictions([*train, *HELD_OUT])).fit(train)
    assert critic.score_of(critic.sufficient_statistics(WRONG)) == CRITIC.score_of(
        CRITIC.sufficient_statistics(WRONG)
    )
    found = critic.describe(WRONG)
    assert found["gap"] == gap_rows(CRITIC, HELD_OUT, WRONG)
    assert (found["high"], found["low"]) == attribution.ratio_rows(CRITIC, HELD_OUT, WRONG)
    rng = generator("deng2022", "table 15")
    assert found["rare"] == rare_rows(CRITIC, WRONG, rng, threshold=critic.threshold)
    rare = np.concatenate(CRITIC.part_values(WRONG)) < critic.threshold
    assert found["rare_share"]["judged"] == {"rare": rare.sum(), "windows": len(rare)}
    other = ngram_attribution(real=chains_to_predictions(HELD_OUT), order=3, threshold=-2.0)
    assert (other.order, other.threshold, len(other.held_out)) == (3, -2.0, len(HELD_OUT))
    assert found["articles"] == []  # chains without their text make no page
    refuses("no chain of split test", ngram_attribution, real=chains_to_predictions(train))


def test_an_article_has_its_text_and_marks_every_symbol_after_a_readout():
    text = "Anna Lee met Tom Reed. He liked her. She liked him. " * 6
    pages = {"a": text + "Zoë ß.", "b": "?"}
    documents = [
        Document(name, "generated", (Section(None, page),)) for name, page in pages.items()
    ]
    predictions = read_with(RuleResolver(), documents, ["generated"], False, None, keep_text=True)
    units = attribution.units_from_predictions(predictions)
    assert units[0].text == documents[0].text and units[1].text == "?"
    critic = attribution.AttributionCritic(threshold=0.0, held_out=tuple(HELD_OUT)).fit(REAL)
    article, _ = critic.describe(units)["articles"]  # the long one first
    assert [mark["symbol"] for mark in article["marks"]] == list(units[0].symbols)
    assert all(
        text[m["start"] : m["end"]] in {"", "Lee", "Reed", "He", "her", "She", "him"}
        for m in article["marks"]
    )


@pytest.mark.parametrize(("order", "most_forms"), [(2, 715_827_882), (8, 14)])
def test_keys_of_62_bits_hold_so_many_forms(order, most_forms):
    assert score.Packing(order, most_forms, 1).bits == 62 // order
    refuses(f"at order {order} need", score.Packing, order, most_forms + 1, 1)
    for other in (1, 9):
        refuses("an order of 2 to 8", score.Packing, other, 1, 1)
