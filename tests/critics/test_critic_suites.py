"""Suites: a cell is what the single critic says, heads are averaged row by row, tests go document by document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longform.critic import Tally
from longform.critics.bbscore.score import LatentPath, path
from longform.critics.bbscore.sources import families_of
from longform.critics.bbscore.tasks import GlobalDiscrimination, ShuffleAUC
from longform.documents import BadInput
from longform.evaluation.bridge_suites import Limited, shuffle_tasks
from longform.evaluation.critic_suites import OverHeads, Suite, mirrored
from longform.evaluation.grid_suites import grid_shuffles, grid_sources
from longform.evaluation.grid_suites import units_from_readout as grids
from longform.evaluation.grid_tasks import scorer
from longform.evaluation.source_suites import source_profiles, source_tasks
from longform.text.entity_grids import grid_from_mentions, grids_to_readout
from longform.text.permutations import Discrimination
from tests.oracles.bridge_loops import bridges


def two_heads(count: int, seed: int) -> list[LatentPath]:
    """One head sees true bridges, the other noise."""
    clean = bridges(count, 14, 4, 1.0, seed)
    noise = np.random.default_rng(seed).normal(size=clean.shape)
    made = []
    for i, (z, e) in enumerate(zip(clean, noise, strict=True)):
        made.append(replace(path(z, f"{seed}-{i}"), heads={"good": z, "bad": e}))
    return made


def test_the_mean_over_heads_is_the_mean_of_the_single_critics():
    train, test = two_heads(20, 1), two_heads(15, 2)
    both = OverHeads(GlobalDiscrimination(), ("good", "bad")).fit(train)
    singles = []
    for head in ("good", "bad"):
        alone = GlobalDiscrimination().fit([u.under(head) for u in train])
        singles.append(alone.score(alone.tally([u.under(head) for u in test])))
    tally = both.tally(test)
    assert both.scores(tally) == pytest.approx(singles) and both.score(tally) == pytest.approx(np.mean(singles))
    assert both.part(tally, "bad").columns == ("wins", "pairs", "negative", "excluded")
    with pytest.raises(BadInput, match="distinct names"):
        OverHeads(GlobalDiscrimination(), ("good", "good"))


def test_every_cell_of_a_suite_is_what_its_critic_alone_says():
    train, test = two_heads(20, 3), two_heads(15, 4)
    suite = shuffle_tasks(judges=["bbscore", "joint"], blocks=[1, 5], windows=[[1, 2, 3]], areas=True).fit(train)
    found = suite.describe(test)
    assert list(found["cells"]) == [
        "b1-bbscore", "b5-bbscore", "w123-bbscore", "b1-joint", "b5-joint", "w123-joint", "auc_b1", "auc_b5"
    ]  # fmt: skip
    alone, area = GlobalDiscrimination(block=5).fit(train), ShuffleAUC(block=5).fit(train)
    assert found["cells"]["b5-bbscore"]["value"] == alone.score(alone.tally(test))
    assert found["cells"]["auc_b5"]["value"] == area.score(area.tally(test))
    assert found["cells"]["b5-bbscore"]["totals"]["pairs"] == alone.tally(test).total("pairs")
    assert suite.score(suite.tally(test)) == found["cells"]["b1-bbscore"]["value"]
    test_of = {(t["low"], t["high"]): t for t in found["tests"]}
    gap = found["cells"]["b1-joint"]["value"] - found["cells"]["b1-bbscore"]["value"]
    assert test_of["b1-bbscore", "b1-joint"]["difference"] == pytest.approx(gap) and gap > 0.05
    assert test_of["b1-bbscore", "b1-joint"]["p_value"] < 0.01 and test_of["b1-bbscore", "b1-joint"]["paired"]


def test_chance_is_rejected_for_bridges_and_not_for_noise():
    train, test = two_heads(20, 5), two_heads(40, 6)
    cells = [
        shuffle_tasks(judges=["joint"], blocks=[1], windows=[], heads=[head]).fit(train).describe(test)["cells"]
        for head in ("good", "bad")
    ]
    p = [found["b1-joint"]["comparison"]["p_value"] for found in cells]
    assert p[0] < 0.01 < p[1]


def test_heads_have_their_own_intervals_and_a_spread():
    train, test = two_heads(10, 7), two_heads(12, 8)
    cell = shuffle_tasks(blocks=[1], windows=[], heads=["good", "bad"]).fit(train).describe(test)["cells"]["b1-bbscore"]
    values = [cell["heads"][head]["value"] for head in ("good", "bad")]
    assert cell["value"] == pytest.approx(np.mean(values)) and cell["spread"] == pytest.approx(np.std(values, ddof=1))
    assert cell["heads"]["good"]["low"] <= values[0] <= cell["heads"]["good"]["high"]


def test_a_mirror_exchanges_wins_and_losses_and_is_its_own_inverse():
    tally = Tally(("a", "b"), (":wins", ":pairs", ":human", ":machine"), np.array([[1.0, 4, 5, 6], [2, 2, 7, 8]]))
    assert mirrored(tally).values.tolist() == [[3, 4, 6, 5], [0, 2, 8, 7]]
    assert mirrored(mirrored(tally)).values.tolist() == tally.values.tolist()
    assert mirrored(Tally(("a",), (":texts",), np.ones((1, 1)))) is None


def test_long_documents_are_excluded_and_counted_and_classifiers_learn_from_so_many():
    long, short = path(np.cumsum(np.ones((30, 4)), 0), "long"), two_heads(6, 9)
    kept = Limited(GlobalDiscrimination(), longest=14).fit([*short, long])
    assert kept.critic.features.sigma2 == GlobalDiscrimination().fit(short).features.sigma2
    assert kept.tally([*short, long]).column("excluded").tolist() == [0] * 6 + [1]
    few = Limited(GlobalDiscrimination(classifier="linear"), learned=3).fit(short)
    all_of_three = GlobalDiscrimination(classifier="linear").fit(short[:3])
    assert few.critic.judge.weights.tolist() == all_of_three.judge.weights.tolist()


def test_broken_documents_are_excluded_from_every_cell_and_alone_give_nan():
    train = two_heads(8, 10)
    broken = [path(np.eye(2, 4), "two"), path(np.zeros((0, 4)), "none"), path(np.full((9, 4), np.nan), "nan")]
    same = path(np.ones((15, 4)), "same")
    suite = shuffle_tasks(judges=["bbscore", "joint"], areas=True).fit([*train, *broken, same])
    cells = suite.describe([*train, *broken, same])["cells"]
    for cell in (cells[name] for name in cells if name.startswith(("b1-", "w"))):
        assert cell["units"] == 8 and cell["excluded"] == 4
    assert all(np.isnan(cell["value"]) for cell in suite.describe(broken)["cells"].values())


def test_suites_refuse_unknown_judges_and_claims_about_nothing():
    with pytest.raises(BadInput, match="judges"):
        shuffle_tasks(judges=["oracle"])
    for setting in ({"index": "best"}, {"time": "words"}):
        with pytest.raises(BadInput, match="mend the row"):
            shuffle_tasks(**setting)
    with pytest.raises(BadInput, match="claims and chance name"):
        Suite({"a": OverHeads(GlobalDiscrimination())}, [("a", "b")])
    for make in (source_tasks, source_profiles):
        with pytest.raises(BadInput, match="no source"):
            make(sources=[])


def grid_texts(count: int, sides: tuple[str, ...] = ()) -> list:
    """Entities that come in runs: a shuffle breaks the runs; machine sides have them broken."""
    made = []
    for i in range(count):
        rng = np.random.default_rng(i)
        mentions = [(s, f"e{i}{s // 3}", "S") for s in range(15)] + [(s, f"o{i}{s // 4}", "O") for s in range(15)]
        for side in sides or ("",):
            order = rng.permutation(15) if side == "robot" else np.arange(15)
            moved = [(int(order[s]), entity, role) for s, entity, role in mentions]
            made.append(grid_from_mentions(f"d{i}-{side}" if side else f"d{i}", "test", 15, moved))
    return made


@pytest.mark.parametrize("kind", ["transitions", "ranking"])
def test_grid_cells_are_the_single_tasks_and_the_joint_set_is_their_union(kind):
    train, test = grid_texts(20), grid_texts(30)[20:]
    cells = grid_shuffles(kind=kind).fit(train).describe(test)["cells"]
    alone = Discrimination(scorer(kind), "window", 2).fit(train)
    assert cells[f"w2-grid_{kind}"]["value"] == alone.score(alone.tally(test))
    totals = [cells[f"w{w}-grid_{kind}"]["totals"] for w in (1, 2, 3)]
    joint = cells[f"w123-grid_{kind}"]
    assert joint["totals"]["pairs"] == sum(t["pairs"] for t in totals)
    assert joint["value"] == pytest.approx(sum(t["wins"] for t in totals) / joint["totals"]["pairs"])
    assert cells[f"b1-grid_{kind}"]["value"] > 0.9


def test_grids_prefer_the_human_side_and_read_families_from_their_ids():
    units = grids(grids_to_readout(grid_texts(16, ("human", "robot"))))
    assert [u.unit_id for u in units] == [f"d{i}" for i in range(16)]
    found = grid_sources(kind="ranking", sources=["robot"]).fit(units).describe(units)["cells"]["robot-grid_ranking"]
    assert found["value"] > 0.9 and found["comparison"]["p_value"] < 0.01


def test_source_cells_cover_every_judge():
    rng = np.random.default_rng(0)
    human = bridges(24, 16, 4, 1.0, 1)
    robots = {"near": human + 0.1 * rng.normal(size=human.shape), "far": human + 2 * rng.normal(size=human.shape)}
    sides = {"human": human, **robots}
    units = families_of([path(z, f"{i}-{side}") for side, rows in sides.items() for i, z in enumerate(rows)])
    found = source_tasks(sources=["near", "far"]).fit(units[:12]).describe(units[12:])
    assert {name.split("-")[1] for name in found["cells"]} == {
        "bbscore", "three_layer", "linear", "joint", "matched", "area", "general_three_layer", "general_linear"
    }  # fmt: skip
    assert found["cells"]["far-bbscore"]["value"] > 0.9 and found["cells"]["far-area"]["value"] > 0.8
    profiles = source_profiles(sources=["near", "far"]).fit(units[:12]).describe(units[12:])["cells"]
    assert profiles["shuffled"]["value"] > profiles["human"]["value"] < profiles["far"]["value"]
