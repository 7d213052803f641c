"""Counts of terms and training of topic models."""

from dataclasses import replace

import numpy as np
from topic_cases import small_model

from longform.core.documents import Document, Section
from longform.critics.topics import model as models
from longform.critics.topics.train import RELEASED_SEED, expectation, fit
from tests.refusals import refuses


def document(number: int, *sections: str) -> Document:
    return Document(f"d{number}", "train", tuple(Section(None, text) for text in sections))


CORPUS = [document(0, "the river river\nBridge bridge .", "river lake @xmath0 \\alpha"),
          document(1, "The lake lake common bridge , @xmath0 \\alpha"),
          document(2, "river common lake bridge, @xmath0 \\alpha"), document(3, "common harbour harbour"),
          document(4, "valley"), document(5, "valley"), document(6, "x")]  # fmt: skip


def test_terms_are_frequent_and_specific_and_counts_cover_all_sections():
    found = models.build_vocabulary(CORPUS, min_count=2, max_share=0.5)
    assert found == ("river", "lake", "common", "bridge", "harbour", "valley")
    every = models.build_vocabulary(
        CORPUS, min_count=1, max_share=0.5
    )  # case and attached punctuation make other words
    assert {"Bridge", "bridge", "bridge,", "."} <= set(every) and not {"The", "x"} & set(every)
    two = [document(0, "fig date"), document(1, "date plum"), document(2, "plum elm"), document(3, "kiwi")]
    assert models.build_vocabulary(two, min_count=1, max_share=0.5) == ("fig", "elm", "kiwi")  # half is too much
    counts, unknown = models.count_terms(CORPUS, ("river", "lake"))
    assert counts.starts.tolist() == [0, 2, 3, 5, 5, 5, 5, 5]
    assert dict(zip(counts.terms[:2].tolist(), counts.counts[:2].tolist(), strict=True)) == {0: 3.0, 1: 1.0}
    assert unknown.tolist() == [6, 6, 4, 3, 1, 1, 1]
    assert counts.tokens.tolist() == [4, 2, 2, 0, 0, 0, 0]
    assert np.array_equal(counts.take(np.array([2, 0])).tokens, [2, 4])


def test_saving_twice_gives_the_same_bytes(tmp_path):
    model = replace(small_model(1), vocabulary=tuple("abcde"), facts={"seed": 1})
    model.save(tmp_path / "one")
    models.TopicModel.load(tmp_path / "one").save(tmp_path / "two")
    for name in ("topics.npz", "topics.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    refuses(r"no topics\.json", models.TopicModel.load, tmp_path / "three")


def documents(*texts: str) -> list[Document]:
    return [Document(f"d{i}", "train", (Section(None, text),)) for i, text in enumerate(texts)]


def test_documents_without_known_words_are_counted_and_left_out():
    texts = ["apple pear apple plum", "pear plum pear", "stone", "apple plum plum pear"] * 3
    model = fit(documents(*texts), seed=RELEASED_SEED, topics=2, min_count=4, max_share=1.1)
    assert model.facts["documents"] == 9
    assert model.facts["documents_without_terms"] == 3
    assert model.facts["tokens_outside_vocabulary"] == 3
    assert set(model.vocabulary) == {"apple", "pear", "plum"}
    np.testing.assert_allclose(model.beta.sum(axis=1), 1)


def test_a_killed_fit_goes_on_from_its_scratch_folder(tmp_path, capsys):
    texts = ["apple pear apple plum", "pear plum pear fig", "fig apple plum plum pear"] * 5
    settings = {"em_iterations": 6, "em_tolerance": -1.0, "lag": 2}
    given = {"seed": 2, "topics": 2, "min_count": 1, "max_share": 1.1}
    fit(documents(*texts), settings={**settings, "em_iterations": 4}, scratch=tmp_path, **given)
    assert len(models.TopicModel.load(tmp_path).history) == 3  # the fourth iteration came after the last checkpoint
    again = fit(documents(*texts), settings=settings, scratch=tmp_path, **given)
    whole = fit(documents(*texts), settings=settings, **given)
    assert np.array_equal(again.beta, whole.beta)
    assert "iteration 3, ELBO -" in capsys.readouterr().out


def test_only_training_documents_are_fitted():
    others = [replace(d, split="test", id=f"t{d.id}") for d in documents("fig fig", "fig apple")]
    train = documents("apple pear apple plum", "pear plum pear", "apple plum plum pear")
    settings = replace(models.RELEASED, em_iterations=2)
    both, one = (
        fit(part, seed=2, topics=2, min_count=1, max_share=1.1, settings=settings) for part in (train + others, train)
    )
    assert both.vocabulary == one.vocabulary and np.array_equal(both.beta, one.beta)
    refuses("zero documents of split train", fit, others, seed=2, topics=2)


def test_bad_input_is_named():
    refuses("1 of 15 words", models.build_vocabulary, CORPUS, min_count=4, max_share=0.3, stop_words=())
    refuses("0 of 0 words of 0 documents", models.build_vocabulary, [])
    few = documents("apple pear", "pear apple")
    refuses("1 topic", fit, few, seed=1, topics=1, min_count=1, max_share=1.1)
    refuses("vocabulary of 1 word", models.TopicModel, (), np.ones((2, 1)), np.zeros(1), np.eye(1), np.eye(1))
    refuses("singular", models.TopicModel, (), np.full((3, 2), 0.5), np.zeros(2), np.ones((2, 2)), np.ones((2, 2)))
    refuses("covariance is singular", models.gaussian, np.zeros((4, 2)), np.zeros((4, 2)))
    empty = models.from_rows([(np.zeros(0, int), np.zeros(0))], 2)
    refuses(
        "document number 0 has no known word", expectation, empty, small_model(1, topics=2, terms=2), models.RELEASED
    )
    for wrong in ({"rounds": 0}, {"floats": "float16"}, {"lag": 0}):
        refuses("topic settings", models.TopicSettings, **wrong)
