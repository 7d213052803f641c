r"""The third part of a fact checker: does a sentence support a claim, refute it, or neither?

A decomposable attention network (Parikh et al. 2016, the entailment model of FEVER's own baseline) that also sees which
words both sides share, so that it can be trained from nothing on a few thousand pairs. Names and numbers are read by
their shape alone, and compared: with $a_i$, $b_j$ the states of claim and sentence words and $m_{ij} = 1$ where the two
words are equal, $e_{ij} = F(a_i) \cdot F(b_j) + u\, m_{ij}$, $\beta_i = \sum_j \mathrm{softmax}_j(e_{ij}) b_j$, and the
label is $H(\sum_i G(a_i, \beta_i), \sum_j G(b_j, \alpha_j))$.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import nn

LABELS = ("supported", "refuted", "not_enough_info")
SHAPES = ("<nothing>", "<number>", "<name>", "<word>", "<title>")
MOST_WORDS = 64  # of a claim or sentence; sentences of more than 50 are not checked (massarelli2020, section 5)
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
BATCH = 256


@dataclass(frozen=True)
class Pair:
    """A claim and a sentence of the page ``title``."""

    claim: str
    title: str
    sentence: str


class Entailment(Protocol):
    """Probabilities of ``LABELS`` for pairs."""

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """float64 (pairs, 3), rows sum to one."""


@dataclass(frozen=True)
class Vocabulary:
    """Words with a state of their own; all others are read by shape."""

    words: Mapping[str, int]

    @classmethod
    def of(cls, texts: Sequence[str], least: int) -> Vocabulary:
        """Lower-case words that occur ``least`` times or more."""
        counts = Counter(word for text in texts for word in _WORD.findall(text) if word.islower())
        kept = sorted(word for word, count in counts.items() if count >= least)
        return cls({word: len(SHAPES) + i for i, word in enumerate(kept)})

    def read(self, text: str, title: frozenset[str]) -> tuple[list[int], list[str]]:
        """Ids and lower-case words of a text, cut at ``MOST_WORDS``; words of the title have an id of their own."""
        found = _WORD.findall(text)[:MOST_WORDS]
        return [self._id(word, place, title) for place, word in enumerate(found)], [word.lower() for word in found]

    def _id(self, word: str, place: int, title: frozenset[str]) -> int:
        lower = word.lower()
        if lower in title:
            return SHAPES.index("<title>")
        if word[0].isdigit():
            return SHAPES.index("<number>")
        if word[0].isupper() and (place or lower not in self.words):
            return SHAPES.index("<name>")
        return self.words.get(lower, SHAPES.index("<word>"))


class DecomposableAttention(nn.Module):
    """See the module's text; ``size`` is the width of every layer."""

    def __init__(self, symbols: int, size: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, size, padding_idx=0)
        self.shared = nn.Embedding(2, size)
        self.near = nn.Conv1d(size, size, 3, padding=1)
        self.attend = nn.Linear(size, size)
        self.equal = nn.Parameter(torch.tensor(4.0))
        self.compare = nn.Sequential(nn.Linear(3 * size, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU())
        self.label = nn.Sequential(nn.Linear(4 * size, size), nn.ReLU(), nn.Linear(size, len(LABELS)))

    def forward(self, claim: torch.Tensor, sentence: torch.Tensor, equal: torch.Tensor) -> torch.Tensor:
        """Logits (pairs, 3) from ids (pairs, words) of each side and which words are equal (pairs, words, words)."""
        here, there = claim > 0, sentence > 0
        a, b = self._states(claim, equal.any(2)), self._states(sentence, equal.any(1))
        scores = self.attend(a) @ self.attend(b).transpose(1, 2) / a.shape[-1] ** 0.5 + self.equal * equal
        beta = _weights(scores, there[:, None]) @ b
        alpha = _weights(scores.transpose(1, 2), here[:, None]) @ a
        pooled = [*self._pool(a, beta, here), *self._pool(b, alpha, there)]
        return self.label(torch.cat(pooled, dim=-1))

    def _states(self, ids: torch.Tensor, shared: torch.Tensor) -> torch.Tensor:
        states = (self.embed(ids) + self.shared(shared.long())) * (ids > 0)[..., None]  # nothing beyond a text's end
        return states + torch.relu(self.near(states.transpose(1, 2)).transpose(1, 2))

    def _pool(self, own: torch.Tensor, other: torch.Tensor, kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = self.compare(torch.cat([own, other, own * other], dim=-1)) * kept[..., None]
        return made.sum(1) / kept.sum(1, keepdim=True).clamp(min=1), made.amax(1)


def _weights(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Softmax over the last axis among the kept places; a row with none gets zeros."""
    masked = scores.masked_fill(~kept, -1e9).softmax(-1)
    return masked * kept


@dataclass(frozen=True)
class TrainedEntailment:
    """A trained network with its vocabulary."""

    network: DecomposableAttention
    vocabulary: Vocabulary

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """See :class:`Entailment`; a claim or sentence without words is not enough information for certain."""
        rows = [encoded(pair, self.vocabulary) for pair in pairs]
        made = np.zeros((len(rows), len(LABELS)))
        made[:, LABELS.index("not_enough_info")] = 1.0
        order = sorted((i for i, row in enumerate(rows) if row[0] and row[1]), key=lambda i: len(rows[i][1]))
        self.network.eval()
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            batch = collate([(rows[i], 0) for i in part])
            with torch.inference_mode():
                logits = self.network(batch["claim"], batch["sentence"], batch["equal"])
            made[part] = logits.double().softmax(-1).numpy()
        return made


Encoded = tuple[list[int], list[int], list[tuple[int, int]]]


def encoded(pair: Pair, vocabulary: Vocabulary) -> Encoded:
    """Ids of the claim, ids of the sentence, and places of equal words; both sides know the page's title."""
    title = frozenset(word.lower() for word in _WORD.findall(pair.title))
    claim, left = vocabulary.read(pair.claim, title)
    sentence, right = vocabulary.read(pair.sentence, title)
    places: dict[str, list[int]] = {}
    for j, word in enumerate(right):
        places.setdefault(word, []).append(j)
    return claim, sentence, [(i, j) for i, word in enumerate(left) for j in places.get(word, ())]


def collate(items: Sequence[tuple[Encoded, int]]) -> dict[str, torch.Tensor]:
    """Pad both sides with zeros."""
    widths = [max(len(item[0][side]) for item in items) for side in (0, 1)]
    sides = [np.zeros((len(items), width), dtype=np.int64) for width in widths]
    equal = np.zeros((len(items), *widths), dtype=bool)
    for row, ((claim, sentence, same), _) in enumerate(items):
        sides[0][row, : len(claim)], sides[1][row, : len(sentence)] = claim, sentence
        for i, j in same:
            equal[row, i, j] = True
    named = {"claim": sides[0], "sentence": sides[1], "equal": equal, "labels": np.array([label for _, label in items])}
    return {key: torch.from_numpy(array) for key, array in named.items()}
