"""Decoding strategies by name: a mapping with a ``kind`` and its settings.

massarelli2020 section 3 and Table 3, and later ones. Any takes ``blocking``; ``human`` is what
people wrote. ``generate`` of transformers writes greedy, sampled and beam texts; ours are what it
does not have: group beams, delayed beams and contrastive search.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from transformers import GenerationConfig

from longform.decoding.beam_search import (
    Beam,
    Contrastive,
    Delayed,
    beam_search,
    contrastive_search,
    delayed,
)
from longform.decoding.decoders import DECODERS
from longform.decoding.sampling import Human, Rngs, Rows, Sampled, check_room, draws, sibling_ranks
from longform.errors import BadInput
from longform.language_models.tokenizers import masked
from longform.settings import KIND, Nothing, parse_kind

Strategy = Sampled | Beam | Delayed | Contrastive | Human


def settings_of(decoder: Mapping[str, Any], file: str = "the list of decoders") -> Strategy:
    """Parse a decoder such as ``{"kind": "top_k", "k": 5}``.

    Args:
        decoder: a ``kind`` of :data:`longform.decoding.decoders.DECODERS`, and its settings.
        file: name of the file that has it, for errors.

    Raises:
        ConfigError: an unknown kind, or a setting that the kind does not have.
    """
    entry = f"decoder {decoder.get(KIND, '')}".rstrip()
    _, settings = parse_kind(DECODERS, Nothing, decoder, entry, file)
    return settings.strategy()


def is_random(settings: Strategy) -> bool:
    """Whether two seeds can give two continuations."""
    return isinstance(settings, Sampled) or (isinstance(settings, Delayed) and settings.delay > 0)


def decode(
    network: Any,
    prompts: Rows,
    settings: Strategy,
    new_tokens: int,
    rngs: Rngs,
    end: int,
    ends: Any = None,
) -> list[list[int]]:
    """Continue each prompt by ``new_tokens`` tokens, by fewer where blocking leaves none.

    The model's own generation settings are ignored.

    Args:
        network: causal language model.
        prompts: tokens of each row, one or more.
        settings: the strategy.
        new_tokens: number of new tokens.
        rngs: a random generator for each row.
        end: the token that ends a text; it is never chosen.
        ends: which tokens end a sentence, for delayed search.

    Raises:
        BadInput: as :func:`check_room`, delayed search has no ``ends``, or the strategy is Human.
    """
    banned, limits = [end], [new_tokens] * len(prompts)
    if isinstance(settings, Human):
        raise BadInput(
            "decoder human: no model writes what people wrote; take it from the prefixes' own texts"
        )
    # 1. Our own searches.
    if isinstance(settings, Delayed):
        if ends is None:
            raise BadInput(
                "delayed beam search needs to know where sentences end; "
                "give SentenceEnds.of_tokenizer(...)"
            )
        return delayed(network, prompts, settings, new_tokens, rngs, ends, banned)
    if isinstance(settings, Contrastive):
        return contrastive_search(network, prompts, settings, new_tokens, banned)
    if isinstance(settings, Beam) and settings.groups > 1:
        hypotheses = beam_search(network, prompts, settings, limits, banned)
        return [list(hypothesis.tokens) for hypothesis in hypotheses]
    # 2. Rules for ``generate``; the last rule of a sampler samples the token.
    check_room(network, prompts, limits)
    width = max(map(len, prompts))
    sampled = settings if isinstance(settings, Sampled) else Sampled(blocking=settings.blocking)
    rules = sampled.rules(banned, end, network.device)
    rules.append(partial(_end_where_blocked, end))
    if isinstance(settings, Sampled):
        rules.append(partial(_draw, rngs))
    elif settings.sibling_penalty:
        rules.append(partial(sibling_ranks, settings.sibling_penalty, 2 * settings.beams, width))
    # 3. ``generate`` writes.
    network.generation_config = GenerationConfig(
        max_new_tokens=new_tokens,
        num_beams=settings.beams if isinstance(settings, Beam) else 1,
        do_sample=False,
        early_stopping=True,
        length_penalty=1.0,
        eos_token_id=end,
        pad_token_id=end,
    )
    inputs = {}
    for name, tensor in masked(prompts, end, "left").items():
        inputs[name] = tensor.to(network.device)
    output = network.generate(**inputs, logits_processor=rules)
    # 4. Cut each row at its end.
    texts = []
    for row in output[:, width:].tolist():
        texts.append(row[: row.index(end)] if end in row else row)
    return texts


def _end_where_blocked(end: int, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Rule: where blocking has left a row no token at all, the text ends."""
    scores[~torch.isfinite(scores).any(1), end] = 0.0
    return scores


def _draw(rngs: Rngs, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Rule: draws one token a row and leaves no other, so that ``generate`` must take it."""
    tokens = torch.from_numpy(draws(scores, rngs)).to(scores.device)
    return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)
