"""Decoders by name: a mapping with a ``kind`` and its settings, as a row writes it (massarelli2020, section 3 and Table 3).

Kinds of the paper: greedy, top_k (k), top_p (p), beam, group_beam, sibling_beam (beams and their penalties),
delayed_beam (top_k, beams, delay). Later ones: min_p (Nguyen et al. 2024), typical (Meister et al. 2023), contrastive
(Su et al. 2022). Any of them takes ``blocking``. ``human`` is the text that people wrote there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.decoding.beam_search import Beam, beam_search
from longform.decoding.contrastive import Contrastive, contrastive_search
from longform.decoding.delayed_beam import Delayed, Sampled, delayed, sample
from longform.decoding.token_rules import SentenceEnds
from longform.documents import BadInput


@dataclass(frozen=True)
class Human:
    """What people wrote after the prefix, as the paper's first row has it."""


Settings = Sampled | Beam | Delayed | Contrastive | Human


def _delayed(top_k: int = 100, beams: int = 6, delay: int = 1, blocking: int = 0) -> Delayed:
    return Delayed(Sampled(top_k, blocking=blocking), Beam(beams, blocking=blocking), delay)


def _group_beam(
    beams: int = 6, groups: int = 2, penalty: float = 0.2, count_candidates: bool = False, blocking: int = 0
) -> Beam:
    return Beam(beams, groups, penalty, count_candidates, blocking=blocking)


KINDS: Mapping[str, Callable[..., Settings]] = {  # defaults: Table 3, beam sizes it leaves out as in deviations.md
    "human": Human,
    "greedy": lambda blocking=0: Beam(1, blocking=blocking),
    "top_k": lambda k=2, blocking=0: Sampled(top_k=k, blocking=blocking),
    "top_p": lambda p=0.4, blocking=0: Sampled(top_p=p, blocking=blocking),
    "beam": lambda beams=15, blocking=0: Beam(beams, blocking=blocking),
    "group_beam": _group_beam,
    "sibling_beam": lambda beams=15, penalty=0.1, blocking=0: Beam(beams, sibling_penalty=penalty, blocking=blocking),
    "delayed_beam": _delayed,
    "min_p": lambda p=0.1, blocking=0: Sampled(min_p=p, blocking=blocking),  # Nguyen et al. 2024: 0.05 to 0.1
    "typical": lambda mass=0.2, blocking=0: Sampled(
        typical=mass, blocking=blocking
    ),  # Meister et al. 2023: 0.2 for stories
    "contrastive": lambda k=5, alpha=0.6, blocking=0: Contrastive(k, alpha, blocking),  # Su et al. 2022, section 4
}


def settings_of(decoder: Mapping[str, Any]) -> Settings:
    """The settings that a decoder mapping names.

    Raises:
        BadInput: an unknown kind, or a setting that the kind does not have.
    """
    options = dict(decoder)
    kind = options.pop("kind", None)
    if kind not in KINDS:
        raise BadInput(f"decoder kind is {kind!r}, allowed are {sorted(KINDS)}; mend the row")
    try:
        return KINDS[kind](**options)
    except TypeError as error:
        raise BadInput(f"decoder {kind}: {error}; see longform.decoding.decoder_kinds for its settings") from None


def is_random(settings: Settings) -> bool:
    """Whether two seeds can give two continuations."""
    return isinstance(settings, Sampled) or (isinstance(settings, Delayed) and settings.delay > 0)


def decode(
    network: Any,
    prompts: Sequence[Sequence[int]],
    settings: Settings,
    new_tokens: int,
    rngs: Sequence[np.random.Generator],
    banned: Sequence[int] = (),
    ends: SentenceEnds | None = None,
) -> list[list[int]]:
    """``new_tokens`` tokens after each prompt (fewer where blocking leaves none); ``ends`` is for delayed search only.

    Raises:
        BadInput: a prompt is empty or does not fit the window, delayed search has no ``ends``, or people are to write.
    """
    if isinstance(settings, Sampled):
        return [made for made, _ in sample(network, prompts, settings, [new_tokens] * len(prompts), rngs, banned)]
    if isinstance(settings, Beam):
        found = beam_search(network, prompts, settings, [new_tokens] * len(prompts), banned)
        return [list(best.tokens) for best in found]
    if isinstance(settings, Contrastive):
        return contrastive_search(network, prompts, settings, new_tokens, banned)
    if isinstance(settings, Human):
        raise BadInput("decoder human: no model writes what people wrote; take it from the prefixes' own texts")
    if ends is None:
        raise BadInput("delayed beam search needs to know where sentences end; give SentenceEnds.of_tokenizer(...)")
    return delayed(network, prompts, settings, new_tokens, rngs, ends, banned)
