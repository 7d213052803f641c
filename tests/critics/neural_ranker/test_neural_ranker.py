"""The neural ranker: what its parts see, and that it learns to prefer an order."""

import shutil

import numpy as np
import torch

from longform.core.resampling import generator
from longform.core.text.permutations import shuffled_orders
from longform.critics.neural_ranker import train
from longform.critics.neural_ranker.train import CoherenceRanker, Features, RankerNetwork, TrainedRanker
from longform.language_models.lightning import Schedule
from longform.language_models.sentence_features import ENCODER, KeptFeatures, open_encoder
from tests.refusals import refuses
from tests.tiny import lm_folder

SHAPE = {"features": 6, "sentence": 8, "pair": 8}


def walks(count: int, name: str) -> Features:
    """Texts whose features drift: neighbours are alike, and the first dimension rises."""
    rows = []
    for i in range(count):
        rng = generator("walk", name, i)
        steps = rng.normal(size=(8, 6)) * 0.3
        steps[:, 0] += 0.5
        rows.append(np.cumsum(steps, axis=0).astype(np.float32))
    return rows, [[str(k) for k in range(8)] for _ in rows]


def test_scores_do_not_depend_on_the_batch_and_a_text_without_shuffles_gives_a_zero():
    network = RankerNetwork(**SHAPE).eval()
    features = torch.randn(3, 7, 6, generator=torch.Generator().manual_seed(0))
    alone = torch.cat([network(features[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(network(features), alone)
    data = {"train": ([np.zeros((1, 6), dtype=np.float32)], [["only"]])}
    ranker = CoherenceRanker(RankerNetwork(**SHAPE), data, [("block", 1)], Schedule(1e-3, 1, 1))
    loss = ranker.losses("train", [0], generator("x"))
    assert loss.sum() == 0 and loss.requires_grad


def test_it_learns_to_put_originals_above_unseen_shuffles():
    torch.manual_seed(0)
    data = {"train": walks(40, "train"), "validation": walks(4, "validation")}
    plan = Schedule(learning_rate=1e-2, batch=8, epochs=1)
    ranker = CoherenceRanker(RankerNetwork(**SHAPE), data, [("block", 1), ("window", 1)][:1], plan)
    optimiser = torch.optim.Adam(ranker.parameters(), lr=1e-2)
    rng = generator("train ranker")
    for _ in range(40):
        optimiser.zero_grad()
        ranker.losses("train", range(40), rng).mean().backward()
        optimiser.step()
    wins = []
    for rows in walks(20, "test")[0]:
        orders = shuffled_orders("block", 1, range(8), 5, generator("test"))
        everything = np.concatenate([np.arange(len(rows))[None], orders])
        scores = ranker.network.eval()(torch.from_numpy(rows[everything])).detach().numpy()
        wins += (scores[0] > scores[1:]).tolist()
    assert np.mean(wins) > 0.9


def test_it_takes_its_encoder_along_and_misses_it_when_it_is_gone(tmp_path):
    base, folder = lm_folder(tmp_path / "encoder"), tmp_path / "ranker"
    folder.mkdir()
    encoder = open_encoder(base)
    known = encoder.encode(["A cow sees a river."])
    network = RankerNetwork(encoder.dims, sentence=8, pair=8).eval()
    TrainedRanker(network, KeptFeatures(base, encoder), "rules").save(folder)
    shutil.rmtree(base)
    back = train.open_ranker(folder)
    features = torch.randn(1, 5, encoder.dims)
    torch.testing.assert_close(back.network(features), network(features))
    np.testing.assert_array_equal(back.frozen.encoder.encode(["A cow sees a river."]), known)
    shutil.rmtree(folder / ENCODER)
    refuses("not there", train.open_ranker, folder)
    refuses(r"no ranker\.json", train.open_ranker, tmp_path)


def test_unknown_tasks_are_named(tmp_path):
    given = {"documents": [], "base": tmp_path, "name": "r", "seed": 1, "scratch": tmp_path, "splitter": "rules"}
    refuses("allowed are", train.fit, **given, tasks=[["spiral", 1]], schedule={})
