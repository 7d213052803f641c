"""Ancestral sampling of whole documents, past the context window, in parallel, with the same bytes however it is run.

A text depends on (model, seed, stage name, index, truncation, protocol) alone: see :mod:`longform.decoding.certain_draws`. Each process
appends finished drafts to its own file, so the number of processes may change between a kill and its continuation.
"""

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from transformers import AutoModelForCausalLM

from longform.core.artefacts import append_lines, read_lines
from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.resampling import derived_seed
from longform.core.text.rendering import parse, render
from longform.decoding.certain_draws import Referee, Truncation, calibrated, certain_draws, keys
from longform.decoding.sampling import growing_cache
from longform.language_models.checkpoints import load_model, load_tokenizer
from longform.language_models.schedule import Launch, predict
from longform.language_models.tokenizers import STARTS, encode

REPORT_EVERY = 10.0  # seconds between lines of progress


@dataclass(frozen=True)
class Sampling:
    """Settings of the sampler.

    Attributes:
        max_tokens: a document is cut there (counted as ``cut``).
        context_overlap: tokens re-encoded when the window is full; None slides by one token.
        window: most tokens that a draw sees.
        truncation: what is done to the logits.
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
    """Sample ``documents`` articles; a malformed one is drawn again (counted), at most ``redraws`` times.

    Args:
        prefixes: a corpus whose text shows how far float32 is from float64; the texts themselves begin from nothing.
        packing: how the model met documents in training, which says what stands before one: "stream" or "documents".
        batch: documents at a time and process.
        context_overlap: None is the paper's protocol, slide by one; n re-encodes n tokens of a full window.
        window: most tokens that a draw sees; None for all positions of the network.
        top_k: 0 is no truncation (deng2022 section 4); the authors' code inherits 50.

    Returns:
        The generated corpus; facts count documents, redraws, cut and failed ones.
    """
    if packing not in STARTS:
        raise BadInput(f"generate {name}: packing {packing!r}, allowed are {sorted(STARTS)}; fix the entry")
    tokenizer = load_tokenizer(model)
    network = load_model(model, AutoModelForCausalLM).float().eval()
    positions = network.config.max_position_embeddings
    settings = Sampling(
        max_tokens, context_overlap, positions if window is None else window, Truncation(top_k, temperature)
    )
    checked(settings, positions, name, documents=documents, batch=batch, redraws=redraws)
    job = Job(tokenizer, STARTS[packing](tokenizer), titles, (seed, name), documents, redraws, scratch)
    text = calibration_text(prefixes, tokenizer, titles, settings.window)
    sampler = Sampler(network, job, settings, text)
    for _ in range(redraws + 1):  # every round draws what is still missing or malformed, in full batches
        if left := pending(finished(scratch), documents, redraws):
            predict(sampler, left, batch, Launch.here())
    return corpus_of(finished(scratch), documents, name)


def checked(settings: Sampling, positions: int, name: str, **counts: int) -> None:
    """Refuse settings that cannot sample, or that no network of so many positions can see.

    Raises BadInput: naming the setting, its value and what is allowed.
    """
    window = settings.window if isinstance(settings.window, int) else positions
    overlap = window - 1 if settings.context_overlap is None else settings.context_overlap
    ranges = {setting: (value, 0 if setting == "redraws" else 1, 10**9) for setting, value in counts.items()}
    ranges |= {"window": (settings.window, 2, positions)}
    ranges |= {"max_tokens": (settings.max_tokens, 5, 10**9), "context_overlap": (overlap, 1, window - 1)}
    ranges["top_k"] = (settings.truncation.top_k, 0, 10**9)
    for setting, (value, least, most) in ranges.items():
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise BadInput(f"generate {name}: {setting} is {value!r}, allowed is {least} to {most}; fix the entry")
    temperature = settings.truncation.temperature
    if not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        raise BadInput(f"generate {name}: temperature is {temperature!r}, allowed is above 0; fix the entry")


def calibration_text(prefixes: Sequence[Document], tokenizer: Any, titles: bool, tokens: int) -> list[int]:
    """The first tokens of a corpus, one document behind the other."""
    ids = itertools.chain.from_iterable(
        [tokenizer.eos_token_id, *encode(render(d, titles and all(s.title is not None for s in d.sections)), tokenizer)]
        for d in prefixes
    )
    return list(itertools.islice(ids, tokens)) or [tokenizer.eos_token_id]


@dataclass
class Draft:
    """A text in the making: which document, how often it was malformed before, what names its noise, its tokens so far."""

    index: int
    attempt: int
    key: int
    ids: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """What is to be written: names of the drafts, the tokens before each, and how a finished one becomes a record."""

    tokenizer: Any
    start: Sequence[int]
    titles: bool
    names: tuple[int, str]
    documents: int
    redraws: int
    scratch: Path

    def draft(self, index: int, attempt: int) -> Draft:
        """An empty draft."""
        return Draft(index, attempt, derived_seed(*self.names, index, attempt), list(self.start))

    def record(self, draft: Draft, settings: Sampling) -> dict[str, Any]:
        """The line of a finished draft; sections are None where it is malformed, so that it is drawn again."""
        body = draft.ids[len(self.start) :]
        sections = parse(self.tokenizer.decode(body, skip_special_tokens=True), self.titles)
        parts = None if sections is None else [[section.title, section.text] for section in sections]
        cut = len(draft.ids) >= settings.max_tokens and draft.ids[-1] != self.tokenizer.eos_token_id
        return {"index": draft.index, "attempt": draft.attempt, "cut": cut, "tokens": len(body), "sections": parts}


class Sampler(pl.LightningModule):
    """One process's share: takes batches of (index, attempt), writes finished drafts."""

    def __init__(self, network: Any, job: Job, settings: Sampling, text: Sequence[int]) -> None:
        super().__init__()
        self.network, self.job, self.settings, self.text = network, job, settings, text
        self.referee: Referee | None = None
        self.drawn, self.started, self.reported = 0, time.monotonic(), time.monotonic()

    def predict_step(self, batch: list[tuple[int, int]], index: int) -> None:
        """Sample a batch of drafts and remember them."""
        if not batch:
            return
        if self.referee is None:
            self.started = time.monotonic()
            self.referee = calibrated(self.network, self.text, self.settings.window)
        drafts = [self.job.draft(*one) for one in batch]
        sample(self.referee, drafts, self.settings, self.job.tokenizer.eos_token_id, self._tick)
        lines = [self.job.record(draft, self.settings) for draft in drafts]
        append_lines(self.job.scratch / f"drafts-{self.global_rank}.jsonl", lines)

    def _tick(self, tokens: int) -> None:
        self.drawn += tokens
        if self.referee is None or time.monotonic() - self.reported < REPORT_EVERY:
            return
        self.reported = time.monotonic()
        done = sum(row["sections"] is not None for row in finished(self.job.scratch).values())
        speed, where = self.drawn / (self.reported - self.started), f"{self.global_rank + 1}/{self.trainer.world_size}"
        print(
            f"generate {self.job.names[1]}: {done}/{self.job.documents} documents; process {where}: {self.drawn:,} tokens,"
            f" {speed:,.0f} tokens/s, margin {self.referee.margin:.1e}, {self.referee.called} draws in float64",
            flush=True,
        )


