"""Human against machine texts from planted sides, and how far scores follow length."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from longform.critics.bbscore.bridge import BridgeFeatures, LatentPath, identity, path
from longform.critics.bbscore.score import BridgeCritic, JointBridgeCritic, text_diffusion
from longform.evaluation import human_vs_machine as sources
from longform.evaluation.human_vs_machine import Sides, human_vs_machine, sides_of, source_detection
from longform.evaluation.sentence_paths import JUDGES, length_confound
from tests.oracles.bridge_loops import bridges, loop_score
from tests.refusals import refuses


def named(**sides):
    return sides_of([path(z, f"{i}-{side}") for side, rows in sides.items() for i, z in enumerate(rows)])


def both_sides(count, seed, human=20, machine=20):
    """Humans keep to a bridge, machines wander off it from sentence to sentence."""
    wandering = 2.0 * np.random.default_rng(seed).normal(size=(count, machine, 4))
    robots = bridges(count, machine, 4, 1.0, seed + 1) + wandering
    return named(human=bridges(count, human, 4, 1.0, seed), robot=robots)


def by_metric(records, metric):
    return {record.critic: record for record in records if record.metric == metric}


def test_pairs_equal_a_loop_and_ties_count_one_half():
    units = both_sides(6, 3)
    critic = BridgeCritic().fit([unit.human for unit in units])
    scores = [[abs(loop_score(t.latents, critic.sigma2)) for t in (u.human, u.text("robot"))] for u in units]
    won = [human < robot for human, robot in scores]
    found = human_vs_machine({"bbscore": critic}, units, ["robot"])
    assert by_metric(found, "pairwise_accuracy")["bbscore"].value == pytest.approx(np.mean(won))
    same = [Sides(u.unit_id, u.split, u.human, {"robot": u.human}) for u in units]
    found = human_vs_machine({"bbscore": critic}, same, ["robot"])
    assert by_metric(found, "pairwise_accuracy")["bbscore"].value == 0.5 == by_metric(found, "area")["bbscore"].value


def test_wandering_machines_are_told_from_humans_by_every_judge():
    train, test = both_sides(40, 5), both_sides(30, 50)
    found = human_vs_machine(JUDGES, test, ["robot"], train=train)
    assert all(r.value > 0.9 and r.p_value < 0.01 for r in by_metric(found, "pairwise_accuracy").values())
    assert all(record.value > 0.8 for record in by_metric(found, "area").values())
    assert set(by_metric(found, "pairwise_accuracy_difference")) == {"joint", "linear", "three_layer"}
    shown = by_metric(found, "pairwise_accuracy")["bbscore"]
    assert shown.system == "robot" and shown.details["mean_sentences"] == {"human": 20.0, "machine": 20.0}
    long = both_sides(30, 70, human=12, machine=60)
    cut = human_vs_machine({"cut": BridgeCritic()}, long, ["robot"], train=train, matched=True)
    assert by_metric(cut, "pairwise_accuracy")["cut"].details["mean_sentences"] == {"human": 12.0, "machine": 12.0}


@pytest.mark.parametrize("classifier", ["linear", "three_layer"])
def test_single_texts_are_classified_and_a_documents_two_are_one_unit(classifier):
    train, test = both_sides(40, 9), both_sides(30, 90)
    features = BridgeFeatures().fit([unit.human for unit in train])
    given = lambda unit: features.values(unit, identity(unit))[0], test, ["robot"], train, classifier
    (found,) = sources.source_classification(*given)
    assert found.value > 0.9 and found.units == 30 and found.reference == pytest.approx(0.5) and found.p_value < 0.01


def test_classes_are_learnt_from_features_beside_the_commonest_class():
    rng = np.random.default_rng(0)
    texts = [LatentPath(str(i), "test", rng.normal(i % 3, 0.2, (4, 2)), np.arange(4), i % 3) for i in range(90)]
    missing = [path(np.eye(2), "short"), LatentPath("unrated", "test", np.zeros((4, 2)), np.arange(4), -1)]

    def seen(unit):
        return np.array([unit.latents.mean(), np.nan]) if unit.usable else None

    def rating(unit):
        return unit.rating if unit.rating >= 0 else None

    given = seen, rating, texts[:60], [*texts[60:], *missing]
    found = sources.text_classification(*given, classifier="linear", critic="x")
    assert found.value > 0.9 and found.reference == pytest.approx(1 / 3) and found.excluded == 2
    assert found.details["classes"] == {"0": 10, "1": 10, "2": 10}
    refuses("in 1 classes", sources.text_classification, seen, lambda unit: 1, texts, texts)
    refuses("classifier 'forest'", sources.text_classification, *given, classifier="forest")


def three_sources(count: int, seed: int) -> list[Sides]:
    """Three sources that differ in how far they wander."""
    levels = (("human", 1.0), ("near", 2.0), ("far", 4.0))
    return named(**{side: bridges(count, 20, 4, level, seed + k) for k, (side, level) in enumerate(levels)})


def test_sources_are_detected_by_their_own_training_texts():
    train, test = three_sources(40, 20), three_sources(30, 200)
    share, *distances = source_detection(text_diffusion, test, ("near", "far"), train)
    assert share.value == 1.0 and len(distances) == 9
    table = np.array([record.value for record in distances]).reshape(3, 3)
    assert table.argmin(axis=1).tolist() == [0, 1, 2]
    scaled = np.array([record.details["scaled"] for record in distances]).reshape(3, 3)
    assert scaled.min(axis=1).tolist() == [1, 1, 1] and scaled.max(axis=1).tolist() == [2, 2, 2]
    assert distances[2].low <= distances[2].value <= distances[2].high
    one, other = (np.sort([text_diffusion(u.human) for u in units[:9]]) for units in (test, train))
    found = source_detection(text_diffusion, test[:9], (), train[:9])[1]
    assert found.value == pytest.approx(np.abs(one - other).mean())
    refuses("no usable training text", source_detection, text_diffusion, test, ("near",), [])


def test_broken_sides_are_excluded_and_missing_ones_named():
    (broken,) = sides_of([path(np.eye(2, 4), "x-human"), path(np.ones((9, 4)), "x-robot")])
    critic = BridgeCritic().fit([unit.human for unit in both_sides(4, 13)])
    found = by_metric(human_vs_machine({"b": critic}, [broken], ["robot"]), "pairwise_accuracy")["b"]
    assert np.isnan(found.value) and found.excluded == 1
    refuses("no text of source 'nucleus'", broken.text, "nucleus")
    refuses("no pair", sides_of, [path(np.eye(5), "a-human"), path(np.eye(5), "b-machine")])
    refuses("no source", human_vs_machine, {"b": critic}, [broken], [])


def test_length_moves_bbscore_as_scipy_says_not_the_joint_density_and_short_texts_are_excluded():
    train, test = ([path(bridges(1, n, 4, 1.0, seed + n)[0], f"{n}") for n in range(6, 61)] for seed in (0, 1000))
    own, joint = length_confound({"bbscore": BridgeCritic(), "joint": JointBridgeCritic()}, test, train=train)
    critic = BridgeCritic().fit(train)
    values = [critic.score(critic.tally([unit])) for unit in test]
    assert own.value == pytest.approx(spearmanr(values, range(6, 61)).statistic) and own.low > 0.3
    assert joint.low < 0 < joint.high
    (found,) = length_confound({"": critic}, [path(np.eye(2), "two"), *train[:4]])
    assert (found.units, found.excluded) == (4, 1)
    alike = [path(np.eye(5, 4) * k, str(k)) for k in (1, 2, 3)]
    assert np.isnan(length_confound({"": critic}, alike)[0].value)
