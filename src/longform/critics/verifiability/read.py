"""A fact checker's verdicts on generated texts, with the planted truth and the counts of Table 4 beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from longform.core.documents import BadInput, Document, Readout
from longform.critics.verifiability.checker import Checker, Verdict, open_checker
from longform.critics.verifiability.score import (
    LABELS,
    SENTENCE_COLUMNS,
    SENTENCES,
    CheckedGeneration,
    CheckedText,
    Evidence,
    generations_to_readout,
)
from longform.datasets.synthetic_world.fever_corpus import UNKNOWN, Verifier, read_claim
from longform.decoding.continuations import CONTINUATION
from longform.text.nouns import ADJECTIVE, NOUN, NounRules
from longform.text.rendering import TokenText
from longform.text.sentences import SPLITTERS, PageSimilarity, conjunctions, entities, link_parser, mean_nats

NEI = LABELS[2]
Label = tuple[str, Evidence]
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
class Written:
    """What the generation says of itself: see :func:`longform.decoding.continuations.generate`."""

    setting: str
    page: str
    repeat: int
    prefix_perplexity: float
    nats: Sequence[float]
    marks: Sequence[int]
    tokens: np.ndarray
    reference: np.ndarray


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    domain: str | None = None,
    splitter: str = "full_stops",
    pronouns: bool = True,
) -> Readout:
    """Verdicts on the first five sentences of every continuation; see :class:`CheckedGeneration`.

    Args:
        truth: of the generations, as ``continuations.py`` writes it.
        domain: the planted domain of the pages, where exact verdicts are wanted too.
        pronouns: replace an opening pronoun by the page's title.

    Raises:
        BadInput: texts that ``continuations.py`` did not write.
    """
    checker = open_checker(reader)
    marker = Marker(checker, verifier_of_lines(checker.pages, domain) if domain else None, splitter, pronouns)
    pairs = list(zip(documents, written_of(documents, truth, name), strict=True))
    checker.check([claim.text for d, w in pairs for claim in marker.claims(d, w, name)[0] if claim.verifiable])
    return generations_to_readout([marker.mark(document, about, name) for document, about in pairs])


def verifier_of_lines(pages: Mapping[str, Sequence[str]], domain: str) -> Verifier:
    """What frozen pages state, by the rules that their sentences were made with; the first statement counts."""
    stated: dict[tuple[str, str], tuple[str, tuple[str, int]]] = {}
    for title, lines in pages.items():
        for number, line in enumerate(lines):
            for triple in read_claim(line, domain):
                if triple.title == title:
                    stated.setdefault((title, triple.relation), (triple.value, (title, number)))
    return Verifier(domain, stated)


def written_of(documents: Sequence[Document], truth: Mapping[str, np.ndarray], name: str) -> list[Written]:
    """The truth of generations, one record a document."""
    try:
        ragged = {
            key: np.split(truth[key], np.cumsum(truth[f"{key}_lengths"])[:-1])
            for key in ("token", "token_nats", "token_marks", "reference")
        }
        columns = [truth[key].tolist() for key in ("setting", "page", "repeat", "prefix_nats", "prefix_tokens")]
    except KeyError as error:
        raise BadInput(
            f"infer {name}: the texts have no {error} beside them; texts come from continuations.py"
        ) from None
    if len(columns[0]) != len(documents):
        raise BadInput(f"infer {name}: {len(documents)} documents, truth of {len(columns[0])}; run generate again")
    rows = zip(*columns, *(ragged[key] for key in ("token_nats", "token_marks", "token", "reference")), strict=True)
    return [
        Written(
            setting,
            page,
            repeat,
            math.exp(-nats / count) if count else math.nan,
            values.tolist(),
            marks.tolist(),
            *rest,
        )
        for setting, page, repeat, nats, count, values, marks, *rest in rows
    ]


@dataclass(frozen=True)
class Marker:
    """A checker and everything else that reads a generation."""

    checker: Checker
    verifier: Verifier | None
    splitter: str
    pronouns: bool

    def claims(self, document: Document, written: Written, name: str) -> tuple[list[Claim], str]:
        """Claims of the first sentences, and the text that they come from; of human texts the prefix is the first one."""
        texts = {section.title: section.text for section in document.sections[1:]}
        if CONTINUATION not in texts:
            raise BadInput(
                f"infer {name}: document {document.id!r} has no continuation; texts come from continuations.py"
            )
        opening = f"{document.sections[0].text} " if written.setting == "human" else ""
        text = " ".join(f"{opening}{texts[CONTINUATION]}".split())
        resolve = opening_pronouns if self.pronouns else None
        return claims_of(text, document.sections[0].title or "", SPLITTERS[self.splitter], resolve=resolve), text

    def mark(self, document: Document, written: Written, name: str) -> CheckedGeneration:
        """Everything about one generation."""
        claims, text = self.claims(document, written, name)
        title, similarity = document.sections[0].title or "", self._similarity
        verdicts = [self.checker.check([c.text])[0] if c.verifiable else Verdict(NEI, frozenset()) for c in claims]
        truths = [self._true(claim) for claim in claims]
        nats = _nats(claims, written, document)
        same = [claim.source for claim in claims]
        rows = [
            self._row(claim, title, verdict, true, nats[n], same.index(claim.source))
            for n, (claim, verdict, true) in enumerate(zip(claims, verdicts, truths, strict=True))
        ]
        unit, split = document.id, document.split
        return CheckedGeneration(
            unit,
            split,
            written.setting,
            written.page,
            checked(unit, split, [(v.label, v.evidence) for v in verdicts]),
            checked(unit, split, [t for t in truths if t is not None]) if self.verifier else None,
            TokenText(unit, split, written.tokens, written.reference),
            np.array(rows, dtype=np.float64).reshape(len(rows), len(SENTENCE_COLUMNS)),
            np.array([written.prefix_perplexity, similarity.score(text, title), written.repeat]),
            tuple(claim.text for claim in claims),
            tuple(self._lines(verdict) for verdict in verdicts),
        )

    def _lines(self, verdict: Verdict) -> str:
        return " ".join(f"{page}: {self.checker.pages[page][line]}" for page, line in verdict.lines)

    def _true(self, claim: Claim) -> Label | None:
        if self.verifier is None:
            return None
        found = self.verifier.check(claim.text) if claim.verifiable else None
        return (NEI, frozenset()) if found is None or found.label == UNKNOWN else (found.label, found.evidence)

    def _row(
        self, claim: Claim, title: str, verdict: Verdict, true: Label | None, nats: float, same: int
    ) -> tuple[float, ...]:
        words = len(claim.source.split())
        found = float(bool(true[1] & frozenset(verdict.lines))) if true and true[1] else math.nan
        traits = (words, entities(claim.source), conjunctions(claim.source), self._links(claim.source))
        judged = (verdict.support, verdict.refutation, verdict.conflict)
        return (
            *traits, self._similarity.score(claim.source, title), nats, same, *judged,
            claim.named, claim.pronouns, claim.cut, found,
        )  # fmt: skip

    @cached_property
    def _similarity(self) -> PageSimilarity:
        return PageSimilarity(self.checker.pages)

    @cached_property
    def _links(self) -> Callable[[str], float]:
        return link_parser()


def _nats(claims: Sequence[Claim], written: Written, document: Document) -> list[float]:
    """Mean log-probability of each sentence; that of a human text's first one, the prefix, is not known."""
    sources = [claim.source for claim in claims]
    if written.setting == "human":
        return [math.nan, *mean_nats(sources[1:], written.nats, written.marks)] if sources else []
    return mean_nats(sources, written.nats, written.marks)


def checked(unit: str, split: str, rows: Sequence[Label]) -> CheckedText:
    """Verdicts of one text from its labels with their evidence."""
    labels, evidence = zip(*rows, strict=True) if rows else ((), ())
    return CheckedText(unit, split, tuple(labels), tuple(evidence))


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
    """The sentence with its opening determiner and common noun replaced by the title; None where the rule does not fire."""
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
    """The simplest resolver: a pronoun of the third person that opens a sentence means the page's subject."""
    opening = PERSONAL | POSSESSIVE | {"her"}
    return [{0: title} if words and words[0].lower() in opening else {} for words in sentences]
