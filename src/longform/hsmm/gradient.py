r"""Fit the hidden semi-Markov language model by gradient, as deng2022 does through torch-struct.

The log partition is one differentiable function of the factored log-potentials: its gradient with
respect to log A and log W is the expected counts of the scan, so no potential of T K C C entries is
made. Separate tables for transitions, lengths and the n-grams of each length are softmax-normalised
in torch.

torch-struct is the referee. Its semi-Markov model needs time and memory cubic in states times
lengths, a second per token at 48 states and 7 lengths, so it cannot fit the model; on the
beginnings of a few texts, with all but a few states made unreachable, it gives the log-likelihood
and its gradient in under two seconds.
"""

import sys
from collections.abc import Callable, Sequence
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
    """Sum over a batch of log P(x) as a differentiable function of log A and log W.

    Its gradient is the expected counts of transitions (C, C) and segments (G, C).
    """

    @staticmethod
    def forward(
        ctx,
        log_transitions: Tensor,
        log_joint: Tensor,
        indices: Any,
        workspace: Any = None,
        engine: str = "auto",
    ) -> Tensor:
        """Scan the batch, and save its expected counts for the backward pass.

        Args:
            ctx: torch's context.
            log_transitions, log_joint: log A (C, C) and log W (G, C).
            indices: n-gram rows (T, K) of each sequence.
            workspace: buffers of the compiled scan.
            engine: "compiled", "torch", or "auto" for the compiled scan for tables on the processor
                and torch's for others.

        Returns:
            log P of the batch, nats; minus infinity where a sequence has probability 0.
        """
        transitions = log_transitions.detach().exp()
        joint = log_joint.detach().exp()
        batch = [len(index) for index in indices], indices.__getitem__
        if engine == "compiled" or (engine == "auto" and log_joint.is_cpu):
            tables = compiled.Tables.of(transitions.numpy(), joint.numpy())
            expected = compiled.expectation(
                tables, *batch, rows_per_block=sys.maxsize, workspace=workspace
            )
        else:
            expected = on_device.expectation(transitions, joint, *batch)
        pairs = torch.as_tensor(expected.transitions).to(log_transitions.dtype)
        ctx.save_for_backward(pairs, torch.as_tensor(expected.segments))
        log_likelihood = -np.inf if expected.lost else expected.log_likelihood
        return torch.tensor(log_likelihood, dtype=torch.float64)

    @staticmethod
    def backward(ctx, upstream: Tensor):
        """Gradients: expected transitions and segments, times the upstream gradient."""
        pairs, counts = ctx.saved_tensors
        by_transitions = pairs * upstream.to(pairs.dtype)
        by_joint = counts * upstream.to(counts.dtype)
        return by_transitions, by_joint, None, None, None


class FactoredTables(nn.Module):
    """Logits of transitions (C, C), lengths (C, K) and n-grams of each length (V_n + 2, C).

    They start Xavier-uniform. The softmax over n-grams includes deng2022's ``<pad>`` and ``<unk>``
    rows, whose mass is lost, as in the released code; lengths without any n-gram get none.
    """

    empty: Tensor

    def __init__(self, ngrams: NgramTable, num_states: int, seed: int) -> None:
        super().__init__()
        rng = torch.Generator().manual_seed(derived_seed("semi-Markov gradient start", seed))

        def xavier(rows: int, columns: int) -> nn.Parameter:
            logits = nn.init.xavier_uniform_(torch.empty(rows, columns), generator=rng)
            return nn.Parameter(logits)

        # One stream draws them all, in this order.
        self.transitions = xavier(num_states, num_states)
        self.lengths = xavier(num_states, ngrams.max_duration)
        self.emissions = nn.ParameterList()
        for num_ngrams in np.diff(ngrams.starts).tolist():
            self.emissions.append(xavier(num_ngrams + RESERVED_ROWS, num_states))
        self.register_buffer("empty", torch.from_numpy(np.diff(ngrams.starts) == 0))

    def log_potentials(self) -> tuple[Tensor, Tensor]:
        """log A (C, C) and log W (G, C), the joint table as length times n-gram given length."""
        lengths = self.lengths.masked_fill(self.empty, -torch.inf).log_softmax(dim=1)
        log_joint = []
        for n, table in enumerate(self.emissions):
            given_length = table.log_softmax(dim=0)[RESERVED_ROWS:]
            log_joint.append(given_length + lengths[:, n])
        return self.transitions.log_softmax(dim=1), torch.cat(log_joint)

    def model(self, ngrams: NgramTable) -> SemiMarkovLM:
        """The language model with these tables, over the n-grams of the constructor."""
        with torch.no_grad():
            log_transitions, log_joint = self.log_potentials()
            transitions = log_transitions.exp().cpu().numpy()
            joint = log_joint.exp().cpu().numpy()
        return SemiMarkovLM(ngrams, transitions, joint)


