"""Files of a run: what is written comes back, nothing is left half-written, bytes hang on the arrays alone, and a bad file is one sentence."""

import json
import time
import zipfile

import numpy as np
import pytest

from longform.core.artefacts import read_arrays, read_corpus, read_documents, read_json, whole, write_arrays, write_json
from longform.core.documents import BadInput, Readout
from longform.core.resampling import save_arrays
from longform.core.text.rendering import pack, unpack
from tests.refusals import refuses


@pytest.mark.parametrize(("line", "sentence"),
                         [('{"id": "a", "sections": []}', "sections is []"),
                          ('{"id": "a", "sections": [{"title": "t"}]}', "a section is"),
                          ('{"id": 7, "sections": [{"text": "t"}]}', "id is 7"),
                          ('{"id": "a"}', "lacks ['sections']"),
                          ('{"id": "a", "split": "dev", "sections": [{"text": "t"}]}', "split 'dev' is not one of"),
                          ("[1]", "allowed is a JSON object"), ('{"id": "a", ', "not JSON"), ("", "not JSON")])  # fmt: skip
def test_a_malformed_record_names_its_line(tmp_path, line, sentence):
    path = tmp_path / "documents.jsonl"
    path.write_text('{"id": "ok", "sections": [{"text": "t"}]}\n' + line + "\n")
    with pytest.raises(BadInput) as error:
        read_documents(path)
    assert f"{path}:2" in str(error.value) and sentence in str(error.value)


def test_nothing_half_written_is_left_behind(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("kept")
    with pytest.raises(RuntimeError), whole(tmp_path / "out") as partial:
        partial.mkdir()
        (partial / "new").write_text("lost")
        raise RuntimeError
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "old"]


def test_what_is_no_whole_file_is_refused(tmp_path):
    refuses("dtype object", write_arrays, tmp_path / "a.npz", {"x": np.array([{}])})
    write_arrays(tmp_path / "a.npz", {"x": np.arange(3)})
    whole_file = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(whole_file[: len(whole_file) // 2])
    refuses("not a whole npz", read_arrays, tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", x=np.array([{"evil": 1}], dtype=object))
    refuses("not a whole npz", read_arrays, tmp_path / "c.npz")
    refuses("no such file", read_corpus, tmp_path / "nowhere")
    refuses("repeated unit ids", Readout, ("a", "a"), ("test", "test"), {})


def test_json_keeps_infinities_and_texts_of_any_script_come_back(tmp_path):
    write_json(tmp_path / "x.json", {"a": float("inf"), "b": [float("-inf"), float("nan")], "c": np.float64(1.5)})
    assert read_json(tmp_path / "x.json") == {"a": float("inf"), "b": [float("-inf"), None], "c": 1.5}
    json.loads((tmp_path / "x.json").read_text(), parse_constant=lambda c: pytest.fail(f"not JSON: {c}"))
    (tmp_path / "y.json").write_text("{")
    refuses("not JSON", read_json, tmp_path / "y.json")
    texts = ["Zoë 彼は", "", "half \ud800 a pair"]
    readout = Readout(("a", "b", "c"), ("test",) * 3, pack(texts))
    assert unpack(readout) == texts
    assert unpack(Readout(("a",), ("test",), {"x": np.zeros(1)})) == [""]


def test_bytes_do_not_depend_on_the_clock_or_the_order(tmp_path, monkeypatch):
    arrays = {"b": np.arange(5), "a": np.array(["x", "yy"])}
    save_arrays(tmp_path / "one.npz", arrays)
    monkeypatch.setattr(time, "time", lambda: 2.0e9)
    save_arrays(tmp_path / "two.npz", dict(reversed(arrays.items())))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.npz") as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
