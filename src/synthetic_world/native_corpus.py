"""The synthetic world through the readers of real data.

It is written in a native format, and read back as the real files would be. At the default scale
nothing can be downloaded; this runs the dump reader and Cohan et al.'s format with every filter, on
text whose truth is known. Synthetic text never stands for the corpora that it imitates.
"""

import bz2
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
from synthetic_world.grammar import Sentence

PAGES_PER_STREAM = 100  # as in Wikimedia's own multistream dumps
FIRST_PAGE_ID = 12  # the first article id of the English dump
# Of twenty pages twelve are plain articles and the others are the classes below, one place each.
CYCLE = 20
SPECIAL = {
    3: "redirect",
    7: "redirect",
    9: "disambiguation",
    11: "year",
    13: "talk",
    15: "template",
    17: "broken",
    19: "file",
}
REMOVED = ("See also", "References", "External links", "Further reading", "Notes")
NAMESPACES = {"talk": (1, "Talk:"), "template": (10, "Template:"), "file": (6, "File:")}


@dataclass(frozen=True)
class Page:
    """One page of the dump and its truth.

    Attributes:
        page_id: as the dump numbers it.
        title: of the page.
        kind: article, redirect, disambiguation, year, broken, talk, template or file.
        wikitext: its text.
        redirect: the title that it leads to.
        sections: title and plain text of each section that a reader should keep; the lead is
            ``abstract``. Empty for pages that are no articles, and for broken ones, whose text no
            rule decides.
    """

    page_id: int
    title: str
    kind: str
    wikitext: str
    redirect: str | None = None
    sections: tuple[tuple[str, str], ...] = ()

    @property
    def xml(self) -> str:
        """The ``<page>`` element, as Wikimedia exports it."""
        namespace, _ = NAMESPACES.get(self.kind, (0, ""))
        redirect = ""
        if self.redirect:
            redirect = f"    <redirect title={quoteattr(self.redirect)} />\n"
        values = {
            "title": escape(self.title),
            "ns": namespace,
            "id": self.page_id,
            "redirect": redirect,
            "revision": self.page_id + 1_000_000,
            "size": len(self.wikitext.encode()),
            "text": escape(self.wikitext),
        }
        return table("wiki_markup")["page"] % values


