r"""English Wikipedia as deng2022 section 4 uses it: a dump -> a file of articles per shard -> filters -> a random split.

A shard is the unit of work and of repetition: its file, then its record with a key and SHA-256s. A run redoes the shards whose
record or file disagrees, so a killed run goes on; the bytes depend on dump and settings, not on workers or the clock.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from longform.core.artefacts import whole, write_json
from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.resampling import split_by_seed
from longform.datasets.titles import Filters, filtered_corpus, select, settings, shortened, token_counter
from longform.datasets.wikipedia.dump import MAX_PAGE_BYTES, Page, Shard, parse_page, plan, raw_pages
from longform.datasets.wikipedia.wikitext import GuardedParser

VERSION = 2  # of what a shard holds; raised when the reading changes, so that old shards are redone


@dataclass(frozen=True)
class Extraction:
    """Everything that decides a shard's bytes, beside the dump itself.

    Attributes:
        shard_bytes: compressed bytes per shard, at least.
        page_seconds: CPU seconds per page before the scanner takes over.
        max_page_bytes: of XML; a larger page is set aside.
    """

    shard_bytes: int = 16 * 2**20
    page_seconds: int = 20
    max_page_bytes: int = MAX_PAGE_BYTES

    def __post_init__(self) -> None:
        if min(self.shard_bytes, self.page_seconds, self.max_page_bytes) < 1:
            raise BadInput(f"{self}: every number must be at least 1; fix the entry")


@dataclass(frozen=True)
class Task:
    """One shard to be read, complete in itself, so that another process can do it."""

    dump: Path
    file: Path
    shard: Shard
    extraction: Extraction
    key: str

    @property
    def record(self) -> Path:
        """The shard's ledger record."""
        return self.file.with_suffix(".json")

    @property
    def source(self) -> str:
        """Hash of the shard's bytes in the dump; costs a thousandth of parsing them, and a changed dump is seen."""
        return _digest(self.dump, self.shard.streams[0], self.shard.stop)


def extract(dump: Path, folder: Path, *, extraction: Extraction | None = None, workers: int = 1) -> dict[str, Any]:
    """Read a dump into ``folder``, doing only what is missing there; returns the counts of the whole dump.

    Args:
        workers: processes; they change no byte of the result.

    Raises BadInput: no dump, no stream in it, or a worker that died (finished shards are kept).
    """
    asked = extraction or Extraction()
    folder.mkdir(parents=True, exist_ok=True)
    shards = plan(dump, asked.shard_bytes)
    stamp = f"{VERSION}|{json.dumps(asdict(asked), sort_keys=True)}"
    keys = (hashlib.blake2b(f"{stamp}|{shard}".encode(), digest_size=16).hexdigest() for shard in shards)
    files = (folder / f"shard-{shard.number:05d}.jsonl" for shard in shards)
    tasks = [Task(dump, file, s, asked, key) for file, s, key in zip(files, shards, keys, strict=True)]
    planned = {path.name for task in tasks for path in (task.file, task.record)}
    for path in (*folder.glob("shard-*"), *folder.glob(".*.partial")):  # of a killed run, or of another plan
        if path.name not in planned:
            path.unlink()
    missing = [task for task in tasks if not is_done(task)]
    if missing and workers > 1:
        try:
            with ProcessPoolExecutor(min(workers, len(missing)), get_context("spawn")) as pool:
                list(pool.map(extract_shard, missing))
        except BrokenProcessPool as error:
            raise BadInput(f"{dump}: a worker died ({error}); run again, finished shards are kept") from error
    else:
        for task in missing:
            extract_shard(task)
    records = [_ledger(task.record) for task in tasks]
    counts = sum((Counter(record["counts"]) for record in records), Counter())
    return {
        "shards": len(tasks),
        "redone": len(missing),
        "counts": dict(sorted(counts.items())),
        "wikitext_mb": sum(record["wikitext_bytes"] for record in records) / 1e6,
    }


