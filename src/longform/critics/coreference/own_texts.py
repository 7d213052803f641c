"""A person's own texts read by the rules for persons."""

from collections.abc import Sequence

from longform.critics.coreference import rules
from longform.documents import Document, Predictions


def chains_by_rules(documents: Sequence[Document]) -> Predictions:
    """Find persons by rules: predictions with each document's chain and the place of each mention.

    Documents of all splits are read.
    """
    splits = sorted({document.split for document in documents})
    return rules.read(documents=documents, splits=splits)
