"""Starting Lightning on one device or many: which processes there are, and the predict loop over work that they share."""

from __future__ import annotations

import logging
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.strategies import FSDPStrategy
from torch import distributed
from torch.utils.data import DataLoader, Sampler

from longform.documents import BadInput


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


class Turns(Sampler[list[int]]):
    """Batches of item indices of this process: r, r + n, r + 2n … of n processes; one empty batch where there are none."""

    def __init__(self, items: int, batch: int, world: int) -> None:
        self.items, self.batch, self.world = items, batch, world

    def _mine(self) -> range:
        return range(rank() if self.world > 1 else 0, self.items, self.world)

    def __len__(self) -> int:
        return max(1, math.ceil(len(self._mine()) / self.batch))  # Lightning refuses a process without a batch

    def __iter__(self) -> Iterator[list[int]]:
        mine = self._mine()
        return (list(mine[start : start + self.batch]) for start in range(0, max(1, len(mine)), self.batch))


def rank() -> int:
    """The number of this process, zero where there is one."""
    return distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0


def predict(module: pl.LightningModule, items: Sequence[Any], batch: int, launch: Launch) -> None:
    """Hand batches (lists of items) to the module's ``predict_step``, some perhaps empty; process r of n takes items r, r + n, r + 2n …"""
    quiet()
    trainer = pl.Trainer(
        accelerator="auto",
        devices=launch.devices,
        num_nodes=launch.nodes,
        strategy=strategy_for(module, launch),
        logger=False,
        use_distributed_sampler=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    turns = Turns(len(items), batch, launch.world)
    loader = DataLoader(list(items), batch_sampler=turns, collate_fn=list)
    trainer.predict(module, loader, return_predictions=False)
    trainer.strategy.barrier()


def quiet() -> None:
    """Leave progress to our own lines."""
    for logger in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric", "wandb"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    os.environ.setdefault("WANDB_SILENT", "true")
    warnings.filterwarnings("ignore", module="pytorch_lightning|lightning")
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
