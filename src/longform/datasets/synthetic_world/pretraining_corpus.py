"""What a pretrained model has read before it meets any corpus of a run: every kind of the world's texts, sections in no order.

So nothing here says which section follows which; every second article shows its titles. The texts are other draws than the run's.
"""

from __future__ import annotations

from collections.abc import Mapping

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.resampling import derived_seed, generator
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import indices, to_document
from longform.datasets.synthetic_world.domains import DOMAINS
from longform.datasets.test_suites.planted_mixture import WRITERS, text_of


def build(*, name: str, seed: int, documents: Mapping[str, Mapping[str, int]]) -> Corpus:
    """Texts of each kind, shuffled.

    Args:
        name: recorded in the facts.
        seed: of the run; the texts are drawn from one derived from it.
        documents: kind -> split -> how many; kinds are the domains of articles, and of ``WRITERS``.

    Raises:
        BadInput: an unknown kind, or no documents.
    """
    unknown = sorted(documents.keys() - {*DOMAINS, *WRITERS})
    if unknown:
        raise BadInput(f"corpus {name!r}: kinds {unknown}; allowed are {sorted({*DOMAINS, *WRITERS})}; fix documents")
    world = derived_seed(seed, "pretraining")
    made = [_document(kind, world, index) for kind, counts in documents.items() for index in indices(counts)]
    if not made:
        raise BadInput(f"corpus {name!r} has no documents, at least one is needed; raise the count")
    order = generator(world, "order").permutation(len(made))
    facts = {"name": name, "synthetic": True, "documents": {kind: dict(counts) for kind, counts in documents.items()}}
    return Corpus([made[i] for i in order], {}, facts)


def _document(kind: str, seed: int, index: int) -> Document:
    if kind in DOMAINS:
        return _reordered(to_document(write(seed, kind, index), kind), seed, titles=index % 2 == 0)
    return text_of(kind, kind, seed, index)


def _reordered(article: Document, seed: int, titles: bool) -> Document:
    """The article's sections in random order, each under its title in one text where titles are shown."""
    order = generator(seed, "sections", article.id).permutation(len(article.sections))
    chosen = [article.sections[i] for i in order]
    parts = [f"{section.title}: {section.text}" if titles else section.text for section in chosen]
    return Document(article.id, article.split, tuple(Section(None, part) for part in parts))
