r"""Beam search in groups and to a sentence's end, for a batch of prompts of any lengths; ``generate`` has neither.

A hypothesis scores $\sum_t \log p(w_t \mid w_{<t})$ less its penalties; finished ones are divided by (tokens)^alpha.
    group-diverse    Vijayakumar et al. (2018): group g pays $\lambda$ times how often groups before it chose the token now
    sibling-diverse  Li, Monroe and Jurafsky (2016): a child pays $\gamma$ times its rank among its parent's children
    blocking         Paulus et al. (2018): no n-gram twice
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import LogitsProcessor, SuppressTokensLogitsProcessor

from longform.core.documents import BadInput
from longform.decoding.processors import BlockRepeats, SentenceEnds, SiblingRanks
from longform.decoding.token_streams import TokenStream, check_room


@dataclass(frozen=True)
class Beam:
    """Settings of a search.

    Attributes:
        beams: hypotheses a prompt; 1 is greedy.
        groups: they are split into so many groups, which choose one after another.
        group_penalty: lambda, for each earlier choice of the same token at the same step (Hamming diversity).
        count_candidates: count all 2b/G candidates of earlier groups, as fairseq does, not only the kept tokens.
        sibling_penalty: gamma, times a child's rank among its siblings.
        blocking: no n-gram of this size twice, prompt included; 0 blocks nothing.
        length_power: alpha of finished hypotheses (fairseq: 1).
    """

    beams: int
    groups: int = 1
    group_penalty: float = 0.0
    count_candidates: bool = False
    sibling_penalty: float = 0.0
    blocking: int = 0
    length_power: float = 1.0

    def __post_init__(self) -> None:
        if self.beams < 1 or self.groups < 1 or self.beams % self.groups:
            raise BadInput(
                f"beam search: {self.beams} beams in {self.groups} groups; beams must be a multiple of groups"
            )
        if min(self.group_penalty, self.sibling_penalty, self.blocking) < 0:
            raise BadInput("beam search: a penalty or the blocking size is below 0; allowed is 0 or more")

    @property
    def size(self) -> int:
        """Hypotheses of one group."""
        return self.beams // self.groups


@dataclass(frozen=True)
class Hypothesis:
    """The best continuation of a prompt, its score, and whether it ended a sentence."""

    tokens: tuple[int, ...]
    score: float
    ended: bool


def beam_search(
    network: Any,
    prompts: Sequence[Sequence[int]],
    settings: Beam,
    limits: Sequence[int],
    banned: Sequence[int] = (),
    ends: SentenceEnds | None = None,
) -> list[Hypothesis]:
    """Continue every prompt by ``limits`` tokens, or, where ``ends`` is given, to the end of the sentence.

    A search is over when as many hypotheses have ended as there are beams, at its limit, or when blocking leaves no
    token at all. The best ended hypothesis is taken; else the best one alive.

    Raises:
        BadInput: an empty prompt, or one that does not fit the window together with its limit.
    """
    for prompt, limit in zip(prompts, limits, strict=True):
        check_room(network, [prompt], limit)
    found: list[Hypothesis | None] = [Hypothesis((), 0.0, False) if limit < 1 else None for limit in limits]
    open_rows = [row for row, limit in enumerate(limits) if limit > 0]
    if open_rows:
        search = _Search(network, [prompts[row] for row in open_rows], settings, banned, ends)
        made = search.run([limits[row] for row in open_rows])
        for row, best in zip(open_rows, made, strict=True):
            found[row] = best
    return [best for best in found if best is not None]


class _Search:
    """State of one batch: N prompts still searched, G groups each, K hypotheses a group."""

    def __init__(self, network: Any, prompts: list[Sequence[int]], settings: Beam, banned: Any, ends: Any) -> None:
        self.settings, self.ends = settings, ends
        self.stream = TokenStream(network, prompts)
        self.width = self.stream.ids.shape[1]
        shape = (len(prompts), settings.groups, settings.size)
        self.scores = self.stream.logits.new_full(shape, -torch.inf)
        self.scores[:, :, 0] = 0.0  # a prompt is one hypothesis before its first token
        self.finished: list[list[Hypothesis]] = [[] for _ in prompts]
        self.rules: list[LogitsProcessor] = (
            [SuppressTokensLogitsProcessor(list(banned), device=network.device)] if len(banned) else []
        )
        if settings.blocking:
            self.rules.append(BlockRepeats(settings.blocking))
        if settings.sibling_penalty:
            self.rules.append(SiblingRanks(settings.sibling_penalty, 2 * settings.size, self.width))

    def run(self, limits: list[int]) -> list[Hypothesis]:
        """One continuation per prompt; those that are done leave the batch."""
        made: list[Hypothesis | None] = [None] * len(limits)
        rows = list(range(len(limits)))
        self.stream.repeat(self.settings.beams)
        while rows:
            parents, tokens, scores = self._choose(rows)
            length = self.stream.ids.shape[1] + 1 - self.width
            alive, stays = torch.isfinite(scores).flatten(1).any(1).tolist(), []
            for place, row in enumerate(rows):
                if len(self.finished[row]) >= self.settings.beams:
                    made[row] = self._top(row)
                elif not alive[place]:
                    made[row] = self._best(place, row)
                elif length == limits[row]:
                    made[row] = self._best_child(row, parents[place], tokens[place], scores[place])
                else:
                    stays.append(place)
            rows = [rows[place] for place in stays]
            self._keep(stays, parents, tokens, scores)
        return [best for best in made if best is not None]

    def _choose(self, rows: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Parents (rows of the stream), tokens and scores of the next hypotheses, each (N, G, K)."""
        log_probs = self.stream.log_probs()
        for rule in self.rules:
            log_probs = rule(self.stream.ids, log_probs)
        vocabulary = log_probs.shape[-1]
        log_probs = log_probs.view(*self.scores.shape, vocabulary)
        ends = self.ends.next_ends(self.stream.ids).view_as(log_probs) if self.ends is not None else None
        counts = log_probs.new_zeros(len(rows), 1, vocabulary)
        kept = []
        for group in range(self.settings.groups):
            fined = log_probs[:, group] - self.settings.group_penalty * counts
            children = self.scores[:, group, :, None] + fined
            if ends is not None:
                self._finish(rows, group, children, ends[:, group])
                children = children.masked_fill(ends[:, group], -torch.inf)
            kept.append(self._best_children(children, group, counts))
        parents, tokens, scores = (torch.stack(parts, dim=1) for parts in zip(*kept, strict=True))
        return parents, tokens, scores

    def _best_children(self, children: torch.Tensor, group: int, counts: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The K best of a group; ``counts`` grows by what it chose."""
        rows, size, vocabulary = children.shape
        wanted = min(2 * size if self.settings.count_candidates else size, size * vocabulary)
        scores, places = children.flatten(1).topk(wanted, dim=1)
        tokens = places % vocabulary
        counts.scatter_add_(2, tokens[:, None], torch.isfinite(scores).to(counts.dtype)[:, None])
        base = torch.arange(rows, device=places.device)[:, None] * self.settings.beams + group * size
        return tuple(part[:, :size] for part in (base + places // vocabulary, tokens, scores))

    def _finish(self, rows: list[int], group: int, children: torch.Tensor, ends: torch.Tensor) -> None:
        """Children that end a sentence and rank among the group's best K are done."""
        size, vocabulary = children.shape[1:]
        scores, places = children.flatten(1).topk(size, dim=1)
        hits = ends.flatten(1).gather(1, places) & torch.isfinite(scores)
        for place, rank in hits.nonzero().tolist():
            parent, token = divmod(int(places[place, rank]), vocabulary)
            line = place * self.settings.beams + group * size + parent
            done = self._found(line, [token], float(scores[place, rank]), True)
            self.finished[rows[place]].append(done)

    def _found(self, line: int, added: list[int], score: float, ended: bool) -> Hypothesis:
        tokens = (*self.stream.ids[line, self.width :].tolist(), *added)
        return Hypothesis(tokens, score / max(len(tokens), 1) ** self.settings.length_power, ended)

    def _top(self, row: int) -> Hypothesis:
        return max(self.finished[row], key=lambda found: found.score)

    def _best(self, place: int, row: int) -> Hypothesis:
        """Where no unfinished child is left: the best ended hypothesis, else the best one as it stands."""
        if self.finished[row]:
            return self._top(row)
        scores = self.scores[place].flatten()
        return self._found(place * self.settings.beams + int(scores.argmax()), [], float(scores.max()), False)

    def _best_child(self, row: int, parents: torch.Tensor, tokens: torch.Tensor, scores: torch.Tensor) -> Hypothesis:
        """At the limit: the best ended hypothesis, else the best child."""
        if self.finished[row]:
            return self._top(row)
        best = int(scores.flatten().argmax())
        line, token = int(parents.flatten()[best]), int(tokens.flatten()[best])
        return self._found(line, [token], float(scores.flatten()[best]), False)

    def _keep(self, stays: list[int], parents: torch.Tensor, tokens: torch.Tensor, scores: torch.Tensor) -> None:
        """Children become hypotheses of the prompts that are still searched."""
        if stays:
            kept = torch.tensor(stays, device=parents.device)
            self.scores = scores[kept]
            self.stream.take(parents[kept].flatten())
            self.stream.append(tokens[kept].flatten())
