"""Memory and seconds of putting a dump of Wikipedia in place, as ``make paper`` does.

``PYTHONPATH=src python benchmarks/dump_in_place.py --gigabytes 1 [--folder DIR] [--json FILE]``
writes a multistream dump of the synthetic world (streams of a hundred pages, one of them of two
megabytes), then runs ``python -m longform_lab.real_files`` on it twice: a second run should have
little to do. Memory is the resident memory of that process and of everything that it started, added
up five times a second; pages that processes share count in each of them.
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
SEED, STREAMS, PAGES = 1, 20, 100  # pages of a stream
LONG = 2_000_000  # characters of the long page
NAME = "dump.xml.bz2"


def streams() -> list[bytes]:
    """Streams of pages as XML; the last stream is the long page alone."""
    pages = [write_page(SEED, number) for number in range(STREAMS * PAGES)]
    articles = "\n\n".join(page.wikitext for page in pages if page.kind == "article")
    copies = LONG // len(articles) + 1
    long = Page(10**9, "A long article", "article", (articles * copies)[:LONG])
    texts = []
    for start in range(0, len(pages), PAGES):
        text = "".join(page.xml for page in pages[start : start + PAGES])
        texts.append(text.encode())
    return [*texts, long.xml.encode()]


def write(target: Path, size: float) -> int:
    """Write a dump of at least ``size`` bytes of XML; returns how many it has."""
    plain = streams()
    packed = list(map(bz2.compress, plain))
    total = 0
    with target.open("wb") as file:
        file.write(bz2.compress(b"<mediawiki>\n"))
        while total < size:
            file.writelines(packed)
            total += sum(map(len, plain))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return total


def measure(folder: Path) -> dict[str, Any]:
    """Seconds and memory of one run of ``real_files`` in a folder that lists the dump alone."""
    command = [sys.executable, "-m", "longform_lab.real_files", "dump", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    pipe = subprocess.PIPE
    # Run it, and look at its memory now and then.
    start, processor_before, peak = time.monotonic(), processor_of_children(), 0
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, text=True)
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"real_files ended with {process.returncode}; its message stands above")
    assert process.stdout
    return {
        "put in place": process.stdout.read().split(),
        "wall seconds": round(time.monotonic() - start, 1),
        "processor seconds": round(processor_of_children() - processor_before, 1),
        "peak resident megabytes": round(peak / 1e6, 1),
    }


def processor_of_children() -> float:
    """Processor seconds of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident(pid: int) -> int:
    """Bytes of a process and of all that it started; processes that end meanwhile count nothing."""
    total = 0
    try:
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            total += process.memory_info().rss
    except psutil.Error:
        pass
    return total


def write_scale(folder: Path) -> None:
    """Write a scale that lists the dump alone."""
    scale = folder / "experiments" / "scales" / "dump"
    scale.mkdir(parents=True)
    entry = {"to": "wiki", "name": NAME, "by_hand": "here", "shards": True}
    (scale / "data.yaml").write_text(json.dumps({"packages": [], "files": [entry]}))
    (scale / "overrides.yaml").write_text("{}")
    (folder / "params.yaml").write_text("models: {}")


def measure_twice(folder: Path, gigabytes: float) -> dict[str, Any]:
    """Write a dump into a folder and measure putting it in place, and doing so again."""
    write_scale(folder)
    size = write(folder / NAME, gigabytes * 1e9)
    first = measure(folder)
    shards = sorted((folder / "data" / "raw" / "wiki").glob("shard-*.jsonl"))
    bytes_of_shards = sum(shard.stat().st_size for shard in shards)
    times = [shard.stat().st_mtime_ns for shard in shards]
    second = measure(folder)
    second["shards written"] = 0
    for shard, modified in zip(shards, times, strict=True):
        second["shards written"] += shard.stat().st_mtime_ns != modified
    command = f"python benchmarks/dump_in_place.py --gigabytes {gigabytes:g}"
    return {
        "command": f"PYTHONPATH=src {command}",
        "XML megabytes": round(size / 1e6, 1),
        "bz2 megabytes": round((folder / NAME).stat().st_size / 1e6, 1),
        "shards": len(shards),
        "megabytes of shards": round(bytes_of_shards / 1e6, 1),
        "cores": len(os.sched_getaffinity(0)),
        "first run": first,
        "second run": second,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of XML")
    disk = "on a disk with room for the dump and its articles"
    parser.add_argument("--folder", type=Path, help=disk)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        results = measure_twice(Path(folder), options.gigabytes)
    text = json.dumps(results, indent=1) + "\n"
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
