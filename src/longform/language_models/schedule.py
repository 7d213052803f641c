"""How long, how fast, in which order and on how many processes a model sees its items.

All are functions of (seed, step) alone. A run has one numbered sequence of batches. With n
processes, process r takes batches r, r + n, r + 2n …, and accumulates n times fewer of them, so an
update sees the same items however many processes share it.
"""

import logging
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import FSDPStrategy, StrategyRegistry
from torch import distributed
from torch.utils.data import DataLoader, Sampler

from longform.errors import BadInput
from longform.language_models.device import chosen_device, set_products, trainer_devices
from longform.processes import processes
from longform.statistics.random_streams import generator

PRECISIONS = ("auto", "32-true", "bf16-mixed", "16-mixed", "bf16-true", "16-true", "64-true")


@dataclass(frozen=True)
class Launch:
    """How a training is shared out; it changes no result beyond rounding.

    Attributes:
        devices: processes of a machine.
        nodes: machines.
        strategy: Lightning's name of how they share the work.
    """

    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        allowed = ["auto", *sorted(StrategyRegistry.available_strategies())]
        if self.strategy not in allowed:
            raise BadInput(
                f"LONGFORM_STRATEGY is {self.strategy!r}, allowed are {allowed}; "
                "set it right or unset it"
            )

    @classmethod
    def here(cls) -> "Launch":
        """The processes of :func:`processes`, and the strategy that ``LONGFORM_STRATEGY`` names."""
        return cls(*processes(), os.environ.get("LONGFORM_STRATEGY", "auto"))

    @property
    def world(self) -> int:
        """Processes in all."""
        return self.devices * self.nodes

    def trainer(self, module: pl.LightningModule, **settings: Any) -> pl.Trainer:
        """A Trainer of these processes.

        It draws no bars, warns of nothing and deals out no items by itself. "fsdp" shards a
        transformers network block by block and keeps one undivided checkpoint.

        Args:
            module: module to train or to predict with.
            **settings: of Lightning's Trainer.

        Raises:
            BadInput: shards are wanted without a GPU.
        """
        set_products()
        for logger in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric"):
            logging.getLogger(logger).setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module="pytorch_lightning|lightning")
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        return pl.Trainer(
            **trainer_devices(self.devices),
            num_nodes=self.nodes,
            strategy=self._strategy(module),
            plugins=None if self._of_job() else [LightningEnvironment()],
            use_distributed_sampler=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **settings,
        )

    def _strategy(self, module: pl.LightningModule) -> Any:
        """Lightning's strategy: a name, or FSDP that shards the network block by block.

        Raises BadInput: FSDP without a GPU.
        """
        if not self.strategy.startswith("fsdp"):
            return self.strategy
        if chosen_device().type != "cuda":
            raise BadInput(
                f"LONGFORM_STRATEGY is {self.strategy!r}, which Lightning has for GPUs alone; "
                "set 'ddp' or unset it"
            )
        if self.strategy != "fsdp":
            return self.strategy
        names = set(getattr(getattr(module, "network", None), "_no_split_modules", None) or ())
        blocks = {type(part) for part in module.modules() if type(part).__name__ in names}
        return FSDPStrategy(auto_wrap_policy=blocks or None, state_dict_type="full")

    def _of_job(self) -> bool:
        """Whether Lightning may read its processes from the environment.

        A run of one process is no part of the Slurm job that it may stand in: a worker of a task
        farm inherits ``SLURM_NTASKS=8``, from which Lightning would take itself for one process of
        eight.
        """
        if "TORCHELASTIC_RUN_ID" in os.environ:
            return True
        tasks = os.environ.get("SLURM_NTASKS")
        return self.world > 1 and tasks in (None, str(self.world))