def write_page(seed: int, number: int) -> Page:
    """Page ``number`` of the dump, an article or, at some places of a cycle, another kind of page.

    It depends on its arguments alone.
    """
    markup = table("wiki_markup")
    kind = SPECIAL.get(number % CYCLE, "article")
    article = write(seed, "wiki", number)
    title = article.title
    draws = Draws(stream("markup", seed, number))
    page = partial(Page, FIRST_PAGE_ID + 3 * number)
    # 1. Articles, whole or broken.
    if kind == "article":
        text, sections = _article(article, draws)
        return page(title, kind, text, None, sections)
    if kind == "broken":
        text, _ = _article(article, draws)
        return page(f"{title} (broken)", kind, draws.pick(markup["broken"]) + text)
    # 2. Pages that are no articles; some hold the text of the article's first section.
    if kind == "redirect":
        target = write(seed, "wiki", number - 1).title
        return page(f"{title} (old name)", kind, markup["redirect"] % {"title": target}, target)
    _, abstract = article.sections[0]
    body = _joined(abstract)
    if kind in NAMESPACES:
        _, prefix = NAMESPACES[kind]
        return page(prefix + title, kind, f"== About ==\n{body}")
    year = str(1000 + number // CYCLE)
    text = markup[kind] % {"title": title, "body": body, "year": year}
    return page(year if kind == "year" else f"{title} ({kind})", kind, text)


def _joined(sentences: Sequence[Sentence]) -> str:
    return " ".join(sentence.text for sentence in sentences)


def _article(article: Article, draws: Draws) -> tuple[str, tuple[tuple[str, str], ...]]:
    """An article's wikitext, and (title, text) of each section that a reader should find in it."""
    markup = table("wiki_markup")
    parts, sections = [], []
    # 1. The article's own sections under their titles; the first has an infobox in place of one.
    for number, (title, sentences) in enumerate(article.sections):
        texts = [sentence.text for sentence in sentences]
        if number == len(article.sections) - 1 and draws.uniform() < 0.3:
            texts.append(markup["foreign"])
        sections.append((title, " ".join(texts)))
        if number:
            head = _section_head(title, article, draws)
        else:
            head = _infobox(article)
            texts[0] = texts[0].replace(article.title, f"'''{article.title}'''", 1)
        parts.append(head + " ".join(_marked(text, draws) for text in texts))
    # 2. Sections that a reader removes.
    if draws.uniform() < 0.5:
        parts.append(markup["see_also"])
    parts.append(markup["references"])
    if draws.uniform() < 0.5:
        parts.append(markup["external_links"])
    parts.append(markup["last"] % {"kind": article.kind.capitalize(), "title": article.title})
    return "\n\n".join(parts), tuple(sections)


def _section_head(title: str, article: Article, draws: Draws) -> str:
    """A section's title, in four of six cases with markup before its text."""
    choice = draws.integer(0, 5)
    head = f"== {title.capitalize()} ==\n"
    if choice < 4:
        head += table("wiki_markup")["sections"][choice] % {"title": article.title}
    return head


def _infobox(article: Article) -> str:
    """The template at the head of a page, which lists its facts and is not to be read."""
    facts = "\n".join(f"| {name} = {value}" for name, value in article.facts.items())
    values = {"kind": article.kind, "title": article.title, "facts": facts}
    return table("wiki_markup")["infobox"] % values


def _marked(text: str, draws: Draws) -> str:
    """A sentence, perhaps with inline markup, which leaves its plain text unchanged."""
    marks = table("wiki_markup")["sentences"]
    choice = draws.integer(0, 9)
    if choice >= len(marks):
        return text
    if choice in (0, 1, 4):  # these stand in place of the last word
        rest, _, last = text.rpartition(" ")
        word = last.rstrip(".")
        if not word.isalpha():
            return text
        return f"{rest} {marks[choice] % {'word': word, 'capital': word.capitalize()}}"
    if choice == 2:
        return text + marks[choice] % {"number": draws.integer(1, 9)}
    return text + marks[choice]


def dump_files(seed: int, pages: int) -> dict[str, bytes]:
    """A dump of that many pages by its file name.

    Header, pages by the hundred and footer are one stream each.
    """
    elements = [write_page(seed, number).xml for number in range(pages)]
    streams = [table("wiki_markup")["header"]]
    for start in range(0, pages, PAGES_PER_STREAM):
        streams.append("".join(elements[start : start + PAGES_PER_STREAM]))
    streams.append("</mediawiki>\n")
    compressed = [bz2.compress(stream.encode()) for stream in streams]
    return {"syntheticwiki-pages-articles-multistream.xml.bz2": b"".join(compressed)}


def build(
    *, name: str, seed: int, form: str, documents: int, reader: Mapping[str, Any] | None = None
) -> Corpus:
    """Write synthetic pages or articles in a native form, and read them with its own reader.

    Args:
        name, seed: of the corpus.
        form: one of ``FORMS``.
        documents: how many are written.
        reader: settings of the form's ``build`` (:mod:`wikipedia`, :mod:`scientific`).

    Raises:
        BadInput: an unknown form, or what the reader raises.
    """
    if form not in FORMS:
        raise BadInput(f"form is {form!r}, allowed are {sorted(FORMS)}; fix form")
    write_files, read_corpus = FORMS[form]
    settings = dict(reader or {})
    if unknown := sorted(set(settings) - set(inspect.signature(read_corpus).parameters)):
        raise BadInput(f"the reader of {form} has no setting {unknown}; fix reader")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for file, content in write_files(seed, documents).items():
            path = Path(folder) / file
            path.write_bytes(content)
            paths.append(path)
        raw = paths[0] if len(paths) == 1 else Path(folder)
        corpus = read_corpus(name=name, seed=seed, raw=raw, **settings)
    return Corpus(corpus.documents, corpus.truth, {**corpus.facts, "synthetic": True, "form": form})


def cohan_files(domain: str, seed: int, documents: int) -> Mapping[str, bytes]:
    """The first ``documents`` articles in a file for each split, one JSON record a line.

    Sentences are in lower case with punctuation set apart, as Cohan et al. print them; a title is
    printed in one of several forms, which the paper's normaliser maps to one.
    """
    files = {}
    for split, file in (("train", "train.txt"), ("validation", "val.txt"), ("test", "test.txt")):
        lines = []
        for number in indices({split: documents}):
            if number < documents:
                record = _cohan_record(domain, seed, number)
                lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        files[file] = "".join(lines).encode()
    return files


def _cohan_record(domain: str, seed: int, number: int) -> dict[str, Any]:
    """One article as Cohan et al. have it."""
    printed_titles = table("section_titles")
    article = write(seed, domain, number)
    draws = Draws(stream("cohan", domain, number))
    titles: list[str] = []
    sections: list[list[str]] = []
    every_sentence: list[str] = []
    for title, sentences in article.sections:
        titles.append(draws.pick(printed_titles.get(title, (title,))))
        tokenized = [_tokenized(sentence.text) for sentence in sentences]
        sections.append(tokenized)
        every_sentence += tokenized
    return {
        "article_id": f"{domain}{number:07d}",
        "article_text": every_sentence,
        "abstract_text": [f"<S> {sections[0][0]} </S>", f"<S> {sections[-1][-1]} </S>"],
        "labels": None,
        "section_names": titles,
        "sections": sections,
    }


def _tokenized(text: str) -> str:
    """In lower case, punctuation set apart but within numbers and words."""
    return " ".join(re.findall(r"[\w-]+(?:[.,]\d+)*|[^\w\s]", text.lower()))


FORMS: Mapping[str, tuple[Callable[[int, int], Mapping[str, bytes]], Callable[..., Corpus]]] = {
    "wiki": (dump_files, wikipedia.build),
    "pubmed": (partial(cohan_files, "pubmed"), scientific.build),
    "arxiv": (partial(cohan_files, "arxiv"), scientific.build),
}
