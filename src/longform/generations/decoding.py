"""Continuations of ``title. first sentence`` by any decoding strategy (massarelli2020, section 4 and Table 3).

A decoder is a mapping with a ``kind``: greedy, top_k (k), top_p (p), beam, group_beam, sibling_beam (beams and their
penalties), delayed_beam (top_k, beams, delay); any of them takes ``blocking``. Generations have a fixed number of new
tokens: the end token is banned unless ``allow_end`` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM

from longform.corpora.wikisection import SPLITTERS
from longform.generations.beam_search import Beam, beam_search
from longform.generations.delayed_beam import Delayed, Sampled, delayed, sample
from longform.generations.prefixes import CONTINUATION, REFERENCE, TITLES, prefix_of
from longform.generations.token_rules import SentenceEnds
from longform.models.causal_lm import encode
from longform.models.checkpoints import load_model, load_tokenizer
from longform.numerics import generator
from longform.units import BadInput, Corpus, Document, Section

NEW_TOKENS = 256  # massarelli2020, section 5
SEEDS = 3  # massarelli2020, section 5: three generations with different seeds for every stochastic strategy
Settings = Sampled | Beam | Delayed


def _delayed(top_k: int = 100, beams: int = 6, delay: int = 1, blocking: int = 0) -> Delayed:
    return Delayed(Sampled(top_k, blocking=blocking), Beam(beams, blocking=blocking), delay)


KINDS: Mapping[str, Callable[..., Settings]] = {  # defaults: Table 3, beam sizes it leaves out as in deviations.md
    "greedy": lambda blocking=0: Beam(1, blocking=blocking),
    "top_k": lambda k=2, blocking=0: Sampled(top_k=k, blocking=blocking),
    "top_p": lambda p=0.4, blocking=0: Sampled(top_p=p, blocking=blocking),
    "beam": lambda beams=15, blocking=0: Beam(beams, blocking=blocking),
    "group_beam": lambda beams=6, groups=2, penalty=0.2, count_candidates=False, blocking=0: Beam(
        beams, groups, penalty, count_candidates, blocking=blocking
    ),
    "sibling_beam": lambda beams=15, penalty=0.1, blocking=0: Beam(beams, sibling_penalty=penalty, blocking=blocking),
    "delayed_beam": _delayed,
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
        raise BadInput(f"decoder {kind}: {error}; see longform.generations.decoding.KINDS for its settings") from None


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
        BadInput: a prompt is empty or does not fit the window, or delayed search has no ``ends``.
    """
    if isinstance(settings, Sampled):
        return [made for made, _ in sample(network, prompts, settings, [new_tokens] * len(prompts), rngs, banned)]
    if isinstance(settings, Beam):
        found = beam_search(network, prompts, settings, [new_tokens] * len(prompts), banned)
        return [list(best.tokens) for best in found]
    if ends is None:
        raise BadInput("delayed beam search needs to know where sentences end; give SentenceEnds.of_tokenizer(...)")
    return delayed(network, prompts, settings, new_tokens, rngs, ends, banned)


@dataclass(frozen=True)
class _Prefix:
    document: Document
    repeat: int
    ids: list[int]
    title: str
    first: str
    reference: str


