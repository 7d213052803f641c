"""A person's own texts read by a language model."""

from collections.abc import Sequence
from pathlib import Path

from longform.critics.mauve.read import read
from longform.documents import Document, Predictions


def features(documents: Sequence[Document], folder: Path) -> Predictions:
    """The last hidden state of each text under the language model of a folder."""
    splits = sorted({document.split for document in documents})
    return read(documents=documents, reader=folder, name="own texts", splits=splits)
