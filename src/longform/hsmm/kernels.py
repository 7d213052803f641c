"""Compiled inner loops of the factored forward-backward: gather, multiply, sum, scale.

Rows of the arrays are (position, sequence) pairs in the packed order of ``compiled.Scan``:
row ``first[t] + b`` is position ``t`` of sequence ``b``. A vector is stored divided by its largest
entry, and the logarithm of what it was divided by is its *scale*, in float64. ``DEAD`` is the
scale of a vector of zeros. Every kernel works for float32 and for float64 tables.
"""

import math

import numpy as np
from numba import njit

# scale of a zero vector; finite, so that compiled comparisons need no infinities
DEAD = -1e300
# a sum this far below its bound is summed again in float64 around its true size
WEAK = 1e-12
# exponents above this are multiplied in float64: e^60 times float32 products could lose them all
STEEP = 60.0
# lets LLVM vectorise sums and maxima; infinities stay legal
FLAGS = {"reassoc", "contract", "nsz", "nnan", "arcp"}


@njit(cache=True, nogil=True, fastmath=FLAGS)
def _largest(vector):  # pragma: no cover - compiled
    """Largest entry of a vector without negative ones.

    In 16 lanes, since LLVM does not vectorise ``max`` into one number.

    Args:
        vector: (Z,), float32 or float64.

    Returns:
        A number of the vector's type; 0 where it is empty.
    """
    lanes = np.zeros(16, vector.dtype)
    in_lanes = len(vector) // 16 * 16
    for z in range(0, in_lanes, 16):
        for i in range(16):
            lanes[i] = max(lanes[i], vector[z + i])
    top = lanes[0]
    for i in range(1, 16):
        top = max(top, lanes[i])
    for z in range(in_lanes, len(vector)):
        top = max(top, vector[z])
    return top


@njit(cache=True, nogil=True, fastmath=FLAGS)
def log_tops(joint, out):  # pragma: no cover - compiled
    r"""$\log \max_z W[g, z]$ of each row, ``DEAD`` for a row of zeros.

    Args:
        joint: the table W of segments, (G, Z).
        out: receives the logarithms, nats, float64 (G,).
    """
    for g in range(joint.shape[0]):
        top = _largest(joint[g])
        out[g] = math.log(top) if top > 0 else DEAD


@njit(cache=True, nogil=True, fastmath=FLAGS)
def _combine(
    parts, rows, log_bounds, vectors, scales, joint, out, floor, exact
):  # pragma: no cover - compiled
    r"""$o(z) \propto \sum_i e^{s_i} v_i(z) W[g_i, z]$, the inner sum of both recursions.

    The sum over the lengths of a segment in $\alpha_t$ or $e_t$ of :mod:`longform.hsmm.compiled`,
    for one position of one sequence.

    Args:
        parts: int64 (parts,), g of each term: a row of ``joint``, negative for none; overwritten.
        rows: int64 (parts,), i of each term: a row of ``vectors`` and ``scales``; overwritten.
        log_bounds: float64 (parts,), upper bound of the logarithm of each part, nats; the largest
            sets the working scale; overwritten.
        vectors: the stored v, (rows, Z).
        scales: s, logarithms of what they were divided by, nats, float64 (rows,).
        joint: the table W of segments, (G, Z).
        out: receives the sum divided by its largest entry, (Z,).
        floor: entries of ``out`` not above it become 0.
        exact: float64 (Z,), scratch space for :func:`_combine_weak`.

    Returns:
        The scale of ``out``, nats, float64; ``DEAD`` where the sum is zero.
    """
    width = joint.shape[1]
    bound = DEAD
    live = 0
    # 1. Move the parts that are not zero to the front.
    for i in range(len(parts)):
        if parts[i] >= 0 and log_bounds[i] > DEAD:
            parts[live] = parts[i]
            rows[live] = rows[i]
            log_bounds[live] = log_bounds[i]
            bound = max(bound, log_bounds[i])
            live += 1
    if live == 0:
        for z in range(width):
            out[z] = 0
        return DEAD
    parts = parts[:live]
    rows = rows[:live]
    log_bounds = log_bounds[:live]
    factor = np.empty(4, joint.dtype)
    # 2. Sum four parts a pass over out; where fewer are left, the last again, times 0.
    for done in range(0, live, 4):
        for i in range(4):
            factor[i] = math.exp(scales[rows[done + i]] - bound) if done + i < live else 0.0
        f0, f1, f2, f3 = factor[0], factor[1], factor[2], factor[3]
        i1 = min(done + 1, live - 1)
        i2 = min(done + 2, live - 1)
        i3 = min(done + 3, live - 1)
        r0, r1, r2, r3 = rows[done], rows[i1], rows[i2], rows[i3]
        g0, g1, g2, g3 = parts[done], parts[i1], parts[i2], parts[i3]
        for z in range(width):
            four = (f0 * vectors[r0, z] * joint[g0, z] + f1 * vectors[r1, z] * joint[g1, z]) + (
                f2 * vectors[r2, z] * joint[g2, z] + f3 * vectors[r3, z] * joint[g3, z]
            )
            out[z] = out[z] + four if done else four
    top = _largest(out)
    if top < WEAK:
        return _combine_weak(parts, rows, log_bounds, vectors, scales, joint, out, floor, exact)
    # 3. Divide by the largest entry; both numbers go through the table's own type.
    factor[0] = 1.0 / top
    factor[1] = floor
    f = factor[0]
    smallest = factor[1]
    for z in range(width):
        value = out[z] * f
        out[z] = value if value > smallest else 0.0
    return bound + math.log(top)


