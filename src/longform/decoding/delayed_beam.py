"""Sampled continuations, and delayed beam search: a few sampled tokens, then a beam to the sentence's end, again and again.

Source: massarelli2020, section 4. The paper leaves open what ends a sentence, whether the beams share the sampled
tokens, and whether hypotheses survive the boundary; here ``SentenceEnds`` decides, they share them, and one hypothesis
is committed at the end of each sentence, because without that there would be nothing new to sample from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)
from transformers.generation import GenerateDecoderOnlyOutput

from longform.decoding.beam_search import Beam, beam_search
from longform.decoding.token_rules import BanTokens, BlockRepeats, SentenceEnds
from longform.decoding.token_streams import TokenStream, check_room
from longform.documents import BadInput
from longform.resampling import generator


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

    def rules(self, banned: Sequence[int]) -> LogitsProcessorList:
        """The settings as processors of scores."""
        made = LogitsProcessorList([BanTokens(banned)] if len(banned) else [])
        if self.blocking:
            made.append(BlockRepeats(self.blocking))
        if self.top_k:
            made.append(TopKLogitsWarper(self.top_k))
        if self.top_p < 1:
            made.append(TopPLogitsWarper(self.top_p))
        if self.min_p > 0:
            made.append(MinPLogitsWarper(self.min_p))
        if self.typical < 1:
            made.append(TypicalLogitsWarper(self.typical))
        return made


@dataclass(frozen=True)
class Delayed:
    """Settings of delayed beam search: L sampled tokens from the best k, then a beam (Table 3: k 100, b 6, L 1)."""

    sampled: Sampled
    beam: Beam
    delay: int

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise BadInput(f"delayed beam search: delay is {self.delay}, allowed is 0 or more")


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

    One uniform number of the row's own generator per token, so a row does not depend on its batch.
    """
    made: list[list[int]] = [[] for _ in prompts]
    ended = [False] * len(prompts)
    rows = [row for row, limit in enumerate(limits) if limit > 0]
    if not rows:
        return list(zip(made, ended, strict=True))
    for row in rows:
        check_room(network, [prompts[row]], limits[row])
    stream, rules = TokenStream(network, [prompts[row] for row in rows]), list(settings.rules(banned))
    while True:
        scores: Any = stream.logits
        for rule in rules:
            scores = rule(stream.ids, scores)
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


def draw(scores: np.ndarray, rng: np.random.Generator) -> int:
    """One token in proportion to exp(score), by inversion of the cumulative distribution in float64."""
    allowed = np.flatnonzero(np.isfinite(scores))
    cumulative = np.cumsum(np.exp(scores[allowed] - scores[allowed].max()))
    place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
    return int(allowed[min(place, len(allowed) - 1)])


def delayed(
    network: Any,
    prompts: Sequence[Sequence[int]],
    settings: Delayed,
    new_tokens: int,
    rngs: Sequence[np.random.Generator],
    ends: SentenceEnds,
    banned: Sequence[int] = (),
) -> list[list[int]]:
    """``new_tokens`` more tokens per prompt, in rounds of one sentence for all prompts that are not full.

    A round reads its contexts anew. A row that blocking leaves without any token ends early.
    """
    check_room(network, prompts, new_tokens)
    made: list[list[int]] = [[] for _ in prompts]
    rows = [row for row in range(len(prompts)) if new_tokens > 0]
    while rows:
        before = {row: len(made[row]) for row in rows}
        contexts = {row: [*prompts[row], *made[row]] for row in rows}
        begun = _begin(network, contexts, settings, new_tokens, before, rngs, banned, ends)
        for row, (tokens, _) in begun.items():
            made[row] += tokens
        going = [row for row in rows if not begun[row][1] and len(made[row]) < new_tokens]
        texts, limits = [[*prompts[row], *made[row]] for row in going], [new_tokens - len(made[row]) for row in going]
        for row, found in zip(going, beam_search(network, texts, settings.beam, limits, banned, ends), strict=True):
            made[row] += found.tokens
        rows = [row for row in rows if before[row] < len(made[row]) < new_tokens]
    return made


def _begin(
    network: Any,
    contexts: dict[int, list[int]],
    settings: Delayed,
    new_tokens: int,
    before: dict[int, int],
    rngs: Sequence[np.random.Generator],
    banned: Sequence[int],
    ends: SentenceEnds,
) -> dict[int, tuple[list[int], bool]]:
    """The sampled first tokens of one sentence per row."""
    limits = [min(settings.delay, new_tokens - before[row]) for row in contexts]
    drawn = sample(
        network, list(contexts.values()), settings.sampled, limits, [rngs[row] for row in contexts], banned, ends
    )
    return dict(zip(contexts, drawn, strict=True))


def delayed_beam_search(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: Any = None,
    stopping_criteria: Any = None,
    generation_config: Any = None,
    sentence_ends: SentenceEnds | None = None,
    delay: int = 1,
    delayed_beams: int = 6,
    delayed_top_k: int = 100,
    delayed_seed: int = 0,
    **model_kwargs: Any,
) -> Any:
    """For ``model.generate(..., custom_generate=delayed_beam_search, sentence_ends=SentenceEnds.of_tokenizer(...))``.

    Writes exactly ``max_new_tokens`` tokens per row and bans the end token; each row has its own generator, named by
    ``delayed_seed`` and its place in the batch. Leave ``num_beams`` alone: the beam's width is ``delayed_beams``.

    Args:
        logits_processor, stopping_criteria: prepared by ``generate``; not used, since the search has its own rules.

    Returns:
        int64 (rows, prompt + new tokens), or an output object where ``return_dict_in_generate`` asks for one.

    Raises:
        BadInput: ``sentence_ends`` is missing, or the rows do not fit the model's window.
    """
    if sentence_ends is None:
        raise BadInput("delayed_beam_search: sentence_ends is missing; give SentenceEnds.of_tokenizer(tokenizer, size)")
    mask = model_kwargs.get("attention_mask")
    mask = torch.ones_like(input_ids) if mask is None else mask
    prompts = [row[kept.bool()].tolist() for row, kept in zip(input_ids, mask, strict=True)]
    end = generation_config.eos_token_id
    banned = [] if end is None else [end] if isinstance(end, int) else list(end)
    settings = Delayed(Sampled(delayed_top_k), Beam(delayed_beams), delay)
    rngs = [generator("delayed beam search", delayed_seed, row) for row in range(len(prompts))]
    count = generation_config.max_length - input_ids.shape[1]
    made = delayed(model, prompts, settings, count, rngs, sentence_ends, banned)
    whole: Any = torch.cat([input_ids, torch.tensor(made, device=input_ids.device).view(len(made), -1)], dim=1)
    return GenerateDecoderOnlyOutput(sequences=whole) if generation_config.return_dict_in_generate else whole
