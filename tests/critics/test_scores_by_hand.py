"""Scores of topics, bridges and MAUVE on two or three small vectors, worked out by hand."""

import math

import numpy as np
import pytest

from longform.critics.bbscore import bridge, score
from longform.critics.bbscore.bridge import BridgeFeatures, LatentPath, path
from longform.critics.bbscore.score import BBScore, JointBridge
from longform.critics.mauve import score as mauve
from longform.critics.mauve.score import Mauve, TextFeature
from longform.critics.topics import own_texts
from longform.critics.topics.model import TopicModel
from longform.critics.topics.score import (
    EXCERPT,
    RandomTopicCritic,
    TopicPosterior,
    Topics,
    moments,
    released,
    units_from_predictions,
)
from longform.documents import Document, Predictions, Section
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import sums_of
from tests.refusals import refuses

# --- topics: precision ((.5, -.5), (-.5, 1)), of determinant 1/4, and mean (1, 0)
COVARIANCE = np.array([[4.0, 2.0], [2.0, 2.0]])
CONSTANT = math.log(2 * math.pi) + math.log(2.0)


def posterior(name, logits, variances=(0.5, 0.25), **more):
    return TopicPosterior(name, "test", np.array(logits), np.array(variances), 3, **more)


FIRST = posterior("a", [2.0, 2.0], text="x" * (EXCERPT + 1))
UNKNOWN = posterior("b", [9.0, 9.0], valid=False)
AT_MEAN = posterior("c", [1.0, 0.0], text="y")


def prior(**settings):
    return Topics(**settings).with_prior(np.array([1.0, 0.0]), COVARIANCE)


@pytest.mark.parametrize(("full", "nats"), [(False, 1.25), (True, 1.5)])
def test_topic_nats_are_a_gaussian_density_and_the_spread(full, nats):
    critic = prior(full_expectation=full)
    found = critic.sufficient_statistics([FIRST, UNKNOWN, AT_MEAN])
    expected = [[1.25 + CONSTANT, 0.25, 1, 3, 0], [0, 0, 0, 0, 1], [CONSTANT, 0.25, 1, 3, 0]]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    mean = (nats + (0.25 if full else 0.0)) / 2 + CONSTANT
    assert critic.of_sums(sums_of(found)) == pytest.approx(mean, rel=1e-12)
    of_spread = np.array([0.125, 0.125]) if full else np.zeros(2)
    first, unknown, at_mean = critic.part_values([FIRST, UNKNOWN, AT_MEAN])
    np.testing.assert_allclose(first, np.array([-0.25, 1.5]) + CONSTANT / 2 + of_spread)
    np.testing.assert_allclose(at_mean, CONSTANT / 2 + of_spread)
    assert unknown.shape == (0,)
    columns = ("nats_at_mean", "nats_of_spread")
    assert critic.attributed == (columns if full else columns[:1])
    refuses("has 1 logits", critic.sufficient_statistics, [posterior("d", [1.0], [1.0])])


def test_the_fitted_prior_is_of_valid_documents_with_their_mean_variance():
    units = [
        posterior("a", [0.0, 0.0], [1.0, 1.0]),
        UNKNOWN,
        posterior("c", [2.0, 4.0], [3.0, 1.0]),
    ]
    fitted = Topics().fit_units(units)
    np.testing.assert_allclose(fitted.mean, [1.0, 2.0])
    np.testing.assert_allclose(fitted.precision, np.array([[5.0, -2.0], [-2.0, 3.0]]) / 11)
    mean, covariance = moments(np.array([[0.0, 0.0], [2.0, 4.0]]))
    assert mean.tolist() == [1, 2] and covariance.tolist() == [[1, 2], [2, 4]]
    own = prior(own_prior=False)
    assert own.fit_units(units) is own
    refuses("none of 1 documents", Topics().fit_units, [UNKNOWN])
    refuses("not fitted", Topics().sufficient_statistics, units)


def test_a_topic_model_is_fitted_with_the_critics_topics_and_seed(monkeypatch):
    monkeypatch.setattr(own_texts, "fitted_model", lambda *given: given)
    assert Topics(topics=7, seed=9).prepare(["text"]).model == (["text"], 7, 9)


