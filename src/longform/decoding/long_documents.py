"""Ancestral sampling of whole documents, past the context window, in parallel.

The bytes are the same however it is run: a text depends on (model, seed, stage name, index,
truncation, protocol) alone, see :mod:`longform.decoding.exact_sampling`. Each process appends
finished drafts to its own file, so the number of processes may change between a kill and its
continuation.
"""

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
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
    """Settings of the sampler.

    Attributes:
        max_tokens: tokens at which a document is cut (counted as ``cut``).
        context_overlap: tokens re-encoded when the window is full; None slides by one token.
        window: most tokens of context of a draw.
        truncation: top k and temperature.
    """

    max_tokens: int
    context_overlap: int | None
    window: int
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
    packing: str,
    batch: int,
    max_tokens: int,
    context_overlap: int | None,
    window: int | None = None,
    top_k: int = 0,
    temperature: float = 1.0,
    redraws: int = 20,
) -> Corpus:
    """Sample articles; a malformed one is drawn again (counted).

    Args:
        model: folder of the language model.
        name: of the corpus.
        seed: of all random numbers, with the name, the document's index and the attempt.
        scratch: folder of finished drafts, from which a killed run goes on.
        prefixes: a corpus on whose text the error of float32 is measured; no sampled article
            begins with it.
        documents: number of articles.
        titles: whether sections have titles.
        packing: how documents were packed in training, "stream" or "documents", which decides the
            tokens before each.
        batch: documents that a process samples at a time.
        max_tokens: most tokens of a document.
        context_overlap, window: see :func:`context_start`; by default the paper's protocol, all
            positions of the network.
        top_k: 0 is no truncation (deng2022 section 4); the authors' code inherits 50.
        temperature: divisor of the logits.
        redraws: largest number of further attempts at a malformed article.

    Returns:
        The corpus, in the order of indices. Truth ``cut``, bool (documents,): whether a document
        reached ``max_tokens`` without an end. Facts count documents, redraws, cut and failed ones,
        and tokens.

    Raises:
        BadInput: a setting that cannot sample, by name, value and what is allowed.
    """
    if packing not in STARTS:
        raise BadInput(
            f"generate {name}: packing {packing!r}, allowed are {sorted(STARTS)}; fix the entry"
        )
    tokenizer = load_tokenizer(model)
    network = load_model(model, AutoModelForCausalLM).float().eval()
    end_of_writing(tokenizer, f"generate {name}")
    try_language_model(network, tokenizer, f"generate {name}")
    # 1. Settings within what the network can read.
    positions = capacity.window_size(network)
    window = positions if window is None else window
    settings = Sampling(max_tokens, context_overlap, window, Truncation(top_k, temperature))
    counts = {  # (value, lowest, highest)
        "documents": (documents, 1, 10**9),
        "batch": (batch, 1, 10**9),
        "redraws": (redraws, 0, 10**9),
    }
    _check_ranges({**counts, **_ranges(settings, positions)}, name)
    if not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        raise BadInput(
            f"generate {name}: temperature is {temperature!r}, allowed is above 0; fix the entry"
        )
    # 2. Every round samples the articles that are still missing or malformed.
    sampler = Sampler(
        network=network,
        settings=settings,
        tokenizer=tokenizer,
        text=_calibration_text(prefixes, tokenizer, titles, window),
        start=STARTS[packing](tokenizer),
        titles=titles,
        names=(seed, name),
        documents=documents,
        scratch=scratch,
        rows=batch,
    )
    for _ in range(redraws + 1):
        attempts = _next_attempts(finished(scratch), documents, redraws)
        if attempts:
            predict(sampler, attempts, len(attempts))
    # 3. The corpus of the well-formed articles.
    return _corpus_of(finished(scratch), documents, name)


def _ranges(settings: Sampling, positions: int) -> dict[str, tuple[Any, int, int]]:
    """The allowed range of each integer setting: its name -> (value, lowest, highest).

    Args:
        settings: not yet checked, so a value may be of any type.
        positions: most tokens that the network can read.
    """
    visible = settings.window if isinstance(settings.window, int) else positions
    # No overlap is always allowed: it counts as the largest one.
    overlap = settings.context_overlap
    return {
        "window": (settings.window, 2, positions),
        "max_tokens": (settings.max_tokens, 5, 10**9),
        "context_overlap": (visible - 1 if overlap is None else overlap, 1, visible - 1),
        "top_k": (settings.truncation.top_k, 0, 10**9),
    }


