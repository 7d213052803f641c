"""Training with Lightning: checkpoints, exact resume, progress and tracking.

Its record is a CSV file; who wants a mirror of it adds one to
:data:`longform.language_models.tracking.mirrors`.

One of Lightning's epochs is the stretch up to a validation. What a step sees is a function of
(seed, step) alone, and checkpoints are written at validations, so a run that was killed ends with
the weights of an unbroken one.
"""

import copy
import math
import os
import pickle
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
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


REPORT_SECONDS = 10


class Steps(pl.Callback):
    """Seed torch before every step, and cut gradients at a norm.

    The seed is (seed, batch number), so that dropout after a resume is that of the unbroken run.
    Lightning's own clipping refuses fused optimisers in mixed precision, and shards.
    """

    def __init__(self, seed: int, norm: float) -> None:
        self.seed = seed
        self.norm = norm

    def on_train_batch_start(
        self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, index: int
    ) -> None:
        """Seed torch for this batch by its number over all processes."""
        step = trainer.current_epoch * trainer.num_training_batches + index
        seed = derived_seed(self.seed, "step", step * trainer.world_size + trainer.global_rank)
        torch.default_generator.manual_seed(seed)
        # Without a device this queues a call and a stack trace for later, every step.
        if module.device.type != "cpu":
            torch.manual_seed(seed)

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, module: pl.LightningModule, optimizer: Any
    ) -> None:
        """Scale gradients down to at most ``norm``."""
        sharded: Any = trainer.strategy.model
        # The norm over all shards is something that only a sharded network knows.
        if hasattr(sharded, "clip_grad_norm_"):
            sharded.clip_grad_norm_(self.norm)
        else:
            torch.nn.utils.clip_grad_norm_(module.parameters(), self.norm)


class Progress(pl.Callback):
    """One line every ten seconds, and the curve of a training.

    A line says updates done, loss, tokens a second over all processes.

    Attributes:
        rows: a row of ``COLUMNS`` for each validation, which a kill leaves: updates done, mean
            training loss since the row before (of the first process, where several train) and
            validation loss, in nats.
    """

    COLUMNS = ("update", "loss", "validation_loss")

    def __init__(self, name: str, updates: int) -> None:
        self.name = name
        self.updates = updates
        self.tokens = 0
        self.started = self.reported = time.monotonic()
        self.rows: list[tuple[int, float, float]] = []
        self.losses: list[torch.Tensor] = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, index: int
    ) -> None:
        """Record the batch's loss, and print progress every ``REPORT_SECONDS``."""
        # Lightning divides a batch's loss by the number of batches of an update.
        loss_share = outputs["loss"].detach()
        self.losses.append(loss_share * trainer.accumulate_grad_batches)
        self.tokens += int(batch["labels"].numel())
        if trainer.global_rank == 0 and time.monotonic() - self.reported > REPORT_SECONDS:
            self.reported = time.monotonic()
            speed = trainer.world_size * self.tokens / (self.reported - self.started)
            done = f"{trainer.global_step}/{self.updates}, loss {float(self.losses[-1]):.3f}"
            print(f"train {self.name}: {done}, {speed:,.0f} tokens/s", flush=True)

    def on_validation_end(self, trainer: pl.Trainer, module: Any) -> None:
        """Add a row to the curve. Raises BadInput: the validation loss is not finite."""
        mean = float(torch.stack(self.losses).double().mean()) if self.losses else math.nan
        loss = float(trainer.callback_metrics["validation_loss"])
        if not math.isfinite(loss):
            raise BadInput(
                f"train {self.name}: validation loss {loss} after update {trainer.global_step}; "
                "lower the learning rate"
            )
        self.rows.append((trainer.global_step, mean, loss))
        self.losses = []

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = [tuple(row) for row in state_dict["rows"]]