@njit(cache=True, nogil=True)
def _combine_weak(
    parts, rows, log_bounds, vectors, scales, joint, out, floor, exact
):  # pragma: no cover - compiled
    """As :func:`_combine`, scaled by the largest product instead of its bound, in float64.

    Args:
        parts, rows, vectors, scales, joint, out, floor: as of ``_combine``.
        log_bounds: float64 (parts,); receives the logarithm of each part's largest product.
        exact: as of ``_combine``; receives the sums.

    Returns:
        The scale of ``out``, nats, float64; ``DEAD`` where the sum is zero.
    """
    width = joint.shape[1]
    bound = DEAD
    # 1. The logarithm of each part's largest product, and the largest of these.
    for i in range(len(parts)):
        log_top = DEAD
        if parts[i] >= 0 and scales[rows[i]] > DEAD:
            top = 0.0
            for z in range(width):
                top = max(top, np.float64(vectors[rows[i], z]) * np.float64(joint[parts[i], z]))
            if top > 0:
                log_top = scales[rows[i]] + math.log(top)
        log_bounds[i] = log_top
        bound = max(bound, log_top)
    for z in range(width):
        out[z] = 0
        exact[z] = 0
    if bound <= DEAD:
        return DEAD
    # 2. Sum the products around that one.
    for i in range(len(parts)):
        if log_bounds[i] > bound - 700.0:
            shift = scales[rows[i]] - bound
            for z in range(width):
                product = np.float64(vectors[rows[i], z]) * np.float64(joint[parts[i], z])
                if product > 0:
                    exact[z] += math.exp(shift + math.log(product))
    # 3. Divide by the largest sum.
    top = 0.0
    for z in range(width):
        top = max(top, exact[z])
    for z in range(width):
        value = exact[z] / top
        out[z] = value if value > floor else 0.0
    return bound + math.log(top)


@njit(cache=True, nogil=True)
def forward_step(
    t, first, index, joint, tops, before, scales, ended, floor
):  # pragma: no cover - compiled
    r"""$\hat\alpha_t(z) \propto \sum_k \hat b_{t-k}(z) W[g(t-k, k), z]$.

    For the sequences that reach ``t``.

    Args:
        t: a position.
        first: first row of each position, (T + 2,).
        index: row of the segment of length k + 1 that starts at a row, -1 for none, (rows, K).
        joint: the table W of segments, (G, C).
        tops: logarithms of the largest entries of its rows, (G,).
        before: the vectors b of states of a segment about to start, (rows, C).
        scales: of ``before``, float64 (rows,); those of position ``t`` are set.
        ended: receives alpha, (rows, C).
        floor: what is not above it becomes 0, a share of the largest entry.
    """
    longest = min(index.shape[1], t)
    parts = np.empty(longest, np.int64)
    rows = np.empty(longest, np.int64)
    log_bounds = np.empty(longest, np.float64)
    exact = np.empty(joint.shape[1], np.float64)
    for b in range(first[t + 1] - first[t]):
        for i in range(longest):
            row = first[t - 1 - i] + b
            g = index[row, i]
            parts[i] = g
            rows[i] = row
            alive = g >= 0 and scales[row] > DEAD and tops[g] > DEAD
            log_bounds[i] = scales[row] + tops[g] if alive else DEAD
        end = first[t] + b
        scales[end] = _combine(
            parts, rows, log_bounds, before, scales, joint, ended[end], floor, exact
        )


