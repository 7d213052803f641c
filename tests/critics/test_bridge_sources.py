"""Human against machine: distances against SciPy, pairs against loops, planted differences found, lengths controlled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from longform.critics.bbscore.profiles import (
    SourceDetection,
    SourceProfile,
    detection,
    shuffled,
    trajectory,
    wasserstein,
)
from longform.critics.bbscore.ratings import RatedClasses
from longform.critics.bbscore.score import LatentPath, diffusion, path
from longform.critics.bbscore.sources import (
    MachineArea,
    MachineGeneral,
    MachinePairs,
    TextPair,
    column_means,
    families_of,
    text_classifier,
)
from longform.documents import BadInput
from tests.oracles.bridge_loops import bridges, loop_score


def pairs_of(units: list[LatentPath]) -> list[TextPair]:
    return [family.under("machine") for family in families_of(units)]


def both_sides(count: int, seed: int, human: int = 20, machine: int = 20, noise: float = 2.0) -> list[TextPair]:
    """Humans keep to a bridge, machines wander off it from sentence to sentence."""
    rng = np.random.default_rng(seed)
    people = bridges(count, human, 4, 1.0, seed)
    robots = bridges(count, machine, 4, 1.0, seed + 1) + noise * rng.normal(size=(count, machine, 4))
    pairs = zip(people, robots, strict=True)
    return pairs_of([u for i, (h, m) in enumerate(pairs) for u in (path(h, f"{i}-human"), path(m, f"{i}-machine"))])


def test_wasserstein_equals_scipy_and_sorted_differences():
    rng = np.random.default_rng(0)
    for sizes in ((5, 5), (3, 11), (1, 7)):
        one, other = rng.gamma(2, size=sizes[0]), rng.gamma(3, size=sizes[1])
        assert wasserstein(one, other) == pytest.approx(wasserstein_distance(one, other), rel=1e-12)
    one, other = rng.normal(size=(2, 9))
    assert wasserstein(one, other) == pytest.approx(np.abs(np.sort(one) - np.sort(other)).mean())
    assert wasserstein([2.0], [1.0, 5.0]) == pytest.approx(2.0)


def test_detection_scales_each_tested_source_to_one_and_two():
    rng = np.random.default_rng(1)
    train = {name: rng.normal(level, 1, 50) for name, level in (("a", 0), ("b", 2), ("c", 5))}
    test = {name: rng.normal(level, 1, 40) for name, level in (("a", 0), ("b", 2), ("c", 5))}
    distances, scaled = detection(train, test)
    assert np.argmin(distances, axis=1).tolist() == [0, 1, 2]
    assert scaled.min(axis=1).tolist() == [1, 1, 1] and scaled.max(axis=1).tolist() == [2, 2, 2]
    assert distances[0, 2] == pytest.approx(wasserstein_distance(test["a"], train["c"]))
    assert detection({"a": [1.0]}, {"a": [3.0]})[1].tolist() == [[1.0]]
    with pytest.raises(BadInput, match="source 'b'"):
        detection({"a": [1.0], "b": []}, {"a": [1.0]})


def test_pair_wins_equal_a_loop():
    units = both_sides(6, 3)
    task = MachinePairs().fit(units)
    wins = [
        abs(loop_score(pair.human.latents, "canonical", task.features.sigma2))
        < abs(loop_score(pair.machine.latents, "canonical", task.features.sigma2))
        for pair in units
    ]
    assert task.tally(units).column("wins").tolist() == [float(win) for win in wins]


@pytest.mark.parametrize("judge_by", ["bbscore", "joint", "linear", "three_layer"])
def test_wandering_machines_are_told_from_humans(judge_by):
    train, test = both_sides(40, 5), both_sides(30, 50)
    task = MachinePairs(judge_by=judge_by).fit(train)
    assert task.score(task.tally(test)) > 0.9
    details = task.describe(test)
    area = MachineArea(judge_by=judge_by).fit(train)
    assert area.score(area.tally(test)) > 0.8 and details["mean_sentences"] == {"human": 20.0, "machine": 20.0}


def test_length_alone_fools_bbscore_and_neither_the_matched_nor_the_joint_one():
    train = both_sides(60, 7, human=12, machine=60, noise=0.0)
    test = both_sides(60, 70, human=12, machine=60, noise=0.0)
    shares = [
        task.score(task.tally(test))
        for task in (m.fit(train) for m in (MachinePairs(), MachinePairs(judge_by="joint")))
    ]
    assert shares[0] > 0.85
    assert shares[1] == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize("classifier", ["linear", "three_layer"])
def test_single_texts_are_classified_and_counted_twice_a_pair(classifier):
    train, test = both_sides(40, 9), both_sides(30, 90)
    task = MachineGeneral(classifier).fit(train)
    tally = task.tally(test)
    assert tally.total("texts") == 60 and task.score(tally) > 0.9


def test_profiles_hold_each_sides_own_estimates():
    units = both_sides(5, 11)
    profile = SourceProfile("human").fit(units)
    assert profile.train == pytest.approx([diffusion(u.human.latents) for u in units])
    assert profile.score(profile.tally(units)) == pytest.approx(np.mean(profile.train))
    details = profile.describe(units)
    assert details["test"] == pytest.approx(list(profile.train)) and len(details["trajectory"]["mean"]) == 100
    with pytest.raises(BadInput, match="side 'robot'"):
        SourceProfile("robot")


def test_a_shuffled_profile_is_of_the_humans_own_sentences_and_wanders_more():
    units = both_sides(20, 12)
    moved = shuffled(units[0].human)
    assert sorted(moved.latents[:, 0]) == sorted(units[0].human.latents[:, 0])
    values = [
        p.score(p.tally(units)) for p in (SourceProfile("human").fit(units), SourceProfile("shuffled").fit(units))
    ]
    assert values[1] > values[0]


def test_families_keep_every_side_and_a_missing_source_is_named():
    units = [path(np.eye(5), f"d-1-{side}") for side in ("human", "greedy", "tiny")] + [path(np.eye(5), "d-2-human")]
    (family,) = families_of(units)
    assert family.unit_id == "d-1" and sorted(family.machines) == ["greedy", "tiny"]
    with pytest.raises(BadInput, match="no text of source 'nucleus'"):
        family.under("nucleus")


def sources(count: int, seed: int) -> list:
    """Three sources that differ in how far they wander."""
    made = zip(*(bridges(count, 20, 4, level, seed + k) for k, level in enumerate((1.0, 2.0, 4.0))), strict=True)
    sides = ("human", "near", "far")
    return families_of(
        [path(z, f"{i}-{side}") for i, row in enumerate(made) for side, z in zip(sides, row, strict=True)]
    )


def test_sources_are_detected_by_their_own_training_texts():
    task = SourceDetection(("near", "far")).fit(sources(40, 20))
    test = sources(30, 200)
    tally = task.tally(test)
    assert task.score(tally) == 1.0 and task.distances(tally)[0].argmin(axis=1).tolist() == [0, 1, 2]
    found = task.describe(test)
    low, high = found["bounds"][0][2]
    assert low <= found["distances"][0][2] <= high and found["sources"] == ["human", "near", "far"]
    with pytest.raises(BadInput, match="no usable training text"):
        SourceDetection(("near",)).fit([])


def test_trajectories_keep_both_ends_and_flatten_what_is_flat():
    ramp = [path(np.linspace(0, 1, n)[:, None] * np.ones(3), str(n)) for n in (5, 9, 30)]
    found = trajectory(ramp)
    assert found["mean"] == pytest.approx(np.linspace(0, 1, 100).tolist())
    assert found["spread"] == pytest.approx([0.0] * 100, abs=1e-12)
    assert trajectory([path(np.eye(2))]) == {"mean": [], "spread": []}


def test_broken_sides_are_excluded_and_missing_ones_refused():
    units = [*both_sides(4, 13), *pairs_of([path(np.eye(2, 4), "x-human"), path(np.ones((9, 4)), "x-machine")])]
    task = MachinePairs().fit(units[:4])
    assert task.tally(units).column("excluded").tolist() == [0, 0, 0, 0, 1]
    assert math.isnan(task.score(task.tally(units[4:])))
    with pytest.raises(BadInput, match="no pair"):
        pairs_of([path(np.eye(5), "a-human"), path(np.eye(5), "b-machine")])
    with pytest.raises(BadInput, match="not fitted"):
        MachineGeneral().tally(units)


def rated(count: int, seed: int) -> list[LatentPath]:
    rng = np.random.default_rng(seed)
    made = []
    for i, z in enumerate(bridges(count, 20, 4, 1.0, seed)):
        rating = 1 + i % 3
        noisy = z + (3 - rating) * rng.normal(size=z.shape)
        made.append(LatentPath(f"{seed}-{i}", "test", noisy, np.arange(20), np.ones(20, dtype=int), rating))
    return made


def test_planted_ratings_are_read_from_the_features_and_not_from_length():
    train, test = rated(150, 1), rated(90, 2)
    task = RatedClasses().fit(train)
    assert task.score(task.tally(test)) > 0.8
    length = RatedClasses(only_length=True, classifier="linear").fit(train)
    assert length.score(length.tally(test)) < 0.5
    details = task.describe([*test, path(np.eye(2, 4), "short")])
    assert details["majority"] == pytest.approx(1 / 3) and details["classes"] == {"1": 30, "2": 30, "3": 30}
    assert RatedClasses(length=True).fit(train).row(test[0]).shape == (6,)


def test_unrated_texts_are_excluded_and_a_single_class_is_refused():
    task = RatedClasses(classifier="linear").fit(rated(30, 3))
    assert task.tally([path(np.random.default_rng(0).normal(size=(9, 4)))]).total("excluded") == 1
    with pytest.raises(BadInput, match="in 1 classes"):
        RatedClasses().fit([u for u in rated(30, 4) if u.rating == 2])
    with pytest.raises(BadInput, match="classifier 'forest'"):
        text_classifier("forest")


def test_a_missing_feature_takes_its_columns_mean():
    assert column_means(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist() == [2.0, 0.0]
