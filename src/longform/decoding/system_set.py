"""Documents of several systems in one row: each system of a model folder sampled in turn, its name before the id.

The text of document 7 of a system depends on (seed, row name and system, 7) alone, whatever else the row holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longform.decoding import long_documents
from longform.documents import Corpus, Document
from longform.language_models.system_set import systems_of


def generate(
    *,
    model: Path,
    name: str,
    seed: int,
    scratch: Path,
    prefixes: Sequence[Document],
    documents: int,
    batch: int,
    max_tokens: int,
    context_overlap: int | None,
    top_k: int = 0,
) -> Corpus:
    """``documents`` of every system, with ids ``<system>/<number>``; facts count each system's redraws and failures.

    Args:
        batch, max_tokens, context_overlap, top_k: as :func:`longform.decoding.long_documents.generate` takes them; a system's name
            says whether its text holds titles.
    """
    made: list[Document] = []
    facts: dict[str, Any] = {}
    for system, titles in systems_of(model, f"generate {name}").items():
        place = scratch / system
        place.mkdir(parents=True, exist_ok=True)
        corpus = long_documents.generate(
            model=model / system, name=f"{name}-{system}", seed=seed, scratch=place, prefixes=prefixes,
            documents=documents, titles=titles, batch=batch, max_tokens=max_tokens, context_overlap=context_overlap, top_k=top_k,
        )  # fmt: skip
        made += [replace(d, id=f"{system}/{d.id.rpartition('-')[2]}") for d in corpus.documents]
        facts[system] = dict(corpus.facts)
    return Corpus(made, {}, {"documents": len(made), "systems": facts})
