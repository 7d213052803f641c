"""The synthetic world through the readers of real data: written in a native format, read back as the real files would be.

At the default scale nothing can be downloaded; this runs the dump reader and Cohan et al.'s format with every filter, on
text whose truth is known. Synthetic text never stands for the corpora that it imitates.
"""

import bz2
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from longform.datasets import scientific
from longform.datasets.wikipedia import building as wikipedia
from longform.documents import Corpus
from longform.errors import BadInput
from synthetic_world.articles import Article, write
from synthetic_world.corpus import indices
from synthetic_world.draws import Draws, stream, table

PAGES_PER_STREAM = 100  # as in Wikimedia's own multistream dumps
FIRST_PAGE_ID = 12  # the first article id of the English dump
CYCLE = 20  # of twenty pages twelve are plain articles and the others are the classes below, one place each
SPECIAL = {
    3: "redirect", 7: "redirect", 9: "disambiguation", 11: "year", 13: "talk", 15: "template", 17: "broken", 19: "file",
}  # fmt: skip
REMOVED = ("See also", "References", "External links", "Further reading", "Notes")
NAMESPACES = {"talk": (1, "Talk:"), "template": (10, "Template:"), "file": (6, "File:")}


@dataclass(frozen=True)
class Page:
    """One page of the dump and its truth.

    ``sections``: title and plain text of each section that a reader should keep; the lead is
    ``abstract``. Empty for pages that are no articles, and for broken ones, whose text no rule
    decides.
    """

    page_id: int
    title: str
    kind: str  # article, redirect, disambiguation, year, broken, talk, template or file
    wikitext: str
    redirect: str | None = None
    sections: tuple[tuple[str, str], ...] = ()

    @property
    def xml(self) -> str:
        """The ``<page>`` element, as Wikimedia exports it."""
        values = {
            "title": escape(self.title),
            "ns": NAMESPACES.get(self.kind, (0, ""))[0],
            "id": self.page_id,
        }
        values |= {
            "redirect": f"    <redirect title={quoteattr(self.redirect)} />\n"
            if self.redirect
            else ""
        }
        values |= {"revision": self.page_id + 1_000_000, "size": len(self.wikitext.encode())}
        return table("wiki_markup")["page"] % {**values, "text": escape(self.wikitext)}