def _check_ranges(ranges: Mapping[str, tuple[Any, int, int]], name: str) -> None:
    """Check that each setting is a whole number within its range.

    Args:
        ranges: name of a setting -> (value, lowest, highest).
        name: of the corpus, for the error.

    Raises:
        BadInput: one is not.
    """
    for setting, (value, lowest, highest) in ranges.items():
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or not lowest <= value <= highest:
            raise BadInput(
                f"generate {name}: {setting} is {value!r}, allowed is {lowest} to {highest}; "
                "fix the entry"
            )


def _corpus_of(records: Mapping[int, Mapping[str, Any]], documents: int, name: str) -> Corpus:
    """Build the corpus that :func:`generate` returns.

    Args:
        records: index of a document -> record of the last attempt at it
            (:meth:`Sampler._write`); without sections it has failed.
        documents: number of documents.
        name: of the corpus.
    """
    articles = []
    cut = []
    facts = {"documents": 0, "failed": 0, "redraws": 0, "cut": 0, "tokens": 0}
    for index in range(documents):
        record = records[index]
        facts["redraws"] += record["attempt"]
        # every attempt was malformed
        if not record["sections"]:
            facts["failed"] += 1
            continue
        facts["documents"] += 1
        facts["cut"] += record["cut"]
        facts["tokens"] += record["tokens"]
        sections = tuple(itertools.starmap(Section, record["sections"]))
        articles.append(Document(f"{name}-{record['index']}", "generated", sections))
        cut.append(record["cut"])
    return Corpus(articles, truth={"cut": np.array(cut, dtype=bool)}, facts=facts)


def _calibration_text(
    prefixes: Sequence[Document], tokenizer: Any, titles: bool, window: int
) -> list[int]:
    """At most ``window`` first tokens of a corpus as the model reads it; the end token if none."""
    ids: list[int] = []
    for document in prefixes:
        has_titles = all(section.title is not None for section in document.sections)
        text = render(document, titles and has_titles)
        ids += [*start_ids(tokenizer), *encode(text, tokenizer)]
        if len(ids) >= window:
            break
    return ids[:window] or [tokenizer.eos_token_id]


def _next_attempts(
    records: Mapping[int, Mapping[str, Any]], documents: int, redraws: int
) -> list[tuple[int, int]]:
    """(index, attempt) of each document to sample next: missing, or malformed and not given up.

    Args:
        records: index -> record of the latest attempt; ``sections`` is None if it is malformed.
        documents: number of documents.
        redraws: largest number of further attempts at a document, after attempt 0.
    """
    attempts = []
    for index in range(documents):
        if index not in records:
            attempts.append((index, 0))
            continue
        attempt = records[index]["attempt"] + 1
        if records[index]["sections"] is None and attempt <= redraws:
            attempts.append((index, attempt))
    return attempts


@dataclass
class Draft:
    """A text that is being sampled.

    Attributes:
        index: of its document.
        attempt: number of malformed attempts before.
        key: seed of its random numbers.
        ids: tokens so far.
    """

    index: int
    attempt: int
    key: int
    ids: list[int] = field(default_factory=list)


