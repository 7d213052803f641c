"""Documents cut to the first sentences of every section.

The order and the subjects of sections stay, in a tenth of the words: a whole document fits into a
small context, and a network sees the end of each. Ours, for studies on two cores.
"""

from dataclasses import replace

from longform.documents import Document, Section
from longform.text.sentences import sentence_texts


def with_openings(document: Document, sentences: int) -> Document:
    """The document with the first sentences of each section alone, joined by blanks.

    Args:
        document: the whole one.
        sentences: how many of each section stay; a shorter section stays whole.
    """
    sections = []
    for section in document.sections:
        opening = " ".join(sentence_texts(section.text)[:sentences])
        sections.append(Section(section.title, opening))
    return replace(document, sections=tuple(sections))
