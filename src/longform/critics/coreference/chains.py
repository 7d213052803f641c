"""Who is mentioned where: mentions of entities, resolvers that find them, and the chain of persons read off a text.

The chain follows deng2022 section 5 and appendix G as released: a stop ``.`` opens each sentence; a mention of a
person is a pronoun as written, or the gender of its entity, followed by the entity's number.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from longform.core.documents import BadInput, Chain, Document, Readout, chains_to_readout, ragged
from longform.core.text.rendering import pack
from longform.core.text.sentences import sentences
from longform.critics.coreference.person_mentions import (
    FEMALE,
    MALE,
    NEITHER,
    NO_PERSONS,
    PERSON_PRONOUNS,
    PLURAL,
    VOTES,
)
from longform.datasets.titles import is_film

STOP = "."
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_AFTER_HEAD = re.compile(r"\s(?:of|in|at|from|with|for|on|who|whom|which|that|and|or|to|by)\s|[,;:(]")


@dataclass(frozen=True)
class Mention:
    """One mention of an entity.

    Attributes:
        start, end: half-open character offsets in the text.
        entity: number of its entity within the text.
        named: whether the reader took it for the name of a person (the part of named-entity recognition).
        root: offset of its head word, where the chain places it; None: read off the words of the mention.
        gender: MALE, FEMALE or PLURAL where the reader knows it from the name itself, else None.
    """

    start: int
    end: int
    entity: int
    named: bool = False
    root: int | None = None
    gender: str | None = None


class CorefResolver(Protocol):
    """Finds mentions and says which are of one entity; entities mentioned once are listed too."""

    def header(self) -> Mapping[str, str]:
        """Name, settings and library versions: what a score depends on, for the output's header."""

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Mentions of each text, in the order of their start."""


@dataclass(frozen=True)
class PersonChain:
    """A chain and where in the text each of its symbols stands (a stop: the first character of its sentence)."""

    chain: Chain
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GivenMentions:
    """Mentions given from outside, by text: gold annotation behind the resolvers' protocol."""

    by_text: Mapping[str, Sequence[Mention]] = field(repr=False)
    name: str = "gold"

    def header(self) -> Mapping[str, str]:
        return {"resolver": self.name}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        missing = [text[:40] for text in texts if text not in self.by_text]
        if missing:
            raise BadInput(
                f"no gold mentions for {len(missing)} texts, first {missing[0]!r}; give an entry (maybe empty)"
            )
        return [sorted(self.by_text[text], key=lambda m: (m.start, m.end)) for text in texts]


def root_offset(text: str, start: int, end: int) -> int:
    """Offset of a mention's head word, without a parser: the last word before a preposition, comma or clause."""
    cut = _AFTER_HEAD.search(text, start, end)
    words = list(_WORD.finditer(text, start, cut.start() if cut and cut.start() > start else end))
    words = [word for word in words if word[0][0].isalnum()]
    return words[-1].start() if words else start


def _root_word(text: str, mention: Mention) -> tuple[int, int, str]:
    offset = mention.root if mention.root is not None else root_offset(text, mention.start, mention.end)
    word = _WORD.match(text, offset)
    end = word.end() if word else mention.end
    whole = text[mention.start : mention.end]
    return (mention.start, mention.end, whole) if whole in PERSON_PRONOUNS else (offset, end, text[offset:end])


def is_person(word: str, named: bool) -> bool:
    """The released test on a mention's head word: a person's pronoun or name, and not one of three exceptions."""
    return word.lower() not in NO_PERSONS and (word in PERSON_PRONOUNS or named)


def entity_types(words: Sequence[tuple[int, str, str | None]]) -> dict[int, str]:
    """Type of each entity from (entity, head word, gender of the name or None), in reading order."""
    votes: dict[int, Counter[str]] = {}
    named: dict[int, str] = {}
    for entity, word, gender in words:
        votes.setdefault(entity, Counter()).update([VOTES[word.lower()]] if word.lower() in VOTES else [])
        if gender:
            named.setdefault(entity, gender)
    return {e: counts.most_common(1)[0][0] if counts else named.get(e, NEITHER) for e, counts in votes.items()}


def person_chain(
    document_id: str, split: str, text: str, mentions: Sequence[Mention], singletons: bool = False
) -> PersonChain:
    """The chain of persons of one text.

    Args:
        mentions: of all entities; those of no person are dropped, a cluster being a person if any head word is.
        singletons: keep persons mentioned once; the paper's resolver never has any.
    """
    sizes = Counter(mention.entity for mention in mentions)
    roots = [(*_root_word(text, m), m) for m in mentions if singletons or sizes[m.entity] > 1]
    persons = {m.entity for _, _, word, m in roots if is_person(word, m.named)}
    types = entity_types([(m.entity, word, m.gender) for _, _, word, m in roots])
    tags: dict[tuple[int, int], str] = {}
    for start, end, word, m in sorted(roots, key=lambda root: root[3].entity):
        if m.entity in persons:
            form = word if word in PERSON_PRONOUNS else types[m.entity]
            tags[start, end] = f"{form}:{m.entity}"  # overlapping mentions with one head word: the last entity stays
    stops = [((start, start), STOP) for start, _ in sentences(text)]
    placed = sorted([*stops, *tags.items()], key=lambda item: item[0])
    return PersonChain(Chain(document_id, split, tuple(tag for _, tag in placed)), tuple(span for span, _ in placed))


