"""One feature per text: a language model's last hidden state at the text's last token (Pillutla et al. 2021)."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel

from longform.core.documents import Document, Readout
from longform.language_models.checkpoints import load_reader, load_tokenizer

MAX_TOKENS = 1024  # the published program's limit


@torch.no_grad()
def read(
    *, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str], max_tokens: int = MAX_TOKENS
) -> Readout:
    """``features`` float32 (units, dims) and ``valid`` (units): False for a text without a token.

    Args:
        max_tokens: a longer text is cut there, and at the model's window; ``cut`` (units) marks such texts.
    """
    tokenizer, network = load_tokenizer(reader), load_reader(reader, AutoModel)
    limit = min(max_tokens, int(getattr(network.config, "max_position_embeddings", max_tokens)))
    chosen = [document for document in documents if document.split in splits]
    rows = [tokenizer(document.text, verbose=False)["input_ids"] for document in chosen]
    features = np.zeros((len(rows), int(network.config.hidden_size)), dtype=np.float32)
    reported = time.monotonic()
    for place, row in enumerate(rows):  # one at a time: no padding, so no other text can change a feature
        if row:
            ids = torch.tensor([row[:limit]], device=network.device)
            states = network(input_ids=ids).last_hidden_state
            features[place] = states[0, -1].float().cpu().numpy()
        if time.monotonic() - reported > 10:
            reported = time.monotonic()
            print(f"infer {name}: {place + 1}/{len(rows)} texts", flush=True)
    arrays = {
        "features": features,
        "valid": np.array([bool(row) for row in rows]),
        "cut": np.array([len(row) > limit for row in rows]),
    }
    return Readout.of(chosen, arrays)
