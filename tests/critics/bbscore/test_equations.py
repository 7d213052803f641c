"""BBScore's equations, joint density and scores of many orders against loops and simulated bridges; its encoders and rankers."""

import math
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModel, AutoTokenizer

from longform.criticize.panels import STEPS
from longform.critics.bbscore import bridge, ranker
from longform.critics.bbscore import read as reading
from longform.critics.bbscore import train as training
from longform.critics.bbscore.bridge import BridgeFeatures, LatentPath, diffusion, identity, path
from longform.critics.bbscore.ranker import BridgeRanker, held_out, train_network
from longform.critics.bbscore.read import bridge_head, open_bridge, read_gold
from longform.critics.bbscore.score import BBScore, JointBridge, shuffled, trajectory
from longform.critics.bbscore.train import Recipe, Sentences, likelihood_loss, paper_loss, pin_loss
from longform.documents import Document, Section
from longform.evaluation.order_discrimination import order_discrimination
from longform.evaluation.sentence_paths import JUDGES
from longform.language_models import sentence_features
from longform.language_models.lightning import Schedule
from longform.language_models.sentence_features import KeptFeatures, open_encoder, split_sentences
from longform.statistics.protocols import OrderScorer, PairLearner
from longform.statistics.random_streams import derived_seed, generator
from longform.text.permutations import ShuffleTask
from synthetic_world.corpora import build
from tests.oracles.bridge_loops import bridges, loop_score
from tests.refusals import refuses

Z = np.array([(0, 0), (1, 0), (1, 1), (2, 1), (3, 3)], dtype=float)
P = Z[[0, 3, 1, 2, 4]]


def loop_window(z: np.ndarray, w: int, sigma2: float) -> float:
    total = 0.0
    for j in range(len(z) - 2 * w):
        squared = sum(
            (z[j + w][d] - (z[j][d] + z[j + 2 * w][d]) / 2) ** 2 for d in range(z.shape[1])
        )
        total += math.log(math.pi * w * sigma2) + squared / w / sigma2
    return total / (len(z) - 2 * w)


def terms(z: np.ndarray, window: int = 0) -> bridge.Terms:
    return bridge.order_terms(z, np.arange(len(z))[None], (window,))[0]


def score(z, sigma2, window=0):
    return float(terms(z, window).sums(sigma2)[0])


@pytest.mark.parametrize("window", bridge.WINDOWS)
def test_vectorised_scores_equal_plain_loops(window):
    rng = np.random.default_rng(3)
    for steps in (3, 4, 7, 19, 40):
        z = rng.normal(size=(steps, 8))
        if steps - 2 * window >= 1:
            looped = loop_window(z, window, 0.7) if window else loop_score(z, 0.7)
            assert score(z, 0.7, window) == pytest.approx(looped, rel=1e-12)


def test_published_fixture_and_table_and_the_variance_of_simulated_bridges():
    assert [score(Z, 0.5), score(P, 0.5)] == pytest.approx([2.1196085042, 3.8973862820])
    assert [diffusion(Z), diffusion(P)] == pytest.approx([0.5833333333, 1.4722222222])
    assert [score(Z, 0.5, w) for w in (1, 2)] == pytest.approx([1.7849160386, 1.6447298858])
    assert score(Z, 0.5) == pytest.approx(
        score(Z[::-1], 0.5), abs=1e-12
    )  # reading backwards changes nothing
    for steps, value in ((5, 1.65), (10, 2.29), (28, 3.25), (56, 3.92), (160, 4.94), (1000, 6.75)):
        assert terms(np.zeros((steps, 1))).log_alpha == pytest.approx(value, abs=6e-3)
    for dims, expected in ((2, 3.0), (8, 12.0)):
        drawn = bridges(8000, 50, dims, 3.0, seed=dims)
        assert np.mean([diffusion(z) for z in drawn]) == pytest.approx(expected, rel=0.02)


