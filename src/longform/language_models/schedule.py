"""How long, how fast, in which order and on how many processes a model sees its items: functions of (seed, step) alone.

A run has one numbered sequence of batches. With n processes, process r takes batches r, r + n, r + 2n …, and
accumulates n times fewer of them, so an update sees the same items however many processes share it.
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
    """Processes a machine, and machines; they change no result beyond rounding. ``strategy`` is Lightning's name of it."""

    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        known = ["auto", *sorted(StrategyRegistry.available_strategies())]
        if self.strategy not in known:
            raise BadInput(
                f"LONGFORM_STRATEGY is {self.strategy!r}, allowed are {known}; set it right or unset it"
            )

    @classmethod
    def here(cls) -> "Launch":
        """The processes of :func:`processes`, with the strategy that ``LONGFORM_STRATEGY`` names."""
        return cls(*processes(), os.environ.get("LONGFORM_STRATEGY", "auto"))

    @property
    def world(self) -> int:
        return self.devices * self.nodes

    def trainer(self, module: pl.LightningModule, **settings: Any) -> pl.Trainer:
        """A Trainer of these processes, which draws no bars, warns of nothing and deals out no items by itself.

        "fsdp" shards a transformers network block by block and keeps one whole checkpoint. A run of one process is no
        part of the Slurm job that it may stand in (a worker of a task farm inherits ``SLURM_NTASKS=8``, from which
        Lightning would take itself for one process of eight).
        """
        strategy: Any = self.strategy
        set_products()
        if strategy.startswith("fsdp") and chosen_device().type != "cuda":
            known = "which Lightning has for GPUs alone"
            raise BadInput(f"LONGFORM_STRATEGY is {strategy!r}, {known}; set 'ddp' or unset it")
        if strategy == "fsdp":
            names = set(getattr(getattr(module, "network", None), "_no_split_modules", None) or ())
            blocks = {type(part) for part in module.modules() if type(part).__name__ in names}
            strategy = FSDPStrategy(auto_wrap_policy=blocks or None, state_dict_type="full")
        for logger in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric"):
            logging.getLogger(logger).setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module="pytorch_lightning|lightning")
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        inherited = os.environ.get("SLURM_NTASKS") not in (None, str(self.world)) or self.world == 1
        return pl.Trainer(
            **trainer_devices(self.devices),
            num_nodes=self.nodes,
            strategy=strategy,
            plugins=[LightningEnvironment()]
            if inherited and "TORCHELASTIC_RUN_ID" not in os.environ
            else None,
            use_distributed_sampler=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **settings,
        )


