"""Memory and time of the fact checker's page retrieval, on synthetic pages of FEVER's size (five lines, about 105 words).

``PYTHONPATH=src python benchmarks/fact_retrieval.py --pages N [--in-memory] [--json FILE]`` writes N pages into a folder with their
index, and opens it in another process, which retrieves for 200 claims. Words are drawn by Zipf's law from 200,000; the title of a page
are two names, and half of the claims name a page. ``--in-memory`` measures instead what was done before there was an index on disk: pages as a
dictionary, all BM25 weights in memory, every page scored for every claim; the digest of what was found must be the same. Kilobytes
are of 1,000 bytes; mapped files count as resident as far as they were touched, and the system takes that memory back when it needs it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.verifiability.checker import (
    TitlesAndBm25,
    _best,
    _bm25,
    _bm25_scores,
    frozen,
    words,
)
from longform.datasets.fever import PageFile

WORDS, LINES, LENGTH, CLAIMS, PART = 200_000, 5, 19, 200, 1000


def drawn(seed: list[int], shape: tuple[int, ...]) -> np.ndarray:
    """Ranks of words, by Zipf's law."""
    uniform = np.random.default_rng(seed).random(shape)
    return np.exp(uniform * np.log(WORDS)).astype(np.int64)


def title(number: int) -> str:
    """Two names; a name is shared by many pages."""
    return f"Name{number % 997} Place{number // 7}"


def made_pages(count: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Pages, the same ones for every count that has them."""
    for start in range(0, count, PART):
        ranks = drawn([1, start], (PART, LINES, LENGTH)).tolist()
        for offset, lines in enumerate(ranks[: count - start]):
            name = title(start + offset)
            yield name, tuple(f"{name} {' '.join(f'w{rank}' for rank in line)} ." for line in lines)


def made_claims(count: int, claims: int = CLAIMS) -> list[str]:
    """Claims of twelve words; every second one names a page."""
    numbers = np.random.default_rng(2).integers(count, size=claims).tolist()
    ranks = drawn([3], (claims, 12)).tolist()
    named = (
        title(number) if place % 2 else f"Name{number % 997}"
        for place, number in enumerate(numbers)
    )
    return [
        f"{name} {' '.join(f'w{rank}' for rank in row)} ."
        for name, row in zip(named, ranks, strict=True)
    ]


def resident(kind: str) -> int:
    """Bytes of this process: ``VmRSS`` now, ``RssAnon`` of them not in a file, ``VmHWM`` at the peak."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in status if line.startswith(kind)))


def retrieved(count: int, pages_for: Callable[[str], list[str]]) -> dict[str, Any]:
    """Time of 200 claims and what was found for them."""
    claims = made_claims(count)
    pages_for(claims[0])
    clock, processor = time.monotonic(), time.process_time()
    found = [pages_for(claim) for claim in claims]
    clock, processor = time.monotonic() - clock, time.process_time() - processor
    return {
        "ms a claim": round(1000 * clock / CLAIMS, 2),
        "ms of processor a claim": round(1000 * processor / CLAIMS, 2),
        "pages found": sum(map(len, found)),
        "digest of what was found": hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16],
    }


class InMemory:
    """Pages and weights in memory, in place of ``PageFile`` and ``PageIndex``."""

    def __init__(self, pages: Mapping[str, Sequence[str]]) -> None:
        self.rows, self.names = list(pages.items()), {}
        for number, (name, _) in enumerate(self.rows):
            self.names.setdefault(" ".join(words(name)), number)
        self.weights = _bm25([words(f"{name} {' '.join(lines)}") for name, lines in self.rows])

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> tuple[str, Sequence[str]]:
        """Title and lines of a page."""
        return self.rows[number]

    def best(self, tokens: Sequence[str], limit: int) -> list[int]:
        """Every page is scored."""
        return _best(_bm25_scores(self.weights, tokens, len(self.rows)), limit)


def measured(step: str, count: int, folder: Path) -> dict[str, Any]:
    """One of the steps, in a process that does nothing else."""
    before, begun = resident("VmRSS"), time.process_time()
    made: dict[str, Any] = {}
    if step == "write":
        frozen(folder, made_pages(count))
        made["bytes on disk a page"] = round(
            sum(path.stat().st_size for path in folder.iterdir()) / count
        )
    elif step == "read":
        made |= retrieved(count, TitlesAndBm25(PageFile(folder)).pages_for)
    else:
        pages: Any = InMemory(dict(made_pages(count)))
        retrieval = TitlesAndBm25(pages)
        vars(retrieval)["_index"] = pages
        made["ms of processor a page"] = round(1000 * (time.process_time() - begun) / count, 3)
        made |= retrieved(count, retrieval.pages_for)
    if step == "write":
        made["ms of processor a page"] = round(1000 * (time.process_time() - begun) / count, 3)
    sizes = {"resident": resident("VmRSS"), "peak": resident("VmHWM")}
    made["MB not of mapped files, at the end"] = round(resident("RssAnon") / 1e6)
    return made | {
        f"kB a page, {name}": round((size - before) / count / 1000, 3)
        for name, size in sizes.items()
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument(
        "--json", type=Path, help="where the numbers are kept, beside those of other counts"
    )
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.step:
        print(json.dumps(measured(chosen.step, chosen.pages, chosen.folder)))
        return
    made: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for step in ["in memory"] if chosen.in_memory else ["write", "read"]:
            command = [
                sys.executable,
                __file__,
                "--pages",
                str(chosen.pages),
                "--step",
                step,
                "--folder",
                folder,
            ]
            made[step] = json.loads(
                subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            )
    name = f"--pages {chosen.pages}{' --in-memory' if chosen.in_memory else ''}"
    print(json.dumps({name: made}, indent=1))
    if chosen.json:
        kept = json.loads(chosen.json.read_text(encoding="utf-8")) if chosen.json.is_file() else {}
        kept["command"] = (
            "PYTHONPATH=src python benchmarks/fact_retrieval.py, with what is named below"
        )
        chosen.json.write_text(json.dumps({**kept, name: made}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
