"""Claims and pages in FEVER's format (Thorne et al. 2018).

That is a folder with claim files and ``wiki-pages/*.jsonl``. A document ``page:<title>`` has one
sentence a line. A document ``claim:<id>`` has sections ``claim`` and ``evidence`` (lines behind
their pages' titles), and one record in ``edits``: its label and the evidence as (page, line).
"""

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
from itertools import combinations
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
Line = tuple[str, int]  # a page's title and the number of a line of it, from 0
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-COLON-": ":", "-LSB-": "[", "-RSB-": "]"}


@dataclass(frozen=True)
class FeverClaim:
    """A claim with its label (a value of ``LABELS``) and its evidence.

    There is no evidence where the label is ``not_enough_info``.
    """

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

    Args:
        name: of the corpus.
        seed: of the splits.
        raw: the folder: files of claims, and ``wiki-pages``.
        scratch: a folder for the pages on disk, where they are no documents; by default a temporary
            one.
        shares: of claims by split.
        with_pages: whether the pages are documents. There may be millions; without it a checker
            reads them from the folder itself.

    Returns:
        the corpus. Facts count claims whose evidence is on no known page, lines of evidence that
        their page does not have, supported or refuted claims that are left without evidence, and
        pages whose title was met before, of which the first stands.

    Raises:
        InputError: a file of another form, or a folder without claims or pages.
    """
    with ExitStack() as stack:
        # 1. Read pages and claims.
        facts: dict[str, Any] = {"corpus": name}
        counts = Counter[str]()
        pages: Mapping[str, Sequence[str]]
        if with_pages:
            pages = _first_pages(_counted(pages_in(raw), counts))
        else:
            folder = scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stored = PageFile.write(folder / "pages", _counted(pages_in(raw), counts))
            # what is no document must be seen when it changes
            with (stored.folder / "pages.jsonl").open("rb") as file:
                facts["pages_sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
            pages = stored
        claims = _claims_below(raw)
        if not pages or not claims:
            raise InputError(
                f"{raw}: {len(claims)} claims and {len(pages)} pages; "
                "put claims beside a folder wiki-pages"
            )
        # 2. Draw a split for each page that claims are about.
        subjects = [subject(claim, pages) for claim in claims]
        names = list(dict.fromkeys(subjects))
        split_of = dict(zip(names, split_by_seed(names, shares, seed), strict=True))
        # 3. Make documents of both.
        documents = []
        if with_pages:
            for title, lines in pages.items():
                section = Section("page", "\n".join(lines))
                documents.append(Document(f"page:{title}", "train", (section,)))
        for claim, page in zip(claims, subjects, strict=True):
            documents.append(_claim_document(claim, split_of[page], pages, counts))
        facts["pages"] = len(pages)
        facts["claims"] = len(claims)
        facts["pages_of_a_title_met_before"] = counts["pages"] - len(pages)
        facts["claims_without_their_page"] = counts["without page"]
        facts["evidence_lines_outside_their_page"] = counts["lines outside"]
        facts["supported_or_refuted_without_evidence"] = counts["without evidence"]
        return Corpus(documents, facts=facts)


def _first_pages(pages: Iterable[tuple[str, Sequence[str]]]) -> dict[str, Sequence[str]]:
    """Pages by title; of those with one title the first stands."""
    pages_by_title: dict[str, Sequence[str]] = {}
    for title, lines in pages:
        pages_by_title.setdefault(title, lines)
    return pages_by_title


def _claim_document(
    claim: FeverClaim, split: str, pages: Mapping[str, Sequence[str]], counts: Counter[str]
) -> Document:
    """The document of a claim, with the lines of its evidence; count those that no page has.

    Args:
        claim: with its label and evidence.
        split: of the document.
        pages: lines of each page, by title.
        counts: "without page" and "without evidence" of claims, "lines outside" of lines; added
            to.
    """
    shown = []
    has_unknown_page = False
    for page, line in claim.evidence:
        lines = pages.get(page)
        if lines is None:
            has_unknown_page = True
        elif 0 <= line < len(lines):
            shown.append(f"{page}: {lines[line]}")
        else:
            counts["lines outside"] += 1
    counts["without page"] += has_unknown_page
    if claim.label != LABELS["NOT ENOUGH INFO"] and not shown:
        counts["without evidence"] += 1
    record = {"label": claim.label, "evidence": [list(line) for line in claim.evidence]}
    sections = Section("claim", claim.text), Section("evidence", "\n".join(shown))
    return Document(f"claim:{claim.id}", split, sections, (record,))


def _counted(
    pages: Iterable[tuple[str, Sequence[str]]], counts: Counter[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the pages and count them in ``counts["pages"]``."""
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
    """The page that decides a claim's split.

    It is the page of its first evidence, else the longest title among its words (of equally long
    ones the first), else the claim's own id.
    """
    if claim.evidence:
        return claim.evidence[0][0]
    words = claim.text.split()
    longest: str | None = None
    for start, end in combinations(range(len(words) + 1), 2):
        span = " ".join(words[start:end]).rstrip(".,")
        if span in pages and (longest is None or len(span) > len(longest)):
            longest = span
    return claim.id if longest is None else longest


