"""What a stopped run depends on: its parts, the version, and the package's own files."""

import pytest

from longform.criticize.panels import Options
from longform.criticize.results_so_far import ResultsSoFar
from longform.documents import Document, Section
from longform.files import fingerprints
from longform.files.fingerprints import fingerprint, package_hash
from longform.tools.verifying import _verdicts_so_far

DOCUMENT = Document("a", "test", (Section(None, "One sentence."),))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two files, whose hash is not remembered."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "a.py").write_text("A = 1\n")
    (folder / "b.yaml").write_text("b: 1\n")
    monkeypatch.setattr(fingerprints, "PACKAGE", folder)
    package_hash.cache_clear()
    yield folder
    package_hash.cache_clear()


def again(parts):
    package_hash.cache_clear()
    return fingerprint(parts)


def test_a_fingerprint_changes_with_parts_version_and_files(package, monkeypatch):
    before = fingerprint([1, {"x": 1, "y": 2}])
    assert again([1, {"y": 2, "x": 1}]) == before
    (package / "notes.bin").write_bytes(b"no code")
    assert again([1, {"x": 1, "y": 2}]) == before
    seen = {before, again([{"x": 1, "y": 2}, 1])}
    (package / "a.py").write_text("A = 2\n")
    seen.add(again([1, {"x": 1, "y": 2}]))
    (package / "b.yaml").rename(package / "c.yaml")
    seen.add(again([1, {"x": 1, "y": 2}]))
    monkeypatch.setattr(fingerprints, "__version__", "another")
    seen.add(again([1, {"x": 1, "y": 2}]))
    assert len(seen) == 5


def test_no_command_takes_up_what_other_code_left(package, tmp_path):
    def keys():
        package_hash.cache_clear()
        criticized = ResultsSoFar(tmp_path / "results.jsonl", [DOCUMENT], Options()).inputs
        verdicts = _verdicts_so_far(tmp_path / "out", {"texts": [DOCUMENT]}, [])
        return criticized, verdicts.with_name("run.json").read_text()

    criticized, verified = keys()
    assert keys() == (criticized, verified)
    (package / "a.py").write_text("A = 2\n")
    changed = keys()
    assert changed[0] != criticized and changed[1] != verified
