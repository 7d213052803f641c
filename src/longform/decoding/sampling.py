"""Sampling the next token: growing rows with their cache, rules on scores, and draws.

Every row has its own random generator: with one for all rows, as ``generate`` of transformers has,
a text would change with its batch. A rule maps ``input_ids`` and ``scores``, a row per hypothesis,
to scores, as the processors of ``generate`` do.
"""

import copy
import inspect
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer

from longform.errors import BadInput
from longform.language_models import capacity
from longform.language_models.tokenizers import padded

# fills a short row of ``ids`` on the left; no vocabulary has it, so no rule takes it for a token
PAD = -1
Row = Sequence[int]  # token ids, or a number for each row
Rows = Sequence[Row]
Rngs = Sequence[np.random.Generator]


def check_room(network: Any, prompts: Rows, limits: Row) -> None:
    """Check that each prompt has a token and fits the window together with its new tokens.

    Args:
        network: the language model.
        prompts: token ids of each row.
        limits: number of new tokens of each row.

    Raises:
        BadInput: one does not.
    """
    window = capacity.positions(network)
    for row, (prompt, new_tokens) in enumerate(zip(prompts, limits, strict=True)):
        if not len(prompt):
            raise BadInput(
                f"prompt {row} has no token; at least one is needed, begin it with the end token"
            )
        if window is not None and len(prompt) + new_tokens > window:
            raise BadInput(
                f"prompt {row} has {len(prompt)} tokens and {new_tokens} are to follow, "
                f"the model's window is {window}; shorten the prefix or write less"
            )


# a larger buffer of one layer's keys has no spare, lest a long text be in memory twice
SPARE_BYTES = 2**26


