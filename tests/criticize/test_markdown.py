"""Markdown has the headings that its reader sees, and a person's files lose no part of a text unsaid."""

import gzip
import json

import pytest

from longform.datasets.own_texts import read_texts
from longform.text.markdown import sections_in


@pytest.mark.parametrize(("text", "sections"), [
    ("---\ntitle: Demo\ndate: 2026-09-18\n---\n# A\nx\n# B\ny", [("A", "x"), ("B", "y")]),
    ("+++\ntitle = 'D'\n+++\nx", [(None, "x")]), ("+++\ndraft=true\n+++\nx", [(None, "x")]),
    ("---\ntitle: Demo\nNo end.", [(None, "---\ntitle: Demo\nNo end.")]),
    ("---\n\nNo settings here\n\n---\n\nx", [(None, "---\n\nNo settings here\n\n---\n\nx")]),
    ("One\n===\na\n\nTwo\nlines\n=====\nb", [("One", "a\n"), ("Two lines", "b")]),
    ("Lead.\n\nPart\n---\na\n\n---\n\nb", [("(lead)", "Lead.\n"), ("Part", "a\n\n---\n\nb")]),
    ("x\n   ## In ##\na\n    ## code\n##no\n## C#\nb", [("(lead)", "x"), ("In", "a\n    ## code\n##no"), ("C#", "b")]),
    ("## A\n````\n```\n# no\n````\n~~~\n# no\n~~~\n## B\nx", [("A", "````\n```\n# no\n````\n~~~\n# no\n~~~"), ("B", "x")]),
    ("<!--\n# hidden\n-->\n## A\nx<!-- y --> z\n`<!-- open", [("A", "x z\n`<!-- open")]),
    ("- item\n---\nx\n\n> said\n---\n\n| a |\n| - |\n| b |\n---\n", [(None, "- item\n---\nx\n\n> said\n---\n\n| a |\n| - |\n| b |\n---\n")]),
    ("Second <!-- a\nb --> line, <!-- c -->\tthen<!-- d --> more.", [(None, "Second line, then more.")]),
    ("# A <!-- `<!--` b\nx\n# B &lt;!-- c\n> <!-- y\n\n# C", [("A <!-- `<!--` b", "x"), ("B &lt;!-- c", "> <!-- y"), ("C", "")]),
    ("## A\n```\n<!-- code\n```\n## B\n-->", [("A", "```\n<!-- code\n```"), ("B", "-->")]),
])  # fmt: skip
def test_headings_are_those_that_a_reader_sees(text, sections):
    found = sections_in(text)
    assert [(title, part.strip("\n")) for title, part in found] == [
        (title, part.strip("\n")) for title, part in sections
    ]


def read(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return read_texts(path)


def test_sections_in_sections_are_read_in_order(tmp_path):
    inner = [
        {"title": "S", "text": "deep text"},
        {"title": "E", "sections": [{"text": "deepest text"}]},
    ]
    (document,) = read(
        tmp_path / "a.jsonl", {"sections": [{"title": "T", "text": "x y", "sections": inner}]}
    ).documents
    assert [(s.title, s.text) for s in document.sections] == [
        ("t", "x y"),
        ("s", "deep text"),
        (None, "deepest text"),
    ]


def test_text_beside_sections_comes_first_unless_it_is_theirs(tmp_path):
    sections = [{"title": "A", "text": "One one."}, {"title": "B", "text": "Two two."}]
    beside = [
        {"id": text, "text": text, "sections": sections}
        for text in ("Lead in.", "One one.\n\nTwo two.", "See One one.")
    ]
    found = read(tmp_path / "a.jsonl", *beside)
    assert [[s.text for s in d.sections] for d in found.documents] == [
        ["Lead in.", "One one.", "Two two."],
        ["One one.", "Two two."],
    ]
    assert found.set_aside == (
        ("line 3", "text holds the sections and more, or a part of them; give one of the two"),
    )


@pytest.mark.parametrize(("record", "why"), [
    ({"text": ["One.", "Two."]}, "text is ['One.', 'Two.'], allowed is a string"),
    ({"sections": [{"text": "x", "parts": [{"text": "lost words"}]}]}, "['parts'], which are not read"),
    ({"text": "A lead.", "chapters": [{"text": "Deep lost words here."}]}, "chapters is not read although it holds texts"),
    ({"text": "A lead.", "body": {"parts": [{"x": {"text": "lost words"}}]}}, "body is not read"),
    ({"text": "A lead.", "chapters": [{"title": "One", "paragraphs": ["Lost words."]}]}, "chapters is not read"),
    ({"text": "A lead.", "body": "Words of the body."}, "body is not read"),
    ({"text": "A lead.", "meta": {"scenes": ["Lost words."]}}, "meta is not read"),
    ({"sections": [{"title": "x"}]}, "a section is"), ({"sections": {"text": "x"}}, "non-empty list"),
])  # fmt: skip
def test_parts_in_unexpected_places_are_set_aside_with_their_reason(tmp_path, record, why):
    ((place, reason),) = read(tmp_path / "a.jsonl", {"text": "Some words."}, record).set_aside
    assert place == "line 2" and why in reason


def test_fields_that_say_something_of_a_text_set_nothing_aside(tmp_path):
    about = {"author": "Jane Doe", "tags": ["two words"], "meta": {"url": "a b", "text": "short"}}
    about["sentences"] = ["Some  words."]  # the text once more
    assert len(read(tmp_path / "a.jsonl", {"text": "Some words.", **about}).documents) == 1


def test_padded_repeated_and_cut_lines_are_set_aside(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "One."}\r\n{"text": "a", "text": "b"}\n{"text": "two\xff"}\n'
        + b"\0" * 9
    )
    found = read_texts(path)
    assert [d.text for d in found.documents] == ["One."]
    assert [why.split()[0] for _, why in found.set_aside] == ["an", "not", "NUL,"]
    assert "at byte 61" in found.set_aside[1][1]
    lines = b"".join(
        json.dumps({"text": f"Text {i} {i**300}"}).encode() + b"\n" for i in range(900)
    )
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines)[:-20])
    cut = read_texts(tmp_path / "b.jsonl.gz")
    assert len(cut.documents) > 500 and "cut off" in cut.set_aside[-1][1]


def test_texts_are_as_their_reader_sees_them(tmp_path):
    (tmp_path / "a.txt").write_text(
        "Part One\u2029The \ufb01rst dis\u00adcovery\u2028was\u0085old\u200b.\ufeff"
    )
    (document,) = read_texts(tmp_path).documents
    assert document.text == "Part One\n\nThe first discovery\nwas\nold."


def test_a_text_file_padded_with_nul_is_no_text_and_utf_16_is(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"Some words.\0\0\0")
    (tmp_path / "b.txt").write_bytes("Zoë and Zoe\u0308.".encode("utf-16"))
    found = read_texts(tmp_path)
    assert [d.text for d in found.documents] == ["Zoë and Zoë."]  # one form of one letter
    assert [(place, why[:11]) for place, why in found.set_aside] == [("a.txt", "line 1: NUL")]
