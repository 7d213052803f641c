"""Claims and pages in FEVER's format (Thorne et al. 2018): a folder with claim files and ``wiki-pages/*.jsonl``.

A document ``page:<title>`` has one sentence a line; ``claim:<id>`` has sections ``claim`` and ``evidence`` (lines behind their pages'
titles), and one record in ``edits``: its label and the evidence as (page, line)."""

import hashlib
import json
import re
import tempfile
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from longform.documents import Corpus, Document, Section
from longform.errors import InputError, short_repr
from longform.files.opening import existing_file, field_of, json_lines_in, records, typed
from longform.statistics.splits import split_by_seed

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
    count claims whose evidence is on no known page, lines of evidence that their page does not have, supported or refuted
    claims that are left without evidence, and pages whose title was met before, of which the first stands.
    """
    with ExitStack() as stack:
        facts: dict[str, Any] = {"corpus": name}
        counts = Counter[str]()
        pages: Mapping[str, Sequence[str]]
        if with_pages:
            known_pages: dict[str, Sequence[str]] = {}
            for title, lines in _counted(pages_in(raw), counts):
                known_pages.setdefault(title, lines)
            pages = known_pages
        else:
            place = scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            pages = stored = PageFile.write(place / "pages", _counted(pages_in(raw), counts))
            with (stored.folder / "pages.jsonl").open(
                "rb"
            ) as file:  # what is no document must be seen when it changes
                facts["pages_sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        claims = _claims_below(raw)
        if not pages or not claims:
            raise InputError(
                f"{raw}: {len(claims)} claims and {len(pages)} pages; put claims beside a folder wiki-pages"
            )
        facts |= {
            "pages": len(pages),
            "claims": len(claims),
            "pages_of_a_title_met_before": counts["pages"] - len(pages),
        }
        facts["claims_without_their_page"] = sum(
            any(page not in pages for page, _ in c.evidence) for c in claims
        )
        shown = pages if with_pages else {}
        documents = [
            Document(f"page:{t}", "train", (Section("page", "\n".join(p)),))
            for t, p in shown.items()
        ]
        about = [subject(claim, pages) for claim in claims]
        names = list(dict.fromkeys(about))
        split = dict(zip(names, split_by_seed(names, shares, seed), strict=True))
        for claim, key in zip(claims, about, strict=True):
            known = [
                (page, line)
                for page, line in claim.evidence
                if 0 <= line < len(pages.get(page, ()))
            ]
            found = "\n".join(f"{page}: {pages[page][line]}" for page, line in known)
            counts["lines outside"] += sum(page in pages for page, _ in claim.evidence) - len(known)
            counts["without evidence"] += claim.label != LABELS["NOT ENOUGH INFO"] and not known
            record = {"label": claim.label, "evidence": [list(line) for line in claim.evidence]}
            sections = Section("claim", claim.text), Section("evidence", found)
            documents.append(Document(f"claim:{claim.id}", split[key], sections, (record,)))
        facts["evidence_lines_outside_their_page"] = counts["lines outside"]
        facts["supported_or_refuted_without_evidence"] = counts["without evidence"]
        return Corpus(documents, facts=facts)


def _counted(
    pages: Iterable[tuple[str, Sequence[str]]], counts: Counter[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    for page in pages:
        counts["pages"] += 1
        yield page


def _claims_below(folder: Path) -> list[FeverClaim]:
    """The claims of every file of a folder. Raises InputError: two claims have one id."""
    claims: dict[str, FeverClaim] = {}
    for file in json_lines_in(folder):
        for claim in read_claims(file):
            if claim.id in claims:
                raise InputError(
                    f"{file}: the id {claim.id!r} belongs to two claims; give each an id of its own"
                )
            claims[claim.id] = claim
    return list(claims.values())


def subject(claim: FeverClaim, pages: Mapping[str, Any]) -> str:
    """The page that decides a claim's split: of its evidence, else the longest title in it, else the claim itself."""
    if claim.evidence:
        return claim.evidence[0][0]
    words = claim.text.split()
    spans = [
        " ".join(words[i:j]).rstrip(".,")
        for i in range(len(words))
        for j in range(i + 1, len(words) + 1)
    ]
    return max((span for span in spans if span in pages), key=len, default=claim.id)


def claims_of(documents: Iterable[Document]) -> Iterator[tuple[Document, FeverClaim]]:
    """The claims among the documents, read back."""
    for document in documents:
        if document.id.startswith("claim:"):
            record = document.edits[0]
            evidence = tuple((str(page), int(line)) for page, line in record["evidence"])
            yield (
                document,
                FeverClaim(document.id[6:], document.sections[0].text, record["label"], evidence),
            )


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
        self.hashes, self.numbers = (
            mapped(Path(f"{stem}_{part}.npy")) for part in ("hashes", "numbers")
        )

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
        return (
            int(self.numbers[place])
            if place < len(self.hashes) and self.hashes[place] == key
            else None
        )


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


FLAT = ("evidence_annotation_id", "evidence_id", "evidence_wiki_url", "evidence_sentence_id")


