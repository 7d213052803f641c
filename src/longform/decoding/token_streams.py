"""Rows of tokens that grow by one token a step under a causal language model, with its key-value cache.

Rows may have different lengths: they are padded on the left, masked there, and positions are counted from the mask.
Rows can be repeated (one prompt, many hypotheses), reordered (a beam's parents) and dropped.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from longform.core.documents import BadInput

PAD = -1  # stands left of a short row in ``ids``; no vocabulary has it, so no rule can take it for a token


def check_room(network: Any, prompts: Sequence[Sequence[int]], new_tokens: int) -> None:
    """Every prompt has a token, and fits the model's window together with what is to be written.

    Raises:
        BadInput: one does not.
    """
    window = getattr(network.config, "max_position_embeddings", None)
    for row, prompt in enumerate(prompts):
        if not len(prompt):
            raise BadInput(f"prompt {row} has no token; at least one is needed, begin it with the end token")
        if window is not None and len(prompt) + new_tokens > window:
            raise BadInput(
                f"prompt {row} has {len(prompt)} tokens and {new_tokens} are to follow, the model's window is {window}; "
                "shorten the prefix or write less"
            )


class TokenStream:
    """A batch of growing rows.

    Attributes:
        ids: int64 (rows, tokens so far), ``PAD`` on the left.
        logits: (rows, vocabulary) of the next token, at least float32.
        states: (rows, tokens so far, dims) last hidden states, where they are kept.
    """

    def __init__(self, network: Any, prompts: Sequence[Sequence[int]], keep_states: bool = False) -> None:
        self.network, self.keep_states = network, keep_states
        width = max(map(len, prompts))
        rows = [[PAD] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        self.ids: Any = torch.tensor(rows, dtype=torch.long, device=network.device)
        last_only = "logits_to_keep" in inspect.signature(network.forward).parameters
        self._extra = {"logits_to_keep": 1} if last_only else {}
        self._cache: Any = None
        self.states: Any = torch.zeros(len(rows), 0, 1, device=network.device)
        self._forward(self.ids.clamp(min=0))

    @torch.no_grad()
    def _forward(self, feed: torch.Tensor) -> None:
        mask = (self.ids != PAD).long()
        places = (mask.cumsum(1) - 1).clamp(min=0)[:, -feed.shape[1] :]
        output = self.network(
            input_ids=feed,
            attention_mask=mask,
            position_ids=places,
            past_key_values=self._cache,
            use_cache=True,
            output_hidden_states=self.keep_states,
            **self._extra,
        )
        if self.keep_states:
            new = output.hidden_states[-1]
            self.states = torch.cat([self.states, new], dim=1) if self.states.shape[1] else new
        self._cache, last = output.past_key_values, output.logits[:, -1]
        self.logits: Any = last.to(torch.promote_types(last.dtype, torch.float32))

    def log_probs(self) -> torch.Tensor:
        """(rows, vocabulary) log-probabilities of the next token."""
        return torch.log_softmax(self.logits, dim=-1)

    def repeat(self, times: int) -> None:
        """Every row becomes ``times`` rows, side by side."""
        if times > 1:
            self._cache.batch_repeat_interleave(times)
            self.ids = self.ids.repeat_interleave(times, 0)
            self.logits = self.logits.repeat_interleave(times, 0)
            self.states = self.states.repeat_interleave(times, 0)

    def take(self, rows: torch.Tensor) -> None:
        """Keep the named rows, in order; nothing is copied where they are all rows in order."""
        if len(rows) == len(self.ids) and bool((rows == torch.arange(len(rows), device=rows.device)).all()):
            return
        self._cache.batch_select_indices(rows)
        self.ids, self.logits, self.states = self.ids[rows], self.logits[rows], self.states[rows]

    def append(self, tokens: torch.Tensor) -> None:
        """One more token for every row, int64 (rows,), and the logits after it."""
        self.ids = torch.cat([self.ids, tokens[:, None]], dim=1)
        self._forward(tokens[:, None])
