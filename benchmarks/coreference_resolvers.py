"""Accuracy of the resolvers without a model on GAP development and on the persons of LitBank, reported as it is.

Run from the repository root:
    python benchmarks/coreference_resolvers.py --gap gap-development.tsv --litbank litbank_coref_conll.tar.gz
LitBank's published chains carry no entity types: a cluster counts as a person's when the released person test of
deng2022 holds for one of its head words, "they" aside. Mentions match when their spans are equal.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from longform.critics.coreference.agreement import ChainAgreement, ReadClusters, clusters
from longform.critics.coreference.chains import CorefResolver, Mention, is_person, root_offset
from longform.critics.coreference.person_mentions import FEMALE, FIRST_NAMES, MALE, MALE_PRONOUNS
from longform.critics.coreference.rules import NearestResolver, RuleResolver
from longform.datasets.coreference import GapItem, read_brackets, read_gap
from longform.errors import BadInput
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator

THEY = {"they", "them", "their", "theirs", "themselves"}
SPEECH = {
    "i",
    "me",
    "my",
    "mine",
    "myself",
    "we",
    "us",
    "our",
    "ours",
    "ourselves",
    "you",
    "your",
    "yours",
    "yourself",
}
SPEECH |= {
    "yourselves",
    "thee",
    "thou",
    "thy",
    "thine",
}  # speakers and hearers: the resolver leaves them out, as the paper's


@dataclass(frozen=True)
class AnnotatedText:
    """A text with gold mentions: (start, end, entity), half-open character offsets, nested mentions allowed."""

    id: str
    text: str
    mentions: tuple[tuple[int, int, int], ...]


def read_litbank(path: Path) -> list[AnnotatedText]:
    """Documents of LitBank's ``litbank_coref_conll.tar.gz``; members are read in memory, none is unpacked.

    Tokens are joined by one space, sentences by one line break.

    Raises BadInput: a mention is closed that was not opened, or the archive holds no document.
    """
    with tarfile.open(path, "r:*") as archive:
        members = sorted(
            (m for m in archive if m.isfile() and m.name.endswith(".conll")), key=lambda m: m.name
        )
        texts = [(m.name, archive.extractfile(m)) for m in members if m.size <= 20_000_000]
        documents = [
            _annotated(name, stream.read().decode("utf-8")) for name, stream in texts if stream
        ]
    if not documents:
        raise BadInput(
            f"{path}: no .conll member in the archive; give LitBank's coref/conll folder as a tar file"
        )
    return documents


def _annotated(name: str, content: str) -> AnnotatedText:
    texts, found = read_brackets(content.split("\n"), name)
    starts, at = [], 0
    for words in texts:
        starts.append(list(accumulate((len(word) + 1 for word in words), initial=at)))
        at = starts[-1][-1]
    mentions = [
        (starts[m.first[0]][m.first[1]], starts[m.last[0]][m.last[1] + 1] - 1, int(m.chain))
        for m in found
    ]
    return AnnotatedText(
        name.removesuffix(".conll"), "\n".join(map(" ".join, texts)), tuple(sorted(mentions))
    )


def gap_scores(items: Sequence[GapItem], resolver: CorefResolver) -> dict[str, Any]:
    """Precision, recall and F1 of (pronoun, name) pairs, and F1 by the pronoun's gender (Webster et al. 2018)."""
    start = time.process_time()
    found = resolver.resolve([item.text for item in items])
    seconds = time.process_time() - start
    counts = {MALE: [0, 0, 0], FEMALE: [0, 0, 0]}
    for item, mentions in zip(items, found, strict=True):
        gender = MALE if item.text[slice(*item.pronoun)].lower() in MALE_PRONOUNS else FEMALE
        entity = next((m.entity for m in mentions if (m.start, m.end) == item.pronoun), None)
        for (low, high), label in zip(item.names, item.labels, strict=True):
            linked = any(
                m.entity == entity and m.named and m.start < high and low < m.end for m in mentions
            )
            counts[gender][0] += linked and label
            counts[gender][1] += linked and not label
            counts[gender][2] += label and not linked
    hits, wrong, missed = (sum(column) for column in zip(*counts.values(), strict=True))
    by_gender = {gender: 2 * h / (2 * h + w + m) for gender, (h, w, m) in counts.items()}
    characters = sum(len(item.text) for item in items)
    return {
        "items": len(items),
        "precision": hits / (hits + wrong),
        "recall": hits / (hits + missed),
        "f1": 2 * hits / (2 * hits + wrong + missed),
        "f1_by_gender": by_gender,
        "bias": by_gender[FEMALE] / by_gender[MALE],
        "characters_per_s": characters / seconds,
    }