def read_claims(path: Path) -> Iterator[FeverClaim]:
    """Claims of one file; the first evidence set of each stands for it.

    A claim has ``evidence``, a list of sets of [annotation, evidence, page, line], as FEVER publishes it, or one row for each
    line of evidence, with the columns :data:`FLAT`, as dataset hubs have it.

    Raises InputError: a line without claim or label, evidence of another form, or rows of one id that differ.
    """
    flat: dict[str, tuple[FeverClaim, tuple[Any, Any]]] = {}
    for where, record in records(existing_file(path)):
        label, text = record.get("label"), record.get("claim")
        if not isinstance(label, str) or label not in LABELS or not isinstance(text, str):
            raise InputError(
                f"{where}: label {short_repr(label)}; allowed are {sorted(LABELS)} beside a claim"
            )
        name = record.get("id", where)
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise InputError(
                f"{where}: id is {short_repr(name)}, allowed is a string or a whole number"
            )
        if not record.keys() & set(FLAT):
            yield FeverClaim(
                str(name), text, LABELS[label], _first_set(record.get("evidence"), where)
            )
            continue
        # rows of one evidence set share the numbers of annotation and evidence
        line = _flat_line(record, where)
        of_set = record.get("evidence_annotation_id"), record.get("evidence_id")
        if str(name) not in flat:
            flat[str(name)] = FeverClaim(str(name), text, LABELS[label], line), of_set
            continue
        claim, first_set = flat[str(name)]
        if (claim.text, claim.label) != (text, LABELS[label]):
            raise InputError(
                f"{where}: the id {name!r} has another claim or label in an earlier row; fix one of them"
            )
        if of_set == first_set:
            evidence = tuple(dict.fromkeys(claim.evidence + line))
            flat[str(name)] = FeverClaim(claim.id, text, claim.label, evidence), of_set
    for claim, _ in flat.values():
        yield claim


def _first_set(evidence: Any, where: str) -> tuple[Line, ...]:
    """Pages and lines of the first set of evidence; none where it names no page."""
    sets = typed(evidence if evidence is not None else [], list, f"{where}, evidence")
    lines = []
    for entry in typed(sets[0], list, f"{where}, evidence") if sets else []:
        if not isinstance(entry, list) or len(entry) < 4:
            got = short_repr(entry)
            raise InputError(
                f"{where}: evidence is {got}, allowed is [annotation, evidence, page, line]; fix it"
            )
        page, line = entry[2:4]
        if page is not None:
            title = title_of(typed(page, str, f"{where}, page of evidence"))
            lines.append((title, typed(line, int, f"{where}, line of evidence")))
    return tuple(dict.fromkeys(lines))


def _flat_line(record: Mapping[str, Any], where: str) -> tuple[Line, ...]:
    """Page and line of a row of flat columns; none where there is not enough information (an empty page, line -1)."""
    page, line = record.get("evidence_wiki_url"), record.get("evidence_sentence_id")
    if page in (None, "") or line in (None, -1):
        return ()
    return (
        (
            title_of(field_of(record, "evidence_wiki_url", str, where)),
            field_of(record, "evidence_sentence_id", int, where),
        ),
    )


def pages_in(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Title and numbered sentences of every page below ``wiki-pages`` of a folder."""
    for path in json_lines_in(folder / "wiki-pages"):
        for where, record in records(path):
            if not isinstance(record.get("id"), str) or not isinstance(record.get("lines"), str):
                raise InputError(f"{where}: a page has an id and lines; got {sorted(record)}")
            yield title_of(record["id"]), tuple(_numbered_lines(record["lines"], where))


_NUMBER = re.compile(r"(\d{1,4})(?:\t|$)")


def _numbered_lines(text: str, where: str) -> list[str]:
    r"""Sentences at the places that their numbers give; a number that is left out is an empty sentence.

    A line is its number, a tab, the sentence and, behind more tabs, its links. A sentence or a link with ``\n`` in it goes on
    in a row without the next number; the break becomes a blank.

    Raises InputError: text stands before the first number.
    """
    rows = text.split("\n")
    numbers = [int(found[1]) if (found := _NUMBER.match(row)) else -1 for row in rows]
    last_row = {number: place for place, number in enumerate(numbers)}
    pages: list[list[str]] = []
    for place, (row, number) in enumerate(zip(rows, numbers, strict=True)):
        expected = len(pages)
        # a larger number than the next skips lines, unless the next one is still to come
        begins = number == expected or (number > expected and last_row.get(expected, -1) < place)
        if begins:
            pages += [[] for _ in range(number - expected)]
            pages.append([row.partition("\t")[2]])
        elif pages:
            pages[-1].append(row)
        elif row.strip():
            raise InputError(
                f"{where}: lines begin with {row!r:.40}, allowed is a number and a tab; fix the page"
            )
    return [plain(" ".join(part for part in parts if part).partition("\t")[0]) for parts in pages]


def title_of(spelt: str) -> str:
    """A page's title as people write it, from FEVER's spelling, in one Unicode form."""
    return plain(unicodedata.normalize("NFC", spelt).replace("_", " "))


def plain(text: str) -> str:
    """Brackets and colons as they were before FEVER's tokenizer."""
    for spelt, mark in BRACKETS.items():
        text = text.replace(spelt, mark)
    return text
