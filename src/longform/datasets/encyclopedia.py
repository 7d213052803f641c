"""Published articles as a fact checker's encyclopedia (massarelli2020 sections 3 and 5).

Articles are WikiSection's (:mod:`longform.datasets.wikisection`); a page is named by the words
before its first "is". Claims come with the sentence that they rest on, and each such sentence is a
page of its own (Symmetric FEVER, Schuster et al. 2019, which nobody can answer by the claim alone).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from longform.datasets import wikisection
from longform.datasets.fever import LABELS, MOST_TOKENS, plain
from longform.documents import Corpus, Document, Section
from longform.errors import InputError
from longform.files.opening import records
from longform.statistics.random_streams import generator
from longform.statistics.splits import SHARES, split_by_seed
from longform.text.paragraphs import single_spaced
from longform.text.sentences import SPLITTERS

SUPPORTED, REFUTED = LABELS["SUPPORTS"], LABELS["REFUTES"]
NEI = LABELS["NOT ENOUGH INFO"]
PAIR_SHARES = {"train": 0.9, "validation": 0.1}  # of groups of tied pairs
_NAMED = re.compile(
    r"^(?:The (?:city|town) of )?([^,(]+?) ?(?:[,(]| (?:is|was|are|were) )", re.IGNORECASE
)
# A word that is a number, with its separators: 1,284 and 2.5 and 7, not the parts of A1 or 1990s.
_NUMBER = re.compile(r"(?<![\w.,-])\d(?:[\d,.]*\d)?(?!\w)")


@dataclass(frozen=True)
class _Pair:
    """A claim of Symmetric FEVER with the sentence that decides it."""

    claim: str
    sentence: str
    label: str


@dataclass(frozen=True)
class _Claim:
    """A claim and the line of a page that it is about."""

    split: str
    text: str
    label: str
    page: str
    line: int = 0


def pages(
    *,
    name: str,
    seed: int,
    raw: Path,
    shares: Mapping[str, float] = SHARES,
    splitter: str = "rules",
) -> Corpus:
    """The articles of WikiSection as pages: each one section, titled with the page's name.

    Args:
        name: of the corpus.
        seed: of the splits.
        raw: a file of WikiSection.
        shares: of articles by split.
        splitter: a key of ``SPLITTERS``, which counts the sentences.

    Returns: the articles that have a name; facts are :func:`wikisection.build`'s and how many
        articles have none.
    Raises InputError: see :func:`wikisection.build`.
    """
    corpus = wikisection.build(name=name, seed=seed, raw=raw, shares=shares, splitter=splitter)
    documents = []
    for document in corpus.documents:
        text = single_spaced(document.text)
        match = _NAMED.match(text)
        if match is not None:
            documents.append(replace(document, sections=(Section(match[1], text),)))
    unnamed = len(corpus.documents) - len(documents)
    return Corpus(documents, facts={**corpus.facts, "unnamed": unnamed})


def read_whole(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """Training texts of a model that has read every page, even those whose openings it continues.

    Args: as of :func:`pages`.

    Returns: every article in split train; those of split validation stand there once more, with
        ``-held-out`` behind their ids.
    Raises InputError: see :func:`wikisection.build`.
    """
    corpus = wikisection.build(name=name, seed=seed, raw=raw, shares=shares)
    training = []
    validation = []
    for document in corpus.documents:
        training.append(replace(document, split="train"))
        if document.split == "validation":
            validation.append(replace(document, id=f"{document.id}-held-out"))
    return Corpus([*training, *validation], facts=corpus.facts)


def read_openings(
    *,
    name: str,
    seed: int,
    raw: Path,
    sentences: int,
    shares: Mapping[str, float] = SHARES,
    splitter: str = "rules",
) -> Corpus:
    """Training texts of a small model that has read only the pages that it will continue.

    Args:
        name: of the corpus.
        seed: of the split, which is that of :func:`pages`.
        raw: the file of articles.
        sentences: how many of an article are read, from the first one on.
        shares: of the splits; articles of split train are left out.
        splitter: how a text is cut into sentences.

    Returns:
        ``title. sentences`` of each article, as prompts begin, all in split train; those of split
        validation once more, to choose a checkpoint by.
    """
    encyclopedia = pages(name=name, seed=seed, raw=raw, shares=shares, splitter=splitter)
    training: list[Document] = []
    validation: list[Document] = []
    for document in encyclopedia.documents:
        if document.split == "train":
            continue
        page = document.sections[0]
        opening = " ".join(SPLITTERS[splitter](page.text)[:sentences])
        sections = (Section(None, f"{page.title}. {opening}"),)
        training.append(replace(document, split="train", sections=sections))
        if document.split == "validation":
            validation.append(replace(document, id=f"{document.id}-again", sections=sections))
    return Corpus([*training, *validation], facts=encyclopedia.facts)


def claims(
    *,
    name: str,
    seed: int,
    raw: Path,
    articles: str = "cities.txt",
    pairs: str = "symmetric.jsonl",
    shares: Mapping[str, float] = SHARES,
    splitter: str = "rules",
    statements: int = 0,
    contradictions: int = 0,
) -> Corpus:
    """Pages and claims as :mod:`longform.datasets.fever` has them, from two files of a folder.

    Claims that share a sentence, or sentences that share a claim, stay in one split. None is in
    split test: a page whose sentence was written to contradict another's can be judged beside it,
    not looked up.

    Args:
        name: of the corpus.
        seed: of the splits and of the statements.
        raw: the folder.
        articles: its file of WikiSection; of pages with one name the first one stands.
        pairs: its file of Symmetric FEVER.
        shares: of articles by split; their statements follow them.
        splitter: a key of ``SPLITTERS``, which cuts the pages into lines.
        statements: how many sentences of the pages are claims too, which hold. As many have another
            page's name in place of their own; for these there is not enough information.
        contradictions: how many sentences of the pages are claims with one number changed, which
            their page refutes. Without them a checker has few examples of what contradicts a page.

    Raises InputError: a file that is not there, or a line without claim, evidence or label.
    """
    # 1. The encyclopedia: lines by page, of the articles first.
    encyclopedia = pages(
        name=name, seed=seed, raw=raw / articles, shares=shares, splitter=splitter
    ).documents
    article_of = {}
    for article in reversed(encyclopedia):  # so that the first article of a name stands
        article_of[article.sections[0].title or ""] = article
    lines_of: dict[str, Sequence[str]] = {}
    split_of: dict[str, str] = {}
    for page, article in article_of.items():
        lines_of[page] = SPLITTERS[splitter](article.text)
        split_of[page] = article.split
    # 2. The claims: pairs, each with its sentence as a page, and statements of the articles.
    pair_rows = list(_read_pairs(raw / pairs))
    page_of: dict[str, str] = {}
    for pair in pair_rows:
        page_of.setdefault(pair.sentence, f"{Path(pairs).stem}-{len(page_of)}")
    claim_rows = []
    for split, pair in zip(_pair_splits(pair_rows, seed), pair_rows, strict=True):
        claim_rows.append(_Claim(split, pair.claim, pair.label, page_of[pair.sentence]))
    rng = generator(seed, name, "statements")
    claim_rows.extend(_statements(lines_of, split_of, statements, rng))
    rng = generator(seed, name, "contradictions")
    claim_rows.extend(_contradictions(lines_of, split_of, contradictions, rng))
    for sentence, page in page_of.items():
        lines_of[page] = [sentence]
    # 3. Both as documents.
    documents = []
    for page, lines in lines_of.items():
        documents.append(Document(f"page:{page}", "train", (Section("page", "\n".join(lines)),)))
    for number, claim in enumerate(claim_rows):
        documents.append(_claim_document(number, claim, lines_of))
    facts: dict[str, Any] = {
        "corpus": name,
        "pages": len(lines_of),
        "claims": len(claim_rows),
        "articles_whose_name_was_taken": len(encyclopedia) - len(article_of),
        "labels": Counter(f"{claim.label} in {claim.split}" for claim in claim_rows),
    }
    return Corpus(documents, facts=facts)


def _claim_document(number: int, claim: _Claim, lines_of: Mapping[str, Sequence[str]]) -> Document:
    """A claim as a document of :mod:`longform.datasets.fever`."""
    evidence: list[list[object]] = []
    shown = ""
    if claim.label != NEI:
        evidence.append([claim.page, claim.line])
        shown = f"{claim.page}: {lines_of[claim.page][claim.line]}"
    sections = (Section("claim", claim.text), Section("evidence", shown))
    record = {"label": claim.label, "evidence": evidence}
    return Document(f"claim:{number}", claim.split, sections, (record,))


def _pair_splits(pairs: Sequence[_Pair], seed: int) -> list[str]:
    """Train or validation for each pair; pairs tied by a claim or a sentence have one split."""
    # 1. Two kinds of nodes: claims, and behind them sentences. A pair is a link between two.
    _, claim_nodes = np.unique([pair.claim for pair in pairs], return_inverse=True)
    _, sentence_nodes = np.unique([pair.sentence for pair in pairs], return_inverse=True)
    num_nodes = 2 * len(pairs)
    links = (claim_nodes, sentence_nodes + len(pairs))
    graph = coo_array((np.ones(len(pairs)), links), (num_nodes, num_nodes))
    # 2. A split for each connected group, in order of appearance.
    _, group_of_node = connected_components(graph)
    group_of_pair = group_of_node[claim_nodes].tolist()
    groups = list(dict.fromkeys(group_of_pair))
    splits = split_by_seed([str(group) for group in groups], PAIR_SHARES, seed)
    split_of = dict(zip(groups, splits, strict=True))
    return [split_of[group] for group in group_of_pair]


def _statements(
    lines_of: Mapping[str, Sequence[str]],
    split_of: Mapping[str, str],
    count: int,
    rng: np.random.Generator,
) -> Iterator[_Claim]:
    """Claims from sentences that name their page.

    Each is supported by its page; it is followed by a copy with a random other page's name in place
    of its own, for which there is not enough information.

    Args:
        lines_of: lines by page.
        split_of: split by page.
        count: how many sentences are drawn.
        rng: draws sentences and other pages.
    """
    candidates = _lines_that_name_their_page(lines_of)
    names = list(lines_of)
    for index in rng.permutation(len(candidates))[:count]:
        page, number = candidates[index]
        other = names[int(rng.integers(len(names)))]
        split, line = split_of[page], lines_of[page][number]
        yield _Claim(split, line, SUPPORTED, page, number)
        if other != page:
            yield _Claim(split, line.replace(page, other), NEI, other)


def _lines_that_name_their_page(lines_of: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Page and number of each line with its page's name that is short enough to be a claim."""
    candidates = []
    for page, lines in lines_of.items():
        for number, line in enumerate(lines):
            if page in line and len(line.split()) <= MOST_TOKENS:
                candidates.append((page, number))
    return candidates


