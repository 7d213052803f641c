"""Does a critic point at the one place that was damaged? Planted articles with a single edit; the share found is written as JSON.

    PYTHONPATH=src python experiments/matrix/localise.py --out experiments/matrix/measured/localisation.json

An edit counts as found where one of the critic's three worst parts overlaps it: the damaged sentence, or for sections the
damaged section and the one after it (a transition stands at the section that it leads to).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from longform.corpora.planted import build
from longform.criticize.judging import judge
from longform.criticize.panels import Options, panels, section_starts
from longform.metrics.intervals import wilson
from longform.numerics import generator
from longform.units import BadInput, Document

CASES = {
    "section order": ("section_order", "repeated_section"),
    "persons": ("wrong_pronoun", "new_entity_as_pronoun"),
    "repetition": ("repeated_sentence",),
    "entity grid": ("off_topic_sentence",),
    "related nouns (LSA)": ("off_topic_sentence", "topic_drift"),
    "sentence path (BBScore)": ("off_topic_sentence", "topic_drift"),
}
DOSES = (0.02, 0.05, 0.1, 0.2, 0.5)  # each gives some articles with exactly one edit


def single_edits(failure: str, wanted: int) -> list[Document]:
    """Articles with exactly one edit, no article twice."""
    found: dict[str, Document] = {}
    for dose in DOSES:
        made = build(name="localise", seed=11, domain="wiki", documents={"test": 400}, failure=failure, dose=dose)
        found |= {d.id: d for d in made.documents if len(d.edits) == 1 and d.id not in found}
    chosen = generator("localise", failure).permutation(sorted(found))[:wanted]
    return [found[key] for key in chosen]


def struck(document: Document) -> tuple[int, int]:
    """Character range of the one edit in ``document.text``."""
    edit, starts = document.edits[0], section_starts(document)
    if "sentence" in edit:
        start = document.text.index(edit["after"], starts[edit["section"]])
        return start, start + len(edit["after"])
    following = min(edit["section"] + 2, len(starts) - 1)
    return starts[edit["section"]], starts[following] + 61  # as far as the place of the transition after it reaches


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--articles", type=int, default=100)
    given = parser.parse_args()
    real = [
        replace(d, split="train" if i < 400 else "test", id=f"real/{d.id}")
        for i, d in enumerate(build(name="localise real", seed=12, domain="wiki", documents={"test": 500}).documents)
    ]
    rows = []
    for name, make in panels(Options()):
        for failure in CASES.get(name, ()):
            try:
                rows.append(located(name, make(), failure, real, given.articles))
            except BadInput as error:
                print(f"{name}: left out ({error})", file=sys.stderr)
                break
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"command": " ".join(["python", *sys.argv]), "rows": rows}
    given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def located(name: str, panel, failure: str, real: list[Document], wanted: int) -> dict:  # type: ignore[no-untyped-def]
    """Share of single edits that one of the three worst parts overlaps, with a Wilson interval, beside chance."""
    damaged = [replace(d, split="generated", id=f"generated/{d.id}") for d in single_edits(failure, wanted)]
    found = judge(panel, [*real, *damaged], 1234)
    hits, chance = 0, 0.0
    for document in damaged:
        low, high = struck(document)
        spans = panel.places(document, found.shapes[document.id])
        inside = [a < high and low < b for a, b in spans]
        worst = [place for _, place in found.blame[document.id] if place < len(spans)]
        hits += any(inside[place] for place in worst)
        miss = 1 - sum(inside) / max(len(inside), 1)
        chance += 1 - miss**3
    low, high = wilson(hits, len(damaged))
    return {
        "critic": name, "failure": failure, "articles": len(damaged), "found": hits / len(damaged), "low": low,
        "high": high, "chance": chance / len(damaged),
    }  # fmt: skip


if __name__ == "__main__":
    main()
