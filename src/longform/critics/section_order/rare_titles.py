"""Titles that few real texts have, as one: half of the texts may not have them, so nothing could be said of what follows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from longform.critics.section_order.score import TitledArticle
from longform.documents import Chain

RARE = "(rare title)"
MIN_TEXTS = (
    4  # ours: a title of so many texts is missing from a random half of them once in sixteen times
)


def common_titles(real: Iterable[Chain], min_texts: int = MIN_TEXTS) -> frozenset[str]:
    """The titles that stand in at least so many texts.

    Args:
        real: chains of section titles of real texts; invalid ones count nothing.
        min_texts: texts that must have a title.
    """
    texts: Counter[str] = Counter()
    for chain in real:
        if chain.valid:
            texts.update(set(chain.symbols))
    return frozenset(title for title, count in texts.items() if count >= min_texts)


def with_rare_titles_pooled(
    articles: Sequence[TitledArticle], common: frozenset[str]
) -> list[TitledArticle]:
    """The same articles with :data:`RARE` in place of every title that is not common."""
    pooled: list[TitledArticle] = []
    for article in articles:
        symbols = tuple(_pooled(title, common) for title in article.symbols)
        gold = tuple(title and _pooled(title, common) for title in article.gold)
        pooled.append(replace(article, symbols=symbols, gold=gold))
    return pooled


def _pooled(title: str, common: frozenset[str]) -> str:
    return title if title in common else RARE
