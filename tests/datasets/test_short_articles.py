"""Short articles: every section within the limit, the articles themselves those of the planted world."""

import pytest

from longform.core.documents import BadInput
from longform.datasets.synthetic_world import corpora as planted
from longform.datasets.titles import piece_count

WANTED = {"train": 12, "validation": 4, "test": 4}


def build(**over):
    settings = {"name": "b", "seed": 3, "domain": "wiki", "documents": WANTED, "short_tokens": 110, "drawn": 5} | over
    return planted.short_articles(**settings)


def test_every_section_is_short_and_every_article_is_a_planted_one():
    corpus = build()
    whole = planted.build(name="w", seed=3, domain="wiki", documents={s: 5 * n for s, n in WANTED.items()})
    by_id = {d.id: d for d in whole.documents}
    assert all(by_id[d.id] == d for d in corpus.documents)
    assert all(piece_count(s.text) <= 110 for d in corpus.documents for s in d.sections)
    found = [d.split for d in corpus.documents]
    assert {split: found.count(split) for split in WANTED} == WANTED
    assert corpus.facts["drawn"] == 100 and "section_latent_ppl" not in corpus.facts


def test_too_few_short_articles_is_a_sentence():
    with pytest.raises(BadInput, match="raise drawn"):
        build(short_tokens=40)
