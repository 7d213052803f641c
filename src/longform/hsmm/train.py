"""Training the hidden semi-Markov language model, by EM or by the paper's gradient steps.

EM writes a checkpoint after each iteration, and one every two minutes inside one, each swapped in
as a whole.
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

# ours: weights of the uniform mixture that are tried on validation text
FLOORS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
Texts = Mapping[str, list[list[str]]]  # split -> tokens of its texts


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
) -> Fit:
    """Fit by exact EM, or as the paper does by Adam on the same exact likelihood.

    deng2022 appendix D. The model's ``facts`` hold how far its likelihood lies from torch-struct's
    (:func:`.against_torch_struct`), where that is installed.

    Args:
        documents: of the splits train and validation.
        name: of the stage, for messages.
        seed: of the first tables.
        scratch: folder for checkpoints.
        num_states, max_duration: C and K (800 and 11 in deng2022).
        max_ngrams: rows of the table for each length.
        em: fields of :class:`Plan`, and ``restarts``, of which the one of best validation
            likelihood is returned.
        gradient: fields of :class:`GradientSettings`; exactly one of ``em`` and ``gradient`` is
            given.
        threads: blocks that EM's compiled scan works on at once; changes no bit of the result.

    Raises:
        InputError: no texts.
        ConfigError: both or neither of ``em`` and ``gradient``, or torch-struct disagrees.
    """
    texts: dict[str, list[list[str]]] = {"train": [], "validation": []}
    for document in documents:
        if document.split in texts:
            texts[document.split].append(document.text.split())
    if not texts["train"] or not texts["validation"]:
        raise InputError(
            f"train {name}: got {len(texts['train'])} train and {len(texts['validation'])} "
            "validation texts; both are needed"
        )
    if (em is None) == (gradient is None):
        got = "none" if em is None else "both"
        raise ConfigError(f"train {name}: give exactly one of em and gradient; the entry has {got}")
    compute = Compute(str(chosen_device()), threads)
    if em is not None:
        fitted = by_em(
            texts,
            dict(em),
            name=name,
            seed=seed,
            scratch=scratch,
            num_states=num_states,
            max_duration=max_duration,
            max_ngrams=max_ngrams,
            compute=compute,
        )
    else:
        settings = GradientSettings(num_states=num_states, seed=seed, **(gradient or {}))
        ngrams = build_ngrams(texts["train"], max_duration=max_duration, max_ngrams=max_ngrams)
        # the two likelihoods are compared before hours are spent on one of them
        first_model = FactoredTables(ngrams, num_states, seed).model(ngrams)
        against_torch_struct(first_model, texts["train"], compute.device)
        model, _ = fit_gradient(
            texts["train"],
            ngrams,
            settings,
            validation=texts["validation"],
            device=compute.device,
            label=f"train {name}",
        )
        fitted = Fit(model)
    facts = dict(fitted.model.facts)
    facts["torch_struct"] = against_torch_struct(fitted.model, texts["train"], compute.device)
    return replace(fitted, model=replace(fitted.model, facts=facts))


def by_em(
    texts: Texts,
    settings: Mapping[str, Any],
    *,
    name: str,
    seed: int,
    scratch: Path,
    num_states: int,
    **choices: Any,
) -> Fit:
    """Fit by EM from several random starts; return the fit of best validation likelihood.

    A run that was killed goes on from its last checkpoint. Each fit is mixed with a uniform model
    (:meth:`SemiMarkovLM.mixed`), by the weight of ``FLOORS`` of best validation likelihood.

    Args:
        texts: tokens of the texts of train and validation.
        settings: fields of :class:`Plan`, and ``restarts``.
        name: of the stage, for messages.
        seed: of the first fit; the next ones have the next seeds.
        scratch: folder for checkpoints.
        num_states: C.
        choices: further arguments of :func:`fit_em`.
    """
    plan_settings = dict(settings)
    restarts = plan_settings.pop("restarts", 1)
    plan = Plan(**plan_settings)
    validation = texts["validation"]
    num_tokens = sum(map(len, validation))

    def validate(model: SemiMarkovLM) -> float:
        log_likelihood = held_out(model.mixed(FLOORS[2]), validation)
        return float(perplexity(log_likelihood, num_tokens))

    # 1. A fit for each start, mixed with the uniform model.
    fits = []
    for start in range(restarts):
        folder = scratch / f"start_{start}" / "fit"
        label = f"train {name} start {start}"
        fitted = fit_em(
            texts["train"],
            num_states=num_states,
            plan=plan,
            seed=seed + start,
            start=resumed_fit(label, folder),
            keeper=Kept(label, folder, plan, num_states),
            validate=validate if plan.until else None,
            **choices,
        )
        model = fitted.model
        best_weight = max(FLOORS, key=lambda weight: held_out(model.mixed(weight), validation))
        fits.append(replace(fitted, model=model.mixed(best_weight)))
    # 2. The best of them.
    best = fits[0]
    if restarts > 1:
        best = max(fits, key=lambda fit: held_out(fit.model, validation))
    last = best.history[-1]
    print(
        f"train {name}: training ppl {last.perplexity:.4f}, {last.states_in_use} states in use",
        flush=True,
    )
    return best


def resumed_fit(label: str, folder: Path) -> Fit | None:
    """Load the checkpoint to resume from.

    It is in the folder, or beside it (``.old``, ``.new``) if a kill interrupted :meth:`Fit.save`. A
    damaged one is passed over with a printed sentence.

    Args:
        label: names the fit in messages.
        folder: of the checkpoint.

    Returns:
        The fit; None where there is no sound checkpoint, so that the fit starts over.
    """
    damaged: list[str] = []
    for ending in ("", ".old", ".new"):
        checkpoint = folder.with_name(folder.name + ending)
        if not checkpoint.is_dir():
            continue
        try:
            fit = Fit.load(checkpoint)
        except ArtefactError:
            damaged.append(checkpoint.name)
            continue
        if damaged:
            print(
                f"{label}: {', '.join(damaged)} missing or cut; goes on from {checkpoint.name}",
                flush=True,
            )
        return fit
    if damaged:
        print(f"{label}: {', '.join(damaged)} missing or cut; starts over", flush=True)
    return None


def held_out(model: SemiMarkovLM, texts: Sequence[list[str]]) -> float:
    """Log-likelihood of texts in nats.

    A text without a path counts as minus a thousand nats a token, so that fewer of them are better.
    """
    lowest = [-1000.0 * len(text) for text in texts]
    return float(np.maximum(model.log_likelihood(texts), lowest).sum())


EVERY = 120.0  # ours: seconds between saves inside an iteration, which a kill may cost
REPORT_EVERY = 10.0  # seconds between lines of progress
SUMS = "sums.safetensors"


@dataclass
class Kept(Keeper):
    """Saves a fit in a folder and its unfinished iteration in a file beside it; prints progress.

    Attributes:
        label: names the fit in messages.
        folder: of its checkpoint.
        plan: schedule of the fit.
        num_states: number of states that the model has in the end.
        since: when this iteration began here; all times are seconds of the monotonic clock.
        saved: when something was saved last.
        said: when something was printed last.
        resumed: tokens of this iteration that an earlier process summed.
        first: when the first block of this iteration was done, and the tokens summed by then.
    """

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
        """The saved sums if they are of iteration ``number``, else None; resets the clocks."""
        # 1. Clocks and counts of a new iteration.
        self.since = time.monotonic()
        self.resumed = 0
        self.first = None
        # 2. What was saved of it.
        path = self.folder.with_name(SUMS)
        if not path.is_file():
            return None
        sums = _read_sums(path)
        if sums is None:
            print(
                f"{self.label}: {path.name} is cut or damaged; iteration {number} begins again",
                flush=True,
            )
            return None
        iteration, tokens, lost, blocks = sums["counts"].tolist()
        if iteration != number:
            return None
        self.resumed = tokens
        log_likelihood = float(sums["nats"][0])
        return Expectation(
            transitions=sums["transitions"],
            segments=sums["segments"],
            log_likelihood=log_likelihood,
            tokens=tokens,
            lost=lost,
            blocks=blocks,
        )

    def block(self, number: int, total: Expectation, blocks: int) -> None:
        """Save at most every ``EVERY`` seconds, print at most every ``REPORT_EVERY``."""
        now = time.monotonic()
        if now - self.saved > EVERY and total.blocks < blocks:
            self._save_sums(number, total)
        # The speed leaves out the first block, which includes the time of setting up.
        if self.first is None:
            self.first = now, total.tokens
        elif now - self.said > REPORT_EVERY:
            self.said = now
            first_time, first_tokens = self.first
            speed = (total.tokens - first_tokens) / (now - first_time)
            tokens_left = total.tokens * (blocks / total.blocks - 1)
            minutes = tokens_left / max(speed, 1) / 60
            print(
                f"{self.label}: iteration {number} of at most {self.plan.iterations}, "
                f"{total.blocks / blocks:.0%} of its texts, {minutes:.0f} min left of it, "
                f"{len(total.transitions)} states of {self.num_states}, {speed:,.0f} tokens/s",
                flush=True,
            )

    def _save_sums(self, number: int, total: Expectation) -> None:
        """Write the sums of an unfinished iteration, with their digest."""
        sums = {
            "transitions": total.transitions,
            "segments": total.segments,
            "nats": [total.log_likelihood],
            "counts": [number, total.tokens, total.lost, total.blocks],
        }
        arrays = {name: np.ascontiguousarray(value) for name, value in sums.items()}
        with atomic_write(self.folder.with_name(SUMS)) as fresh:
            save_file(arrays, fresh, {"digest": _digest(arrays)})
        self.saved = time.monotonic()

    def iteration(self, fit: Fit) -> None:
        """Save the fit, which replaces the sums, and print its line."""
        fit.save(self.folder, sealed=True)
        self.folder.with_name(SUMS).unlink(missing_ok=True)
        now = time.monotonic()
        self.saved = now
        last = fit.history[-1]
        if now - self.said > REPORT_EVERY or last.validation_ppl is not None:
            self.said = now
            speed = (last.tokens - self.resumed) / max(now - self.since, 1e-9)
            print(f"{self.label}: {last.line(speed)}", flush=True)


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """A digest of the names and bytes of arrays."""
    digest = hashlib.blake2b()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def _read_sums(path: Path) -> dict[str, np.ndarray] | None:
    """Read the sums of an unfinished iteration.

    Returns:
        Arrays by name; None where the file is cut, or its bytes are not those that were written.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            names = file.keys()  # the file itself cannot be iterated over
            arrays = {name: file.get_tensor(name) for name in names}
            digest = (file.metadata() or {}).get("digest")
    except SafetensorError:
        return None
    return arrays if digest == _digest(arrays) else None