class BestCheckpoint(ModelCheckpoint):
    """The checkpoint of the lowest validation loss, also where the folder was moved or renamed.

    Lightning saves absolute paths and drops the best score when they change, so that a training
    resumed elsewhere would take its next checkpoint for its best. Here the files' names in the
    present folder count.
    """

    PATHS = ("best_model_path", "kth_best_model_path", "last_model_path")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state with all paths in the present folder."""
        state = {**state_dict, "dirpath": self.dirpath}
        for name in self.PATHS:
            state[name] = self._here(state_dict[name])
        losses = state_dict["best_k_models"]
        state["best_k_models"] = {self._here(path): loss for path, loss in losses.items()}
        super().load_state_dict(state)

    def _here(self, path: str) -> str:
        """The file of the same name in this folder; an empty path names none and stays empty."""
        return os.path.join(str(self.dirpath), os.path.basename(path)) if path else path


def resume_point(name: str, scratch: Path) -> Path | None:
    """Find the checkpoint to resume from: the furthest sound one whose best one is sound too.

    Any checkpoint of a training will do, since each holds the full state. Damaged ones (a full
    disk, a broken copy) are passed over with one printed sentence.

    Args:
        name: of the training.
        scratch: the folder of its checkpoints.

    Returns:
        Its path; None if there is none, so that the training starts over.
    """
    # 1. (updates done, whether it is the last, path, name of the best so far) of each checkpoint;
    # in this order they sort by progress.
    damaged: list[str] = []
    points: list[tuple[int, bool, Path, str]] = []
    for path in sorted(scratch.glob("*.ckpt")):
        state = _checkpoint_state(path)
        if state is None:
            damaged.append(path.name)
            continue
        best = os.path.basename(_best_state(state)["best_model_path"])
        points.append((state["global_step"], path.name == "last.ckpt", path, best))
    # 2. Those whose best one is sound, the furthest last.
    sound = {path.name for _, _, path, _ in points}
    usable = [path for _, _, path, best in sorted(points) if best in sound]
    # 3. The sentence about damaged and missing ones.
    missing = {best for _, _, _, best in points} - sound - set(damaged)
    lost = damaged + sorted(missing)
    if lost:
        then = f"goes on from {usable[-1].name}" if usable else "starts over"
        print(f"train {name}: {', '.join(lost)} missing or cut in {scratch}; {then}", flush=True)
    return usable[-1] if usable else None


def _checkpoint_state(path: Path) -> dict[str, Any] | None:
    """The contents of a checkpoint file; None if it is cut or fails its checksums."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return None
        return torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except (zipfile.BadZipFile, zlib.error, pickle.UnpicklingError, EOFError):
        return None


