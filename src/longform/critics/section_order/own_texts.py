"""A person's own texts read by a title classifier."""

from collections.abc import Sequence
from pathlib import Path

from longform.critics.section_order.read import read
from longform.documents import Document, Predictions


def predicted_titles(documents: Sequence[Document], folder: Path, max_length: int) -> Predictions:
    """Predict the title of each section of documents, by a trained title classifier.

    Args:
        documents: of any splits; all are read.
        folder: of the trained classifier.
        max_length: tokens of a section that are read; what follows is ignored.

    Returns:
        As :func:`longform.critics.section_order.read.read`: a chain of titles a document, with the
        posterior over titles of each section.
    """
    splits = sorted({document.split for document in documents})
    return read(
        documents=documents, reader=folder, name="own texts", splits=splits, max_length=max_length
    )
