"""One cache for texts of different lengths, in which a text can begin where another ended.

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
        lengths: number of tokens of each row in the cache, int64 (rows,).
        can_join: whether rows of different lengths can be cached together; layers with a sliding
            window forbid it.
    """

    def __init__(self, network: Any) -> None:
        self.network = network
        self.cache: Any = None
        self.lengths = torch.zeros(0, dtype=torch.int64, device=network.device)
        layers = growing_cache(network).layers
        self.can_join = all(isinstance(layer, GrowingLayer) for layer in layers)

    def read(self, tokens: Tensor, keep: bool) -> Tensor:
        """Read texts of one length; returns the logits of their next tokens, (rows, vocabulary).

        Args:
            tokens: token ids, int64 (rows, tokens).
            keep: whether to add the texts to the cache, behind its rows.
        """
        fresh: Any = growing_cache(self.network) if keep else None
        output = self.network(
            input_ids=tokens, past_key_values=fresh, use_cache=keep, logits_to_keep=1
        )
        if keep:
            if len(self.lengths):
                for layer, other in zip(self.cache.layers, fresh.layers, strict=True):
                    layer.join(other)
            else:
                self.cache = output.past_key_values
            self.lengths = torch.cat([self.lengths, torch.full_like(tokens[:, 0], tokens.shape[1])])
        return output.logits[:, -1]

    def append(self, tokens: Tensor) -> Tensor:
        """Read one more token of every row of the cache.

        Args:
            tokens: token ids, int64 (rows,).

        Returns:
            Logits of the tokens after them, (rows, vocabulary).
        """
        width = self.cache.get_seq_length()
        masks: dict[str, Tensor] = {}
        if bool((self.lengths < width).any()):
            padding = width - self.lengths
            is_read = torch.arange(width + 1, device=tokens.device) >= padding[:, None]
            masks["attention_mask"] = is_read.long()
            masks["position_ids"] = self.lengths[:, None]
        output = self.network(
            input_ids=tokens[:, None],
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
            **masks,
        )
        self.lengths = self.lengths + 1
        return output.logits[:, -1]

    def take(self, rows: Sequence[int]) -> None:
        """Keep the rows of these ascending indices and drop the others."""
        if len(rows) == len(self.lengths):
            return
        chosen = torch.tensor(rows, dtype=torch.int64, device=self.lengths.device)
        self.lengths = self.lengths[chosen]
        if not len(rows):
            self.cache = None
            return
        if self.can_join:
            # Padding that all rows share is dropped: a network has a limited number of positions.
            padding = self.cache.get_seq_length() - int(self.lengths.max())
            if padding:
                for layer in self.cache.layers:
                    layer.drop_places(padding)
        self.cache.batch_select_indices(chosen)