def test_where_real_sums_are_negative_the_sum_is_taken_as_it_is():
    """The absolute value would prefer the shuffle: sheng2024 prints it for sums that are not negative."""
    tiny = [path(0.01 * z, str(i)) for i, z in enumerate(bridges(20, 5, 2, 1.0, seed=3))]
    fitted = BBScore().fit(tiny)
    assert fitted.signed and not BBScore().fit([path(z.latents * 100) for z in tiny]).signed
    units = [tiny[0], path(tiny[0].latents[[0, 3, 1, 2, 4]])]
    sums = [fitted.sums(unit, identity(unit))[0, 0] for unit in units]
    assert sums[0] < sums[1] < 0
    assert fitted.sufficient_statistics(units).column("score").tolist() == pytest.approx(sums)
    assert fitted.sufficient_statistics(tiny).total("negative") > 10  # documents, no copies of them


def test_short_and_unfinished_paths_are_counted_and_the_fit_is_a_mean():
    broken = np.where(np.eye(5, 2) == 1, np.nan, Z)
    units = [
        path(Z, "whole"),
        path(Z[:2], "two"),
        path(Z[:1], "one"),
        path(Z[:0], "none"),
        path(broken, "nan"),
    ]
    statistics = BBScore(sigma2=0.5).sufficient_statistics(units)
    assert statistics.column("excluded").tolist() == [0, 1, 1, 1, 1]
    assert BBScore(sigma2=0.5).score_of(statistics) == pytest.approx(2.1196085042)
    fitted = BBScore().fit([path(Z), path(P), path(Z[:2])])
    assert fitted.sigma2 == pytest.approx((0.5833333333 + 1.4722222222) / 2)
    refuses(
        r"sigma_m.2 is 0 over 2 paths",
        BridgeFeatures().fit_units,
        [path(np.ones((6, 3))), path(np.zeros((4, 3)))],
    )
    refuses("undefined over 1 paths", BBScore().fit, [path(Z[:2])])
    refuses(r"sigma2 is 0\.0", BBScore, sigma2=0.0)
    refuses("no sigma2 yet", BBScore().sufficient_statistics, [path(Z)])
    refuses("classifier 'svm'", BridgeRanker, "svm")


def dense_quadratic(z: np.ndarray) -> float:
    """Inner points against the bridge's full covariance min(s, t) - s t / (T - 1)."""
    steps = len(z)
    inner = np.arange(1, steps - 1)
    covariance = np.minimum.outer(inner, inner) - np.outer(inner, inner) / (steps - 1)
    residual = z[1:-1] - z[0] - np.outer(inner / (steps - 1), z[-1] - z[0])
    return float(np.trace(residual.T @ np.linalg.solve(covariance, residual)))


def test_the_joint_density_is_that_of_the_dense_covariance():
    rng = np.random.default_rng(0)
    for steps in (3, 5, 17):
        z = rng.normal(size=(steps, 4))
        dense = dense_quadratic(z) / (4 * (steps - 2))
        assert JointBridge(whitener=np.eye(4)).scores(z[None])[0] == pytest.approx(dense, rel=1e-10)
    z = rng.normal(size=(17, 4))
    factor = np.linalg.inv(JointBridge(ridge=0.0).fit([path(z)]).whitener)
    assert np.trace(factor @ factor.T) == pytest.approx(dense_quadratic(z) / 15, rel=1e-10)
    rng = np.random.default_rng(4)
    train = [path(rng.normal(size=(12, 3))) for _ in range(20)]
    bend = rng.normal(size=(3, 3))
    bent = [path(unit.latents @ bend) for unit in train]
    first, second = (JointBridge(ridge=0.0).fit(units) for units in (train, bent))
    np.testing.assert_allclose(
        first.sufficient_statistics(train).values,
        second.sufficient_statistics(bent).values,
        rtol=1e-8,
    )


def test_a_jump_is_blamed_on_its_sentence_and_unusable_paths_are_counted():
    train = [path(z) for z in bridges(200, 12, 4, 1.0, seed=7)]
    critic, jumped = JointBridge().fit(train), bridges(1, 12, 4, 1.0, seed=8)[0]
    jumped[5] += 8.0
    parts = critic.part_values([path(jumped), path(np.eye(2))])
    assert parts[0].argmax() == 5 and parts[0].sum() == pytest.approx(
        critic.scores(jumped[None])[0], rel=1e-12
    )
    assert not len(parts[1])
    statistics = critic.sufficient_statistics(
        [path(np.zeros((2, 4))), path(np.full((5, 4), np.nan)), path(np.eye(5, 4))]
    )
    assert statistics.column("excluded").tolist() == [1, 1, 0]
    refuses("sigma is 0", JointBridge().fit, [path(np.ones((6, 2)))])
    refuses("0 of 1 paths", JointBridge().fit, [path(np.ones((2, 2)))])
    for call in (JointBridge().sufficient_statistics, JointBridge().part_values):
        refuses("no whitener", call, [path(np.eye(5, 2))])


