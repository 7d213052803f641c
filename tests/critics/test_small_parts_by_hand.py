"""Small parts of critics, each by itself: chosen deltas, spans, triplets, paths and mixes."""

import math

import numpy as np
import pytest
import torch

from longform.critics.bbscore.train import BridgeEncoder, Sentences, triplets
from longform.critics.code_mixing.score import (
    LanguageDispersion,
    MixtureReading,
    expected_logs,
    inverse_digamma,
)
from longform.critics.lexical.wordnet import HSO_LONGEST, _strengthen, batches, compounds
from longform.critics.section_order import own_texts
from longform.critics.section_order.score import (
    SectionOrder,
    units_from_predictions,
    with_validated_delta,
)
from longform.documents import Chain, Document, Predictions, Section, chains_to_predictions
from longform.statistics.markov_chain import (
    BigramCritic,
    best_delta,
    read_transitions,
    true_markov,
    validated_bigram,
)
from longform.statistics.random_streams import derived_seed
from longform.statistics.sufficient_statistics import sums_of
from tests.critics.grid_cases import grid
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


def test_transitions_stand_between_begin_and_end_but_for_cut_texts():
    chains = [Chain("a", "t", ("x", "z")), Chain("b", "t", ("x",), valid=False),
              Chain("c", "t", ("y",), cut=True), Chain("d", "t", ())]  # fmt: skip
    names = ["x", "y", "<bos>", "<eos>"]
    found = read_transitions(chains, names, "<bos>", True)
    assert found.unit.tolist() == [0, 0, 0, 2, 3]
    assert found.earlier.tolist() == [2, 0, -1, 2, 2] and found.later.tolist() == [0, -1, 3, 1, 3]
    assert found.unknown.tolist() == [False, True, True, False, False]
    bare = read_transitions(chains, names, None, False)
    assert (bare.unit.tolist(), bare.earlier.tolist(), bare.later.tolist()) == ([0], [0], [-1])


def test_the_true_critic_begins_in_the_first_state():
    arrays = {"state_names": np.array(["s", "t"]), "state_transitions": np.eye(2)}
    critic = true_markov(real=Predictions((), (), arrays))
    assert (critic.names, critic.begin, critic.end) == (("s", "t"), "s", False)


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


def test_titles_of_articles_come_from_predictions_and_missing_ones_are_none():
    first, second = units_from_predictions(TITLED)
    assert (first.unit_id, first.split, first.symbols, first.gold) == (
        "a", "train", ("x", "y"), ("u", None),
    )  # fmt: skip
    assert (second.symbols, second.gold, second.title_names) == (("y", "x"), ("v", "u"), ("u", "v"))
    assert second.confidence.tolist() == [0.2, 0.3] and second.log_posterior.dtype == np.float64
    assert first.valid and not first.cut


def test_the_validated_delta_is_kept_with_every_candidates_score_and_the_true_process():
    gold = titled([("a", "train", [0, 1], [0, 1]), ("b", "validation", [0, 1], [0, 1])],
                  symbol_names=np.array(["u", "v"]))  # fmt: skip
    critic = with_validated_delta(SectionOrder, gold, [1.0, 0.5])
    # two sections in one order: of begin, first and second one of four columns each was met
    expected = {delta: (1 + 4 * delta) / (1 + delta) for delta in (1.0, 0.5)}
    assert dict(critic.validation) == pytest.approx(expected) and critic.delta == 0.5
    assert critic.true_names == () and critic.true_transitions.shape == (0, 0)
    true = {"section_transitions": np.eye(2), "section_symbol_names": np.array(["u", "v"])}
    gold.arrays.update(true)
    critic = with_validated_delta(SectionOrder, gold, [1.0])
    assert critic.true_names == ("u", "v") and critic.true_transitions.tolist() == [[1, 0], [0, 1]]
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


def test_a_section_is_shown_by_its_beginning_and_the_end_by_the_last_words():
    document = Document("d", "test", (Section("u", "x" * 80), Section("v", "short")))
    spans = SectionOrder().spans(document, None, np.zeros(3))
    text = document.text
    assert [text[start:end] for start, end in spans] == ["x" * 60, "short", text[-30:]]
    assert SectionOrder().spans(document, None, np.zeros(1)) == spans[:1]
    tiny = Document("d", "test", (Section("u", "abc"),))
    assert SectionOrder().spans(tiny, None, np.zeros(2))[-1] == (0, len(tiny.text))


