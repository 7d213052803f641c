"""One feature per text: a language model's last hidden state at the text's last token.

As in Pillutla et al. 2021.
"""

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

# the published program's limit; a longer text is cut there, and at the model's window
MAX_TOKENS = 1024
ON_DEVICE = 32  # ours: texts at a time where the network is not on the processor
REPORT_SECONDS = 10  # between two lines of progress


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    splits: Sequence[str],
    batch: int | None = None,
) -> Predictions:
    """Read the texts of some splits: predictions with the feature of each.

    Args:
        documents: of any splits.
        reader: folder of a causal language model and its tokenizer.
        name: of the run, for the lines of progress.
        splits: whose documents are read.
        batch: texts at a time; by default one on the processor, where a text's feature then depends
            on no other even in its last digit, and ``ON_DEVICE`` elsewhere.

    Returns:
        ``features`` float32 (texts, dims), ``valid`` (texts,), whether a text has a token, and
        ``cut`` (texts,), whether it has more tokens than are read.
    """
    tokenizer = load_tokenizer(reader)
    network = load_reader(reader, AutoModel)
    limit = capacity.window_size(network, MAX_TOKENS)
    if batch is None:
        batch = 1 if network.device.type == "cpu" else ON_DEVICE
    chosen = in_splits(documents, splits)
    rows = []
    lengths = []
    for document in chosen:
        tokens = tokenizer(document.text, verbose=False)["input_ids"]
        rows.append(tokens[:limit])
        lengths.append(len(tokens))
    arrays = {
        "features": last_states(network, rows, batch, name),
        "valid": np.array(lengths) > 0,
        "cut": np.array(lengths) > limit,
    }
    return Predictions.of(chosen, arrays)


@torch.no_grad()
def last_states(network: Any, rows: Sequence[Sequence[int]], batch: int, name: str) -> np.ndarray:
    """The last hidden state at the last token of each row.

    Texts of like length are read together, padded on the right, where a causal network does not
    look.

    Args:
        network: a causal network without its head.
        rows: token ids of each text.
        batch: texts at a time.
        name: of what is read, for the lines of progress.

    Returns:
        float32 (rows, dims); zeros for a row without a token.
    """
    features = np.zeros((len(rows), int(network.config.hidden_size)), dtype=np.float32)
    # 1. The rows that have a token, the shortest first.
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    shortest_first = np.argsort(lengths, kind="stable")
    order = shortest_first[lengths[shortest_first] > 0]
    # 2. A batch of them at a time.
    reported = time.monotonic()
    for start in range(0, len(order), batch):
        indices = order[start : start + batch]
        ids = padded([rows[i] for i in indices]).to(network.device)
        states = network(input_ids=ids).last_hidden_state
        last_tokens = torch.tensor(lengths[indices] - 1, device=network.device)
        texts = torch.arange(len(indices), device=network.device)
        features[indices] = states[texts, last_tokens].float().cpu().numpy()
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            print(f"infer {name}: {start + len(indices)}/{len(rows)} texts", flush=True)
    return features