def _digest(path: Path, start: int = 0, stop: int | None = None) -> str:
    digest, left = hashlib.sha256(), (path.stat().st_size if stop is None else stop) - start
    with path.open("rb") as file:
        file.seek(start)
        while left > 0 and (chunk := file.read(min(1 << 22, left))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def _ledger(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def is_done(task: Task) -> bool:
    """Whether the shard's record agrees with what is asked, with the dump's bytes and with the shard's file."""
    record = _ledger(task.record)
    if not task.file.is_file() or record.get("key") != task.key or record.get("source") != task.source:
        return False
    return record.get("sha256") == _digest(task.file)


def extract_shard(task: Task) -> None:
    """Read one shard, write its articles and then its record."""
    counts, size = Counter[str](), 0
    with (
        whole(task.file) as partial,
        partial.open("w", encoding="utf-8", errors="replace") as lines,
        GuardedParser(task.extraction.page_seconds) as parser,
    ):
        for raw in raw_pages(task.dump, task.shard, task.extraction.max_page_bytes):
            page = raw if isinstance(raw, str) else parse_page(raw)
            article, outcome = (None, page) if isinstance(page, str) else _article(page, parser)
            counts[outcome] += 1
            size += len(page.text.encode("utf-8", "surrogatepass")) if isinstance(page, Page) else 0
            if article is not None:
                print(json.dumps(article, sort_keys=True, ensure_ascii=False), file=lines)
    record = {"key": task.key, "source": task.source, "sha256": _digest(task.file)}
    write_json(task.record, record | {"counts": counts, "wikitext_bytes": size})


def _article(page: Page, parser: GuardedParser) -> tuple[dict[str, Any] | None, str]:
    sections, outcome = parser.read(page.text)
    if sections is None:
        return None, outcome
    if not sections[0][1]:
        return None, "abstract missing"
    record = {"id": page.id, "title": page.title, "sections": [{"title": t, "text": text} for t, text in sections]}
    return record, "article" if outcome == "parsed" else f"article, {outcome}"


class Shards:
    """The articles of a folder of shards, in plan order; can be iterated any number of times.

    Raises BadInput: the folder has no shards, or one of them lacks its record (an unfinished run).
    """

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("shard-*.jsonl"))
        unfinished = [path.name for path in self.files if not path.with_suffix(".json").is_file()]
        if not self.files or unfinished:
            what = f"unfinished {unfinished[:3]}" if unfinished else "no shard-*.jsonl"
            raise BadInput(f"{folder}: {what}; run the extraction again, it redoes only what is missing")

    def __iter__(self) -> Iterator[Document]:
        for path in self.files:
            with path.open(encoding="utf-8") as lines:
                for record in map(json.loads, lines):
                    sections = tuple(Section(section["title"], section["text"]) for section in record["sections"])
                    yield Document(record["id"], "train", sections)

    @property
    def counts(self) -> Counter[str]:
        """Pages by outcome over all shards."""
        return sum((Counter(_ledger(path.with_suffix(".json"))["counts"]) for path in self.files), Counter())


SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}  # deng2022 Table 11: 111.40k, 13.97k and 13.98k articles


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    scratch: Path | None = None,
    shares: Mapping[str, float] = SHARES,
    filters: Mapping[str, Any] | None = None,
    subset: str | None = None,
    short_tokens: int = 500,
    tokenizer: str | None = None,
    extraction: Mapping[str, Any] | None = None,
    workers: int = 1,
) -> Corpus:
    """Filtered articles of a dump, split by seed.

    Args:
        raw: a dump (``.bz2``), a folder with one dump, or a folder of finished shards.
        scratch: where shards go, so that a killed run is taken up; a temporary folder if None.
        filters: fields of :class:`longform.datasets.titles.Filters`.
        subset: None, or ``short`` (WIKI-SHORT), whose sections have at most ``short_tokens``.
        tokenizer: a ``tokenizer.json`` beside the dump; None counts pieces, a lower bound of GPT-2's tokens.
        extraction: fields of :class:`Extraction`.
        workers: processes; they change no byte of the result.

    Returns:
        As :func:`longform.datasets.titles.filtered_corpus`; facts hold pages by outcome besides.

    Raises BadInput: nothing to read, a misspelt setting, lost shards, or no article left.
    """
    if subset not in (None, "short"):
        raise BadInput(f"subset is {subset!r}, allowed are null and 'short'; fix the entry")
    folder = raw if raw.is_dir() else raw.parent
    count = token_counter(folder / tokenizer if tokenizer else None)
    thresholds, asked = settings(Filters, filters), settings(Extraction, extraction)
    with ExitStack() as stack:
        if not (raw.is_dir() and any(raw.glob("shard-*.json"))):
            place = scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            pages = extract(dump_in(raw), place / "shards", extraction=asked, workers=workers)["counts"]
            shards = Shards(place / "shards")
        else:
            shards = Shards(raw)
            pages = dict(sorted(shards.counts.items()))
        selection = select(shards, thresholds, count, lambda ids: split_by_seed(ids, shares, seed))
    kept = shortened(selection, short_tokens) if subset else selection
    return filtered_corpus(kept, count, raw, {"corpus": name, "pages": pages})


def dump_in(raw: Path) -> Path:
    """The dump: the file itself, or the one in a folder, where an index (a file with "index" in its name) is passed over.

    Raises BadInput: no dump, or more than one.
    """
    if raw.is_file():
        return raw
    found = sorted(path for path in raw.glob("*.bz2") if "index" not in path.name)
    if len(found) != 1:
        names = [path.name for path in found]
        raise BadInput(f"{raw}: found dumps {names}, exactly one is needed; name the file, or move the others away")
    return found[0]
