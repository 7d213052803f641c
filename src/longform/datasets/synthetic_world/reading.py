"""Truth read back from text by string rules alone: names and pronouns into chains, fact sentences into triples."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from longform.datasets.synthetic_world import names
from longform.datasets.synthetic_world.domains import DOMAINS, domain
from longform.datasets.synthetic_world.facts import RELATIONS
from longform.datasets.synthetic_world.grammar import SETTLEMENTS, Frame
from longform.datasets.synthetic_world.mentions import FEMALE, GENDER_OF, GENDERS, MALE, PLURAL
from longform.datasets.synthetic_world.names import FAMILIES

PRONOUNS = {form: gender for form, gender in GENDER_OF.items() if form not in GENDERS}
FIRST_NAMES = dict.fromkeys(names.MALE, MALE) | dict.fromkeys(names.FEMALE, FEMALE)
SURNAMES, FAMILY_NAMES = frozenset(names.SURNAMES), frozenset(FAMILIES)
TITLE = r"(?P<title>(?!It\b)[A-Z]\w+(?: (?:of )?[A-Z]\w+)*)"
WORD = r"(?:an? )?[\w-]+"
NAMED = r"[\w ]+?"
OTHER = dict.fromkeys(("{1}", "{2}", "{3}"), NAMED) | {"{settlement}": f"(?:{'|'.join(SETTLEMENTS)})"}
TOKEN = re.compile(r"[Tt]he (?P<family>[A-Z][a-z]+)s\b|\b(?P<word>[A-Z]?[a-z]+)\b")


@dataclass(frozen=True)
class FoundMention:
    """A mention found in text: its span, its tag (gender of a name, form of a pronoun) and its person."""

    start: int
    end: int
    tag: str
    person: int


def read_mentions(text: str) -> list[FoundMention]:
    """Mentions of persons, in order; a pronoun is the most recent person of its gender.

    First names show gender, surnames and family names are unique within a document's cast, and a person is numbered
    by first mention.
    """
    persons: dict[str, int] = {}
    latest: dict[str, int] = {}
    genders: dict[int, str] = {}
    found: list[FoundMention] = []
    pending: tuple[int, str] | None = None  # a first name that waits for its surname

    def add(start: int, end: int, tag: str, person: int, gender: str) -> None:
        latest[gender], genders[person] = person, gender
        found.append(FoundMention(start, end, tag, person))

    for match in TOKEN.finditer(text):
        word, family = match["word"], match["family"]
        if family in FAMILY_NAMES:
            add(*match.span(), PLURAL, persons.setdefault(family, len(persons)), PLURAL)
        elif word in FIRST_NAMES:
            pending = match.start(), FIRST_NAMES[word]
        elif word in SURNAMES:
            person = persons.setdefault(word, len(persons))
            start, gender = pending or (match.start(), genders.get(person, MALE))
            add(start, match.end(), gender, person, gender)
            pending = None
        elif word in PRONOUNS:
            gender = PRONOUNS[word]
            add(*match.span(), word, latest.get(gender, -1), gender)
    return found


@dataclass(frozen=True)
class Triple:
    """What a sentence states: the page's title, a relation and its value."""

    title: str
    relation: str
    value: str


def fact_pattern(kind: str, frame: Frame, subject: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """The regular expression of a fact frame, one group per relation and one for the title in ``subject``'s place."""
    slots = {subject: TITLE}
    slots |= {f"{{F_{r}}}": RELATIONS[kind][r].pattern.replace("(", f"(?P<{r}>", 1) for r in frame.relations}
    parts = re.split(r"(\{\w+\})", frame.source)
    body = "".join(
        slots.get(part, OTHER.get(part, WORD)) if part.startswith("{") else re.escape(part) for part in parts
    )
    return re.compile(rf"^{body}(?=[ ,.])"), frame.relations


@cache
def _patterns(name: str) -> tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...]:
    world = domain(name)
    found = []
    for kind, settings in world.kinds.items():
        style = world.styles.get(f"abstract/{kind}")
        frames = [f for f in settings.openings if f.relations] + list(style.facts + style.own_facts if style else ())
        for frame in frames:
            subject = "{T}" if "{T}" in frame.source else "{1}"
            if frame.source.startswith(subject):
                found.append((kind, *fact_pattern(kind, frame, subject)))
    return tuple(found)


def read_facts(sentence: str, name: str) -> list[Triple]:
    """Triples that a sentence of a domain states; an empty list where it states none.

    The pattern of each fact frame is tried in turn; what follows a stated fact (a connective's clause) is ignored.
    """
    for _, pattern, relations in _patterns(name):
        match = pattern.match(sentence)
        if match:
            return [Triple(match["title"], relation, match[relation]) for relation in relations]
    return []


def domains_with_facts() -> Iterable[str]:
    """Domains whose pages state facts."""
    return [name for name in DOMAINS if _patterns(name)]
