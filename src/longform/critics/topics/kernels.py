"""Compiled loops of the correlated topic model: coordinate ascent, one document at a time, arrays that stay in cache.

Every sum has a written order (``LANES`` partial sums, then halves): a compiler that may reorder sums does so by the width
of the registers that it finds, and the bits would be each processor's own. Products are fused with additions where the
processor can, which all with AVX2 do.
"""

from typing import Any

import numba
import numpy as np

LANES = 16  # one 512-bit register of float32; rows are padded to a multiple
ABSENT = -1.0e4  # logit of a padded topic: its exponential is zero in either precision
_JIT: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
}
SHIFT = 6755399441055744.0  # 1.5 * 2^52: added to a number, it leaves the nearest integer in the last bits

# Rows of the scratch matrix: current point, then what one round needs.
LAMBDA, NU, WEIGHT, EXPECTED, SHARE, CURVE, GRADIENT, PULL = range(8)
STEP, STEP_PULL, RESIDUAL, SCALED, DIRECTION, PRODUCT, BENT, MEAN = range(8, 16)
SCRATCH_ROWS = 16

NEWTON_STEPS = 2  # Newton steps on lambda per round
CG_PRODUCTS = 10  # products with the precision per Newton step
CG_DROP = 1.0e-4  # squared residual drop at which a Newton system counts as solved
VARIANCE_STEPS = 3  # Newton steps on log nu per round
HALVINGS = 12  # of a Newton step before it is given up
LONGEST = 3.0  # largest change of log nu in one step
UNLIMITED = 10_000  # rounds where the settings name no limit: far beyond what 1e-6 takes
TINY = 1.0e-35  # least word probability: float32 keeps a count over it finite


@numba.njit(forceinline=True, **_JIT)
def _exp(x):
    x = min(max(np.float64(x), -700.0), 700.0)
    shifted = x * 1.4426950408889634 + SHIFT
    n = shifted - SHIFT
    r = x - n * 6.93145751953125e-1 - n * 1.42860682030941723212e-6
    p = r * (1 / 6227020800.0) + 1 / 479001600.0
    p = (p * r + 1 / 39916800.0) * r + 1 / 3628800.0
    p = (p * r + 1 / 362880.0) * r + 1 / 40320.0
    p = (p * r + 1 / 5040.0) * r + 1 / 720.0
    p = (p * r + 1 / 120.0) * r + 1 / 24.0
    p = ((p * r + 1 / 6.0) * r + 0.5) * r + 1.0
    p = p * r + 1.0
    power = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return p * np.int64(power).view(np.float64)


@numba.njit(**_JIT)
def _weighted_rows(rows, weights, size, out):
    out[:] = 0
    whole = size - size % 8
    for j in range(0, whole, 8):
        a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        e, f, g, h = weights[j + 4], weights[j + 5], weights[j + 6], weights[j + 7]
        for k in range(out.size):
            first = a * rows[j, k] + b * rows[j + 1, k] + c * rows[j + 2, k] + d * rows[j + 3, k]
            second = (
                e * rows[j + 4, k] + f * rows[j + 5, k] + g * rows[j + 6, k] + h * rows[j + 7, k]
            )
            out[k] += first + second
    for j in range(whole, size):
        a = weights[j]
        for k in range(out.size):
            out[k] += a * rows[j, k]


@numba.njit(forceinline=True, **_JIT)
def _sum(wide):
    """Sum of the float64 row ``wide``, (row, its view in rows of ``LANES``); the row is overwritten."""
    row, parts = wide
    for part in range(1, len(parts)):
        for lane in range(LANES):
            row[lane] += parts[part, lane]
    for lane in range(8):
        row[lane] += row[lane + 8]
    for lane in range(4):
        row[lane] += row[lane + 4]
    return (row[0] + row[2]) + (row[1] + row[3])


@numba.njit(forceinline=True, **_JIT)
def _dot(a, b, wide):
    for k in range(a.size):
        wide[0][k] = np.float64(a[k]) * np.float64(b[k])
    return _sum(wide)


@numba.njit(forceinline=True, **_JIT)
def _largest(a):
    s = t = u = v = a.dtype.type(0)
    for k in range(0, a.size, 4):
        s, t, u, v = max(s, a[k]), max(t, a[k + 1]), max(u, a[k + 2]), max(v, a[k + 3])
    return max(max(s, t), max(u, v))


@numba.njit(forceinline=True, **_JIT)
def _exponentials(exponents):
    """Exponentials over the largest, or over 1 where that is larger, in place; returns the logarithm of what they were divided by."""
    top = _largest(exponents)
    for k in range(exponents.size):
        exponents[k] = _exp(exponents[k] - top)
    return top


