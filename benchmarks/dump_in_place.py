"""Memory and seconds of putting a dump of Wikipedia in place, as ``make paper`` does, and what a second run still does.

``PYTHONPATH=src python benchmarks/dump_in_place.py --gigabytes 1 [--folder DIR] [--json FILE]`` writes a multistream dump of the synthetic
world (twenty streams of a hundred pages again and again, each time with one page of two megabytes; ids repeat, which this step does
not mind), then runs ``python -m longform_lab.real_files`` on it twice. Memory is the resident memory of that process and of
everything that it started, added up five times a second; pages that processes share count in each of them.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from synthetic_world.native_corpus import Page, write_page

ROOT = Path(__file__).parents[1]
SEED, STREAMS, PAGES, LONG = 1, 20, 100, 2_000_000
NAME = "dump.xml.bz2"


def pages() -> list[list[str]]:
    """Streams of pages as XML; the last stream is the long page alone."""
    made = [write_page(SEED, number) for number in range(STREAMS * PAGES)]
    articles = "\n\n".join(page.wikitext for page in made if page.kind == "article")
    long = Page(10**9, "A long article", "article", (articles * (LONG // len(articles) + 1))[:LONG])
    return [[page.xml for page in made[i : i + PAGES]] for i in range(0, len(made), PAGES)] + [
        [long.xml]
    ]


def write(target: Path, size: float) -> int:
    """A dump of at least so many bytes of XML; how many it has."""
    plain = ["".join(stream).encode() for stream in pages()]
    packed, written = [bz2.compress(stream) for stream in plain], 0
    with target.open("wb") as out:
        out.write(bz2.compress(b"<mediawiki>\n"))
        while written < size:
            out.writelines(packed)
            written += sum(map(len, plain))
        out.write(bz2.compress(b"</mediawiki>\n"))
    return written


def measured(folder: Path) -> dict[str, Any]:
    """One run of ``real_files`` in a folder that lists the dump alone."""
    command = [sys.executable, "-m", "longform_lab.real_files", "dump", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    before, begun, peak = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"real_files ended with {process.returncode}; its message stands above")
    assert process.stdout
    return {
        "put in place": process.stdout.read().split(),
        "wall seconds": round(time.monotonic() - begun, 1),
        "processor seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
        "peak resident megabytes": round(peak / 1e6, 1),
    }


def resident(pid: int) -> int:
    """Bytes of a process and of all that it started; processes that end meanwhile count nothing."""
    total = 0
    try:
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            total += process.memory_info().rss
    except psutil.Error:
        pass
    return total


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of XML")
    parser.add_argument(
        "--folder", type=Path, help="on a disk with room for the dump and its articles"
    )
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as made:
        folder = Path(made)
        place = folder / "experiments" / "scales" / "dump"
        place.mkdir(parents=True)
        entry = {"to": "wiki", "name": NAME, "by_hand": "here", "shards": True}
        (place / "data.yaml").write_text(json.dumps({"packages": [], "files": [entry]}))
        (place / "overrides.yaml").write_text("{}")
        (folder / "params.yaml").write_text("models: {}")
        size = write(folder / NAME, chosen.gigabytes * 1e9)
        first, shards = (
            measured(folder),
            sorted((folder / "data" / "raw" / "wiki").glob("shard-*.jsonl")),
        )
        written = {shard: shard.stat().st_mtime_ns for shard in shards}
        again = measured(folder)
        told = {
            "command": f"PYTHONPATH=src python benchmarks/dump_in_place.py --gigabytes {chosen.gigabytes:g}",
            "XML megabytes": round(size / 1e6, 1),
            "bz2 megabytes": round((folder / NAME).stat().st_size / 1e6, 1),
            "shards": len(shards),
            "megabytes of shards": round(sum(shard.stat().st_size for shard in shards) / 1e6, 1),
            "cores": len(os.sched_getaffinity(0)),
            "first run": first,
            "second run": {
                **again,
                "shards written": sum(s.stat().st_mtime_ns != written[s] for s in shards),
            },
        }
    text = json.dumps(told, indent=1) + "\n"
    if chosen.json:
        chosen.json.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
