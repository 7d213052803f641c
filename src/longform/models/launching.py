"""Starting Lightning on one device or many: which processes there are, and the predict loop over work that they share."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.strategies import FSDPStrategy
from torch.utils.data import DataLoader

from longform.units import BadInput


@dataclass(frozen=True)
class Launch:
    """Processes of a run.

    Attributes:
        devices, nodes: processes a machine, and machines.
        strategy: Lightning's name of it: "auto", "ddp", "ddp_spawn", "ddp_fork", "fsdp" …
    """

    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        for name in ("devices", "nodes"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise BadInput(f"{name} is {value!r}, allowed is a whole number from 1; mend the row")

    @property
    def world(self) -> int:
        """Processes in all."""
        return self.devices * self.nodes


def strategy_for(module: pl.LightningModule, launch: Launch) -> Any:
    """Lightning's strategy; "fsdp" shards a transformers network block by block and keeps one whole checkpoint."""
    if launch.strategy != "fsdp":
        return launch.strategy
    names = set(getattr(getattr(module, "network", None), "_no_split_modules", None) or ())
    blocks = {type(part) for part in module.modules() if type(part).__name__ in names}
    return FSDPStrategy(auto_wrap_policy=blocks or None, state_dict_type="full")


def predict(module: pl.LightningModule, items: Sequence[Any], batch: int, launch: Launch) -> None:
    """Hand batches (lists of items) to the module's ``predict_step``; process r of n takes items r, r + n, r + 2n …"""
    quiet()
    trainer = pl.Trainer(
        accelerator="auto",
        devices=launch.devices,
        num_nodes=launch.nodes,
        strategy=strategy_for(module, launch),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loader = DataLoader(list(items), batch_size=batch, collate_fn=list)
    trainer.predict(module, loader, return_predictions=False)
    trainer.strategy.barrier()


def quiet() -> None:
    """Leave progress to our own lines."""
    for logger in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric", "wandb"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    os.environ.setdefault("WANDB_SILENT", "true")
    warnings.filterwarnings("ignore", module="pytorch_lightning|lightning")
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
