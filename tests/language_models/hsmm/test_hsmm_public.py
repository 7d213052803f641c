"""The public class of the hidden semi-Markov model, against enumeration and torch-struct."""

import doctest
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from semi_markov_cases import paths

import longform.hsmm
from longform.errors import ArtefactError, ConfigError, InputError
from longform.hsmm import HSMM
from longform.hsmm.model import SemiMarkovLM, build_ngrams

LENGTHS = (6, 1, 4, 5, 2)


def random_model(seed: int, dtype: str = "float64") -> tuple[HSMM, list[np.ndarray]]:
    """Three states over the tokens 0, 1 and 2, some n-grams missing, and documents of them."""
    draw = np.random.default_rng(seed)
    documents = [draw.integers(0, 3, length) for length in LENGTHS]
    ngrams = build_ngrams([ids.tolist() for ids in documents], max_duration=3, max_ngrams=9)
    transitions = draw.dirichlet(np.ones(3), 3).astype(dtype)
    joint = np.ascontiguousarray(draw.dirichlet(np.ones(ngrams.rows), 3).T.astype(dtype))
    tables = SemiMarkovLM(ngrams, transitions, joint)
    return HSMM(num_states=3, max_duration=3, tables=tables), documents


def padded(documents: list[np.ndarray]) -> np.ndarray:
    """Documents as rows, filled up with -1."""
    array = np.full((len(documents), max(map(len, documents))), -1)
    for row, document in enumerate(documents):
        array[row, : len(document)] = document
    return array