@njit(cache=True, nogil=True)
def backward_step(
    t, first, index, joint, tops, after, scales, begun, begun_scales, floor
):  # pragma: no cover
    r"""$\hat e_t(z) \propto \sum_k W[g(t, k), z] \hat\beta_{t+k}(z)$.

    For the sequences that go beyond ``t``.

    Args:
        t, first, index, joint, tops, floor: as of :func:`forward_step`.
        after: the vectors beta of states of a segment that ended, (rows, C).
        scales: of ``after``, float64 (rows,).
        begun: receives e, (rows, C).
        begun_scales: receives the scales of ``begun``, float64 (rows,).
    """
    positions = len(first) - 2
    longest = min(index.shape[1], positions - t)
    parts = np.empty(longest, np.int64)
    rows = np.empty(longest, np.int64)
    log_bounds = np.empty(longest, np.float64)
    exact = np.empty(joint.shape[1], np.float64)
    for b in range(first[t + 2] - first[t + 1]):
        start = first[t] + b
        # The segments of each length that start here, and the rows at which they end.
        for i in range(longest):
            g = index[start, i]
            row = first[t + 1 + i] + b
            parts[i] = g
            rows[i] = row if g >= 0 else 0
            alive = g >= 0 and scales[rows[i]] > DEAD and tops[g] > DEAD
            log_bounds[i] = scales[rows[i]] + tops[g] if alive else DEAD
        begun_scales[start] = _combine(
            parts, rows, log_bounds, after, scales, joint, begun[start], floor, exact
        )


@njit(cache=True, nogil=True, fastmath=FLAGS)
def weigh_rows(vectors, exponents, limit):  # pragma: no cover - compiled
    r"""$v_r \leftarrow e^{\min(x_r, \mathrm{limit})} v_r$, or 0 where $x_r$ is -700 or less.

    Args:
        vectors: v, (rows, Z), float32 or float64; changed in place.
        exponents: x, nats, float64 (rows,).
        limit: largest exponent whose exponential fits the vectors' type.
    """
    factor = np.empty(1, vectors.dtype)
    for row in range(vectors.shape[0]):
        factor[0] = math.exp(min(exponents[row], limit)) if exponents[row] > -700.0 else 0.0
        f = factor[0]
        for z in range(vectors.shape[1]):
            vectors[row, z] *= f


@njit(cache=True, nogil=True, fastmath=FLAGS)
def add_counts(
    bounds, grams, starts, ends, exponents, before, after, joint, counts
):  # pragma: no cover - compiled
    r"""$n[g, z] \mathrel{+}= W[g, z] \sum_o e^{x_o} \hat b_{s_o}(z) \hat\beta_{e_o}(z)$.

    The expected segments of the E-step: the sum runs over the occurrences o of g in the texts.

    Occurrences are sorted by g; sums run in that order, so they do not depend on how the work is
    shared out.

    Args:
        bounds: the occurrences of ``grams[i]`` are ``bounds[i]`` to ``bounds[i + 1]`` (left out),
            int64 (grams + 1,).
        grams: rows g of ``joint`` and ``counts``, int64 (grams,).
        starts, ends: s and e of each occurrence, rows of ``before`` and of ``after``, int64
            (occurrences,).
        exponents: x of each occurrence, the scales of both vectors less log P of its text, nats,
            float64 (occurrences,).
        before, after: vectors of segments about to start and of those that ended, (rows, Z).
        joint: the table W of segments, (G, Z).
        counts: is added to, float64 (G, Z).
    """
    width = joint.shape[1]
    total = np.empty(width, joint.dtype)
    factor = np.empty(4, joint.dtype)
    left = np.empty(4, np.int64)
    right = np.empty(4, np.int64)
    for i in range(len(grams)):
        # 1. The sum over the occurrences of one segment, without W.
        g = grams[i]
        for z in range(width):
            total[z] = 0
        waiting = 0
        for o in range(bounds[i], bounds[i + 1]):
            exponent = exponents[o]
            s = starts[o]
            e = ends[o]
            if exponent > STEEP:
                # One by one in float64, through logarithms.
                for z in range(width):
                    product = np.float64(before[s, z]) * np.float64(after[e, z])
                    product = product * np.float64(joint[g, z])
                    if product > 0:
                        counts[g, z] += math.exp(min(exponent + math.log(product), 0.0))
            elif exponent > -80.0:
                # The others wait until there are four, which one pass over total adds.
                factor[waiting] = math.exp(exponent)
                left[waiting] = s
                right[waiting] = e
                waiting += 1
                if waiting == 4:
                    f0, f1, f2, f3 = factor[0], factor[1], factor[2], factor[3]
                    u0, u1 = before[left[0]], before[left[1]]
                    u2, u3 = before[left[2]], before[left[3]]
                    v0, v1 = after[right[0]], after[right[1]]
                    v2, v3 = after[right[2]], after[right[3]]
                    for z in range(width):
                        total[z] += (f0 * u0[z] * v0[z] + f1 * u1[z] * v1[z]) + (
                            f2 * u2[z] * v2[z] + f3 * u3[z] * v3[z]
                        )
                    waiting = 0
        # 2. The fewer than four that still wait.
        for o in range(waiting):
            f = factor[o]
            u = before[left[o]]
            v = after[right[o]]
            for z in range(width):
                total[z] += f * u[z] * v[z]
        # 3. Times W.
        for z in range(width):
            counts[g, z] += total[z] * joint[g, z]
