"""The domains of articles: section chains, kinds of pages, mention processes and vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from longform.corpora.planted import lexicon, wiki_frames
from longform.corpora.planted.grammar import Frame, Style, compile_frame, compile_style
from longform.corpora.planted.mentions import MentionProcess
from longform.corpora.planted.section_chain import SectionChain
from longform.corpora.planted.topic_path import TopicPrior
from longform.units import BadInput


@dataclass(frozen=True)
class Kind:
    """A kind of page: how often and how it mentions persons, and how its first sentence is made."""

    mentions: MentionProcess
    openings: tuple[Frame, ...]


@dataclass(frozen=True)
class Domain:
    """Everything that articles of one domain are drawn from.

    Attributes:
        kind_of: kind of page by the title of its second section, with a default under ``""``.
        styles: by section title, or by ``abstract/kind`` where the abstract depends on the kind.
        fact_share: probability that an eligible sentence of an abstract states a fact.
        sentences: least and most sentences of a section.
    """

    chain: SectionChain
    kind_of: Mapping[str, str]
    kinds: Mapping[str, Kind]
    styles: Mapping[str, Style]
    vocabulary: lexicon.Vocabulary
    prior: TopicPrior
    fact_share: float = 0.4
    sentences: tuple[int, int] = (5, 9)


KIND_OF = {"early life": "person", "career": "person", "plot": "film", "cast": "film", "production": "film",
           "founding": "company", "products": "company", "": "city"}  # fmt: skip
PROCESSES = {
    "person": MentionProcess(quiet=0.30, opens_with_person=True),
    "film": MentionProcess(quiet=0.25, opens_with_person=True, newcomer=0.9),
    "city": MentionProcess(quiet=0.85),
    "company": MentionProcess(quiet=0.65),
}
WIKI = {
    "begin": {"abstract": 1.0},
    "abstract": {"early life": 0.24, "career": 0.06, "plot": 0.22, "production": 0.06, "history": 0.20,
                 "geography": 0.06, "founding": 0.16},
    "early life": {"career": 0.85, "personal life": 0.15},
    "career": {"personal life": 0.70, "career": 0.05, "reception": 0.25},
    "personal life": {"end": 0.80, "reception": 0.10, "career": 0.10},
    "plot": {"cast": 0.55, "production": 0.40, "reception": 0.05},
    "cast": {"production": 0.60, "reception": 0.40},
    "production": {"reception": 0.85, "cast": 0.15},
    "reception": {"end": 0.95, "personal life": 0.05},
    "history": {"geography": 0.65, "demographics": 0.35},
    "geography": {"demographics": 0.75, "history": 0.20, "geography": 0.05},
    "demographics": {"end": 0.90, "history": 0.10},
    "founding": {"products": 0.70, "management": 0.30},
    "products": {"management": 0.60, "end": 0.40},
    "management": {"end": 0.75, "products": 0.25},
}  # fmt: skip
WIKISECTION = {
    "begin": {"abstract": 1.0},
    "abstract": {"history": 0.65, "geography": 0.35},
    "history": {"geography": 0.55, "demographics": 0.45},
    "geography": {"demographics": 0.70, "history": 0.25, "geography": 0.05},
    "demographics": {"end": 0.80, "history": 0.08, "geography": 0.12},
}


def _wiki_styles() -> dict[str, Style]:
    styles = {title: compile_style(block) for title, block in wiki_frames.SECTIONS.items()}
    return styles | {f"abstract/{kind}": compile_style(block) for kind, block in wiki_frames.ABSTRACTS.items()}


def _wiki_kinds() -> dict[str, Kind]:
    openings = wiki_frames.OPENINGS
    return {k: Kind(process, tuple(map(compile_frame, openings[k]))) for k, process in PROCESSES.items()}


def _wiki_like(table: Mapping[str, Mapping[str, float]], fact_share: float) -> Domain:
    vocabulary = lexicon.everyday()
    chain, prior = SectionChain.from_table(table), TopicPrior(len(vocabulary.topics))
    return Domain(chain, KIND_OF, _wiki_kinds(), _wiki_styles(), vocabulary, prior, fact_share)


DOMAINS: Mapping[str, Callable[[], Domain]] = {
    "wiki": lambda: _wiki_like(WIKI, 0.4),
    "wikisection": lambda: _wiki_like(WIKISECTION, 0.4),
}


@cache
def domain(name: str) -> Domain:
    """The domain of that name, built once.

    Raises:
        BadInput: no such domain of articles.
    """
    if name not in DOMAINS:
        raise BadInput(f"domain {name!r} has no articles, allowed are {sorted(DOMAINS)}; choose one of them")
    return DOMAINS[name]()
