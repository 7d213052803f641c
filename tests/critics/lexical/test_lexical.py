"""Lexical cohesion by hand and on planted reports."""

from dataclasses import replace

import numpy as np
import pytest

from longform.core.resampling import generator
from longform.core.text.entity_grids import grids_from_readout, read
from longform.core.text.permutations import ShuffleTask
from longform.critics.entity_grid.score import RoleTransitions
from longform.critics.lexical.score import AdjacentSimilarity, LatentSemantics, Overlap, term_documents, word_vectors
from longform.critics.lexical.wordnet import wordnet
from longform.datasets.synthetic_world.corpora import build
from longform.datasets.synthetic_world.lexicon import VOCABULARIES, fit, to_lmf, vocabulary
from longform.evaluation.order_discrimination import order_discrimination
from tests.critics.grid_cases import nouns as unit
from tests.refusals import refuses


def test_overlap_of_adjacent_sentences_by_hand():
    assert Overlap().coherence([unit("dog cat", "cat house door")])[0] == pytest.approx(2 / 5)
    tally = Overlap().tally([unit("dog", "dog cat", "house")])
    assert tally.values[0].tolist() == pytest.approx([2 / 3 + 0, 2, 0, 0, 0])
    assert Overlap().score(tally) == pytest.approx(1 / 3)
    # a pair with a sentence without nouns scores 0 and is counted
    assert Overlap().tally([unit("dog", "", "dog")]).values[0].tolist() == [0, 2, 2, 0, 0]
    tally = Overlap().tally([unit("dog"), unit("", ""), unit("dog", "dog")])
    assert tally.column("excluded").tolist() == [1, 1, 0]
    assert np.isnan(Overlap().coherence([unit("dog")])[0])
    assert np.isnan(Overlap().order_scores(unit("", ""), np.array([[1, 0]]))).all()


def test_orders_score_as_reordered_grids():
    text = unit("dog cat", "cat", "house dog", "door")
    orders = np.array([[3, 2, 1, 0], [1, 0, 3, 2]])
    slow = Overlap().coherence([replace(text, cells=text.cells[order]) for order in orders])
    np.testing.assert_allclose(Overlap().order_scores(text, orders), slow)


REAL = [unit("dog cat", "dog", name="a"), unit("cat dog", "kennel", name="b"), unit("ship sea", "sea", name="c"),
        unit("sea ship", "sail ship", name="d")]  # fmt: skip


def test_latent_semantics_equals_a_dense_decomposition_and_leaves_unknown_words_out():
    fitted = LatentSemantics(dims=2).fit(REAL)
    words = sorted(fitted.words)
    left, values, _ = np.linalg.svd(term_documents(REAL, fitted.words))
    vectors = left[:, :2] * values[:2]
    mean = {w: vectors[words.index(w)] for w in words}
    first, second = mean["dog"] + mean["sea"], mean["kennel"]
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert fitted.coherence([unit("dog sea", "kennel")])[0] == pytest.approx(cosine)
    assert LatentSemantics(dims=100).fit(REAL).vectors.shape == (6, 3)
    tally = fitted.tally([unit("dog zebra", "cat")])
    assert tally.total("unknown") == 1
    assert tally.total("similarity") == pytest.approx(fitted.tally([unit("dog", "cat")]).total("similarity"))


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_word_vectors_equal_the_decomposition_and_do_not_move_with_equal_singular_values(shape):
    table = generator("lsa", *shape).poisson(0.4, shape).astype(np.float64)
    left, values, _ = np.linalg.svd(table, full_matrices=False)
    ours = word_vectors(table, 5)
    np.testing.assert_allclose(ours @ ours.T, (left[:, :5] * values[:5] ** 2) @ left[:, :5].T, atol=1e-9)
    tied = np.kron(np.eye(6), np.ones((2, 2)))  # six equal singular values, of which four are kept
    assert all(np.array_equal(word_vectors(tied, 4), word_vectors(tied, 4)) for _ in range(5))


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    corpus = build(name="reports", seed=7, domain="reports", documents={"train": 300, "test": 80})
    folder = tmp_path_factory.mktemp("net")
    fit(world="everyday").save(folder)
    return read(documents=corpus.documents, truth=corpus.truth, reader=folder, roles="truth")


def by_split(readout, split):
    return [unit for unit in grids_from_readout(readout) if unit.split == split]


def test_planted_reports_stand_above_their_shuffles(reports):
    train, test = by_split(reports, "train"), by_split(reports, "test")
    (found,) = order_discrimination({"grid": RoleTransitions()}, test, [ShuffleTask()], train=train)
    assert found.details["above_mean"] >= 0.95 and found.value > 0.9
    scorers = {"overlap": Overlap(), "latent_semantics": LatentSemantics()}
    scorers |= {measure: wordnet(real=reports, measure=measure) for measure in ("hirst_st_onge", "resnik")}
    found = order_discrimination(scorers, by_split(reports, "test"), [ShuffleTask()], train=by_split(reports, "train"))
    assert all(record.value > 0.6 for record in found if record.metric == "pairwise_accuracy")


def test_the_planted_word_net_is_the_planted_taxonomy():
    for world in VOCABULARIES:
        assert fit(world=world).text == to_lmf(vocabulary(world))


def test_bad_input_is_named():
    refuses("dims", LatentSemantics, dims=0)
    refuses("two of each", LatentSemantics().fit, [unit("", "")])
    refuses("call fit", LatentSemantics().coherence, REAL)
    with pytest.raises(TypeError, match="abstract class"):
        AdjacentSimilarity().coherence(REAL)
    refuses("allowed are", fit, world="moon")
