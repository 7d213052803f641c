"""Ancestral sampling of whole documents, past the context window, in parallel, with the same bytes however it is run.

A text depends on (model, seed, stage name, index, truncation, protocol) alone: see :mod:`longform.decoding.exact_sampling`. Each process
appends finished drafts to its own file, so the number of processes may change between a kill and its continuation.
"""

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from longform.decoding.contexts import Contexts
from longform.decoding.exact_sampling import Referee, Truncation, calibrated, exact_sampling, keys
from longform.documents import Corpus, Document, Section, grouped
from longform.errors import BadInput
from longform.files.artefacts import append_lines, read_lines
from longform.language_models import capacity
from longform.language_models.checkpoints import load_model, load_tokenizer
from longform.language_models.schedule import predict
from longform.language_models.tokenizers import STARTS, encode, end_of_writing, start_ids
from longform.language_models.trial import try_language_model
from longform.statistics.random_streams import derived_seed
from longform.text.rendering import parse, render

REFILL = 8  # ours: new drafts begin when one row in so many is free; joining them copies the cache
REPORT_EVERY = 10.0  # seconds between lines of progress


@dataclass(frozen=True)
class Sampling:
    """Settings of the sampler."""

    max_tokens: int  # a document is cut there (counted as ``cut``)
    context_overlap: (
        int | None
    )  # tokens re-encoded when the window is full; None slides by one token
    window: int  # most tokens that a draw sees
    truncation: Truncation = field(default_factory=Truncation)


def generate(
    *,
    model: Path,
    name: str,
    seed: int,
    scratch: Path,
    prefixes: Sequence[Document],
    documents: int,
    titles: bool,
    packing: str,  # how the model met documents in training, which says what stands before one: "stream" or "documents"
    batch: int,  # documents at a time and process
    max_tokens: int,
    context_overlap: int | None,
    window: int | None = None,
    top_k: int = 0,  # 0 is no truncation (deng2022 section 4); the authors' code inherits 50
    temperature: float = 1.0,
    redraws: int = 20,
) -> Corpus:
    """Sample ``documents`` articles; a malformed one is drawn again (counted), at most ``redraws`` times.

    Args:
        prefixes: a corpus whose text shows how far float32 is from float64; the texts themselves begin from nothing.
        context_overlap, window: see :func:`context_start`; by default the paper's protocol, all positions of the network.

    Returns: the corpus, in the order of indices; truth ``cut``: which documents reached ``max_tokens`` without an end; facts
    count documents, redraws, cut and failed ones, and tokens.
    Raises BadInput: a setting that cannot sample, by name, value and what is allowed.
    """
    if packing not in STARTS:
        raise BadInput(
            f"generate {name}: packing {packing!r}, allowed are {sorted(STARTS)}; fix the entry"
        )
    tokenizer = load_tokenizer(model)
    network = load_model(model, AutoModelForCausalLM).float().eval()
    end_of_writing(tokenizer, f"generate {name}")
    try_language_model(network, tokenizer, f"generate {name}")
    positions = capacity.window_size(network)
    window = positions if window is None else window
    seen = window if isinstance(window, int) else positions
    ranges = {
        "documents": (documents, 1, 10**9),
        "batch": (batch, 1, 10**9),
        "redraws": (redraws, 0, 10**9),
        "window": (window, 2, positions),
        "max_tokens": (max_tokens, 5, 10**9),
        "context_overlap": (seen - 1 if context_overlap is None else context_overlap, 1, seen - 1),
        "top_k": (top_k, 0, 10**9),
    }
    for setting, (value, least, most) in ranges.items():
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise BadInput(
                f"generate {name}: {setting} is {value!r}, allowed is {least} to {most}; fix the entry"
            )
    if not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        raise BadInput(
            f"generate {name}: temperature is {temperature!r}, allowed is above 0; fix the entry"
        )
    rendered = (
        render(d, titles and all(s.title is not None for s in d.sections)) for d in prefixes
    )
    ids = itertools.chain.from_iterable(
        [*start_ids(tokenizer), *encode(text, tokenizer)] for text in rendered
    )
    text = list(itertools.islice(ids, window)) or [tokenizer.eos_token_id]
    settings = Sampling(max_tokens, context_overlap, window, Truncation(top_k, temperature))
    start, names = STARTS[packing](tokenizer), (seed, name)
    sampler = Sampler(
        network, settings, tokenizer, text, start, titles, names, documents, scratch, batch
    )
    for _ in range(redraws + 1):  # every round draws what is still missing or malformed
        done = finished(scratch)
        tried = {i: done[i]["attempt"] + 1 if i in done else 0 for i in range(documents)}
        left = [
            (i, n)
            for i, n in tried.items()
            if n <= redraws and (i not in done or done[i]["sections"] is None)
        ]
        if left:
            predict(sampler, left, len(left))
    rows = list(map(finished(scratch).__getitem__, range(documents)))
    kept = [row for row in rows if row["sections"]]
    facts = {
        "documents": len(kept),
        "failed": len(rows) - len(kept),
        "redraws": sum(row["attempt"] for row in rows),
        "cut": sum(row["cut"] for row in kept),
        "tokens": sum(row["tokens"] for row in kept),
    }
    parts = [tuple(itertools.starmap(Section, row["sections"])) for row in kept]
    made = [
        Document(f"{name}-{row['index']}", "generated", one)
        for row, one in zip(kept, parts, strict=True)
    ]
    return Corpus(
        made, truth={"cut": np.array([row["cut"] for row in kept], dtype=bool)}, facts=facts
    )