def test_topics_are_named_by_their_three_likeliest_words():
    beta = np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.3, 0.2], [0.7, 0.1, 0.1, 0.1]])
    two = np.eye(2)
    model = TopicModel(("a", "b", "c", "d"), beta, np.zeros(2), two, two)
    assert Topics(model=model).part_names(np.zeros(2)) == ["d c b", "c a b"]
    assert Topics().part_names(np.zeros(2)) == ["topic 1", "topic 2"]
    refuses("not fitted yet", Topics().read_texts, [])


def test_the_worst_documents_are_listed_with_the_beginning_of_their_texts():
    nameless = posterior("d", [3.0, 0.0])  # deviation (2, 0): 1 nat, before its constant
    found = prior().describe([AT_MEAN, UNKNOWN, FIRST, nameless], 2)
    assert [name for name, _ in found["outliers"]] == ["a", "d"]
    assert [nats for _, nats in found["outliers"]] == pytest.approx([1.25 + CONSTANT, 1 + CONSTANT])
    assert found["outlier_texts"] == ["x" * EXCERPT]
    # of (1, 0), (2, 2) and (3, 0): mean (2, 2/3)
    assert found["covariance_of_means"] == [[0.666667, 0.0], [0.0, 0.888889]]
    assert prior().describe([nameless]) == {
        "outliers": [("d", pytest.approx(1 + CONSTANT))],
        "covariance_of_means": [],
    }


def test_random_topics_are_drawn_topic_by_topic_from_training_documents():
    train = [posterior(str(i), [i, 10.0 + i], [i + 0.5, i + 0.25]) for i in range(5)]
    critic = RandomTopicCritic().fit_units([*train, UNKNOWN])
    assert critic.logits.shape == critic.variances.shape == (5, 2) and critic.mean is not None
    units = [posterior(f"u{i}", [99.0, 99.0], text="text") for i in range(8)]
    for unit, drawn in zip(units, critic.judged(units), strict=True):
        rows = generator("random topics", unit.unit_id).integers(0, 5, 2)
        assert drawn.logits.tolist() == [rows[0], 10 + rows[1]]
        assert drawn.variances.tolist() == [rows[0] + 0.5, rows[1] + 0.25]
        assert (drawn.unit_id, drawn.text, drawn.tokens) == (unit.unit_id, "", 3)
    refuses("nothing to draw from", RandomTopicCritic().judged, units)


def test_topic_posteriors_come_from_predictions_and_the_released_prior_too():
    arrays = {
        "lambda": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "nu": np.array([[0.5, 0.5], [0.25, 0.25]]),
        "tokens": np.array([7, 0]),
        "valid": np.array([True, False]),
        "prior_mean_names": np.array([1.0, 0.0]),
        "prior_covariance_names": COVARIANCE,
    }
    real = Predictions(("a", "b"), ("train", "test"), arrays)
    first, second = units_from_predictions(real)
    assert (first.unit_id, first.split, first.tokens, first.valid) == ("a", "train", 7, True)
    assert first.logits.tolist() == [1, 2] and second.variances.tolist() == [0.25, 0.25]
    assert (second.valid, second.text) == (False, "")
    critic = released(real=real, full_expectation=True)
    assert critic.full_expectation and not critic.own_prior and critic.mean.tolist() == [1, 0]
    np.testing.assert_allclose(critic.precision, [[0.5, -0.5], [-0.5, 1.0]])


# --- bridges: (0, 1, 5, 0, 4), whose inner sentences lie 0, 3 and -3 off the line
LINE = np.array([[0.0], [1.0], [5.0], [0.0], [4.0]])
TWICE = np.repeat(LINE, 2, axis=1)
LOGS = (2 * math.log(1.5 * math.pi) + math.log(2 * math.pi)) / 3  # of 2 pi v, v = 3/4, 1, 3/4


