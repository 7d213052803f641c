"""Hashes of files and trees, what is found in a folder, and what of an archive is unpacked, by hand."""

import gzip
import hashlib
import io
import tarfile

import pytest

from longform.errors import InputError
from longform_lab import real_files
from tests.refusals import refuses


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_trees_hash_is_that_of_names_and_contents_in_order(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x").write_bytes(b"1")
    (tmp_path / "a").write_bytes(b"2")
    lines = f"a\0{sha(b'2')}\nb/x\0{sha(b'1')}\n"
    assert real_files.tree_digest(tmp_path) == sha(lines.encode())
    assert real_files.digest(tmp_path / "a") == sha(b"2")


def test_of_several_files_of_a_name_that_of_the_content_is_taken(tmp_path):
    for place, content in (("a", b"1"), ("b", b"2"), ("c", b"3")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "f").write_bytes(content)
    (tmp_path / "0" / "f").mkdir(parents=True)
    found = real_files._in_folder
    assert found({"name": "f", "sha256": sha(b"2")}, tmp_path) == tmp_path / "b" / "f"
    assert found({"name": "f", "sha256": sha(b"9")}, tmp_path) == tmp_path / "a" / "f"
    assert found({"name": "f"}, tmp_path) == tmp_path / "0" / "f"
    assert found({"name": "g", "sha256": sha(b"2")}, tmp_path) is None
    assert found({"name": "g"}, tmp_path) is None


@pytest.mark.parametrize(
    ("name", "under", "below"),
    [
        ("a/b.txt", "", "a/b.txt"), ("a/b.txt", "a", "b.txt"), ("repo-1/a/b.txt", "a", "b.txt"),
        ("repo-1/a/c/b.txt", "a/c", "b.txt"), ("x/y/a/b.txt", "a", None), ("ab/c", "a", None), ("a", "a", None),
    ],
)  # fmt: skip
def test_a_member_lies_below_the_first_folder_or_that_of_the_repository(name, under, below):
    assert real_files._below(name, under) == below


def archive(path, **members):
    with tarfile.open(path, "w:gz") as packed:
        for name, content in members.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
        folder = tarfile.TarInfo("in")
        folder.type = tarfile.DIRTYPE
        packed.addfile(folder)


def test_files_folders_and_packed_files_are_put_in_place(tmp_path):
    (tmp_path / "plain").write_bytes(b"1")
    real_files._copy(tmp_path / "plain", tmp_path / "t1")
    assert (tmp_path / "t1").read_bytes() == b"1"
    assert (tmp_path / "t1").stat().st_ino == (tmp_path / "plain").stat().st_ino
    with gzip.open(tmp_path / "p.gz", "wb") as packed:
        packed.write(b"2")
    real_files._copy(tmp_path / "p.gz", tmp_path / "t2")
    assert (tmp_path / "t2").read_bytes() == b"2"
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_bytes(b"3")
    real_files._copy(tmp_path / "d", tmp_path / "t3")
    assert (tmp_path / "t3" / "e" / "f").read_bytes() == b"3"
    archive(tmp_path / "a.tar.gz", repo__in__x=b"4", repo__out=b"5")
    real_files._copy(tmp_path / "a.tar.gz", tmp_path / "t4", "in")
    files = [path.relative_to(tmp_path / "t4").as_posix() for path in (tmp_path / "t4").rglob("*")]
    assert files == ["x"] and (tmp_path / "t4" / "x").read_bytes() == b"4"


@pytest.mark.parametrize(("name", "kind"), [("a.tar.gz", "no archive"), ("a.gz", "no gzip file")])
def test_a_packed_file_that_is_cut_off_is_named(tmp_path, name, kind):
    if name == "a.gz":
        (tmp_path / "whole").write_bytes(gzip.compress(b"text" * 999))
    else:
        archive(tmp_path / "whole", x=b"text" * 999)
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=f"{name}: cut off or {kind} .*; fetch it again"):
        real_files._copy(tmp_path / name, tmp_path / "t")


