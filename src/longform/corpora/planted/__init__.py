"""The planted-truth world: seeded text whose latent structure is drawn from known distributions.

It is planted text and never stands for Wikipedia. Everything is a function of (seed, domain, index): document 7 is
document 7 whatever else is generated.
"""

from __future__ import annotations

from collections.abc import Mapping

from longform.corpora.planted.corpus import write_articles
from longform.units import Corpus

__all__ = ["build"]


def build(*, name: str, seed: int, domain: str, documents: int | Mapping[str, int]) -> Corpus:
    """A planted corpus with its truth.

    Args:
        name: recorded in the facts; no draw depends on it.
        seed: of the whole world.
        domain: one of ``wiki``, ``wikisection``.
        documents: how many, or how many of each split; document i belongs to one split whatever the count.

    Raises:
        BadInput: an unknown domain or split.
    """
    return write_articles(name=name, seed=seed, domain_name=domain, documents=documents)
