"""Delayed beam search as it was before one stream: each part of each sentence reads its contexts anew."""

from longform.decoding import sampling
from longform.decoding.beam_search import beam_search


def delayed(network, prompts, settings, new_tokens, rngs, ends, banned=()):
    made = [[] for _ in prompts]
    rows = [row for row in range(len(prompts)) if new_tokens > 0]
    while rows:
        before = {row: len(made[row]) for row in rows}
        contexts = [[*prompts[row], *made[row]] for row in rows]
        limits = [min(settings.delay, new_tokens - before[row]) for row in rows]
        drawn = sampling.sample(
            network, contexts, settings.sampled, limits, [rngs[row] for row in rows], banned, ends
        )
        for row, (tokens, _) in zip(rows, drawn, strict=True):
            made[row] += tokens
        going = [
            row
            for row, (_, ended) in zip(rows, drawn, strict=True)
            if not ended and len(made[row]) < new_tokens
        ]
        contexts = [[*prompts[row], *made[row]] for row in going]
        limits = [new_tokens - len(made[row]) for row in going]
        for row, best in zip(
            going, beam_search(network, contexts, settings.beam, limits, banned, ends), strict=True
        ):
            made[row] += best.tokens
        rows = [row for row in rows if before[row] < len(made[row]) < new_tokens]
    return made
