"""Does a critic point at the one place that was damaged? Planted articles with a single edit; the share found is written as JSON.

    PYTHONPATH=src python experiments/matrix/localise.py --out experiments/matrix/measured/localisation.json

An edit counts as found where one of the critic's three worst places overlaps it: the damaged sentence, or for sections the
damaged section and the one after it (a transition stands at the section that it leads to). The critics are those of
``longform criticize``, which know nothing of the planted world; below them the same critics on the matrix's own readings.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longform.criticize.judging import by_sentence, worst_places
from longform.criticize.lengths import Excerpt
from longform.criticize.panels import Options, Panel, completion, panels
from longform.critics.bbscore.score import BBScore, JointBridge
from longform.critics.bbscore.score import units_from_predictions as paths_from_predictions
from longform.critics.coreference import rules
from longform.critics.coreference.score import ReleasedCoreference
from longform.documents import (
    Corpus,
    Document,
    chains_from_predictions,
    section_starts,
)
from longform.errors import BadInput
from longform.statistics.intervals import wilson
from longform.statistics.random_streams import generator
from longform.text.sentences import sentences
from synthetic_world.corpora import build
from synthetic_world.planted_topics import read as read_topics

CASES = {
    "section order": ("section_order", "repeated_section"),
    "persons": ("wrong_pronoun", "new_entity_as_pronoun"),
    "repetition": ("repeated_sentence",),
    "entity grid": ("off_topic_sentence",),
    "related nouns (LSA)": ("off_topic_sentence", "topic_drift"),
    "sentence path (BBScore)": ("off_topic_sentence", "topic_drift"),
    "persons, by recency": ("wrong_pronoun", "new_entity_as_pronoun"),
    "BBScore, true topics": ("topic_drift",),
    "joint bridge, true topics": ("topic_drift",),
    "completion, true topics": ("topic_drift",),
    "kept topics": ("off_topic_sentence", "topic_drift"),
}
DOSES = (0.02, 0.05, 0.1, 0.2, 0.5)  # each gives some articles with exactly one edit


def world(corruption: str = "", severity: float = 0.0) -> Corpus:
    """Four hundred planted articles."""
    return build(
        name="localise",
        seed=11,
        domain="wiki",
        documents={"test": 400},
        corruption=corruption,
        severity=severity,
    )


def single_edits(failure: str, wanted: int) -> list[Document]:
    """Articles with exactly one edit, no article twice."""
    found: dict[str, Document] = {}
    for dose in DOSES:
        made = world(failure, dose)
        found |= {d.id: d for d in made.documents if len(d.edits) == 1 and d.id not in found}
    chosen = generator("localise", failure).permutation(sorted(found))[:wanted]
    return [found[key] for key in chosen]


def struck(document: Document, starts: np.ndarray) -> tuple[int, int]:
    """Character range of the one edit in ``document.text``; up to it the text is the sound one.

    Args:
        starts: (sentences, 2) section, and first character in the sound text, of every sentence.
    """
    edit, sections = document.edits[0], section_starts(document)
    if "sentence" in edit:
        start = int(starts[starts[:, 0] == edit["section"]][edit["sentence"], 1])
        return start, start + len(edit["after"])
    following = min(edit["section"] + 2, len(sections) - 1)
    return sections[edit["section"]], sections[
        following
    ] + 61  # as far as the place of the transition after it reaches


def sentence_starts() -> dict[str, np.ndarray]:
    """Document id -> (sentences, 2) section and first character of every sound sentence."""
    sound = world()
    both = np.stack([sound.truth["sentence_section"], sound.truth["sentence_start"]], axis=1)
    ends = np.cumsum(sound.truth["sentence_start_lengths"])
    return dict(zip((d.id for d in sound.documents), np.split(both, ends[:-1]), strict=True))


def planted_panels(truth: dict[str, Any]) -> Iterator[Panel]:
    """Critics on the matrix's readings: persons by recency alone, sentence topics with the planted words."""
    yield _persons()
    yield _topic_path("BBScore, true topics", BBScore(), truth, skipped=1)
    yield _topic_path("joint bridge, true topics", JointBridge(), truth, skipped=0)
    known = {"reader_truth": truth, "splits": ["train", "generated"]}
    words = completion(lambda documents: read_topics(documents, predictions="completion", **known))
    yield replace(words, name="completion, true topics")


