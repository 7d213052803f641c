r"""Fit the hidden semi-Markov language model by gradient, as deng2022 does through torch-struct.

The log partition is one differentiable function of the factored log-potentials: its gradient with respect
to log A and log W is the expected counts of the scan, so no potential of T K C C entries is made.
Separate tables for transitions, lengths and the n-grams of each length are softmax-normalised in torch.

torch-struct is the referee. Its semi-Markov model needs time and memory cubic in states times lengths, a second per token at 48
states and 7 lengths, so it cannot fit the model; on the beginnings of a few texts, with all but a few states made unreachable, it
gives the log-likelihood and its gradient in under two seconds.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from longform.errors import ConfigError, InputError
from longform.hsmm import compiled, on_device
from longform.hsmm.compiled import renumbered
from longform.hsmm.model import RESERVED_ROWS, NgramTable, SemiMarkovLM
from longform.statistics.arithmetic import perplexity
from longform.statistics.random_streams import derived_seed, generator


class LogPartition(torch.autograd.Function):
    """Sum over a batch of log P(x), from log A (C, C) and log W (G, C); the backward pass is exact counts."""

    @staticmethod
    def forward(
        ctx,
        log_transitions: Tensor,
        log_joint: Tensor,
        indices: Any,
        workspace: Any = None,
        engine: str = "auto",
    ) -> Tensor:
        """``indices`` are the (T, K) n-gram rows of each sequence; a sequence of probability 0 gives -inf.

        ``engine`` is "compiled", "torch", or the compiled scan for tables on the processor and torch's for others.
        """
        tables = log_transitions.detach().exp(), log_joint.detach().exp()
        batch = [len(index) for index in indices], indices.__getitem__
        if engine == "compiled" or (engine == "auto" and log_joint.is_cpu):
            arrays = compiled.Tables.of(*(table.numpy() for table in tables))
            found = compiled.expectation(
                arrays, *batch, rows_per_block=sys.maxsize, workspace=workspace
            )
        else:
            found = on_device.expectation(*tables, *batch)
        counts = (
            torch.as_tensor(found.transitions).to(log_transitions.dtype),
            torch.as_tensor(found.segments),
        )
        ctx.save_for_backward(*counts)
        return torch.tensor(-np.inf if found.lost else found.log_likelihood, dtype=torch.float64)

    @staticmethod
    def backward(ctx, upstream: Tensor):
        """Expected transitions and segments, times the upstream gradient."""
        pairs, counts = ctx.saved_tensors
        return (
            pairs * upstream.to(pairs.dtype),
            counts * upstream.to(counts.dtype),
            None,
            None,
            None,
        )


class FactoredTables(nn.Module):
    """Logits of transitions (C, C), lengths (C, K) and n-grams of each length (V_n + 2, C), Xavier-uniform.

    The softmax over n-grams includes deng2022's ``<pad>`` and ``<unk>`` rows, whose mass is lost, as in the
    released code; lengths without any n-gram get none.
    """

    empty: Tensor

    def __init__(self, ngrams: NgramTable, num_states: int, seed: int) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(derived_seed("semi-Markov gradient start", seed))
        sizes = np.diff(ngrams.starts) + RESERVED_ROWS
        shapes = [
            (num_states, num_states),
            (num_states, ngrams.max_duration),
            *((int(n), num_states) for n in sizes),
        ]
        drawn = [
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape), generator=draw))
            for shape in shapes
        ]
        self.transitions, self.lengths = drawn[0], drawn[1]
        self.emissions = nn.ParameterList(drawn[2:])
        self.register_buffer("empty", torch.from_numpy(np.diff(ngrams.starts) == 0))

    def log_potentials(self) -> tuple[Tensor, Tensor]:
        """log A (C, C) and log W (G, C), the joint table as length times n-gram given length."""
        lengths = self.lengths.masked_fill(self.empty, -torch.inf).log_softmax(dim=1)
        parts = [
            table.log_softmax(dim=0)[RESERVED_ROWS:] + lengths[:, n]
            for n, table in enumerate(self.emissions)
        ]
        return self.transitions.log_softmax(dim=1), torch.cat(parts)

    def model(self, ngrams: NgramTable) -> SemiMarkovLM:
        """The tables as a language model."""
        with torch.no_grad():
            transitions, joint = (table.exp().cpu().numpy() for table in self.log_potentials())
        return SemiMarkovLM(ngrams, transitions, joint)


@dataclass(frozen=True)
class GradientSettings:
    """Choices of the gradient fit; the defaults are deng2022's (appendix and released code)."""

    num_states: int = 800
    pretraining_epochs: int = 1  # of the n-gram tables only, transitions and lengths frozen
    pretraining_rate: float = 0.1
    epochs: int = 10  # of all tables
    rate: float = 0.3
    batch_size: int = 8  # sequences per update, of neighbouring lengths
    seed: int = 1234  # names the start and the order of batches


