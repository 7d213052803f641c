"""A person's own texts read by the rules for persons."""

from collections.abc import Sequence

from longform.critics.coreference import rules
from longform.documents import Document, Predictions


def chains_by_rules(documents: Sequence[Document]) -> Predictions:
    """Chains of the persons whom the rules find, with the place of each mention."""
    splits = sorted({document.split for document in documents})
    return rules.read(documents=documents, splits=splits)
