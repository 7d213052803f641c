"""Functions that params.yaml alone names: which texts they learn from, which they judge, and as what."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from longform.critics.bbscore.bridge import LatentPath, diffusion
from longform.documents import Predictions, ragged
from longform.evaluation import grids, sentence_paths
from longform.evaluation.order_discrimination import order_discrimination
from longform.evaluation.settings import GridModels
from longform.statistics.random_streams import generator
from longform.text.entity_grids import grids_to_predictions
from longform.text.permutations import ShuffleTask
from tests.critics.grid_cases import grid
from tests.oracles.bridge_loops import bridges, loop_score
from tests.refusals import refuses

TASKS = [
    "block_1",
    "block_2",
    "block_5",
    "block_10",
    "window_1_2_3",
    "window_1",
    "window_2",
    "window_3",
]
SOUND = ("SSSSSS------", "------OOOOOO")  # two entities, each where it belongs
BROKEN = ("S-S-S-S-S-S-", "-O-O-O-O-O-O")


def grid_predictions(**units):
    """Grids by name; ``train_a`` is the unit ``a`` of split train, a second ``_`` the writer's hyphen."""
    made = []
    for name, columns in units.items():
        split, _, rest = name.partition("_")
        made.append(grid(*columns, unit=rest.replace("_", "-"), split=split))
    return grids_to_predictions(made)


def test_grids_learn_from_train_and_judge_test_alone():
    train = grid_predictions(train_a=SOUND, train_b=SOUND, test_c=BROKEN, validation_d=BROKEN)
    texts = grid_predictions(test_e=SOUND, test_f=SOUND, train_g=BROKEN, validation_h=BROKEN)
    records = grids.shuffle_tasks(train=train, texts=texts, models={"transitions": {"history": 1}})
    assert [record.task for record in records] == TASKS
    assert {(record.critic, record.metric) for record in records} == {
        ("grid_transitions", "pairwise_accuracy")
    }
    blocks = [record for record in records if record.task.startswith("block")]
    assert [(record.value, record.units) for record in blocks] == [(1.0, 2)] * 4
    learnt_broken = grid_predictions(train_c=BROKEN, train_d=BROKEN)
    turned = grids.shuffle_tasks(train=learnt_broken, texts=texts, models={"transitions": {}})
    assert turned[0].value < 0.1


def test_a_ranking_grid_stands_beside_the_transitions():
    train = grid_predictions(train_a=SOUND, train_b=SOUND)
    texts = grid_predictions(test_e=SOUND)
    models = {"transitions": {}, "ranking": {"lengths": [2], "salience": 0}}
    records = grids.shuffle_tasks(train=train, texts=texts, models=models)
    single = {(r.critic, r.metric) for r in records if r.task == "block_1"}
    difference = ("grid_ranking", "pairwise_accuracy_difference")
    assert single == {
        ("grid_transitions", "pairwise_accuracy"),
        ("grid_ranking", "pairwise_accuracy"),
        difference,
    }
    for models in ({}, {"rankings": {}}):
        refuses("allowed are", grids.shuffle_tasks, train=train, texts=texts, models=models)


def test_models_of_grids_are_named_with_the_settings_that_an_entry_has():
    for entry in ({"transitions": {"history": 1}}, {"transitions": {}, "ranking": {"salience": 2}}):
        assert GridModels.model_validate(entry).named() == entry


def test_grids_put_the_human_text_above_a_machines():
    train = grid_predictions(
        train_a_human=SOUND, train_a_robot=BROKEN, test_b_human=BROKEN, test_b_robot=BROKEN
    )
    texts = grid_predictions(
        test_c_human=SOUND, test_c_robot=BROKEN, train_d_human=BROKEN, train_d_robot=SOUND
    )
    records = grids.machines(
        train=train, texts=texts, models={"transitions": {}}, sources=["robot"]
    )
    found = {record.metric: record for record in records}
    accuracy = found["pairwise_accuracy"]
    assert (accuracy.value, accuracy.units, accuracy.system) == (1.0, 1, "robot")
    assert (accuracy.critic, found["area"].value) == ("grid_transitions", 1.0)


HEADS = ("one", "two")


def path_predictions(units, heads=(), ratings=()):
    """A reading of sentence paths: (name, split, latents) with the same latents, doubled, under a second head."""
    ids, splits, paths = zip(*units, strict=True)
    if heads:
        arrays = {"latents": np.concatenate([np.stack([z, 2 * z], axis=1) for z in paths])}
        arrays["head_names"] = np.array(heads)
    else:
        arrays = {"latents": np.concatenate(list(paths))}
    arrays["latents_lengths"] = np.array([len(z) for z in paths])
    arrays |= ragged("text_ids", [np.arange(len(z)) for z in paths], np.int64)
    if len(ratings):
        arrays["rating"] = np.array(ratings)
    return Predictions(ids, splits, arrays)


