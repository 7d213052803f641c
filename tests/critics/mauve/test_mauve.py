"""MAUVE against the published program, its intervals, and the features that it reads."""

import numpy as np
import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModel, AutoTokenizer

from longform.core.critic import estimate
from longform.core.documents import Document, Section
from longform.core.resampling import generator
from longform.critics.mauve import score as measure
from longform.critics.mauve.read import read
from tests.refusals import refuses


def features(count, shift, name):
    rng = generator("mauve", name)
    return rng.normal(size=(count, 12)) * np.linspace(2, 0.2, 12) + shift * np.eye(12)[0]


def units(points):
    return [measure.TextFeature(f"d{i}", "test", row) for i, row in enumerate(points)]


def test_the_curve_and_its_area():
    share = np.array([0.2, 0.3, 0.5])
    assert measure.area(share, share) == pytest.approx(1.0)
    assert measure.area(np.array([1.0, 0.0]), np.array([0.0, 1.0])) < 0.01
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    curve = measure.divergence_curve(p, q)
    assert curve[0].tolist() == [1.0, 0.0] and curve[-1].tolist() == [0.0, 1.0]
    assert np.all(np.diff(curve[:, 0]) <= 0) and np.all(np.diff(curve[:, 1]) >= 0)
    assert measure.area(p, q) == pytest.approx(measure.area(q, p), abs=1e-12)


@pytest.mark.parametrize(("shift", "buckets"), [(0.0, None), (0.7, None), (2.0, 7)])
def test_equals_the_published_program_on_the_same_features_buckets_and_seeds(shift, buckets):
    published = pytest.importorskip("mauve")
    real, other = features(150, 0, "p"), features(120, shift, "q")
    for seed in measure.SEEDS[:3]:
        theirs = published.compute_mauve(
            p_features=real, q_features=other, seed=seed, num_buckets=buckets or "auto", verbose=False
        )
        ours = measure.mauve(real, other, generator("b"), seeds=[seed], buckets=buckets, resamples=2)
        assert ours["buckets"] == theirs.num_buckets
        assert ours["mauve"] == pytest.approx(theirs.mauve, abs=1e-3)
        assert ours["smoothed"] == pytest.approx(theirs.mauve_star, abs=1e-3)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_the_interval_of_the_fixed_clusters_holds_the_value(shift):
    critic = measure.Mauve().fit(units(features(200, 0, "real")))
    found = estimate(critic, critic.tally(units(features(100, shift, "other"))), generator("mauve interval"), 200)
    assert 0 < found.low < found.value < found.high <= 1


def test_further_texts_score_lower():
    real = features(200, 0, "real")
    critic = measure.Mauve().fit(units(real))
    scores = [critic.score(critic.tally(units(features(200, shift, "other")))) for shift in (0.0, 1.0, 2.0, 4.0)]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0.9 > scores[2]
    described = critic.describe(units(features(100, 1.0, "other")))
    assert described["spread"] > 0 and described["low"] <= described["mauve"] <= described["high"]


def test_bad_input_is_named():
    points = features(30, 0, "x")
    refuses("two of each", measure.quantise, points[:1], points, 0)
    refuses("not finite", measure.quantise, points * np.nan, points, 0)
    refuses("at most one per text", measure.quantise, points[:2], points[:2], 0, buckets=9)
    lost = measure.TextFeature("b", "test", points[1], valid=False)
    refuses("two are needed", measure.Mauve().fit, [*units(points[:1]), lost])
    refuses("no clusters yet", measure.Mauve().tally, [])


def test_a_feature_is_the_last_hidden_state_of_the_last_token(tmp_path):
    folder, texts = lm_folder(tmp_path / "lm", window=256), documents(6)
    found = read(documents=texts, reader=folder, name="x", splits=["train", "validation", "test"])
    network, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    for document, feature in zip(texts, found.arrays["features"], strict=True):
        with torch.no_grad():
            states = network(input_ids=torch.tensor([tokenizer(document.text)["input_ids"]])).last_hidden_state
        np.testing.assert_allclose(feature, states[0, -1].numpy(), atol=1e-6)
    assert found.arrays["valid"].all() and not found.arrays["cut"].any()


def test_an_empty_text_is_counted_and_a_long_one_is_cut_and_marked(tmp_path):
    folder = lm_folder(tmp_path / "lm", window=8)
    empty = Document("e", "test", (Section(None, ""),))
    found = read(documents=[*documents(12), empty], reader=folder, name="x", splits=["train", "test"])
    assert found.arrays["valid"].tolist() == [True] * 9 + [False]
    assert found.arrays["cut"][:-1].all()
    fitted = measure.Mauve().fit(measure.units_from_readout(found))
    assert fitted.tally(measure.units_from_readout(found)).total("excluded") == 1
