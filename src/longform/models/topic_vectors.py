"""Compiled products over padded vectors, from which the correlated topic model's coordinate ascent is built."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

JIT: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}


@numba.njit(forceinline=True, **JIT)
def exp(x):
    """exp by range reduction and a Taylor polynomial of degree 13 (2 ulp); the compiler can vectorise it."""
    x = min(max(np.float64(x), -700.0), 700.0)
    n = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - n * 6.93145751953125e-1 - n * 1.42860682030941723212e-6
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
    power = (np.int64(n) + np.int64(1023)) << np.int64(52)
    return p * np.int64(power).view(np.float64)


@numba.njit(**JIT)
def weighted_rows(rows, weights, size, out):
    """out = sum over the first ``size`` rows of weight times row, eight rows at a time."""
    out[:] = 0
    whole = size - size % 8
    for j in range(0, whole, 8):
        a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        e, f, g, h = weights[j + 4], weights[j + 5], weights[j + 6], weights[j + 7]
        for k in range(out.size):
            first = a * rows[j, k] + b * rows[j + 1, k] + c * rows[j + 2, k] + d * rows[j + 3, k]
            second = e * rows[j + 4, k] + f * rows[j + 5, k] + g * rows[j + 6, k] + h * rows[j + 7, k]
            out[k] += first + second
    for j in range(whole, size):
        a = weights[j]
        for k in range(out.size):
            out[k] += a * rows[j, k]


@numba.njit(**JIT)
def row_products(rows, vector, size, out):
    """out[j] = rows[j] · vector for the first ``size`` rows."""
    for j in range(size):
        total = rows.dtype.type(0)
        for k in range(vector.size):
            total += rows[j, k] * vector[k]
        out[j] = total


@numba.njit(**JIT)
def dot(a, b):
    """Inner product, summed in the vectors' own precision."""
    total = a.dtype.type(0)
    for k in range(a.size):
        total += a[k] * b[k]
    return np.float64(total)
