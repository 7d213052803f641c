"""The synthetic encyclopedia in FEVER's format, written out and read back by the reader of the real files.

FEVER's claims were written by people in their own words. Synthetic claims come in two kinds: plain ones, one for each
relation of a page, and sentences of the pages themselves, kept, with another value, or stating nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from longform.core.documents import Corpus
from longform.datasets import fever
from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.claims import REFUTED, SUPPORTED, UNKNOWN, LabelledClaim, Verdict, make_claims
from longform.datasets.synthetic_world.corpus import indices
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.facts import RELATIONS, other_value

DOMAIN = "encyclopedia"
LABELS = {SUPPORTED: "SUPPORTS", REFUTED: "REFUTES", UNKNOWN: "NOT ENOUGH INFO"}
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


def _spelt(title: str) -> str:
    """As FEVER spells a title; the world's titles have no brackets or colons, which it rewrites too."""
    return title.replace(" ", "_")


def fever_claims(claims: Iterable[LabelledClaim]) -> Iterator[dict[str, object]]:
    """FEVER's claim records: id, label, claim, and evidence as lists of [annotation, evidence, page, line]."""
    for number, claim in enumerate(claims):
        evidence = sorted(claim.verdict.evidence)
        yield {
            "id": number,
            "verifiable": "VERIFIABLE" if evidence else "NOT VERIFIABLE",
            "label": LABELS[claim.verdict.label],
            "claim": claim.text,
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
