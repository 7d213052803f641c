"""Eleven named corruptions, each at any severity, seeded, one recorded edit per place: the input of the critics' matrix.

Place j of an article is struck where a uniform number named by (seed, corruption, article, j) is below the severity, so the places
of a lower severity are among those of a higher one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from longform.documents import Document, Section
from synthetic_world import grammar, lexicon
from synthetic_world.articles import Article, write
from synthetic_world.corpus import to_document
from synthetic_world.domains import domain
from synthetic_world.draws import Draws, stream
from synthetic_world.grammar import Sentence
from synthetic_world.languages import LANGUAGES, translate_word
from synthetic_world.lexicon import TABLE_SIZE, article, plural
from synthetic_world.mentions import FORMS, GENDER_OF, GENDERS, WRONG_GENDER

SOUND = "sound@0"  # in ids, what others have as corruption@severity
DONOR_OFFSET = (
    1_000_003  # the article that lends off-topic sentences is another one of the same world
)
ALIKE = ("contrast", "concession")  # told apart by no reader
PROPER = frozenset(lexicon.PLACES + lexicon.COMPANIES)
Place = tuple[int, int]  # (section, sentence); a corruption of whole sections has sentence -1


@dataclass(frozen=True)
class Context:
    """What a corruption of a sentence may look at: the sound article, the world, its own random numbers, and the place."""

    article: Article
    domain: str
    seed: int
    draws: Draws
    place: Place

    @property
    def sentence(self) -> Sentence:
        """The sentence that is struck."""
        return self.article.sections[self.place[0]][1][self.place[1]]


def corrupt(
    article: Article, *, domain_name: str, corruption: str, severity: float, seed: int
) -> Document:
    """The article with one corruption at a severity.

    ``Document.edits`` has one record per struck place.
    """
    rng = stream("failure", corruption, seed, domain_name, article.index)
    places = eligible_places(article, corruption)
    struck = [
        place for place, u in zip(places, rng.random(len(places)), strict=True) if u < severity
    ]
    document = to_document(article, domain_name)
    sections = list(document.sections)
    edits: list[dict[str, Any]] = []
    if corruption in OF_SECTIONS:
        for i, _ in struck:
            if corruption == "section_order":
                sections[i : i + 2] = document.sections[i + 1], document.sections[i]
            else:
                sections[i] = document.sections[i - 1]
        edits = [
            {"section": i, "before": document.sections[i].text, "after": sections[i].text}
            for i, _ in struck
        ]
    elif struck:
        texts = [[s.text for s in sentences] for _, sentences in article.sections]
        rewrite, draws = OF_SENTENCES[corruption][1], Draws(rng)
        for section, sentence in struck:
            after = rewrite(Context(article, domain_name, seed, draws, (section, sentence)))
            edits.append(
                {
                    "section": section,
                    "sentence": sentence,
                    "before": texts[section][sentence],
                    "after": after,
                }
            )
            texts[section][sentence] = after
        sections = [
            Section(s.title, " ".join(rows)) for s, rows in zip(sections, texts, strict=True)
        ]
    return replace(
        document,
        sections=tuple(sections),
        edits=tuple({"corruption": corruption, **e} for e in edits),
    )


def eligible_places(article: Article, corruption: str) -> list[Place]:
    """Where a corruption can strike."""
    if corruption in OF_SECTIONS:
        return [(i, -1) for i in OF_SECTIONS[corruption](len(article.sections))]
    keep = OF_SENTENCES[corruption][0]
    sentences = (
        (i, j, s) for i, (_, rows) in enumerate(article.sections) for j, s in enumerate(rows)
    )
    return [(i, j) for i, j, s in sentences if keep(article, i, j, s)]


def _number(article: Article, section: int, sentence: int) -> int:
    return sum(len(rows) for _, rows in article.sections[:section]) + sentence


def _newcomers(article: Article, section: int, sentence: int) -> list[int]:
    """Which of a sentence's mentions are the first of their person."""
    number, sentences = _number(article, section, sentence), article.sentences
    met = [mention.person for earlier in sentences[:number] for mention in earlier.mentions]
    persons = met + [mention.person for mention in sentences[number].mentions]
    return [i - len(met) for i in range(len(met), len(persons)) if persons[i] not in persons[:i]]


def _replaced(text: str, replacements: Sequence[tuple[int, int, str]]) -> str:
    """The text with spans replaced; a replacement that opens the sentence is capitalised."""
    for start, end, new in sorted(replacements, reverse=True):
        text = text[:start] + (new[0].upper() + new[1:] if start == 0 else new) + text[end:]
    return text


def _pronouns(sentence: Sentence, genders: Mapping[int, str]) -> str:
    """The sentence with pronouns of a gender in place of some of its mentions."""
    chosen = ((sentence.mentions[place], gender) for place, gender in genders.items())
    return _replaced(
        sentence.text, [(m.start, m.end, FORMS[m.role][gender].lower()) for m, gender in chosen]
    )


def _wrong_pronouns(context: Context) -> str:
    mentions = enumerate(context.sentence.mentions)
    return _pronouns(
        context.sentence,
        {i: WRONG_GENDER[GENDER_OF[m.tag]] for i, m in mentions if m.tag not in GENDERS},
    )


