"""Rated stories and summaries of dialogues: who wrote what, for which source, with which marks."""

import json

import numpy as np
import pytest

from longform.datasets.rated_texts import dialogue_summaries, rated_stories, story_classes
from tests.refusals import refuses


def story(model, text, **scores):
    return {"model": model, "story": text, "scores": scores}


@pytest.fixture
def stories(tmp_path):
    items = [
        {"condition": "a cat", "reference": "Mine.", "generations": [story("BART", " One. ", coherence=3.67, fluency=5),
                                                                    story("HINT", "Two.", coherence=1, fluency=2)]},
        {"condition": "a dog", "reference": "Hers.", "generations": [story("BART", "Three.", coherence=5, fluency=1)]},
    ]  # fmt: skip
    path = tmp_path / "roc.json"
    path.write_text(json.dumps(items))
    return path


def test_stories_stand_beside_the_persons_story_of_their_opening(stories):
    corpus = rated_stories(raw=stories)
    assert [(d.id, d.split, d.text) for d in corpus.documents] == [
        ("roc-001/reference", "train", "Mine."),
        ("roc-001/BART", "test", "One."),
        ("roc-001/HINT", "test", "Two."),
        ("roc-002/reference", "train", "Hers."),
        ("roc-002/BART", "test", "Three."),
    ]
    nan = np.nan
    np.testing.assert_array_equal(corpus.truth["marks"], [[nan], [3.67], [1], [nan], [5]])
    assert corpus.truth["cluster"].tolist() == ["roc-001"] * 3 + ["roc-002"] * 2
    assert corpus.truth["system"].tolist() == ["reference", "BART", "HINT", "reference", "BART"]
    assert corpus.facts["systems"] == ["BART", "HINT"] and corpus.facts["rated"] == 3


def test_another_rating_can_be_kept_and_one_that_is_not_there_is_refused(stories):
    marks = rated_stories(raw=stories, dimension="fluency").truth["marks"]
    assert marks[~np.isnan(marks)].tolist() == [5, 2, 1]
    refuses(
        "no rating 'fluensy' \\(near: fluency\\)", rated_stories, raw=stories, dimension="fluensy"
    )


def test_summaries_of_a_dialogue_stand_together_with_every_raters_mark(tmp_path):
    path = tmp_path / "human_judgment.jsonl"
    lines = []
    for writer, text in (("A", "Early."), ("B", "Late.")):
        for source in ("d1", "d2"):
            ratings = [{"coherence": 4, "relevance": 1}, {"coherence": 2, "relevance": 1}]
            lines.append(
                {"id": source, "model_id": writer, "summary": text, "annotations": ratings}
            )
    lines[3]["annotations"].pop()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = dialogue_summaries(raw=path)
    assert [document.id for document in corpus.documents] == ["d1/A", "d1/B", "d2/A", "d2/B"]
    np.testing.assert_array_equal(corpus.truth["marks"], [[4, 2], [4, 2], [4, 2], [4, np.nan]])
    assert {document.split for document in corpus.documents} == {"test"}


@pytest.mark.parametrize(("count", "marks"), [(99, [[1, 1, 2]]), (100, [[1, 2]])])
def test_a_rater_who_repeats_another_in_a_hundred_texts_is_a_copy(tmp_path, count, marks):
    path = tmp_path / "human_judgment.jsonl"
    lines = []
    for number in range(count):
        ratings = [{"coherence": mark} for mark in (1, 1, 2)]
        lines.append({"id": f"{number}", "model_id": "A", "summary": "x", "annotations": ratings})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = dialogue_summaries(raw=path)
    np.testing.assert_array_equal(corpus.truth["marks"], marks * count)
    assert corpus.facts["copied_raters"] == ([2] if count == 100 else [])


@pytest.mark.parametrize(("content", "told"), [
    ("[]", "no rated text"), ("{}", "r.json"), ('[{"reference": "a", "generations": 1}]', "item 1"),
    ('[{"reference": " ", "generations": []}]', "reference is empty"), ("[1]", "item 1"), ("[", "not JSON"),
    (json.dumps([{"reference": "a", "generations": [story("M", "x", coherence=1)] * 2}]), "'r-001/M' comes twice"),
    (json.dumps([{"reference": "a", "generations": [story("M", "x", coherence="3")]}]), "coherence"),
])  # fmt: skip
def test_files_of_another_shape_are_refused_by_place(tmp_path, content, told):
    (tmp_path / "r.json").write_text(content)
    refuses(told, rated_stories, raw=tmp_path / "r.json")


def test_classes_of_stories_are_thirds_of_the_training_ratings(tmp_path):
    def rated(first, ratings):
        stories = {}
        for number, scores in enumerate(ratings, first):
            readers = dict(zip("abc", scores, strict=False))
            stories[str(number)] = {
                "Text": f"Story\n{number}.",
                "HolisticData": {"scores": readers},
            }
        return json.dumps(stories)

    means = [1, 1, 2, 2, 3, 3, 4, 5, 5]
    training = [[mean, mean, np.nan] for mean in means[:6]]  # a reader who gave none
    (tmp_path / "TrainData.json").write_text(rated(0, training))
    (tmp_path / "TestData.json").write_text(rated(6, [[mean] for mean in means[6:]]))
    corpus = story_classes(name="c", seed=1, raw=tmp_path, shares={"train": 0.67, "test": 0.33})
    assert corpus.documents[0].text == "Story 0."
    of_training = sorted(
        mean
        for mean, document in zip(means, corpus.documents, strict=True)
        if document.split == "train"
    )
    low, high = of_training[1], of_training[3]  # of six, a third and two thirds
    assert corpus.facts["bounds"] == [low, high]
    classes = [1 + (m > low) + (m > high) for m in means]
    assert corpus.truth["rating"].tolist() == classes
    assert corpus.truth["rating"].dtype == np.int64
    ratings = {str(one): classes.count(one) for one in classes}
    facts = {"corpus": "c", "ratings": ratings, "splits": {"train": 6, "test": 3}}
    assert corpus.facts == {**facts, "bounds": [low, high]}
    assert corpus.documents[8].id == "c-8"
    (tmp_path / "TestData.json").write_text(rated(0, [[1]]))
    refuses("'0' comes twice", story_classes, name="c", seed=1, raw=tmp_path)
    (tmp_path / "TestData.json").write_text(rated(6, [[np.nan]]))
    refuses("'6': no text or no rating", story_classes, name="c", seed=1, raw=tmp_path)
    for file in ("TrainData.json", "TestData.json"):
        (tmp_path / file).write_text("{}")
    refuses("no story; give", story_classes, name="c", seed=1, raw=tmp_path)