@pytest.mark.parametrize(("latents", "dims"), [(LINE, 1), (TWICE, 2), (TWICE + 7.0, 2)])
def test_distances_to_a_bridge_and_to_its_windows(latents, dims):
    gaps, variances = bridge.inner_gaps(latents[None])
    np.testing.assert_allclose(gaps[0, :, 0], [0, 3, -3])
    np.testing.assert_allclose(variances, [0.75, 1, 0.75])
    assert bridge.diffusion(latents) == pytest.approx(3.5 * dims)
    whole, one, two, four = bridge.order_terms(latents, np.arange(5)[None], (0, 1, 2, 4))
    assert whole.log_alpha == pytest.approx(LOGS) and whole.beta == pytest.approx([3.5 * dims])
    assert one.log_alpha == pytest.approx(math.log(math.pi))
    assert one.beta == pytest.approx([14.25 * dims])  # 1.5, 4.5 and 4.5 off
    assert two.log_alpha == pytest.approx(math.log(2 * math.pi))
    assert two.beta == pytest.approx([4.5 * dims])  # 3 off
    assert math.isnan(four.log_alpha) and np.isnan(four.beta).all()
    assert whole.sums(2.0) == pytest.approx([LOGS + math.log(2) + 1.75 * dims])


def test_terms_of_an_order_are_those_of_the_sentences_in_it():
    orders = np.array([[4, 3, 2, 1, 0], [1, 0, 2, 3, 4], [2, 0, 4, 1, 3]])
    found = bridge.order_terms(TWICE, orders, (0, 1, 2))
    for row, order in enumerate(orders):
        alone = bridge.order_terms(TWICE[order], np.arange(5)[None], (0, 1, 2))
        assert [terms.beta[row] for terms in found] == pytest.approx([t.beta[0] for t in alone])
    # 1, 0, 5, 0, 4: the line is 1.75, 2.5, 3.25
    expected = 2 * (1.75**2 / 1.5 + 2.5**2 / 2 + 3.25**2 / 1.5) / 3
    assert found[0].beta[1] == pytest.approx(expected)
    assert np.isnan(bridge.order_terms(LINE[:2], np.arange(2)[None], (0,))[0].beta).all()
    assert len(bridge.order_terms(LINE[:0], np.zeros((1, 0), int), (0, 1))) == 2
    assert math.isnan(bridge.diffusion(LINE[:2])) and bridge.diffusion(LINE[:3]) == 2.25


def test_the_variance_is_the_mean_of_texts_and_sums_below_zero_set_the_sign():
    flat = path(np.array([[0.0], [1.0], [2.0 + 1e-3], [3.0], [4.0]]), "flat")
    short = path(LINE[:2], "short")
    fitted = BridgeFeatures().fit_units([path(LINE), short])
    assert fitted.sigma2 == pytest.approx(3.5) and not fitted.signed
    signed = BridgeFeatures().fit_units([flat, short])
    assert signed.sigma2 == pytest.approx(1e-6 / 6) and signed.signed
    half = BridgeFeatures().fit_units([flat, path(LINE)])  # one of two is below zero
    assert half.sigma2 == pytest.approx(1.75, rel=1e-6) and not half.signed
    sums = LOGS + math.log(3.5) + 1.0
    values = fitted.values(path(LINE), np.arange(5)[None])
    assert values[0, 0] == pytest.approx(sums) and values.shape == (1, 5)
    refuses("no sigma2 yet", BridgeFeatures().sums, path(LINE), np.arange(5)[None])
    refuses("sigma_m.2 is undefined over 1 paths", BridgeFeatures().fit_units, [short])
    refuses("sigma_m.2 is 0 over 1 paths", BridgeFeatures().fit_units, [path(np.ones((4, 1)))])


