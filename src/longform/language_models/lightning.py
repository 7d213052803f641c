"""The Trainer: checkpoints, exact resume, progress and tracking. Its record is a CSV file; who wants a mirror of it
adds one to :data:`longform.language_models.tracking.mirrors`.

One of Lightning's epochs is the stretch up to a validation. What a step sees is a function of (seed, step) alone, and
checkpoints are written at validations, so a run that was killed ends with the weights of an unbroken one.
"""

import copy
import math
import os
import pickle
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import LearningRateMonitor, ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch.utils.data import DataLoader

from longform.errors import BadInput
from longform.language_models.schedule import (
    Schedule,
    TrainingBatches,
    ValidationBatches,
    arithmetic,
    linear_schedule,
)
from longform.language_models.tracking import mirrors
from longform.statistics.random_streams import derived_seed

__all__ = ["Learner", "Progress", "Schedule", "adamw", "fit_learner", "fit_module", "numbers"]


class Steps(pl.Callback):
    """Seed torch before every step by (seed, batch number), so that dropout after a resume is that of the unbroken run,
    and cut gradients at a norm: Lightning's own clipping refuses fused optimisers in mixed precision, and shards."""

    def __init__(self, seed: int, norm: float) -> None:
        self.seed, self.norm = seed, norm

    def on_train_batch_start(
        self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, index: int
    ) -> None:
        step = trainer.current_epoch * trainer.num_training_batches + index
        seed = derived_seed(self.seed, "step", step * trainer.world_size + trainer.global_rank)
        torch.default_generator.manual_seed(seed)
        if (
            module.device.type != "cpu"
        ):  # without a device this queues a call and a stack trace for later, every step
            torch.manual_seed(seed)

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, module: pl.LightningModule, optimizer: Any
    ) -> None:
        sharded: Any = trainer.strategy.model
        if hasattr(
            sharded, "clip_grad_norm_"
        ):  # a norm over all shards, which only the sharded network knows
            sharded.clip_grad_norm_(self.norm)
        else:
            torch.nn.utils.clip_grad_norm_(module.parameters(), self.norm)


class Progress(pl.Callback):
    """One line every ten seconds: updates done, loss, tokens a second over all processes. And ``rows``, kept through a kill: at
    each validation updates done, mean training loss since the row before (of the first process, where several train), validation
    loss, in nats."""

    COLUMNS = ("update", "loss", "validation_loss")

    def __init__(self, name: str, updates: int) -> None:
        self.name, self.updates = name, updates
        self.tokens, self.since, self.started = 0, time.monotonic(), time.monotonic()
        self.rows: list[tuple[int, float, float]] = []
        self.losses: list[torch.Tensor] = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, index: int
    ) -> None:
        share = outputs["loss"].detach()  # of an update
        self.losses.append(share * trainer.accumulate_grad_batches)
        self.tokens += int(batch["labels"].numel())
        if trainer.global_rank == 0 and time.monotonic() - self.since > 10:
            self.since = time.monotonic()
            speed = trainer.world_size * self.tokens / (self.since - self.started)
            done = f"{trainer.global_step}/{self.updates}, loss {float(self.losses[-1]):.3f}"
            print(f"train {self.name}: {done}, {speed:,.0f} tokens/s", flush=True)

    def on_validation_end(self, trainer: pl.Trainer, module: Any) -> None:
        mean = float(torch.stack(self.losses).double().mean()) if self.losses else math.nan
        loss = float(trainer.callback_metrics["validation_loss"])
        if not math.isfinite(loss):
            raise BadInput(
                f"train {self.name}: validation loss {loss} after update {trainer.global_step}; lower the learning rate"
            )
        self.rows.append((trainer.global_step, mean, loss))
        self.losses = []

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = [tuple(row) for row in state_dict["rows"]]


class BestCheckpoint(ModelCheckpoint):
    """The checkpoint of the lowest validation loss, found again where the folder was moved or renamed.

    Lightning keeps absolute paths and drops the best score when they change, so that a training that goes on elsewhere would
    take whatever validates next for its best. What counts here are the files' names in the folder that is there now.
    """

    PATHS = ("best_model_path", "kth_best_model_path", "last_model_path")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        moved = {**state_dict, "dirpath": self.dirpath}
        for name in self.PATHS:
            moved[name] = self._here(state_dict[name])
        moved["best_k_models"] = {
            self._here(path): loss for path, loss in state_dict["best_k_models"].items()
        }
        super().load_state_dict(moved)

    def _here(self, path: str) -> str:
        """The file of the same name in this folder; an empty path, which names no file, stays empty."""
        return os.path.join(str(self.dirpath), os.path.basename(path)) if path else path


