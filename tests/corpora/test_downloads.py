"""Downloads against a local server that cuts, refuses and lies; archives that climb out or explode."""

import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from longform.datasets.downloads import PINNED, Source, fetch, main, sha256, unpack
from longform.documents import BadInput

CONTENT = bytes(range(256)) * 4000


class Server(ThreadingHTTPServer):
    """Serves CONTENT; the script says for each request how many bytes come before the cut, or a status."""

    def __init__(self, script, ranges=True):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.ranges, self.asked = list(script), ranges, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def source(self, digest=None):
        return Source(
            f"http://127.0.0.1:{self.server_port}/file", digest or hashlib.sha256(CONTENT).hexdigest(), "file"
        )


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        step = self.server.script.pop(0) if self.server.script else None
        if isinstance(step, str):
            self.send_error(int(step))
            return
        start = int(asked.split("=")[1].rstrip("-")) if asked and self.server.ranges else 0
        self.send_response(206 if asked and self.server.ranges else 200)
        if asked and self.server.ranges:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : len(CONTENT) if step is None else start + step])

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(script=(), **settings):
        servers.append(Server(script, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_file_is_fetched_once_and_found_again(serve, tmp_path):
    server = serve()
    path = fetch(server.source(), tmp_path)
    assert path.read_bytes() == CONTENT
    assert fetch(server.source(), tmp_path) == path
    assert server.asked == [None]


def test_a_connection_dropped_half_way_is_resumed_where_it_was_cut(serve, tmp_path):
    server, pauses = serve([500_000, 300_000]), []
    assert fetch(server.source(), tmp_path, wait=pauses.append).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=500000-", "bytes=800000-"]
    assert pauses == [1.0, 2.0]


def test_a_server_without_ranges_sends_all_again(serve, tmp_path):
    server = serve([500_000], ranges=False)
    assert fetch(server.source(), tmp_path, wait=lambda _: None).read_bytes() == CONTENT


def test_too_many_cuts_keep_the_partial_file_for_the_next_run(serve, tmp_path):
    server = serve([100_000, 100_000])
    with pytest.raises(BadInput, match="cut 2 times"):
        fetch(server.source(), tmp_path, attempts=2, wait=lambda _: None)
    assert fetch(server.source(), tmp_path).read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=200000-"


def test_a_wrong_checksum_removes_the_file_and_says_both(serve, tmp_path):
    server = serve()
    with pytest.raises(BadInput, match=f"{hashlib.sha256(CONTENT).hexdigest()}, pinned is {'0' * 64}"):
        fetch(server.source("0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_stale_partial_file_longer_than_the_source_fails_its_hash_and_is_removed(serve, tmp_path):
    (tmp_path / ".file.partial").write_bytes(b"x" * (len(CONTENT) + 5))
    server = serve(["416"])
    with pytest.raises(BadInput, match="SHA-256"):
        fetch(server.source(), tmp_path)
    assert fetch(server.source(), tmp_path).read_bytes() == CONTENT


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(serve, tmp_path):
    busy = serve(["503", "429"])
    assert fetch(busy.source(), tmp_path, wait=lambda _: None).read_bytes() == CONTENT
    gone, pauses = serve(["404"]), []
    with pytest.raises(BadInput, match="404"):
        fetch(gone.source(), tmp_path / "other", wait=pauses.append)
    assert (len(gone.asked), pauses) == (1, [])


def test_offline_refuses_with_the_manual_instruction_and_asks_nobody(serve, tmp_path):
    server = serve()
    with pytest.raises(BadInput) as refused:
        fetch(server.source(), tmp_path, offline=True)
    for told in ("offline", server.source().url, server.source().sha256, str(tmp_path / "file")):
        assert told in str(refused.value)
    assert server.asked == []
    (tmp_path / "file").write_bytes(CONTENT)
    assert fetch(server.source(), tmp_path, offline=True).read_bytes() == CONTENT


def test_an_address_that_nobody_answers_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="cut 1 times"):
        fetch(Source("http://127.0.0.1:1/file", "0" * 64, "file"), tmp_path, attempts=1)


def tarred(path, **members):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_tar_and_zip_unpack_to_the_same_files(tmp_path):
    tar = tarred(tmp_path / "a.tar.gz", **{"d/train.txt": b"one", "d/test.txt": b"two"})
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("d/train.txt", b"one")
        packed.writestr("d/test.txt", b"two")
    for archive, folder in ((tar, tmp_path / "t"), (tmp_path / "a.zip", tmp_path / "z")):
        files = unpack(archive, folder)
        assert {str(path.relative_to(folder)): path.read_bytes() for path in files} == {
            "d/test.txt": b"two",
            "d/train.txt": b"one",
        }


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "..\\x", "a/.."])
def test_a_member_that_climbs_out_is_refused_and_nothing_is_left(tmp_path, name):
    archive = tarred(tmp_path / "a.tar.gz", **{"good": b"1", name: b"2"})
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("good", b"1")
        packed.writestr(name, b"2")
    for path in (archive, tmp_path / "a.zip"):
        with pytest.raises(BadInput, match="leave the folder"):
            unpack(path, tmp_path / "inside" / "folder")
    assert not list((tmp_path / "inside").rglob("*"))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo("a")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(BadInput, match="link or a device"):
        unpack(tmp_path / "a.tar", tmp_path / "folder")


def test_a_symbolic_link_in_a_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        info = zipfile.ZipInfo("a")
        info.external_attr = 0o120777 << 16
        packed.writestr(info, "/etc/passwd")
    with pytest.raises(BadInput, match="link"):
        unpack(tmp_path / "a.zip", tmp_path / "folder")


@pytest.mark.parametrize("settings", [{}, {"max_bytes": 1_000_000, "max_ratio": 1e9}])
def test_a_bomb_is_stopped_while_it_unpacks(tmp_path, settings):
    archive = tarred(tmp_path / "a.tar.gz", zeros=bytes(40_000_000))
    assert archive.stat().st_size < 50_000
    with pytest.raises(BadInput, match="bomb"):
        unpack(archive, tmp_path / "folder", **settings)
    assert not (tmp_path / "folder").exists()


def test_what_is_no_whole_archive_is_bad_input(tmp_path):
    whole = tarred(tmp_path / "a.tar.gz", a=bytes(range(256)) * 500).read_bytes()
    for content in (b"no archive", whole[: len(whole) // 2]):
        (tmp_path / "b.tar.gz").write_bytes(content)
        with pytest.raises(BadInput, match="no whole tar or zip"):
            unpack(tmp_path / "b.tar.gz", tmp_path / "folder")


def test_the_digest_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_command_fetches_and_unpacks_and_tells_what_is_wrong(serve, tmp_path, capsys, monkeypatch):
    archive = tarred(tmp_path / "a.tar.gz", **{"d/train.txt": b"one"})
    monkeypatch.setitem(globals(), "CONTENT", archive.read_bytes())
    server = serve()
    url = server.source().url
    assert main([url, str(tmp_path / "raw"), "--sha256", sha256(archive), "--unpack"]) == 0
    assert (tmp_path / "raw" / "file.unpacked" / "d" / "train.txt").read_bytes() == b"one"
    assert main(["no such name", str(tmp_path)]) == 1
    assert "wikisection" in capsys.readouterr().err


def test_pinned_files_refuse_offline_with_their_address(tmp_path, capsys):
    for name, source in PINNED.items():
        assert main([name, str(tmp_path), "--offline"]) == 1
        assert source.url in capsys.readouterr().err
