"""Reads topics: the posterior of a text's topic proportions under a correlated topic model.

Three predictions: ``proportions`` of each document; ``paths``, every sentence read as if it were a
document, for critics of paths; and ``completion``, the words of a document's second half under the
topics of its first.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from longform.critics.topics.model import (
    RELEASED_INFERENCE,
    TermCounts,
    TopicModel,
    count_terms,
    words_of,
)
from longform.critics.topics.train import expectation
from longform.documents import SPLITS, Document, Predictions, Section, of_splits, ragged
from longform.errors import ConfigError, InputError
from longform.text.rendering import pack
from longform.text.sentences import sentence_texts, sentences

Span = tuple[int, int]  # half-open, characters


def read(
    documents: Sequence[Document],
    *,
    reader: "TopicModel | TopicReader | Path",
    splits: Sequence[str] = SPLITS,
    predictions: str = "proportions",
    keep_text: bool = False,
) -> Predictions:
    """Read the topics of documents: posteriors of topic logits (deng2022 section 6).

    Args:
        documents: of any splits.
        reader: a topic model, the folder of one, or a reader that has one.
        splits: whose documents are read.
        predictions: one of the module's three.
        keep_text: beside the predictions, for lists of outliers with their documents.

    Raises:
        ConfigError: there are no such predictions.
        InputError: no document of these splits, or the model names no words.
    """
    readers = {"proportions": TopicReader.proportions, "paths": paths, "completion": completion}
    if predictions not in readers:
        raise ConfigError(
            f"topics: predictions are {predictions!r}, allowed is one of {list(readers)}; "
            "fix the entry"
        )
    chosen = of_splits(documents, splits, "topics")
    arrays = readers[predictions](open_topics(reader), chosen)
    if keep_text:
        arrays |= pack([document.text for document in chosen])
    return Predictions.of(chosen, arrays)


@dataclass(frozen=True)
class TopicReader:
    """A topic model, and the function that takes a document's words from its text."""

    model: TopicModel
    words: Callable[[Document], list[str]]

    def proportions(self, documents: Sequence[Document]) -> dict[str, np.ndarray]:
        """The posterior of each document's topic logits, by the variational E-step.

        A document without a known word is invalid and has zeros, so that it is counted and never
        scored.

        Returns:
            ``lambda`` and ``nu`` (documents, topics - 1): mean and variance of each logit; and for
            each document ``bound``, the evidence lower bound, nats; ``tokens`` and ``unknown``,
            tokens inside and outside the vocabulary; ``valid``; and of the model
            ``prior_mean_names`` (topics - 1,) and ``prior_covariance_names`` (topics - 1,
            topics - 1).
        """
        # 1. A word that no topic gives any probability is unknown as well.
        all_counts, outside = count_terms(documents, self.model.vocabulary, self.words)
        counts, without_topic = _with_a_topic(all_counts, self.model)
        # 2. Posteriors of the documents that have a word left; the others are zeros.
        valid = np.diff(counts.starts) > 0
        readable = counts.take(np.flatnonzero(valid))
        posterior = expectation(readable, self.model, RELEASED_INFERENCE)
        return {
            "lambda": _with_zeros(posterior.logits, valid),
            "nu": _with_zeros(posterior.variances, valid),
            "bound": _with_zeros(posterior.bounds, valid),
            "tokens": counts.tokens,
            "unknown": outside + without_topic,
            "valid": valid,
            "prior_mean_names": self.model.mean,
            "prior_covariance_names": self.model.covariance,
        }


def _with_a_topic(counts: TermCounts, model: TopicModel) -> tuple[TermCounts, np.ndarray]:
    """Leave out the terms whose probability is 0 in every topic.

    Returns:
        The counts of the other terms, and how many tokens each document loses, int64 (documents,).
    """
    size = len(counts)
    has_topic = model.beta.max(axis=0)[counts.terms] > 0
    document_of_term = np.repeat(np.arange(size), np.diff(counts.starts))
    without_topic = np.bincount(document_of_term[~has_topic], counts.counts[~has_topic], size)
    terms_by_document = np.bincount(document_of_term[has_topic], minlength=size)
    usable = replace(
        counts,
        starts=np.concatenate([[0], np.cumsum(terms_by_document)]).astype(np.int64),
        terms=counts.terms[has_topic],
        counts=counts.counts[has_topic],
    )
    return usable, without_topic.astype(np.int64)


