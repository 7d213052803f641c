"""Reading rows on several devices: batches dealt out by Lightning, results gathered from one file per process."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl

from longform.core.resampling import save_arrays
from longform.language_models.launching import Launch, predict
from longform.language_models.log_probs import LogProbReader, Tree, open_reader


class ReadingModule(pl.LightningModule):
    """A network with the plan of what to read; what Lightning deals out are numbers of batches."""

    def __init__(self, network: Any, planned: Sequence[list[Tree]], folder: Path) -> None:
        super().__init__()
        self.network, self.planned, self.folder = network, planned, folder
        self.reader: LogProbReader | None = None

    def predict_step(self, batch: list[int], index: int) -> None:
        """Read one batch, and write (row number, log-probabilities) of each of its rows."""
        self.reader = self.reader or open_reader(self.network)
        for number in batch:
            read = {str(row): values for row, values in self.reader.read_batch(self.planned[number])}
            save_arrays(self.folder / f"{number}.npz", read)


def read_on_devices(
    reader: LogProbReader, rows: Sequence[tuple[int, ...]], devices: int, start: str = "spawn"
) -> list[np.ndarray]:
    """What ``reader.read`` gives up to rounding, read by ``devices`` processes (GPUs where there are any).

    Args:
        start: how processes come to be: "spawn", or "fork", which is quicker and only for one thread on CPUs.
    """
    planned = reader.plan(rows)
    values: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        launch = Launch(devices, 1, f"ddp_{start}" if devices > 1 else "auto")
        predict(ReadingModule(reader.network, planned, Path(folder)), range(len(planned)), 1, launch)
        for path in Path(folder).glob("*.npz"):
            with np.load(path, allow_pickle=False) as part:
                values |= dict(part)
    return [values[str(row)] for row in range(len(rows))]
