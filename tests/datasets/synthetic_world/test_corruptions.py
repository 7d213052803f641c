"""The eleven corruptions: identity at severity 0, every eligible place at severity 1, nested and recorded in between."""

import pytest

from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.corruptions import CORRUPTIONS, corrupt, eligible_places
from tests.samples.claims import stated_in

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


def test_false_facts_and_repetitions_are_what_they_say():
    for page in PAGES:
        for edit in struck(page, "false_fact", 1.0).edits:
            assert all(t.value != page.facts[t.relation] for t in stated_in(edit["after"], "wiki"))
            assert len(stated_in(edit["after"], "wiki")) == len(stated_in(edit["before"], "wiki"))
    for page in PAGES:
        for edit in struck(page, "repeated_sentence", 1.0).edits:
            assert edit["after"] == page.sections[edit["section"]][1][edit["sentence"] - 1].text
        document = struck(page, "repeated_section", 1.0)
        clean = to_document(page, "wiki")
        assert document.sections[1:] == clean.sections[:-1]
