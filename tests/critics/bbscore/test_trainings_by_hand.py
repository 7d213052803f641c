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
NAN = math.nan
ROWS = np.arange(1.0, 16.0).reshape(5, 3)
HELD = np.full((2, 3), 7.0)


def trained(monkeypatch, validation_losses):
    """Trains on a loss whose gradient is one everywhere, so that Adam moves each weight by its rate.

    Gives the layers, the training batches and how many passes were validated.
    """
    batches, losses = [], iter(validation_losses)

    def hinge(network, original, worse):
        assert network.training == torch.is_grad_enabled() and torch.equal(worse, -original)
        if not network.training:
            assert original.tolist() == HELD.tolist()
            return torch.tensor(next(losses))
        batches.append(original.tolist())
        return sum(weights.sum() for weights in network.parameters())

    monkeypatch.setattr(ranker, "_hinge", hinge)
    monkeypatch.setattr(ranker, "BATCH", 2)
    layers = train_network((ROWS, -ROWS), (HELD, -HELD))
    return layers, batches, len(validation_losses) - len(list(losses))


@pytest.mark.parametrize(
    ("losses", "passes", "best"),
    [
        ([5.0, 4.0, 3.0, 3.0, 3.5, 4.0, 3.0, 9.0, 0.0], 8, 3),  # an equal loss is no better one
        ([9.0, 9.5, 9.5, 9.5, 9.5, 8.0] + [8.5] * 5 + [0.0], 11, 6),
        ([NAN] * 5 + [0.0], 5, 0),
        ([100.0 - n for n in range(31)], 30, 30),
    ],
)
def test_a_network_keeps_its_best_pass_and_five_worse_ones_end_it(
    monkeypatch, losses, passes, best
):
    made, adam = [], torch.optim.Adam
    monkeypatch.setattr(
        torch.optim, "Adam", lambda weights, **more: made.append(more) or adam(weights, **more)
    )
    state = torch.get_rng_state()
    layers, batches, validated = trained(monkeypatch, losses)
    assert validated == passes and made == [{"lr": 1e-3, "foreach": True}]
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(derived_seed("bridge ranker", 5, 3))
    start = ranker._layers(ranker._network(3))
    for pair, begun in zip(layers, start, strict=True):
        for found, first in zip(pair, begun, strict=True):
            # three batches a pass
            np.testing.assert_allclose(found, first - best * 3 * 1e-3, rtol=0, atol=1e-7)
    # each pass sees every pair once, in batches of two and in an order of its own
    assert list(map(len, batches)) == [2, 2, 1] * passes
    orders = [np.concatenate(batches[n : n + 3]).tolist() for n in range(0, len(batches), 3)]
    assert all(sorted(order) == ROWS.tolist() for order in orders) and orders[0] != orders[1]


def test_a_network_is_linear_maps_leaky_and_dropping_with_zero_biases():
    torch.manual_seed(2)
    network = ranker._network(5)
    kinds = [type(part).__name__ for part in network]
    assert kinds == ["Linear", "LeakyReLU", "Dropout"] * 2 + ["Linear"]
    assert [network[n].negative_slope for n in (1, 4)] == [0.01] * 2
    assert [network[n].p for n in (2, 5)] == [0.2] * 2
    layers = ranker._layers(network)
    for (weights, bias), shape in zip(layers, ((5, 64), (64, 32), (32, 1)), strict=True):
        assert weights.dtype == np.float64 and weights.shape == shape
        assert bias.tolist() == [0.0] * shape[1]
        bound = math.sqrt(6 / sum(shape))  # Glorot and Bengio 2010
        assert 0.85 * bound < np.abs(weights).max() <= bound
    first = network[0].weight.detach().numpy().T.copy()
    torch.nn.init.ones_(network[0].weight)
    torch.nn.init.ones_(network[0].bias)
    assert np.array_equal(layers[0][0], first) and not layers[0][1].any()


