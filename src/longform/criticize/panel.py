"""One critic as it is put over a person's texts, and what the person may bring beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Document
from longform.core.text.sentences import SECTION_BREAK

Spans = list[tuple[int, int]]
CONFIGURATIONS = ("config.json", "pointer.json", "modules.json")  # one of them makes a folder a model


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


@dataclass(frozen=True)
class Options:
    """What a person may bring beside the texts: a language model, a sentence encoder; and the seed of every draw."""

    model: Path | None = None
    encoder: Path | None = None
    seed: int = 1234


def check(options: Options) -> None:
    """Refuse a named model or encoder that cannot be one, before any work.

    Raises BadInput: no such folder, or one without a configuration.
    """
    for name, folder in (("model", options.model), ("encoder", options.encoder)):
        if folder is not None and not any((folder / file).is_file() for file in CONFIGURATIONS):
            raise BadInput(
                f"--{name} {folder}: no model folder ({' or '.join(CONFIGURATIONS)} is missing); name one in Hugging Face "
                "format, or leave the option out"
            )
