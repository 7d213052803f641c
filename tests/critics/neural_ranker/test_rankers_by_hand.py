"""What a ranker is trained on and reads, with stand-ins for its encoder and its trainer."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.critics.neural_ranker import train
from longform.critics.neural_ranker.train import CoherenceRanker
from longform.documents import Document, Section
from longform.language_models.schedule import Schedule
from longform.statistics.random_streams import derived_seed
from tests.refusals import refuses


class Value(torch.nn.Module):
    """A text is worth the first feature of its first sentence."""

    def forward(self, features):
        return features[:, 0, 0]


def ranker(data, tasks=(("block", 1), ("window", 2))):
    return CoherenceRanker(Value(), data, tasks, Schedule(0.5, 2, 3))


FEATURES = [np.array([[float(i)], [float(i) - 2.0]], dtype=np.float32) for i in range(3)]


def test_a_loss_is_that_of_the_shuffle_against_the_original(monkeypatch):
    """Worth 0 before and -2 after a swap, 2 and 0 for the last; the middle text has no other order."""
    asked = []

    def shuffled_orders(task, size, text, shuffles, rng):
        asked.append((task, size, text, shuffles))
        return np.array([[1, 0]]) if text != "b" else np.zeros((0, 2), dtype=int)

    draws = SimpleNamespace(integers=lambda count: len(asked) % count)
    monkeypatch.setattr(train, "shuffled_orders", shuffled_orders)
    one = ranker({"train": (FEATURES, ["a", "b", "c"])})
    losses = one.losses("train", [0, 1, 2], draws)
    assert losses.tolist() == pytest.approx([math.log(1 + math.exp(-2.0))] * 2)
    assert asked == [("block", 1, "a", 1), ("window", 2, "b", 1), ("block", 1, "c", 1)]
    nothing = one.losses("train", [1], draws)
    assert nothing.tolist() == [0.0] and nothing.requires_grad


def test_validation_shuffles_alike_in_every_round(monkeypatch):
    one, logged, streams = ranker({"train": (FEATURES, "abc")}), [], []
    monkeypatch.setattr(
        one,
        "losses",
        lambda split, numbers, rng: (
            streams.append((split, numbers, rng)) or torch.tensor([1.0, 4.0])
        ),
    )
    monkeypatch.setattr(
        one, "log", lambda name, value, **more: logged.append((name, float(value), more))
    )
    monkeypatch.setattr(train, "generator", lambda *names: names)
    batch = {"labels": torch.tensor([0, 2])}
    one.validation_step(batch, 7)
    assert streams == [("validation", [0, 2], ("ranker validation", 7))]
    torch.manual_seed(3)
    assert float(one.training_step(batch, 0)) == 2.5
    torch.manual_seed(3)
    drawn = np.random.Generator(np.random.PCG64(int(torch.randint(2**62, (1,)))))
    assert streams[1][:2] == ("train", [0, 2]) and streams[1][2].random() == drawn.random()
    assert logged == [("validation_loss", 2.5, {"batch_size": 2}), ("loss", 2.5, {})]


def test_the_rate_runs_over_the_updates_of_the_training_documents(monkeypatch):
    given = []
    monkeypatch.setattr(train, "adamw", lambda *rest: given.append(rest))
    one = ranker({"train": (FEATURES, "abc"), "validation": (FEATURES[:1], "a")})
    one.configure_optimizers()
    assert given == [(one.network, one.plan, one.plan.updates(3))]


def document(name, split, text="One. Two."):
    return Document(name, split, (Section(None, text),))


@pytest.fixture
def fitted(monkeypatch, tmp_path):
    """Fits with an encoder of so many numbers a sentence; gives what the trainer was told."""
    calls = {"encoded": []}

    def fit(documents, dims=6, **settings):
        class Encoder:
            def encode(self, sentences, label):
                calls["encoded"].append((list(sentences), label))
                return np.ones((len(sentences), dims), dtype=np.float32)

        def fit_module(module, items, collate, plan, **told):
            calls.update(module=module, items=items, collate=collate, plan=plan, told=told)

        monkeypatch.setattr(train, "open_encoder", lambda base: Encoder())
        monkeypatch.setattr(train, "fit_module", fit_module)
        monkeypatch.setattr(
            train, "KeptFeatures", lambda base, encoder: (base, type(encoder).__name__)
        )
        schedule = {"learning_rate": 0.5, "batch": 2, "epochs": 3}
        given = {"base": "b", "name": "n", "seed": 7, "scratch": tmp_path, "splitter": "full_stops",
                 "tasks": [("block", 1)], "schedule": schedule}  # fmt: skip
        return train.fit(documents=documents, **given | settings), calls

    return fit


def test_each_split_is_read_in_sentences_and_trained_by_number(fitted, tmp_path):
    made, calls = fitted(
        [document("a", "train"), document("b", "validation", "Three."), document("c", "test")]
    )
    assert calls["encoded"] == [(["One.", "Two."], "train n"), (["Three."], "train n")]
    assert calls["items"] == {"train": range(1), "validation": range(1)}
    assert calls["collate"] is train.numbers
    assert calls["told"] == {"seed": 7, "name": "n", "scratch": tmp_path}
    assert calls["plan"] == Schedule(0.5, 2, 3) and calls["module"].tasks == [("block", 1)]
    assert made.network is calls["module"].network and made.network.shape == {
        "features": 6,
        "sentence": 64,
        "pair": 32,
    }
    assert made.frozen == ("b", "Encoder") and made.splitter == "full_stops"
    torch.manual_seed(derived_seed(7, "n", "coherence ranker"))
    fresh = train.RankerNetwork(6, 64, 32).state_dict()
    assert all(torch.equal(value, fresh[name]) for name, value in made.network.state_dict().items())


def test_widths_may_be_set_and_tasks_must_be_known(fitted):
    made, _ = fitted(
        [document("a", "train", ""), document("b", "train")], dims=3, sentence=8, pair=4
    )
    assert made.network.shape == {"features": 3, "sentence": 8, "pair": 4}
    for tasks in ([], [("block", 0)], [("x", 1)], [("block", 1), ("x", 1)]):
        refuses(
            "ranker tasks .*; allowed are pairs of one of",
            fitted,
            [document("a", "train")],
            tasks=tasks,
        )


def test_a_text_of_one_sentence_has_no_number(monkeypatch):
    encoded = []

    class Encoder:
        def encode(self, sentences, label):
            encoded.append(label)
            return np.full((len(sentences), 2), len(sentences), dtype=np.float32)

    opened = SimpleNamespace(
        network=Value(), frozen=SimpleNamespace(encoder=Encoder()), splitter="full_stops"
    )
    monkeypatch.setattr(train, "open_ranker", lambda folder: opened)
    documents = [document("a", "test"), document("b", "test", "One."), document("c", "train")]
    found = train.read(documents=documents, reader="r", name="n", splits=["test"])
    assert found.unit_ids == ("a", "b") and encoded == ["infer n", "infer n"]
    scores = found.arrays["text_score"]
    assert scores[0] == 2.0 and np.isnan(scores[1]) and scores.dtype == np.float64
