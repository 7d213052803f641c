"""Coreference resolvers for persons: by rules in passes (after Raghunathan et al. 2010), by the nearest mention, and F-coref's.

Weights of the rules are ours, by hand from the literature's preferences (recency, subject before object; Lappin and Leass 1994); they
were revised while looking at errors on GAP development and synthetic text, so scores on those two are development scores.
"""

import importlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput, Document, Readout
from longform.critics.coreference.chains import Mention, read_with
from longform.critics.coreference.person_mentions import (
    FIRST_NAMES,
    GROUP,
    LIKELY,
    NAME,
    NOUN,
    PLURAL,
    PRONOUN,
    REFLEXIVES,
    STRONG,
    Candidate,
    candidates,
    is_object,
)


@dataclass
class _Entity:
    """An entity while it is being built."""

    number: int
    mentions: list[Candidate] = field(default_factory=list)
    names: set[tuple[str, ...]] = field(default_factory=set)
    gender: str | None = None
    sure: int = 0

    def add(self, mention: Candidate) -> None:
        self.mentions.append(mention)
        if mention.kind == NAME:
            self.names.add(mention.words)
        self.gender = self.gender or mention.gender
        self.sure = STRONG if mention.kind in {PRONOUN, NOUN} else max(self.sure, mention.sure)

    def allows(self, gender: str | None) -> bool:
        return gender is None or self.gender == gender or (self.gender is None and gender != PLURAL)


@dataclass(frozen=True)
class RuleResolver:
    """Multi-pass resolver for persons.

    Attributes:
        first_names: lower-case first name to MALE or FEMALE; decides gender, and that a person is named.
        sentences_back: how many sentences back a pronoun or a noun looks.
        distance: cost of each sentence back.
        subject: gain of an antecedent that is the subject of its clause; 0 leaves recency alone.
        parallel: gain where pronoun and antecedent are both subjects.
        known: gain of an antecedent whose gender is known to agree.
        order: cost of each person mentioned more recently.
    """

    first_names: Mapping[str, str] = field(default_factory=lambda: FIRST_NAMES, repr=False)
    sentences_back: int = 3
    distance: float = 1.0
    subject: float = 0.6
    parallel: float = 0.3
    known: float = 1.0
    order: float = 0.25

    def header(self) -> Mapping[str, str]:
        names = "sentences_back distance subject parallel known order"
        settings = ",".join(f"{name}={getattr(self, name)}" for name in names.split())
        return {"resolver": f"RuleResolver({settings})", "first_names": str(len(self.first_names))}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        return [self._resolve(text) for text in texts]

    def _resolve(self, text: str) -> list[Mention]:
        entities: list[_Entity] = []
        for mention in candidates(text, self.first_names):
            entity = self._antecedent(text, mention, entities)
            if entity is None:
                entity = _Entity(len(entities))
                entities.append(entity)
            entity.add(mention)
        _resolve_forwards(entities)
        return _as_mentions(entities)

    def _antecedent(self, text: str, mention: Candidate, entities: Sequence[_Entity]) -> _Entity | None:
        if mention.kind == NAME:
            return _same_name(mention, entities)
        if mention.kind == GROUP:
            return next((e for e in reversed(entities) if any(m.words == mention.words for m in e.mentions)), None)
        if mention.kind == NOUN:
            return self._same_noun(mention, entities)
        return self._pronoun(text, mention, entities)

    def _same_noun(self, mention: Candidate, entities: Sequence[_Entity]) -> _Entity | None:
        if mention.words[0] == "a":
            return None
        back = mention.sentence - self.sentences_back
        for entity in reversed(entities):
            nouns = [m for m in entity.mentions if m.kind == NOUN and m.sentence >= back]
            if any(m.words[1] == mention.words[1] and m.words[0] in {"a", mention.words[0]} for m in nouns):
                return entity
        return None

    def _pronoun(self, text: str, mention: Candidate, entities: Sequence[_Entity]) -> _Entity | None:
        reach = 0 if mention.words[0] in REFLEXIVES else self.sentences_back
        near = [e for e in entities if e.mentions[-1].sentence >= mention.sentence - reach and e.allows(mention.gender)]
        near = [e for e in near if not _excluded(text, mention, e)]
        ranked = sorted(near, key=lambda e: e.mentions[-1].start, reverse=True)
        scored = [(self._preference(mention, e, rank), -rank, e) for rank, e in enumerate(ranked)]
        return max(scored, key=lambda item: item[:2])[2] if scored else None

    def _preference(self, mention: Candidate, entity: _Entity, rank: int) -> float:
        last = entity.mentions[-1].sentence
        subject = any(m.subject for m in entity.mentions if m.sentence == last)
        return (
            -self.distance * (mention.sentence - last)
            - self.order * rank
            + self.subject * subject
            + self.parallel * (subject and mention.subject)
            + self.known * (entity.gender == mention.gender)
            - (STRONG - entity.sure) * 0.5
        )


