"""Critics of topics over a person's texts; the topics are those of the real texts that teach the critics."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any

from longform.core.documents import BadInput, Document, Readout
from longform.criticize.panel import Options, Panel, Spans, splits_of

TOPICS = 10  # ours; the paper's 100 (deng2022 section 6) wants thousands of texts
TEXTS_PER_TOPIC = 3  # ours: below it the covariance of the topics is a guess
COMMON = 3  # ours: times that a word must be said to be one of a topic
COMMON_WORD = f"a word said {COMMON} times or more in fewer than half of the fitted real texts"


def topics(options: Options) -> Panel:
    from longform.critics.topics.read import read as read_topics
    from longform.critics.topics.score import LogisticNormalCritic, units_from_readout

    def read(documents: Sequence[Document]) -> list[Any]:
        model = _topic_model(documents, options)
        found: Readout = read_topics(documents, reader=model, splits=splits_of(documents))
        return units_from_readout(found)

    question = "Do topics go together as in real text? (nats per text; below zero is possible)"
    return Panel("topics", question, read, LogisticNormalCritic(), needs=COMMON_WORD)


def kept_topics(options: Options) -> Panel:
    from longform.critics.topics.read import read as read_topics

    def read(documents: Sequence[Document]) -> Readout:
        model = _topic_model(documents, options)
        return read_topics(documents, reader=model, readout="completion", splits=splits_of(documents))

    return completion(read)


def completion(read: Callable[[Sequence[Document]], Readout]) -> Panel:
    """Perplexity of the words that ``inference.topic_completion`` reads in some way, each at its own place."""
    from longform.critics.perplexity.score import Perplexity, units_from_readout

    spans: dict[str, Spans] = {}

    def units(documents: Sequence[Document]) -> list[Any]:
        found = read(documents)
        rows = zip(found.unit_ids, found.ragged("token_span"), strict=True)
        spans.update({name: [(a, b) for a, b in row.tolist()] for name, row in rows})
        return units_from_readout(found)

    question = "Does the second half keep to the topics of the first? (perplexity of its words)"
    needs = f"{COMMON_WORD}, in both of its halves"
    return Panel("kept topics", question, units, Perplexity(), lambda document, parts: spans[document.id], needs=needs)


def _topic_model(documents: Sequence[Document], options: Options) -> Any:
    """Topics of the real texts that teach the critics."""
    from longform.critics.topics.train import fit

    train = sum(d.split == "train" for d in documents)
    count = min(TOPICS, train // TEXTS_PER_TOPIC)
    if count < 2:
        raise BadInput(f"{train} texts to learn topics from; {2 * TEXTS_PER_TOPIC} are needed")
    with redirect_stdout(io.StringIO()):  # a line per iteration, and standard output is the report's
        return fit(documents, seed=options.seed, topics=count, min_count=COMMON, settings={"em_iterations": 60})
