"""A second resolver, with hardly a rule: names by their words, and every pronoun to the person mentioned last.

It stands beside the rules to show how far scores depend on who reads the mentions (deng2022 has one resolver).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longform.core.documents import Document, Readout
from longform.critics.coreference.chains import ChainRules, Mention, read_with
from longform.critics.coreference.person_lexicon import FIRST_NAMES, PLURAL
from longform.critics.coreference.person_mentions import LIKELY, NAME, PRONOUN, Candidate, candidates


@dataclass(frozen=True)
class NearestResolver:
    """Names are one entity where one contains the other's words; a pronoun is the latest entity, whatever its gender.

    A plural pronoun starts an entity of its own, kept for later plural pronouns; nouns are left out.

    Attributes:
        first_names: lower-case first name to MALE or FEMALE; finds names, and decides no pronoun.
    """

    first_names: Mapping[str, str] = field(default_factory=lambda: FIRST_NAMES, repr=False)

    def header(self) -> Mapping[str, str]:
        """Name and the number of first names."""
        return {"resolver": "NearestResolver()", "first_names": str(len(self.first_names))}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Mentions of each text; an entity may have one mention."""
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
    """The latest entity whose words hold these or are held by them, else a new one."""
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


def read(
    *,
    documents: Sequence[Document],
    splits: Sequence[str],
    singletons: bool = False,
    names_have_gender: bool = True,
    film_filter: str | None = None,
) -> Readout:
    """Chains of persons by the nearest mention."""
    chosen = [document for document in documents if document.split in splits]
    return read_with(NearestResolver(), chosen, ChainRules(singletons, names_have_gender), film_filter)