def _unnamed(context: Context) -> str:
    """Persons whom nobody has introduced become pronouns."""
    mentions = context.sentence.mentions
    return _pronouns(
        context.sentence, {i: mentions[i].tag for i in _newcomers(context.article, *context.place)}
    )


def _drifted(context: Context) -> str:
    """Every content word becomes a word of the document's least topic, in the same slot and shape."""
    sentence, world = context.sentence, domain(context.domain)
    tables = world.vocabulary.topics[
        int(world.prior.weights(context.article.eta[None])[0].argmin())
    ].tables
    replacements = []
    for slot, word, start, end in sentence.words:
        words = tables[slot.rstrip("2")]
        while (new := words[int(context.draws.uniform() * TABLE_SIZE)]) == word:
            pass
        shown = sentence.text[start:end].lower()
        shape = (
            plural
            if shown == plural(word) and shown != word
            else article
            if shown == article(word)
            else str
        )
        replacements.append((start, end, shape(new)))
    return _replaced(sentence.text, replacements)


@lru_cache(maxsize=4)
def _donors(seed: int, domain_name: str, index: int) -> tuple[str, ...]:
    return tuple(s.text for s in write(seed, domain_name, index).sentences if not s.mentions)


def _off_topic(context: Context) -> str:
    return context.draws.pick(
        _donors(context.seed, context.domain, context.article.index + DONOR_OFFSET)
    )


def _translated(context: Context) -> str:
    """Every lower-case word in one invented language; names and numbers stay."""
    language = context.draws.pick(LANGUAGES)
    return re.sub(
        r"\b[a-z]+\b", lambda word: translate_word(language, word[0]), context.sentence.text
    )


def _falsified(context: Context) -> str:
    """Every stated fact with a different value of the same relation."""
    sentence, page = context.sentence, context.article
    text = sentence.text
    for name in sentence.relations:
        relation, true = grammar.RELATIONS[page.kind][name], page.facts[name]
        value = grammar.other_value(
            page.kind, name, true, context.draws, domain(context.domain).vocabulary
        )
        head, shown, tail = text.rpartition(relation.show(true))
        text = head + relation.show(value) + tail if shown else text
    return text


def _misconnected(context: Context) -> str:
    """A connective that never stands for the sentence's sense or one like it, in the same place."""
    sentence = context.sentence
    probabilities, sense = (
        grammar.connective_probabilities()[int(sentence.across)],
        grammar.SENSES[sentence.sense],
    )
    alike = [grammar.SENSES.index(name) for name in (ALIKE if sense in ALIKE else (sense,))]
    wrong = np.flatnonzero(probabilities.any(axis=0) & ~probabilities[alike].any(axis=0)).tolist()
    old, new = (
        grammar.CONNECTIVES[sentence.connective],
        grammar.CONNECTIVES[context.draws.pick(wrong)],
    )
    if sentence.across:
        return re.sub(
            rf"^{old.capitalize()},?",
            new.capitalize() + ("" if new == "yet" else ","),
            sentence.text,
        )
    head, _, tail = sentence.text.rpartition(f" {old} ")
    return f"{head} {new} {tail}"


def _contradicted(context: Context) -> str:
    text = context.sentence.text
    first, second = text.split(" ", 2)[:2]
    named = first in PROPER or (first in lexicon.PREFIXES and second in PROPER)
    return f"{text} It is not true that {text if named else text[0].lower() + text[1:]}"


def _repeated(context: Context) -> str:
    section, sentence = context.place
    return context.article.sections[section][1][sentence - 1].text


# which of so many sections can be struck: a section changes places with the next, or has the text
# of the one before
OF_SECTIONS: Mapping[str, Callable[[int], range]] = {
    "section_order": lambda sections: range(0, sections - 1, 2),
    "repeated_section": lambda sections: range(1, sections),
}
# whether sentence j of section i of an article can be struck, and its new text
OF_SENTENCES: Mapping[
    str, tuple[Callable[[Article, int, int, Sentence], bool], Callable[[Context], str]]
] = {
    "wrong_pronoun": (
        lambda a, i, j, s: any(m.tag not in GENDERS for m in s.mentions),
        _wrong_pronouns,
    ),
    "new_entity_as_pronoun": (lambda a, i, j, s: bool(_newcomers(a, i, j)), _unnamed),
    "topic_drift": (
        lambda a, i, j, s: bool(s.words) and 2 * _number(a, i, j) >= len(a.path),
        _drifted,
    ),
    "off_topic_sentence": (
        lambda a, i, j, s: j > 0 and not s.mentions and not s.relations,
        _off_topic,
    ),
    "mixed_language": (lambda a, i, j, s: True, _translated),
    "false_fact": (lambda a, i, j, s: bool(s.relations), _falsified),
    "repeated_sentence": (lambda a, i, j, s: j > 0, _repeated),
    "wrong_connective": (lambda a, i, j, s: s.connective > 0, _misconnected),
    "contradiction": (lambda a, i, j, s: not s.mentions and not s.connective, _contradicted),
}
CORRUPTIONS = (*OF_SECTIONS, *OF_SENTENCES)
