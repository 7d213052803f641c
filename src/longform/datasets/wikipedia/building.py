r"""English Wikipedia as deng2022 section 4 uses it.

A dump becomes a file of articles per shard; these are filtered and split at random. A shard is the
unit of work and of repetition: its file, then its record with a key and SHA-256s. A run redoes the
shards whose record or file disagrees, so a killed run goes on; the bytes depend on dump and
settings, not on workers or the clock.
"""

import hashlib
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
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
    RankedPage,
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
    """Settings that decide a shard's bytes, beside the dump itself.

    Attributes:
        shard_bytes: compressed bytes of a shard, at least.
        page_seconds: CPU seconds before the scanner takes over a page.
        max_page_bytes: of XML; a page of more is set aside.
    """

    shard_bytes: int = 16 * 2**20
    page_seconds: int = 20
    max_page_bytes: int = MAX_PAGE_BYTES

    def __post_init__(self) -> None:
        if min(self.shard_bytes, self.page_seconds, self.max_page_bytes) < 1:
            raise BadInput(f"{self}: every number must be at least 1; fix the entry")


@dataclass(frozen=True)
class Task:
    """One shard to be read; it can be sent to another process.

    Attributes:
        dump: the dump's file.
        file: where the shard's articles go.
        shard: its part of the dump.
        extraction: settings.
        key: hash of version, settings and shard; a finished shard's record has the same.
    """

    dump: Path
    file: Path
    shard: Shard
    extraction: Extraction
    key: str

    @property
    def record(self) -> Path:
        """Where the shard's record goes."""
        return self.file.with_suffix(".json")

    @property
    def source(self) -> str:
        """Hash of the shard's bytes in the dump, by which a changed dump is seen.

        It costs a thousandth of parsing them.
        """
        return _digest(self.dump, self.shard.streams[0], self.shard.stop)

    @property
    def done(self) -> bool:
        """Whether the shard need not be read again.

        Its record has this task's ``key`` (program version, settings, part of the dump), the hash
        of that part of the dump as it is now, and the hash of the articles' file as it is now.
        """
        record = _record(self.record)  # {} where there is none yet
        if not self.file.is_file() or record.get("key") != self.key:
            return False
        if record.get("source") != self.source:
            return False
        return record.get("sha256") == _digest(self.file)


def extract(
    dump: Path, folder: Path, *, extraction: Extraction | None = None, workers: int = 1
) -> dict[str, Any]:
    """Read a dump into a folder, doing only what is missing there.

    Args:
        dump: the file.
        folder: of the shards.
        extraction: by default :class:`Extraction`'s own values.
        workers: processes.

    Returns: how many shards there are, how many were read now, and counts of the whole dump.
    Raises BadInput: no dump, no stream in it, or a worker that died (finished shards are kept).
    """
    # 1. Plan the shards.
    shard_settings = extraction or Extraction()
    settings_text = json.dumps(asdict(shard_settings), sort_keys=True)
    folder.mkdir(parents=True, exist_ok=True)
    tasks = []
    planned = set[str]()
    for shard in plan(dump, shard_settings.shard_bytes):
        stamp = f"{VERSION}|{settings_text}|{shard}"
        key = hashlib.blake2b(stamp.encode(), digest_size=16).hexdigest()
        file = folder / f"shard-{shard.number:05d}.jsonl"
        task = Task(dump, file, shard, shard_settings, key)
        tasks.append(task)
        planned |= {task.file.name, task.record.name}
    # 2. Remove what a killed run or another plan left.
    for path in (*folder.glob("shard-*"), *folder.glob(".*.partial")):
        if path.name not in planned:
            path.unlink()
    # 3. Read what is missing.
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
    # 4. Add up the records.
    counts = Counter[str]()
    wikitext_bytes = 0
    for task in tasks:
        record = _record(task.record)
        counts += Counter(record["counts"])
        wikitext_bytes += record["wikitext_bytes"]
    return {
        "shards": len(tasks),
        "redone": len(missing),
        "counts": dict(sorted(counts.items())),
        "wikitext_mb": wikitext_bytes / 1e6,
    }


