"""SummEval's reader: summaries with marks, references once."""

import json

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.datasets.rated_texts import summeval as build


def summeval(folder, **changes):
    for system in ("M1", "M2"):
        record = {
            "id": "article", "model_id": system, "decoded": f"A summary by {system}.", "references": ["One.", "Two."],
            "expert_annotations": [{"coherence": 1, "fluency": 5}, {"coherence": 4, "fluency": 5}],
        } | changes  # fmt: skip
        (folder / f"{system}.jsonl").write_text(json.dumps(record) + "\n")


def test_summeval_gives_summaries_with_marks_and_references_once(tmp_path):
    summeval(tmp_path)
    corpus = build(raw=tmp_path)
    assert [document.split for document in corpus.documents] == ["train", "train", "test", "test"]
    np.testing.assert_array_equal(corpus.truth["marks"][2:], [[1, 4], [1, 4]])
    assert np.isnan(corpus.truth["marks"][:2]).all()
    assert corpus.truth["system"].tolist() == ["reference", "reference", "M1", "M2"]


def test_bad_files_are_named(tmp_path):
    with pytest.raises(BadInput, match=r"no \*.jsonl"):
        build(raw=tmp_path)
    summeval(tmp_path)
    with pytest.raises(BadInput, match="no rating 'beauty'"):
        build(raw=tmp_path, dimension="beauty")
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match=r"x\.jsonl:1"):
        build(raw=tmp_path)
    (tmp_path / "x.jsonl").write_text("{\n")
    with pytest.raises(BadInput, match="not JSON"):
        build(raw=tmp_path)
