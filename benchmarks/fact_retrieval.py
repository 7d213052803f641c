"""Memory and time of the fact checker's page retrieval, on synthetic pages of FEVER's size.

``PYTHONPATH=src python benchmarks/fact_retrieval.py --pages N [--in-memory] [--json FILE]`` writes
N pages (five lines, about 105 words) into a folder with their index, and opens it in another
process, which retrieves for 200 claims. Words are drawn by Zipf's law from 200,000; the title of a
page are two names, and half of the claims name a page. ``--in-memory`` measures instead what was
done before there was an index on disk: pages as a dictionary, all BM25 weights in memory, every
page scored for every claim; the digest of the retrieved pages must be the same. A kilobyte
is 1,000 bytes; mapped files count as resident as far as they were touched.
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

WORDS = 200_000  # different ones
LINES, LENGTH, CLAIM_LENGTH = 5, 19, 12  # of a page; words of a line and of a claim, but names
CLAIMS = 200
PART = 1000  # pages drawn at once, with a seed of their own
COMMAND = "PYTHONPATH=src python benchmarks/fact_retrieval.py, with what is named below"


def word_ranks(seed: list[int], shape: tuple[int, ...]) -> np.ndarray:
    """Ranks of words from 1 drawn by Zipf's law, int64 of a shape."""
    uniform = np.random.default_rng(seed).random(shape)
    return np.exp(uniform * np.log(WORDS)).astype(np.int64)


def sentence(name: str, ranks: Sequence[int]) -> str:
    """A sentence of a name and of words, which are called by their ranks."""
    return f"{name} {' '.join(f'w{rank}' for rank in ranks)} ."


def title(number: int) -> str:
    """The title of a page: two names, each of which other pages share."""
    return f"Name{number % 997} Place{number // 7}"


def synthetic_pages(count: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (title, lines) of the first ``count`` pages, the same for every count."""
    for start in range(0, count, PART):
        ranks = word_ranks([1, start], (PART, LINES, LENGTH)).tolist()
        for offset, lines in enumerate(ranks[: count - start]):
            name = title(start + offset)
            yield name, tuple(sentence(name, line) for line in lines)


def synthetic_claims(count: int, claims: int = CLAIMS) -> list[str]:
    """Claims about ``count`` pages; every second one has a page's title, others half of one."""
    numbers = np.random.default_rng(2).integers(count, size=claims).tolist()
    ranks = word_ranks([3], (claims, CLAIM_LENGTH)).tolist()
    texts = []
    for index, (number, row) in enumerate(zip(numbers, ranks, strict=True)):
        name = title(number) if index % 2 else f"Name{number % 997}"
        texts.append(sentence(name, row))
    return texts


def resident(kind: str) -> int:
    """Resident bytes of this process: ``VmRSS`` now, ``RssAnon`` not in files, ``VmHWM`` peak."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in status if line.startswith(kind)))


def retrieve(count: int, pages_for: Callable[[str], list[str]]) -> dict[str, Any]:
    """Milliseconds a claim, of claims about ``count`` pages, and a digest of the results."""
    claims = synthetic_claims(count)
    pages_for(claims[0])  # opens the index
    clock, processor = time.monotonic(), time.process_time()
    pages = [pages_for(claim) for claim in claims]
    clock, processor = time.monotonic() - clock, time.process_time() - processor
    digest = hashlib.sha256(json.dumps(pages).encode()).hexdigest()
    return {
        "ms a claim": round(1000 * clock / CLAIMS, 2),
        "ms of processor a claim": round(1000 * processor / CLAIMS, 2),
        "pages found": sum(map(len, pages)),
        "digest of what was found": digest[:16],
    }


class InMemory:
    """Pages and weights in memory, in place of ``PageFile`` and ``PageIndex``.

    Attributes:
        rows: title and lines of each page.
        names: number of the page of each title, in normalised words.
        weights: BM25 index of the pages' words.
    """

    def __init__(self, pages: Mapping[str, Sequence[str]]) -> None:
        self.rows = list(pages.items())
        self.names: dict[str, int] = {}
        texts = []
        for number, (name, lines) in enumerate(self.rows):
            self.names.setdefault(" ".join(words(name)), number)
            texts.append(words(f"{name} {' '.join(lines)}"))
        self.weights = _bm25(texts)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> tuple[str, Sequence[str]]:
        """Title and lines of a page."""
        return self.rows[number]

    def best(self, tokens: Sequence[str], limit: int) -> list[int]:
        """Numbers of the ``limit`` best pages for some words; every page is scored."""
        return _best(_bm25_scores(self.weights, tokens, len(self.rows)), limit)


def measure_step(step: str, count: int, folder: Path) -> dict[str, Any]:
    """Seconds and memory of a step (write, read, in memory), which this process does alone."""
    bytes_before, start = resident("VmRSS"), time.process_time()
    results: dict[str, Any] = {}

    def note_processor() -> None:
        milliseconds = 1000 * (time.process_time() - start)
        results["ms of processor a page"] = round(milliseconds / count, 3)

    # The step.
    if step == "write":
        frozen(folder, synthetic_pages(count))
        size = sum(path.stat().st_size for path in folder.iterdir())
        results["bytes on disk a page"] = round(size / count)
        note_processor()
    elif step == "read":
        results |= retrieve(count, TitlesAndBm25(PageFile(folder)).pages_for)
    else:
        pages: Any = InMemory(dict(synthetic_pages(count)))
        retrieval = TitlesAndBm25(pages)
        vars(retrieval)["_index"] = pages
        note_processor()
        results |= retrieve(count, retrieval.pages_for)
    # Its memory.
    results["MB not of mapped files, at the end"] = round(resident("RssAnon") / 1e6)
    for name, kind in (("resident", "VmRSS"), ("peak", "VmHWM")):
        growth = resident(kind) - bytes_before
        results[f"kB a page, {name}"] = round(growth / count / 1000, 3)
    return results


def run_step(step: str, count: int, folder: str) -> dict[str, Any]:
    """:func:`measure_step` in a process of its own."""
    command = [sys.executable, __file__, "--pages", str(count), "--step", step, "--folder", folder]
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(process.stdout)


def main() -> None:
    """Print the numbers of all steps; ``--json`` adds them to a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--in-memory", action="store_true")
    record = "where the numbers are kept, beside those of other counts"
    parser.add_argument("--json", type=Path, help=record)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    # A step, where this is a process of its own.
    if options.step:
        print(json.dumps(measure_step(options.step, options.pages, options.folder)))
        return
    # Else all steps, and the record.
    name = f"--pages {options.pages}{' --in-memory' if options.in_memory else ''}"
    steps = ["in memory"] if options.in_memory else ["write", "read"]
    with tempfile.TemporaryDirectory() as folder:
        results = {step: run_step(step, options.pages, folder) for step in steps}
    print(json.dumps({name: results}, indent=1))
    if options.json:
        earlier = {}
        if options.json.is_file():
            earlier = json.loads(options.json.read_text(encoding="utf-8"))
        text = json.dumps({**earlier, "command": COMMAND, name: results}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
