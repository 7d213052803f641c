"""Random orders of a document's sentences, drawn together and kept as permutations: the latents are gathered, never re-read.

``orders[r, i]`` is the original number of the sentence at place ``i`` of copy ``r``.
"""

from __future__ import annotations

import numpy as np

from longform.units import BadInput

SHUFFLES = 20  # sheng2024 section 4.1
LOCAL_WINDOW = 3  # sheng2024 section 4.2: sentences of one local window
LOCAL_SENTENCES = 10  # the release: local shuffles only of documents with more sentences than this


def block_orders(sentences: int, block: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """Blocks of ``block`` consecutive sentences (the last may be shorter) in uniform order, inner order kept.

    Returns:
        (copies, sentences) int64; the identity may be among them.
    """
    if block < 1:
        raise BadInput(f"block is {block}; allowed are positive numbers of sentences")
    block_of = np.arange(sentences) // block
    keys = rng.random((copies, int(block_of[-1]) + 1 if sentences else 0))
    return np.argsort(keys[:, block_of], axis=1, kind="stable")


def local_orders(sentences: int, windows: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """``windows`` disjoint windows of three sentences, placed uniformly, each shuffled inside.

    The starts are ``y_k + 2 k`` of ``windows`` sorted distinct numbers below ``sentences - 2 windows``: the uniform
    law over all placements without listing them. A document of at most ten sentences has no copies.
    """
    if windows < 1:
        raise BadInput(f"windows is {windows}; allowed are positive counts; the paper's are 1, 2, 3")
    if sentences <= max(LOCAL_SENTENCES, LOCAL_WINDOW * windows):
        return np.zeros((0, sentences), dtype=np.int64)
    places = np.argsort(rng.random((copies, sentences - 2 * windows)), axis=1)[:, :windows]
    starts = np.sort(places, axis=1) + 2 * np.arange(windows)
    inside = np.argsort(rng.random((copies, windows, LOCAL_WINDOW)), axis=2)
    orders = np.tile(np.arange(sentences), (copies, 1))
    targets = (starts[:, :, None] + np.arange(LOCAL_WINDOW)).reshape(copies, -1)
    np.put_along_axis(orders, targets, (starts[:, :, None] + inside).reshape(copies, -1), axis=1)
    return orders


def distinct_orders(orders: np.ndarray, text_ids: np.ndarray) -> np.ndarray:
    """Orders whose text is neither the original's nor an earlier copy's (the rule that explains Table 1's counts).

    Texts are compared through a 64-bit linear hash with fixed odd multipliers; two of a document's copies collide with
    a chance of the order of 2^-63.
    """
    if not len(orders):
        return orders
    rng = np.random.Generator(np.random.PCG64(0))
    weights = rng.integers(0, 2**63, orders.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    codes = (np.asarray(text_ids).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (codes[orders] * weights).sum(axis=1, dtype=np.uint64)
    original = (codes * weights).sum(dtype=np.uint64)
    first = np.sort(np.unique(hashes, return_index=True)[1])
    return orders[first[hashes[first] != original]]
