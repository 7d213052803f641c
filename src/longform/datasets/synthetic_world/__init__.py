"""The planted-truth world: seeded text whose latent structure is drawn from known distributions.

It is planted text and never stands for Wikipedia. Everything is a function of (seed, domain, index): document 7 is
document 7 whatever else is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import article_corpus, indices, split_of
from longform.datasets.synthetic_world.dialogues import dialogue_corpus, write_dialogue
from longform.datasets.synthetic_world.domains import DOMAINS as ARTICLE_DOMAINS
from longform.datasets.synthetic_world.failures import FAILURES, corrupt
from longform.datasets.synthetic_world.parallel import parallel_corpus, write_translation
from longform.datasets.synthetic_world.ratings import rating_corpus, write_cluster
from longform.datasets.synthetic_world.reports import report_corpus, write_report
from longform.datasets.synthetic_world.stories import story_corpus, write_story
from longform.documents import BadInput, Corpus

__all__ = ["DOMAINS", "build"]

Writer = tuple[Callable[..., Any], Callable[[Sequence[Any], Sequence[str], dict[str, object]], Corpus]]
OTHERS: Mapping[str, Writer] = {
    "dialogues": (write_dialogue, dialogue_corpus),
    "parallel": (write_translation, parallel_corpus),
    "reports": (write_report, report_corpus),
    "stories": (write_story, story_corpus),
}
OTHER_FAILURES = {"parallel": ("mixed_language",)}
DOMAINS = (*ARTICLE_DOMAINS, *OTHERS, "summaries")


def build(
    *, name: str, seed: int, domain: str, documents: int | Mapping[str, int], failure: str = "", dose: float = 0.0
) -> Corpus:
    """A planted corpus with its truth, sound or with one failure at a dose.

    Args:
        name: recorded in the facts; no draw depends on it.
        seed: of the whole world.
        domain: one of ``DOMAINS``.
        documents: how many, or how many of each split; document i belongs to one split whatever the count. In
            ``summaries`` they are clusters of six versions, each at its own dose.
        failure: one of ``failures.FAILURES`` for articles; ``parallel`` has ``mixed_language`` alone, word by word.
        dose: share of the eligible places that are struck; the truth arrays stay those of the sound text.

    Raises:
        BadInput: an unknown domain, split or failure, a dose outside [0, 1], or no documents at all.
    """
    if domain not in DOMAINS:
        raise BadInput(f"domain is {domain!r}, allowed are {sorted(DOMAINS)}; choose one of them")
    allowed = tuple(FAILURES) if domain in ARTICLE_DOMAINS else OTHER_FAILURES.get(domain, ())
    if (failure or dose) and failure not in allowed:
        raise BadInput(
            f"failure is {failure!r} in {domain!r}, allowed are {sorted(allowed)}; correct it or set no dose"
        )
    if not 0.0 <= dose <= 1.0:
        raise BadInput(f"dose is {dose}, allowed is 0 to 1; give the share of places to strike")
    numbers = indices(documents)
    if not numbers:
        raise BadInput(f"corpus {name!r} has no documents, at least one is needed; raise the count")
    facts = {"name": name, "domain": domain, "seed": seed, "planted": True, "documents": len(numbers)}
    facts |= {"failure": failure, "dose": dose}
    splits = [split_of(number) for number in numbers]
    if domain in ARTICLE_DOMAINS:
        finish = partial(corrupt, domain_name=domain, failure=failure, dose=dose, seed=seed) if failure else None
        return article_corpus([write(seed, domain, number) for number in numbers], domain, facts, finish)
    if domain == "summaries":
        pairs = zip(numbers, splits, strict=True)
        return rating_corpus([write_cluster(seed, number, split) for number, split in pairs], facts)
    one, pack = OTHERS[domain]
    settings = {"mixing": dose} if domain == "parallel" else {}
    return pack([one(seed, number, **settings) for number in numbers], splits, facts)
