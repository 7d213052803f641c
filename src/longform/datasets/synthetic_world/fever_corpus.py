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

from longform.core.documents import Corpus
from longform.datasets import fever
from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.corpus import indices
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.grammar import RELATIONS, SETTLEMENTS, Frame, claim, compile_frame, other_value
from longform.datasets.synthetic_world.lexicon import Vocabulary

SUPPORTED, REFUTED, UNKNOWN = "supported", "refuted", "unknown"
TITLE = r"(?P<title>(?!It\b)[A-Z]\w+(?: (?:of )?[A-Z]\w+)*)"
WORD = r"(?:an? )?[\w-]+"
OTHER = dict.fromkeys(("{1}", "{2}", "{3}"), r"[\w ]+?") | {"{settlement}": f"(?:{'|'.join(SETTLEMENTS)})"}
Evidence = tuple[str, int]  # title of a page and number of its sentence


@dataclass(frozen=True)
class Triple:
    """What a sentence states: the page's title, a relation and its value."""

    title: str
    relation: str
    value: str


@dataclass(frozen=True)
class Verdict:
    """A label and the sentences that it rests on; none where the label is unknown."""

    label: str
    evidence: frozenset[Evidence]


@dataclass(frozen=True)
class LabelledClaim:
    """A claim with its true label and evidence."""

    text: str
    verdict: Verdict


Pattern = tuple[re.Pattern[str], tuple[str, ...]]  # of a sentence, and the relations that it states


def _pattern(kind: str, frame: Frame, subject: str) -> Pattern:
    """The regular expression of a fact frame, one group per relation and one for the title in ``subject``'s place."""
    slots = OTHER | {subject: TITLE}
    slots |= {f"{{F_{r}}}": RELATIONS[kind][r].pattern.replace("(", f"(?P<{r}>", 1) for r in frame.relations}
    parts = re.split(r"(\{\w+\})", frame.source)
    body = "".join(slots.get(part, WORD) if part.startswith("{") else re.escape(part) for part in parts)
    return re.compile(rf"^{body}(?=[ ,.])"), frame.relations


@cache
def page_patterns(name: str) -> tuple[Pattern, ...]:
    """Of the fact sentences of a domain's pages."""
    world, patterns = domain(name), []
    for kind, settings in world.kinds.items():
        style = world.styles.get(f"abstract/{kind}")
        frames = [f for f in settings.openings if f.relations] + list(style.facts + style.own_facts if style else ())
        for frame in frames:
            subject = "{T}" if "{T}" in frame.source else "{1}"
            if frame.source.startswith(subject):
                patterns.append(_pattern(kind, frame, subject))
    return tuple(patterns)


@cache
def _claim_patterns() -> tuple[Pattern, ...]:
    rows = [(kind, relation.claim) for kind, relations in RELATIONS.items() for relation in relations.values()]
    return tuple(_pattern(kind, compile_frame(source), "{T}") for kind, source in rows)


def read_claim(sentence: str, domain_name: str) -> list[Triple]:
    """Triples of a claim or of any fact sentence of a domain; empty where it states none.

    The pattern of each fact frame is tried in turn; what follows a stated fact (a connective's clause) is ignored.
    """
    for pattern, relations in _claim_patterns() + page_patterns(domain_name):
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
        against = {fact[1] for t, fact in zip(triples, known, strict=True) if fact and fact[0] != t.value}
        if against:
            return Verdict(REFUTED, frozenset(against))
        if known and all(known):
            return Verdict(SUPPORTED, frozenset(fact[1] for fact in known if fact))
        return Verdict(UNKNOWN, frozenset())


def make_claims(articles: Iterable[Article], vocabulary: Vocabulary, seed: int) -> Iterator[LabelledClaim]:
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
            text = claim(article.kind, article.title, relation, value)
            yield LabelledClaim(text, Verdict(label, evidence))