def resume_point(name: str, scratch: Path) -> Path | None:
    """The checkpoint to go on from: the furthest one that is whole and whose best checkpoint is whole too.

    Any checkpoint of a training will do, since each holds the whole state. One that was cut (a full disk, a broken copy) is
    passed over in one sentence, and where none is left the training starts over.

    Returns:
        Its path, or None where there is nothing to go on from.
    """
    damaged: list[str] = []
    points: list[tuple[int, bool, Path, str]] = []
    for path in sorted(scratch.glob("*.ckpt")):
        state = _checkpoint_state(path)
        if state is None:
            damaged.append(path.name)
            continue
        best = os.path.basename(_best_state(state)["best_model_path"])
        points.append((state["global_step"], path.name == "last.ckpt", path, best))
    whole = {path.name for _, _, path, _ in points}
    usable = [path for _, _, path, best in sorted(points) if best in whole]
    lost = damaged + sorted({best for _, _, _, best in points} - whole - set(damaged))
    if lost:
        then = f"goes on from {usable[-1].name}" if usable else "starts over"
        print(f"train {name}: {', '.join(lost)} missing or cut in {scratch}; {then}", flush=True)
    return usable[-1] if usable else None


def _checkpoint_state(path: Path) -> dict[str, Any] | None:
    """What a checkpoint file holds; None where it is cut or its bytes do not match their checksums."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return None
        return torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except (zipfile.BadZipFile, zlib.error, pickle.UnpicklingError, EOFError):
        return None


def _best_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """What :class:`BestCheckpoint` wrote of itself into a checkpoint."""
    key = next(key for key in state["callbacks"] if key.startswith(BestCheckpoint.__name__))
    return state["callbacks"][key]


def adamw(module: torch.nn.Module, schedule: Schedule, updates: int) -> OptimizerLRSchedulerConfig:
    """AdamW with the linear schedule, in Lightning's form."""
    rates: dict[str, Any] = {"lr": schedule.learning_rate, "weight_decay": schedule.weight_decay}
    fused = not schedule.precision.startswith(
        "16"
    )  # with a loss scale, a fused step would see unclipped gradients
    optimizer = torch.optim.AdamW(module.parameters(), **rates, fused=fused)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, linear_schedule(updates, schedule.warmup)
    )
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Learner(pl.LightningModule):
    """A network with a loss and AdamW; a subclass says what the loss of a batch is and how much the batch weighs."""

    def __init__(self, network: Any, schedule: Schedule, updates: int) -> None:
        super().__init__()
        self.network, self.schedule, self.updates = network, schedule, updates
        self.validation: ValidationBatches | None = (
            None  # which validation batches are this process's
        )
        if schedule.compile:
            network.compile()  # in place: names and saved files stay as they are
        if schedule.checkpointing:
            if not hasattr(network, "gradient_checkpointing_enable"):
                kind = type(network).__name__
                raise BadInput(
                    f"schedule has checkpointing, which {kind} does not know; drop it from the entry"
                )
            network.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs={"use_reentrant": False}
            )

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean loss of a batch in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no loss; write one")

    def weight(self, batch: Mapping[str, torch.Tensor]) -> int:
        """How many predictions the mean of a batch is over."""
        return len(batch["labels"])

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        """Log the loss, weighted by predictions, over all processes."""
        weight = (
            self.weight(batch) if self.validation is None or self.validation.counts(index) else 0
        )
        weight *= (
            self.trainer.world_size
        )  # Lightning averages these whole numbers over processes and drops the rest
        self.log(
            "validation_loss",
            self.loss(batch),
            batch_size=weight,
            sync_dist=self.validation is not None,
        )

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        return adamw(self.network, self.schedule, self.updates)


Items = Mapping[str, Any]  # of the splits train and validation
Collate = Callable[[list[Any]], dict[str, torch.Tensor]]  # makes a batch of items


def numbers(items: list[int]) -> dict[str, torch.Tensor]:
    """A batch of items that are their own numbers, for modules that hold the data."""
    return {"labels": torch.tensor(items)}


def fit_learner(
    kind: type[Learner],
    network: Any,
    items: Items,
    collate: Collate,
    schedule: Mapping[str, Any],
    **told: Any,
) -> Progress:
    """:func:`fit_module` of a network by the settings of a schedule."""
    plan = Schedule.from_settings(schedule)
    return fit_module(
        kind(network, plan, plan.updates(len(items["train"]))), items, collate, plan, **told
    )


