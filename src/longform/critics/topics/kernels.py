r"""Compiled loops of the correlated topic model: coordinate ascent on one document at a time.

A document's posterior is a Gaussian of independent logits with means $\lambda$ and variances $\nu$
(Blei and Lafferty 2007, section 3.1). With $\zeta = \sum_k e^{\lambda_k + \nu_k / 2}$ and the
prior's precision $S$, its part of the evidence bound that a round raises is
$\sum_w c_w \log s_w - N \log \zeta - \tfrac12 (\lambda - \mu)^\top S (\lambda - \mu)
+ \tfrac12 \sum_k (\log \nu_k - S_{kk} \nu_k)$: $c_w$ are the counts of its words, $N$ their sum and
$s_w = \sum_k \beta_{kw} e^{\lambda_k}$. A document's arrays stay in cache.

Topics are padded to a multiple of ``LANES``. The last topic of the model is fixed (its logit is
zero and has no variance), so ``free`` is both the number of free topics and the index of the fixed
one. Padded topics have the logit ``ABSENT``.

Every sum has a written order (``LANES`` partial sums, then halves): a compiler that may reorder
sums does so by the width of the registers that it finds, and the bits would be each processor's
own. Products are fused with additions where the processor can, which all with AVX2 do.

Arguments that many functions here share:

- ``scratch`` (``SCRATCH_ROWS``, topics): the document's current point and what a round computes, a
  row for each name below;
- ``wide``: memory in which sums are taken, in float64 whatever the type of the arrays: (row
  (topics,), the same memory in rows of ``LANES``);
- ``precision`` (topics, topics): $S$; ``mass``: $N$ in tokens, float64; ``free``: as above, int64.

Unless an argument says otherwise arrays are of one type, float32 or float64, that of the settings.
Logits and logarithms are in nats.
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
# 1.5 * 2^52: added to a number, it leaves the nearest integer in the last bits
SHIFT = 6755399441055744.0

# Rows of the scratch matrix: the current point,
LAMBDA = 0  # means of the logits
NU = 1  # variances of the logits
# what a round computes at this point,
WEIGHT = 2  # exp(lambda - top), where top is the largest entry of lambda, or zero
EXPECTED = 3  # N softmax(lambda + nu / 2): counts of topics that the normaliser expects
SHARE = 4  # counts of topics by the assignments of the words
CURVE = 5  # q: as EXPECTED, zero for the fixed topic
GRADIENT = 6  # g: of the bound in lambda
PULL = 7  # S (lambda - mu)
# one Newton step on lambda and the conjugate gradients that find it,
STEP = 8  # d: the step
STEP_PULL = 9  # S d
RESIDUAL = 10  # what the step leaves of g
SCALED = 11  # the preconditioner: one over the diagonal of the system
DIRECTION = 12  # along which the step is corrected next
PRODUCT = 13  # S times the direction, then the preconditioned residual
BENT = 14  # the system's matrix times the direction
# and the prior.
MEAN = 15  # mu
SCRATCH_ROWS = 16

NEWTON_STEPS = 2  # Newton steps on lambda per round
CG_PRODUCTS = 10  # products with the precision per Newton step
CG_DROP = 1.0e-4  # squared residual drop at which a Newton system counts as solved
SUFFICIENT = 1.0e-4  # share of the linear gain that a step must bring (Armijo)
VARIANCE_STEPS = 3  # Newton steps on log nu per round
HALVINGS = 12  # of a Newton step before it is given up
LONGEST = 3.0  # largest change of log nu in one step
UNLIMITED = 10_000  # rounds where the settings name no limit: far beyond what 1e-6 takes
TINY = 1.0e-35  # least word probability: float32 keeps a count over it finite


@numba.njit(forceinline=True, **_JIT)
def _exp(x):
    r"""$e^x$ as $2^n e^r$, with $x = n \log 2 + r$; the same bits on every processor.

    Args:
        x: float32 or float64; cut to -700 and 700.

    Returns:
        float64.
    """
    x = min(max(np.float64(x), -700.0), 700.0)
    # 1. x = n log 2 + r with |r| at most half of log 2, which is subtracted in two parts.
    shifted = x * 1.4426950408889634 + SHIFT
    n = shifted - SHIFT
    r = x - n * 6.93145751953125e-1 - n * 1.42860682030941723212e-6
    # 2. The series of e^r up to r^13, innermost term first.
    p = r * (1 / 6227020800.0) + 1 / 479001600.0
    p = p * r + 1 / 39916800.0
    p = p * r + 1 / 3628800.0
    p = p * r + 1 / 362880.0
    p = p * r + 1 / 40320.0
    p = p * r + 1 / 5040.0
    p = p * r + 1 / 720.0
    p = p * r + 1 / 120.0
    p = p * r + 1 / 24.0
    p = p * r + 1 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # 3. Times 2^n: a float64 with the exponent n + 1023 in its bits and no fraction.
    exponent = np.float64(shifted).view(np.int64) + np.int64(1023)
    power = exponent << np.int64(52)
    return p * np.int64(power).view(np.float64)


@numba.njit(**_JIT)
def _weighted_rows(rows, weights, size, out):
    r"""The product of a row and a matrix: $o_k = \sum_{j < \mathrm{size}} w_j R_{jk}$.

    Args:
        rows: $R$, (rows, columns).
        weights: $w$, (size,) or longer.
        size: how many of the rows are summed.
        out: $o$, (columns,); overwritten.
    """
    out[:] = 0
    # 1. Eight rows at a time, so that ``out`` is read and written once for all of them.
    in_eights = size - size % 8
    for j in range(0, in_eights, 8):
        a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        e, f, g, h = weights[j + 4], weights[j + 5], weights[j + 6], weights[j + 7]
        for k in range(out.size):
            first = a * rows[j, k] + b * rows[j + 1, k] + c * rows[j + 2, k] + d * rows[j + 3, k]
            second = (
                e * rows[j + 4, k] + f * rows[j + 5, k] + g * rows[j + 6, k] + h * rows[j + 7, k]
            )
            out[k] += first + second
    # 2. The rows that are left, one by one.
    for j in range(in_eights, size):
        a = weights[j]
        for k in range(out.size):
            out[k] += a * rows[j, k]


@numba.njit(forceinline=True, **_JIT)
def _sum(wide):
    """Sum a row in an order that is written out, so that every processor gets the same bits.

    A compiler may not reorder it, but can add all lanes at once, in vector registers.

    Args:
        wide: (row, parts): float64 (topics,), and the same memory in rows of ``LANES``;
            overwritten.

    Returns:
        float64.
    """
    # 1. ``LANES`` (16) partial sums in the row's beginning, which is ``parts[0]``.
    row, parts = wide
    for part in range(1, len(parts)):
        for lane in range(LANES):
            row[lane] += parts[part, lane]
    # 2. Eight of them, four, and one.
    for lane in range(8):
        row[lane] += row[lane + 8]
    for lane in range(4):
        row[lane] += row[lane + 4]
    return (row[0] + row[2]) + (row[1] + row[3])


@numba.njit(forceinline=True, **_JIT)
def _dot(a, b, wide):
    r"""Inner product $\sum_k a_k b_k$, in float64.

    Args:
        a, b: (topics,).
        wide: memory of sums, see :func:`_sum`; overwritten.

    Returns:
        float64.
    """
    for k in range(a.size):
        wide[0][k] = np.float64(a[k]) * np.float64(b[k])
    return _sum(wide)


@numba.njit(forceinline=True, **_JIT)
def _largest(a):
    """The largest entry of a row, or zero where all are negative.

    Args:
        a: (topics,), a multiple of four.

    Returns:
        A number of the row's type.
    """
    s = t = u = v = a.dtype.type(0)
    for k in range(0, a.size, 4):
        s, t, u, v = max(s, a[k]), max(t, a[k + 1]), max(u, a[k + 2]), max(v, a[k + 3])
    return max(max(s, t), max(u, v))


@numba.njit(forceinline=True, **_JIT)
def _exponentials(exponents):
    r"""$e^{x_k - m}$ with $m = \max(0, \max_k x_k)$, in place.

    Args:
        exponents: $x$, nats, float64 (topics,); overwritten.

    Returns:
        $m$: the logarithm of what the exponentials were divided by, nats.
    """
    top = _largest(exponents)
    for k in range(exponents.size):
        exponents[k] = _exp(exponents[k] - top)
    return top


@numba.njit(**_JIT)
def _tilt(scratch, wide, mass, free):
    r"""Set ``EXPECTED`` to $N \mathrm{softmax}(\lambda + \nu / 2)$ and ``CURVE`` as well.

    In ``CURVE`` the fixed topic is zero. This $\zeta = \sum_k e^{\lambda_k + \nu_k / 2}$ is the one
    that makes the bound tightest (Blei and Lafferty 2007, section 3.1).

    Args:
        scratch: ``LAMBDA`` and ``NU`` are read, ``EXPECTED`` and ``CURVE`` set, in tokens.
        wide: memory of sums, see :func:`_sum`.
        mass, free: $N$ in tokens, and the fixed topic's index.

    Returns:
        $\log\zeta$, nats, float64.
    """
    logit = scratch[LAMBDA]
    variance = scratch[NU]
    expected = scratch[EXPECTED]
    curve = scratch[CURVE]
    # 1. exp(lambda + nu / 2), scaled so that none overflows, and the sum of these.
    for k in range(logit.size):
        wide[0][k] = np.float64(logit[k]) + 0.5 * variance[k]
    top = _exponentials(wide[0])
    for k in range(logit.size):
        expected[k] = wide[0][k]
    total = _sum(wide)
    # 2. Scaled to the document's tokens.
    scale = mass / total
    for k in range(logit.size):
        expected[k] *= scale
        curve[k] = expected[k]
    curve[free] = 0
    return top + np.log(total)


@numba.njit(**_JIT)
def _log_zeta_along(scratch, wide, length):
    r"""$\log \sum_k e^{\lambda_k + a d_k + \nu_k / 2}$: $\log\zeta$ part of a Newton step ahead.

    Args:
        scratch: ``LAMBDA``, ``NU`` and the step $d$ in ``STEP`` are read.
        wide: memory of sums, see :func:`_sum`.
        length: $a$, the share of the step, float64.

    Returns:
        Nats, float64.
    """
    logit = scratch[LAMBDA]
    variance = scratch[NU]
    step = scratch[STEP]
    for k in range(logit.size):
        wide[0][k] = np.float64(logit[k]) + length * step[k] + 0.5 * variance[k]
    top = _exponentials(wide[0])
    return top + np.log(_sum(wide))


@numba.njit(**_JIT)
def _solve(scratch, wide, precision, mass):
    r"""Solve the Newton system by preconditioned conjugate gradients.

    The system is $(S + \mathrm{diag}(q) - q q^\top / N)\, d = g$ with $q$ in ``CURVE`` and $g$ in
    ``GRADIENT``; ``STEP`` becomes $d$ and ``STEP_PULL`` becomes $S d$. Its matrix is minus the
    second derivative of the bound in $\lambda$ with the words' assignments fixed.

    Args:
        scratch: the rows named above; ``RESIDUAL`` to ``BENT`` are overwritten.
        wide: memory of sums, see :func:`_sum`.
        precision, mass: $S$, (topics, topics), and $N$ in tokens.
    """
    curve = scratch[CURVE]
    gradient = scratch[GRADIENT]
    step = scratch[STEP]
    pull = scratch[STEP_PULL]
    residual = scratch[RESIDUAL]
    scaled = scratch[SCALED]
    direction = scratch[DIRECTION]
    product = scratch[PRODUCT]
    bent = scratch[BENT]
    # 1. Start from no step; the first direction is the preconditioned gradient.
    step[:] = 0
    pull[:] = 0
    for k in range(step.size):
        residual[k] = gradient[k]
        scaled[k] = 1 / (precision[k, k] + curve[k] * (1 - curve[k] / mass))
        direction[k] = residual[k] * scaled[k]
    norm = _dot(residual, direction, wide)
    goal = norm * CG_DROP
    for _ in range(CG_PRODUCTS):
        if norm <= goal:
            break
        # 2. The system's matrix times the direction.
        _weighted_rows(precision, direction, direction.size, product)
        along = _dot(curve, direction, wide) / mass
        for k in range(step.size):
            bent[k] = product[k] + curve[k] * (direction[k] - along)
            wide[0][k] = np.float64(direction[k]) * np.float64(bent[k])
        # 3. Go along the direction to where the residual is orthogonal to it.
        length = step.dtype.type(norm / _sum(wide))
        for k in range(step.size):
            step[k] += length * direction[k]
            pull[k] += length * product[k]
            residual[k] -= length * bent[k]
            product[k] = residual[k] * scaled[k]
            wide[0][k] = np.float64(residual[k]) * np.float64(product[k])
        # 4. The next direction is conjugate to this one.
        next_norm = _sum(wide)
        turn = step.dtype.type(next_norm / norm)
        norm = next_norm
        for k in range(step.size):
            direction[k] = product[k] + turn * direction[k]


@numba.njit(**_JIT)
def _newton(scratch, wide, precision, mass, free):
    r"""One Newton step on lambda, halved until the bound rises enough.

    With the counts $n_k$ of ``SHARE`` the bound's gradient is
    $g_k = n_k - N \mathrm{softmax}(\lambda + \nu / 2)_k - (S (\lambda - \mu))_k$ (Blei and Lafferty
    2007, section 3.1). The step $d$ of :func:`_solve` is taken at the first length $a$ of 1, 1/2,
    1/4, ... at which the bound gains ``SUFFICIENT`` $a\, g^\top d$ or more (Armijo).

    Args:
        scratch: ``SHARE`` and ``NU`` are read, ``LAMBDA`` and ``PULL`` moved; ``EXPECTED``,
            ``CURVE``, ``GRADIENT`` and the rows of the step are overwritten.
        wide: memory of sums, see :func:`_sum`.
        precision, mass, free: $S$, (topics, topics), $N$ in tokens, and the fixed topic's index.

    Returns:
        $g^\top d$, nats: what the step promised to first order; zero where no length of it brought
        enough.
    """
    logit = scratch[LAMBDA]
    share = scratch[SHARE]
    expected = scratch[EXPECTED]
    gradient = scratch[GRADIENT]
    pull = scratch[PULL]
    step = scratch[STEP]
    step_pull = scratch[STEP_PULL]
    # 1. The gradient of the bound; the fixed topic does not move.
    log_zeta = _tilt(scratch, wide, mass, free)
    for k in range(logit.size):
        gradient[k] = share[k] - expected[k] - pull[k]
    gradient[free] = 0
    # 2. The step, and the bound along it: linear and quadratic terms, and log zeta.
    _solve(scratch, wide, precision, mass)
    rise = _dot(gradient, step, wide)
    linear = _dot(share, step, wide) - _dot(pull, step, wide)
    square = _dot(step, step_pull, wide)
    # 3. The longest of its halves that brings a share of what it promises.
    length = 1.0
    for _ in range(HALVINGS):
        gain = length * linear - 0.5 * length * length * square
        gain -= mass * (_log_zeta_along(scratch, wide, length) - log_zeta)
        if gain >= SUFFICIENT * length * rise:
            for k in range(logit.size):
                logit[k] += length * step[k]
                pull[k] += length * step_pull[k]
            return rise
        length *= 0.5
    return 0.0


@numba.njit(**_JIT)
def _widen(scratch, wide, precision, mass, free):
    r"""Raise the bound in the variances: ``VARIANCE_STEPS`` Newton steps on each $\log\nu_k$.

    $\zeta$ stays as it is on entry (Blei and Lafferty 2007, section 3.1), so that no variance
    depends on another. With the rate $r_k = N e^{\lambda_k + \nu_k / 2} / \zeta$ the slope of the
    bound in $\log\nu_k$ is $\tfrac12 - \tfrac12 \nu_k (S_{kk} + r_k)$. It falls ever faster, so a
    full step from either side lands at or above its root, from where the steps come down to it; the
    root lies below $1 / S_{kk}$, at which a variance is cut.

    Args:
        scratch: ``LAMBDA`` is read and ``NU`` changed in place; ``EXPECTED`` and ``CURVE`` become
            those of the variances on entry. The steps are taken in float64 in either precision.
        wide: memory of sums, see :func:`_sum`.
        precision, mass: $S$, (topics, topics), and $N$ in tokens.
        free: topics that have a variance, the first ones.
    """
    logit = scratch[LAMBDA]
    nu = scratch[NU]
    log_zeta = _tilt(scratch, wide, mass, free)
    for _ in range(VARIANCE_STEPS):
        for k in range(free):
            value = np.float64(nu[k])
            prior_precision = np.float64(precision[k, k])
            rate = mass * _exp(logit[k] + 0.5 * value - log_zeta)
            # First and second derivative of the bound in log nu; the second is negative.
            slope = 0.5 - 0.5 * value * (prior_precision + rate)
            bend = -0.5 * value * (prior_precision + rate) - 0.25 * value * value * rate
            # A Newton step in log nu, of LONGEST at most.
            value *= _exp(min(max(-slope / bend, -LONGEST), LONGEST))
            nu[k] = min(value, 1.0 / prior_precision)


@numba.njit(**_JIT)
def _assign(scratch, rows, columns, counts, ratios):
    r"""Assign the words to topics at the current lambda.

    Sets ``WEIGHT``, and ``SHARE`` to the counts of topics, $e^{\lambda_k} \sum_w \beta_{kw} c_w /
    s_w$.

    Args:
        scratch: ``LAMBDA`` is read, ``WEIGHT`` and ``SHARE`` are set.
        rows: $\beta$ of the document's words, (words, topics); more rows may follow.
        columns: the same turned round, (topics, words); more columns may follow.
        counts: $c_w$, (words,).
        ratios: becomes $c_w / s_w$, with exp(lambda) as in ``WEIGHT``, (words,).

    Returns:
        $\sum_w c_w \log s_w$, nats, float64.
    """
    logit = scratch[LAMBDA]
    weight = scratch[WEIGHT]
    share = scratch[SHARE]
    # 1. exp(lambda), scaled, and with it s_w of each word.
    top = _largest(logit)
    for k in range(logit.size):
        weight[k] = _exp(logit[k] - top)
    _weighted_rows(columns, weight, weight.size, ratios)
    # 2. The words' part of the bound, and the count over the probability of each.
    value = np.float64(0.0)
    for u in range(counts.size):
        chance = max(np.float64(ratios[u]), TINY)
        value += counts[u] * (np.log(chance) + top)
        ratios[u] = counts[u] / chance
    # 3. From these the counts of the topics.
    _weighted_rows(rows, ratios, counts.size, share)
    for k in range(logit.size):
        share[k] *= weight[k]
    return value


@numba.njit(**_JIT)
def _gaussian_terms(scratch, wide, precision, mass, free):
    r"""The bound without the words' part and without what depends on the model alone.

    $-N \log\zeta - \tfrac12 (\lambda - \mu)^\top S (\lambda - \mu)
    + \tfrac12 \sum_k (\log \nu_k - S_{kk} \nu_k)$ (Blei and Lafferty 2007, section 3.1).

    Args:
        scratch: ``LAMBDA``, ``NU``, ``MEAN`` and ``PULL`` are read, ``EXPECTED`` and ``CURVE`` set.
        wide: memory of sums, see :func:`_sum`.
        precision, mass, free: $S$, (topics, topics), $N$ in tokens, and the fixed topic's index.

    Returns:
        Nats, float64.
    """
    logit = scratch[LAMBDA]
    nu = scratch[NU]
    mean = scratch[MEAN]
    pull = scratch[PULL]
    value = -mass * _tilt(scratch, wide, mass, free)
    for k in range(free):
        value += 0.5 * (np.log(np.float64(nu[k])) - np.float64(nu[k]) * precision[k, k])
        value -= 0.5 * np.float64(logit[k] - mean[k]) * pull[k]
    return value


@numba.njit(**_JIT)
def _pull_back(scratch, precision):
    r"""Set ``PULL`` to $S (\lambda - \mu)$ afresh, so that rounding does not add up over rounds.

    Args:
        scratch: ``LAMBDA`` and ``MEAN`` are read, ``PULL`` is set, ``STEP`` overwritten.
        precision: $S$, (topics, topics).
    """
    deviation = scratch[STEP]  # free between two steps
    for k in range(deviation.size):
        deviation[k] = scratch[LAMBDA, k] - scratch[MEAN, k]
    _weighted_rows(precision, deviation, deviation.size, scratch[PULL])


@numba.njit(**_JIT)
def _ascend(scratch, wide, precision, rows, columns, counts, ratios, limits):
    """Raise one document's bound by rounds of coordinate ascent until it hardly rises any more.

    Args:
        scratch: ``LAMBDA``, ``NU`` and ``MEAN`` are set by the caller; the first two are moved.
        wide: memory of sums, see :func:`_sum`.
        precision: $S$, (topics, topics).
        rows, columns, counts, ratios: as for ``_assign``.
        limits: as for ``ascend_documents``.

    Returns:
        The bound, nats, and the number of rounds.
    """
    free, max_rounds, tolerance, constant = limits
    mass = np.float64(0.0)
    for u in range(counts.size):
        mass += counts[u]
    value = 0.0
    old = 0.0
    rounds = 0
    _pull_back(scratch, precision)
    _assign(scratch, rows, columns, counts, ratios)
    while rounds < max_rounds:
        rounds += 1
        # 1. Means, variances and assignments of words, each with the others fixed.
        for _ in range(NEWTON_STEPS):
            _newton(scratch, wide, precision, mass, free)
        _widen(scratch, wide, precision, mass, free)
        _pull_back(scratch, precision)
        words = _assign(scratch, rows, columns, counts, ratios)
        # 2. The bound, and whether it still rises.
        value = words + _gaussian_terms(scratch, wide, precision, mass, free) + constant
        if rounds > 1 and abs(value - old) <= tolerance * abs(old):
            break
        old = value
    return value, rounds


@numba.njit(**_JIT)
def ascend_documents(corpus, model, limits, points, results):
    """Coordinate ascent on some documents; every document starts from its row of ``points``.

    Args:
        corpus: (starts, terms, counts, (first, last)): rows of one compressed document-term matrix,
            (documents + 1,), (nonzeros,) and (nonzeros,), and which to do.
        model: (beta (terms, topics), precision (topics, topics), mean (topics)), padded, of one
            precision.
        limits: (free topics, rounds at most, relative tolerance, constant of the bound).
        points: (lambda, nu), each (documents, topics) padded; overwritten with the result.
        results: (bound in nats, float64 (documents), rounds, int64 (documents), ratios of
            ``_assign`` (nonzeros)); overwritten.
    """
    starts, terms, counts, (first, last) = corpus
    beta, precision, mean = model
    # 1. Memory for the longest of the documents.
    widest = 0
    for d in range(first, last):
        widest = max(widest, starts[d + 1] - starts[d])
    topics = beta.shape[1]
    rows = np.empty((widest, topics), beta.dtype)
    columns = np.empty((topics, widest), beta.dtype)
    scratch = np.empty((SCRATCH_ROWS, topics), beta.dtype)
    row = np.empty(topics, np.float64)
    wide = (row, row.reshape(-1, LANES))
    scratch[MEAN] = mean
    for d in range(first, last):
        # 2. The document's words, by rows and by columns, and the point that it starts from.
        size = starts[d + 1] - starts[d]
        for u in range(size):
            rows[u] = beta[terms[starts[d] + u]]
            columns[:, u] = rows[u]
        scratch[LAMBDA] = points[0][d]
        scratch[NU] = points[1][d]
        # 3. Its ascent.
        span = slice(starts[d], starts[d + 1])
        ratios = results[2][span]
        value, rounds = _ascend(
            scratch, wide, precision, rows, columns, counts[span], ratios, limits
        )
        points[0][d] = scratch[LAMBDA]
        points[1][d] = scratch[NU]
        results[0][d] = value
        results[1][d] = rounds


@numba.njit(**_JIT)
def expected_words(columns, weights, ratios, beta, out):
    r"""Expected word counts $\sum_d c_{dw} \phi_{dwk}$ for the words of one span.

    Args:
        columns: (starts, documents, entries, (first, last)): the document-term matrix by words, so
            that each row of ``out`` is written once, (terms + 1,), (nonzeros,) and (nonzeros,), and
            which words to do. ``entries`` are places in ``ratios``.
        weights: exp(lambda), (documents, topics), each row up to the factor that its ``ratios``
            carry.
        ratios: counts over word probabilities, (nonzeros), by rows of that matrix.
        beta: (terms, topics).
        out: (terms, topics); overwritten.
    """
    starts, documents, entries, (first, last) = columns
    total = np.empty(beta.shape[1], np.float64)
    for w in range(first, last):
        total[:] = 0
        for nonzero in range(starts[w], starts[w + 1]):
            ratio = np.float64(ratios[entries[nonzero]])
            document = documents[nonzero]
            for k in range(total.size):
                total[k] += ratio * weights[document, k]
        for k in range(total.size):
            out[w, k] = beta[w, k] * total[k]
