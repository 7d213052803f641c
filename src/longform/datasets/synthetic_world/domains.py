"""The domains of articles: section chains, kinds of pages, mention processes and vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from longform.datasets.synthetic_world import lexicon, science, science_frames, wiki_frames
from longform.datasets.synthetic_world.grammar import Frame, Style, compile_frame, compile_style
from longform.datasets.synthetic_world.mentions import MentionProcess
from longform.datasets.synthetic_world.section_chain import SectionChain
from longform.datasets.synthetic_world.topic_path import TopicPrior
from longform.documents import BadInput


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
    "geography": {"demographics": 0.80, "history": 0.16, "geography": 0.04},
    "demographics": {"end": 0.90, "history": 0.10},
    "founding": {"products": 0.70, "management": 0.30},
    "products": {"management": 0.60, "end": 0.40},
    "management": {"end": 0.75, "products": 0.25},
}  # fmt: skip
WIKISECTION = {
    "begin": {"abstract": 1.0},
    "abstract": {"history": 0.65, "geography": 0.35},
    "history": {"geography": 0.55, "demographics": 0.45},
    "geography": {"demographics": 0.80, "history": 0.16, "geography": 0.04},
    "demographics": {"end": 0.84, "history": 0.06, "geography": 0.10},
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


ENCYCLOPEDIA = {
    "begin": {"abstract": 1.0},
    "abstract": {"life": 0.30, "story": 0.25, "place": 0.25, "business": 0.20},
    "life": {"record": 0.6, "end": 0.4},
    "story": {"record": 0.6, "end": 0.4},
    "place": {"record": 0.6, "end": 0.4},
    "business": {"record": 0.6, "end": 0.4},
    "record": {"end": 1.0},
}
ENCYCLOPEDIA_KINDS = {"life": "person", "story": "film", "place": "city", "business": "company", "": "city"}
PUBMED = {
    "begin": {"introduction": 0.80, "background": 0.20},
    "introduction": {"method": 0.45, "material and method": 0.50, "background": 0.05},
    "background": {"method": 0.70, "introduction": 0.30},
    "method": {"result": 0.90, "method": 0.10},
    "material and method": {"result": 0.95, "method": 0.05},
    "result": {"discussion": 0.90, "result": 0.10},
    "discussion": {"conclusion": 0.45, "acknowledgment": 0.15, "end": 0.40},
    "conclusion": {"end": 0.60, "acknowledgment": 0.40},
    "acknowledgment": {"end": 1.0},
}
ARXIV = {
    "begin": {"introduction": 1.0},
    "introduction": {"background": 0.15, "model": 0.25, "theory": 0.10, "method": 0.10, "data": 0.10,
                     "observation": 0.15, "experiment": 0.15},
    "background": {"model": 0.50, "theory": 0.30, "method": 0.20},
    "model": {"theory": 0.20, "method": 0.25, "result": 0.25, "numerical result": 0.30},
    "theory": {"numerical result": 0.50, "result": 0.50},
    "method": {"data": 0.15, "result": 0.50, "numerical result": 0.35},
    "data": {"analysis": 0.60, "result": 0.40},
    "observation": {"data": 0.30, "analysis": 0.40, "result": 0.30},
    "experiment": {"analysis": 0.25, "result": 0.75},
    "analysis": {"result": 0.70, "discussion": 0.30},
    "result": {"discussion": 0.55, "conclusion": 0.35, "analysis": 0.10},
    "numerical result": {"discussion": 0.40, "conclusion": 0.60},
    "discussion": {"conclusion": 0.70, "acknowledgment": 0.20, "end": 0.10},
    "conclusion": {"acknowledgment": 0.50, "end": 0.50},
    "acknowledgment": {"end": 1.0},
}  # fmt: skip


def _scientific(
    table: Mapping[str, Mapping[str, float]], sections: Mapping[str, str], topics: Mapping[str, str]
) -> Domain:
    chain = SectionChain.from_table(table)
    kind = Kind(MentionProcess(quiet=1.0), (compile_frame("we study {a_adj} {thing} and its {idea}"),))
    vocabulary = lexicon.vocabulary(topics)
    styles = {title: compile_style(block) for title, block in sections.items()}
    return Domain(chain, {"": "study"}, {"study": kind}, styles, vocabulary, TopicPrior(len(topics), block=2))


def _encyclopedia() -> Domain:
    """Pages whose every section is written like an abstract, so that most of their facts are stated."""
    wiki = _wiki_like(ENCYCLOPEDIA, 0.9)
    kinds, styles = {title: kind for title, kind in ENCYCLOPEDIA_KINDS.items() if title}, wiki.styles
    extra = {title: styles[f"abstract/{kind}"] for title, kind in kinds.items()}
    extra |= {f"record/{kind}": styles[f"abstract/{kind}"] for kind in kinds.values()}
    return replace(wiki, kind_of=ENCYCLOPEDIA_KINDS, styles=dict(styles) | extra)


DOMAINS: Mapping[str, Callable[[], Domain]] = {
    "wiki": lambda: _wiki_like(WIKI, 0.4),
    "wikisection": lambda: _wiki_like(WIKISECTION, 0.4),
    "encyclopedia": _encyclopedia,
    "pubmed": lambda: _scientific(PUBMED, science_frames.MEDICAL_SECTIONS, science.MEDICAL),
    "arxiv": lambda: _scientific(ARXIV, science_frames.PHYSICAL_SECTIONS, science.PHYSICAL),
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
