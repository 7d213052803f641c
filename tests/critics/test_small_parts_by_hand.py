"""Small parts of critics, each by itself: chosen deltas, spans, seeds and paths."""

import math

import numpy as np
import pytest
import torch

from longform.critics.bbscore.train import BridgeEncoder
from longform.critics.lexical.wordnet import HSO_LONGEST, _strengthen
from longform.critics.section_order import own_texts
from longform.critics.section_order.score import SectionOrder, with_validated_delta
from longform.documents import Chain, Document, Predictions, Section, chains_to_predictions
from longform.statistics.markov_chain import BigramCritic, best_delta, validated_bigram
from longform.statistics.random_streams import derived_seed
from tests.refusals import refuses

CHAINS = [
    Chain("a", "train", ("x", "y", "x", "y")),
    Chain("b", "train", ("x", "y")),
    Chain("c", "validation", ("x", "y", "x")),
    Chain("d", "test", ("y", "y", "y")),
]


def latent_ppl(delta):
    """Of x y x after x y x y and x y; names x, y, begin and end."""
    begin_x, x_y, y_x, x_end = 2, 3, 1, 0
    rows = {"begin": 2, "x": 3, "y": 3}
    shares = [
        (begin_x + delta) / (rows["begin"] + 4 * delta),
        (x_y + delta) / (rows["x"] + 4 * delta),
        (y_x + delta) / (rows["y"] + 4 * delta),
        (x_end + delta) / (rows["x"] + 4 * delta),
    ]
    return math.exp(-sum(map(math.log, shares)) / 4)


def test_a_bigrams_delta_is_that_of_the_best_validation_score():
    deltas = [0.0, 0.01, 0.3, 5.0]
    best = min(deltas[1:], key=latent_ppl)
    assert best not in (deltas[1], deltas[-1])
    real = chains_to_predictions(CHAINS)
    critic = validated_bigram(real=real, deltas=deltas)
    assert isinstance(critic, BigramCritic) and critic.delta == best and critic.names == ()
    refuses("none is finite", validated_bigram, real=real, deltas=[0.0])
    assert best_delta({0.0: math.inf, 1.0: 5.0, 2.0: 3.0, 3.0: 3.0}) == 2.0


def titled(chains, **arrays):
    """Predictions of titles x and y; gold titles u, v and none."""
    rows = [len(symbols) for _, _, symbols, _ in chains]
    flat = [i for _, _, symbols, _ in chains for i in symbols]
    gold = [i for *_, row in chains for i in row]
    posterior = np.log(np.full((len(flat), 2), 0.5))
    found = {
        "symbol_names": np.array(["x", "y"]), "gold_names": np.array(["u", "v"]),
        "title_names": np.array(["u", "v"]), "valid": np.array([True] * len(chains)),
        "chain": np.array(flat), "chain_lengths": np.array(rows),
        "gold": np.array(gold), "gold_lengths": np.array(rows),
        "log_posterior": posterior, "log_posterior_lengths": np.array(rows),
        "confidence": np.arange(len(flat)) / 10, "confidence_lengths": np.array(rows),
        **arrays,
    }  # fmt: skip
    names = tuple(name for name, *_ in chains)
    return Predictions(names, tuple(split for _, split, *_ in chains), found)


TITLED = titled([("a", "train", [0, 1], [0, -1]), ("b", "validation", [1, 0], [1, 0])])


def test_the_validated_delta_stands_with_every_candidates_score():
    gold = titled([("a", "train", [0, 1], [0, 1]), ("b", "validation", [0, 1], [0, 1])],
                  symbol_names=np.array(["u", "v"]))  # fmt: skip
    critic = with_validated_delta(SectionOrder, gold, [1.0, 0.5])
    # two sections in one order: of begin, first and second one of four columns each was met
    expected = {delta: (1 + 4 * delta) / (1 + delta) for delta in (1.0, 0.5)}
    assert dict(critic.validation) == pytest.approx(expected) and critic.delta == 0.5
    assert critic.true_names == () and critic.true_transitions.shape == (0, 0)
    true = {
        "section_transitions": np.eye(2, dtype=np.int8),
        "section_symbol_names": np.array(["u", "v"]),
    }
    gold.arrays.update(true)
    critic = with_validated_delta(SectionOrder, gold, [1.0])
    assert critic.true_names == ("u", "v") and critic.true_transitions.tolist() == [[1, 0], [0, 1]]
    assert critic.true_transitions.dtype == np.float64
    one_split = titled([("a", "train", [0, 1], [0, 1])])
    refuses("no document of split 'validation'", with_validated_delta, SectionOrder, one_split, [1])


def test_titles_are_read_by_the_classifier_that_is_named(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(own_texts, "predicted_titles", lambda *asked: given.append(asked) or TITLED)
    document = Document("d", "test", (Section("u", "Text."),))
    (own,) = SectionOrder().read_texts([document])
    assert own.symbols == ("u",)
    read = SectionOrder(reader=tmp_path, max_length=7).read_texts([document])
    assert [unit.unit_id for unit in read] == ["a", "b"]
    assert given == [([document], tmp_path, 7)]


def test_validation_draws_the_same_triplets_of_a_batch_in_every_round():
    class Recorded(BridgeEncoder):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.seen = []

        def loss(self, labels, split, rng=None):
            self.seen.append((labels, split, rng.initial_seed()))
            return 7.0

        def log(self, name, value, batch_size):
            self.seen.append((name, value, batch_size))

    encoder = Recorded()
    encoder.validation_step({"labels": [1, 2]}, 3)
    seed = derived_seed("validation", 3)
    assert encoder.seen == [([1, 2], "validation", seed), ("validation_loss", 7.0, 2)]


def test_a_path_strengthens_pairs_up_to_the_longest_allowed_length():
    strength = np.array([[0.0, 9.0], [1.0, 0.0]])
    lengths = np.array([[0, 1], [HSO_LONGEST, HSO_LONGEST + 1]])
    _strengthen(strength, [0, 1], [0, 1], lengths, np.array([[0, 0], [1, 0]]))
    assert strength.tolist() == [[0, 9], [2, 0]]  # 8 - 5 - 1
    _strengthen(strength, [1], [1], np.array([[2]]), 2)
    assert strength[1, 1] == 4
