"""Compiled loops beside the ascent: expected word counts by columns, and the random numbers of equal starts."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def expected_words(columns, weights, ratios, beta, out):
    r"""Expected word counts $\sum_d c_{dw} \phi_{dwk}$ for the words of one span, by columns: one write per row.

    Args:
        columns: (starts, documents, entries, (first, last)): the document-term matrix by words, and which to do.
        weights: (documents, topics) exp(lambda), each row up to the factor that its ratios carry.
        ratios: (nonzeros,) count over word probability, by rows of the document-term matrix.
        beta: (terms, topics) float64.
        out: (terms, topics) float64; overwritten.
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


@numba.njit(cache=True)
def tausworthe(seed, size):
    """Uniform numbers in [0, 1) of the GNU Scientific Library's ``taus`` (L'Ecuyer 1996).

    The original program seeds its topics with it, so equal seeds give equal starts.
    """
    mask = np.uint64(0xFFFFFFFF)
    state = np.empty(3, np.uint64)
    last = np.uint64(seed if seed != 0 else 1) & mask
    for i in range(3):
        last = (np.uint64(69069) * last) & mask
        state[i] = last
    out = np.empty(size + 6)
    for i in range(size + 6):
        a, b, c = state
        a = (((a & np.uint64(4294967294)) << np.uint64(12)) & mask) ^ (
            (((a << np.uint64(13)) & mask) ^ a) >> np.uint64(19)
        )
        b = (((b & np.uint64(4294967288)) << np.uint64(4)) & mask) ^ (
            (((b << np.uint64(2)) & mask) ^ b) >> np.uint64(25)
        )
        c = (((c & np.uint64(4294967280)) << np.uint64(17)) & mask) ^ (
            (((c << np.uint64(3)) & mask) ^ c) >> np.uint64(11)
        )
        state[0], state[1], state[2] = a, b, c
        out[i] = np.float64(a ^ b ^ c) / 4294967296.0
    return out[6:]
