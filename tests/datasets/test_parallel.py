"""Sentence pairs, planted and read: pure targets, splits by sentence, both file forms, named errors."""

from __future__ import annotations

import gzip
import json

import pytest

from longform.core.documents import BadInput
from longform.datasets.text_files import parallel


def test_json_lines_give_one_pair_per_target_language_in_one_split(tmp_path):
    rows = [{"id": f"s{i}", "en": f"house {i}", "de": f"Haus {i}", "fr": f"maison {i}", "es": ""} for i in range(40)]
    with gzip.open(tmp_path / "all.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    corpus = parallel(raw=tmp_path, name="r", seed=1)
    assert len(corpus.documents) == 80
    assert corpus.facts["pairs_without_a_side"] == 40
    assert [d.id for d in corpus.documents[:2]] == ["s0-de", "s0-fr"]
    assert corpus.documents[1].sections[1].text == "maison 0"
    assert corpus.truth["language"][:2].tolist() == [0, 2]
    splits = {}
    for document in corpus.documents:
        splits.setdefault(document.id.split("-")[0], set()).add(document.split)
    assert all(len(found) == 1 for found in splits.values())
    assert 24 <= sum(found == {"train"} for found in splits.values()) <= 39


def test_aligned_files_are_read_line_by_line(tmp_path):
    (tmp_path / "talks.en").write_text("one\ntwo\n")
    (tmp_path / "talks.de").write_text("eins\nzwei\n")
    corpus = parallel(raw=tmp_path, name="r", seed=1, targets=["de"])
    assert [d.sections[1].text for d in corpus.documents] == ["eins", "zwei"]
    assert corpus.documents[0].id == "talks-000000-de"


def test_bad_input_is_refused_by_name(tmp_path):
    with pytest.raises(BadInput, match="no such file or folder"):
        parallel(raw=tmp_path / "none", name="r", seed=1)
    with pytest.raises(BadInput, match="no pair of en"):
        parallel(raw=tmp_path, name="r", seed=1)
    (tmp_path / "a.jsonl").write_text("nonsense\n")
    with pytest.raises(BadInput, match=r"a\.jsonl:1"):
        parallel(raw=tmp_path, name="r", seed=1)
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "t.en").write_text("one\ntwo\n")
    (tmp_path / "t.de").write_text("eins\n")
    with pytest.raises(BadInput, match="sentence i must stand on line i"):
        parallel(raw=tmp_path, name="r", seed=1, targets=["de"])
