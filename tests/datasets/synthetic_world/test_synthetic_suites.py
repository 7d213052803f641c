"""Planted sources go through the readers of real files and come out as all seven suites; training texts share no index with them."""

from collections import Counter

import pytest

from longform.core.documents import BadInput
from longform.datasets.synthetic_world.corpora import mixture as mixture_of
from longform.datasets.synthetic_world.languages import LANGUAGES
from longform.datasets.synthetic_world.stories import write_story
from longform.datasets.test_suites import planted as planted_suites
from longform.datasets.test_suites.items import suites_from_documents
from longform.datasets.test_suites.planted import story_text, translated
from tests.refusals import refuses


@pytest.fixture(scope="module")
def suites():
    corpus = planted_suites.build(name="s", seed=3, counts={"stories": 40, "dialogues": 8, "articles": 12})
    return {suite.name: suite for suite in suites_from_documents(corpus.documents, corpus.truth)}


def test_all_seven_phenomena_a_second_language_and_the_planted_endings_are_there(suites):
    kinds = Counter(name.split("_")[0] for name in suites)
    assert kinds["connective"] >= 30
    assert {"N", "D", "story", "winograd", "coreference", "speaker", "kothic"} <= kinds.keys()
    story = write_story(3, 9)  # the first of split test
    regions = [region.content for region in suites["story_cloze"].items[0].condition("original_ending").regions]
    assert " ".join(regions) == story_text(story)
    assert LANGUAGES[1] == "kothic"
    text = translated("The cat sat. The cat ran!", "kothic")
    assert text.count(" ") == 5
    assert text.split(". ")[0].split()[:2] == text.split(". ")[1].split()[:2]


def test_what_follows_the_noun_decides_a_winograd_schema_and_nothing_before_it():
    stories = [write_story(3, index) for index in range(600)]
    asked = [(story, sides) for story in stories if (sides := list(planted_suites._schemas(story)))]
    assert len(asked) == sum(story.schema in (0, 2) for story in stories) >= 180  # both courses of events, all of them
    for story, (right, wrong) in asked:
        assert (right["correctness"], wrong["correctness"]) == (True, False)
        assert right["substitution"] == " ".join(story.context)
        assert len(set(right["substitution"].split()) ^ set(wrong["substitution"].split())) <= 2
    things = sum(any(w in right["substitution"] for w in ("for sale", "in the grass")) for _, (right, _) in asked)
    assert 0.4 < things / len(asked) < 0.6  # the thing and the place are right equally often


def test_models_read_other_stories_than_the_suites_ask_about(suites):
    counts = {kind: {"train": 30, "validation": 5} for kind in ("stories", "dialogues", "articles", "translations")}
    mixture = mixture_of(name="m", seed=3, counts=counts)
    asked = {" ".join(r.content for r in item.condition("original").regions) for item in suites["N_all"].items}
    assert not asked & {document.text for document in mixture.documents}
    assert Counter(document.split for document in mixture.documents) == {"train": 120, "validation": 20}
    refuses("poems", mixture_of, name="m", seed=3, counts={"poems": {"train": 1}})


@pytest.mark.parametrize("counts", [{"stories": 4}, {"stories": 4, "dialogues": 2, "articles": 2, "poems": 1}])
def test_counts_of_other_kinds_of_source_are_refused(counts):
    with pytest.raises(BadInput, match=r"allowed are those of \['stories', 'dialogues', 'articles'\]"):
        planted_suites.build(name="s", seed=3, counts=counts)