def planted(
    count: int, steps: int = 18, seed: int = 0, noise: float = 0.3
) -> list[bridge.LatentPath]:
    """Sentence topics on true bridges, seen through a little noise."""
    rng = np.random.default_rng(seed)
    drawn = bridges(count, steps, 4, 1.0, seed) + noise * rng.normal(size=(count, steps, 4))
    return [path(z, f"{seed}-{i}") for i, z in enumerate(drawn)]


def test_many_orders_and_a_sweep_of_variances_equal_one_path_at_a_time():
    unit = planted(1)[0]
    features = BridgeFeatures().fit_units([unit])
    orders = np.array([np.random.default_rng(r).permutation(18) for r in range(6)])
    together = features.sums(unit, orders)
    assert together.shape == (6, len(bridge.WINDOWS))
    for row, order in enumerate(orders):
        moved = replace(unit, latents=unit.latents[order])
        np.testing.assert_allclose(
            features.sums(moved, identity(moved))[0], together[row], rtol=1e-10
        )
    np.testing.assert_allclose(
        BBScore().fit([unit]).order_scores(unit, orders), np.abs(together[:, 0])
    )
    fitted = BBScore().fit(planted(9))
    for unit in (planted(1, seed=8)[0], path(np.eye(2, 4), "two")):
        orders = np.array(
            [np.random.default_rng(i).permutation(len(unit.latents)) for i in range(4)]
        )
        one_by_one = [
            replace(fitted, sigma2=sigma2).order_scores(unit, orders)
            for sigma2 in fitted.variances()
        ]
        assert np.array_equal(fitted.swept(unit, orders), one_by_one, equal_nan=True)


@pytest.mark.long  # many simulated bridges; each density is tested against its formula above
def test_planted_bridges_differ_from_shuffles_most_by_their_own_density():
    train, test = planted(40, seed=1), planted(40, seed=2)
    assert all(isinstance(scorer, OrderScorer) for scorer in JUDGES.values())
    assert [name for name in JUDGES if isinstance(JUDGES[name], PairLearner)] == [
        "three_layer",
        "linear",
    ]
    records = order_discrimination(
        JUDGES, test, [ShuffleTask(), ShuffleTask("window", (1, 2, 3))], train=train
    )
    found = {(r.critic, r.task): r.value for r in records if r.metric == "pairwise_accuracy"}
    # marginals see where a shuffled bridge goes, not that it jumps
    assert found["bbscore", "block_1"] > 0.6
    assert min(found[name, "block_1"] for name in ("joint", "linear", "three_layer")) > 0.95
    assert found["bbscore", "window_1_2_3"] > 0.5
    assert min(found["joint", "window_1_2_3"], found["linear", "window_1_2_3"]) > 0.8


def test_trajectories_keep_both_ends_and_flatten_what_is_flat():
    ramp = [path(np.linspace(0, 1, n)[:, None] * np.ones(3), str(n)) for n in (5, 9, 30)]
    found = trajectory(ramp)
    assert found["mean"] == pytest.approx(np.linspace(0, 1, 100).tolist())
    assert found["spread"] == pytest.approx([0.0] * 100, abs=1e-12)
    assert trajectory([path(np.eye(2))]) == {"mean": [], "spread": []}
    assert sorted(shuffled(ramp[1]).latents[:, 0]) == sorted(ramp[1].latents[:, 0])


TIMES = torch.tensor([[0, 1, 4], [2, 3, 4], [1, 5, 9]])