def generate(
    *,
    model: Path,
    prefixes: Sequence[Document],
    name: str,
    seed: int,
    decoder: Mapping[str, Any],
    new_tokens: int = NEW_TOKENS,
    repeats: int | None = None,
    split: str | None = "test",
    documents: int | None = None,
    batch: int = 16,
    splitter: str = "paper",
    title_from: str = "definition",
    allow_end: bool = False,
) -> Corpus:
    """Continue the prefix of every article of ``split``: its title, a point, and the first sentence of its text.

    Args:
        decoder: see the module's text.
        repeats: continuations per prefix; by default three where the decoder draws, else one.
        documents: how many articles; all by default.
        title_from: a key of ``TITLES``.

    Returns:
        One document per continuation, split ``generated``: section 0 holds the page's title and the prefix's sentence,
        section 1 the continuation, section 2 what the article has there, cut to as many tokens. Facts count prefixes
        without title or sentence, those too long for the window, and continuations that are empty or cut short.

    Raises:
        BadInput: an unknown decoder, splitter or ``title_from``, or no prefix that can be used.
    """
    settings = settings_of(decoder)
    if splitter not in SPLITTERS or title_from not in TITLES:
        allowed = f"{sorted(SPLITTERS)} and {sorted(TITLES)}"
        raise BadInput(f"generate {name}: splitter {splitter!r}, title_from {title_from!r}; allowed are {allowed}")
    tokenizer, network = load_tokenizer(model), load_model(model, AutoModelForCausalLM).eval()
    chosen = [d for d in prefixes if split is None or d.split == split][:documents]
    repeats = repeats if repeats is not None else SEEDS if is_random(settings) else 1
    window = getattr(network.config, "max_position_embeddings", None)
    room = None if window is None else window - new_tokens
    parts = [(document, *prefix_of(document, splitter, title_from)) for document in chosen]
    rows, counts = _prefixes(parts, tokenizer, new_tokens, room, repeats)
    if not rows:
        raise BadInput(f"generate {name}: no prefix of {len(chosen)} can be used ({counts}); mend split or new_tokens")
    ends = SentenceEnds.of_tokenizer(tokenizer, network.config.vocab_size) if isinstance(settings, Delayed) else None
    banned = [] if allow_end else [tokenizer.eos_token_id]
    written = _write(network, rows, settings, new_tokens, batch, (seed, name), banned, ends)
    end = tokenizer.eos_token_id
    kept = [ids[: ids.index(end)] if end in ids else ids for ids in written]
    texts = [str(tokenizer.decode(ids)) for ids in kept]
    counts |= {
        "empty": sum(not text.strip() for text in texts),
        "cut_short": sum(len(ids) < new_tokens for ids in kept),
        "tokens": sum(map(len, kept)),
        "guarded_points": sum(ends.guarded(ids) for ids in kept) if ends is not None else 0,
    }
    facts = {"corpus": name, "decoder": dict(decoder), "repeats": repeats, "new_tokens": new_tokens, **counts}
    return Corpus([_document(name, row, text) for row, text in zip(rows, texts, strict=True)], facts=facts)


def _write(
    network: Any,
    rows: Sequence[_Prefix],
    settings: Settings,
    new_tokens: int,
    batch: int,
    names: tuple[Any, ...],
    banned: Sequence[int],
    ends: SentenceEnds | None,
) -> list[list[int]]:
    """Continuations in the order of ``rows``; batches hold prefixes of like length."""
    made: dict[int, list[int]] = {}
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].ids))
    for first in range(0, len(order), batch):
        part = order[first : first + batch]
        rngs = [generator("decoding", *names, rows[i].document.id, rows[i].repeat) for i in part]
        prompts = [rows[i].ids for i in part]
        made |= zip(part, decode(network, prompts, settings, new_tokens, rngs, banned, ends), strict=True)
        print(f"generate {names[-1]}: {len(made)}/{len(rows)} continuations", flush=True)
    return [made[row] for row in range(len(rows))]


def _prefixes(
    parts: Sequence[tuple[Document, str, str, str]], tokenizer: Any, new_tokens: int, room: int | None, repeats: int
) -> tuple[list[_Prefix], dict[str, int]]:
    rows: list[_Prefix] = []
    counts = {"prefixes": 0, "prefixes_empty": 0, "prefixes_untitled": 0, "prefixes_too_long": 0}
    for document, title, first, rest in parts:
        ids = [tokenizer.eos_token_id, *encode(f"{title}. {first}", tokenizer)]
        too_long = room is not None and len(ids) > room
        fault = "empty" if not first else "untitled" if not title else "too_long" if too_long else None
        counts[f"prefixes_{fault}" if fault else "prefixes"] += 1
        if fault is None:
            reference = tokenizer.decode(encode(rest, tokenizer)[:new_tokens]) if rest else ""
            rows += [_Prefix(document, repeat, ids, title, first, reference) for repeat in range(repeats)]
    return rows, counts


def _document(name: str, row: _Prefix, text: str) -> Document:
    sections = (Section(row.title, row.first), Section(CONTINUATION, text), Section(REFERENCE, row.reference))
    return Document(f"{name}-{row.document.id}-{row.repeat}", "generated", sections)
