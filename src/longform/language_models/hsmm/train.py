"""Training the hidden semi-Markov language model as a stage of the pipeline, by EM or by the paper's gradient steps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Document
from longform.language_models.checkpoints import chosen_device
from longform.language_models.hsmm.em import Compute, Fit, fit_em, load_fit, save_fit
from longform.language_models.hsmm.gradient import Epoch, FactoredTables, GradientSettings, fit_gradient
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.hsmm.ngrams import build_ngrams
from longform.language_models.hsmm.referee import against_torch_struct

FLOORS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # ours: weights of the uniform mixture tried on validation text
Texts = Mapping[str, list[list[str]]]


@dataclass(frozen=True)
class TrainedHsmm:
    """A fitted model and the log-likelihood of every iteration."""

    fit: Fit

    def save(self, folder: Path) -> None:
        """The model in safetensors with its history."""
        save_fit(self.fit, folder)


def fit(
    *,
    documents: Sequence[Document],
    name: str,
    seed: int,
    scratch: Path,
    num_states: int,
    max_duration: int,
    max_ngrams: int,
    em: Mapping[str, int] | None = None,
    gradient: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> TrainedHsmm:
    """Fit by exact EM, or as the paper does by Adam on the same exact likelihood (deng2022 appendix D).

    It runs where ``LONGFORM_DEVICE`` says (:mod:`longform.language_models.checkpoints`). The model's ``facts`` keep how far its likelihood lies from torch-struct's (:mod:`.referee`).

    Args:
        max_ngrams: n-grams kept of each length.
        em: ``iterations``, ``pretraining`` and ``restarts``, of which the one of best validation likelihood is kept.
        gradient: fields of :class:`GradientSettings`; exactly one of ``em`` and ``gradient`` is given.
        threads: blocks that EM's compiled scan works on at once; changes no bit of the result.

    Raises:
        BadInput: no texts, both or neither of ``em`` and ``gradient``, or torch-struct disagrees.
    """
    texts = {s: [d.text.split() for d in documents if d.split == s] for s in ("train", "validation")}
    if not texts["train"] or not texts["validation"]:
        got = f"{len(texts['train'])} train and {len(texts['validation'])} validation texts"
        raise BadInput(f"train {name}: got {got}; both are needed")
    if (em is None) == (gradient is None):
        raise BadInput(
            f"train {name}: give exactly one of em and gradient; the entry has {'none' if em is None else 'both'}"
        )
    compute = Compute(str(chosen_device()), threads)
    sizes = {"num_states": num_states, "max_duration": max_duration, "max_ngrams": max_ngrams}
    if em is not None:
        fitted = by_em(texts, dict(em), name=name, seed=seed, scratch=scratch, compute=compute, **sizes)
    else:
        fitted = by_gradient(texts, gradient or {}, name=name, seed=seed, device=compute.device, **sizes)
    facts = {**fitted.model.facts, "torch_struct": against_torch_struct(fitted.model, texts["train"], compute.device)}
    return TrainedHsmm(replace(fitted, model=replace(fitted.model, facts=facts)))


def by_em(
    texts: Texts, settings: dict[str, int], *, name: str, seed: int, scratch: Path, compute: Compute, **sizes: int
) -> Fit:
    """The best of ``restarts`` EM fits by validation likelihood; a killed run goes on from its last iteration."""
    fits = []
    for start in range(settings.pop("restarts", 1)):
        folder = scratch / f"start_{start}"
        begun = load_fit(folder) if folder.is_dir() or folder.with_name(folder.name + ".old").is_dir() else None
        choices = {**sizes, **settings, "seed": seed + start, "compute": compute, "start": begun}
        fits.append(fit_em(texts["train"], **choices, on_iteration=_Progress(f"train {name} start {start}", folder)))
    mixed = [smoothed(one, texts["validation"]) for one in fits]
    best = max(mixed, key=lambda one: held_out(one.model, texts["validation"]))
    last = best.history[-1]
    print(f"train {name}: training ppl {last.perplexity:.4f}, {last.states_in_use} states in use", flush=True)
    return best


def by_gradient(
    texts: Texts,
    settings: Mapping[str, Any],
    *,
    name: str,
    seed: int,
    device: str,
    num_states: int,
    max_duration: int,
    max_ngrams: int,
) -> Fit:
    """The paper's fit: tables of logits, Adam, a frozen first phase; the epoch of best validation PPL is kept."""
    plan = GradientSettings(num_states=num_states, seed=seed, **settings)
    ngrams = build_ngrams(texts["train"], max_duration=max_duration, max_ngrams=max_ngrams)
    against_torch_struct(FactoredTables(ngrams, num_states, seed).model(ngrams), texts["train"], device)

    def report(epoch: Epoch) -> None:
        ppl = f"ppl {epoch.train_ppl:.4f} train, {epoch.validation_ppl:.4f} validation"
        print(f"train {name}: epoch {epoch.number}, {ppl}, rate {epoch.rate:.4g}", flush=True)

    choices = {"validation": texts["validation"], "device": device, "on_epoch": report}
    return Fit(fit_gradient(texts["train"], ngrams, plan, **choices)[0])


def smoothed(fit: Fit, validation: Sequence[list[str]]) -> Fit:
    """Give every state a little of everything, as much as validation text likes best (:meth:`SemiMarkovLM.mixed`)."""
    candidates = [replace(fit, model=fit.model.mixed(floor)) for floor in FLOORS]
    return max(candidates, key=lambda one: held_out(one.model, validation))


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
