"""Articles to judge by eye: how many sentences of each system are sentences of the synthetic world, and the first articles in full."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from longform.core.artefacts import read_documents
from longform.core.documents import BadInput, Document
from longform.core.results import Record
from longform.core.text.rendering import SECTION_BREAK
from longform.core.text.sentences import sentences
from longform.reporting.papers.deng2022.sections import generated_folder
from longform.reporting.pivot import SYSTEM, Given
from longform.reporting.selection import folder_of, select
from longform.reporting.table import Table

SHARE = {"critic": "world_grammar", "metric": "derivable_share"}
COLUMNS = {"derivable sentences": SHARE, "followed words": {**SHARE, "metric": "followed_share"}}
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")
_FIRST_MARKS = re.compile(r"^(\d+)?([-+.)])")  # what opens a list


@dataclass(frozen=True)
class Article:
    """One article and the places of its sentences that the grammar refuses."""

    head: str
    document: Document
    refused: Collection[int]

    def markdown(self) -> str:
        """Titles in italics, refused sentences in bold."""
        spans = sentences(self.document.text)
        lines = [f"### {self.head}: {len(spans) - len(self.refused)} of {len(spans)} sentences derivable"]
        lengths = (len(section.text) + len(SECTION_BREAK) for section in self.document.sections)
        starts = [0, *accumulate(lengths)]
        for section, start, end in zip(self.document.sections, starts, starts[1:], strict=False):
            inside = [(place, span) for place, span in enumerate(spans) if start <= span[0] < end]
            lines += [f"*{escaped(section.title)}*"] if section.title else []
            lines += [" ".join(self._shown(place, *span) for place, span in inside)] if inside else []
        return "\n\n".join(lines)

    def _shown(self, place: int, start: int, end: int) -> str:
        text = escaped(self.document.text[start:end])
        return f"**{text}**" if place in self.refused else text


def escaped(text: str) -> str:
    """The text on one line, as Markdown shows it and not as Markdown reads it."""
    return _FIRST_MARKS.sub(r"\1\\\2", _MARKS.sub(r"\\\1", " ".join(text.split())))


@dataclass(frozen=True)
class ArticlePages:
    """The table of shares, and a page of articles in full."""

    table: Table
    caption: str
    articles: Sequence[Article]

    def save(self, folder: Path, stem: str) -> None:
        """``stem.csv`` and ``stem.md`` with a link to ``articles.md``."""
        self.table.save(folder, stem)
        text = self.table.markdown() + "\n[The first articles in full](articles.md)\n"
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")
        page = "\n\n".join([f"# {self.caption}", LEGEND, *(article.markdown() for article in self.articles)])
        (folder / "articles.md").write_text(page + "\n", encoding="utf-8")


LEGEND = (
    "The first articles of each set, none left out. **Bold** is a sentence that the synthetic world could not have written; the "
    "share of the others stands in [the table](generated_articles.md). Section titles are in *italics* where the text has them."
)


def generated_articles(
    given: Given,
    corpus: str,
    system: str,
    generated: int = 5,
    real: int = 2,
) -> ArticlePages:
    """The share of derivable sentences of real text and of every system; the first articles of one, beside real ones.

    Args:
        corpus, system: whose articles are shown, of the first seed where there are several.
        generated: how many with titles, and how many without.
        real: how many of the corpus's test split.

    Raises:
        BadInput: no record of the system or of real text, or texts that are not there or are not those that were scored.
    """
    notes = [
        "shares of sentences and of words, intervals over articles; real text has 1 because the world wrote it",
        "a word is followed if its sentence up to it begins some sentence of the world",
    ]
    caption = "Shares of sentences and of words that the synthetic world could have written, with 95 % intervals"
    table = given.table(caption, given.pivot(COLUMNS), notes)
    shown: list[Article] = []
    for titles, count in ((True, generated), (False, generated), (None, real)):
        fields = {**SHARE, "corpus": corpus, "system": "data" if titles is None else system, "titles": titles}
        found = select(given.results, fields)
        if not found:
            raise BadInput(f"no record has {fields}; run the stage that scores it, or change the exhibit's settings")
        record = min(found, key=lambda record: -1 if record.seed is None else record.seed)
        folder = folder_of(given.data / "corpora", corpus) if titles is None else generated_folder(given.data, record)
        shown += _articles(record, folder or given.data / "corpora" / corpus, count, given)
    label = given.label("system", system)
    return ArticlePages(table, f"{2 * generated} articles of {label} beside {real} real ones", shown)


def _articles(record: Record, folder: Path, count: int, given: Given) -> list[Article]:
    """The first articles of a record's texts, in the order of their file."""
    path = folder / "documents.jsonl"
    if not path.is_file():
        raise BadInput(f"{path}: no such file; generate the texts that the scores were read from")
    documents = [d for d in read_documents(path) if d.split in ("test", "generated")][:count]
    refused = record.details["refused"]
    if missing := [document.id for document in documents if document.id not in refused]:
        raise BadInput(
            f"{path}: {missing[0]!r} is not among the scored texts {list(refused)}; score them, or show fewer"
        )
    seed = "" if record.seed is None else f", seed {record.seed}"
    name = given.labels(record, *SYSTEM) + seed
    return [Article(f"{name}, article {i}", document, refused[document.id]) for i, document in enumerate(documents)]
