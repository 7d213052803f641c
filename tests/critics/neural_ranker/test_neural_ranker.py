"""The neural ranker: its network by hand, its loss, training, and what it reads back."""

import itertools

import numpy as np
import pytest
import torch
from tiny import lm_folder

from longform.critics.neural_ranker import train
from longform.critics.neural_ranker.score import units_from_predictions
from longform.critics.neural_ranker.train import CoherenceRanker, RankerNetwork
from longform.documents import Document, Section
from longform.language_models.schedule import Schedule
from tests.refusals import refuses

PLAN = {"learning_rate": 1e-2, "batch": 4, "epochs": 2, "validations": 1}
TEXTS = ["The town lies on a river. It has many old houses. People work in fields. The hills are near.",
         "Its people work. The houses are old. A river is near the town. Fields lie on hills."]  # fmt: skip


def document(name, split, text):
    return Document(name, split, (Section(None, text),))


def test_the_value_is_the_mean_over_pairs_of_neighbours_and_the_whole():
    torch.manual_seed(0)
    network = RankerNetwork(3, 2, 4).eval()
    with torch.no_grad():
        for convolution in network.convolutions:
            convolution.weight.zero_()
            convolution.bias.fill_(0.25)  # so that each adds a quarter to every sentence
    features = torch.randn(2, 5, 3)
    found = network(features)
    for text, value in zip(features, found, strict=True):
        rows = network.sentence(text)
        whole = rows.mean(dim=0) + 0.5
        values = []
        for first, second in itertools.pairwise(rows):
            pair = network.adjacent(
                torch.cat([first, second, first * second, (first - second).abs()])
            )
            values.append(network.value(torch.cat([pair, whole])))
        assert value.item() == pytest.approx(torch.stack(values).mean().item(), abs=1e-6)


def test_the_loss_asks_that_the_original_be_above_its_shuffle():
    torch.manual_seed(0)
    network = RankerNetwork(3, 2, 4)
    rows = [
        np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32),
        np.zeros((1, 3), np.float32),
    ]
    data = {"train": (rows, [["a", "b"], ["a"]])}
    ranker = CoherenceRanker(network, data, [("block", 1)], Schedule.from_settings(PLAN))
    (loss,) = ranker.losses(
        "train", [0, 1], np.random.default_rng(0)
    )  # the second text has no other order
    own, turned = network(torch.from_numpy(np.stack([rows[0], rows[0][::-1]])))
    expected = torch.log1p(torch.exp(turned - own))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert ranker.losses("train", [1], np.random.default_rng(0)).tolist() == [0.0]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(a saved ranker's folder, the ranker as it was trained)."""
    base, scratch, folder = (
        tmp_path_factory.mktemp(name) for name in ("base", "scratch", "ranker")
    )
    lm_folder(base)
    documents = [
        document(f"{split}{i}", split, text)
        for split in ("train", "validation")
        for i, text in enumerate(TEXTS)
    ]
    given = {"base": base, "name": "r", "scratch": scratch, "splitter": "rules", "schedule": PLAN}
    sizes = {"sentence": 6, "pair": 5}
    ranker = train.fit(
        documents=documents, seed=1, tasks=[("block", 1), ("block", 2)], **sizes, **given
    )
    ranker.save(folder)
    return folder, ranker


def test_a_saved_ranker_reads_each_text_as_the_trained_one(trained):
    folder, ranker = trained
    assert ranker.network.shape == {"features": 16, "sentence": 6, "pair": 5}
    documents = [
        document("a", "test", TEXTS[0]),
        document("one", "test", "Short."),
        document("t", "train", TEXTS[1]),
    ]
    predictions = train.read(documents=documents, reader=folder, name="r", splits=["test"])
    assert predictions.unit_ids == ("a", "one") and np.isnan(predictions.arrays["text_score"][1])
    rows = ranker.frozen.encoder.encode([f"{piece}." for piece in TEXTS[0].rstrip(".").split(". ")])
    with torch.no_grad():
        value = float(ranker.network.eval()(torch.from_numpy(rows[None])))
    assert predictions.arrays["text_score"][0] == pytest.approx(value, abs=1e-6)
    assert next(unit.value for unit in units_from_predictions(predictions)) == pytest.approx(
        value, abs=1e-6
    )


def test_what_is_no_ranker_is_refused(trained, tmp_path):
    refuses("no ranker.json", train.open_ranker, tmp_path)
    (tmp_path / "ranker.json").write_text('{"shape": {}, "splitter": "rules"}')
    refuses("which is not there", train.open_ranker, tmp_path)
    given = {
        "base": tmp_path,
        "name": "r",
        "seed": 1,
        "scratch": tmp_path,
        "splitter": "rules",
        "schedule": PLAN,
    }
    for tasks in ([], [("spiral", 1)], [("block", 0)]):
        refuses("ranker tasks", train.fit, documents=[], tasks=tasks, **given)
