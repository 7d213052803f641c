"""Claims and pages in FEVER's format (Thorne et al. 2018): a folder with claim files and ``wiki-pages/*.jsonl``.

A document ``page:<title>`` has one sentence a line; ``claim:<id>`` has sections ``claim`` and ``evidence`` (lines behind their pages'
titles), and one record in ``edits``: its label and the evidence as (page, line)."""

import hashlib
import json
import tempfile
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import records
from longform.core.resampling import split_by_seed

LABELS = {"SUPPORTS": "supported", "REFUTES": "refuted", "NOT ENOUGH INFO": "not_enough_info"}
MOST_TOKENS = 50  # massarelli2020 section 3: longer sentences count as not enough information
SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
Line = tuple[str, int]  # page title and line
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-COLON-": ":", "-LSB-": "[", "-RSB-": "]"}


@dataclass(frozen=True)
class FeverClaim:
    """A claim, its label and the lines that it rests on, none where there is not enough information."""

    id: str
    text: str
    label: str
    evidence: tuple[Line, ...]


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    scratch: Path | None = None,
    shares: Mapping[str, float] = SHARES,
    with_pages: bool = True,
) -> Corpus:
    """Pages and claims of a folder; claims of a page go to one split, drawn for the page.

    Without ``with_pages`` the pages, of which there may be millions, are no documents: a checker reads them from the folder itself. Facts
    count claims whose evidence is on no known page.
    """
    with ExitStack() as stack:
        facts: dict[str, Any] = {"corpus": name}
        pages: Mapping[str, Sequence[str]]
        if with_pages:
            pages = dict(pages_in(raw))
        else:
            place = scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            pages = stored = PageFile.write(place / "pages", pages_in(raw))
            with (stored.folder / "pages.jsonl").open(
                "rb"
            ) as lines:  # what is no document must still be seen when it changes
                facts["pages_sha256"] = hashlib.file_digest(lines, "sha256").hexdigest()
        claims = [claim for file in sorted(raw.glob("*.jsonl")) for claim in read_claims(file)]
        if not pages or not claims:
            raise BadInput(f"{raw}: {len(claims)} claims and {len(pages)} pages; put claims beside a folder wiki-pages")
        facts |= {"pages": len(pages), "claims": len(claims)}
        facts["claims_without_their_page"] = sum(any(page not in pages for page, _ in c.evidence) for c in claims)
        shown = pages if with_pages else {}
        documents = [Document(f"page:{t}", "train", (Section("page", "\n".join(p)),)) for t, p in shown.items()]
        about = [subject(claim, pages) for claim in claims]
        names = list(dict.fromkeys(about))
        split = dict(zip(names, split_by_seed(names, shares, seed), strict=True))
        for claim, key in zip(claims, about, strict=True):
            known = [(page, line) for page, line in claim.evidence if line < len(pages.get(page, ()))]
            found = "\n".join(f"{page}: {pages[page][line]}" for page, line in known)
            record = {"label": claim.label, "evidence": [list(line) for line in claim.evidence]}
            sections = Section("claim", claim.text), Section("evidence", found)
            documents.append(Document(f"claim:{claim.id}", split[key], sections, (record,)))
        return Corpus(documents, facts=facts)


