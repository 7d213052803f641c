"""Documents cut to the first sentences of every section.

The order and the subjects of sections stay, in a tenth of the words: a whole document fits into a
small context, and a network sees the end of each. Ours, for studies on two cores.
"""

from dataclasses import replace

from longform.documents import Document, Section
from longform.text.sentences import sentence_texts


def with_openings(document: Document, words: int) -> Document:
    """The document with the opening of each section alone.

    Args:
        document: its sections are texts of one or more paragraphs.
        words: most words of an opening, parted by white space. Sentences are kept while they fit;
            the first one is kept whole however long it is.
    """
    sections = []
    for section in document.sections:
        sections.append(Section(section.title, opening(section.text, words)))
    return replace(document, sections=tuple(sections))


def opening(text: str, words: int) -> str:
    """The first sentences of a text, joined by blanks; see :func:`with_openings`."""
    kept: list[str] = []
    num_words = 0
    for sentence in sentence_texts(text):
        num_words += len(sentence.split())
        if kept and num_words > words:
            break
        kept.append(sentence)
    return " ".join(kept)
