"""Titles that few real texts have, pooled into one.

A random half of the texts may lack such a title, so that nothing could be said of what follows it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from longform.critics.section_order.score import TitledArticle
from longform.documents import Chain

RARE = "(rare title)"
# ours: a title of so many texts is missing from a random half of them once in sixteen times
MIN_TEXTS = 4


def common_titles(real: Iterable[Chain], min_texts: int = MIN_TEXTS) -> frozenset[str]:
    """The titles that occur in at least ``min_texts`` texts.

    Args:
        real: chains of section titles of real texts; invalid ones count nothing.
        min_texts: texts that must have a title.
    """
    num_texts: Counter[str] = Counter()
    for chain in real:
        if chain.valid:
            num_texts.update(set(chain.symbols))
    return frozenset(title for title, count in num_texts.items() if count >= min_texts)


def with_rare_titles_pooled(
    articles: Sequence[TitledArticle], common: frozenset[str]
) -> list[TitledArticle]:
    """The same articles with :data:`RARE` in place of every title that is not common."""
    pooled = []
    for article in articles:
        symbols = []
        for title in article.symbols:
            symbols.append(_pooled(title, common))
        gold: list[str | None] = []
        for own_title in article.gold:
            gold.append(_pooled(own_title, common) if own_title else own_title)
        pooled.append(replace(article, symbols=tuple(symbols), gold=tuple(gold)))
    return pooled


def _pooled(title: str, common: frozenset[str]) -> str:
    """A common title as it is, any other as :data:`RARE`."""
    return title if title in common else RARE