def test_the_hinge_is_the_mean_of_margins_that_are_not_kept():
    original, worse = torch.tensor([[1.0], [0.0], [2.0]]), torch.tensor([[2.0], [4.0], [1.0]])
    # 5 + 2 - 4, 5 + 0 - 8 (kept), 5 + 4 - 2
    assert float(ranker._hinge(lambda rows: 2 * rows, original, worse)) == pytest.approx(10 / 3)


def test_features_are_scaled_by_those_that_are_there():
    """A feature met once has its value as mean and one as spread; one never met has 0 and 1."""
    features = np.array([[1.0, 6.0, NAN, 0.0], [2.0, NAN, NAN, 0.0], [NAN, NAN, NAN, 6.0]])
    scaled = BridgeRanker()._scaled_by(features)
    assert scaled.mean.tolist() == [1.5, 6.0, 0.0, 2.0]
    assert scaled.spread == pytest.approx([0.5, 1.0, 1.0, math.sqrt(8)])
    standard = scaled._standard(np.array([[2.5, NAN, math.inf, 2.0 + math.sqrt(8)]]))
    assert standard[0] == pytest.approx([2.0, 0.0, 0.0, 1.0])


def test_pairs_are_scaled_and_learnt_from_training_documents_alone(monkeypatch):
    """Document 1 of three validates; each original stands beside every one of its copies."""
    given = []

    def spy(name, result):
        monkeypatch.setattr(ranker, name, lambda *sides: given.append(sides) or result)

    spy("held_out", np.array([False, False, True, False, False, False, False]))
    spy("train_network", ("network",))
    spy("train_line", ("line",))
    none, one = np.zeros((0, 1)), np.array([[1.0], [3.0]])
    pairs = [(one[:1], one + 2), (none, one), (one[:1] + 99, one[:1] + 199), (one, none)]
    pairs.append((one, np.array([[3.0], [5.0], [3.0], [5.0]])))
    fitted = BridgeRanker().fit_pairs(pairs)
    (documents,), (training_sides, validation_sides) = given
    assert documents.tolist() == [0, 0, 1, 2, 2, 2, 2]
    # originals 1 1 1 1 3 3 and copies 3 5 3 5 3 5: mean 34 / 12, mean square 124 / 12
    mean, spread = 34 / 12, math.sqrt(124 / 12 - (34 / 12) ** 2)
    assert fitted.mean == pytest.approx([mean]) and fitted.spread == pytest.approx([spread])
    assert fitted.layers == ("network",)
    found = [side[:, 0] * spread + mean for side in (*training_sides, *validation_sides)]
    for values, raw in zip(found, ([1, 1, 1, 1, 3, 3], [3, 5] * 3, [100], [200]), strict=True):
        assert values == pytest.approx(raw)
    # all documents teach a line
    line = BridgeRanker("linear").fit_pairs(pairs[:3])
    both = np.array([1, 1, 100, 3, 5, 200.0])
    assert line.layers == ("line",) and line.mean == pytest.approx([both.mean()])
    assert given[2][0][:, 0] == pytest.approx(np.array([2, 4, 100]) / both.std())


def test_a_line_is_the_penalised_best_one_over_both_signs():
    """One gap g = 2: the weight w solves w = 2 * 2 / (1 + exp(2 w)), as C is 1."""
    ((weights, bias),) = train_line(np.array([[2.0]]))
    assert weights.shape == (1, 1) and bias.tolist() == [0.0]
    w = float(weights[0, 0])
    assert w == pytest.approx(4 / (1 + math.exp(2 * w)), abs=1e-3)  # what its solver leaves


def test_a_head_learns_by_plain_momentum_or_by_the_schedule(monkeypatch):
    head, given, data = bridge_head(6, latent=2), [], {"train": None}
    monkeypatch.setattr(training, "adamw", lambda *rest: given.append(rest) or "adamw")
    made = BridgeEncoder(head, data, Recipe(sgd_rate=0.25), PLAN, 11).configure_optimizers()
    (group,) = made.param_groups
    assert list(map(id, group["params"])) == list(map(id, head.parameters()))
    settings = [group[name] for name in ("lr", "momentum", "weight_decay", "dampening", "nesterov")]
    assert type(made) is torch.optim.SGD and settings == [0.25, 0.9, 0, 0, False]
    module = BridgeEncoder(head, data, Recipe(optimiser="adamw"), PLAN, 11)
    assert module.configure_optimizers() == "adamw" and given == [(head, PLAN, 11)]
    assert Recipe() == Recipe("paper", True, "sgd", 1e-4)