def write_page(seed: int, number: int) -> Page:
    """Page ``number`` of the dump: a function of its arguments alone."""
    markup, kind = table("wiki_markup"), SPECIAL.get(number % CYCLE, "article")
    article = write(seed, "wiki", number)
    title, draws = article.title, Draws(stream("markup", seed, number))
    values = {
        "title": title,
        "body": " ".join(s.text for s in article.sections[0][1]),
        "year": str(1000 + number // CYCLE),
    }
    page = partial(Page, FIRST_PAGE_ID + 3 * number)
    if kind == "article":
        text, sections = _article(article, draws)
        return page(title, kind, text, None, sections)
    if kind == "broken":
        text, _ = _article(article, draws)
        return page(f"{title} (broken)", kind, draws.pick(markup["broken"]) + text)
    if kind == "redirect":
        target = write(seed, "wiki", number - 1).title
        return page(f"{title} (old name)", kind, markup["redirect"] % {"title": target}, target)
    if kind in NAMESPACES:
        return page(NAMESPACES[kind][1] + title, kind, f"== About ==\n{values['body']}")
    return page(
        values["year"] if kind == "year" else f"{title} ({kind})", kind, markup[kind] % values
    )


def _article(article: Article, draws: Draws) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Wikitext, and what is to be read of it."""
    markup = table("wiki_markup")
    marks, parts, sections = markup["sentences"], [], []

    def marked(text: str) -> str:
        """A sentence with inline markup that leaves its plain text unchanged."""
        choice = draws.integer(0, 9)
        rest, _, last = text.rpartition(" ")
        word = last.rstrip(".")
        if choice >= len(marks):
            return text
        if choice in (0, 1, 4):  # these stand in place of the last word
            return (
                f"{rest} {marks[choice] % {'word': word, 'capital': word.capitalize()}}"
                if word.isalpha()
                else text
            )
        return text + (
            marks[choice] % {"number": draws.integer(1, 9)} if choice == 2 else marks[choice]
        )

    for number, (title, sentences) in enumerate(article.sections):
        texts = [s.text for s in sentences]
        if number == len(article.sections) - 1 and draws.uniform() < 0.3:
            texts.append(markup["foreign"])
        sections.append((title, " ".join(texts)))
        if number:
            choice = draws.integer(0, 5)
            head = f"== {title.capitalize()} ==\n"
            head += markup["sections"][choice] % {"title": article.title} if choice < 4 else ""
        else:
            facts = "\n".join(f"| {name} = {value}" for name, value in article.facts.items())
            head = markup["infobox"] % {
                "kind": article.kind,
                "title": article.title,
                "facts": facts,
            }
            texts[0] = texts[0].replace(article.title, f"'''{article.title}'''", 1)
        parts.append(head + " ".join(map(marked, texts)))
    parts += [markup["see_also"]] if draws.uniform() < 0.5 else []
    parts.append(markup["references"])
    parts += [markup["external_links"]] if draws.uniform() < 0.5 else []
    parts.append(markup["last"] % {"kind": article.kind.capitalize(), "title": article.title})
    return "\n\n".join(parts), tuple(sections)


def dump_files(seed: int, pages: int) -> dict[str, bytes]:
    """A dump of that many pages by its file name.

    Header, pages by the hundred and footer are one stream each.
    """
    written = [write_page(seed, number).xml for number in range(pages)]
    batches = [
        "".join(written[i : i + PAGES_PER_STREAM]) for i in range(0, pages, PAGES_PER_STREAM)
    ]
    streams = [table("wiki_markup")["header"], *batches, "</mediawiki>\n"]
    name = "syntheticwiki-pages-articles-multistream.xml.bz2"
    return {name: b"".join(bz2.compress(stream.encode()) for stream in streams)}


def build(
    *, name: str, seed: int, form: str, documents: int, reader: Mapping[str, Any] | None = None
) -> Corpus:
    """Write ``documents`` synthetic pages or articles in a native form, and read them with that form's own reader.

    ``reader``: settings of its ``build`` (:mod:`wikipedia`, :mod:`scientific`).
    Raises BadInput: an unknown form, or what the reader raises.
    """
    if form not in FORMS:
        raise BadInput(f"form is {form!r}, allowed are {sorted(FORMS)}; fix form")
    files, read = FORMS[form]
    if unknown := sorted(set(reader or {}) - set(inspect.signature(read).parameters)):
        raise BadInput(f"the reader of {form} has no setting {unknown}; fix reader")
    with tempfile.TemporaryDirectory() as place:
        for file, content in files(seed, documents).items():
            (Path(place) / file).write_bytes(content)
        paths = list(Path(place).iterdir())
        corpus = read(
            name=name, seed=seed, raw=paths[0] if len(paths) == 1 else Path(place), **(reader or {})
        )
    return Corpus(corpus.documents, corpus.truth, {**corpus.facts, "synthetic": True, "form": form})


def cohan_files(domain: str, seed: int, documents: int) -> Mapping[str, bytes]:
    """The first ``documents`` articles in a file for each split, one JSON record a line.

    Sentences are in lower case with punctuation set apart, as Cohan et al. print them; a title is
    printed in one of several forms, which the paper's normaliser maps to one.
    """
    printed, files = table("section_titles"), {}
    for split, file in (("train", "train.txt"), ("validation", "val.txt"), ("test", "test.txt")):
        lines = []
        for number in [number for number in indices({split: documents}) if number < documents]:
            article, draws = write(seed, domain, number), Draws(stream("cohan", domain, number))
            sections = [
                [
                    " ".join(re.findall(r"[\w-]+(?:[.,]\d+)*|[^\w\s]", s.text.lower()))
                    for s in sentences
                ]
                for _, sentences in article.sections
            ]
            record = {
                "article_id": f"{domain}{number:07d}",
                "article_text": [sentence for section in sections for sentence in section],
                "abstract_text": [f"<S> {sections[0][0]} </S>", f"<S> {sections[-1][-1]} </S>"],
                "labels": None,
                "section_names": [
                    draws.pick(printed.get(title, (title,))) for title, _ in article.sections
                ],
                "sections": sections,
            }
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        files[file] = "".join(lines).encode()
    return files


FORMS: Mapping[str, tuple[Callable[[int, int], Mapping[str, bytes]], Callable[..., Corpus]]] = {
    "wiki": (dump_files, wikipedia.build),
    "pubmed": (partial(cohan_files, "pubmed"), scientific.build),
    "arxiv": (partial(cohan_files, "arxiv"), scientific.build),
}
