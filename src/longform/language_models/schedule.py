"""How long, how fast and in which order a model sees its items: functions of (seed, step) alone, on any number of processes.

The run has one numbered sequence of batches. With n processes, process r takes batches r, r + n, r + 2n …, so an update
of n processes sees what an update of one process with n times the accumulation sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch.utils.data import Sampler

from longform.documents import BadInput
from longform.language_models.launching import Launch, rank
from longform.resampling import generator


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        learning_rate: peak of AdamW.
        batch: items a step and process; an update sees ``batch * accumulate * devices * nodes`` items.
        epochs: passes over the training items, fractions allowed.
        rounds: validations and checkpoints in the whole run.
        warmup: share of updates with a rising rate; then a linear fall to zero.
        clip: largest gradient norm.
        precision: Lightning's name of it: "32-true", "bf16-mixed" …
        devices, nodes, strategy: Lightning's; "ddp" or "fsdp" over several machines.
        compile: pass the network through ``torch.compile`` (slower on CPU, as measured; for GPUs).
        checkpointing: recompute activations in the backward pass instead of keeping them.
    """

    learning_rate: float
    batch: int
    epochs: float
    accumulate: int = 1
    rounds: int = 4
    warmup: float = 0.05
    weight_decay: float = 0.0
    clip: float = 1.0
    precision: str = "32-true"
    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"
    compile: bool = False
    checkpointing: bool = False

    def __post_init__(self) -> None:
        Launch(self.devices, self.nodes, self.strategy)
        for name in ("batch", "accumulate", "rounds"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise BadInput(f"schedule has {name}={value!r}, allowed is a whole number from 1; mend the row")
        for name in ("learning_rate", "epochs", "clip"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or value < 0 or (name == "epochs" and value == 0):
                raise BadInput(f"schedule has {name}={value!r}, allowed is a positive number (2.0e-3, not 2e-3)")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Schedule:
        """Build from a row.

        Raises:
            BadInput: a name that is not a field.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(settings.keys() - set(known))
        if unknown:
            raise BadInput(f"schedule has {unknown[0]!r}; allowed are {known}; mend the row")
        return cls(**settings)

    @property
    def launch(self) -> Launch:
        """Where it runs."""
        return Launch(self.devices, self.nodes, self.strategy)

    def updates(self, items: int) -> int:
        """Optimiser updates in the whole run, a multiple of the rounds."""
        wanted = self.epochs * items / (self.batch * self.accumulate * self.launch.world)
        return self.rounds * max(1, math.ceil(wanted / self.rounds))


class Rounds(Sampler[list[int]]):
    """Batches of item indices for one round and process; each pass over the items has its own named permutation."""

    def __init__(self, items: int, schedule: Schedule, seed: int) -> None:
        self.items, self.batch, self.seed, self.world = items, schedule.batch, seed, schedule.launch.world
        self.batches = schedule.updates(items) // schedule.rounds * schedule.accumulate
        self.round = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning: its epochs are our rounds."""
        self.round = epoch

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[int]]:
        orders: dict[int, Any] = {}
        for step in range(self.round * self.batches, (self.round + 1) * self.batches):
            number = step * self.world + rank()
            yield [self._item(n, orders) for n in range(number * self.batch, (number + 1) * self.batch)]

    def _item(self, draw: int, orders: dict[int, Any]) -> int:
        epoch, place = divmod(draw, self.items)
        if epoch not in orders:
            orders[epoch] = generator(self.seed, "order", epoch).permutation(self.items)
        return int(orders[epoch][place])


class Shares(Sampler[list[int]]):
    """Each process's part of the validation batches; the last one is repeated where a process would have fewer.

    Equal numbers are needed because sharded networks talk in every forward pass; ``counts`` says which are real.
    """

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


def linear_schedule(updates: int, warmup: float) -> Callable[[int], float]:
    """Multiplier of the learning rate at an update: up over the warm-up share, then linearly down to zero."""
    rising = max(1, round(updates * warmup))
    return lambda step: min((step + 1) / rising, max(0.0, (updates - step) / max(1, updates - rising)))


def adamw(module: torch.nn.Module, schedule: Schedule, updates: int) -> dict[str, Any]:
    """AdamW with the linear schedule, in Lightning's form."""
    optimizer = torch.optim.AdamW(
        module.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, linear_schedule(updates, schedule.warmup))
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
