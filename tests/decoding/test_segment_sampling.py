"""Texts of exactly so many segments from a semi-Markov model."""

import pytest

from longform.decoding.segment_sampling import generate
from longform.hsmm.model import SemiMarkovLM
from longform.statistics.random_streams import generator
from tests.language_models.hsmm.semi_markov_cases import random_case
from tests.refusals import refuses


def test_each_text_is_the_models_draw_under_its_own_named_stream(tmp_path):
    model, _ = random_case(1)
    model.save(tmp_path)
    corpus = generate(model=tmp_path, name="row", seed=3, documents=4, segments=5)
    assert [document.id for document in corpus.documents] == ["row-0", "row-1", "row-2", "row-3"]
    assert {document.split for document in corpus.documents} == {"generated"}
    assert corpus.facts == {"documents": 4, "segments": 5}
    for index, document in enumerate(corpus.documents):
        ((states, rows),) = SemiMarkovLM.load(tmp_path).draw(5, [generator(3, "row", index)])
        assert len(states) == 5
        spelt = [token for row in rows for token in model.ngrams.text(int(row))]
        assert document.text == " ".join(spelt) and document.sections[0].title is None


@pytest.mark.parametrize(
    "sizes", [{"documents": 0, "segments": 1}, {"documents": 1, "segments": 0}]
)
def test_no_text_and_no_segment_are_refused(sizes, tmp_path):
    refuses("must be at least one", generate, model=tmp_path, name="row", seed=1, **sizes)


def test_one_text_of_one_segment_is_drawn(tmp_path):
    random_case(1)[0].save(tmp_path)
    corpus = generate(model=tmp_path, name="row", seed=3, documents=1, segments=1)
    assert len(corpus.documents) == 1 and corpus.facts == {"documents": 1, "segments": 1}
