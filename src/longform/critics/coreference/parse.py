"""Chains with a parser's help, as the released pipeline has it: head words, person entities and sentences from spaCy.

spaCy and its model are optional; the pipeline object is made by the caller, and nothing is downloaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from longform.critics.coreference.chains import (
    RELEASED,
    ChainRules,
    Mention,
    PersonChain,
    clause_starts,
    person_chain,
)
from longform.documents import BadInput


def load_spacy(name: str) -> Any:
    """An installed spaCy pipeline with a parser and named entities, e.g. ``en_core_web_lg``.

    Raises:
        BadInput: spaCy or the pipeline is not installed, or it lacks a parser or named entities.
    """
    try:
        nlp = importlib.import_module("spacy").load(name)
    except (ImportError, OSError) as error:
        raise BadInput(
            f"spaCy pipeline {name!r} cannot be loaded ({error}); install it, or go without a parser"
        ) from error
    missing = {"parser", "ner"} - set(nlp.pipe_names)
    if missing:
        raise BadInput(f"spaCy pipeline {name!r} lacks {sorted(missing)}; it has {nlp.pipe_names}")
    return nlp


def with_parse(doc: Any, mentions: Sequence[Mention]) -> list[Mention]:
    """Mentions with the parser's head word, and named where that word is of an entity of type PERSON."""
    parsed = []
    for mention in mentions:
        span = doc.char_span(mention.start, mention.end, alignment_mode="expand")
        parsed.append(replace(mention, root=span.root.idx, named=span.root.ent_type_ == "PERSON"))
    return parsed


def parsed_chain(
    nlp: Any, document_id: str, split: str, text: str, mentions: Sequence[Mention], rules: ChainRules = RELEASED
) -> PersonChain:
    """As :func:`longform.critics.coreference.chains.person_chain`, sentences being the parser's and the sentencizer's."""
    doc = nlp(text)
    starts = sorted({sentence.start_char for sentence in doc.sents} | set(clause_starts(text)))
    return person_chain(document_id, split, text, with_parse(doc, mentions), rules, starts)