@numba.njit(**_JIT)
def _tilt(scratch, wide, mass, free):
    r"""Set $N \mathrm{softmax}(\lambda + \nu / 2)$, and the same with the fixed topic blanked; return $\log\zeta$."""
    logit, spread, expected, curve = scratch[LAMBDA], scratch[NU], scratch[EXPECTED], scratch[CURVE]
    for k in range(logit.size):
        wide[0][k] = np.float64(logit[k]) + 0.5 * spread[k]
    top = _exponentials(wide[0])
    for k in range(logit.size):
        expected[k] = wide[0][k]
    total = _sum(wide)
    scale = mass / total
    for k in range(logit.size):
        expected[k] *= scale
        curve[k] = expected[k]
    curve[free] = 0
    return top + np.log(total)


@numba.njit(**_JIT)
def _log_zeta_along(scratch, wide, length):
    r"""$\log\zeta$ at a fraction ``length`` of the current Newton step."""
    logit, spread, step = scratch[LAMBDA], scratch[NU], scratch[STEP]
    for k in range(logit.size):
        wide[0][k] = np.float64(logit[k]) + length * step[k] + 0.5 * spread[k]
    top = _exponentials(wide[0])
    return top + np.log(_sum(wide))


@numba.njit(**_JIT)
def _solve(scratch, wide, precision, mass):
    r"""Newton system $(S + \mathrm{diag}(q) - q q^\top / N)\, d = g$ by preconditioned conjugate gradients."""
    step, pull, rest, scaled = scratch[STEP], scratch[STEP_PULL], scratch[RESIDUAL], scratch[SCALED]
    direction, product, curve, gradient = (
        scratch[DIRECTION],
        scratch[PRODUCT],
        scratch[CURVE],
        scratch[GRADIENT],
    )
    bent = scratch[BENT]
    step[:], pull[:] = 0, 0
    for k in range(step.size):
        rest[k] = gradient[k]
        scaled[k] = 1 / (precision[k, k] + curve[k] * (1 - curve[k] / mass))
        direction[k] = rest[k] * scaled[k]
    norm = _dot(rest, direction, wide)
    goal = norm * CG_DROP
    for _ in range(CG_PRODUCTS):
        if norm <= goal:
            break
        _weighted_rows(precision, direction, direction.size, product)
        along = _dot(curve, direction, wide) / mass
        for k in range(step.size):
            bent[k] = product[k] + curve[k] * (direction[k] - along)
            wide[0][k] = np.float64(direction[k]) * np.float64(bent[k])
        length = step.dtype.type(norm / _sum(wide))
        for k in range(step.size):
            step[k] += length * direction[k]
            pull[k] += length * product[k]
            rest[k] -= length * bent[k]
            product[k] = rest[k] * scaled[k]
            wide[0][k] = np.float64(rest[k]) * np.float64(product[k])
        fresh = _sum(wide)
        turn = step.dtype.type(fresh / norm)
        norm = fresh
        for k in range(step.size):
            direction[k] = product[k] + turn * direction[k]


@numba.njit(**_JIT)
def _newton(scratch, wide, precision, mass, free):
    logit, share, expected, gradient = (
        scratch[LAMBDA],
        scratch[SHARE],
        scratch[EXPECTED],
        scratch[GRADIENT],
    )
    pull, step, step_pull = scratch[PULL], scratch[STEP], scratch[STEP_PULL]
    log_zeta = _tilt(scratch, wide, mass, free)
    for k in range(logit.size):
        gradient[k] = share[k] - expected[k] - pull[k]
    gradient[free] = 0
    _solve(scratch, wide, precision, mass)
    rise = _dot(gradient, step, wide)
    linear = _dot(share, step, wide) - _dot(pull, step, wide)
    square = _dot(step, step_pull, wide)
    length = 1.0
    for _ in range(HALVINGS):
        gain = length * linear - 0.5 * length * length * square
        gain -= mass * (_log_zeta_along(scratch, wide, length) - log_zeta)
        if gain >= 1e-4 * length * rise:
            for k in range(logit.size):
                logit[k] += length * step[k]
                pull[k] += length * step_pull[k]
            return rise
        length *= 0.5
    return 0.0


@numba.njit(**_JIT)
def _widen(scratch, wide, precision, mass, free):
    r"""Newton steps on $\log\nu$ with $\zeta$ fixed; the root lies below $1 / S_{ii}$, and is neared from above."""
    logit, nu = scratch[LAMBDA], scratch[NU]
    log_zeta = _tilt(scratch, wide, mass, free)
    for _ in range(VARIANCE_STEPS):
        for k in range(free):
            value, own = np.float64(nu[k]), np.float64(precision[k, k])
            rate = mass * _exp(logit[k] + 0.5 * value - log_zeta)
            slope = 0.5 - 0.5 * value * (own + rate)
            bend = -0.5 * value * (own + rate) - 0.25 * value * value * rate
            value *= _exp(min(max(-slope / bend, -LONGEST), LONGEST))
            nu[k] = min(value, 1.0 / own)


