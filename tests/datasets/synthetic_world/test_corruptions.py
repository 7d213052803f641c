"""The eleven corruptions: identity at severity 0, every eligible place at severity 1, nested and recorded in between."""

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpora import build, corrupted
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.corruptions import CORRUPTIONS, corrupt, eligible_places
from longform.datasets.synthetic_world.fever_corpus import read_facts

PAGES = [write(5, "wiki", index) for index in range(30)]


def struck(page, corruption, severity):
    return corrupt(page, domain_name="wiki", corruption=corruption, severity=severity, seed=9)


def place(edit):
    return edit["section"], edit.get("sentence", -1)


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_severity_zero_is_the_identity(corruption):
    assert all(struck(page, corruption, 0.0) == to_document(page, "wiki") for page in PAGES)


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_severity_one_edits_every_eligible_place_and_each_edit_changes_the_text(corruption):
    for page in PAGES:
        document = struck(page, corruption, 1.0)
        assert [place(edit) for edit in document.edits] == eligible_places(page, corruption)
        assert all(edit["corruption"] == corruption and edit["before"] != edit["after"] for edit in document.edits)
        if document.edits:
            assert document.text != to_document(page, "wiki").text


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_places_of_a_lower_severity_are_among_those_of_a_higher_one_and_grow_with_it(corruption):
    totals = []
    for severity in (0.25, 0.5, 0.75):
        pairs = [(struck(p, corruption, severity), struck(p, corruption, severity + 0.25)) for p in PAGES]
        assert all({place(e) for e in low.edits} <= {place(e) for e in high.edits} for low, high in pairs)
        totals.append(sum(len(low.edits) for low, _ in pairs))
    places = sum(len(eligible_places(page, corruption)) for page in PAGES)
    assert places >= 10 and totals == sorted(totals) and abs(totals[1] - places / 2) < 4 * (places / 4) ** 0.5


def test_a_false_fact_parses_to_a_value_that_is_not_the_pages():
    for page in PAGES:
        for edit in struck(page, "false_fact", 1.0).edits:
            assert all(t.value != page.facts[t.relation] for t in read_facts(edit["after"], "wiki"))
            assert len(read_facts(edit["after"], "wiki")) == len(read_facts(edit["before"], "wiki"))


def test_a_repeated_sentence_is_its_predecessor_and_a_repeated_section_its_own():
    for page in PAGES:
        for edit in struck(page, "repeated_sentence", 1.0).edits:
            assert edit["after"] == page.sections[edit["section"]][1][edit["sentence"] - 1].text
        document = struck(page, "repeated_section", 1.0)
        clean = to_document(page, "wiki")
        assert document.sections[1:] == clean.sections[:-1]


def test_a_corpus_with_a_corruption_keeps_the_truth_of_its_sound_text():
    sound = build(name="a", seed=5, domain="wiki", documents=6)
    damaged = build(name="b", seed=5, domain="wiki", documents=6, corruption="wrong_pronoun", severity=0.5)
    assert all(np.array_equal(sound.truth[name], damaged.truth[name]) for name in sound.truth)
    assert [d.id for d in sound.documents] == [d.id for d in damaged.documents]
    assert any(d.edits for d in damaged.documents) and not any(d.edits for d in sound.documents)
    assert damaged.facts["corruption"] == "wrong_pronoun"
    with pytest.raises(BadInput, match="section_order"):
        build(name="c", seed=5, domain="wiki", documents=6, corruption="typo", severity=0.5)


def test_a_severity_corpus_holds_the_corpus_of_every_severity_under_ids_that_say_so():
    world = {"name": "t", "seed": 5, "domain": "wiki", "documents": {"test": 12}, "corruption": "wrong_pronoun"}
    corpus = corrupted(**world, severities=[0, 0.5, 1])
    assert len(corpus.documents) == 36 and corpus.documents[12].id.endswith("@0.5")
    half = build(**world, severity=0.5).documents
    assert [d.sections for d in corpus.documents[12:24]] == [d.sections for d in half]
    edits = corpus.facts["edits_by_severity"]
    assert 0 == edits["0"] < edits["0.5"] < edits["1"]
    for severities in ([0.5, 1], [0, 1, 1], None, "0"):
        with pytest.raises(BadInput, match="distinct ones with 0"):
            corrupted(**world, severities=severities)


def test_a_corruption_corpus_holds_the_sound_articles_and_each_corruption_of_them():
    world = {"name": "t", "seed": 5, "domain": "wiki", "documents": {"test": 4}}
    corpus = corrupted(**world, severities=[0.5, 1.0], corruptions=["false_fact", "topic_drift"])
    held = {case: [d for d in corpus.documents if d.id.startswith(f"{case}/")] for case in corpus.facts["edits"]}
    assert list(held) == ["sound@0", "false_fact@0.5", "false_fact@1", "topic_drift@0.5", "topic_drift@1"]
    assert [d.sections for d in held["sound@0"]] == [d.sections for d in build(**world).documents]
    damaged = build(**world, corruption="topic_drift", severity=0.5).documents
    assert [d.sections for d in held["topic_drift@0.5"]] == [d.sections for d in damaged]
    with pytest.raises(BadInput, match="name each once"):
        corrupted(**world, severities=[1.0], corruptions=["false_fact", "false_fact"])
