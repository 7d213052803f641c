"""The mixture of languages, step by step: what is asked of a fit, Gibbs sweeps, and every array of a reading."""

import numpy as np
import pytest

from longform.critics.code_mixing import read as mixing
from longform.critics.code_mixing.mixture import LanguageModel
from longform.critics.code_mixing.read import assign, fit
from longform.documents import Document, Section
from longform.statistics.random_streams import generator
from tests.refusals import refuses


def document(name, text, split="train"):
    return Document(name, split, (Section(None, text),))


@pytest.mark.parametrize(
    ("settings", "languages", "wanted"),
    [
        ({}, 3, (200, 100, (1000, 1), 5)),
        ({"languages": 2, "sweeps": 9, "burn_in": 4, "optimise_every": 3, "restarts": 2},
         2, (4, 3, (9, 1), 2)),
        ({"languages": 2, "restarts": 0}, 2, (200, 100, (1000, 1), 1)),
    ],
)  # fmt: skip
def test_a_fit_asks_for_the_papers_chains_of_seeds_in_a_row(
    settings, languages, wanted, monkeypatch
):
    chains = []

    class Chain:
        used_vocabs = ["a", "b"]

        def __init__(self, **given):
            self.given, self.sentences, self.alpha = given, [], [0.5] * given["k"]
            self.add_doc = self.sentences.append
            self.ll_per_word = [-3.0, -1.23456789, -2.0, -4.0, -5.0][len(chains)]
            self.number = len(chains)
            chains.append(self)

        def train(self, *given, **named):
            self.trained = (self.burn_in, self.optim_interval, (*given, *named.values()))

        def get_topic_word_dist(self, language):
            return [self.number, language]

    monkeypatch.setattr(mixing.tomotopy, "LDAModel", Chain)
    texts = [
        document("a", "b a"),
        document("b", ""),
        document("c", "a"),
        document("d", "z", "test"),
    ]
    seed = 2**32 - 1
    made = fit(texts, seed=seed, **settings)
    *trained, count = wanted
    assert [chain.given for chain in chains] == [
        {"k": languages, "alpha": 1 / languages, "eta": 0.01, "seed": (seed + number) % 2**32}
        for number in range(count)
    ]
    assert all(chain.sentences == [["b", "a"], ["a"]] for chain in chains)
    assert all(chain.trained == tuple(trained) for chain in chains)
    best = min(count - 1, 1)
    assert (made.vocabulary, made.alpha.tolist()) == (("a", "b"), [0.5] * languages)
    assert made.phi.tolist() == [[best, language] for language in range(languages)]
    assert made.phi.dtype == made.alpha.dtype == np.float64
    nats = [-3.0, -1.234568, -2.0, -4.0, -5.0][:count]
    assert made.facts == {
        "documents": 2, "empty_documents": 1, "seed": seed, "sweeps": trained[2][0],
        "library": f"tomotopy {mixing.tomotopy.__version__}", "nats_per_word": nats,
    }  # fmt: skip
    refuses("got 1 language", fit, texts, seed=1, languages=1)
    refuses("2 training documents hold 1 distinct", fit, texts[1:], seed=1)


def gibbs(chances, alpha, uniforms):
    """Words per language after each sweep, each token drawn given all others."""
    assigned = chances.argmax(axis=1).tolist()
    for row in uniforms:
        for n, uniform in enumerate(row):
            others = np.bincount(assigned[:n] + assigned[n + 1 :], minlength=len(alpha))
            weights = np.cumsum(chances[n] * (alpha + others))
            assigned[n] = int(np.searchsorted(weights, uniform * weights[-1], side="right"))
        yield np.bincount(assigned, minlength=len(alpha))


def test_sweeps_draw_each_word_given_all_others_by_cumulated_weights():
    chances = np.array([[0.5, 0.5, 0.1], [0.3, 0.3, 0.6], [0.2, 0.6, 0.6], [0.4, 0.5, 0.3]])
    alpha, uniforms = np.array([0.3, 0.8, 0.5]), generator("sweeps").random((7, 4))
    uniforms[3] = 0.0
    after = list(gibbs(chances, alpha, uniforms))
    assert len({tuple(counts) for counts in after}) > 3
    for number, burn_in, interval, kept in (
        (7, 2, 3, (2, 5)),
        (7, 0, 4, (0, 4)),
        (5, 4, 2, (4,)),
        (6, 1, 1, range(1, 6)),
    ):
        counts, mean = assign(chances, alpha, uniforms[:number], (burn_in, interval))
        assert counts.tolist() == after[number - 1].tolist()
        expected = np.mean([alpha + after[sweep] for sweep in kept], axis=0) / (alpha.sum() + 4)
        assert mean == pytest.approx(expected, rel=1e-12)


def test_a_sentence_has_its_draws_by_name_and_counts_what_is_unknown(monkeypatch):
    phi = np.array([[0.75, 0.25], [0.125, 0.875]])
    model = LanguageModel(("a", "b"), phi, np.array([0.5, 1.5]), {})
    texts = [document("d", "b a z b"), document("e", "z", "test"), document("f", "a", "validation")]
    found = mixing.read(texts, reader=model, seed=4, splits=["train", "test"])
    shares, posteriors, means = [], [], []
    for name, terms in (("d", [1, 0, 1]), ("e", [])):
        rng = generator("language mixture", 4, name)
        uniforms = rng.random((100, len(terms)))
        counts = list(gibbs(phi[:, terms].T, model.alpha, uniforms))
        posteriors.append(model.alpha + counts[-1])
        shares.append(rng.dirichlet(posteriors[-1]))
        means.append(np.mean(model.alpha + counts[10::10], axis=0) / (2 + len(terms)))
    assert (found.unit_ids, found.splits) == (("d", "e"), ("train", "test"))
    columns = {"share": shares, "posterior": posteriors, "mean_share": means}
    for name, rows in columns.items():
        np.testing.assert_allclose(found.arrays[name], rows)
    others = {name: value.tolist() for name, value in found.arrays.items() if name not in columns}
    assert others == {
        "tokens": [3, 0], "unknown": [1, 1], "valid": [True, False], "alpha_names": [0.5, 1.5],
        "top_word_names": [list(words) for words in model.top_words()],
    }  # fmt: skip
    assert len(mixing.read(texts, reader=model, seed=4).unit_ids) == 3


def test_five_chains_are_started_and_the_best_is_kept():
    texts = ["uno dos tres", "one two three", "dos tres uno", "two three one", ""]
    documents = [Document(f"d{i}", "train", (Section(None, text),)) for i, text in enumerate(texts)]
    facts = fit(documents, seed=1, languages=2, sweeps=4, burn_in=1, optimise_every=2).facts
    assert len(facts["nats_per_word"]) == 5
    assert (facts["documents"], facts["empty_documents"], facts["sweeps"]) == (4, 1, 4)


def test_equal_languages_start_as_the_first_and_none_impossible_is_drawn():
    halves, alpha = np.full((2, 2), 0.5), np.ones(2)
    assert assign(halves, alpha, np.full((1, 2), 0.5), (0, 1))[0].tolist() == [2, 0]
    assert assign(np.array([[0.0, 1.0]]), alpha, np.zeros((1, 1)), (0, 1))[0].tolist() == [0, 1]
