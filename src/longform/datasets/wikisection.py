r"""WikiSection cities (Arnold et al. 2019) in three forms, told apart by what a file holds.

- *Marked*: one article a line, ``[ ABSTRACT ] text [ HISTORY ] text ...`` (Wang et al. 2022).
- *Plain*: the same without markers, which BBScore scores.
- *JSON* (``.json``): ``{"text", "abstract", "annotations": [{"begin", "length", "sectionHeading",
  "sectionLabel"}]}``.

An unusable article is counted by its reason.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.openings import with_openings
from longform.datasets.titles import piece_count
from longform.documents import SPLITS, Corpus, Document, Section
from longform.errors import InputError
from longform.files.opening import json_file, text_lines
from longform.statistics.splits import SHARES, split_by_seed
from longform.text.sentences import SPLITTERS

# Wang et al. 2022: upper case, blanks inside the brackets
MARKER = re.compile(r"\[ ([A-Z][A-Z /&'-]*) \](?: |$)")
ABSTRACT = "abstract"

Titled = list[tuple[str | None, str]]  # title and text of each section of an article


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    files: Mapping[str, str] | None = None,
    shares: Mapping[str, float] = SHARES,
    splitter: str = "rules",
    short_tokens: int | None = None,
    opening_sentences: int | None = None,
) -> Corpus:
    """Articles of one file, split by seed, or of one file for each split, as papers publish them.

    Where there is no file for validation, validation / (train + validation) of the training
    articles are held out. The marked and the plain form of one file split alike.

    Args:
        name: of the corpus.
        seed: of the splits.
        raw: the file, or the folder that holds ``files``.
        files: file name by split.
        shares: of articles by split.
        splitter: a key of ``SPLITTERS``, which counts sentences; BBScore's release has
            ``full_stops``.
        short_tokens: of the longest section; articles with a longer one are left out after the
            split, so that the short ones lie in the split that they have among all. None keeps all.
        opening_sentences: of a section; see
            :func:`longform.datasets.openings.with_openings`. None keeps all.

    Returns: the articles; ``truth["sentences"]`` is int64 (units,), and facts summarise it.
    Raises InputError: an unknown splitter, other splits, or a file without a usable article.
    """
    if splitter not in SPLITTERS:
        raise InputError(
            f"splitter is {splitter!r}, allowed are {sorted(SPLITTERS)}; fix the entry"
        )
    if files is not None and not {"train"} <= files.keys() <= set(SPLITS):
        raise InputError(
            f"files of splits {sorted(files)}; allowed are {list(SPLITS)}, of which train is needed"
        )
    # 1. Read the articles of each file.
    paths = {split: raw / file for split, file in files.items()} if files else {"": raw}
    counts = Counter[str]()
    documents, dropped = _read_files(paths, counts)
    num_read = len(documents) + dropped.total()
    if not documents:
        raise InputError(
            f"{raw}: zero of {num_read} articles can be used ({dict(dropped)}); "
            "check the file's form"
        )
    # 2. Split those of the training file, as far as no other file is another split.
    if files is None:
        documents = _split(documents, shares, seed)
    elif "validation" not in files and "validation" in shares:
        held_out = shares["validation"] / (shares["train"] + shares["validation"])
        documents = _split(documents, {"train": 1 - held_out, "validation": held_out}, seed)
    # 3. Leave out those with a long section, or the rest of every section.
    num_split = len(documents)
    if short_tokens is not None:
        documents = [doc for doc in documents if _longest_section(doc) <= short_tokens]
        if not documents:
            raise InputError(
                f"{raw}: every article has a section of more than {short_tokens} tokens; "
                "raise short_tokens"
            )
    if opening_sentences is not None:
        documents = [with_openings(document, opening_sentences) for document in documents]
    # 4. Describe them.
    sentences = np.array([_num_sentences(doc, splitter) for doc in documents], dtype=np.int64)
    facts: dict[str, Any] = {
        "corpus": name,
        "articles_read": num_read,
        "dropped": dropped,
        **_facts(documents, sentences, splitter),
    }
    if short_tokens is not None:
        facts["articles_with_a_long_section"] = num_split - len(documents)
    if counts:
        facts["articles_with_text_outside_their_sections"] = counts["text outside the sections"]
    return Corpus(documents, {"sentences": sentences}, facts)


def _facts(documents: Sequence[Document], sentences: np.ndarray, splitter: str) -> dict[str, Any]:
    """Titles, splits and sentences of the articles.

    Args:
        documents: the articles, one or more.
        sentences: how many each has, int64 (articles,).
        splitter: by which they were counted.
    """
    titles = Counter[str]()
    for document in documents:
        titles.update(section.title for section in document.sections if section.title)
    return {
        "section_titles": titles,
        "splits": Counter(document.split for document in documents),
        "splitter": splitter,
        "sentences": int(sentences.sum()),
        "sentences_median": float(np.median(sentences)),
        "sentences_range": [int(sentences.min()), int(sentences.max())],
    }


def _read_files(
    paths: Mapping[str, Path], counts: Counter[str]
) -> tuple[list[Document], Counter[str]]:
    """The usable articles of all files, and how many are not usable, by reason.

    Args:
        paths: of the files by their split; "" of one file for all, whose articles are of split
            train.
        counts: gains the number of articles with text outside their sections.
    """
    documents = []
    dropped = Counter[str]()
    for split, path in paths.items():
        kind = "article" if ".json" in path.suffixes else "line"
        for number, article in enumerate(_articles(path, counts), 1):
            # Sections, or the reason why there are none.
            sections = article if isinstance(article, str) else _usable(article)
            if isinstance(sections, str):
                dropped[sections] += 1
                continue
            unit = f"{kind}-{number:05d}"
            if split:
                unit = f"{split}-{unit}"
            documents.append(Document(unit, split or "train", sections))
    return documents, dropped


def _split(documents: Sequence[Document], shares: Mapping[str, float], seed: int) -> list[Document]:
    """The documents; those of split train get new splits, drawn by seed."""
    ids = [document.id for document in documents if document.split == "train"]
    split_of = dict(zip(ids, split_by_seed(ids, shares, seed), strict=True))
    return [replace(doc, split=split_of.get(doc.id, doc.split)) for doc in documents]


def _longest_section(document: Document) -> int:
    """Tokens of its longest section, counted as pieces before merging."""
    return max(piece_count(section.text) for section in document.sections)


def _num_sentences(document: Document, splitter: str) -> int:
    """How many sentences all its sections have."""
    return sum(len(SPLITTERS[splitter](section.text)) for section in document.sections)


def _articles(file: Path, counts: Counter[str]) -> Iterator[Titled | str]:
    """Yield (title, text) of each article's sections, or the reason why it is unusable."""
    if not file.is_file():
        raise InputError(
            f"{file}: no such file; see docs/data_cards/wikisection.md for where to get it"
        )
    if ".json" in file.suffixes:
        articles = json_file(file)
        if not isinstance(articles, list):
            raise InputError(
                f"{file}: got {type(articles).__name__}, WikiSection JSON is a list of articles"
            )
        for article in articles:
            yield _json_article(article, counts)
        return
    lines = list(text_lines(file))
    marked = any(MARKER.match(line) for line in lines)
    for line in lines:
        yield _line_article(line, marked)


