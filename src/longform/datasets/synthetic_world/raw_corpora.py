"""Planted articles in the native files of the papers' corpora: Cohan et al.'s JSONL, WikiSection's text and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from longform.datasets.synthetic_world.articles import Article
from longform.datasets.synthetic_world.corpus import to_document
from longform.datasets.synthetic_world.draws import Draws
from longform.resampling import generator

PRINTED = {  # forms in which a title is printed; the paper's normaliser maps each to the key
    "introduction": ("introduction", "1. introduction", "introductions"),
    "background": ("background", "2 background"),
    "method": ("methods", "method", "2. methods"),
    "material and method": ("materials and methods", "material and methods", "2. materials and methods"),
    "result": ("results", "result", "3. results"),
    "numerical result": ("numerical results",),
    "observation": ("observations", "observation"),
    "experiment": ("experiments", "experiment"),
    "discussion": ("discussion", "4. discussion", "discussions"),
    "conclusion": ("conclusions", "conclusion", "5. conclusion"),
    "acknowledgment": ("acknowledgements", "acknowledgments", "acknowledgement"),
}
HEADINGS = {"history": "History", "geography": "Geography", "demographics": "Demographics"}


def spaced(text: str) -> str:
    """Lower case with punctuation set apart, as Cohan et al. print their sentences."""
    return " ".join(re.findall(r"[\w-]+(?:[.,]\d+)*|[^\w\s]", text.lower()))


def cohan_lines(articles: Iterable[Article], domain_name: str) -> Iterator[str]:
    """One JSON record a line: article_id, article_text, abstract_text, labels, section_names, sections."""
    for article in articles:
        draws = Draws(generator("planted", "cohan", domain_name, article.index))
        sections = [[spaced(s.text) for s in sentences] for _, sentences in article.sections]
        names = [draws.pick(PRINTED.get(title, (title,))) for title, _ in article.sections]
        abstract = [f"<S> {sections[0][0]} </S>", f"<S> {sections[-1][-1]} </S>"]
        record = {
            "article_id": f"{domain_name}{article.index:07d}",
            "article_text": [sentence for section in sections for sentence in section],
            "abstract_text": abstract,
            "labels": None,
            "section_names": names,
            "sections": sections,
        }
        yield json.dumps(record, ensure_ascii=False)


def wikisection_lines(articles: Iterable[Article], marked: bool) -> Iterator[str]:
    """One article a line, sections joined by a blank; ``marked`` puts ``[ HISTORY ]`` before each section."""
    for article in articles:
        sections = to_document(article, "wikisection").sections
        yield " ".join(f"[ {s.title.upper()} ] {s.text}" if marked else s.text for s in sections if s.title)


def wikisection_records(articles: Iterable[Article]) -> list[dict[str, object]]:
    """The records of WikiSection's JSON: section spans refer to ``text``, which begins with the abstract."""
    return [_wikisection_record(article) for article in articles]


def _wikisection_record(article: Article) -> dict[str, object]:
    sections = to_document(article, "wikisection").sections
    text, annotations = "", []
    for section in sections:
        heading = HEADINGS.get(section.title or "", "Abstract")
        begin = len(text)
        text += section.text + "\n"
        annotations.append({
            "class": "SectionAnnotation", "begin": begin, "length": len(section.text), "sectionHeading": heading,
            "sectionLabel": f"city.{section.title}",
        })  # fmt: skip
    return {
        "id": f"http://planted.example/{article.title.replace(' ', '_')}",
        "type": "city",
        "title": article.title,
        "abstract": sections[0].text,
        "text": text,
        "annotations": annotations,
    }
