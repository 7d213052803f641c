"""Continuations of ``title. first sentence`` by many decoding strategies (massarelli2020, sections 3 and 5), of a fixed length.

A killed run goes on and ends with the same bytes: batches are formed before anything is decoded and written when they are done.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from longform.core.artefacts import append_lines, read_lines
from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.resampling import generator
from longform.core.text.sentences import SPLITTERS
from longform.decoding.sampling import SentenceEnds
from longform.decoding.strategies import Delayed, Human, Settings, decode, is_random, settings_of
from longform.language_models.checkpoints import chosen_device, load_model, load_tokenizer
from longform.language_models.tokenizers import encode

CONTINUATION, REFERENCE = "continuation", "reference"
_DEFINED = re.compile(r"(.+?),? (?:\([^)]*\) )?(?:is|was|are|were) ")


def _defined(document: Document, first: str) -> str:
    match = _DEFINED.match(first)
    return match[1] if match else ""


TITLES: Mapping[str, Callable[[Document, str], str]] = {  # where a page's title stands
    "definition": _defined,  # what the first sentence defines: the words before its first "is" or "was"
    "first_section": lambda document, first: document.sections[0].title or "",
    "id": lambda document, first: document.id,
}


def prefix_of(document: Document, splitter: str, title_from: str) -> tuple[str, str, str]:
    """Page title (see ``TITLES``; empty where there is none), first sentence, and the rest of the text."""
    text = " ".join(document.text.split())
    sentences = SPLITTERS[splitter](text)
    first = sentences[0] if sentences else ""
    return TITLES[title_from](document, first), first, text[text.find(first) + len(first) :].strip()


NEW_TOKENS = 256  # massarelli2020, section 5
SEEDS = 3  # massarelli2020, section 5: three generations with different seeds for every stochastic strategy
DIGITS = 6  # of a log-probability in nats; float32 has no more
ROWS = 8  # read at a time when log-probabilities are taken


@dataclass(frozen=True)
class Continuation:
    """One continuation: its tokens, their log-probabilities in nats, and the sum over the prefix's tokens."""

    ids: list[int]
    nats: list[float]
    prefix_nats: float


@dataclass(frozen=True)
class _Prefix:
    document: Document
    ids: list[int]
    title: str
    first: str
    reference: list[int]


@dataclass(frozen=True)
class _Row:
    """One continuation to write: which decoder, after which prefix, the how many-th."""

    setting: str
    prefix: _Prefix
    repeat: int


def generate(
    *,
    model: Path,
    prefixes: Sequence[Document],
    name: str,
    seed: int,
    scratch: Path | None = None,
    decoders: Mapping[str, Mapping[str, Any]],
    new_tokens: int = NEW_TOKENS,
    repeats: int | None = None,
    split: str | None = "test",
    documents: int | None = None,
    batch: int = 16,
    splitter: str = "full_stops",
    title_from: str = "definition",
) -> Corpus:
    """Continue the prefix of every article of ``split``: its title, a point, and the first sentence of its text.

    Args:
        scratch: where finished batches are kept, so that a killed run goes on; nowhere by default.
        decoders: by name; see :mod:`longform.decoding.strategies`.
        repeats: continuations per prefix; by default three where the decoder draws, else one.
        documents: how many articles; all by default.
        title_from: a key of ``TITLES``.

    Returns:
        One document per continuation, split ``generated``: section 0 holds the page's title and the prefix's sentence,
        section 1 the continuation, section 2 what the article has there, cut to as many tokens. Truth, one row a
        document: ``setting``, ``page``, ``repeat``, ``prefix_nats`` and ``prefix_tokens``, and ragged ``token``,
        ``token_nats`` (log-probability under the model), ``token_marks`` (characters without blanks) and
        ``reference``. Facts count prefixes without title or sentence, those too long for the window, and continuations
        that are empty or cut short.

    Raises BadInput: an unknown decoder, splitter or ``title_from``, or no prefix that can be used.
    """
    settings = {key: settings_of(one) for key, one in decoders.items()}
    if splitter not in SPLITTERS or title_from not in TITLES:
        allowed = f"{sorted(SPLITTERS)} and {sorted(TITLES)}"
        raise BadInput(f"generate {name}: splitter {splitter!r}, title_from {title_from!r}; allowed are {allowed}")
    tokenizer, network = load_tokenizer(model), load_model(model, AutoModelForCausalLM).to(chosen_device()).eval()
    chosen = [d for d in prefixes if split is None or d.split == split][:documents]
    window = getattr(network.config, "max_position_embeddings", None)
    parts = [(document, *prefix_of(document, splitter, title_from)) for document in chosen]
    found, counts = _prefixes(parts, tokenizer, new_tokens, None if window is None else window - new_tokens)
    if not found:
        raise BadInput(f"generate {name}: no prefix of {len(chosen)} can be used ({counts}); fix split or new_tokens")
    times = {key: _repeats(one, repeats) for key, one in settings.items()}
    rows = [_Row(key, prefix, n) for key in settings for prefix in found for n in range(times[key])]
    writer = _Writer(network, tokenizer, settings, new_tokens, batch, (seed, name))
    kept = writer.write(rows, FinishedBatches(scratch))
    texts = [str(tokenizer.decode(one.ids)) for one in kept]
    facts = {
        "corpus": name,
        "decoders": {key: dict(one) for key, one in decoders.items()},
        "repeats": times,
        "new_tokens": new_tokens,
    }
    facts |= {**counts, **writer.counts(rows, kept, texts)}
    made = [_document(name, row, text, tokenizer) for row, text in zip(rows, texts, strict=True)]
    return Corpus(made, _truth(rows, kept, tokenizer), facts)