def read_chains(documents: Sequence[Document], resolver: CorefResolver, singletons: bool = False) -> list[PersonChain]:
    """Chains of the documents' texts (section texts joined by a blank line, titles left out)."""
    texts = [document.text.strip() for document in documents]
    rows = zip(documents, texts, resolver.resolve(texts), strict=True)
    return [person_chain(doc.id, doc.split, text, mentions, singletons) for doc, text, mentions in rows]


def person_chains_to_readout(
    chains: Sequence[PersonChain], header: Mapping[str, str] | None = None, texts: Sequence[str] | None = None
) -> Readout:
    """Chains packed for ``data/inference``, with ``span`` (tokens, 2), where each symbol stands in the text."""
    packed = chains_to_readout([item.chain for item in chains])
    arrays = {**packed.arrays, **ragged("span", [item.spans for item in chains], np.int64, 2)}
    arrays["header_names"] = np.array([f"{key}={value}" for key, value in (header or {}).items()], dtype=np.str_)
    arrays |= pack(texts) if texts is not None else {}
    return replace(packed, arrays=arrays)


def is_film_paper(document: Document) -> bool:
    """The paper's film filter (appendix G): ``is a.*film`` somewhere in the first section."""
    return bool(document.sections) and re.search(r"is a.*film", document.sections[0].text, re.DOTALL) is not None


FILM_FILTERS = {"released": is_film, "paper": is_film_paper}


def read_with(
    resolver: CorefResolver,
    documents: Sequence[Document],
    singletons: bool,
    film_filter: str | None,
    keep_text: bool = False,
) -> Readout:
    """Chains of the documents as a readout; one that the film filter leaves out is an invalid chain, so it is counted."""
    if film_filter is not None and film_filter not in FILM_FILTERS:
        raise BadInput(f"film_filter is {film_filter!r}, allowed are {sorted(FILM_FILTERS)} or null; fix the entry")
    keep = FILM_FILTERS[film_filter] if film_filter else lambda _: True
    kept = {document.id for document in documents if keep(document)}
    read = iter(read_chains([document for document in documents if document.id in kept], resolver, singletons))
    chains = [next(read) if d.id in kept else PersonChain(Chain(d.id, d.split, (), valid=False), ()) for d in documents]
    texts = [document.text.strip() for document in documents] if keep_text else None
    return person_chains_to_readout(chains, resolver.header(), texts)


CHAIN_ARRAYS = ("mention_chain", "mention_chain_lengths", "mention_symbol_names")
SPAN_ARRAYS = ("mention_start", "mention_end", "mention_person", "mention_start_lengths")


def read_gold(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    splits: Sequence[str],
    singletons: bool = True,
    film_filter: str | None = None,
) -> Readout:
    """Gold chains of the chosen documents, with the places of their symbols."""
    mentions = gold_mentions(documents, truth)
    chosen = [document for document in documents if document.split in splits]
    return read_with(mentions, chosen, singletons, film_filter)


def gold_chains(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> list[Chain]:
    """Chains of the documents, from ``mention_chain`` (indices into ``mention_symbol_names``) and its lengths.

    Raises BadInput: an array is missing, or there are not as many lengths as documents.
    """
    _demand(truth, CHAIN_ARRAYS, len(documents))
    names = truth["mention_symbol_names"].tolist()
    rows = np.split(truth["mention_chain"], np.cumsum(truth["mention_chain_lengths"])[:-1])
    pairs = zip(documents, rows, strict=True)
    return [Chain(doc.id, doc.split, tuple(names[i] for i in row.tolist())) for doc, row in pairs]


def gold_mentions(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> GivenMentions:
    """Mentions behind the resolvers' protocol, keyed by ``Document.text``, from spans in that text and persons.

    Raises BadInput: an array is missing, the lengths do not fit, or a span lies outside its text.
    """
    _demand(truth, SPAN_ARRAYS, len(documents))
    spans = np.stack([truth[name] for name in SPAN_ARRAYS[:3]], axis=1)
    rows = np.split(spans, np.cumsum(truth["mention_start_lengths"])[:-1])
    known = all(name in truth for name in CHAIN_ARRAYS)
    chains = gold_chains(documents, truth) if known else [Chain(doc.id, doc.split, ()) for doc in documents]
    triples = zip(documents, rows, chains, strict=True)
    return GivenMentions({doc.text: _mentions(doc, row.tolist(), _genders(chain)) for doc, row, chain in triples})


def _genders(chain: Chain) -> dict[int, str]:
    split = (symbol.partition(":") for symbol in chain.symbols)
    return {int(person): form for form, _, person in split if form in {MALE, FEMALE, PLURAL}}


def _mentions(document: Document, rows: Sequence[tuple[int, int, int]], genders: Mapping[int, str]) -> list[Mention]:
    text = document.text
    outside = [row for row in rows if not 0 <= row[0] < row[1] <= len(text)]
    if outside:
        raise BadInput(
            f"document {document.id!r}: span {outside[0]} is outside its {len(text)} characters; check the truth"
        )
    return [
        Mention(start, end, person, text[start:end] not in PERSON_PRONOUNS, gender=genders.get(person))
        for start, end, person in rows
    ]


def _demand(truth: Mapping[str, np.ndarray], names: Sequence[str], documents: int) -> None:
    missing = [name for name in names if name not in truth]
    if missing:
        raise BadInput(f"truth lacks {missing}; it has {sorted(truth)}: write the corpus with its mentions")
    lengths = next(name for name in names if name.endswith("_lengths"))
    if len(truth[lengths]) != documents:
        raise BadInput(
            f"truth has {len(truth[lengths])} {lengths}, the corpus {documents} documents; they belong apart"
        )