@pytest.mark.parametrize("signed", [False, True])
def test_a_bbscore_is_the_sum_of_its_inner_sentences(signed):
    sigma2 = 1e-4  # log(2 pi v sigma^2) far below zero
    near = np.array([[0.0], [1.001], [2.0], [3.0]])  # off by .001 of v = 2/3, 2/3
    critic = BBScore(sigma2=sigma2, signed=signed)
    unit, short = path(near, "n"), path(near[:2], "s")
    logs = math.log(2 * math.pi * sigma2 * 2 / 3)
    total = logs + (1e-6 / (4 / 3 * sigma2)) / 2
    sign = 1 if signed else -1
    (parts, none) = critic.part_values([unit, short])
    assert parts == pytest.approx(sign * np.array([logs + 1e-6 / (4 / 3 * sigma2), logs]) / 2)
    assert none.shape == (0,)
    found = critic.sufficient_statistics([unit, short])
    assert found.columns == ("score", "documents", "negative", "excluded")
    np.testing.assert_allclose(found.values, [[sign * total, 1, 1, 0], [0, 0, 0, 1]])
    assert critic.order_scores(unit, np.arange(4)[None]) == pytest.approx([sign * total])
    assert np.isnan(critic.order_scores(short, np.zeros((3, 2), int))).tolist() == [True] * 3
    positive = BBScore(sigma2=1.0, signed=signed).part_values([unit])[0]
    assert positive[1] == pytest.approx(math.log(2 * math.pi * 2 / 3) / 2)


def test_a_sweep_takes_each_variance_around_the_estimate():
    critic = BBScore(sigma2=2.0)
    assert critic.variances()[0] == pytest.approx(2e-4) and len(critic.variances()) == 65
    orders = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    found = critic.swept(path(LINE), orders)
    assert found.shape == (65, 2) and found[32] == pytest.approx(
        [LOGS + math.log(2) + 1.75] * 2
    )  # the estimate itself
    low = LOGS + math.log(2e4) + 3.5 / 2e4
    assert found[-1, 0] == pytest.approx(low)
    swept = BBScore(sigma2=1e-9, signed=True).swept(path(np.arange(5.0)[:, None]), orders)
    assert (swept[:40] < 0).all()
    assert np.isnan(critic.swept(path(LINE[:2]), orders[:, :2])).all()


# --- steps whose differences are (4, 2) and (0, 2): covariance ((4, 2), (2, 2)) of two degrees
STEPS = [
    np.array([[0.0, 0.0], [4.0, 2.0], [4.0, 2.0]]),
    np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 2.0]]),
]


def test_joint_steps_are_whitened_by_the_covariance_of_real_ones():
    short = path(np.eye(2), "short")
    critic = JointBridge(ridge=0.0).fit_units([*map(path, STEPS), short])
    np.testing.assert_allclose(critic.whitener, [[0.5, 0.0], [-0.5, 1.0]], atol=1e-15)
    ridged = JointBridge(ridge=1.0).fit_units([path(s) for s in STEPS])  # the mean variance, 3
    np.testing.assert_allclose(
        np.linalg.inv(ridged.whitener.T @ ridged.whitener), [[7, 2], [2, 5]], atol=1e-12
    )
    jump = np.array([[0.0, 0.0], [2.0, 1.0], [2.0, 1.0]])  # whitened: one step of length 1
    assert critic.scores(jump[None]) == pytest.approx([0.25])
    unit = path(jump, "jump")
    assert critic.order_scores(unit, np.array([[0, 1, 2], [1, 0, 2]])) == pytest.approx([0.25, 1.0])
    back = np.vstack([jump, np.zeros((1, 2))])
    assert critic.scores(back[None]) == pytest.approx([0.5])
    parts, none = critic.part_values([unit, short])
    assert parts == pytest.approx([0.0625, 0.125, 0.0625]) and none.shape == (0,)
    found = critic.sufficient_statistics([unit, short])
    assert found.columns == ("score", "documents", "excluded")
    np.testing.assert_allclose(found.values, [[0.25, 1, 0], [0, 0, 1]])
    assert np.isnan(critic.order_scores(short, np.zeros((2, 2), int))).tolist() == [True, True]


