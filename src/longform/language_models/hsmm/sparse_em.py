"""The second leg of an EM fit: one dense iteration that chooses the support, then sparse ones, with exact resume."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from longform.language_models.hsmm.em import ONE_THREAD, Fit, Iteration, iteration_of
from longform.language_models.hsmm.ngrams import NgramTable
from longform.language_models.hsmm.sparse import (
    LEAST_COUNT,
    SparseSemiMarkovLM,
    sparse_expectation,
    sparse_maximise,
    sparsify,
)
from longform.language_models.hsmm.steps import Compute, expectation, maximise


@dataclass(frozen=True)
class SparseFit:
    """A sparse model and every iteration, dense and sparse, that led to it."""

    model: SparseSemiMarkovLM
    history: tuple[Iteration, ...]

    def dense(self, dtype: str = "float32") -> Fit:
        """The same fit with the whole table."""
        return Fit(self.model.dense(dtype), self.history)

    def save(self, folder: Path) -> None:
        """Write the pairs and the history; the n-gram table stays with the dense checkpoint that it began from."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: np.ascontiguousarray(a) for name, a in self.model.arrays.items()}, folder / "new.safetensors")
        history = json.dumps([asdict(step) for step in self.history], sort_keys=True)
        (folder / "new.json").write_text(history + "\n", encoding="utf-8")
        tag = f"{len(self.history):06d}"
        (folder / "new.safetensors").rename(folder / f"pairs-{tag}.safetensors")
        (folder / "new.json").rename(folder / f"history-{tag}.json")
        for stale in [p for p in folder.iterdir() if tag not in p.name]:
            stale.unlink()

    @classmethod
    def load(cls, folder: Path, ngrams: NgramTable) -> SparseFit:
        """Read the newest iteration of which both files are there."""
        newest = max(folder.glob("history-*.json"))
        history = tuple(Iteration(**step) for step in json.loads(newest.read_text(encoding="utf-8")))
        pairs = load_file(folder / newest.name.replace("history", "pairs").replace("json", "safetensors"))
        return cls(SparseSemiMarkovLM(ngrams, **pairs), history)


def fit_sparse(
    sequences: Sequence,
    start: Fit | SparseFit,
    *,
    iterations: int,
    least: float = LEAST_COUNT,
    compute: Compute = ONE_THREAD,
    on_iteration: Callable[[SparseFit], None] | None = None,
) -> SparseFit:
    """Continue an EM fit on a sparse support until it has ``iterations`` in all.

    Args:
        sequences: those of the dense fit, as token strings or ids.
        start: a dense fit, which gets one more dense iteration and a support, or a sparse one to resume exactly.
        least: see :func:`longform.language_models.hsmm.sparse.sparsify`.
    """
    encoded = [start.model.ngrams.encode(s, f"sequence {i}") for i, s in enumerate(sequences)]
    fit = start if isinstance(start, SparseFit) else _supported(start, encoded, least, compute)
    for number in range(len(fit.history), iterations):
        expected = sparse_expectation(fit.model, encoded, compute)
        seen = iteration_of(number, expected, frozen=False)
        fit = SparseFit(sparse_maximise(fit.model, expected), (*fit.history, seen))
        if on_iteration:
            on_iteration(fit)
    return fit


def _supported(start: Fit, encoded: Sequence[np.ndarray], least: float, compute: Compute) -> SparseFit:
    expected = expectation(start.model, encoded, compute)
    seen = iteration_of(len(start.history), expected, frozen=False)
    segments = expected.transitions.sum(axis=0)
    model = maximise(start.model, expected, frozen=False)
    return SparseFit(sparsify(model, segments, encoded, least=least), (*start.history, seen))
