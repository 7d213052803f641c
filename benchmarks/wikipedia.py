"""Wikitext per second of this package's dump reader and of gensim's segment_wiki, on one file in one run.

    PYTHONPATH=src python benchmarks/wikipedia.py DUMP.bz2 [--copies 4] [--rounds 3] [--json]

Each reader runs in a process of its own; its cost is the processor time of that process and all its children (other jobs
on the machine change the wall clock, hardly this). Rounds alternate the readers; medians are reported.
``--memory`` also samples the resident memory of each worker together with its parser.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

READERS = ("ours", "gensim", "ours_two_workers")
ARTICLES = 6_000_000  # English Wikipedia, to which the hours are projected
CORES = (1, 16, 64)
SHARDS = 4  # of the dump made here, so that two workers share it; real shards are larger still, and each starts a parser
NAMESPACE = b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">\n'  # gensim refuses a dump without one


def main() -> None:
    """Measure and print."""
    options = _options()
    if options.reader:
        _read(options.reader, options.dump, Path(options.folder), options.shard_bytes)
        return
    with tempfile.TemporaryDirectory() as place:
        dump, xml_bytes = multiplied(options.dump, Path(place) / "dump.xml.bz2", options.copies)
        shard_bytes = max(1, dump.stat().st_size // SHARDS)
        rounds = [_round(dump, Path(place), shard_bytes, options) for _ in range(options.rounds)]
    report = {"xml_mb": xml_bytes / 1e6} | summary(rounds)
    print(json.dumps(report, indent=2) if options.json else told(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("dump", type=Path)
    parser.add_argument(
        "--copies",
        type=int,
        default=1,
        help="repeat the dump's pages, under new ids, this many times",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument(
        "--memory", action="store_true", help="sample resident memory (costs a little time)"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--shard-bytes", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def multiplied(
    source: Path, target: Path, copies: int, pages_per_stream: int = 100
) -> tuple[Path, int]:
    """The dump's pages, some times over, as a multistream dump; and the bytes of XML in it."""
    from longform.datasets.wikipedia.dump import Shard, raw_pages

    pages, number, size = [], 0, 0
    with target.open("wb") as out:
        out.write(bz2.compress(NAMESPACE))
        for _ in range(copies):
            for page in raw_pages(source, Shard(0, (0,), source.stat().st_size)):
                number += 1
                before, _, after = page.partition(b"<id>")
                pages.append(before + b"<id>%d<" % number + after.partition(b"<")[2])
                size += len(pages[-1])
                if len(pages) == pages_per_stream:
                    out.write(bz2.compress(b"\n".join(pages) + b"\n"))
                    pages.clear()
        out.write(bz2.compress(b"\n".join(pages) + b"\n"))
        out.write(bz2.compress(b"</mediawiki>\n"))
    return target, size


def _round(
    dump: Path, place: Path, shard_bytes: int, options: argparse.Namespace
) -> dict[str, Any]:
    return {
        reader: _measured(
            reader, dump, place / f"out-{reader}-{time.monotonic_ns()}", shard_bytes, options.memory
        )
        for reader in options.readers
    }


def _measured(
    reader: str, dump: Path, folder: Path, shard_bytes: int, memory: bool
) -> dict[str, Any]:
    command = [
        sys.executable,
        __file__,
        str(dump),
        "--reader",
        reader,
        "--folder",
        str(folder),
        "--shard-bytes",
        str(shard_bytes),
    ]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    peak = _peak_memory(process) if memory else None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{reader} failed with status {status}; its message stands above")
    cost = {
        "wall_seconds": time.monotonic() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
    }
    return json.loads(output.splitlines()[-1]) | cost | ({"peak_memory_mb": peak} if memory else {})


def _peak_memory(process: subprocess.Popen[bytes]) -> float:
    """Largest resident memory of any process of the tree together with its parser child, in MB."""
    import psutil

    peak = 0
    while not _ended(process):
        try:
            tree = [
                psutil.Process(process.pid),
                *psutil.Process(process.pid).children(recursive=True),
            ]
            resident = {one.pid: one.memory_info().rss for one in tree}
            parsers = {
                one.ppid(): one.pid for one in tree if "wikipedia_parser" in " ".join(one.cmdline())
            }
        except psutil.Error:
            continue
        peak = max(
            peak, *(size + resident.get(parsers.get(pid), 0) for pid, size in resident.items())
        )
        time.sleep(0.1)
    return peak / 1e6


