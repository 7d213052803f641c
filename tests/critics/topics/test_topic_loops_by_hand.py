"""The topic model's loops, interpreted, against dense algebra of three free topics."""

import math

import numba
import numpy as np
import pytest

from longform.critics.topics import kernels as k

FREE, WIDTH = 3, 16
DENSE = np.array([[2.0, -0.5, 0.25], [-0.5, 1.0, 0.1], [0.25, 0.1, 4.0]])
NU = np.array([0.25, 0.5, 0.125])
LOGITS = np.array([0.5, -1.0, 0.25])
MU = np.array([0.1, 0.2, -0.3])
MASS = 9.0


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Every loop as the Python that it is written in."""
    for name, value in list(vars(k).items()):
        if isinstance(value, numba.core.dispatcher.Dispatcher):
            monkeypatch.setattr(k, name, value.py_func)


def padded(values, rest=0.0):
    row = np.full(WIDTH, rest)
    row[: len(values)] = values
    return row


@pytest.fixture
def state():
    """Scratch, wide row and precision at the point above; the fixed topic has the logit zero."""
    scratch = np.full((k.SCRATCH_ROWS, WIDTH), np.nan)
    scratch[k.LAMBDA] = padded([*LOGITS, 0.0], k.ABSENT)
    scratch[k.NU] = padded(NU)
    scratch[k.MEAN] = padded([*MU, 0.0], k.ABSENT)
    precision = np.zeros((WIDTH, WIDTH))
    precision[:FREE, :FREE] = DENSE
    precision[range(FREE, WIDTH), range(FREE, WIDTH)] = 1.0
    row = np.empty(WIDTH)
    return scratch, (row, row.reshape(-1, k.LANES)), precision


def expected_counts(logits=LOGITS, nu=NU, mass=MASS):
    weights = np.exp([*(logits + nu / 2), 0.0])
    return mass * weights / weights.sum(), math.log(weights.sum())


@pytest.mark.parametrize("x", [0.0, 1.0, -1.0, 0.3, 20.5, -20.5, 345.6, -345.6, 699.0, 1e-9])
def test_the_exponential_is_that_of_math(x):
    assert k._exp(x) == pytest.approx(math.exp(x), rel=1e-14)


def test_the_exponential_is_cut_at_700():
    assert k._exp(1e4) == k._exp(700.0) == pytest.approx(math.exp(700), rel=1e-13)
    assert k._exp(-1e4) == k._exp(-700.0) == pytest.approx(math.exp(-700), rel=1e-13)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 17])
def test_weighted_rows_are_a_product_of_a_vector_and_a_matrix(size):
    rng = np.random.default_rng(size)
    rows, weights = rng.normal(size=(18, 5)), rng.normal(size=18)
    out = np.full(5, np.nan)
    k._weighted_rows(rows, weights, size, out)
    np.testing.assert_allclose(out, weights[:size] @ rows[:size], atol=1e-12)


@pytest.mark.parametrize("width", [16, 48])
def test_sums_and_inner_products_take_every_lane(width):
    row = 2.0 ** (np.arange(width) % 40)
    expected = row.sum()
    assert k._sum((row, row.reshape(-1, 16))) == expected
    a, b = np.arange(1.0, width + 1), np.arange(width, 0.0, -1)
    wide = np.empty(width)
    assert k._dot(a, b, (wide, wide.reshape(-1, 16))) == a @ b


@pytest.mark.parametrize("place", range(8))
def test_the_largest_entry_is_found_wherever_it_stands_or_zero(place):
    row = np.full(8, -2.0)
    assert k._largest(row) == 0
    row[place] = 3.0
    assert k._largest(row) == 3
    exponents = row.copy()
    assert k._exponentials(exponents) == 3
    assert exponents == pytest.approx(np.exp(row - 3))


def test_expected_counts_are_a_softmax_times_the_tokens(state):
    scratch, wide, _ = state
    counts, log_zeta = expected_counts()
    assert k._tilt(scratch, wide, MASS, FREE) == pytest.approx(log_zeta)
    np.testing.assert_allclose(scratch[k.EXPECTED], padded(counts), atol=1e-12)
    np.testing.assert_allclose(scratch[k.CURVE], padded(counts[:FREE]), atol=1e-12)
    scratch[k.STEP] = padded([1.0, 2.0, -1.0])
    along = expected_counts(LOGITS + 0.5 * np.array([1.0, 2.0, -1.0]))[1]
    assert k._log_zeta_along(scratch, wide, 0.5) == pytest.approx(along)


def newton_system(counts):
    q = counts[:FREE]
    return DENSE + np.diag(q) - np.outer(q, q) / MASS


def test_a_newton_system_is_solved_and_what_precision_makes_of_the_step(state, monkeypatch):
    scratch, wide, precision = state
    monkeypatch.setattr(k, "CG_DROP", 0.0)
    counts, _ = expected_counts()
    gradient = np.array([1.0, -2.0, 0.5])
    scratch[k.CURVE], scratch[k.GRADIENT] = padded(counts[:FREE]), padded(gradient)
    k._solve(scratch, wide, precision, MASS)
    step = np.linalg.solve(newton_system(counts), gradient)
    np.testing.assert_allclose(scratch[k.STEP], padded(step), atol=1e-10)
    np.testing.assert_allclose(scratch[k.STEP_PULL], padded(DENSE @ step), atol=1e-10)


def bound(logits, share):
    """What a step on lambda raises."""
    deviation = logits - MU
    _, log_zeta = expected_counts(logits)
    return share @ logits - 0.5 * deviation @ DENSE @ deviation - MASS * log_zeta


def test_a_newton_step_is_taken_whole_where_it_brings_what_it_promises(state, monkeypatch):
    scratch, wide, precision = state
    monkeypatch.setattr(k, "CG_DROP", 0.0)
    share = np.array([4.0, 2.0, 2.0])
    scratch[k.SHARE] = padded([*share, 1.0])
    scratch[k.PULL] = padded(DENSE @ (LOGITS - MU))
    counts, _ = expected_counts()
    gradient = share - counts[:FREE] - DENSE @ (LOGITS - MU)
    step = np.linalg.solve(newton_system(counts), gradient)
    rise = k._newton(scratch, wide, precision, MASS, FREE)
    assert rise == pytest.approx(gradient @ step)
    moved = LOGITS + step
    assert bound(moved, share) > bound(LOGITS, share)
    np.testing.assert_allclose(scratch[k.LAMBDA], padded([*moved, 0.0], k.ABSENT), atol=1e-9)
    np.testing.assert_allclose(scratch[k.PULL, :FREE], DENSE @ (moved - MU), atol=1e-9)


def test_a_step_is_halved_until_it_brings_its_share_or_given_up(state, monkeypatch):
    scratch, wide, precision = state
    share = np.array([4.0, 2.0, 2.0])
    gradient = share - expected_counts()[0][:FREE] - DENSE @ (LOGITS - MU)
    promised = gradient / np.linalg.norm(gradient)

    def solve(scratch, wide, precision, mass):
        """A step of eight times too long."""
        scratch[k.STEP] = padded(8 * promised)
        scratch[k.STEP_PULL] = padded(DENSE @ (8 * promised))

    monkeypatch.setattr(k, "_solve", solve)

    def prepared():
        scratch[k.LAMBDA] = padded([*LOGITS, 0.0], k.ABSENT)
        scratch[k.SHARE] = padded([*share, 1.0])
        scratch[k.PULL] = padded(DENSE @ (LOGITS - MU))
        return k._newton(scratch, wide, precision, MASS, FREE)

    rise = gradient @ (8 * promised)
    lengths = 0.5 ** np.arange(12)
    gains = [bound(LOGITS + 8 * s * promised, share) - bound(LOGITS, share) for s in lengths]
    enough = next(s for s, gain in zip(lengths, gains, strict=True) if gain >= 1e-4 * s * rise)
    assert enough < 1
    assert prepared() == pytest.approx(rise)
    np.testing.assert_allclose(scratch[k.LAMBDA, :FREE], LOGITS + 8 * enough * promised)
    np.testing.assert_allclose(
        scratch[k.PULL, :FREE], DENSE @ (LOGITS + 8 * enough * promised - MU), atol=1e-9
    )
    monkeypatch.setattr(k, "HALVINGS", round(math.log2(1 / enough)))
    assert prepared() == 0.0 and scratch[k.LAMBDA, :FREE].tolist() == LOGITS.tolist()


def test_variances_go_to_the_root_of_their_slope(state, monkeypatch):
    scratch, wide, precision = state
    monkeypatch.setattr(k, "VARIANCE_STEPS", 60)
    _, log_zeta = expected_counts()
    k._widen(scratch, wide, precision, MASS, FREE)
    nu = scratch[k.NU, :FREE]
    rate = MASS * np.exp(LOGITS + nu / 2 - log_zeta)
    np.testing.assert_allclose(nu * (np.diag(DENSE) + rate), 1.0, rtol=1e-9)
    assert scratch[k.NU, FREE:].tolist() == [0.0] * (WIDTH - FREE)


def test_one_step_on_a_variance_is_newtons_and_never_beyond_its_limits(state, monkeypatch):
    scratch, wide, precision = state
    monkeypatch.setattr(k, "VARIANCE_STEPS", 1)
    _, log_zeta = expected_counts()
    rate = MASS * np.exp(LOGITS + NU / 2 - log_zeta)
    total = NU * (np.diag(DENSE) + rate)
    move = (0.5 - 0.5 * total) / (0.5 * total + 0.25 * NU * NU * rate)
    k._widen(scratch, wide, precision, MASS, FREE)
    np.testing.assert_allclose(scratch[k.NU, :FREE], NU * np.exp(move))
    scratch[k.NU, 0] = 1e-6  # far too small: up by e^3 at most, and never above 1 / S
    scratch[k.NU, 1] = 0.999
    monkeypatch.setattr(k, "LONGEST", 9.0)
    k._widen(scratch, wide, precision, 1e-9, FREE)
    assert scratch[k.NU, :2] == pytest.approx([1e-6 * math.exp(9.0), 1.0], rel=1e-3)
    monkeypatch.setattr(k, "LONGEST", 3.0)
    scratch[k.NU, 0] = 1e-6
    k._widen(scratch, wide, precision, 1e-9, FREE)
    assert scratch[k.NU, 0] == pytest.approx(1e-6 * math.exp(3.0))
    scratch[k.NU, 2] = 1e3
    k._widen(scratch, wide, precision, MASS, FREE)
    assert scratch[k.NU, 2] <= 0.25


BETA = np.array([[0.5, 0.1, 0.2, 0.2], [0.25, 0.3, 0.6, 0.2], [0.25, 0.6, 0.2, 0.6]])  # words
COUNTS = np.array([5.0, 3.0, 1.0])


def words():
    rows = np.zeros((4, WIDTH))
    rows[:3, :4] = BETA
    rows[3] = 99.0  # of a longer document
    return rows, np.ascontiguousarray(rows[:3].T)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_words_are_assigned_by_what_their_topics_weigh(state, shift):
    scratch, _, _ = state
    scratch[k.LAMBDA, : FREE + 1] += shift
    rows, columns = words()
    ratios = np.full(3, np.nan)
    value = k._assign(scratch, rows, columns, COUNTS, ratios)
    weights = np.exp(np.array([*LOGITS, 0.0]) + shift)
    chances = BETA @ weights
    assert value == pytest.approx(COUNTS @ np.log(chances))
    np.testing.assert_allclose(
        scratch[k.SHARE], padded(weights * (BETA.T @ (COUNTS / chances))), atol=1e-12
    )
    top = max(LOGITS.max() + shift, 0.0)
    np.testing.assert_allclose(scratch[k.WEIGHT, :4], weights / math.exp(top))
    np.testing.assert_allclose(ratios, COUNTS / chances * math.exp(top))


def gaussian(logits, nu):
    deviation = logits - MU
    value = -MASS * expected_counts(logits, nu)[1] - 0.5 * deviation @ DENSE @ deviation
    return value + 0.5 * (np.log(nu) - np.diag(DENSE) * nu).sum()


def test_the_bound_has_the_gaussians_terms_and_the_pull_is_computed_anew(state):
    scratch, wide, precision = state
    k._pull_back(scratch, precision)
    np.testing.assert_allclose(scratch[k.PULL, :FREE], DENSE @ (LOGITS - MU))
    found = k._gaussian_terms(scratch, wide, precision, MASS, FREE)
    assert found == pytest.approx(gaussian(LOGITS, NU))


def test_expected_words_are_counts_times_each_topics_part_of_a_word():
    beta = np.array([[0.5, 0.2], [0.25, 0.4], [0.25, 0.4]])
    weights = np.array([[1.0, 2.0], [3.0, 1.0]])
    # by words: word 0 in documents 0 and 1, word 1 in none, word 2 in document 1
    columns = (np.array([0, 2, 2, 3]), np.array([0, 1, 1]), np.array([0, 2, 1]), (0, 3))
    ratios = np.array([4.0, 5.0, 6.0])
    out = np.full((3, 2), np.nan)
    k.expected_words(columns, weights, ratios, beta, out)
    expected = [[0.5 * (4 * 1 + 6 * 3), 0.2 * (4 * 2 + 6 * 1)], [0, 0], [0.25 * 15, 0.4 * 5]]
    np.testing.assert_allclose(out, expected)
    part = np.full((3, 2), np.nan)
    k.expected_words((*columns[:3], (1, 2)), weights, ratios, beta, part)
    assert np.isnan(part).tolist() == [[True] * 2, [False] * 2, [True] * 2]
