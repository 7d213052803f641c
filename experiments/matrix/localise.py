"""Does a critic point at the one place that was damaged?

    PYTHONPATH=src python experiments/matrix/localise.py \\
        --out experiments/matrix/measured/localisation.json

Planted articles with a single edit are judged; the share that is located is written as JSON. An
edit counts as located where one of the critic's three worst places overlaps it: the damaged
sentence, or for sections the damaged section and the one after it (a transition stands at the
section that it leads to). The critics are those of ``longform criticize``, which know nothing of
the planted world; below them the same critics on the matrix's own readings.
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
    Predictions,
    chains_from_predictions,
    in_splits,
    section_starts,
)
from longform.errors import BadInput
from longform.statistics.intervals import wilson
from longform.statistics.random_streams import generator
from longform.text.sentences import sentences
from synthetic_world.corpora import build
from synthetic_world.planted_topics import read as read_topics

# By critic the corruptions that it should see.
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
SPLITS = ("train", "generated")  # whose texts the critics with true topics read
SEVERITIES = (0.02, 0.05, 0.1, 0.2, 0.5)  # each gives some articles with exactly one edit
ARTICLES = 400
MARGIN = 61  # characters behind a section's start, beyond the place of the transition to it


def world(corruption: str = "", severity: float = 0.0) -> Corpus:
    """The same planted articles, sound by default, or damaged by a corruption."""
    return build(
        name="localise",
        seed=11,
        domain="wiki",
        documents={"test": ARTICLES},
        corruption=corruption,
        severity=severity,
    )


def single_edits(failure: str, count: int) -> list[Document]:
    """At most ``count`` random articles with exactly one edit by a corruption, all different."""
    articles: dict[str, Document] = {}
    for severity in SEVERITIES:
        for document in world(failure, severity).documents:
            if len(document.edits) == 1:
                articles.setdefault(document.id, document)
    order = generator("localise", failure).permutation(sorted(articles))
    return [articles[name] for name in order[:count]]


def edited_range(document: Document, starts: np.ndarray) -> tuple[int, int]:
    """Half-open character range of the one edit in ``document.text``.

    Before it the text is the sound one, so that the sound sentences' characters hold here.

    Args:
        document: an article with one edit.
        starts: int64 (sentences, 2): section and first character of each sentence in the sound
            text.
    """
    edit = document.edits[0]
    sections = section_starts(document)
    if "sentence" in edit:
        start = int(starts[starts[:, 0] == edit["section"]][edit["sentence"], 1])
        return start, start + len(edit["after"])
    # The section, the one after it, and the place of the transition to the next.
    following = min(edit["section"] + 2, len(sections) - 1)
    return sections[edit["section"]], sections[following] + MARGIN


def sentence_starts() -> dict[str, np.ndarray]:
    """By article, section and first character of each sentence of the sound text.

    Returns:
        Document id -> int64 (sentences, 2).
    """
    sound = world()
    both = np.stack([sound.truth["sentence_section"], sound.truth["sentence_start"]], axis=1)
    ends = np.cumsum(sound.truth["sentence_start_lengths"])
    starts = {}
    for document, rows in zip(sound.documents, np.split(both, ends[:-1]), strict=True):
        starts[document.id] = rows
    return starts


def planted_panels(truth: dict[str, Any]) -> Iterator[Panel]:
    """Yield critics as the matrix has them: persons by recency alone, topics by planted words.

    ``truth`` is the corpus truth that the topic reader needs.
    """
    yield _persons()
    yield _topic_path("BBScore, true topics", BBScore(), truth, skipped=1)
    yield _topic_path("joint bridge, true topics", JointBridge(), truth, skipped=0)

    def read_completion(documents: Sequence[Document]) -> Predictions:
        return read_topics(documents, predictions="completion", reader_truth=truth, splits=SPLITS)

    yield replace(completion(read_completion), name="completion, true topics")


def _persons() -> Panel:
    """The panel of the released coreference critic, which marks mentions and sentences."""
    spans: dict[str, list[tuple[int, int]]] = {}

    def read_mentions(documents: Sequence[Document]) -> list[Any]:
        # By recency alone: subjects are not preferred.
        predictions = rules.read(documents=documents, splits=SPLITS, subject=0)
        rows = predictions.ragged("span")
        for document, row in zip(in_splits(documents, SPLITS), rows, strict=True):
            # An empty span stands for the sentence that begins there.
            sentence_ends = dict(sentences(document.text))
            mentions = []
            for start, end in row.tolist():
                if start == end:
                    end = sentence_ends.get(start, start + 1)
                mentions.append((start, end))
            spans[document.id] = mentions
        return chains_from_predictions(predictions)

    return Panel(
        "persons, by recency",
        "",
        reader=read_mentions,
        critic=ReleasedCoreference(),
        spans=lambda document, unit, parts: spans[document.id],
    )


def _topic_path(name: str, critic: Any, truth: dict[str, Any], skipped: int) -> Panel:
    """A panel of a critic of topic paths, which marks sentences.

    Args:
        name: of the panel.
        critic: the critic.
        truth: corpus truth that the topic reader needs.
        skipped: number of sentences at a text's beginning without a part of the score.
    """
    spans: dict[str, list[tuple[int, int]]] = {}

    def read_paths(documents: Sequence[Document]) -> list[Any]:
        predictions = read_topics(documents, predictions="paths", reader_truth=truth, splits=SPLITS)
        rows = predictions.ragged("sentence")
        for document, row in zip(in_splits(documents, SPLITS), rows, strict=True):
            every_sentence = sentences(document.text)
            spans[document.id] = [every_sentence[number] for number in row.tolist()]
        return paths_from_predictions(predictions)

    return Panel(
        name,
        "",
        reader=read_paths,
        critic=critic,
        spans=lambda document, unit, parts: spans[document.id][skipped : skipped + parts.size],
    )


def main() -> None:
    """Write the shares of located edits of each critic and corruption as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--articles", type=int, default=100)
    arguments = parser.parse_args()
    # 1. Training articles, and the places of the other articles' sentences.
    training = build(name="localise real", seed=12, domain="wiki", documents={"test": ARTICLES})
    real = []
    for document in training.documents:
        real.append(replace(document, split="train", id=f"real/{document.id}"))
    starts = sentence_starts()
    # 2. Every critic on the failures that it should see.
    rows: list[dict[str, Any]] = []
    for panel in (*panels(Options()), *planted_panels(dict(training.truth))):
        for failure in CASES.get(panel.name, ()):
            try:
                shares = located(panel, single_edits(failure, arguments.articles), real, starts)
            except BadInput as error:
                print(f"{panel.name}: left out ({error})", file=sys.stderr)
                break
            rows.append({"critic": panel.name, "failure": failure, **shares})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"command": " ".join(["python", *sys.argv]), "rows": rows}
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def located(
    panel: Panel, edited: list[Document], real: list[Document], starts: dict[str, np.ndarray]
) -> dict[str, float]:
    """Share of single edits that one of a critic's three worst places overlaps.

    Args:
        panel: the critic.
        edited: articles with one edit.
        real: training articles of the critic.
        starts: as :func:`sentence_starts` returns them.

    Returns:
        ``found``, the share, with Wilson's interval ``low`` to ``high``; and ``chance``, the share
        that as many places drawn at random would overlap.
    """
    # 1. The critic is fitted to the real articles.
    damaged: dict[str, Document] = {}
    for document in edited:
        name = f"generated/{document.id}"
        damaged[name] = replace(document, split="generated", id=name)
    texts = []
    for document in (*real, *damaged.values()):
        texts.append(Excerpt(document.id, document.split, document.sections, document.edits))
    units = panel.reader(texts)
    fitted = panel.critic.fit([unit for unit in units if unit.split == "train"])
    # 2. Its worst places of each damaged article, and chance.
    generated = [unit for unit in units if unit.split == "generated"]
    hits = 0
    chance = 0.0
    for unit, parts in zip(generated, fitted.part_values(generated), strict=True):
        document = damaged[unit.unit_id]
        values = by_sentence(parts)
        edit = edited_range(document, starts[unit.unit_id.removeprefix("generated/")])
        spans = panel.spans(document, unit, values)  # type: ignore[misc]
        assert len(spans) == len(values), (
            f"{unit.unit_id}: {len(values)} parts, {len(spans)} places"
        )
        worst = worst_places(fitted.blame * values, spans)
        hits += any(_overlaps(span, edit) for _, span in worst)
        scored = {span for span, value in zip(spans, values, strict=True) if not np.isnan(value)}
        num_outside = sum(not _overlaps(span, edit) for span in scored)
        if worst:  # 1 - P(no place overlaps), of places drawn without replacement
            num_misses = math.comb(num_outside, len(worst))
            chance += 1 - num_misses / math.comb(len(scored), len(worst))
    low, high = wilson(hits, len(damaged))
    return {
        "articles": len(damaged),
        "found": hits / len(damaged),
        "low": round(low, 4),
        "high": round(high, 4),
        "chance": round(chance / len(damaged), 4),
    }


def _overlaps(span: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two half-open ranges share a character."""
    return span[0] < other[1] and other[0] < span[1]


if __name__ == "__main__":
    main()
