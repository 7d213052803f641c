"""Sentence latents of any text: a frozen encoder reads each sentence once, a trained head places it (sheng2024 section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from longform.core.documents import BadInput, Document, Readout
from longform.critics.bbscore.trained import open_bridge
from longform.language_models.sentence_features import SentenceEncoder, open_encoder, split_sentences
from longform.text.permutations import numbered


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    splits: Sequence[str] | None = None,
    splitter: str | None = None,
    max_tokens: int | None = None,
) -> Readout:
    """Ragged ``latents``, ``text_ids``, ``token_counts``; ``rating`` where the truth has it.

    ``latents`` are (sentences, heads, dims) with ``head_names``, or the encoder's own features, (sentences, dims).
    ``dropped_long`` is one number, the documents left out by ``max_tokens``.

    Args:
        reader: a row of ``bridge_encoder``, or any frozen encoder, whose features are then the latents.
        splits: of the documents to read; all by default.
        splitter: that of the training row by default.
        max_tokens: leave out documents of as many tokens or more; the release does at 1,024.

    Raises:
        BadInput: no document is left.
    """
    trained = open_bridge(reader) if (reader / "bridge.json").is_file() else None
    encoder = open_encoder(reader) if trained is None else trained.frozen.encoder
    rule = splitter or (trained.splitter if trained else "full_stops")
    places = [place for place, document in enumerate(documents) if splits is None or document.split in splits]
    chosen = [documents[place] for place in places]
    texts = split_sentences(chosen, rule)
    counts = [token_counts(encoder, pieces) for pieces in texts]
    kept = [row for row, count in enumerate(counts) if max_tokens is None or count.sum() < max_tokens]
    if not kept:
        raise BadInput(f"infer {name}: 0 of {len(documents)} documents are left; loosen splits or max_tokens")
    features = encoder.encode([text for row in kept for text in texts[row]], f"infer {name}")
    arrays = {
        "latents": features if trained is None else placed(features, trained.heads.values()),
        "latents_lengths": np.array([len(texts[row]) for row in kept], dtype=np.int64),
        "dropped_long": np.array([len(chosen) - len(kept)]),
    }
    ids = [numbered(texts[row]) for row in kept]
    for key, ragged in (("text_ids", ids), ("token_counts", [counts[row] for row in kept])):
        arrays[key] = np.concatenate(ragged)
        arrays[f"{key}_lengths"] = arrays["latents_lengths"]
    if trained is not None:
        arrays["head_names"] = np.array(list(trained.heads), dtype=np.str_)
    if "rating" in truth:
        arrays["rating"] = truth["rating"][[places[row] for row in kept]]
    return Readout(tuple(chosen[r].id for r in kept), tuple(chosen[r].split for r in kept), arrays)


def token_counts(encoder: SentenceEncoder, sentences: Sequence[str]) -> np.ndarray:
    """Tokens of each sentence without added control tokens, at least one, (sentences,)."""
    rows = [encoder.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in sentences]
    return np.array([max(1, len(row)) for row in rows], dtype=np.int64)


@torch.no_grad()
def placed(features: np.ndarray, heads: Iterable[torch.nn.Module]) -> np.ndarray:
    """Latents under each head, float32 (sentences, heads, dims)."""
    return np.stack([head(torch.from_numpy(features)).numpy() for head in heads], axis=1)
