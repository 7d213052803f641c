"""Eleven named corruptions, each at any severity, seeded, one recorded edit per place: the input of the critics' matrix.

A corruption first lists the places of an article where it can strike. Place j is struck where a uniform number that
depends on (seed, corruption, article, j) is below the severity: severity 0 is the identity, severity 1 strikes every
place, and the places of a lower severity are among those of a higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.grammar import Sentence
from longform.datasets.synthetic_world.rewriting import (
    contradict,
    foreign_topic,
    in_language,
    other_connective,
    other_gender,
    other_value,
    pronoun_for_name,
)
from longform.documents import BadInput, Document, Section

DONOR_OFFSET = 1_000_003  # the article that lends off-topic sentences is another one of the same world
Place = tuple[int, int]  # (section, sentence); a corruption of whole sections has sentence -1
Layout = list[tuple[str, list[str]]]  # title and the texts of the sentences, by section


@dataclass(frozen=True)
class Context:
    """What a corruption may look at: the article, its domain, the world's seed, and its own random numbers."""

    article: Article
    domain: str
    seed: int
    draws: Draws

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
    """The article with one corruption at a severity; ``Document.edits`` has one record per struck place.

    Raises:
        BadInput: an unknown corruption, or a severity outside [0, 1].
    """
    if corruption not in CORRUPTIONS:
        raise BadInput(f"corruption {corruption!r} is unknown, allowed are {sorted(CORRUPTIONS)}; choose one of them")
    if not 0.0 <= severity <= 1.0:
        raise BadInput(f"severity is {severity}, allowed is 0 to 1; give the share of places to strike")
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
            for j, sentence in enumerate(sentences):
                if keep(article, i, j, sentence):
                    yield i, j

    return places


def _section_pairs(article: Article) -> Iterator[Place]:
    return ((i, -1) for i in range(0, len(article.sections) - 1, 2))


def _swap(layout: Layout, struck: list[int]) -> None:
    for i in struck:
        layout[i], layout[i + 1] = layout[i + 1], layout[i]


def _later_sections(article: Article) -> Iterator[Place]:
    return ((i, -1) for i in range(1, len(article.sections)))


def _repeat(layout: Layout, struck: list[int]) -> None:
    sound = list(layout)
    for i in struck:
        layout[i] = sound[i - 1]


def _number(article: Article, section: int, sentence: int) -> int:
    """The sentence's number in its article."""
    return sum(len(rows) for _, rows in article.sections[:section]) + sentence


def _newcomers(article: Article, section: int, sentence: int) -> set[int]:
    """Which of a sentence's mentions are the first of their person."""
    number, sentences = _number(article, section, sentence), article.sentences
    met = {mention.person for earlier in sentences[:number] for mention in earlier.mentions}
    persons = [mention.person for mention in sentences[number].mentions]
    return {order for order, person in enumerate(persons) if person not in met and person not in persons[:order]}


def _drifted(context: Context, place: Place) -> str:
    world = domain(context.domain)
    least = world.vocabulary.topics[int(world.prior.weights(context.article.eta[None])[0].argmin())]
    return foreign_topic(context.sentence(place), least, context.draws)


def _off_topic(context: Context, _: Place) -> str:
    other = write(context.seed, context.domain, context.article.index + DONOR_OFFSET)
    return context.draws.pick([s for s in other.sentences if not s.mentions]).text


def _falsified(context: Context, place: Place) -> str:
    return other_value(context.sentence(place), context.article, domain(context.domain).vocabulary, context.draws)


CORRUPTIONS: Mapping[str, Corruption] = {
    "section_order": Corruption(_section_pairs, rearrange=_swap),
    "repeated_section": Corruption(_later_sections, rearrange=_repeat),
    "wrong_pronoun": Corruption(
        _sentences(lambda a, i, j, s: other_gender(s) != s.text),
        lambda context, place: other_gender(context.sentence(place)),
    ),
    "new_entity_as_pronoun": Corruption(
        _sentences(lambda a, i, j, s: bool(_newcomers(a, i, j))),
        lambda context, place: pronoun_for_name(context.sentence(place), _newcomers(context.article, *place)),
    ),
    "topic_drift": Corruption(
        _sentences(lambda a, i, j, s: bool(s.words) and 2 * _number(a, i, j) >= len(a.path)),
        _drifted,
    ),
    "off_topic_sentence": Corruption(
        _sentences(lambda a, i, j, s: j > 0 and not s.mentions and not s.relations),
        _off_topic,
    ),
    "mixed_language": Corruption(
        _sentences(lambda a, i, j, s: True),
        lambda context, place: in_language(context.sentence(place), context.draws),
    ),
    "false_fact": Corruption(_sentences(lambda a, i, j, s: bool(s.relations)), _falsified),
    "repeated_sentence": Corruption(
        _sentences(lambda a, i, j, s: j > 0),
        lambda context, place: context.sentence((place[0], place[1] - 1)).text,
    ),
    "wrong_connective": Corruption(
        _sentences(lambda a, i, j, s: s.connective > 0),
        lambda context, place: other_connective(context.sentence(place), context.draws),
    ),
    "contradiction": Corruption(
        _sentences(lambda a, i, j, s: not s.mentions and not s.connective),
        lambda context, place: contradict(context.sentence(place)),
    ),
}
