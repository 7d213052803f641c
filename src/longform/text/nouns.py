"""Nouns and their roles by rules, which are no parser, and the singular of a noun.

The paper lemmatised titles by NLTK's WordNet (deng2022 section 4): its detachment rules are kept,
lists stand where its lexicon, a download, decides; function words are never touched (WordNet turns
``as`` into ``a``).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from longform.files.artefacts import read_yaml
from longform.text.lexicon import Lexicon

WORDS = read_yaml(Path(__file__).with_name("words.yaml"))


def _listed(name: str) -> frozenset[str]:
    """The words of a list in words.yaml."""
    return frozenset(WORDS[name].split())


def _pairs(name: str) -> dict[str, str]:
    """A table from a list in words.yaml of keys and values by turns: key, value, key, value."""
    words = WORDS[name].split()
    return dict(zip(words[::2], words[1::2], strict=True))


IRREGULAR, AMERICAN = _pairs("irregular"), _pairs("american")
UNCHANGED = _listed("unchanged")


def lemma(word: str) -> str:
    """The singular of a lower-case English noun; of "sisters-in-law" the last part alone changes.

    Any other word comes back as it is.
    """
    head, hyphen, last = word.rpartition("-")
    if last in IRREGULAR:
        return head + hyphen + IRREGULAR[last]
    if last in UNCHANGED or len(last) <= 3 or not last.isalpha():
        return word
    if last.endswith(("ss", "us", "is")):
        return word
    if last.endswith("men"):
        return word[:-3] + "man"
    if last.endswith("ies") and len(last) > 4:
        return word[:-3] + "y"
    if last.endswith(("sses", "xes", "zzes", "ches", "shes")):
        return word[:-2]
    return word.removesuffix("s")


NOUN, VERB, ADJECTIVE, ADVERB = "n", "v", "a", "r"
BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being"])


def _closed_classes() -> dict[str, str]:
    """Function word -> its class in words.yaml; the first class that lists a word counts."""
    class_of: dict[str, str] = {}
    for name, words in WORDS["closed"].items():
        for word in words.split():
            class_of.setdefault(word, name)
    class_of["that"] = "break"
    return class_of


CLOSED = _closed_classes()
BEFORE_NOUNS = {"determiner", "preposition", "number", ADJECTIVE}
BEFORE_VERBS = {"pronoun", "auxiliary"}
ADJECTIVE_ENDINGS = tuple(WORDS["adjective_endings"].split())
NOUN_ENDINGS = tuple(WORDS["noun_endings"].split())
# The ending of an inflected verb, and what may stand in its place in the verb.
VERB_ENDINGS = {
    "ing": ("", "e"),
    "ed": ("", "e"),
    "ies": ("y",),
    "ied": ("y",),
    "es": ("",),
    "s": ("",),
}
PARTICIPLES = _listed("participles")
# The class of a word that is not written in Latin letters: these rules know no such noun.
OTHER_SCRIPT = "other script"
# Letters of Latin script, as ranges of a character class.
LATIN = "A-Za-zªºÀ-ÖØ-öø-ʯḀ-ỿⱠ-ⱻﬀ-ﬆＡ-Ｚａ-ｚ"
_MARKS = "\u0300-\u036f"  # accents that follow their letter
_TOKEN = re.compile(
    rf"""
    [{LATIN}](?:[{LATIN}{_MARKS}'’.-]*[{LATIN}{_MARKS}])?  # a word, with what joins its parts
    | \d[\d,.]*                                          # a number
    | (?:(?![{LATIN}])[^\W\d_])+                          # a word in another script
    | [^\s\d]                                            # a mark
    """,
    re.VERBOSE,
)
_LATIN_LETTER = re.compile(f"[{LATIN}]")


@dataclass(frozen=True)
class NounRules:
    """Rules that find the nouns of a sentence and their roles.

    Attributes:
        lexicon: says which classes a word may have, and how often; without one, endings decide.
    """

    lexicon: Lexicon | None = field(default=None, repr=False)

    def mentions(self, sentence: str) -> list[tuple[str, str]]:
        """(noun in lower case, role S, O or X) in order of appearance."""
        words = _TOKEN.findall(sentence)
        return _roles(words, self.classes(words))

    def classes(self, words: Sequence[str]) -> list[str]:
        """The guessed class of each word.

        It is n, v, a, r, the name of a closed class, ``number``, ``mark`` or ``other script``.
        """
        classes = []
        before = "start"
        for position, word in enumerate(words):
            before = self._word_class(word, position, before, words)
            classes.append(before)
        return classes

    def _word_class(self, word: str, position: int, before: str, words: Sequence[str]) -> str:
        """The class of one word of a sentence.

        Args:
            word: at ``position`` of ``words``.
            position: from 0.
            before: class of the word in front of it; ``start`` for the first.
            words: all words and marks of the sentence.
        """
        # 1. Function words, numbers, marks and other scripts show it themselves.
        lower = word.lower()
        if lower in CLOSED:
            return CLOSED[lower]
        if word[0].isdigit():
            return "number"
        if not word[0].isalpha():
            return "mark"
        if not _LATIN_LETTER.match(word):
            return OTHER_SCRIPT
        # 2. What the word may be, and whether it describes the next one.
        weights = self._weights(lower)
        noun, adjective = weights.get(NOUN, 0), weights.get(ADJECTIVE, 0)
        following = words[position + 1].lower() if position + 1 < len(words) else "."
        describes = adjective > noun and following[0].isalpha() and following not in CLOSED
        # 3. Its neighbours decide: a capital within a sentence is a name's.
        if word[0].isupper() and position and words[position - 1] not in "\"“‘'(":
            return ADJECTIVE if describes else NOUN
        if before == "auxiliary" and (lower in PARTICIPLES or lower.endswith("ed")):
            return VERB
        if before == NOUN and NOUN in weights and CLOSED.get(following) == "auxiliary":
            return NOUN
        behind_to = position > 0 and words[position - 1].lower() == "to"
        if before in BEFORE_VERBS or (behind_to and weights.get(VERB, 0) > noun):
            return _class_of_predicate(weights)
        if before in BEFORE_NOUNS and (describes or noun):
            return ADJECTIVE if describes else NOUN
        # 4. Nothing near it does: the class that the word has most often.
        return max(weights, key=weights.__getitem__)

    def _weights(self, lower: str) -> dict[str, float]:
        """How often a word has each class: tagged occurrences, and a tenth of each sense."""
        if self.lexicon is None:
            return _by_ending(lower)
        # 1. (form, classes that it may have) of whatever the word may be a form of. The keys of a
        # dictionary: each once, in order.
        forms = {(lower, "nvar"): None}
        for entry in self.lexicon.noun_lemmas(lower):
            if entry != lower:
                forms[entry, NOUN] = None
        for ending, replacements in VERB_ENDINGS.items():
            if lower.endswith(ending) and len(lower) > len(ending) + 1:
                for replacement in replacements:
                    forms[lower[: -len(ending)] + replacement, VERB] = None
        # 2. What the lexicon knows of each.
        weights: dict[str, float] = {}
        for form, classes in forms:
            for part, (tagged, senses) in self.lexicon.uses.get(form, {}).items():
                part = ADJECTIVE if part == "s" else part
                if part in classes:
                    weights[part] = weights.get(part, 0.0) + tagged + 0.1 * senses
        # 3. The lexicon lacks the word; where it has nothing but nouns the word is no noun.
        if weights:
            return weights
        if self.lexicon.nouns_only:
            return {VERB: 1.0, ADJECTIVE: 0.9}
        return _by_ending(lower)


def _class_of_predicate(weights: Mapping[str, float]) -> str:
    """The class of a word behind a pronoun, an auxiliary or ``to``: a verb where it may be one."""
    for part in (VERB, ADJECTIVE, ADVERB, NOUN):
        if part in weights:
            return part
    return max(weights, key=weights.__getitem__)


def _by_ending(lower: str) -> dict[str, float]:
    """Weights of the classes that a word may have, by its ending alone."""
    if lower.endswith("ly"):
        return {ADVERB: 2.0, ADJECTIVE: 0.5}
    if lower.endswith(NOUN_ENDINGS):
        return {NOUN: 2.0}
    if lower.endswith(ADJECTIVE_ENDINGS):
        return {ADJECTIVE: 2.0, NOUN: 0.5}
    if lower.endswith(("ed", "ing")):
        return {VERB: 2.0, NOUN: 0.5}
    return {NOUN: 1.5, VERB: 1.0}


AGENT = "agent"  # a by-phrase of a passive, until its clause is closed


def _roles(words: Sequence[str], classes: Sequence[str]) -> list[tuple[str, str]]:
    """(noun, role) of a sentence's nouns.

    A noun before the verb of its clause is its subject, one behind it an object; one behind a
    preposition is neither, but for the agent behind a passive and "by".
    """
    mentions: list[tuple[str, str]] = []
    # The clause that is going on: its nouns with their roles, whether its verb was met and is
    # passive, and the preposition that the next noun belongs to.
    clause: list[tuple[str, str]] = []
    has_verb, passive, preposition = False, False, ""
    for position, (word, kind) in enumerate(zip(words, classes, strict=True)):
        if kind == "preposition" and word.lower() not in ("like", "as"):
            preposition = word.lower()
        elif kind in (VERB, "auxiliary"):
            passive = passive or (kind == VERB and _is_passive(words, classes, position))
            has_verb, preposition = True, ""
        elif kind == "break" and has_verb and _subject_follows(classes, position):
            mentions += _deep(clause, passive)
            clause, has_verb, passive, preposition = [], False, False, ""
        elif kind == "mark":
            preposition = ""
        elif kind == NOUN:
            role = "O" if has_verb else "S"
            if preposition:
                role = AGENT if passive and preposition == "by" else "X"
            clause.append((_without_possessive(word.lower()), role))
    return mentions + _deep(clause, passive)


def _without_possessive(noun: str) -> str:
    """A noun without "'s", or the apostrophe alone, at its end."""
    return noun.removesuffix("'s").removesuffix("’s").removesuffix("'")


def _deep(clause: list[tuple[str, str]], passive: bool) -> list[tuple[str, str]]:
    """The nouns of a clause in their deep roles: a passive's subject is an object."""
    deep = {"S": "O", AGENT: "S"} if passive else {}
    return [(noun, deep.get(role, role)) for noun, role in clause]


def _is_passive(words: Sequence[str], classes: Sequence[str], position: int) -> bool:
    """Whether a verb is a participle behind a form of "to be", with at most adverbs between."""
    verb = words[position].lower()
    if not verb.endswith(("ed", "en")) and verb not in PARTICIPLES:
        return False
    earlier = position - 1
    while earlier >= 0 and classes[earlier] in (ADVERB, "adverb"):
        earlier -= 1
    return earlier >= 0 and words[earlier].lower() in BE


def _subject_follows(classes: Sequence[str], position: int) -> bool:
    """Whether a noun or a pronoun stands behind ``position``, and a verb behind it."""
    subject = False
    for kind in classes[position + 1 :]:
        if kind in (VERB, "auxiliary"):
            return subject
        if kind in ("mark", "break"):
            return False
        subject = subject or kind in (NOUN, "pronoun")
    return False