@torch.no_grad()
def sample(
    referee: Referee,
    drafts: Sequence[Draft],
    settings: Sampling,
    end: int,
    tick: Callable[[int], None] = lambda _: None,
) -> None:
    """Extend the drafts in place until each has drawn the end token or is full."""
    network = referee.network
    window, device = settings.window, network.device
    length, cache, start = len(drafts[0].ids), None, -1  # active drafts are equally long: one prefix, a token a step
    ids = torch.zeros(len(drafts), settings.max_tokens, dtype=torch.int64, device=device)
    ids[:, :length] = torch.tensor([draft.ids for draft in drafts])
    active = list(drafts)
    while active:
        begin = context_start(length, window, settings.context_overlap)
        fresh = cache is None or begin != start
        reuse = context_start(length + 1, window, settings.context_overlap) == begin
        output = network(
            input_ids=ids[:, begin:length] if fresh else ids[:, length - 1 : length],
            past_key_values=(growing_cache(network) if reuse else None) if fresh else cache,
            use_cache=reuse or not fresh,
            logits_to_keep=1,
        )
        cache, start = (output.past_key_values if reuse else None), begin
        ids[:, length] = draws(referee, output.logits[:, -1], ids[:, begin:length], active, settings, length)
        length += 1
        tick(len(active))
        alive = (ids[:, length - 1] != end) & (length < settings.max_tokens)
        if not alive.all():
            for row in (~alive).nonzero()[:, 0].tolist():
                active[row].ids = ids[row, :length].tolist()
            rows = alive.nonzero()[:, 0]
            active, ids = [active[row] for row in rows.tolist()], ids[rows]
            if cache is not None and active:
                cache.batch_select_indices(rows)


def draws(
    referee: Referee,
    logits: torch.Tensor,
    contexts: torch.Tensor,
    active: Sequence[Draft],
    settings: Sampling,
    place: int,
) -> torch.Tensor:
    """The token (draft,) at a place of each draft: float32's where it is certain, else the referee's."""
    words = keys([draft.key for draft in active], place, logits.device)
    tokens, certain = certain_draws(logits, words, settings.truncation, referee.margin)
    for row in (~certain).nonzero()[:, 0].tolist():
        tokens[row] = referee.decide(contexts[row], logits[row], words[row], settings.truncation)
    return tokens


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


def finished(scratch: Path) -> dict[int, dict[str, Any]]:
    """The latest attempt at each document, from the files of all processes."""
    latest: dict[int, dict[str, Any]] = {}
    for path in sorted(scratch.glob("drafts-*.jsonl")):
        for record in read_lines(path):
            if record["attempt"] >= latest.get(record["index"], {"attempt": -1})["attempt"]:
                latest[record["index"]] = record
    return latest


def pending(done: Mapping[int, Mapping[str, Any]], documents: int, redraws: int) -> list[tuple[int, int]]:
    """(index, attempt) of every document without a well-formed text that may still be drawn."""
    attempts = {i: 0 if i not in done else done[i]["attempt"] + 1 for i in range(documents)}
    return [(i, n) for i, n in attempts.items() if n <= redraws and (i not in done or done[i]["sections"] is None)]


def corpus_of(done: Mapping[int, Mapping[str, Any]], documents: int, name: str) -> Corpus:
    """Documents in the order of their indices; facts count documents, redraws, cut and failed ones, and tokens."""
    rows = [done[index] for index in range(documents)]
    kept = [row for row in rows if row["sections"]]
    facts = {
        "documents": len(kept),
        "failed": len(rows) - len(kept),
        "redraws": sum(row["attempt"] for row in rows),
        "cut": sum(row["cut"] for row in kept),
        "tokens": sum(row["tokens"] for row in kept),
    }
    texts = [tuple(Section(title, text) for title, text in row["sections"]) for row in kept]
    made = [Document(f"{name}-{row['index']}", "generated", parts) for row, parts in zip(kept, texts, strict=True)]
    return Corpus(made, {}, facts)
