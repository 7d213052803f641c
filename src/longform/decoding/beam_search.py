r"""Beam search in groups (Vijayakumar et al. 2018) and to a sentence's end, contrastive and delayed search, which ``generate`` lacks.

A hypothesis scores $\sum_t \log p(w_t \mid w_{<t})$ less penalties; finished ones are divided by their tokens, as in fairseq. Contrastive
search (Su et al. 2022, equation 5): $\arg\max_{v \in V^{(k)}} (1 - \alpha)\, p(v \mid x_{<t}) - \alpha \max_{j < t} \cos(h_v, h_{x_j})$. Delayed
search (massarelli2020 section 4): sampled tokens, shared by the beams, then a beam to the sentence's end, where one is committed; again and again.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from longform.decoding import sampling
from longform.decoding.sampling import (
    PAD,
    Rngs,
    Row,
    Rows,
    Sampled,
    SentenceEnds,
    TokenStream,
    check_room,
)
from longform.errors import BadInput


@dataclass(frozen=True)
class Beam:
    """Settings of a search."""

    beams: int  # hypotheses a prompt; 1 is greedy
    groups: int = 1  # they are split into so many groups, which choose one after another
    group_penalty: float = 0.0  # lambda, for each earlier choice of the same token at the same step (Hamming diversity)
    sibling_penalty: float = 0.0  # gamma, times a child's rank among its siblings
    blocking: int = 0  # no n-gram of this size twice, prompt included; 0 blocks nothing

    def __post_init__(self) -> None:
        if self.beams < 1 or self.groups < 1 or self.beams % self.groups:
            raise BadInput(
                f"beam search: {self.beams} beams in {self.groups} groups; allowed is a multiple of groups"
            )
        if min(self.group_penalty, self.sibling_penalty, self.blocking) < 0:
            raise BadInput(
                "beam search: a penalty or the blocking size is below 0; allowed is 0 or more"
            )


@dataclass(frozen=True)
class Hypothesis:
    """The best continuation of a prompt, its score, and whether it ended a sentence."""

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
    """Continue every prompt by ``limits`` tokens (1 or more), or, where ``ends`` is given, to the end of the sentence.

    A search is over when as many hypotheses have ended as there are beams, at its limit, or when blocking leaves no
    token at all. The best ended hypothesis is taken; else the best one alive. Raises BadInput: as :func:`check_room`.
    """
    check_room(network, prompts, limits)
    return (
        search_from(TokenStream(network, prompts), settings, limits, banned, ends)
        if prompts
        else []
    )


def search_from(
    stream: TokenStream,
    settings: Beam,
    limits: Row,
    banned: Row = (),
    ends: SentenceEnds | None = None,
) -> list[Hypothesis]:
    """:func:`beam_search` behind the rows of a stream, which it takes for itself."""
    made: dict[int, Hypothesis] = {}
    rows = list(range(len(stream.ids)))
    search = _Search(stream, settings, banned, ends)
    while rows:
        parents, tokens, scores = search.choose(rows)
        length = search.stream.ids.shape[1] + 1 - search.width
        alive, stays = torch.isfinite(scores).flatten(1).any(1).tolist(), []
        for place, row in enumerate(rows):
            finished = search.finished[row]
            if alive[place] and len(finished) < settings.beams and length < limits[row]:
                stays.append(place)
            elif finished:
                made[row] = max(finished, key=lambda found: found.score)
            elif alive[place]:
                best = int(scores[place].argmax())
                line, token = (
                    int(parents[place].flatten()[best]),
                    int(tokens[place].flatten()[best]),
                )
                made[row] = search.found(line, [token], float(scores[place].flatten()[best]), False)
            else:  # blocking leaves no token: the best one as it stands
                line = place * settings.beams + int(search.scores[place].argmax())
                made[row] = search.found(line, [], float(search.scores[place].max()), False)
        if rows := [rows[place] for place in stays]:
            kept = torch.tensor(stays, device=parents.device)
            search.scores = scores[kept]
            if len(stays) == len(parents):  # beams of a prompt share what stood before the search
                search.stream.reorder(parents.flatten(), search.width)
            else:
                search.stream.take(parents[kept].flatten())
            search.stream.append(tokens[kept].flatten())
    return [made[row] for row in range(len(limits))]


class _Search:
    """State of one batch: N prompts still searched, G groups each, K hypotheses a group."""

    def __init__(self, stream: TokenStream, settings: Beam, banned: Any, ends: Any) -> None:
        self.settings, self.ends, self.size = settings, ends, settings.beams // settings.groups
        self.stream, prompts = stream, len(stream.ids)
        self.width = self.stream.ids.shape[1]
        self.scores = self.stream.logits.new_full((prompts, settings.groups, self.size), -torch.inf)
        self.scores[:, :, 0] = 0.0  # a prompt is one hypothesis before its first token
        self.stream.repeat(settings.beams)
        self.finished: list[list[Hypothesis]] = [[] for _ in range(prompts)]
        self.rules = Sampled(blocking=settings.blocking).rules(banned, device=stream.ids.device)
        if settings.sibling_penalty:
            self.rules.append(
                partial(sampling.sibling_ranks, settings.sibling_penalty, 2 * self.size, self.width)
            )

    def choose(self, rows: list[int]) -> tuple[torch.Tensor, ...]:
        """Parents (rows of the stream), tokens and scores of the next hypotheses, each (N, G, K); children that end a sentence and rank
        among their group's best K are finished."""
        log_probs: Any = self.rules(self.stream.ids, self.stream.logits.log_softmax(-1))
        vocabulary = log_probs.shape[-1]
        log_probs = log_probs.view(*self.scores.shape, vocabulary)
        before = self.stream.ids[:, -1].view(self.scores.shape)
        counts = log_probs.new_zeros(len(rows), vocabulary)
        first = torch.arange(len(rows), device=log_probs.device)[:, None] * self.settings.beams
        kept = []
        for group in range(self.settings.groups):
            fined = log_probs[:, group]
            if self.settings.group_penalty:
                fined = fined - self.settings.group_penalty * counts[:, None]
            children = self.scores[:, group, :, None] + fined
            scores, places = children.flatten(1).topk(self.size, dim=1)
            if self.ends is not None:
                parents, tokens = (
                    before[:, group].gather(1, places // vocabulary),
                    places % vocabulary,
                )
                hits = self.ends.closes(parents, tokens) & torch.isfinite(scores)
                for place, rank in hits.nonzero().tolist():
                    parent, token = divmod(int(places[place, rank]), vocabulary)
                    line = place * self.settings.beams + group * self.size + parent
                    self.finished[rows[place]].append(
                        self.found(line, [token], float(scores[place, rank]), True)
                    )
                again = hits.any(1).nonzero()[
                    :, 0
                ]  # of the others no child among the best ends a sentence
                every = torch.arange(vocabulary, device=places.device)
                closing = self.ends.closes(before[again, group, :, None], every)
                masked = children[again].masked_fill(closing, -torch.inf).flatten(1)
                scores[again], places[again] = masked.topk(self.size, dim=1)
            tokens = places % vocabulary
            counts.scatter_add_(1, tokens, torch.isfinite(scores).to(counts.dtype))
            kept.append((first + group * self.size + places // vocabulary, tokens, scores))
        return tuple(torch.stack(parts, dim=1) for parts in zip(*kept, strict=True))

    def found(self, line: int, added: list[int], score: float, ended: bool) -> Hypothesis:
        """The hypothesis of a row of the stream, with the tokens that are added to it."""
        tokens = (*self.stream.ids[line, self.width :].tolist(), *added)
        return Hypothesis(tokens, score / max(len(tokens), 1), ended)


@dataclass(frozen=True)
class Contrastive:
    """Candidates a step, weight of the penalty, and n-gram blocking."""

    k: int
    alpha: float
    blocking: int = 0

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 <= self.alpha <= 1 or self.blocking < 0:
            raise BadInput(
                f"contrastive search: {self}; allowed are k 1 or more, alpha in [0, 1], blocking 0 or more"
            )


def contrastive_search(
    network: Any, prompts: Rows, settings: Contrastive, new_tokens: int, banned: Row = ()
) -> list[list[int]]:
    """``new_tokens`` tokens after each prompt; fewer where blocking leaves none. Raises BadInput: as :func:`check_room`."""
    check_room(network, prompts, [new_tokens] * len(prompts))
    rules = Sampled(blocking=settings.blocking).rules(banned, device=network.device)
    made: list[list[int]] = [[] for _ in prompts]
    stream = TokenStream(network, prompts, keep_states=True)
    rows = list(range(len(prompts)))
    for _ in range(new_tokens):
        scores: Any = rules(stream.ids, stream.logits.log_softmax(-1))
        open_places = torch.isfinite(scores).any(1).nonzero()[:, 0]
        if not len(open_places):
            break
        rows = [rows[place] for place in open_places.tolist()]
        stream.take(open_places)
        best, tokens = scores[open_places].topk(min(settings.k, scores.shape[1]), dim=1)
        stream.repeat(tokens.shape[1])
        before = stream.ids != PAD
        stream.append(tokens.flatten())
        states = torch.nn.functional.normalize(stream.states, dim=-1)
        likeness = (states[:, :-1] @ states[:, -1:].transpose(1, 2))[..., 0].masked_fill(
            ~before, -1.0
        )
        value = (1 - settings.alpha) * best.exp() - settings.alpha * likeness.amax(1).view_as(best)
        chosen = value.masked_fill(~torch.isfinite(best), -torch.inf).argmax(1)
        stream.take(torch.arange(len(best), device=chosen.device) * tokens.shape[1] + chosen)
        for place, row in enumerate(rows):
            made[row].append(int(stream.ids[place, -1]))
    return made


@dataclass(frozen=True)
class Delayed:
    """L sampled tokens from the best k, then a beam (Table 3: k 100, b 6, L 1)."""

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
    """``new_tokens`` more tokens per prompt, in rounds of one sentence for all prompts that are not full.

    What is committed is read once and kept; a search begins from a copy. A row that blocking leaves without any token ends early.
    """
    check_room(network, prompts, [new_tokens] * len(prompts))
    made: list[list[int]] = [[] for _ in prompts]
    rows = [row for row in range(len(prompts)) if new_tokens > 0]
    stream: Any = TokenStream(network, [prompts[row] for row in rows]) if rows else None
    rules = settings.sampled.rules(banned, device=network.device)
    while rows:
        before = [len(made[row]) for row in rows]
        written = [made[row] for row in rows]
        limits = [min(settings.delay, new_tokens - length) for length in before]
        ended = _sampled_openings(stream, rules, written, limits, [rngs[row] for row in rows], ends)
        # where no sentence has ended yet a search ends it
        going = [
            place for place, own in enumerate(written) if not ended[place] and len(own) < new_tokens
        ]
        committed: list[Row] = [()] * len(rows)
        if going:
            rest = [new_tokens - len(written[place]) for place in going]
            best = search_from(stream.branched(going), settings.beam, rest, banned, ends)
            for place, hypothesis in zip(going, best, strict=True):
                committed[place] = hypothesis.tokens
                written[place].extend(hypothesis.tokens)
        # rows that grew and have room go on behind what they have committed
        stays = [
            place for place, own in enumerate(written) if before[place] < len(own) < new_tokens
        ]
        rows = [rows[place] for place in stays]
        if rows:
            stream.take(torch.tensor(stays, device=stream.ids.device))
            stream.extend([committed[place] for place in stays])
    return made


def _sampled_openings(
    stream: TokenStream,
    rules: Any,
    written: list[list[int]],
    limits: Row,
    rngs: Rngs,
    ends: SentenceEnds,
) -> list[bool]:
    """Add up to ``limits`` sampled tokens to the rows of a stream and to ``written``; whether the last one ended a sentence."""
    ended = [False] * len(written)
    drawing = list(range(len(written)))
    for step in range(max(limits)):
        drawing = [place for place in drawing if limits[place] > step]
        if not drawing:
            break
        chosen = torch.tensor(drawing, device=stream.ids.device)
        drawn = sampling.draws(
            rules(stream.ids[chosen], stream.logits[chosen]), [rngs[place] for place in drawing]
        )
        tokens = torch.from_numpy(drawn.clip(0)).to(stream.ids.device)
        closes = ends.closes(stream.ids[chosen, -1], tokens).tolist()
        added: list[Row] = [()] * len(written)
        still = []
        for place, token, closing in zip(drawing, drawn.tolist(), closes, strict=True):
            if token < 0:  # every token is blocked: the row stays as it is
                continue
            added[place] = [token]
            written[place].append(token)
            ended[place] = closing
            if not closing:
                still.append(place)
        stream.extend(added)
        drawing = still
    return ended
