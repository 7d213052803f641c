"""Downloads against a local server that cuts, refuses and lies; archives that climb out or explode."""

import hashlib
import io
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from longform.core.documents import BadInput
from longform.datasets.downloads import PINNED, Source, fetch, main, sha256, unpack

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT; the script says for each request how many bytes come before the cut, or a status."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.asked, self.content = [], 0, CONTENT
        self.url = f"http://127.0.0.1:{self.server_port}/file"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def source(self, digest=DIGEST):
        return Source(self.url, digest, "file")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked += 1
        step = self.server.script.pop(0) if self.server.script else None
        if isinstance(step, str):
            self.send_error(int(step))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content[:step])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)  # pooch's pauses
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


def test_a_file_is_fetched_once_and_found_again(server, tmp_path):
    path = fetch(server.source(), tmp_path)
    assert path.read_bytes() == CONTENT
    assert fetch(server.source(), tmp_path) == path
    assert server.asked == 1


@pytest.mark.parametrize("script", [[50_000, 30_000], ["503", "429"]])
def test_a_cut_connection_or_a_busy_server_is_asked_again(server, tmp_path, script):
    server.script = script
    assert fetch(server.source(), tmp_path).read_bytes() == CONTENT
    assert server.asked == 3


@pytest.mark.parametrize(
    ("script", "digest", "asked", "message"),
    [([10, 10], None, 2, "at most 2 tries"), ([], "0" * 64, 2, DIGEST), (["404"], None, 1, "404")],
)
def test_what_cannot_be_fetched_is_told_and_leaves_nothing(server, tmp_path, script, digest, asked, message):
    server.script = script
    source = server.source(digest) if digest else server.source()
    with pytest.raises(BadInput, match=message) as refused:
        fetch(source, tmp_path, retries=1)
    assert server.asked == asked
    assert f"put it at {tmp_path / 'file'}" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_offline_refuses_with_the_manual_instruction_and_asks_nobody(server, tmp_path):
    with pytest.raises(BadInput) as refused:
        fetch(server.source(), tmp_path, offline=True)
    for told in ("offline", server.source().url, server.source().sha256, str(tmp_path / "file")):
        assert told in str(refused.value)
    (tmp_path / "file").write_bytes(CONTENT)
    assert fetch(server.source(), tmp_path, offline=True).read_bytes() == CONTENT
    assert server.asked == 0


def test_an_address_that_nobody_answers_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="at most 1 tries"):
        fetch(Source("http://127.0.0.1:1/file", "0" * 64, "file"), tmp_path, retries=0)


def archived(folder, members):
    """The same members as a tar and as a zip."""
    with tarfile.open(folder / "a.tar.gz", "w:gz") as tar, zipfile.ZipFile(folder / "a.zip", "w", 8) as packed:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
            packed.writestr(name, content)
    return folder / "a.tar.gz", folder / "a.zip"


def test_tar_and_zip_unpack_to_the_same_files(tmp_path):
    members = {"d/train.txt": b"one", "d/test.txt": b"two"}
    for archive in archived(tmp_path, members):
        folder = tmp_path / archive.suffix
        files = unpack(archive, folder)
        assert {str(path.relative_to(folder)): path.read_bytes() for path in files} == members


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "..\\x", "a/.."])
def test_a_member_that_climbs_out_is_refused_and_nothing_is_left(tmp_path, name):
    for archive in archived(tmp_path, {"good": b"1", name: b"2"}):
        with pytest.raises(BadInput, match="leave the folder"):
            unpack(archive, tmp_path / "inside" / "folder")
    assert not list((tmp_path / "inside").rglob("*"))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, "zip"])
def test_links_and_devices_are_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a", "w") as tar:
        info = tarfile.TarInfo("a")
        info.type, info.linkname = kind if kind != "zip" else tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "a", "w") as packed:
            info = zipfile.ZipInfo("a")
            info.external_attr = 0o120777 << 16
            packed.writestr(info, "/etc/passwd")
    with pytest.raises(BadInput, match="link or a device"):
        unpack(tmp_path / "a", tmp_path / "folder")


@pytest.mark.parametrize("settings", [{}, {"max_bytes": 1_000_000, "max_ratio": 1e9}])
def test_a_bomb_is_stopped_while_it_unpacks(tmp_path, settings):
    for archive in archived(tmp_path, {"zeros": bytes(40_000_000)}):
        assert archive.stat().st_size < 50_000
        with pytest.raises(BadInput, match="bomb"):
            unpack(archive, tmp_path / "folder", **settings)
        assert not (tmp_path / "folder").exists()


def test_what_is_no_whole_archive_is_bad_input(tmp_path):
    whole = archived(tmp_path, {"a": bytes(range(256)) * 500})[0].read_bytes()
    for content in (b"no archive", whole[: len(whole) // 2]):
        (tmp_path / "b.tar.gz").write_bytes(content)
        with pytest.raises(BadInput, match="no whole tar or zip"):
            unpack(tmp_path / "b.tar.gz", tmp_path / "folder")


def test_the_command_fetches_and_unpacks_and_tells_what_is_wrong(server, tmp_path, capsys):
    archive, _ = archived(tmp_path, {"d/train.txt": b"one"})
    server.content = archive.read_bytes()
    assert main([server.url, str(tmp_path / "raw"), "--sha256", sha256(archive), "--unpack"]) == 0
    assert (tmp_path / "raw" / "file.unpacked" / "d" / "train.txt").read_bytes() == b"one"
    assert main(["no such name", str(tmp_path)]) == 1
    assert "wikisection" in capsys.readouterr().err
    for name, source in PINNED.items():
        assert main([name, str(tmp_path), "--offline"]) == 1
        assert source.url in capsys.readouterr().err
