"""Eleven named failures, each at any dose, seeded, one recorded edit per place: the input of the critic's matrix.

A failure first lists the places of an article where it can strike. Place j is struck where a uniform number that
depends on (seed, failure, article, j) is below the dose: dose 0 is the identity, dose 1 strikes every place, and the
places of a lower dose are among those of a higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.draws import Draws
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
from longform.resampling import generator

DONOR_OFFSET = 1_000_003  # the article that lends off-topic sentences is another one of the same world


@dataclass(frozen=True)
class Context:
    """What a failure may look at: the article, its domain, a donor of foreign sentences, and its own random numbers."""

    article: Article
    domain: str
    seed: int
    draws: Draws

    def donors(self) -> list[Sentence]:
        """Sentences without persons of another article."""
        other = write(self.seed, self.domain, self.article.index + DONOR_OFFSET)
        return [s for s in other.sentences if not s.mentions]


Place = tuple[int, int]  # (section, sentence); a failure of whole sections has sentence -1
Layout = list[list[str]]  # the texts of the sentences by section
Strike = Callable[[Context, Layout, Place], str]


def corrupt(article: Article, *, domain_name: str, failure: str, dose: float, seed: int) -> Document:
    """The article with one failure at a dose; ``Document.edits`` has one record per struck place.

    Raises:
        BadInput: an unknown failure, or a dose outside [0, 1].
    """
    if failure not in FAILURES:
        raise BadInput(f"failure {failure!r} is unknown, allowed are {sorted(FAILURES)}; choose one of them")
    if not 0.0 <= dose <= 1.0:
        raise BadInput(f"dose is {dose}, allowed is 0 to 1; give the share of places to strike")
    eligible, apply = FAILURES[failure]
    rng = generator("planted", "failure", failure, seed, domain_name, article.index)
    places = list(eligible(article))
    struck = [place for place, u in zip(places, rng.random(len(places)), strict=True) if u < dose]
    context = Context(article, domain_name, seed, Draws(rng))
    edits, sections = apply(context, struck)
    clean = to_document(article, domain_name)
    records = tuple({"failure": failure, **edit} for edit in edits)
    return Document(clean.id, clean.split, sections, records) if edits else clean


def eligible_places(article: Article, failure: str) -> list[Place]:
    """Where a failure can strike."""
    return list(FAILURES[failure][0](article))


Struck = tuple[list[dict[str, Any]], tuple[Section, ...]]  # one record per edit, and the damaged sections
Apply = Callable[[Context, list[Place]], Struck]


def _layout(article: Article) -> tuple[list[str], Layout]:
    return [title for title, _ in article.sections], [[s.text for s in rows] for _, rows in article.sections]


def _join(titles: list[str], layout: Layout) -> tuple[Section, ...]:
    texts = (" ".join(text for text in rows if text) for rows in layout)
    return tuple(Section(title, text) for title, text in zip(titles, texts, strict=True))


def _by_sentence(strike: Strike) -> Apply:
    """Strike sentences one by one, each from the article's true text."""

    def apply(context: Context, struck: list[Place]) -> Struck:
        titles, layout = _layout(context.article)
        true = [list(rows) for rows in layout]
        edits = []
        for section, sentence in struck:
            before = true[section][sentence]
            after = strike(context, true, (section, sentence))
            layout[section][sentence] = after
            edits.append({"section": section, "sentence": sentence, "before": before, "after": after})
        return edits, _join(titles, layout)

    return apply


def _sentences(keep: Callable[[Article, int, int, Sentence], bool]) -> Callable[[Article], Iterator[Place]]:
    def eligible(article: Article) -> Iterator[Place]:
        for i, (_, rows) in enumerate(article.sections):
            for j, sentence in enumerate(rows):
                if keep(article, i, j, sentence):
                    yield i, j

    return eligible


def _at(context: Context, place: Place) -> Sentence:
    return context.article.sections[place[0]][1][place[1]]


def _pairs(article: Article) -> Iterator[Place]:
    return ((i, -1) for i in range(0, len(article.sections) - 1, 2))


