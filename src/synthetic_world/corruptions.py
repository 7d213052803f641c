"""Eleven named corruptions of articles, each at any severity: the input of the critics' matrix.

They are seeded, with one recorded edit per place. Place j of an article is corrupted where a
uniform number drawn for (seed, corruption, article, j) is below the severity, so the places of a
lower severity are among those of a higher one.
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

SOUND = "sound@0"  # in ids of undamaged texts; others have corruption@severity
# the article that lends off-topic sentences is another one of the same world
DONOR_OFFSET = 1_000_003
ALIKE = ("contrast", "concession")  # told apart by no reader
PROPER = frozenset(lexicon.PLACES + lexicon.COMPANIES)
Place = tuple[int, int]  # (section, sentence); a corruption of whole sections has sentence -1


@dataclass(frozen=True)
class Context:
    """The inputs of a corruption of one sentence.

    Attributes:
        article: the undamaged article.
        domain: its name.
        seed: of the world.
        draws: the corruption's own random numbers.
        place: section and sentence.
    """

    article: Article
    domain: str
    seed: int
    draws: Draws
    place: Place

    @property
    def sentence(self) -> Sentence:
        """The sentence at the place."""
        return self.article.sections[self.place[0]][1][self.place[1]]


def corrupt(
    article: Article, *, domain_name: str, corruption: str, severity: float, seed: int
) -> Document:
    """Apply one corruption at a severity to an article.

    Args:
        article: the sound one.
        domain_name: its domain.
        corruption: one of ``CORRUPTIONS``.
        severity: from 0 to 1, the expected share of eligible places that are corrupted.
        seed: of the draws.

    Returns:
        The document, whose ``edits`` have a record for each struck place, texts before and after
        among it.
    """
    rng = stream("failure", corruption, seed, domain_name, article.index)
    # 1. The places that are struck.
    eligible = eligible_places(article, corruption)
    struck = []
    for candidate, uniform in zip(eligible, rng.random(len(eligible)), strict=True):
        if uniform < severity:
            struck.append(candidate)
    # 2. Their new texts.
    document = to_document(article, domain_name)
    if corruption in OF_SECTIONS:
        sections, edits = _with_struck_sections(document, corruption, struck)
    else:
        draws = Draws(rng)
        texts = []
        for _, sentences in article.sections:
            texts.append([sentence.text for sentence in sentences])
        rewrite = OF_SENTENCES[corruption][1]
        edits = []
        for section, sentence in struck:
            context = Context(article, domain_name, seed, draws, (section, sentence))
            before = texts[section][sentence]
            texts[section][sentence] = rewrite(context)
            edits.append(
                {
                    "corruption": corruption,
                    "section": section,
                    "sentence": sentence,
                    "before": before,
                    "after": texts[section][sentence],
                }
            )
        sections = []
        for original, rows in zip(document.sections, texts, strict=True):
            sections.append(Section(original.title, " ".join(rows)))
    return replace(document, sections=tuple(sections), edits=tuple(edits))


def _with_struck_sections(
    document: Document, corruption: str, struck: Sequence[Place]
) -> tuple[list[Section], list[dict[str, Any]]]:
    """Swap some sections with the next, or replace them by the one before.

    Args:
        document: undamaged.
        corruption: a key of ``OF_SECTIONS``.
        struck: the places; their second number means nothing.

    Returns:
        All sections, and a record of each edit.
    """
    original = document.sections
    sections = list(original)
    for i, _ in struck:
        if corruption == "section_order":
            sections[i : i + 2] = original[i + 1], original[i]
        else:
            sections[i] = original[i - 1]
    edits = []
    for i, _ in struck:
        texts = {"before": original[i].text, "after": sections[i].text}
        edits.append({"corruption": corruption, "section": i, **texts})
    return sections, edits


def eligible_places(article: Article, corruption: str) -> list[Place]:
    """The places to which a corruption can be applied: (section, sentence in it) from 0.

    The sentence is -1 for a corruption of whole sections.
    """
    if corruption in OF_SECTIONS:
        return [(i, -1) for i in OF_SECTIONS[corruption](len(article.sections))]
    is_eligible = OF_SENTENCES[corruption][0]  # beside it stands what rewrites a sentence
    eligible = []
    for i, (_, sentences) in enumerate(article.sections):
        for j, sentence in enumerate(sentences):
            if is_eligible(article, i, j, sentence):
                eligible.append((i, j))
    return eligible


def _number(article: Article, section: int, sentence: int) -> int:
    """The index of a sentence in its article, from its index in a section."""
    before = 0
    for _, sentences in article.sections[:section]:
        before += len(sentences)
    return before + sentence


def _newcomers(article: Article, section: int, sentence: int) -> list[int]:
    """The indices of a sentence's mentions that are the article's first of their person."""
    number = _number(article, section, sentence)
    met = set()
    for earlier in article.sentences[:number]:
        for mention in earlier.mentions:
            met.add(mention.person)
    newcomers = []
    for i, mention in enumerate(article.sentences[number].mentions):
        if mention.person not in met:
            newcomers.append(i)
            met.add(mention.person)
    return newcomers


def _replaced(text: str, replacements: Sequence[tuple[int, int, str]]) -> str:
    """Replace spans (start, end, new text) of a sentence; one that opens it is capitalised."""
    # From the end, so that offsets before it stay right.
    for start, end, new in sorted(replacements, reverse=True):
        if start == 0:
            new = new[0].upper() + new[1:]
        text = text[:start] + new + text[end:]
    return text


def _pronouns(sentence: Sentence, genders: Mapping[int, str]) -> str:
    """Replace mentions of a sentence by pronouns.

    Args:
        sentence: the sentence.
        genders: the pronoun's gender by the index of the mention.
    """
    replacements = []
    for number, gender in genders.items():
        mention = sentence.mentions[number]
        pronoun = FORMS[mention.role][gender].lower()
        replacements.append((mention.start, mention.end, pronoun))
    return _replaced(sentence.text, replacements)


def _wrong_pronouns(context: Context) -> str:
    """The sentence with every pronoun in another gender."""
    genders = {}
    for i, mention in enumerate(context.sentence.mentions):
        if mention.tag not in GENDERS:
            genders[i] = WRONG_GENDER[GENDER_OF[mention.tag]]
    return _pronouns(context.sentence, genders)


def _unnamed(context: Context) -> str:
    """The sentence with a pronoun in place of each person's first mention in the article."""
    mentions = context.sentence.mentions
    newcomers = _newcomers(context.article, *context.place)
    return _pronouns(context.sentence, {i: mentions[i].tag for i in newcomers})