def litbank_scores(
    documents: Sequence[AnnotatedText], resolver: CorefResolver, speech: bool
) -> dict[str, Any]:
    """MUC, B-cubed, CEAF-e and their mean on clusters of two or more mentions; ``speech`` keeps "I" and "you" in gold."""
    found = resolver.resolve([document.text for document in documents])
    units = [
        ReadClusters(d.id, "test", _persons(d.text, m))
        for d, m in zip(documents, found, strict=True)
    ]
    critic = ChainAgreement({d.id: _gold(d, speech) for d in documents})
    statistics = critic.sufficient_statistics(units)
    interval = estimate(critic, statistics, generator("benchmark", "litbank"))
    conll = {
        "conll": interval.value,
        "low": interval.low,
        "high": interval.high,
        "documents": interval.units,
    }
    return {**conll, **critic.describe(units)}


def _gold(document: AnnotatedText, speech: bool) -> tuple[frozenset, ...]:
    text = document.text
    words = {(a, b): text[a:b] for a, b, _ in document.mentions}
    heads = {
        span: word if " " not in word else text[root_offset(text, *span) : span[1]].split()[0]
        for span, word in words.items()
    }
    persons = {
        e
        for a, b, e in document.mentions
        if is_person(heads[a, b], False) and words[a, b].lower() not in THEY
    }
    kept = [
        ((a, b), e)
        for a, b, e in document.mentions
        if e in persons and (speech or words[a, b].lower() not in SPEECH)
    ]
    return _pairs(kept)


def _persons(text: str, mentions: Sequence[Mention]) -> tuple[frozenset, ...]:
    persons = {m.entity for m in mentions if m.named or is_person(text[m.start : m.end], False)}
    return _pairs([((m.start, m.end), m.entity) for m in mentions if m.entity in persons])


def _pairs(mentions: Sequence[tuple[tuple[int, int], int]]) -> tuple[frozenset, ...]:
    return tuple(cluster for cluster in clusters(mentions) if len(cluster) > 1)


def names_of(folder: Path) -> dict[str, str]:
    """First names by gender from ``male.txt`` and ``female.txt``, one a line; names in both are left to our own list."""
    lists = [
        {
            line.strip().lower()
            for line in (folder / name).read_text(encoding="latin-1").splitlines()
            if line.strip()
        }
        for name in ("male.txt", "female.txt")
    ]
    male, female = lists
    return (
        dict.fromkeys(male - female, MALE)
        | dict.fromkeys(female - male, FEMALE)
        | dict(FIRST_NAMES)
    )


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gap", type=Path, required=True)
    parser.add_argument("--litbank", type=Path, required=True)
    parser.add_argument("--names", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    resolvers: dict[str, CorefResolver] = {
        "embedded names": RuleResolver(),
        "recency alone": RuleResolver(subject=0.0, parallel=0.0),
        "nearest mention": NearestResolver(),
    }
    if options.names:
        resolvers["longer list of names"] = RuleResolver(first_names=names_of(options.names))
    items, documents = read_gap(options.gap), read_litbank(options.litbank)
    found = {
        name: {
            **resolver.header(),
            "gap": gap_scores(items, resolver),
            "litbank": litbank_scores(documents, resolver, speech=True),
            "litbank_without_speech": litbank_scores(documents, resolver, speech=False),
        }
        for name, resolver in resolvers.items()
    }
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
