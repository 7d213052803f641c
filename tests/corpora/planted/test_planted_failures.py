"""The eleven failures: identity at dose 0, every eligible place at dose 1, nested and recorded in between."""

import numpy as np
import pytest

from longform.datasets.synthetic_world import build
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.failures import FAILURES, corrupt, eligible_places
from longform.datasets.synthetic_world.languages import LANGUAGES, language_of, translate_word
from longform.datasets.synthetic_world.reading import read_facts
from longform.documents import BadInput

PAGES = [write(5, "wiki", index) for index in range(30)]


def struck(page, failure, dose):
    return corrupt(page, domain_name="wiki", failure=failure, dose=dose, seed=9)


def place(edit):
    return edit["section"], edit.get("sentence", -1)


def test_there_are_eleven_failures_and_each_has_places():
    assert len(FAILURES) == 11
    for failure in FAILURES:
        assert sum(len(eligible_places(page, failure)) for page in PAGES) >= 10


@pytest.mark.parametrize("failure", FAILURES)
def test_dose_zero_is_the_identity(failure):
    assert all(struck(page, failure, 0.0) == to_document(page, "wiki") for page in PAGES)


@pytest.mark.parametrize("failure", FAILURES)
def test_dose_one_edits_every_eligible_place_and_each_edit_changes_the_text(failure):
    for page in PAGES:
        document = struck(page, failure, 1.0)
        assert [place(edit) for edit in document.edits] == eligible_places(page, failure)
        assert all(edit["failure"] == failure and edit["before"] != edit["after"] for edit in document.edits)
        if document.edits:
            assert document.text != to_document(page, "wiki").text


@pytest.mark.parametrize("failure", FAILURES)
def test_places_of_a_lower_dose_are_among_those_of_a_higher_one_and_grow_with_it(failure):
    totals = []
    for dose in (0.25, 0.5, 0.75):
        pairs = [(struck(p, failure, dose), struck(p, failure, dose + 0.25)) for p in PAGES]
        assert all({place(e) for e in low.edits} <= {place(e) for e in high.edits} for low, high in pairs)
        totals.append(sum(len(low.edits) for low, _ in pairs))
    places = sum(len(eligible_places(page, failure)) for page in PAGES)
    assert totals == sorted(totals) and abs(totals[1] - places / 2) < 4 * (places / 4) ** 0.5


@pytest.mark.parametrize("failure", FAILURES)
def test_a_corruption_is_a_function_of_its_arguments(failure):
    assert all(struck(page, failure, 0.6) == struck(page, failure, 0.6) for page in PAGES[:5])


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


def test_translated_words_show_their_language_and_english_words_never_all_of_them():
    for word in domain("wiki").vocabulary.words:
        assert all(language_of(translate_word(language, word)) == language for language in LANGUAGES)


def test_an_unknown_failure_or_a_dose_above_one_is_refused():
    with pytest.raises(BadInput, match="wrong_pronoun"):
        struck(PAGES[0], "typo", 0.5)
    with pytest.raises(BadInput, match="0 to 1"):
        struck(PAGES[0], "topic_drift", 1.5)


def test_a_corpus_with_a_failure_keeps_the_truth_of_its_sound_text():
    sound = build(name="a", seed=5, domain="wiki", documents=6)
    damaged = build(name="b", seed=5, domain="wiki", documents=6, failure="wrong_pronoun", dose=0.5)
    assert all(np.array_equal(sound.truth[name], damaged.truth[name]) for name in sound.truth)
    assert [d.id for d in sound.documents] == [d.id for d in damaged.documents]
    assert any(d.edits for d in damaged.documents) and not any(d.edits for d in sound.documents)
    assert damaged.facts["failure"] == "wrong_pronoun"
    with pytest.raises(BadInput, match="section_order"):
        build(name="c", seed=5, domain="wiki", documents=6, failure="typo", dose=0.5)