def claims_of(documents: Iterable[Document]) -> Iterator[tuple[Document, FeverClaim]]:
    """Each document that is a claim, with the claim that it was made of."""
    for document in documents:
        if document.id.startswith("claim:"):
            record = document.edits[0]
            evidence = tuple((str(page), int(line)) for page, line in record["evidence"])
            number = document.id.removeprefix("claim:")
            text = document.sections[0].text
            yield document, FeverClaim(number, text, record["label"], evidence)


def pages_of(documents: Iterable[Document]) -> dict[str, tuple[str, ...]]:
    """The pages among the documents: title to lines; of those with one title the first stands."""
    pages: dict[str, tuple[str, ...]] = {}
    for document in documents:
        if document.id.startswith("page:"):
            lines = document.sections[0].text.split("\n")
            pages.setdefault(document.id.removeprefix("page:"), tuple(lines))
    return pages


def mapped(path: Path) -> np.ndarray:
    """Memory-map a .npy file.

    ``asarray`` makes a plain array of the ``np.memmap``, whose slices are cheaper.
    """
    return np.asarray(np.load(path, mmap_mode="r"))


class Keys:
    """A dictionary on disk from strings to their numbers (positions in a list).

    ``hashes`` is uint64 (strings,), sorted: a hash of eight bytes of each string; ``numbers`` is
    int64 (strings,): its number. The strings themselves are not stored: among a billion, two share
    a hash with a probability of 3 %; among FEVER's 5.4 million, of one in a million.
    """

    def __init__(self, stem: Path) -> None:
        self.hashes = mapped(Path(f"{stem}_hashes.npy"))
        self.numbers = mapped(Path(f"{stem}_numbers.npy"))

    @staticmethod
    def write(stem: Path, hashes: Sequence[int]) -> np.ndarray:
        """Write both arrays.

        Args:
            stem: of the names of both files.
            hashes: of each string, in the order of their numbers; of equal ones the first counts.

        Returns: the numbers, in the order of the sorted hashes.
        """
        distinct, numbers = np.unique(np.asarray(hashes, dtype=np.uint64), return_index=True)
        np.save(f"{stem}_hashes.npy", distinct)
        np.save(f"{stem}_numbers.npy", numbers)
        return numbers

    @staticmethod
    def hashed(text: str) -> int:
        """A hash of eight bytes."""
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

    def get(self, text: str) -> int | None:
        """The number of a string; None for one that was not written."""
        key = np.uint64(self.hashed(text))
        row = int(np.searchsorted(self.hashes, key))
        if row == len(self.hashes) or self.hashes[row] != key:
            return None
        return int(self.numbers[row])


