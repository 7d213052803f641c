"""The synthetic world through the readers of real data: written in a native format, read back as the real files would be.

At the default scale nothing can be downloaded; this runs the dump reader, Cohan et al.'s format and WikiSection with
every filter, on text whose truth is known. Synthetic text never stands for the corpora that it imitates.
"""

from __future__ import annotations

import inspect
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput, Corpus
from longform.datasets import scientific, wikisection
from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.corpus import indices
from longform.datasets.synthetic_world.draws import Draws, stream
from longform.datasets.synthetic_world.tables import table
from longform.datasets.synthetic_world.wikipedia_dump import dump_files
from longform.datasets.wikipedia import building as wikipedia

COHAN_FILES = {"train": "train.txt", "validation": "val.txt", "test": "test.txt"}


def build(
    *, name: str, seed: int, raw: Path, form: str, documents: int, reader: Mapping[str, Any] | None = None
) -> Corpus:
    """Write ``documents`` synthetic pages or articles in a native form, and read them with that form's own reader.

    Args:
        raw: unused; the native files are made from the seed.
        form: one of ``FORMS``.
        reader: settings of the reader's ``build`` (:mod:`wikipedia`, :mod:`scientific`, :mod:`wikisection`).

    Raises:
        BadInput: an unknown form, or what the reader raises.
    """
    if form not in FORMS:
        raise BadInput(f"form is {form!r}, allowed are {sorted(FORMS)}; fix the row")
    files, read = FORMS[form]
    unknown = sorted(set(reader or {}) - set(inspect.signature(read).parameters))
    if unknown:
        raise BadInput(f"the reader of {form} has no setting {unknown}; fix the row's reader")
    with tempfile.TemporaryDirectory() as place:
        for file, content in files(seed, documents).items():
            (Path(place) / file).write_bytes(content)
        paths = list(Path(place).iterdir())
        target = paths[0] if len(paths) == 1 else Path(place)
        corpus = read(name=name, seed=seed, raw=target, **(reader or {}))
    return Corpus(corpus.documents, corpus.truth, {**corpus.facts, "synthetic": True, "form": form})


def cohan_lines(articles: Iterable[Article], domain_name: str) -> Iterator[str]:
    """One JSON record a line: article_id, article_text, abstract_text, labels, section_names, sections.

    Sentences are in lower case with punctuation set apart, as Cohan et al. print them; a title is printed in one of
    several forms, which the paper's normaliser maps to one.
    """
    printed = table("section_titles")
    for article in articles:
        draws = Draws(stream("cohan", domain_name, article.index))
        sections = [[_spaced(s.text) for s in sentences] for _, sentences in article.sections]
        record = {
            "article_id": f"{domain_name}{article.index:07d}",
            "article_text": [sentence for section in sections for sentence in section],
            "abstract_text": [f"<S> {sections[0][0]} </S>", f"<S> {sections[-1][-1]} </S>"],
            "labels": None,
            "section_names": [draws.pick(printed.get(title, (title,))) for title, _ in article.sections],
            "sections": sections,
        }
        yield json.dumps(record, ensure_ascii=False)


def _spaced(text: str) -> str:
    return " ".join(re.findall(r"[\w-]+(?:[.,]\d+)*|[^\w\s]", text.lower()))


def wikisection_lines(articles: Iterable[Article]) -> Iterator[str]:
    """One article a line, sections joined by a blank, ``[ HISTORY ]`` before each."""
    for article in articles:
        yield " ".join(
            f"[ {title.upper()} ] {' '.join(sentence.text for sentence in sentences)}"
            for title, sentences in article.sections
        )


def _cohan_files(domain: str, seed: int, documents: int) -> Mapping[str, bytes]:
    """The first ``documents`` articles in a file for each split."""
    files = {}
    for split, file in COHAN_FILES.items():
        numbers = [number for number in indices({split: documents}) if number < documents]
        files[file] = _joined(cohan_lines((write(seed, domain, number) for number in numbers), domain))
    return files


def _wikisection_files(seed: int, documents: int) -> Mapping[str, bytes]:
    articles = (write(seed, "wikisection", number) for number in range(documents))
    return {"wikisection_withSections.txt": _joined(wikisection_lines(articles))}


def _joined(lines: Iterable[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


FORMS: Mapping[str, tuple[Callable[[int, int], Mapping[str, bytes]], Callable[..., Corpus]]] = {
    "wiki": (dump_files, wikipedia.build),
    "pubmed": (partial(_cohan_files, "pubmed"), scientific.build),
    "arxiv": (partial(_cohan_files, "arxiv"), scientific.build),
    "wikisection": (_wikisection_files, wikisection.build),
}
