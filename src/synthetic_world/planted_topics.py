"""Topics of texts under the topics that the synthetic world drew them from."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from longform.critics.topics import read as topics
from longform.critics.topics.model import TopicModel, inverse, words_of
from longform.critics.topics.read import TopicReader
from longform.documents import SPLITS, Document, Predictions
from longform.errors import BadInput
from synthetic_world.lexicon import plural

# of the truth of a corpus
SYNTHETIC = ("word_probabilities", "word_names", "topic_mean", "topic_covariance")


def read(
    documents: Sequence[Document],
    *,
    reader_truth: Mapping[str, np.ndarray],  # of the corpus whose topics read
    splits: Sequence[str] = SPLITS,
    predictions: str = "proportions",
    keep_text: bool = False,
) -> Predictions:
    """As :func:`longform.critics.topics.read.read`, by a corpus's own topics."""
    reader = planted_reader(reader_truth)
    return topics.read(
        documents, reader=reader, splits=splits, predictions=predictions, keep_text=keep_text
    )


def planted_reader(truth: Mapping[str, np.ndarray]) -> TopicReader:
    """A corpus's own topics, which read words without their endings.

    Those are the true word distributions, averaged over a topic's word slots, and the true Gaussian
    of the logits.

    Args:
        truth: ``word_probabilities`` (topics, slots, words), ``word_names`` (words), ``topic_mean``
            (topics - 1) and ``topic_covariance`` (topics - 1, topics - 1).
    """
    missing = [name for name in SYNTHETIC if name not in truth]
    if missing:
        raise BadInput(
            f"synthetic topics: the corpus's truth lacks {missing}; "
            "name a synthetic corpus that has topics"
        )
    words = truth["word_probabilities"].mean(axis=1)
    # Words that some topic uses.
    is_used = words.sum(axis=0) > 0
    beta = words[:, is_used] / words[:, is_used].sum(axis=1, keepdims=True)
    vocabulary = tuple(map(str, truth["word_names"][is_used]))
    mean = np.asarray(truth["topic_mean"], dtype=np.float64)
    covariance = np.asarray(truth["topic_covariance"], dtype=np.float64)
    model = TopicModel(vocabulary, beta, mean, covariance, inverse(covariance))
    return TopicReader(model, synthetic_words(vocabulary))


def synthetic_words(vocabulary: Sequence[str]) -> Callable[[Document], list[str]]:
    """How to take words from text for the synthetic world's model.

    Punctuation and capitals off, plurals as their singular.
    """
    singular = {plural(word): word for word in vocabulary}

    def words(document: Document) -> list[str]:
        singulars = []
        for word in words_of(document):
            bare = word.strip(".,;:!?()\"'").lower()
            singulars.append(singular.get(bare, bare))
        return singulars

    return words
