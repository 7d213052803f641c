"""Drawing the next token: growing rows with their cache, rules on scores, and draws of which every row has its own.

``generate`` draws for all rows from one stream, so a text would change with its batch. A rule maps ``input_ids`` and ``scores``, a row per
hypothesis, to scores, as the processors of ``generate`` do.
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

PAD = (
    -1
)  # stands left of a short row in ``ids``; no vocabulary has it, so no rule can take it for a token
Row = Sequence[int]  # token ids, or a number for each row
Rows = Sequence[Row]
Rngs = Sequence[np.random.Generator]


def check_room(network: Any, prompts: Rows, limits: Row) -> None:
    """Raises BadInput: a prompt has no token, or does not fit the model's window together with what is to be written."""
    window = capacity.positions(network)
    for row, (prompt, new_tokens) in enumerate(zip(prompts, limits, strict=True)):
        if not len(prompt):
            raise BadInput(
                f"prompt {row} has no token; at least one is needed, begin it with the end token"
            )
        if window is not None and len(prompt) + new_tokens > window:
            told = f"prompt {row} has {len(prompt)} tokens and {new_tokens} are to follow"
            raise BadInput(
                f"{told}, the model's window is {window}; shorten the prefix or write less"
            )


SPARE_BYTES = (
    2**26
)  # of one layer's keys: a larger room is made anew, lest a long text be in memory twice


class GrowingLayer(DynamicLayer):
    """Keys and values with room for tokens to come: a step writes its own place, where ``DynamicLayer`` copies all places before it."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: dict[str, torch.Tensor] = {}
        self._spare: dict[
            str, torch.Tensor
        ] = {}  # the rooms before, which the next choice of rows is copied into
        self._twins: dict[
            str, tuple[Tensor, Tensor, int]
        ] = {}  # a second room, the room that it is to, equal places

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append states (rows, heads, new tokens, dims); returns all so far."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys, self.values = (
            self._grown("keys", key_states),
            self._grown("values", value_states),
        )
        return self.keys, self.values

    def _grown(self, name: str, new: torch.Tensor) -> torch.Tensor:
        held, room = getattr(self, name), self._rooms.get(name)
        before = held.shape[2] if held.numel() else 0
        after = before + new.shape[2]
        if room is None or room.data_ptr() != held.data_ptr() or room.shape[2] < after:
            room = self._room(name, new, len(new), after)
            if before:
                room[:, :, :before] = held
        room[:, :, before:after] = new
        return room[:, :, :after]

    def _room(self, name: str, like: torch.Tensor, rows: int, places: int) -> torch.Tensor:
        spare = self._spare.pop(name, None)
        if name in self._rooms and self._rooms[name].nbytes < SPARE_BYTES:
            self._spare[name] = self._rooms[name]
        if spare is None or len(spare) < rows or spare.shape[2] <= places:
            spare = like.new_empty(rows, like.shape[1], places + places // 2 + 32, like.shape[3])
        self._rooms[name] = spare[:rows]
        return self._rooms[name]

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep the named rows: one copy, into room for tokens to come, where ``DynamicLayer`` leaves none."""
        for name in ("keys", "values") if self.get_seq_length() else ():
            held = getattr(self, name)
            room = self._room(name, held, len(indices), held.shape[2])
            setattr(
                self, name, torch.index_select(held, 0, indices, out=room[:, :, : held.shape[2]])
            )

    def reorder(self, rows: Tensor, since: int) -> None:
        """Row i becomes the row ``rows[i]``; before place ``since`` the two are equal, and nothing is copied.

        Two rooms take turns; both hold the places before ``since``.
        """
        for name in ("keys", "values"):
            held, room = getattr(self, name), self._rooms[name]
            places = held.shape[2]
            if room.nbytes >= SPARE_BYTES or room.data_ptr() != held.data_ptr():
                held[:, :, since:] = held[:, :, since:].index_select(0, rows)
                continue
            twin, partner, equal = self._twins.get(name, (room, None, -1))
            if partner is not room or equal != since:
                twin = torch.empty_like(room)
                twin[:, :, :since] = held[:, :, :since]
            torch.index_select(held[:, :, since:], 0, rows, out=twin[:, :, since:places])
            self._rooms[name], self._twins[name] = twin, (room, twin, since)
            setattr(self, name, twin[:, :, :places])

    def join(self, other: "GrowingLayer") -> None:
        """Add the rows of another layer; the shorter ones get places of zeros on their left."""
        for name in ("keys", "values"):
            mine, theirs = getattr(self, name), getattr(other, name)
            places, rows = max(mine.shape[2], theirs.shape[2]), len(mine)
            room = self._room(name, mine, rows + len(theirs), places)
            for part, held in ((room[:rows], mine), (room[rows:], theirs)):
                part[:, :, : places - held.shape[2]] = 0
                part[:, :, places - held.shape[2] : places] = held
            setattr(self, name, room[:, :, :places])

    def drop_places(self, count: int) -> None:
        """Forget the first places of all rows."""
        for name in ("keys", "values"):
            setattr(self, name, getattr(self, name)[:, :, count:])

    def take_places(self, order: Tensor) -> None:
        """Place j of row i becomes its place ``order[i, j]``; int64 (rows, places)."""
        for name in ("keys", "values"):
            held = getattr(self, name)
            room = self._room(name, held, len(order), order.shape[1])
            index = order[:, None, :, None].expand(-1, held.shape[1], -1, held.shape[3])
            room[:, :, : order.shape[1]] = held.gather(2, index)
            setattr(self, name, room[:, :, : order.shape[1]])