@dataclass(frozen=True)
class GradientSettings:
    """Choices of the gradient fit; the defaults are deng2022's (appendix and released code).

    Attributes:
        num_states: C.
        pretraining_epochs: epochs that fit the n-gram tables only.
        pretraining_rate: Adam's learning rate in these epochs.
        epochs: epochs that fit all tables.
        rate: Adam's learning rate in these epochs.
        batch_size: sequences per update, of neighbouring lengths.
        seed: of the first tables and the order of batches.
    """

    num_states: int = 800
    pretraining_epochs: int = 1
    pretraining_rate: float = 0.1
    epochs: int = 10
    rate: float = 0.3
    batch_size: int = 8
    seed: int = 1234


@dataclass(frozen=True)
class Epoch:
    """One epoch: PPL while training, PPL of validation texts after it (nan without any)."""

    number: int
    train_ppl: float
    validation_ppl: float
    rate: float


# number of updates after which their training PPL is compared with the best so far (released code;
# the paper compares validation PPL)
WINDOW = 30


def plateau(optimiser: torch.optim.Optimizer) -> ReduceLROnPlateau:
    """The learning rate schedule of the released code.

    The rate is quartered, down to 3e-4, after more than eight windows without progress.
    """
    return ReduceLROnPlateau(optimiser, factor=1 / 4, patience=8, threshold=0, min_lr=3e-4, eps=0)


def fit_gradient(
    sequences: Sequence[Sequence[str]],
    ngrams: NgramTable,
    settings: GradientSettings,
    *,
    validation: Sequence[Sequence[str]] = (),
    device: str = "cpu",
    label: str = "semi-Markov fit",
) -> tuple[SemiMarkovLM, tuple[Epoch, ...]]:
    """Fit by Adam on minus the log-likelihood per token.

    Batches hold neighbouring lengths and come in random order.

    Args:
        sequences: tokens of each text.
        ngrams: rows of the joint table.
        settings: choices of the fit.
        validation: tokens of held-out texts.
        device: "cpu" for the compiled scan, or one of torch.
        label: begins each line of progress.

    Returns:
        The model of the epoch of best validation PPL, without validation texts of the last one; and
        all epochs.

    Raises:
        InputError: no sequences.
    """
    if not len(sequences):
        raise InputError(
            "semi-Markov fit: got 0 sequences, allowed is one or more; "
            "check the corpus and its split"
        )
    # 1. Batches of neighbouring lengths.
    indices = []
    for i, sequence in enumerate(sequences):
        indices.append(ngrams.index(ngrams.encode(sequence, f"sequence {i}")))
    order = sorted(range(len(indices)), key=lambda i: len(indices[i]))
    batches = []
    for i in range(0, len(order), settings.batch_size):
        batches.append([indices[member] for member in order[i : i + settings.batch_size]])
    validation_tokens = 0
    for i, sequence in enumerate(validation):
        validation_tokens += len(ngrams.encode(sequence, f"validation {i}"))
    # 2. Epochs; the optimiser begins anew where the transitions and lengths thaw.
    tables = FactoredTables(ngrams, settings.num_states, settings.seed).to(device)
    best, lowest = tables.model(ngrams), float("inf")
    history: list[Epoch] = []
    for number in range(settings.pretraining_epochs + settings.epochs):
        if number in (0, settings.pretraining_epochs):
            descent = _Descent.begin(tables, settings, number < settings.pretraining_epochs)
        rng = generator("semi-Markov batches", settings.seed, number)
        train_ppl = descent.epoch([batches[i] for i in rng.permutation(len(batches))])
        # 3. Keep the model of the best validation PPL.
        model = tables.model(ngrams)
        nats = 0.0
        if validation_tokens:
            nats = model.log_likelihood(validation, rows_per_block=sys.maxsize).sum()
        validation_ppl = perplexity(nats, validation_tokens)
        epoch = Epoch(number, float(train_ppl), float(validation_ppl), descent.rate)
        history.append(epoch)
        print(
            f"{label}: epoch {number}, ppl {train_ppl:.4f} train, "
            f"{validation_ppl:.4f} validation, rate {epoch.rate:.4g}",
            flush=True,
        )
        if not validation_tokens or validation_ppl < lowest:
            best, lowest = model, validation_ppl
    return best, tuple(history)


