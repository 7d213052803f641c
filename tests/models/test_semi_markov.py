"""The hidden semi-Markov model against enumeration, finite differences and torch-struct."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_struct
from semi_markov_cases import bursts, enumerated_log_likelihood, paths, random_case

from longform.documents import BadInput
from longform.language_models.hsmm.blocks import pack
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.paths import draw, tokens_of
from longform.language_models.hsmm.scan import Workspace, full_scans
from longform.language_models.hsmm.steps import Compute, expectation
from longform.resampling import generator

torch_struct.StructDistribution.arg_constraints = {}


@pytest.mark.parametrize("seed", range(5))
def test_log_likelihood_equals_enumeration_for_every_text(seed: int) -> None:
    model, texts = random_case(seed)
    want = [enumerated_log_likelihood(model, text) for text in texts]
    np.testing.assert_allclose(model.log_likelihood(texts), want, rtol=1e-10)


def test_text_without_any_segmentation_has_probability_zero() -> None:
    model, texts = random_case(0)
    silent = model.joint.copy()
    silent[: model.ngrams.starts[1]] = 0  # no unigrams: a text of one token cannot be made
    mute = SemiMarkovLM(model.ngrams, model.transitions, silent)
    assert mute.log_likelihood([["a"]])[0] == -np.inf
    assert enumerated_log_likelihood(mute, texts[0]) == pytest.approx(mute.log_likelihood([texts[0]])[0], rel=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steep_tables_lose_nothing_to_scaling(dtype: str) -> None:
    model, texts = random_case(1, dtype=dtype)
    steep = np.array([1e-28, 1.0, 1e-14])[np.arange(model.ngrams.rows) % 3, None] * model.joint
    steep = SemiMarkovLM(model.ngrams, model.transitions, steep.astype(dtype))
    want = [enumerated_log_likelihood(steep, text) for text in texts]
    np.testing.assert_allclose(steep.log_likelihood(texts), want, rtol=1e-10 if dtype == "float64" else 1e-6)


def _edge_potentials(model: SemiMarkovLM, text: list[str]) -> torch.Tensor:
    """torch-struct's (1, T, K + 1, C, C): position, duration, state here, state before; duration 0 is void."""
    shape = (1, len(text), model.max_duration + 1, model.num_states, model.num_states)
    edges = torch.full(shape, -1e6, dtype=torch.float64)
    transitions = torch.from_numpy(np.log(model.transitions.astype(np.float64)))
    index = model.ngrams.index(model.ngrams.encode(text))
    for t, k in zip(*np.nonzero(index >= 0), strict=True):
        emission = torch.from_numpy(np.log(model.joint[index[t, k]].astype(np.float64)))
        edges[0, t, k + 1] = (transitions + emission[None, :]).T
    edges[0, 0, :, :, 1:] = -1e6
    return edges


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_and_counts_equal_torch_struct(seed: int) -> None:
    """One text at a time: torch-struct 0.5 fills its chart up to the shortest text of a batch only."""
    model, texts = random_case(seed)
    transitions = np.zeros(model.transitions.shape)
    for text in texts:
        peer = torch_struct.SemiMarkovCRF(_edge_potentials(model, text).requires_grad_(True))
        assert model.log_likelihood([text])[0] == pytest.approx(float(peer.partition.detach()[0]), rel=1e-5)
        marginals = peer.marginals.detach().numpy()[0]
        np.testing.assert_allclose(model.marginals(text), marginals[:, 1:].sum(axis=-1), atol=1e-5)
        transitions += marginals.sum(axis=(0, 1)).T
    found = expectation(model, [model.ngrams.encode(text) for text in texts], Compute(dtype="float64"))
    np.testing.assert_allclose(found.transitions, transitions, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_marginals_equal_enumeration(seed: int) -> None:
    model, texts = random_case(seed)
    for text in texts:
        want = np.zeros((len(text), model.max_duration, model.num_states))
        total = 0.0
        for probability, path in paths(model, text):
            total += probability
            for start, duration, state in path:
                want[start, duration - 1, state] += probability
        np.testing.assert_allclose(model.marginals(text), want / total, atol=1e-12)


def test_expected_counts_equal_finite_differences() -> None:
    model, texts = random_case(4)
    found = expectation(model, [model.ngrams.encode(text) for text in texts], Compute(dtype="float64"))
    step = 1e-6
    for name, counts in (("transitions", found.transitions), ("joint", found.segments)):
        for place in np.ndindex(counts.shape):
            values = []
            for sign in (1, -1):
                table = getattr(model, name).copy()
                table[place] *= np.exp(sign * step)
                other = {"transitions": model.transitions, "joint": model.joint} | {name: table}
                values.append(SemiMarkovLM(model.ngrams, **other).log_likelihood(texts).sum())
            assert counts[place] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-7)


def test_expected_durations_add_up_to_the_tokens() -> None:
    model, texts = random_case(2)
    found = expectation(model, [model.ngrams.encode(text) for text in texts], Compute(dtype="float64"))
    tokens = sum(map(len, texts))
    assert (found.segments * model.ngrams.durations[:, None]).sum() == pytest.approx(tokens, rel=1e-12)
    assert found.transitions.sum() == pytest.approx(found.segments.sum(), rel=1e-12)
    assert (found.tokens, found.lost) == (tokens, 0)


