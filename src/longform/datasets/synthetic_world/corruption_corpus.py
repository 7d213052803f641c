"""One corpus with corruptions at several severities: the same sound articles, damaged in every way in turn."""

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
    corruption: str | None = None,
    corruptions: Sequence[str] = tuple(CORRUPTIONS),
) -> Corpus:
    """Every article under each corruption at every severity; a lower one strikes among the places of a higher one.

    Args:
        severities: shares of the eligible places that are struck; with one corruption 0 is among them, with many the sound
            articles stand beside them.
        corruption: the only one, ids ``<article>@<severity>``.
        corruptions: where None is the only one, ids ``<corruption>@<severity>/<article>`` and ``sound@0/<article>``.

    Raises:
        BadInput: severities or corruptions that repeat, 0 where it may not stand, or what
            :func:`longform.datasets.synthetic_world.build` refuses.
    """
    given = severities if isinstance(severities, list | tuple) else ()
    if not given or len(set(given)) < len(given) or (0 in given) == (corruption is None):
        allowed = "distinct ones above 0" if corruption is None else "distinct ones with 0 among them"
        raise BadInput(f"corpus {name!r}: severities are {severities!r}, allowed are {allowed}; fix params.yaml")
    if len(set(corruptions)) < len(corruptions):
        raise BadInput(f"corpus {name!r}: corruptions {list(corruptions)} repeat; name each once")
    world = {"name": name, "seed": seed, "domain": domain, "documents": documents}
    facts = {"name": name, "domain": domain, "seed": seed, "synthetic": True}
    if corruption:
        struck = {"corruption": corruption}
        corpora = {f"{s:g}": synthetic_world.build(**world, **struck, severity=s) for s in severities}
        texts = [replace(d, id=f"{d.id}@{severity}") for severity, corpus in corpora.items() for d in corpus.documents]
    else:
        struck, corpora = {}, {SOUND: synthetic_world.build(**world)}
        for kind, severity in ((kind, severity) for kind in corruptions for severity in severities):
            corpora[f"{kind}@{severity:g}"] = synthetic_world.build(**world, corruption=kind, severity=severity)
        texts = [replace(d, id=f"{case}/{d.id}") for case, corpus in corpora.items() for d in corpus.documents]
    edits = {case: sum(len(d.edits) for d in corpus.documents) for case, corpus in corpora.items()}
    key = "edits_by_severity" if corruption else "edits"
    return Corpus(texts, facts={**facts, **struck, "documents": len(texts), key: edits})