@numba.njit(**_JIT)
def _assign(scratch, rows, columns, counts, ratios):
    r"""Word assignments at lambda: expected topic counts, ratios $c_w / s_w$; return $\sum_w c_w \log s_w$."""
    logit, weight, share = scratch[LAMBDA], scratch[WEIGHT], scratch[SHARE]
    top = _largest(logit)
    for k in range(logit.size):
        weight[k] = _exp(logit[k] - top)
    _weighted_rows(columns, weight, weight.size, ratios)
    value = np.float64(0.0)
    for u in range(counts.size):
        chance = max(np.float64(ratios[u]), TINY)
        value += counts[u] * (np.log(chance) + top)
        ratios[u] = counts[u] / chance
    _weighted_rows(rows, ratios, counts.size, share)
    for k in range(logit.size):
        share[k] *= weight[k]
    return value


@numba.njit(**_JIT)
def _gaussian_terms(scratch, wide, precision, mass, free):
    logit, nu, mean, pull = scratch[LAMBDA], scratch[NU], scratch[MEAN], scratch[PULL]
    value = -mass * _tilt(scratch, wide, mass, free)
    for k in range(free):
        value += 0.5 * (np.log(np.float64(nu[k])) - np.float64(nu[k]) * precision[k, k])
        value -= 0.5 * np.float64(logit[k] - mean[k]) * pull[k]
    return value


@numba.njit(**_JIT)
def _pull_back(scratch, precision):
    r"""$S (\lambda - \mu)$ afresh, so that rounding does not add up over rounds."""
    step = scratch[STEP]
    for k in range(step.size):
        step[k] = scratch[LAMBDA, k] - scratch[MEAN, k]
    _weighted_rows(precision, step, step.size, scratch[PULL])


@numba.njit(**_JIT)
def _ascend(scratch, wide, precision, rows, columns, counts, ratios, limits):
    free, max_rounds, tolerance, constant = limits
    mass = np.float64(0.0)
    for u in range(counts.size):
        mass += counts[u]
    value, old, rounds = 0.0, 0.0, 0
    _pull_back(scratch, precision)
    _assign(scratch, rows, columns, counts, ratios)
    while rounds < max_rounds:
        rounds += 1
        for _ in range(NEWTON_STEPS):
            _newton(scratch, wide, precision, mass, free)
        _widen(scratch, wide, precision, mass, free)
        _pull_back(scratch, precision)
        words = _assign(scratch, rows, columns, counts, ratios)
        value = words + _gaussian_terms(scratch, wide, precision, mass, free) + constant
        if rounds > 1 and abs(value - old) <= tolerance * abs(old):
            break
        old = value
    return value, rounds


@numba.njit(**_JIT)
def ascend_documents(corpus, model, limits, points, found):
    """Coordinate ascent on some documents; every document starts from its row of ``points``.

    Args:
        corpus: (starts, terms, counts, (first, last)): rows of one compressed document-term matrix, and which to do.
        model: (beta (terms, topics), precision (topics, topics), mean (topics)), padded, of one precision.
        limits: (free topics, rounds at most, relative tolerance, constant of the bound).
        points: (lambda, nu), each (documents, topics) padded; overwritten with the result.
        found: (bound (documents), rounds (documents), ratios (nonzeros)); overwritten.
    """
    starts, terms, counts, (first, last) = corpus
    beta, precision, mean = model
    widest = 0
    for d in range(first, last):
        widest = max(widest, starts[d + 1] - starts[d])
    rows, columns = (
        np.empty((widest, beta.shape[1]), beta.dtype),
        np.empty((beta.shape[1], widest), beta.dtype),
    )
    scratch = np.empty((SCRATCH_ROWS, beta.shape[1]), beta.dtype)
    row = np.empty(beta.shape[1], np.float64)
    wide = (row, row.reshape(-1, LANES))
    scratch[MEAN] = mean
    for d in range(first, last):
        size = starts[d + 1] - starts[d]
        for u in range(size):
            rows[u] = beta[terms[starts[d] + u]]
            columns[:, u] = rows[u]
        scratch[LAMBDA], scratch[NU] = points[0][d], points[1][d]
        span = slice(starts[d], starts[d + 1])
        value, rounds = _ascend(
            scratch, wide, precision, rows, columns, counts[span], found[2][span], limits
        )
        points[0][d], points[1][d] = scratch[LAMBDA], scratch[NU]
        found[0][d], found[1][d] = value, rounds


@numba.njit(**_JIT)
def expected_words(columns, weights, ratios, beta, out):
    r"""Expected word counts $\sum_d c_{dw} \phi_{dwk}$ for the words of one span, by columns: one write per row.

    ``columns`` is (starts, documents, entries, (first, last)), the document-term matrix by words, and which to do;
    ``weights`` (documents, topics) exp(lambda), each row up to the factor that its ``ratios`` carry; these (nonzeros,) are
    counts over word probabilities, by rows of that matrix. ``out`` (terms, topics) is overwritten.
    """
    starts, documents, entries, (first, last) = columns
    total = np.empty(beta.shape[1], np.float64)
    for w in range(first, last):
        total[:] = 0
        for at in range(starts[w], starts[w + 1]):
            ratio, document = np.float64(ratios[entries[at]]), documents[at]
            for k in range(total.size):
                total[k] += ratio * weights[document, k]
        for k in range(total.size):
            out[w, k] = beta[w, k] * total[k]
