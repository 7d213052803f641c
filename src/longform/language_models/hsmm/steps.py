r"""Expectation-maximisation for the hidden semi-Markov language model, with exact expected counts.

With one joint table $W[g, z]$ the M-step is a column normalisation, $W = N / \sum_g N$, and
$A_{ij} = \xi_{ij} / \sum_j \xi_{ij}$. deng2022 (section 5.1, appendix) maximises the same likelihood by
Adam, first one epoch with transitions and lengths frozen; that phase is ``pretraining`` here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from longform.language_models.hsmm.blocks import ROWS_PER_BLOCK, blocks_of, pack
from longform.language_models.hsmm.lm import SemiMarkovLM
from longform.language_models.hsmm.scan import FullScan, Workspace, add_segment_counts, full_scans, transition_counts

ROWS_PER_SLICE = 65_536  # ours: table rows normalised at once, so that the M-step needs no third table
MASS_FLOOR = 1e-30  # ours: probabilities below it become 0, which keeps float32 products out of the denormals


@dataclass(frozen=True)
class Compute:
    """How much machine a fit may take; none of it changes what is computed, beyond rounding.

    Attributes:
        rows_per_block: positions scanned at once; memory is about 4 C vectors of ``dtype`` per row and thread.
        threads: blocks scanned at once; sums run in block order, so results do not depend on it, bit for bit.
        dtype: float32 or float64; a sequence whose float32 likelihood vanishes is scanned again in float64.
        device: a torch device for the scan, "cuda" say; None is the compiled scan on the processor.
    """

    rows_per_block: int = ROWS_PER_BLOCK
    threads: int = 1
    dtype: str = "float32"
    device: str | None = None


class PerThread(threading.local):
    """Each worker's own buffers."""

    def __init__(self) -> None:
        self.workspace = Workspace()


@dataclass
class Expectation:
    """Expected counts of one pass over the corpus."""

    log_likelihood: float
    tokens: int
    lost: int
    transitions: np.ndarray
    segments: np.ndarray


def expectation(
    model: SemiMarkovLM,
    encoded: Sequence[np.ndarray],
    compute: Compute,
    on_block: Callable[[int, float], None] | None = None,
) -> Expectation:
    """Exact expected counts over a corpus, streamed block by block.

    Args:
        encoded: token ids of each sequence.
        on_block: called after each block with tokens and log-likelihood so far.
    """
    total = Expectation(0.0, 0, 0, np.zeros(model.transitions.shape), np.zeros_like(model.joint))
    tables, blocks = model.tables, blocks_of([len(ids) for ids in encoded], compute.rows_per_block)
    done, mine = [threading.Event() for _ in blocks], PerThread()

    def add(place: int) -> None:
        try:
            found = pack([model.ngrams.index(encoded[i]) for i in blocks[place]])
            scans = full_scans(found, tables, mine.workspace)
            pairs = [transition_counts(scan) for scan in scans]
            if place:
                done[place - 1].wait()  # sums run in block order, whatever the threads
            for scan, counts in zip(scans, pairs, strict=True):
                accumulate(total, scan, counts)
            total.lost += int(np.sum(np.isneginf(scans[-1].log_partition)))
            if on_block:
                on_block(total.tokens, total.log_likelihood)
        finally:
            done[place].set()

    with ThreadPoolExecutor(compute.threads) as pool:
        list(pool.map(add, range(len(blocks))))
    return total


def accumulate(total: Expectation, scan: FullScan, pairs: np.ndarray) -> None:
    """Add one scan and its expected transitions to the totals."""
    explained = np.isfinite(scan.log_partition)
    total.log_likelihood += float(scan.log_partition[explained].sum())
    total.tokens += int(scan.block.lengths[explained].sum())
    total.transitions += pairs
    if scan.tables.rows is None:
        add_segment_counts(scan, total.segments)
    else:
        counts = np.zeros(scan.tables.joint.shape)
        add_segment_counts(scan, counts)
        total.segments[scan.tables.rows] += counts.astype(total.segments.dtype)


def maximise(model: SemiMarkovLM, expected: Expectation, *, frozen: bool) -> SemiMarkovLM:
    """M-step: normalise the expected counts, in place; what had no counts keeps its old probabilities.

    Args:
        frozen: keep transitions and P(duration | state), as in deng2022's pretraining epoch.
    """
    starts = model.ngrams.starts
    if frozen:
        for n in range(model.max_duration):
            part = slice(starts[n], starts[n + 1])
            mass = model.joint[part].sum(axis=0, dtype=np.float64)
            _normalise(expected.segments[part], model.joint[part], mass)
        return replace(model, joint=expected.segments)
    _normalise(expected.segments, model.joint, np.ones(model.num_states))
    sums = expected.transitions.sum(axis=1, keepdims=True)
    rows = np.where(sums > 0, expected.transitions / np.where(sums > 0, sums, 1), model.transitions)
    return replace(model, joint=expected.segments, transitions=rows.astype(model.transitions.dtype))


def _normalise(counts: np.ndarray, old: np.ndarray, mass: np.ndarray) -> None:
    """Scale the columns of ``counts`` to sums ``mass``; a column without counts becomes ``old``'s."""
    sums = np.zeros(counts.shape[1])
    slices = [slice(i, i + ROWS_PER_SLICE) for i in range(0, len(counts), ROWS_PER_SLICE)]
    for part in slices:
        sums += counts[part].sum(axis=0, dtype=np.float64)
    empty = np.flatnonzero(sums <= 0)
    factors = (mass / np.where(sums > 0, sums, 1)).astype(counts.dtype)
    for part in slices:
        counts[part] *= factors
        counts[part][counts[part] < MASS_FLOOR] = 0
        counts[part][:, empty] = old[part][:, empty]