@dataclass
class _Descent:
    """Adam's state, and that of the learning rate schedule.

    Attributes:
        tables: the tables that are fitted.
        optimiser: Adam.
        schedule: of the learning rate.
        updates: number of updates so far.
        window: minus log-likelihood in nats, and tokens, since the schedule's last step, (2,).
    """

    tables: FactoredTables
    optimiser: torch.optim.Optimizer
    schedule: ReduceLROnPlateau
    updates: int
    window: np.ndarray

    @classmethod
    def begin(cls, tables: FactoredTables, settings: GradientSettings, frozen: bool) -> "_Descent":
        """A new optimiser of the n-gram tables if the others are ``frozen``, else of all."""
        if frozen:
            optimiser = torch.optim.Adam(list(tables.emissions), lr=settings.pretraining_rate)
        else:
            optimiser = torch.optim.Adam(list(tables.parameters()), lr=settings.rate)
        return cls(tables, optimiser, plateau(optimiser), 0, np.zeros(2))

    @property
    def rate(self) -> float:
        """The current learning rate."""
        return self.optimiser.param_groups[0]["lr"]

    def epoch(self, batches: Sequence[Sequence[np.ndarray]]) -> float:
        """Make one update for each batch.

        Args:
            batches: index arrays (T_i, K) of the sequences of each batch.

        Returns:
            Training PPL.
        """
        totals = np.zeros(2)  # minus log-likelihood in nats, and tokens
        workspace = compiled.Workspace()
        for batch in batches:
            tokens = sum(map(len, batch))
            self.tables.zero_grad()
            loss = -LogPartition.apply(*self.tables.log_potentials(), batch, workspace)
            (loss / tokens).backward()
            self.optimiser.step()
            # The schedule compares the PPL of the last WINDOW updates.
            step = np.array([float(loss.detach()), tokens])
            totals = totals + step
            self.window = self.window + step
            self.updates += 1
            if self.updates % WINDOW == 0:
                self.schedule.step(perplexity(-self.window[0], self.window[1]))
                self.window = np.zeros(2)
        return perplexity(-totals[0], totals[1])


# ours: states that stay reachable, state 0 among them, where all texts begin
STATES = 6
# ours: texts that are compared
TEXTS = 3
# most tokens x (states x lengths)^3 for torch-struct: about a second
PRODUCTS = 1e7
# largest difference, in nats and in expected transitions, per token; float32 reached 3e-8
TOLERANCE = 1e-6
# log-potential of an impossible segment
NEVER = -1e6


