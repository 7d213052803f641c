"""Ancestral sampling of whole documents, past the context window, one named generator per document.

Up to the window the KV cache is used. Past it there are two protocols: ``keep=None`` slides by one token, exactly
as deng2022's sampler does (every token sees the last window - 1 tokens; the whole window is recomputed for each
token), and ``keep=n`` re-encodes the last n tokens once the window is full and goes on with the cache, so the
context varies between n and the window: about window / (window - n) forward positions a token instead of window.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from longform.corpora.rendering import parse
from longform.models.causal_lm import encode
from longform.models.checkpoints import load_model, load_tokenizer
from longform.numerics import generator
from longform.units import BadInput, Corpus, Document, Section


@dataclass(frozen=True)
class Sampling:
    """Settings of the sampler.

    Attributes:
        max_tokens: a document is cut there (counted as ``cut``).
        keep: tokens re-encoded on a slide; None slides by one.
        top_k: 0 for no truncation (the paper's text); 50 is what the authors' code inherited.
        temperature: divides the logits.
    """

    max_tokens: int
    keep: int | None
    top_k: int = 0
    temperature: float = 1.0


@dataclass
class _Draft:
    index: int
    attempt: int
    rng: np.random.Generator
    ids: list[int]


def generate(
    *,
    model: Path,
    name: str,
    seed: int,
    scratch: Path,
    prefixes: Sequence[Document],
    documents: int,
    titles: bool,
    batch: int,
    max_tokens: int,
    keep: int | None,
    top_k: int = 0,
    temperature: float = 1.0,
    redraws: int = 20,
) -> Corpus:
    """Sample ``documents`` articles; a malformed one is drawn again (counted), at most ``redraws`` times.

    Returns:
        The generated corpus; facts count documents, redraws, cut and failed ones.
    """
    if not isinstance(documents, int) or documents < 1:
        raise BadInput(f"generate {name}: documents={documents}; at least one is needed")
    tokenizer = load_tokenizer(model)
    network = load_model(model, AutoModelForCausalLM).eval()
    settings = Sampling(max_tokens, keep, top_k, temperature)
    checked(settings, batch, network.config.max_position_embeddings, name)
    prefix = [tokenizer.eos_token_id, *encode("\n", tokenizer), tokenizer.eos_token_id]
    writer = _Writer(tokenizer, titles, prefix, (seed, name), redraws, scratch / "drafts.jsonl")
    pending = writer.pending(documents)
    started = time.monotonic()
    while pending:
        drafts = [writer.draft(index, attempt) for index, attempt in pending[:batch]]
        sample(network, drafts, settings, tokenizer.eos_token_id)
        pending = pending[batch:] + writer.accept(drafts, settings)
        writer.report(documents, started)
    return writer.corpus(documents)


def checked(settings: Sampling, batch: int, window: int, name: str) -> None:
    """Refuse settings that cannot sample.

    Raises:
        BadInput: naming the setting, its value and what is allowed.
    """
    keep = window - 1 if settings.keep is None else settings.keep
    whole = {"batch": (batch, 1, 10**9), "max_tokens": (settings.max_tokens, 5, 10**9), "keep": (keep, 1, window - 1)}
    for setting, (value, least, most) in {**whole, "top_k": (settings.top_k, 0, 10**9)}.items():
        if not isinstance(value, int) or not least <= value <= most:
            raise BadInput(f"generate {name}: {setting} is {value!r}, allowed is {least} to {most}; mend the row")
    if not isinstance(settings.temperature, int | float) or settings.temperature <= 0:
        raise BadInput(f"generate {name}: temperature is {settings.temperature!r}, allowed is above 0; mend the row")


class _Writer:
    """Turns finished drafts into documents and remembers them on disk, so that a killed run goes on where it was."""

    def __init__(
        self, tokenizer: Any, titles: bool, prefix: list[int], names: tuple[Any, ...], redraws: int, path: Path
    ):
        self.tokenizer, self.titles, self.prefix, self.names, self.redraws = tokenizer, titles, prefix, names, redraws
        self.path, self.tokens, self.reported = path, 0, time.monotonic()
        self.done: dict[int, dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:  # the line on which the run was killed: its document is drawn again
                continue
            self.done[record["index"]] = record

    def pending(self, documents: int) -> list[tuple[int, int]]:
        return [(index, 0) for index in range(documents) if index not in self.done]

    def draft(self, index: int, attempt: int) -> _Draft:
        return _Draft(index, attempt, generator(*self.names, index, attempt), list(self.prefix))

    def accept(self, drafts: list[_Draft], settings: Sampling) -> list[tuple[int, int]]:
        """Record the well-formed drafts; return those to draw again."""
        again = []
        with self.path.open("a", encoding="utf-8") as lines:
            for draft in drafts:
                record = self._record(draft, settings)
                if record is None:
                    again.append((draft.index, draft.attempt + 1))
                    continue
                self.done[draft.index] = record
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
        return again

    def _record(self, draft: _Draft, settings: Sampling) -> dict[str, Any] | None:
        self.tokens += len(draft.ids)
        body = draft.ids[len(self.prefix) :]
        text = self.tokenizer.decode(body, skip_special_tokens=True).strip()
        sections = parse(text, self.titles)
        if sections is None and draft.attempt < self.redraws:
            return None
        parts = [[section.title, section.text] for section in sections or ()]
        cut = len(draft.ids) >= settings.max_tokens
        return {"index": draft.index, "attempts": draft.attempt, "cut": cut, "tokens": len(body), "sections": parts}

    def report(self, documents: int, started: float) -> None:
        if time.monotonic() - self.reported > 10:
            self.reported = time.monotonic()
            speed = self.tokens / (self.reported - started)
            print(
                f"generate {self.names[-1]}: {len(self.done)}/{documents} documents, {speed:,.0f} tokens/s", flush=True
            )

    def corpus(self, documents: int) -> Corpus:
        rows = [self.done[index] for index in range(documents)]
        kept = [row for row in rows if row["sections"]]
        facts = {
            "documents": len(kept),
            "failed": len(rows) - len(kept),
            "redraws": sum(row["attempts"] for row in rows),
            "cut": sum(row["cut"] for row in rows),
            "tokens": sum(row["tokens"] for row in rows),
        }
        return Corpus([self._document(row) for row in kept], {}, facts)

    def _document(self, row: dict[str, Any]) -> Document:
        sections = tuple(Section(title, text) for title, text in row["sections"])
        return Document(f"{self.names[-1]}-{row['index']}", "generated", sections)


@torch.no_grad()
def sample(network: Any, drafts: list[_Draft], settings: Sampling, end: int) -> None:
    """Extend the drafts in place until each has drawn the end token or is full."""
    window = network.config.max_position_embeddings
    active, cache = list(drafts), None
    while active:
        length = len(active[0].ids)  # all active drafts are equally long: one prefix, one token a step
        feed, cache = _feed(active, cache, length, window, settings.keep)
        output = network(input_ids=feed, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        logits = output.logits[:, -1].double().numpy()
        for draft, row in zip(active, logits, strict=True):
            draft.ids.append(draw(row, draft.rng, settings))
        alive = [i for i, d in enumerate(active) if d.ids[-1] != end and len(d.ids) < settings.max_tokens]
        if len(alive) < len(active):
            active = [active[i] for i in alive]
            if active:
                cache.batch_select_indices(torch.tensor(alive))


def _feed(active: list[_Draft], cache: Any, length: int, window: int, keep: int | None) -> tuple[torch.Tensor, Any]:
    """The next input and cache: one token, or a re-encoded window after a slide."""
    held = cache.get_seq_length() if cache is not None else 0
    if cache is not None and held < window and not (keep is None and length >= window):
        return torch.tensor([draft.ids[-1:] for draft in active]), cache
    width = min(length, window - 1 if keep is None else keep) if length >= window else length
    return torch.tensor([draft.ids[-width:] for draft in active]), None


def draw(logits: np.ndarray, rng: np.random.Generator, settings: Sampling) -> int:
    """One token by inversion of the cumulative distribution, in float64, from one uniform."""
    scaled = logits / settings.temperature
    if settings.top_k:
        kept = min(settings.top_k, len(scaled))
        scaled = np.where(scaled < np.partition(scaled, -kept)[-kept], -np.inf, scaled)
    cumulative = np.cumsum(np.exp(scaled - scaled.max()))
    return int(min(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"), len(logits) - 1))