def rank() -> int:
    """The number of this process, zero where there is one."""
    shared = distributed.is_available() and distributed.is_initialized()
    return distributed.get_rank() if shared else 0


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        learning_rate: peak of AdamW.
        batch: items of one forward pass.
        epochs: passes over the training items, fractions allowed.
        accumulate: forward passes of an update, shared out among all processes.
        validations: validations, and checkpoints, in the whole run.
        warmup: share of updates with a rising rate; then it falls linearly to zero.
        weight_decay: weight decay of AdamW.
        clip: largest norm of the gradient.
        precision: one of ``PRECISIONS``: Lightning's names, or ``auto``, see :func:`arithmetic`.
        compile: whether the network passes through ``torch.compile``, which is slower on a CPU.
        checkpointing: whether the backward pass computes activations anew instead of keeping them.
    """

    learning_rate: float
    batch: int
    epochs: float
    accumulate: int = 1
    validations: int = 4
    warmup: float = 0.05
    weight_decay: float = 0.0
    clip: float = 1.0
    precision: Any = "32-true"
    compile: bool = False
    checkpointing: bool = False

    def __post_init__(self) -> None:
        # 1. Whole numbers from one.
        for name in ("batch", "accumulate", "validations"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise BadInput(
                    f"schedule has {name}={value!r}, allowed is a whole number from 1; "
                    "fix the entry"
                )
        # 2. Numbers from zero; a training of no epoch is none.
        for name in ("learning_rate", "epochs", "clip"):
            value = getattr(self, name)
            allowed = type(value) in (int, float) and 0 <= value < math.inf
            if not allowed or (name == "epochs" and value == 0):
                raise BadInput(
                    f"schedule has {name}={value!r}, allowed is a positive number; fix the entry"
                )
        if self.precision not in PRECISIONS:
            raise BadInput(
                f"schedule has precision={self.precision!r}, allowed are {list(PRECISIONS)}; "
                "fix the entry"
            )
        # 3. Every process takes as many passes of an update.
        world = self.launch.world
        if self.accumulate % world:
            raise BadInput(
                f"schedule has accumulate={self.accumulate}, "
                f"which {world} processes cannot share evenly; take a multiple of {world}, "
                "and a smaller batch where that makes an update too large"
            )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Schedule":
        """A schedule of the fields of an entry.

        Raises:
            BadInput: a name that is not a field.
        """
        allowed = [field.name for field in fields(cls)]
        if unknown := sorted(settings.keys() - set(allowed)):
            raise BadInput(f"schedule has {unknown[0]!r}; allowed are {allowed}; fix the entry")
        return cls(**settings)

    @property
    def launch(self) -> Launch:
        """The processes that share the training."""
        return Launch.here()

    def updates(self, items: int) -> int:
        """Optimiser updates in the whole run, a multiple of the validations."""
        updates = self.epochs * items / (self.batch * self.accumulate)
        return self.validations * max(1, math.ceil(updates / self.validations))


def arithmetic(precision: str) -> str:
    """Lightning's name of a precision on this machine.

    ``auto`` is bfloat16 products on a GPU that makes them itself and on a processor with AVX-512.
    Elsewhere it is float32: an update of SmolLM2-135M took 15 s on one core with AVX2, and 27 s for
    an eighth of it in bfloat16.
    """
    if precision != "auto":
        return precision
    if chosen_device().type == "cuda":
        bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        bfloat16 = "AVX512" in torch.backends.cpu.get_cpu_capability()
    return "bf16-mixed" if bfloat16 else "32-true"


def linear_schedule(updates: int, warmup: float) -> Callable[[int], float]:
    """Multiplier of the learning rate at an update: up over the warm-up, then down to zero.

    Args:
        updates: number of updates of the whole run.
        warmup: share of them in which the rate rises.
    """
    rising = max(1, round(updates * warmup))

    def multiplier(step: int) -> float:
        up = (step + 1) / rising
        down = (updates - step) / max(1, updates - rising)
        return min(up, max(0.0, down))

    return multiplier


class TrainingBatches(Sampler[list[int]]):
    """Item numbers of this process's batches up to the next validation.

    The processes take the batches in turn. Each pass over the items has its own named permutation,
    and goes on where the batches up to the last validation ended.

    Attributes:
        batch: items of a batch of one process.
        world: number of processes.
        batches: number of batches of this process between two validations.
        part: number of validations so far.

    Args:
        items: number of items.
        schedule: how long the training is.
        seed: names the permutations.
    """

    def __init__(self, items: int, schedule: Schedule, seed: int) -> None:
        self.items = items
        self.batch = schedule.batch
        self.seed = seed
        self.world = schedule.launch.world
        updates = schedule.updates(items) // schedule.validations
        self.batches = updates * schedule.accumulate // self.world
        self.part = 0
        # Lightning tells ``batch_sampler.sampler`` which epoch begins, never the batch sampler.
        self.sampler = self

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning, whose epochs end at validations."""
        self.part = epoch

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the item numbers of each batch of this process; each epoch has its own order."""
        orders: dict[int, Any] = {}
        for step in range(self.part * self.batches, (self.part + 1) * self.batches):
            # Draws are numbered over all processes and passes.
            first = (step * self.world + rank()) * self.batch
            batch = []
            for draw in range(first, first + self.batch):
                epoch, position = divmod(draw, self.items)
                if epoch not in orders:
                    orders[epoch] = generator(self.seed, "order", epoch).permutation(self.items)
                batch.append(int(orders[epoch][position]))
            yield batch


class ValidationBatches(Sampler[list[int]]):
    """This process's part of the validation batches.

    The last one is repeated for a process that would have fewer, since sharded networks talk in
    every forward pass.

    Args:
        items: number of items.
        batch: items of a batch.
        world: number of processes.
    """

    def __init__(self, items: int, batch: int, world: int) -> None:
        self.items, self.batch, self.world = items, batch, world
        self.batches = math.ceil(items / batch)

    def __len__(self) -> int:
        """Number of batches of each process."""
        return math.ceil(self.batches / self.world)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the item numbers of each batch of this process, in order."""
        for step in range(len(self)):
            process = rank() if self.world > 1 else 0
            number = min(step * self.world + process, self.batches - 1)
            stop = min((number + 1) * self.batch, self.items)
            yield list(range(number * self.batch, stop))

    def counts(self, step: int) -> bool:
        """Whether this process's batch of a step is its own, not a repeated one."""
        return step * self.world + rank() < self.batches


