"""The synthetic encyclopedia in FEVER's format, written out and read back by the reader of the real files.

FEVER's claims were written by people in their own words. Synthetic claims come in two kinds: plain ones, one for each
relation of a page, and sentences of the pages themselves, kept, with another value, or stating nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from longform.datasets import fever
from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.claims import (
    REFUTED,
    SUPPORTED,
    UNKNOWN,
    LabelledClaim,
    Triple,
    Verdict,
    make_claims,
)
from longform.datasets.synthetic_world.corpus import indices
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.facts import RELATIONS, other_value
from longform.documents import Corpus

DOMAIN = "encyclopedia"
LABELS = {SUPPORTED: "SUPPORTS", REFUTED: "REFUTES", UNKNOWN: "NOT ENOUGH INFO"}
SPELLING = str.maketrans(
    {" ": "_", "(": "-LRB-", ")": "-RRB-", ":": "-COLON-", "[": "-LSB-", "]": "-RSB-"}
)  # of titles
FALSE, ELSEWHERE = 0.5, 0.5  # shares of fact sentences that are falsified, and of those that speak of another page
SILENT = 3  # sentences of a page that state nothing and are taken for claims


def build(
    *, name: str, seed: int, raw: Path, pages: Mapping[str, int], shares: Mapping[str, float] = fever.SHARES
) -> Corpus:
    """Pages and claims; see :mod:`longform.datasets.fever`.

    Args:
        raw: not read; the files are made from the seed.
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


def fever_claims(claims: Iterable[LabelledClaim]) -> Iterator[dict[str, object]]:
    """FEVER's claim records: id, label, claim, and evidence as lists of [annotation, evidence, page, line]."""
    for number, claim in enumerate(claims):
        evidence = sorted(claim.verdict.evidence)
        yield {
            "id": number,
            "verifiable": "VERIFIABLE" if evidence else "NOT VERIFIABLE",
            "label": LABELS[claim.verdict.label],
            "claim": claim.text,
            "evidence": [[[number, number, title.translate(SPELLING), line]] for title, line in evidence]
            or [[[number, None, None, None]]],
        }


def fever_pages(articles: Iterable[Article]) -> Iterator[dict[str, str]]:
    """FEVER's wiki pages: id, text, and numbered lines with a tab."""
    for article in articles:
        texts = [sentence.text for sentence in article.sentences]
        lines = "\n".join(f"{number}\t{text}" for number, text in enumerate(texts))
        yield {"id": article.title.translate(SPELLING), "text": " ".join(texts), "lines": lines}


def sentence_claims(articles: list[Article], seed: int) -> Iterator[LabelledClaim]:
    """Sentences of the pages as claims: fact sentences kept or falsified, told of another page too, and silent ones."""
    for article in articles:
        draws = Draws(stream("sentence claims", seed, article.title))
        other = draws.pick(articles)
        silent = 0
        for line, sentence in enumerate(article.sentences):
            if sentence.relations:
                yield _fact_claim(article, line, draws)
            elif silent < SILENT:
                silent += 1
                yield LabelledClaim(sentence.text, Verdict(UNKNOWN, frozenset()), Triple(article.title, "", ""))
            relations = [r for r in sentence.relations if r not in _stated(other)]
            movable = relations and other.kind != article.kind and article.title in sentence.text
            if movable and draws.uniform() < ELSEWHERE:
                text = sentence.text.replace(article.title, other.title)
                yield LabelledClaim(text, Verdict(UNKNOWN, frozenset()), Triple(other.title, relations[0], ""))


def _stated(article: Article) -> set[str]:
    return {relation for sentence in article.sentences for relation in sentence.relations}


def _fact_claim(article: Article, line: int, draws: Draws) -> LabelledClaim:
    """A fact sentence as it stands, or with another value of its first relation; only the first statement counts."""
    sentence = article.sentences[line]
    relation = sentence.relations[0]
    value, text = article.facts[relation], sentence.text
    evidence = frozenset({(article.title, line)})
    shown = RELATIONS[article.kind][relation].show
    if shown(value) in text and draws.uniform() < FALSE:
        wrong = other_value(article.kind, relation, value, draws, domain(DOMAIN).vocabulary)
        text = text.replace(shown(value), shown(wrong), 1)
        return LabelledClaim(text, Verdict(REFUTED, evidence), Triple(article.title, relation, wrong))
    return LabelledClaim(text, Verdict(SUPPORTED, evidence), Triple(article.title, relation, value))