def _ended(process: subprocess.Popen[bytes]) -> bool:
    import psutil

    return psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE


def _read(reader: str, dump: Path, folder: Path, shard_bytes: int) -> None:
    """Run one reader and print what it read."""
    if reader == "gensim":
        from gensim.scripts.segment_wiki import segment_and_write_all_articles

        folder.mkdir()
        segment_and_write_all_articles(str(dump), str(folder / "articles.jsonl"), workers=1)
        articles = sum(1 for _ in (folder / "articles.jsonl").open(encoding="utf-8"))
        print(json.dumps({"articles": articles}))
        return
    from longform.datasets.wikipedia.building import Extraction, extract

    workers = 2 if reader == "ours_two_workers" else 1
    started = time.monotonic()
    done = extract(dump, folder, extraction=Extraction(shard_bytes=shard_bytes), workers=workers)
    counts = {
        outcome: number
        for outcome, number in done["counts"].items()
        if outcome.startswith("article")
    }
    seconds = time.monotonic() - started
    print(
        json.dumps(
            {
                "articles": sum(counts.values()),
                "wikitext_mb": done["wikitext_mb"],
                "extract_seconds": seconds,
            }
        )
    )


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over rounds; MB are of the wikitext of pages that pass the exclusions, the same for all readers."""
    readers = {
        name: {key: statistics.median(r[name][key] for r in rounds) for key in rounds[0][name]}
        for name in rounds[0]
    }
    megabytes = readers["ours"]["wikitext_mb"]
    report: dict[str, Any] = {
        "wikitext_mb": megabytes,
        "rounds": len(rounds),
        "load_average": os.getloadavg()[0],
        "readers": readers,
    }
    for measured in readers.values():
        measured["mb_per_cpu_second"] = megabytes / measured["cpu_seconds"]
    seconds = readers["ours"]["cpu_seconds"] / readers["ours"]["articles"]
    report["hours_for_6m_articles"] = {
        str(cores): ARTICLES * seconds / 3600 / cores for cores in CORES
    }
    report["mean_article_kb"] = 1000 * megabytes / readers["ours"]["articles"]
    if "gensim" in readers:
        report["times_gensim"] = readers["gensim"]["cpu_seconds"] / readers["ours"]["cpu_seconds"]
    if "ours_two_workers" in readers:
        pairs = [(r["ours"]["wall_seconds"], r["ours_two_workers"]["wall_seconds"]) for r in rounds]
        report["two_workers_wall_ratio"] = statistics.median(one / two for one, two in pairs)
        report["two_workers_cpu_ratio"] = (
            readers["ours_two_workers"]["cpu_seconds"] / readers["ours"]["cpu_seconds"]
        )
    return report


def told(report: dict[str, Any]) -> str:
    """The report as lines of text."""
    lines = [
        f"{report['xml_mb']:.1f} MB of XML, {report['wikitext_mb']:.1f} MB of wikitext, mean article {report['mean_article_kb']:.1f} kB, {report['rounds']} rounds"
    ]
    lines += [
        f"{name:>18}: {m['mb_per_cpu_second']:6.2f} MB per CPU second, {m['cpu_seconds']:6.1f} s CPU, {m['wall_seconds']:6.1f} s wall"
        + (f", {m['peak_memory_mb']:.0f} MB" if "peak_memory_mb" in m else "")
        for name, m in report["readers"].items()
    ]
    lines += [
        f"{key}: {report[key]:.2f}"
        for key in ("times_gensim", "two_workers_wall_ratio", "two_workers_cpu_ratio")
        if key in report
    ]
    hours = ", ".join(
        f"{cores} cores {value:.1f} h" for cores, value in report["hours_for_6m_articles"].items()
    )
    return "\n".join([*lines, f"6 million articles of this mean: {hours}"])


if __name__ == "__main__":
    main()