def test_likelihood_and_counts_do_not_depend_on_the_block_size_and_not_a_bit_on_threads() -> None:
    model, texts = random_case(3, dtype="float32")
    encoded = [model.ngrams.encode(text) for text in texts * 5]
    one = expectation(model, encoded, Compute(rows_per_block=1))
    many = expectation(model, encoded, Compute(rows_per_block=10_000))
    assert one.log_likelihood == pytest.approx(many.log_likelihood, rel=1e-6)
    np.testing.assert_allclose(one.segments, many.segments, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one.transitions, many.transitions, rtol=1e-5, atol=1e-6)
    pair = expectation(model, encoded, Compute(rows_per_block=1, threads=3))
    assert pair.log_likelihood == one.log_likelihood
    np.testing.assert_array_equal(pair.segments, one.segments)
    np.testing.assert_array_equal(pair.transitions, one.transitions)


@pytest.mark.parametrize("seed", range(4))
def test_viterbi_finds_the_best_of_all_paths(seed: int) -> None:
    model, texts = random_case(seed)
    for text in texts:
        probability, path = max(paths(model, text))
        found = model.viterbi(text)
        assert found.log_probability == pytest.approx(np.log(probability), rel=1e-12)
        assert [(d, z) for _, d, z in path] == list(zip(found.durations, found.states, strict=True))
        assert list(tokens_of(model, found)) == text


def test_sampled_segments_follow_the_joint_table_up_to_the_longest_duration() -> None:
    model, _ = random_case(5)
    drawn = draw(model, 4, [generator("hsmm test", i) for i in range(4000)])
    first = np.array([path.states[0] for path in drawn])
    np.testing.assert_allclose(np.bincount(first, minlength=3) / 4000, model.transitions[0], atol=0.03)
    for state in range(3):
        seen = Counter(row for p in drawn for row, z in zip(p.rows, p.states, strict=True) if z == state)
        frequency = np.array([seen[row] for row in range(model.ngrams.rows)]) / sum(seen.values())
        np.testing.assert_allclose(frequency, model.joint[:, state], atol=0.03)
        longest = frequency[model.ngrams.starts[-2] :].sum()
        assert longest == pytest.approx(model.durations[-1, state], abs=0.03) and longest > 0
    path = drawn[0]
    assert path.log_probability <= enumerated_log_likelihood(model, list(tokens_of(model, path))) + 1e-9


def test_a_text_depends_on_its_own_generator_only() -> None:
    model, _ = random_case(6)
    together = draw(model, 5, [generator("doc", i) for i in range(8)])
    assert model.sample(5, generator("doc", 7)) == tokens_of(model, together[7])


def test_saved_model_comes_back_and_another_shape_is_refused(tmp_path: Path) -> None:
    model, texts = random_case(0, dtype="float32")
    model.save(tmp_path / "m")
    again = SemiMarkovLM.load(tmp_path / "m", num_states=3, max_duration=3)
    np.testing.assert_array_equal(again.joint, model.joint)
    np.testing.assert_array_equal(again.log_likelihood(texts), model.log_likelihood(texts))
    with pytest.raises(BadInput, match="num_states is 3, allowed is 4; set num_states to 3 or retrain"):
        SemiMarkovLM.load(tmp_path / "m", num_states=4)
    with pytest.raises(BadInput, match="train the model first"):
        SemiMarkovLM.load(tmp_path / "absent")


def test_unknown_tokens_and_empty_texts_are_refused() -> None:
    model, _ = random_case(0)
    with pytest.raises(BadInput, match="token 'z' is not one of the 3"):
        model.log_likelihood([["a", "z"]])
    with pytest.raises(BadInput, match="sequence 0: got no tokens"):
        model.log_likelihood([[]])
    assert bursts(0, texts=1, segments=2)


def test_a_scan_keeps_four_vectors_per_position_and_nothing_larger() -> None:
    """At C = 800 and T = 375 in float32 that is 4.8 MB a sequence, below the 8 MB that are allowed."""
    model, texts = random_case(0)
    block, workspace = pack([model.ngrams.index(model.ngrams.encode(text)) for text in texts]), Workspace()
    full_scans(block, model.tables, workspace)
    positions = sum(len(text) + 1 for text in texts)
    held = sum(buffer.nbytes for buffer in workspace.held.values())
    assert held == 4 * positions * model.num_states * model.joint.itemsize
    assert 4 * 376 * 800 * 4 < 8e6


def test_mixing_with_uniform_tables_keeps_sums_and_gives_every_text_a_path() -> None:
    model, _ = random_case(0)
    silent = model.joint.copy()
    silent[: model.ngrams.starts[1]] = 0
    mute = SemiMarkovLM(model.ngrams, model.transitions, silent / silent.sum(axis=0))
    mixed = mute.mixed(0.1)
    assert mute.log_likelihood([["a"]])[0] == -np.inf and np.isfinite(mixed.log_likelihood([["a"]])[0])
    np.testing.assert_allclose(mixed.joint.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(mixed.transitions.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(mixed.durations[0], 0.1 / 3, rtol=1e-12)