class Sampler(pl.LightningModule):
    """Samples one process's share of the documents and saves each as soon as it is finished.

    A Lightning module, so that Lightning spreads the work over devices.

    Args:
        network, settings, tokenizer: the model, how to sample, and its tokenizer.
        text: tokens on which float32 is compared with float64.
        start: tokens before each document.
        titles: whether sections have titles.
        names: seed and name of the corpus, from which the drafts' keys are derived.
        documents: number of documents in all, for progress.
        scratch: folder of finished drafts.
        rows: documents at a time.
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
        self.network = network
        self.settings = settings
        self.tokenizer = tokenizer
        self.text = text
        self.start = start
        self.titles = titles
        self.names = names
        self.documents = documents
        self.scratch = scratch
        self.rows = rows
        self.referee: Referee | None = None
        self.num_tokens = 0  # sampled so far, for progress
        self.started = time.monotonic()
        self.reported = time.monotonic()

    def predict_step(self, batch: list[tuple[int, int]], index: int) -> None:
        """Sample this process's drafts, ``rows`` at a time; ``batch``: (index, attempt) of each."""
        if not batch:
            return
        if self.referee is None:
            self.started = time.monotonic()
            self.referee = calibrated(self.network, self.text, self.settings.window)
        end = self.tokenizer.eos_token_id
        drafts = []
        for document, attempt in batch:
            key = derived_seed(*self.names, document, attempt)
            drafts.append(Draft(document, attempt, key, list(self.start)))
        sample(
            self.referee,
            drafts,
            self.settings,
            end,
            tick=self._tick,
            rows=self.rows,
            done=self._write,
        )

    def _write(self, drafts: Sequence[Draft]) -> None:
        """Append finished drafts to this process's file."""
        lines = []
        for draft in drafts:
            body = draft.ids[len(self.start) :]
            text = self.tokenizer.decode(body, skip_special_tokens=True)
            sections = parse(text, self.titles)  # None: malformed
            is_full = len(draft.ids) >= self.settings.max_tokens
            line = {
                "index": draft.index,
                "attempt": draft.attempt,
                "cut": is_full and draft.ids[-1] != self.tokenizer.eos_token_id,
                "tokens": len(body),
                "sections": sections and [[section.title, section.text] for section in sections],
            }
            lines.append(line)
        append_lines(self.scratch / f"drafts-{self.global_rank}.jsonl", lines)

    def _tick(self, tokens: int) -> None:
        """Count sampled tokens, and print progress every ``REPORT_EVERY`` seconds.

        Args:
            tokens: number of tokens since the last call.
        """
        self.num_tokens += tokens
        if self.referee is None or time.monotonic() - self.reported < REPORT_EVERY:
            return
        self.reported = time.monotonic()
        num_done = 0
        for record in finished(self.scratch).values():
            num_done += record["sections"] is not None
        speed = self.num_tokens / (self.reported - self.started)
        print(
            f"generate {self.names[1]}: {num_done}/{self.documents} documents; "
            f"process {self.global_rank + 1}/{self.trainer.world_size}: "
            f"{self.num_tokens:,} tokens, {speed:,.0f} tokens/s, "
            f"margin {self.referee.margin:.1e}, {self.referee.called} draws in float64",
            flush=True,
        )


