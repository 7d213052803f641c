"""BBScore's trainings step by step: optimisers, passes, patience, scaling and triplets."""

import math

import numpy as np
import pytest
import torch

from longform.critics.bbscore import ranker
from longform.critics.bbscore import train as training
from longform.critics.bbscore.ranker import BridgeRanker, train_line, train_network
from longform.critics.bbscore.read import bridge_head
from longform.critics.bbscore.train import BridgeEncoder, Recipe, Sentences
from longform.language_models.lightning import Schedule
from longform.statistics.random_streams import derived_seed

PLAN = Schedule(learning_rate=0.5, batch=2, epochs=3)


def side(rows, sign=1.0):
    return sign * np.arange(1.0, 3 * rows + 1).reshape(rows, 3)


def trained(monkeypatch, validation_losses, rows=5, batch=2):
    """Trains on a loss whose gradient is one everywhere, so that Adam moves each weight by its rate.

    Gives the layers, the training batches and how many passes were validated.
    """
    batches, losses = [], iter(validation_losses)

    def hinge(network, original, worse):
        if not torch.is_grad_enabled():
            assert not network.training and torch.equal(original, torch.full((2, 3), 7.0))
            assert torch.equal(worse, -original)
            return torch.tensor(next(losses))
        assert network.training
        batches.append((original.clone(), worse.clone()))
        return sum(weights.sum() for weights in network.parameters())

    monkeypatch.setattr(ranker, "_hinge", hinge)
    monkeypatch.setattr(ranker, "BATCH", batch)
    validation = np.full((2, 3), 7.0, np.float32), np.full((2, 3), -7.0, np.float32)
    layers = train_network((side(rows), side(rows, -1.0)), validation)
    return layers, batches, len(validation_losses) - len(list(losses))


@pytest.mark.parametrize(
    ("losses", "passes", "best"),
    [
        ([5.0, 4.0, 3.0, 3.0, 3.5, 4.0, 3.0, 9.0, 0.0], 8, 3),  # an equal loss is no better one
        ([9.0, 9.5, 9.5, 9.5, 9.5, 8.0] + [8.5] * 5 + [0.0], 11, 6),
        ([math.nan] * 5 + [0.0], 5, 0),  # no pass is better than no training
        ([100.0 - n for n in range(31)], 30, 30),
    ],
)
def test_a_network_keeps_its_best_pass_and_five_worse_ones_end_it(
    monkeypatch, losses, passes, best
):
    layers, batches, validated = trained(monkeypatch, losses)
    assert validated == passes
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed("bridge ranker", 5, 3))
        start = ranker._layers(ranker._network(3))
    assert [weights.shape for weights, _ in layers] == [(3, 64), (64, 32), (32, 1)]
    moved = best * 3 * ranker.RATE  # three batches a pass
    for pair, begun in zip(layers, start, strict=True):
        for found, first in zip(pair, begun, strict=True):
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, first - moved, rtol=0, atol=1e-7)
    # each pass sees every pair once, in batches of two, a pair's sides together
    sizes = [len(original) for original, _ in batches]
    assert sizes == [2, 2, 1] * passes
    for number in range(0, len(batches), 3):
        original = torch.cat([original for original, _ in batches[number : number + 3]])
        worse = torch.cat([worse for _, worse in batches[number : number + 3]])
        assert torch.equal(worse, -original)
        assert torch.equal(original[original[:, 0].argsort()], torch.from_numpy(side(5)))
    orders = {tuple(torch.cat([o for o, _ in batches[n : n + 3]])[:, 0].tolist()) for n in (0, 3)}
    assert len(orders) == 2


