"""A person's own texts read by a title classifier."""

from collections.abc import Sequence
from pathlib import Path

from longform.critics.section_order.read import read
from longform.documents import Document, Predictions


def predicted_titles(documents: Sequence[Document], folder: Path, max_length: int) -> Predictions:
    """The titles that the classifier of a folder predicts from the documents' sections."""
    splits = sorted({document.split for document in documents})
    return read(
        documents=documents, reader=folder, name="own texts", splits=splits, max_length=max_length
    )