class PageFile(Mapping[str, Sequence[str]]):
    """A mapping on disk from the titles of pages to their lines, in the order of the file.

    ``pages.jsonl`` has the pages, ``places.npy`` the byte at which each begins, int64 (pages + 1,)
    with the file's end, and two arrays find a title's number (see :class:`Keys`).
    """

    FILES = ("pages.jsonl", "places.npy", "titles_hashes.npy", "titles_numbers.npy")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._titles = Keys(folder / "titles")
        self._starts = mapped(folder / "places.npy")

    @classmethod
    def write(cls, folder: Path, pages: Iterable[tuple[str, Sequence[str]]]) -> "PageFile":
        """Write pages (title, sentences) one by one; of those with one title the first stands."""
        folder.mkdir(parents=True, exist_ok=True)
        hashes = array("Q")
        starts = array("q", [0])  # of each page in the file, and the file's end
        seen = set[int]()
        with (folder / "pages.jsonl").open("wb") as file:
            for title, sentences in pages:
                key = Keys.hashed(title)
                if key in seen:
                    continue
                seen.add(key)
                hashes.append(key)
                # a page ends where the next one starts
                row = json.dumps({"title": title, "lines": list(sentences)}, ensure_ascii=False)
                starts.append(starts[-1] + file.write(f"{row}\n".encode()))
        Keys.write(folder / "titles", hashes)
        np.save(folder / "places.npy", np.asarray(starts, dtype=np.int64))
        return cls(folder)

    def __len__(self) -> int:
        return len(self._starts) - 1

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
        """Title and lines of a page by its number, its position in the file from 0."""
        self._file.seek(int(self._starts[number]))
        row = json.loads(self._file.readline())
        return row["title"], tuple(row["lines"])

    def rows(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Title and lines of every page, one in memory at a time."""
        with (self.folder / "pages.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                yield row["title"], tuple(row["lines"])


# Columns of FEVER as a table, in which a row has one line of evidence. Rows of one evidence set
# share the first two.
FLAT = ("evidence_annotation_id", "evidence_id", "evidence_wiki_url", "evidence_sentence_id")


def read_claims(path: Path) -> Iterator[FeverClaim]:
    """Claims of one file, each with the lines of its first evidence set.

    Either a record has ``evidence``, a list of sets of [annotation, evidence, page, line], as FEVER
    publishes it; or, as dataset hubs have it, there is a row for each line of evidence, with the
    columns :data:`FLAT`. Claims of the second form are yielded last.

    Raises:
        InputError: a line without claim or label, evidence of another form, or rows of one id that
            differ.
    """
    flat: dict[str, _FlatClaim] = {}
    for where, record in records(existing_file(path)):
        name, text, label = _claim_head(record, where)
        if not record.keys() & set(FLAT):
            yield FeverClaim(name, text, label, _first_set(record.get("evidence"), where))
            continue
        # a row for each line of evidence: gather those of the first set
        line = _flat_line(record, where)
        evidence_set = record.get("evidence_annotation_id"), record.get("evidence_id")
        claim = flat.get(name)
        if claim is None:
            flat[name] = _FlatClaim(text, label, evidence_set, list(line))
            continue
        if (claim.text, claim.label) != (text, label):
            raise InputError(
                f"{where}: the id {record.get('id', where)!r} has another claim or label in an "
                "earlier row; fix one of them"
            )
        if claim.evidence_set == evidence_set:
            claim.lines.extend(line)
    for name, claim in flat.items():
        yield FeverClaim(name, claim.text, claim.label, tuple(dict.fromkeys(claim.lines)))


@dataclass(frozen=True)
class _FlatClaim:
    """A claim whose lines of evidence come row by row; those of its first set are gathered."""

    text: str
    label: str
    evidence_set: tuple[Any, Any]  # annotation and evidence of the first set
    lines: list[Line]


def _claim_head(record: Mapping[str, Any], where: str) -> tuple[str, str, str]:
    """Id, text and label of a claim.

    Raises InputError: one of them is missing or of another kind.
    """
    label, text = record.get("label"), record.get("claim")
    if not isinstance(label, str) or label not in LABELS or not isinstance(text, str) or not text:
        raise InputError(
            f"{where}: label {short_repr(label)}; allowed are {sorted(LABELS)} beside a claim"
        )
    name = record.get("id", where)
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise InputError(
            f"{where}: id is {short_repr(name)}, allowed is a string or a whole number"
        )
    return str(name), text, LABELS[label]


def _first_set(evidence: Any, where: str) -> tuple[Line, ...]:
    """(page title, line) of the first evidence set of a record; empty where it names no page."""
    name = f"{where}, evidence"
    sets = typed([] if evidence is None else evidence, list, name)
    if not sets:
        return ()
    lines = []
    for entry in typed(sets[0], list, name):
        if not isinstance(entry, list) or len(entry) < 4:
            raise InputError(
                f"{where}: evidence is {short_repr(entry)}, "
                "allowed is [annotation, evidence, page, line]; fix it"
            )
        page, line = entry[2:4]
        if page is not None:
            title = title_of(typed(page, str, f"{where}, page of evidence"))
            lines.append((title, typed(line, int, f"{where}, line of evidence")))
    return tuple(dict.fromkeys(lines))


def _flat_line(record: Mapping[str, Any], where: str) -> tuple[Line, ...]:
    """Page and line of a row with the columns ``FLAT``, as a tuple of one.

    It is empty where there is not enough information (an empty page, line -1).
    """
    page, line = record.get("evidence_wiki_url"), record.get("evidence_sentence_id")
    if page in (None, "") or line in (None, -1):
        return ()
    title = title_of(field_of(record, "evidence_wiki_url", str, where))
    number = field_of(record, "evidence_sentence_id", int, where)
    return ((title, number),)


def pages_in(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Title and numbered sentences of every page below ``wiki-pages`` of a folder."""
    for path in json_lines_in(folder / "wiki-pages"):
        for where, record in records(path):
            if not isinstance(record.get("id"), str) or not isinstance(record.get("lines"), str):
                raise InputError(f"{where}: a page has an id and lines; got {sorted(record)}")
            yield title_of(record["id"]), tuple(_numbered_lines(record["lines"], where))


_NUMBER = re.compile(r"(\d{1,4})(?:\t|$)")


def _numbered_lines(text: str, where: str) -> list[str]:
    r"""The sentences of a page, so that index i has the sentence of number i.

    A number that is left out is an empty sentence. A line is its number, a tab, the sentence and,
    behind more tabs, its links. A sentence or a link
    with ``\n`` in it goes on in a row without the next number; the break becomes a blank.

    Raises InputError: text stands before the first number.
    """
    # 1. The number with which each row begins, -1 for none, and the last row of each number.
    rows = [row.removesuffix("\r") for row in text.split("\n")]
    numbers = []
    last_row = {}
    for index, row in enumerate(rows):
        match = _NUMBER.match(row)
        number = int(match[1]) if match is not None else -1
        numbers.append(number)
        last_row[number] = index
    # 2. The rows of each sentence.
    sentences: list[list[str]] = []
    for index, (row, number) in enumerate(zip(rows, numbers, strict=True)):
        expected = len(sentences)
        # A row with a larger number skips lines, unless the expected number is still to come: then
        # it goes on with the sentence before, and happens to begin with a number.
        skips = number > expected and last_row.get(expected, -1) < index
        if number == expected or skips:
            while len(sentences) < number:
                sentences.append([])
            sentences.append([row.partition("\t")[2]])
        elif sentences:
            sentences[-1].append(row)
        elif row.strip():
            raise InputError(
                f"{where}: lines begin with {row!r:.40}, "
                "allowed is a number and a tab; fix the page"
            )
    # 3. Each sentence in one piece, without its links.
    lines = []
    for parts in sentences:
        joined = " ".join(part for part in parts if part)
        lines.append(plain(joined.partition("\t")[0]))
    return lines


def title_of(spelt: str) -> str:
    """A page's title as people write it, from FEVER's spelling, in one Unicode form."""
    return plain(unicodedata.normalize("NFC", spelt).replace("_", " "))


def plain(text: str) -> str:
    """Undo FEVER's tokenizer: brackets and colons in place of ``-LRB-`` and its kin."""
    for spelt, mark in BRACKETS.items():
        text = text.replace(spelt, mark)
    return text
