"""The semi-Markov model's loops, interpreted, against sums written out in float64."""

import math

import numba
import numpy as np
import pytest

from longform.hsmm import kernels as k

WIDTH = 3
RNG = np.random.default_rng(0)
JOINT = RNG.random((5, WIDTH))
VECTORS = RNG.random((6, WIDTH))
SCALES = np.array([0.0, -2.0, 5.0, k.DEAD, 1.0, -300.0])
TOPS = np.log(JOINT.max(axis=1))


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Every loop as the Python that it is written in."""
    for name, value in list(vars(k).items()):
        if isinstance(value, numba.core.dispatcher.Dispatcher):
            monkeypatch.setattr(k, name, value.py_func)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 40])
def test_the_largest_entry_is_found_wherever_it_stands(size):
    for place in {0, size // 2, size - 1}:
        vector = np.full(size, 0.25, np.float32)
        vector[place] = 2.5
        assert k._largest(vector) == 2.5
    assert k._largest(np.zeros(size)) == 0


def test_tops_are_logarithms_and_rows_of_zeros_are_dead():
    out = np.zeros(2)
    k.log_tops(np.array([[0.25, 0.5, 0.1], [0.0, 0.0, 0.0]]), out)
    assert out.tolist() == [math.log(0.5), k.DEAD]


def combined(parts, rows, vectors, scales, joint):
    """The largest sum's logarithm, and the sums over it."""
    total = np.zeros(joint.shape[1])
    for part, row in zip(parts, rows, strict=True):
        if part >= 0 and scales[row] > k.DEAD:
            total += np.exp(scales[row]) * vectors[row].astype(float) * joint[part]
    top = total.max()
    return (math.log(top), total / top) if top > 0 else (k.DEAD, total)


def run(function, parts, rows, vectors=VECTORS, scales=SCALES, joint=JOINT, floor=1e-30):
    parts, rows = np.array(parts, np.int64), np.array(rows, np.int64)
    tops = np.array([math.log(row.max()) if row.max() > 0 else k.DEAD for row in joint])
    total = np.where((parts >= 0) & (scales[rows] > k.DEAD), scales[rows] + tops[parts], k.DEAD)
    out = np.full(joint.shape[1], np.nan, joint.dtype)
    exact = np.full(joint.shape[1], np.nan)
    scale = function(parts, rows, total, vectors, scales, joint, out, floor, exact)
    return scale, out


@pytest.mark.parametrize("function", [k._combine.py_func, k._combine_weak.py_func])
@pytest.mark.parametrize(
    ("parts", "rows"),
    [
        ([0], [0]),
        ([0, 1], [0, 1]),
        ([-1, 2, 4], [2, 1, 0]),
        ([0, 1, 2, 3], [4, 0, 1, 2]),
        ([3, 0, -1, 2, 1, 4], [0, 3, 1, 4, 2, 1]),
        ([0, 1, 2, 3, 4, 0, 1, 2, 3], [0, 1, 2, 4, 5, 0, 1, 2, 4]),
        ([-1, 2], [0, 3]),
        ([-1], [0]),
        ([1, 1], [5, 5]),
    ],
)
def test_parts_are_summed_and_divided_by_the_largest_sum(function, parts, rows):
    scale, vector = combined(parts, rows, VECTORS, SCALES, JOINT)
    found_scale, found = run(function, parts, rows)
    assert found_scale == pytest.approx(scale, rel=1e-12)
    np.testing.assert_allclose(found, vector, rtol=1e-12)


@pytest.mark.parametrize("function", [k._combine.py_func, k._combine_weak.py_func])
def test_what_lies_below_the_floor_becomes_zero(function):
    joint = np.array([[1.0, 1e-5, 2e-5]])
    _, found = run(function, [0], [0], np.ones((1, 3)), np.zeros(1), joint, floor=1e-5)
    assert found == pytest.approx([1.0, 0.0, 2e-5])


def test_a_sum_far_below_its_bound_is_found_in_float64():
    """Where one table is large the other is small: float32 products vanish."""
    vectors = np.array([[1.0, 1e-30, 1e-29], [1.0, 1e-28, 0.0]], np.float32)
    joint = np.array([[1e-30, 1.0, 1e-3], [0.0, 1e-2, 1.0]], np.float32)
    scales = np.array([3.0, 4.0])
    expected = combined([0, 1], [0, 1], vectors, scales, joint.astype(float))
    scale, found = run(k._combine, [0, 1], [0, 1], vectors, scales, joint)
    assert scale == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(found, expected[1], rtol=1e-5)
    apart = np.array([[1.0, 0.0]]), np.zeros(1), np.array([[0.0, 1.0]])
    scale, found = run(k._combine, [0], [0], *apart)
    assert scale == k.DEAD and found.tolist() == [0, 0]
    far = np.array([[1.0, 1e-20]]), np.array([-5000.0]), np.array([[1e-20, 1.0]])
    scale, found = run(k._combine, [0], [0], *far)
    assert scale == pytest.approx(-5000 + math.log(1e-20)) and found == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(("top", "is_again"), [(1e-12, False), (np.nextafter(1e-12, 0), True)])
def test_sums_below_the_weakest_top_alone_are_taken_again(top, is_again):
    parts, rows, out, exact = np.array([0]), np.array([0]), np.empty(2), np.full(2, np.nan)
    vectors, joint = np.array([[top, 0.0]]), np.ones((1, 2))
    scale = k._combine(parts, rows, np.zeros(1), vectors, np.zeros(1), joint, out, 1e-30, exact)
    assert scale == pytest.approx(math.log(1e-12)) and out.tolist() == [1, 0]
    assert np.isfinite(exact).tolist() == [is_again, is_again]


