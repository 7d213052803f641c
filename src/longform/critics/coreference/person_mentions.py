"""Candidates for mentions of persons in English text, by rules: pronouns, names, nouns for persons,
groups.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from longform.files.artefacts import read_yaml
from longform.text.sentences import sentences

MALE, FEMALE, PLURAL, NEITHER = (
    "MALE",
    "FEMALE",
    "PLURAL",
    "NONE",
)  # entity types; "NONE": none of the above
GENDERS = {"male": MALE, "female": FEMALE, "plural": PLURAL, "neutral": NEITHER}
_LISTS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in read_yaml(Path(__file__).with_name("persons.yaml")).items()
}
VOTES, ADDRESS, FIRST_NAMES, NOUNS = (
    {word: gender for name, gender in GENDERS.items() for word in _LISTS.get(f"{name}_{kind}", ())}
    for kind in ("pronouns", "address", "names", "nouns")
)
MALE_PRONOUNS, PERSON_PRONOUNS = _LISTS["male_pronouns"], _LISTS["person_pronouns"]
NO_PERSONS, NO_NAMES, PLACE_WORDS = _LISTS["no_persons"], _LISTS["no_names"], _LISTS["place_words"]
ROLES, SAYING, AUXILIARIES, PARTICLES = (
    _LISTS[name] for name in ("roles", "saying", "auxiliaries", "particles")
)
CLAUSE_WORDS, PREPOSITIONS = _LISTS["clause_words"], _LISTS["prepositions"]
FUNCTION_WORDS = _LISTS["function_words"] | CLAUSE_WORDS | PREPOSITIONS
REFLEXIVES = frozenset({"himself", "herself", "themselves"})
OBJECT_FORMS = frozenset({"him", "her", "them"})
POSSESSIVES = frozenset({"his", "her", "their", "hers", "theirs"})
THIRD_PERSON = {
    word: VOTES[word] for word in {"he", "she", "they"} | REFLEXIVES | OBJECT_FORMS | POSSESSIVES
}

PRONOUN, NAME, NOUN, GROUP = "pronoun", "name", "noun", "group"
STRONG, LIKELY, WEAK = 2, 1, 0  # how sure it is that a name is a person's
_TOKEN = re.compile(
    r"(?:[OD]['’](?=[A-Z]))?[^\W\d_]+(?:-[^\W\d_]+)*|['’]s\b|\d+(?:[.,]\d+)*|[^\w\s]"
)
_SUFFIXES = frozenset({"Jr", "Sr", "II", "III", "IV"})


class Token(NamedTuple):
    """A word or mark with its offsets."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Candidate:
    """A possible mention of a person; ``start``, ``end``, ``root`` are character offsets."""

    start: int
    end: int
    root: int  # where the head word begins
    sentence: int  # number in the text
    token: int  # number of its first token in the sentence
    kind: str  # pronoun, name, noun or group (two persons joined by "and")
    words: tuple[str, ...]  # the name without title, the noun, or the pronoun, in lower case
    gender: str | None  # None where open
    sure: int = STRONG  # for names, how sure it is that a person is named
    subject: bool = False  # whether it stands where a clause's subject stands
    clause: int = 0  # number within the sentence


def candidates(text: str, first_names: Mapping[str, str]) -> list[Candidate]:
    """All candidates in reading order; names do not overlap, a group covers the two names it joins."""
    inside = set(re.findall(r"(?<=[a-z,] )[A-Z]\w*", text))  # capitals within a sentence
    found: list[Candidate] = []
    for number, (start, end) in enumerate(sentences(text)):
        tokens = [Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(text, start, end)]
        found.extend(_sentence(tokens, number, first_names, inside))
    return found


def _sentence(
    tokens: Sequence[Token], number: int, first_names: Mapping[str, str], inside: set[str]
) -> list[Candidate]:
    found: list[Candidate] = []
    clause = i = 0
    while i < len(tokens):
        token = tokens[i]
        folded = token.text.lower()
        size = _name_length(tokens, i, first_names, inside)
        if i and (token.text in ",;:—–\"'`“”‘’()" or folded in CLAUSE_WORDS):
            clause += 1
        made = None
        if size:
            made = _name(tokens, i, size, number, first_names)
        elif folded in THIRD_PERSON and token.text in PERSON_PRONOUNS | {"Himself", "Herself"}:
            made = Candidate(
                token.start,
                token.end,
                token.start,
                number,
                i,
                PRONOUN,
                (folded,),
                THIRD_PERSON[folded],
            )
        elif folded in NOUNS:
            made = _noun(tokens, i, number)
        size = max(size, 1)
        if made:
            found.append(
                replace(made, clause=clause, subject=_is_subject(tokens, made.token, i + size))
            )
        i += size
    groups = []
    for first, second in itertools.pairwise(
        c for c in found if c.kind == NAME and c.gender != PLURAL
    ):
        if [t.text.lower() for t in tokens if first.end <= t.start < second.start] == ["and"]:
            words, sure = (*first.words, "and", *second.words), min(first.sure, second.sure)
            groups.append(
                replace(first, end=second.end, kind=GROUP, words=words, gender=PLURAL, sure=sure)
            )
    return sorted([*found, *groups], key=lambda c: (c.start, -c.end))


