"""What an iteration records, and how sequences are put into blocks, by hand."""

import math

import numpy as np
import pytest

from longform.hsmm import em
from longform.hsmm.compiled import Expectation, blocks_of


def expectation(transitions, segments=5, nats=-12.0, tokens=6, lost=1):
    return Expectation(
        np.array(transitions), np.zeros((segments, len(transitions))), nats, tokens, lost
    )


def test_an_iteration_counts_states_by_their_expected_segments():
    made = em.iteration_of(
        3, expectation([[1.0, 0.5, 0.0], [2.0, 0.5, 0.0], [0.0, 0.0, 0.0]]), True
    )
    shares = np.array([3.0, 1.0]) / 4
    assert made.effective_states == pytest.approx(math.exp(-(shares * np.log(shares)).sum()))
    assert (made.number, made.states_in_use, made.frozen, made.states, made.ngrams) == (
        3,
        2,
        True,
        3,
        5,
    )
    assert (made.log_likelihood, made.tokens, made.lost) == (-12.0, 6, 1)
    assert made.perplexity == pytest.approx(math.exp(2.0)) and made.validation_ppl is None
    few = em.iteration_of(0, expectation([[0.0, 0.9], [0.0, 0.0]]), False)
    assert (few.states_in_use, few.effective_states) == (0, 1.0)
    nothing = em.iteration_of(0, expectation([[0.0, 0.0], [0.0, 0.0]]), False)
    assert (nothing.states_in_use, nothing.effective_states) == (0, 1.0)


@pytest.mark.parametrize(
    ("frozen", "validation", "begins"),
    [
        (True, None, "pretraining 2: ppl 7.3891, 1,000 tokens/s, states in use 2 of 2 (effective 2.0), 5 n-grams, lost 1"),
        (False, 8.5, "em 2: ppl 7.3891, validation 8.5000, 1,000 tokens/s, states in use"),
    ],
)  # fmt: skip
def test_a_line_of_progress(frozen, validation, begins):
    made = em.iteration_of(2, expectation([[1.0, 1.0], [1.0, 1.0]]), frozen)
    made = em.replace(made, validation_ppl=validation)
    assert made.line(1000.4).startswith(begins)


@pytest.mark.parametrize(
    ("engine", "device", "by_torch"),
    [
        ("auto", "cpu", False),
        ("auto", "cuda", True),
        ("torch", "cpu", True),
        ("compiled", "cuda", False),
    ],
)
def test_which_engine_scans(engine, device, by_torch):
    assert em.Compute(device=device, engine=engine).by_torch is by_torch


@pytest.mark.parametrize(
    ("lengths", "rows", "blocks"),
    [
        ([3, 1, 2], 9, [[0, 2, 1]]), ([3, 1, 2], 8, [[0, 2], [1]]), ([3, 1, 2], 7, [[0, 2], [1]]), ([3, 1, 2], 6, [[0], [2, 1]]),
        ([3, 1, 2], 1, [[0], [2], [1]]), ([2, 2, 2], 6, [[0, 1], [2]]), ([], 5, []), ([9], 1, [[0]]),
    ],
)  # fmt: skip
def test_blocks_hold_sequences_by_length_with_one_row_more_each(lengths, rows, blocks):
    assert [block.tolist() for block in blocks_of(lengths, rows)] == blocks


def test_transitions_begin_within_the_xavier_bound_and_rows_sum_to_one():
    made = em.near_uniform(np.random.default_rng(0), 4)
    drawn = np.exp(np.random.default_rng(0).uniform(-math.sqrt(6 / 8), math.sqrt(6 / 8), (4, 4)))
    np.testing.assert_allclose(made, drawn / drawn.sum(axis=1, keepdims=True))
