r"""How a document becomes language-model text, and back (deng2022 appendix E; released formatting scripts).

With titles a section is ``title: text``, without it is ``text``; sections are joined by one blank line. An
article is ``EOT body EOT``, articles are separated by a newline, so a model meets ``EOT \n EOT`` before each body.
"""

from __future__ import annotations

from longform.core.documents import Document, Section

SECTION_BREAK = "\n\n"


def render(document: Document, titles: bool) -> str:
    """The body of one article; blank lines inside a section are closed up, as they would read as section breaks."""
    return SECTION_BREAK.join(_section(section, titles) for section in document.sections)


def _section(section: Section, titles: bool) -> str:
    text = "\n".join(line for line in section.text.splitlines() if line.strip()) or section.text.strip()
    return f"{section.title}: {text}" if titles else text


def parse(body: str, titles: bool) -> tuple[Section, ...] | None:
    """Sections of a generated body; None where it is malformed and must be drawn again.

    With titles every part needs a first colon and some text after it; without, only an empty body fails.
    """
    body = body.strip()
    if not body:
        return None
    parts = body.split(SECTION_BREAK)
    if not titles:
        return tuple(Section(None, part) for part in parts)
    pairs = [part.partition(":") for part in parts]
    if any(not colon or not text.strip() for _, colon, text in pairs):
        return None
    return tuple(Section(title.strip(), text.strip()) for title, _, text in pairs)