@dataclass(frozen=True)
class Epoch:
    """One pass: PPL seen while training, and on validation texts afterwards (nan without any)."""

    number: int
    train_ppl: float
    validation_ppl: float
    rate: float


WINDOW = 30  # updates whose training PPL is compared with the best so far (released code; in the paper validation PPL)


def plateau(optimiser: torch.optim.Optimizer) -> ReduceLROnPlateau:
    """The rate is quartered, down to 3e-4, after more than eight windows without progress (released code)."""
    return ReduceLROnPlateau(optimiser, factor=1 / 4, patience=8, threshold=0, min_lr=3e-4, eps=0)


def fit_gradient(
    sequences: Sequence,
    ngrams: NgramTable,
    settings: GradientSettings,
    *,
    validation: Sequence = (),
    device: str = "cpu",
    label: str = "semi-Markov fit",
) -> tuple[SemiMarkovLM, tuple[Epoch, ...]]:
    """Fit by Adam on minus the log-likelihood per token, and keep the epoch of the best validation PPL, else the last one.

    Batches hold neighbouring lengths and come in random order. ``device`` is "cpu" for the compiled scan, or one of torch.

    Raises InputError: no sequences.
    """
    if not len(sequences):
        raise InputError(
            "semi-Markov fit: got 0 sequences, allowed is one or more; check the corpus and its split"
        )
    indices = [ngrams.index(ngrams.encode(s, f"sequence {i}")) for i, s in enumerate(sequences)]
    order = sorted(range(len(indices)), key=lambda i: len(indices[i]))
    batches = [
        order[i : i + settings.batch_size] for i in range(0, len(order), settings.batch_size)
    ]
    held_out = sum(
        len(ngrams.encode(s, f"validation {i}")) for i, s in enumerate(validation)
    )  # tokens
    tables = FactoredTables(ngrams, settings.num_states, settings.seed).to(device)
    best, lowest = tables.model(ngrams), float("inf")
    history: list[Epoch] = []
    for number in range(settings.pretraining_epochs + settings.epochs):
        if number in (0, settings.pretraining_epochs):
            frozen = number < settings.pretraining_epochs
            parameters = list(tables.emissions) if frozen else list(tables.parameters())
            optimiser = torch.optim.Adam(
                parameters, lr=settings.pretraining_rate if frozen else settings.rate
            )
            falling, window, updates = plateau(optimiser), np.zeros(2), 0
        seen, workspace = np.zeros(2), compiled.Workspace()  # nats and tokens
        for place in generator("semi-Markov batches", settings.seed, number).permutation(
            len(batches)
        ):
            batch = [indices[i] for i in batches[place]]
            tokens = sum(map(len, batch))
            tables.zero_grad()
            loss = -LogPartition.apply(*tables.log_potentials(), batch, workspace)
            (loss / tokens).backward()
            optimiser.step()
            step = np.array([float(loss.detach()), tokens])
            seen, window, updates = seen + step, window + step, updates + 1
            if updates % WINDOW == 0:
                falling.step(perplexity(-window[0], window[1]))
                window = np.zeros(2)
        model = tables.model(ngrams)
        nats = (
            model.log_likelihood(validation, rows_per_block=sys.maxsize).sum() if held_out else 0.0
        )
        ppl, validation_ppl = perplexity(-seen[0], seen[1]), perplexity(nats, held_out)
        history.append(
            Epoch(number, float(ppl), float(validation_ppl), optimiser.param_groups[0]["lr"])
        )
        said = f"ppl {ppl:.4f} train, {validation_ppl:.4f} validation, rate {history[-1].rate:.4g}"
        print(f"{label}: epoch {number}, {said}", flush=True)
        if not held_out or validation_ppl < lowest:
            best, lowest = model, validation_ppl
    return best, tuple(history)


STATES = 6  # ours: states that stay reachable, state 0 among them, where all texts begin
TEXTS = 3  # ours
PRODUCTS = 1e7  # tokens x (states x lengths)^3 that torch-struct may multiply: about a second
TOLERANCE = 1e-6  # nats per token, and expected transitions per token; float32 was seen up to 3e-8
NEVER = -1e6  # log-potential of what cannot be


