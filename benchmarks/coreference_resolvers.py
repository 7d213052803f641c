"""Accuracy of the resolvers without a model on GAP development and on the persons of LitBank.

Run from the repository root:

    python benchmarks/coreference_resolvers.py --gap gap-development.tsv --litbank litbank.tar.gz

LitBank's archive is ``litbank_coref_conll.tar.gz``. Its published chains carry no entity types: a
cluster counts as a person's when the released person test of deng2022 holds for one of its head
words, "they" aside. Mentions match when their spans are equal.
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
# Speakers and hearers: the resolver leaves them out, as the paper's.
_SPEECH = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves thee thou thy"
    " thine"
)
SPEECH = frozenset(_SPEECH.split())
MAX_BYTES = 20_000_000  # of a member of an archive


@dataclass(frozen=True)
class AnnotatedText:
    """A text with gold mentions (start, end, entity): half-open characters, perhaps nested."""

    id: str
    text: str
    mentions: tuple[tuple[int, int, int], ...]


def read_litbank(path: Path) -> list[AnnotatedText]:
    """Documents of LitBank's ``litbank_coref_conll.tar.gz``, which is read in memory.

    Tokens are joined by one space, sentences by one line break.

    Raises:
        BadInput: a mention is closed that was not opened, or the archive has no document.
    """
    documents = []
    with tarfile.open(path, "r:*") as archive:
        for member in sorted(archive, key=lambda member: member.name):
            is_document = member.isfile() and member.name.endswith(".conll")
            if is_document and member.size <= MAX_BYTES:
                content = archive.extractfile(member).read()  # type: ignore[union-attr]
                documents.append(_annotated(member.name, content.decode("utf-8")))
    if not documents:
        raise BadInput(
            f"{path}: no .conll member in the archive; give LitBank's coref/conll folder as a tar"
            " file"
        )
    return documents


def _annotated(name: str, content: str) -> AnnotatedText:
    """The document in a CoNLL file's content; ``name`` is the file's."""
    sentences, brackets = read_brackets(content.split("\n"), name)
    # Characters at which each sentence's words start, and that at which the next sentence starts.
    starts = []
    start = 0
    for words in sentences:
        lengths = [len(word) + 1 for word in words]
        starts.append(list(accumulate(lengths, initial=start)))
        start = starts[-1][-1]
    mentions = []
    for bracket in brackets:
        (first_sentence, first_word), (last_sentence, last_word) = bracket.first, bracket.last
        begin = starts[first_sentence][first_word]
        end = starts[last_sentence][last_word + 1] - 1  # without the space behind the word
        mentions.append((begin, end, int(bracket.chain)))
    text = "\n".join(map(" ".join, sentences))
    return AnnotatedText(name.removesuffix(".conll"), text, tuple(sorted(mentions)))


@dataclass
class PairCounts:
    """Pairs of a pronoun and a name: linked rightly, linked wrongly, not linked."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, linked: bool, label: bool) -> None:
        """Count a pair that the resolver links or not, and that corefers (``label``) or not."""
        self.hits += linked and label
        self.wrong += linked and not label
        self.missed += label and not linked

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.hits / (2 * self.hits + self.wrong + self.missed)


def gap_scores(items: Sequence[GapItem], resolver: CorefResolver) -> dict[str, Any]:
    """Precision, recall and F1 of (pronoun, name) pairs, and F1 by gender (Webster et al. 2018)."""
    texts = [item.text for item in items]
    start = time.process_time()
    resolved = resolver.resolve(texts)
    seconds = time.process_time() - start
    # Two names of each item, by the gender of its pronoun.
    counts, by_gender = PairCounts(), {MALE: PairCounts(), FEMALE: PairCounts()}
    for item, mentions in zip(items, resolved, strict=True):
        pronoun = item.text[slice(*item.pronoun)].lower()
        gender = MALE if pronoun in MALE_PRONOUNS else FEMALE
        entity = entity_at(mentions, item.pronoun)
        for name, label in zip(item.names, item.labels, strict=True):
            linked = is_named(mentions, name, entity)
            counts.add(linked, label)
            by_gender[gender].add(linked, label)
    return {
        "items": len(items),
        "precision": counts.hits / (counts.hits + counts.wrong),
        "recall": counts.hits / (counts.hits + counts.missed),
        "f1": counts.f1,
        "f1_by_gender": {gender: pairs.f1 for gender, pairs in by_gender.items()},
        "bias": by_gender[FEMALE].f1 / by_gender[MALE].f1,
        "characters_per_s": sum(map(len, texts)) / seconds,
    }