@pytest.mark.parametrize("seed", range(3))
def test_log_prob_sums_over_every_segmentation_and_state(seed):
    model, documents = random_model(seed)
    expected = []
    for document in documents:
        total = sum(probability for probability, _ in paths(model.tables, document.tolist()))
        expected.append(np.log(total))
    np.testing.assert_allclose(model.log_prob(documents), expected, rtol=1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
@pytest.mark.parametrize("seed", range(3))
def test_posterior_is_the_share_of_paths_through_each_segment(seed, dtype, tolerance):
    model, documents = random_model(seed, dtype)
    for document, posterior in zip(documents, model.posterior(documents), strict=True):
        segments = np.zeros((len(document), 3, 3))
        starts = np.zeros(len(document))
        states = np.zeros((len(document), 3))
        total = 0.0
        for probability, path in paths(model.tables, document.tolist()):
            total += probability
            for start, duration, state in path:
                segments[start, duration - 1, state] += probability
                starts[start] += probability
                states[start : start + duration, state] += probability
        np.testing.assert_allclose(posterior.segments, segments / total, atol=tolerance)
        np.testing.assert_allclose(posterior.starts, starts / total, atol=tolerance)
        np.testing.assert_allclose(posterior.states, states / total, atol=tolerance)
        assert posterior.num_segments == pytest.approx(starts.sum() / total, rel=1e-5)


def by_torch_struct(model: HSMM, document: np.ndarray):
    """torch-struct's distribution over the segments of one document."""
    torch_struct = pytest.importorskip("torch_struct")
    torch_struct.StructDistribution.arg_constraints = {}  # 0.5 declares none
    never = -1e6
    tables = model.tables
    rows = torch.from_numpy(tables.ngrams.index(tables.ngrams.encode(document.tolist()))).long()
    emitted = torch.from_numpy(tables.joint).log()[rows.clamp(min=0)]
    emitted = emitted.masked_fill((rows < 0)[..., None], never)
    # Potentials (T, K + 1, state of the segment, state before it); a duration of 0 is void.
    edges = emitted[..., :, None] + torch.from_numpy(tables.transitions).log().t()
    edges = torch.cat([torch.full_like(edges[:, :1], never), edges], dim=1)
    edges[0, ..., 1:] += never  # the first segment follows state 0
    return torch_struct.SemiMarkovCRF(edges[None])


@pytest.mark.parametrize("seed", range(2))
def test_torch_struct_finds_the_same_log_prob_and_posterior(seed):
    model, documents = random_model(seed)
    for document in documents:
        theirs = by_torch_struct(model, document)
        log_prob = model.log_prob([document])[0]
        assert log_prob == pytest.approx(float(theirs.partition[0].detach()), abs=1e-6)
        (posterior,) = model.posterior([document])
        marginals = theirs.marginals[0].detach().sum(dim=-1)[:, 1:].numpy()
        np.testing.assert_allclose(posterior.segments, marginals, atol=1e-6)


def test_padded_documents_with_or_without_lengths_are_the_ragged_ones():
    model, documents = random_model(0)
    expected = model.log_prob(documents)
    array = padded(documents)
    assert np.array_equal(model.log_prob(array), expected)
    assert np.array_equal(model.log_prob(np.maximum(array, 0), LENGTHS), expected)
    lists = [document.tolist() for document in documents]
    assert np.array_equal(model.log_prob(lists), expected)
    fits = [HSMM(2, 3, iterations=4).fit(given) for given in (documents, array)]
    assert np.array_equal(fits[0].tables.joint, fits[1].tables.joint)


def test_a_document_without_any_segmentation_has_probability_zero():
    model, _ = random_model(0)
    joint = model.tables.joint.copy()
    joint[: model.tables.ngrams.starts[1]] = 0  # no segment of a single token
    mute = HSMM(3, 3, tables=SemiMarkovLM(model.tables.ngrams, model.tables.transitions, joint))
    assert mute.log_prob([[1]])[0] == -np.inf
    assert not mute.posterior([[1]])[0].segments.any()
    with np.errstate(divide="raise"):
        assert mute.posterior([[1, 1]])[0].segments.any()


def test_each_iteration_of_fit_raises_the_likelihood():
    _, documents = random_model(4)
    totals = []
    for iterations in (1, 2, 4, 8, 16):
        model = HSMM(2, 3, iterations=iterations).fit(documents)
        totals.append(model.log_prob(documents).sum())
    assert np.all(np.diff(totals) > 0)


def test_fit_finds_the_segments_that_wrote_the_documents():
    # State 0 writes "0 1", state 1 writes "2 2 3"; the chain changes state three times out of four.
    documents = []
    draw = np.random.default_rng(1)
    for _ in range(60):
        state, tokens = 0, []
        for _ in range(8):
            state = state if draw.random() < 0.25 else 1 - state
            tokens += ([0, 1], [2, 2, 3])[state]
        documents.append(tokens)
    model = HSMM(num_states=2, max_duration=3, iterations=60, seed=3).fit(documents)
    (posterior,) = model.posterior([[0, 1, 2, 2, 3, 0, 1, 0, 1]])
    np.testing.assert_allclose(posterior.starts, [1, 0, 1, 0, 0, 1, 0, 1, 0], atol=0.02)
    likeliest = posterior.states.argmax(axis=1)
    assert (likeliest == np.array([0, 0, 1, 1, 1, 0, 0, 0, 0])).all() or (
        likeliest == np.array([1, 1, 0, 0, 0, 1, 1, 1, 1])
    ).all()


def test_samples_are_spelt_by_their_segments_and_named_by_seed():
    model, _ = random_model(2)
    samples = model.sample(6, 4, seed=5)
    for sample in samples:
        assert len(sample.states) == len(sample.durations) == 4
        assert sample.durations.sum() == len(sample.tokens)
        assert set(sample.tokens) <= {0, 1, 2}
    assert np.array_equal(model.sample(2, 4, seed=5)[1].tokens, samples[1].tokens)
    others = model.sample(6, 4, seed=6)
    assert any(
        sample.tokens.tolist() != other.tokens.tolist()
        for sample, other in zip(samples, others, strict=True)
    )
    assert np.array_equal(model.sample(1, 9)[0].tokens, model.sample(1, 9, seed=0)[0].tokens)
    # The first state follows state 0: its share is that row of the transitions.
    first = [sample.states[0] for sample in model.sample(4000, 1)]
    shares = np.bincount(first, minlength=3) / 4000
    np.testing.assert_allclose(shares, model.tables.transitions[0], atol=0.03)


def test_a_saved_model_of_integer_tokens_comes_back(tmp_path):
    _, documents = random_model(3)
    model = HSMM(2, 2, iterations=3).fit(documents)
    model.save(tmp_path / "model")
    again = HSMM.load(tmp_path / "model")
    assert (again.num_states, again.max_duration) == (2, 2)
    assert np.array_equal(again.log_prob(documents), model.log_prob(documents))
    with pytest.raises(ArtefactError, match="train the model first"):
        HSMM.load(tmp_path / "absent")


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda model: HSMM(2, 2).log_prob([[1]]), InputError, "not fitted"),
        (lambda model: HSMM(0, 2), ConfigError, "num_states is 0"),
        (lambda model: HSMM(2, 1.5), ConfigError, "max_duration is 1.5"),
        (lambda model: HSMM(2, 2).fit([]), InputError, "got 0 sequences"),
        (lambda model: model.log_prob([[0, 9]]), InputError, "token 9 is not one of the 3"),
        (lambda model: model.log_prob([[]]), InputError, "got no tokens"),
        (lambda model: model.log_prob([0, 1]), InputError, "each a sequence of tokens"),
        (lambda model: model.log_prob(["a text"]), InputError, "each a sequence of tokens"),
        (lambda model: model.log_prob(np.zeros(3, int)), InputError, "padded integer array"),
        (lambda model: model.log_prob(np.zeros((2, 2))), InputError, "padded integer array"),
        (lambda model: model.log_prob(np.array([[-1, 1]])), InputError, "pad at the end only"),
        (lambda model: model.log_prob(np.zeros((2, 2), int), [1]), InputError, r"lengths \[1\]"),
        (lambda model: model.log_prob(np.zeros((1, 2), int), [3]), InputError, r"lengths \[3\]"),
        (lambda model: model.log_prob(np.zeros((1, 2), int), [-1]), InputError, r"lengths \[-1\]"),
        (lambda model: model.log_prob(np.zeros((1, 2), int), [1.5]), InputError, "from 0 to 2"),
        (lambda model: HSMM(math.nan, 2), ConfigError, "num_states is nan"),
        (lambda model: model.log_prob([[0]], [1]), InputError, "lengths belong to a padded"),
        (lambda model: model.sample(0, 1), ConfigError, "must be at least one"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(call, error, sentence):
    model, _ = random_model(0)
    with pytest.raises(error, match=sentence):
        call(model)


def test_the_example_of_the_readme_prints_what_it_says():
    readme = Path(longform.hsmm.__file__).with_name("README.md").read_text(encoding="utf-8")
    examples = readme.replace("```\n", "\n")  # a fence would count as output
    test = doctest.DocTestParser().get_doctest(examples, {}, "README.md", None, None)
    results = doctest.DocTestRunner().run(test)
    assert results.attempted == 4 and results.failed == 0