def test_a_path_is_cut_and_seen_under_its_heads():
    latents = np.arange(12.0).reshape(3, 2, 2)  # sentences, heads, dims
    arrays = {
        "latents": np.concatenate([latents, latents[:1]]),
        "latents_lengths": np.array([3, 1]),
        "text_ids": np.array([5, 6, 5, 7]),
        "text_ids_lengths": np.array([3, 1]),
        "head_names": np.array(["x", "y"]),
        "rating": np.array([2, 0]),
    }
    predictions = Predictions(("a", "b"), ("test", "train"), arrays)
    first, second = bridge.units_from_predictions(predictions)
    assert (first.unit_id, first.split, first.rating, second.rating) == ("a", "test", 2, 0)
    assert first.latents.tolist() == latents[:, 0].tolist() and first.sentence_keys == [5, 6, 5]
    assert first.under("y").latents.tolist() == latents[:, 1].tolist()
    assert first.under("y").heads == {} and second.under("y").latents.tolist() == [[2, 3]]
    cut = first.first(2)
    assert len(cut.latents) == len(cut.text_ids) == 2
    assert cut.heads["y"].tolist() == latents[:2, 1].tolist()
    assert first.usable and not cut.usable and not second.usable
    refuses("no head 'z'", first.under, "z")
    plain = {name: arrays[name] for name in list(arrays)[:4]}
    plain["latents"] = plain["latents"][:, 1]
    alone = bridge.units_from_predictions(Predictions(("a", "b"), ("test", "train"), plain))[0]
    assert (alone.rating, alone.heads, alone.latents[0].tolist()) == (-1, {}, [2, 3])
    made = path([[1.0], [0.0], [1.0]])
    assert made.text_ids.tolist() == [1, 0, 1] and path(np.zeros((0, 2))).text_ids.tolist() == []
    assert not LatentPath("n", "test", np.array([[0.0], [np.nan], [1.0]]), np.arange(3)).usable


def test_shuffles_trajectories_and_spans_of_paths():
    unit = path(LINE, "u")
    rows = generator("trajectory shuffle", "u").permutation(5)
    assert score.shuffled(unit).latents.tolist() == LINE[rows].tolist()
    assert score.text_diffusion(unit) == 3.5 and math.isnan(score.text_diffusion(path(LINE[:2])))
    course = score.trajectory(
        [path(np.array([[-1.0, 3.0], [0.0, 0.0], [4.0, 4.0]])), path(LINE[:2])]
    )
    assert course["mean"][0] == 2 and course["mean"][-1] == 4 and len(course["mean"]) == 100
    # the 50th of 99 steps lies 50/99 of the way, past the middle sentence by 1/99
    assert course["mean"][50] == pytest.approx(4 * 2 * (50 / 99 - 0.5))
    assert set(course["spread"]) == {0.0}
    both = score.trajectory([path(np.zeros((3, 1))), path(np.full((3, 1), -2.0))])
    assert set(both["mean"]) == set(both["spread"]) == {1.0}
    assert score.trajectory([]) == {"mean": [], "spread": []}
    document = Document("d", "test", (Section(None, "One. Two."), Section(None, "Three.")))
    places = BBScore().spans(document, unit, np.zeros(2))
    assert [document.text[start:end] for start, end in places] == ["Two.", "Three."]
    places = JointBridge().spans(document, unit, np.zeros(2))
    assert [document.text[start:end] for start, end in places] == ["One.", "Two."]


# --- MAUVE
def test_areas_of_many_histograms_are_those_of_each():
    real = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    generated = np.array([[0.25, 0.25, 0.5], [0.2, 0.3, 0.5]])
    curve = mauve.divergence_curve(real, generated)
    assert curve.shape == (2, mauve.MIXTURES + 2, 2) and curve.dtype == np.float64
    assert curve[0, 0].tolist() == [1, 0] and curve[0, -1].tolist() == [0, 1]
    # the middle mixture is half of each
    half = (real[0] + generated[0]) / 2
    p, q = generated[0], real[0]
    of_p = sum(x * math.log(x / y) for x, y in zip(p, half, strict=True))
    of_q = sum(x * math.log(x / y) for x, y in zip(q, half, strict=True) if x)
    assert curve[0, 13] == pytest.approx([math.exp(-5 * of_p), math.exp(-5 * of_q)])
    areas = mauve.area(real, generated)
    assert areas[1] == pytest.approx(1.0) and areas[0] == pytest.approx(
        float(mauve.area(real[0], generated[0]))
    )
    assert mauve.area(real[0], generated).tolist()[0] == pytest.approx(areas[0])
    assert mauve.area(np.array([1, 0]), np.array([0, 1])) == pytest.approx(0.0, abs=1e-2)