def _repeats(settings: Settings, repeats: int | None) -> int:
    if isinstance(settings, Human):
        return 1
    return repeats if repeats is not None else SEEDS if is_random(settings) else 1


@dataclass(frozen=True)
class _Writer:
    """What all batches of a run share."""

    network: Any
    tokenizer: Any
    settings: Mapping[str, Settings]
    new_tokens: int
    batch: int
    names: tuple[Any, ...]

    def write(self, rows: Sequence[_Row], finished: "FinishedBatches") -> list[Continuation]:
        """Continuations in the order of ``rows``; a batch holds prefixes of like length under one decoder."""
        made: dict[int, Continuation] = {}
        for setting in self.settings:
            own = [i for i, row in enumerate(rows) if row.setting == setting]
            own.sort(key=lambda i: len(rows[i].prefix.ids))
            for first in range(0, len(own), self.batch):
                part = own[first : first + self.batch]
                made |= zip(part, finished.get([rows[i] for i in part], self._batch), strict=True)
            print(f"generate {self.names[-1]}: {setting}, {len(made)}/{len(rows)} continuations", flush=True)
        return [made[row] for row in range(len(rows))]

    def _batch(self, rows: Sequence[_Row]) -> list[Continuation]:
        prompts = [row.prefix.ids for row in rows]
        rngs = [generator("decoding", *self.names, row.setting, row.prefix.document.id, row.repeat) for row in rows]
        settings, end = self.settings[rows[0].setting], self.tokenizer.eos_token_id
        if isinstance(settings, Human):
            written = [row.prefix.reference for row in rows]
        else:
            ends = self._ends(settings)
            written = decode(self.network, prompts, settings, self.new_tokens, rngs, end, ends)
        nats = token_log_probs(self.network, prompts, written)
        return [Continuation(list(ids), *values) for ids, values in zip(written, nats, strict=True)]

    def _ends(self, settings: Settings) -> SentenceEnds | None:
        size = self.network.config.vocab_size
        return SentenceEnds.of_tokenizer(self.tokenizer, size) if isinstance(settings, Delayed) else None

    def counts(self, rows: Sequence[_Row], kept: Sequence[Continuation], texts: Sequence[str]) -> dict[str, Any]:
        """Of all continuations: tokens, empty, cut short, and points that a guard kept from ending a sentence."""
        delayed = [d for row, d in zip(rows, kept, strict=True) if isinstance(self.settings[row.setting], Delayed)]
        ends = self._ends(next((s for s in self.settings.values() if isinstance(s, Delayed)), Human()))
        written = [d for row, d in zip(rows, kept, strict=True) if not isinstance(self.settings[row.setting], Human)]
        return {
            "empty": sum(not text.strip() for text in texts),
            "cut_short": sum(len(one.ids) < self.new_tokens for one in written),
            "tokens": sum(len(one.ids) for one in written),
            "guarded_points": sum(ends.guarded(one.ids) for one in delayed) if ends is not None else 0,
        }