def _report(dump: Path, shards: int, finished: Iterator[None]) -> None:
    """Wait for all shards, and print progress at most every ``REPORT_EVERY`` seconds.

    Args:
        dump: whose name the lines begin with.
        shards: how many there are.
        finished: yields once for each shard that is done.
    """
    last_report = time.monotonic()
    for num_finished, _ in enumerate(finished, 1):
        if time.monotonic() - last_report > REPORT_EVERY and num_finished < shards:
            last_report = time.monotonic()
            print(f"{dump.name}: {num_finished} of {shards} shards read", flush=True)


def _digest(path: Path, start: int = 0, stop: int | None = None) -> str:
    """SHA-256 of a file's bytes from ``start`` up to ``stop``, by default of all, in hex."""
    digest = hashlib.sha256()
    num_bytes = (path.stat().st_size if stop is None else stop) - start  # still to be read
    with path.open("rb") as file:
        file.seek(start)
        while num_bytes > 0 and (chunk := file.read(min(1 << 22, num_bytes))):
            digest.update(chunk)
            num_bytes -= len(chunk)
    return digest.hexdigest()


def _record(path: Path) -> dict[str, Any]:
    """The record of a shard; empty where there is none, or none that can be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def extract_shard(task: Task) -> None:
    """Read one shard, write its articles and then its record."""
    counts = Counter[str]()
    wikitext_bytes = 0
    with (
        atomic_write(task.file) as partial,
        partial.open("w", encoding="utf-8", errors="replace") as lines,
        GuardedParser(task.extraction.page_seconds) as parser,
    ):
        for raw in raw_pages(task.dump, task.shard, task.extraction.max_page_bytes):
            # 1. What is no article is counted by its reason.
            page = parse_page(raw) if isinstance(raw, bytes) else raw
            if isinstance(page, str):
                counts[page] += 1
                continue
            # 2. So is an article that cannot be read, or has no abstract.
            wikitext_bytes += len(page.text.encode("utf-8", "surrogatepass"))
            sections, outcome = parser.read(page.text)
            if sections is None:
                counts[outcome] += 1
                continue
            _, abstract = sections[0]
            if not abstract:
                counts["abstract missing"] += 1
                continue
            # 3. The others are written, one a line.
            counts["article" if outcome == "parsed" else f"article, {outcome}"] += 1
            rows = [{"title": title, "text": text} for title, text in sections]
            article = {"id": page.id, "title": page.title, "sections": rows}
            print(json.dumps(article, sort_keys=True, ensure_ascii=False), file=lines)
    record = {"key": task.key, "source": task.source, "sha256": _digest(task.file)}
    struck = dict(sorted(parser.struck.items()))
    statistics = {"counts": counts, "struck": struck, "wikitext_bytes": wikitext_bytes}
    write_json(task.record, record | statistics)


NAMES = 100  # of templates that a corpus's facts list


class Shards:
    """The articles of a folder of shards, in plan order; can be iterated any number of times."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("shard-*.jsonl"))
        unfinished = [path.name for path in self.files if not path.with_suffix(".json").is_file()]
        if not self.files or unfinished:
            problem = f"unfinished {unfinished[:3]}" if unfinished else "no shard-*.jsonl"
            raise BadInput(
                f"{folder}: {problem}; run the extraction again, it redoes only what is missing"
            )

    def __iter__(self) -> Iterator[Document]:
        for record in self.records():
            sections = [Section(row["title"], row["text"]) for row in record["sections"]]
            yield Document(record["id"], "train", tuple(sections))

    def records(self) -> Iterator[dict[str, Any]]:
        """Id, title and sections of every article."""
        for path in self.files:
            with path.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)

    @property
    def counts(self) -> Counter[str]:
        """Pages by outcome over all shards."""
        counts = Counter[str]()
        for path in self.files:
            counts += Counter(_record(path.with_suffix(".json"))["counts"])
        return counts

    @property
    def struck(self) -> dict[str, int]:
        """Sentences left out of all pages, by the template or tag whose text is not known.

        The ``NAMES`` most frequent names, and the sum of the others.
        """
        struck = Counter[str]()
        for path in self.files:
            struck.update(_record(path.with_suffix(".json")).get("struck", {}))
        ranked = sorted(struck.items(), key=lambda item: (-item[1], item[0]))
        others = sum(count for _, count in ranked[NAMES:])
        return dict(ranked[:NAMES]) | ({"other names": others} if others else {})


