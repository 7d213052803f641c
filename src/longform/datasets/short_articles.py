"""Planted articles whose sections are all short: what WIKI-SHORT is to WIKI (deng2022 section 4, Table 3).

Drawn until enough are short; the chain of the kept ones leans to fewer sections, so no exact value is claimed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from longform.core.documents import BadInput, Corpus
from longform.datasets import synthetic_world as planted
from longform.datasets.titles import piece_count


def build(
    *, name: str, seed: int, domain: str, documents: Mapping[str, int], short_tokens: int, drawn: int = 10
) -> Corpus:
    """The first ``documents[split]`` short articles of each split, out of ``drawn`` times as many.

    Args:
        short_tokens: longest section allowed, in the pieces of GPT-2's own splitting rule (a lower bound of its tokens).
        drawn: articles written for each article wanted; the share that is short must reach one in ``drawn``.

    Raises:
        BadInput: too few of the drawn articles are short.
    """
    world = planted.build(name=name, seed=seed, domain=domain, documents={s: n * drawn for s, n in documents.items()})
    short = [d for d in world.documents if max(piece_count(section.text) for section in d.sections) <= short_tokens]
    kept = [d for split, wanted in documents.items() for d in [d for d in short if d.split == split][:wanted]]
    found = Counter(d.split for d in kept)
    if any(found[split] < wanted for split, wanted in documents.items()):
        raise BadInput(f"corpus {name}: got {dict(found)} short articles of {dict(documents)}; raise drawn")
    facts = {"name": name, "domain": domain, "seed": seed, "planted": True, "documents": len(kept)}
    facts |= {"short_tokens": short_tokens, "drawn": len(world.documents), "short": len(short)}
    return Corpus(kept, {}, facts)
