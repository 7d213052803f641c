"""The Trainer: checkpoints, exact resume, progress and tracking. The only module that imports Lightning's loggers.

Training is cut into *rounds* of equally many steps. What a step sees is a function of (seed, step) alone, and
checkpoints are written at the end of rounds, so a run that was killed ends with the weights of an unbroken one.
"""

from __future__ import annotations

import logging
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger, WandbLogger
from torch.utils.data import DataLoader, Dataset, Sampler

from longform.numerics import derived_seed, generator
from longform.units import BadInput


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        learning_rate: peak of AdamW.
        batch: items a step (after accumulation: ``batch * accumulate`` items an update).
        epochs: passes over the training items, fractions allowed.
        rounds: validations and checkpoints in the whole run.
        warmup: share of updates with a rising rate; then a linear fall to zero.
        clip: largest gradient norm.
        precision: Lightning's name of it.
        devices, nodes, strategy: Lightning's; "ddp" or "fsdp" over several machines.
        compile: pass the network through ``torch.compile`` (slower on CPU, as measured; for GPUs).
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

    def __post_init__(self) -> None:
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

    def updates(self, items: int) -> int:
        """Optimiser updates in the whole run, a multiple of the rounds."""
        wanted = self.epochs * items / (self.batch * self.accumulate)
        return self.rounds * max(1, math.ceil(wanted / self.rounds))


class Rounds(Sampler[list[int]]):
    """Batches of item indices for one round; each pass over the items has its own named permutation."""

    def __init__(self, items: int, schedule: Schedule, seed: int) -> None:
        self.items, self.batch, self.seed = items, schedule.batch, seed
        self.batches = schedule.updates(items) // schedule.rounds * schedule.accumulate
        self.round = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning: its epochs are our rounds."""
        self.round = epoch

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[list[int]]:
        orders: dict[int, Any] = {}
        for number in range(self.round * self.batches, (self.round + 1) * self.batches):
            yield [self._item(n, orders) for n in range(number * self.batch, (number + 1) * self.batch)]

    def _item(self, draw: int, orders: dict[int, Any]) -> int:
        epoch, place = divmod(draw, self.items)
        if epoch not in orders:
            orders[epoch] = generator(self.seed, "order", epoch).permutation(self.items)
        return int(orders[epoch][place])


class NamedDraws(pl.Callback):
    """Seed torch before every step by (seed, step), so that dropout after a resume is dropout of the unbroken run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, index: int) -> None:
        step = trainer.current_epoch * trainer.num_training_batches + index
        torch.manual_seed(derived_seed(self.seed, "step", step))


class Progress(pl.Callback):
    """One line every ten seconds: updates done, loss, tokens a second."""

    def __init__(self, name: str, updates: int) -> None:
        self.name, self.updates = name, updates
        self.tokens, self.since, self.started = 0, time.monotonic(), time.monotonic()

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, index: int) -> None:
        self.tokens += int(batch["labels"].numel())
        if time.monotonic() - self.since > 10:
            self.since = time.monotonic()
            speed = self.tokens / (self.since - self.started)
            loss = float(outputs["loss"])
            print(
                f"train {self.name}: {trainer.global_step}/{self.updates}, loss {loss:.3f}, {speed:,.0f} tokens/s",
                flush=True,
            )


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


class Learner(pl.LightningModule):
    """A network with a loss and AdamW; a subclass says what the loss of a batch is and how much the batch weighs.

    Attributes:
        network: what is trained and saved.
        schedule, updates: how fast, and for how many optimiser updates.
    """

    def __init__(self, network: torch.nn.Module, schedule: Schedule, updates: int) -> None:
        super().__init__()
        self.network, self.schedule, self.updates = network, schedule, updates
        self.run = torch.compile(network) if schedule.compile else network

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean loss of a batch in nats."""
        raise TypeError(f"{type(self).__name__} has no loss; write one")

    def weight(self, batch: Mapping[str, torch.Tensor]) -> int:
        """How many predictions the mean of a batch is over."""
        return len(batch["labels"])

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        """Log and return the loss."""
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        """Log the loss, weighted by predictions."""
        self.log("validation_loss", self.loss(batch), batch_size=self.weight(batch))

    def configure_optimizers(self) -> dict[str, Any]:
        """AdamW, linear schedule."""
        return adamw(self.network, self.schedule, self.updates)


@dataclass(frozen=True)
class Items:
    """Training and validation items with the function that makes a batch of them."""

    train: Dataset[Any] | Sequence[Any]
    validation: Dataset[Any] | Sequence[Any]
    collate: Callable[[list[Any]], dict[str, torch.Tensor]]


def fit_module(
    module: pl.LightningModule, items: Items, schedule: Schedule, *, seed: int, name: str, scratch: Path
) -> None:
    """Train in place and leave the module with the weights of its best validation loss.

    Raises:
        BadInput: no training or no validation items.
    """
    for split in ("train", "validation"):
        if not len(getattr(items, split)):
            raise BadInput(f"train {name}: got zero {split} items; the corpus needs documents of split {split!r}")
    _quiet()
    best = ModelCheckpoint(
        scratch, "best-{epoch}", monitor="validation_loss", save_last=True, enable_version_counter=False
    )
    updates = schedule.updates(len(items.train))
    trainer = pl.Trainer(
        max_epochs=schedule.rounds,
        accumulate_grad_batches=schedule.accumulate,
        gradient_clip_val=schedule.clip,
        precision=schedule.precision,
        accelerator="auto",
        devices=schedule.devices,
        num_nodes=schedule.nodes,
        strategy=schedule.strategy,
        logger=_loggers(name, scratch),
        callbacks=[best, NamedDraws(seed), Progress(name, updates)],
        log_every_n_steps=50,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    train = DataLoader(items.train, batch_sampler=Rounds(len(items.train), schedule, seed), collate_fn=items.collate)
    validation = DataLoader(items.validation, batch_size=schedule.batch, collate_fn=items.collate)
    last = scratch / "last.ckpt"
    trainer.fit(module, train, validation, ckpt_path=str(last) if last.is_file() else None, weights_only=True)
    state = torch.load(best.best_model_path, weights_only=True, map_location="cpu")
    module.load_state_dict(state["state_dict"])
    print(f"train {name}: {updates} updates, best validation loss {float(best.best_model_score):.4f} nats", flush=True)


def _loggers(name: str, scratch: Path) -> list[Any]:
    """A CSV file as the record and Weights & Biases as its mirror; nothing reads either back."""
    csv = CSVLogger(scratch, name="log", version="")
    if os.environ.get("WANDB_MODE") == "disabled":
        return [csv]
    folder = Path(os.environ.get("WANDB_DIR", "wandb"))
    folder.mkdir(parents=True, exist_ok=True)
    return [csv, WandbLogger(name=name, project="longform", save_dir=str(folder))]


def _quiet() -> None:
    for logger in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric", "wandb"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    os.environ.setdefault("WANDB_SILENT", "true")
    warnings.filterwarnings("ignore", module="pytorch_lightning|lightning")
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
