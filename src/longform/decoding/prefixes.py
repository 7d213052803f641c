"""Prefixes of articles, ``title. first sentence``, and the names of what is written after them (massarelli2020, section 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from longform.core.documents import Document
from longform.text.sentences import SPLITTERS

CONTINUATION, REFERENCE = "continuation", "reference"
_DEFINED = re.compile(r"(.+?),? (?:\([^)]*\) )?(?:is|was|are|were) ")


def _defined(document: Document, first: str) -> str:
    match = _DEFINED.match(first)
    return match[1] if match else ""


TITLES: Mapping[str, Callable[[Document, str], str]] = {  # where a page's title stands
    "definition": _defined,  # what the first sentence defines: the words before its first "is" or "was"
    "first_section": lambda document, first: document.sections[0].title or "",
    "id": lambda document, first: document.id,
}


def prefix_of(document: Document, splitter: str, title_from: str) -> tuple[str, str, str]:
    """Page title (see ``TITLES``; empty where there is none), first sentence, and the rest of the text."""
    text = " ".join(document.text.split())
    sentences = SPLITTERS[splitter](text)
    first = sentences[0] if sentences else ""
    return TITLES[title_from](document, first), first, text[text.find(first) + len(first) :].strip()
