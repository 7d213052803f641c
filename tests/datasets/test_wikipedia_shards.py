"""Shards: the same bytes from any number of workers, after a killed worker and after a killed run."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import mediawiki
import pytest

from longform.datasets.wikipedia.building import Extraction, Shards, extract
from tests.refusals import refuses

SMALL = Extraction(shard_bytes=1)
SOURCE = str(Path(__file__).parents[2] / "src")


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("shard-*"))}


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    return mediawiki.write(tmp_path_factory.mktemp("dump"), mediawiki.articles(60), 6)


@pytest.fixture(scope="module")
def unbroken(dump, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    extract(dump, folder, extraction=SMALL)
    return contents(folder)


def test_a_rerun_redoes_only_what_is_missing_or_damaged(tmp_path, dump, unbroken):
    extract(dump, tmp_path, extraction=SMALL)
    (tmp_path / "shard-00002.jsonl").unlink()
    (tmp_path / "shard-00004.json").unlink()
    (tmp_path / "shard-00006.jsonl").write_bytes(b"half")
    (tmp_path / ".shard-00007.jsonl.99.partial").write_bytes(b"left by a killed run")
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in ("shard-00001.jsonl", "shard-00005.jsonl")}
    done = extract(dump, tmp_path, extraction=SMALL)
    assert done["redone"] == 3
    assert contents(tmp_path) == unbroken
    assert before == {name: (tmp_path / name).stat().st_mtime_ns for name in before}
    assert not list(tmp_path.glob(".*partial"))


def test_other_settings_or_another_dump_redo_what_they_change(tmp_path, dump):
    folder = tmp_path / "shards"
    extract(dump, folder, extraction=Extraction(shard_bytes=6000))
    changed = extract(dump, folder, extraction=Extraction(shard_bytes=6000, page_seconds=19))
    assert changed["redone"] == changed["shards"]
    coarse = extract(dump, folder, extraction=Extraction(shard_bytes=10**9))
    assert (coarse["shards"], len(list(Shards(folder)))) == (1, 60)
    other = mediawiki.write(tmp_path, mediawiki.articles(59), 10)
    assert extract(other, folder, extraction=Extraction(shard_bytes=10**9))["redone"] == 1
    assert len(list(Shards(folder))) == 59


def test_unfinished_or_absent_shards_are_bad_input(tmp_path, dump):
    refuses("no shard", Shards, tmp_path)
    extract(dump, tmp_path, extraction=SMALL)
    (tmp_path / "shard-00003.json").unlink()
    refuses("unfinished", Shards, tmp_path)


RUN = """
import sys
from pathlib import Path
from longform.datasets.wikipedia.building import Extraction, extract

if __name__ == "__main__":
    dump, folder, workers = sys.argv[1:]
    extract(Path(dump), Path(folder), extraction=Extraction(shard_bytes=1), workers=int(workers))
"""


def started(tmp_path, dump, folder, workers):
    """The extraction as a process group of its own, so that it can be killed whole."""
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(RUN))
    arguments = [sys.executable, str(script), str(dump), str(folder), str(workers)]
    return subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": SOURCE}, start_new_session=True)


def wait_for_shards(folder, number, run, seconds=60):
    deadline = time.monotonic() + seconds
    while len(list(folder.glob("shard-*.json"))) < number and time.monotonic() < deadline:
        assert run.poll() is None, "the run ended before it could be killed; make the dump larger"
        time.sleep(0.01)


def test_a_killed_run_is_taken_up_and_ends_with_the_bytes_of_an_unbroken_one(tmp_path, dump, unbroken):
    run = started(tmp_path, dump, tmp_path / "shards", workers=2)
    wait_for_shards(tmp_path / "shards", 2, run)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    time.sleep(0.5)
    kept = {path.name for path in (tmp_path / "shards").glob("shard-*.json")}
    assert 2 <= len(kept) < len(unbroken) / 2
    done = extract(dump, tmp_path / "shards", extraction=SMALL)
    assert done["redone"] <= done["shards"] - 2
    assert contents(tmp_path / "shards") == unbroken
    assert json.loads((tmp_path / "shards" / "shard-00003.json").read_text())["counts"]["article"] == 6
