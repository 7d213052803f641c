"""Starting Lightning on one device or many: which processes there are, and the predict loop over work that they share."""

import logging
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import FSDPStrategy, StrategyRegistry
from torch import distributed
from torch.utils.data import DataLoader, Sampler

from longform.core.documents import BadInput
from longform.core.processes import processes


@dataclass(frozen=True)
class Launch:
    """Processes of a run; they change no result beyond rounding.

    Attributes:
        devices, nodes: processes a machine, and machines.
        strategy: Lightning's name of it: "auto", "ddp", "ddp_spawn", "ddp_fork", "fsdp" …
    """

    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        known = ["auto", *sorted(StrategyRegistry.available_strategies())]
        if self.strategy not in known:
            raise BadInput(f"LONGFORM_STRATEGY is {self.strategy!r}, allowed are {known}; set it right or unset it")

    @classmethod
    def here(cls) -> "Launch":
        """The processes of :func:`processes`, with the strategy that ``LONGFORM_STRATEGY`` names."""
        return cls(*processes(), os.environ.get("LONGFORM_STRATEGY", "auto"))

    @property
    def world(self) -> int:
        """Processes in all."""
        return self.devices * self.nodes

    def trainer(self, module: pl.LightningModule, **settings: Any) -> pl.Trainer:
        """A Trainer of these processes, which draws no bars and deals out no items by itself.

        A run of one process is no part of the Slurm job that it may stand in (a worker of a task farm inherits
        ``SLURM_NTASKS=8``, from which Lightning would take itself for one process of eight).
        """
        quiet()
        inherited = os.environ.get("SLURM_NTASKS") not in (None, str(self.world)) or self.world == 1
        return pl.Trainer(
            accelerator="auto",
            devices=self.devices,
            num_nodes=self.nodes,
            strategy=self._strategy(module),
            plugins=[LightningEnvironment()] if inherited and "TORCHELASTIC_RUN_ID" not in os.environ else None,
            use_distributed_sampler=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **settings,
        )

    def _strategy(self, module: pl.LightningModule) -> Any:
        """Lightning's strategy; "fsdp" shards a transformers network block by block and keeps one whole checkpoint."""
        if self.strategy.startswith("fsdp") and not torch.cuda.is_available():
            raise BadInput(
                f"LONGFORM_STRATEGY is {self.strategy!r}, which Lightning has for GPUs alone; set 'ddp' or unset it"
            )
        if self.strategy != "fsdp":
            return self.strategy
        names = set(getattr(getattr(module, "network", None), "_no_split_modules", None) or ())
        blocks = {type(part) for part in module.modules() if type(part).__name__ in names}
        return FSDPStrategy(auto_wrap_policy=blocks or None, state_dict_type="full")


class Turns(Sampler[list[int]]):
    """Batches of item numbers of this process: r, r + n, r + 2n … of n processes; one empty batch where there are none."""

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


def predict(module: pl.LightningModule, items: Sequence[Any], batch: int, launch: Launch, **settings: Any) -> None:
    """Hand batches (lists of items) to the module's ``predict_step``; process r of n takes items r, r + n, r + 2n ….

    Args:
        settings: more of the Trainer's.
    """
    trainer = launch.trainer(module, logger=False, enable_checkpointing=False, **settings)
    turns = Turns(len(items), batch, launch.world)
    loader: DataLoader[Any] = DataLoader(list(items), batch_sampler=turns, collate_fn=list)  # type: ignore[arg-type]
    trainer.predict(module, loader, return_predictions=False)
    trainer.strategy.barrier()


def quiet() -> None:
    """Leave progress to our own lines."""
    for logger in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric", "wandb"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning|lightning")
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
