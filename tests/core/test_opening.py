"""One way into every text file: packing, encoding and lines are read alike, and what is no text is refused with its byte."""

import bz2
import gzip
import json
import lzma
import os

import pytest

from longform.errors import BadInput, InputError
from longform.files import opening
from tests.refusals import refuses

ODD = [
    "a\u0085b\u2028c\u2029d",
    "e\x0bf\x0cg\x1ch",
    "lone \r inside",
    "",
    "last",
]  # lines, whatever splitlines says


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_end_at_line_feeds_alone_in_every_packing_and_encoding(tmp_path, encoding, pack, end):
    path = tmp_path / "a.txt"  # the name says nothing of the packing
    mark = "\ufeff" if encoding == "utf-16-be" else ""  # which Python writes without
    path.write_bytes(pack((mark + end.join(ODD) + end).encode(encoding)))
    assert list(opening.text_lines(path)) == ODD
    assert opening.read_text(path) == "\n".join(ODD) + "\n"


def test_a_file_named_packed_that_is_plain_is_read(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(b'{"a": 1}\n')
    assert [record for _, record in opening.records(tmp_path / "a.jsonl.gz")] == [{"a": 1}]


@pytest.mark.parametrize(("content", "line", "byte"), [
    (b"ab\xffcd\n", 1, 2), (b"one\ntwo\nthree \xe4\n", 3, 14), (b"\xef\xbb\xbfone\n\xff", 2, 7),
    (b"text\0\0\0\0", 1, 4), ("wide".encode("utf-16-le"), 1, 1), (b"a\n" * 40 + b"\0\n", 41, 80),
])  # fmt: skip
def test_bytes_that_are_no_text_are_refused_by_line_and_byte(tmp_path, content, line, byte):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    for read in (opening.read_text, lambda place: list(opening.text_lines(place))):
        refuses(rf"a\.txt:{line}: .* at byte {byte}; save it as UTF-8", read, path)


def test_a_wrong_byte_of_utf_16_is_counted_in_the_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff\xfea\0b\0\x00\xd8\x01")
    refuses("byte 6", opening.read_text, tmp_path / "a.txt")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_file_that_is_cut_off_is_one_sentence(tmp_path, pack):
    path = tmp_path / "a.txt"
    path.write_bytes(pack(os.urandom(5000).hex().encode())[:-9])
    refuses(r"a\.txt: cut off or damaged", opening.read_text, path)
    refuses(r"a\.txt: cut off or damaged", lambda: list(opening.text_lines(path)))


def test_places_that_are_no_plain_file_and_unread_packings_are_named(tmp_path):
    refuses("a folder stands", opening.read_text, tmp_path)
    refuses("No such file", opening.read_text, tmp_path / "x")
    os.mkfifo(tmp_path / "pipe")
    refuses("no plain file", opening.read_text, tmp_path / "pipe")
    (tmp_path / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd\0\0")
    refuses("packed with Zstandard", opening.read_text, tmp_path / "a.zst")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    refuses("No such file", opening.read_text, tmp_path / "link")


def test_empty_files_have_no_line_and_a_lone_mark_is_no_text(tmp_path):
    for content in (b"", b"\xef\xbb\xbf", gzip.compress(b"")):
        (tmp_path / "a").write_bytes(content)
        assert list(opening.text_lines(tmp_path / "a")) == []
        assert opening.read_text(tmp_path / "a") == ""


def test_an_object_that_has_a_key_twice_is_refused_at_any_depth(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"b": [{"c": 1, "c": 2}]}\n')
    refuses(r"a\.jsonl:2: an object has the key 'c' twice", lambda: list(opening.records(path)))


def test_joined_files_of_json_lines_keep_no_mark_before_a_line(tmp_path):
    (tmp_path / "a.jsonl").write_bytes('\ufeff{"a": 1}\n\ufeff{"a": 2}\n'.encode())
    assert [record["a"] for _, record in opening.records(tmp_path / "a.jsonl")] == [1, 2]


def test_fields_keep_line_ends_quotes_and_odd_characters(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        'id,text\r\n1,"two\r\nlines, ""quoted"" \u2028 \u0085"\r\n\r\n2,\x0bplain\r\n'.encode()
    )
    want = [
        {"id": "1", "text": 'two\nlines, "quoted" \u2028 \u0085'},
        {"id": "2", "text": "\x0bplain"},
    ]
    assert opening.rows(path, ("id",)) == want
    path.write_text('id\ttext\n1\t"open \r quote\n', encoding="utf-8", newline="")
    assert opening.rows(path, ("id",), "\t", quoted=False) == [
        {"id": "1", "text": '"open \r quote'}
    ]
    path.write_text("id,text\n1," + "x" * 200_000 + "\n")
    assert len(opening.rows(path, ())[0]["text"]) == 200_000


@pytest.mark.parametrize(("content", "sentence"), [
    ("id,text\n1,a\n2\n", r":3: 1 field, the header has 2"), ("id,text\n1,a,b\n", r":2: 3 fields"),
    ("id,id\n1,2\n", r"\['id'\] twice"), ("text\na\n", r"lacks \['id'\]"), ("", "no line in it"),
    ('id,text\n1,a\n2,"open\n3,b\n', ":3: no row of a table"), ('id,text\n1,"a"b\n', ":2: no row of a table"),
    ("id,text\n1,a\rb\n", ":2: no row of a table"),
])  # fmt: skip
def test_a_table_that_is_none_is_refused_by_its_line(tmp_path, content, sentence):
    (tmp_path / "a.csv").write_text(content, newline="")
    refuses(sentence, opening.rows, tmp_path / "a.csv", ("id",))


def test_values_of_another_kind_are_named_however_deep(tmp_path):
    deep = json.loads("[" * 200 + "]" * 200)
    for value, kind in (
        ("1", int),
        (True, int),
        (1.5, int),
        (float("nan"), float),
        (None, str),
        (deep, dict),
    ):
        refuses("x, n: got .*allowed is", opening.field_of, {"n": value}, "n", kind, "x")
    assert opening.field_of({"n": 3}, "n", float, "x") == 3
    refuses("'n' is missing", opening.field_of, {}, "n", int, "x")
    refuses("allowed is an object", opening.field_of, [], "n", int, "x")
    assert issubclass(InputError, BadInput)
