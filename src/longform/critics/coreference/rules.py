"""Coreference resolvers for persons: by rules in passes (after Raghunathan et al. 2010), by the
nearest mention, and F-coref's.

Weights of the rules are ours, by hand from the literature's preferences (recency, subject before
object; Lappin and Leass 1994); they
were revised while looking at errors on GAP development and synthetic text, so scores on those two
are development scores.
"""

import importlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longform.critics.coreference import person_mentions as persons
from longform.critics.coreference.chains import Mention, read_with
from longform.critics.coreference.person_mentions import (
    GROUP,
    NAME,
    NOUN,
    PLURAL,
    PRONOUN,
    Candidate,
    candidates,
)
from longform.documents import Document, Predictions
from longform.errors import BadInput
from longform.statistics.signatures import FITTED, signature


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
        self.sure = (
            persons.STRONG if mention.kind in {PRONOUN, NOUN} else max(self.sure, mention.sure)
        )

    def allows(self, gender: str | None) -> bool:
        return gender is None or self.gender == gender or (self.gender is None and gender != PLURAL)


@dataclass(frozen=True)
class _NameResolver:
    """What resolvers without a model share."""

    # lower-case first name to MALE or FEMALE: finds names of persons, and may decide gender
    first_names: Mapping[str, str] = field(
        default_factory=lambda: persons.FIRST_NAMES, repr=False, metadata=FITTED
    )

    def header(self) -> Mapping[str, str]:
        return {"resolver": signature(self), "first_names": str(len(self.first_names))}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        return [sorted(self._resolve(text), key=lambda m: (m.start, m.end)) for text in texts]

    def _resolve(self, text: str) -> list[Mention]:
        raise NotImplementedError


@dataclass(frozen=True)
class RuleResolver(_NameResolver):
    """Multi-pass resolver for persons."""

    sentences_back: int = 3  # how many a pronoun or a noun looks back
    distance: float = 1.0  # cost of each sentence back
    subject: float = (
        0.6  # gain of an antecedent that is the subject of its clause; 0 leaves recency alone
    )
    parallel: float = 0.3  # gain where pronoun and antecedent are both subjects
    known: float = 1.0  # gain of an antecedent whose gender is known to agree
    order: float = 0.25  # cost of each person mentioned more recently

    def _resolve(self, text: str) -> list[Mention]:
        entities: list[_Entity] = []
        for mention in candidates(text, self.first_names):
            entity = self._antecedent(text, mention, entities)
            if entity is None:
                entity = _Entity(len(entities))
                entities.append(entity)
            entity.add(mention)
        _resolve_forwards(entities)
        return [
            Mention(
                m.start, m.end, entity.number, m.kind in {NAME, GROUP} and entity.sure >= persons.LIKELY, m.root,
                entity.gender,
            )
            for entity in entities
            for m in entity.mentions
            if m.kind != GROUP or len(entity.mentions) > 1
        ]  # fmt: skip

    def _antecedent(
        self, text: str, mention: Candidate, entities: Sequence[_Entity]
    ) -> _Entity | None:
        if mention.kind == NAME:
            fitting = [e for e in entities if e.allows(mention.gender)]
            same = next((e for e in reversed(fitting) if mention.words in e.names), None)
            alike = (e for e in fitting if any(_alias(mention.words, name) for name in e.names))
            return same or max(alike, key=lambda e: e.mentions[-1].start, default=None)
        if mention.kind == GROUP:
            return next(
                (
                    e
                    for e in reversed(entities)
                    if any(m.words == mention.words for m in e.mentions)
                ),
                None,
            )
        if mention.kind == PRONOUN:
            return self._of_pronoun(text, mention, entities)
        back = mention.sentence - self.sentences_back
        for entity in reversed(entities) if mention.words[0] != "a" else ():
            nouns = [m for m in entity.mentions if m.kind == NOUN and m.sentence >= back]
            if any(
                m.words[1] == mention.words[1] and m.words[0] in {"a", mention.words[0]}
                for m in nouns
            ):
                return entity
        return None

    def _of_pronoun(
        self, text: str, mention: Candidate, entities: Sequence[_Entity]
    ) -> _Entity | None:
        reflexive = mention.words[0] in persons.REFLEXIVES
        object_of_clause = not reflexive and persons.is_object(text, mention)

        def possible(entity: _Entity) -> bool:
            last = entity.mentions[-1]
            near = last.sentence >= mention.sentence - (0 if reflexive else self.sentences_back)
            contained = last.start <= mention.start < last.end
            own_subject = last.subject and (last.sentence, last.clause) == (
                mention.sentence,
                mention.clause,
            )
            return (
                near
                and entity.allows(mention.gender)
                and not contained
                and not (own_subject and object_of_clause)
            )

        def preference(rank: int, entity: _Entity) -> float:
            last = entity.mentions[-1].sentence
            subject = any(m.subject for m in entity.mentions if m.sentence == last)
            return (
                -self.distance * (mention.sentence - last)
                - self.order * rank
                + self.subject * subject
                + self.parallel * (subject and mention.subject)
                + self.known * (entity.gender == mention.gender)
                - (persons.STRONG - entity.sure) * 0.5
            )

        ranked = sorted(
            filter(possible, entities), key=lambda e: e.mentions[-1].start, reverse=True
        )
        scored = [(preference(rank, entity), -rank, entity) for rank, entity in enumerate(ranked)]
        return max(scored, key=lambda item: item[:2])[2] if scored else None


def _alias(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) == 1:
        return len(long) > 1 and short[0] in {long[0], long[-1]} and len(short[0]) > 1
    initials = len(short[0]) == 1 or len(long[0]) == 1
    return short[-1] == long[-1] and short[0][0] == long[0][0] and (initials or short[0] == long[0])