class Turns(Sampler[list[int]]):
    """Batches of item numbers of this process: r, r + n, r + 2n … of n processes.

    Each item comes once in all. Every process has as many batches as the one with most items, since
    processes that wait for each other after a batch would hang where one has a batch more; those
    without items left have empty ones at the end. No process has none: Lightning refuses that.

    Args:
        items: number of items in all.
        batch: items at a time, at most.
        world: processes in all.
    """

    def __init__(self, items: int, batch: int, world: int) -> None:
        self.items, self.batch, self.world = items, batch, world

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[list[int]]:
        """Item numbers of this process in batches, an empty one if it has none."""
        mine = range(rank() if self.world > 1 else 0, self.items, self.world)
        of_first = len(range(0, self.items, self.world))  # no process has more
        for start in range(0, max(1, of_first), self.batch):
            yield list(mine[start : start + self.batch])


def predict(module: pl.LightningModule, items: Sequence[Any], batch: int) -> None:
    """Hand batches (lists of items) to the module's ``predict_step``; see :class:`Turns`."""
    launch = Launch.here()
    trainer = launch.trainer(module, logger=False, enable_checkpointing=False)
    rows: Any = list(items)
    batches: Any = Turns(len(items), batch, launch.world)
    loader: DataLoader[Any] = DataLoader(rows, batch_sampler=batches, collate_fn=list)
    trainer.predict(module, loader, return_predictions=False)
    trainer.strategy.barrier()
