"""torch-struct as the referee: does our dynamic program compute what a published library computes?

torch-struct's semi-Markov model needs time and memory cubic in states times lengths: at 48 states and 7 lengths it takes
a second per token, so it cannot fit the model. It can check the model: on the beginnings of a few texts, with all but a
few states made unreachable, both programs give the log-likelihood and its gradient in under two seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
import torch_struct
from torch import Tensor

from longform.core.documents import BadInput
from longform.language_models.hsmm.compiled import renumbered
from longform.language_models.hsmm.gradient import LogPartition
from longform.language_models.hsmm.model import SemiMarkovLM

STATES = 6  # ours: states that stay reachable, state 0 among them, where all texts begin
TEXTS = 3  # ours
PRODUCTS = 1e7  # tokens x (states x lengths)^3 that torch-struct may multiply: about a second
TOLERANCE = 1e-6  # nats per token, and expected transitions per token; float32 was seen up to 3e-8
NEVER = -1e6  # log-potential of what cannot be
torch_struct.StructDistribution.arg_constraints = {}  # 0.5 declares none, of which torch 2.13 warns


def against_torch_struct(
    model: SemiMarkovLM, sequences: Sequence[Sequence[str]], device: str = "cpu"
) -> dict[str, Any]:
    """Compare our log-likelihood and its gradient with respect to log A with torch-struct's.

    Args:
        sequences: tokens of each; the beginnings of the first ``TEXTS`` are used.
        device: where our scan runs.

    Returns:
        what was compared: nats by both programs, the distances per token, and the sizes of the sample.

    Raises:
        BadInput: the two differ by more than ``TOLERANCE``.
    """
    states = np.unique(np.linspace(0, model.num_states - 1, STATES).astype(np.int64))
    length = max(1, int(PRODUCTS / (len(states) * model.max_duration) ** 3) // TEXTS)
    indices = [model.ngrams.index(model.ngrams.encode(text[:length])) for text in sequences[:TEXTS]]
    indices, rows = renumbered(indices)
    with np.errstate(divide="ignore"):
        tables = np.log(model.transitions), np.log(model.joint[rows])
    log_transitions, log_joint = (torch.from_numpy(table).to(device) for table in tables)
    reachable = torch.full_like(log_transitions, -torch.inf)
    reachable[:, states] = log_transitions[:, states]
    ours = _value_and_gradient(reachable, lambda a: LogPartition.apply(a, log_joint, indices))
    few = [table[..., states].cpu().double().clamp(min=NEVER) for table in (log_transitions[states], log_joint)]
    theirs = _value_and_gradient(few[0], lambda a: sum(_by_torch_struct(a, few[1], index) for index in indices))
    tokens = sum(map(len, indices))
    value_gap = abs(ours[0] - theirs[0]) / tokens
    gradient_gap = float((ours[1].cpu()[states][:, states] - theirs[1]).abs().max()) / tokens
    if not max(value_gap, gradient_gap) <= TOLERANCE:
        raise BadInput(
            f"semi-Markov fit: our scan gives {ours[0]:.6f} nats over {tokens} tokens, torch-struct gives {theirs[0]:.6f}; "
            f"they differ by {value_gap:.2g} nats and {gradient_gap:.2g} expected transitions a token, allowed is "
            f"{TOLERANCE:g}; run the tests of language_models/hsmm and compare the installed versions with requirements.txt"
        )
    return {
        "nats_ours": round(ours[0], 6),
        "nats_torch_struct": round(theirs[0], 6),
        "nats_apart_per_token": float(f"{value_gap:.2g}"),
        "transitions_apart_per_token": float(f"{gradient_gap:.2g}"),
        "allowed_per_token": TOLERANCE,
        "tokens": tokens,
        "texts": len(indices),
        "states": len(states),
        "version": version("torch-struct"),
    }


def _value_and_gradient(log_transitions: Tensor, log_likelihood: Any) -> tuple[float, Tensor]:
    leaf = log_transitions.clone().requires_grad_(True)
    value = log_likelihood(leaf)
    value.backward()
    return float(value.detach()), leaf.grad


def _by_torch_struct(log_transitions: Tensor, log_joint: Tensor, index: np.ndarray) -> Tensor:
    """log P of one text: potentials (1, T, K + 1, state here, state before), where duration 0 is void.

    One text at a time: torch-struct 0.5 fills its chart up to the shortest text of a batch only.
    """
    rows = torch.from_numpy(index).long()
    emitted = log_joint[rows.clamp(min=0)].masked_fill((rows < 0)[..., None], NEVER)
    edges = emitted[..., :, None] + log_transitions.t()
    edges = torch.cat([torch.full_like(edges[:, :1], NEVER), edges], dim=1)
    begins_in_0 = torch.full_like(edges[:1], NEVER)
    begins_in_0[..., 0] = 0
    edges = torch.cat([edges[:1] + begins_in_0, edges[1:]])
    return torch_struct.SemiMarkovCRF(edges[None]).partition[0]
