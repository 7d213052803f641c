"""Expected counts of both engines, compiled and PyTorch (on the CPU here), against enumeration and finite differences."""

import numpy as np
import pytest
import semi_markov_cases as cases
import torch
from semi_markov_cases import close, random_case, steep

from longform.language_models.hsmm import compiled, on_device
from longform.language_models.hsmm.compiled import Expectation
from longform.language_models.hsmm.model import SemiMarkovLM


def counted(model: SemiMarkovLM, texts: list[list[str]], engine: str = "compiled", **settings) -> Expectation:
    indices = [model.ngrams.index(model.ngrams.encode(text)) for text in texts]
    sequences = [len(index) for index in indices], indices.__getitem__
    if engine == "compiled":
        return compiled.expectation(model.tables, *sequences, **settings)
    tables = [torch.tensor(table, device=engine) for table in (model.transitions, model.joint)]
    found = on_device.expectation(*tables, *sequences, **settings)
    found.transitions, found.segments = found.transitions.cpu().numpy(), found.segments.cpu().numpy()
    return found


engines = pytest.mark.parametrize("engine", ["compiled", "cpu"])


@engines
@pytest.mark.parametrize("seed", range(3))
def test_counts_equal_counting_over_enumerated_paths(engine: str, seed: int) -> None:
    model, texts = random_case(seed)
    segments, transitions = np.zeros_like(model.joint), np.zeros((3, 3))
    rows = {model.ngrams.text(row): row for row in range(model.ngrams.rows)}
    for text in texts:
        weighted = list(cases.paths(model, text))
        total = sum(p for p, _ in weighted)
        for probability, path in weighted:
            before = 0
            for start, duration, state in path:
                segments[rows[tuple(text[start : start + duration])], state] += probability / total
                transitions[before, state] += probability / total
                before = state
    found = counted(model, texts, engine)
    np.testing.assert_allclose(found.segments, segments, atol=1e-12)
    np.testing.assert_allclose(found.transitions, transitions, atol=1e-12)
    want = sum(cases.enumerated_log_likelihood(model, text) for text in texts)
    assert found.log_likelihood == pytest.approx(want, rel=1e-12)
    assert (found.tokens, found.lost) == (sum(map(len, texts)), 0)


@engines
def test_likelihood_and_counts_do_not_depend_on_the_block_size(engine: str) -> None:
    model, texts = random_case(3, dtype="float32")
    one, many = (counted(model, texts * 5, engine, rows_per_block=rows) for rows in (1, 10_000))
    assert one.log_likelihood == pytest.approx(many.log_likelihood, rel=1e-6)
    close(one, many, rtol=1e-5, atol=1e-6)


def test_threads_change_not_a_bit() -> None:
    model, texts = random_case(3, dtype="float32")
    one, three = (counted(model, texts * 5, rows_per_block=1, threads=threads) for threads in (1, 3))
    assert three.log_likelihood == one.log_likelihood
    np.testing.assert_array_equal(three.segments, one.segments)
    np.testing.assert_array_equal(three.transitions, one.transitions)


@pytest.mark.parametrize("chunk", [3, 65_536])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_engines_agree_on_steep_tables(dtype: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "OCCURRENCES_PER_CHUNK", chunk)
    model, texts = random_case(2, dtype=dtype)
    here, there = counted(steep(model), texts), counted(steep(model), texts, "cpu")
    tolerance = 1e-5 if dtype == "float32" else 1e-10
    close(there, here, atol=tolerance)
    assert there.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-6)


@engines
def test_what_float32_lost_is_scanned_again_in_float64_and_the_hopeless_is_counted(engine: str) -> None:
    model, texts = random_case(1)
    hard = cases.lost_in_float32(model)
    want = counted(hard, [*texts, ["b"]])
    rough = SemiMarkovLM(hard.ngrams, hard.transitions.astype(np.float32), hard.joint.astype(np.float32))
    found = counted(rough, [*texts, ["b"]], engine)
    assert (found.lost, found.tokens) == (want.lost, want.tokens) and want.lost >= 1
    assert found.log_likelihood == pytest.approx(want.log_likelihood, rel=1e-6)
    close(found, want, atol=1e-5)


@engines
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_text_of_probability_zero_adds_no_counts_and_spoils_no_other(engine: str, dtype: str) -> None:
    model, texts = random_case(0, dtype=dtype)
    mute = cases.without_unigrams(model)
    both, alone = counted(mute, [texts[0], ["a"]], engine), counted(mute, [texts[0]], engine)
    assert (both.lost, both.tokens) == (1, len(texts[0]))
    close(both, alone, atol=1e-6)


def test_a_scan_keeps_four_vectors_per_position_and_nothing_larger() -> None:
    """At C = 800 and T = 375 in float32 that is 4.8 MB a sequence, below the 8 MB that are allowed."""
    model, texts = random_case(0)
    workspace = compiled.Workspace()
    counted(model, texts, workspace=workspace)
    positions = sum(len(text) + 1 for text in texts)
    held = sum(buffer.nbytes for buffer in workspace.held.values())
    assert held == 4 * positions * model.num_states * model.joint.itemsize


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_gives_what_the_processor_gives() -> None:
    model, texts = random_case(2, dtype="float32")
    here, there = counted(model, texts), counted(model, texts, "cuda")
    close(there, here, atol=1e-5, rtol=1e-5)
    assert there.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-6)


def test_a_scan_flushes_denormals_and_leaves_the_thread_as_it_was():
    tiny = np.float32(1e-20)
    with compiled.without_denormals():
        assert tiny * tiny == 0
    assert tiny * tiny > 0