def fit_module(
    module: Any,
    items: Items,
    collate: Collate,
    schedule: Schedule,
    *,
    seed: int,
    name: str,
    scratch: Path,
) -> Progress:
    """Train in place and leave the module with the weights of its best validation loss, on every process.

    Raises BadInput: no training or no validation items.
    """
    sizes = {split: len(items[split]) for split in ("train", "validation")}
    for split, size in sizes.items():
        if not size:
            raise BadInput(
                f"train {name}: got zero {split} items; the corpus needs documents of split {split!r}"
            )
    if (precision := arithmetic(schedule.precision)) != schedule.precision:
        print(
            f"train {name}: precision {schedule.precision} is {precision} on this machine",
            flush=True,
        )
        schedule = replace(schedule, precision=precision)
    updates, launch = schedule.updates(sizes["train"]), schedule.launch
    spare = (
        copy.deepcopy(module) if launch.strategy.startswith("fsdp") else module
    )  # sharding takes tensors apart
    network: Any = getattr(module, "network", module)
    config = network.config.to_diff_dict() if hasattr(network, "config") else {}
    plain = {
        key: value for key, value in config.items() if isinstance(value, str | int | float | bool)
    }
    shape = {
        "class": type(network).__name__,
        "parameters": sum(p.numel() for p in module.parameters()),
        **plain,
    }
    told = {
        "name": name,
        "seed": seed,
        **asdict(schedule),
        "updates": updates,
        "items": sizes,
        "network": shape,
    }
    stage = os.environ.get(
        "LONGFORM_STAGE"
    )  # the name of the stage of a pipeline that this training is
    module.save_hyperparameters({**told, "processes": launch.world, "stage": stage})
    world = (
        launch.world if isinstance(module, Learner) else 1
    )  # no other module can add up parts of validation
    validation = ValidationBatches(sizes["validation"], schedule.batch, world)
    if isinstance(module, Learner):
        module.validation = validation
    orders: Any = {
        "train": TrainingBatches(sizes["train"], schedule, seed),
        "validation": validation,
    }
    loaders = [
        DataLoader[Any](items[s], batch_sampler=order, collate_fn=collate)
        for s, order in orders.items()
    ]
    kept: dict[str, Any] = {
        "monitor": "validation_loss",
        "save_last": True,
        "enable_version_counter": False,
    }
    best, progress = BestCheckpoint(scratch, "best-{epoch}", **kept), Progress(name, updates)
    loggers = _loggers(name, scratch, tags=[type(module).__name__])
    trainer = launch.trainer(
        module,
        max_epochs=schedule.validations,
        accumulate_grad_batches=schedule.accumulate // launch.world,
        precision=schedule.precision,
        logger=loggers,
        callbacks=[best, Steps(seed, schedule.clip), progress, LearningRateMonitor("step")],
        log_every_n_steps=max(1, min(50, updates // 20)),  # a short training has a curve too
        num_sanity_val_steps=0,
    )
    begun, failed = resume_point(name, scratch), 1
    try:
        trainer.fit(
            module,
            loaders[0],
            loaders[1],
            ckpt_path=str(begun) if begun else None,
            weights_only=True,
        )
        failed = 0
    finally:  # a run that stays open would take in the next network of this process
        for mirror in loggers[1:]:
            if best.best_model_score is not None:
                mirror.log_metrics({"best_validation_loss": float(best.best_model_score)})
            mirror.experiment.finish(exit_code=failed)
    state = torch.load(best.best_model_path, weights_only=True, map_location="cpu", mmap=True)
    spare.load_state_dict(state["state_dict"])
    if spare is not module:
        vars(module.network).update(
            vars(spare.network)
        )  # whoever holds the network holds whole weights again
    trainer.strategy.barrier()
    if trainer.global_rank == 0:
        loss = float(_best_state(state)["best_model_score"])
        print(f"train {name}: {updates} updates, best validation loss {loss:.4f} nats", flush=True)
    return progress


def _loggers(name: str, scratch: Path, tags: list[str]) -> list[Any]:
    """A CSV file as the record, and the mirrors of whoever tracks trainings; nothing reads them back."""
    loggers: list[Any] = [CSVLogger(scratch, name="log", version="")]
    for mirror in mirrors:
        loggers.extend(mirror(name, scratch, tags))
    return loggers