def _drifted(context: Context) -> str:
    """The sentence with its content words replaced by words of the document's rarest topic.

    A new word is of the same slot and in the same form (plural, with an article).
    """
    sentence, world = context.sentence, domain(context.domain)
    proportions = world.prior.weights(context.article.eta[None])[0]
    tables = world.vocabulary.topics[int(proportions.argmin())].tables
    replacements = []
    for slot, word, start, end in sentence.words:
        words = tables[slot.rstrip("2")]
        new = word
        while new == word:
            new = words[int(context.draws.uniform() * TABLE_SIZE)]
        # The new word gets the old one's form.
        shown = sentence.text[start:end].lower()
        if shown == plural(word) and shown != word:
            new = plural(new)
        elif shown == article(word):
            new = article(new)
        replacements.append((start, end, new))
    return _replaced(sentence.text, replacements)


@lru_cache(maxsize=4)
def _donors(seed: int, domain_name: str, index: int) -> tuple[str, ...]:
    """The sentences without persons of another article."""
    return tuple(s.text for s in write(seed, domain_name, index).sentences if not s.mentions)


def _off_topic(context: Context) -> str:
    """A sentence of another article of the same world."""
    donor = context.article.index + DONOR_OFFSET
    return context.draws.pick(_donors(context.seed, context.domain, donor))


def _translated(context: Context) -> str:
    """The sentence with lower-case words in one invented language; names and numbers stay."""
    language = context.draws.pick(LANGUAGES)

    def translation(word: re.Match[str]) -> str:
        return translate_word(language, word[0])

    return re.sub(r"\b[a-z]+\b", translation, context.sentence.text)