def entity_at(mentions: Sequence[Mention], span: tuple[int, int]) -> int | None:
    """The entity of the mention at a span; None where there is none."""
    for mention in mentions:
        if (mention.start, mention.end) == span:
            return mention.entity
    return None


def is_named(mentions: Sequence[Mention], span: tuple[int, int], entity: int | None) -> bool:
    """Whether a mention by name that overlaps a span is one of the entity."""
    start, end = span
    for mention in mentions:
        overlaps = mention.start < end and start < mention.end
        if overlaps and mention.named and mention.entity == entity:
            return True
    return False


def litbank_scores(
    documents: Sequence[AnnotatedText], resolver: CorefResolver, speech: bool
) -> dict[str, Any]:
    """MUC, B-cubed, CEAF-e and their mean on clusters of two or more mentions.

    Args:
        documents: texts with gold mentions.
        resolver: the resolver.
        speech: whether mentions of speakers and hearers stay in gold.
    """
    resolved = resolver.resolve([document.text for document in documents])
    units = []
    gold = {}
    for document, mentions in zip(documents, resolved, strict=True):
        units.append(ReadClusters(document.id, "test", _persons(document.text, mentions)))
        gold[document.id] = _gold(document, speech)
    critic = ChainAgreement(gold)
    statistics = critic.sufficient_statistics(units)
    interval = estimate(critic, statistics, generator("benchmark", "litbank"))
    return {
        "conll": interval.value,
        "low": interval.low,
        "high": interval.high,
        "documents": interval.units,
        **critic.describe(units),
    }


def _gold(document: AnnotatedText, speech: bool) -> tuple[frozenset, ...]:
    """Gold clusters of persons with two or more mentions, each a set of spans."""
    persons = set()
    for start, end, entity in document.mentions:
        is_they = document.text[start:end].lower() in THEY
        if not is_they and is_person(_head(document.text, start, end), False):
            persons.add(entity)
    mentions = []
    for start, end, entity in document.mentions:
        is_speech = document.text[start:end].lower() in SPEECH
        if entity in persons and (speech or not is_speech):
            mentions.append(((start, end), entity))
    return _pairs(mentions)


def _head(text: str, start: int, end: int) -> str:
    """The head word of a mention."""
    if " " not in text[start:end]:
        return text[start:end]
    return text[root_offset(text, start, end) : end].split()[0]


def _persons(text: str, mentions: Sequence[Mention]) -> tuple[frozenset, ...]:
    """A resolver's clusters of persons with two or more mentions, each a set of spans."""
    persons = set()
    for mention in mentions:
        if mention.named or is_person(text[mention.start : mention.end], False):
            persons.add(mention.entity)
    spans = []
    for mention in mentions:
        if mention.entity in persons:
            spans.append(((mention.start, mention.end), mention.entity))
    return _pairs(spans)


def _pairs(mentions: Sequence[tuple[tuple[int, int], int]]) -> tuple[frozenset, ...]:
    """Clusters of two or more of the (span, entity)."""
    return tuple(cluster for cluster in clusters(mentions) if len(cluster) > 1)


def names_of(folder: Path) -> dict[str, str]:
    """First names by gender from ``male.txt`` and ``female.txt``, one a line.

    Names in both are left to our own list.
    """
    male, female = _lines(folder / "male.txt"), _lines(folder / "female.txt")
    genders = dict.fromkeys(male - female, MALE)
    genders |= dict.fromkeys(female - male, FEMALE)
    return genders | dict(FIRST_NAMES)


def _lines(path: Path) -> set[str]:
    """The lines of a file that are not empty, in lower case."""
    names = {line.strip().lower() for line in path.read_text(encoding="latin-1").splitlines()}
    return names - {""}


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gap", type=Path, required=True)
    parser.add_argument("--litbank", type=Path, required=True)
    parser.add_argument("--names", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    # The resolvers.
    resolvers: dict[str, CorefResolver] = {
        "embedded names": RuleResolver(),
        "recency alone": RuleResolver(subject=0.0, parallel=0.0),
        "nearest mention": NearestResolver(),
    }
    if options.names:
        resolvers["longer list of names"] = RuleResolver(first_names=names_of(options.names))
    # Their scores.
    items, documents = read_gap(options.gap), read_litbank(options.litbank)
    scores = {}
    for name, resolver in resolvers.items():
        scores[name] = {
            **resolver.header(),
            "gap": gap_scores(items, resolver),
            "litbank": litbank_scores(documents, resolver, speech=True),
            "litbank_without_speech": litbank_scores(documents, resolver, speech=False),
        }
    text = json.dumps(scores, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