def test_a_batchs_loss_is_that_of_its_recipe_over_its_own_documents(monkeypatch):
    """Rows 0 to 3 and 4 to 7; triplets 0 1 2 and 1 2 3 of one latent, of which one ends a text."""
    data = {"s": Sentences(np.array([0.5, 2, 1, 3, 0, 4, 1, 5])[:, None], [4, 4])}
    times, logged = torch.tensor([[0, 1, 2], [1, 2, 3]]), []
    monkeypatch.setattr(training, "triplets", lambda *given: times)
    latents = torch.tensor([[[0.5], [2], [1]], [[4.0], [1], [5]]])
    plain = training.paper_loss(latents, times)
    pinned = plain + 0.5**2 + (5 - 1) ** 2
    documents = [data["s"].documents[n] for n in (1, 0)]
    for recipe, labels, loss in ((Recipe(), [2, 7], pinned), (Recipe(pins=False), [2, 7], plain),
                                 (Recipe("likelihood"), [1, 0], training.likelihood_loss(documents))):  # fmt: skip
        module = BridgeEncoder(torch.nn.Identity(), data, recipe, PLAN, 1)
        assert module.loss(torch.tensor(labels), "s").item() == pytest.approx(loss.item())
        module.loss = lambda labels, split: (labels, split)
        module.log = lambda *given: logged.append(given)
        assert module.training_step({"labels": labels}, 0) == (labels, "train")
        assert logged.pop() == ("loss", (labels, "train"))


def test_sentences_know_their_document_and_none_are_no_error():
    some, empty = Sentences(np.arange(3.0)[:, None], [1, 2]), Sentences(np.zeros((0, 2)), [])
    assert some.features.dtype == torch.float32
    assert [rows.tolist() for rows in some.documents] == [[[0]], [[1], [2]]]
    rows = [some.start.tolist(), some.total.tolist(), some.place.tolist()]
    assert rows == [[0, 1, 1], [1, 2, 2], [0, 0, 1]]
    for numbers in (empty.start, empty.total, empty.place):
        assert numbers.dtype == torch.int64 and numbers.shape == (0,)


def test_two_draws_are_a_triplets_first_and_middle_sentence():
    """The first draw counts from all before the last, the second from those that are left."""
    anchors = torch.tensor([0, 2, 8, 8, 8, 8, 6])
    draws = [[0.0, 0.9], [0.5, 0.0], [0.0, 0.0], [0.19, 0.99], [0.99, 0.99], [0.4, 0.5], [0.7, 0.0]]
    # lasts 2 2 5 5 5 5 3; firsts 0 1 0 0 4 2 2; seconds 0 0 0 3 3 2 0, one up from the first on
    expected = [[0, 1, 2], [0, 1, 2], [0, 1, 5], [0, 4, 5], [3, 4, 5], [2, 3, 5], [0, 2, 3]]
    sentences = Sentences(np.zeros((9, 1)), [3, 6])
    assert training.triplets(anchors, sentences, torch.tensor(draws)).tolist() == expected


def test_documents_of_five_sentences_teach_and_shorter_ones_are_counted(capsys):
    class Encoder:
        def encode(self, pieces, label):
            assert (pieces, label) == (list("abcdejklmno"), "bridge")
            return np.zeros((11, 1))

    texts = [list("abcde"), list("fghi"), list("jklmno"), []]
    made = training.long_documents(texts, Encoder(), "bridge", "validation")
    assert list(map(len, made.documents)) == [5, 6]
    assert capsys.readouterr().out == "train bridge: 2 of 4 validation documents are too short\n"
