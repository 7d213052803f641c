"""The exhibits of sheng2024 from a few records made by hand."""

import numpy as np
import pytest

from longform.results import Record, Results
from longform_lab.reporting.verdicts import CONTRADICTED, HOLDS, UNTESTABLE
from longform_lab.reports import with_derived
from tests.reporting.papers.exhibits import at, draw, judged, printed, save

BLOCKS = [f"block_{size}" for size in (1, 2, 5, 10)]
WINDOWS = ["window_1_2_3", "window_1", "window_2", "window_3"]
EXPECTED = printed("sheng2024")
ROC = {"false_positive": [0.0, 0.5, 1.0], "true_positive": [0.0, 0.8, 1.0]}


def record(critic, metric, value, **more):
    fields = {
        "corpus": "wiki",
        "system": "data",
        "units": 60,
        "low": value - 0.02,
        "high": value + 0.02,
    }
    return Record(critic, metric, value=value, **{**fields, **more})


def shuffles(raw=0.8, classified=0.95):
    found = []
    for critic, value in (("bbscore", raw), ("three_layer", classified), ("grid_ranking", 0.6)):
        given = {"value": value, "details": {"pairs": 120.0}}
        found += [
            record(critic, "pairwise_accuracy", task=task, **given) for task in (*BLOCKS, *WINDOWS)
        ]
    return [*found, record("bbscore", "pairwise_accuracy", 0.7, task="block_1", variant="paper_0")]


def areas():
    sweep = {"sigma2": [0.1, 1.0, 10.0], "auc": [0.6, 0.8, 0.7], "accuracy": [0.9, 0.9, 0.9]}
    details = {"roc": ROC, "sweep": sweep, "sigma2": 0.12}
    own = [record("bbscore", "area", 0.9, task=task, details=details) for task in BLOCKS]
    texts = {"corpus": "completions", "system": "greedy"}
    return [*own, record("bbscore", "area", 0.7, details={"roc": ROC}, **texts)]


def writers():
    texts = {"corpus": "completions", "system": "greedy"}
    gaps = {
        ("human", "human"): 0.1,
        ("human", "greedy"): 0.5,
        ("greedy", "human"): 0.4,
        ("greedy", "greedy"): 0.2,
    }
    distances = [
        record(
            "bbscore",
            "distance",
            gap,
            corpus="completions",
            system=one,
            variant=other,
            details={"scaled": 1 + gap},
        )
        for (one, other), gap in gaps.items()
    ]
    paths = {"human": 1.0, "shuffled": 0.1, "greedy": 0.8}
    trajectories = [
        record("bbscore", "trajectory", 1.0, corpus="completions", system=name,
               details={"trajectory": {"mean": np.linspace(0, top, 40).tolist(), "spread": [0.1] * 40}})
        for name, top in paths.items()
    ]  # fmt: skip
    return [record("bbscore", "pairwise_accuracy", 0.7, **texts),
            record("three_layer", "class_accuracy", 0.8, variant="three_layer", reference=0.5, **texts),
            record("bbscore", "own_top_two", 1.0, corpus="completions", system=""), *distances, *trajectories]  # fmt: skip


MEASURED = Results([*shuffles(), *areas(), *writers(),
                    record("bbscore", "class_accuracy", 0.5, variant="three_layer", corpus="rated_wiki",
                           reference=0.4),
                    record("bbscore", "length_correlation", 0.3), record("joint", "length_correlation", -0.1)])  # fmt: skip
RESULTS = with_derived("sheng2024", MEASURED)
NAMES = [*(f"table_{n}" for n in range(1, 7)), "length", *(f"figure_{n}" for n in (4, 5, 6, 7, 9))]


@pytest.mark.parametrize("name", NAMES)
def test_every_exhibit_is_saved_with_its_numbers(name, tmp_path):
    save(EXPECTED, name, RESULTS, tmp_path)


