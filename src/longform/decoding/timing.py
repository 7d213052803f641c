"""Estimates how long a model takes to write, by timing a few tokens."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longform.decoding.sampling import SentenceEnds
from longform.decoding.strategies import Human, decode, settings_of
from longform.language_models import capacity
from longform.language_models.tokenizers import end_of_writing
from longform.language_models.trial import open_language_model, trial_row
from longform.statistics.random_streams import generator

TRIED_TOKENS = 4  # tokens that each decoder writes while it is timed


def seconds_to_write(
    model: Path,
    decoders: Mapping[str, Mapping[str, Any]],
    continuations: Mapping[str, int],
    new_tokens: int,
    batch: int,
) -> float:
    """Estimate the seconds of writing, from the time of the first tokens after a short sentence.

    Args:
        model: folder of the language model.
        decoders: name -> settings.
        continuations: name of a decoder -> number of its continuations.
        new_tokens: tokens of a continuation.
        batch: continuations that are decoded together.
    """
    tokenizer, network = open_language_model(model)
    end = end_of_writing(tokenizer, "plan")
    ends = SentenceEnds.of_tokenizer(tokenizer, network.config.vocab_size)
    prompt = trial_row(tokenizer, capacity.vocabulary_size(network))
    prompt = prompt[: capacity.window_size(network) - TRIED_TOKENS]
    # Each decoder writes a few tokens in a batch, whose time is taken for all of its batches.
    seconds = 0.0
    for name, settings in decoders.items():
        strategy = settings_of(settings)
        if isinstance(strategy, Human):
            continue
        rows = min(batch, continuations[name])
        rngs = [generator("timing", row) for row in range(rows)]
        start = time.monotonic()
        decode(network, [prompt] * rows, strategy, TRIED_TOKENS, rngs, end, ends)
        batch_seconds = (time.monotonic() - start) * new_tokens / TRIED_TOKENS
        seconds += batch_seconds * continuations[name] / rows
    return seconds