def _best_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of :class:`BestCheckpoint` in a checkpoint."""
    key = next(key for key in state["callbacks"] if key.startswith(BestCheckpoint.__name__))
    return state["callbacks"][key]


def adamw(module: torch.nn.Module, schedule: Schedule, updates: int) -> OptimizerLRSchedulerConfig:
    """AdamW with a rate that rises on a line and falls to zero on another, in Lightning's form.

    It rises for the share ``schedule.warmup`` of the updates.
    """
    optimizer = torch.optim.AdamW(
        module.parameters(),
        lr=schedule.learning_rate,
        weight_decay=schedule.weight_decay,
        # In 16-mixed a scale multiplies the loss, and so the gradients. A fused step divides by it
        # only inside, after :class:`Steps` has cut the norm of gradients that still have it.
        fused=not schedule.precision.startswith("16"),
    )
    multiplier = linear_schedule(updates, schedule.warmup)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, multiplier)
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Learner(pl.LightningModule):
    """A network with a loss and AdamW.

    A subclass says what the loss of a batch is and how much the batch weighs.

    Attributes:
        validation: which validation batches are this process's; None where all are.
    """

    def __init__(self, network: Any, schedule: Schedule, updates: int) -> None:
        super().__init__()
        self.network = network
        self.schedule = schedule
        self.updates = updates
        self.validation: ValidationBatches | None = None
        if schedule.compile:
            network.compile()  # in place: names and saved files stay as they are
        if schedule.checkpointing:
            if not hasattr(network, "gradient_checkpointing_enable"):
                kind = type(network).__name__
                raise BadInput(
                    f"schedule has checkpointing, which {kind} does not know; "
                    "drop it from the entry"
                )
            network.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs={"use_reentrant": False}
            )

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Mean loss of a batch in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no loss; write one")

    def weight(self, batch: Mapping[str, torch.Tensor]) -> int:
        """Number of predictions that the mean loss of a batch is over."""
        return len(batch["labels"])

    def training_step(self, batch: Mapping[str, torch.Tensor], index: int) -> torch.Tensor:
        """The loss of a batch, which is logged."""
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Mapping[str, torch.Tensor], index: int) -> None:
        """Log the loss, weighted by predictions, over all processes."""
        shared = self.validation is not None
        counts = self.validation is None or self.validation.counts(index)
        weight = self.weight(batch) if counts else 0
        # Lightning divides these integers by the number of processes, rounding down.
        weight *= self.trainer.world_size
        self.log("validation_loss", self.loss(batch), batch_size=weight, sync_dist=shared)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        return adamw(self.network, self.schedule, self.updates)


Items = Mapping[str, Any]  # "train" and "validation" -> their items
Collate = Callable[[list[Any]], dict[str, torch.Tensor]]  # makes a batch of items


def numbers(items: list[int]) -> dict[str, torch.Tensor]:
    """A batch, ``labels``, of items that are indices, for modules that hold the data."""
    return {"labels": torch.tensor(items)}


def fit_learner(
    kind: type[Learner],
    network: Any,
    items: Items,
    collate: Collate,
    schedule: Mapping[str, Any],
    **settings: Any,
) -> Progress:
    """Train a network in place as :func:`fit_module` does.

    Args:
        kind: the class of Learner that has its loss.
        network: the network.
        items, collate: as for :func:`fit_module`.
        schedule: fields of :class:`Schedule`.
        **settings: further arguments of :func:`fit_module`.
    """
    plan = Schedule.from_settings(schedule)
    learner = kind(network, plan, plan.updates(len(items["train"])))
    return fit_module(learner, items, collate, plan, **settings)


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
    """Train in place; the module is left with the weights of its best validation loss.

    Args:
        module: the module, the same on every process.
        items: of the splits train and validation.
        collate: makes a batch of items.
        schedule: how long and how fast to train.
        seed: of all random numbers.
        name: of the training, in progress lines and errors.
        scratch: folder of checkpoints, from which a killed training resumes, and of the record.

    Returns:
        The progress, whose ``rows`` are the curve.

    Raises:
        BadInput: no training or no validation items.
    """
    sizes = _sizes(items, name)
    schedule = _on_this_machine(schedule, name)
    updates, launch = schedule.updates(sizes["train"]), schedule.launch
    # 1. Sharding (FSDP) takes tensors apart: the final weights go into a copy.
    spare = copy.deepcopy(module) if launch.strategy.startswith("fsdp") else module
    _record_settings(module, schedule, name, seed, sizes)
    # 2. Items.
    training = TrainingBatches(sizes["train"], schedule, seed)
    validation = _validation_batches(module, sizes["validation"], schedule)
    loaders = [
        _loader(items["train"], training, collate),
        _loader(items["validation"], validation, collate),
    ]
    # 3. The trainer, with a checkpoint at each validation.
    best = BestCheckpoint(
        scratch,
        "best-{epoch}",
        monitor="validation_loss",
        save_last=True,
        enable_version_counter=False,
    )
    progress = Progress(name, updates)
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
    # 4. The training.
    _train(trainer, module, loaders, resume_point(name, scratch), best, loggers[1:])
    # 5. The best weights, also for callers that hold the network itself.
    state = torch.load(best.best_model_path, weights_only=True, map_location="cpu", mmap=True)
    spare.load_state_dict(state["state_dict"])
    if spare is not module:
        vars(module.network).update(vars(spare.network))
    trainer.strategy.barrier()
    if trainer.global_rank == 0:
        loss = float(_best_state(state)["best_model_score"])
        print(f"train {name}: {updates} updates, best validation loss {loss:.4f} nats", flush=True)
    return progress


def _sizes(items: Items, name: str) -> dict[str, int]:
    """Numbers of items of the splits train and validation.

    Raises:
        BadInput: one of them has none.
    """
    sizes = {split: len(items[split]) for split in ("train", "validation")}
    for split, size in sizes.items():
        if not size:
            raise BadInput(
                f"train {name}: got zero {split} items; "
                f"the corpus needs documents of split {split!r}"
            )
    return sizes


def _validation_batches(module: Any, size: int, schedule: Schedule) -> ValidationBatches:
    """The batches of a validation, divided among the processes if the module is a Learner.

    Other modules cannot add up the parts of a validation: each process validates on all items.

    Args:
        module: module to train; a Learner is given the batches too, by which it weighs its losses.
        size: number of items.
        schedule: of the training.
    """
    if not isinstance(module, Learner):
        return ValidationBatches(size, schedule.batch, 1)
    module.validation = ValidationBatches(size, schedule.batch, schedule.launch.world)
    return module.validation


def _train(
    trainer: pl.Trainer,
    module: Any,
    loaders: Sequence[DataLoader[Any]],
    checkpoint: Path | None,
    best: BestCheckpoint,
    mirror_loggers: Sequence[Any],
) -> None:
    """Run the trainer, and close the runs of tracking loggers however it ends.

    A run that stays open would also record the next network.

    Args:
        trainer: Lightning's trainer.
        module: the module to train.
        loaders: of training items and of validation items.
        checkpoint: checkpoint to resume from; None to start anew.
        best: has the best validation loss in nats after the training.
        mirror_loggers: loggers of tracking programs.
    """
    exit_code = 1
    try:
        trainer.fit(
            module,
            *loaders,
            ckpt_path=str(checkpoint) if checkpoint else None,
            weights_only=True,
        )
        exit_code = 0
    finally:
        for mirror in mirror_loggers:
            if best.best_model_score is not None:
                mirror.log_metrics({"best_validation_loss": float(best.best_model_score)})
            mirror.experiment.finish(exit_code=exit_code)


def _on_this_machine(schedule: Schedule, name: str) -> Schedule:
    """The schedule with Lightning's name of its precision, which is printed where it differs."""
    precision = arithmetic(schedule.precision)
    if precision == schedule.precision:
        return schedule
    print(
        f"train {name}: precision {schedule.precision} is {precision} on this machine", flush=True
    )
    return replace(schedule, precision=precision)


