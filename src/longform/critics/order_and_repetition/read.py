"""What a language model says of a text, of shuffles of its sentences, and of each sentence."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from longform.documents import Document
from longform.errors import ConfigError
from longform.language_models import capacity
from longform.language_models.log_probs import LogProbReader, open_reader
from longform.language_models.tokenizers import end_ids, start_ids, windows
from longform.language_models.trial import open_language_model
from longform.statistics.random_streams import generator
from longform.text.sentences import sentence_texts

BATCH = 2  # full windows that are read at a time
TRIES = 50  # orders that are drawn, of which equal ones count once


class SentenceCosts(NamedTuple):
    """The surprisal of a text's tokens under a language model, mean nats a token.

    Attributes:
        original: of all tokens of the text, its end among them.
        tokens: how many these are.
        shuffled: of all tokens of each shuffle of its sentences, float64 (shuffles,).
        sentences: of the tokens of each sentence in its place, float64 (sentences,).
    """

    original: float
    tokens: int
    shuffled: np.ndarray
    sentences: np.ndarray


def sentence_costs(
    documents: Sequence[Document], model: Path, shuffles: int, seed: int, window: int | None
) -> list[SentenceCosts]:
    """Read each text, and shuffles of its sentences, by a language model.

    Args:
        documents: the texts, titles left out; sentences are joined by a blank.
        model: folder of a causal language model.
        shuffles: other orders of each text, fewer where it does not have so many.
        seed: of the orders, with the text itself, so that equal texts have equal ones.
        window: largest number of tokens that the model sees; None for all its positions.

    Raises ConfigError: a window that the model does not have.
    Raises BadInput: the folder holds no causal language model.
    """
    tokenizer, network = open_language_model(model)
    positions = capacity.window_size(network)
    size = positions if window is None else window
    if not 2 <= size <= positions:
        raise ConfigError(f"window is {size!r}, allowed is 2 to {positions}; name another")
    reader = open_reader(network, BATCH * size, share=False, label="order and repetition")
    texts = [orders_of(document, shuffles, seed) for document in documents]
    return costs_of_orders(texts, tokenizer, reader, size)


def orders_of(document: Document, shuffles: int, seed: int) -> tuple[list[str], list[str]]:
    """Sentences of a text, and the text in other orders; equal texts have equal ones."""
    sentences = sentence_texts(document.text)
    rng = generator(seed, "order and repetition", *sentences)
    return sentences, other_orders(sentences, shuffles, rng)


def costs_of_orders(
    texts: Sequence[tuple[list[str], list[str]]], tokenizer: Any, reader: LogProbReader, size: int
) -> list[SentenceCosts]:
    """The surprisal of each text under an open model, in its own order and in others.

    Args:
        texts: sentences of each, and the text in other orders.
        tokenizer, reader: of the model.
        size: tokens of a window; a longer text is read in windows that overlap.

    Returns:
        The costs of each text, in the order of ``texts``.
    """
    # 1. Every text in its own order, then in others.
    rows = []
    for sentences, others in texts:
        for text in (" ".join(sentences), *others):
            tokens = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            rows.append([*start_ids(tokenizer), *tokens, *end_ids(tokenizer)])
    nats_of_rows = iter(_nats(rows, size, reader))
    # 2. The rows of each text, in the same order: its own first.
    costs = []
    for sentences, others in texts:
        original = next(nats_of_rows)
        shuffled = []
        for _ in others:
            shuffled.append(next(nats_of_rows).mean())
        text_costs = SentenceCosts(
            original=float(original.mean()),
            tokens=len(original),
            shuffled=np.array(shuffled),
            sentences=_by_sentence(original, sentences, tokenizer),
        )
        costs.append(text_costs)
    return costs


def other_orders(sentences: Sequence[str], shuffles: int, rng: np.random.Generator) -> list[str]:
    """Different texts of the same sentences in other orders, at most ``shuffles``."""
    original = " ".join(sentences)
    texts: dict[str, None] = {}  # a set that remembers the order of drawing
    for _ in range(TRIES):
        order = rng.permutation(len(sentences))
        text = " ".join(sentences[index] for index in order)
        if text != original:
            texts[text] = None
        if len(texts) == shuffles:
            break
    return list(texts)


def _nats(rows: Sequence[Sequence[int]], size: int, reader: LogProbReader) -> list[np.ndarray]:
    """The surprisal of each row's tokens from the second on, nats, float64 (tokens - 1,) a row.

    Args:
        rows: token ids of each text.
        size: tokens of a window; a longer row is read in windows that overlap.
        reader: of the network.
    """
    # 1. Log-probabilities of all windows.
    pieces = []
    for row in rows:
        for start, stop, _ in windows(len(row), size):
            pieces.append(tuple(row[start:stop]))
    readings = iter(reader.read(pieces))
    # 2. A window's first reading is of its token start + 1; it gives those from ``scored`` on.
    nats = []
    for row in rows:
        parts = []
        for start, _, scored in windows(len(row), size):
            parts.append(next(readings)[scored - start - 1 :])
        nats.append(-np.concatenate(parts).astype(np.float64))
    return nats


def _by_sentence(nats: np.ndarray, sentences: Sequence[str], tokenizer: Any) -> np.ndarray:
    """Mean nats of the tokens that end in each sentence, float64 (sentences,); nan without one.

    ``nats`` is of each scored token of the sentences joined by a blank, then of the end token.
    """
    encoded = tokenizer(
        " ".join(sentences), add_special_tokens=False, verbose=False, return_offsets_mapping=True
    )
    # 1. Where each scored token ends; without a begin token the first one is not scored.
    spans = np.array(encoded["offset_mapping"])
    stops = spans[:, 1] if start_ids(tokenizer) else spans[1:, 1]
    lengths = np.array([len(sentence) for sentence in sentences])
    sentence_ends = np.cumsum(lengths + 1)  # with the blank behind each
    sentence_of = np.searchsorted(sentence_ends, stops)
    # 2. Means; the end token belongs to no sentence.
    counts = np.bincount(sentence_of, minlength=len(sentences))
    totals = np.bincount(sentence_of, nats[: len(sentence_of)], minlength=len(sentences))
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
