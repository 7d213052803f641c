"""Reads topics: the variational posterior of a text's topic proportions under a fitted correlated topic model.

Three predictions: ``proportions`` of each document; ``paths``, every sentence read as if it were a document, for critics of
paths; and ``completion``, the words of a document's second half under the topics of its first.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from longform.critics.topics.model import RELEASED_INFERENCE, TopicModel, count_terms, words_of
from longform.critics.topics.train import expectation
from longform.documents import SPLITS, Document, Predictions, Section, of_splits, ragged
from longform.errors import BadInput
from longform.text.rendering import pack
from longform.text.sentences import sentence_texts, sentences


def read(
    documents: Sequence[Document],
    *,
    reader: "TopicModel | TopicReader | Path",  # or the model's folder
    splits: Sequence[str] = SPLITS,
    predictions: str = "proportions",
    keep_text: bool = False,  # beside the predictions, for lists of outliers with their documents
) -> Predictions:
    """Posterior of the topic logits (deng2022 section 6; released settings), as one of the module's three predictions."""
    ways = {"proportions": TopicReader.proportions, "paths": paths, "completion": completion}
    if predictions not in ways:
        raise BadInput(
            f"topics: predictions are {predictions!r}, allowed is one of {list(ways)}; fix the entry"
        )
    chosen = of_splits(documents, splits, "topics")
    arrays = ways[predictions](open_topics(reader), chosen)
    arrays |= pack([document.text for document in chosen]) if keep_text else {}
    return Predictions.of(chosen, arrays)


@dataclass(frozen=True)
class TopicReader:
    """A topic model with its way of taking words from text."""

    model: TopicModel
    words: Callable[[Document], list[str]]

    def proportions(self, documents: Sequence[Document]) -> dict[str, np.ndarray]:
        """One row per document; one without a known word is invalid and zeros, so that it is counted and never scored.

        Returns:
            ``lambda`` and ``nu`` (units, topics - 1): mean and variance of each logit; ``bound`` (units), nats;
            ``tokens`` and ``unknown`` (units): tokens inside and outside the vocabulary; ``valid`` (units); and of the
            model ``prior_mean_names`` (topics - 1) and ``prior_covariance_names`` (topics - 1, topics - 1).
        """
        counts, unknown = count_terms(documents, self.model.vocabulary, self.words)
        spoken = (
            self.model.beta.max(axis=0)[counts.terms] > 0
        )  # words that no topic gives any probability are unknown
        owner, size = np.repeat(np.arange(len(counts)), np.diff(counts.starts)), len(documents)
        unknown = unknown + np.bincount(owner[~spoken], counts.counts[~spoken], size).astype(
            np.int64
        )
        starts = np.concatenate(
            [[0], np.cumsum(np.bincount(owner[spoken], minlength=size))]
        ).astype(np.int64)
        known = replace(
            counts, starts=starts, terms=counts.terms[spoken], counts=counts.counts[spoken]
        )
        valid = np.diff(known.starts) > 0
        found = expectation(known.take(np.flatnonzero(valid)), self.model, RELEASED_INFERENCE)
        arrays = {}
        for name, values in (
            ("lambda", found.logits),
            ("nu", found.variances),
            ("bound", found.bounds),
        ):
            arrays[name] = np.zeros((size, *values.shape[1:]))
            arrays[name][valid] = values
        model = {
            "prior_mean_names": self.model.mean,
            "prior_covariance_names": self.model.covariance,
        }
        return {**arrays, "tokens": known.tokens, "unknown": unknown, "valid": valid, **model}


def open_topics(reader: TopicModel | TopicReader | Path) -> TopicReader:
    """A reader as it is, or that of a topic model or of the folder of one. Raises BadInput: the model names no words."""
    if isinstance(reader, TopicReader):
        return reader
    model = reader if isinstance(reader, TopicModel) else TopicModel.load(reader)
    if not model.vocabulary:
        raise BadInput("topic proportions: the model names no words; train it on documents")
    return TopicReader(model, words_of)


def paths(reader: TopicReader, documents: Sequence[Document]) -> dict[str, np.ndarray]:
    """Each sentence's topics, read as if it were a document, in the layout of BBScore's sentence paths.

    The synthetic world draws every sentence's topic from logits that follow a Brownian bridge, so with its own words this
    is the encoder that sheng2024's score asks for, but for what a single sentence can tell.

    Returns:
        ragged ``latents`` (sentences, topics - 1), ``text_ids`` and ``sentence``, each
        latent's place among the document's sentences; and ``silent`` (units), how many sentences have no known word:
        they speak of no topic and are left out of the path.
    """
    numbers: dict[str, int] = {}  # every distinct sentence is read once
    texts = [sentence_texts(document.text) for document in documents]
    rows = [
        np.array([numbers.setdefault(one, len(numbers)) for one in own], dtype=np.int64)
        for own in texts
    ]
    found = reader.proportions([Document("", "", (Section("", text),)) for text in numbers])
    places = [np.flatnonzero(found["valid"][row]) for row in rows]
    arrays = ragged(
        "text_ids", [row[place] for row, place in zip(rows, places, strict=True)], np.int64
    )
    arrays |= ragged("sentence", places, np.int64)
    lengths = arrays["sentence_lengths"]
    arrays |= {"latents": found["lambda"][arrays["text_ids"]], "latents_lengths": lengths}
    arrays["silent"] = np.array([len(row) for row in rows], dtype=np.int64) - lengths
    return arrays


def completion(reader: TopicReader, documents: Sequence[Document]) -> dict[str, np.ndarray]:
    r"""Words of a document's second half under the topics of its first (Wallach et al. 2009, section 5.1).

    Each known word has $p(w) = \beta_w^\top \mathrm{softmax}([\lambda, 0])$, the posterior's mean plugged in. The first
    half is the sentences before the middle one; of an odd number the middle one belongs to the second half.

    Returns:
        ragged ``token_logprob``, nats, and ``token_span`` (words, 2), characters, in the layout of a language model's
        predictions, so that perplexity judges it; nothing where the first half has no known word.
    """
    begun, rests, spans = [], [], []
    for document in documents:
        text, found = document.text, sentences(document.text)
        middle = len(found) // 2
        first, rest = (
            replace(document, sections=(Section(None, " ".join(text[a:b] for a, b in part)),))
            for part in (found[:middle], found[middle:])
        )
        begun.append(first)
        rests.append(rest)
        words = [(a, word) for a, b in found[middle:] for word in re.finditer(r"\S+", text[a:b])]
        spans.append([(a + word.start(), a + word.end()) for a, word in words])
    read_off, beta = reader.proportions(begun), reader.model.beta
    logits = np.append(read_off["lambda"], np.zeros((len(documents), 1)), axis=1)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    spoken = beta.max(axis=0) > 0
    known = {word: i for i, word in enumerate(reader.model.vocabulary) if spoken[i]}
    values, places = [], []
    for rest, own, shares, valid in zip(rests, spans, weights, read_off["valid"], strict=True):
        pairs = zip(reader.words(rest), own, strict=True)
        kept = [(known[word], span) for word, span in pairs if valid and word in known]
        values.append(np.log((shares[:, None] * beta[:, [term for term, _ in kept]]).sum(axis=0)))
        places.append([span for _, span in kept])
    return ragged("token_logprob", values, np.float64) | ragged("token_span", places, np.int64, 2)
