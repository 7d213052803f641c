"""One corpus with every failure at every dose: the same sound articles, damaged in every way in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longform.datasets.synthetic_world import build as planted
from longform.datasets.synthetic_world.failures import FAILURES
from longform.documents import BadInput, Corpus

SOUND = "sound@0"


def build(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: int | Mapping[str, int],
    doses: Sequence[float],
    failures: Sequence[str] = tuple(FAILURES),
) -> Corpus:
    """Every article sound and under every failure at every dose, with ids ``<failure>@<dose>/<article>``.

    The places that a lower dose strikes are among those of a higher one; ``sound@0/<article>`` is the article itself.

    Args:
        doses: shares of the eligible places that are struck, above 0.

    Raises:
        BadInput: repeated doses or failures, or what :func:`longform.datasets.synthetic_world.build` refuses.
    """
    if not all(0 < dose <= 1 for dose in doses) or len(set(doses)) < len(doses):
        raise BadInput(f"corpus {name!r}: doses are {list(doses)}, allowed are distinct ones above 0 and up to 1")
    if len(set(failures)) < len(failures):
        raise BadInput(f"corpus {name!r}: failures {list(failures)} repeat; name each once")
    cases = [("sound", 0.0), *((failure, dose) for failure in failures for dose in doses)]
    found, edits = [], {}
    for failure, dose in cases:
        struck = "" if failure == "sound" else failure
        made = planted(name=name, seed=seed, domain=domain, documents=documents, failure=struck, dose=dose)
        found += [replace(document, id=f"{failure}@{dose:g}/{document.id}") for document in made.documents]
        edits[f"{failure}@{dose:g}"] = sum(len(document.edits) for document in made.documents)
    facts = {"name": name, "domain": domain, "seed": seed, "planted": True, "documents": len(found), "edits": edits}
    return Corpus(found, facts=facts)
