"""What a comparison of systems will show, and how systems rank, by hand on a few numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from longform.criticize import systems
from longform.criticize.splits import Halves
from longform.criticize.systems import REAL, detectable_difference
from longform.errors import BadInput, InputError
from longform.statistics.comparisons import Comparison
from longform.statistics.estimates import Estimate
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.refusals import refuses

IDS = {REAL: ["real/a", "real/b", "real/c"], "m": ["m/1", "m/2", "m/3", "m/4"], "n": ["n/1"]}


class Critic:
    """Says which units taught it, and scores any statistics 0.25."""

    better = "lower"

    def __init__(self, taught=()):
        self.taught = [unit.unit_id for unit in taught]

    def fit(self, units):
        return Critic(units)

    def score_of(self, statistics):
        return 0.25


def panel(**fields):
    given = {"name": "grid", "pace": 50.0, "absent": "", "learns": "texts", "spared": False}
    return SimpleNamespace(**given | {"measure": "words", "critic": Critic(), "needs": ""} | fields)


@pytest.fixture
def sides(monkeypatch):
    """Three real texts, one of which teaches, and systems of four texts and of one."""
    texts = {name: [SimpleNamespace(id=one) for one in ids] for name, ids in IDS.items()}
    of_sides = SimpleNamespace(
        sides=texts,
        excerpts={"words": texts},
        sources="sources",
        cut={"words": {"m": 1}},
        pairs={},
        why_short=lambda measure: f" (m is short of {measure})",
    )
    asked = {}

    def halves(real, sources, number=0):
        asked["halves"] = (real, sources, number)
        return Halves(frozenset({"real/a"}), frozenset({"real/b", "real/c"}))

    def read(panel, documents):
        asked["read"] = [document.id for document in documents]
        return [SimpleNamespace(unit_id=document.id) for document in documents]

    def statistics(panel, critic, name, units, sides):
        asked["statistics"] = (critic.taught, name, [unit.unit_id for unit in units])
        return SufficientStatistics(("b", "c", "d"), ("excluded",), np.array([[0.0], [1.0], [0.0]]))

    monkeypatch.setattr(systems, "halves", halves)
    monkeypatch.setattr(systems, "read_units", read)
    monkeypatch.setattr(systems, "_statistics", statistics)
    monkeypatch.setattr(
        systems,
        "bootstrap_scores",
        lambda critic, statistics, rng, count: np.array([1.0, 3.0, np.nan]),
    )
    return of_sides, asked


def test_a_difference_must_exceed_the_spread_of_both_sides(sides):
    """Variance 1 of two scored real texts: 2/4 for four texts of a system, 2 for its only text."""
    of_sides, asked = sides
    plan = systems._plan(panel(), of_sides, 1000, 7)
    assert (plan.name, plan.seconds, plan.real, plan.reason) == ("grid", 20.0, 0.25, "")
    assert plan.detectable == {
        "m": pytest.approx(2.8 * math.sqrt(1.5)),
        "n": pytest.approx(2.8 * math.sqrt(3.0)),
    }
    assert asked["halves"] == (of_sides.sides[REAL], "sources", 0)
    assert asked["read"] == IDS[REAL] + IDS["m"] + IDS["n"]
    assert asked["statistics"] == (["real/a"], REAL, ["real/b", "real/c"])


def test_a_critic_that_learns_nothing_is_planned_on_all_real_texts(sides):
    of_sides, asked = sides
    systems._plan(panel(learns="nothing"), of_sides, 1000, 7)
    assert asked["statistics"] == ([], REAL, IDS[REAL])


@pytest.mark.parametrize(
    ("fields", "seconds", "reason"),
    [
        ({"absent": "no model"}, 0.0, "no model"),
        ({"learns": "predictions"}, 20.0, "not known before it has read the texts"),
        ({"spared": True}, 20.0, "not known before it has read the texts"),
    ],
)
def test_a_critic_that_is_not_tried_has_no_number(sides, fields, seconds, reason):
    plan = systems._plan(panel(**fields), sides[0], 1000, 7)
    assert (plan.seconds, plan.reason, plan.detectable) == (seconds, reason, {})
    assert math.isnan(plan.real) and "read" not in sides[1]


def test_a_critic_that_does_not_apply_takes_no_time_and_says_why(sides, monkeypatch):
    def refuse(*_):
        raise InputError("no titles")

    monkeypatch.setattr(systems, "_statistics", refuse)
    plan = systems._plan(panel(), sides[0], 1000, 7)
    assert (plan.seconds, plan.detectable, plan.reason) == (
        0.0,
        {},
        "no titles (m is short of words)",
    )
    assert math.isnan(plan.real)


def test_the_smallest_difference_is_the_mean_over_halvings():
    """Variances 1 + 4, 1 + 0 and 4 + 4."""
    two, four, none = np.array([1.0, 3.0]), np.array([0.0, 4.0]), np.array([2.0, 2.0])
    found = detectable_difference([two, two, four], [four, none, four])
    roots = [math.sqrt(5), 1.0, math.sqrt(8)]
    assert found == pytest.approx(2.8 * sum(roots) / 3)


def test_draws_without_a_finite_score_have_no_variance():
    assert systems._variance(np.array([1.0, 5.0, np.inf])) == 4.0
    assert systems._variance(np.array([7.0])) == 0.0
    assert math.isnan(systems._variance(np.array([np.nan])))


def test_scores_that_differ_by_rounding_do_not_vary():
    assert systems._variance(np.array([0.1, 0.1 + 2e-17, 0.1 + 4e-17])) == 0.0
    assert systems._variance(np.array([0.0, 2e-12])) == pytest.approx(1e-24)
    still = [np.array([0.3, 0.1 + 0.2])]
    assert math.isnan(detectable_difference(still, still))


@pytest.mark.parametrize(
    ("better", "badness"), [("higher", [-1, 3]), ("lower", [1, -3]), ("real", [1, 5])]
)
def test_a_system_is_worse_the_further_it_is_on_the_wrong_side(better, badness):
    found = systems._badness(better, np.array([1.0, -3.0]), np.array([2.0, 2.0]))
    assert found.tolist() == badness


def scored(**values):
    return {name: Estimate(value, 0.0, 9.0, 2, 0, "") for name, value in values.items()}


def test_intervals_of_ranks_are_of_resamples_whose_ties_share():
    """Lower is better; what is not finite ranks last. Ranks of a: 1, 1.5, 1 and 2."""
    nan = np.nan
    draws = {
        REAL: [np.zeros(2), np.zeros(2)],
        "a": [np.array([1.0, 2.0]), np.array([5.0, nan])],
        "b": [np.array([2.0, 2.0]), np.array([6.0, 7.0])],
    }
    ranks = systems._ranks("lower", draws, scored(real=0.0, a=3.0, b=4.0))
    assert list(ranks) == ["a", "b"]
    assert (ranks["a"].value, ranks["b"].value) == (1.0, 2.0)
    assert 1.0 <= ranks["a"].low < 1.1 and 1.9 < ranks["a"].high <= 2.0
    assert 1.0 <= ranks["b"].low < 1.1 and 1.9 < ranks["b"].high <= 2.0


@pytest.mark.parametrize(
    ("better", "expected"),
    [("lower", [1.0, 2.5, 2.5, 4.0]), ("higher", [3.0, 1.5, 1.5, 4.0]), ("", [2.0, 2.0, 2.0, 4.0])],
)
def test_systems_of_equal_scores_share_the_mean_of_their_places(better, expected):
    """Real text has 2: the scores 1, 3 and 3 are equally far from it. In resamples b wins."""
    scores = scored(real=2.0, a=1.0, b=3.0, c=math.nextafter(3.0, 4.0), d=math.nan)
    draws = {name: [np.full(3, one.value)] for name, one in scores.items()}
    draws["b"] = [np.array([0.0, 2.0, 9.0])]
    ranks = systems._ranks(better, draws, scores)
    assert [ranks[name].value for name in "abcd"] == expected


def test_every_system_is_judged_against_real_text_and_every_pair_once(sides, monkeypatch):
    fit = SimpleNamespace(sides={REAL: "r", "m": "x", "n": "y"})
    draws = {REAL: [np.array([0.0, 0.0])], "m": [np.array([4.0, 6.0])], "n": [np.array([1.0, 1.0])]}
    tests = []

    def tested(panel, fits, first, second, seed, permutations):
        tests.append((first, second, seed, permutations))
        return Comparison(1.0, 0.01 * len(tests), False, permutations)

    monkeypatch.setattr(systems, "_fits", lambda panel, sides: [fit])
    monkeypatch.setattr(
        systems, "_draws", lambda *given: draws if given[2:] == (False, 7, 9) else {}
    )
    monkeypatch.setattr(systems, "_test", tested)
    monkeypatch.setattr(
        systems,
        "_estimate",
        lambda fits, name, own: Estimate(float(own[0][0]), 0.0, 1.0, 2, 0, name),
    )
    judged = systems.judge_systems(panel(), sides[0], 7, resamples=9, permutations=11)
    assert tests == [("m", REAL, 7, 11), ("n", REAL, 7, 11), ("m", "n", 7, 11)]
    assert judged.real.signature == REAL and judged.cut == {"m": 1}
    assert [
        (name, one.estimate.value, one.corrected_p) for name, one in judged.systems.items()
    ] == [("m", 4.0, 0.01), ("n", 1.0, 0.02)]
    assert judged.systems["m"].rank.value == 2.0 and judged.systems["n"].rank.value == 1.0
    assert judged.systems["m"].detectable == pytest.approx(2.8)
    assert math.isnan(judged.systems["n"].detectable)
    (pair,) = judged.pairs
    assert (pair.first, pair.second, pair.corrected_p) == ("m", "n", 0.03)
    assert 3.0 <= pair.low < 3.1 and 4.9 < pair.high <= 5.0
    again = systems.result_from(judged.panel, systems.record_of(judged))
    assert again == judged
    refuses("no model", systems.judge_systems, panel(absent="no model"), sides[0], 7)


def test_p_values_are_corrected_apart_for_real_text_and_for_pairs():
    """Holm: two tests against real text at .01 and .02 become .02 twice; one pair stays."""

    def judged(*p_values):
        return {
            str(number): systems.SystemResult(
                None, Comparison(0.0, p, False, 9), p, 0.0, systems.Rank(1, 1, 1)
            )
            for number, p in enumerate(p_values)
        }

    pair = systems.PairResult("0", "1", Comparison(0.0, 0.03, False, 9), 0.0, 1.0, 0.5)
    critics = [
        systems.CriticOnSystems(None, None, judged(0.02), (pair,), {}),
        systems.CriticOnSystems(None, None, judged(0.01), (), {}),
    ]
    first, second = systems.with_corrected_p_values(critics)
    assert first.systems["0"].corrected_p == pytest.approx(0.02)
    assert second.systems["0"].corrected_p == pytest.approx(0.02)
    assert [one.corrected_p for one in first.pairs] == [0.03] and second.pairs == ()


@pytest.mark.parametrize("count", [0, 1])
def test_two_real_texts_are_needed(count, monkeypatch):
    texts = SimpleNamespace(documents=[SimpleNamespace()] * count)
    monkeypatch.setattr(systems, "read_texts", lambda given: texts)
    refuses(f"got {count} real text", systems._read_all, "r", {"m": "x"})


def test_sides_are_read_under_their_names(monkeypatch):
    monkeypatch.setattr(
        systems, "read_texts", lambda given: SimpleNamespace(documents=[given, given])
    )
    real, texts = systems._read_all("r", {"m": "x"})
    assert real.documents[0] == "r" and texts["m"].documents[1] == "x"
    refuses("no generated texts; give those of at least one system", systems._read_all, "r", {})
    refuses("a system is called 'real'", systems._read_all, "r", {REAL: "x"})


def test_a_halving_that_fails_is_left_out_and_the_first_reason_is_said(sides, monkeypatch):
    """Of three halvings the second works; where none does, the first one's sentence stands."""
    of_sides, _ = sides
    numbers = []

    def halves(real, sources, number=0):
        numbers.append(number)
        return Halves(frozenset({str(number)}), frozenset())

    def fit(panel, units, half, sides):
        if half.train == {"1"}:
            return half
        raise BadInput(f"halving {min(half.train)}")

    monkeypatch.setattr(systems, "halves", halves)
    monkeypatch.setattr(systems, "_fit", fit)
    three = panel(halvings=3)
    assert systems._fits(three, of_sides) == [Halves(frozenset({"1"}), frozenset())]
    assert numbers == [0, 1, 2]
    refuses("^halving 0$", systems._fits, panel(halvings=1), of_sides)
    monkeypatch.setattr(systems, "_fit", lambda panel, units, half, sides: half)
    (half,) = systems._fits(panel(halvings=1, learns="nothing"), of_sides)
    assert half == Halves(frozenset(), frozenset(IDS[REAL]))


