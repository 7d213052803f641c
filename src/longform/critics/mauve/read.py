"""One feature per text: a language model's last hidden state at the text's last token (Pillutla et al. 2021)."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel

from longform.documents import Document, Predictions, in_splits
from longform.language_models import capacity
from longform.language_models.checkpoints import load_reader, load_tokenizer
from longform.language_models.tokenizers import padded

MAX_TOKENS = (
    1024  # the published program's limit; a longer text is cut there, and at the model's window
)


ON_DEVICE = 32  # ours: texts at a time where the network is not on the processor


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    splits: Sequence[str],
    batch: int | None = None,
) -> Predictions:
    """``features`` float32 (units, dims); ``valid`` and ``cut`` (units): a text has a token, and too many.

    Args:
        batch: texts at a time; by default one on the processor, where a text's feature then depends on no other even in its last
            digit, and ``ON_DEVICE`` elsewhere.
    """
    tokenizer, network = load_tokenizer(reader), load_reader(reader, AutoModel)
    limit = capacity.window_size(network, MAX_TOKENS)
    chosen = in_splits(documents, splits)
    rows = [tokenizer(document.text, verbose=False)["input_ids"] for document in chosen]
    if batch is None:
        batch = 1 if network.device.type == "cpu" else ON_DEVICE
    features = last_states(network, [row[:limit] for row in rows], batch, name)
    valid, cut = np.array([bool(row) for row in rows]), np.array([len(row) > limit for row in rows])
    return Predictions.of(chosen, {"features": features, "valid": valid, "cut": cut})


@torch.no_grad()
def last_states(network: Any, rows: Sequence[Sequence[int]], batch: int, name: str) -> np.ndarray:
    """The last hidden state at the last token of each row, float32 (rows, dims); zeros where a row has none.

    Texts of like length are read together, padded on the right, where a causal network does not look.
    """
    features = np.zeros((len(rows), int(network.config.hidden_size)), dtype=np.float32)
    order = sorted(
        (place for place, row in enumerate(rows) if row), key=lambda place: len(rows[place])
    )
    reported = time.monotonic()
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        ids = padded([rows[place] for place in places]).to(network.device)
        last = torch.tensor([len(rows[place]) - 1 for place in places], device=network.device)
        states = network(input_ids=ids).last_hidden_state
        features[places] = (
            states[torch.arange(len(places), device=last.device), last].float().cpu().numpy()
        )
        if time.monotonic() - reported > 10:
            reported = time.monotonic()
            print(f"infer {name}: {start + len(places)}/{len(rows)} texts", flush=True)
    return features
