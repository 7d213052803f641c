"""A small MediaWiki export, plain or multistream, for tests of the dump reader."""

import bz2
from xml.sax.saxutils import escape

HEADER = '<mediawiki xml:lang="en">\n  <siteinfo>\n    <sitename>Test</sitename>\n  </siteinfo>\n'
FOOTER = "</mediawiki>\n"


def page(number, title, text, *, ns=0, redirect=False, model="wikitext"):
    """The XML of one page."""
    hop = '    <redirect title="Elsewhere" />\n' if redirect else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{ns}</ns>\n    <id>{number}</id>\n{hop}    <revision>\n"
        f"      <id>{number + 9000}</id>\n      <model>{model}</model>\n"
        f'      <text xml:space="preserve">{escape(text)}</text>\n    </revision>\n  </page>\n'
    )


def article(number, sections=("History", "Geography", "Economy", "Culture"), words=40):
    """Wikitext of an article with an introduction and some sections, each of about as many words."""
    body = " ".join(f"word{number}x{i}" for i in range(words))
    parts = [
        f"'''Town {number}''' is a [[town]]. {body}.{{{{citation needed}}}}<ref>{{{{cite web|url=x}}}}</ref>"
    ]
    parts += [
        f"== {title} ==\nIn {title.lower()}, {body}.\n\n[[File:a.jpg|thumb|A [[caption]]]]"
        for title in sections
    ]
    return "\n\n".join(parts) + "\n\n== See also ==\n* [[Other]]\n"


def articles(count, first=1):
    """Pages of plain articles."""
    return [
        page(number, f"Town {number}", article(number)) for number in range(first, first + count)
    ]


def plain(pages):
    """The dump as one bz2 stream."""
    return bz2.compress((HEADER + "".join(pages) + FOOTER).encode())


def multistream(pages, per_stream=10):
    """The dump as many bz2 streams."""
    groups = (
        "".join(pages[start : start + per_stream]) for start in range(0, len(pages), per_stream)
    )
    return b"".join(bz2.compress(text.encode()) for text in (HEADER, *groups, FOOTER))


def write(folder, pages, per_stream=10):
    """A multistream dump in a folder."""
    dump = folder / "pages-articles-multistream.xml.bz2"
    dump.write_bytes(multistream(pages, per_stream))
    return dump