def test_tests_of_all_halvings_are_one_and_paired_if_all_are(monkeypatch):
    """Of three halvings: p is 3/2 of the middle one (Rüschendorf 1982)."""
    found = iter([(1.0, 0.01, True), (2.0, 0.04, True), (6.0, 0.03, False)])

    def compare(critic, first, second, rng, permutations, matched):
        difference, p_value, paired = next(found)
        assert (first, second, permutations, matched) == ("x", "r", 9, True)
        return Comparison(difference, p_value, paired, permutations)

    monkeypatch.setattr(systems, "compare", compare)
    fit = SimpleNamespace(critic=None, sides={REAL: "r", "m": "x"})
    assert systems._test(panel(), [fit] * 3, "m", REAL, 7, 9) == Comparison(
        3.0, pytest.approx(0.045), False, 9
    )


def test_streams_are_named_by_seed_critic_halving_and_side(sides, monkeypatch):
    """Paired systems draw from one stream, so that they resample the same prompts."""
    drawn = []

    def scores(critic, statistics, rng, count):
        drawn.append((rng, count))
        return np.array([float(len(drawn))])

    monkeypatch.setattr(systems, "generator", lambda *names: names)
    monkeypatch.setattr(systems, "bootstrap_scores", scores)
    systems._plan(panel(), sides[0], 1000, 7)
    assert drawn.pop() == ((7, "plan", "grid"), 1000)
    fits = [SimpleNamespace(critic="c", sides={REAL: "r", "m": "x"})] * 2
    for paired, stream in ((False, "m"), (True, "prompts")):
        found = systems._draws(panel(), fits, paired, 7, 9)
        names = [(7, "systems", "grid", half, side) for half in (0, 1) for side in (REAL, stream)]
        assert drawn == [(name, 9) for name in names]
        assert {name: np.ravel(own).tolist() for name, own in found.items()} == {
            REAL: [1, 3],
            "m": [2, 4],
        }
        drawn.clear()
    compared = []
    monkeypatch.setattr(
        systems,
        "compare",
        lambda *given, **named: compared.append(given[3]) or Comparison(1.0, 0.5, True, 9),
    )
    systems._test(panel(), fits, "m", REAL, 7, 9)
    assert compared == [(7, "systems", "grid", half, "m", REAL) for half in (0, 1)]