def _line_article(line: str, marked: bool) -> Titled | str:
    """The sections of an article on one line; without markers it is one untitled section."""
    if not line.strip():
        return "blank line"
    if not marked:
        return [(None, line)]
    before, *pieces = MARKER.split(line)
    if before.strip() and len(pieces) > 1:
        return "text before the first marker"
    titles, texts = pieces[::2], pieces[1::2]
    return [(title.lower(), text) for title, text in zip(titles, texts, strict=True)]


def _usable(sections: Titled) -> tuple[Section, ...] | str:
    """The sections of an article, or the reason why it is not used.

    Sections that are used begin with an abstract, unless the first has no title; none is empty.
    """
    if not sections:
        return "no sections"
    first_title, _ = sections[0]
    if first_title not in (ABSTRACT, None):
        return "abstract missing"
    stripped = tuple(Section(title, text.strip()) for title, text in sections)
    if not all(section.text for section in stripped):
        return "empty section"
    return stripped


def _json_article(record: Any, counts: Counter[str]) -> Titled | str:
    """The abstract and the annotated sections of one JSON article; or the reason why it has none.

    Args:
        record: of the file.
        counts: gains the article if it has text that is neither abstract nor section.

    Returns:
        Titles, the section labels without their type, with texts; or the reason.
    """
    # 1. Its form.
    if not isinstance(record, dict):
        return "malformed record"
    text, annotations = record.get("text"), record.get("annotations")
    abstract = record.get("abstract") or ""
    if not isinstance(text, str) or not isinstance(abstract, str):
        return "malformed record"
    if not isinstance(annotations, list):
        return "malformed record"
    # 2. Its sections.
    sections: Titled = []
    spans: list[tuple[int, int]] = []
    for annotation in annotations:
        section = _annotated(annotation)
        if section is None:
            return "malformed record"
        label, begin, length = section
        end = begin + length
        if begin < 0 or length < 0 or end > len(text):
            return "section outside the text"
        title = label.split(".")[-1].strip().lower()  # city.history
        sections.append((title, text[begin:end]))
        spans.append((begin, end))
    # 3. What stands between them.
    spans.sort()
    for (_, end), (begin, _) in pairwise(spans):
        if begin < end:
            return "sections overlap"
    between = " ".join(_between(text, spans).split())
    has_words = any(letter.isalnum() for letter in between)
    if has_words and between != " ".join(abstract.split()):
        counts["text outside the sections"] += 1
    if sections and sections[0][0] != ABSTRACT and abstract.strip():
        sections.insert(0, (ABSTRACT, abstract))
    return sections


def _annotated(annotation: Any) -> tuple[str, int, int] | None:
    """Label, first character and length of an annotated section; None where it has another form."""
    if not isinstance(annotation, dict):
        return None
    label = annotation.get("sectionLabel") or annotation.get("sectionHeading")
    begin, length = annotation.get("begin"), annotation.get("length")
    if isinstance(begin, bool) or isinstance(length, bool):
        return None
    if isinstance(label, str) and isinstance(begin, int) and isinstance(length, int):
        return label, begin, length
    return None


def _between(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The parts of a text outside sorted spans, joined; empty where there is no span."""
    if not spans:
        return ""
    pieces = []
    end_before = 0
    for start, end in spans:
        pieces.append(text[end_before:start])
        end_before = end
    pieces.append(text[end_before:])
    return "".join(pieces)
