"""What is written of letters beyond ASCII, of key order and of white space, byte by byte."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from longform import commands, tables
from longform.datasets.fever import PageFile
from longform.documents import Document, Section
from longform.files import artefacts
from longform_lab import scale_records
from longform_lab.study import __main__ as study
from longform_lab.study.items import Study
from longform_lab.study.store import Store

RECORD = {"ż": 1.5, "b": {"é": [1, "東"], "a": True}}
SORTED = '{"b": {"a": true, "é": [1, "東"]}, "ż": 1.5}\n'
COMPACT = '{"b":{"a":true,"é":[1,"東"]},"ż":1.5}'
ONE_SPACE = """{
 "b": {
  "a": true,
  "é": [
   1,
   "東"
  ]
 },
 "ż": 1.5
}
"""
TWO_SPACES = """{
  "b": {
    "a": true,
    "é": [
      1,
      "東"
    ]
  },
  "ż": 1.5
}
"""
STUDY = """{
 "name": "ä",
 "title": "ö",
 "consent": "ü",
 "instructions": {
  "z": "é",
  "a": "ż"
 },
 "items": []
}
"""


def indented(path):
    artefacts.write_json(path, RECORD)


def fitted(path):
    artefacts.save_fitted(path.parent, path.stem, {}, RECORD)


def appended(path):
    artefacts.append_lines(path, [RECORD, {"z": "ü"}])


def documents(path):
    document = Document("ß", "test", (Section("東", "é"),))
    assert artefacts.write_documents(path, [document]) == 1


def saved_study(path):
    Study("ä", "ö", "ü", {"z": "é", "a": "ż"}, ()).save(path)


WRITTEN = {
    indented: TWO_SPACES,
    fitted: ONE_SPACE,
    appended: '{"ż": 1.5, "b": {"é": [1, "東"], "a": true}}\n{"z": "ü"}\n',
    documents: '{"edits": [], "id": "ß", "sections": [{"text": "é", "title": "東"}],'
    ' "split": "test"}\n',
    saved_study: STUDY,
}


@pytest.mark.parametrize("write", WRITTEN)
def test_a_file_of_json_has_these_bytes(write, tmp_path):
    path = tmp_path / "file.json"
    write(path)
    assert path.read_text(encoding="utf-8") == WRITTEN[write]


def test_lines_are_appended_in_folders_that_are_made(tmp_path):
    appended(tmp_path / "a" / "b" / "lines.jsonl")
    assert (tmp_path / "a" / "b" / "lines.jsonl").read_text("utf-8") == WRITTEN[appended]


def test_lines_and_cells_of_json_keep_letters_and_sort_keys():
    assert tables.json_lines([RECORD, {}]) == SORTED + "{}\n"
    assert artefacts.json_line(RECORD) == COMPACT
    assert scale_records._details_cell(RECORD) == COMPACT


def test_a_result_is_printed_as_indented_json_in_its_own_order(capsys):
    assert commands._show(SimpleNamespace(json=True), {"ż": ["é"], "b": 1}, "text") == 0
    assert capsys.readouterr().out == '{\n "ż": [\n  "é"\n ],\n "b": 1\n}\n'


def test_pages_of_a_dump_are_lines_in_their_letters(tmp_path):
    PageFile.write(tmp_path, [("東", ["é."])])
    content = (tmp_path / "pages.jsonl").read_text(encoding="utf-8")
    assert content == '{"title": "東", "lines": ["é."]}\n'


def test_answers_and_drafts_are_stored_in_their_letters(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    token = store.invite_all(["ż"])["ż"]
    assert len(token) == 32  # 24 random bytes in base 64
    store.add(token, "i", {"ż": "é", "a": 1})
    store.draft(token, "j", {"ż": "é", "a": 1})
    assert store._rows("SELECT answer FROM answers") == [('{"a": 1, "ż": "é"}',)]
    assert store._rows("SELECT answer FROM drafts") == [('{"ż": "é", "a": 1}',)]
    with ThreadPoolExecutor(1) as pool:  # the server answers in threads
        assert pool.submit(store.done, token).result() == {"i"}
    store.close()


def test_an_export_has_a_line_for_each_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "load_study", lambda path: path)
    monkeypatch.setattr(study, "_opened", lambda path: path)
    monkeypatch.setattr(study, "exported", lambda items, answers: [{"ż": "é", "a": 1}])
    out = tmp_path / "new" / "out.jsonl"
    study._export(SimpleNamespace(out=out, study=None, answers=None))
    assert out.read_text(encoding="utf-8") == '{"a": 1, "ż": "é"}\n'
