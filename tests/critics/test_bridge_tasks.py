"""Discrimination tasks: vectorised equals looped, planted bridges are told from their shuffles, nothing is skipped unseen."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from longform.critic import signature
from longform.critics.bbscore.features import BridgeFeatures, identity
from longform.critics.bbscore.gram import OrderedGram
from longform.critics.bbscore.score import CONVENTIONS, WINDOWS, BridgeCritic, LatentPath, path, terms
from longform.critics.bbscore.tasks import (
    GlobalDiscrimination,
    JointGlobal,
    JointLocal,
    LocalDiscrimination,
    ShuffleAUC,
    area,
    roc_points,
    wins,
)
from longform.documents import BadInput
from tests.oracles.bridge_loops import bridges, loop_score


def planted(count: int, steps: int = 18, seed: int = 0, noise: float = 0.3) -> list[LatentPath]:
    """Sentence topics on true bridges, seen through a little noise."""
    rng = np.random.default_rng(seed)
    drawn = bridges(count, steps, 4, 1.0, seed) + noise * rng.normal(size=(count, steps, 4))
    return [path(z, f"{seed}-{i}") for i, z in enumerate(drawn)]


@pytest.mark.parametrize("time", ["sentence", "token"])
def test_features_of_all_orders_equal_scoring_each_reordered_path_alone(time):
    unit = replace(planted(1)[0], token_counts=np.random.default_rng(0).integers(1, 9, 18))
    features = BridgeFeatures(time=time).fit([unit])
    orders = np.array([np.random.default_rng(r).permutation(18) for r in range(6)])
    together = features.signed(unit, orders)
    assert together.shape == (6, len(WINDOWS))
    for row, order in enumerate(orders):
        moved = replace(unit, latents=unit.latents[order])
        np.testing.assert_allclose(features.signed(moved, identity(moved))[0], together[row], rtol=1e-10)


@pytest.mark.parametrize("name", sorted(CONVENTIONS))
def test_inner_products_give_the_terms_of_the_gathered_latents(name):
    rng = np.random.default_rng(4)
    for sentences in (3, 5, 9, 30):
        latents = rng.normal(size=(sentences, 8)) + 5.0
        orders = np.array([rng.permutation(sentences) for _ in range(5)])
        seen = OrderedGram(latents, orders)
        for window in WINDOWS:
            slow, fast = terms(latents[orders], window, CONVENTIONS[name]), seen.terms(window, CONVENTIONS[name])
            np.testing.assert_allclose(fast.beta, slow.beta, rtol=1e-10)
            np.testing.assert_allclose(fast[::2], slow[::2], rtol=1e-14)


def test_pairwise_wins_equal_a_plain_loop_over_shuffles():
    units = planted(4)
    task = GlobalDiscrimination(block=2).fit(units)
    for unit, row in zip(units, task.tally(units).values, strict=True):
        sigma2 = task.features.sigma2
        own = abs(loop_score(unit.latents, "canonical", sigma2))
        copies = [abs(loop_score(unit.latents[order], "canonical", sigma2)) for order in task.orders(unit)]
        assert row.tolist() == [sum(own < copy for copy in copies), len(copies), 0, 0]


def accuracy(task, train, test) -> float:
    fitted = task.fit(train)
    return fitted.score(fitted.tally(test))


def test_planted_bridges_are_told_from_their_shuffles_best_by_their_own_density():
    train, test = planted(40, seed=1), planted(60, seed=2)
    raw = accuracy(GlobalDiscrimination(), train, test)
    classified = [accuracy(GlobalDiscrimination(classifier=c), train, test) for c in ("linear", "three_layer")]
    joint = accuracy(JointGlobal(), train, test)
    assert raw > 0.6  # marginals see where a shuffled bridge goes, not that it jumps
    assert min(classified) > 0.95 and joint > 0.95
    assert joint >= raw + 0.2


def test_local_shuffles_of_planted_bridges_are_seen_by_the_windows_and_by_the_joint_density():
    train, test = planted(40, seed=1), planted(60, seed=2)
    assert accuracy(LocalDiscrimination(), train, test) > 0.5
    assert accuracy(LocalDiscrimination(classifier="linear"), train, test) > 0.8
    assert accuracy(JointLocal(), train, test) > 0.8


def test_latents_without_order_give_chance():
    rng = np.random.default_rng(3)
    units = [path(rng.normal(size=(15, 4)), str(i)) for i in range(200)]
    task = GlobalDiscrimination().fit(units)
    assert task.score(task.tally(units)) == pytest.approx(0.5, abs=0.06)
    auc = ShuffleAUC().fit(units)
    assert auc.score(auc.tally(units)) == pytest.approx(0.5, abs=0.06)


def test_documents_that_give_no_pair_are_excluded_and_counted():
    alike = LatentPath("alike", "test", np.zeros((12, 2)), np.zeros(12, dtype=int), np.ones(12, dtype=int))
    broken = path(np.full((12, 2), np.nan), "nan")
    two = path(np.eye(2), "two")
    task = GlobalDiscrimination().fit(planted(5))
    whole = planted(1, seed=8)[0]
    units = [replace(alike, latents=np.zeros((12, 4))), broken, two, whole]
    assert task.tally(units).column("excluded").tolist() == [1, 1, 1, 0]
    assert LocalDiscrimination().fit(planted(5)).tally([planted(1, steps=10)[0]]).total("excluded") == 1
    assert GlobalDiscrimination(block=10).fit(planted(5)).tally([planted(1, steps=10)[0]]).total("excluded") == 1
    assert ShuffleAUC().fit(planted(5)).tally(units).column("excluded").tolist() == [1, 1, 1, 0]
    assert math.isnan(task.score(task.tally(units[:3])))
    with pytest.raises(BadInput, match="0 of 1 documents"):
        task.pairs([two])


def test_orders_of_a_document_do_not_depend_on_its_company_and_move_with_the_draw():
    units = planted(3)
    task = GlobalDiscrimination(block=2)
    assert np.array_equal(task.orders(units[1]), GlobalDiscrimination(block=2).orders(units[1]))
    assert not np.array_equal(task.orders(units[1]), replace(task, draw=1).orders(units[1]))
    assert not np.array_equal(task.orders(units[0]), task.orders(units[1]))


def test_joint_local_set_is_the_union_of_its_three_parts():
    unit = planted(1)[0]
    parts = [LocalDiscrimination(windows=(w,)).orders(unit) for w in (1, 2, 3)]
    assert np.array_equal(LocalDiscrimination().orders(unit), np.concatenate(parts))


def test_area_counts_pairs_and_the_curve_encloses_it():
    rng = np.random.default_rng(0)
    low, high = rng.normal(size=40).round(1), rng.normal(0.8, 1, size=50).round(1)
    loop = sum((a < b) + 0.5 * (a == b) for a in low for b in high) / 2000
    assert area(low, high) == pytest.approx(loop)
    curve = roc_points(low, high, 1001)
    assert np.trapezoid(curve["true_positive"], curve["false_positive"]) == pytest.approx(loop, abs=0.02)


def test_accuracy_does_not_depend_on_sigma_but_auc_across_lengths_does():
    units = [u for steps in (6, 12, 40) for u in planted(30, steps=steps, seed=steps)]
    task = ShuffleAUC().fit(units)
    sweep = task.describe(units)["sweep"]
    middle = [a for a, s in zip(sweep["accuracy"], sweep["sigma2"], strict=True) if s > 1]
    assert max(middle) - min(middle) < 1e-12
    assert max(sweep["auc"]) - min(sweep["auc"]) > 0.05
    assert task.auc(task.tally(units), task.features.sigma2) == pytest.approx(task.score(task.tally(units)))


def test_signatures_name_settings_and_not_what_was_fitted():
    task = GlobalDiscrimination(block=5, classifier="linear")
    assert signature(task) == signature(task.fit(planted(6)))
    assert "block=5" in signature(task) and "sigma2" not in signature(task)


def test_unknown_choices_are_refused():
    with pytest.raises(BadInput, match="classifier 'svm'"):
        GlobalDiscrimination(classifier="svm").fit(planted(3))
    with pytest.raises(BadInput, match="time 'word'"):
        GlobalDiscrimination(time="word").fit(planted(3))
    with pytest.raises(BadInput, match="not fitted"):
        GlobalDiscrimination().tally(planted(1))


def test_an_order_that_differs_by_rounding_alone_is_a_tie():
    assert wins(np.array([0.3, 0.1 + 0.2, 0.31, 0.29, np.nan])) == 1.0
    assert wins(np.array([1e6, 1e6 + 1e-5, 1e6 + 1.0])) == 1.0
    z = np.random.default_rng(5).normal(size=(9, 3))
    critic = BridgeCritic().fit([path(np.random.default_rng(6).normal(size=(9, 3)))])
    both = critic.scores(np.stack([z, z[::-1]]))
    assert wins(both) == 0.0 == wins(both[::-1])
