"""Continuations of ``title. first sentence`` by many decoding strategies (massarelli2020, sections 3 and 5), of a fixed length.

A killed run goes on and ends with the same bytes: batches are formed before anything is decoded and written when they are done.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from longform.decoding.sampling import SentenceEnds
from longform.decoding.strategies import (
    Delayed,
    Human,
    Strategy,
    decode,
    is_random,
    settings_of,
)
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
PROMPTS = FIRST_SENTENCE, WHOLE_TEXT = (
    "first_sentence",
    "text",
)  # what a model is given of an article
NEW_TOKENS = 256  # massarelli2020, section 5
SEEDS = 3  # massarelli2020, section 5: three generations with different seeds for every stochastic strategy
DIGITS = 6  # of a log-probability in nats; float32 has no more
REPORT_SECONDS = 10
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


class _Prompt(NamedTuple):
    """What a model continues.

    Attributes:
        document: the article.
        title: the page's, empty where the whole text is the prompt.
        text: what is given of the article.
        ids: the tokens that the model reads.
        reference: tokens of what the article has in the continuation's place.
    """

    document: Document
    title: str
    text: str
    ids: list[int]
    reference: list[int]


class _Row(NamedTuple):
    """One continuation to write: by which decoder, of which prompt, and the how many-th of them."""

    setting: str
    prompt: _Prompt
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
    prompt: str = FIRST_SENTENCE,
) -> Corpus:
    """Continue every article of ``split``: by its title, a point, and the first sentence of its text.

    Args:
        model: folder of the language model.
        prefixes: the articles.
        name: of the corpus.
        seed: of every draw, with the name, the decoder, the article's id and the repeat.
        scratch: folder in which finished batches are kept, so that a killed run goes on.
        decoders: by name; see :mod:`longform.decoding.strategies`.
        new_tokens: of a continuation.
        repeats: continuations of a prefix; by default three where the decoder draws, else one.
        split: whose articles; None takes all.
        documents: how many articles; all by default.
        batch: continuations that are written side by side.
        splitter: how a text is cut into sentences.
        title_from: where an article's title stands, a key of ``TITLES``.
        prompt: ``first_sentence``, or ``text``: the whole text is the prompt, and people wrote
            nothing behind it.

    Returns:
        One document per continuation, split ``generated``: section 0 holds the page's title and the
        prefix's sentence, section 1 the continuation, section 2 what the article has there, cut to as
        many tokens. Truth, one row a document: ``setting``, ``page``, ``repeat``, ``prefix_nats`` and
        ``prefix_tokens``, and ragged ``token``, ``token_nats`` (log-probability under the model),
        ``token_marks`` (characters without blanks) and ``reference``. Facts count prefixes without
        title or sentence, those too long for the window, and continuations that are empty or cut
        short.

    Raises BadInput: an unknown decoder, splitter, ``title_from`` or ``prompt``, or no prefix that can
        be used.
    """
    settings = {key: settings_of(decoder) for key, decoder in decoders.items()}
    if splitter not in SPLITTERS or title_from not in TITLES or prompt not in PROMPTS:
        raise BadInput(
            f"generate {name}: splitter {splitter!r}, title_from {title_from!r}, prompt {prompt!r}; "
            f"allowed are {sorted(SPLITTERS)}, {sorted(TITLES)} and {sorted(PROMPTS)}"
        )
    tokenizer, network = open_language_model(model)
    end = end_of_writing(tokenizer, f"generate {name}")
    # 1. The prompts that can be used.
    chosen = [document for document in prefixes if split is None or document.split == split]
    chosen = chosen[:documents]
    window = capacity.positions(network)
    prompts: list[_Prompt] = []
    counts = {"prefixes": 0, "prefixes_empty": 0, "prefixes_untitled": 0, "prefixes_too_long": 0}
    for document in chosen:
        made = _prompt_of(document, tokenizer, splitter, title_from, prompt, new_tokens)
        fault = _fault(made, prompt, new_tokens, window)
        counts[f"prefixes_{fault}" if fault else "prefixes"] += 1
        if not fault:
            prompts.append(made)
    if not prompts:
        raise BadInput(
            f"generate {name}: no prefix of {len(chosen)} can be used ({counts}); fix split or new_tokens"
        )
    # 2. A row for each continuation.
    times = {key: repeats_of(strategy, repeats) for key, strategy in settings.items()}
    rows = []
    for key in settings:
        for made in prompts:
            for repeat in range(times[key]):
                rows.append(_Row(key, made, repeat))
    # 3. The continuations, batch by batch.
    delays = any(isinstance(strategy, Delayed) for strategy in settings.values())
    ends = SentenceEnds.of_tokenizer(tokenizer, network.config.vocab_size) if delays else None

    def make(part: Sequence[_Row]) -> Drafts:
        strategy = settings[part[0].setting]
        given = [row.prompt.ids for row in part]
        if isinstance(strategy, Human):
            written = [row.prompt.reference for row in part]
        else:
            rngs = []
            for row in part:
                key = (seed, name, row.setting, row.prompt.document.id, row.repeat)
                rngs.append(generator("decoding", *key))
            written = decode(network, given, strategy, new_tokens, rngs, end, ends)
        drafts = []
        log_probs = token_log_probs(network, given, written)
        for ids, (nats, before) in zip(written, log_probs, strict=True):
            drafts.append({"ids": list(ids), "nats": nats, "prefix_nats": before})
        return drafts

    drafts = _in_batches(rows, batch, make, scratch, name)
    # 4. What is counted of them.
    texts = [str(tokenizer.decode(draft["ids"])) for draft in drafts]
    by_models, delayed = [], []
    for row, draft in zip(rows, drafts, strict=True):
        if not isinstance(settings[row.setting], Human):
            by_models.append(draft["ids"])
        if isinstance(settings[row.setting], Delayed):
            delayed.append(draft["ids"])
    counts["empty"] = sum(not text.strip() for text in texts)
    counts["cut_short"] = sum(len(ids) < new_tokens for ids in by_models)
    counts["tokens"] = sum(map(len, by_models))
    counts["guarded_points"] = sum(ends.guarded(ids) for ids in delayed) if ends is not None else 0
    # 5. Documents.
    written_documents = []
    for row, text in zip(rows, texts, strict=True):
        written_documents.append(_document(name, row, text, tokenizer))
    facts = {
        "corpus": name,
        "decoders": {key: dict(decoder) for key, decoder in decoders.items()},
        "repeats": times,
        "new_tokens": new_tokens,
        **counts,
    }
    return Corpus(written_documents, _truth(rows, drafts, tokenizer), facts)


def _prompt_of(
    document: Document, tokenizer: Any, splitter: str, title_from: str, prompt: str, new_tokens: int
) -> _Prompt:
    """What is given of an article, and what it has behind that, cut to ``new_tokens``."""
    if prompt == WHOLE_TEXT:
        given = document.text.strip()
        return _Prompt(document, "", given, [*start_ids(tokenizer), *encode(given, tokenizer)], [])
    title, first, rest = prefix_of(document, splitter, title_from)
    ids = [*start_ids(tokenizer), *encode(f"{title}. {first}", tokenizer)]
    return _Prompt(document, title, first, ids, encode(rest, tokenizer)[:new_tokens])


def _fault(made: _Prompt, prompt: str, new_tokens: int, window: int | None) -> str:
    """Why a prompt cannot be used; empty where it can."""
    if not made.text:
        return "empty"
    if not made.title and prompt != WHOLE_TEXT:
        return "untitled"
    if window is not None and len(made.ids) + new_tokens > window:
        return "too_long"
    return ""


def repeats_of(strategy: Strategy, repeats: int | None) -> int:
    """How often a prompt is continued; people wrote one text."""
    if repeats is None or isinstance(strategy, Human):
        return SEEDS if is_random(strategy) else 1
    return repeats


def _document(name: str, row: _Row, text: str, tokenizer: Any) -> Document:
    """A continuation with what stands before it and what people wrote in its place."""
    prompt = row.prompt
    reference = str(tokenizer.decode(prompt.reference)).strip() if prompt.reference else ""
    sections = (
        Section(prompt.title, prompt.text),
        Section(CONTINUATION, text),
        Section(REFERENCE, reference),
    )
    unit = f"{name}-{row.setting}-{prompt.document.id}-{row.repeat}"
    return Document(unit, "generated", sections)


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
    number, reported = 0, time.monotonic()
    for setting, own in grouped(range(len(rows)), lambda i: rows[i].setting).items():
        own.sort(key=lambda i: len(rows[i].prompt.ids))
        for first in range(0, len(own), batch):
            part = own[first : first + batch]
            if number not in done:
                done[number] = make([rows[i] for i in part])
                if path:
                    append_lines(path, [{"batch": number, "drafts": done[number]}])
            made |= zip(part, done[number], strict=True)
            number += 1
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                print(f"generate {name}: {len(made)}/{len(rows)} continuations", flush=True)
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


def _truth(rows: Sequence[_Row], drafts: Drafts, tokenizer: Any) -> dict[str, np.ndarray]:
    """The arrays beside the documents; see :func:`generate`."""
    marks: dict[int, int] = {}
    for draft in drafts:
        for token in draft["ids"]:
            if token not in marks:
                marks[token] = len("".join(str(tokenizer.decode([token])).split()))
    token_marks = [[marks[token] for token in draft["ids"]] for draft in drafts]
    return {
        **ragged("token", [draft["ids"] for draft in drafts], np.int32),
        **ragged("token_nats", [draft["nats"] for draft in drafts], np.float64),
        **ragged("token_marks", token_marks, np.int32),
        **ragged("reference", [row.prompt.reference for row in rows], np.int32),
        "setting": np.array([row.setting for row in rows], dtype=np.str_),
        "page": np.array([row.prompt.document.id for row in rows], dtype=np.str_),
        "repeat": np.array([row.repeat for row in rows], dtype=np.int64),
        "prefix_nats": np.array([draft["prefix_nats"] for draft in drafts], dtype=np.float64),
        "prefix_tokens": np.array([len(row.prompt.ids) - 1 for row in rows], dtype=np.int64),
    }
