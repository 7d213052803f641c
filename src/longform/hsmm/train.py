"""Training the hidden semi-Markov language model as a stage of the pipeline, by EM or by the paper's gradient steps.

EM keeps a checkpoint after each iteration, and one every two minutes inside one, each swapped in whole.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from longform.documents import Document
from longform.errors import ArtefactError, ConfigError, InputError
from longform.files.artefacts import atomic_write
from longform.hsmm.compiled import Expectation
from longform.hsmm.em import Compute, Fit, Keeper, Plan, fit_em
from longform.hsmm.gradient import (
    FactoredTables,
    GradientSettings,
    against_torch_struct,
    fit_gradient,
)
from longform.hsmm.model import SemiMarkovLM, build_ngrams
from longform.language_models.device import chosen_device
from longform.statistics.arithmetic import perplexity

FLOORS = (
    1e-2,
    1e-3,
    1e-4,
    1e-5,
    1e-6,
)  # ours: weights of the uniform mixture tried on validation text
Texts = Mapping[str, list[list[str]]]


def fit(
    *,
    documents: Sequence[Document],
    name: str,
    seed: int,
    scratch: Path,
    num_states: int,
    max_duration: int,
    max_ngrams: int,  # n-grams kept of each length
    em: Mapping[str, Any] | None = None,
    gradient: Mapping[str, Any] | None = None,
    threads: int = 1,  # blocks that EM's compiled scan works on at once; changes no bit of the result
) -> Fit:
    """Fit by exact EM, or as the paper does by Adam on the same exact likelihood (deng2022 appendix D).

    The model's ``facts`` keep how far its likelihood lies from torch-struct's (:func:`.against_torch_struct`), where that
    is installed.

    Args:
        em: fields of :class:`Plan`, and ``restarts``, of which the one of best validation likelihood is kept.
        gradient: fields of :class:`GradientSettings`; exactly one of ``em`` and ``gradient`` is given.

    Raises InputError: no texts. Raises ConfigError: both or neither of ``em`` and ``gradient``, or
    torch-struct disagrees.
    """
    texts = {
        s: [d.text.split() for d in documents if d.split == s] for s in ("train", "validation")
    }
    if not texts["train"] or not texts["validation"]:
        got = f"{len(texts['train'])} train and {len(texts['validation'])} validation texts"
        raise InputError(f"train {name}: got {got}; both are needed")
    if (em is None) == (gradient is None):
        got = "none" if em is None else "both"
        raise ConfigError(f"train {name}: give exactly one of em and gradient; the entry has {got}")
    compute, sizes = (
        Compute(str(chosen_device()), threads),
        {"max_duration": max_duration, "max_ngrams": max_ngrams},
    )
    if em is not None:
        given: dict[str, Any] = {
            "num_states": num_states,
            "seed": seed,
            "compute": compute,
            **sizes,
        }
        fitted = by_em(texts, dict(em), name=name, scratch=scratch, **given)
    else:
        settings = GradientSettings(num_states=num_states, seed=seed, **(gradient or {}))
        ngrams, device = build_ngrams(texts["train"], **sizes), compute.device
        against_torch_struct(
            FactoredTables(ngrams, num_states, seed).model(ngrams), texts["train"], device
        )
        given = {"validation": texts["validation"], "device": device, "label": f"train {name}"}
        fitted = Fit(fit_gradient(texts["train"], ngrams, settings, **given)[0])
    facts = {
        **fitted.model.facts,
        "torch_struct": against_torch_struct(fitted.model, texts["train"], compute.device),
    }
    return replace(fitted, model=replace(fitted.model, facts=facts))


def by_em(
    texts: Texts, settings: dict[str, Any], *, name: str, seed: int, scratch: Path, **choices: Any
) -> Fit:
    """The best of ``restarts`` EM fits by validation likelihood; a killed run goes on from its last checkpoint.

    Every state of a fit is given a little of everything, as much as validation text likes best (:meth:`SemiMarkovLM.mixed`).
    """
    fits, validation, restarts = [], texts["validation"], settings.pop("restarts", 1)
    plan, tokens = Plan(**settings), sum(map(len, validation))

    def validate(model: SemiMarkovLM) -> float:
        return float(perplexity(held_out(model.mixed(FLOORS[2]), validation), tokens))

    for start in range(restarts):
        folder = scratch / f"start_{start}" / "fit"
        label = f"train {name} start {start}"
        keeper = Kept(label, folder, plan, choices["num_states"])
        choices |= {
            "plan": plan,
            "seed": seed + start,
            "start": resumed_fit(label, folder),
            "keeper": keeper,
        }
        fitted = fit_em(texts["train"], **choices, validate=validate if plan.until else None)
        model = fitted.model
        floor = max(FLOORS, key=lambda floor: held_out(model.mixed(floor), validation))
        fits.append(replace(fitted, model=model.mixed(floor)))
    best = max(fits, key=lambda one: held_out(one.model, validation)) if restarts > 1 else fits[0]
    last = best.history[-1]
    print(
        f"train {name}: training ppl {last.perplexity:.4f}, {last.states_in_use} states in use",
        flush=True,
    )
    return best


def resumed_fit(label: str, folder: Path) -> Fit | None:
    """The fit to go on from: the one in the folder, or what a kill during its swap left beside it.

    One that is cut or damaged is passed over in one sentence, and where no other is left the fit starts over (None).
    """
    damaged = []
    for ending in ("", ".old", ".new"):
        place = folder.with_name(folder.name + ending)
        if not place.is_dir():
            continue
        try:
            fit = Fit.load(place)
        except ArtefactError:
            damaged.append(place.name)
            continue
        if damaged:
            print(
                f"{label}: {', '.join(damaged)} missing or cut; goes on from {place.name}",
                flush=True,
            )
        return fit
    if damaged:
        print(f"{label}: {', '.join(damaged)} missing or cut; starts over", flush=True)
    return None


def held_out(model: SemiMarkovLM, texts: Sequence[list[str]]) -> float:
    """Log-likelihood in nats of texts; a text without a path counts as a thousand nats a token, so fewer is better."""
    return float(
        np.maximum(model.log_likelihood(texts), [-1000.0 * len(text) for text in texts]).sum()
    )


EVERY = 120.0  # ours: seconds of an iteration that a kill may cost
REPORT_EVERY = 10.0  # seconds between lines of progress
SUMS = "sums.safetensors"


@dataclass
class Kept(Keeper):
    """Saves a fit in a folder and its unfinished iteration in a file beside it, and prints what is left, as ``label``."""

    label: str
    folder: Path
    plan: Plan
    num_states: int
    since: float = field(default_factory=time.monotonic)
    saved: float = field(default_factory=time.monotonic)
    said: float = field(default_factory=time.monotonic)
    resumed: int = 0
    first: tuple[float, int] | None = None

    def begun(self, number: int) -> Expectation | None:
        """The saved sums, if they are of this iteration."""
        self.since, self.resumed, self.first, path = (
            time.monotonic(),
            0,
            None,
            self.folder.with_name(SUMS),
        )
        if not path.is_file():
            return None
        sums = _read_sums(path)
        if sums is None:
            print(
                f"{self.label}: {path.name} is cut or damaged; iteration {number} begins again",
                flush=True,
            )
            return None
        of, tokens, lost, blocks = sums["counts"].tolist()
        if of != number:
            return None
        self.resumed = tokens
        return Expectation(
            sums["transitions"], sums["segments"], float(sums["nats"][0]), tokens, lost, blocks
        )

    def block(self, number: int, total: Expectation, blocks: int) -> None:
        """Save at most every ``EVERY`` seconds, print at most every ten; the speed is that since the first block, set-up apart."""
        now = time.monotonic()
        if now - self.saved > EVERY and total.blocks < blocks:
            sums = {
                "transitions": total.transitions,
                "segments": total.segments,
                "nats": [total.log_likelihood],
            }
            sums["counts"] = [number, total.tokens, total.lost, total.blocks]
            arrays = {name: np.ascontiguousarray(value) for name, value in sums.items()}
            with atomic_write(self.folder.with_name(SUMS)) as fresh:
                save_file(arrays, fresh, {"digest": _digest(arrays)})
            self.saved = time.monotonic()
        if self.first is None:
            self.first = now, total.tokens
        elif now - self.said > REPORT_EVERY:
            self.said, states = now, len(total.transitions)
            speed = (total.tokens - self.first[1]) / (now - self.first[0])
            left = f"iteration {number} of at most {self.plan.iterations}, {total.blocks / blocks:.0%} of its texts"
            minutes = total.tokens * (blocks / total.blocks - 1) / max(speed, 1) / 60
            print(f"{self.label}: {left}, {minutes:.0f} min left of it, {states} states of {self.num_states}, "
                  f"{speed:,.0f} tokens/s", flush=True)  # fmt: skip

    def iteration(self, fit: Fit) -> None:
        """Save the fit, which replaces the sums, and print its line."""
        fit.save(self.folder, sealed=True)
        self.folder.with_name(SUMS).unlink(missing_ok=True)
        self.saved = now = time.monotonic()
        if now - self.said > REPORT_EVERY or fit.history[-1].validation_ppl is not None:
            speed = (fit.history[-1].tokens - self.resumed) / max(now - self.since, 1e-9)
            self.said = now
            print(f"{self.label}: {fit.history[-1].line(speed)}", flush=True)


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """One digest of the bytes of named arrays."""
    digest = hashlib.blake2b()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def _read_sums(path: Path) -> dict[str, np.ndarray] | None:
    """The arrays of a file of sums; None where it is cut, or its bytes are not those that were written."""
    try:
        with safe_open(path, framework="numpy") as file:
            names = file.keys()  # the file itself cannot be iterated over
            arrays = {name: file.get_tensor(name) for name in names}
            digest = (file.metadata() or {}).get("digest")
    except SafetensorError:
        return None
    return arrays if digest == _digest(arrays) else None
