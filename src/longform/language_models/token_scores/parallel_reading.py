"""Reading rows on several devices: batches dealt out by Lightning, results gathered from one file per process.

Every process keeps a share of the batches (Lightning's sampler repeats none) and writes what it read; the caller puts the
files together, so the result is that of one process up to rounding.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
from pytorch_lightning.callbacks import BasePredictionWriter
from torch.utils.data import DataLoader

from longform.language_models.token_scores.log_probs import LogProbReader, open_reader
from longform.language_models.token_scores.trees import Tree


class ReadingModule(pl.LightningModule):
    """A network with the plan of what to read; what Lightning deals out are numbers of batches."""

    def __init__(self, network: Any, planned: Sequence[list[Tree]]) -> None:
        super().__init__()
        self.network, self.planned = network, planned
        self.reader: LogProbReader | None = None

    def predict_step(self, batch: Any, index: int) -> list[tuple[int, np.ndarray]]:
        """Read one batch: (row number, log-probabilities) for each of its rows."""
        if self.reader is None:
            self.reader = open_reader(self.network)
        return self.reader.read_batch(self.planned[int(batch)])


class RankFiles(BasePredictionWriter):
    """One npz per process: row numbers, lengths and the values one after another."""

    def __init__(self, folder: Path) -> None:
        super().__init__(write_interval="epoch")
        self.folder = folder

    def write_on_epoch_end(self, trainer: Any, module: Any, predictions: Any, indices: Any) -> None:
        """Called by Lightning in every process."""
        rows = [row for batch in predictions for row in batch]
        values = np.concatenate([values for _, values in rows]) if rows else np.zeros(0, dtype=np.float32)
        arrays = {"rows": np.array([r for r, _ in rows], dtype=np.int64), "values": values}
        arrays["lengths"] = np.array([len(v) for _, v in rows], dtype=np.int64)
        np.savez(self.folder / f"rank_{trainer.global_rank}.npz", **arrays)


def read_on_devices(
    reader: LogProbReader, rows: Sequence[tuple[int, ...]], devices: int, start: str = "spawn"
) -> list[np.ndarray]:
    """What ``reader.read`` gives, read by ``devices`` processes (GPUs where there are any).

    Args:
        start: how processes come to be: "spawn", or "fork", which is quicker and only for one thread on CPUs.
    """
    planned = reader.plan(rows)
    found: list[np.ndarray] = [np.zeros(0, dtype=np.float32)] * len(rows)
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            devices=devices,
            strategy=f"ddp_{start}" if devices > 1 else "auto",
            callbacks=[RankFiles(Path(folder))],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        loader = DataLoader(range(len(planned)), batch_size=None)
        trainer.predict(ReadingModule(reader.network, planned), loader, return_predictions=False)
        for path in sorted(Path(folder).glob("rank_*.npz")):
            with np.load(path, allow_pickle=False) as part:
                pieces = np.split(part["values"], np.cumsum(part["lengths"])[:-1])
                for row, values in zip(part["rows"].tolist(), pieces, strict=True):
                    found[row] = values
    return found