def _record_settings(
    module: Any, schedule: Schedule, name: str, seed: int, sizes: Mapping[str, int]
) -> None:
    """Save the settings of a training beside its checkpoints."""
    network: Any = getattr(module, "network", module)
    shape: dict[str, Any] = {
        "class": type(network).__name__,
        "parameters": sum(weights.numel() for weights in module.parameters()),
    }
    config = network.config.to_diff_dict() if hasattr(network, "config") else {}
    for key, value in config.items():
        if isinstance(value, str | int | float | bool):
            shape[key] = value
    settings = {
        "name": name,
        "seed": seed,
        **asdict(schedule),
        "updates": schedule.updates(sizes["train"]),
        "items": sizes,
        "network": shape,
        "processes": schedule.launch.world,
        "stage": os.environ.get("LONGFORM_STAGE"),  # of a pipeline, if it is one's
    }
    module.save_hyperparameters(settings)


def _loader(items: Any, batches: Any, collate: Collate) -> DataLoader[Any]:
    """A loader of items in the batches of a batch sampler."""
    return DataLoader(items, batch_sampler=batches, collate_fn=collate)


def _loggers(name: str, scratch: Path, tags: list[str]) -> list[Any]:
    """Loggers of a training: a CSV file first, then those of tracking programs."""
    loggers: list[Any] = [CSVLogger(scratch, name="log", version="")]
    for mirror in mirrors:
        loggers.extend(mirror(name, scratch, tags))
    return loggers