def rank() -> int:
    """The number of this process, zero where there is one."""
    return (
        distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0
    )


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    learning_rate: float  # peak of AdamW
    batch: int  # items of one forward pass
    epochs: float  # passes over the training items, fractions allowed
    accumulate: int = 1  # forward passes of an update, shared out among all processes
    validations: int = 4  # validations, and checkpoints, in the whole run
    warmup: float = 0.05  # share of updates with a rising rate; then a linear fall to zero
    weight_decay: float = 0.0
    clip: float = 1.0  # largest gradient norm
    precision: Any = "32-true"  # one of ``PRECISIONS``: Lightning's names, or ``auto``, which :func:`arithmetic` names
    compile: bool = (
        False  # pass the network through ``torch.compile`` (slower on CPU, as measured; for GPUs)
    )
    checkpointing: bool = (
        False  # recompute activations in the backward pass instead of keeping them
    )

    def __post_init__(self) -> None:
        for name in ("batch", "accumulate", "validations"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise BadInput(
                    f"schedule has {name}={value!r}, allowed is a whole number from 1; fix the entry"
                )
        for name in ("learning_rate", "epochs", "clip"):
            value = getattr(self, name)
            if (
                type(value) not in (int, float)
                or not 0 <= value < math.inf
                or (name == "epochs" and value == 0)
            ):
                raise BadInput(
                    f"schedule has {name}={value!r}, allowed is a positive number; fix the entry"
                )
        if self.precision not in PRECISIONS:
            raise BadInput(
                f"schedule has precision={self.precision!r}, allowed are {list(PRECISIONS)}; fix the entry"
            )
        if self.accumulate % (world := self.launch.world):
            advice = f"take a multiple of {world}, and a smaller batch where that makes an update too large"
            told = f"schedule has accumulate={self.accumulate}, which {world} processes cannot share evenly"
            raise BadInput(f"{told}; {advice}")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Schedule":
        """Build from an entry. Raises BadInput: a name that is not a field."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(settings.keys() - set(known)):
            raise BadInput(f"schedule has {unknown[0]!r}; allowed are {known}; fix the entry")
        return cls(**settings)

    @property
    def launch(self) -> Launch:
        return Launch.here()

    def updates(self, items: int) -> int:
        """Optimiser updates in the whole run, a multiple of the validations."""
        wanted = self.epochs * items / (self.batch * self.accumulate)
        return self.validations * max(1, math.ceil(wanted / self.validations))


def arithmetic(precision: str) -> str:
    """Lightning's name of a precision; ``auto`` is bfloat16 products on a GPU that makes them itself and on a processor with AVX-512.

    Elsewhere it is float32: an update of SmolLM2-135M took 15 s on one core with AVX2, and 27 s for an eighth of it in bfloat16.
    """
    if precision != "auto":
        return precision
    made = "AVX512" in torch.backends.cpu.get_cpu_capability()
    if chosen_device().type == "cuda":
        made = torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16-mixed" if made else "32-true"


def linear_schedule(updates: int, warmup: float) -> Callable[[int], float]:
    """Multiplier of the learning rate at an update: up over the warm-up share, then linearly down to zero."""
    rising = max(1, round(updates * warmup))
    return lambda step: min(
        (step + 1) / rising, max(0.0, (updates - step) / max(1, updates - rising))
    )


class TrainingBatches(Sampler[list[int]]):
    """Item numbers of this process's batches up to the next validation; each pass has its own named permutation."""

    def __init__(self, items: int, schedule: Schedule, seed: int) -> None:
        self.items, self.batch, self.seed, self.world = (
            items,
            schedule.batch,
            seed,
            schedule.launch.world,
        )
        self.batches = (
            schedule.updates(items) // schedule.validations * schedule.accumulate // self.world
        )
        self.part = 0
        self.sampler = self  # Lightning tells ``batch_sampler.sampler`` which epoch begins, never the batch sampler

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning, whose epochs end at validations."""
        self.part = epoch

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[int]]:
        orders: dict[int, Any] = {}
        for step in range(self.part * self.batches, (self.part + 1) * self.batches):
            first, batch = (step * self.world + rank()) * self.batch, []
            for draw in range(first, first + self.batch):
                epoch, place = divmod(draw, self.items)
                if epoch not in orders:
                    orders[epoch] = generator(self.seed, "order", epoch).permutation(self.items)
                batch.append(int(orders[epoch][place]))
            yield batch


class ValidationBatches(Sampler[list[int]]):
    """This process's part of the validation batches; the last one is repeated where a process would have fewer, since sharded
    networks talk in every forward pass."""

    def __init__(self, items: int, batch: int, world: int) -> None:
        self.items, self.batch, self.world = items, batch, world
        self.batches = math.ceil(items / batch)

    def __len__(self) -> int:
        return math.ceil(self.batches / self.world)

    def __iter__(self) -> Iterator[list[int]]:
        for step in range(len(self)):
            number = min(step * self.world + (rank() if self.world > 1 else 0), self.batches - 1)
            yield list(range(number * self.batch, min((number + 1) * self.batch, self.items)))

    def counts(self, step: int) -> bool:
        """Whether this process's batch of a step is its own."""
        return step * self.world + rank() < self.batches


class Turns(Sampler[list[int]]):
    """Batches of item numbers of this process: r, r + n, r + 2n … of n processes; one empty batch where there are none."""

    def __init__(self, items: int, batch: int, world: int) -> None:
        self.items, self.batch, self.world = items, batch, world

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[list[int]]:
        mine = range(rank() if self.world > 1 else 0, self.items, self.world)
        starts = range(
            0, max(1, len(mine)), self.batch
        )  # Lightning refuses a process without a batch
        return (list(mine[start : start + self.batch]) for start in starts)


def predict(module: pl.LightningModule, items: Sequence[Any], batch: int) -> None:
    """Hand batches (lists of items) to the module's ``predict_step``; process r of n takes items r, r + n, r + 2n …."""
    launch = Launch.here()
    trainer = launch.trainer(module, logger=False, enable_checkpointing=False)
    turns = Turns(len(items), batch, launch.world)
    loader: DataLoader[Any] = DataLoader(list(items), batch_sampler=turns, collate_fn=list)  # type: ignore[arg-type]
    trainer.predict(module, loader, return_predictions=False)
    trainer.strategy.barrier()
