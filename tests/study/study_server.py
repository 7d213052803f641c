"""A small study, and a server for it in a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

from longform.documents import Document, Section
from longform_lab.study.items import sections_study
from longform_lab.study.store import Store

SOURCE = str(Path(__file__).parents[2] / "src")
TITLES = ("introduction", "method", "result")
HOSTILE = "<script>document.title='broken'</script><b>bold</b> & \"quoted\" \u202eright to left\u202c שלום \x07\x00 end"


def article(name, split, titles=TITLES, text=""):
    sections = tuple(
        Section(title, text or f"{name} speaks of its {title}.\nA second line.") for title in titles
    )
    return Document(name, split, sections)


def small_study(texts=("", HOSTILE)):
    training = [article(f"train{i}", "train") for i in range(2)]
    real, made = (
        article("d0", "test", text=texts[0]),
        article("g0", "generated", TITLES[:2], text=texts[1]),
    )
    return sections_study(
        training, {"data": [real], "lm": [made]}, name="small", per_system=1, seed=1
    )


class Server:
    """``python -m longform_lab.study serve``; ``kill`` is SIGKILL."""

    def __init__(self, folder, study=None):
        self.study, self.answers = folder / "study.json", folder / "answers.sqlite"
        with socket.socket() as held:  # a free port
            held.bind(("127.0.0.1", 0))
            self.port = held.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        (study or small_study()).save(self.study)
        self.start()

    def start(self):
        files = [
            "--study",
            str(self.study),
            "--answers",
            str(self.answers),
            "--port",
            str(self.port),
        ]
        source = {**os.environ, "PYTHONPATH": SOURCE}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "longform_lab.study", "serve", *files], env=source
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{self.url}/static/study.css", timeout=1).read()
                return
            except OSError:
                assert self.process.poll() is None, "the server ended"
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def invite(self, label):
        with closing(Store(self.answers)) as store:
            return f"{self.url}/enter/{store.invite_all([label])[label]}"

    def stored(self):
        with closing(Store(self.answers)) as store:
            return store.answers()

    def kill(self):
        self.process.kill()
        self.process.wait()


def files(folder, answers="a.sqlite"):
    return ["--study", str(folder / "s.json"), "--answers", str(folder / answers)]