def test_triplets_are_two_different_sentences_before_each_anchor():
    sentences = Sentences(np.arange(14.0).reshape(7, 2), [4, 3])
    assert sentences.start.tolist() == [0] * 4 + [4] * 3
    assert sentences.total.tolist() == [4] * 4 + [3] * 3
    assert sentences.place.tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert [len(rows) for rows in sentences.documents] == [4, 3]
    assert sentences.features.dtype == torch.float32
    anchors = torch.tensor([3, 3, 3, 0, 6])
    draws = torch.tensor([[0.0, 0.0], [0.99, 0.99], [0.4, 0.6], [0.5, 0.0], [0.0, 0.9]])
    found = triplets(anchors, sentences, draws)
    assert found.tolist() == [[0, 1, 3], [1, 2, 3], [1, 2, 3], [0, 1, 2], [0, 1, 2]]


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
    seed = derived_seed("validation", 3) % 2**63
    assert encoder.seen == [([1, 2], "validation", seed), ("validation_loss", 7.0, 2)]


def test_a_path_strengthens_pairs_up_to_the_longest_allowed_length():
    strength = np.array([[0.0, 9.0], [1.0, 0.0]])
    lengths = np.array([[0, 1], [HSO_LONGEST, HSO_LONGEST + 1]])
    _strengthen(strength, [0, 1], [0, 1], lengths, np.array([[0, 0], [1, 0]]))
    assert strength.tolist() == [[0, 9], [2, 0]]  # 8 - 5 - 1
    _strengthen(strength, [1], [1], np.array([[2]]), 2)
    assert strength[1, 1] == 4


@pytest.mark.parametrize(
    ("first", "second", "holds"),
    [
        (["guard dog"], ["dog"], True),
        (["dog"], ["guard-dog"], True),
        (["old guard dog"], ["guard dog"], True),
        (["dog"], ["dog"], False),
        (["doghouse"], ["dog"], False),
        (["guard big dog"], ["guard dog"], False),
        (["cat", "a b"], ["b", "dog"], True),
        (["dog house"], ["cat house"], False),
    ],
)
def test_a_compound_holds_the_words_of_another_side_by_side(first, second, holds):
    assert compounds(first, second) is holds


def test_batches_have_at_most_so_many_entities_or_one_text():
    units = [grid("S", "S"), grid("S", "S", "S"), grid("S"), grid(), grid("S", "S", "S", "S")]
    sizes = [[len(unit.entities) for unit in batch] for batch in batches(units, 3)]
    assert sizes == [[2, 3, 1, 0], [4]] and list(batches([], 3)) == []


def test_a_mix_is_dispersed_by_the_chance_of_two_languages():
    units = [MixtureReading("a", "t", np.array([0.5, 0.3, 0.2]), np.ones(3)),
             MixtureReading("b", "t", np.array([0.9, 0.1, 0.0]), np.ones(3)),
             MixtureReading("c", "t", np.zeros(3), np.ones(3), valid=False)]  # fmt: skip
    critic = LanguageDispersion()
    found = critic.sufficient_statistics(units)
    assert found.columns == ("dispersion", "corner", "documents", "excluded")
    expected = [[0.62, 0, 1, 0], [0.18, 1, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert critic.of_sums(sums_of(found)) == pytest.approx(0.4)
    assert LanguageDispersion(corners=True).of_sums(sums_of(found)) == 0.5
    first, _, none = critic.part_values(units)
    assert first == pytest.approx([0.25, 0.21, 0.16]) and none.shape == (0,)
    assert critic.describe(units, 1) == {"points": [[0.5, 0.3, 0.2]]}
    assert not critic.is_share() and LanguageDispersion(corners=True).is_share()
    # psi(2) - psi(3) = -1/2 and psi(1) - psi(3) = -3/2
    assert expected_logs(np.array([2.0, 1.0])) == pytest.approx([-0.5, -1.5])
    # psi(1) = -gamma, psi(2) = 1 - gamma, psi(1/2) = -gamma - 2 log 2
    gamma = 0.5772156649015329
    values = np.array([-gamma, 1 - gamma, -gamma - 2 * math.log(2)])
    assert inverse_digamma(values) == pytest.approx([1, 2, 0.5])
