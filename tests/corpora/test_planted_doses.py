"""One corpus at several doses: the same documents, more and more of them damaged."""

import pytest

from longform.datasets.synthetic_world import build as planted
from longform.datasets.synthetic_world.severity_corpus import build
from longform.documents import BadInput

SETTINGS = {"name": "t", "seed": 5, "domain": "wiki", "documents": {"test": 12}, "failure": "wrong_pronoun"}


def test_every_dose_is_the_corpus_of_that_dose_under_ids_that_say_so():
    corpus = build(**SETTINGS, doses=[0, 0.5, 1])
    assert len(corpus.documents) == 36 and corpus.documents[12].id.endswith("@0.5")
    half = planted(**SETTINGS, dose=0.5).documents
    assert [d.sections for d in corpus.documents[12:24]] == [d.sections for d in half]
    edits = corpus.facts["edits_by_dose"]
    assert 0 == edits["0"] < edits["0.5"] < edits["1"]


def test_doses_without_a_sound_side_or_repeated_are_refused():
    for doses in ([0.5, 1], [0, 1, 1], None, "0"):
        with pytest.raises(BadInput, match="distinct ones with 0"):
            build(**SETTINGS, doses=doses)