def _excluded(text: str, mention: Candidate, entity: _Entity) -> bool:
    last = entity.mentions[-1]
    same_clause = last.sentence == mention.sentence and last.clause == mention.clause
    reflexive = mention.words[0] in REFLEXIVES
    contained = last.start <= mention.start < last.end
    return contained or (same_clause and last.subject and not reflexive and is_object(text, mention))


def _same_name(mention: Candidate, entities: Sequence[_Entity]) -> _Entity | None:
    for entity in reversed(entities):
        if mention.words in entity.names and (entity.allows(mention.gender) or mention.gender == entity.gender):
            return entity
    latest = sorted(entities, key=lambda e: e.mentions[-1].start, reverse=True)
    for entity in latest:
        if entity.allows(mention.gender) and any(_alias(mention.words, name) for name in entity.names):
            return entity
    return None


def _alias(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) == 1:
        return len(long) > 1 and short[0] in {long[0], long[-1]} and len(short[0]) > 1
    return (
        short[-1] == long[-1]
        and short[0][0] == long[0][0]
        and (len(short[0]) == 1 or len(long[0]) == 1 or short[0] == long[0])
    )


def _resolve_forwards(entities: list[_Entity]) -> None:
    for entity in entities:
        first = entity.mentions[0]
        if first.kind != PRONOUN:
            continue
        later = [
            (m.start, e)
            for e in entities
            for m in e.mentions
            if m.kind == NAME and m.sentence == first.sentence and m.start > first.start and e.allows(first.gender)
        ]
        if later and _is_newer(entity, min(later, key=lambda item: item[0])[1]):
            target = min(later, key=lambda item: item[0])[1]
            target.mentions.extend(entity.mentions)
            target.gender, target.sure = target.gender or entity.gender, STRONG
            entity.mentions = []


def _is_newer(pronouns: _Entity, target: _Entity) -> bool:
    return target is not pronouns and min(m.start for m in target.mentions) > pronouns.mentions[0].start


def _as_mentions(entities: Sequence[_Entity]) -> list[Mention]:
    found = [
        Mention(m.start, m.end, entity.number, m.kind in {NAME, GROUP} and entity.sure >= LIKELY, m.root, entity.gender)
        for entity in entities
        for m in entity.mentions
        if m.kind != GROUP or len(entity.mentions) > 1
    ]
    return sorted(found, key=lambda m: (m.start, m.end))


def read(
    *,
    documents: Sequence[Document],
    splits: Sequence[str],
    singletons: bool = False,
    film_filter: str | None = None,
    subject: float = 0.6,
    keep_text: bool = False,
) -> Readout:
    """Chains of persons by rules; ``subject`` 0 leaves recency alone, as the synthetic world's pronouns have it."""
    chosen = [document for document in documents if document.split in splits]
    resolver = RuleResolver(subject=subject, parallel=min(subject, RuleResolver.parallel))
    return read_with(resolver, chosen, singletons, film_filter, keep_text)


@dataclass(frozen=True)
class NearestResolver:
    """Names are one entity where one contains the other's words; a pronoun is the latest entity, whatever its gender.

    A plural pronoun starts an entity of its own, kept for later plural pronouns; nouns are left out.

    Attributes:
        first_names: lower-case first name to MALE or FEMALE; finds names, and decides no pronoun.
    """

    first_names: Mapping[str, str] = field(default_factory=lambda: FIRST_NAMES, repr=False)

    def header(self) -> Mapping[str, str]:
        return {"resolver": "NearestResolver()", "first_names": str(len(self.first_names))}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        return [self._resolve(text) for text in texts]

    def _resolve(self, text: str) -> list[Mention]:
        names: list[set[str]] = []
        found: list[Mention] = []
        latest = plural = -1
        for candidate in candidates(text, self.first_names):
            if candidate.kind == NAME:
                latest = entity = _entity_of(candidate, names)
            elif candidate.kind != PRONOUN:
                continue
            elif candidate.gender == PLURAL:
                plural = entity = plural if plural >= 0 else _new(names)
            else:
                latest = entity = latest if latest >= 0 else _new(names)
            named = candidate.kind == NAME and candidate.sure >= LIKELY
            gender = candidate.gender if candidate.kind == NAME else None
            found.append(Mention(candidate.start, candidate.end, entity, named, candidate.root, gender))
        return sorted(found, key=lambda m: (m.start, m.end))