class GrowingLayer(DynamicLayer):
    """Keys and values of one layer in buffers with room for tokens to come.

    A step writes its own position, where ``DynamicLayer`` copies all positions before it. Arrays
    are (rows, heads, positions, dims).
    """

    def __init__(self) -> None:
        """A layer without tokens; the three mappings have the names "keys" and "values"."""
        super().__init__()
        # 1. Current buffers: ``self.keys`` and ``self.values`` are views of their first positions.
        self._rooms: dict[str, Tensor] = {}
        # 2. Former buffers, which the next new one is taken from: memory for choosing rows anew.
        self._spare: dict[str, Tensor] = {}
        # 3. For :meth:`reorder`, as beam search calls it each step: a second buffer, the current
        # one that it belongs to, and how many first positions both have equal. Only later positions
        # are copied, from one to the other, and the two change places.
        self._twins: dict[str, tuple[Tensor, Tensor, int]] = {}

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append states (rows, heads, new tokens, dims); returns all so far."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = self._grown("keys", key_states)
        self.values = self._grown("values", value_states)
        return self.keys, self.values

    def _grown(self, name: str, new: Tensor) -> Tensor:
        """Append new states to the keys or values; in a larger buffer where they do not fit.

        Args:
            name: "keys" or "values".
            new: (rows, heads, new tokens, dims).
        """
        current = getattr(self, name)
        room = self._rooms.get(name)
        before = current.shape[2] if current.numel() else 0
        after = before + new.shape[2]
        if room is None or room.data_ptr() != current.data_ptr() or room.shape[2] < after:
            room = self._room(name, new, len(new), after)
            if before:
                room[:, :, :before] = current
        room[:, :, before:after] = new
        return room[:, :, :after]

    def _room(self, name: str, like: Tensor, rows: int, positions: int) -> Tensor:
        """Set and return a buffer for keys or values: the spare one if it is large enough.

        It has room for more positions, and the heads, dims and dtype of ``like``.
        """
        spare = self._spare.pop(name, None)
        if name in self._rooms and self._rooms[name].nbytes < SPARE_BYTES:
            self._spare[name] = self._rooms[name]
        if spare is None or len(spare) < rows or spare.shape[2] <= positions:
            num_positions = positions + positions // 2 + 32
            spare = like.new_empty(rows, like.shape[1], num_positions, like.shape[3])
        self._rooms[name] = spare[:rows]
        return self._rooms[name]

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the named rows, in room for tokens to come, where ``DynamicLayer`` leaves none."""
        if not self.get_seq_length():
            return
        for name in ("keys", "values"):
            current = getattr(self, name)
            positions = current.shape[2]
            room = self._room(name, current, len(indices), positions)
            selected = torch.index_select(current, 0, indices, out=room[:, :, :positions])
            setattr(self, name, selected)

    def reorder(self, rows: Tensor, since: int) -> None:
        """Replace row i by row ``rows[i]``, which equals it before position ``since``.

        Only later positions are copied, from one of two buffers to the other in turn; both hold the
        positions before ``since``.
        """
        for name in ("keys", "values"):
            current, room = getattr(self, name), self._rooms[name]
            positions = current.shape[2]
            # A large buffer has no twin: positions from ``since`` on are copied within it.
            if room.nbytes >= SPARE_BYTES or room.data_ptr() != current.data_ptr():
                current[:, :, since:] = current[:, :, since:].index_select(0, rows)
                continue
            twin, partner, equal = self._twins.get(name, (room, None, -1))
            if partner is not room or equal != since:
                twin = torch.empty_like(room)
                twin[:, :, :since] = current[:, :, :since]
            out = twin[:, :, since:positions]
            torch.index_select(current[:, :, since:], 0, rows, out=out)
            self._rooms[name] = twin
            self._twins[name] = (room, twin, since)
            setattr(self, name, twin[:, :, :positions])

    def join(self, other: "GrowingLayer") -> None:
        """Append the rows of another layer; shorter rows are padded with zeros on their left."""
        for name in ("keys", "values"):
            mine, theirs = getattr(self, name), getattr(other, name)
            positions = max(mine.shape[2], theirs.shape[2])
            rows = len(mine)
            room = self._room(name, mine, rows + len(theirs), positions)
            for part, states in ((room[:rows], mine), (room[rows:], theirs)):
                num_zeros = positions - states.shape[2]
                part[:, :, :num_zeros] = 0
                part[:, :, num_zeros:positions] = states
            setattr(self, name, room[:, :, :positions])

    def drop_places(self, count: int) -> None:
        """Drop the first ``count`` positions of all rows."""
        for name in ("keys", "values"):
            setattr(self, name, getattr(self, name)[:, :, count:])

    def take_places(self, order: Tensor) -> None:
        """Replace position j of row i by its position ``order[i, j]``; int64 (rows, positions)."""
        rows, positions = order.shape
        for name in ("keys", "values"):
            current = getattr(self, name)
            room = self._room(name, current, rows, positions)
            index = order[:, None, :, None]
            index = index.expand(-1, current.shape[1], -1, current.shape[3])
            room[:, :, :positions] = current.gather(2, index)
            setattr(self, name, room[:, :, :positions])


def growing_cache(network: Any) -> DynamicCache:
    """An empty cache with growing layers, whose results equal the network's own bit for bit.

    Layers of other kinds (sliding windows) stay as they are.
    """
    cache = DynamicCache(config=network.config)
    for number, layer in enumerate(cache.layers):
        if type(layer) is DynamicLayer:
            cache.layers[number] = GrowingLayer()
    return cache


class TokenStream:
    """A batch of growing texts, a row each, that a network reads token by token.

    Attributes:
        ids: int64 (rows, tokens so far), ``PAD`` on the left.
        logits: of the next token, at least float32 (rows, vocabulary).
        states: hidden states of the last layer if ``keep_states``, (rows, tokens so far, dims).
    """

    def __init__(self, network: Any, prompts: Rows, keep_states: bool = False) -> None:
        self.network, self.keep_states = network, keep_states
        self.ids: Any = padded(prompts, PAD, "left").to(network.device)
        # Logits of the last token alone, where the network can leave out the others.
        self._extra: dict[str, int] = {}
        if "logits_to_keep" in inspect.signature(network.forward).parameters:
            self._extra = {"logits_to_keep": 1}
        self._cache: Any = growing_cache(network)
        self.states: Any = torch.zeros(len(prompts), 0, 1, device=network.device)
        self._forward(self.ids.clamp(min=0))

    @torch.no_grad()
    def _forward(self, feed: Tensor) -> None:
        """Read the last tokens of ``ids``, which are not cached yet; set ``logits``, ``states``.

        Args:
            feed: these tokens, with 0 for padding, int64 (rows, new tokens).
        """
        mask = (self.ids != PAD).long()
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        output = self.network(
            input_ids=feed,
            attention_mask=mask,
            position_ids=positions[:, -feed.shape[1] :],
            past_key_values=self._cache,
            use_cache=True,
            output_hidden_states=self.keep_states,
            **self._extra,
        )
        if self.keep_states:
            new = output.hidden_states[-1]
            if self.states.shape[1]:
                new = torch.cat([self.states, new], dim=1)
            self.states = new
        last = output.logits[:, -1]
        self.logits: Any = last.to(torch.promote_types(last.dtype, torch.float32))

    def repeat(self, times: int) -> None:
        """Replace every row by ``times`` copies of it, side by side."""
        if times > 1:
            self._cache.batch_repeat_interleave(times)
            self.ids = self.ids.repeat_interleave(times, 0)
            self.logits = self.logits.repeat_interleave(times, 0)
            self.states = self.states.repeat_interleave(times, 0)

    def take(self, rows: Tensor) -> None:
        """Replace the rows by those of these indices; no copy where that changes nothing."""
        in_order = torch.arange(len(rows), device=rows.device)
        if len(rows) == len(self.ids) and bool((rows == in_order).all()):
            return
        self._cache.batch_select_indices(rows)
        self.ids = self.ids[rows]
        self.logits = self.logits[rows]
        self.states = self.states[rows]

    def branched(self, rows: Row) -> "TokenStream":
        """A new stream with copies of the rows of these indices; this one stays as it is."""
        branch = copy.copy(self)
        branch._cache = copy.deepcopy(self._cache)
        branch.take(torch.tensor(rows, device=self.ids.device))
        return branch

    def reorder(self, rows: Tensor, since: int) -> None:
        """Replace row i by row ``rows[i]``, which equals it before position ``since``.

        ``logits`` stay as they are: :meth:`append` must come next.
        """
        if not all(isinstance(layer, GrowingLayer) for layer in self._cache.layers):
            return self.take(rows)
        for layer in self._cache.layers:
            layer.reorder(rows, since)
        self.ids[:, since:] = self.ids[rows, since:]

    def extend(self, added: Rows) -> None:
        """Append some tokens to each row and read them at once; ``states`` are not updated.

        A row that gets fewer than another reads its own last ones again, so that no padding stands
        within a row.

        Args:
            added: new tokens of each row, none or more.
        """
        new = padded(added, PAD, "left").to(self.ids.device)
        width, before = new.shape[1], self.ids.shape[1]
        if not width:
            return
        # 1. Move each row's padding to its left, and drop what all rows have of it.
        ids = torch.cat([self.ids, new], dim=1)
        is_token = ids != PAD
        order = is_token.to(torch.uint8).argsort(dim=1, stable=True)
        order = order[:, int((~is_token).sum(1).min()) :]
        self.ids = ids.gather(1, order)
        # 2. Move what the cache holds likewise; padding may stand anywhere.
        num_cached = order.shape[1] - width
        cached = order[:, :num_cached].clamp(max=before - 1)
        unmoved = torch.arange(before, device=cached.device)[:num_cached]
        if not all(isinstance(layer, GrowingLayer) for layer in self._cache.layers):
            # A window that slides has dropped positions: all is read anew.
            self._cache = growing_cache(self.network)
            width = self.ids.shape[1]
        elif not (cached == unmoved).all() or num_cached < before:
            for layer in self._cache.layers:
                layer.take_places(cached)
        # 3. Read the new positions.
        self._forward(self.ids[:, -width:].clamp(min=0))

    def append(self, tokens: Tensor) -> None:
        """Append one token to every row and read it; int64 (rows,)."""
        self.ids = torch.cat([self.ids, tokens[:, None]], dim=1)
        self._forward(tokens[:, None])


def block_repeats(n: int, pad: int, input_ids: Tensor, scores: Tensor) -> Tensor:
    """Rule: ban tokens that would repeat an n-gram of their row, prompt included.

    Paulus, Xiong and Socher 2018, section 2.5. Where ``no_repeat_ngram_size`` of ``transformers``
    takes padding for text, here no n-gram holds ``pad``.

    Args:
        n: tokens of an n-gram.
        pad: id that fills a short row on the left.
        input_ids: int64 (rows, tokens so far).
        scores: (rows, vocabulary).
    """
    if input_ids.shape[1] < n:
        return scores
    # A window whose first n - 1 tokens are the row's last ones: its n-th would repeat it.
    windows = input_ids.unfold(1, n, 1)  # (rows, positions, n)
    ending = input_ids[:, None, input_ids.shape[1] - n + 1 :]
    is_repeat = (windows[:, :, :-1] == ending).all(-1)
    is_text = (windows != pad).all(-1)
    rows, positions = (is_repeat & is_text).nonzero(as_tuple=True)
    scores = scores.clone()
    scores[rows, windows[rows, positions, -1]] = -torch.inf
    return scores


def sibling_ranks(
    penalty: float, num_children: int, prompt_tokens: int, input_ids: Tensor, scores: Tensor
) -> Tensor:
    """Rule: subtract ``penalty`` times a token's rank among the tokens of its row.

    Li, Monroe and Jurafsky 2016, equation 2. As in fairseq: only the best ``num_children`` count,
    the first token is free, and the penalty stays in the score.
    """
    if input_ids.shape[1] == prompt_tokens:
        return scores
    best, tokens = scores.topk(min(num_children, scores.shape[1]), dim=1)
    ranks = torch.arange(1, best.shape[1] + 1, device=best.device, dtype=best.dtype)
    return torch.full_like(scores, -torch.inf).scatter(1, tokens, best - penalty * ranks)


def nucleus(top_p: float, input_ids: Tensor, scores: Tensor) -> Tensor:
    """Rule: keep the fewest tokens whose mass reaches ``top_p`` (Holtzman et al. 2020, 3.1).

    The result is that of ``TopPLogitsWarper`` in an eighth of its time on CPU. A row with ties at
    the lowest score that stays goes to the warper, which breaks ties in its own order.

    Args:
        top_p: the mass.
        input_ids: int64 (rows, tokens so far).
        scores: (rows, vocabulary).
    """
    warper = transformers.TopPLogitsWarper(top_p)
    if scores.device.type != "cpu":
        return warper(input_ids, scores)
    # Ascending, so the cumulated mass up to 1 - top_p is dropped; one token always stays.
    ordered = torch.from_numpy(np.sort(scores.numpy(), axis=1))
    is_outside = ordered.softmax(-1).cumsum(-1) <= 1 - top_p
    num_dropped = is_outside.sum(1).clamp(max=scores.shape[1] - 1)
    outside = scores < ordered.gather(1, num_dropped[:, None])
    inside = scores.masked_fill(outside, -torch.inf)
    tied = (outside.sum(1) != num_dropped).nonzero()[:, 0]
    if len(tied):
        inside[tied] = warper(input_ids[tied], scores[tied])
    return inside


ABBREVIATIONS = ("Co", "Dr", "Inc", "Jr", "Mr", "Mrs", "Ms", "No", "Sr", "St", "U.K", "U.S", "vs")
_BEFORE_A_POINT = re.compile("|".join(["[A-Z]", *map(re.escape, ABBREVIATIONS)]))
_CLOSING = "\"'”’)]} "


@dataclass(frozen=True)
class Human:
    """No decoding: the text that people wrote after the prefix (massarelli2020 Table 1)."""


@dataclass(frozen=True)
class SentenceEnds:
    """Which tokens end a sentence, given the token before.

    Attributes:
        table: tokens that always end one, bool (vocabulary,).
        points: full stops, which end one unless the token before is in ``guards``, bool
            (vocabulary,).
        guards: abbreviations and single capitals, whose point is their own, bool (vocabulary,).
    """

    table: Tensor
    points: Tensor
    guards: Tensor

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, size: int) -> "SentenceEnds":
        """Classify the tokens of a vocabulary.

        A token ends a sentence if it has a line break, or ends in a mark (. ! ?) and closing quotes
        or brackets without any letter or digit.

        Args:
            tokenizer: the model's tokenizer.
            size: size of the model's vocabulary, which may be larger than the tokenizer's.
        """
        table, points, guards = [], [], []
        for token in range(size):
            text = tokenizer.decode([token]) if token < len(tokenizer) else ""
            has_mark = text.rstrip(_CLOSING).endswith((".", "!", "?"))
            is_mark = has_mark and not any(map(str.isalnum, text))
            table.append(is_mark or "\n" in text)
            points.append(text.strip() == ".")
            guards.append(bool(_BEFORE_A_POINT.fullmatch(text.strip())))
        is_point = torch.tensor(points)
        return cls(torch.tensor(table) & ~is_point, is_point, torch.tensor(guards))

    def closes(self, before: Tensor, tokens: Tensor) -> Tensor:
        """Whether each of ``tokens`` ends a sentence after the token ``before``; bool.

        The two are token ids that broadcast.
        """
        table = self.table.to(tokens.device)
        points = self.points.to(tokens.device)
        guards = self.guards.to(tokens.device)
        is_guarded = guards[before.clamp(min=0)] & (before != PAD)
        return table[tokens] | (points[tokens] & ~is_guarded)

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """Whether the last token of each row ended a sentence, bool (rows,).

        The signature of a stopping criterion of ``generate``.
        """
        return self.closes(input_ids[:, -2], input_ids[:, -1].clamp(min=0))

    def guarded(self, ids: Sequence[int]) -> int:
        """Number of full stops in a text that end no sentence because of the token before."""
        points, guards = self.points.tolist(), self.guards.tolist()
        count = 0
        for before, after in itertools.pairwise(ids):
            count += points[after] and guards[before]
        return count


@dataclass(frozen=True)
class Sampled:
    """Settings of a sampler: which tokens it samples from.

    Attributes:
        top_k: the k most probable; 0 for all.
        top_p: the fewest whose mass reaches this.
        blocking: no n-gram of this size twice; 0 blocks nothing.
        min_p: those of at least this share of the largest probability (Nguyen et al. 2024).
        typical: those whose surprisal is nearest to the entropy, up to this mass (Meister et al.
            2023).
    """

    top_k: int = 0
    top_p: float = 1.0
    blocking: int = 0
    min_p: float = 0.0
    typical: float = 1.0

    def __post_init__(self) -> None:
        shares = 0 < self.top_p <= 1 and 0 <= self.min_p <= 1 and 0 < self.typical <= 1
        if self.top_k < 0 or not shares or self.blocking < 0:
            raise BadInput(
                f"sampling: {self}; allowed are top_k 0 or more, top_p and typical in (0, 1], "
                "min_p in [0, 1], blocking 0 or more"
            )

    def rules(
        self, banned: Sequence[int], pad: int = PAD, device: Any = "cpu"
    ) -> transformers.LogitsProcessorList:
        """The settings as rules on scores.

        Args:
            banned: tokens that are never sampled.
            pad: id that fills a short row on the left.
            device: where the scores are.
        """
        rules = transformers.LogitsProcessorList()
        if len(banned):
            rules.append(transformers.SuppressTokensLogitsProcessor(list(banned), device=device))
        if self.blocking:
            rules.append(partial(block_repeats, self.blocking, pad))
        if self.top_k:
            rules.append(transformers.TopKLogitsWarper(self.top_k))
        if self.top_p < 1:
            rules.append(partial(nucleus, self.top_p))
        if self.min_p > 0:
            rules.append(transformers.MinPLogitsWarper(self.min_p))
        if self.typical < 1:
            rules.append(transformers.TypicalLogitsWarper(self.typical))
        return rules


# ours: relative error of a sum of 250,000 float64 numbers in any order, twice its largest
ROUNDING = 1e-10


def draws(scores: Tensor, rngs: Rngs, on_device: bool | None = None) -> np.ndarray:
    """Sample a token for each row in proportion to exp(score), by inversion in float64.

    Args:
        scores: log-probabilities up to a constant of each row, (rows, vocabulary).
        rngs: a generator for each row, of which one number is used, none without a finite score.
        on_device: whether the scores stay where they lie, by default on a GPU; the tokens are those
            of the processor (:func:`inverted_on_device`).

    Returns:
        int64 (rows,); -1 where a row has no finite score.
    """
    if on_device is None:
        on_device = scores.device.type == "cuda"
    is_open = torch.isfinite(scores.amax(1)).cpu().numpy()
    open_rows = np.flatnonzero(is_open)
    uniforms = np.array([rngs[row].random() for row in open_rows.tolist()])
    tokens = np.full(len(scores), -1)
    if len(open_rows):
        drawable = scores
        if not is_open.all():
            drawable = scores[torch.from_numpy(open_rows).to(scores.device)]
        invert = inverted_on_device if on_device else inverted
        tokens[open_rows] = invert(drawable, uniforms)
    return tokens


def inverted(scores: Tensor, uniforms: np.ndarray) -> np.ndarray:
    """The first token at which the cumulative sum of exp(score) exceeds a share of its total.

    Args:
        scores: (rows, vocabulary).
        uniforms: the shares, from 0 to 1, (rows,).

    Returns:
        int64 (rows,).
    """
    values = scores.double().cpu().numpy()
    cumulative = np.cumsum(np.exp(values - values.max(1, keepdims=True)), axis=1)
    aims = uniforms * cumulative[:, -1]
    tokens = (cumulative <= aims[:, None]).sum(1)
    # The last token with any mass, should rounding pass it.
    last = (cumulative < cumulative[:, -1:]).sum(1)
    return np.minimum(tokens, last)


def inverted_on_device(scores: Tensor, uniforms: np.ndarray) -> np.ndarray:
    """The same tokens as :func:`inverted`, computed on the device of the scores.

    A device adds in another order. Where the share lies so near to a token's edge that rounding
    could pass it, :func:`inverted` decides.
    """
    values = scores.double()
    cumulative = (values - values.amax(1, keepdim=True)).exp().cumsum(1)
    total = cumulative[:, -1:]
    aims = torch.from_numpy(uniforms).to(scores.device)[:, None] * total
    tokens = (cumulative <= aims).sum(1).cpu().numpy()
    unsure = ((cumulative - aims).abs() <= ROUNDING * total).any(1)
    rows = unsure.nonzero()[:, 0].tolist()
    if rows:
        tokens[rows] = inverted(scores[rows], uniforms[rows])
    return tokens


def sample(
    network: Any,
    prompts: Rows,
    settings: Sampled,
    limits: Row,
    rngs: Rngs,
    banned: Row = (),
    ends: Any = None,
) -> list[tuple[list[int], bool]]:
    """Continue each prompt by sampled tokens.

    Args:
        network: causal language model.
        prompts: tokens of each row, one or more.
        settings: of the sampler.
        limits: most new tokens of each row.
        rngs: a random generator for each row.
        banned: tokens that are never sampled.
        ends: which tokens end a sentence; with it a row stops there.

    Returns:
        The tokens of each row, and whether the last one ended a sentence.

    Raises:
        BadInput: as :func:`check_room`.
    """
    check_room(network, prompts, limits)
    texts: list[list[int]] = [[] for _ in prompts]
    ended = [False] * len(prompts)
    rows = [row for row, limit in enumerate(limits) if limit > 0]
    stream: Any = TokenStream(network, [prompts[row] for row in rows]) if rows else None
    rules = settings.rules(banned, device=network.device)
    while rows:
        # 1. Draw a token for each row of the stream.
        scores: Any = rules(stream.ids, stream.logits)
        tokens = draws(scores, [rngs[row] for row in rows])
        on_device = torch.from_numpy(tokens.clip(0)).to(scores.device)
        closes = [False] * len(rows)
        if ends is not None:
            closes = ends.closes(stream.ids[:, -1], on_device).tolist()
        # 2. Add it, unless every token is blocked: then the row stays as it is.
        stays = []
        for i, row in enumerate(rows):
            if tokens[i] < 0:
                continue
            texts[row].append(int(tokens[i]))
            ended[row] = closes[i]
            if not ended[row] and len(texts[row]) < limits[row]:
                stays.append(i)
        # 3. Read it where a row goes on.
        rows = [rows[i] for i in stays]
        if rows:
            stream.take(torch.tensor(stays, device=stream.ids.device))
            last_tokens = [texts[row][-1] for row in rows]
            stream.append(torch.tensor(last_tokens, device=stream.ids.device))
    return list(zip(texts, ended, strict=True))
