"""Planted raw files through the real readers, as rows of the default scale run them."""

from collections import Counter
from pathlib import Path

import pytest

from longform.datasets.synthetic_world.native_corpus import FORMS, build
from longform.documents import BadInput

LOOSE = {"min_sections": 1, "min_title_count": 1}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_is_read_and_says_that_it_is_planted(form):
    settings = {} if form == "wikisection" else {"filters": LOOSE}
    corpus = build(name="p", seed=5, raw=Path("unused"), form=form, documents=60, reader=settings)
    assert corpus.facts["planted"] and corpus.facts["form"] == form
    assert 20 < len(corpus.documents) <= 60
    again = build(name="p", seed=5, raw=Path("unused"), form=form, documents=60, reader=settings)
    assert (corpus.documents, corpus.facts) == (again.documents, again.facts)


def test_cohans_files_keep_their_own_splits():
    corpus = build(
        name="p", seed=5, raw=Path("unused"), form="pubmed", documents=50, reader={"filters": LOOSE | {"min_tokens": 1}}
    )
    assert Counter(document.split for document in corpus.documents) == {"train": 40, "validation": 5, "test": 5}


def test_an_unknown_form_is_bad_input():
    with pytest.raises(BadInput, match="allowed are"):
        build(name="p", seed=5, raw=Path("unused"), form="news", documents=3)
    with pytest.raises(BadInput, match="no setting"):
        build(name="p", seed=5, raw=Path("unused"), form="wiki", documents=3, reader={"filter": {}})