# two sequences of 3 and 1 positions, packed: positions 0..3 have 2, 2, 1 and 1 rows
FIRST = np.array([0, 2, 4, 5, 6])
INDEX = np.array([[0, 3], [1, -1], [2, 4], [-1, -1], [1, -1], [-1, -1]], np.int32)


def test_alpha_sums_over_the_lengths_of_the_segment_that_ends():
    before, scales = VECTORS.copy(), np.array([0.0, -1.0, 2.0, 0.5, 0.0, 0.0])
    ended = np.full((6, WIDTH), np.nan)
    k.forward_step(2, FIRST, INDEX, JOINT, TOPS, before, scales, ended, 1e-30)
    # one sequence reaches position 2: by one token from row 2, by two from row 0
    scale, vector = combined([2, 3], [2, 0], before, scales, JOINT)
    assert scales[4] == pytest.approx(scale) and np.isnan(ended[[0, 1, 2, 3, 5]]).all()
    np.testing.assert_allclose(ended[4], vector)
    k.forward_step(1, FIRST, INDEX, JOINT, TOPS, before, scales, ended, 1e-30)
    for row, part, start in ((2, 0, 0), (3, 1, 1)):
        scale, vector = combined([part], [start], before, scales, JOINT)
        assert scales[row] == pytest.approx(scale)
        np.testing.assert_allclose(ended[row], vector)
    dead = np.array([k.DEAD, 0.0, 0.0, 0.0, 0.0, 0.0])
    k.forward_step(1, FIRST, INDEX, JOINT, TOPS, before, dead, ended, 1e-30)
    assert dead[2] == k.DEAD and ended[2].tolist() == [0, 0, 0] and dead[3] > k.DEAD
    no_entry = np.where(np.arange(5) == 0, k.DEAD, TOPS)
    scales[:] = 0
    k.forward_step(1, FIRST, INDEX, JOINT, no_entry, before, scales, ended, 1e-30)
    assert scales[2] == k.DEAD and scales[3] > k.DEAD


def test_e_sums_over_the_lengths_of_the_segment_that_begins():
    after, scales = VECTORS.copy(), np.array([0.0, -1.0, 2.0, 0.5, -0.5, 1.5])
    begun, begun_scales = np.full((6, WIDTH), np.nan), np.full(6, np.nan)
    k.backward_step(0, FIRST, INDEX, JOINT, TOPS, after, scales, begun, begun_scales, 1e-30)
    # from row 0 one token to row 2 or two to row 4; from row 1 one token to row 3
    for row, parts, ends in ((0, [0, 3], [2, 4]), (1, [1], [3])):
        scale, vector = combined(parts, ends, after, scales, JOINT)
        assert begun_scales[row] == pytest.approx(scale)
        np.testing.assert_allclose(begun[row], vector)
    assert np.isnan(begun_scales[2:]).all()
    k.backward_step(2, FIRST, INDEX, JOINT, TOPS, after, scales, begun, begun_scales, 1e-30)
    scale, vector = combined([1], [5], after, scales, JOINT)  # the last position
    assert begun_scales[4] == pytest.approx(scale)
    scales[5] = k.DEAD
    k.backward_step(2, FIRST, INDEX, JOINT, TOPS, after, scales, begun, begun_scales, 1e-30)
    assert begun_scales[4] == k.DEAD


def test_rows_are_weighed_up_to_a_limit_and_dead_ones_vanish():
    vectors = np.ones((5, 2))
    k.weigh_rows(vectors, np.array([0.0, 2.0, 9.0, -700.0, -699.0]), 3.0)
    assert vectors[:, 0] == pytest.approx([1, math.exp(2), math.exp(3), 0, math.exp(-699)])
    assert vectors[:, 1].tolist() == vectors[:, 0].tolist()


@pytest.mark.parametrize("occurrences", [1, 3, 4, 5, 9])
def test_counts_are_sums_over_the_occurrences_of_each_segment(occurrences):
    rng = np.random.default_rng(occurrences)
    starts, ends = rng.integers(0, 6, (2, occurrences + 1))
    exponents = rng.normal(size=occurrences + 1)
    exponents[0] = -80.0  # too small to matter
    bounds, grams = np.array([0, occurrences, occurrences + 1]), np.array([2, 4])
    counts = np.ones((5, WIDTH))
    k.add_counts(bounds, grams, starts, ends, exponents, VECTORS, VECTORS + 1, JOINT, counts)
    expected = np.ones((5, WIDTH))
    for gram, first, last in ((2, 0, occurrences), (4, occurrences, occurrences + 1)):
        for o in range(first, last):
            if exponents[o] > -80:
                product = VECTORS[starts[o]] * (VECTORS[ends[o]] + 1)
                expected[gram] += math.exp(exponents[o]) * product * JOINT[gram]
    np.testing.assert_allclose(counts, expected)


def test_steep_exponents_are_added_through_logarithms():
    before, after = np.array([[1e-30, 0.0, 1.0]]), np.array([[1e-10, 1.0, 1.0]])
    joint, counts = np.array([[0.5, 0.5, 0.5]]), np.zeros((1, 3))
    zero = np.zeros(1, int)
    k.add_counts(np.array([0, 1]), zero, zero, zero, np.array([70.0]), before, after, joint, counts)
    assert counts[0] == pytest.approx([0.5e-40 * math.exp(70), 0.0, 1.0])
