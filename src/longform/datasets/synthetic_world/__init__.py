"""The synthetic world: seeded text whose latent structure is drawn from known distributions.

It never stands for Wikipedia or any other real text. Everything is a function of (seed, domain, index): document 7 is
document 7 whatever else is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from longform.core.documents import BadInput, Corpus
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import article_corpus, indices, split_of
from longform.datasets.synthetic_world.corruptions import CORRUPTIONS, corrupt
from longform.datasets.synthetic_world.domains import DOMAINS as ARTICLE_DOMAINS
from longform.datasets.synthetic_world.languages import parallel_corpus, write_translation
from longform.datasets.synthetic_world.reports import rating_corpus, report_corpus, write_cluster, write_report
from longform.datasets.synthetic_world.stories import dialogue_corpus, story_corpus, write_dialogue, write_story

__all__ = ["DOMAINS", "build"]

Writer = tuple[Callable[..., Any], Callable[[Sequence[Any], Sequence[str], dict[str, object]], Corpus]]
OTHERS: Mapping[str, Writer] = {
    "dialogues": (write_dialogue, dialogue_corpus),
    "parallel": (write_translation, parallel_corpus),
    "reports": (write_report, report_corpus),
    "stories": (write_story, story_corpus),
    "summaries": (write_cluster, rating_corpus),
}
DOMAINS = (*ARTICLE_DOMAINS, *OTHERS)


def build(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: int | Mapping[str, int],
    corruption: str = "",
    severity: float = 0.0,
) -> Corpus:
    """A synthetic corpus with its truth, sound or with one corruption at a severity.

    Args:
        name: recorded in the facts; no draw depends on it.
        seed: of the whole world.
        domain: one of ``DOMAINS``.
        documents: how many, or how many of each split; document i belongs to one split whatever the count. In
            ``summaries`` they are clusters of six versions, each at its own severity.
        corruption: one of ``CORRUPTIONS`` for articles; ``parallel`` has ``mixed_language`` alone, word by word.
        severity: share of the eligible places that are struck; the truth arrays stay those of the sound text.

    Raises:
        BadInput: an unknown domain, split or corruption, a severity outside [0, 1], or no documents at all.
    """
    if domain not in DOMAINS:
        raise BadInput(f"domain is {domain!r}, allowed are {sorted(DOMAINS)}; choose one of them")
    allowed = ["mixed_language"] if domain == "parallel" else sorted(CORRUPTIONS) if domain in ARTICLE_DOMAINS else []
    if (corruption or severity) and corruption not in allowed:
        raise BadInput(f"corruption is {corruption!r} in {domain!r}, allowed are {allowed}; fix it or set no severity")
    if not 0.0 <= severity <= 1.0:
        raise BadInput(f"severity is {severity}, allowed is 0 to 1; give the share of places to strike")
    numbers = indices(documents)
    if not numbers:
        raise BadInput(f"corpus {name!r} has no documents, at least one is needed; raise the count")
    facts = {"name": name, "domain": domain, "seed": seed, "synthetic": True, "documents": len(numbers)}
    facts |= {"corruption": corruption, "severity": severity}
    if domain in ARTICLE_DOMAINS:
        damage = partial(corrupt, domain_name=domain, corruption=corruption, severity=severity, seed=seed)
        articles = [write(seed, domain, number) for number in numbers]
        return article_corpus(articles, domain, facts, damage if corruption else None)
    write_one, pack = OTHERS[domain]
    settings = {"mixing": severity} if domain == "parallel" else {}
    splits = [split_of(number) for number in numbers]
    return pack([write_one(seed, number, **settings) for number in numbers], splits, facts)
