"""The planted wiki as a MediaWiki dump: bz2 multistream with its index, and every kind of page a reader must survive.

Articles are written with the markup of real pages (infoboxes, references, files with nested links, tables, comments,
galleries, entities) around text that is planted. Beside them stand redirects, disambiguation pages, year pages, other
namespaces and pages whose markup is broken; the truth says of each page what it is and what its sections are.
"""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.draws import Draws
from longform.resampling import generator

PAGES_PER_STREAM = 100  # as in Wikimedia's own multistream dumps
FIRST_PAGE_ID = 12  # the first article id of the English dump
CYCLE = 20  # of twenty pages twelve are plain articles and the others are the classes below, one place each
SPECIAL = {
    3: "redirect", 7: "redirect", 9: "disambiguation", 11: "year", 13: "talk", 15: "template", 17: "broken", 19: "file",
}  # fmt: skip
TITLES = {
    "early life": "Early life", "career": "Career", "personal life": "Personal life", "plot": "Plot", "cast": "Cast",
    "production": "Production", "reception": "Reception", "history": "History", "geography": "Geography",
    "demographics": "Demographics", "founding": "Founding", "products": "Products", "management": "Management",
}  # fmt: skip
REMOVED = ("See also", "References", "External links", "Further reading", "Notes")
FOREIGN = "Older maps spell the name “Ørsköping – Žďár” and price a crossing at 3 €."
BROKEN = (
    "{{Infobox person\n| name = Nobody\n| born = {{birth date|1900\n",
    "{| class=\"wikitable\"\n! Year !! Count\n|-\n| 1900 || 12\n",
    "<ref>A note that never ends\n",
    "[[File:Lost.jpg|thumb|A caption with [[an open link\n",
    "'''''Bold and italic that never close\n",
    "<!-- a comment that never ends\n",
)  # fmt: skip
NAMESPACES = {"talk": (1, "Talk:"), "template": (10, "Template:"), "file": (6, "File:")}


@dataclass(frozen=True)
class Page:
    """One page of the dump and its truth.

    Attributes:
        kind: article, redirect, disambiguation, year, broken, talk, template or file.
        sections: title and plain text of each section that a reader should keep; the lead is ``abstract``. Empty for
            pages that are no articles, and for broken ones, whose text no rule decides.
    """

    page_id: int
    title: str
    namespace: int
    kind: str
    wikitext: str
    redirect: str | None
    sections: tuple[tuple[str, str], ...]


def write_page(seed: int, number: int) -> Page:
    """Page ``number`` of the dump: a function of its arguments alone."""
    kind = SPECIAL.get(number % CYCLE, "article")
    article = write(seed, "wiki", number)
    draws = Draws(generator("planted", "markup", seed, number))
    page_id = FIRST_PAGE_ID + 3 * number
    if kind == "redirect":
        target = write(seed, "wiki", number - 1).title
        title = f"{article.title} (old name)"
        return Page(page_id, title, 0, kind, f"#REDIRECT [[{target}]]\n\n{{{{R from move}}}}", target, ())
    if kind == "article":
        text, sections = _article(article, draws)
        return Page(page_id, article.title, 0, kind, text, None, sections)
    title, text = _special(kind, article, number, draws)
    return Page(page_id, title, NAMESPACES.get(kind, (0, ""))[0], kind, text, None, ())


