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


def by_hand():
    """A network of one number a sentence and a pair: the weights of each part, in one line."""
    rows = {"sentence.0.weight": [1, 1], "sentence.0.bias": [0, 0], "sentence.1.weight": [[1, 0]],
            "sentence.1.bias": [0], "adjacent.0.weight": [[1, 2, 2, 8]], "adjacent.0.bias": [0],
            "convolutions.0.weight": [[[1, 0, 0, 0, 0]]], "convolutions.0.bias": [0],
            "convolutions.1.weight": [[[0, -1, 0, -1, 0]]], "convolutions.1.bias": [0],
            "value.weight": [[1, 10]], "value.bias": [0.5]}  # fmt: skip
    network = train.RankerNetwork(2, 1, 1)
    network.load_state_dict({name: torch.tensor(row).float() for name, row in rows.items()})
    return network


def test_a_value_weighs_pairs_of_neighbours_beside_the_convolved_text():
    """Sentences are t -t -t and -t t t; the first convolution sees two back, the second one each way."""
    t = math.tanh(1 / math.sqrt(1 + 1e-5))  # of standard features 1 and -1
    up, down = [3.0, 1.0], [1.0, 3.0]
    found = by_hand()(torch.tensor([[up, down, down], [down, up, up]]))
    # pairs 15 t - 2 t^2 and one below 0; convolved 2 t, -t, t
    first = (15 * t - 2 * t**2) / 2 + 10 * (2 * t / 3) + 0.5
    # pairs 17 t - 2 t^2 and 3 t + 2 t^2; convolved -t, t, t
    assert found.tolist() == pytest.approx([first, 20 * t / 2 + 10 * t / 3 + 0.5])


def test_a_saved_ranker_is_its_weights_its_shape_and_its_encoder(tmp_path, monkeypatch):
    kept = SimpleNamespace(save=lambda folder: (folder / "told").touch())
    monkeypatch.setattr(train, "open_encoder", lambda folder: ("opened", folder))
    train.TrainedRanker(by_hand(), kept, "full_stops").save(tmp_path)
    assert {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*")} == {
        "ranker.safetensors", "ranker.json", "encoder", "encoder/told"
    }  # fmt: skip
    shape = '{"features": 2, "pair": 1, "sentence": 1}'
    record = tmp_path / "ranker.json"
    assert record.read_text() == f'{{"shape": {shape}, "splitter": "full_stops"}}\n'
    found, weights = train.open_ranker(tmp_path), by_hand().state_dict()
    assert found.frozen == train.KeptFeatures(
        tmp_path / "encoder", ("opened", tmp_path / "encoder")
    )
    assert found.splitter == "full_stops" and not found.network.training
    assert all(torch.equal(row, weights[name]) for name, row in found.network.state_dict().items())
    # weights of another shape, a record without a splitter, weights cut short, no encoder
    for text, error in ((shape.replace("2", "3"), "RuntimeError"), (shape, "KeyError: .*splitter")):
        record.write_text(f'{{"shape": {text}}}')
        refuses(f"not of one neural ranker .{error}", train.open_ranker, tmp_path)
    record.write_text(f'{{"shape": {shape}, "splitter": "rules"}}')
    (tmp_path / "ranker.safetensors").write_bytes(b"cut")
    refuses("neural ranker .SafetensorError", train.open_ranker, tmp_path)
    (tmp_path / "encoder").rename(tmp_path / "x")
    refuses("reads features of .*encoder, which is not there; run", train.open_ranker, tmp_path)
    record.unlink()
    refuses("no ranker.json; the reader must be a folder", train.open_ranker, tmp_path)


def test_documents_without_sentences_make_the_narrowest_network(fitted):
    made, calls = fitted([document("a", "train", ""), document("b", "validation")])
    assert made.network.shape == {"features": 1, "sentence": 64, "pair": 32}
    assert calls["items"] == {"train": range(1), "validation": range(1)}
    assert calls["encoded"] == [([], "train n"), (["One.", "Two."], "train n")]
