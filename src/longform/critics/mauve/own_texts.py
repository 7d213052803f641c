"""A person's own texts read by a language model."""

from collections.abc import Sequence
from pathlib import Path

from longform.critics.mauve.read import read
from longform.documents import Document, Predictions


def features(documents: Sequence[Document], folder: Path) -> Predictions:
    """Predictions with the feature of each text: a language model's last hidden state.

    Args:
        documents: of any splits; all are read.
        folder: of a causal language model and its tokenizer.
    """
    splits = sorted({document.split for document in documents})
    return read(documents=documents, reader=folder, name="own texts", splits=splits)
