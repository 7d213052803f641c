"""Every critic and metric at written-out orders: what a readout holds decides how it is read, and its own critics judge it."""

import numpy as np
import pytest

from longform.documents import BadInput, Chain, Readout, chains_to_readout
from longform.evaluation import written_orders as critics
from longform.evaluation import written_orders_metrics as metrics
from longform.text.entity_grids import Grid, grids_to_readout

NAMES = ["t", "u", "x/original/0", "x/block_1/0", "x/block_1/1", "y/original/0", "y/block_1/0"]
SPLITS = ("train", "train", *["test"] * 5)


def chains():
    rows = ["abc", "abc", "abc", "cba", "bac", "abc", "acb"]
    return chains_to_readout([Chain(n, s, tuple(row)) for n, s, row in zip(NAMES, SPLITS, rows, strict=True)])


def readout(arrays):
    return Readout(tuple(NAMES), SPLITS, arrays)


def judged(module, given, **settings):
    units = module.units_from_readout(given)
    extra = {"real": given} if module is metrics else {}
    critic = module.accuracy(**extra, **settings).fit([u for u in units if u.split == "train"])
    test = [u for u in units if u.split == "test"]
    return critic.score(critic.tally(test)), critic.describe(test)


def test_a_chain_critic_prefers_the_order_that_training_made():
    value, details = judged(critics, chains(), models={"titles": {"delta": 1}, "mentions": {}})
    assert value == 1
    assert details["models"]["titles"]["tasks"]["block_1"]["pairs"] == 3


def test_likelihood_counts_as_a_cost_per_token():
    rows = [[-1.0], [-1.0], [-1.0, -1.0], [-2.0], [-0.5], [-1.0], [-3.0]]
    flat = np.array([v for row in rows for v in row], dtype=np.float32)
    arrays = {"token_logprob": flat, "token_logprob_lengths": np.array([len(r) for r in rows])}
    assert judged(metrics, readout(arrays), models={"likelihood": {}})[0] == pytest.approx(2 / 3)


def test_given_scores_are_compared_as_they_are_and_nan_is_excluded():
    arrays = {"text_score": np.array([0, 0, 1, 2, 0, np.nan, 1])}
    value, details = judged(metrics, readout(arrays), models={"ranker": {}})
    assert value == 0.5 and details["models"]["ranker"]["tasks"]["block_1"]["excluded"] == 1


def test_bridges_prefer_the_straight_path():
    rng = np.random.default_rng(0)
    line = np.linspace(0, 1, 8)[:, None] * np.ones(2)
    paths = [line + 0.01 * rng.normal(size=line.shape) for _ in NAMES]
    for i in (3, 4, 6):
        paths[i] = paths[i][[0, 4, 2, 6, 1, 5, 3, 7]]
    lengths = np.full(len(NAMES), 8)
    arrays = {"latents": np.concatenate(paths), "latents_lengths": lengths}
    for name in ("text_ids", "token_counts"):
        arrays |= {name: np.tile(np.arange(8), len(NAMES)), f"{name}_lengths": lengths}
    value, details = judged(critics, readout(arrays), models={"joint_bridge": {}, "bridge": {"absolute": False}})
    assert value == 1 and details["models"]["bridge"]["tasks"]["block_1"]["value"] == 1


def test_grids_are_read_by_critics_and_metrics_alike():
    coherent = np.array([[0, 3], [0, 3], [3, 0], [3, 0]], dtype=np.uint8)
    cells = [coherent if i not in (3, 4, 6) else coherent[[0, 2, 1, 3]] for i in range(len(NAMES))]
    grids = [Grid(n, s, ("king", "crown"), c) for n, s, c in zip(NAMES, SPLITS, cells, strict=True)]
    assert judged(critics, grids_to_readout(grids), models={"transitions": {"history": 1}})[0] == 1
    assert judged(metrics, grids_to_readout(grids), models={"overlap": {}})[0] == 1


def test_a_readout_that_nothing_reads_and_an_unknown_critic_are_named():
    for module in (critics, metrics):
        with pytest.raises(BadInput, match="order pairs"):
            module.units_from_readout(readout({"other": np.zeros(7)}))
    with pytest.raises(BadInput, match="allowed are"):
        critics.accuracy(models={"spiral": {}})
    with pytest.raises(BadInput, match="allowed are"):
        metrics.accuracy(real=chains(), models={"spiral": {}})