def _with_zeros(rows: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Rows for all documents: those of the valid ones in their places, zeros for the others.

    Args:
        rows: of the valid documents, (valid documents, ...).
        valid: mask of all documents, bool (documents,).
    """
    all_rows = np.zeros((len(valid), *rows.shape[1:]))
    all_rows[valid] = rows
    return all_rows


def open_topics(reader: TopicModel | TopicReader | Path) -> TopicReader:
    """The topic reader for a topic model, which may be open or saved in a folder.

    Args:
        reader: a topic model, the folder of a saved one, or a topic reader, which is returned as it
            is.

    Raises:
        InputError: the model has no vocabulary, so that no text can be read.
    """
    if isinstance(reader, TopicReader):
        return reader
    model = reader if isinstance(reader, TopicModel) else TopicModel.load(reader)
    if not model.vocabulary:
        raise InputError("topic proportions: the model names no words; train it on documents")
    return TopicReader(model, words_of)


def paths(reader: TopicReader, documents: Sequence[Document]) -> dict[str, np.ndarray]:
    """The topic logits of each sentence of documents, in the layout of BBScore's sentence paths.

    A sentence is read as if it were a document. The synthetic world draws every sentence's topic
    from logits that follow a Brownian bridge, so with its own words this is the encoder that
    sheng2024's score asks for, but for what a single sentence can tell.

    Returns:
        ragged ``latents`` (sentences, topics - 1), mean logits; ragged ``text_ids``, equal for
        equal sentences, and ``sentence``, the index of each in its text; ``silent`` (documents,),
        how many sentences have no known word: they have no topic and are left out of the path.
    """
    # 1. Every distinct sentence is read once; a row has the numbers of a document's sentences.
    numbers: dict[str, int] = {}
    rows = []
    for document in documents:
        texts = sentence_texts(document.text)
        sentence_numbers = [numbers.setdefault(text, len(numbers)) for text in texts]
        rows.append(np.array(sentence_numbers, dtype=np.int64))
    sentence_documents = [Document("", "", (Section("", text),)) for text in numbers]
    proportions = reader.proportions(sentence_documents)
    # 2. A path has the sentences with a known word.
    indices = []
    text_ids = []
    silent = []
    for row in rows:
        has_topic = proportions["valid"][row]
        indices.append(np.flatnonzero(has_topic))
        text_ids.append(row[has_topic])
        silent.append(len(row) - np.count_nonzero(has_topic))
    arrays = ragged("text_ids", text_ids, np.int64)
    arrays |= ragged("sentence", indices, np.int64)
    arrays["latents"] = proportions["lambda"][arrays["text_ids"]]
    arrays["latents_lengths"] = arrays["sentence_lengths"]
    arrays["silent"] = np.array(silent, dtype=np.int64)
    return arrays


def completion(reader: TopicReader, documents: Sequence[Document]) -> dict[str, np.ndarray]:
    r"""The log-probability of each document's second half under the topics of its first half.

    After Wallach et al. 2009, section 5.1. Each known word has
    $p(w) = \beta_w^\top \mathrm{softmax}([\lambda, 0])$, the posterior's mean plugged in. The first
    half is the sentences before the middle one; of an odd number the middle one belongs to the
    second half.

    Returns:
        ragged ``token_logprob``, nats, and ``token_span`` (words, 2), characters, in the layout of
        a language model's predictions, so that perplexity judges it; nothing where the first half
        has no known word.
    """
    # 1. Both halves of each document, and where the words of the second stand.
    first_halves = []
    second_halves = []
    spans = []
    for document in documents:
        sentence_spans = sentences(document.text)
        middle = len(sentence_spans) // 2
        first_halves.append(_excerpt(document, sentence_spans[:middle]))
        second_halves.append(_excerpt(document, sentence_spans[middle:]))
        spans.append(_word_spans(document.text, sentence_spans[middle:]))
    # 2. The shares of topics in the first halves, and words that a topic gives a probability.
    posterior = reader.proportions(first_halves)
    shares = _softmax(np.append(posterior["lambda"], np.zeros((len(documents), 1)), axis=1))
    beta = reader.model.beta
    has_topic = beta.max(axis=0) > 0
    term_of = {word: i for i, word in enumerate(reader.model.vocabulary) if has_topic[i]}
    # 3. Each such word of the second half under these shares.
    log_probs = []
    token_spans = []
    for half, word_spans, row, valid in zip(
        second_halves, spans, shares, posterior["valid"], strict=True
    ):
        terms = []
        term_spans = []
        for word, span in zip(reader.words(half), word_spans, strict=True):
            if valid and word in term_of:
                terms.append(term_of[word])
                term_spans.append(span)
        log_probs.append(np.log((row[:, None] * beta[:, terms]).sum(axis=0)))
        token_spans.append(term_spans)
    arrays = ragged("token_logprob", log_probs, np.float64)
    return arrays | ragged("token_span", token_spans, np.int64, 2)


def _excerpt(document: Document, spans: Sequence[Span]) -> Document:
    """A document of some of its sentences only, by their spans."""
    text = document.text
    joined = " ".join(text[start:end] for start, end in spans)
    return replace(document, sections=(Section(None, joined),))


def _word_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """Where the white-space tokens of some sentences stand in the text."""
    word_spans = []
    for start, end in spans:
        for match in re.finditer(r"\S+", text[start:end]):
            word_spans.append((start + match.start(), start + match.end()))
    return word_spans


def _softmax(logits: np.ndarray) -> np.ndarray:
    """The softmax of each row of (rows, logits)."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
