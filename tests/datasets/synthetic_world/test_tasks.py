"""Stories, dialogues, reports, translations, ratings and nouns: their truth is what their text says, and suites are made of them."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from longform.core.resampling import bootstrap, generator, percentile_interval
from longform.datasets.synthetic_world import reports, stories
from longform.datasets.synthetic_world.corpora import DOMAINS, build, mixture
from longform.datasets.synthetic_world.languages import LANGUAGES, language_of
from longform.datasets.synthetic_world.lexicon import NOT_NOUNS, synsets, to_lmf, vocabulary
from longform.datasets.test_suites import planted
from longform.datasets.test_suites.items import suites_from_documents
from tests.refusals import refuses

LEVEL = 0.001
REPORTS = [reports.write_report(7, index) for index in range(2000)]
STORIES = [stories.write_story(7, index) for index in range(2000)]


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
            first = next(i for i, role in enumerate(column) if role != reports.ABSENT)
            for a, b in zip(column[first:], column[first + 1 :], strict=False):
                counts[a, b] += 1
    expected = counts.sum(axis=1, keepdims=True) * reports.TRANSITIONS
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 12) > LEVEL


def test_expected_column_log_probability_equals_enumeration_and_the_estimate():
    total = mass = 0.0
    for code in range(1, 4**5):
        column = [3 - (code >> (2 * i)) % 4 for i in range(5)]
        probability = np.exp(reports.column_log_probability(column))
        total, mass = total + probability * np.log(probability), mass + probability
    assert reports.expected_column_log_probability(5) == pytest.approx(total / mass, rel=1e-12)
    gaps = [
        np.mean([reports.column_log_probability(c) for c in r.grid.T.tolist()])
        - reports.expected_column_log_probability(len(r.grid))
        for r in REPORTS
    ]
    assert stats.ttest_1samp(gaps, 0.0).pvalue > LEVEL
    assert sum(reports.START) == pytest.approx(1.0)


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
                    roles[noun] = "X" if before in reports.WORDS["prepositions"] else "O" if verb_seen else "S"
            assert [reports.ROLES[r] for r in row] == list(roles.values()), sentence


def test_the_right_ending_follows_from_the_fourth_sentence():
    """Rebuilt from the frames: turn and right ending are of one outcome, turn and wrong ending of two."""

    def matches(frame, text):
        return re.fullmatch(re.sub(r"\\\{\w+\\\}", r"[\\w -]+", re.escape(frame)), text)

    for story in STORIES:
        schema = stories.SCHEMAS[story.schema]
        outcomes = [o for o in (0, 1) if matches(schema["turns"][o], story.context[3])]
        assert outcomes == [story.outcome]
        assert matches(schema["endings"][story.outcome], story.endings[story.right])
        assert matches(schema["endings"][1 - story.outcome], story.endings[1 - story.right])
        assert not matches(schema["endings"][1 - story.outcome], story.endings[story.right])


def test_what_is_said_follows_from_the_persona_and_pairs_are_labelled_by_value():
    labels = Counter()
    for index in range(200):
        dialogue = stories.write_dialogue(7, index)
        assert len(dialogue.turns) % 2 == 0
        for turn, (text, source) in enumerate(zip(dialogue.turns, dialogue.sources, strict=True)):
            assert source < 0 or text in dialogue.personas[turn % 2][source].answers
        for _, fact, second, label in stories.make_pairs(dialogue, seed=1):
            agree = stories.POSITIVE if fact.value == second.value else stories.NEGATIVE
            assert label == (agree if fact.attribute == second.attribute else stories.NEUTRAL)
            labels[label] += 1
    assert labels[stories.POSITIVE] == labels[stories.NEGATIVE] == labels[stories.NEUTRAL] > 500
    assert stories.VALUES.keys() == stories.ATTRIBUTES.keys()


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
    clusters = [reports.write_cluster(7, index) for index in range(150)]
    raw = np.stack([version.raw for cluster in clusters for version in cluster])
    others = (raw.sum(axis=1, keepdims=True) - raw) / (raw.shape[1] - 1)

    def agreement(rows):
        return np.mean([np.corrcoef(raw[rows, r], others[rows, r])[0, 1] for r in range(raw.shape[1])])

    low, high = percentile_interval(bootstrap(agreement, len(raw), generator("test"), 300), 0.99)
    assert low <= reports.expected_agreement() <= high
    assert all([v.severity for v in cluster] == list(reports.SEVERITIES) for cluster in clusters)
    assert all(not cluster[0].document.edits for cluster in clusters)
    marks, severities = zip(*((v.marks.mean(), v.severity) for c in clusters for v in c), strict=True)
    assert np.corrcoef(marks, severities)[0, 1] < -0.9


@pytest.fixture(scope="module")
def suites():
    corpus = planted.build(name="s", seed=3, counts={"stories": 40, "dialogues": 8, "articles": 12})
    return {suite.name: suite for suite in suites_from_documents(corpus.documents, corpus.truth)}


def test_all_seven_phenomena_a_second_language_and_the_planted_endings_are_there(suites):
    kinds = Counter(name.split("_")[0] for name in suites)
    assert kinds["connective"] >= 30
    assert {"N", "D", "story", "winograd", "coreference", "speaker", "kothic"} <= kinds.keys()
    story = stories.write_story(3, 9)  # the first of split test
    regions = [region.content for region in suites["story_cloze"].items[0].condition("original_ending").regions]
    assert " ".join(regions) == planted.story_text(story)
    assert LANGUAGES[1] == "kothic"
    text = planted.translated("The cat sat. The cat ran!", "kothic")
    assert text.count(" ") == 5
    assert text.split(". ")[0].split()[:2] == text.split(". ")[1].split()[:2]


def test_what_follows_the_noun_decides_a_winograd_schema_and_nothing_before_it():
    told = [stories.write_story(3, index) for index in range(600)]
    asked = [(story, sides) for story in told if (sides := list(planted._schemas(story)))]
    assert len(asked) == sum(story.schema in (0, 2) for story in told) >= 180  # both courses of events, all of them
    for story, (right, wrong) in asked:
        assert (right["correctness"], wrong["correctness"]) == (True, False)
        assert right["substitution"] == " ".join(story.context)
        assert len(set(right["substitution"].split()) ^ set(wrong["substitution"].split())) <= 2
    things = sum(any(w in right["substitution"] for w in ("for sale", "in the grass")) for _, (right, _) in asked)
    assert 0.4 < things / len(asked) < 0.6  # the thing and the place are right equally often


def test_models_read_other_stories_than_the_suites_ask_about(suites):
    counts = {kind: {"train": 30, "validation": 5} for kind in ("stories", "dialogues", "articles", "translations")}
    read = mixture(name="m", seed=3, counts=counts)
    asked = {" ".join(r.content for r in item.condition("original").regions) for item in suites["N_all"].items}
    assert not asked & {document.text for document in read.documents}
    assert Counter(document.split for document in read.documents) == {"train": 120, "validation": 20}
    refuses("poems", mixture, name="m", seed=3, counts={"poems": {"train": 1}})


@pytest.mark.parametrize("counts", [{"stories": 4}, {"stories": 4, "dialogues": 2, "articles": 2, "poems": 1}])
def test_counts_of_other_kinds_of_source_are_refused(counts):
    allowed = r"allowed are those of \['stories', 'dialogues', 'articles'\]"
    refuses(allowed, planted.build, name="s", seed=3, counts=counts)


NOUNS = vocabulary("everyday")
TREE = synsets(NOUNS)
SENSES = Counter(word for word, _, _ in TREE.values())


def test_the_lexicon_is_one_tree_with_every_noun_and_a_gloss_everywhere():
    nouns = {n for t in NOUNS.topics for k, words in t.kinds.items() if k not in NOT_NOUNS for n in words}
    slots = ("person", "thing", "being", "stuff", "event", "idea", "place")
    said = {word for topic in NOUNS.topics for slot in slots for word in topic.tables[slot]}
    assert nouns | said <= SENSES.keys() and len(nouns) > 500
    assert sum(SENSES[noun] > 1 for noun in nouns) >= 5
    met = set()
    for key, (_, hypernym, gloss) in TREE.items():  # a hypernym comes first, so all lead to the one root
        assert gloss and (hypernym in met or (hypernym is None and not met))
        met.add(key)


def test_the_lmf_file_is_xml_whose_relations_are_the_tree():
    root = ElementTree.fromstring(to_lmf(NOUNS).split("\n", 2)[2])
    relations = [(s.get("id"), r) for s in root.iter("Synset") for r in s.iter("SynsetRelation")]
    pairs = {(here, r.get("target")) for here, r in relations if r.get("relType") == "hypernym"}
    back = {(r.get("target"), here) for here, r in relations if r.get("relType") == "hyponym"}
    names = {key: f"synthetic-{number:08d}-n" for number, key in enumerate(TREE, 1)}
    assert pairs == back == {(names[key], names[above]) for key, (_, above, _) in TREE.items() if above}