def _special(kind: str, article: Article, number: int, draws: Draws) -> tuple[str, str]:
    body = to_document(article, "wiki").sections[0].text
    if kind == "disambiguation":
        rows = f"* [[{article.title}]], a place\n* [[{article.title} (film)]], a film"
        text = f"'''{article.title}''' may refer to:\n{rows}\n\n{{{{disambiguation}}}}"
        return f"{article.title} (disambiguation)", text
    if kind == "year":
        year = str(1000 + number // CYCLE)
        rest = "== Births ==\n* Nobody\n\n== Deaths ==\n* Nobody"
        return year, f"'''{year}''' was a year.\n\n== Events ==\n* {body}\n\n{rest}"
    if kind == "broken":
        whole, _ = _article(article, draws)
        return f"{article.title} (broken)", f"{draws.pick(BROKEN)}{whole}"
    return f"{NAMESPACES[kind][1]}{article.title}", f"== About ==\n{body}"


def _article(article: Article, draws: Draws) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Wikitext and the plain sections that a reader should find in it."""
    parts, sections = [], []
    for number, (title, sentences) in enumerate(article.sections):
        texts = [s.text for s in sentences]
        if number == len(article.sections) - 1 and draws.uniform() < 0.3:
            texts.append(FOREIGN)
        sections.append((title, " ".join(texts)))
        if number == 0:
            parts.append(_infobox(article) + _lead(article, texts, draws))
        else:
            parts.append(f"== {TITLES[title]} ==\n{_furniture(article, draws)}{_body(texts, draws)}")
    parts.append(_tail(article, draws))
    return "\n\n".join(parts), tuple(sections)


def _infobox(article: Article) -> str:
    rows = "\n".join(f"| {name} = {value}" for name, value in article.facts.items())
    note = "{{Use British English|date={{CURRENTMONTH}} 2020}}\n"
    return f"{note}{{{{Infobox {article.kind}\n| name = {article.title}\n{rows}\n| image = {{{{image|x.png}}}}\n}}}}\n"


def _lead(article: Article, texts: list[str], draws: Draws) -> str:
    first = texts[0].replace(article.title, f"'''{article.title}'''", 1)
    return _body([first, *texts[1:]], draws)


def _body(texts: list[str], draws: Draws) -> str:
    return " ".join(_marked(text, draws) for text in texts)


def _marked(text: str, draws: Draws) -> str:
    """A sentence with inline markup that leaves its plain text unchanged."""
    choice = draws.integer(0, 9)
    words = text.split(" ")
    last = words[-1].rstrip(".")
    if choice == 0 and last.isalpha():
        return " ".join([*words[:-1], f"[[{last.capitalize()}|{last}]]."])
    if choice == 1 and last.isalpha():
        return " ".join([*words[:-1], f"[[{last}]]."])
    if choice == 2:
        return f'{text}<ref name="n{draws.integer(1, 9)}">{{{{cite web|title=A {{{{lang|de|Werk}}}}|url=http://x.org}}}}</ref>'
    if choice == 3:
        return f"{text}<!-- checked -->"
    if choice == 4 and last.isalpha():
        return " ".join([*words[:-1], f"''{last}''."])
    if choice == 5:
        return f"{text}<ref name=again />"
    return text


def _furniture(article: Article, draws: Draws) -> str:
    choice = draws.integer(0, 5)
    if choice == 0:
        caption = "The [[town hall|hall]] in [[1900]], seen from [[the north]]"
        return f"[[File:{article.title} view.jpg|thumb|200px|{caption}]]\n"
    if choice == 1:
        rows = "! Year !! Number\n|-\n| 1900 || 12,345\n|-\n| 1910 || 13,579"
        return f'{{| class="wikitable sortable"\n|+ Counts\n{rows}\n|}}\n'
    if choice == 2:
        return "{{Main|Another page}}\n"
    if choice == 3:
        return "<gallery>\nFile:One.jpg|First\nFile:Two.jpg|Second\n</gallery>\n"
    return ""


def _tail(article: Article, draws: Draws) -> str:
    parts = ["== See also ==\n* [[Another page]]\n* [[Third page]]"] if draws.uniform() < 0.5 else []
    parts.append("== References ==\n{{reflist|2}}")
    if draws.uniform() < 0.5:
        parts.append("== External links ==\n* [http://example.org Official site]")
    return "\n\n".join(
        [*parts, f"{{{{Authority control}}}}\n[[Category:{article.kind.capitalize()}]]\n[[de:{article.title}]]"]
    )


HEADER = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo>
    <sitename>Planted</sitename>
    <dbname>plantedwiki</dbname>
    <generator>longform planted world</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
    </namespaces>
  </siteinfo>
"""
FOOTER = "</mediawiki>\n"


def page_xml(page: Page) -> str:
    """One ``<page>`` element, as Wikimedia exports it."""
    redirect = f"    <redirect title={quoteattr(page.redirect)} />\n" if page.redirect else ""
    size = len(page.wikitext.encode())
    return (
        f"  <page>\n    <title>{escape(page.title)}</title>\n    <ns>{page.namespace}</ns>\n"
        f"    <id>{page.page_id}</id>\n{redirect}    <revision>\n      <id>{page.page_id + 1_000_000}</id>\n"
        "      <timestamp>2020-01-01T00:00:00Z</timestamp>\n      <model>wikitext</model>\n"
        "      <format>text/x-wiki</format>\n"
        f'      <text bytes="{size}" xml:space="preserve">{escape(page.wikitext)}</text>\n'
        "    </revision>\n  </page>\n"
    )


@dataclass(frozen=True)
class Stream:
    """One bz2 stream of a dump and its index lines without offsets: (page id, title)."""

    data: bytes
    pages: tuple[tuple[int, str], ...]


def dump_streams(pages: Iterable[Page]) -> Iterator[Stream]:
    """Header, pages by the hundred, footer; concatenated they are one multistream dump."""
    yield Stream(bz2.compress(HEADER.encode()), ())
    batch: list[Page] = []
    for page in pages:
        batch.append(page)
        if len(batch) == PAGES_PER_STREAM:
            yield _stream(batch)
            batch = []
    if batch:
        yield _stream(batch)
    yield Stream(bz2.compress(FOOTER.encode()), ())


def _stream(pages: list[Page]) -> Stream:
    data = bz2.compress("".join(map(page_xml, pages)).encode())
    return Stream(data, tuple((page.page_id, page.title) for page in pages))


def dump_files(seed: int, pages: int) -> dict[str, bytes]:
    """Dump and index of that many pages, by file name; the index has ``offset:page id:title`` lines."""
    data, lines = bytearray(), []
    for stream in dump_streams(write_page(seed, number) for number in range(pages)):
        lines += [f"{len(data)}:{page_id}:{title}" for page_id, title in stream.pages]
        data += stream.data
    index = bz2.compress(("\n".join(lines) + "\n").encode())
    name = "plantedwiki-pages-articles-multistream"
    return {f"{name}.xml.bz2": bytes(data), f"{name}-index.txt.bz2": index}
