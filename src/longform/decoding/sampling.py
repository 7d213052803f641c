"""Drawing the next token: truncation of its distribution, and draws of which every row has its own.

``generate`` draws for all rows from one stream of random numbers, so a text would change with its batch. Here a row has
a generator of its own and takes one uniform number a token. The truncations are those of ``transformers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    MinPLogitsWarper,
    SuppressTokensLogitsProcessor,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from longform.core.documents import BadInput
from longform.decoding.processors import BlockRepeats, SentenceEnds
from longform.decoding.token_streams import PAD, TokenStream, check_room


@dataclass(frozen=True)
class Sampled:
    """Settings of a sampler: which tokens are kept before one is drawn.

    Attributes:
        top_k: so many of the most probable; 0 keeps all.
        top_p: the fewest that reach this mass.
        blocking: no n-gram of this size twice; 0 blocks nothing.
        min_p: those of at least this share of the best one's probability (Nguyen et al. 2024).
        typical: those nearest to the entropy, up to this mass (Meister et al. 2023).
    """

    top_k: int = 0
    top_p: float = 1.0
    blocking: int = 0
    min_p: float = 0.0
    typical: float = 1.0

    def __post_init__(self) -> None:
        shares = 0 < self.top_p <= 1 and 0 <= self.min_p <= 1 and 0 < self.typical <= 1
        if self.top_k < 0 or not shares or self.blocking < 0:
            allowed = "top_k 0 or more, top_p and typical in (0, 1], min_p in [0, 1], blocking 0 or more"
            raise BadInput(f"sampling: {self}; allowed are {allowed}")

    def rules(self, banned: Sequence[int], pad: int = PAD, device: Any = "cpu") -> LogitsProcessorList:
        """The settings as processors of scores."""
        made = LogitsProcessorList()
        if len(banned):
            made.append(SuppressTokensLogitsProcessor(list(banned), device=device))
        if self.blocking:
            made.append(BlockRepeats(self.blocking, pad))
        if self.top_k:
            made.append(TopKLogitsWarper(self.top_k))
        if self.top_p < 1:
            made.append(TopPLogitsWarper(self.top_p))
        if self.min_p > 0:
            made.append(MinPLogitsWarper(self.min_p))
        if self.typical < 1:
            made.append(TypicalLogitsWarper(self.typical))
        return made


class RowDraws(LogitsProcessor):
    """The last of a sampler's processors: draws one token a row and leaves no other, so that ``generate`` must take it."""

    def __init__(self, rngs: Sequence[np.random.Generator]) -> None:
        self.rngs = rngs

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Zero at the drawn token of each row, minus infinity elsewhere."""
        rows = zip(scores.double().cpu().numpy(), self.rngs, strict=True)
        tokens = torch.tensor([draw(row, rng) for row, rng in rows], device=scores.device)
        return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)


def draw(scores: np.ndarray, rng: np.random.Generator) -> int:
    """One token in proportion to exp(score), by inversion of the cumulative distribution in float64."""
    allowed = np.flatnonzero(np.isfinite(scores))
    cumulative = np.cumsum(np.exp(scores[allowed] - scores[allowed].max()))
    place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
    return int(allowed[min(place, len(allowed) - 1)])


def sample(
    network: Any,
    prompts: Sequence[Sequence[int]],
    settings: Sampled,
    limits: Sequence[int],
    rngs: Sequence[np.random.Generator],
    banned: Sequence[int] = (),
    ends: SentenceEnds | None = None,
) -> list[tuple[list[int], bool]]:
    """Up to ``limits`` sampled tokens per prompt, and whether the last one ended a sentence (then the row stops there).

    For rows with limits of their own, which ``generate`` does not have; a row that is done leaves the batch.
    """
    made: list[list[int]] = [[] for _ in prompts]
    ended = [False] * len(prompts)
    rows = [row for row, limit in enumerate(limits) if limit > 0]
    if not rows:
        return list(zip(made, ended, strict=True))
    for row in rows:
        check_room(network, [prompts[row]], limits[row])
    stream = TokenStream(network, [prompts[row] for row in rows])
    rules = settings.rules(banned, device=network.device)
    while True:
        scores: Any = rules(stream.ids, stream.logits)
        closing = ends.next_ends(stream.ids) if ends is not None else torch.zeros_like(scores, dtype=torch.bool)
        stays = []
        for place, row in enumerate(rows):
            if not torch.isfinite(scores[place]).any():  # every token is blocked: the row stays as it is
                continue
            made[row].append(draw(scores[place].double().cpu().numpy(), rngs[row]))
            ended[row] = bool(closing[place, made[row][-1]])
            if not ended[row] and len(made[row]) < limits[row]:
                stays.append(place)
        rows = [rows[place] for place in stays]
        if not rows:
            return list(zip(made, ended, strict=True))
        stream.take(torch.tensor(stays, device=stream.ids.device))
        stream.append(torch.tensor([made[row][-1] for row in rows], device=stream.ids.device))
