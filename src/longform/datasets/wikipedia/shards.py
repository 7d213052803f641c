r"""A dump -> one file of articles per shard, in this process, on local processes or on a Dask cluster.

The unit of work, of loss and of repetition is the shard. A shard's file is written beside its name and moved
there when whole; its ledger record (``shard-00007.json``) follows and holds the key of what was asked
and the SHA-256 of what was written. A run redoes exactly the shards whose record or file does not agree with
that, so a killed run is taken up by running it again. A shard's bytes depend on the dump, the index and the
settings; not on the number of workers, the order in which they finish, or the clock.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longform.datasets.wikipedia.articles import WRITERS
from longform.datasets.wikipedia.dump import MAX_PAGE_BYTES, Page, Shard, parse_page, plan, raw_pages, recut
from longform.datasets.wikipedia.parser import GuardedParser
from longform.documents import BadInput

VERSION = 1  # of what a shard holds; raised when the reading changes, so that old shards are redone
RETRIES = 2  # of a shard whose worker raised; a killed worker is retried by Dask itself
WORKER_MEMORY = "1GB"  # above this Dask restarts a local worker; its shard is tried again
CONNECT_SECONDS = 20  # ours: to a scheduler that may still be starting


@dataclass(frozen=True)
class Extraction:
    """Everything that decides a shard's bytes, beside the dump itself.

    Attributes:
        shard_bytes: compressed bytes per shard, at least.
        page_seconds: CPU seconds per page before the scanner takes over.
        max_page_bytes: of XML; a larger page is set aside.
        form: ``jsonl`` or ``parquet``.
    """

    shard_bytes: int = 16 * 2**20
    page_seconds: int = 20
    max_page_bytes: int = MAX_PAGE_BYTES
    form: str = "jsonl"

    def __post_init__(self) -> None:
        if self.form not in WRITERS:
            raise BadInput(f"form is {self.form!r}, allowed are {sorted(WRITERS)}; fix the row")
        if min(self.shard_bytes, self.page_seconds, self.max_page_bytes) < 1:
            raise BadInput(f"{self}: every number must be at least 1; fix the row")


@dataclass(frozen=True)
class Task:
    """One shard to be read, complete in itself, so that it can be sent to another machine that sees the same files."""

    dump: str
    folder: str
    shard: Shard
    extraction: Extraction
    key: str

    @property
    def file(self) -> Path:
        """Where the shard's articles go."""
        return Path(self.folder) / f"shard-{self.shard.number:05d}.{self.extraction.form}"

    @property
    def record(self) -> Path:
        """Where the shard's ledger record goes."""
        return Path(self.folder) / f"shard-{self.shard.number:05d}.json"


def extract(
    dump: Path,
    folder: Path,
    *,
    index: Path | None = None,
    extraction: Extraction | None = None,
    scheduler: str | None = None,
    workers: int = 1,
) -> dict[str, Any]:
    """Read a dump into ``folder``, doing only what is missing there; returns the counts of the whole dump.

    Args:
        scheduler: address of a Dask scheduler whose workers see ``dump`` and ``folder``; None for local processes.
        workers: local processes; 1 stays in this process and needs no Dask.

    Raises:
        BadInput: no dump, no stream in it, or shards that could not be finished (those that could are kept).
    """
    extraction = extraction or Extraction()
    folder.mkdir(parents=True, exist_ok=True)
    tasks, troubles = _tasks(dump, folder, index, extraction)
    _clear(folder, tasks)
    missing = [task for task in tasks if not is_done(task)]
    lost = _run(missing, scheduler, workers)
    if lost:
        told = "; ".join(f"shard {number}: {why}" for number, why in sorted(lost.items())[:5])
        raise BadInput(f"{dump}: {len(lost)} of {len(tasks)} shards were lost ({told}); run again, the others are kept")
    records = [json.loads(task.record.read_text(encoding="utf-8")) for task in tasks]
    counts = sum((Counter(record["counts"]) for record in records), troubles)
    megabytes = sum(record["wikitext_bytes"] for record in records) / 1e6
    return {
        "shards": len(tasks),
        "redone": len(missing),
        "counts": dict(sorted(counts.items())),
        "wikitext_mb": megabytes,
    }


def _tasks(dump: Path, folder: Path, index: Path | None, extraction: Extraction) -> tuple[list[Task], Counter[str]]:
    """The plan; a large dump of one stream is first rewritten in many, once, and the rewriting is kept."""
    shards, troubles = plan(dump, index, extraction.shard_bytes)
    if len(shards) == 1 and len(shards[0].streams) == 1 and shards[0].stop > 2 * extraction.shard_bytes:
        dump, lost = _recut_once(dump, folder)
        shards, troubles = plan(dump, None, extraction.shard_bytes)
        troubles += lost
    stamp = f"{VERSION}|{json.dumps(asdict(extraction), sort_keys=True)}"
    keys = (hashlib.blake2b(f"{stamp}|{shard}".encode(), digest_size=16).hexdigest() for shard in shards)
    return [Task(str(dump), str(folder), s, extraction, key) for s, key in zip(shards, keys, strict=True)], troubles


def _clear(folder: Path, tasks: Sequence[Task]) -> None:
    """Remove what a killed run left half-written and what a run with another plan wrote."""
    planned = {path.name for task in tasks for path in (task.file, task.record)}
    for path in (*folder.glob("shard-*"), *folder.glob(".*.partial")):
        if path.name not in planned:
            path.unlink()


