"""Stories, dialogues, reports, translations and ratings: their truth is what their text says."""

import re
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from longform.core.resampling import bootstrap, generator, percentile_interval
from longform.datasets.synthetic_world.corpora import DOMAINS, build
from longform.datasets.synthetic_world.languages import LANGUAGES, language_of
from longform.datasets.synthetic_world.reports import (
    ABSENT,
    ROLES,
    SEVERITIES,
    START,
    TRANSITIONS,
    WORDS,
    column_log_probability,
    expected_agreement,
    expected_column_log_probability,
    write_cluster,
    write_report,
)
from longform.datasets.synthetic_world.stories import (
    ATTRIBUTES,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    SCHEMAS,
    VALUES,
    make_pairs,
    write_dialogue,
    write_story,
)
from tests.refusals import refuses

LEVEL = 0.001
REPORTS = [write_report(7, index) for index in range(2000)]
STORIES = [write_story(7, index) for index in range(2000)]


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_is_independent_of_how_much_is_written(domain):
    few = build(name="a", seed=5, domain=domain, documents=3)
    more = build(name="b", seed=5, domain=domain, documents={"train": 9, "test": 1})
    known = {d.id: d for d in more.documents}
    assert all(known[d.id] == d for d in few.documents)
    assert few.facts["synthetic"] is True


def test_role_transitions_follow_their_chain_once_an_entity_has_been_seen():
    counts = np.zeros((4, 4))
    for report in REPORTS:
        for column in report.grid.T.tolist():
            first = next(i for i, role in enumerate(column) if role != ABSENT)
            for a, b in zip(column[first:], column[first + 1 :], strict=False):
                counts[a, b] += 1
    expected = counts.sum(axis=1, keepdims=True) * TRANSITIONS
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 12) > LEVEL


def test_expected_column_log_probability_equals_enumeration_and_the_estimate():
    total = mass = 0.0
    for code in range(1, 4**5):
        column = [3 - (code >> (2 * i)) % 4 for i in range(5)]
        probability = np.exp(column_log_probability(column))
        total, mass = total + probability * np.log(probability), mass + probability
    assert expected_column_log_probability(5) == pytest.approx(total / mass, rel=1e-12)
    gaps = [
        np.mean([column_log_probability(c) for c in r.grid.T.tolist()]) - expected_column_log_probability(len(r.grid))
        for r in REPORTS
    ]
    assert stats.ttest_1samp(gaps, 0.0).pvalue > LEVEL
    assert sum(START) == pytest.approx(1.0)


def test_the_grid_is_read_back_from_the_words_of_each_report():
    """Before the verb subjects, after it objects, behind a preposition others; a noun follows ``the``."""
    for report in REPORTS[:300]:
        for sentence, row in zip(report.sentences, report.grid, strict=True):
            words = sentence.lower().rstrip(".").split()
            roles = dict.fromkeys(report.entities, "-")
            verb_seen = False
            for before, word, noun in zip(["", "", *words], ["", *words], words, strict=False):
                verb_seen = verb_seen or (noun not in report.entities and noun not in ("the", "and"))
                if word == "the" and noun in roles:
                    roles[noun] = "X" if before in WORDS["prepositions"] else "O" if verb_seen else "S"
            assert [ROLES[r] for r in row] == list(roles.values()), sentence


def test_the_right_ending_follows_from_the_fourth_sentence():
    """Rebuilt from the frames: turn and right ending are of one outcome, turn and wrong ending of two."""

    def matches(frame, text):
        return re.fullmatch(re.sub(r"\\\{\w+\\\}", r"[\\w -]+", re.escape(frame)), text)

    for story in STORIES:
        schema = SCHEMAS[story.schema]
        outcomes = [o for o in (0, 1) if matches(schema["turns"][o], story.context[3])]
        assert outcomes == [story.outcome]
        assert matches(schema["endings"][story.outcome], story.endings[story.right])
        assert matches(schema["endings"][1 - story.outcome], story.endings[1 - story.right])
        assert not matches(schema["endings"][1 - story.outcome], story.endings[story.right])


def test_what_is_said_follows_from_the_persona_and_pairs_are_labelled_by_value():
    labels = Counter()
    for index in range(200):
        dialogue = write_dialogue(7, index)
        assert len(dialogue.turns) % 2 == 0
        for turn, (text, source) in enumerate(zip(dialogue.turns, dialogue.sources, strict=True)):
            assert source < 0 or text in dialogue.personas[turn % 2][source].answers
        for _, fact, second, label in make_pairs(dialogue, seed=1):
            agree = POSITIVE if fact.value == second.value else NEGATIVE
            assert label == (agree if fact.attribute == second.attribute else NEUTRAL)
            labels[label] += 1
    assert labels[POSITIVE] == labels[NEGATIVE] == labels[NEUTRAL] > 500
    assert VALUES.keys() == ATTRIBUTES.keys()


def test_translated_words_show_their_language():
    corpus = build(name="t", seed=7, domain="parallel", documents=2000)
    counts = np.bincount(corpus.truth["language"], minlength=3)
    assert stats.chisquare(counts).pvalue > LEVEL
    for document, language in zip(corpus.documents, corpus.truth["language"], strict=True):
        target = document.sections[1]
        assert (document.sections[0].title, target.title) == ("source", "target")
        assert {language_of(word) for word in target.text.split()[:-1]} == {LANGUAGES[language]}
    words = sum(len(document.sections[1].text.split()) - 1 for document in corpus.documents)
    assert len(corpus.truth["word_language"]) == corpus.truth["word_language_lengths"].sum() == words
    for wrong in ({"corruption": "mixed_language"}, {"severity": 0.1}):
        refuses("reports", build, name="t", seed=1, domain="reports", documents=2, **wrong)


def test_rater_agreement_in_closed_form_is_that_of_many_items():
    clusters = [write_cluster(7, index) for index in range(150)]
    raw = np.stack([version.raw for cluster in clusters for version in cluster])
    others = (raw.sum(axis=1, keepdims=True) - raw) / (raw.shape[1] - 1)

    def agreement(rows):
        return np.mean([np.corrcoef(raw[rows, r], others[rows, r])[0, 1] for r in range(raw.shape[1])])

    low, high = percentile_interval(bootstrap(agreement, len(raw), generator("test"), 300), 0.99)
    assert low <= expected_agreement() <= high
    assert all([v.severity for v in cluster] == list(SEVERITIES) for cluster in clusters)
    assert all(not cluster[0].document.edits for cluster in clusters)
    marks, severities = zip(*((v.marks.mean(), v.severity) for c in clusters for v in c), strict=True)
    assert np.corrcoef(marks, severities)[0, 1] < -0.9