def test_shares_of_clusters_and_how_many_there_are():
    assert mauve.shares(np.array([0, 2, 2, 2]), 4).tolist() == [0.25, 0, 0.75, 0]
    assert mauve.shares(np.array([0]), 2, 0.5).tolist() == [0.75, 0.25]
    assert [mauve.buckets_for(n) for n in (1, 24, 26, 100)] == [2, 2, 3, 10]


def feature(name, *values, **more):
    return TextFeature(name, "test", np.array(values, np.float64), **more)


def test_texts_are_counted_in_the_nearest_cluster_of_each_seed():
    centres = (np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]]))
    held = (np.array([0.5, 0.5]), np.array([0.25, 0.25, 0.5]))
    critic = Mauve(seeds=(3, 5), centres=centres, shares=held)
    units = [feature("a", 9.0, 1.0), feature("b", 0.0, 0.0, valid=False), feature("c", 3.0, 4.0)]
    found = critic.sufficient_statistics(units)
    assert found.columns[:3] == ("seed_3_cluster_0", "seed_3_cluster_1", "seed_5_cluster_0")
    assert found.columns[-2:] == ("seed_5_cluster_2", "excluded")
    assert found.values.tolist() == [[1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1], [0, 1, 0, 1, 0, 0]]
    of_seeds = critic.of_seeds(found)
    assert of_seeds[0] == pytest.approx(1.0)  # one text in each cluster, as of the real ones
    expected = float(mauve.area(held[1], np.array([0.0, 0.5, 0.5])))
    assert of_seeds[1] == pytest.approx(expected)
    assert critic.of_sums(sums_of(found)) == pytest.approx((1 + expected) / 2)
    assert math.isnan(critic.of_sums(sums_of(found.take(np.array([1])))))
    refuses("no clusters yet", Mauve().sufficient_statistics, units)
    refuses("no language model", Mauve().read_texts, [])
    assert critic.describe(units[:1]) == {}


def test_real_texts_are_clustered_by_direction_and_empty_ones_left_out():
    units = [feature("a", 1.0, 0.0), feature("b", 5.0, 0.1), feature("c", 0.0, 2.0),
             feature("d", 9.0, 9.0, valid=False), feature("e", 3.0, 0.0)]  # fmt: skip
    fitted = Mauve(seeds=(1, 2)).fit_units(units)
    assert fitted.real.tolist() == [[1, 0], [5, 0.1], [0, 2], [3, 0]] and len(fitted.centres) == 2
    for centres, held in zip(fitted.centres, fitted.shares, strict=True):
        across, along = np.argsort(held)
        assert held[[across, along]].tolist() == [0.25, 0.75]
        assert centres[across] == pytest.approx([0, 1])
        unit_b = np.array([5.0, 0.1]) / math.hypot(5, 0.1)
        assert centres[along] == pytest.approx((np.array([2.0, 0.0]) + unit_b) / 3)
    refuses("1 of 2 real texts", Mauve().fit_units, units[2:4])
    again = fitted.describe(units)
    assert again["mauve"] == pytest.approx(1.0) and again["buckets"] == 2
    assert again["per_seed"] == pytest.approx([1.0, 1.0]) and again["spread"] < 1e-9
    assert 0 < again["low"] <= again["high"] <= 1
    points = mauve.units_from_predictions(
        Predictions(("a", "b"), ("train", "test"),
                    {"features": np.eye(2), "valid": np.array([True, False])})
    )  # fmt: skip
    assert [(p.unit_id, p.split, p.values.tolist(), p.valid) for p in points] == [
        ("a", "train", [1, 0], True),
        ("b", "test", [0, 1], False),
    ]
