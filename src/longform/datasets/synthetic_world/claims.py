"""A verifier that labels any claim in the world's language by what the pages of a corpus state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from longform.datasets.synthetic_world.articles import Article
from longform.datasets.synthetic_world.draws import Draws
from longform.datasets.synthetic_world.facts import CLAIMS, RELATIONS, claim, other_value
from longform.datasets.synthetic_world.grammar import compile_frame
from longform.datasets.synthetic_world.lexicon import Vocabulary
from longform.datasets.synthetic_world.reading import Triple, fact_pattern, read_facts
from longform.resampling import generator

SUPPORTED, REFUTED, UNKNOWN = "supported", "refuted", "unknown"
Evidence = tuple[str, int]  # page title and line, that is sentence number within the page


@dataclass(frozen=True)
class Verdict:
    """A label and the sentences that it rests on; none where the label is unknown."""

    label: str
    evidence: frozenset[Evidence]


@dataclass(frozen=True)
class LabelledClaim:
    """A claim with its true label and evidence, and the triple that it states."""

    text: str
    verdict: Verdict
    triple: Triple


@cache
def _claim_patterns() -> tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...]:
    frames = [(kind, compile_frame(source)) for kind, row in CLAIMS.items() for source in row.values()]
    return tuple((kind, *fact_pattern(kind, frame, "{T}")) for kind, frame in frames)


def read_claim(sentence: str, domain_name: str) -> list[Triple]:
    """Triples of a claim or of any fact sentence of a domain; empty where it states none."""
    for _, pattern, relations in _claim_patterns():
        match = pattern.match(sentence)
        if match:
            return [Triple(match["title"], relation, match[relation]) for relation in relations]
    return read_facts(sentence, domain_name)


@dataclass(frozen=True)
class Verifier:
    """What the pages of a corpus state.

    Attributes:
        domain: whose fact sentences are understood.
        stated: value and evidence by (title, relation).
        dropped: pages left out because an earlier page has their title.
    """

    domain: str
    stated: Mapping[tuple[str, str], tuple[str, Evidence]]
    dropped: int = 0

    @classmethod
    def from_articles(cls, articles: Iterable[Article], domain_name: str) -> Verifier:
        """Read every stated fact with the sentence that states it."""
        stated: dict[tuple[str, str], tuple[str, Evidence]] = {}
        titles: set[str] = set()
        dropped = 0
        for article in articles:
            dropped += article.title in titles
            if article.title in titles:
                continue
            titles.add(article.title)
            for line, sentence in enumerate(article.sentences):
                for relation in sentence.relations:
                    fact = (article.facts[relation], (article.title, line))
                    stated.setdefault((article.title, relation), fact)
        return cls(domain_name, stated, dropped)

    def check(self, sentence: str) -> Verdict:
        """Label one sentence: refuted if any triple is, supported if all are, unknown otherwise.

        Relations are functional, so another value for a stated relation refutes.
        """
        triples = read_claim(sentence, self.domain)
        known = [self.stated.get((t.title, t.relation)) for t in triples]
        against = {fact[1] for t, fact in zip(triples, known, strict=True) if fact and fact[0] != t.value}
        if against:
            return Verdict(REFUTED, frozenset(against))
        if known and all(known):
            return Verdict(SUPPORTED, frozenset(fact[1] for fact in known if fact))
        return Verdict(UNKNOWN, frozenset())


def make_claims(articles: Iterable[Article], vocabulary: Vocabulary, seed: int) -> Iterator[LabelledClaim]:
    """Claims about each page, one per relation: stated ones are kept or falsified, the others are unknown."""
    for article in articles:
        draws = Draws(generator("planted", "claims", seed, article.title))
        lines = {r: i for i, s in reversed(list(enumerate(article.sentences))) for r in s.relations}
        for relation in RELATIONS[article.kind]:
            value, label = article.facts[relation], SUPPORTED if relation in lines else UNKNOWN
            if draws.uniform() < 0.5:
                value = other_value(article.kind, relation, value, draws, vocabulary)
                label = REFUTED if relation in lines else UNKNOWN
            evidence = frozenset({(article.title, lines[relation])} if relation in lines else ())
            text = claim(article.kind, article.title, relation, value)
            yield LabelledClaim(text, Verdict(label, evidence), Triple(article.title, relation, value))
