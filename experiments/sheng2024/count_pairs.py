"""Table 1's counts on real articles: distinct shuffles of the shortest 434 of the 658, scaled to the paper's 430.

``python experiments/sheng2024/count_pairs.py path/to/wikisection_withSections.test.txt > experiments/sheng2024/measured/table_1.json``

The release keeps articles below 1,024 GPT-2 tokens; GPT-2's vocabulary is not here, and 434 is how many that filter keeps
(the count and the mean length of 27.5 sentences are known, so the shortest 434 stand for them).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from longform.datasets.wikisection import build
from longform.statistics.random_streams import generator
from longform.text.permutations import block_orders, distinct_orders, local_orders
from longform.text.sentences import full_stop_sentences

KEPT, PAPERS = 434, 430
PRINTED = {"b1": 8600, "b2": 4280, "b5": 3837, "b10": 2193, "w1": 6255, "w2": 7924, "w3": 8176}


def texts(path: Path) -> list[tuple[str, np.ndarray]]:
    """Id and sentence numbers (equal where the sentences are) of the shortest articles."""
    corpus = build(name="cities", seed=1234, raw=path)
    pieces = [
        (d.id, [s for section in d.sections for s in full_stop_sentences(section.text)])
        for d in corpus.documents
    ]
    shortest = sorted(pieces, key=lambda row: len(row[1]))[:KEPT]
    return [(unit, np.unique(rows, return_inverse=True)[1]) for unit, rows in shortest]


def pairs(articles: list[tuple[str, np.ndarray]], task: str, copies: int) -> int:
    """Distinct shuffles of all articles."""
    draw, size = (block_orders if task[0] == "b" else local_orders), int(task[1:])
    rows = (
        (ids, draw(len(ids), size, copies, generator("table 1", task, unit)))
        for unit, ids in articles
    )
    return sum(len(distinct_orders(orders, ids)) for ids, orders in rows)


def main() -> None:
    """Print the counts."""
    articles = texts(Path(sys.argv[1]))
    found = {}
    for task, printed in PRINTED.items():
        counts = {copies: pairs(articles, task, copies) * PAPERS / KEPT for copies in (10, 20)}
        near = min(counts, key=lambda copies: abs(counts[copies] - printed))
        found[task] = {
            "printed": printed,
            **{f"with_{copies}": round(value) for copies, value in counts.items()},
            "nearest": near,
            "off_percent": round(100 * (counts[near] / printed - 1), 2),
        }
    lengths = [len(ids) for _, ids in articles]
    print(
        json.dumps(
            {"articles": len(articles), "mean_sentences": float(np.mean(lengths)), "sets": found},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