def test_a_member_outside_the_target_is_refused(tmp_path):
    archive(tmp_path / "a.tar.gz", **{"..__x": b"1"})
    refuses("'../x' would lie outside", real_files._copy, tmp_path / "a.tar.gz", tmp_path / "t")


class Answer:
    def __init__(self, status):
        self.status_code = status


@pytest.fixture
def hub(monkeypatch):
    asked = []
    status = {"bad": 404, "busy": 503}

    def get(address, timeout):
        asked.append((address, timeout))
        return Answer(status.get(address.rsplit("/", 1)[1], 200))

    monkeypatch.setattr(real_files.requests, "get", get)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return asked


def test_the_hub_is_asked_for_every_commit_once(hub, tmp_path):
    models = [{"hub": "o/b", "revision": "2"}, {"hub": "o/a", "revision": 1}, {"kind": "own"},
              {"hub": "o/b", "revision": "2"}, {"hub": str(tmp_path), "revision": "bad"}, {"hub": "o/c", "revision": "busy"}]  # fmt: skip
    real_files.check_revisions(models)
    assert hub == [
        (f"http://hub/api/models/{name}/revision/{revision}", 10.0)
        for name, revision in (("o/a", "1"), ("o/b", "2"), ("o/c", "busy"))
    ]
    refuses("^o/d: the hub has no commit bad; copy the one that you mean from http://hub/o/d/commits/main",
            real_files.check_revisions, [{"hub": "o/d", "revision": "bad"}])  # fmt: skip


@pytest.mark.parametrize(("offline", "asked"), [("1", 0), ("0", 1), ("", 1)])
def test_nothing_is_asked_offline(hub, monkeypatch, offline, asked):
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)
    real_files.check_revisions([{"hub": "o/a", "revision": "1"}])
    assert len(hub) == asked


def test_a_hub_that_cannot_be_reached_says_nothing(hub, monkeypatch):
    def fails(address, timeout):
        hub.append(address)
        raise real_files.requests.ConnectionError

    monkeypatch.setattr(real_files.requests, "get", fails)
    real_files.check_revisions(
        [{"hub": "o/a", "revision": "bad"}, {"hub": "o/b", "revision": "bad"}]
    )
    assert len(hub) == 1


@pytest.mark.parametrize(
    ("status", "final"),
    [
        (400, True),
        (404, True),
        (499, True),
        (408, False),
        (425, False),
        (429, False),
        (500, False),
        (399, False),
        (None, False),
    ],
)
def test_a_refusal_for_good_is_tried_no_more(status, final, monkeypatch):
    requests = real_files.requests

    def refused(self, url, *more, **settings):
        raise requests.HTTPError(response=None if status is None else Answer(status))

    monkeypatch.setattr(real_files.pooch.HTTPDownloader, "__call__", refused)
    with pytest.raises(FileNotFoundError if final else requests.HTTPError) as error:
        real_files._Download()("http://x")
    assert not final or f"the server says {status}" in str(error.value)


def test_a_dump_is_parsed_by_all_cores_beside_its_folder(tmp_path, monkeypatch):
    asked, counts = [], {"article": 2, "redirect": 1}

    def extract(source, partial, workers):
        asked.append((source, partial, workers))
        partial.mkdir()
        return {"counts": counts}

    monkeypatch.setattr(real_files, "extract", extract)
    monkeypatch.setattr("longform_lab.repro.cores", lambda: 7)
    target, partial = tmp_path / "wiki.en", tmp_path / ".wiki.en.shards"
    real_files._extract_dump(tmp_path / "dump", target)
    assert asked == [(tmp_path / "dump", partial, 7)]
    assert target.is_dir() and not partial.exists()
    counts["article"] = 0
    refuses("dump: no article in it", real_files._extract_dump, tmp_path / "dump", tmp_path / "b")
    assert not (tmp_path / "b").exists() and (tmp_path / ".b.shards").is_dir()
