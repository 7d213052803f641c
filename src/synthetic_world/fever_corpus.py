"""The synthetic encyclopedia in FEVER's format, and a verifier of claims.

It is written out and read back by the reader of the real files.

FEVER's claims were written by people in their own words. Synthetic claims come in two kinds: plain
ones, one for each relation of a page, and sentences of the pages themselves, kept, with another
value, or stating nothing.
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
    """The regular expression of a fact frame.

    It has one group per relation, and one for the title in ``subject``'s place.
    """
    slots = OTHER | {subject: TITLE}
    # The one group of a value's pattern has the relation's name.
    for relation in frame.relations:
        value_kind = RELATIONS[kind][relation].value.split()[0]
        value = PATTERNS.get(value_kind, r"([A-Z]\w+)")
        slots[f"{{F_{relation}}}"] = value.replace("(", f"(?P<{relation}>", 1)
    body = ""
    for part in re.split(r"(\{\w+\})", frame.source):
        body += slots.get(part, WORD) if part.startswith("{") else re.escape(part)
    return re.compile(rf"^{body}(?=[ ,.])"), frame.relations


def _claim_patterns() -> tuple[Pattern, ...]:
    """The patterns of the plain claims of every kind of page, ``{T}`` in the title's place."""
    patterns = []
    for kind, relations in RELATIONS.items():
        for relation in relations.values():
            patterns.append(_pattern(kind, compile_frame(relation.claim), "{T}"))
    return tuple(patterns)


CLAIM_PATTERNS = _claim_patterns()


@cache
def page_patterns(name: str) -> tuple[Pattern, ...]:
    """The patterns of a domain's sentences that state facts and begin with the page's title.

    A page about a person has the person (``{1}``) in the title's place.
    """
    world = domain(name)
    patterns = []
    for kind, settings in world.kinds.items():
        frames = [frame for frame in settings.openings if frame.relations]
        style = world.styles.get(f"abstract/{kind}")
        if style:
            frames += [*style.facts, *style.own_facts]
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
        match = pattern.match(sentence)
        if match:
            return [Triple(match["title"], relation, match[relation]) for relation in relations]
    return []


@dataclass(frozen=True)
class Verifier:
    """What the pages of a corpus state, for fact sentences of one domain.

    Attributes:
        domain: its name.
        stated: value and evidence by (title, relation).
    """

    domain: str
    stated: Mapping[tuple[str, str], tuple[str, Evidence]]

    def check(self, sentence: str) -> Verdict:
        """Label one sentence: refuted if any triple is, supported if all are, unknown otherwise.

        Relations are functional, so another value for a stated relation refutes.
        """
        triples = read_claim(sentence, self.domain)
        refuting, supporting = set(), set()
        for triple in triples:
            fact = self.stated.get((triple.title, triple.relation))
            if fact is None:
                continue
            value, evidence = fact
            if value == triple.value:
                supporting.add((triple, evidence))
            else:
                refuting.add(evidence)
        if refuting:
            return Verdict(REFUTED, frozenset(refuting))
        if triples and len(supporting) == len(set(triples)):
            return Verdict(SUPPORTED, frozenset(evidence for _, evidence in supporting))
        return Verdict(UNKNOWN, frozenset())


def make_claims(articles: Iterable[Article], vocabulary: Vocabulary, seed: int) -> Iterator[Claim]:
    """Yield a claim for each relation of each page, true or, by a toss, with another value.

    Its evidence is the first sentence that states the relation. Where none does, the label is
    ``UNKNOWN``, true or not.
    """
    for article in articles:
        draws = Draws(stream("claims", seed, article.title))
        # The first sentence that states each relation.
        line_of: dict[str, int] = {}
        for line, sentence in enumerate(article.sentences):
            for relation in sentence.relations:
                line_of.setdefault(relation, line)
        for relation in RELATIONS[article.kind]:
            value = article.facts[relation]
            label = SUPPORTED
            if draws.uniform() < 0.5:
                value = other_value(article.kind, relation, value, draws, vocabulary)
                label = REFUTED
            text = claim(article.kind, article.title, relation, value)
            if relation in line_of:
                evidence = frozenset({(article.title, line_of[relation])})
                yield text, Verdict(label, evidence)
            else:
                yield text, Verdict(UNKNOWN, frozenset())


DOMAIN = "encyclopedia"
LABELS = {SUPPORTED: "SUPPORTS", REFUTED: "REFUTES", UNKNOWN: "NOT ENOUGH INFO"}
# shares of fact sentences that are falsified, and of those that speak of another page
FALSE, ELSEWHERE = 0.5, 0.5
SILENT = 3  # sentences of a page that state nothing and are taken for claims


def build(
    *, name: str, seed: int, pages: Mapping[str, int], shares: Mapping[str, float] = fever.SHARES
) -> Corpus:
    """So many pages of each split of the encyclopedia with claims.

    The claims' split is drawn for their page; see :mod:`longform.datasets.fever`.
    """
    by_title = {}
    for number in indices(pages):
        page = write(seed, DOMAIN, number)
        by_title[page.title] = page
    articles = list(by_title.values())
    claims = [*make_claims(articles, domain(DOMAIN).vocabulary, seed)]
    claims += sentence_claims(articles, seed)
    files = {
        "claims.jsonl": fever_claims(claims),
        "wiki-pages/wiki-001.jsonl": fever_pages(articles),
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "wiki-pages").mkdir()
        for file, rows in files.items():
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            (Path(folder) / file).write_text(text, encoding="utf-8")
        return fever.build(name=name, seed=seed, raw=Path(folder), shares=shares)


def fever_claims(claims: Iterable[Claim]) -> Iterator[dict[str, object]]:
    """FEVER's claim records.

    They hold id, label, claim, and evidence as lists of [annotation, evidence, page, line].
    """
    for number, (text, verdict) in enumerate(claims):
        evidence = []
        for title, line in sorted(verdict.evidence):
            evidence.append([[number, number, title.replace(" ", "_"), line]])
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
    """Sentences of the pages as claims.

    Fact sentences true or falsified, told of another page too, and silent ones. Of a sentence that
    states several facts the first is falsified.
    """
    unknown = Verdict(UNKNOWN, frozenset())
    vocabulary = domain(DOMAIN).vocabulary
    for article in articles:
        draws = Draws(stream("sentence claims", seed, article.title))
        other = draws.pick(articles)
        stated_by_other: set[str] = set()
        for sentence in other.sentences:
            stated_by_other.update(sentence.relations)
        num_silent = 0
        for line, sentence in enumerate(article.sentences):
            text = sentence.text
            # 1. The sentence itself, true or falsified, or one that states nothing.
            if sentence.relations:
                relation = sentence.relations[0]
                evidence = frozenset({(article.title, line)})
                value = article.facts[relation]
                show = RELATIONS[article.kind][relation].show
                if show(value) in text and draws.uniform() < FALSE:
                    wrong = other_value(article.kind, relation, value, draws, vocabulary)
                    yield text.replace(show(value), show(wrong), 1), Verdict(REFUTED, evidence)
                else:
                    yield text, Verdict(SUPPORTED, evidence)
            elif num_silent < SILENT:
                num_silent += 1
                yield text, unknown
            # 2. A fact told of a page of another kind.
            is_movable = other.kind != article.kind and article.title in text
            is_new = bool(set(sentence.relations) - stated_by_other)
            if is_movable and is_new and draws.uniform() < ELSEWHERE:
                yield text.replace(article.title, other.title), unknown
