"""Paths, scores and parts of BBScore by hand, and what its readers hand on."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics.bbscore import own_texts, score
from longform.critics.bbscore import read as reading
from longform.critics.bbscore import train as training
from longform.critics.bbscore.bridge import (
    BridgeFeatures,
    LatentPath,
    diffusion,
    identity,
    path,
    units_from_predictions,
)
from longform.critics.bbscore.ranker import BridgeRanker
from longform.critics.bbscore.score import BBScore, JointBridge, text_diffusion, trajectory
from longform.documents import Document, Predictions, Section
from longform.statistics.random_streams import derived_seed, generator
from tests.refusals import refuses

NAN = math.nan
# Gaps of 2 and -2 from the line between the ends, which are 0 and 0; v is 2 / 3 twice.
ZIGZAG = np.array([[0.0], [2.0], [-2.0], [0.0]])
TERM = [math.log(2 * math.pi * 2 / 3), 4 / (2 * 2 / 3)]  # ln 2 pi v, and a squared gap over 2 v


class Summed(BBScore):
    """Paths whose sum is their rating."""

    def sums(self, unit, orders):
        return np.full((len(orders), 1), float(unit.rating))


def test_a_texts_score_is_absolute_or_signed_and_negative_sums_are_counted():
    units = [LatentPath(str(n), "test", ZIGZAG, np.arange(4), value)
             for n, value in enumerate([-2.0, 0.0, 3.0, NAN])]  # fmt: skip
    for signed, scores in ((False, [2, 0, 3, 0]), (True, [-2, 0, 3, 0])):
        statistics = Summed(sigma2=1.0, signed=signed).sufficient_statistics(units)
        assert statistics.columns == ("score", "documents", "negative", "excluded")
        assert statistics.values.tolist() == [
            [value, value is not None and n < 3, n == 0, n == 3] for n, value in enumerate(scores)
        ]


@pytest.mark.parametrize("sigma2", [0.01, 3.0, 60.0])
def test_parts_are_each_inner_sentences_share_of_the_score(sigma2):
    unit = path(np.array([[0.0], [2.0], [-1.0], [0.0]]))
    raw = np.array([TERM[0] + math.log(sigma2) + gap / (2 * 2 / 3) / sigma2 for gap in (4.0, 1.0)])
    total = raw.sum() / 2
    for signed in (False, True):
        critic = BBScore(sigma2=sigma2, signed=signed)
        sign = math.copysign(1.0, total) if not signed else 1.0
        parts, nothing = critic.part_values([unit, path(ZIGZAG[:2])])
        assert parts == pytest.approx(sign * raw / 2) and nothing.shape == (0,)
        orders = np.array([[0, 1, 2, 3], [0, 2, 1, 3], [3, 2, 1, 0]])
        assert critic.order_scores(unit, orders) == pytest.approx([sign * total] * 3)
        swept = critic.swept(unit, orders)
        expected = (
            TERM[0] + np.log(critic.variances()) + 2.5 / (4 / 3) / np.array(critic.variances())
        )
        expected = expected if signed else np.abs(expected)
        assert swept.shape == (65, 3) and swept[:, 1] == pytest.approx(expected)
    assert critic.variances()[::32] == pytest.approx([sigma2 * 1e-4, sigma2, sigma2 * 1e4])


def test_an_unusable_path_has_no_score_in_any_order():
    two, broken = path(ZIGZAG[:2]), path(np.array([[0.0], [NAN], [1.0]]))
    ranker = BridgeRanker(features=BridgeFeatures(sigma2=1.0), mean=np.zeros(5), spread=np.ones(5),
                          layers=((np.ones((5, 1)), np.zeros(1)),))  # fmt: skip
    scorers = [BBScore(sigma2=1.0), JointBridge(whitener=np.eye(1)), ranker]
    for unit in (two, broken):
        orders = np.repeat(identity(unit), 3, axis=0)
        for scorer in scorers:
            np.testing.assert_array_equal(scorer.order_scores(unit, orders), [NAN] * 3)
        swept = scorers[0].swept(unit, orders)
        assert swept.shape == (65, 3) and np.isnan(swept).all()
        assert ranker.order_features(unit, orders).shape == (0, 5)
        assert math.isnan(text_diffusion(unit)) and not unit.usable
    np.testing.assert_array_equal(ranker.coherence([two]), [NAN])
    assert diffusion(ZIGZAG) == text_diffusion(path(ZIGZAG)) == pytest.approx(TERM[1])
    assert math.isnan(diffusion(ZIGZAG[:2])) and path(ZIGZAG[:3]).usable


def test_a_ranker_scores_orders_by_its_features_and_layers():
    unit, orders = path(ZIGZAG), np.array([[0, 1, 2, 3], [0, 2, 1, 3], [1, 0, 3, 2]])
    fitted = BridgeRanker("linear").fit([unit])
    assert fitted.features == BridgeFeatures().fit_units([unit]) and fitted.classifier == "linear"
    values = fitted.order_features(unit, orders)
    np.testing.assert_array_equal(values, fitted.features.values(unit, orders))
    assert np.isfinite(values).tolist() == [[True, True, False, False, False]] * 3
    ready = replace(fitted, mean=np.arange(5.0), spread=np.full(5, 2.0),
                    layers=((np.arange(1.0, 6.0)[:, None], np.array([3.0])),))  # fmt: skip
    expected = values[:, 0] / 2 + 2 * (values[:, 1] - 1) / 2 + 3
    assert ready.order_scores(unit, orders) == pytest.approx(expected)
    assert ready.coherence([unit, unit]) == pytest.approx(expected[[0, 0]])


def test_real_paths_give_the_mean_variance_and_the_majoritys_sign():
    """Sums are ln 4.19 s + d / s: of d = 0 and 0.2 one is below zero, of 0, 0 and 0.2 two are."""
    flat, bent, two = path(np.zeros((4, 1))), path(ZIGZAG * math.sqrt(0.2 / 3)), path(ZIGZAG[:2])
    for real, sigma2, signed in (
        ([flat, bent, two], 0.1, False),
        ([flat, flat, bent], 0.2 / 3, True),
        ([bent], 0.2, False),  # a sum of 0.82
    ):
        fitted = BridgeFeatures().fit_units(real)
        assert fitted.sigma2 == pytest.approx(sigma2) and fitted.signed is signed


def test_joint_steps_are_whitened_by_their_scatter_around_chords():
    """Steps 2 -4 2 and 1 2: (24 - 0 + 5 - 9 / 2) / (2 + 1), which makes the mean of all steps 1."""
    walk = path(np.array([[0.0], [1.0], [3.0]]))
    variance = 24.5 / 3
    critic = JointBridge(ridge=0.5).fit_units([path(ZIGZAG), walk, path(ZIGZAG[:2])])
    assert critic.whitener == pytest.approx(np.array([[1 / math.sqrt(1.5 * variance)]]))
    assert JointBridge().ridge == 1e-6
    critic = JointBridge(whitener=np.array([[0.5]]))
    units = [path(ZIGZAG), walk, path(ZIGZAG[:2])]
    statistics = critic.sufficient_statistics(units)
    assert statistics.columns == ("score", "documents", "excluded")
    assert statistics.values.tolist() == [[3.0, 1, 0], [0.125, 1, 0], [0, 0, 1]]
    # each step's share, a half to either of its sentences: 4 16 4 and 1/4 1/4, over 2 * 4 * 2
    first, second, third = critic.part_values(units)
    assert first == pytest.approx(np.array([4, 20, 20, 4]) / 16)
    assert second == pytest.approx(np.array([1, 2, 1]) / 32) and third.shape == (0,)


def test_sentences_with_a_part_have_the_spans_of_their_text():
    document = Document("d", "test", (Section("x", "One. Two."), Section(None, "Three. Four.")))
    spans = [(0, 4), (5, 9), (11, 17), (18, 23)]
    assert [document.text[start:end] for start, end in spans] == ["One.", "Two.", "Three.", "Four."]
    assert JointBridge().spans(document, None, np.zeros(4)) == spans
    assert BBScore().spans(document, None, np.zeros(2)) == spans[1:3]


def test_courses_are_stretched_to_a_hundred_steps_over_dims_and_documents():
    units = [path(np.array([[0.0, 0.0], [-1.0, 3.0], [2.0, 0.0]])), path(np.full((3, 2), 4.0)),
             path(ZIGZAG[:2])]  # fmt: skip
    found = trajectory(units)
    ends = {name: [values[0], values[33], values[99]] for name, values in found.items()}
    assert len(found["mean"]) == len(found["spread"]) == 100
    assert ends["mean"] == pytest.approx([2.0, (4 + 4 / 3) / 2, 2.5])
    assert ends["spread"] == pytest.approx([2.0, (4 - 4 / 3) / 2, 1.5])
    assert trajectory(units[2:]) == {"mean": [], "spread": []}
    turned = generator("trajectory shuffle", "path").permutation(units[0].latents)
    assert score.shuffled(units[0]).latents.tolist() == turned.tolist()


def test_predictions_become_paths_of_every_head():
    latents = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    arrays = {"latents": latents, "latents_lengths": np.array([2, 1]), "text_ids": np.array([4, 4, 5]),
              "text_ids_lengths": np.array([2, 1]), "head_names": np.array(["h", "g"]),
              "rating": np.array([3, 0])}  # fmt: skip
    first, second = units_from_predictions(Predictions(("a", "b"), ("x", "y"), arrays))
    assert (first.unit_id, first.split, first.rating, second.rating) == ("a", "x", 3, 0)
    assert first.sentence_keys == [4, 4] and first.latents.dtype == np.float64
    assert list(first.heads) == ["h", "g"] and first.latents is first.heads["h"]
    assert first.latents.tolist() == [[0, 1], [4, 5]] and second.under("g").latents.tolist() == [
        [10, 11]
    ]
    assert second.under("g").heads == {}
    refuses("no head 'x'; the reader had .'g', 'h'.", first.under, "x")
    short = first.first(1)
    assert short.latents.tolist() == [[0, 1]] and short.sentence_keys == [4]
    assert {head: rows.tolist() for head, rows in short.heads.items()} == {
        "h": [[0, 1]],
        "g": [[2, 3]],
    }
    bare = {name: arrays[name] for name in list(arrays)[:4]}
    (plain, _) = units_from_predictions(Predictions(("a", "b"), ("x", "y"), bare))
    assert plain.rating == -1 and plain.heads == {} and plain.latents.shape == (2, 2, 2)
    made = path([[1, 2], [0, 0], [1, 2]])
    assert (made.unit_id, made.split, made.sentence_keys) == ("path", "test", [1, 0, 1])
    assert path(np.zeros((0, 2))).sentence_keys == []


def documents(*counts):
    """Texts of so many sentences."""
    return [Document(f"d{n}", "generated", (Section(None, "It is so. " * count),))
            for n, count in enumerate(counts)]  # fmt: skip


def test_own_texts_train_a_head_of_which_every_fifth_validates(monkeypatch):
    given = []
    head = reading.bridge_head(2, hidden=3, latent=2)
    monkeypatch.setattr(
        own_texts, "fit", lambda **asked: given.append(asked) or SimpleNamespace(heads={"h": head})
    )
    texts = documents(5, 4, *[6] * 9)
    weights = own_texts.trained_head(texts, "encoder", "likelihood", 7)
    (asked,) = given
    assert [(d.id, d.split) for d in asked.pop("documents")] == [
        (f"d{n}", "validation" if n in (0, 6) else "train") for n in (0, *range(2, 11))
    ]
    assert asked.pop("scratch").is_absolute()
    recipe = {"objective": "likelihood", "pins": False, "optimiser": "adamw"}
    schedule = {"learning_rate": 1e-3, "batch": 16, "epochs": 10, "validations": 5, "weight_decay": 0.01}  # fmt: skip
    assert asked == {"base": "encoder", "name": "bbscore", "seed": 7, "splitter": "rules",
                     "recipes": {"head": recipe}, "schedule": schedule}  # fmt: skip
    refuses(
        "9 real texts of 5 sentences .* 10 are needed",
        own_texts.trained_head,
        texts[:-1],
        "",
        "paper",
        0,
    )
    features = np.array([[1.0, -2.0], [0.5, 3.0]], dtype=np.float32)
    expected = head(torch.from_numpy(features)).detach().numpy()
    np.testing.assert_allclose(own_texts.apply_head(weights, features), expected, atol=1e-6)
    encoder = SimpleNamespace(encode=lambda pieces: features[: len(pieces)])
    monkeypatch.setattr(own_texts, "open_encoder", lambda folder: encoder)
    read = own_texts.read_paths(documents(2, 1), "encoder", weights)
    assert [(unit.unit_id, unit.split, len(unit.latents)) for unit in read] == [
        ("d0", "generated", 2), ("d1", "generated", 1)
    ]  # fmt: skip
    np.testing.assert_allclose(read[0].latents, expected, atol=1e-6)


def test_heads_are_trained_for_each_recipe_and_seed(monkeypatch, tmp_path):
    asked, calls = [], []
    encoder = SimpleNamespace(
        encode=lambda pieces, label: (
            calls.append((len(pieces), label)) or np.zeros((len(pieces), 1))
        )
    )
    monkeypatch.setattr(training, "open_encoder", lambda base: encoder)
    monkeypatch.setattr(training, "KeptFeatures", lambda *parts: parts)
    monkeypatch.setattr(
        training, "train_head", lambda *given, **more: asked.append((given, more)) or more["name"]
    )
    texts = [Document(d.id, split, d.sections) for d, split in
             zip(documents(6, 5, 3), ("train", "validation", "test"), strict=True)]  # fmt: skip
    schedule = {"learning_rate": 0.5, "batch": 2, "epochs": 3}
    recipes = {"a": {}, "b": {"pins": False, "schedule": {"batch": 4}}}
    made = training.fit(documents=texts, base="base", name="n", seed=3, scratch=tmp_path,
                        splitter="rules", recipes=recipes, schedule=schedule, seeds=2, latent=6)  # fmt: skip
    assert calls == [(6, "n"), (5, "n"), (14, "train n")]
    names = ["a_0", "a_1", "b_0", "b_1"]
    assert made == training.TrainedBridge(
        {name: f"n-{name}" for name in names}, ("base", encoder), "rules"
    )
    for name, ((data, recipe, plan), more) in zip(names, asked, strict=True):
        assert {split: len(rows.features) for split, rows in data.items()} == {
            "train": 6,
            "validation": 5,
        }
        assert recipe == training.Recipe(pins=name < "b")
        assert plan == training.Schedule(0.5, 4 if name > "b" else 2, 3)
        assert more == {"seed": derived_seed(3, int(name[-1])), "name": f"n-{name}",
                        "scratch": tmp_path / name, "latent": 6}  # fmt: skip


def test_a_reading_has_latents_of_each_head_and_the_corpuss_ratings(monkeypatch, tmp_path):
    heads = {"h": lambda rows: rows + 1, "g": lambda rows: rows * 2}
    encoder = SimpleNamespace(
        encode=lambda pieces, label: np.arange(len(pieces), dtype=np.float32)[:, None] + len(label)
    )
    trained = SimpleNamespace(
        heads=heads, frozen=SimpleNamespace(encoder=encoder), splitter="rules"
    )
    monkeypatch.setattr(reading, "open_bridge", lambda folder: trained)
    monkeypatch.setattr(reading, "open_encoder", lambda folder: encoder)
    texts = [*documents(2), Document("x", "test", (Section(None, "A. B. A."),))]
    truth = {"rating": np.array([5, 2])}
    raw = reading.read(documents=texts, truth=truth, reader=tmp_path, name="n", splits=["test"])
    assert (raw.unit_ids, raw.splits) == (("x",), ("test",))
    values = {name: array.tolist() for name, array in raw.arrays.items()}
    assert values == {"text_ids": [0, 1, 0], "text_ids_lengths": [3], "latents_lengths": [3],
                      "latents": [[7], [8], [9]], "rating": [2]}  # fmt: skip
    refuses("0 of 2 documents are left", reading.read, documents=texts, truth={}, reader=tmp_path, name="n", splits=[])  # fmt: skip
    (tmp_path / "bridge.json").write_text("{}")
    placed = reading.read(documents=texts, truth={}, reader=tmp_path, name="n")
    assert placed.arrays["latents"].dtype == np.float32 and "rating" not in placed.arrays
    assert placed.arrays["latents"][:2].tolist() == [[[8], [14]], [[9], [16]]]
    assert placed.arrays["head_names"].tolist() == ["h", "g"]
    flat = np.arange(10, dtype=np.float16).reshape(5, 2)
    truth = {"bridge_path": flat, "bridge_path_lengths": np.array([2, 3])}
    gold = reading.read_gold(documents=texts, truth=truth, splits=["test"])
    expected = {"latents": flat[2:], "latents_lengths": np.array([3]), "text_ids": np.arange(3),
                "text_ids_lengths": np.array([3])}  # fmt: skip
    assert gold.unit_ids == ("x",) and gold.arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert gold.arrays[name].dtype == array.dtype and np.array_equal(gold.arrays[name], array)
    assert reading.read_gold(documents=texts, truth=truth).unit_ids == ("d0", "x")


def test_fitting_to_texts_trains_the_objectives_head_and_reads_by_it(monkeypatch):
    monkeypatch.setattr(own_texts, "trained_head", lambda *given: given)
    monkeypatch.setattr(own_texts, "read_paths", lambda *given: given)
    for kind, objective in ((BBScore, "paper"), (JointBridge, "likelihood")):
        refuses("has no sentence encoder", kind().prepare, [])
        refuses("not fitted to texts yet", kind(encoder="e").read_texts, [])
        made = kind(encoder="e", seed=4).prepare(["text"])
        assert made.head == (["text"], score.Path("e"), objective, 4)
        assert made.read_texts(["t"]) == (["t"], score.Path("e"), made.head)
