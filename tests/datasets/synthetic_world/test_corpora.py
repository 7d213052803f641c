"""Corpora of the world: short articles, what pretrained networks have read, and articles damaged in every way."""

from collections import Counter

import numpy as np
import pytest

from longform.datasets.synthetic_world.corpora import build, corrupted, pretraining, short_articles
from longform.datasets.titles import piece_count
from tests.refusals import refuses

WANTED = {"train": 12, "validation": 4, "test": 4}


def short(**over):
    settings = {"name": "b", "seed": 3, "domain": "wiki", "documents": WANTED, "short_tokens": 110, "drawn": 5} | over
    return short_articles(**settings)


def test_every_section_is_short_and_every_article_is_a_planted_one():
    corpus = short()
    whole = build(name="w", seed=3, domain="wiki", documents={s: 5 * n for s, n in WANTED.items()})
    by_id = {d.id: d for d in whole.documents}
    assert all(by_id[d.id] == d for d in corpus.documents)
    assert all(piece_count(s.text) <= 110 for d in corpus.documents for s in d.sections)
    found = [d.split for d in corpus.documents]
    assert {split: found.count(split) for split in WANTED} == WANTED
    assert corpus.facts["drawn"] == 100 and "section_latent_ppl" not in corpus.facts


COUNTS = {"wiki": {"train": 60, "validation": 4}, "stories": {"train": 6}, "dialogues": {"train": 4},
          "translations": {"train": 4}}  # fmt: skip


@pytest.fixture(scope="module")
def corpus():
    return pretraining(name="world", seed=5, documents=COUNTS)


def test_pretraining_texts_are_of_every_kind_in_no_order_and_none_of_the_run_itself(corpus):
    assert Counter(d.split for d in corpus.documents) == {"train": 74, "validation": 4}
    assert {d.id.split("-")[0] for d in corpus.documents} == {"wiki", "stories", "dialogues", "translations"}
    articles = [d for d in corpus.documents if d.id.startswith("wiki")]
    titled = [d for d in articles if ": " in d.sections[0].text[:25]]
    first = Counter(d.sections[0].text.split(":")[0] for d in titled)
    assert 0 < len(titled) < len(articles) and len(first) > 3
    assert first["abstract"] < len(titled) / 2  # every article of the world begins with one
    own = {s.text for d in build(name="w", seed=5, domain="wiki", documents=64).documents for s in d.sections}
    read = {s.text.split(": ", 1)[-1] for d in corpus.documents for s in d.sections}
    assert not own & read


def test_bad_input_is_named():
    refuses("raise drawn", short, short_tokens=40)
    refuses("kinds \\['poems'\\]", pretraining, name="world", seed=5, documents={"poems": {"train": 3}})
    refuses("no documents", pretraining, name="world", seed=5, documents={})


def test_a_corpus_with_a_corruption_keeps_the_truth_of_its_sound_text():
    sound = build(name="a", seed=5, domain="wiki", documents=6)
    damaged = build(name="b", seed=5, domain="wiki", documents=6, corruption="wrong_pronoun", severity=0.5)
    assert all(np.array_equal(sound.truth[name], damaged.truth[name]) for name in sound.truth)
    assert [d.id for d in sound.documents] == [d.id for d in damaged.documents]
    assert any(d.edits for d in damaged.documents) and not any(d.edits for d in sound.documents)
    assert damaged.facts["corruption"] == "wrong_pronoun"
    refuses("section_order", build, name="c", seed=5, domain="wiki", documents=6, corruption="typo", severity=0.5)


def test_a_severity_corpus_holds_the_corpus_of_every_severity_under_ids_that_say_so():
    world = {"name": "t", "seed": 5, "domain": "wiki", "documents": {"test": 12}, "corruption": "wrong_pronoun"}
    corpus = corrupted(**world, severities=[0, 0.5, 1])
    assert len(corpus.documents) == 36 and corpus.documents[12].id.endswith("@0.5")
    half = build(**world, severity=0.5).documents
    assert [d.sections for d in corpus.documents[12:24]] == [d.sections for d in half]
    edits = corpus.facts["edits_by_severity"]
    assert 0 == edits["0"] < edits["0.5"] < edits["1"]
    for severities in ([0.5, 1], [0, 1, 1], None, "0"):
        refuses("distinct ones with 0", corrupted, **world, severities=severities)


def test_a_corruption_corpus_holds_the_sound_articles_and_each_corruption_of_them():
    world = {"name": "t", "seed": 5, "domain": "wiki", "documents": {"test": 4}}
    corpus = corrupted(**world, severities=[0.5, 1.0], corruptions=["false_fact", "topic_drift"])
    held = {case: [d for d in corpus.documents if d.id.startswith(f"{case}/")] for case in corpus.facts["edits"]}
    assert list(held) == ["sound@0", "false_fact@0.5", "false_fact@1", "topic_drift@0.5", "topic_drift@1"]
    assert [d.sections for d in held["sound@0"]] == [d.sections for d in build(**world).documents]
    damaged = build(**world, corruption="topic_drift", severity=0.5).documents
    assert [d.sections for d in held["topic_drift@0.5"]] == [d.sections for d in damaged]
    refuses("name each once", corrupted, **world, severities=[1.0], corruptions=["false_fact", "false_fact"])
