"""Folders of human and machine texts: pairs share a split, what has no partner is counted."""

from __future__ import annotations

import pytest

from longform.core.documents import BadInput
from longform.datasets.text_files import paired as build


def folder(tmp_path, human, machine):
    for side, texts in (("human", human), ("machine", machine)):
        (tmp_path / side).mkdir()
        for stem, text in texts.items():
            (tmp_path / side / f"{stem}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_pairs_share_a_split_and_paragraphs_become_sections(tmp_path):
    human = {f"t{i}": "One. Two.\n\nThree." for i in range(10)} | {"alone": "Four."}
    machine = {f"t{i}": "Five." for i in range(10)} | {"blank": " \n"}
    corpus = build(name="x", seed=1, raw=folder(tmp_path, human, machine))
    assert corpus.facts["pairs"] == 10
    assert corpus.facts["dropped"] == {"human without its other side": 1, "machine without its other side": 1}
    for one, other in zip(corpus.documents[::2], corpus.documents[1::2], strict=True):
        assert one.id.removesuffix("-human") == other.id.removesuffix("-machine") and one.split == other.split
        assert [s.text for s in one.sections] == ["One. Two.", "Three."]
    assert {d.split for d in corpus.documents} == {"train", "validation", "test"}


def test_folders_without_a_pair_and_bad_encodings_are_explained(tmp_path):
    raw = folder(tmp_path, {"a": "One."}, {"b": "Two."})
    with pytest.raises(BadInput, match="0 pairs"):
        build(name="x", seed=1, raw=raw)
    (raw / "human" / "b.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not UTF-8"):
        build(name="x", seed=1, raw=raw)
