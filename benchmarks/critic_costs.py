"""Processor seconds of each critic on plain texts that needs nothing but texts.

``PYTHONPATH=src:. python -m benchmarks.critic_costs [--json FILE]``, under a minute on one core:
fitted to 200, scored on 1,000. The texts are articles of the synthetic world's encyclopedia, about
340 words each. ``longform critics`` shows what comes out, rounded up. Critics that need a word net,
a network or pages are named without a number.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from longform.critics.catalogue import CATALOGUE
from longform.errors import BadInput
from synthetic_world.corpora import build

FITTED, SCORED = 200, 1000


def measure() -> dict[str, float | None]:
    """Processor seconds of fitting and scoring by critic; None where it needs more than texts."""
    counts = {"test": FITTED + SCORED}
    documents = list(build(name="costs", seed=2, domain="wiki", documents=counts).documents)
    seconds: dict[str, float | None] = {}
    for name, entry in CATALOGUE.items():
        before = time.process_time()
        try:
            critic = entry.load_class()().fit(documents[:FITTED])
            critic.score(documents[FITTED:])
        except BadInput:  # it asks for a folder
            seconds[name] = None
        else:
            seconds[name] = round(time.process_time() - before, 1)
    return seconds


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    text = json.dumps(measure(), indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
