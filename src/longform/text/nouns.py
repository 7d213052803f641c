"""Nouns and their roles by rules, which are no parser, and the singular of a noun by suffix rules and lists.

The paper lemmatised titles by NLTK's WordNet (deng2022 section 4): its detachment rules are kept, lists stand where its lexicon, a
download, decides; function words are never touched (WordNet turns ``as`` into ``a``)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from longform.files.artefacts import read_yaml
from longform.text.lexicon import Lexicon

WORDS = read_yaml(Path(__file__).with_name("words.yaml"))


def _pairs(block: str) -> dict[str, str]:
    words = block.split()
    return dict(zip(words[::2], words[1::2], strict=True))


IRREGULAR, AMERICAN = _pairs(WORDS["irregular"]), _pairs(WORDS["american"])
UNCHANGED = frozenset(WORDS["unchanged"].split())


def lemma(word: str) -> str:
    """The singular of a lower-case English noun; any other word comes back as it is."""
    head, hyphen, last = word.rpartition("-")
    if last in IRREGULAR:
        return head + hyphen + IRREGULAR[last]
    if (
        last in UNCHANGED
        or len(last) <= 3
        or not last.isalpha()
        or last.endswith(("ss", "us", "is"))
    ):
        return word
    if last.endswith("men"):
        return word[:-3] + "man"
    if last.endswith("ies") and len(last) > 4:
        return word[:-3] + "y"
    return (
        word[:-2]
        if last.endswith(("sses", "xes", "zzes", "ches", "shes"))
        else word.removesuffix("s")
    )


NOUN, VERB, ADJECTIVE, ADVERB = "n", "v", "a", "r"
BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being"])
# of the kinds that list a word the first holds
CLOSED = {
    word: kind for kind, words in reversed(WORDS["closed"].items()) for word in words.split()
} | {"that": "break"}
BEFORE_NOUNS = {"determiner", "preposition", "number", ADJECTIVE}
BEFORE_VERBS = {"pronoun", "auxiliary"}
ADJECTIVE_ENDINGS, NOUN_ENDINGS = (
    tuple(WORDS[name].split()) for name in ("adjective_endings", "noun_endings")
)
PARTICIPLES = frozenset(WORDS["participles"].split())
OTHER_SCRIPT = "other script"  # the class of a word that is not written in Latin letters: these rules know no such noun
LATIN = "A-Za-zªºÀ-ÖØ-öø-ʯḀ-ỿⱠ-ⱻﬀ-ﬆＡ-Ｚａ-ｚ"  # letters of Latin script, as ranges of a character class
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
    """The finder; a lexicon tells which classes a word may have, and how often; without one, endings decide."""

    lexicon: Lexicon | None = field(default=None, repr=False)

    def mentions(self, sentence: str) -> list[tuple[str, str]]:
        """(noun in lower case, role S, O or X) in order of appearance."""
        words = _TOKEN.findall(sentence)
        return _roles(words, self.classes(words))

    def classes(self, words: Sequence[str]) -> list[str]:
        """The guessed class of each word: n, v, a, r, the name of a closed class, ``number``, ``mark`` or ``other script``."""
        found: list[str] = []
        for place, word in enumerate(words):
            found.append(self._word_class(word, place, found[-1] if found else "start", words))
        return found

    def _word_class(self, word: str, place: int, before: str, words: Sequence[str]) -> str:
        lower = word.lower()
        if lower in CLOSED:
            return CLOSED[lower]
        if not word[0].isalpha():
            return "number" if word[0].isdigit() else "mark"
        if not _LATIN_LETTER.match(word):
            return OTHER_SCRIPT
        weights = self._weights(lower)
        noun, adjective = weights.get(NOUN, 0), weights.get(ADJECTIVE, 0)
        following = words[place + 1].lower() if place + 1 < len(words) else "."
        describes = adjective > noun and following[0].isalpha() and following not in CLOSED
        if word[0].isupper() and place and words[place - 1] not in "\"“‘'(":
            return ADJECTIVE if describes else NOUN
        if before == "auxiliary" and (lower in PARTICIPLES or lower.endswith("ed")):
            return VERB
        if before == NOUN and NOUN in weights and CLOSED.get(following) == "auxiliary":
            return NOUN
        follows_to = place > 0 and words[place - 1].lower() == "to"
        if before in BEFORE_VERBS or (follows_to and weights.get(VERB, 0) > noun):
            order = (
                (VERB, ADJECTIVE, ADVERB, NOUN) if VERB in weights else (ADJECTIVE, ADVERB, NOUN)
            )
            return next(
                (part for part in order if part in weights), max(weights, key=weights.__getitem__)
            )
        if before in BEFORE_NOUNS and (describes or noun):
            return ADJECTIVE if describes else NOUN
        return max(weights, key=weights.__getitem__)

    def _weights(self, lower: str) -> dict[str, float]:
        if self.lexicon is None:
            return _by_ending(lower)
        forms = [
            (lower, "nvar"),
            *((lemma, NOUN) for lemma in self.lexicon.noun_lemmas(lower) if lemma != lower),
        ]
        for ending, stems in VERB_ENDINGS:
            if lower.endswith(ending) and len(lower) > len(ending) + 1:
                forms += [(lower[: -len(ending)] + stem, VERB) for stem in stems]
        weights: dict[str, float] = {}
        for form, classes in dict.fromkeys(forms):
            for part, (tagged, senses) in self.lexicon.uses.get(form, {}).items():
                part = ADJECTIVE if part == "s" else part
                if part in classes:
                    weights[part] = weights.get(part, 0.0) + tagged + 0.1 * senses
        return weights or (
            {VERB: 1.0, ADJECTIVE: 0.9} if self.lexicon.nouns_only else _by_ending(lower)
        )


VERB_ENDINGS = (
    ("ing", ("", "e")),
    ("ed", ("", "e")),
    ("ies", ("y",)),
    ("ied", ("y",)),
    ("es", ("",)),
    ("s", ("",)),
)


def _by_ending(lower: str) -> dict[str, float]:
    if lower.endswith("ly"):
        return {ADVERB: 2.0, ADJECTIVE: 0.5}
    if lower.endswith(NOUN_ENDINGS):
        return {NOUN: 2.0}
    if lower.endswith(ADJECTIVE_ENDINGS):
        return {ADJECTIVE: 2.0, NOUN: 0.5}
    return {VERB: 2.0, NOUN: 0.5} if lower.endswith(("ed", "ing")) else {NOUN: 1.5, VERB: 1.0}


AGENT = "agent"  # a by-phrase of a passive, until its clause is closed


def _roles(words: Sequence[str], classes: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    clause: list[tuple[str, str]] = []
    verb, passive, preposition = False, False, ""
    for place, (word, kind) in enumerate(zip(words, classes, strict=True)):
        if kind == "preposition" and word.lower() not in ("like", "as"):
            preposition = word.lower()
        elif kind in (VERB, "auxiliary"):
            passive = passive or (kind == VERB and _is_passive(words, classes, place))
            verb, preposition = True, ""
        elif kind == "break" and verb and _subject_follows(classes, place):
            found += _deep(clause, passive)
            clause, verb, passive, preposition = [], False, False, ""
        elif kind == "mark":
            preposition = ""
        elif kind == NOUN:
            role = "O" if verb else "S"
            if preposition:
                role = AGENT if passive and preposition == "by" else "X"
            clause.append(
                (word.lower().removesuffix("'s").removesuffix("’s").removesuffix("'"), role)
            )
    return found + _deep(clause, passive)


def _deep(clause: list[tuple[str, str]], passive: bool) -> list[tuple[str, str]]:
    deep = {"S": "O", AGENT: "S"} if passive else {}
    return [(noun, deep.get(role, role)) for noun, role in clause]


def _is_passive(words: Sequence[str], classes: Sequence[str], place: int) -> bool:
    if not (words[place].lower().endswith(("ed", "en")) or words[place].lower() in PARTICIPLES):
        return False
    back = place - 1
    while back >= 0 and classes[back] in (ADVERB, "adverb"):
        back -= 1
    return back >= 0 and words[back].lower() in BE


def _subject_follows(classes: Sequence[str], place: int) -> bool:
    seen = False
    for kind in classes[place + 1 :]:
        if kind in (VERB, "auxiliary"):
            return seen
        if kind in ("mark", "break"):
            return False
        seen = seen or kind in (NOUN, "pronoun")
    return False