def _capital(token: Token) -> bool:
    return token.text[0].isupper() and token.text[0].isalpha()


def _name_length(
    tokens: Sequence[Token], i: int, first_names: Mapping[str, str], inside: set[str]
) -> int:
    if not _capital(tokens[i]) or not _may_begin(tokens, i, first_names, inside):
        return 0
    end = i + 1
    while end < len(tokens):
        word, before = tokens[end].text, tokens[end - 1].text
        takes_stop = (
            (len(before) == 1 and before.isupper())
            or before.lower() in ADDRESS
            or before in _SUFFIXES
        )
        stop = word == "." and takes_stop and end + 1 < len(tokens)
        if (
            stop
            or word in _SUFFIXES
            or (_capital(tokens[end]) and word not in PERSON_PRONOUNS and word != "I")
        ):
            end += 1
        elif word in PARTICLES and end + 1 < len(tokens) and _capital(tokens[end + 1]):
            end += 2
        else:
            break
    return end - i


def _may_begin(
    tokens: Sequence[Token], i: int, first_names: Mapping[str, str], inside: set[str]
) -> bool:
    word = tokens[i].text
    folded = word.lower()
    if word in PERSON_PRONOUNS or word == "I" or folded in FUNCTION_WORDS:
        return False
    opening = i == 0 or not tokens[i - 1].text[0].isalnum()
    if not opening or folded in first_names or folded in ADDRESS:
        return True
    after = tokens[i + 1].text if i + 1 < len(tokens) else ""
    if word not in inside and (after.lower() in ADDRESS or after.lower() in first_names):
        return False  # "Yesterday Mrs. Lee": the name begins with the next word
    followed = after[:1].isupper() or after in {"'s", "’s"} or (after == "." and len(word) == 1)
    return followed or word in inside or after in SAYING | AUXILIARIES


def _name(
    tokens: Sequence[Token], i: int, size: int, number: int, first_names: Mapping[str, str]
) -> Candidate | None:
    parts = [t for t in tokens[i : i + size] if t.text != "."]
    titles = []
    while len(parts) > 1 and parts[0].text.lower() in ADDRESS:
        titles.append(parts.pop(0).text.lower())
    words = tuple(t.text.lower() for t in parts if t.text not in _SUFFIXES)
    if not words or (len(parts) == 1 and parts[0].text.lower() in ADDRESS and not titles):
        return None
    before = tokens[i - 1].text.lower() if i else ""
    after = next((t.text.lower() for t in tokens[i + size :] if t.text not in {"(", ",", '"'}), "")
    family = before == "the" and len(words) == 1 and words[0].endswith("s")
    sure = STRONG if titles else _evidence(words, before, after, first_names)
    if sure is None and not family:
        return None
    gender = next((ADDRESS[t] for t in titles if ADDRESS[t] != NEITHER), None) or first_names.get(
        words[0]
    )
    start, end = tokens[i - 1 if family else i].start, tokens[i + size - 1].end
    gender, sure = (PLURAL, max(sure or WEAK, LIKELY)) if family else (gender, sure or WEAK)
    return Candidate(start, end, parts[-1].start, number, i, NAME, words, gender, sure)


def _evidence(
    words: tuple[str, ...], before: str, after: str, first_names: Mapping[str, str]
) -> int | None:
    if any(word in PLACE_WORDS for word in words) or (words[0] in NO_NAMES and len(words) == 1):
        return None
    if words[0] in first_names:
        return STRONG
    if before in {"the", "a", "an", "this", "that", "in", "at", "near"}:
        return None
    if before in ROLES or after in SAYING:
        return STRONG if len(words) > 1 else LIKELY if before[:1].isalpha() else WEAK
    if words[0] in NO_NAMES or len(words) > 4:
        return None
    return (
        LIKELY
        if len(words) > 1 and before not in PREPOSITIONS - {"with", "for", "by", "of", "to"}
        else WEAK
    )


def _noun(tokens: Sequence[Token], i: int, number: int) -> Candidate | None:
    head, noun = tokens[i], tokens[i].text.lower()
    for first in range(i - 1, max(i - 4, -1), -1):
        word = tokens[first].text.lower()
        if word in {"the", "a", "an", "this", "that"} | POSSESSIVES:
            words = ("a" if word in {"a", "an"} else word, noun)
            return Candidate(
                tokens[first].start, head.end, head.start, number, first, NOUN, words, NOUNS[noun]
            )
        if not tokens[first].text.isalpha() or word in FUNCTION_WORDS or _capital(tokens[first]):
            return None
    return None


def _is_subject(tokens: Sequence[Token], first: int, after: int) -> bool:
    before = tokens[first - 1].text.lower() if first else ""
    opens = not before or not before[0].isalnum() or before in CLAUSE_WORDS
    owned = after < len(tokens) and tokens[after].text in {"'s", "’s"}
    return opens and not owned and tokens[first].text.lower() not in POSSESSIVES


def is_object(text: str, candidate: Candidate) -> bool:
    """Whether a pronoun is the object of its clause; "her" owns what follows where that may be a
    noun or adjective.
    """
    if candidate.words[0] != "her":
        return candidate.words[0] in OBJECT_FORMS
    following = _TOKEN.match(text, candidate.end + 1)
    return not following or not following[0][0].isalnum() or following[0].lower() in FUNCTION_WORDS