@dataclass
class Draft:
    """A text in the making: which document, how often it was malformed before, what names its noise, its tokens so far."""

    index: int
    attempt: int
    key: int
    ids: list[int] = field(default_factory=list)


class Sampler(pl.LightningModule):
    """One process's share: takes all its (index, attempt), writes drafts as they finish.

    ``text``: tokens on which float32 is compared with float64. ``start``: tokens before each document. ``names``: seed and
    stage, which name the drafts' noise. ``rows``: documents at a time.
    """

    def __init__(
        self,
        network: Any,
        settings: Sampling,
        tokenizer: Any,
        text: Sequence[int],
        start: list[int],
        titles: bool,
        names: tuple[int, str],
        documents: int,
        scratch: Path,
        rows: int,
    ) -> None:
        super().__init__()
        self.network, self.settings, self.tokenizer, self.text, self.start = (
            network,
            settings,
            tokenizer,
            text,
            start,
        )
        self.titles, self.names, self.documents, self.scratch, self.rows = (
            titles,
            names,
            documents,
            scratch,
            rows,
        )
        self.referee: Referee | None = None
        self.drawn, self.started, self.reported = 0, time.monotonic(), time.monotonic()

    def predict_step(self, batch: list[tuple[int, int]], index: int) -> None:
        """Sample this process's drafts, ``rows`` at a time."""
        if not batch:
            return
        if self.referee is None:
            self.started = time.monotonic()
            self.referee = calibrated(self.network, self.text, self.settings.window)
        end = self.tokenizer.eos_token_id
        drafts = [Draft(i, n, derived_seed(*self.names, i, n), list(self.start)) for i, n in batch]
        sample(self.referee, drafts, self.settings, end, self._tick, self.rows, self._write)

    def _write(self, drafts: Sequence[Draft]) -> None:
        """Append finished drafts to this process's file."""
        end, lines = self.tokenizer.eos_token_id, []
        for draft in drafts:
            body = draft.ids[len(self.start) :]
            sections = parse(
                self.tokenizer.decode(body, skip_special_tokens=True), self.titles
            )  # None: malformed
            parts = sections and [[section.title, section.text] for section in sections]
            cut = len(draft.ids) >= self.settings.max_tokens and draft.ids[-1] != end
            line = {
                "index": draft.index,
                "attempt": draft.attempt,
                "cut": cut,
                "tokens": len(body),
                "sections": parts,
            }
            lines.append(line)
        append_lines(self.scratch / f"drafts-{self.global_rank}.jsonl", lines)

    def _tick(self, tokens: int) -> None:
        self.drawn += tokens
        if self.referee is None or time.monotonic() - self.reported < REPORT_EVERY:
            return
        self.reported = time.monotonic()
        done = sum(row["sections"] is not None for row in finished(self.scratch).values())
        speed, where = (
            self.drawn / (self.reported - self.started),
            f"{self.global_rank + 1}/{self.trainer.world_size}",
        )
        share = f"process {where}: {self.drawn:,} tokens, {speed:,.0f} tokens/s"
        exact = f"margin {self.referee.margin:.1e}, {self.referee.called} draws in float64"
        print(
            f"generate {self.names[1]}: {done}/{self.documents} documents; {share}, {exact}",
            flush=True,
        )


def finished(scratch: Path) -> dict[int, dict[str, Any]]:
    """The latest attempt at each document, from the files of all processes."""
    latest: dict[int, dict[str, Any]] = {}
    for path in sorted(scratch.glob("drafts-*.jsonl")):
        for record in read_lines(path):
            if record["attempt"] >= latest.get(record["index"], {"attempt": -1})["attempt"]:
                latest[record["index"]] = record
    return latest


