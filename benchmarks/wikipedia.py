"""Wikitext per second of this package's dump reader and of gensim's segment_wiki, on one file.

    PYTHONPATH=src python benchmarks/wikipedia.py DUMP.bz2 [--copies 4] [--rounds 3] [--json]

Each reader runs in a process of its own; its cost is the processor time of that process and all its
children (other jobs on the machine change the wall clock, hardly this). Rounds alternate the
readers; medians are reported. ``--memory`` also samples the resident memory of each worker together
with its parser.
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

OURS, GENSIM, TWO_WORKERS = "ours", "gensim", "ours_two_workers"
READERS = (OURS, GENSIM, TWO_WORKERS)
ARTICLES = 6_000_000  # English Wikipedia, to which the hours are projected
CORES = (1, 16, 64)
# Of the dump made here, so that two workers share it; real shards are larger still, and each starts
# a parser.
SHARDS = 4
# gensim refuses a dump without one.
NAMESPACE = b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">\n'


def main() -> None:
    """Measure and print."""
    options = _arguments().parse_args()
    if options.reader:
        counts = read(options.reader, options.dump, Path(options.folder), options.shard_bytes)
        print(json.dumps(counts))
        return
    # The readers in turns, each in a process of its own.
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        dump, xml_bytes = multiplied(options.dump, folder / "dump.xml.bz2", options.copies)
        rounds = []
        for _ in range(options.rounds):
            results = {}
            for reader in options.readers:
                results[reader] = measure(reader, dump, folder, options.memory)
            rounds.append(results)
    report = {"xml_mb": xml_bytes / 1e6} | summary(rounds)
    print(json.dumps(report, indent=2) if options.json else text_of(report))


def _arguments() -> argparse.ArgumentParser:
    """The command line; hidden options are those of a reader's own process."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("dump", type=Path)
    copies = "repeat the dump's pages, under new ids, this many times"
    parser.add_argument("--copies", type=int, default=1, help=copies)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    memory = "sample resident memory (costs a little time)"
    parser.add_argument("--memory", action="store_true", help=memory)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--shard-bytes", type=int, help=argparse.SUPPRESS)
    return parser


def multiplied(
    source: Path, target: Path, copies: int, pages_per_stream: int = 100
) -> tuple[Path, int]:
    """Write a dump's pages ``copies`` times, as a multistream dump; ``target`` and bytes of XML."""
    from longform.datasets.wikipedia.dump import Shard, raw_pages

    pages: list[bytes] = []
    number = size = 0
    with target.open("wb") as file:
        file.write(bz2.compress(NAMESPACE))
        for _ in range(copies):
            for page in raw_pages(source, Shard(0, (0,), source.stat().st_size)):
                # Under a new id; the page's own id is the first.
                number += 1
                before, _, after = page.partition(b"<id>")
                pages.append(before + b"<id>%d<" % number + after.partition(b"<")[2])
                size += len(pages[-1])
                if len(pages) == pages_per_stream:
                    file.write(bz2.compress(b"\n".join(pages) + b"\n"))
                    pages.clear()
        file.write(bz2.compress(b"\n".join(pages) + b"\n"))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return target, size


