"""Score rows: the old shape of the evaluation's records, and which units a readout holds."""

import numpy as np
import pytest
from samples.chains import pronoun_chains

from longform.critic import Critic, estimate
from longform.critics.bbscore.bridge import path
from longform.critics.perplexity.score import LogProbs
from longform.documents import BadInput, Chain, Readout, chains_to_readout
from longform.evaluation import rows, rows_sheng2024
from longform.evaluation.human_vs_machine import Sides, sides_of
from longform.evaluation.order_discrimination import order_discrimination
from longform.resampling import generator
from longform.text.entity_grids import grid_from_mentions, grids_to_readout
from longform.text.permutations import PermutedDocument, ShuffleTask
from longform.text.token_texts import TokenText, texts_to_readout
from tests.oracles.bridge_loops import bridges

NAMES = ["t", "u", "x/original/0", "x/block_1/0", "x/block_1/1", "y/original/0", "y/block_1/0"]
SPLITS = ("train", "train", *["test"] * 5)


def chains():
    orders = ["abc", "abc", "abc", "cba", "bac", "abc", "acb"]
    return chains_to_readout([Chain(n, s, tuple(row)) for n, s, row in zip(NAMES, SPLITS, orders, strict=True)])


def test_a_readout_says_what_its_units_are():
    assert all(isinstance(unit, PermutedDocument) for unit in rows.units_from_readout(chains()))
    grids = [
        grid_from_mentions(f"d{i}-{side}", "test", 3, [(0, "a", "S")]) for i in range(2) for side in ("human", "robot")
    ]
    assert all(isinstance(unit, Sides) for unit in rows.units_from_readout(grids_to_readout(grids)))
    arrays = {"token_logprob": np.array([-1.0, -2.0]), "token_logprob_lengths": np.array([2])}
    assert isinstance(rows.units_from_readout(Readout(("a",), ("test",), arrays))[0], LogProbs)
    words = TokenText("a", "test", np.array([1, 2]), np.zeros(0, dtype=np.int64))
    assert isinstance(rows.units_from_readout(texts_to_readout([words]))[0], TokenText)


def test_written_orders_are_judged_by_the_critics_that_a_row_names():
    units = rows.units_from_readout(chains())
    row = rows.accuracy(real=chains(), models={"titles": {"delta": 1}, "mentions": {}})
    assert isinstance(row, Critic)
    fitted = row.fit([unit for unit in units if unit.split == "train"])
    test = [unit for unit in units if unit.split == "test"]
    assert fitted.score(fitted.tally(test)) == 1
    told = fitted.describe(test)["models"]["titles"]["tasks"]["block_1"]
    assert (told["pairs"], told["value"], told["ties"]) == (3, 1, 0)
    assert estimate(fitted, fitted.tally(test), generator("row"), 20).signature.startswith("Row(")
    with pytest.raises(BadInput, match="allowed are"):
        rows.accuracy(real=chains(), models={"spiral": {}})


def two_heads(count, seed):
    from dataclasses import replace

    clean = bridges(count, 14, 4, 1.0, seed)
    noise = np.random.default_rng(seed).normal(size=clean.shape)
    return [
        replace(path(z, f"{seed}-{i}"), heads={"good": z, "bad": e})
        for i, (z, e) in enumerate(zip(clean, noise, strict=True))
    ]


def test_cells_of_a_suite_are_the_records():
    train, test = two_heads(16, 3), two_heads(12, 4)
    row = rows_sheng2024.shuffle_tasks(
        judges=["bbscore", "joint"], blocks=[1], windows=[[1, 2, 3]], areas=True, heads=["good", "bad"], longest=14
    ).fit(train)
    found = row.describe(test)
    assert list(found["cells"]) == ["b1-bbscore", "w123-bbscore", "b1-joint", "w123-joint", "auc_b1"]
    assert found["cells"]["b1-bbscore"]["value"] == row.score(row.tally(test))
    assert list(found["cells"]["b1-joint"]["heads"]) == ["good", "bad"]
    assert {(one["low"], one["high"]) for one in found["tests"]} == {
        ("b1-bbscore", "b1-joint"),
        ("w123-bbscore", "w123-joint"),
    }
    assert len(found["cells"]["auc_b1"]["details"]["sweep"]["auc"]) == 65
    drawn = ShuffleTask(draws=("block shuffle", 0))
    from longform.critics.bbscore.joint import JointBridgeCritic

    alone = order_discrimination(
        {"j": JointBridgeCritic()}, [u.under("good") for u in test], [drawn], train=[u.under("good") for u in train]
    )
    assert found["cells"]["b1-joint"]["heads"]["good"]["value"] == alone[0].value


def test_every_source_row_has_its_cells():
    rng = np.random.default_rng(0)
    human = bridges(24, 16, 4, 1.0, 1)
    drawn = {
        "human": human,
        "near": human + 0.1 * rng.normal(size=human.shape),
        "far": human + 2 * rng.normal(size=human.shape),
    }
    units = sides_of([path(z, f"{i}-{side}") for side, paths in drawn.items() for i, z in enumerate(paths)])
    train, test, sources = units[:12], units[12:], ["near", "far"]
    found = rows_sheng2024.source_tasks(sources=sources).fit(train).describe(test)
    kinds = ("bbscore", "three_layer", "linear", "joint", "matched", "area", "general_three_layer", "general_linear")
    assert set(found["cells"]) == {f"{source}-{kind}" for source in sources for kind in kinds}
    assert found["cells"]["far-bbscore"]["value"] > 0.9 and len(found["tests"]) == 8
    profiles = rows_sheng2024.source_profiles(sources=sources).fit(train).describe(test)["cells"]
    assert profiles["shuffled"]["value"] > profiles["human"]["value"] < profiles["far"]["value"]
    matrix = rows_sheng2024.source_detection(sources=sources).fit(train).describe(test)
    assert np.array(matrix["distances"]).shape == (3, 3) and matrix["sources"] == ["human", *sources]


def test_doses_are_compared_with_the_sound_text():
    dosed = [
        Chain(f"d{i}@{d}", "test", c.symbols)
        for d in ("0", "0.5")
        for i, c in enumerate(pronoun_chains("dose", 25, float(d)))
    ]
    row = rows.mention_doses().fit(pronoun_chains("real", 60))
    zero, half = row.describe(dosed)["doses"]
    assert zero["comparison"] is None and half["comparison"]["paired"] and half["comparison"]["p_value"] < 0.01
    assert half["comparison"]["difference"] == pytest.approx(half["value"] - zero["value"])
    assert row.describe([Chain("a", "test", ("x",))]) == {}