def finished(scratch: Path) -> dict[int, dict[str, Any]]:
    """Index of a document -> record of its latest attempt, from the files of all processes."""
    latest: dict[int, dict[str, Any]] = {}
    for path in sorted(scratch.glob("drafts-*.jsonl")):
        for record in read_lines(path):
            index = record["index"]
            if index not in latest or record["attempt"] >= latest[index]["attempt"]:
                latest[index] = record
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
    """Extend the drafts in place until each has sampled the end token or is full.

    A token is float32's where that is certain, else the referee's.

    Args:
        referee: the network, and the float64 passes that decide uncertain tokens.
        drafts: equally long.
        settings: of the sampler.
        end: token that ends a text.
        tick: called after each step with the number of its tokens.
        rows: drafts at a time, by default all. Where an eighth of the rows is free the next drafts
            begin there.
        done: called after each step with the drafts that are finished.
    """
    rows = rows or len(drafts)
    contexts = Contexts(referee.network)
    waiting = deque(drafts)
    # Drafts whose contexts but for the last token are in the cache, in its order.
    cached: list[Draft] = []
    # The others at work: they have just begun, or their window has moved.
    uncached: list[Draft] = []
    while waiting or cached or uncached:
        # 1. New drafts begin in free rows.
        free = rows - len(cached) - len(uncached)
        if free == rows or (contexts.can_join and free >= max(1, rows // REFILL)):
            for _ in range(min(free, len(waiting))):
                uncached.append(waiting.popleft())
        # 2. Each gets a token.
        active, num_cached, logits = _next_logits(contexts, cached, uncached, settings)
        _draw(referee, active, logits, settings)
        tick(len(active))
        # 3. Some have ended; of the others some can stay in the cache.
        stays, moved, ended = [], [], []
        for row, draft in enumerate(active):
            if draft.ids[-1] == end or len(draft.ids) >= settings.max_tokens:
                ended.append(draft)
            elif row < num_cached and _is_cacheable(len(draft.ids) - 1, settings):
                stays.append(row)
            else:
                moved.append(draft)
        contexts.take(stays)
        cached = [active[row] for row in stays]
        uncached = moved
        if ended:
            done(ended)


def _next_logits(
    contexts: Contexts, cached: list[Draft], uncached: list[Draft], settings: Sampling
) -> tuple[list[Draft], int, Tensor]:
    """Compute the logits of the next token of each draft.

    Args:
        contexts: cache of the keys and values of drafts' contexts.
        cached: drafts whose tokens but the last are in the cache, in its order.
        uncached: drafts whose contexts are read anew.
        settings: of the sampler; they say where contexts begin.

    Returns:
        All drafts, those that are now in the cache first and in its order; the number of these; and
        the logits, (drafts, vocabulary).
    """
    device = contexts.lengths.device
    active = list(cached)
    num_cached = len(cached)
    logits = []
    if cached:
        last_tokens = [draft.ids[-1] for draft in cached]
        logits.append(contexts.append(torch.tensor(last_tokens, device=device)))
    # Texts of one length are read together. Lengths whose cache serves the next token too come
    # first (False sorts before True), so that the rows of the cache are the first rows.
    by_length = grouped(uncached, lambda draft: len(draft.ids))
    for length in sorted(by_length, key=lambda length: not _is_cacheable(length, settings)):
        group = by_length[length]
        cacheable = _is_cacheable(length, settings)
        begin = context_start(length, settings.window, settings.context_overlap)
        tokens = torch.tensor([draft.ids[begin:] for draft in group], device=device)
        logits.append(contexts.read(tokens, keep=cacheable))
        active.extend(group)
        num_cached += len(group) if cacheable else 0
    return active, num_cached, torch.cat(logits) if len(logits) > 1 else logits[0]


def _is_cacheable(length: int, settings: Sampling) -> bool:
    """Whether the contexts after ``length`` and ``length + 1`` tokens begin at the same token.

    Then one cache serves both.
    """
    window, overlap = settings.window, settings.context_overlap
    return context_start(length + 1, window, overlap) == context_start(length, window, overlap)


def _draw(referee: Referee, active: list[Draft], logits: Tensor, settings: Sampling) -> None:
    """Sample a token for each draft and append it.

    It follows from ``logits``, float32 (drafts, vocabulary), if certain, else from the referee.
    """
    lengths = [len(draft.ids) for draft in active]
    words = keys([draft.key for draft in active], lengths, logits.device)
    tokens, certain = exact_sampling(logits, words, settings.truncation, referee.margin)
    for row in (~certain).nonzero()[:, 0].tolist():
        begin = context_start(lengths[row], settings.window, settings.context_overlap)
        context = torch.tensor(active[row].ids[begin:], device=logits.device)
        tokens[row] = referee.decide(context, logits[row], words[row], settings.truncation)
    for draft, token in zip(active, tokens.tolist(), strict=True):
        draft.ids.append(token)


def context_start(length: int, window: int, context_overlap: int | None) -> int:
    """Index of the first token of the context of the next token, after ``length`` tokens.

    There are two protocols of a full window. None slides by one token, as deng2022's sampler does:
    every token sees the last window - 1 tokens, positions start at zero again, and the whole window
    is recomputed for each token. n re-encodes the last n tokens once the window is full and goes on
    with the cache: the context varies between n and the window, at about window / (window - n)
    forward positions a token instead of window.

    Args:
        length: tokens so far.
        window: most tokens of context.
        context_overlap: n, or None.
    """
    if context_overlap is None:
        return max(0, length - (window - 1))
    stride = window + 1 - context_overlap
    # The tokens beyond the window, rounded up to whole strides.
    return -(-max(0, length - window) // stride) * stride
