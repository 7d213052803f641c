"""Eleven named corruptions, each at any severity, seeded, one recorded edit per place: the input of the critics' matrix.

Place j of an article is struck where a uniform number named by (seed, corruption, article, j) is below the severity, so the places
of a lower severity are among those of a higher one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from longform.core.documents import Document, Section
from longform.datasets.synthetic_world import grammar, lexicon
from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.domains import Domain, domain
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.grammar import Mention, Sentence
from longform.datasets.synthetic_world.languages import LANGUAGES, translate_word
from longform.datasets.synthetic_world.lexicon import TABLE_SIZE, article, plural
from longform.datasets.synthetic_world.mentions import FORMS, GENDER_OF, GENDERS, WRONG_GENDER

SOUND = "sound@0"  # in ids, what others have as corruption@severity
DONOR_OFFSET = 1_000_003  # the article that lends off-topic sentences is another one of the same world
PROPER = frozenset(lexicon.PLACES + lexicon.COMPANIES)
Place = tuple[int, int]  # (section, sentence); a corruption of whole sections has sentence -1
Layout = list[tuple[str, list[str]]]  # title and the texts of the sentences, by section


@dataclass(frozen=True)
class Context:
    """What a corruption may look at: the article, its domain, the world's seed, and its own random numbers."""

    article: Article
    domain: str
    seed: int
    draws: Draws

    @property
    def world(self) -> Domain:
        """What the article was drawn from."""
        return domain(self.domain)

    def sentence(self, place: Place) -> Sentence:
        """The sentence at a place."""
        return self.article.sections[place[0]][1][place[1]]


@dataclass(frozen=True)
class Corruption:
    """Where a corruption can strike, and what it makes of a sentence or of whole sections.

    Attributes:
        places: of an article, in reading order.
        rewrite: the new text of a sentence, from the sound article.
        rearrange: in place of ``rewrite``, change the layout of the sections that are struck.
    """

    places: Callable[[Article], Iterator[Place]]
    rewrite: Callable[[Context, Place], str] | None = None
    rearrange: Callable[[Layout, list[int]], None] | None = None


def corrupt(article: Article, *, domain_name: str, corruption: str, severity: float, seed: int) -> Document:
    """The article with one corruption at a severity; ``Document.edits`` has one record per struck place."""
    rng = stream("failure", corruption, seed, domain_name, article.index)
    places = eligible_places(article, corruption)
    struck = [place for place, u in zip(places, rng.random(len(places)), strict=True) if u < severity]
    document = to_document(article, domain_name)
    if not struck:
        return document
    chosen = CORRUPTIONS[corruption]
    layout: Layout = [(title, [s.text for s in sentences]) for title, sentences in article.sections]
    edits: list[dict[str, Any]] = []
    if chosen.rewrite:
        context = Context(article, domain_name, seed, Draws(rng))
        for section, sentence in struck:
            before, after = layout[section][1][sentence], chosen.rewrite(context, (section, sentence))
            layout[section][1][sentence] = after
            edits.append({"section": section, "sentence": sentence, "before": before, "after": after})
    elif chosen.rearrange:
        chosen.rearrange(layout, [section for section, _ in struck])
        texts = [" ".join(rows) for _, rows in layout]
        edits = [{"section": i, "before": document.sections[i].text, "after": texts[i]} for i, _ in struck]
    sections = tuple(Section(title, " ".join(text for text in rows if text)) for title, rows in layout)
    return Document(document.id, document.split, sections, tuple({"corruption": corruption, **edit} for edit in edits))


def eligible_places(article: Article, corruption: str) -> list[Place]:
    """Where a corruption can strike."""
    return list(CORRUPTIONS[corruption].places(article))


def _sentences(keep: Callable[[Article, int, int, Sentence], bool]) -> Callable[[Article], Iterator[Place]]:

    def places(article: Article) -> Iterator[Place]:
        for i, (_, sentences) in enumerate(article.sections):
            yield from ((i, j) for j, sentence in enumerate(sentences) if keep(article, i, j, sentence))

    return places


def _swap(layout: Layout, struck: list[int]) -> None:
    for i in struck:
        layout[i], layout[i + 1] = layout[i + 1], layout[i]


def _repeat(layout: Layout, struck: list[int]) -> None:
    sound = list(layout)
    for i in struck:
        layout[i] = sound[i - 1]


def _number(article: Article, section: int, sentence: int) -> int:
    return sum(len(rows) for _, rows in article.sections[:section]) + sentence


def _newcomers(article: Article, section: int, sentence: int) -> set[int]:
    """Which of a sentence's mentions are the first of their person."""
    number, sentences = _number(article, section, sentence), article.sentences
    met = {mention.person for earlier in sentences[:number] for mention in earlier.mentions}
    persons = [mention.person for mention in sentences[number].mentions]
    return {order for order, person in enumerate(persons) if person not in met and person not in persons[:order]}


def _replaced(text: str, replacements: Sequence[tuple[int, int, str]]) -> str:
    """The text with spans replaced; a replacement that opens the sentence is capitalised."""
    for start, end, new in sorted(replacements, reverse=True):
        text = text[:start] + (new[0].upper() + new[1:] if start == 0 else new) + text[end:]
    return text