def learnt_and_judged(heads=()):
    learnt = [(f"l{i}", "train", z) for i, z in enumerate(bridges(8, 12, 3, 1.0, 1))]
    judged = [(f"j{i}", "test", z) for i, z in enumerate(bridges(5, 12, 3, 1.0, 2))]
    wild = np.random.default_rng(3).normal(0, 30, (12, 3))
    learnt.append(("not-learnt", "test", wild))
    judged.append(("not-judged", "train", wild))
    return path_predictions(learnt, heads), path_predictions(judged, heads), learnt[:8], judged[:5]


def test_sentence_paths_are_judged_on_the_published_shuffles():
    train, texts, learnt, judged = learnt_and_judged()
    records = sentence_paths.shuffle_tasks(train=train, texts=texts)
    assert [record.task for record in records] == TASKS
    assert {record.units for record in records} == {5}
    sigma2 = np.mean([diffusion(z) for _, _, z in learnt])
    task = ShuffleTask("block", (2,), draws=("block shuffle", 0))
    won, pairs = 0, 0
    for name, split, z in judged:
        orders = task.orders(LatentPath(name, split, z, np.arange(12)))
        own = abs(loop_score(z, sigma2))
        won += sum(own < abs(loop_score(z[order], sigma2)) for order in orders)
        pairs += len(orders)
    assert records[1].value == pytest.approx(won / pairs)
    window = ShuffleTask("window", (2,), draws=("local shuffle", 0))
    (expected,) = order_discrimination(
        {"bbscore": sentence_paths.JUDGES["bbscore"]},
        [LatentPath(name, split, z, np.arange(12)) for name, split, z in judged],
        [window],
        train=[LatentPath(name, split, z, np.arange(12)) for name, split, z in learnt],
    )
    assert records[6].value == expected.value


def test_counts_of_negative_sums_stand_on_the_head_that_they_are_of():
    train, texts, *_ = learnt_and_judged(HEADS)
    records = sentence_paths.shuffle_tasks(train=train, texts=texts, heads=HEADS, areas=True)
    accuracies = [r for r in records if r.metric == "pairwise_accuracy"]
    assert [r.variant for r in accuracies[:3]] == ["", *HEADS]
    assert ["negative" in r.details for r in accuracies[:3]] == [False, True, False]
    areas = [r for r in records if r.metric == "area"]
    assert [r.task for r in areas[::3]] == TASKS[:4]
    assert ["sweep" in r.details for r in areas[:3]] == [False, True, False]
    sweep = areas[1].details["sweep"]
    assert len(sweep["sigma2"]) == len(sweep["auc"]) == len(sweep["accuracy"]) == 65
    middle = sweep["sigma2"].index(pytest.approx(areas[1].details["sigma2"]))
    assert middle == 32 and sweep["auc"][middle] == pytest.approx(areas[1].value)
    refuses("judges", sentence_paths.shuffle_tasks, train=train, texts=texts, judges=["bridge"])
    refuses("judges", sentence_paths.shuffle_tasks, train=train, texts=texts, judges=[])


def test_classifiers_learn_from_as_many_documents_as_is_asked():
    train, texts, *_ = learnt_and_judged()
    given = {"train": train, "texts": texts, "judges": ["bbscore", "linear"]}
    few, all_of_them = (sentence_paths.shuffle_tasks(**given, learned=n) for n in (1, None))
    values = [
        [r.value for r in records if r.metric == "pairwise_accuracy"]
        for records in (few, all_of_them)
    ]
    assert values[0][:8] == values[1][:8] and values[0][8:] != values[1][8:]


def test_lengths_correlate_with_scores_of_test_texts():
    rng = np.random.default_rng(0)
    sizes = range(4, 16)
    learnt = [(f"l{n}", "train", bridges(1, n, 3, 1.0, n)[0]) for n in sizes]
    judged = [(f"j{n}", "test", bridges(1, n, 3, 1.0, 50 + n)[0]) for n in sizes]
    judged.append(("other", "train", rng.normal(size=(40, 3))))
    own, joint = sentence_paths.length(
        train=path_predictions(learnt), texts=path_predictions(judged)
    )
    sigma2 = np.mean([diffusion(z) for _, _, z in learnt])
    scores = [abs(loop_score(z, sigma2)) for _, _, z in judged[:-1]]
    assert own.value == pytest.approx(spearmanr(scores, sizes).statistic)
    assert (own.critic, joint.critic, own.units) == ("bbscore", "joint", 12)


