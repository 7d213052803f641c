"""The domains of articles: section chains, kinds of pages, mention processes and vocabularies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from longform.core.documents import BadInput
from longform.datasets.synthetic_world.grammar import Frame, Style, compile_frame, compile_style
from longform.datasets.synthetic_world.lexicon import Vocabulary, vocabulary
from longform.datasets.synthetic_world.mentions import MentionProcess
from longform.datasets.synthetic_world.section_chain import SectionChain
from longform.datasets.synthetic_world.tables import table
from longform.datasets.synthetic_world.topic_path import TopicPrior

SCIENTIFIC = {"pubmed": "medical", "arxiv": "physical"}
DOMAINS = ("wiki", "wikisection", "encyclopedia", *SCIENTIFIC)
PROCESSES = {
    "person": MentionProcess(quiet=0.30, opens_with_person=True),
    "film": MentionProcess(quiet=0.25, opens_with_person=True, newcomer=0.9),
    "city": MentionProcess(quiet=0.85),
    "company": MentionProcess(quiet=0.65),
}


@dataclass(frozen=True)
class Kind:
    """A kind of page: how often and how it mentions persons, and how its first sentence is made."""

    mentions: MentionProcess
    openings: tuple[Frame, ...]


@dataclass(frozen=True)
class Domain:
    """Everything that articles of one domain are drawn from.

    Attributes:
        kind_of: kind of page by the title of its second section.
        kind: of all other pages.
        styles: by section title, or by ``title/kind`` where they depend on the kind.
        fact_share: probability that an eligible sentence of an abstract states a fact.
    """

    chain: SectionChain
    kind_of: Mapping[str, str]
    kind: str
    kinds: Mapping[str, Kind]
    styles: Mapping[str, Style]
    vocabulary: Vocabulary
    prior: TopicPrior
    fact_share: float = 0.4


def _scientific(name: str, field: str) -> Domain:
    frames = table(f"{field}_frames")
    styles = {title: compile_style(block) for title, block in frames["sections"].items()}
    kinds = {"study": Kind(MentionProcess(quiet=1.0), (compile_frame(frames["opening"]),))}
    chain, words = SectionChain.from_table(table("section_chains")[name]), vocabulary(field)
    return Domain(chain, {}, "study", kinds, styles, words, TopicPrior(len(words.topics), block=2))


def _encyclopedic(name: str) -> Domain:
    """Pages on persons, films, cities and companies; in ``encyclopedia`` every section is written like an abstract.

    So most facts of an encyclopedia's pages are stated in them.
    """
    frames, chains = table("encyclopedic_frames"), table("section_chains")
    styles = {title: compile_style(block) for title, block in frames["sections"].items()}
    abstracts = {kind: compile_style(block) for kind, block in frames["abstracts"].items()}
    styles |= {f"abstract/{kind}": style for kind, style in abstracts.items()}
    kind_of = chains["kinds"]["encyclopedia" if name == "encyclopedia" else "wiki"]
    if name == "encyclopedia":
        styles |= {title: abstracts[kind] for title, kind in kind_of.items()}
        styles |= {f"record/{kind}": abstracts[kind] for kind in kind_of.values()}
    kinds = {k: Kind(process, tuple(map(compile_frame, frames["openings"][k]))) for k, process in PROCESSES.items()}
    chain, words = SectionChain.from_table(chains[name]), vocabulary("everyday")
    share = 0.9 if name == "encyclopedia" else 0.4
    return Domain(chain, kind_of, "city", kinds, styles, words, TopicPrior(len(words.topics)), share)


@cache
def domain(name: str) -> Domain:
    """The domain of that name, built once.

    Raises:
        BadInput: no such domain of articles.
    """
    if name not in DOMAINS:
        raise BadInput(f"domain {name!r} has no articles, allowed are {sorted(DOMAINS)}; choose one of them")
    return _scientific(name, SCIENTIFIC[name]) if name in SCIENTIFIC else _encyclopedic(name)
