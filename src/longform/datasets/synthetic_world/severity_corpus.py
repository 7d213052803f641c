"""One corpus at several severities of one corruption: the same articles, sound and ever more damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longform.core.documents import BadInput, Corpus
from longform.datasets import synthetic_world


def build(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: int | Mapping[str, int],
    corruption: str,
    severities: Sequence[float],
) -> Corpus:
    """Every article at every severity, as ``<article>@<severity>``; a lower one strikes among the places of a higher one.

    Args:
        severities: shares of the eligible places that are struck; 0 among them, to compare with.

    Raises:
        BadInput: no severity 0, a repeated one, or what :func:`longform.datasets.synthetic_world.build` refuses.
    """
    if not isinstance(severities, list | tuple) or 0 not in severities or len(set(severities)) < len(severities):
        raise BadInput(f"corpus {name!r}: severities are {severities!r}, allowed are distinct ones with 0 among them")
    world = {"name": name, "seed": seed, "domain": domain, "documents": documents, "corruption": corruption}
    corpora = {f"{severity:g}": synthetic_world.build(**world, severity=severity) for severity in severities}
    texts = [replace(d, id=f"{d.id}@{severity}") for severity, corpus in corpora.items() for d in corpus.documents]
    edits = {severity: sum(len(d.edits) for d in corpus.documents) for severity, corpus in corpora.items()}
    facts = {"name": name, "domain": domain, "seed": seed, "synthetic": True, "corruption": corruption}
    return Corpus(texts, facts=facts | {"documents": len(texts), "edits_by_severity": edits})
