"""The synthetic encyclopedia in FEVER's format, written out and read back by the reader of the real files; a verifier of claims.

FEVER's claims were written by people in their own words. Synthetic claims come in two kinds: plain ones, one for each
relation of a page, and sentences of the pages themselves, kept, with another value, or stating nothing.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from longform.datasets import fever
from longform.documents import Corpus
from synthetic_world.articles import Article, write
from synthetic_world.corpus import indices
from synthetic_world.domains import domain
from synthetic_world.draws import Draws, stream
from synthetic_world.grammar import RELATIONS, SETTLEMENTS, Frame, claim, compile_frame, other_value
from synthetic_world.lexicon import Vocabulary

SUPPORTED, REFUTED, UNKNOWN = "supported", "refuted", "unknown"
TITLE = r"(?P<title>(?!It\b)[A-Z]\w+(?: (?:of )?[A-Z]\w+)*)"
WORD = r"(?:an? )?[\w-]+"
PATTERNS = {
    "trade": r"an? (\w+)",
    "things": r"(\w+)",
    "year": r"(\d{4})",
    "number": r"(\d{1,3}(?:,\d{3})*)",
}
OTHER = dict.fromkeys(("{1}", "{2}", "{3}"), r"[\w ]+?") | {
    "{settlement}": f"(?:{'|'.join(SETTLEMENTS)})"
}
Evidence = tuple[str, int]  # title of a page and number of its sentence
Pattern = tuple[re.Pattern[str], tuple[str, ...]]  # of a sentence, and the relations that it states


class Triple(NamedTuple):
    """What a sentence states: the page's title, a relation and its value."""

    title: str
    relation: str
    value: str


class Verdict(NamedTuple):
    """A label and the sentences that it rests on; none where the label is unknown."""

    label: str
    evidence: frozenset[Evidence]


Claim = tuple[str, Verdict]  # a text with its true label and evidence


def _pattern(kind: str, frame: Frame, subject: str) -> Pattern:
    """The regular expression of a fact frame, one group per relation and one for the title in ``subject``'s place."""
    slots = OTHER | {subject: TITLE}
    for relation in frame.relations:  # the one group of a value's pattern has its name
        value = PATTERNS.get(RELATIONS[kind][relation].value.split()[0], r"([A-Z]\w+)")
        slots[f"{{F_{relation}}}"] = value.replace("(", f"(?P<{relation}>", 1)
    parts = re.split(r"(\{\w+\})", frame.source)
    body = "".join(
        slots.get(part, WORD) if part.startswith("{") else re.escape(part) for part in parts
    )
    return re.compile(rf"^{body}(?=[ ,.])"), frame.relations


CLAIM_PATTERNS = tuple(
    _pattern(kind, compile_frame(relation.claim), "{T}")
    for kind, rows in RELATIONS.items()
    for relation in rows.values()
)


@cache
def page_patterns(name: str) -> tuple[Pattern, ...]:
    """Of the fact sentences of a domain's pages."""
    world, patterns = domain(name), []
    for kind, settings in world.kinds.items():
        style = world.styles.get(f"abstract/{kind}")
        frames = [f for f in settings.openings if f.relations] + list(
            style.facts + style.own_facts if style else ()
        )
        for frame in frames:
            subject = "{T}" if "{T}" in frame.source else "{1}"
            if frame.source.startswith(subject):
                patterns.append(_pattern(kind, frame, subject))
    return tuple(patterns)


def read_claim(sentence: str, domain_name: str) -> list[Triple]:
    """Triples of a claim or of any fact sentence of a domain; empty where it states none.

    The pattern of each fact frame is tried in turn; what follows a stated fact (a connective's
    clause) is ignored.
    """
    for pattern, relations in CLAIM_PATTERNS + page_patterns(domain_name):
        if match := pattern.match(sentence):
            return [Triple(match["title"], relation, match[relation]) for relation in relations]
    return []


@dataclass(frozen=True)
class Verifier:
    """What the pages of a corpus state, value and evidence by (title, relation), for fact sentences of one domain."""

    domain: str
    stated: Mapping[tuple[str, str], tuple[str, Evidence]]

    def check(self, sentence: str) -> Verdict:
        """Label one sentence: refuted if any triple is, supported if all are, unknown otherwise.

        Relations are functional, so another value for a stated relation refutes.
        """
        triples = read_claim(sentence, self.domain)
        known = [self.stated.get((t.title, t.relation)) for t in triples]
        if against := {
            fact[1] for t, fact in zip(triples, known, strict=True) if fact and fact[0] != t.value
        }:
            return Verdict(REFUTED, frozenset(against))
        if known and all(known):
            return Verdict(SUPPORTED, frozenset(fact[1] for fact in known if fact))
        return Verdict(UNKNOWN, frozenset())