def against_torch_struct(
    model: SemiMarkovLM, sequences: Sequence[Sequence[str]], device: str = "cpu"
) -> dict[str, Any]:
    """Compare our log-likelihood and its gradient with respect to log A with torch-struct's, on the first ``TEXTS`` sequences.

    Returns:
        Nats by both programs, the distances per token, and the sizes of the sample. Nothing, and one sentence is
        printed, where torch-struct is not installed: no fit needs it.

    Raises:
        ConfigError: the two differ by more than ``TOLERANCE``.
    """
    if find_spec("torch_struct") is None:
        advice = "pip install torch-struct to have it compared"
        print(
            f"semi-Markov fit: torch-struct is not installed, so nothing checks our likelihood; {advice}",
            flush=True,
        )
        return {}
    states = np.unique(np.linspace(0, model.num_states - 1, STATES).astype(np.int64))
    length = max(1, int(PRODUCTS / (len(states) * model.max_duration) ** 3) // TEXTS)
    indices, rows = renumbered(
        [model.ngrams.index(model.ngrams.encode(text[:length])) for text in sequences[:TEXTS]]
    )
    with np.errstate(divide="ignore"):
        tables = np.log(model.transitions), np.log(model.joint[rows])
    log_transitions, log_joint = (torch.from_numpy(table).to(device) for table in tables)
    reachable = torch.full_like(log_transitions, -torch.inf)
    reachable[:, states] = log_transitions[:, states]
    few = [
        table[..., states].cpu().double().clamp(min=NEVER)
        for table in (log_transitions[states], log_joint)
    ]

    def value_and_gradient(leaf: Tensor, log_likelihood: Any) -> tuple[float, Tensor]:
        value = log_likelihood(leaf.requires_grad_(True))
        return float(value.detach()), torch.autograd.grad(value, leaf)[0]

    ours = value_and_gradient(reachable, lambda a: LogPartition.apply(a, log_joint, indices))
    theirs = value_and_gradient(
        few[0], lambda a: sum(_by_torch_struct(a, few[1], index) for index in indices)
    )
    tokens = sum(map(len, indices))
    value_gap = abs(ours[0] - theirs[0]) / tokens
    gradient_gap = float((ours[1].cpu()[states][:, states] - theirs[1]).abs().max()) / tokens
    if not max(value_gap, gradient_gap) <= TOLERANCE:
        told = f"our scan gives {ours[0]:.6f} nats over {tokens} tokens, torch-struct gives {theirs[0]:.6f}"
        apart = f"{value_gap:.2g} nats and {gradient_gap:.2g} expected transitions a token, allowed is {TOLERANCE:g}"
        advice = "run the tests of hsmm and compare the installed versions with requirements.txt"
        raise ConfigError(f"semi-Markov fit: {told}; they differ by {apart}; {advice}")
    facts: dict[str, Any] = {
        "nats_ours": round(ours[0], 6),
        "nats_torch_struct": round(theirs[0], 6),
    }
    facts |= {"nats_apart_per_token": float(f"{value_gap:.2g}"), "allowed_per_token": TOLERANCE}
    facts |= {"transitions_apart_per_token": float(f"{gradient_gap:.2g}")}
    sizes = {"tokens": tokens, "texts": len(indices), "states": len(states)}
    return {**facts, **sizes, "version": version("torch-struct")}


def _by_torch_struct(log_transitions: Tensor, log_joint: Tensor, index: np.ndarray) -> Tensor:
    """log P of one text: potentials (1, T, K + 1, state here, state before), where duration 0 is void.

    One text at a time: torch-struct 0.5 fills its chart up to the shortest text of a batch only.
    """
    import torch_struct  # no dependency of the model: a referee where it is installed

    torch_struct.StructDistribution.arg_constraints = {}  # 0.5 declares none, of which torch 2.13 warns
    rows = torch.from_numpy(index).long()
    emitted = log_joint[rows.clamp(min=0)].masked_fill((rows < 0)[..., None], NEVER)
    edges = emitted[..., :, None] + log_transitions.t()
    edges = torch.cat([torch.full_like(edges[:, :1], NEVER), edges], dim=1)
    edges[0, ..., 1:] += NEVER  # the first segment comes from state 0
    return torch_struct.SemiMarkovCRF(edges[None]).partition[0]
