"""Which pairs train the entailment network, how their words are read and batched, and which settings are handed on."""

import numpy as np
import pytest
import torch

from longform.critics.verifiability import train
from longform.critics.verifiability.checker import Pair
from longform.critics.verifiability.checks import LABELS, NEI, REFUTED, SUPPORTED
from tests.refusals import refuses


@pytest.fixture
def fitted(monkeypatch):
    given = {}

    def noted(learner, network, items, collate, **settings):
        given.update(learner=learner, network=network, items=items, collate=collate, **settings)

    monkeypatch.setattr(train, "fit_learner", noted)
    return given


def pair(claim, sentence, title="T"):
    return Pair(claim, title, sentence)


PAIRS = {
    "train": [
        (pair("owls sleep", "owls sleep by day"), SUPPORTED),
        (pair("owls wake", "owls sleep by day"), REFUTED),
        (pair("", "owls sleep"), NEI),
        (pair("owls", "..."), NEI),
    ],
    "validation": [(pair("owls sleep", "Ulm sleeps"), NEI)],
}
SETTINGS = {"size": 4, "min_count": 2, "seed": 3, "name": "n", "schedule": {"epochs": 1}}


def test_pairs_with_words_on_both_sides_train_and_frequent_words_count(fitted):
    made = train.train_entailment(PAIRS, **SETTINGS)
    assert made.vocabulary.words == {"by": 5, "day": 6, "owls": 7, "sleep": 8}
    rows = [(row[:2], label) for row, label in fitted["items"]["train"]]
    assert rows == [
        (([7, 8], [7, 8, 5, 6]), LABELS.index(SUPPORTED)),
        (([7, 3], [7, 8, 5, 6]), LABELS.index(REFUTED)),
    ]
    ((row, label),) = fitted["items"]["validation"]
    assert row[:2] == ([7, 8], [2, 3]) and label == LABELS.index(NEI)
    settings = {key: fitted[key] for key in ("schedule", "seed", "name")}
    assert settings == {"schedule": {"epochs": 1}, "seed": 3, "name": "n"}
    assert fitted["learner"] is train.EntailmentLearner and fitted["collate"] is train.collate
    assert made.network.embed.weight.shape == (9, 4)


def test_initial_weights_follow_from_the_seed(fitted):
    first, again = (train.train_entailment(PAIRS, **SETTINGS) for _ in range(2))
    other = train.train_entailment(PAIRS, **{**SETTINGS, "seed": 4})
    weights = [made.network.attend.weight for made in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, {"owls", "sleep", "by", "day", "wake"}), (3, {"owls", "sleep"}), (9, set())],
)
def test_a_word_needs_so_many_occurrences(fitted, count, words):
    made = train.train_entailment(PAIRS, **{**SETTINGS, "min_count": count})
    assert set(made.vocabulary.words) == words


def test_labels_that_no_pair_has_are_said_and_one_label_is_too_few(fitted, capsys):
    two = {"train": PAIRS["train"][:2], "validation": []}
    train.train_entailment(two, **SETTINGS)
    assert f"no training pair is labelled {[NEI]}" in capsys.readouterr().out
    train.train_entailment(PAIRS, **SETTINGS)
    assert capsys.readouterr().out == ""
    one = {"train": PAIRS["train"][:1], "validation": []}
    refuses(
        r"training pairs have labels \{'supported': 1\}; at least two",
        train.train_entailment,
        one,
        **SETTINGS,
    )


@pytest.mark.parametrize(
    ("text", "ids", "words"),
    [
        ("Ulm sleeps", [2, 3], ["ulm", "sleeps"]),
        ("Owls sleep", [7, 8], ["owls", "sleep"]),  # a first word may be a common one
        ("the Owls", [3, 2], ["the", "owls"]),  # any other capital is a name
        ("in 1456 Title", [3, 1, 4], ["in", "1456", "title"]),
        ("", [], []),
    ],
)
def test_words_are_read_by_state_or_shape(text, ids, words):
    vocabulary = train.Vocabulary.of(["by", "day", "owls", "sleep"])
    assert vocabulary.words == {"by": 5, "day": 6, "owls": 7, "sleep": 8}
    assert vocabulary.read(text, frozenset(["title"])) == (ids, words)


def test_a_text_is_read_up_to_64_words():
    vocabulary = train.Vocabulary.of([])
    ids, words = vocabulary.read("a " * 65, frozenset())
    assert len(ids) == len(words) == 64


def test_a_batch_is_padded_and_says_where_words_are_equal():
    items = [(([5, 6], [7], [(1, 0)]), 2), (([8], [9, 5, 6], [(0, 0), (0, 2)]), 0)]
    made = {name: values.tolist() for name, values in train.collate(items).items()}
    assert made["claim"] == [[5, 6], [8, 0]] and made["sentence"] == [[7, 0, 0], [9, 5, 6]]
    assert np.argwhere(np.array(made["equal"])).tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 2]]
    assert made["labels"] == [2, 0]


def test_a_pair_without_words_is_not_enough_information_in_any_batch(monkeypatch):
    torch.manual_seed(0)
    vocabulary = train.Vocabulary.of(["owls", "sleep"])
    made = train.TrainedEntailment(train.DecomposableAttention(7, 4), vocabulary)
    pairs = [
        pair("owls sleep", "owls sleep by day"),
        pair("", "owls"),
        pair("owls", "..."),
        pair("a", "b"),
    ]
    together = made.probabilities(pairs)
    monkeypatch.setattr(train, "BATCH", 1)
    np.testing.assert_allclose(together, made.probabilities(pairs), atol=1e-6)
    sure = [float(label == NEI) for label in LABELS]
    assert together[1].tolist() == together[2].tolist() == sure
    assert together.sum(axis=1) == pytest.approx(1.0) and (together[[0, 3]] > 0).all()