def make_claims(articles: Iterable[Article], vocabulary: Vocabulary, seed: int) -> Iterator[Claim]:
    """Claims about each page, one per relation: stated ones are kept or falsified, the others are unknown."""
    for article in articles:
        draws = Draws(stream("claims", seed, article.title))
        lines = {r: i for i, s in reversed(list(enumerate(article.sentences))) for r in s.relations}
        for relation in RELATIONS[article.kind]:
            value, label = article.facts[relation], SUPPORTED if relation in lines else UNKNOWN
            if draws.uniform() < 0.5:
                value = other_value(article.kind, relation, value, draws, vocabulary)
                label = REFUTED if relation in lines else UNKNOWN
            evidence = frozenset({(article.title, lines[relation])} if relation in lines else ())
            yield claim(article.kind, article.title, relation, value), Verdict(label, evidence)


DOMAIN = "encyclopedia"
LABELS = {SUPPORTED: "SUPPORTS", REFUTED: "REFUTES", UNKNOWN: "NOT ENOUGH INFO"}
FALSE, ELSEWHERE = (
    0.5,
    0.5,
)  # shares of fact sentences that are falsified, and of those that speak of another page
SILENT = 3  # sentences of a page that state nothing and are taken for claims


def build(
    *, name: str, seed: int, pages: Mapping[str, int], shares: Mapping[str, float] = fever.SHARES
) -> Corpus:
    """So many pages of each split of the encyclopedia with claims, whose split is drawn for their page; see :mod:`longform.datasets.fever`."""
    articles = list(
        {a.title: a for a in (write(seed, DOMAIN, number) for number in indices(pages))}.values()
    )
    claims = [
        *make_claims(articles, domain(DOMAIN).vocabulary, seed),
        *sentence_claims(articles, seed),
    ]
    files = {
        "claims.jsonl": fever_claims(claims),
        "wiki-pages/wiki-001.jsonl": fever_pages(articles),
    }
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "wiki-pages").mkdir()
        for file, rows in files.items():
            (Path(place) / file).write_text(
                "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
            )
        return fever.build(name=name, seed=seed, raw=Path(place), shares=shares)


def fever_claims(claims: Iterable[Claim]) -> Iterator[dict[str, object]]:
    """FEVER's claim records: id, label, claim, and evidence as lists of [annotation, evidence, page, line]."""
    for number, (text, verdict) in enumerate(claims):
        evidence = [
            [[number, number, title.replace(" ", "_"), line]]
            for title, line in sorted(verdict.evidence)
        ]
        yield {
            "id": number,
            "verifiable": "VERIFIABLE" if evidence else "NOT VERIFIABLE",
            "label": LABELS[verdict.label],
            "claim": text,
            "evidence": evidence or [[[number, None, None, None]]],
        }


def fever_pages(articles: Iterable[Article]) -> Iterator[dict[str, str]]:
    """FEVER's wiki pages: id, text, and numbered lines with a tab."""
    for article in articles:
        texts = [sentence.text for sentence in article.sentences]
        lines = "\n".join(f"{number}\t{text}" for number, text in enumerate(texts))
        yield {"id": article.title.replace(" ", "_"), "text": " ".join(texts), "lines": lines}


def sentence_claims(articles: Sequence[Article], seed: int) -> Iterator[Claim]:
    """Sentences of the pages as claims: fact sentences kept or falsified, told of another page too, and silent ones.

    Of a sentence that states several facts the first is falsified.
    """
    unknown = Verdict(UNKNOWN, frozenset())
    for article in articles:
        draws = Draws(stream("sentence claims", seed, article.title))
        other = draws.pick(articles)
        stated = {relation for sentence in other.sentences for relation in sentence.relations}
        silent = 0
        for line, sentence in enumerate(article.sentences):
            text = sentence.text
            if sentence.relations:
                relation, evidence = sentence.relations[0], frozenset({(article.title, line)})
                value, show = article.facts[relation], RELATIONS[article.kind][relation].show
                if show(value) in text and draws.uniform() < FALSE:
                    wrong = other_value(
                        article.kind, relation, value, draws, domain(DOMAIN).vocabulary
                    )
                    yield text.replace(show(value), show(wrong), 1), Verdict(REFUTED, evidence)
                else:
                    yield text, Verdict(SUPPORTED, evidence)
            elif silent < SILENT:
                silent += 1
                yield text, unknown
            movable = other.kind != article.kind and article.title in text
            if movable and set(sentence.relations) - stated and draws.uniform() < ELSEWHERE:
                yield text.replace(article.title, other.title), unknown
