"""Training tokens per second through Lightning against a bare PyTorch loop over the same model, batches and optimiser.

``PYTHONPATH=src python -m benchmarks.training --json out.json`` (about two minutes on one core). Both sides train the
same GPT-2 shape on the same stream of blocks with AdamW, clipping and the linear schedule. Ours is ``fit_module`` as the
train stage runs it: drawing and collating batches, seeding every step, logging, progress. The bare loop cuts its
batches from one tensor and logs nothing. The sides take turns; a side's time is the processor time between its first and
its last step (start-up, validation and checkpoints are apart, and reported). Prediction before the measurement: Lightning costs about 1 ms a step
of bookkeeping, so 3 % of the small shape's 30 ms step and under 1 % of the large one's.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["WANDB_MODE"] = "disabled"  # its writer is another process, whose time would not be seen

import argparse
import json
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from longform.core.resampling import generator
from longform.language_models import lightning as training
from longform.language_models.causal_lm import CausalLanguageModel, collate
from longform.language_models.lightning import Items, adamw, fit_module
from longform.language_models.schedule import Schedule

SHAPES = {  # the default run's, and one of 19M parameters
    "small": {"n_layer": 2, "n_head": 4, "n_embd": 96, "vocab_size": 2048, "context": 128, "batch": 8, "steps": 120},
    "large": {"n_layer": 6, "n_head": 8, "n_embd": 384, "vocab_size": 8000, "context": 256, "batch": 4, "steps": 16},
}


class Clock(pl.Callback):
    """Processor time between the start of the first step after warming up and the end of the last."""

    def __init__(self, warm: int) -> None:
        self.warm, self.started, self.ended = warm, 0.0, 0.0

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Any, index: int) -> None:
        if index == self.warm:
            self.started = time.process_time()

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, index: int) -> None:
        self.ended = time.process_time()


def network(shape: dict[str, int]) -> GPT2LMHeadModel:
    """The shape with seeded weights; dropout as in the default rows, none."""
    torch.manual_seed(0)
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    sizes = {key: shape[key] for key in ("n_layer", "n_head", "n_embd", "vocab_size")}
    return GPT2LMHeadModel(GPT2Config(**sizes, **still, n_positions=shape["context"]))


def bare(shape: dict[str, int], blocks: list[list[int]], plan: Schedule, warm: int) -> float:
    """Tokens per second of the loop that one would write by hand."""
    model, stream = network(shape), torch.tensor(blocks)
    model.train()
    steps = plan.updates(len(blocks))
    parts = adamw(model, plan, steps)
    optimizer, scheduler = parts["optimizer"], parts["lr_scheduler"]["scheduler"]
    started = 0.0
    for step in range(steps):
        if step == warm:
            started = time.process_time()
        batch = stream[step * plan.batch : (step + 1) * plan.batch]
        logits = model(input_ids=batch, attention_mask=torch.ones_like(batch), use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return (steps - warm) * plan.batch * shape["context"] / (time.process_time() - started)


def ours(shape: dict[str, int], blocks: list[list[int]], plan: Schedule, warm: int) -> tuple[float, float]:
    """Tokens per second of ``fit_module``, and the processor seconds of everything around the steps."""
    clock, whole = Clock(warm), training.make_trainer

    def timed(module: Any, schedule: Any, callbacks: Any, *rest: Any) -> pl.Trainer:
        return whole(module, schedule, [*callbacks, clock], *rest)

    training.make_trainer = timed
    begun = time.process_time()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            module = CausalLanguageModel(network(shape), plan, plan.updates(len(blocks)))
            fit_module(module, Items(blocks, blocks[:1], collate), plan, seed=0, name="speed", scratch=Path(scratch))
    finally:
        training.make_trainer = whole
    steps, inside = plan.updates(len(blocks)) - warm, clock.ended - clock.started
    return steps * plan.batch * shape["context"] / inside, time.process_time() - begun - inside


def compare(shape: dict[str, int], rounds: int) -> dict[str, Any]:
    """Medians of alternating rounds."""
    plan = Schedule(learning_rate=1e-3, batch=shape["batch"], epochs=1, validations=1)
    draws = generator("benchmark", "training").integers(
        0, shape["vocab_size"], (shape["steps"] * shape["batch"], shape["context"])
    )
    blocks, warm = draws.tolist(), max(1, shape["steps"] // 10)
    speeds: dict[str, list[float]] = {"bare": [], "ours": [], "around": []}
    for turn in range(rounds):
        order = ("bare", "ours") if turn % 2 == 0 else ("ours", "bare")
        for side in order:
            if side == "bare":
                speeds["bare"].append(bare(shape, blocks, plan, warm))
            else:
                speed, around = ours(shape, blocks, plan, warm)
                speeds["ours"].append(speed)
                speeds["around"].append(around)
    medians = {side: statistics.median(found) for side, found in speeds.items()}
    return {
        "tokens_per_second": {"bare": medians["bare"], "ours": medians["ours"]},
        "ratio": medians["ours"] / medians["bare"],
        "ratios": [one / other for one, other in zip(speeds["ours"], speeds["bare"], strict=True)],
        "seconds_around_the_steps": medians["around"],
        "shape": shape,
    }


def main() -> None:
    """Measure and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    found: dict[str, Any] = {name: compare(SHAPES[name], chosen.rounds) for name in chosen.shapes}
    found |= {"required_ratio": 0.9, "rounds": chosen.rounds}
    found["platform"] = {"torch": torch.__version__, "lightning": pl.__version__, "machine": platform.machine()}
    tell(found, chosen.json)


def tell(found: dict[str, Any], path: Path | None) -> None:
    """Print what was measured as JSON, and write it where a file is named."""
    text = json.dumps(found, indent=2)
    if path:
        path.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
