"""Coreference resolvers for persons: by rules, by the nearest mention, and F-coref's.

The rules work in passes (after Raghunathan et al. 2010). Their weights are ours, by hand from the
literature's preferences (recency, subject before object; Lappin and Leass 1994); they were revised
while looking at errors on GAP development and synthetic text, so scores on those two are
development scores.
"""

import importlib
import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
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
FCOREF_BATCH = 10000  # tokens of a batch
FCOREF_PACKAGES = ("fastcoref", "transformers", "torch", "spacy")  # named in the header
CHECKPOINT_FILES = ("config.json", "model.safetensors")


@dataclass
class _Entity:
    """An entity while it is being built.

    Attributes:
        number: of the entity in its text.
        mentions: in the order in which they were added.
        names: of the person, as words in lower case.
        gender: None where open.
        sure: how sure it is that it is a person.
    """

    number: int
    mentions: list[Candidate] = field(default_factory=list)
    names: set[tuple[str, ...]] = field(default_factory=set)
    gender: str | None = None
    sure: int = 0

    def add(self, mention: Candidate) -> None:
        """Take in a mention, with its name, its gender if none was clear, and its certainty."""
        self.mentions.append(mention)
        if mention.kind == NAME:
            self.names.add(mention.words)
        self.gender = self.gender or mention.gender
        if mention.kind in {PRONOUN, NOUN}:
            self.sure = persons.STRONG
        else:
            self.sure = max(self.sure, mention.sure)

    def allows(self, gender: str | None) -> bool:
        """Whether a mention of a gender may be of it; an entity of open gender is one person."""
        if gender is None:
            return True
        if self.gender is None:
            return gender != PLURAL
        return self.gender == gender


@dataclass(frozen=True)
class _NameResolver:
    """Base of the resolvers without a model, which find persons by their names.

    Attributes:
        first_names: MALE or FEMALE by first name in lower case; finds names of persons, and may
            decide their gender.
    """

    first_names: Mapping[str, str] = field(
        default_factory=lambda: persons.FIRST_NAMES, repr=False, metadata=FITTED
    )

    def header(self) -> Mapping[str, str]:
        """The resolver's settings, and the length of its list of first names."""
        return {"resolver": signature(self), "first_names": str(len(self.first_names))}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Mentions of each text, in the order of their start."""
        all_mentions = []
        for text in texts:
            mentions = self._resolve(text)
            all_mentions.append(sorted(mentions, key=lambda mention: (mention.start, mention.end)))
        return all_mentions

    def _resolve(self, text: str) -> list[Mention]:
        """Mentions of persons in one text, in any order."""
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
        """Mentions of a text, entity by entity."""
        # 1. Each candidate joins an earlier entity or begins one.
        entities: list[_Entity] = []
        for candidate in candidates(text, self.first_names):
            entity = self._antecedent(text, candidate, entities)
            if entity is None:
                entity = _Entity(len(entities))
                entities.append(entity)
            entity.add(candidate)
        # 2. Pronouns that come before their name; entities that they leave have no mentions.
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
        """The entity that a candidate mentions again; None where it is a new one."""
        if candidate.kind == NAME:
            return _of_name(candidate, entities)
        if candidate.kind == PRONOUN:
            return self._of_pronoun(text, candidate, entities)
        is_again = self._is_noun_again if candidate.kind == NOUN else _is_group_again
        for entity in reversed(entities):
            if is_again(candidate, entity):
                return entity
        return None

    def _is_noun_again(self, candidate: Candidate, entity: _Entity) -> bool:
        """Whether a noun with a definite determiner was mentioned a few sentences back."""
        determiner, noun = candidate.words  # of a NOUN
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
        """Whether a pronoun may mean an entity: near, of its gender, and allowed by grammar."""
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
        """How well an entity suits a pronoun, higher for better; weights are the resolver's.

        ``rank`` of the entities that the pronoun may mean were mentioned more recently.
        """
        last_sentence = entity.mentions[-1].sentence
        in_last_sentence = [m for m in entity.mentions if m.sentence == last_sentence]
        is_subject = any(mention.subject for mention in in_last_sentence)
        preference = -self.distance * (pronoun.sentence - last_sentence)
        preference -= self.order * rank
        preference += self.subject * is_subject
        preference += self.parallel * (is_subject and pronoun.subject)
        preference += self.known * (entity.gender == pronoun.gender)
        preference -= (persons.STRONG - entity.sure) * DOUBT
        return preference


def _is_group_again(group: Candidate, entity: _Entity) -> bool:
    """Whether a group of the same words was mentioned before."""
    return any(earlier.words == group.words for earlier in entity.mentions)


def _as_mention(candidate: Candidate, entity: _Entity) -> Mention:
    """A candidate as a mention of its entity, named where it is likely a person's name."""
    is_name = candidate.kind in {NAME, GROUP}
    return Mention(
        start=candidate.start,
        end=candidate.end,
        entity=entity.number,
        named=is_name and entity.sure >= persons.LIKELY,
        root=candidate.root,
        gender=entity.gender,
    )