def test_adam_trains_all_weights_and_leaves_the_callers_draws_alone(monkeypatch):
    made, adam = [], torch.optim.Adam

    def spy(parameters, **settings):
        made.append(settings)
        return adam(parameters, **settings)

    monkeypatch.setattr(torch.optim, "Adam", spy)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    trained(monkeypatch, [1.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    assert torch.equal(torch.rand(3), expected)
    assert made == [{"lr": 1e-3, "foreach": True}]


def test_a_network_is_linear_maps_leaky_and_dropping_with_zero_biases():
    torch.manual_seed(2)
    network = ranker._network(5)
    kinds = [type(part).__name__ for part in network]
    assert kinds == ["Linear", "LeakyReLU", "Dropout"] * 2 + ["Linear"]
    assert {part.negative_slope for part in network if hasattr(part, "negative_slope")} == {0.01}
    assert {part.p for part in network if hasattr(part, "p")} == {0.2}
    for number, (inputs, outputs) in zip((0, 3, 6), ((5, 64), (64, 32), (32, 1)), strict=True):
        weight, bias = network[number].weight, network[number].bias
        assert weight.dtype == torch.float64 and weight.shape == (outputs, inputs)
        assert torch.equal(bias, torch.zeros(outputs, dtype=torch.float64))
        bound = math.sqrt(6 / (inputs + outputs))  # Glorot and Bengio 2010
        assert 0.85 * bound < float(weight.detach().abs().max()) <= bound
    layers = ranker._layers(network)
    weight = network[0].weight.detach().clone()
    with torch.no_grad():
        network[0].weight.zero_()
        network[0].bias.fill_(1.0)
    assert np.array_equal(layers[0][0], weight.numpy().T) and not layers[0][1].any()


def test_the_hinge_is_the_mean_of_margins_that_are_not_kept():
    network = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(network.weight, 2.0)
    original, worse = torch.tensor([[1.0], [0.0], [2.0]]), torch.tensor([[2.0], [4.0], [1.0]])
    # 5 + 2 - 4, 5 + 0 - 8 (kept), 5 + 4 - 2
    assert ranker._hinge(network, original, worse).item() == pytest.approx((3 + 0 + 7) / 3)


def test_features_are_scaled_by_those_that_are_there():
    """A feature met once has its value as mean and one as spread; one never met has 0 and 1."""
    nan = math.nan
    features = np.array([[1.0, 6.0, nan, 4.0], [3.0, nan, nan, 4.0], [nan, nan, nan, 4.0]])
    scaled = BridgeRanker()._scaled_by(features)
    assert scaled.mean.tolist() == [2.0, 6.0, 0.0, 4.0]
    assert scaled.spread.tolist() == [1.0, 1.0, 1.0, 1.0]
    wider = BridgeRanker()._scaled_by(np.array([[0.0], [0.0], [6.0]]))
    assert wider.mean.tolist() == [2.0] and wider.spread == pytest.approx([math.sqrt(8)])
    standard = wider._standard(np.array([[2.0 + math.sqrt(8)], [nan], [math.inf]]))
    assert standard.ravel() == pytest.approx([1.0, 0.0, 0.0])


def test_pairs_are_scaled_and_learnt_from_training_documents_alone(monkeypatch):
    """Document 1 of three validates; each original stands beside every one of its copies."""
    given = []
    monkeypatch.setattr(
        ranker, "held_out", lambda documents: given.append(documents) or documents == 1
    )
    monkeypatch.setattr(ranker, "train_network", lambda *sides: given.append(sides) or ("network",))
    monkeypatch.setattr(ranker, "train_line", lambda gaps: given.append(gaps) or ("line",))
    none = np.zeros((0, 1))
    pairs = [
        (np.array([[1.0]]), np.array([[3.0], [5.0]])),
        (none, np.array([[9.0]])),
        (np.array([[100.0]]), np.array([[200.0]])),
        (np.array([[2.0]]), none),
        (np.array([[1.0], [3.0]]), np.array([[3.0], [5.0], [3.0], [5.0]])),
    ]
    fitted = BridgeRanker().fit_pairs(pairs)
    documents, (training_sides, validation_sides) = given
    assert documents.tolist() == [0, 0, 1, 2, 2, 2, 2]
    # originals 1 1 1 1 3 3 and copies 3 5 3 5 3 5: mean 34 / 12, mean square 124 / 12
    mean, spread = 34 / 12, math.sqrt(124 / 12 - (34 / 12) ** 2)
    assert fitted.mean == pytest.approx([mean]) and fitted.spread == pytest.approx([spread])
    assert fitted.layers == ("network",)
    expected = [([1, 1, 1, 1, 3, 3], [3, 5, 3, 5, 3, 5]), ([100], [200])]
    for sides, raw in zip((training_sides, validation_sides), expected, strict=True):
        for found, values in zip(sides, raw, strict=True):
            assert found[:, 0] == pytest.approx((np.array(values) - mean) / spread)
    given.clear()
    line = BridgeRanker("linear").fit_pairs(pairs[:1] + pairs[2:3])
    # all documents teach a line: 1 1 100 and 3 5 200
    both = np.array([1, 1, 100, 3, 5, 200.0])
    assert line.layers == ("line",) and line.mean == pytest.approx([both.mean()])
    assert given[0][:, 0] == pytest.approx(np.array([2, 4, 100]) / both.std())


def test_a_line_is_the_penalised_best_one_over_both_signs():
    """One gap g = 2: the weight w solves w = 2 * 2 / (1 + exp(2 w)), as C is 1."""
    ((weights, bias),) = train_line(np.array([[2.0]]))
    w = float(weights[0, 0])
    assert weights.shape == (1, 1) and bias.tolist() == [0.0]
    assert w == pytest.approx(4 / (1 + math.exp(2 * w)), abs=1e-3)  # what its solver leaves


@pytest.mark.parametrize("rate", [1e-4, 0.25])
def test_a_head_learns_by_plain_momentum_or_by_the_schedule(monkeypatch, rate):
    head, given = bridge_head(6, latent=2), []
    monkeypatch.setattr(training, "adamw", lambda *rest: given.append(rest) or "adamw")
    data = {"train": "sentences"}
    made = BridgeEncoder(head, data, Recipe(sgd_rate=rate), PLAN, 11).configure_optimizers()
    assert type(made) is torch.optim.SGD and len(made.param_groups) == 1
    (group,) = made.param_groups
    assert list(map(id, group["params"])) == list(map(id, head.parameters()))
    assert (group["lr"], group["momentum"], group["nesterov"]) == (rate, 0.9, False)
    assert (group["weight_decay"], group["dampening"]) == (0, 0) and given == []
    module = BridgeEncoder(head, data, Recipe(optimiser="adamw"), PLAN, 11)
    assert module.configure_optimizers() == "adamw" and given == [(head, PLAN, 11)]
    assert module.data == data and module.data is not data
    assert Recipe() == Recipe("paper", True, "sgd", 1e-4)


def test_sentences_know_their_document_and_none_are_no_error():
    some = Sentences(np.arange(6.0).reshape(3, 2), [1, 2])
    assert some.features.dtype == torch.float32
    assert [rows.tolist() for rows in some.documents] == [[[0, 1]], [[2, 3], [4, 5]]]
    rows = [some.start.tolist(), some.total.tolist(), some.place.tolist()]
    assert rows == [[0, 1, 1], [1, 2, 2], [0, 0, 1]]
    empty = Sentences(np.zeros((0, 2)), [])
    for numbers in (empty.start, empty.total, empty.place):
        assert numbers.dtype == torch.int64 and numbers.shape == (0,)


def test_two_draws_are_a_triplets_first_and_middle_sentence():
    """The first draw counts from all before the last, the second from those that are left."""
    sentences = Sentences(np.zeros((9, 1)), [3, 6])
    anchors = torch.tensor([0, 2, 8, 8, 8, 8, 6])
    draws = torch.tensor(
        [[0.0, 0.9], [0.5, 0.0], [0.0, 0.0], [0.19, 0.99], [0.99, 0.99], [0.4, 0.5], [0.7, 0.0]]
    )
    # lasts 2 2 5 5 5 5 3; firsts 0 1 0 0 4 2 2; seconds 0 0 0 3 3 2 0, one up from the first on
    expected = [[0, 1, 2], [0, 1, 2], [0, 1, 5], [0, 4, 5], [3, 4, 5], [2, 3, 5], [0, 2, 3]]
    assert training.triplets(anchors, sentences, draws).tolist() == expected


class Rows:
    """An encoder whose features of a sentence are its number among those that it is given."""

    def __init__(self):
        self.asked = []

    def encode(self, sentences, label):
        self.asked.append((sentences, label))
        return np.arange(len(sentences), dtype=np.float64)[:, None]


def test_documents_of_five_sentences_teach_and_shorter_ones_are_counted(capsys):
    texts = [list("abcde"), list("fghi"), list("jklmno"), []]
    encoder = Rows()
    made = training.long_documents(texts, encoder, "bridge", "validation")
    assert encoder.asked == [(list("abcdejklmno"), "bridge")]
    assert made.features[:, 0].tolist() == list(range(11))
    assert list(map(len, made.documents)) == [5, 6]
    assert capsys.readouterr().out == ("train bridge: 2 of 4 validation documents are too short\n")
