"""What a network has read of texts of different lengths: a text can begin where another ended.

Keys and values stand at the right of their positions with padding to the left, whatever the length,
so a step writes one position for all. A masked position has no weight at all: what a text gets
depends on its own tokens, and on its company by rounding alone.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from longform.decoding.sampling import GrowingLayer, growing_cache


class Contexts:
    """Rows of texts that a network has read, in one cache.

    Attributes:
        held: how many tokens of each row the cache holds, int64 (rows,).
        can_join: whether rows of different lengths can stand together; windows that slide by places
            forbid it.
    """

    def __init__(self, network: Any) -> None:
        self.network = network
        self.cache: Any = None
        self.held = torch.zeros(0, dtype=torch.int64, device=network.device)
        layers = growing_cache(network).layers
        self.can_join = all(isinstance(layer, GrowingLayer) for layer in layers)

    def read(self, tokens: Tensor, keep: bool) -> Tensor:
        """Logits (rows, vocabulary) after texts of one length.

        Args:
            tokens: of the texts, int64 (rows, tokens).
            keep: whether to add them behind the rows that the cache holds.
        """
        fresh: Any = growing_cache(self.network) if keep else None
        output = self.network(
            input_ids=tokens, past_key_values=fresh, use_cache=keep, logits_to_keep=1
        )
        if keep:
            if len(self.held):
                for layer, other in zip(self.cache.layers, fresh.layers, strict=True):
                    layer.join(other)
            else:
                self.cache = output.past_key_values
            self.held = torch.cat([self.held, torch.full_like(tokens[:, 0], tokens.shape[1])])
        return output.logits[:, -1]

    def append(self, tokens: Tensor) -> Tensor:
        """Logits (rows, vocabulary) after one more token of every row, int64 (rows,)."""
        width = self.cache.get_seq_length()
        masks: dict[str, Tensor] = {}
        if bool((self.held < width).any()):
            padding = width - self.held
            is_read = torch.arange(width + 1, device=tokens.device) >= padding[:, None]
            masks["attention_mask"] = is_read.long()
            masks["position_ids"] = self.held[:, None]
        output = self.network(
            input_ids=tokens[:, None],
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
            **masks,
        )
        self.held = self.held + 1
        return output.logits[:, -1]

    def take(self, rows: Sequence[int]) -> None:
        """Keep the named rows, in order."""
        if len(rows) == len(self.held):
            return
        chosen = torch.tensor(rows, dtype=torch.int64, device=self.held.device)
        self.held = self.held[chosen]
        if not len(rows):
            self.cache = None
            return
        if self.can_join:
            # Networks have tables of so many positions as the longest text may have.
            padding = self.cache.get_seq_length() - int(self.held.max())
            if padding:
                for layer in self.cache.layers:
                    layer.drop_places(padding)
        self.cache.batch_select_indices(chosen)