# deng2022 Table 11: 111.40k, 13.97k and 13.98k articles
SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}


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
        name: of the corpus.
        seed: of the splits.
        raw: a dump (``.bz2``), a folder with one, or one of finished shards.
        scratch: where the shards of a dump go, so that a killed run is taken up; by default a
            temporary folder.
        shares: of articles by split.
        filters: fields of :class:`longform.datasets.titles.Filters`.
        subset: ``short`` is WIKI-SHORT.
        short_tokens: of the longest section of an article of that subset.
        tokenizer: a ``tokenizer.json`` beside the dump; without one pieces are counted.
        extraction: fields of :class:`Extraction`.
        workers: processes; they change no byte of the result.

    Returns: the corpus; facts hold pages by outcome besides, and the sentences struck from all
    pages. Raises BadInput: an unknown setting or subset, or no dump. InputError: no article that
    passes.
    """
    if subset not in (None, "short"):
        raise BadInput(f"subset is {subset!r}, allowed are null and 'short'; fix the entry")
    folder = raw if raw.is_dir() else raw.parent
    count = token_counter(folder / tokenizer if tokenizer else None)
    thresholds = settings(Filters, filters or {})
    shard_settings = settings(Extraction, extraction or {})
    splitter = partial(split_by_seed, shares=shares, seed=seed)
    with ExitStack() as stack:
        # shards that are not there yet are read from the dump
        if not (raw.is_dir() and any(raw.glob("shard-*.json"))):
            parent = scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder = parent / "shards"
            extract(dump_in(raw), folder, extraction=shard_settings, workers=workers)
        shards = Shards(folder)
        facts = {"corpus": name, "pages": shards.counts, "struck_sentences": shards.struck}
        selection = select(shards, thresholds, count, splitter)
    if subset:
        selection = shortened(selection, short_tokens)
    return filtered_corpus(selection, count, raw, facts)


def dump_in(raw: Path) -> Path:
    """The dump: the file itself, or the only one in a folder.

    An index (a file with "index" in its name) is passed over.

    Raises BadInput: none or several.
    """
    if raw.is_file():
        return raw
    dumps = sorted(path for path in raw.glob("*.bz2") if "index" not in path.name)
    if len(dumps) != 1:
        names = [path.name for path in dumps]
        raise BadInput(
            f"{raw}: found dumps {names}, exactly one is needed; "
            "name the file, or move the others away"
        )
    return dumps[0]


# massarelli2020 section 5; the later split takes what the former leaves
YEARS = {"test": 2017, "validation": 2018}
# views of a month by one kind of access; what has fewer is not counted, so that memory stays
# bounded
LEAST = 1000
CANDIDATES = 8  # ranked pages that are looked for in the dump, for every page of the corpus
_NAMESPACE = re.compile(
    r"(?:Special|Media|User|Wikipedia|WP|Project|File|Image|MediaWiki|Template|Help|Category|Portal"
    r"|Book|Draft|TimedText|Module|Education_Program|Gadget|Topic)(?:_talk)?:|Talk:",
    re.IGNORECASE,
)
_LIST = re.compile(r"(?:Lists?|Index|Outline)_of_|Deaths_in_", re.IGNORECASE)
# "The following is a list of ..."
_LISTING = re.compile(r"\b(?:is|are) (?:an?|the) (?:[\w-]+ ){0,2}lists? of\b")


def most_visited(*, name: str, raw: Path, pages: int = 1000, least: int = LEAST) -> Corpus:
    """Introductions of the most visited articles of ``YEARS``.

    They are ranked by the Wikimedia page views of twelve months each. A page is found in the dump
    by its id, which stays when it is renamed, else by a title. The dump's redirects are not kept:
    views of a redirect count for its target only where Wikimedia gave them the target's id. The
    Main Page, other namespaces and lists are passed over; years and disambiguations are no articles
    of the dump.

    Args:
        name: of the corpus.
        raw: a folder of ``pages``, the shards of a dump, and ``views``, one file a month:
            ``pageviews-YYYYMM-user.bz2`` of dumps.wikimedia.org/other/pageview_complete/monthly (or
            unpacked, or gzip), or ``pageviews-YYYYMM.json``, the answer of the REST call
            ``pageviews/top``, which knows 1,000 pages a month.
        pages: of each split.
        least: views; a month's line of fewer is not counted.

    Returns: the corpus; truth is ``rank`` (among all titles of its year) and ``views``; facts count
        lines and what was passed over.
    Raises BadInput: a month is missing, or the dump has too few of the pages.
    """
    # 1. The most visited pages of each year, more than are needed.
    candidates: dict[str, list[RankedPage]] = {}
    counts: dict[str, Counter[str]] = {}
    for split, year in YEARS.items():
        ranked, counts[split] = most_viewed(raw / "views", year, least)
        candidates[split] = ranked[: CANDIDATES * pages]
    # 2. Their articles.
    shards = Shards(raw / "pages")
    articles = _Articles(shards, list(chain.from_iterable(candidates.values())))
    # 3. The first of each split that can be taken, none in two splits.
    documents: list[Document] = []
    ranks: list[int] = []
    views: list[int] = []
    years: dict[str, Any] = {}
    taken = set[str]()
    for split, year in YEARS.items():
        ranked_articles, passed_over, missing = _first_articles(
            candidates[split], articles, pages, taken
        )
        statistics = {**counts[split], "passed over": passed_over}
        if len(ranked_articles) < pages:
            raise BadInput(
                f"{raw}: year {year}: {len(ranked_articles)} of {pages} pages for {split} "
                f"({statistics}); take a dump of about that year, or lower pages or least"
            )
        for rank, page, article in ranked_articles:
            documents.append(replace(article, split=split))
            ranks.append(rank)
            views.append(page.views)
        last_rank = {"last rank": ranks[-1], "first not in the dump": missing[:20]}
        years[str(year)] = statistics | last_rank
    facts = {"corpus": name, "years": years, "struck_sentences": shards.struck}
    return Corpus(documents, {"rank": np.array(ranks), "views": np.array(views)}, facts)


def _first_articles(
    candidates: Sequence[RankedPage], articles: "_Articles", count: int, taken: set[str]
) -> tuple[list[tuple[int, RankedPage, Document]], Counter[str], list[str]]:
    """Choose the first pages of a year that are articles and in no other split.

    Args:
        candidates: its most visited pages, in order.
        articles: of these.
        count: how many are chosen at most.
        taken: ids of articles that were chosen before; those of this year are added.

    Returns:
        The rank, from 1, the page and the article of each; how many others were passed over, by
        reason; and the titles of those that are not in the dump.
    """
    ranked_articles: list[tuple[int, RankedPage, Document]] = []
    passed_over = Counter[str]()
    missing = list[str]()
    for rank, page in enumerate(candidates, 1):
        if len(ranked_articles) == count:
            break
        article = articles.of(page)
        reason = _reason_to_pass_over(page, article, taken)
        if reason or article is None:
            passed_over[reason] += 1
            if reason == "not in the dump":
                missing.append(page.titles[0])
        else:
            taken.add(article.id)
            ranked_articles.append((rank, page, article))
    return ranked_articles, passed_over, missing


class _Articles:
    """The introductions of ranked pages, by id and by title."""

    def __init__(self, shards: Shards, pages: Sequence[RankedPage]) -> None:
        ids, titles = set[str](), set[str]()
        for page in pages:
            if page.id:
                ids.add(page.id)
            titles.update(page.titles)
        self.by_id: dict[str, Document] = {}
        self.by_title: dict[str, Document] = {}
        for record in shards.records():
            title = record["title"].replace(" ", "_")
            if record["id"] in ids or title in titles:
                text = from_lines(record["sections"][0]["text"])
                document = Document(record["id"], "test", (Section(record["title"], text),))
                self.by_id[record["id"]] = self.by_title[title] = document

    def of(self, page: RankedPage) -> Document | None:
        """The article of a page by its id, else by its first title that has one; or None."""
        if page.id in self.by_id:
            return self.by_id[page.id]
        for title in page.titles:
            if title in self.by_title:
                return self.by_title[title]
        return None


def _reason_to_pass_over(page: RankedPage, article: Document | None, taken: set[str]) -> str:
    """Why a page is not chosen; the empty string where it is.

    Args:
        page: of the ranking.
        article: its article; None where the dump has none.
        taken: ids of articles that were chosen before.
    """
    title = page.titles[0]
    if _NAMESPACE.match(title):
        return "other namespace"
    if "Main_Page" in page.titles:
        return "main page"
    if _LIST.match(title):
        return "list"
    if article is None:
        return "not in the dump"
    if _LISTING.search(article.text[:300]):
        return "list"
    return "chosen before" if article.id in taken else ""
