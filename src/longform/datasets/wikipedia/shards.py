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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput, Document, Section
from longform.datasets.wikipedia.dump import MAX_PAGE_BYTES, Page, Shard, parse_page, plan, raw_pages, recut
from longform.datasets.wikipedia.wikitext import GuardedParser

VERSION = 2  # of what a shard holds; raised when the reading changes, so that old shards are redone
RETRIES = 2  # of a shard whose worker raised; a killed worker is retried by Dask itself
WORKER_MEMORY = "1GB"  # above this Dask restarts a local worker; its shard is tried again
CONNECT_SECONDS = 20  # ours: to a scheduler that may still be starting


ROW_GROUP = 500  # articles per Parquet row group, and per batch read


@contextmanager
def _jsonl_writer(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    with path.open("w", encoding="utf-8", errors="replace") as lines:
        yield lambda record: print(json.dumps(record, sort_keys=True, ensure_ascii=False), file=lines)


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Row groups of 500 articles, so that a shard never lies in memory whole."""
    import pyarrow
    from pyarrow import parquet

    section = pyarrow.struct([("title", pyarrow.string()), ("text", pyarrow.string())])
    schema = pyarrow.schema(
        [("id", pyarrow.string()), ("title", pyarrow.string()), ("sections", pyarrow.list_(section))]
    )
    rows: list[dict[str, Any]] = []
    with parquet.ParquetWriter(path, schema, compression="zstd") as table:

        def write(record: dict[str, Any]) -> None:
            rows.append(record)
            if len(rows) == ROW_GROUP:
                flush()

        def flush() -> None:
            table.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            rows.clear()

        yield write
        flush()


WRITERS: Mapping[str, Callable[[Path], Any]] = {"jsonl": _jsonl_writer, "parquet": _parquet_writer}


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
            raise BadInput(f"form is {self.form!r}, allowed are {sorted(WRITERS)}; fix the entry")
        if min(self.shard_bytes, self.page_seconds, self.max_page_bytes) < 1:
            raise BadInput(f"{self}: every number must be at least 1; fix the entry")


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
        """Where the shard's articles go; its ledger record lies beside it, with suffix ``.json``."""
        return Path(self.folder) / f"shard-{self.shard.number:05d}.{self.extraction.form}"

    @property
    def record(self) -> Path:
        """The shard's ledger record."""
        return self.file.with_suffix(".json")

    @property
    def source(self) -> str:
        """Hash of the shard's bytes in the dump; costs a thousandth of parsing them, and a changed dump is seen."""
        return _digest(Path(self.dump), self.shard.streams[0], self.shard.stop)


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
    tasks, counts = _tasks(dump, folder, index, extraction)
    planned = {path.name for task in tasks for path in (task.file, task.record)}
    for path in (*folder.glob("shard-*"), *folder.glob(".*.partial")):  # of a killed run, or of another plan
        if path.name not in planned:
            path.unlink()
    missing = [task for task in tasks if not is_done(task)]
    lost = {}
    if missing and (scheduler is not None or workers > 1):
        with _client(scheduler, min(workers, len(missing))) as client:
            lost = _gathered(client, missing)
    else:
        for task in missing:
            extract_shard(task)
    if lost:
        told = "; ".join(f"shard {number}: {why}" for number, why in sorted(lost.items())[:5])
        raise BadInput(f"{dump}: {len(lost)} of {len(tasks)} shards were lost ({told}); run again, the others are kept")
    records = [_ledger(task.record) for task in tasks]
    counts = sum((Counter(record["counts"]) for record in records), counts)
    return {
        "shards": len(tasks),
        "redone": len(missing),
        "counts": dict(sorted(counts.items())),
        "wikitext_mb": sum(record["wikitext_bytes"] for record in records) / 1e6,
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


def _recut_once(dump: Path, folder: Path) -> tuple[Path, Counter[str]]:
    target, record, stamp = folder / "recut.xml.bz2", folder / "recut.json", _digest(dump)
    if not target.is_file() or _ledger(record).get("dump") != stamp:
        troubles = recut(dump, target)
        _write(record, {"dump": stamp, "troubles": troubles})
    return target, Counter(_ledger(record)["troubles"])


def _digest(path: Path, start: int = 0, stop: int | None = None) -> str:
    """Hash of a file or of a range of its bytes, read in pieces."""
    digest, left = hashlib.sha256(), (path.stat().st_size if stop is None else stop) - start
    with path.open("rb") as file:
        file.seek(start)
        while left > 0 and (chunk := file.read(min(1 << 22, left))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def _ledger(path: Path) -> dict[str, Any]:
    """A ledger record; empty where there is none or a damaged one."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _write(path: Path, record: Mapping[str, Any]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(json.dumps(record, sort_keys=True, indent=2) + "\n", encoding="utf-8")
    os.replace(partial, path)


def is_done(task: Task) -> bool:
    """Whether the shard's record agrees with what is asked, with the dump's bytes and with the shard's file."""
    record = _ledger(task.record)
    if not task.file.is_file() or record.get("key") != task.key or record.get("source") != task.source:
        return False
    return record.get("sha256") == _digest(task.file)


@contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    """A Dask client of the scheduler, or of local processes of its own."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise BadInput(
            f"more than one worker needs Dask ({error}); pip install distributed, or set workers to 1"
        ) from error
    if scheduler is None:
        limits = {"threads_per_worker": 1, "memory_limit": WORKER_MEMORY, "dashboard_address": ":0"}
        with LocalCluster(n_workers=workers, processes=True, **limits) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:  # ValueError: an address of no known form
        raise BadInput(
            f"no Dask scheduler at {scheduler!r} ({' '.join(str(error).split())[:120]}); start one with `dask scheduler`, "
            "fix the address, or leave it out for local processes"
        ) from error
    with client:
        yield client


def _gathered(client: Any, tasks: Sequence[Task]) -> dict[int, str]:
    """Wait for every shard; one that keeps killing its workers is reported and costs no other shard."""
    from distributed import wait

    futures = client.map(extract_shard, tasks, pure=False, retries=RETRIES, key=[task.file.name for task in tasks])
    wait(futures)
    ended = zip(tasks, futures, strict=True)
    return {task.shard.number: repr(f.exception())[:200] for task, f in ended if f.status != "finished"}


def extract_shard(task: Task) -> int:
    """Read one shard, write its articles and then its record; returns the number of articles."""
    counts: Counter[str] = Counter()
    size, partial = 0, task.file.with_name(f".{task.file.name}.{os.getpid()}.partial")
    with WRITERS[task.extraction.form](partial) as write, GuardedParser(task.extraction.page_seconds) as parser:
        for raw in raw_pages(Path(task.dump), task.shard, task.extraction.max_page_bytes):
            page = raw if isinstance(raw, str) else parse_page(raw)
            article, outcome = (None, page) if isinstance(page, str) else _article(page, parser)
            counts[outcome] += 1
            size += len(page.text.encode("utf-8", "surrogatepass")) if isinstance(page, Page) else 0
            if article is not None:
                write(article)
    found = sum(number for outcome, number in counts.items() if not outcome.startswith("stream:"))
    if task.shard.listed is not None and task.shard.listed != found:
        more = task.shard.listed > found
        counts["index: page not in dump" if more else "index: page not listed"] = abs(task.shard.listed - found)
    os.replace(partial, task.file)
    record = {"key": task.key, "source": task.source, "sha256": _digest(task.file)}
    _write(task.record, record | {"counts": counts, "wikitext_bytes": size})
    return sum(number for outcome, number in counts.items() if outcome.startswith("article"))


def _article(page: Page, parser: GuardedParser) -> tuple[dict[str, Any] | None, str]:
    """The article's record, or None, and its outcome."""
    sections, outcome = parser.read(page.text)
    if sections is None:
        return None, outcome
    if not sections[0][1]:
        return None, "abstract missing"
    record = {"id": page.id, "title": page.title, "sections": [{"title": t, "text": text} for t, text in sections]}
    return record, "article" if outcome == "parsed" else f"article, {outcome}"


class Shards:
    """The articles of a folder of shards, in plan order; can be iterated any number of times.

    Raises:
        BadInput: the folder has no shards, or one of them lacks its record (an unfinished run).
    """

    def __init__(self, folder: Path) -> None:
        self.files = sorted(path for form in WRITERS for path in folder.glob(f"shard-*.{form}"))
        unfinished = [path.name for path in self.files if not path.with_suffix(".json").is_file()]
        if not self.files or unfinished:
            what = f"unfinished {unfinished[:3]}" if unfinished else "no shard-*.jsonl or shard-*.parquet"
            raise BadInput(f"{folder}: {what}; run the extraction again, it redoes only what is missing")

    def __iter__(self) -> Iterator[Document]:
        for path in self.files:
            for record in _records(path):
                sections = tuple(Section(section["title"], section["text"]) for section in record["sections"])
                yield Document(record["id"], "train", sections)

    @property
    def counts(self) -> Counter[str]:
        """Pages by outcome over all shards."""
        return sum((Counter(_ledger(path.with_suffix(".json"))["counts"]) for path in self.files), Counter())


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        from pyarrow import parquet

        for batch in parquet.ParquetFile(path).iter_batches(batch_size=ROW_GROUP):
            yield from batch.to_pylist()
        return
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
