"""A person's own texts: what can be read is read, what cannot is set aside with its place."""

import os
from pathlib import Path

import pytest
from own_texts import write

from longform.criticize.texts import halves, read_texts


def test_bad_records_are_set_aside_with_their_place(tmp_path):
    lines = [
        '{"id": "a", "text": "A good text."}', "not json", '{"text": 3}', "[1]", '{"id": "a", "text": "Again."}',
        '{"text": "   "}', '{"sections": []}', '{"sections": [{"title": 1, "text": "x"}]}', '{"id": [1], "text": "x"}', "",
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_bytes("\n".join(lines).encode() + b'\n{"text": "\xff"}\n')
    found = read_texts(tmp_path / "t.jsonl")
    assert [d.id for d in found.documents] == ["a"]
    assert [place for place, _ in found.set_aside] == [f"line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 11)]


def test_folders_are_read_by_name_and_markdown_headings_begin_sections(tmp_path):
    (tmp_path / "b.txt").write_text("Plain text.\n\nWith a gap.", encoding="utf-8")
    (tmp_path / "a.md").write_text("Before.\n# History #\nThen.\n## Later\nNow.", encoding="utf-8")
    (tmp_path / "c.pdf").write_bytes(b"%PDF")
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe bad")
    found = read_texts(tmp_path)
    assert [d.id for d in found.documents] == ["a.md", "b.txt"]
    assert [(s.title, s.text) for s in found.documents[0].sections] == [
        ("(lead)", "Before."),
        ("history", "Then."),
        ("later", "Now."),
    ]
    assert found.documents[1].text == "Plain text.\nWith a gap."
    assert dict(found.set_aside) == {"c.pdf": "none of .txt, .md, .markdown", "d.txt": "not UTF-8 (byte 0)"}


def test_a_file_name_that_is_no_text_is_told_and_the_report_written(tmp_path):
    (tmp_path / "a.txt").write_text("Some words.", encoding="utf-8")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pdf")).write_bytes(b"%PDF")
    except OSError:
        pytest.skip("this file system wants names in UTF-8")
    ((place, why),) = read_texts(tmp_path).set_aside
    assert place.encode("utf-8") and why == "none of .txt, .md, .markdown"


def test_a_heading_of_many_blanks_takes_no_time(tmp_path):
    (tmp_path / "a.md").write_text("# a" + " " * 300_000 + "b\nWords.", encoding="utf-8")
    assert read_texts(tmp_path).documents[0].text == "Words."


def test_halves_depend_on_the_texts_not_on_their_order(tmp_path):
    rows = [{"id": f"t{i}", "text": f"Text number {i} is here."} for i in range(9)]
    one = halves(read_texts(write(tmp_path / "a.jsonl", rows)).documents)
    other = halves(read_texts(write(tmp_path / "b.jsonl", rows[::-1])).documents)
    assert {d.id: d.split for d in one} == {d.id: d.split for d in other}
    assert sorted(d.split for d in one) == ["test"] * 5 + ["train"] * 4


def test_a_markdown_title_is_no_section_and_code_holds_no_headings(tmp_path):
    (tmp_path / "a.md").write_text(
        "# The town\n\nA lead.\n\n## History\n\nThen.\n```\n# comment\n```\n", encoding="utf-8"
    )
    (tmp_path / "b.md").write_text("# One\nText.\n# Two\nMore.", encoding="utf-8")
    first, second = read_texts(tmp_path).documents
    assert [s.title for s in first.sections] == ["(lead)", "history"] and "# comment" in first.sections[1].text
    assert [s.title for s in second.sections] == ["one", "two"]
    assert read_texts(tmp_path).set_aside == ()


def test_odd_ids_and_titles_are_set_aside_or_numbered(tmp_path):
    rows = [
        {"id": "", "text": "A."},
        {"id": True, "text": "B."},
        {"id": 1.5, "text": "C."},
        {"title": {"a": 1}, "text": "D."},
    ]
    found = read_texts(write(tmp_path / "x.jsonl", rows))
    assert [d.id for d in found.documents] == ["line-1"]
    assert [place for place, _ in found.set_aside] == ["line 2", "line 3", "line 4"]


def test_hidden_files_and_links_to_nothing_are_counted_and_a_null_id_is_none(tmp_path):
    (tmp_path / "a.txt").write_text("A text.")
    (tmp_path / ".git").mkdir()
    for name in (".hidden.txt", ".git/config.txt"):
        (tmp_path / name).write_text("Not for reading.")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    found = read_texts(tmp_path)
    assert [d.id for d in found.documents] == ["a.txt"]
    places = [place for place, _ in found.set_aside]
    assert places == ["gone.txt", "2 hidden files"]
    rows = [{"id": None, "text": "One."}, {"text": "Two."}, {"id": 3, "text": "Three."}]
    assert [d.id for d in read_texts(write(tmp_path / "x.jsonl", rows)).documents] == ["line-1", "line-2", "3"]
