"""Training the hidden semi-Markov language model as a stage of the pipeline, by EM or by the paper's gradient steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Document
from longform.core.resampling import perplexity
from longform.language_models.checkpoints import chosen_device
from longform.language_models.hsmm.em import Compute, Fit, Plan, fit_em
from longform.language_models.hsmm.gradient import Epoch, FactoredTables, GradientSettings, fit_gradient
from longform.language_models.hsmm.model import SemiMarkovLM
from longform.language_models.hsmm.ngrams import build_ngrams
from longform.language_models.hsmm.referee import against_torch_struct
from longform.language_models.hsmm.resuming import Kept, save_fit

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
    em: Mapping[str, Any] | None = None,
    gradient: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> TrainedHsmm:
    """Fit by exact EM, or as the paper does by Adam on the same exact likelihood (deng2022 appendix D).

    It runs where ``LONGFORM_DEVICE`` says (:mod:`longform.language_models.checkpoints`). The model's ``facts`` keep how far its likelihood lies from torch-struct's (:mod:`.referee`).

    Args:
        max_ngrams: n-grams kept of each length.
        em: fields of :class:`Plan`, and ``restarts``, of which the one of best validation likelihood is kept.
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
    texts: Texts, settings: dict[str, Any], *, name: str, seed: int, scratch: Path, compute: Compute, **sizes: int
) -> Fit:
    """The best of ``restarts`` EM fits by validation likelihood; a killed run goes on from its last checkpoint."""
    fits, restarts = [], settings.pop("restarts", 1)
    plan, tokens = Plan(**settings), sum(map(len, texts["validation"]))

    def validate(model: SemiMarkovLM) -> float:
        return float(perplexity(held_out(model.mixed(FLOORS[2]), texts["validation"]), tokens))

    for start in range(restarts):
        keeper = Kept(f"train {name} start {start}", scratch / f"start_{start}" / "fit", plan, sizes["num_states"])
        choices = {**sizes, "plan": plan, "seed": seed + start, "compute": compute, "start": keeper.fit}
        fits.append(fit_em(texts["train"], **choices, validate=validate if plan.until else None, keeper=keeper))
    mixed = [smoothed(one, texts["validation"]) for one in fits]
    best = max(mixed, key=lambda one: held_out(one.model, texts["validation"])) if restarts > 1 else mixed[0]
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
    floor = max(FLOORS, key=lambda floor: held_out(fit.model.mixed(floor), validation))
    return replace(fit, model=fit.model.mixed(floor))


def held_out(model: SemiMarkovLM, texts: Sequence[list[str]]) -> float:
    """Log-likelihood in nats of texts; a text without a path counts as a thousand nats a token, so fewer is better."""
    values = model.log_likelihood(texts)
    floor = np.array([-1000.0 * len(text) for text in texts])
    return float(np.maximum(values, floor).sum())
