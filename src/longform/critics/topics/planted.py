"""The planted world's own topics as a topic model: what a perfect fit would read with, beside the fitted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from longform.critics.topics.counts import words_of
from longform.critics.topics.model import TopicModel, inverse
from longform.datasets.synthetic_world.lexicon import plural
from longform.documents import BadInput, Document

NEEDED = ("word_probabilities", "word_names", "topic_mean", "topic_covariance")


def planted_model(truth: Mapping[str, np.ndarray]) -> TopicModel:
    """The true word distributions, averaged over a topic's word slots, and the true Gaussian of its logits.

    Args:
        truth: of a planted corpus: ``word_probabilities`` (topics, slots, words), ``word_names`` (words), ``topic_mean``
            (topics - 1) and ``topic_covariance`` (topics - 1, topics - 1).

    Raises:
        BadInput: the corpus plants no topics.
    """
    missing = [name for name in NEEDED if name not in truth]
    if missing:
        raise BadInput(f"planted topics: the corpus's truth lacks {missing}; name a planted corpus that has topics")
    words = truth["word_probabilities"].mean(axis=1)
    spoken = words.sum(axis=0) > 0
    beta = words[:, spoken] / words[:, spoken].sum(axis=1, keepdims=True)
    vocabulary = tuple(str(word) for word in truth["word_names"][spoken])
    covariance = np.asarray(truth["topic_covariance"], dtype=np.float64)
    mean = np.asarray(truth["topic_mean"], dtype=np.float64)
    return TopicModel(vocabulary, beta, mean, covariance, inverse(covariance), facts={"planted": True})


def planted_words(vocabulary: Sequence[str]) -> Callable[[Document], list[str]]:
    """How to take words from text for the planted model: punctuation and capitals off, plurals as their singular.

    The topic model of the paper tells "canal" from "canals" and "canal."; the planted vocabulary has each word once.
    """
    singular = {plural(word): word for word in vocabulary}

    def words(document: Document) -> list[str]:
        bare = (word.strip(".,;:!?()\"'").lower() for word in words_of(document))
        return [singular.get(word, word) for word in bare]

    return words
