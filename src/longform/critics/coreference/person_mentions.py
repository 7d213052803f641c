"""Candidates for mentions of persons in English text, by rules.

They are pronouns, names, nouns for persons, and groups of two names.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from longform.files.artefacts import read_yaml
from longform.text.sentences import sentences

# Types of entities.
MALE = "MALE"
FEMALE = "FEMALE"
PLURAL = "PLURAL"
NEITHER = "NONE"
GENDERS = {"male": MALE, "female": FEMALE, "plural": PLURAL, "neutral": NEITHER}


def _read_word_lists(path: Path) -> Mapping[str, frozenset[str]]:
    """Lists of words by name; a list is one string with blanks between its words."""
    word_lists = {}
    for name, words in read_yaml(path).items():
        word_lists[name] = frozenset(words.split())
    return word_lists


_LISTS = _read_word_lists(Path(__file__).with_name("persons.yaml"))


def _genders_of(kind: str) -> Mapping[str, str]:
    """The gender of each word of a kind: ``pronouns``, ``address``, ``names`` or ``nouns``."""
    genders = {}
    for prefix, gender in GENDERS.items():
        for word in _LISTS.get(f"{prefix}_{kind}", ()):
            genders[word] = gender
    return genders


VOTES = _genders_of("pronouns")
ADDRESS = _genders_of("address")
FIRST_NAMES = _genders_of("names")
NOUNS = _genders_of("nouns")
MALE_PRONOUNS = _LISTS["male_pronouns"]
PERSON_PRONOUNS = _LISTS["person_pronouns"]
NO_PERSONS = _LISTS["no_persons"]
NO_NAMES = _LISTS["no_names"]
PLACE_WORDS = _LISTS["place_words"]
ROLES = _LISTS["roles"]
SAYING = _LISTS["saying"]
AUXILIARIES = _LISTS["auxiliaries"]
PARTICLES = _LISTS["particles"]
CLAUSE_WORDS = _LISTS["clause_words"]
PREPOSITIONS = _LISTS["prepositions"]
FUNCTION_WORDS = _LISTS["function_words"] | CLAUSE_WORDS | PREPOSITIONS
REFLEXIVES = frozenset({"himself", "herself", "themselves"})
OBJECT_FORMS = frozenset({"him", "her", "them"})
POSSESSIVES = frozenset({"his", "her", "their", "hers", "theirs"})
_THIRD_PERSON_WORDS = frozenset({"he", "she", "they"}) | REFLEXIVES | OBJECT_FORMS | POSSESSIVES
THIRD_PERSON = {word: VOTES[word] for word in _THIRD_PERSON_WORDS}
# The released list has no capitalised reflexives; as candidates they count.
PRONOUN_SPELLINGS = PERSON_PRONOUNS | {"Himself", "Herself"}
DETERMINERS = frozenset({"the", "a", "an", "this", "that"}) | POSSESSIVES
# A capitalised word behind one of these is a thing or a place, if it is no first name.
BEFORE_THINGS = frozenset({"the", "a", "an", "this", "that", "in", "at", "near"})
PLACE_PREPOSITIONS = PREPOSITIONS - {"with", "for", "by", "of", "to"}
POSSESSIVE_ENDINGS = frozenset({"'s", "’s"})
CLAUSE_MARKS = frozenset(",;:—–\"'`“”‘’()")
SKIPPED_AFTER_NAME = frozenset({"(", ",", '"'})
SUFFIXES = frozenset({"Jr", "Sr", "II", "III", "IV"})
LONGEST_NAME = 4  # words; a longer run of capitals is a title of something
NOUN_REACH = 3  # words before a noun among which its determiner stands

# Kinds of candidates.
PRONOUN = "pronoun"
NAME = "name"
NOUN = "noun"
GROUP = "group"
# How sure it is that a name is a person's; differences count as steps of doubt.
STRONG = 2
LIKELY = 1
WEAK = 0
_TOKEN = re.compile(
    r"(?:[OD]['’](?=[A-Z]))?[^\W\d_]+(?:-[^\W\d_]+)*|['’]s\b|\d+(?:[.,]\d+)*|[^\w\s]"
)
_CAPITAL_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z]\w*")


class Token(NamedTuple):
    """A word or mark with its offsets."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Candidate:
    """A possible mention of a person.

    Attributes:
        start, end: half-open character offsets in the text.
        root: offset of its head word.
        sentence: number of its sentence in the text.
        token: number of its first token in the sentence.
        kind: pronoun, name, noun or group (two persons joined by "and").
        words: the name without title, determiner and noun, or the pronoun, in lower case.
        gender: None where open.
        sure: for names, how sure it is that a person is named.
        subject: whether it stands where a clause's subject stands.
        clause: number of its clause within the sentence.
    """

    start: int
    end: int
    root: int
    sentence: int
    token: int
    kind: str
    words: tuple[str, ...]
    gender: str | None
    sure: int = STRONG
    subject: bool = False
    clause: int = 0