def growing_cache(network: Any) -> DynamicCache:
    """An empty cache for a network, equal to its own bit for bit; layers of other kinds (sliding windows) stay as they are."""
    cache = DynamicCache(config=network.config)
    cache.layers = [
        GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers
    ]
    return cache


class TokenStream:
    """A batch of growing rows: ``ids`` int64 (rows, tokens so far), ``PAD`` on the left; ``logits`` (rows, vocabulary) of the next
    token, at least float32; ``states`` (rows, tokens so far, dims), the last hidden ones, where they are kept."""

    def __init__(self, network: Any, prompts: Rows, keep_states: bool = False) -> None:
        self.network, self.keep_states = network, keep_states
        self.ids: Any = padded(prompts, PAD, "left").to(network.device)
        self._extra = (
            {"logits_to_keep": 1}
            if "logits_to_keep" in inspect.signature(network.forward).parameters
            else {}
        )
        self._cache: Any = growing_cache(network)
        self.states: Any = torch.zeros(len(prompts), 0, 1, device=network.device)
        self._forward(self.ids.clamp(min=0))

    @torch.no_grad()
    def _forward(self, feed: torch.Tensor) -> None:
        mask = (self.ids != PAD).long()
        output = self.network(
            input_ids=feed,
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0)[:, -feed.shape[1] :],
            past_key_values=self._cache,
            use_cache=True,
            output_hidden_states=self.keep_states,
            **self._extra,
        )
        if self.keep_states:
            new = output.hidden_states[-1]
            self.states = torch.cat([self.states, new], dim=1) if self.states.shape[1] else new
        last = output.logits[:, -1]
        self.logits: Any = last.to(torch.promote_types(last.dtype, torch.float32))

    def repeat(self, times: int) -> None:
        """Every row becomes ``times`` rows, side by side."""
        if times > 1:
            self._cache.batch_repeat_interleave(times)
            held = (self.ids, self.logits, self.states)
            self.ids, self.logits, self.states = (rows.repeat_interleave(times, 0) for rows in held)

    def take(self, rows: torch.Tensor) -> None:
        """Keep the named rows, in order; nothing is copied where they are all rows in order."""
        if len(rows) == len(self.ids) and bool(
            (rows == torch.arange(len(rows), device=rows.device)).all()
        ):
            return
        self._cache.batch_select_indices(rows)
        self.ids, self.logits, self.states = self.ids[rows], self.logits[rows], self.states[rows]

    def branched(self, rows: Row) -> "TokenStream":
        """A stream of its own that goes on from the named rows."""
        branch = copy.copy(self)
        branch._cache = copy.deepcopy(self._cache)
        branch.take(torch.tensor(rows, device=self.ids.device))
        return branch

    def reorder(self, rows: Tensor, since: int) -> None:
        """Row i becomes the row ``rows[i]``, which is equal to it before place ``since``; :meth:`append` comes next, so no logits move."""
        if not all(isinstance(layer, GrowingLayer) for layer in self._cache.layers):
            return self.take(rows)
        for layer in self._cache.layers:
            layer.reorder(rows, since)
        self.ids[:, since:] = self.ids[rows, since:]

    def extend(self, added: Rows) -> None:
        """Some more tokens for each row, read at once. No states are kept.

        A row that gets fewer than another reads its own last ones again, so that no padding stands within a row.
        """
        new = padded(added, PAD, "left").to(self.ids.device)
        width, before = new.shape[1], self.ids.shape[1]
        if not width:
            return
        ids = torch.cat([self.ids, new], dim=1)
        is_token = ids != PAD
        order = is_token.to(torch.uint8).argsort(
            dim=1, stable=True
        )  # each row's padding to its left
        order = order[:, int((~is_token).sum(1).min()) :]
        self.ids = ids.gather(1, order)
        held = order[:, : order.shape[1] - width].clamp(
            max=before - 1
        )  # padding may stand anywhere
        if not all(isinstance(layer, GrowingLayer) for layer in self._cache.layers):
            self._cache = growing_cache(
                self.network
            )  # a window that slides has dropped places: all is read anew
            width = self.ids.shape[1]
        elif (
            not (held == torch.arange(before, device=held.device)[: held.shape[1]]).all()
            or held.shape[1] < before
        ):
            for layer in self._cache.layers:
                layer.take_places(held)
        self._forward(self.ids[:, -width:].clamp(min=0))

    def append(self, tokens: torch.Tensor) -> None:
        """One more token for every row, int64 (rows,), and the logits after it."""
        self.ids = torch.cat([self.ids, tokens[:, None]], dim=1)
        self._forward(tokens[:, None])