def _resolve_forwards(entities: list[_Entity]) -> None:
    """A pronoun that starts an entity is of the first name after it in its sentence, where that
    name is new.
    """
    for entity in entities:
        first = entity.mentions[0]
        if first.kind != PRONOUN:
            continue
        later = [
            (m.start, e)
            for e in entities
            for m in e.mentions
            if m.kind == NAME
            and m.sentence == first.sentence
            and m.start > first.start
            and e.allows(first.gender)
        ]
        _, target = min(later, key=lambda item: item[0], default=(0, entity))
        if target is not entity and min(m.start for m in target.mentions) > first.start:
            target.mentions.extend(entity.mentions)
            target.gender, target.sure = target.gender or entity.gender, persons.STRONG
            entity.mentions = []


def read(
    *,
    documents: Sequence[Document],
    splits: Sequence[str],
    singletons: bool = False,
    film_filter: str | None = None,
    subject: float = 0.6,
    keep_text: bool = False,
) -> Predictions:
    """Chains of persons by rules; ``subject`` 0 leaves recency alone, as the synthetic world's
    pronouns have it.
    """
    resolver = RuleResolver(subject=subject, parallel=min(subject, RuleResolver.parallel))
    return read_with(resolver, documents, splits, singletons, film_filter, keep_text)


@dataclass(frozen=True)
class NearestResolver(_NameResolver):
    """Names are one entity where one contains the other's words; a pronoun is the latest entity,
    whatever its gender.

    A plural pronoun starts an entity of its own, kept for later plural pronouns; nouns are left
    out.
    """

    def _resolve(self, text: str) -> list[Mention]:
        names: list[set[str]] = []  # words of each entity's names
        found: list[Mention] = []
        latest: dict[bool, int] = {}  # the entity of a pronoun, plural or not
        for c in candidates(text, self.first_names):
            if c.kind not in {NAME, PRONOUN}:
                continue
            named, words = c.kind == NAME, set(c.words if c.kind == NAME else ())
            plural = not named and c.gender == PLURAL
            alike = (
                i
                for i in reversed(range(len(names)))
                if names[i] and (words <= names[i] or names[i] <= words)
            )
            entity = next(alike, None) if named else latest.get(plural)
            if entity is None:
                entity = len(names)
                names.append(set())
            names[entity] |= words
            latest[plural] = entity
            sure = named and c.sure >= persons.LIKELY
            found.append(Mention(c.start, c.end, entity, sure, c.root, c.gender if named else None))
        return found


def read_nearest(
    *,
    documents: Sequence[Document],
    splits: Sequence[str],
    singletons: bool = False,
    film_filter: str | None = None,
) -> Predictions:
    """Chains of persons by the nearest mention."""
    return read_with(NearestResolver(), documents, splits, singletons, film_filter)


@dataclass(frozen=True)
class FcorefResolver:
    """Clusters of a fastcoref model; which of them are names of persons is decided by our rules."""

    model: Any  # has ``predict(texts=[...], max_tokens_in_batch=...)``, whose items have ``get_clusters(as_strings=False)``
    checkpoint: str  # its name, for the header

    def header(self) -> Mapping[str, str]:
        versions = {}
        for name in ("fastcoref", "transformers", "torch", "spacy"):
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                versions[name] = "not installed"
        return {"resolver": f"FcorefResolver({self.checkpoint})", **versions}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        read = [text for text in texts if text.strip()]
        predictions = iter(
            self.model.predict(texts=read, max_tokens_in_batch=10000) if read else []
        )
        found = []
        for text in texts:
            clusters = next(predictions).get_clusters(as_strings=False) if text.strip() else []
            known = candidates(text, persons.FIRST_NAMES)
            heads = [c.root for c in known if c.kind == NAME and c.sure >= persons.LIKELY]
            spans = sorted(
                (start, end, i) for i, cluster in enumerate(clusters) for start, end in cluster
            )
            found.append(
                [Mention(a, b, i, any(a <= head < b for head in heads)) for a, b, i in spans]
            )
        return found


def read_fcoref(
    *,
    documents: Sequence[Document],
    reader: Path,
    splits: Sequence[str],
    film_filter: str | None = None,
) -> Predictions:
    """Chains of persons by the F-coref checkpoint in the folder ``reader``, which knows no person
    mentioned once.
    """
    from longform.language_models.device import chosen_device  # here alone: rules need no torch

    for name in ("config.json", "model.safetensors"):
        if not (reader / name).is_file():
            raise BadInput(
                f"{reader}: no {name}; give a folder with an F-coref checkpoint saved by save_pretrained"
            )
    try:
        package = importlib.import_module("fastcoref")
        spacy = importlib.import_module("spacy")
        modeling = importlib.import_module("fastcoref.coref_models.modeling_fcoref")
    except ImportError as error:
        raise BadInput(
            f"F-coref needs {error.name}; install fastcoref, or use rules, which need nothing"
        ) from error
    patch_tied_weights(modeling.FCorefModel)
    model = package.FCoref(
        str(reader), device=str(chosen_device()), nlp=spacy.blank("en"), enable_progress_bar=False
    )
    return read_with(FcorefResolver(model, reader.name), documents, splits, False, film_filter)


def patch_tied_weights(model_class: type) -> None:
    """Give a model class of transformers 4 the attribute that transformers 5 reads while loading."""
    if not hasattr(model_class, "all_tied_weights_keys"):
        model_class.all_tied_weights_keys = {}  # type: ignore[attr-defined]