def measure(reader: str, dump: Path, folder: Path, memory: bool) -> dict[str, Any]:
    """Run a reader in a process of its own: :func:`read`'s counts, with seconds and memory.

    It writes below ``folder``; resident memory is sampled if ``memory``.
    """
    target = folder / f"out-{reader}-{time.monotonic_ns()}"
    shard_bytes = max(1, dump.stat().st_size // SHARDS)
    command = [sys.executable, __file__, str(dump), "--reader", reader]
    command += ["--folder", str(target), "--shard-bytes", str(shard_bytes)]
    # Run it.
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    peak = _peak_memory(process) if memory else None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{reader} failed with status {status}; its message stands above")
    # What it read and cost.
    results = json.loads(output.splitlines()[-1])
    results["wall_seconds"] = time.monotonic() - started
    results["cpu_seconds"] = usage.ru_utime + usage.ru_stime
    if peak is not None:
        results["peak_memory_mb"] = peak
    return results


def _peak_memory(process: subprocess.Popen[bytes]) -> float:
    """Largest resident memory of any process of the tree together with its parser child, in MB."""
    import psutil

    peak = 0
    root = psutil.Process(process.pid)
    while root.status() != psutil.STATUS_ZOMBIE:
        # Resident memory, and the parser of each process that has one.
        resident, parsers = {}, {}
        try:
            for member in (root, *root.children(recursive=True)):
                resident[member.pid] = member.memory_info().rss
                if "wikipedia_parser" in " ".join(member.cmdline()):
                    parsers[member.ppid()] = member.pid
        except psutil.Error:
            continue
        for pid, size in resident.items():
            peak = max(peak, size + resident.get(parsers.get(pid), 0))
        time.sleep(0.1)
    return peak / 1e6


def read(reader: str, dump: Path, folder: Path, shard_bytes: int) -> dict[str, Any]:
    """Run one reader: the number of its articles, and of ours megabytes of wikitext and seconds."""
    if reader == GENSIM:
        from gensim.scripts.segment_wiki import segment_and_write_all_articles

        folder.mkdir()
        articles = folder / "articles.jsonl"
        segment_and_write_all_articles(str(dump), str(articles), workers=1)
        with articles.open(encoding="utf-8") as lines:
            return {"articles": sum(1 for _ in lines)}
    from longform.datasets.wikipedia.building import Extraction, extract

    # Ours, with the articles that it keeps or leaves out for a reason of their own.
    workers = 2 if reader == TWO_WORKERS else 1
    started = time.monotonic()
    outcome = extract(dump, folder, extraction=Extraction(shard_bytes=shard_bytes), workers=workers)
    seconds = time.monotonic() - started
    articles = 0
    for kind, number in outcome["counts"].items():
        if kind.startswith("article"):
            articles += number
    return {
        "articles": articles,
        "wikitext_mb": outcome["wikitext_mb"],
        "extract_seconds": seconds,
    }


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over rounds of each reader's counts, and their ratios.

    Megabytes are of the wikitext of pages that pass the exclusions, the same for all readers.
    """
    readers: dict[str, dict[str, float]] = {}
    for name, row in rounds[0].items():
        readers[name] = {}
        for key in row:
            readers[name][key] = statistics.median(results[name][key] for results in rounds)
    ours = readers[OURS]
    megabytes = ours["wikitext_mb"]
    for results in readers.values():
        results["mb_per_cpu_second"] = megabytes / results["cpu_seconds"]
    hours = ARTICLES * ours["cpu_seconds"] / ours["articles"] / 3600
    report: dict[str, Any] = {
        "wikitext_mb": megabytes,
        "rounds": len(rounds),
        "load_average": os.getloadavg()[0],
        "readers": readers,
        "hours_for_6m_articles": {str(cores): hours / cores for cores in CORES},
        "mean_article_kb": 1000 * megabytes / ours["articles"],
    }
    # Ratios to the other readers.
    if GENSIM in readers:
        report["times_gensim"] = readers[GENSIM]["cpu_seconds"] / ours["cpu_seconds"]
    if TWO_WORKERS in readers:
        ratios = []
        for results in rounds:
            ratios.append(results[OURS]["wall_seconds"] / results[TWO_WORKERS]["wall_seconds"])
        cpu_ratio = readers[TWO_WORKERS]["cpu_seconds"] / ours["cpu_seconds"]
        report["two_workers_wall_ratio"] = statistics.median(ratios)
        report["two_workers_cpu_ratio"] = cpu_ratio
    return report


def text_of(report: dict[str, Any]) -> str:
    """The report as lines of text."""
    lines = [
        f"{report['xml_mb']:.1f} MB of XML, {report['wikitext_mb']:.1f} MB of wikitext, mean"
        f" article {report['mean_article_kb']:.1f} kB, {report['rounds']} rounds"
    ]
    for name, results in report["readers"].items():
        cells = [
            f"{results['mb_per_cpu_second']:6.2f} MB per CPU second",
            f"{results['cpu_seconds']:6.1f} s CPU",
            f"{results['wall_seconds']:6.1f} s wall",
        ]
        if "peak_memory_mb" in results:
            cells.append(f"{results['peak_memory_mb']:.0f} MB")
        lines.append(f"{name:>18}: {', '.join(cells)}")
    for key in ("times_gensim", "two_workers_wall_ratio", "two_workers_cpu_ratio"):
        if key in report:
            lines.append(f"{key}: {report[key]:.2f}")
    hours = []
    for cores, value in report["hours_for_6m_articles"].items():
        hours.append(f"{cores} cores {value:.1f} h")
    return "\n".join([*lines, f"6 million articles of this mean: {', '.join(hours)}"])


if __name__ == "__main__":
    main()