def _persons() -> Panel:
    spans: dict[str, list[tuple[int, int]]] = {}

    def read(documents: Sequence[Document]) -> list[Any]:
        found = rules.read(documents=documents, splits=["train", "generated"], subject=0)
        kept = [document for document in documents if document.split in ("train", "generated")]
        for document, row in zip(kept, found.ragged("span"), strict=True):
            after = dict(sentences(document.text))
            spans[document.id] = [
                (a, after.get(a, a + 1) if a == b else b) for a, b in row.tolist()
            ]
        return chains_from_predictions(found)

    return Panel(
        "persons, by recency",
        "",
        read,
        ReleasedCoreference(),
        lambda document, unit, parts: spans[document.id],
    )


def _topic_path(name: str, critic: Any, truth: dict[str, Any], skipped: int) -> Panel:
    spans: dict[str, list[tuple[int, int]]] = {}

    def read(documents: Sequence[Document]) -> list[Any]:
        found = read_topics(
            documents, predictions="paths", reader_truth=truth, splits=["train", "generated"]
        )
        kept = [document for document in documents if document.split in ("train", "generated")]
        for document, row in zip(kept, found.ragged("sentence"), strict=True):
            every = sentences(document.text)
            spans[document.id] = [every[place] for place in row.tolist()]
        return paths_from_predictions(found)

    return Panel(
        name,
        "",
        read,
        critic,
        lambda document, unit, parts: spans[document.id][skipped : skipped + parts.size],
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--articles", type=int, default=100)
    given = parser.parse_args()
    known = build(name="localise real", seed=12, domain="wiki", documents={"test": 400})
    real = [replace(d, split="train", id=f"real/{d.id}") for d in known.documents]
    starts, rows = sentence_starts(), []
    for panel in (*panels(Options()), *planted_panels(dict(known.truth))):
        for failure in CASES.get(panel.name, ()):
            try:
                found = located(panel, single_edits(failure, given.articles), real, starts)
                rows.append({"critic": panel.name, "failure": failure, **found})
            except BadInput as error:
                print(f"{panel.name}: left out ({error})", file=sys.stderr)
                break
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"command": " ".join(["python", *sys.argv]), "rows": rows}
    given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def located(
    panel: Panel, edited: list[Document], real: list[Document], starts: dict[str, np.ndarray]
) -> dict[str, float]:
    """Share of single edits that one of the three worst places overlaps, with a Wilson interval, beside chance."""
    damaged = {
        f"generated/{d.id}": replace(d, split="generated", id=f"generated/{d.id}") for d in edited
    }
    units = panel.reader(
        [Excerpt(d.id, d.split, d.sections, d.edits) for d in [*real, *damaged.values()]]
    )
    fitted = panel.critic.fit([unit for unit in units if unit.split == "train"])
    judged = [unit for unit in units if unit.split == "generated"]
    hits, chance = 0, 0.0
    for unit, parts in zip(judged, fitted.part_values(judged), strict=True):
        document, values = damaged[unit.unit_id], by_sentence(parts)
        low, high = struck(document, starts[unit.unit_id.removeprefix("generated/")])
        spans = panel.spans(document, unit, values)  # type: ignore[misc]
        assert len(spans) == len(values), (
            f"{unit.unit_id}: {len(values)} parts, {len(spans)} places"
        )
        named = worst_places(fitted.blame * values, spans)
        hits += any(a < high and low < b for _, (a, b) in named)
        places = {span for span, value in zip(spans, values, strict=True) if not np.isnan(value)}
        inside = sum(a < high and low < b for a, b in places)
        if named:
            chance += 1 - math.comb(len(places) - inside, len(named)) / math.comb(
                len(places), len(named)
            )
    low, high = wilson(hits, len(damaged))
    return {
        "articles": len(damaged), "found": hits / len(damaged), "low": round(low, 4), "high": round(high, 4),
        "chance": round(chance / len(damaged), 4),
    }  # fmt: skip


if __name__ == "__main__":
    main()
