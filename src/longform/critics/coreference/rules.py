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
from longform.errors import ConfigError
from longform.statistics.signatures import FITTED, signature

DOUBT = 0.5  # cost of each step by which a name is less surely a person's


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
    """Multi-pass resolver for persons.

    Attributes:
        sentences_back: how many a pronoun or a noun looks back.
        distance: cost of each sentence back.
        subject: gain of an antecedent that is the subject of its clause; 0 leaves recency alone.
        parallel: gain where pronoun and antecedent are both subjects.
        known: gain of an antecedent whose gender is known to agree.
        order: cost of each person mentioned more recently.
    """

    sentences_back: int = 3
    distance: float = 1.0
    subject: float = 0.6
    parallel: float = 0.3
    known: float = 1.0
    order: float = 0.25

    def _resolve(self, text: str) -> list[Mention]:
        # 1. Each candidate joins an earlier entity or begins one.
        entities: list[_Entity] = []
        for candidate in candidates(text, self.first_names):
            entity = self._antecedent(text, candidate, entities)
            if entity is None:
                entity = _Entity(len(entities))
                entities.append(entity)
            entity.add(candidate)
        # 2. Pronouns that come before their name.
        _resolve_forwards(entities)
        # 3. A group counts where it is mentioned again.
        mentions = []
        for entity in entities:
            for candidate in entity.mentions:
                if candidate.kind != GROUP or len(entity.mentions) > 1:
                    mentions.append(_as_mention(candidate, entity))
        return mentions

    def _antecedent(
        self, text: str, candidate: Candidate, entities: Sequence[_Entity]
    ) -> _Entity | None:
        if candidate.kind == NAME:
            return _of_name(candidate, entities)
        if candidate.kind == PRONOUN:
            return self._of_pronoun(text, candidate, entities)
        for entity in reversed(entities):
            if candidate.kind == GROUP:
                if any(earlier.words == candidate.words for earlier in entity.mentions):
                    return entity
            elif self._is_noun_again(candidate, entity):
                return entity
        return None

    def _is_noun_again(self, candidate: Candidate, entity: _Entity) -> bool:
        """Whether a noun with a definite determiner was mentioned a few sentences back."""
        determiner, noun = candidate.words
        if determiner == "a":
            return False
        first_sentence = candidate.sentence - self.sentences_back
        for earlier in entity.mentions:
            if earlier.kind != NOUN or earlier.sentence < first_sentence:
                continue
            if earlier.words[1] == noun and earlier.words[0] in {"a", determiner}:
                return True
        return False

    def _of_pronoun(
        self, text: str, pronoun: Candidate, entities: Sequence[_Entity]
    ) -> _Entity | None:
        """The preferred entity of those that a pronoun may mean; the more recent one on a tie."""
        possible = [entity for entity in entities if self._may_mean(text, pronoun, entity)]
        possible.sort(key=lambda entity: entity.mentions[-1].start, reverse=True)
        best: _Entity | None = None
        best_preference = 0.0
        for rank, entity in enumerate(possible):
            preference = self._preference(pronoun, rank, entity)
            if best is None or preference > best_preference:
                best = entity
                best_preference = preference
        return best

    def _may_mean(self, text: str, pronoun: Candidate, entity: _Entity) -> bool:
        """Whether a pronoun may mean an entity: near, of its gender, and not what grammar forbids."""
        last = entity.mentions[-1]
        reflexive = pronoun.words[0] in persons.REFLEXIVES
        sentences_back = 0 if reflexive else self.sentences_back
        if last.sentence < pronoun.sentence - sentences_back or not entity.allows(pronoun.gender):
            return False
        if last.start <= pronoun.start < last.end:
            return False
        # "Ann saw her": an object is not the subject of its own clause, unless it is reflexive
        same_clause = (last.sentence, last.clause) == (pronoun.sentence, pronoun.clause)
        if not last.subject or not same_clause or reflexive:
            return True
        return not persons.is_object(text, pronoun)

    def _preference(self, pronoun: Candidate, rank: int, entity: _Entity) -> float:
        """How likely a pronoun means an entity that ``rank`` others were mentioned after."""
        last_sentence = entity.mentions[-1].sentence
        subject = any(m.subject for m in entity.mentions if m.sentence == last_sentence)
        return (
            -self.distance * (pronoun.sentence - last_sentence)
            - self.order * rank
            + self.subject * subject
            + self.parallel * (subject and pronoun.subject)
            + self.known * (entity.gender == pronoun.gender)
            - (persons.STRONG - entity.sure) * DOUBT
        )


def _as_mention(candidate: Candidate, entity: _Entity) -> Mention:
    named = candidate.kind in {NAME, GROUP} and entity.sure >= persons.LIKELY
    return Mention(
        candidate.start, candidate.end, entity.number, named, candidate.root, entity.gender
    )


def _of_name(name: Candidate, entities: Sequence[_Entity]) -> _Entity | None:
    """The last entity of the same name, else the one that was last mentioned of those of a like
    name.
    """
    fitting = [entity for entity in entities if entity.allows(name.gender)]
    for entity in reversed(fitting):
        if name.words in entity.names:
            return entity
    alike = []
    for entity in fitting:
        if any(_alias(name.words, other) for other in entity.names):
            alike.append(entity)
    return max(alike, key=lambda entity: entity.mentions[-1].start, default=None)


def _alias(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two names may be of one person: a part of the other, or its initials."""
    short, long = sorted((one, other), key=len)
    if len(short) == 1:
        (word,) = short
        return len(long) > 1 and len(word) > 1 and word in {long[0], long[-1]}
    has_initials = len(short[0]) == 1 or len(long[0]) == 1
    same_first_name = has_initials or short[0] == long[0]
    return short[-1] == long[-1] and short[0][0] == long[0][0] and same_first_name


def _resolve_forwards(entities: list[_Entity]) -> None:
    """A pronoun that starts an entity is of the first new name after it in its sentence."""
    for entity in entities:
        first = entity.mentions[0]
        if first.kind != PRONOUN:
            continue
        target = _next_named(first, entities)
        if target is None or target is entity:
            continue
        if min(mention.start for mention in target.mentions) > first.start:
            target.mentions.extend(entity.mentions)
            target.gender = target.gender or entity.gender
            target.sure = persons.STRONG
            entity.mentions = []


def _next_named(pronoun: Candidate, entities: Sequence[_Entity]) -> _Entity | None:
    """The entity of the first name after a pronoun in its sentence that may be its own."""
    nearest: tuple[int, _Entity] | None = None
    for entity in entities:
        if not entity.allows(pronoun.gender):
            continue
        for mention in entity.mentions:
            later = mention.sentence == pronoun.sentence and mention.start > pronoun.start
            if mention.kind != NAME or not later:
                continue
            if nearest is None or mention.start < nearest[0]:
                nearest = mention.start, entity
    return nearest[1] if nearest else None


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
            raise ConfigError(
                f"{reader}: no {name}; give a folder with an F-coref checkpoint saved by save_pretrained"
            )
    try:
        package = importlib.import_module("fastcoref")
        spacy = importlib.import_module("spacy")
        modeling = importlib.import_module("fastcoref.coref_models.modeling_fcoref")
    except ImportError as error:
        raise ConfigError(
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