def test_ours_and_printed_numbers_meet_by_place_and_in_the_ledger(tmp_path):
    cells = at(draw(EXPECTED, "table_2", RESULTS, tmp_path))
    assert cells["BBScore", "blocks of 5"].printed == 79.36
    assert cells["BBScore", "blocks of 5"].value == 80
    assert cells["entity grid, ranking", "blocks of 10"].printed == 64.65
    assert cells["unified coherence (printed)", "blocks of 1"].printed == 99.73
    assert cells["BBScore, paper 0", "blocks of 1"].detail
    assert cells["BBScore, paper 0", "blocks of 1"].printed is None
    pairs = {c.column: c for c in draw(EXPECTED, "table_1", RESULTS, tmp_path).cells}
    assert (pairs["1 window"].value, pairs["1 window"].printed) == (120, 6255)
    lines = {(line.table, line.number): line for line in EXPECTED.ledger(RESULTS, tmp_path)}
    assert (
        lines["table_2", "bbscore.test.b1"].ours == 80 and lines["table_1", "test.w123"].ours == 120
    )
    train = lines["table_2", "bbscore.train.b1"]
    assert train.ours is None and train.verdict == "not measured here" and "training" in train.cause
    assert lines["table_4", "bbscore.test.gpt2_xl"].verdict == "not measured here"
    assert lines["figure_6", "sources_in_their_own_top_two"].ours == 6
    assert not [name for _, name in lines if "learning_rate" in name], "settings are no results"


def test_a_claim_is_one_line_and_counts_no_ablation(tmp_path):
    other = [
        record("bbscore", "pairwise_accuracy", 0.99, task=t, variant="likelihood") for t in BLOCKS
    ]
    found = judged(EXPECTED, Results([*RESULTS, *other]), tmp_path)
    beats = found["classifier_beats_score"]
    assert beats.verdict == HOLDS and len(beats.rows) == 8
    swapped = judged(EXPECTED, Results(shuffles(0.95, 0.8)), tmp_path)
    assert swapped[EXPECTED["claims"][0]["id"]].verdict == CONTRADICTED
    assert (
        found["estimated_variance_is_good"].verdict
        == found["rated_classes_can_be_told"].verdict
        == UNTESTABLE
    )


def test_writers_in_their_own_top_two_are_compared_with_chance(tmp_path):
    (chance,) = RESULTS.where(metric="own_top_two_by_chance")
    assert chance.value == 1.0, "two writers are always in their own top two"
    many = [
        record("bbscore", "distance", 0.1, corpus="c", system=name, variant="a")
        for name in "abcdefgh"
    ]
    top = Results([*many, record("bbscore", "own_top_two", 0.4, corpus="c", system="")])
    recognised = judged(EXPECTED, with_derived("sheng2024", top), tmp_path)[
        "writers_are_recognised"
    ]
    assert recognised.rows[0].contrast.value == pytest.approx(0.4 - 2 / 8)


def test_classes_stand_beside_the_commonest_one_and_means_get_surer(tmp_path):
    cells = {
        place: c.value for place, c in at(draw(EXPECTED, "table_6", RESULTS, tmp_path)).items()
    }
    assert cells["commonest class", "rated wiki"] == 40
    assert cells["BBScore, three-layer classifier", "rated wiki"] == 50
    assert ("commonest class", "completions") not in cells
    cells = draw(EXPECTED, "figure_7", RESULTS, tmp_path).cells
    assert cells[0].high - cells[0].value == pytest.approx(1.96 * 0.1 / 60**0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("trainings", "shown"), [(1, "that of one training"), (3, "the mean of 3 trainings")]
)
def test_a_roc_curve_says_of_how_many_trainings_it_is(trainings, shown, tmp_path):
    mean = record("bbscore", "area", 0.9, task="block_1", variant="paper", details={"trainings": 3})
    curves = []
    for seed in range(1, trainings + 1):
        fields = {"task": "block_1", "variant": "paper", "details": {"roc": ROC}}
        curves.append(record("bbscore", "area", 0.9, seed=seed, **fields))
    figure = draw(EXPECTED, "figure_4", Results([mean, *curves]), tmp_path)
    assert f"a curve is {shown} with the area" in figure.caption