def both_sides(split, count, seed, machine=14):
    units = []
    for i in range(count):
        human = bridges(1, 10, 3, 1.0, seed + i)[0]
        robot = bridges(1, machine, 3, 9.0, seed + 500 + i)[0]
        units += [(f"{split}{i}-human", split, human), (f"{split}{i}-robot", split, robot)]
    return units


def test_sources_have_pairs_areas_matched_lengths_and_classes(monkeypatch):
    quick = {name: sentence_paths.JUDGES[name] for name in ("bbscore", "joint")}
    monkeypatch.setattr(sentence_paths, "JUDGES", quick)
    monkeypatch.setattr(sentence_paths.sides, "CLASSIFIERS", ("linear", "linear"))
    train = path_predictions([*both_sides("train", 12, 0), *both_sides("test", 2, 90)])
    texts = path_predictions([*both_sides("test", 8, 200), *both_sides("train", 3, 300)])
    records = sentence_paths.machines(train=train, texts=texts, sources=["robot"])
    places = [(r.critic, r.metric, r.variant) for r in records]
    for judge in quick:
        assert (judge, "pairwise_accuracy", "") in places and (judge, "area", "") in places
    assert {record.units for record in records} == {8}
    found = dict(zip(places, records, strict=True))
    matched = found["bbscore", "pairwise_accuracy", "matched"]
    whole = found["bbscore", "pairwise_accuracy", ""]
    assert matched.details["mean_sentences"] == {"human": 10.0, "machine": 10.0}
    assert whole.details["mean_sentences"] == {"human": 10.0, "machine": 14.0}
    difference = found["bbscore", "pairwise_accuracy_difference", "matched"]
    assert difference.value == pytest.approx(matched.value - whole.value)
    classes = [place for place in places if place[1] == "class_accuracy"]
    assert classes == [("linear", "class_accuracy", "linear")] * 2
    assert all(record.value > 0.6 for record in records if record.metric == "class_accuracy")


def test_profiles_are_mean_estimates_of_each_source_and_of_shuffles():
    train = path_predictions(both_sides("train", 3, 0))
    judged = both_sides("test", 4, 200)
    records = sentence_paths.profiles(
        train=train, texts=path_predictions(judged), sources=["robot"]
    )
    assert [(r.system, r.metric, r.critic) for r in records] == [
        (name, "trajectory", "bbscore") for name in ("human", "shuffled", "robot")
    ]
    by_name = {record.system: record for record in records}
    human = [diffusion(z) for name, _, z in judged if name.endswith("human")]
    assert by_name["human"].value == pytest.approx(np.mean(human))
    assert by_name["human"].details["test"] == pytest.approx(human)
    assert len(by_name["robot"].details["train"]) == 3
    shuffled = [
        diffusion(generator("trajectory shuffle", name).permutation(z))
        for name, _, z in judged
        if name.endswith("human")
    ]
    assert by_name["shuffled"].value == pytest.approx(np.mean(shuffled))
    first = np.mean([np.abs(z[0]).mean() for name, _, z in judged if name.endswith("robot")])
    assert by_name["robot"].details["trajectory"]["mean"][0] == pytest.approx(first)


def test_detection_holds_test_texts_against_training_texts():
    train = path_predictions(both_sides("train", 6, 0))
    texts = path_predictions([*both_sides("test", 5, 200), *both_sides("train", 2, 400)])
    share, *distances = sentence_paths.detection(train=train, texts=texts, sources=["robot"])
    assert (share.metric, share.units, share.value) == ("own_top_two", 5, 1.0)
    assert [(r.system, r.variant) for r in distances] == [
        ("human", "human"), ("human", "robot"), ("robot", "human"), ("robot", "robot")
    ]  # fmt: skip


def rated(split, count, seed):
    """Texts of three classes that wander ever more; class 2 is the longest, too."""
    made = [
        (f"{split}{i}", split, bridges(1, 6 + 6 * (i % 3), 3, 4.0 ** (i % 3), seed + i)[0])
        for i in range(count)
    ]
    return [*made, (f"{split}-unrated", split, bridges(1, 9, 3, 1.0, 7)[0])], [
        *(i % 3 for i in range(count)),
        -1,
    ]


@pytest.mark.parametrize(("only_length", "critic"), [(False, "bbscore"), (True, "length")])
def test_rated_classes_are_told_from_features_or_from_length(only_length, critic):
    train, texts = (
        path_predictions(units, ratings=ratings)
        for units, ratings in (rated("train", 45, 0), rated("test", 30, 100))
    )
    (record,) = sentence_paths.classes(train=train, texts=texts, only_length=only_length)
    assert (record.critic, record.metric, record.units, record.excluded) == (
        critic,
        "class_accuracy",
        30,
        1,
    )
    assert record.value == 1.0 if only_length else record.value > 0.6
    assert record.details["classes"] == {"0": 10, "1": 10, "2": 10}
