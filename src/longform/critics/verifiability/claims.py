"""From a generated text to claims that can be checked one by one (massarelli2020, section 3, sentence processing).

In this order: the first five sentences; pronouns replaced by what they refer to; a determiner that opens a sentence
replaced, with its noun, by the page's title; sentences of more than 50 tokens marked as not verifiable. Everything
that knows a language (splitter, word classes, coreference) is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from longform.text.nouns import ADJECTIVE, NOUN, NounRules

SENTENCES = 5  # k, massarelli2020 section 3
MOST_TOKENS = 50  # massarelli2020 section 3: longer sentences count as not enough information
OPENING = ("the",)
PERSONAL = frozenset(["he", "she", "it", "they", "him", "them"])
POSSESSIVE = frozenset(["his", "its", "their", "hers", "theirs"])
_WORD = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_CLOSED = re.compile(r"[.!?][\"'”’)\]]*$")

Splitter = Callable[[str], Sequence[str]]
Classes = Callable[[Sequence[str]], Sequence[str]]  # words -> word classes, NOUN and ADJECTIVE among them
Resolver = Callable[[str, Sequence[Sequence[str]]], Sequence[Mapping[int, str]]]


@dataclass(frozen=True)
class Claim:
    """One sentence, ready for a checker.

    Attributes:
        text: what is checked.
        source: the sentence as it was generated.
        verifiable: False where the sentence is too long; it counts as not enough information.
        named: whether the determiner rule put the title in.
        pronouns: how many pronouns were replaced.
        cut: the sentence does not end in a closing mark, so the generation ran out inside it.
    """

    text: str
    source: str
    verifiable: bool
    named: bool
    pronouns: int
    cut: bool


def words_of(sentence: str) -> list[str]:
    """Words, numbers and single marks."""
    return _WORD.findall(sentence)


def claims_of(
    text: str,
    title: str,
    split: Splitter,
    classes: Classes | None = None,
    resolve: Resolver | None = None,
    sentences: int = SENTENCES,
    most_tokens: int = MOST_TOKENS,
    determiners: Sequence[str] = OPENING,
    adjectives: bool = False,
) -> list[Claim]:
    """The first ``sentences`` sentences of a text as claims about the page ``title``; an empty text has none.

    Args:
        split: text -> sentences.
        classes: word classes; the rules of :mod:`longform.text.nouns` by default.
        resolve: see :func:`opening_pronouns`; pronouns stay where there is none.
        determiners: those that the rule replaces, in lower case.
        adjectives: let adjectives stand between determiner and noun (the paper's rule takes the next token only).
    """
    classes = classes or NounRules().classes
    found = [sentence.strip() for sentence in split(text) if sentence.strip()][:sentences]
    words = [words_of(sentence) for sentence in found]
    referents = resolve(title, words) if resolve is not None else [{} for _ in found]
    made = []
    for sentence, tokens, known in zip(found, words, referents, strict=True):
        resolved = replace_pronouns(sentence, known, classes)
        named = replace_determiner(resolved, title, classes, determiners, adjectives)
        cut = _CLOSED.search(sentence) is None
        replaced = sum(tokens[place].lower() in PERSONAL | POSSESSIVE | {"her"} for place in known)
        made.append(Claim(named or resolved, sentence, len(tokens) <= most_tokens, named is not None, replaced, cut))
    return made


def replace_determiner(
    sentence: str, title: str, classes: Classes, determiners: Sequence[str] = OPENING, adjectives: bool = False
) -> str | None:
    """The sentence with its opening determiner and common noun replaced by the title; None where the rule does not fire.

    A noun with a capital is a name, and "The United States" stays. "The war ended" becomes "<title> ended": the rule
    over-applies by design, which is why it is counted.
    """
    spans = [match.span() for match in _WORD.finditer(sentence)]
    words = [sentence[start:end] for start, end in spans]
    if len(words) < 2 or words[0].lower() not in determiners:
        return None
    kinds, place = classes(words), 1
    while adjectives and place + 1 < len(words) and kinds[place] == ADJECTIVE and words[place].islower():
        place += 1
    if kinds[place] != NOUN or not words[place].islower():
        return None
    return title + sentence[spans[place][1] :]


def replace_pronouns(sentence: str, referents: Mapping[int, str], classes: Classes) -> str:
    """Pronouns at the given word places replaced by their referents, possessives by ``referent's``; other words stay."""
    spans = [match.span() for match in _WORD.finditer(sentence)]
    words = [sentence[start:end] for start, end in spans]
    kinds = classes(words) if referents else []
    for place in sorted(referents, reverse=True):
        word, (start, end) = words[place].lower(), spans[place]
        before_noun = place + 1 < len(words) and kinds[place + 1] in (NOUN, ADJECTIVE)
        possessive = word in POSSESSIVE or (word == "her" and before_noun)
        if possessive or word in PERSONAL or word == "her":
            name = f"{referents[place]}'s" if possessive else referents[place]
            sentence = sentence[:start] + name + sentence[end:]
    return sentence


def opening_pronouns(title: str, sentences: Sequence[Sequence[str]]) -> list[dict[int, str]]:
    """The simplest resolver: a pronoun of the third person that opens a sentence means the page's subject.

    A resolver takes the title and the words of each sentence, and gives for each sentence the places of its pronouns
    with what they refer to. This one is a baseline for texts about one subject, not coreference resolution.
    """
    opening = PERSONAL | POSSESSIVE | {"her"}
    return [{0: title} if words and words[0].lower() in opening else {} for words in sentences]