def _pronoun(mention: Mention, gender: str) -> tuple[int, int, str]:
    return mention.start, mention.end, FORMS[mention.role][gender].lower()


def _wrong_pronouns(context: Context, place: Place) -> str:
    sentence = context.sentence(place)
    pronouns = [m for m in sentence.mentions if m.tag not in GENDERS]
    return _replaced(sentence.text, [_pronoun(m, WRONG_GENDER[GENDER_OF[m.tag]]) for m in pronouns])


def _unnamed(context: Context, place: Place) -> str:
    """Persons whom nobody has introduced become pronouns."""
    sentence, newcomers = context.sentence(place), _newcomers(context.article, *place)
    return _replaced(sentence.text, [_pronoun(m, m.tag) for i, m in enumerate(sentence.mentions) if i in newcomers])


def _drifted(context: Context, place: Place) -> str:
    """Every content word becomes a word of the document's least topic, in the same slot and shape."""
    sentence, world = context.sentence(place), context.world
    tables = world.vocabulary.topics[int(world.prior.weights(context.article.eta[None])[0].argmin())].tables
    replacements = []
    for slot, word, start, end in sentence.words:
        words = tables[slot.rstrip("2")]
        while (new := words[int(context.draws.uniform() * TABLE_SIZE)]) == word:
            pass
        shown = sentence.text[start:end].lower()
        shape = plural if shown == plural(word) and shown != word else article if shown == article(word) else str
        replacements.append((start, end, shape(new)))
    return _replaced(sentence.text, replacements)


@lru_cache(maxsize=4)
def _donors(seed: int, domain_name: str, index: int) -> tuple[str, ...]:
    return tuple(s.text for s in write(seed, domain_name, index).sentences if not s.mentions)


def _off_topic(context: Context, _: Place) -> str:
    return context.draws.pick(_donors(context.seed, context.domain, context.article.index + DONOR_OFFSET))


def _translated(context: Context, place: Place) -> str:
    """Every lower-case word in one invented language; names and numbers stay."""
    language = context.draws.pick(LANGUAGES)
    return re.sub(r"\b[a-z]+\b", lambda word: translate_word(language, word[0]), context.sentence(place).text)


def _falsified(context: Context, place: Place) -> str:
    """Every stated fact with a different value of the same relation."""
    sentence, page = context.sentence(place), context.article
    text = sentence.text
    for name in sentence.relations:
        relation, true = grammar.RELATIONS[page.kind][name], page.facts[name]
        value = grammar.other_value(page.kind, name, true, context.draws, context.world.vocabulary)
        head, shown, tail = text.rpartition(relation.show(true))
        text = head + relation.show(value) + tail if shown else text
    return text


def _misconnected(context: Context, place: Place) -> str:
    """A connective that never stands for the sentence's sense or one like it, in the same place."""
    sentence = context.sentence(place)
    old = grammar.CONNECTIVES[sentence.connective]
    new = grammar.CONNECTIVES[context.draws.pick(grammar.wrong_connectives(sentence.sense, sentence.across))]
    if sentence.across:
        comma = "" if new == "yet" else ","
        return re.sub(rf"^{old.capitalize()},?", new.capitalize() + comma, sentence.text)
    head, _, tail = sentence.text.rpartition(f" {old} ")
    return f"{head} {new} {tail}"


def _contradicted(context: Context, place: Place) -> str:
    text = context.sentence(place).text
    first, second = text.split(" ", 2)[:2]
    named = first in PROPER or (first in lexicon.PREFIXES and second in PROPER)
    return f"{text} It is not true that {text if named else text[0].lower() + text[1:]}"


CORRUPTIONS: Mapping[str, Corruption] = {
    "section_order": Corruption(lambda a: ((i, -1) for i in range(0, len(a.sections) - 1, 2)), rearrange=_swap),
    "repeated_section": Corruption(lambda a: ((i, -1) for i in range(1, len(a.sections))), rearrange=_repeat),
    "wrong_pronoun": Corruption(
        _sentences(lambda a, i, j, s: any(m.tag not in GENDERS for m in s.mentions)), _wrong_pronouns
    ),
    "new_entity_as_pronoun": Corruption(_sentences(lambda a, i, j, s: bool(_newcomers(a, i, j))), _unnamed),
    "topic_drift": Corruption(
        _sentences(lambda a, i, j, s: bool(s.words) and 2 * _number(a, i, j) >= len(a.path)), _drifted
    ),
    "off_topic_sentence": Corruption(
        _sentences(lambda a, i, j, s: j > 0 and not s.mentions and not s.relations), _off_topic
    ),
    "mixed_language": Corruption(_sentences(lambda a, i, j, s: True), _translated),
    "false_fact": Corruption(_sentences(lambda a, i, j, s: bool(s.relations)), _falsified),
    "repeated_sentence": Corruption(
        _sentences(lambda a, i, j, s: j > 0), lambda context, place: context.sentence((place[0], place[1] - 1)).text
    ),
    "wrong_connective": Corruption(_sentences(lambda a, i, j, s: s.connective > 0), _misconnected),
    "contradiction": Corruption(_sentences(lambda a, i, j, s: not s.mentions and not s.connective), _contradicted),
}
