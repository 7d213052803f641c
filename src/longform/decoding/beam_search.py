r"""Beam search in groups (Vijayakumar et al. 2018) and to a sentence's end, contrastive and delayed search, which ``generate`` lacks.

A hypothesis scores $\sum_t \log p(w_t \mid w_{<t})$ less penalties; finished ones are divided by (tokens)^alpha. Contrastive search (Su et al.
2022, equation 5): $\arg\max_{v \in V^{(k)}} (1 - \alpha)\, p(v \mid x_{<t}) - \alpha \max_{j < t} \cos(h_v, h_{x_j})$. Delayed search (massarelli2020
section 4): sampled tokens, shared by the beams, then a beam to the sentence's end, where one is committed; again and again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from longform.core.documents import BadInput
from longform.decoding.sampling import PAD, Sampled, SentenceEnds, SiblingRanks, TokenStream, check_room, sample


@dataclass(frozen=True)
class Beam:
    """Settings of a search.

    Attributes:
        beams: hypotheses a prompt; 1 is greedy.
        groups: they are split into so many groups, which choose one after another.
        group_penalty: lambda, for each earlier choice of the same token at the same step (Hamming diversity).
        sibling_penalty: gamma, times a child's rank among its siblings.
        blocking: no n-gram of this size twice, prompt included; 0 blocks nothing.
        length_power: alpha of finished hypotheses (fairseq: 1).
    """

    beams: int
    groups: int = 1
    group_penalty: float = 0.0
    sibling_penalty: float = 0.0
    blocking: int = 0
    length_power: float = 1.0

    def __post_init__(self) -> None:
        if self.beams < 1 or self.groups < 1 or self.beams % self.groups:
            raise BadInput(f"beam search: {self.beams} beams in {self.groups} groups; allowed is a multiple of groups")
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

    Raises BadInput: an empty prompt, or one that does not fit the window together with its limit.
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
        self.rules = Sampled(blocking=settings.blocking).rules(banned, device=network.device)
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
        log_probs: Any = self.rules(self.stream.ids, self.stream.log_probs())
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
        rows, size, vocabulary = children.shape
        scores, places = children.flatten(1).topk(size, dim=1)
        tokens = places % vocabulary
        counts.scatter_add_(2, tokens[:, None], torch.isfinite(scores).to(counts.dtype)[:, None])
        base = torch.arange(rows, device=places.device)[:, None] * self.settings.beams + group * size
        return base + places // vocabulary, tokens, scores

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
        if self.finished[row]:
            return self._top(row)
        best = int(scores.flatten().argmax())
        line, token = int(parents.flatten()[best]), int(tokens.flatten()[best])
        return self._found(line, [token], float(scores.flatten()[best]), False)

    def _keep(self, stays: list[int], parents: torch.Tensor, tokens: torch.Tensor, scores: torch.Tensor) -> None:
        if stays:
            kept = torch.tensor(stays, device=parents.device)
            self.scores = scores[kept]
            self.stream.take(parents[kept].flatten())
            self.stream.append(tokens[kept].flatten())


@dataclass(frozen=True)
class Contrastive:
    """Candidates a step, weight of the penalty, and n-gram blocking."""

    k: int
    alpha: float
    blocking: int = 0

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 <= self.alpha <= 1 or self.blocking < 0:
            raise BadInput(f"contrastive search: {self}; allowed are k 1 or more, alpha in [0, 1], blocking 0 or more")


def contrastive_search(
    network: Any, prompts: Sequence[Sequence[int]], settings: Contrastive, new_tokens: int, banned: Sequence[int] = ()
) -> list[list[int]]:
    """``new_tokens`` tokens after each prompt; fewer where blocking leaves none.

    Raises BadInput: a prompt is empty or does not fit the window.
    """
    check_room(network, prompts, new_tokens)
    rules = Sampled(blocking=settings.blocking).rules(banned, device=network.device)
    made: list[list[int]] = [[] for _ in prompts]
    stream = TokenStream(network, prompts, keep_states=True)
    rows = list(range(len(prompts)))
    for _ in range(new_tokens):
        scores: Any = rules(stream.ids, stream.log_probs())
        open_places = torch.isfinite(scores).any(1).nonzero()[:, 0]
        if not len(open_places):
            break
        rows = [rows[place] for place in open_places.tolist()]
        stream.take(open_places)
        _step(stream, scores[open_places], settings)
        for place, row in enumerate(rows):
            made[row].append(int(stream.ids[place, -1]))
    return made


def _step(stream: TokenStream, scores: torch.Tensor, settings: Contrastive) -> None:
    best, tokens = scores.topk(min(settings.k, scores.shape[1]), dim=1)
    stream.repeat(tokens.shape[1])
    before = stream.ids != PAD
    stream.append(tokens.flatten())
    states = torch.nn.functional.normalize(stream.states, dim=-1)
    likeness = (states[:, :-1] @ states[:, -1:].transpose(1, 2))[..., 0].masked_fill(~before, -1.0)
    penalty = likeness.amax(1).view_as(best)
    value = (1 - settings.alpha) * best.exp() - settings.alpha * penalty
    chosen = value.masked_fill(~torch.isfinite(best), -torch.inf).argmax(1)
    stream.take(torch.arange(len(best), device=chosen.device) * tokens.shape[1] + chosen)


@dataclass(frozen=True)
class Delayed:
    """Settings of delayed beam search: L sampled tokens from the best k, then a beam (Table 3: k 100, b 6, L 1)."""

    sampled: Sampled
    beam: Beam
    delay: int

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise BadInput(f"delayed beam search: delay is {self.delay}, allowed is 0 or more")


def delayed(
    network: Any,
    prompts: Sequence[Sequence[int]],
    settings: Delayed,
    new_tokens: int,
    rngs: Sequence[np.random.Generator],
    ends: SentenceEnds,
    banned: Sequence[int] = (),
) -> list[list[int]]:
    """``new_tokens`` more tokens per prompt, in rounds of one sentence for all prompts that are not full.

    A round reads its contexts anew. A row that blocking leaves without any token ends early.
    """
    check_room(network, prompts, new_tokens)
    made: list[list[int]] = [[] for _ in prompts]
    rows = [row for row in range(len(prompts)) if new_tokens > 0]
    while rows:
        before = {row: len(made[row]) for row in rows}
        contexts = [[*prompts[row], *made[row]] for row in rows]
        limits = [min(settings.delay, new_tokens - before[row]) for row in rows]
        drawn = sample(network, contexts, settings.sampled, limits, [rngs[row] for row in rows], banned, ends)
        for row, (tokens, _) in zip(rows, drawn, strict=True):
            made[row] += tokens
        going = [row for row, (_, ended) in zip(rows, drawn, strict=True) if not ended and len(made[row]) < new_tokens]
        texts, limits = [[*prompts[row], *made[row]] for row in going], [new_tokens - len(made[row]) for row in going]
        for row, best in zip(going, beam_search(network, texts, settings.beam, limits, banned, ends), strict=True):
            made[row] += best.tokens
        rows = [row for row in rows if before[row] < len(made[row]) < new_tokens]
    return made