def subject(claim: FeverClaim, pages: Mapping[str, Any]) -> str:
    """The page that decides a claim's split: of its evidence, else the longest title in it, else the claim itself."""
    if claim.evidence:
        return claim.evidence[0][0]
    words = claim.text.split()
    spans = [" ".join(words[i:j]).rstrip(".,") for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    return max((span for span in spans if span in pages), key=len, default=claim.id)


def claims_of(documents: Iterable[Document]) -> Iterator[tuple[Document, FeverClaim]]:
    """The claims among the documents, read back."""
    for document in documents:
        if document.id.startswith("claim:"):
            record = document.edits[0]
            evidence = tuple((str(page), int(line)) for page, line in record["evidence"])
            yield document, FeverClaim(document.id[6:], document.sections[0].text, record["label"], evidence)


def pages_of(documents: Iterable[Document]) -> dict[str, tuple[str, ...]]:
    """The pages among the documents: title to lines; of pages with one title the first one stands."""
    pages: dict[str, tuple[str, ...]] = {}
    for document in documents:
        if document.id.startswith("page:"):
            pages.setdefault(document.id[5:], tuple(document.sections[0].text.split("\n")))
    return pages


def mapped(path: Path) -> np.ndarray:
    """An array that stays on disk; slices of a plain one are cheaper than those of ``np.memmap``."""
    return np.asarray(np.load(path, mmap_mode="r"))


class Keys:
    """Strings -> numbers on disk, in two memory-mapped arrays: sorted hashes of eight bytes, and the number of each.

    Two of a billion strings share a hash with a probability of 3 %; of FEVER's 5.4 million, one in a million.
    """

    def __init__(self, stem: Path) -> None:
        self.hashes, self.numbers = (mapped(Path(f"{stem}_{part}.npy")) for part in ("hashes", "numbers"))

    @staticmethod
    def write(stem: Path, hashes: Sequence[int]) -> np.ndarray:
        """Keep the places of the hashes, of equal ones the first; returns those places in the order of the hashes."""
        kept, numbers = np.unique(np.asarray(hashes, dtype=np.uint64), return_index=True)
        np.save(f"{stem}_hashes.npy", kept)
        np.save(f"{stem}_numbers.npy", numbers)
        return numbers

    @staticmethod
    def hashed(text: str) -> int:
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

    def get(self, text: str) -> int | None:
        """The number of a string, None where it is not known."""
        key = np.uint64(self.hashed(text))
        place = int(np.searchsorted(self.hashes, key))
        return int(self.numbers[place]) if place < len(self.hashes) and self.hashes[place] == key else None


class PageFile(Mapping[str, Sequence[str]]):
    """Pages by title, in the order of their file; they stay on disk, and so do their places and titles (see :class:`Keys`)."""

    FILES = ("pages.jsonl", "places.npy", "titles_hashes.npy", "titles_numbers.npy")

    def __init__(self, folder: Path) -> None:
        self.folder, self._titles = folder, Keys(folder / "titles")
        self._places = mapped(folder / "places.npy")

    @classmethod
    def write(cls, folder: Path, pages: Iterable[tuple[str, Sequence[str]]]) -> "PageFile":
        """Write pages as they come; of pages with one title the first one stands."""
        folder.mkdir(parents=True, exist_ok=True)
        hashes, places, seen = array("Q"), array("q", [0]), set[int]()
        with (folder / "pages.jsonl").open("wb") as lines:
            for title, sentences in pages:
                key = Keys.hashed(title)
                if key not in seen:
                    seen.add(key)
                    row = json.dumps({"title": title, "lines": list(sentences)}, ensure_ascii=False)
                    places.append(places[-1] + lines.write(f"{row}\n".encode()))
                    hashes.append(key)
        Keys.write(folder / "titles", hashes)
        np.save(folder / "places.npy", np.asarray(places, dtype=np.int64))
        return cls(folder)

    def __len__(self) -> int:
        return len(self._places) - 1

    def __iter__(self) -> Iterator[str]:
        return (title for title, _ in self.rows())

    def __contains__(self, title: object) -> bool:
        return isinstance(title, str) and self._titles.get(title) is not None

    def __getitem__(self, title: str) -> tuple[str, ...]:
        number = self._titles.get(title)
        if number is None:
            raise KeyError(title)
        return self.row(number)[1]

    @cached_property
    def _file(self) -> BinaryIO:
        return (self.folder / "pages.jsonl").open("rb")

    def row(self, number: int) -> tuple[str, tuple[str, ...]]:
        """Title and lines of the page that is the how many-th."""
        self._file.seek(int(self._places[number]))
        row = json.loads(self._file.readline())
        return row["title"], tuple(row["lines"])

    def rows(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Title and lines of every page, one in memory at a time."""
        with (self.folder / "pages.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                yield row["title"], tuple(row["lines"])


def read_claims(path: Path) -> Iterator[FeverClaim]:
    """Claims of one file; the first evidence set of each stands for it. Raises BadInput: a line without claim or label."""
    for where, record in records(path):
        if record.get("label") not in LABELS or not isinstance(record.get("claim"), str):
            raise BadInput(f"{where}: label {record.get('label')!r}; allowed are {sorted(LABELS)} beside a claim")
        sets = record.get("evidence") or []
        first = sets[0] if sets and isinstance(sets[0], list) else []
        lines = [(title_of(entry[2]), int(entry[3])) for entry in first if entry[2] is not None]
        evidence = tuple(dict.fromkeys(lines))
        yield FeverClaim(str(record.get("id", where)), record["claim"], LABELS[record["label"]], evidence)


def pages_in(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Title and numbered sentences of every page below ``wiki-pages`` of a folder."""
    for path in sorted((folder / "wiki-pages").glob("*.jsonl")):
        for where, record in records(path):
            if not isinstance(record.get("id"), str) or not isinstance(record.get("lines"), str):
                raise BadInput(f"{where}: a page has an id and lines; got {sorted(record)}")
            rows = [row.split("\t") for row in record["lines"].split("\n") if row]
            yield title_of(record["id"]), tuple(plain(row[1]) if len(row) > 1 else "" for row in rows)


def title_of(spelt: str) -> str:
    """A page's title as people write it, from FEVER's spelling, in one Unicode form."""
    return plain(unicodedata.normalize("NFC", spelt).replace("_", " "))


def plain(text: str) -> str:
    """Brackets and colons as they were before FEVER's tokenizer."""
    for spelt, mark in BRACKETS.items():
        text = text.replace(spelt, mark)
    return text