def _contradictions(
    lines_of: Mapping[str, Sequence[str]],
    split_of: Mapping[str, str],
    count: int,
    rng: np.random.Generator,
) -> Iterator[_Claim]:
    """Claims from sentences that name their page, with a number changed: the page refutes them.

    A number of as many characters from such a sentence stands in its place, so that a year becomes
    a year and a population a population; a number without another of its length is left alone.

    Args:
        lines_of: lines by page.
        split_of: split by page.
        count: how many sentences are drawn.
        rng: draws sentences and numbers.
    """
    # 1. Sentences with numbers, and all their numbers by length.
    numbers_of: dict[tuple[str, int], list[re.Match[str]]] = {}
    by_length: dict[int, list[str]] = {}
    for page, number in _lines_that_name_their_page(lines_of):
        matches = list(_NUMBER.finditer(lines_of[page][number]))
        if matches:
            numbers_of[page, number] = matches
        for match in matches:
            by_length.setdefault(len(match[0]), []).append(match[0])
    # 2. One number of each drawn sentence is changed.
    candidates = list(numbers_of)
    for index in rng.permutation(len(candidates))[:count]:
        page, number = candidates[index]
        matches = numbers_of[page, number]
        match = matches[int(rng.integers(len(matches)))]
        others = sorted({other for other in by_length[len(match[0])] if other != match[0]})
        if not others:
            continue
        line = lines_of[page][number]
        new_number = others[int(rng.integers(len(others)))]
        text = line[: match.start()] + new_number + line[match.end() :]
        yield _Claim(split_of[page], text, REFUTED, page, number)


def _read_pairs(path: Path) -> Iterator[_Pair]:
    """The pairs of Symmetric FEVER, one a line."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; put Symmetric FEVER's JSON lines there")
    for where, record in records(path):
        claim, sentence = record.get("claim"), record.get("evidence")
        label = LABELS.get(str(record.get("gold_label")))
        if label is None or not _has_words(claim) or not _has_words(sentence):
            got = f"gold_label {record.get('gold_label')!r}, fields {sorted(record)}"
            raise InputError(
                f"{where}: {got}; allowed are {sorted(LABELS)} beside claim and evidence"
            )
        yield _Pair(plain(claim), plain(sentence), label)


def _has_words(value: Any) -> TypeGuard[str]:
    """Whether a value is a string and not blank."""
    return isinstance(value, str) and bool(value.strip())
