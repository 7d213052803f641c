"""One sentence made wrong in one way, by the record of what stands where in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from longform.datasets.synthetic_world import discourse, facts, names
from longform.datasets.synthetic_world.articles import Article
from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.grammar import Mention, Sentence
from longform.datasets.synthetic_world.languages import LANGUAGES, translate_word
from longform.datasets.synthetic_world.lexicon import TABLE_SIZE, Topic, Vocabulary, article, plural
from longform.datasets.synthetic_world.mentions import (
    FEMALE,
    GENDER_OF,
    GENDERS,
    MALE,
    OBJECT,
    PLURAL,
    POSSESSIVE,
    SUBJECT,
)

WRONG_GENDER = {MALE: FEMALE, FEMALE: MALE, PLURAL: MALE}
FORMS = {"S": SUBJECT, "O": OBJECT, "P": POSSESSIVE}  # by role of a mention
PROPER = frozenset(names.PLACES + names.COMPANIES)


def _replaced(text: str, replacements: Sequence[tuple[int, int, str]]) -> str:
    """The text with spans replaced; a replacement that opens the sentence is capitalised."""
    for start, end, new in sorted(replacements, reverse=True):
        text = text[:start] + (new[0].upper() + new[1:] if start == 0 else new) + text[end:]
    return text


def _pronoun(mention: Mention, gender: str) -> tuple[int, int, str]:
    return mention.start, mention.end, FORMS[mention.role][gender].lower()


def other_gender(sentence: Sentence) -> str:
    """Every pronoun in a wrong gender."""
    pronouns = [m for m in sentence.mentions if m.tag not in GENDERS]
    return _replaced(sentence.text, [_pronoun(m, WRONG_GENDER[GENDER_OF[m.tag]]) for m in pronouns])


def pronoun_for_name(sentence: Sentence, orders: Collection[int]) -> str:
    """The named mentions become pronouns: persons whom nobody has introduced."""
    chosen = [m for order, m in enumerate(sentence.mentions) if order in orders]
    return _replaced(sentence.text, [_pronoun(m, m.tag) for m in chosen])


def foreign_topic(sentence: Sentence, topic: Topic, draws: Draws) -> str:
    """Every content word becomes a word of another topic, in the same slot and shape."""
    replacements = []
    for slot, word, start, end in sentence.words:
        table = topic.tables[slot.rstrip("2")]
        while (new := table[int(draws.uniform() * TABLE_SIZE)]) == word:
            pass
        shown = sentence.text[start:end].lower()
        shape = plural if shown == plural(word) and shown != word else article if shown == article(word) else str
        replacements.append((start, end, shape(new)))
    return _replaced(sentence.text, replacements)


def in_language(sentence: Sentence, draws: Draws) -> str:
    """Every lower-case word in one invented language; names and numbers stay."""
    language = draws.pick(LANGUAGES)
    return re.sub(r"\b[a-z]+\b", lambda match: translate_word(language, match[0]), sentence.text)


def other_value(sentence: Sentence, page: Article, vocabulary: Vocabulary, draws: Draws) -> str:
    """Every stated fact with a different value of the same relation."""
    text = sentence.text
    for name in sentence.relations:
        relation, true = facts.RELATIONS[page.kind][name], page.facts[name]
        value = facts.other_value(page.kind, name, true, draws, vocabulary)
        head, shown, tail = text.rpartition(relation.show(true))
        text = head + relation.show(value) + tail if shown else text
    return text


def other_connective(sentence: Sentence, draws: Draws) -> str:
    """A connective that never stands for the sentence's sense or one like it, in the same place."""
    wrong = discourse.wrong_connectives(sentence.sense, sentence.across)
    old, new = discourse.CONNECTIVES[sentence.connective], discourse.CONNECTIVES[draws.pick(wrong)]
    if sentence.across:
        comma = "" if new == "yet" else ","
        return re.sub(rf"^{old.capitalize()},?", new.capitalize() + comma, sentence.text)
    head, _, tail = sentence.text.rpartition(f" {old} ")
    return f"{head} {new} {tail}"


def contradict(sentence: Sentence) -> str:
    """The sentence, and after it its denial."""
    first, second = sentence.text.split(" ", 2)[:2]
    named = first in PROPER or (first in names.PREFIXES and second in PROPER)
    body = sentence.text if named else sentence.text[0].lower() + sentence.text[1:]
    return f"{sentence.text} It is not true that {body}"
