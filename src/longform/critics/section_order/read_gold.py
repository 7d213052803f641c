"""Section titles as the documents themselves give them: what the critic's prior is fitted on (deng2022 section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from longform.core.documents import Chain, Document, Readout, chains_to_readout


def read(*, documents: Sequence[Document], splits: Sequence[str]) -> Readout:
    """One chain of titles per document; a document with an untitled section is an invalid chain."""
    chains = []
    for document in (d for d in documents if d.split in splits):
        titles = tuple(section.title for section in document.sections if section.title is not None)
        whole = len(titles) == len(document.sections)
        chains.append(Chain(document.id, document.split, titles if whole else (), valid=whole))
    return chains_to_readout(chains)