def _entity_of(candidate: Candidate, names: list[set[str]]) -> int:
    words = set(candidate.words)
    for entity in range(len(names) - 1, -1, -1):
        if names[entity] and (words <= names[entity] or names[entity] <= words):
            names[entity] |= words
            return entity
    names.append(words)
    return len(names) - 1


def _new(names: list[set[str]]) -> int:
    names.append(set())
    return len(names) - 1


def read_nearest(
    *, documents: Sequence[Document], splits: Sequence[str], singletons: bool = False, film_filter: str | None = None
) -> Readout:
    """Chains of persons by the nearest mention."""
    chosen = [document for document in documents if document.split in splits]
    return read_with(NearestResolver(), chosen, singletons, film_filter)


@dataclass(frozen=True)
class FcorefResolver:
    """Clusters of a fastcoref model; which of them are names of persons is decided by our rules.

    Attributes:
        model: has ``predict(texts=[...], max_tokens_in_batch=...)``, whose items have ``get_clusters(as_strings=False)``.
        checkpoint: name of the checkpoint, for the header.
        tokens_in_batch: model tokens per batch.
    """

    model: Any = field(repr=False)
    checkpoint: str = ""
    tokens_in_batch: int = 10000
    first_names: Mapping[str, str] = field(default_factory=lambda: FIRST_NAMES, repr=False)

    def header(self) -> Mapping[str, str]:
        versions = {name: _version(name) for name in ("fastcoref", "transformers", "torch", "spacy")}
        return {"resolver": f"FcorefResolver({self.checkpoint})", **versions}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        read = [text for text in texts if text.strip()]
        found = iter(self.model.predict(texts=read, max_tokens_in_batch=self.tokens_in_batch) if read else [])
        return [self._mentions(text, next(found)) if text.strip() else [] for text in texts]

    def _mentions(self, text: str, prediction: Any) -> list[Mention]:
        names = person_name_spans(text, self.first_names)
        clusters = prediction.get_clusters(as_strings=False)
        spans = [(start, end, i) for i, cluster in enumerate(clusters) for start, end in cluster]
        return [Mention(a, b, i, any(a <= x < b for x, _ in names)) for a, b, i in sorted(spans)]


def person_name_spans(text: str, first_names: Mapping[str, str]) -> list[tuple[int, int]]:
    """Spans that our rules take for names of persons, in order: a stand-in for named-entity recognition."""
    return [(c.root, c.end) for c in candidates(text, first_names) if c.kind == NAME and c.sure >= LIKELY]


def read_fcoref(
    *,
    documents: Sequence[Document],
    reader: Path,
    splits: Sequence[str],
    film_filter: str | None = None,
    device: str = "cpu",
) -> Readout:
    """Chains of persons by the F-coref checkpoint in ``reader``, which knows no person mentioned once."""
    chosen = [document for document in documents if document.split in splits]
    return read_with(load_fcoref(reader, device), chosen, False, film_filter)


def load_fcoref(folder: Path, device: str = "cpu") -> FcorefResolver:
    """F-coref from a checkpoint folder on disk."""
    for name in ("config.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise BadInput(f"{folder}: no {name}; give a folder with an F-coref checkpoint saved by save_pretrained")
    try:
        package = importlib.import_module("fastcoref")
        spacy = importlib.import_module("spacy")
        modeling = importlib.import_module("fastcoref.coref_models.modeling_fcoref")
    except ImportError as error:
        raise BadInput(
            f"F-coref needs {error.name}; install fastcoref, or use RuleResolver, which needs nothing"
        ) from error
    patch_tied_weights(modeling.FCorefModel)
    model = package.FCoref(str(folder), device=device, nlp=spacy.blank("en"), enable_progress_bar=False)
    return FcorefResolver(model, folder.name)


def patch_tied_weights(model_class: type) -> None:
    """Give a model class of transformers 4 the attribute that transformers 5 reads while loading."""
    if not hasattr(model_class, "all_tied_weights_keys"):
        model_class.all_tied_weights_keys = {}  # type: ignore[attr-defined]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
