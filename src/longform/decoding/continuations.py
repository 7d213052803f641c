"""Continuations of ``title. first sentence`` by many decoding strategies, of a fixed length.

massarelli2020, sections 3 and 5. A killed run goes on and ends with the same bytes: batches are
formed before anything is decoded and written when they are done.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
# the part of an article that is the prompt
FIRST_SENTENCE, WHOLE_TEXT = "first_sentence", "text"
PROMPTS = (FIRST_SENTENCE, WHOLE_TEXT)
NEW_TOKENS = 256  # massarelli2020, section 5
# massarelli2020, section 5: generations with different seeds for every stochastic strategy
SEEDS = 3
DIGITS = 6  # decimals of a log-probability in nats; float32 has no more
REPORT_SECONDS = 10
ROWS = 8  # texts whose log-probabilities are computed at a time
_DEFINED = re.compile(r"^(.+?),? (?:\([^)]*\) )?(?:is|was|are|were) ")


def _defined_words(first: str) -> str:
    """The words before the first "is" of a sentence that defines them."""
    definitions = _DEFINED.findall(first)
    return definitions[0] if definitions else ""


# Where a page's title is: functions of the document and its first sentence.
TITLES: Mapping[str, Callable[[Document, str], str]] = {
    "definition": lambda document, first: _defined_words(first),
    "first_section": lambda document, first: document.sections[0].title or "",
    "id": lambda document, first: document.id,
}


def prefix_of(document: Document, splitter: str, title_from: str) -> tuple[str, str, str]:
    """Page title, first sentence, and the rest of the text as models read it.

    Args:
        document: the article.
        splitter: how a text is cut into sentences.
        title_from: a key of ``TITLES``.

    Returns:
        The title is empty where there is none. The rest begins with the blank or the line end that
        parts it from the first sentence.
    """
    lines = []
    for line in render(document, titles=False).split("\n"):
        lines.append(" ".join(line.split()))
    text = "\n".join(lines)
    sentences = iter(SPLITTERS[splitter](document.text))
    words = next(sentences, "").split()
    # A sentence of some splitters crosses lines.
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    rest = text[match.end() :].rstrip() if match else ""
    if rest and not rest[0].isspace():
        rest = f" {rest}"
    first = " ".join(words)
    return TITLES[title_from](document, first), first, rest


class _Prompt(NamedTuple):
    """What a model continues.

    Attributes:
        document: the article.
        title: the page's title, empty where the whole text is the prompt.
        text: the part of the article that is in the prompt.
        ids: tokens of the prompt.
        reference: tokens of the human text that follows the prompt.
    """

    document: Document
    title: str
    text: str
    ids: list[int]
    reference: list[int]


class _Row(NamedTuple):
    """One continuation: its decoder, its prompt, and its number among those of both, from 0."""

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
    """Continue every article of a split by its title, a point, and its text's first sentence.

    Args:
        model: folder of the language model.
        prefixes: the articles.
        name: of the corpus.
        seed: of all random numbers, with the name, the decoder, the article's id and the
            repeat.
        scratch: folder of finished batches, from which a killed run goes on.
        decoders: name -> settings; see :mod:`longform.decoding.strategies`.
        new_tokens: tokens of a continuation.
        repeats: continuations of a prefix; by default three where the decoder samples, else one.
        split: of the articles; None takes all.
        documents: number of articles; all by default.
        batch: continuations that are decoded together.
        splitter: how a text is cut into sentences, a key of ``SPLITTERS``.
        title_from: where an article's title is, a key of ``TITLES``.
        prompt: ``first_sentence``, or ``text``: the whole text is the prompt, which no human text
            follows.

    Returns:
        One document per continuation, split ``generated``: section 0 holds the page's title and the
        prefix's sentence, section 1 the continuation, section 2 what the article has there, cut to
        as many tokens. Truth, one row a document: ``setting``, ``page``, ``repeat``,
        ``prefix_nats`` and ``prefix_tokens``, and ragged ``token``, ``token_nats`` (log-probability
        under the model), ``token_marks`` (characters without blanks) and ``reference``. Facts count
        prefixes without title or sentence, those too long for the window, and continuations that
        are empty or cut short.

    Raises:
        BadInput: an unknown decoder, splitter, ``title_from`` or ``prompt``, or no prefix that can
            be used.
    """
    settings = {key: settings_of(decoder) for key, decoder in decoders.items()}
    _check_choices(name, splitter, title_from, prompt)
    tokenizer, network = open_language_model(model)
    end = end_of_writing(tokenizer, f"generate {name}")
    # 1. The prompts that can be used.
    chosen = [document for document in prefixes if split is None or document.split == split]
    candidates = []
    for document in chosen[:documents]:
        candidates.append(_prompt_of(document, tokenizer, splitter, title_from, prompt, new_tokens))
    window = capacity.positions(network)
    prompts, counts = _usable(name, candidates, prompt, new_tokens, window)
    # 2. A row for each continuation.
    times = {key: repeats_of(strategy, repeats) for key, strategy in settings.items()}
    rows = _rows(times, prompts)
    # 3. The continuations, batch by batch.
    delays = any(isinstance(strategy, Delayed) for strategy in settings.values())
    ends = SentenceEnds.of_tokenizer(tokenizer, network.config.vocab_size) if delays else None
    writer = _Writer(network, settings, new_tokens, (seed, name), end, ends)
    drafts = _in_batches(rows, batch, writer.drafts, scratch, name)
    # 4. Documents and what is counted of them.
    texts = [str(tokenizer.decode(draft["ids"])) for draft in drafts]
    continued_documents = []
    for row, text in zip(rows, texts, strict=True):
        continued_documents.append(_document(name, row, text, tokenizer))
    facts = {
        "corpus": name,
        "decoders": {key: dict(decoder) for key, decoder in decoders.items()},
        "repeats": times,
        "new_tokens": new_tokens,
        **counts,
        "empty": sum(not text.strip() for text in texts),
        **writer.counts(rows, drafts),
    }
    return Corpus(continued_documents, _truth(rows, drafts, tokenizer), facts)


def usable_prefixes(model: Path, prefixes: Sequence[Document], prompt: str, new_tokens: int) -> int:
    """How many prefixes :func:`generate` would continue, without writing anything.

    Args:
        model, prefixes, prompt, new_tokens: as of :func:`generate`.

    Raises:
        BadInput: none can be used.
    """
    tokenizer, network = open_language_model(model)
    candidates = []
    for document in prefixes:
        candidate = _prompt_of(document, tokenizer, "full_stops", "definition", prompt, new_tokens)
        candidates.append(candidate)
    window = capacity.positions(network)
    usable, _ = _usable("plan", candidates, prompt, new_tokens, window)
    return len(usable)


def _check_choices(name: str, splitter: str, title_from: str, prompt: str) -> None:
    """Raises BadInput: a choice of :func:`generate` is none of those that there are."""
    if splitter not in SPLITTERS or title_from not in TITLES or prompt not in PROMPTS:
        raise BadInput(
            f"generate {name}: splitter {splitter!r}, title_from {title_from!r}, "
            f"prompt {prompt!r}; allowed are {sorted(SPLITTERS)}, {sorted(TITLES)} "
            f"and {sorted(PROMPTS)}"
        )


def _usable(
    name: str,
    candidates: Sequence[_Prompt],
    prompt: str,
    new_tokens: int,
    window: int | None,
) -> tuple[list[_Prompt], dict[str, int]]:
    """The prompts that can be used, and counts of them and of the others by what is wrong.

    Args:
        name: of the corpus, for the error.
        candidates: prompts of all articles.
        prompt: one of ``PROMPTS``.
        new_tokens: tokens of a continuation.
        window: most tokens that the model can read, None for any number.

    Raises:
        BadInput: none can be used.
    """
    prompts = []
    counts = {"prefixes": 0, "prefixes_empty": 0, "prefixes_untitled": 0, "prefixes_too_long": 0}
    for candidate in candidates:
        fault = _fault(candidate, prompt, new_tokens, window)
        if fault:
            counts[f"prefixes_{fault}"] += 1
        else:
            counts["prefixes"] += 1
            prompts.append(candidate)
    if not prompts:
        raise BadInput(
            f"generate {name}: no prefix of {len(candidates)} can be used "
            f"({counts['prefixes_too_long']} too long for the model's {window} tokens and the "
            f"{new_tokens} to be written, {counts['prefixes_empty']} empty, "
            f"{counts['prefixes_untitled']} untitled); give others, or write fewer tokens"
        )
    return prompts, counts


def _rows(times: Mapping[str, int], prompts: Sequence[_Prompt]) -> list[_Row]:
    """A row for each decoder, prompt and repeat, in this order.

    Args:
        times: name of a decoder -> number of its continuations of a prompt.
        prompts: the prompts.
    """
    rows = []
    for setting, repeats in times.items():
        for prompt in prompts:
            for repeat in range(repeats):
                rows.append(_Row(setting, prompt, repeat))
    return rows


Drafts = list[dict[str, Any]]


@dataclass(frozen=True)
class _Writer:
    """Decodes continuations and reads their log-probabilities.

    Attributes:
        network: the language model.
        settings: name of a decoder -> its strategy.
        new_tokens: tokens of a continuation.
        stream: seed and name of the corpus, which begin the names of random streams.
        end: the token that ends a text.
        ends: which tokens end a sentence, for delayed search; None where no decoder needs it.
    """

    network: Any
    settings: Mapping[str, Strategy]
    new_tokens: int
    stream: tuple[int, str]
    end: int
    ends: SentenceEnds | None

    def drafts(self, rows: Sequence[_Row]) -> Drafts:
        """Decode a batch of rows of one decoder.

        A human text is read by the model as if it were its own.

        Returns:
            For each row, ``ids``, their log-probabilities ``nats``, and ``prefix_nats``, that of
            the prompt.
        """
        strategy = self.settings[rows[0].setting]
        read_ids = [row.prompt.ids for row in rows]
        # 1. The continuations; each has random numbers of its own.
        if isinstance(strategy, Human):
            continuations = [row.prompt.reference for row in rows]
        else:
            rngs = []
            for row in rows:
                key = (*self.stream, row.setting, row.prompt.document.id, row.repeat)
                rngs.append(generator("decoding", *key))
            continuations = decode(
                self.network, read_ids, strategy, self.new_tokens, rngs, self.end, self.ends
            )
        # 2. Their log-probabilities under the model.
        drafts = []
        log_probs = token_log_probs(self.network, read_ids, continuations)
        for ids, (nats, before) in zip(continuations, log_probs, strict=True):
            drafts.append({"ids": list(ids), "nats": nats, "prefix_nats": before})
        return drafts

    def counts(self, rows: Sequence[_Row], drafts: Drafts) -> dict[str, int]:
        """Facts about the continuations that models wrote.

        Returns:
            The number of too short ones, of tokens of all, and of full stops that end no sentence
            for a delayed decoder.
        """
        by_models = []
        delayed = []
        for row, draft in zip(rows, drafts, strict=True):
            strategy = self.settings[row.setting]
            if not isinstance(strategy, Human):
                by_models.append(draft["ids"])
            if isinstance(strategy, Delayed):
                delayed.append(draft["ids"])
        return {
            "cut_short": sum(len(ids) < self.new_tokens for ids in by_models),
            "tokens": sum(map(len, by_models)),
            "guarded_points": 0 if self.ends is None else sum(map(self.ends.guarded, delayed)),
        }


def _prompt_of(
    document: Document, tokenizer: Any, splitter: str, title_from: str, prompt: str, new_tokens: int
) -> _Prompt:
    """The prompt of an article, with ``new_tokens`` tokens of the text that follows it."""
    if prompt == WHOLE_TEXT:
        text = document.text.strip()
        ids = [*start_ids(tokenizer), *encode(text, tokenizer)]
        return _Prompt(document, "", text, ids, [])
    title, first, rest = prefix_of(document, splitter, title_from)
    ids = [*start_ids(tokenizer), *encode(f"{title}. {first}", tokenizer)]
    return _Prompt(document, title, first, ids, encode(rest, tokenizer)[:new_tokens])


def _fault(candidate: _Prompt, prompt: str, new_tokens: int, window: int | None) -> str:
    """Why a prompt cannot be used; empty where it can."""
    if not candidate.text:
        return "empty"
    if not candidate.title and prompt != WHOLE_TEXT:
        return "untitled"
    if window is not None and len(candidate.ids) + new_tokens > window:
        return "too_long"
    return ""


def repeats_of(strategy: Strategy, repeats: int | None) -> int:
    """Number of continuations of a prompt, ``repeats`` or the default; people wrote one."""
    if repeats is None or isinstance(strategy, Human):
        return SEEDS if is_random(strategy) else 1
    return repeats


def _document(name: str, row: _Row, text: str, tokenizer: Any) -> Document:
    """The document of a continuation: sections of its prompt, itself, and the human text."""
    prompt = row.prompt
    reference = str(tokenizer.decode(prompt.reference)).strip() if prompt.reference else ""
    sections = (
        Section(prompt.title, prompt.text),
        Section(CONTINUATION, text),
        Section(REFERENCE, reference),
    )
    unit = f"{name}-{row.setting}-{prompt.document.id}-{row.repeat}"
    return Document(unit, "generated", sections)


def _in_batches(
    rows: Sequence[_Row],
    batch: int,
    make: Callable[[Sequence[_Row]], Drafts],
    scratch: Path | None,
    name: str,
) -> Drafts:
    """Make all continuations batch by batch; returns them in the order of ``rows``.

    A batch has one decoder and like lengths. Finished ones are read from ``scratch``.

    Args:
        rows: the continuations to make.
        batch: rows at a time.
        make: makes the continuations of a batch.
        scratch: folder of finished batches; None for none.
        name: of the corpus, for progress lines.
    """
    # 1. The batches of an earlier run.
    path = None if scratch is None else scratch / "batches.jsonl"
    done: dict[int, Drafts] = {}
    for line in read_lines(path) if path else ():
        done[line["batch"]] = line["drafts"]
    draft_of: dict[int, dict[str, Any]] = {}
    # 2. Batch by batch, those of one decoder after another.
    number, reported = 0, time.monotonic()
    by_setting = grouped(range(len(rows)), lambda i: rows[i].setting)
    for setting, numbers in by_setting.items():
        # Neighbours in a batch have prompts of like lengths.
        numbers.sort(key=lambda i: len(rows[i].prompt.ids))
        for first in range(0, len(numbers), batch):
            members = numbers[first : first + batch]
            if number not in done:
                done[number] = make([rows[i] for i in members])
                if path:
                    append_lines(path, [{"batch": number, "drafts": done[number]}])
            draft_of.update(zip(members, done[number], strict=True))
            number += 1
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                print(f"generate {name}: {len(draft_of)}/{len(rows)} continuations", flush=True)
        print(f"generate {name}: {setting}, {len(draft_of)}/{len(rows)} continuations", flush=True)
    return [draft_of[i] for i in range(len(rows))]


@torch.no_grad()
def token_log_probs(
    network: Any, prompts: Sequence[Sequence[int]], written: Sequence[Sequence[int]]
) -> list[tuple[list[float], float]]:
    """Log-probabilities in nats of the written tokens, and their sum over the prompt.

    Args:
        network: causal language model.
        prompts: tokens of each row; the first one has no log-probability.
        written: tokens after each prompt.

    Returns:
        For each row, (log-probability of each written token, sum over the prompt).
    """
    nats_of: list[tuple[list[float], float]] = []
    for start in range(0, len(prompts), ROWS):
        members = range(start, min(start + ROWS, len(prompts)))
        rows = [[*prompts[i], *written[i]] for i in members]
        # Padding is on the right, where causal attention does not look.
        ids = padded(rows).to(network.device)
        log_probs = network(input_ids=ids).logits.float().log_softmax(-1)
        of_tokens = log_probs[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
        values = of_tokens.double().cpu().numpy()
        for row, i in enumerate(members):
            begin, end = len(prompts[i]) - 1, len(rows[row]) - 1
            nats = [round(value, DIGITS) for value in values[row, begin:end].tolist()]
            nats_of.append((nats, round(float(values[row, :begin].sum()), DIGITS)))
    return nats_of


def _truth(rows: Sequence[_Row], drafts: Drafts, tokenizer: Any) -> dict[str, np.ndarray]:
    """The arrays beside the documents; see :func:`generate`."""
    # 1. Characters of each token, blanks left out.
    marks: dict[int, int] = {}
    for draft in drafts:
        for token in draft["ids"]:
            if token not in marks:
                marks[token] = len("".join(str(tokenizer.decode([token])).split()))
    # 2. One entry a continuation.
    tokens, nats, token_marks, prefix_nats = [], [], [], []
    for draft in drafts:
        tokens.append(draft["ids"])
        nats.append(draft["nats"])
        token_marks.append([marks[token] for token in draft["ids"]])
        prefix_nats.append(draft["prefix_nats"])
    references, settings, pages, repeats, prefix_tokens = [], [], [], [], []
    for row in rows:
        references.append(row.prompt.reference)
        settings.append(row.setting)
        pages.append(row.prompt.document.id)
        repeats.append(row.repeat)
        prefix_tokens.append(len(row.prompt.ids) - 1)
    return {
        **ragged("token", tokens, np.int32),
        **ragged("token_nats", nats, np.float64),
        **ragged("token_marks", token_marks, np.int32),
        **ragged("reference", references, np.int32),
        "setting": np.array(settings, dtype=np.str_),
        "page": np.array(pages, dtype=np.str_),
        "repeat": np.array(repeats, dtype=np.int64),
        "prefix_nats": np.array(prefix_nats, dtype=np.float64),
        "prefix_tokens": np.array(prefix_tokens, dtype=np.int64),
    }
