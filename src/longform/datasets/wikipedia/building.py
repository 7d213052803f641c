r"""English Wikipedia as deng2022 section 4 uses it: a dump -> a file of articles per shard -> filters -> a random split.

A shard is the unit of work and of repetition: its file, then its record with a key and SHA-256s. A run redoes the shards whose
record or file disagrees, so a killed run goes on; the bytes depend on dump and settings, not on workers or the clock."""

import hashlib
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.titles import (
    Filters,
    filtered_corpus,
    select,
    settings,
    shortened,
    token_counter,
)
from longform.datasets.wikipedia.dump import (
    MAX_PAGE_BYTES,
    Shard,
    most_viewed,
    parse_page,
    plan,
    raw_pages,
)
from longform.datasets.wikipedia.wikitext import GuardedParser
from longform.documents import Corpus, Document, Section
from longform.errors import BadInput
from longform.files.artefacts import atomic_write, write_json
from longform.processes import die_with_parent
from longform.statistics.splits import split_by_seed
from longform.text.paragraphs import from_lines

REPORT_EVERY = 10.0  # seconds between lines of progress
VERSION = 3  # of what a shard holds; raised when the reading changes, so that old shards are redone


@dataclass(frozen=True)
class Extraction:
    """Everything that decides a shard's bytes, beside the dump itself.

    ``page_seconds`` are CPU seconds before the scanner takes over a page; one of more than ``max_page_bytes`` of XML is set aside.
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
        return self.file.with_suffix(".json")

    @property
    def source(self) -> str:
        """Hash of the shard's bytes in the dump; costs a thousandth of parsing them, and a changed dump is seen."""
        return _digest(self.dump, self.shard.streams[0], self.shard.stop)

    @property
    def done(self) -> bool:
        """Whether the shard's record agrees with what is asked, with the dump's bytes and with the shard's file."""
        record = _ledger(self.record)
        if (
            not self.file.is_file()
            or record.get("key") != self.key
            or record.get("source") != self.source
        ):
            return False
        return record.get("sha256") == _digest(self.file)


def extract(
    dump: Path, folder: Path, *, extraction: Extraction | None = None, workers: int = 1
) -> dict[str, Any]:
    """Read a dump into ``folder``, doing only what is missing there; returns the counts of the whole dump.

    Raises BadInput: no dump, no stream in it, or a worker that died (finished shards are kept).
    """
    asked = extraction or Extraction()
    folder.mkdir(parents=True, exist_ok=True)
    tasks = []
    for shard in plan(dump, asked.shard_bytes):
        stamp = f"{VERSION}|{json.dumps(asdict(asked), sort_keys=True)}|{shard}"
        key = hashlib.blake2b(stamp.encode(), digest_size=16).hexdigest()
        tasks.append(Task(dump, folder / f"shard-{shard.number:05d}.jsonl", shard, asked, key))
    planned = {path.name for task in tasks for path in (task.file, task.record)}
    for path in (
        *folder.glob("shard-*"),
        *folder.glob(".*.partial"),
    ):  # of a killed run, or of another plan
        if path.name not in planned:
            path.unlink()
    missing = [task for task in tasks if not task.done]
    if missing and workers > 1:
        try:
            spawn = get_context("spawn")
            count = min(workers, len(missing))
            with ProcessPoolExecutor(count, spawn, initializer=die_with_parent) as pool:
                _report(dump, len(missing), pool.map(extract_shard, missing))
        except BrokenProcessPool as error:
            raise BadInput(
                f"{dump}: a worker died ({error}); run again, finished shards are kept"
            ) from error
    else:
        _report(dump, len(missing), map(extract_shard, missing))
    records = [_ledger(task.record) for task in tasks]
    return {
        "shards": len(tasks),
        "redone": len(missing),
        "counts": dict(
            sorted(sum((Counter(record["counts"]) for record in records), Counter()).items())
        ),
        "wikitext_mb": sum(record["wikitext_bytes"] for record in records) / 1e6,
    }


def _report(dump: Path, shards: int, finished: Iterator[None]) -> None:
    """Wait for all shards, with a line at most every ten seconds."""
    said = time.monotonic()
    for done, _ in enumerate(finished, 1):
        if time.monotonic() - said > REPORT_EVERY and done < shards:
            said = time.monotonic()
            print(f"{dump.name}: {done} of {shards} shards read", flush=True)


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


