r"""Contrastive search (Su et al. 2022, equation 5): probable tokens whose state is unlike every state before.

$x_t = \arg\max_{v \in V^{(k)}} (1 - \alpha)\, p(v \mid x_{<t}) - \alpha \max_{j < t} \cos(h_v, h_{x_j})$ with the model's
last hidden states $h$; no random number is drawn. ``transformers`` has it no longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import LogitsProcessor, SuppressTokensLogitsProcessor

from longform.core.documents import BadInput
from longform.decoding.processors import BlockRepeats
from longform.decoding.token_streams import PAD, TokenStream, check_room


@dataclass(frozen=True)
class Contrastive:
    """Candidates a step, weight of the penalty, and n-gram blocking."""

    k: int
    alpha: float
    blocking: int = 0

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 <= self.alpha <= 1 or self.blocking < 0:
            raise BadInput(f"contrastive search: {self}; allowed are k 1 or more, alpha in [0, 1], blocking 0 or more")


def contrastive_search(
    network: Any, prompts: Sequence[Sequence[int]], settings: Contrastive, new_tokens: int, banned: Sequence[int] = ()
) -> list[list[int]]:
    """``new_tokens`` tokens after each prompt; fewer where blocking leaves none.

    Raises:
        BadInput: a prompt is empty or does not fit the window.
    """
    check_room(network, prompts, new_tokens)
    suppress = [SuppressTokensLogitsProcessor(list(banned), device=network.device)] if len(banned) else []
    rules: list[LogitsProcessor] = [*suppress]
    rules += [BlockRepeats(settings.blocking)] if settings.blocking else []
    made: list[list[int]] = [[] for _ in prompts]
    stream = TokenStream(network, prompts, keep_states=True)
    rows = list(range(len(prompts)))
    for _ in range(new_tokens):
        scores: Any = stream.log_probs()
        for rule in rules:
            scores = rule(stream.ids, scores)
        open_places = torch.isfinite(scores).any(1).nonzero()[:, 0]
        if not len(open_places):
            break
        rows = [rows[place] for place in open_places.tolist()]
        stream.take(open_places)
        _step(stream, scores[open_places], settings)
        for place, row in enumerate(rows):
            made[row].append(int(stream.ids[place, -1]))
    return made


def _step(stream: TokenStream, scores: torch.Tensor, settings: Contrastive) -> None:
    """Every candidate is read, and of each row the best one stays."""
    best, tokens = scores.topk(min(settings.k, scores.shape[1]), dim=1)
    stream.repeat(tokens.shape[1])
    before = stream.ids != PAD
    stream.append(tokens.flatten())
    states = torch.nn.functional.normalize(stream.states, dim=-1)
    likeness = (states[:, :-1] @ states[:, -1:].transpose(1, 2))[..., 0].masked_fill(~before, -1.0)
    penalty = likeness.amax(1).view_as(best)
    value = (1 - settings.alpha) * best.exp() - settings.alpha * penalty
    chosen = value.masked_fill(~torch.isfinite(best), -torch.inf).argmax(1)
    stream.take(torch.arange(len(best), device=chosen.device) * tokens.shape[1] + chosen)
