"""Rated texts: GCDC's columns, and planted classes whose damage is what their rating says."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from tiny import documents

from longform.core.documents import BadInput
from longform.datasets import rated_texts, shuffled_texts

HEADER = "text_id,subject,text,ratingA1,labelA\n"


def test_gcdc_rows_become_documents_with_ratings_and_dropped_ones_are_counted(tmp_path):
    rows = ['1,s,"One. Two.\n\nThree.",3,3.0', "2,s,,2,2", "3,s,Four.,1,", "4,s,Five.,1,7", "5,s,Six.,1,1"]
    (tmp_path / "Yelp_train.csv").write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "Yelp_test.csv").write_text(HEADER + "9,s,Nine.,2,2\n", encoding="utf-8")
    corpus = rated_texts.gcdc(name="yelp", raw=tmp_path, validation=0.5)
    assert [(d.id, d.split) for d in corpus.documents] == [
        ("test-9", "test"),
        ("train-1", "validation"),
        ("train-5", "validation"),
    ]
    assert corpus.truth["rating"].tolist() == [2, 3, 1]
    assert [s.text for s in corpus.documents[1].sections] == ["One. Two.", "Three."]
    assert corpus.facts["dropped"] == {"no rating": 1, "no text": 1, "rating outside 1..3": 1}


def test_gcdc_explains_missing_files_and_columns(tmp_path):
    with pytest.raises(BadInput, match="0 CSV files"):
        rated_texts.gcdc(name="x", raw=tmp_path)
    (tmp_path / "a.csv").write_text("text,labelA\nOne.,1\n", encoding="utf-8")
    with pytest.raises(BadInput, match="lacks"):
        rated_texts.gcdc(name="x", raw=tmp_path)


def test_planted_ratings_say_how_a_text_was_shuffled(tmp_path):
    texts = documents(90)
    lines = [json.dumps(d.to_record()) for d in texts]
    (tmp_path / "documents.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = shuffled_texts.rated(name="rated", seed=1, raw=tmp_path, splitter="full_stops")
    for before, after, rating in zip(texts, corpus.documents, corpus.truth["rating"], strict=True):
        original = " ".join(section.text for section in before.sections)
        assert Counter(original.split()) == Counter(after.text.split())
        if rating >= 2:  # three sentences are one block of five
            assert after.text == original
        assert after.edits[-1]["rating"] == rating and after.split == before.split
    assert set(corpus.truth["rating"].tolist()) == {1, 2, 3}
    again = shuffled_texts.rated(name="rated", seed=1, raw=tmp_path, splitter="full_stops")
    assert np.array_equal(again.truth["rating"], corpus.truth["rating"]) and again.documents == corpus.documents
    with pytest.raises(BadInput, match="no such file"):
        shuffled_texts.rated(name="rated", seed=1, raw=tmp_path / "absent")
