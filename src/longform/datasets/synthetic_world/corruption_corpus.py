"""One corpus with every corruption at every severity: the same sound articles, damaged in every way in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longform.core.documents import BadInput, Corpus
from longform.datasets import synthetic_world
from longform.datasets.synthetic_world.corruptions import CORRUPTIONS

SOUND = "sound@0"


def build(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: int | Mapping[str, int],
    severities: Sequence[float],
    corruptions: Sequence[str] = tuple(CORRUPTIONS),
) -> Corpus:
    """Every article sound and under every corruption at every severity, with ids ``<corruption>@<severity>/<article>``.

    The places that a lower severity strikes are among those of a higher one; ``sound@0/<article>`` is the article.

    Args:
        severities: shares of the eligible places that are struck, above 0.

    Raises:
        BadInput: repeated severities or corruptions, or what :func:`longform.datasets.synthetic_world.build` refuses.
    """
    if not all(0 < severity <= 1 for severity in severities) or len(set(severities)) < len(severities):
        raise BadInput(
            f"corpus {name!r}: severities are {list(severities)}, allowed are distinct ones above 0 and up to 1"
        )
    if len(set(corruptions)) < len(corruptions):
        raise BadInput(f"corpus {name!r}: corruptions {list(corruptions)} repeat; name each once")
    world = {"name": name, "seed": seed, "domain": domain, "documents": documents}
    corpora = {SOUND: synthetic_world.build(**world)}
    for corruption in corruptions:
        for severity in severities:
            damaged = synthetic_world.build(**world, corruption=corruption, severity=severity)
            corpora[f"{corruption}@{severity:g}"] = damaged
    texts = [replace(d, id=f"{case}/{d.id}") for case, corpus in corpora.items() for d in corpus.documents]
    edits = {case: sum(len(d.edits) for d in corpus.documents) for case, corpus in corpora.items()}
    facts = {"name": name, "domain": domain, "seed": seed, "synthetic": True, "documents": len(texts), "edits": edits}
    return Corpus(texts, facts=facts)
