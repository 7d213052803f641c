"""A person's own texts read by a topic model that is fitted to some of them."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace

from longform.critics.topics.model import COMMON, TopicModel
from longform.critics.topics.read import read
from longform.critics.topics.train import fit
from longform.documents import Document, Predictions
from longform.errors import InputError, counted

TOPICS = 10  # ours; the paper's 100 (deng2022 section 6) wants thousands of texts
TEXTS_PER_TOPIC = 3  # ours: below it the covariance of the topics is a guess
ITERATIONS = 60  # ours


def fitted_model(documents: Sequence[Document], topics: int, seed: int) -> TopicModel:
    """Fit a topic model to all of some real texts.

    Args:
        documents: the texts.
        topics: how many; 0 for ``TOPICS``, or as many as the texts allow.
        seed: of its start.

    Raises:
        InputError: too few texts for two topics.
    """
    allowed = len(documents) // TEXTS_PER_TOPIC
    if allowed < 2:
        raise InputError(
            f"{counted(len(documents), 'text')} to learn topics from; "
            f"{2 * TEXTS_PER_TOPIC} are needed"
        )
    train = [replace(document, split="train") for document in documents]
    # the fit prints a line an iteration, which is kept off the caller's standard output
    with redirect_stdout(io.StringIO()):
        return fit(
            train,
            seed=seed,
            topics=topics or min(TOPICS, allowed),
            min_count=COMMON,
            settings={"em_iterations": ITERATIONS},
        )


def topics_of(
    documents: Sequence[Document], model: TopicModel, predictions: str = "proportions"
) -> Predictions:
    """Documents read by a topic model, as one of the predictions of its reader."""
    splits = sorted({document.split for document in documents})
    return read(documents, reader=model, predictions=predictions, splits=splits)