def _swap_sections(context: Context, struck: list[Place]) -> Struck:
    titles, layout = _layout(context.article)
    for i, _ in struck:
        titles[i], titles[i + 1] = titles[i + 1], titles[i]
        layout[i], layout[i + 1] = layout[i + 1], layout[i]
    edits = [{"section": i, "before": " ".join(layout[i + 1]), "after": " ".join(layout[i])} for i, _ in struck]
    return edits, _join(titles, layout)


def _later_sections(article: Article) -> Iterator[Place]:
    return ((i, -1) for i in range(1, len(article.sections)))


def _repeat_sections(context: Context, struck: list[Place]) -> Struck:
    true_titles, true = _layout(context.article)
    titles, layout = list(true_titles), [list(rows) for rows in true]
    for i, _ in struck:
        titles[i], layout[i] = true_titles[i - 1], list(true[i - 1])
    edits = [{"section": i, "before": " ".join(true[i]), "after": " ".join(layout[i])} for i, _ in struck]
    return edits, _join(titles, layout)


def _newcomers(article: Article) -> set[tuple[int, int]]:
    """(sentence number, mention number) of each person's first mention."""
    met: set[int] = set()
    found = set()
    for number, sentence in enumerate(article.sentences):
        for order, mention in enumerate(sentence.mentions):
            if mention.person not in met:
                met.add(mention.person)
                found.add((number, order))
    return found


def _number(article: Article, section: int, sentence: int) -> int:
    return sum(len(rows) for _, rows in article.sections[:section]) + sentence


def _has_newcomer(article: Article, section: int, sentence: int, _: Sentence) -> bool:
    number = _number(article, section, sentence)
    return any(n == number for n, _ in _newcomers(article))


def _unname(context: Context, _: Layout, place: Place) -> str:
    number = _number(context.article, *place)
    orders = {order for n, order in _newcomers(context.article) if n == number}
    return pronoun_for_name(_at(context, place), orders)


def _drifted(context: Context, _: Layout, place: Place) -> str:
    vocabulary = domain(context.domain).vocabulary
    least = vocabulary.topics[int(domain(context.domain).prior.weights(context.article.eta[None])[0].argmin())]
    return foreign_topic(_at(context, place), least, context.draws)


def _off_topic(context: Context, _: Layout, place: Place) -> str:
    return context.draws.pick(context.donors()).text


def _falsified(context: Context, place: Place) -> str:
    return other_value(_at(context, place), context.article, domain(context.domain).vocabulary, context.draws)


def _in_second_half(article: Article, section: int, sentence: int, s: Sentence) -> bool:
    return bool(s.words) and 2 * _number(article, section, sentence) >= len(article.path)


FAILURES: Mapping[str, tuple[Callable[[Article], Iterator[Place]], Apply]] = {
    "section_order": (_pairs, _swap_sections),
    "repeated_section": (_later_sections, _repeat_sections),
    "wrong_pronoun": (
        _sentences(lambda a, i, j, s: other_gender(s) != s.text),
        _by_sentence(lambda context, _, place: other_gender(_at(context, place))),
    ),
    "new_entity_as_pronoun": (_sentences(_has_newcomer), _by_sentence(_unname)),
    "topic_drift": (_sentences(_in_second_half), _by_sentence(_drifted)),
    "off_topic_sentence": (
        _sentences(lambda a, i, j, s: j > 0 and not s.mentions and not s.relations),
        _by_sentence(_off_topic),
    ),
    "mixed_language": (
        _sentences(lambda a, i, j, s: True),
        _by_sentence(lambda context, _, place: in_language(_at(context, place), context.draws)),
    ),
    "false_fact": (
        _sentences(lambda a, i, j, s: bool(s.relations)),
        _by_sentence(lambda context, _, place: _falsified(context, place)),
    ),
    "repeated_sentence": (
        _sentences(lambda a, i, j, s: j > 0),
        _by_sentence(lambda context, true, place: true[place[0]][place[1] - 1]),
    ),
    "wrong_connective": (
        _sentences(lambda a, i, j, s: s.connective > 0),
        _by_sentence(lambda context, _, place: other_connective(_at(context, place), context.draws)),
    ),
    "contradiction": (
        _sentences(lambda a, i, j, s: not s.mentions and not s.connective),
        _by_sentence(lambda context, _, place: contradict(_at(context, place))),
    ),
}