def extract_shard(task: Task) -> None:
    """Read one shard, write its articles and then its record."""
    counts, size = Counter[str](), 0
    with (
        atomic_write(task.file) as partial,
        partial.open("w", encoding="utf-8", errors="replace") as lines,
        GuardedParser(task.extraction.page_seconds) as parser,
    ):
        for raw in raw_pages(task.dump, task.shard, task.extraction.max_page_bytes):
            page = parse_page(raw) if isinstance(raw, bytes) else raw
            if isinstance(page, str):
                counts[page] += 1
                continue
            size += len(page.text.encode("utf-8", "surrogatepass"))
            sections, outcome = parser.read(page.text)
            if sections is None or not sections[0][1]:
                counts[outcome if sections is None else "abstract missing"] += 1
                continue
            counts["article" if outcome == "parsed" else f"article, {outcome}"] += 1
            told = [{"title": title, "text": text} for title, text in sections]
            article = {"id": page.id, "title": page.title, "sections": told}
            print(json.dumps(article, sort_keys=True, ensure_ascii=False), file=lines)
    record = {"key": task.key, "source": task.source, "sha256": _digest(task.file)}
    struck = dict(sorted(parser.struck.items()))
    write_json(task.record, record | {"counts": counts, "struck": struck, "wikitext_bytes": size})


NAMES = 100  # of templates that a corpus's facts list


