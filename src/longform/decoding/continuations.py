"""Continuations of ``title. first sentence`` by many decoding strategies (massarelli2020, sections 3 and 5), of a fixed length.

A killed run goes on and ends with the same bytes: batches are formed before anything is decoded and written when they are done.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from longform.decoding.sampling import SentenceEnds
from longform.decoding.strategies import Delayed, Human, decode, is_random, settings_of
from longform.documents import Corpus, Document, Section, grouped, ragged
from longform.errors import BadInput
from longform.files.artefacts import append_lines, read_lines
from longform.language_models import capacity
from longform.language_models.tokenizers import encode, end_of_writing, padded, start_ids
from longform.language_models.trial import open_language_model
from longform.statistics.random_streams import generator
from longform.text.rendering import render
from longform.text.sentences import SPLITTERS

CONTINUATION, REFERENCE = "continuation", "reference"
NEW_TOKENS = 256  # massarelli2020, section 5
SEEDS = 3  # massarelli2020, section 5: three generations with different seeds for every stochastic strategy
DIGITS = 6  # of a log-probability in nats; float32 has no more
ROWS = 8  # read at a time when log-probabilities are taken
_DEFINED = re.compile(r"^(.+?),? (?:\([^)]*\) )?(?:is|was|are|were) ")
TITLES: Mapping[str, Callable[[Document, str], str]] = {  # where a page's title stands
    "definition": lambda document, first: (_DEFINED.findall(first) or [""])[
        0
    ],  # the words before its first "is"
    "first_section": lambda document, first: document.sections[0].title or "",
    "id": lambda document, first: document.id,
}


def prefix_of(document: Document, splitter: str, title_from: str) -> tuple[str, str, str]:
    """Page title (see ``TITLES``; empty where there is none), first sentence, and the rest of the text as models read it.

    The rest begins with the blank or the line end that parts it from the first sentence.
    """
    lines = (" ".join(line.split()) for line in render(document, titles=False).split("\n"))
    text = "\n".join(lines)
    first = " ".join(next(iter(SPLITTERS[splitter](document.text)), "").split())
    place = re.search(
        r"\s+".join(map(re.escape, first.split())), text
    )  # a sentence of some splitters crosses lines
    rest = text[place.end() :].rstrip() if place else ""
    if rest and not rest[0].isspace():
        rest = f" {rest}"
    return TITLES[title_from](document, first), first, rest


class _Row(NamedTuple):
    """One continuation to write."""

    setting: str
    document: Document
    title: str
    first: str
    prompt: list[int]
    reference: list[int]
    repeat: int


def generate(
    *,
    model: Path,
    prefixes: Sequence[Document],
    name: str,
    seed: int,
    scratch: Path | None = None,
    decoders: Mapping[str, Mapping[str, Any]],  # by name; see :mod:`longform.decoding.strategies`
    new_tokens: int = NEW_TOKENS,
    repeats: int
    | None = None,  # continuations per prefix; by default three where the decoder draws, else one
    split: str | None = "test",
    documents: int | None = None,  # how many articles; all by default
    batch: int = 16,
    splitter: str = "full_stops",
    title_from: str = "definition",
) -> Corpus:
    """Continue the prefix of every article of ``split``: its title, a point, and the first sentence of its text.

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
        raise BadInput(
            f"generate {name}: splitter {splitter!r}, title_from {title_from!r}; allowed are {allowed}"
        )
    tokenizer, network = open_language_model(model)
    end = end_of_writing(tokenizer, f"generate {name}")
    chosen = [d for d in prefixes if split is None or d.split == split][:documents]
    window = capacity.positions(network)
    counts = {"prefixes": 0, "prefixes_empty": 0, "prefixes_untitled": 0, "prefixes_too_long": 0}
    found = []
    for document in chosen:
        title, first, rest = prefix_of(document, splitter, title_from)
        ids = [*start_ids(tokenizer), *encode(f"{title}. {first}", tokenizer)]
        too_long = window is not None and len(ids) + new_tokens > window
        fault = (
            "empty" if not first else "untitled" if not title else "too_long" if too_long else ""
        )
        counts[f"prefixes_{fault}" if fault else "prefixes"] += 1
        if not fault:
            found.append((document, title, first, ids, encode(rest, tokenizer)[:new_tokens]))
    if not found:
        raise BadInput(
            f"generate {name}: no prefix of {len(chosen)} can be used ({counts}); fix split or new_tokens"
        )
    usual = {key: SEEDS if is_random(one) else 1 for key, one in settings.items()}
    times = {
        key: n if repeats is None or isinstance(settings[key], Human) else repeats
        for key, n in usual.items()
    }
    rows = [
        _Row(key, *prefix, n) for key in settings for prefix in found for n in range(times[key])
    ]
    delays = any(isinstance(one, Delayed) for one in settings.values())
    ends = SentenceEnds.of_tokenizer(tokenizer, network.config.vocab_size) if delays else None

    def make(rows: Sequence[_Row]) -> Drafts:
        one, prompts = settings[rows[0].setting], [row.prompt for row in rows]
        if isinstance(one, Human):
            written = [row.reference for row in rows]
        else:
            rngs = [
                generator("decoding", seed, name, row.setting, row.document.id, row.repeat)
                for row in rows
            ]
            written = decode(network, prompts, one, new_tokens, rngs, end, ends)
        found = zip(written, token_log_probs(network, prompts, written), strict=True)
        return [
            {"ids": list(ids), "nats": nats, "prefix_nats": before} for ids, (nats, before) in found
        ]

    kept = _in_batches(rows, batch, make, scratch, name)
    texts = [str(tokenizer.decode(one["ids"])) for one in kept]
    by_models = [
        d["ids"]
        for row, d in zip(rows, kept, strict=True)
        if not isinstance(settings[row.setting], Human)
    ]
    delayed = [
        d["ids"]
        for row, d in zip(rows, kept, strict=True)
        if isinstance(settings[row.setting], Delayed)
    ]
    told = {
        "decoders": {key: dict(one) for key, one in decoders.items()},
        "repeats": times,
        "new_tokens": new_tokens,
    }
    counts["empty"] = sum(not text.strip() for text in texts)
    counts["cut_short"] = sum(len(ids) < new_tokens for ids in by_models)
    counts["tokens"] = sum(map(len, by_models))
    counts["guarded_points"] = sum(ends.guarded(ids) for ids in delayed) if ends is not None else 0
    made = []
    for row, text in zip(rows, texts, strict=True):
        reference = str(tokenizer.decode(row.reference)).strip() if row.reference else ""
        sections = (
            Section(row.title, row.first),
            Section(CONTINUATION, text),
            Section(REFERENCE, reference),
        )
        made.append(
            Document(f"{name}-{row.setting}-{row.document.id}-{row.repeat}", "generated", sections)
        )
    return Corpus(made, _truth(rows, kept, tokenizer), {"corpus": name, **told, **counts})


