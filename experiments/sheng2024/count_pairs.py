"""Count Table 1's pairs on real articles: distinct shuffles of the shortest 434 of the 658.

Counts are scaled to the paper's 430 articles.

    python experiments/sheng2024/count_pairs.py path/to/wikisection_withSections.test.txt \\
        > experiments/sheng2024/measured/table_1.json

The release selects articles below 1,024 GPT-2 tokens; GPT-2's vocabulary is not here, and that
filter selects 434 (the count and the mean length of 27.5 sentences are published, so the shortest
434 stand for them).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from longform.datasets.wikisection import build
from longform.statistics.random_streams import generator
from longform.text.permutations import block_orders, distinct_orders, local_orders
from longform.text.sentences import full_stop_sentences

NUM_SHORTEST, NUM_PAPERS = 434, 430  # articles here and in the paper
PRINTED = {"b1": 8600, "b2": 4280, "b5": 3837, "b10": 2193, "w1": 6255, "w2": 7924, "w3": 8176}


@dataclass(frozen=True)
class Article:
    """An article's name, and a number for each sentence, equal for equal ones; (sentences,)."""

    name: str
    sentences: np.ndarray


def shortest_articles(path: Path) -> list[Article]:
    """The ``NUM_SHORTEST`` articles with the fewest sentences."""
    corpus = build(name="cities", seed=1234, raw=path)
    articles = []
    for document in corpus.documents:
        sentences: list[str] = []
        for section in document.sections:
            sentences += full_stop_sentences(section.text)
        _, numbers = np.unique(sentences, return_inverse=True)
        articles.append(Article(document.id, numbers))
    articles.sort(key=lambda article: len(article.sentences))
    return articles[:NUM_SHORTEST]


def num_pairs(articles: list[Article], task: str, copies: int) -> int:
    """Number of distinct shuffles of all articles.

    Args:
        articles: the articles.
        task: ``b5`` for blocks of 5 sentences, ``w2`` for two windows.
        copies: shuffles drawn of each article, of which equal ones count once.
    """
    draw = block_orders if task[0] == "b" else local_orders
    size = int(task[1:])
    total = 0
    for article in articles:
        rng = generator("table 1", task, article.name)
        orders = draw(len(article.sentences), size, copies, rng)
        total += len(distinct_orders(orders, article.sentences))
    return total


def main() -> None:
    """Print the counts of each task as JSON, beside the printed ones."""
    articles = shortest_articles(Path(sys.argv[1]))
    # 1. Each task with 10 and with 20 copies, and which of these is nearer to the printed count.
    sets: dict[str, Any] = {}
    for task, printed in PRINTED.items():
        counts: dict[int, float] = {}
        row: dict[str, float] = {"printed": printed}
        for copies in (10, 20):  # shuffles of each article
            counts[copies] = num_pairs(articles, task, copies) * NUM_PAPERS / NUM_SHORTEST
            row[f"with_{copies}"] = round(counts[copies])
        distances = {copies: abs(count - printed) for copies, count in counts.items()}
        nearest = min(distances, key=distances.__getitem__)
        row["nearest"] = nearest
        row["off_percent"] = round(100 * (counts[nearest] / printed - 1), 2)
        sets[task] = row
    # 2. Beside the articles' mean length.
    lengths = [len(article.sentences) for article in articles]
    mean_length = float(np.mean(lengths))
    report = {"articles": len(articles), "mean_sentences": mean_length, "sets": sets}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