class Shards:
    """The articles of a folder of shards, in plan order; can be iterated any number of times."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("shard-*.jsonl"))
        unfinished = [path.name for path in self.files if not path.with_suffix(".json").is_file()]
        if not self.files or unfinished:
            what = f"unfinished {unfinished[:3]}" if unfinished else "no shard-*.jsonl"
            raise BadInput(
                f"{folder}: {what}; run the extraction again, it redoes only what is missing"
            )

    def __iter__(self) -> Iterator[Document]:
        for record in self.records():
            sections = tuple(
                Section(section["title"], section["text"]) for section in record["sections"]
            )
            yield Document(record["id"], "train", sections)

    def records(self) -> Iterator[dict[str, Any]]:
        """Id, title and sections of every article."""
        for path in self.files:
            with path.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)

    @property
    def counts(self) -> Counter[str]:
        """Pages by outcome over all shards."""
        return sum(
            (Counter(_ledger(path.with_suffix(".json"))["counts"]) for path in self.files),
            Counter(),
        )

    @property
    def struck(self) -> dict[str, int]:
        """Sentences left out of all pages since a template or tag in them shows text that is not known, by its name.

        The ``NAMES`` most frequent names, and the sum of the others.
        """
        struck = Counter[str]()
        for path in self.files:
            struck.update(_ledger(path.with_suffix(".json")).get("struck", {}))
        ranked = sorted(struck.items(), key=lambda item: (-item[1], item[0]))
        others = sum(count for _, count in ranked[NAMES:])
        return dict(ranked[:NAMES]) | ({"other names": others} if others else {})


SHARES = {
    "train": 0.8,
    "validation": 0.1,
    "test": 0.1,
}  # deng2022 Table 11: 111.40k, 13.97k and 13.98k articles


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
    """Filtered articles of a dump, split by seed; facts hold pages by outcome besides, and the sentences struck from all of them.

    ``raw`` is a dump (``.bz2``), a folder with one, or one of finished shards, which else go to ``scratch``, so that a killed run is taken
    up; ``filters`` and ``extraction`` are fields of :class:`longform.datasets.titles.Filters` and of :class:`Extraction`. The ``subset``
    ``short`` is WIKI-SHORT; ``tokenizer`` is a ``tokenizer.json`` beside the dump; ``workers`` change no byte of the result.
    """
    if subset not in (None, "short"):
        raise BadInput(f"subset is {subset!r}, allowed are null and 'short'; fix the entry")
    folder = raw if raw.is_dir() else raw.parent
    count = token_counter(folder / tokenizer if tokenizer else None)
    thresholds, asked = settings(Filters, filters or {}), settings(Extraction, extraction or {})
    with ExitStack() as stack:
        if not (raw.is_dir() and any(raw.glob("shard-*.json"))):
            folder = (
                scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            ) / "shards"
            extract(dump_in(raw), folder, extraction=asked, workers=workers)
        shards = Shards(folder)
        read = {"corpus": name, "pages": shards.counts, "struck_sentences": shards.struck}
        selection = select(shards, thresholds, count, lambda ids: split_by_seed(ids, shares, seed))
    return filtered_corpus(
        shortened(selection, short_tokens) if subset else selection, count, raw, read
    )


def dump_in(raw: Path) -> Path:
    """The dump: the file itself, or the only one in a folder, where an index (a file with "index" in its name) is passed over."""
    if raw.is_file():
        return raw
    found = sorted(path for path in raw.glob("*.bz2") if "index" not in path.name)
    if len(found) != 1:
        names = [path.name for path in found]
        raise BadInput(
            f"{raw}: found dumps {names}, exactly one is needed; name the file, or move the others away"
        )
    return found[0]


YEARS = {
    "test": 2017,
    "validation": 2018,
}  # massarelli2020 section 5; the later split takes what the former leaves
LEAST = 1000  # views of a month by one kind of access; what has fewer is not counted, so that memory stays bounded
ROOM = 8  # ranked pages that are looked for in the dump, for every page that is wanted
_NAMESPACE = re.compile(
    r"(?:Special|Media|User|Wikipedia|WP|Project|File|Image|MediaWiki|Template|Help|Category|Portal|Book|Draft|TimedText|Module"
    r"|Education_Program|Gadget|Topic)(?:_talk)?:|Talk:",
    re.IGNORECASE,
)
_LIST = re.compile(r"(?:Lists?|Index|Outline)_of_|Deaths_in_", re.IGNORECASE)
_LISTING = re.compile(
    r"\b(?:is|are) (?:an?|the) (?:[\w-]+ ){0,2}lists? of\b"
)  # "The following is a list of ..."


def most_visited(*, name: str, raw: Path, pages: int = 1000, least: int = LEAST) -> Corpus:
    """Introductions of the most visited articles of ``YEARS``, ranked by the Wikimedia page views of twelve months each.

    A page is found in the dump by its id, which stays when it is renamed, else by a title. The dump's redirects are not kept: views
    of a redirect count for its target only where Wikimedia gave them the target's id. The Main Page, other namespaces and lists are
    passed over; years and disambiguations are no articles of the dump.

    ``raw`` has ``pages``, the shards of a dump, and ``views``, one file a month: ``pageviews-YYYYMM-user.bz2`` of
    dumps.wikimedia.org/other/pageview_complete/monthly (or unpacked, or gzip), or ``pageviews-YYYYMM.json``, the answer of the REST call
    ``pageviews/top``, which knows 1,000 pages a month. Each split has ``pages``; a line of fewer than ``least`` views is not counted.

    Truth is ``rank`` (among all titles of its year) and ``views``; facts count lines and what was passed over.
    """
    years = {split: most_viewed(raw / "views", year, least) for split, year in YEARS.items()}
    wanted = {split: ranked[: ROOM * pages] for split, (ranked, _) in years.items()}
    candidates = [one for row in wanted.values() for one in row]
    ids = {one.id for one in candidates if one.id}
    titles = {title for one in candidates for title in one.titles}
    by_id, by_title = dict[str, Document](), dict[str, Document]()
    shards = Shards(raw / "pages")
    for record in shards.records():
        spelt = record["title"].replace(" ", "_")
        if record["id"] in ids or spelt in titles:
            introduction = (Section(record["title"], from_lines(record["sections"][0]["text"])),)
            by_id[record["id"]] = by_title[spelt] = Document(record["id"], "test", introduction)
    chosen, taken = list[tuple[Document, int, int]](), set[str]()
    facts: dict[str, Any] = {"corpus": name, "years": {}, "struck_sentences": shards.struck}
    for split, row in wanted.items():
        passed, missing, before = Counter[str](), list[str](), len(chosen)
        for rank, one in enumerate(row, 1):
            found = by_id.get(one.id) or next(
                (by_title[title] for title in one.titles if title in by_title), None
            )
            if _NAMESPACE.match(one.titles[0]):
                passed["other namespace"] += 1
            elif "Main_Page" in one.titles:
                passed["main page"] += 1
            elif _LIST.match(one.titles[0]) or (found and _LISTING.search(found.text[:300])):
                passed["list"] += 1
            elif found is None:
                passed["not in the dump"] += 1
                missing.append(one.titles[0])
            elif found.id in taken:
                passed["chosen before"] += 1
            else:
                taken.add(found.id)
                chosen.append((Document(found.id, split, found.sections), rank, one.views))
            if len(chosen) - before == pages:
                break
        made = {**years[split][1], "passed over": passed}
        if len(chosen) - before < pages:
            told = f"{raw}: year {YEARS[split]}: {len(chosen) - before} of {pages} pages for {split} ({made})"
            raise BadInput(f"{told}; take a dump of about that year, or lower pages or least")
        facts["years"][str(YEARS[split])] = {
            **made,
            "last rank": chosen[-1][1],
            "first not in the dump": missing[:20],
        }
    truth = {
        "rank": np.array([rank for _, rank, _ in chosen]),
        "views": np.array([views for *_, views in chosen]),
    }
    return Corpus([document for document, *_ in chosen], truth, facts)