def candidates(text: str, first_names: Mapping[str, str]) -> list[Candidate]:
    """All candidates of a text in reading order.

    Names do not overlap; a group covers the two names that it joins.

    Args:
        text: running English text.
        first_names: gender of each first name, in lower case.
    """
    capitals_inside = frozenset(_CAPITAL_INSIDE.findall(text))
    all_candidates: list[Candidate] = []
    for number, (start, end) in enumerate(sentences(text)):
        tokens = []
        for match in _TOKEN.finditer(text, start, end):
            tokens.append(Token(match[0], match.start(), match.end()))
        sentence = _Sentence(number, tokens, first_names, capitals_inside)
        all_candidates.extend(sentence.candidates())
    return all_candidates


@dataclass(frozen=True)
class _Sentence:
    """A sentence in which candidates are looked for.

    Attributes:
        number: of the sentence in its text.
        tokens: its words and marks.
        first_names: gender of each first name, in lower case.
        capitals_inside: words that the text writes with a capital where no sentence begins.
    """

    number: int
    tokens: Sequence[Token]
    first_names: Mapping[str, str]
    capitals_inside: Set[str]

    def candidates(self) -> list[Candidate]:
        """Pronouns, names, nouns and groups in reading order, a group before the names in it."""
        singles: list[Candidate] = []
        clause = 0
        index = 0
        while index < len(self.tokens):
            if index and self._opens_clause(index):
                clause += 1
            name_length = self._name_length(index)  # in tokens; 0 where no name begins
            after = index + max(name_length, 1)
            candidate = self._candidate(index, name_length)
            if candidate is not None:
                subject = self._is_subject(candidate.token, after)
                singles.append(replace(candidate, clause=clause, subject=subject))
            index = after
        everything = singles + self._groups(singles)
        return sorted(everything, key=lambda candidate: (candidate.start, -candidate.end))

    def _word(self, index: int) -> str:
        """The text of a token; empty before the first and behind the last one."""
        if 0 <= index < len(self.tokens):
            return self.tokens[index].text
        return ""

    def _opens_clause(self, index: int) -> bool:
        """Whether a token is a mark or a word that begins a clause."""
        word = self.tokens[index].text
        return word in CLAUSE_MARKS or word.lower() in CLAUSE_WORDS

    def _candidate(self, index: int, name_length: int) -> Candidate | None:
        """The candidate at a token: a name or pronoun that begins there, or a noun as its head.

        Args:
            index: of the token in the sentence.
            name_length: tokens of the name that begins there; 0 for none.

        Returns:
            None where the token is none of these, or its name is no person's.
        """
        if name_length:
            return self._name(index, name_length)
        token = self.tokens[index]
        folded = token.text.lower()
        if folded in THIRD_PERSON and token.text in PRONOUN_SPELLINGS:
            return Candidate(
                start=token.start,
                end=token.end,
                root=token.start,
                sentence=self.number,
                token=index,
                kind=PRONOUN,
                words=(folded,),
                gender=THIRD_PERSON[folded],
            )
        if folded in NOUNS:
            return self._noun(index)
        return None

    def _groups(self, singles: Sequence[Candidate]) -> list[Candidate]:
        """A candidate for every two names of one person each with only "and" between them."""
        names = [item for item in singles if item.kind == NAME and item.gender != PLURAL]
        groups = []
        for first, second in pairwise(names):
            between = []
            for token in self.tokens:
                if first.end <= token.start < second.start:
                    between.append(token.text.lower())
            if between == ["and"]:
                group = replace(
                    first,
                    end=second.end,
                    kind=GROUP,
                    words=(*first.words, "and", *second.words),
                    gender=PLURAL,
                    sure=min(first.sure, second.sure),
                )
                groups.append(group)
        return groups

    def _name_length(self, first: int) -> int:
        """How many tokens the name has that begins at token ``first``; 0 where none begins."""
        if not _is_capitalised(self.tokens[first]) or not self._may_begin_name(first):
            return 0
        end = first + 1
        while end < len(self.tokens):
            step = self._name_step(end)
            if step == 0:
                break
            end += step
        return end - first

    def _name_step(self, index: int) -> int:
        """By how many tokens a name before a token goes on: 0, 1, or 2 with a particle ("van")."""
        word = self.tokens[index].text
        has_next = index + 1 < len(self.tokens)
        if word == ".":
            return int(has_next and _is_abbreviation(self.tokens[index - 1].text))
        if word in SUFFIXES:
            return 1
        if _is_capitalised(self.tokens[index]):
            return int(word not in PERSON_PRONOUNS and word != "I")
        if word in PARTICLES and has_next and _is_capitalised(self.tokens[index + 1]):
            return 2
        return 0

    def _may_begin_name(self, index: int) -> bool:
        """Whether a capitalised word may begin a name, not only a sentence."""
        # 1. Words that begin no name.
        word = self.tokens[index].text
        folded = word.lower()
        if word in PERSON_PRONOUNS or word == "I" or folded in FUNCTION_WORDS:
            return False
        # 2. A capital that the sentence's beginning does not explain; words that begin names.
        opens_sentence = index == 0 or not self.tokens[index - 1].text[0].isalnum()
        if not opens_sentence or folded in self.first_names or folded in ADDRESS:
            return True
        if word in self.capitals_inside:
            return True
        # 3. By what follows; in "Yesterday Mrs. Lee" the name begins with the next word.
        following = self._word(index + 1)
        if following.lower() in ADDRESS or following.lower() in self.first_names:
            return False
        if following == ".":
            return len(word) == 1
        if following[:1].isupper() or following in POSSESSIVE_ENDINGS:
            return True
        return following in SAYING or following in AUXILIARIES

    def _name(self, first: int, length: int) -> Candidate | None:
        """The candidate of a run of capitalised words; None where it names no person."""
        # 1. Forms of address, and the words of the name proper.
        parts = [token for token in self.tokens[first : first + length] if token.text != "."]
        titles = []
        while len(parts) > 1 and parts[0].text.lower() in ADDRESS:
            titles.append(parts.pop(0).text.lower())
        words = tuple(token.text.lower() for token in parts if token.text not in SUFFIXES)
        if not words:
            return None
        if len(parts) == 1 and words[0] in ADDRESS and not titles:
            return None  # "Captain" alone
        # 2. How sure it is that a person is named, and the gender; "the Millers" are several.
        before = self._word(first - 1).lower()
        following = self._word_behind_name(first + length)
        sure = STRONG if titles else self._evidence(words, before, following)
        start = self.tokens[first].start
        if before == "the" and len(words) == 1 and words[0].endswith("s"):
            start = self.tokens[first - 1].start
            gender: str | None = PLURAL
            sure = max(sure or WEAK, LIKELY)
        elif sure is None:
            return None
        else:
            gender = self._gender(titles, words[0])
        return Candidate(
            start=start,
            end=self.tokens[first + length - 1].end,
            root=parts[-1].start,
            sentence=self.number,
            token=first,
            kind=NAME,
            words=words,
            gender=gender,
            sure=sure,
        )

    def _word_behind_name(self, index: int) -> str:
        """The first word from a token on, in lower case; commas and opening marks are skipped."""
        for token in self.tokens[index:]:
            if token.text not in SKIPPED_AFTER_NAME:
                return token.text.lower()
        return ""

    def _gender(self, titles: Sequence[str], first_name: str) -> str | None:
        """The gender by the first form of address that has one, else by the first name, or None."""
        for title in titles:
            if ADDRESS[title] != NEITHER:
                return ADDRESS[title]
        return self.first_names.get(first_name)

    def _evidence(self, words: Sequence[str], before: str, following: str) -> int | None:
        """How sure it is that a name without title is a person's: WEAK, LIKELY or STRONG.

        None where it is no person's name.

        Args:
            words: of the name, in lower case.
            before, following: the words around it, in lower case.
        """
        # 1. By its own words.
        is_single = len(words) == 1
        if not PLACE_WORDS.isdisjoint(words) or (is_single and words[0] in NO_NAMES):
            return None
        if words[0] in self.first_names:
            return STRONG
        # 2. By the words around it.
        if before in BEFORE_THINGS:
            return None
        if before in ROLES or following in SAYING:
            if not is_single:
                return STRONG
            # Where no word stands before it, its capital may be that of a sentence's beginning.
            return LIKELY if before[:1].isalpha() else WEAK
        # 3. By its form: two to four words are likelier a person's than one.
        if words[0] in NO_NAMES or len(words) > LONGEST_NAME:
            return None
        if is_single or before in PLACE_PREPOSITIONS:
            return WEAK
        return LIKELY

    def _noun(self, index: int) -> Candidate | None:
        """A noun for a person with its determiner ("the old king"); None where it has none."""
        head = self.tokens[index]
        noun = head.text.lower()
        furthest = max(index - NOUN_REACH, 0)
        for first in range(index - 1, furthest - 1, -1):
            token = self.tokens[first]
            word = token.text.lower()
            if word in DETERMINERS:
                determiner = "a" if word == "an" else word
                return Candidate(
                    start=token.start,
                    end=head.end,
                    root=head.start,
                    sentence=self.number,
                    token=first,
                    kind=NOUN,
                    words=(determiner, noun),
                    gender=NOUNS[noun],
                )
            # only what may be an adjective stands between
            may_be_adjective = token.text.isalpha() and word not in FUNCTION_WORDS
            if not may_be_adjective or _is_capitalised(token):
                return None
        return None

    def _is_subject(self, first: int, after: int) -> bool:
        """Whether a candidate opens a clause, and neither owns something nor is a possessive.

        Args:
            first: index of its first token.
            after: index of the first token behind it.
        """
        before = self._word(first - 1).lower()
        opens_clause = not before or not before[0].isalnum() or before in CLAUSE_WORDS
        if not opens_clause or self._word(after) in POSSESSIVE_ENDINGS:
            return False
        return self.tokens[first].text.lower() not in POSSESSIVES


def _is_capitalised(token: Token) -> bool:
    """Whether a token begins with a capital letter."""
    return token.text[0].isupper() and token.text[0].isalpha()


def _is_abbreviation(word: str) -> bool:
    """Whether a full stop behind a word may belong to a name: an initial, "Mrs", "Jr"."""
    is_initial = len(word) == 1 and word.isupper()
    return is_initial or word.lower() in ADDRESS or word in SUFFIXES


def is_object(text: str, candidate: Candidate) -> bool:
    """Whether a pronoun is the object of its clause.

    "Her" may be a possessive: it is no object where a noun or an adjective may follow.
    """
    pronoun = candidate.words[0]
    if pronoun != "her":
        return pronoun in OBJECT_FORMS
    following = _TOKEN.match(text, candidate.end + 1)
    if following is None:
        return True
    word = following[0]
    return not word[0].isalnum() or word.lower() in FUNCTION_WORDS