Drafts = list[dict[str, Any]]


def _in_batches(
    rows: Sequence[_Row],
    batch: int,
    make: Callable[[Sequence[_Row]], Drafts],
    scratch: Path | None,
    name: str,
) -> Drafts:
    """Continuations in the order of ``rows``; batches, each of one decoder and like lengths, are read from ``scratch`` if done."""
    path = None if scratch is None else scratch / "batches.jsonl"
    done = {line["batch"]: line["drafts"] for line in (read_lines(path) if path else ())}
    made: dict[int, dict[str, Any]] = {}
    number = 0
    for setting, own in grouped(range(len(rows)), lambda i: rows[i].setting).items():
        own.sort(key=lambda i: len(rows[i].prompt))
        for first in range(0, len(own), batch):
            part = own[first : first + batch]
            if number not in done:
                done[number] = make([rows[i] for i in part])
                if path:
                    append_lines(path, [{"batch": number, "drafts": done[number]}])
            made |= zip(part, done[number], strict=True)
            number += 1
        print(f"generate {name}: {setting}, {len(made)}/{len(rows)} continuations", flush=True)
    return [made[row] for row in range(len(rows))]


@torch.no_grad()
def token_log_probs(
    network: Any, prompts: Sequence[Sequence[int]], written: Sequence[Sequence[int]]
) -> list[tuple[list[float], float]]:
    """Log-probabilities of the written tokens in nats, and the sum over the prompt's tokens after its first one."""
    made: list[tuple[list[float], float]] = []
    for start in range(0, len(prompts), ROWS):
        part = range(start, min(start + ROWS, len(prompts)))
        rows = [[*prompts[i], *written[i]] for i in part]
        ids = padded(rows).to(network.device)
        log_probs = (
            network(input_ids=ids).logits.float().log_softmax(-1)
        )  # padding is on the right: nobody looks there
        found = log_probs[:, :-1].gather(2, ids[:, 1:, None])[..., 0].double().cpu().numpy()
        for place, i in enumerate(part):
            begin, end = len(prompts[i]) - 1, len(rows[place]) - 1
            nats = [round(float(value), DIGITS) for value in found[place, begin:end]]
            made.append((nats, round(float(found[place, :begin].sum()), DIGITS)))
    return made


def _truth(
    rows: Sequence[_Row], kept: Sequence[Mapping[str, Any]], tokenizer: Any
) -> dict[str, np.ndarray]:
    marks = {
        token: len("".join(str(tokenizer.decode([token])).split()))
        for d in kept
        for token in d["ids"]
    }
    return {
        **ragged("token", [d["ids"] for d in kept], np.int32),
        **ragged("token_nats", [d["nats"] for d in kept], np.float64),
        **ragged("token_marks", [[marks[token] for token in d["ids"]] for d in kept], np.int32),
        **ragged("reference", [row.reference for row in rows], np.int32),
        "setting": np.array([row.setting for row in rows], dtype=np.str_),
        "page": np.array([row.document.id for row in rows], dtype=np.str_),
        "repeat": np.array([row.repeat for row in rows], dtype=np.int64),
        "prefix_nats": np.array([d["prefix_nats"] for d in kept], dtype=np.float64),
        "prefix_tokens": np.array([len(row.prompt) - 1 for row in rows], dtype=np.int64),
    }