DOMAIN = "encyclopedia"
LABELS = {SUPPORTED: "SUPPORTS", REFUTED: "REFUTES", UNKNOWN: "NOT ENOUGH INFO"}
FALSE, ELSEWHERE = 0.5, 0.5  # shares of fact sentences that are falsified, and of those that speak of another page
SILENT = 3  # sentences of a page that state nothing and are taken for claims


def build(*, name: str, seed: int, pages: Mapping[str, int], shares: Mapping[str, float] = fever.SHARES) -> Corpus:
    """Pages and claims; see :mod:`longform.datasets.fever`.

    Args:
        pages: how many pages of each split of the encyclopedia; claims of a page go to the split drawn for the page.
    """
    articles = list({a.title: a for a in (write(seed, DOMAIN, number) for number in indices(pages))}.values())
    claims = [*make_claims(articles, domain(DOMAIN).vocabulary, seed), *sentence_claims(articles, seed)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "wiki-pages").mkdir()
        _write(folder / "claims.jsonl", fever_claims(claims))
        _write(folder / "wiki-pages" / "wiki-001.jsonl", fever_pages(articles))
        return fever.build(name=name, seed=seed, raw=folder, shares=shares)


def _write(path: Path, rows: Iterable[object]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _spelt(title: str) -> str:
    return title.replace(" ", "_")


def fever_claims(claims: Iterable[LabelledClaim]) -> Iterator[dict[str, object]]:
    """FEVER's claim records: id, label, claim, and evidence as lists of [annotation, evidence, page, line]."""
    for number, labelled in enumerate(claims):
        evidence = sorted(labelled.verdict.evidence)
        yield {
            "id": number,
            "verifiable": "VERIFIABLE" if evidence else "NOT VERIFIABLE",
            "label": LABELS[labelled.verdict.label],
            "claim": labelled.text,
            "evidence": [[[number, number, _spelt(title), line]] for title, line in evidence]
            or [[[number, None, None, None]]],
        }


def fever_pages(articles: Iterable[Article]) -> Iterator[dict[str, str]]:
    """FEVER's wiki pages: id, text, and numbered lines with a tab."""
    for article in articles:
        texts = [sentence.text for sentence in article.sentences]
        lines = "\n".join(f"{number}\t{text}" for number, text in enumerate(texts))
        yield {"id": _spelt(article.title), "text": " ".join(texts), "lines": lines}


def sentence_claims(articles: Sequence[Article], seed: int) -> Iterator[LabelledClaim]:
    """Sentences of the pages as claims: fact sentences kept or falsified, told of another page too, and silent ones."""
    unknown = Verdict(UNKNOWN, frozenset())
    for article in articles:
        draws = Draws(stream("sentence claims", seed, article.title))
        other = draws.pick(articles)
        stated = {relation for sentence in other.sentences for relation in sentence.relations}
        silent = 0
        for line, sentence in enumerate(article.sentences):
            if sentence.relations:
                yield _fact_claim(article, line, draws)
            elif silent < SILENT:
                silent += 1
                yield LabelledClaim(sentence.text, unknown)
            movable = other.kind != article.kind and article.title in sentence.text
            if movable and set(sentence.relations) - stated and draws.uniform() < ELSEWHERE:
                yield LabelledClaim(sentence.text.replace(article.title, other.title), unknown)


def _fact_claim(article: Article, line: int, draws: Draws) -> LabelledClaim:
    """A fact sentence as it stands, or with another value of its first relation; only the first statement counts."""
    sentence = article.sentences[line]
    relation, text = sentence.relations[0], sentence.text
    value, show = article.facts[relation], RELATIONS[article.kind][relation].show
    evidence = frozenset({(article.title, line)})
    if show(value) in text and draws.uniform() < FALSE:
        wrong = other_value(article.kind, relation, value, draws, domain(DOMAIN).vocabulary)
        return LabelledClaim(text.replace(show(value), show(wrong), 1), Verdict(REFUTED, evidence))
    return LabelledClaim(text, Verdict(SUPPORTED, evidence))