def _of_name(name: Candidate, entities: Sequence[_Entity]) -> _Entity | None:
    """The earlier entity of fitting gender that a name mentions again; None where it is a new one.

    That is the newest entity of exactly this name, else the one mentioned last among those with a
    similar name ("Ann Lee" and "Lee").
    """
    fitting = [entity for entity in entities if entity.allows(name.gender)]
    for entity in reversed(fitting):
        if name.words in entity.names:
            return entity
    alike = []
    for entity in fitting:
        if any(_may_be_one_person(name.words, other) for other in entity.names):
            alike.append(entity)
    return max(alike, key=lambda entity: entity.mentions[-1].start, default=None)


def _may_be_one_person(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether two names may be one person's.

    One word may be the first or last word of the other name, which is longer. Of two longer names
    the last words agree, and the first words do or have an initial in common.
    """
    short, long = sorted((first, second), key=len)
    if len(short) == 1:
        (word,) = short
        return len(long) > 1 and len(word) > 1 and word in {long[0], long[-1]}
    if short[-1] != long[-1] or short[0][0] != long[0][0]:
        return False
    has_initial = len(short[0]) == 1 or len(long[0]) == 1
    return has_initial or short[0] == long[0]


def _resolve_forwards(entities: list[_Entity]) -> None:
    """Merge entities that start with a pronoun into the first fitting name later in its sentence.

    As in "When she came home, Ann slept". Not merged if the name's entity has a mention before the
    pronoun, also where a new name follows. Every entity comes with a mention, the earliest first.
    They are changed in place: mentions are appended, out of order, and a merged one has none left.
    """
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
    """The entity of the first name of fitting gender after a pronoun in its sentence, or None."""
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
    """Chains of persons by rules.

    Args:
        documents: of a corpus.
        splits, singletons, film_filter, keep_text: as :func:`read_with` has them.
        subject: gain of an antecedent that is a subject; 0 leaves recency alone, as the synthetic
            world's pronouns have it.
    """
    resolver = RuleResolver(subject=subject, parallel=min(subject, RuleResolver.parallel))
    return read_with(
        resolver,
        documents=documents,
        splits=splits,
        singletons=singletons,
        film_filter=film_filter,
        keep_text=keep_text,
    )


@dataclass(frozen=True)
class NearestResolver(_NameResolver):
    """A baseline that takes the nearest mention, whatever its gender.

    Names are of one entity where one contains the other's words. A pronoun is of the entity that
    was mentioned last. A plural pronoun starts an entity of its own, which later plural pronouns
    are of; nouns are left out.
    """

    def _resolve(self, text: str) -> list[Mention]:
        """Mentions of a text from left to right, each of the nearest entity that may be meant."""
        mentions: list[Mention] = []
        name_words: list[set[str]] = []  # of each entity
        latest_singular: int | None = None
        latest_plural: int | None = None
        for candidate in candidates(text, self.first_names):
            # 1. The entity that is mentioned again.
            is_plural_pronoun = candidate.kind == PRONOUN and candidate.gender == PLURAL
            if candidate.kind == NAME:
                entity = _last_of_like_name(set(candidate.words), name_words)
            elif candidate.kind == PRONOUN:
                entity = latest_plural if is_plural_pronoun else latest_singular
            else:
                continue
            # 2. Else a new one.
            if entity is None:
                entity = len(name_words)
                name_words.append(set())
            if is_plural_pronoun:
                latest_plural = entity
            else:
                latest_singular = entity
            # 3. A name adds its words to the entity.
            named = False
            gender = None
            if candidate.kind == NAME:
                name_words[entity].update(candidate.words)
                named = candidate.sure >= persons.LIKELY
                gender = candidate.gender
            mention = Mention(
                start=candidate.start,
                end=candidate.end,
                entity=entity,
                named=named,
                root=candidate.root,
                gender=gender,
            )
            mentions.append(mention)
        return mentions


def _last_of_like_name(words: set[str], name_words: Sequence[set[str]]) -> int | None:
    """The newest entity whose name's words hold all words of a name, or are all among them."""
    for entity in reversed(range(len(name_words))):
        entity_words = name_words[entity]
        if entity_words and (words <= entity_words or entity_words <= words):
            return entity
    return None


def read_nearest(
    *,
    documents: Sequence[Document],
    splits: Sequence[str],
    singletons: bool = False,
    film_filter: str | None = None,
) -> Predictions:
    """Chains of persons by the nearest mention; the arguments are those of :func:`read_with`."""
    return read_with(
        NearestResolver(),
        documents=documents,
        splits=splits,
        singletons=singletons,
        film_filter=film_filter,
    )


@dataclass(frozen=True)
class FcorefResolver:
    """Clusters of a fastcoref model; which of them are names of persons is decided by our rules.

    Attributes:
        model: has ``predict(texts=[...], max_tokens_in_batch=...)``, whose items have
            ``get_clusters(as_strings=False)``.
        checkpoint: its name, for the header.
    """

    model: Any
    checkpoint: str

    def header(self) -> Mapping[str, str]:
        """The checkpoint, and the versions of the packages that decide the clusters."""
        versions = {}
        for name in FCOREF_PACKAGES:
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                versions[name] = "not installed"
        return {"resolver": f"FcorefResolver({self.checkpoint})", **versions}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Mentions of each text by the network's clusters; none of a text without words."""
        # 1. Clusters of the texts that have words.
        with_words = [text for text in texts if text.strip()]
        predictions: Iterator[Any] = iter(())
        if with_words:
            predictions = iter(
                self.model.predict(texts=with_words, max_tokens_in_batch=FCOREF_BATCH)
            )
        # 2. Back to all texts.
        all_mentions: list[list[Mention]] = []
        for text in texts:
            clusters = next(predictions).get_clusters(as_strings=False) if text.strip() else []
            all_mentions.append(_mentions_of_clusters(text, clusters))
        return all_mentions


def _mentions_of_clusters(
    text: str, clusters: Sequence[Sequence[tuple[int, int]]]
) -> list[Mention]:
    """Mentions by place, from each entity's half-open spans.

    One that holds the head word of a likely name of a person is named.
    """
    heads = []
    for candidate in candidates(text, persons.FIRST_NAMES):
        if candidate.kind == NAME and candidate.sure >= persons.LIKELY:
            heads.append(candidate.root)
    spans = []
    for entity, cluster in enumerate(clusters):
        for start, end in cluster:
            spans.append((start, end, entity))
    mentions = []
    for start, end, entity in sorted(spans):
        named = any(start <= head < end for head in heads)
        mentions.append(Mention(start, end, entity, named))
    return mentions


def read_fcoref(
    *,
    documents: Sequence[Document],
    reader: Path,
    splits: Sequence[str],
    film_filter: str | None = None,
) -> Predictions:
    """Chains of persons by F-coref, which knows no person mentioned once.

    Args:
        reader: folder of a checkpoint.
        documents, splits, film_filter: as :func:`read_with` has them.

    Raises:
        ConfigError: a file of the checkpoint or a package is missing.
    """
    from longform.language_models.device import chosen_device  # here alone: rules need no torch

    for name in CHECKPOINT_FILES:
        if not (reader / name).is_file():
            raise ConfigError(
                f"{reader}: no {name}; "
                "give a folder with an F-coref checkpoint saved by save_pretrained"
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
    resolver = FcorefResolver(model, reader.name)
    return read_with(resolver, documents, splits, singletons=False, film_filter=film_filter)


def patch_tied_weights(model_class: type) -> None:
    """Give a model class of transformers 4 the attribute that transformers 5 needs in loading."""
    if not hasattr(model_class, "all_tied_weights_keys"):
        model_class.all_tied_weights_keys = {}  # type: ignore[attr-defined]