def against_torch_struct(
    model: SemiMarkovLM, sequences: Sequence[Sequence[str]], device: str = "cpu"
) -> dict[str, Any]:
    """Compare our log-likelihood and its gradient with respect to log A with torch-struct's.

    Args:
        model: the model whose tables are compared.
        sequences: tokens of texts, of which the first ``TEXTS`` are read.
        device: torch device of our scan.

    Returns:
        Facts for the model's record: log-likelihoods by both programs in nats, the differences per
        token, and the sizes of the sample. Empty, after one printed sentence, where torch-struct is
        not installed: no fit needs it.

    Raises:
        ConfigError: the two differ by more than ``TOLERANCE``.
    """
    if find_spec("torch_struct") is None:
        print(
            "semi-Markov fit: torch-struct is not installed, so nothing checks our likelihood; "
            "pip install torch-struct to have it compared",
            flush=True,
        )
        return {}
    # 1. Few states and short beginnings of texts, for what torch-struct multiplies.
    states = np.unique(np.linspace(0, model.num_states - 1, STATES).astype(np.int64))
    length = max(1, int(PRODUCTS / (len(states) * model.max_duration) ** 3) // TEXTS)
    indices = []
    for text in sequences[:TEXTS]:
        indices.append(model.ngrams.index(model.ngrams.encode(text[:length])))
    indices, rows = renumbered(indices)
    tokens = sum(map(len, indices))
    # 2. Tables of our scan, with all other states unreachable.
    with np.errstate(divide="ignore"):
        log_transitions = torch.from_numpy(np.log(model.transitions)).to(device)
        log_joint = torch.from_numpy(np.log(model.joint[rows])).to(device)
    reachable = torch.full_like(log_transitions, -torch.inf)
    reachable[:, states] = log_transitions[:, states]
    # 3. Tables of torch-struct, in float64, with these states alone.
    few_transitions = log_transitions[states][:, states].cpu().double().clamp(min=NEVER)
    few_joint = log_joint[:, states].cpu().double().clamp(min=NEVER)

    def by_scan(log_transitions: Tensor) -> Tensor:
        """Nats of all texts by our scan, float64 (), as a function of log A (C, C) alone.

        log W and the texts are those above, so the gradient is the expected transitions.
        """
        return LogPartition.apply(log_transitions, log_joint, indices)

    def by_torch_struct(log_transitions: Tensor) -> Any:
        """The same by torch-struct, of log A (states, states) among the reachable states."""
        return sum(_by_torch_struct(log_transitions, few_joint, index) for index in indices)

    # 4. Log-likelihoods and gradients.
    nats_ours, gradient_ours = _value_and_gradient(reachable, by_scan)
    nats_theirs, gradient_theirs = _value_and_gradient(few_transitions, by_torch_struct)
    nats_apart = abs(nats_ours - nats_theirs) / tokens
    differences = gradient_ours.cpu()[states][:, states] - gradient_theirs
    transitions_apart = float(differences.abs().max()) / tokens
    if not max(nats_apart, transitions_apart) <= TOLERANCE:
        raise ConfigError(
            f"semi-Markov fit: our scan gives {nats_ours:.6f} nats over {tokens} tokens, "
            f"torch-struct gives {nats_theirs:.6f}; they differ by {nats_apart:.2g} nats and "
            f"{transitions_apart:.2g} expected transitions a token, allowed is {TOLERANCE:g}; "
            "run the tests of hsmm and compare the installed versions with requirements.txt"
        )
    return {
        "nats_ours": round(nats_ours, 6),
        "nats_torch_struct": round(nats_theirs, 6),
        "nats_apart_per_token": float(f"{nats_apart:.2g}"),
        "allowed_per_token": TOLERANCE,
        "transitions_apart_per_token": float(f"{transitions_apart:.2g}"),
        "tokens": tokens,
        "texts": len(indices),
        "states": len(states),
        "version": version("torch-struct"),
    }


def _value_and_gradient(
    leaf: Tensor, log_likelihood: Callable[[Tensor], Tensor]
) -> tuple[float, Tensor]:
    """A log-likelihood in nats and its gradient with respect to ``leaf``."""
    value = log_likelihood(leaf.requires_grad_(True))
    return float(value.detach()), torch.autograd.grad(value, leaf)[0]


def _by_torch_struct(log_transitions: Tensor, log_joint: Tensor, index: np.ndarray) -> Tensor:
    """log P of one text in nats.

    Potentials are (1, T, K + 1, state here, state before), where duration 0 is impossible. One text
    at a time: torch-struct 0.5 fills its chart up to the shortest text of a batch only.

    Args:
        log_transitions, log_joint: log A (C, C) and log W (G, C).
        index: the text's index array (T, K).
    """
    import torch_struct  # no dependency of the model: a referee where it is installed

    # torch-struct 0.5 declares no constraints, of which torch 2.13 warns.
    torch_struct.StructDistribution.arg_constraints = {}
    rows = torch.from_numpy(index).long()
    emitted = log_joint[rows.clamp(min=0)].masked_fill((rows < 0)[..., None], NEVER)
    edges = emitted[..., :, None] + log_transitions.t()
    edges = torch.cat([torch.full_like(edges[:, :1], NEVER), edges], dim=1)
    edges[0, ..., 1:] += NEVER  # the first segment comes from state 0
    return torch_struct.SemiMarkovCRF(edges[None]).partition[0]
