"""Rated texts: GCDC's columns, SummEval's summaries with marks."""

import json

import numpy as np

from longform.datasets.text_files import gcdc, summeval
from tests.refusals import refuses

HEADER = "text_id,subject,text,ratingA1,labelA\n"


def test_gcdc_rows_become_documents_with_ratings_and_dropped_ones_are_counted(tmp_path):
    rows = ['1,s,"One. Two.\n\nThree.",3,3.0', "2,s,,2,2", "3,s,Four.,1,", "4,s,Five.,1,7", "5,s,Six.,1,1"]
    (tmp_path / "Yelp_train.csv").write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "Yelp_test.csv").write_text(HEADER + "9,s,Nine.,2,2\n", encoding="utf-8")
    corpus = gcdc(name="yelp", raw=tmp_path, validation=0.5)
    places = [(d.id, d.split) for d in corpus.documents]
    assert places == [("test-9", "test"), ("train-1", "validation"), ("train-5", "validation")]
    assert corpus.truth["rating"].tolist() == [2, 3, 1]
    assert [s.text for s in corpus.documents[1].sections] == ["One. Two.", "Three."]
    assert corpus.facts["dropped"] == {"no rating": 1, "no text": 1, "rating outside 1..3": 1}


def test_bad_files_are_named(tmp_path):
    refuses("0 CSV files", gcdc, name="x", raw=tmp_path)
    (tmp_path / "a.csv").write_text("text,labelA\nOne.,1\n", encoding="utf-8")
    refuses("lacks", gcdc, name="x", raw=tmp_path)
    refuses(r"no \*.jsonl", summeval, raw=tmp_path)
    annotated(tmp_path)
    refuses("no rating 'beauty'", summeval, raw=tmp_path, dimension="beauty")
    (tmp_path / "x.jsonl").write_text("{}\n")
    refuses(r"x\.jsonl:1", summeval, raw=tmp_path)
    (tmp_path / "x.jsonl").write_text("{\n")
    refuses("not JSON", summeval, raw=tmp_path)


def annotated(folder, **changes):
    for system in ("M1", "M2"):
        record = {
            "id": "article", "model_id": system, "decoded": f"A summary by {system}.", "references": ["One.", "Two."],
            "expert_annotations": [{"coherence": 1, "fluency": 5}, {"coherence": 4, "fluency": 5}],
        } | changes  # fmt: skip
        (folder / f"{system}.jsonl").write_text(json.dumps(record) + "\n")


def test_summeval_gives_summaries_with_marks_and_references_once(tmp_path):
    annotated(tmp_path)
    corpus = summeval(raw=tmp_path)
    assert [document.split for document in corpus.documents] == ["train", "train", "test", "test"]
    np.testing.assert_array_equal(corpus.truth["marks"][2:], [[1, 4], [1, 4]])
    assert np.isnan(corpus.truth["marks"][:2]).all()
    assert corpus.truth["system"].tolist() == ["reference", "reference", "M1", "M2"]