def _recut_once(dump: Path, folder: Path) -> tuple[Path, Counter[str]]:
    target, record = folder / "recut.xml.bz2", folder / "recut.json"
    stamp = _digest(dump, 0, dump.stat().st_size)
    if not (target.is_file() and record.is_file() and json.loads(record.read_text())["dump"] == stamp):
        troubles = recut(dump, target)
        _write(record, json.dumps({"dump": stamp, "troubles": troubles}, sort_keys=True).encode())
    return target, Counter(json.loads(record.read_text())["troubles"])


def _digest(dump: Path, start: int, stop: int) -> str:
    """Hash of a byte range: reading a shard's bytes costs a thousandth of parsing them, and a changed dump is seen."""
    digest = hashlib.blake2b(digest_size=16)
    with dump.open("rb") as file:
        file.seek(start)
        while start < stop and (chunk := file.read(min(1 << 22, stop - start))):
            digest.update(chunk)
            start += len(chunk)
    return digest.hexdigest()


def is_done(task: Task) -> bool:
    """Whether the shard's record agrees with what is asked, with the dump's bytes and with the shard's file."""
    if not (task.record.is_file() and task.file.is_file()):
        return False
    try:
        record = json.loads(task.record.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        return False
    if record.get("key") != task.key or record.get("source") != _source(task):
        return False
    return record.get("sha256") == _sha256(task.file)


def _source(task: Task) -> str:
    return _digest(Path(task.dump), task.shard.streams[0], task.shard.stop)


def _run(tasks: Sequence[Task], scheduler: str | None, workers: int) -> dict[int, str]:
    """Do the tasks; returns the reason for each shard that was lost."""
    if scheduler is None and workers <= 1:
        for task in tasks:
            extract_shard(task)
        return {}
    if not tasks:
        return {}
    with _client(scheduler, min(workers, len(tasks))) as client:
        return _gathered(client, tasks)


@contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise BadInput(
            f"more than one worker needs Dask ({error}); pip install distributed, or set workers to 1"
        ) from error
    if scheduler is not None:
        with _connected(Client, scheduler) as client:
            yield client
        return
    limits = {"threads_per_worker": 1, "memory_limit": WORKER_MEMORY, "dashboard_address": ":0"}
    with LocalCluster(n_workers=workers, processes=True, **limits) as cluster, Client(cluster) as client:
        yield client


def _connected(client: type, scheduler: str) -> Any:
    try:
        return client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:  # ValueError: an address of no known form
        raise BadInput(
            f"no Dask scheduler at {scheduler!r} ({' '.join(str(error).split())[:120]}); start one with `dask scheduler`, "
            "fix the address, or leave it out for local processes"
        ) from error


def _gathered(client: Any, tasks: Sequence[Task]) -> dict[int, str]:
    """Wait for every shard; one that keeps killing its workers is reported and costs no other shard."""
    from distributed import wait

    futures = client.map(extract_shard, tasks, pure=False, retries=RETRIES, key=[task.file.name for task in tasks])
    wait(futures)
    lost = {
        task.shard.number: future for task, future in zip(tasks, futures, strict=True) if future.status != "finished"
    }
    return {number: repr(future.exception())[:200] for number, future in lost.items()}


def extract_shard(task: Task) -> int:
    """Read one shard, write its articles and then its record; returns the number of articles."""
    counts: Counter[str] = Counter()
    size, partial = 0, task.file.with_name(f".{task.file.name}.{os.getpid()}.partial")
    with WRITERS[task.extraction.form](partial) as write, GuardedParser(task.extraction.page_seconds) as parser:
        for raw in raw_pages(Path(task.dump), task.shard, task.extraction.max_page_bytes):
            page = raw if isinstance(raw, str) else parse_page(raw)
            document, outcome = (None, page) if isinstance(page, str) else _article(page, parser)
            counts[outcome] += 1
            size += len(page.text.encode("utf-8", "surrogatepass")) if isinstance(page, Page) else 0
            if document is not None:
                write(document)
    counts.update(_index_troubles(task.shard, counts))
    os.replace(partial, task.file)
    record = {"key": task.key, "source": _source(task), "sha256": _sha256(task.file)}
    record |= {"counts": dict(counts), "wikitext_bytes": size}
    _write(task.record, json.dumps(record, sort_keys=True, indent=2).encode() + b"\n")
    return sum(number for outcome, number in counts.items() if outcome.startswith("article"))


def _index_troubles(shard: Shard, counts: Counter[str]) -> dict[str, int]:
    """By how many pages the shard and the index differ; nothing without an index."""
    found = sum(number for outcome, number in counts.items() if not outcome.startswith("stream:"))
    if shard.listed is None or shard.listed == found:
        return {}
    more = shard.listed > found
    return {"index: page not in dump" if more else "index: page not listed": abs(shard.listed - found)}


def _article(page: Page, parser: GuardedParser) -> tuple[dict[str, Any] | None, str]:
    """The article's record, or None, and its outcome."""
    sections, outcome = parser.read(page.text)
    if sections is None:
        return None, outcome
    if not sections[0][1]:
        return None, "abstract missing"
    record = {"id": page.id, "title": page.title, "sections": [{"title": t, "text": text} for t, text in sections]}
    return record, "article" if outcome == "parsed" else f"article, {outcome}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)
