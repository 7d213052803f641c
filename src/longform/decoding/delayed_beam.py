"""Delayed beam search: a few sampled tokens, then a beam to the sentence's end, again and again.

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
from transformers.generation import GenerateDecoderOnlyOutput

from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.decoding.beam_search import Beam, beam_search
from longform.decoding.processors import SentenceEnds
from longform.decoding.sampling import Sampled, sample
from longform.decoding.token_streams import check_room


@dataclass(frozen=True)
class Delayed:
    """Settings of delayed beam search: L sampled tokens from the best k, then a beam (Table 3: k 100, b 6, L 1)."""

    sampled: Sampled
    beam: Beam
    delay: int

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise BadInput(f"delayed beam search: delay is {self.delay}, allowed is 0 or more")


def delayed(
    network: Any,
    prompts: Sequence[Sequence[int]],
    settings: Delayed,
    new_tokens: int,
    rngs: Sequence[np.random.Generator],
    ends: SentenceEnds,
    banned: Sequence[int] = (),
    stop: int | None = None,
) -> list[list[int]]:
    """``new_tokens`` more tokens per prompt, in rounds of one sentence for all prompts that are not full.

    A round reads its contexts anew. A row that blocking leaves without any token ends early, and so does one that has
    written ``stop``, which must be among ``ends``.
    """
    check_room(network, prompts, new_tokens)
    made: list[list[int]] = [[] for _ in prompts]
    rows = [row for row in range(len(prompts)) if new_tokens > 0]
    while rows:
        before = {row: len(made[row]) for row in rows}
        contexts = [[*prompts[row], *made[row]] for row in rows]
        limits = [min(settings.delay, new_tokens - before[row]) for row in rows]
        drawn = sample(network, contexts, settings.sampled, limits, [rngs[row] for row in rows], banned, ends)
        for row, (tokens, _) in zip(rows, drawn, strict=True):
            made[row] += tokens
        going = [row for row, (_, ended) in zip(rows, drawn, strict=True) if not ended and len(made[row]) < new_tokens]
        texts, limits = [[*prompts[row], *made[row]] for row in going], [new_tokens - len(made[row]) for row in going]
        for row, best in zip(going, beam_search(network, texts, settings.beam, limits, banned, ends), strict=True):
            made[row] += best.tokens
        rows = [row for row in rows if before[row] < len(made[row]) < new_tokens and made[row][-1] != stop]
    return made


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
