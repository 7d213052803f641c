"""Downloads against a local server that cuts, refuses and lies."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from longform.core.documents import BadInput
from longform.datasets.downloads import PINNED, Source, fetch, main

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


def test_the_command_fetches_and_tells_what_is_wrong(server, tmp_path, capsys):
    assert main([server.url, str(tmp_path / "raw"), "--sha256", DIGEST]) == 0
    assert (tmp_path / "raw" / "file").read_bytes() == CONTENT
    assert main(["no such name", str(tmp_path)]) == 1
    assert "wikisection" in capsys.readouterr().err
    for name, source in PINNED.items():
        assert main([name, str(tmp_path), "--offline"]) == 1
        assert source.url in capsys.readouterr().err
