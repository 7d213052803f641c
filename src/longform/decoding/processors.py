"""Rules on next tokens, in the form that ``transformers`` takes too: processors of scores, and where a sentence ends.

Each works on ``(input_ids, scores)`` with one row per hypothesis, so it can be handed to ``model.generate`` as a
``LogitsProcessor`` or ``StoppingCriteria``, or to the decoders of this package.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, StoppingCriteria

from longform.core.documents import BadInput
from longform.decoding.token_streams import PAD

ABBREVIATIONS = frozenset(["Mr", "Mrs", "Ms", "Dr", "St", "Jr", "Sr", "No", "vs", "Inc", "Co", "U.S", "U.K"])
_CLOSING = "\"'”’)]} "
_BEFORE_A_POINT = re.compile(r"[A-Z]|" + "|".join(re.escape(word) for word in sorted(ABBREVIATIONS)))


class BlockRepeats(LogitsProcessor):
    """A token that would complete an n-gram already in its row, prompt included, is never written.

    Source: Paulus, Xiong and Socher (2018), section 2.5; massarelli2020's subscript b. Where ``transformers``' own
    ``no_repeat_ngram_size`` takes the padding of a short row for text, here no n-gram holds the token ``pad``.
    """

    def __init__(self, n: int, pad: int = PAD) -> None:
        if n < 1:
            raise BadInput(f"n-gram blocking: n is {n}, allowed is 1 or more; leave the setting out to block nothing")
        self.n, self.pad = n, pad

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores with minus infinity at the blocked tokens of each row."""
        if input_ids.shape[1] < self.n:
            return scores
        windows = input_ids.unfold(1, self.n, 1)  # (rows, places, n)
        suffix = input_ids[:, input_ids.shape[1] - self.n + 1 :]
        same = (windows[:, :, :-1] == suffix[:, None]).all(-1) & (windows != self.pad).all(-1)
        rows, places = same.nonzero(as_tuple=True)
        scores = scores.clone()
        scores[rows, windows[rows, places, -1]] = -torch.inf
        return scores


class SiblingRanks(LogitsProcessor):
    """Children of one parent pay ``penalty`` times their rank among their siblings, the best child once.

    Source: Li, Monroe and Jurafsky (2016), equation 2. As in fairseq: only the best ``kept`` children of a parent are
    considered, the first token after the prompt is free, and the penalty stays in the hypothesis's score.
    """

    def __init__(self, penalty: float, kept: int, prompt_tokens: int) -> None:
        self.penalty, self.kept, self.prompt_tokens = penalty, kept, prompt_tokens

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Penalised scores, minus infinity outside the best ``kept`` of each row."""
        if input_ids.shape[1] == self.prompt_tokens:
            return scores
        best, tokens = scores.topk(min(self.kept, scores.shape[1]), dim=1)
        ranks = torch.arange(1, best.shape[1] + 1, device=best.device, dtype=best.dtype)
        return torch.full_like(scores, -torch.inf).scatter(1, tokens, best - self.penalty * ranks)


class SentenceEnds(StoppingCriteria):
    """Which tokens end a sentence, from a table over the vocabulary and a look at the token before.

    Attributes:
        table: bool (vocabulary,), the token closes a sentence wherever it stands.
        points: bool (vocabulary,), it closes one unless the token before is in ``guards``.
        guards: bool (vocabulary,), an abbreviation or a single capital: a point after it belongs to it.
    """

    def __init__(self, table: torch.Tensor, points: torch.Tensor, guards: torch.Tensor) -> None:
        self.table, self.points, self.guards = table, points, guards

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, size: int) -> SentenceEnds:
        """Tables for a tokenizer; ``size`` is the model's vocabulary, which may be larger than the tokenizer's."""
        texts = [tokenizer.decode([token]) if token < len(tokenizer) else "" for token in range(size)]
        table = torch.tensor([_closes(text) for text in texts])
        points = torch.tensor([text.strip() == "." for text in texts])
        guards = torch.tensor([bool(_BEFORE_A_POINT.fullmatch(text.strip())) for text in texts])
        return cls(table & ~points, points, guards)

    @classmethod
    def of_tokens(cls, tokens: Sequence[int], size: int) -> SentenceEnds:
        """Ends at the named tokens and nowhere else."""
        table = torch.zeros(size, dtype=torch.bool)
        table[list(tokens)] = True
        return cls(table, torch.zeros_like(table), torch.zeros_like(table))

    def and_token(self, token: int) -> SentenceEnds:
        """The same ends, and one more token that always closes: the end of the text."""
        table = self.table.clone()
        table[token] = True
        return SentenceEnds(table, self.points, self.guards)

    def next_ends(self, input_ids: torch.Tensor) -> torch.Tensor:
        """bool (rows, vocabulary): which next tokens would end the sentence of each row."""
        device = input_ids.device
        guarded = self.guards.to(device)[input_ids[:, -1].clamp(min=0)] & (input_ids[:, -1] != PAD)
        return self.table.to(device)[None] | (self.points.to(device)[None] & ~guarded[:, None])

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """bool (rows,): the last token of the row ended a sentence."""
        return self.next_ends(input_ids[:, :-1]).gather(1, input_ids[:, -1:].clamp(min=0))[:, 0]

    def guarded(self, ids: Sequence[int]) -> int:
        """How often a point of this row did not end a sentence because of what stands before it."""
        points, guards = self.points.tolist(), self.guards.tolist()
        return sum(points[after] and guards[before] for before, after in itertools.pairwise(ids))


def _closes(text: str) -> bool:
    """The decoded token has a line break, or ends in a closing mark and holds no letter or digit."""
    if "\n" in text:
        return True
    core = text.rstrip(_CLOSING)
    return core.endswith((".", "!", "?")) and not any(character.isalnum() for character in core)
