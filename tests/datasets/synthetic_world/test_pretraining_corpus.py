"""What pretrained networks have read: the world's texts, other draws than the run's, with sections in no order."""

from collections import Counter

import pytest

from longform.core.documents import BadInput
from longform.datasets.synthetic_world.corpora import build as build_world
from longform.datasets.synthetic_world.corpora import pretraining as build

COUNTS = {
    "wiki": {"train": 60, "validation": 4},
    "stories": {"train": 6},
    "dialogues": {"train": 4},
    "translations": {"train": 4},
}


@pytest.fixture(scope="module")
def corpus():
    return build(name="world", seed=5, documents=COUNTS)


def test_every_kind_is_there_and_the_counts_hold(corpus):
    assert Counter(d.split for d in corpus.documents) == {"train": 74, "validation": 4}
    assert {d.id.split("-")[0] for d in corpus.documents} == {"wiki", "stories", "dialogues", "translations"}


def test_sections_stand_in_no_order_under_their_titles_in_every_second_article(corpus):
    articles = [d for d in corpus.documents if d.id.startswith("wiki")]
    titled = [
        d
        for d in articles
        if d.sections[0].text.split(":")[0] in ("abstract", "history") or ": " in d.sections[0].text[:25]
    ]
    first = Counter(d.sections[0].text.split(":")[0] for d in titled)
    assert 0 < len(titled) < len(articles) and len(first) > 3
    assert first["abstract"] < len(titled) / 2  # every article of the world begins with one


def test_no_text_of_the_run_itself_is_read(corpus):
    own = {s.text for d in build_world(name="w", seed=5, domain="wiki", documents=64).documents for s in d.sections}
    read = {s.text.split(": ", 1)[-1] for d in corpus.documents for s in d.sections}
    assert not own & read


def test_an_unknown_kind_and_an_empty_corpus_are_refused():
    with pytest.raises(BadInput, match="kinds \\['poems'\\]"):
        build(name="world", seed=5, documents={"poems": {"train": 3}})
    with pytest.raises(BadInput, match="no documents"):
        build(name="world", seed=5, documents={})
