"""The word net that a reader of grids may have beside it: the planted world's own nouns, written as WN-LMF.

A real word net needs no row: name the folder of its WN-LMF file (``lexicon.xml``) or of a WordNet database as the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longform.core.documents import BadInput, Document
from longform.datasets.synthetic_world.lexicon import VOCABULARIES, to_lmf, vocabulary


@dataclass(frozen=True)
class WordNet:
    """WN-LMF text."""

    text: str

    def save(self, folder: Path) -> None:
        (folder / "lexicon.xml").write_text(self.text, encoding="utf-8")


def fit(*, documents: Sequence[Document], world: str) -> WordNet:
    """The nouns of one planted world; nothing is learnt from the documents.

    Args:
        world: ``everyday`` (the wiki-like domains, reports and summaries), ``medical`` or ``physical``.
    """
    if world not in VOCABULARIES:
        raise BadInput(f"word net of world {world!r}; allowed are {sorted(VOCABULARIES)}; fix the entry")
    return WordNet(to_lmf(vocabulary(world)))
