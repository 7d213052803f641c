"""Downloads against a local server that cuts, refuses and lies."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from longform.core.documents import BadInput
from longform.pipeline.real_files import check_revisions, fetch
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


def test_a_file_is_fetched_once_and_found_again(server, tmp_path):
    path = fetch(server.url, DIGEST, tmp_path / "file")
    assert path.read_bytes() == CONTENT
    assert fetch(server.url, DIGEST, tmp_path / "file") == path
    assert len(server.asked) == 1


@pytest.mark.parametrize("script", [[50_000, 30_000], ["503", "429"]])
def test_a_cut_connection_or_a_busy_server_is_asked_again(server, tmp_path, script):
    server.script = script
    assert fetch(server.url, DIGEST, tmp_path / "file").read_bytes() == CONTENT
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("script", "digest", "asked", "message"),
    [([10, 10], None, 2, "at most 2 tries"), ([], "0" * 64, 2, DIGEST), (["404"], None, 1, "404")],
)
def test_what_cannot_be_fetched_is_told_and_leaves_nothing(server, tmp_path, script, digest, asked, message):
    server.script = script
    with pytest.raises(BadInput, match=message) as refused:
        fetch(server.url, digest or DIGEST, tmp_path / "file", retries=1)
    assert len(server.asked) == asked
    assert f"put it at {tmp_path / 'file'}" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_commit_that_the_hub_does_not_have_is_told_before_anything_is_read(server, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", server.url.removesuffix("/file"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    server.script = [None, None, "404"]
    right, wrong = ({"hub": "openai-community/gpt2", "revision": digit * 40} for digit in "ab")
    check_revisions([right, {"code": "no model of the hub"}, {"hub": ".", "revision": "b" * 40}])
    refuses(f"openai-community/gpt2: the hub has no commit {'b' * 40}", check_revisions, [right, wrong])
    assert server.asked == [f"/api/models/openai-community/gpt2/revision/{digit * 40}" for digit in "aab"]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check_revisions([wrong])
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    check_revisions([wrong])  # nobody answers
    assert len(server.asked) == 3