def block_repeats(n: int, pad: int, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Rule: a token that would complete an n-gram already in its row, prompt included, is never written (Paulus, Xiong and Socher
    2018, section 2.5). Where ``no_repeat_ngram_size`` of ``transformers`` takes padding for text, here no n-gram holds ``pad``."""
    if input_ids.shape[1] < n:
        return scores
    windows = input_ids.unfold(1, n, 1)  # (rows, places, n)
    same = (windows[:, :, :-1] == input_ids[:, None, input_ids.shape[1] - n + 1 :]).all(-1) & (
        windows != pad
    ).all(-1)
    rows, places = same.nonzero(as_tuple=True)
    scores = scores.clone()
    scores[rows, windows[rows, places, -1]] = -torch.inf
    return scores


def sibling_ranks(
    penalty: float, kept: int, prompt_tokens: int, input_ids: Tensor, scores: Tensor
) -> Tensor:
    """Rule: children of one parent pay ``penalty`` times their rank among their siblings (Li, Monroe and Jurafsky 2016, equation 2).
    As in fairseq: only the best ``kept`` children count, the first token is free, and the penalty stays in the score."""
    if input_ids.shape[1] == prompt_tokens:
        return scores
    best, tokens = scores.topk(min(kept, scores.shape[1]), dim=1)
    ranks = torch.arange(1, best.shape[1] + 1, device=best.device, dtype=best.dtype)
    return torch.full_like(scores, -torch.inf).scatter(1, tokens, best - penalty * ranks)


def nucleus(top_p: float, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Rule: the fewest tokens that reach the mass ``top_p`` (Holtzman et al. 2020, section 3.1); what ``TopPLogitsWarper`` keeps, for an
    eighth of its time on CPU. Where scores tie at the least kept one, the row goes to the warper, whose order of ties is its own."""
    warper = transformers.TopPLogitsWarper(top_p)
    if scores.device.type != "cpu":
        return warper(input_ids, scores)
    ordered = torch.from_numpy(np.sort(scores.numpy(), axis=1))
    dropped = (ordered.softmax(-1).cumsum(-1) <= 1 - top_p).sum(1).clamp(max=scores.shape[1] - 1)
    outside = scores < ordered.gather(1, dropped[:, None])
    kept = scores.masked_fill(outside, -torch.inf)
    tied = (outside.sum(1) != dropped).nonzero()[:, 0]
    if len(tied):
        kept[tied] = warper(input_ids[tied], scores[tied])
    return kept


ABBREVIATIONS = ("Co", "Dr", "Inc", "Jr", "Mr", "Mrs", "Ms", "No", "Sr", "St", "U.K", "U.S", "vs")
_BEFORE_A_POINT = re.compile("|".join(["[A-Z]", *map(re.escape, ABBREVIATIONS)]))
_CLOSING = "\"'”’)]} "


@dataclass(frozen=True)
class Human:
    """No strategy: what people wrote after the prefix (massarelli2020 Table 1)."""


@dataclass(frozen=True)
class SentenceEnds:
    """Which tokens end a sentence, from tables over the vocabulary, bool (vocabulary,), and a look at the token before."""

    table: torch.Tensor  # it closes one wherever it stands
    points: torch.Tensor  # it closes one unless the token before is in guards
    guards: torch.Tensor  # an abbreviation or a single capital: a point after it belongs to it

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, size: int) -> "SentenceEnds":
        """Closing tokens have a line break, or end in a closing mark and hold no letter or digit; ``size``: the model's
        vocabulary, which may be larger than the tokenizer's."""
        texts = [
            tokenizer.decode([token]) if token < len(tokenizer) else "" for token in range(size)
        ]
        marks = [
            t.rstrip(_CLOSING).endswith((".", "!", "?")) and not any(map(str.isalnum, t))
            for t in texts
        ]
        table = torch.tensor(
            [mark or "\n" in text for mark, text in zip(marks, texts, strict=True)]
        )
        points = torch.tensor([text.strip() == "." for text in texts])
        guards = torch.tensor([bool(_BEFORE_A_POINT.fullmatch(text.strip())) for text in texts])
        return cls(table & ~points, points, guards)

    def closes(self, before: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """bool: whether ``tokens`` would end the sentence whose last tokens are ``before``; the two broadcast."""
        table, points, guards = (
            rows.to(tokens.device) for rows in (self.table, self.points, self.guards)
        )
        return table[tokens] | (points[tokens] & ~(guards[before.clamp(min=0)] & (before != PAD)))

    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        """bool (rows,): the last token of the row ended a sentence, as a stopping criterion of ``generate``."""
        return self.closes(input_ids[:, -2], input_ids[:, -1].clamp(min=0))

    def guarded(self, ids: Sequence[int]) -> int:
        """How often a point of this row did not end a sentence because of what stands before it."""
        points, guards = self.points.tolist(), self.guards.tolist()
        return sum(points[after] and guards[before] for before, after in itertools.pairwise(ids))


@dataclass(frozen=True)
class Sampled:
    """Settings of a sampler: which tokens are kept before one is drawn."""

    top_k: int = 0  # so many of the most probable; 0 keeps all
    top_p: float = 1.0  # the fewest that reach this mass
    blocking: int = 0  # no n-gram of this size twice; 0 blocks nothing
    min_p: float = (
        0.0  # those of at least this share of the best one's probability (Nguyen et al. 2024)
    )
    typical: float = 1.0  # those nearest to the entropy, up to this mass (Meister et al. 2023)

    def __post_init__(self) -> None:
        shares = 0 < self.top_p <= 1 and 0 <= self.min_p <= 1 and 0 < self.typical <= 1
        if self.top_k < 0 or not shares or self.blocking < 0:
            allowed = (
                "top_k 0 or more, top_p and typical in (0, 1], min_p in [0, 1], blocking 0 or more"
            )
            raise BadInput(f"sampling: {self}; allowed are {allowed}")

    def rules(
        self, banned: Sequence[int], pad: int = PAD, device: Any = "cpu"
    ) -> transformers.LogitsProcessorList:
        """The settings as rules on scores."""
        made = transformers.LogitsProcessorList()
        if len(banned):
            made.append(transformers.SuppressTokensLogitsProcessor(list(banned), device=device))
        if self.blocking:
            made.append(partial(block_repeats, self.blocking, pad))
        if self.top_k:
            made.append(transformers.TopKLogitsWarper(self.top_k))
        if self.top_p < 1:
            made.append(partial(nucleus, self.top_p))
        if self.min_p > 0:
            made.append(transformers.MinPLogitsWarper(self.min_p))
        if self.typical < 1:
            made.append(transformers.TypicalLogitsWarper(self.typical))
        return made


ROUNDING = (
    1e-10  # ours: of a sum of 250,000 float64 numbers in any order, relative; twice what it can be
)


def draws(scores: Tensor, rngs: Rngs, on_device: bool | None = None) -> np.ndarray:
    """A token (rows,) in proportion to exp(score), by inversion in float64; a row takes one number from its generator, and one without
    a finite score takes none and has no token: -1.

    On a GPU (``on_device``) the scores stay there; the tokens are those of the processor (:func:`inverted_on_device`).
    """
    if on_device is None:
        on_device = scores.device.type == "cuda"
    is_open = torch.isfinite(scores.amax(1)).cpu().numpy()
    open_rows = np.flatnonzero(is_open)
    uniforms = np.array([rngs[row].random() for row in open_rows.tolist()])
    tokens = np.full(len(scores), -1)
    if len(open_rows):
        drawable = (
            scores if is_open.all() else scores[torch.from_numpy(open_rows).to(scores.device)]
        )
        tokens[open_rows] = (inverted_on_device if on_device else inverted)(drawable, uniforms)
    return tokens


def inverted(scores: Tensor, uniforms: np.ndarray) -> np.ndarray:
    """The token (rows,) at which the cumulative sum of exp(score) passes its share ``uniforms`` (rows,) of the whole."""
    values = scores.double().cpu().numpy()
    cumulative = np.cumsum(np.exp(values - values.max(1, keepdims=True)), axis=1)
    places = (cumulative <= (uniforms * cumulative[:, -1])[:, None]).sum(1)
    last = (cumulative < cumulative[:, -1:]).sum(
        1
    )  # the last token with any mass, should rounding pass it
    return np.minimum(places, last)


def inverted_on_device(scores: Tensor, uniforms: np.ndarray) -> np.ndarray:
    """:func:`inverted` where the scores lie, with its very tokens.

    A device adds in another order. Where the aim lies so near to a token's edge that rounding could pass it, :func:`inverted` decides.
    """
    values = scores.double()
    cumulative = (values - values.amax(1, keepdim=True)).exp().cumsum(1)
    total = cumulative[:, -1:]
    aims = torch.from_numpy(uniforms).to(scores.device)[:, None] * total
    places = (cumulative <= aims).sum(1)
    unsure = ((cumulative - aims).abs() <= ROUNDING * total).any(1)
    tokens = places.cpu().numpy()
    if rows := unsure.nonzero()[:, 0].tolist():
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
    """Up to ``limits`` sampled tokens per prompt, and whether the last one ended a sentence, where the row then stops."""
    check_room(network, prompts, limits)
    made: list[list[int]] = [[] for _ in prompts]
    ended = [False] * len(prompts)
    rows = [row for row, limit in enumerate(limits) if limit > 0]
    stream: Any = TokenStream(network, [prompts[row] for row in rows]) if rows else None
    rules = settings.rules(banned, device=network.device)
    while rows:
        scores: Any = rules(stream.ids, stream.logits)
        stays, drawn = [], draws(scores, [rngs[row] for row in rows])
        tokens = torch.from_numpy(drawn.clip(0)).to(scores.device)
        closes = (
            ends.closes(stream.ids[:, -1], tokens) if ends is not None else tokens < 0
        ).tolist()
        for place, row in enumerate(rows):
            if drawn[place] < 0:  # every token is blocked: the row stays as it is
                continue
            made[row].append(int(drawn[place]))
            ended[row] = closes[place]
            if not ended[row] and len(made[row]) < limits[row]:
                stays.append(place)
        if rows := [rows[place] for place in stays]:
            stream.take(torch.tensor(stays, device=stream.ids.device))
            stream.append(torch.tensor([made[row][-1] for row in rows], device=stream.ids.device))
    return list(zip(made, ended, strict=True))
