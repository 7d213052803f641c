"""The released ranking network, trained on features of originals and of their copies (sheng2024 section 4.4)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn.functional import relu

from longform.core.documents import BadInput
from longform.core.resampling import derived_seed, generator
from longform.critics.bbscore.bridge import SLOPE, Layers

HIDDEN = (64, 32)  # ours; the release has (1024, 512)
MARGIN, DROPOUT, BATCH = 5.0, 0.2, 128  # BBScore release
RATE, EPOCHS, PATIENCE = 1e-3, 30, 5  # ours: of Adam, passes at most, passes without a better validation loss


def held_out(document: np.ndarray) -> np.ndarray:
    """Which pairs are for validation: those of a tenth of the documents, since pairs of one document share their original.

    Raises:
        BadInput: fewer than two documents.
    """
    documents = generator("bridge ranker", len(document)).permutation(np.unique(document))
    if len(documents) < 2:
        raise BadInput(f"network ranker: {len(documents)} documents with pairs, at least 2 are needed; add documents")
    return np.isin(document, documents[: max(1, len(documents) // 10)])


def train_network(
    original: np.ndarray, copies: np.ndarray, held_original: np.ndarray, held_copies: np.ndarray
) -> Layers:
    """Adam until the hinge on held-out documents no longer falls; the weights of the best pass.

    Args:
        original, copies: (pairs, features), scaled; ``held_...`` likewise, for validation.
    """
    sides = [torch.from_numpy(side) for side in (original, copies, held_original, held_copies)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed("bridge ranker", *original.shape))
        network = _network(original.shape[1]).double()
        optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
        best, kept, since = np.inf, _layers(network), 0
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(original)).split(BATCH):
                optimiser.zero_grad()
                _hinge(network.train(), sides[0][rows], sides[1][rows]).backward()
                optimiser.step()
            with torch.no_grad():
                loss = float(_hinge(network.eval(), sides[2], sides[3]))
            best, kept, since = (loss, _layers(network), 0) if loss < best else (best, kept, since + 1)
            if since >= PATIENCE:
                break
    return kept


def _layers(network: nn.Sequential) -> Layers:
    maps = [part for part in network if isinstance(part, nn.Linear)]
    return tuple((part.weight.detach().numpy().T.copy(), part.bias.detach().numpy().copy()) for part in maps)


def _network(features: int) -> nn.Sequential:
    widths, parts = (features, *HIDDEN), []
    for a, b in pairwise(widths):
        parts += [nn.Linear(a, b), nn.LeakyReLU(SLOPE), nn.Dropout(DROPOUT)]
    network = nn.Sequential(*parts, nn.Linear(widths[-1], 1))
    for part in network:
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            nn.init.zeros_(part.bias)
    return network


def _hinge(network: nn.Module, original: torch.Tensor, copies: torch.Tensor) -> torch.Tensor:
    scores = network(torch.cat([original, copies]))
    return relu(MARGIN + scores[: len(original)] - scores[len(original) :]).mean()
