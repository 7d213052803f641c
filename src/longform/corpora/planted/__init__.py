"""The planted-truth world: seeded text whose latent structure is drawn from known distributions.

It is planted text and never stands for Wikipedia. Everything is a function of (seed, domain, index): document 7 is
document 7 whatever else is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longform.corpora.planted.corpus import indices, split_of, write_articles
from longform.corpora.planted.dialogues import dialogue_corpus, write_dialogue
from longform.corpora.planted.domains import DOMAINS as ARTICLE_DOMAINS
from longform.corpora.planted.parallel import parallel_corpus, write_translation
from longform.corpora.planted.ratings import rating_corpus, write_cluster
from longform.corpora.planted.reports import report_corpus, write_report
from longform.corpora.planted.stories import story_corpus, write_story
from longform.units import BadInput, Corpus

__all__ = ["DOMAINS", "build"]

Writer = tuple[Callable[..., Any], Callable[[Sequence[Any], Sequence[str], dict[str, object]], Corpus]]
OTHERS: Mapping[str, Writer] = {
    "dialogues": (write_dialogue, dialogue_corpus),
    "parallel": (write_translation, parallel_corpus),
    "reports": (write_report, report_corpus),
    "stories": (write_story, story_corpus),
}
SETTINGS: Mapping[str, set[str]] = {"parallel": {"mixing"}}
DOMAINS = (*ARTICLE_DOMAINS, *OTHERS, "summaries")


def build(*, name: str, seed: int, domain: str, documents: int | Mapping[str, int], **settings: float) -> Corpus:
    """A planted corpus with its truth.

    Args:
        name: recorded in the facts; no draw depends on it.
        seed: of the whole world.
        domain: one of ``DOMAINS``.
        documents: how many, or how many of each split; document i belongs to one split whatever the count. In
            ``summaries`` they are clusters of six versions.
        settings: of a domain; ``parallel`` has ``mixing``, the share of target words in a wrong language.

    Raises:
        BadInput: an unknown domain, split or setting, or no documents at all.
    """
    if domain not in DOMAINS:
        raise BadInput(f"domain is {domain!r}, allowed are {sorted(DOMAINS)}; choose one of them")
    if settings.keys() - SETTINGS.get(domain, set()):
        allowed = sorted(SETTINGS.get(domain, ()))
        raise BadInput(f"settings of {domain!r} are {sorted(settings)}, allowed are {allowed}; drop the others")
    numbers = indices(documents)
    if not numbers:
        raise BadInput(f"corpus {name!r} has no documents, at least one is needed; raise the count")
    if domain in ARTICLE_DOMAINS:
        return write_articles(name=name, seed=seed, domain_name=domain, numbers=numbers)
    facts = {"name": name, "domain": domain, "seed": seed, "planted": True, "documents": len(numbers), **settings}
    splits = [split_of(number) for number in numbers]
    if domain == "summaries":
        pairs = zip(numbers, splits, strict=True)
        return rating_corpus([write_cluster(seed, number, split) for number, split in pairs], facts)
    write, pack = OTHERS[domain]
    return pack([write(seed, number, **settings) for number in numbers], splits, facts)