def test_a_plan_is_made_with_the_model_the_encoder_and_the_seed(monkeypatch):
    chosen = []
    monkeypatch.setattr(systems, "options_of", lambda *options: chosen.append(options))
    monkeypatch.setattr(systems, "panels", lambda options: [])
    texts = [f"Text {number}." for number in range(4)]
    settings = {"model": "M", "encoder": "E", "orders": True, "seed": 5}
    assert systems.plan_systems(texts[:2], {"m": texts[2:]}, **settings) == []
    assert systems.plan_systems(texts[:2], {"m": texts[2:]}) == []
    both = systems.read_texts(texts[:2]), {"m": systems.read_texts(texts[2:])}
    labelled = [(d.id, d.split) for d in systems.ComparedSides.of(*both, False).documents()]
    assert labelled == [
        ("real/text-1", "test"), ("real/text-2", "test"), ("m/text-1", "generated"), ("m/text-2", "generated")
    ]  # fmt: skip
    monkeypatch.setattr(systems, "ResultsSoFar", lambda *given: None)
    found = systems.criticize_systems(texts[:2], {"m": texts[2:]}, **settings)
    assert (found.results, found.left_out, found.failed, found.paired) == ((), (), (), False)
    assert chosen == [("M", "E", 5, True), (None, None, 1234, False), ("M", "E", 5, True)]


def test_a_pair_has_one_p_value_whichever_system_comes_first(monkeypatch):
    def tested(panel, fits, first, second, seed, permutations):
        return Comparison(2.0 if (first, second) == ("a", "b") else math.nan, 0.25, True, 9)

    monkeypatch.setattr(systems, "_test", tested)
    expected = {("a", "b"): 2.0, ("b", "a"): -2.0}
    for (first, second), difference in expected.items():
        found = systems._test_of_pair(panel(), [], first, second, 7, 9)
        assert found == Comparison(difference, 0.25, True, 9)