def _falsified(context: Context) -> str:
    """The sentence with each fact's value, where it stands last, replaced by a wrong one."""
    sentence, page = context.sentence, context.article
    text = sentence.text
    vocabulary = domain(context.domain).vocabulary
    for name in sentence.relations:
        relation, true = grammar.RELATIONS[page.kind][name], page.facts[name]
        value = grammar.other_value(page.kind, name, true, context.draws, vocabulary)
        head, shown, tail = text.rpartition(relation.show(true))
        if shown:
            text = head + relation.show(value) + tail
    return text


def _misconnected(context: Context) -> str:
    """The sentence with a connective that expresses neither its sense nor one like it.

    Its own connective opens the sentence (``across``) or stands between its clauses.
    """
    sentence = context.sentence
    probabilities = grammar.connective_probabilities()[int(sentence.across)]
    sense = grammar.SENSES[sentence.sense]
    # bool (connectives,): those that express some sense, but not this one or one like it.
    alike = [grammar.SENSES.index(name) for name in (ALIKE if sense in ALIKE else (sense,))]
    is_wrong = probabilities.any(axis=0) & ~probabilities[alike].any(axis=0)
    wrong = np.flatnonzero(is_wrong).tolist()
    old = grammar.CONNECTIVES[sentence.connective]
    new = grammar.CONNECTIVES[context.draws.pick(wrong)]
    if sentence.across:
        comma = "" if new == "yet" else ","
        opening = rf"^{old.capitalize()},?"
        return re.sub(opening, new.capitalize() + comma, sentence.text)
    head, _, tail = sentence.text.rpartition(f" {old} ")
    return f"{head} {new} {tail}"


def _contradicted(context: Context) -> str:
    """The sentence, followed by its denial; a name keeps its capital in the denial."""
    text = context.sentence.text
    first, second = text.split(" ", 2)[:2]
    is_name = first in PROPER or (first in lexicon.PREFIXES and second in PROPER)
    denied = text if is_name else text[0].lower() + text[1:]
    return f"{text} It is not true that {denied}"


def _repeated(context: Context) -> str:
    """The sentence before it in the section."""
    section, sentence = context.place
    return context.article.sections[section][1][sentence - 1].text


# For a number of sections the indices of those that can be corrupted: a section changes places with
# the next, or gets the text of the one before.
OF_SECTIONS: Mapping[str, Callable[[int], range]] = {
    "section_order": lambda sections: range(0, sections - 1, 2),
    "repeated_section": lambda sections: range(1, sections),
}


# -- whether sentence j of section i can be corrupted, for ``OF_SENTENCES`` --


def _has_pronoun(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return any(mention.tag not in GENDERS for mention in sentence.mentions)


def _has_newcomer(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return bool(_newcomers(article, i, j))


def _has_words_in_second_half(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    # ``path`` has a row for each sentence of the article.
    return bool(sentence.words) and 2 * _number(article, i, j) >= len(article.path)


def _is_plain_but_first(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return j > 0 and not sentence.mentions and not sentence.relations


def _is_any(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return True


def _has_fact(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return bool(sentence.relations)


def _is_not_first(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return j > 0


def _has_connective(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return sentence.connective > 0


def _is_bare(article: Article, i: int, j: int, sentence: Sentence) -> bool:
    return not sentence.mentions and not sentence.connective


# For each corruption: whether sentence j of section i of an article can be corrupted; its new text.
Eligible = Callable[[Article, int, int, Sentence], bool]
OF_SENTENCES: Mapping[str, tuple[Eligible, Callable[[Context], str]]] = {
    "wrong_pronoun": (_has_pronoun, _wrong_pronouns),
    "new_entity_as_pronoun": (_has_newcomer, _unnamed),
    "topic_drift": (_has_words_in_second_half, _drifted),
    "off_topic_sentence": (_is_plain_but_first, _off_topic),
    "mixed_language": (_is_any, _translated),
    "false_fact": (_has_fact, _falsified),
    "repeated_sentence": (_is_not_first, _repeated),
    "wrong_connective": (_has_connective, _misconnected),
    "contradiction": (_is_bare, _contradicted),
}
CORRUPTIONS = (*OF_SECTIONS, *OF_SENTENCES)
