"""One critic as it is put over a person's texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longform.documents import Document
from longform.text.sentences import SECTION_BREAK

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class Panel:
    """One critic.

    Attributes:
        name, question: as the report shows them.
        read: texts -> units; raises BadInput where the critic does not apply.
        critic: the critic to be fitted to real units.
        places: (document, parts) -> character spans of the parts in ``document.text``, grid cells by row; parts of the
            same span count together. None: parts are not places in the text.
        unknown: what the tally's column of that name counts, where such parts are not scored.
        needs: what a text must have to be scored.
    """

    name: str
    question: str
    read: Callable[[Sequence[Document]], list[Any]]
    critic: Any
    places: Callable[[Document, np.ndarray], Spans] | None = None
    unknown: str = ""
    needs: str = ""


def section_starts(document: Document) -> list[int]:
    """Where each section starts in ``document.text``."""
    lengths = [len(section.text) + len(SECTION_BREAK) for section in document.sections]
    return np.cumsum([0, *lengths[:-1]]).tolist()


def splits_of(documents: Sequence[Document]) -> list[str]:
    """The splits that there are, for readers that want them named."""
    return sorted({document.split for document in documents})
