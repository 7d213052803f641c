"""Seconds and memory of ``longform criticize`` over several systems, without networks.

``PYTHONPATH=src:. python -m benchmarks.many_systems [--systems 5] [--texts 500] [--json FILE]``,
about two minutes on one core; seconds of each critic by itself too. The texts are articles of the
synthetic world's encyclopedia, drawn anew for each side, so that no side is a copy of another.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from longform.criticize import criticize_systems
from longform.criticize.panels import Panel
from longform.documents import Document
from synthetic_world.corpora import build

MEGABYTE = 1e3 if sys.platform != "darwin" else 1e6  # units of ru_maxrss in one


def texts(sides: int, count: int) -> list[list[str]]:
    """``count`` articles for each side, as plain texts; no article is in two sides."""
    corpus = build(name="many systems", seed=1, domain="wiki", documents={"test": sides * count})
    documents: Sequence[Document] = corpus.documents
    plain = [document.text for document in documents]
    parts = []
    for start in range(0, sides * count, count):
        parts.append(plain[start : start + count])
    return parts


def measure(systems: int, count: int) -> dict[str, object]:
    """Processor seconds by critic and in all, and this process's peak of memory in megabytes."""
    # The sides, and a clock beside each critic.
    real, *others = texts(systems + 1, count)
    seconds: dict[str, float] = {}

    def timed(panels: Sequence[Panel]) -> Iterator[Panel]:
        """Yield each critic; the caller runs it before it takes the next."""
        for panel in panels:
            before = time.process_time()
            yield panel
            seconds[panel.name] = round(time.process_time() - before, 1)

    # Judge them.
    before = time.process_time()
    sides = {f"system {number}": side for number, side in enumerate(others, 1)}
    report = criticize_systems(real, sides, model="none", encoder="none", progress=timed)
    total_seconds = time.process_time() - before
    num_words = 0
    for side in (real, *others):
        num_words += sum(len(text.split()) for text in side)
    critics = [result.panel.name for result in report.results]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "systems": systems,
        "texts of a side": count,
        "words of a text": round(num_words / (count * (systems + 1))),
        "critics": critics,
        "processor seconds": round(total_seconds, 1),
        "of each critic": {name: seconds[name] for name in critics},
        "megabytes": round(peak / MEGABYTE),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    text = json.dumps(measure(options.systems, options.texts), indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