class FinishedBatches:
    """Batches in order; those that an earlier run finished are read from ``scratch``, None keeps nothing."""

    def __init__(self, scratch: Path | None) -> None:
        self.path = None if scratch is None else scratch / "batches.jsonl"
        lines = [] if self.path is None else read_lines(self.path)
        self.done = {line["batch"]: [Continuation(**one) for one in line["drafts"]] for line in lines}
        self.asked = 0

    def get(self, rows: Sequence[Any], make: Callable[[Sequence[Any]], list[Continuation]]) -> list[Continuation]:
        """The next batch, from disk or made and put there."""
        number, self.asked = self.asked, self.asked + 1
        if number not in self.done:
            self.done[number] = make(rows)
            if self.path is not None:
                append_lines(self.path, [{"batch": number, "drafts": [asdict(one) for one in self.done[number]]}])
        return self.done[number]


@torch.no_grad()
def token_log_probs(
    network: Any, prompts: Sequence[Sequence[int]], written: Sequence[Sequence[int]]
) -> list[tuple[list[float], float]]:
    """Log-probabilities of the written tokens in nats, and the sum over the prompt's tokens after its first one."""
    made: list[tuple[list[float], float]] = []
    for start in range(0, len(prompts), ROWS):
        part = range(start, min(start + ROWS, len(prompts)))
        rows = [[*prompts[i], *written[i]] for i in part]
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=network.device)
        log_probs = network(input_ids=ids).logits.float().log_softmax(-1)  # padding is on the right: nobody looks there
        found = log_probs[:, :-1].gather(2, ids[:, 1:, None])[..., 0].double().cpu().numpy()
        for place, i in enumerate(part):
            begin, end = len(prompts[i]) - 1, len(rows[place]) - 1
            nats = [round(float(value), DIGITS) for value in found[place, begin:end]]
            made.append((nats, round(float(found[place, :begin].sum()), DIGITS)))
    return made


def _prefixes(
    parts: Sequence[tuple[Document, str, str, str]], tokenizer: Any, new_tokens: int, room: int | None
) -> tuple[list[_Prefix], dict[str, int]]:
    found: list[_Prefix] = []
    counts = {"prefixes": 0, "prefixes_empty": 0, "prefixes_untitled": 0, "prefixes_too_long": 0}
    for document, title, first, rest in parts:
        ids = [tokenizer.eos_token_id, *encode(f"{title}. {first}", tokenizer)]
        too_long = room is not None and len(ids) > room
        fault = "empty" if not first else "untitled" if not title else "too_long" if too_long else None
        counts[f"prefixes_{fault}" if fault else "prefixes"] += 1
        if fault is None:
            reference = encode(f" {rest}", tokenizer)[:new_tokens] if rest else []
            found.append(_Prefix(document, ids, title, first, reference))
    return found, counts


def _document(name: str, row: _Row, text: str, tokenizer: Any) -> Document:
    reference = tokenizer.decode(row.prefix.reference).strip() if row.prefix.reference else ""
    sections = (Section(row.prefix.title, row.prefix.first), Section(CONTINUATION, text), Section(REFERENCE, reference))
    return Document(f"{name}-{row.setting}-{row.prefix.document.id}-{row.repeat}", "generated", sections)


def _truth(rows: Sequence[_Row], kept: Sequence[Continuation], tokenizer: Any) -> dict[str, np.ndarray]:
    marks = {token: len("".join(str(tokenizer.decode([token])).split())) for d in kept for token in d.ids}
    flat: dict[str, tuple[Sequence[Sequence[float]], type]] = {
        "token": ([d.ids for d in kept], np.int32),
        "token_nats": ([d.nats for d in kept], np.float64),
        "token_marks": ([[marks[token] for token in d.ids] for d in kept], np.int32),
        "reference": ([row.prefix.reference for row in rows], np.int32),
    }
    arrays: dict[str, np.ndarray] = {}
    for key, (values, dtype) in flat.items():
        arrays[key] = np.array([one for value in values for one in value], dtype=dtype)
        arrays[f"{key}_lengths"] = np.array([len(value) for value in values], dtype=np.int64)
    return arrays | {
        "setting": np.array([row.setting for row in rows], dtype=np.str_),
        "page": np.array([row.prefix.document.id for row in rows], dtype=np.str_),
        "repeat": np.array([row.repeat for row in rows], dtype=np.int64),
        "prefix_nats": np.array([d.prefix_nats for d in kept], dtype=np.float64),
        "prefix_tokens": np.array([len(row.prefix.ids) - 1 for row in rows], dtype=np.int64),
    }
