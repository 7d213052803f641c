"""One feature per text: a language model's last hidden state at the text's last token (Pillutla et al. 2021)."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel

from longform.core.documents import Document, Readout
from longform.language_models import capacity
from longform.language_models.checkpoints import load_reader, load_tokenizer

MAX_TOKENS = 1024  # the published program's limit; a longer text is cut there, and at the model's window


@torch.no_grad()
def read(*, documents: Sequence[Document], reader: Path, name: str, splits: Sequence[str]) -> Readout:
    """``features`` float32 (units, dims); ``valid`` and ``cut`` (units): a text has a token, and too many."""
    tokenizer, network = load_tokenizer(reader), load_reader(reader, AutoModel)
    limit = capacity.window_size(network, MAX_TOKENS)
    chosen = [document for document in documents if document.split in splits]
    rows = [tokenizer(document.text, verbose=False)["input_ids"] for document in chosen]
    features = np.zeros((len(rows), int(network.config.hidden_size)), dtype=np.float32)
    reported = time.monotonic()
    for place, row in enumerate(rows):  # one at a time: no padding, so no other text can change a feature
        if row:
            states = network(input_ids=torch.tensor([row[:limit]], device=network.device)).last_hidden_state
            features[place] = states[0, -1].float().cpu().numpy()
        if time.monotonic() - reported > 10:
            reported = time.monotonic()
            print(f"infer {name}: {place + 1}/{len(rows)} texts", flush=True)
    valid, cut = np.array([bool(row) for row in rows]), np.array([len(row) > limit for row in rows])
    return Readout.of(chosen, {"features": features, "valid": valid, "cut": cut})
