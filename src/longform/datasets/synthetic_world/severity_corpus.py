"""One planted corpus at several doses of one failure: the same articles, sound and ever more damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longform.datasets.synthetic_world import build as planted
from longform.documents import BadInput, Corpus


def build(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: int | Mapping[str, int],
    failure: str,
    doses: Sequence[float],
) -> Corpus:
    """Every article at every dose, under the id ``<article>@<dose>``; the places of a lower dose are among a higher's.

    Args:
        doses: shares of the eligible places that are struck; 0 among them, to compare with.

    Raises:
        BadInput: no dose 0, a repeated dose, or what :func:`longform.datasets.synthetic_world.build` refuses.
    """
    if not isinstance(doses, list | tuple) or 0 not in doses or len(set(doses)) < len(doses):
        raise BadInput(f"corpus {name!r}: doses are {doses!r}, allowed are distinct ones with 0 among them")
    made = [(dose, planted(name=name, seed=seed, domain=domain, documents=documents, failure=failure, dose=dose))
            for dose in doses]  # fmt: skip
    found = [replace(document, id=f"{document.id}@{dose:g}") for dose, corpus in made for document in corpus.documents]
    edits = {f"{dose:g}": sum(len(document.edits) for document in corpus.documents) for dose, corpus in made}
    facts = {"name": name, "domain": domain, "seed": seed, "planted": True, "failure": failure}
    return Corpus(found, facts={**facts, "documents": len(found), "edits_by_dose": edits})
