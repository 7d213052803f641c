r"""Searches that ``generate`` lacks.

Beam search in groups (Vijayakumar et al. 2018) and to a sentence's end: a hypothesis scores
$\sum_t \log p(w_t \mid w_{<t})$ less penalties; finished ones are divided by their tokens, as in
fairseq. Contrastive search (Su et al. 2022, equation 5):
$\arg\max_{v \in V^{(k)}} (1 - \alpha)\, p(v \mid x_{<t}) - \alpha \max_{j < t} \cos(h_v, h_{x_j})$.
Delayed search (massarelli2020 section 4): sampled tokens, shared by the beams, then a beam to the
sentence's end, where one is committed; again and again.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from longform.decoding.sampling import (
    PAD,
    Rngs,
    Row,
    Rows,
    Sampled,
    SentenceEnds,
    TokenStream,
    check_room,
    draws,
    sibling_ranks,
)
from longform.errors import BadInput


@dataclass(frozen=True)
class Beam:
    """Settings of a search.

    Attributes:
        beams: hypotheses a prompt; 1 is greedy.
        groups: number of groups of beams, which choose their tokens one after another.
        group_penalty: lambda, nats for each earlier choice of the same token at the same step
            (Hamming diversity).
        sibling_penalty: gamma, nats for each rank of a child among its siblings.
        blocking: no n-gram of this size twice, prompt included; 0 blocks nothing.
    """

    beams: int
    groups: int = 1
    group_penalty: float = 0.0
    sibling_penalty: float = 0.0
    blocking: int = 0

    def __post_init__(self) -> None:
        if self.beams < 1 or self.groups < 1 or self.beams % self.groups:
            raise BadInput(
                f"beam search: {self.beams} beams in {self.groups} groups; "
                "allowed is a multiple of groups"
            )
        penalties = (self.group_penalty, self.sibling_penalty)
        finite = all(0 <= penalty < math.inf for penalty in penalties)
        if not finite or self.blocking < 0:
            raise BadInput(
                f"beam search: {self}; allowed are finite penalties and blocking of 0 or more"
            )


@dataclass(frozen=True)
class Hypothesis:
    """A continuation of a prompt; its log-probability less penalties, per token; whether it ended.

    It has ended if its last token ends a sentence.
    """

    tokens: tuple[int, ...]
    score: float
    ended: bool


def beam_search(
    network: Any,
    prompts: Rows,
    settings: Beam,
    limits: Row,
    banned: Row = (),
    ends: SentenceEnds | None = None,
) -> list[Hypothesis]:
    """Continue every prompt by ``limits`` tokens, or to the end of the sentence.

    A search is over when as many hypotheses have ended as there are beams, at its limit, or when
    blocking leaves no token at all. The best ended hypothesis is taken; else the best one alive.

    Args:
        network: causal language model.
        prompts: tokens of each row, one or more.
        settings: of the search.
        limits: most new tokens of each row, 1 or more.
        banned: tokens that are never chosen.
        ends: which tokens end a sentence; with it a search stops there.

    Raises:
        BadInput: as :func:`check_room`.
    """
    check_room(network, prompts, limits)
    if not prompts:
        return []
    return search_from(TokenStream(network, prompts), settings, limits, banned, ends)


def search_from(
    stream: TokenStream,
    settings: Beam,
    limits: Row,
    banned: Row = (),
    ends: SentenceEnds | None = None,
) -> list[Hypothesis]:
    """As :func:`beam_search`, from prompts that a stream has read.

    Args:
        stream: the prompts; the search changes it.
        settings, limits, banned, ends: as in :func:`beam_search`.

    Returns:
        The best hypothesis of each row: a finished one, else the best at the limit.
    """
    results: dict[int, Hypothesis] = {}
    rows = list(range(len(stream.ids)))
    search = _Search(stream, settings, banned, ends)
    while rows:
        # 1. The next hypotheses of each prompt still searched.
        parents, tokens, scores = search.choose(rows)
        length = search.stream.ids.shape[1] + 1 - search.width  # new tokens, with this one
        is_alive = torch.isfinite(scores).flatten(1).any(1).tolist()
        # 2. The prompts whose search is over.
        stays = []
        for i, row in enumerate(rows):
            finished = search.finished[row]
            if is_alive[i] and len(finished) < settings.beams and length < limits[row]:
                stays.append(i)
            elif finished:
                results[row] = max(finished, key=lambda hypothesis: hypothesis.score)
            elif is_alive[i]:
                best = int(scores[i].argmax())
                line = int(parents[i].flatten()[best])
                token = int(tokens[i].flatten()[best])
                score = float(scores[i].flatten()[best])
                results[row] = search.hypothesis(line, [token], score, ended=False)
            else:
                # Blocking leaves no token: the best hypothesis of the step before.
                line = i * settings.beams + int(search.scores[i].argmax())
                best_score = float(search.scores[i].max())
                results[row] = search.hypothesis(line, [], best_score, ended=False)
        # 3. The others read their new tokens.
        rows = [rows[i] for i in stays]
        if rows:
            going_on = torch.tensor(stays, device=parents.device)
            search.scores = scores[going_on]
            if len(stays) == len(parents):
                # The beams of a prompt share what stood before the search.
                search.stream.reorder(parents.flatten(), search.width)
            else:
                search.stream.take(parents[going_on].flatten())
            search.stream.append(tokens[going_on].flatten())
    return [results[row] for row in range(len(limits))]


class _Search:
    """State of one batch: N prompts still searched, G groups each, K hypotheses a group.

    Row ``(n * G + g) * K + k`` of the stream is hypothesis k of group g of prompt n.

    Attributes:
        scores: log-probability less penalties of each hypothesis, nats, (N, G, K).
        width: number of tokens before the search.
        finished: for each prompt of the batch, the hypotheses that have ended a sentence.
        rules: blocking and sibling penalties, as functions on scores.
    """

    def __init__(self, stream: TokenStream, settings: Beam, banned: Any, ends: Any) -> None:
        self.settings, self.ends = settings, ends
        self.size = settings.beams // settings.groups
        self.stream = stream
        num_prompts = len(stream.ids)
        self.width = stream.ids.shape[1]
        # A prompt is one hypothesis before its first token.
        shape = (num_prompts, settings.groups, self.size)
        self.scores = stream.logits.new_full(shape, -torch.inf)
        self.scores[:, :, 0] = 0.0
        stream.repeat(settings.beams)
        self.finished: list[list[Hypothesis]] = [[] for _ in range(num_prompts)]
        self.rules = Sampled(blocking=settings.blocking).rules(banned, device=stream.ids.device)
        if settings.sibling_penalty:
            num_children = 2 * self.size
            self.rules.append(
                partial(sibling_ranks, settings.sibling_penalty, num_children, self.width)
            )

    def choose(self, rows: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Choose the next hypotheses.

        Children that end a sentence and rank among their group's best K go to ``finished``.

        Args:
            rows: indices of the prompts still searched, (N,).

        Returns:
            Parents (rows of the stream), tokens and scores, each (N, G, K).
        """
        log_probs: Any = self.rules(self.stream.ids, self.stream.logits.log_softmax(-1))
        vocabulary = log_probs.shape[-1]
        log_probs = log_probs.view(*self.scores.shape, vocabulary)
        # How often the groups before have chosen each token at this step.
        counts = log_probs.new_zeros(len(rows), vocabulary)
        first = torch.arange(len(rows), device=log_probs.device)[:, None] * self.settings.beams
        parents_of, tokens_of, scores_of = [], [], []
        for group in range(self.settings.groups):
            # 1. The best K children of the group.
            penalised = log_probs[:, group]
            if self.settings.group_penalty:
                penalised = penalised - self.settings.group_penalty * counts[:, None]
            children = self.scores[:, group, :, None] + penalised
            scores, choices = children.flatten(1).topk(self.size, dim=1)
            # 2. Those that end a sentence make room for others.
            if self.ends is not None:
                self._finish(rows, group, children, scores, choices)
            tokens = choices % vocabulary
            counts.scatter_add_(1, tokens, torch.isfinite(scores).to(counts.dtype))
            parents_of.append(first + group * self.size + choices // vocabulary)
            tokens_of.append(tokens)
            scores_of.append(scores)
        return (
            torch.stack(parents_of, dim=1),
            torch.stack(tokens_of, dim=1),
            torch.stack(scores_of, dim=1),
        )

    def _finish(
        self, rows: list[int], group: int, children: Tensor, scores: Tensor, choices: Tensor
    ) -> None:
        """Replace the children that end a sentence in a group's choice by the next best others.

        Args:
            rows: indices of the prompts still searched, (N,).
            group: number of the group.
            children: scores of all children, (N, K, vocabulary).
            scores, choices: the best K scores, and their indices in the flattened (K, vocabulary),
                (N, K); changed in place.
        """
        vocabulary = children.shape[-1]
        before = self.stream.ids[:, -1].view(self.scores.shape)[:, group]
        last_tokens = before.gather(1, choices // vocabulary)
        closes = self.ends.closes(last_tokens, choices % vocabulary)
        hits = closes & torch.isfinite(scores)
        for i, rank in hits.nonzero().tolist():
            parent, token = divmod(int(choices[i, rank]), vocabulary)
            line = i * self.settings.beams + group * self.size + parent
            hypothesis = self.hypothesis(line, [token], float(scores[i, rank]), ended=True)
            self.finished[rows[i]].append(hypothesis)
        # Choose again; of the other prompts no child among the best ends a sentence.
        again = hits.any(1).nonzero()[:, 0]
        every = torch.arange(vocabulary, device=choices.device)
        closing = self.ends.closes(before[again, :, None], every)
        unended = children[again].masked_fill(closing, -torch.inf).flatten(1)
        scores[again], choices[again] = unended.topk(self.size, dim=1)

    def hypothesis(self, line: int, added: list[int], score: float, ended: bool) -> Hypothesis:
        """The hypothesis of row ``line`` of the stream with added tokens, its score a token."""
        tokens = (*self.stream.ids[line, self.width :].tolist(), *added)
        return Hypothesis(tokens, score / max(len(tokens), 1), ended)


@dataclass(frozen=True)
class Contrastive:
    """Settings: candidates k a step, weight alpha of the penalty, and n-gram blocking."""

    k: int
    alpha: float
    blocking: int = 0

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 <= self.alpha <= 1 or self.blocking < 0:
            raise BadInput(
                f"contrastive search: {self}; allowed are k 1 or more, alpha in [0, 1], "
                "blocking 0 or more"
            )


def contrastive_search(
    network: Any, prompts: Rows, settings: Contrastive, new_tokens: int, banned: Row = ()
) -> list[list[int]]:
    """Continue each prompt by ``new_tokens`` tokens; by fewer where blocking leaves none.

    Args:
        network: the language model.
        prompts: token ids of each row.
        settings: of the search.
        new_tokens: number of new tokens.
        banned: tokens that are never chosen.

    Raises:
        BadInput: as :func:`check_room`.
    """
    check_room(network, prompts, [new_tokens] * len(prompts))
    rules = Sampled(blocking=settings.blocking).rules(banned, device=network.device)
    texts: list[list[int]] = [[] for _ in prompts]
    stream = TokenStream(network, prompts, keep_states=True)
    rows = list(range(len(prompts)))
    for _ in range(new_tokens):
        # 1. Rows that blocking leaves a token.
        scores: Any = rules(stream.ids, stream.logits.log_softmax(-1))
        is_open = torch.isfinite(scores).any(1).nonzero()[:, 0]
        if not len(is_open):
            break
        rows = [rows[i] for i in is_open.tolist()]
        stream.take(is_open)
        # 2. Read each of the best k candidates behind its row.
        best, tokens = scores[is_open].topk(min(settings.k, scores.shape[1]), dim=1)
        num_candidates = tokens.shape[1]
        stream.repeat(num_candidates)
        before = stream.ids != PAD
        stream.append(tokens.flatten())
        # 3. Each candidate's largest cosine with the states before it, padding left out.
        states = torch.nn.functional.normalize(stream.states, dim=-1)
        cosines = (states[:, :-1] @ states[:, -1:].transpose(1, 2))[..., 0]
        penalties = cosines.masked_fill(~before, -1.0).amax(1).view_as(best)
        # 4. Keep the best candidate of each row.
        values = (1 - settings.alpha) * best.exp() - settings.alpha * penalties
        chosen = values.masked_fill(~torch.isfinite(best), -torch.inf).argmax(1)
        first = torch.arange(len(best), device=chosen.device) * num_candidates
        stream.take(first + chosen)
        for i, row in enumerate(rows):
            texts[row].append(int(stream.ids[i, -1]))
    return texts


@dataclass(frozen=True)
class Delayed:
    """Settings: ``delay`` sampled tokens, then a beam (Table 3: k 100, b 6, L 1)."""

    sampled: Sampled
    beam: Beam
    delay: int

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise BadInput(f"delayed beam search: delay is {self.delay}, allowed is 0 or more")


def delayed(
    network: Any,
    prompts: Rows,
    settings: Delayed,
    new_tokens: int,
    rngs: Rngs,
    ends: SentenceEnds,
    banned: Row = (),
) -> list[list[int]]:
    """Continue each prompt by ``new_tokens`` tokens, in rounds of one sentence for all rows.

    Committed tokens are read once; a search begins from a copy of the stream. A row that blocking
    leaves without any token ends early.

    Args:
        network: the language model.
        prompts: token ids of each row.
        settings: of sampled openings and of searches.
        new_tokens: number of new tokens of each row.
        rngs: a random generator for each row.
        ends: which tokens end a sentence.
        banned: tokens that are never chosen.
    """
    check_room(network, prompts, [new_tokens] * len(prompts))
    texts: list[list[int]] = [[] for _ in prompts]
    rows = [row for row in range(len(prompts)) if new_tokens > 0]
    stream: Any = TokenStream(network, [prompts[row] for row in rows]) if rows else None
    rules = settings.sampled.rules(banned, device=network.device)
    while rows:
        row_texts = [texts[row] for row in rows]
        lengths = [len(text) for text in row_texts]
        # 1. Sample the openings.
        limits = [min(settings.delay, new_tokens - length) for length in lengths]
        row_rngs = [rngs[row] for row in rows]
        ended = _sampled_openings(stream, rules, row_texts, limits, row_rngs, ends)
        # 2. Where no sentence has ended yet a search ends it.
        searched = []
        rest = []
        for i, text in enumerate(row_texts):
            if not ended[i] and len(text) < new_tokens:
                searched.append(i)
                rest.append(new_tokens - len(text))
        committed: list[Row] = [()] * len(rows)
        if searched:
            branch = stream.branched(searched)
            best = search_from(branch, settings.beam, rest, banned, ends)
            for i, hypothesis in zip(searched, best, strict=True):
                committed[i] = hypothesis.tokens
                row_texts[i].extend(hypothesis.tokens)
        # 3. Rows that grew and have room go on behind what they have committed.
        stays = []
        for i, text in enumerate(row_texts):
            if lengths[i] < len(text) < new_tokens:
                stays.append(i)
        rows = [rows[i] for i in stays]
        if rows:
            stream.take(torch.tensor(stays, device=stream.ids.device))
            stream.extend([committed[i] for i in stays])
    return texts


def _sampled_openings(
    stream: TokenStream,
    rules: Any,
    texts: list[list[int]],
    limits: Row,
    rngs: Rngs,
    ends: SentenceEnds,
) -> list[bool]:
    """Add sampled tokens to the rows of a stream and to ``texts``, up to the end of a sentence.

    Args:
        stream: the rows.
        rules: functions on scores, such as blocking and truncation.
        texts: new tokens of each row; added to in place.
        limits: most tokens that each row gets here.
        rngs: a random generator for each row.
        ends: which tokens end a sentence.

    Returns:
        Whether the last token of each row ended a sentence.
    """
    ended = [False] * len(texts)
    going_on = list(range(len(texts)))
    for step in range(max(limits)):
        going_on = [row for row in going_on if limits[row] > step]
        if not going_on:
            break
        # 1. Draw a token for each row that goes on.
        chosen = torch.tensor(going_on, device=stream.ids.device)
        scores = rules(stream.ids[chosen], stream.logits[chosen])
        drawn_tokens = draws(scores, [rngs[row] for row in going_on])
        on_device = torch.from_numpy(drawn_tokens.clip(0)).to(stream.ids.device)
        closes = ends.closes(stream.ids[chosen, -1], on_device).tolist()
        # 2. Add it, unless every token is blocked: then the row stays as it is.
        added: list[Row] = [()] * len(texts)
        unended = []
        for row, token, closing in zip(going_on, drawn_tokens.tolist(), closes, strict=True):
            if token < 0:
                continue
            added[row] = [token]
            texts[row].append(token)
            ended[row] = closing
            if not closing:
                unended.append(row)
        stream.extend(added)
        going_on = unended
    return ended
