"""Fitting the hidden semi-Markov language model as a row of the pipeline, by EM or by the paper's gradient steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from longform.models.semi_markov.lm import SemiMarkovLM
from longform.models.semi_markov.em import Compute, Fit, fit_em, load_fit, save_fit
from longform.units import BadInput, Document

FLOORS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # ours: weights of the uniform mixture tried on validation text


@dataclass(frozen=True)
class TrainedHsmm:
    """A fitted model and the log-likelihood of every iteration."""

    fit: Fit

    def save(self, folder: Path) -> None:
        """The model in safetensors with its history."""
        save_fit(self.fit, folder)


def token_lists(documents: Sequence[Document], split: str) -> list[list[str]]:
    """Whitespace tokens of each document of a split."""
    return [document.text.split() for document in documents if document.split == split]


def fit(
    *,
    documents: Sequence[Document],
    name: str,
    seed: int,
    scratch: Path,
    num_states: int,
    max_duration: int,
    iterations: int,
    pretraining: int,
    cap: int,
    restarts: int = 1,
) -> TrainedHsmm:
    """EM from ``restarts`` random starts; the one of best validation likelihood is kept (deng2022 appendix D: Adam)."""
    texts = {split: token_lists(documents, split) for split in ("train", "validation")}
    if not texts["train"] or not texts["validation"]:
        raise BadInput(
            f"train {name}: got {len(texts['train'])} train and {len(texts['validation'])} validation texts; both are needed"
        )
    fits = []
    for start in range(restarts):
        folder = scratch / f"start_{start}"
        begun = load_fit(folder) if folder.is_dir() or folder.with_name(folder.name + ".old").is_dir() else None
        progress = _Progress(f"train {name} start {start}", folder)
        sizes = {
            "num_states": num_states,
            "max_duration": max_duration,
            "iterations": iterations,
            "pretraining": pretraining,
        }
        found = fit_em(
            texts["train"], **sizes, cap=cap, seed=seed + start, start=begun, compute=Compute(), on_iteration=progress
        )
        fits.append(found)
    best = max(
        (smoothed(one, texts["validation"]) for one in fits), key=lambda one: held_out(one.model, texts["validation"])
    )
    last = best.history[-1]
    print(f"train {name}: training ppl {last.perplexity:.4f}, {last.states_in_use} states in use", flush=True)
    return TrainedHsmm(best)


def smoothed(fit: Fit, validation: Sequence[list[str]]) -> Fit:
    """Give every state a little of every single token and every next state, as much as validation text likes best.

    EM leaves n-grams and transitions that training never used at zero, so an unseen text would have probability
    zero; the paper's softmax tables cannot reach zero. The mixture weight is chosen from ``FLOORS``.
    """
    candidates = [replace(fit, model=mixed(fit.model, floor)) for floor in FLOORS]
    return max(candidates, key=lambda one: held_out(one.model, validation))


def mixed(model: SemiMarkovLM, floor: float) -> SemiMarkovLM:
    """(1 - floor) of the model's tables and ``floor`` of uniform tables over next states and single tokens."""
    singles = int(model.ngrams.starts[1])
    joint = model.joint * (1 - floor)
    joint[:singles] += floor / singles
    transitions = model.transitions * (1 - floor) + floor / model.num_states
    kind = model.joint.dtype.type
    return replace(model, joint=joint.astype(kind), transitions=transitions.astype(model.transitions.dtype))


def held_out(model: SemiMarkovLM, texts: Sequence[list[str]]) -> float:
    """Log-likelihood in nats of texts; a text without a path counts as a thousand nats a token, so fewer is better."""
    values = model.log_likelihood(texts)
    floor = np.array([-1000.0 * len(text) for text in texts])
    return float(np.maximum(values, floor).sum())


class _Progress:
    """Saves each iteration and prints a line at most every ten seconds."""

    def __init__(self, label: str, folder: Path) -> None:
        self.label, self.folder = label, folder
        self.iterated = self.reported = time.monotonic()

    def __call__(self, fit: Fit) -> None:
        save_fit(fit, self.folder)
        now = time.monotonic()
        speed = fit.history[-1].tokens / max(now - self.iterated, 1e-9)
        self.iterated = now
        if now - self.reported > 10:
            self.reported = now
            print(f"{self.label}: {fit.history[-1].line(speed)}", flush=True)