def test_losses_equal_their_formulas():
    z = torch.randn((3, 3, 4), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    total = 0.0
    for j, (s, t, e) in enumerate(TIMES.tolist()):
        a, v = (t - s) / (e - s), (t - s) * (e - t) / (e - s)
        d = [
            -float(((z[k, 1] - (1 - a) * z[j, 0] - a * z[j, 2]) ** 2).sum()) / (2 * v)
            for k in range(3)
        ]
        total += math.log(sum(map(math.exp, d))) - d[j]
    assert float(paper_loss(z, TIMES)) == pytest.approx(total / 3, rel=1e-12)
    total = torch.tensor([9, 5, 20])  # row 0 opens a document, row 1 closes one, row 2 does neither
    expected = (z[0, 0] ** 2).mean() + ((z[1, 2].abs() - 1) ** 2).mean()
    assert float(pin_loss(z, TIMES, total)) == pytest.approx(float(expected))
    assert float(pin_loss(z[2:], TIMES[2:], total[2:])) == 0.0
    # the likelihood ratio ignores linear maps and prefers smooth paths
    rng = np.random.default_rng(0)
    walks = [torch.tensor(np.cumsum(rng.normal(size=(n, 3)), axis=0)) for n in (9, 14, 30)]
    bend = torch.tensor(rng.normal(size=(3, 3)))
    noise = [w[torch.tensor(rng.permutation(len(w)))] for w in walks]
    loss, bent = float(likelihood_loss(walks)), float(likelihood_loss([w @ bend for w in walks]))
    assert bent == pytest.approx(loss, abs=5e-3)  # the ridge
    assert loss < float(likelihood_loss(noise)) - 0.5


def test_the_likelihood_loss_is_half_the_log_of_two_variances():
    """Steps 2 -1 | 1 0 3: (15 - 1 / 2 - 16 / 3) / 3 = 55 / 18; 1 3 2 0 1 1 4 vary by 80 / 49."""
    paths = [torch.tensor(path)[:, None] for path in ([1.0, 3, 2], [5.0, 9], [0.0, 1, 1, 4])]
    loss = 0.5 * math.log((55 / 18 + 1e-6 * 80 / 49) / ((1 + 1e-6) * 80 / 49))
    assert float(likelihood_loss([path.double() for path in paths])) == pytest.approx(
        loss, rel=1e-9
    )


def test_triplets_are_ordered_distinct_and_end_at_their_anchor():
    sentences = Sentences(np.zeros((25, 2)), [5, 8, 12])
    anchors = torch.arange(25).repeat(200)
    uniforms = torch.rand((len(anchors), 2), generator=torch.Generator().manual_seed(0))
    times = training.triplets(anchors, sentences, uniforms)
    assert (times[:, 0] >= 0).all()
    assert (times[:, 0] < times[:, 1]).all()
    assert (times[:, 1] < times[:, 2]).all()
    assert torch.equal(times[:, 2], sentences.place[anchors].clamp(min=2))
    pairs = times[sentences.place[anchors] == 4][:, :2].unique(dim=0, return_counts=True)[1]
    assert len(pairs) == 6 and pairs.min() > 0.7 * pairs.max()


def hidden_bridge(rng: np.random.Generator, documents: int) -> tuple[np.ndarray, list[int]]:
    """Features that hide a two-dimensional bridge among twelve noisy dimensions."""
    lengths = rng.integers(8, 16, documents).tolist()
    hidden = np.concatenate([np.cumsum(rng.normal(size=(n, 2)), axis=0) for n in lengths])
    return hidden @ np.random.default_rng(99).normal(size=(2, 12)) + 0.5 * rng.normal(
        size=(len(hidden), 12)
    ), lengths


def smoothness(head: torch.nn.Module, features: np.ndarray, lengths: list[int]) -> float:
    """Mean squared step over variance: small where neighbours are near."""
    z = head(torch.tensor(features, dtype=torch.float32)).detach().numpy()
    steps = np.concatenate([np.diff(d, axis=0) for d in np.split(z, np.cumsum(lengths)[:-1])])
    return float((steps**2).sum(1).mean() / z.var(0).sum())


@pytest.mark.parametrize("objective", ["paper", "likelihood"])
def test_training_finds_a_planted_bridge_better_than_its_start(tmp_path, objective):
    rng = np.random.default_rng(5)
    data = {
        split: Sentences(*hidden_bridge(rng, count))
        for split, count in (("train", 40), ("validation", 10))
    }
    recipe = Recipe(objective, pins=False, optimiser="adamw")
    plan = Schedule(
        learning_rate=3e-3, batch=16, epochs=3 if objective == "paper" else 20, validations=2
    )
    head = training.train_head(
        data, recipe, plan, seed=1, name="planted", scratch=tmp_path, latent=2
    )
    torch.manual_seed(0)
    test = hidden_bridge(rng, 30)
    assert smoothness(head, *test) < 0.9 * smoothness(bridge_head(12, latent=2), *test)
    head, x = bridge_head(768), torch.randn((4, 768))
    # it has no bias and is positively homogeneous
    assert sum(p.numel() for p in head.parameters()) == 132_096
    torch.testing.assert_close(head(3 * x), 3 * head(x), rtol=1e-4, atol=1e-5)


def test_a_head_starts_from_its_seed_and_anchors_have_a_next_sentence(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(training, "fit_module", lambda *args, **kw: calls.append((args, kw)))
    data = {"train": Sentences(np.zeros((5, 6), np.float32), [2, 3])}
    plan = Schedule(learning_rate=1.0, batch=2, epochs=1)
    options = {"seed": 1, "name": "n", "scratch": tmp_path}
    for objective in ("paper", "likelihood"):
        head = training.train_head(data, Recipe(objective), plan, latent=2, **options)
        torch.manual_seed(derived_seed(1, "bridge head"))
        start = bridge_head(6, latent=2).state_dict()
        assert start.keys() == head.state_dict().keys()
        for name, weights in head.state_dict().items():
            assert torch.equal(weights, start[name])
    anchors = [args[1] for args, _ in calls]
    assert anchors == [{"train": range(4)}, {"train": range(2)}]
    assert [settings for _, settings in calls] == [options, options]
    assert [args[0].updates for args, _ in calls] == [plan.updates(4), plan.updates(2)]
    assert all(args[2:] == (training.numbers, plan) for args, _ in calls)


def test_a_saved_bridge_carries_its_frozen_encoder_and_misses_it_aloud(tmp_path):
    frozen, moved = lm_folder(tmp_path / "frozen"), tmp_path / "elsewhere" / "bridge"
    encoder = open_encoder(frozen)
    feature = encoder.encode(["the town lies on a river."])
    heads = {name: bridge_head(16, latent=3) for name in ("paper_0", "paper_1")}
    (tmp_path / "bridge").mkdir()
    reading.TrainedBridge(heads, KeptFeatures(frozen, encoder), "full_stops").save(
        tmp_path / "bridge"
    )
    shutil.rmtree(frozen)
    shutil.copytree(tmp_path / "bridge", moved)
    again = open_bridge(moved)
    x = torch.randn((2, 16))
    assert list(again.heads) == ["paper_0", "paper_1"] and again.splitter == "full_stops"
    assert all(torch.equal(again.heads[name](x), heads[name](x)) for name in heads)
    assert np.array_equal(again.frozen.encoder.encode(["the town lies on a river."]), feature)
    shutil.rmtree(moved / "encoder")
    refuses("not there", open_bridge, moved)
    refuses(r"no bridge\.json", open_bridge, tmp_path / "nowhere")


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("bridge") / "frozen")


def test_features_are_means_over_own_tokens_in_any_order_and_company(frozen):
    texts = ["the town lies on a river.", "old houses.", "its people work in fields near hills."]
    found = open_encoder(frozen).encode(texts)
    network, tokenizer = (
        AutoModel.from_pretrained(frozen).eval(),
        AutoTokenizer.from_pretrained(frozen),
    )
    for text, feature in zip(texts, found, strict=True):
        with torch.no_grad():
            states = network(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0]
        np.testing.assert_allclose(feature, states.mean(0).numpy(), atol=2e-6)
    encoder, order = open_encoder(frozen, batch_tokens=8), [2, 0, 1]
    np.testing.assert_allclose(encoder.encode([texts[i] for i in order]), found[order], atol=2e-6)
    assert len(encoder.features) == 3
    assert encoder.encode(["town " * 60]).shape == (1, 16) and encoder.truncated == 1
    predictions = reading.read(documents=documents(2), truth={}, reader=frozen, name="raw")
    assert bridge.units_from_predictions(predictions)[0].latents.shape == (3, 16)


def test_saved_features_open_unread_and_blank_text_has_no_sentence(frozen, tmp_path, monkeypatch):
    kept = sentence_features.fit(
        documents=documents(), base=frozen, name="kept", splitter="full_stops"
    )
    (tmp_path / "kept").mkdir()
    kept.save(tmp_path / "kept")
    again = open_encoder(tmp_path / "kept")
    monkeypatch.setattr(again.network, "forward", None)
    text = split_sentences(documents(1), "full_stops")[0]
    assert np.array_equal(again.encode(text), kept.encoder.encode(text))
    blank = Document("b", "test", (Section(None, " \n\n . "), Section(None, "")))
    two = Document("c", "test", (Section(None, "One. \n\n Two."),))
    assert split_sentences([blank, two], "full_stops") == [[], ["One.", "Two."]]
    refuses("splitter 'naive'", split_sentences, [blank], "naive")


def test_training_and_reading_go_through_the_pipelines_functions(frozen, tmp_path):
    texts = [Document(d.id, d.split, d.sections * 2) for d in documents()]
    plan = {"learning_rate": 1e-3, "batch": 8, "epochs": 1, "validations": 1}
    recipes = {"paper": {}, "pinless": {"pins": False, "schedule": {"batch": 4}}}
    given = {"base": frozen, "name": "bridge", "seed": 1, "splitter": "full_stops", "seeds": 2}
    folder = frozen.parent / "bridge"
    folder.mkdir()
    training.fit(documents=texts, scratch=tmp_path, recipes=recipes, schedule=plan, **given).save(
        folder
    )
    truth = {"rating": np.arange(len(texts))}
    predictions = reading.read(
        documents=texts, truth=truth, reader=folder, name="read", splits=["test"]
    )
    units = bridge.units_from_predictions(predictions)
    assert [u.split for u in units] == ["test"] * 3 and [u.rating for u in units] == [3, 7, 11]
    assert list(units[0].heads) == ["paper_0", "paper_1", "pinless_0", "pinless_1"]
    assert np.array_equal(units[0].latents, units[0].under("paper_0").latents)
    assert not np.allclose(units[0].latents, units[0].under("paper_1").latents)
    assert units[0].under("paper_1").heads == {}
    refuses("no head 'linear_0'", units[0].under, "linear_0")
    assert units[0].latents.shape == (6, 8) and units[0].text_ids.tolist() == [0, 1, 2, 0, 1, 2]
    refuses(
        "0 of 12 documents",
        reading.read,
        documents=texts,
        truth={},
        reader=folder,
        name="read",
        splits=[],
    )


def test_the_worlds_diffusion_is_estimated_from_its_gold_paths():
    corpus = build(name="world", seed=3, domain="wikisection", documents={"train": 60, "test": 60})
    units = bridge.units_from_predictions(read_gold(documents=corpus.documents, truth=corpus.truth))
    train, test = ([unit for unit in units if unit.split == split] for split in ("train", "test"))
    dims, hidden_bridge = train[0].latents.shape[1], 0.05
    assert BridgeFeatures().fit_units(units).sigma2 == pytest.approx(
        dims / 2 * hidden_bridge, rel=0.1
    )
    joint = JointBridge().fit(train)
    assert joint.score_of(joint.sufficient_statistics(test)) == pytest.approx(1.0, abs=0.05)


def ring(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Copies lie outside a ring that originals lie in: no line through the features can rank them."""
    draw = np.random.default_rng(seed)
    angle = draw.uniform(0, 2 * np.pi, (2, count))
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return 0.5 * rim[0] + 0.05 * draw.normal(size=(count, 2)), 2.0 * rim[1]


class Seen(BridgeRanker):
    """Ranks the features that it is handed for orders."""

    def order_features(self, unit, orders):
        return orders


def test_a_network_ranks_what_a_line_cannot_and_fills_missing_features():
    original, copies = ring(600)
    pairs = [(original[i : i + 1], copies[i : i + 5]) for i in range(0, 600, 5)]
    test = ring(200, seed=1)
    for kind, least, most in (("three_layer", 0.95, 1), ("linear", 0, 0.7)):
        ranker = Seen(kind).fit_pairs(pairs)
        assert (
            least
            < (ranker.order_scores(None, test[0]) < ranker.order_scores(None, test[1])).mean()
            <= most
        )
    fitted = Seen("linear").fit_pairs(
        [(np.array([[1, np.nan]]), np.array([[3, np.nan], [np.nan, np.nan]]))]
    )
    assert fitted.mean.tolist() == [5 / 3, 0] and fitted.order_scores(
        None, np.full((1, 2), np.nan)
    ) == [0.0]  # 1, 3, 1
    # training is a function of its pairs and validates on whole documents
    sides = [side[:60] for side in ring(60)]
    first, second = (
        [part for layer in train_network(sides, sides) for part in layer] for _ in range(2)
    )
    assert all(map(np.array_equal, first, second))
    document = np.arange(60) // 5
    held = held_out(document)
    assert held.any() and not set(document[held]) & set(document[~held])


@pytest.mark.parametrize(("documents", "count"), [(2, 1), (19, 1), (20, 2)])
def test_a_tenth_of_the_documents_validates_and_one_at_least(documents, count):
    held = held_out(np.repeat(np.arange(documents), 5))  # a document's pairs stay together
    assert held[::5].sum() == count and np.array_equal(held, np.repeat(held[::5], 5))
    order = generator("bridge ranker", 5 * documents).permutation(documents)
    assert set(np.flatnonzero(held[::5])) == set(order[:count])
    refuses("1 document with pairs, at least 2", held_out, np.zeros(documents, dtype=np.int64))


def test_bad_input_is_named(frozen, tmp_path):
    refuses("objective 'printed'", Recipe, "printed")
    refuses("optimiser 'adam'", Recipe, optimiser="adam")
    given = {
        "base": frozen,
        "name": "b",
        "seed": 1,
        "scratch": tmp_path,
        "splitter": "full_stops",
        "schedule": {},
    }
    for recipes, seeds in (({}, 1), ({"paper": {}}, 0)):
        refuses(
            "at least one of each",
            training.fit,
            documents=documents(),
            **given,
            recipes=recipes,
            seeds=seeds,
        )
    refuses("no 'bridge_path'", read_gold, documents=documents(2), truth={})
    one = np.ones((1, 5))
    refuses("1 document with", BridgeRanker().fit_pairs, [(one, one)])
    refuses("0 of 1 documents", BridgeRanker().fit_pairs, [(one[:0], one)])
    refuses("no pairs yet", BridgeRanker().order_scores, None, one)


def test_steps_are_near_one_on_the_texts_that_taught_and_larger_on_others():
    """What ``criticize`` says of the joint density's numbers, on bridges of one law."""
    rng = np.random.default_rng(0)

    def texts(split, count):
        walks = rng.normal(size=(count, 9, 6)).cumsum(axis=1)
        return [
            LatentPath(f"{split}{n}", split, walk, np.arange(9)) for n, walk in enumerate(walks)
        ]

    taught, others = texts("train", 6), texts("test", 40)
    critic = JointBridge().fit_units(taught)
    near, larger = (
        critic.score_of(critic.sufficient_statistics(units)) for units in (taught, others)
    )
    assert near == pytest.approx(1, abs=0.05) and larger > 1.1
    assert "near 1 on the texts that taught it, more on others" in STEPS


def test_a_loss_draws_two_numbers_a_triplet_from_its_documents_rows(monkeypatch):
    asked = []
    draws = torch.rand((2, 2), generator=torch.Generator().manual_seed(3))

    def chosen(anchors, sentences, drawn):
        asked.append(drawn)
        return torch.tensor([[0, 1, 2], [1, 2, 3]])

    monkeypatch.setattr(training, "triplets", chosen)
    monkeypatch.setattr(training, "paper_loss", lambda latents, times: latents.sum())
    module = SimpleNamespace(
        data={"train": Sentences(np.arange(8.0)[:, None], [4, 4])},
        recipe=SimpleNamespace(objective="contrast", pins=False),
        head=lambda features: features,
        device="cpu",
    )
    rng = torch.Generator().manual_seed(3)
    # rows 0, 1, 2 of the first document and 1, 2, 3 of the second, which begins at row 4
    loss = training.BridgeEncoder.loss(module, torch.tensor([3, 7]), "train", rng)
    assert float(loss) == 0 + 1 + 2 + 5 + 6 + 7
    assert torch.equal(asked[0], draws)


def test_values_below_zero_are_damped_between_layers_alone():
    layers = ((np.eye(1), np.zeros(1)), (np.full((1, 1), 2.0), np.array([-3.0])))
    network = SimpleNamespace(layers=layers, order_features=lambda unit, orders: orders)
    network._standard = lambda features: features
    values = BridgeRanker.order_scores(network, None, np.array([[2.0], [-4.0]]))
    assert values.tolist() == [1.0, 2 * (ranker.SLOPE * -4) - 3]