@torch.no_grad()
def sample(
    referee: Referee,
    drafts: Sequence[Draft],
    settings: Sampling,
    end: int,
    tick: Callable[[int], None] = lambda _: None,
    rows: int | None = None,
    done: Callable[[list[Draft]], None] = lambda _: None,
) -> None:
    """Extend the drafts in place until each has drawn the end token or is full; a draw is float32's where it is certain, else the referee's.

    Args:
        drafts: equally long.
        tick: told after each step how many tokens it drew.
        rows: drafts at a time, by default all. Where an eighth of the rows is free the next drafts begin there.
        done: told after each step which drafts are finished.
    """
    rows = rows or len(drafts)
    contexts = Contexts(referee.network)
    waiting = deque(drafts)
    cached: list[Draft] = []  # their contexts but for the last token are in the cache, in its order
    uncached: list[
        Draft
    ] = []  # the others at work: they have just begun, or their window has moved
    while waiting or cached or uncached:
        free = rows - len(cached) - len(uncached)
        if free == rows or (contexts.can_join and free >= max(1, rows // REFILL)):
            uncached.extend(waiting.popleft() for _ in range(min(free, len(waiting))))
        active, num_cached, logits = _next_logits(contexts, cached, uncached, settings)
        _draw(referee, active, logits, settings)
        tick(len(active))
        stays, moved, ended = [], [], []  # stays: places in the cache
        for place, draft in enumerate(active):
            if draft.ids[-1] == end or len(draft.ids) >= settings.max_tokens:
                ended.append(draft)
            elif place < num_cached and _keeps(len(draft.ids) - 1, settings):
                stays.append(place)
            else:
                moved.append(draft)
        contexts.take(stays)
        cached, uncached = [active[place] for place in stays], moved
        if ended:
            done(ended)


def _next_logits(
    contexts: Contexts, cached: list[Draft], uncached: list[Draft], settings: Sampling
) -> tuple[list[Draft], int, Tensor]:
    """The drafts at work, those in the cache first and in its order; how many these are; and the logits after each one's context."""
    device = contexts.held.device
    parts = []
    if cached:
        parts.append(
            contexts.append(torch.tensor([draft.ids[-1] for draft in cached], device=device))
        )
    active, num_cached = list(cached), len(cached)
    # texts of one length are read together, first those that the cache keeps
    by_length = grouped(uncached, lambda draft: len(draft.ids))
    for length in sorted(by_length, key=lambda length: not _keeps(length, settings)):
        begin, keep = (
            context_start(length, settings.window, settings.context_overlap),
            _keeps(length, settings),
        )
        tokens = torch.tensor([draft.ids[begin:] for draft in by_length[length]], device=device)
        parts.append(contexts.read(tokens, keep))
        active.extend(by_length[length])
        num_cached += len(by_length[length]) if keep else 0
    return active, num_cached, torch.cat(parts) if len(parts) > 1 else parts[0]


def _keeps(length: int, settings: Sampling) -> bool:
    """Whether the draw after one more token sees all that the draw after ``length`` tokens sees, so that a cache serves both."""
    window, overlap = settings.window, settings.context_overlap
    return context_start(length + 1, window, overlap) == context_start(length, window, overlap)


def _draw(referee: Referee, active: list[Draft], logits: Tensor, settings: Sampling) -> None:
    """Add a token to each draft."""
    places = [len(draft.ids) for draft in active]
    words = keys([draft.key for draft in active], places, logits.device)
    tokens, certain = exact_sampling(logits, words, settings.truncation, referee.margin)
    for row in (~certain).nonzero()[:, 0].tolist():
        begin = context_start(places[row], settings.window, settings.context_overlap)
        context = torch.tensor(active[row].ids[begin:], device=logits.device)
        tokens[row] = referee.decide(context, logits[row], words[row], settings.truncation)
    for draft, token in zip(active, tokens.tolist(), strict=True):
        draft.ids.append(token)


def context_start(length: int, window: int, context_overlap: int | None) -> int:
    """First token that the draw after ``length`` tokens sees: the two protocols of a full window.

    None slides by one token, as deng2022's sampler does: every token sees the last window - 1 tokens, positions start at
    zero again, and the whole window is recomputed for each token. n re-encodes the last n tokens once the window is full
    and goes on with the cache: the context varies between n and the window, at about window / (window - n) forward
    positions a token instead of window.
    """
    if context_overlap is None:
        return max(0, length - (window - 1))
    stride = window + 1 - context_overlap
    return -(-max(0, length - window) // stride) * stride
