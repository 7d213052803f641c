"""Who is mentioned where: mentions of entities, resolvers that find them, and the chain of persons
read off a text.

The chain follows deng2022 section 5 and appendix G as released: a stop ``.`` opens each sentence; a
mention of a
person is a pronoun as written, or the gender of its entity, followed by the entity's number.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from longform.critics.coreference.person_chains import STOP, PersonChain
from longform.critics.coreference.person_mentions import (
    GENDERS,
    NEITHER,
    NO_PERSONS,
    PERSON_PRONOUNS,
    VOTES,
)
from longform.datasets.titles import is_film
from longform.documents import (
    Chain,
    Document,
    Predictions,
    chains_to_predictions,
    in_splits,
    ragged,
)
from longform.errors import BadInput
from longform.text.rendering import pack
from longform.text.sentences import sentences

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_AFTER_HEAD = re.compile(
    r"\s(?:of|in|at|from|with|for|on|who|whom|which|that|and|or|to|by)\s|[,;:(]"
)


@dataclass(frozen=True)
class Mention:
    """One mention of an entity; ``start``, ``end``: half-open character offsets in the text."""

    start: int
    end: int
    entity: int  # its number within the text
    named: bool = False  # whether the reader took it for the name of a person (the part of named-entity recognition)
    root: int | None = (
        None  # offset of its head word, where the chain places it; None: read off its words
    )
    gender: str | None = (
        None  # MALE, FEMALE or PLURAL where the reader knows it from the name itself
    )


class CorefResolver(Protocol):
    """Finds mentions and says which are of one entity; entities mentioned once are listed too."""

    def header(self) -> Mapping[str, str]:
        """Name, settings and library versions: what a score depends on, for the output's header."""

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Mentions of each text, in the order of their start."""


@dataclass(frozen=True)
class GivenMentions:
    """Mentions given from outside, by text: gold annotation behind the resolvers' protocol."""

    by_text: Mapping[str, Sequence[Mention]] = field(repr=False)

    def header(self) -> Mapping[str, str]:
        return {"resolver": "gold"}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        if missing := [text[:40] for text in texts if text not in self.by_text]:
            raise BadInput(
                f"no gold mentions for {len(missing)} texts, first {missing[0]!r}; give entries, maybe empty"
            )
        return [sorted(self.by_text[text], key=lambda m: (m.start, m.end)) for text in texts]


def root_offset(text: str, start: int, end: int) -> int:
    """Offset of a mention's head word, without a parser: the last word before a preposition, comma
    or clause.
    """
    cut = _AFTER_HEAD.search(text, start, end)
    words = _WORD.finditer(text, start, cut.start() if cut and cut.start() > start else end)
    return max((word.start() for word in words if word[0][0].isalnum()), default=start)


def is_person(word: str, named: bool) -> bool:
    """The released test on a mention's head word: a person's pronoun or name, and not one of three
    exceptions.
    """
    return word.lower() not in NO_PERSONS and (word in PERSON_PRONOUNS or named)


def entity_types(words: Sequence[tuple[int, str, str | None]]) -> dict[int, str]:
    """Type of each entity from (entity, head word, gender of the name or None), in reading order."""
    votes: dict[int, Counter[str]] = {}
    named: dict[int, str] = {}
    for entity, word, gender in words:
        votes.setdefault(entity, Counter()).update(
            [VOTES[word.lower()]] if word.lower() in VOTES else []
        )
        if gender:
            named.setdefault(entity, gender)
    return {
        e: counts.most_common(1)[0][0] if counts else named.get(e, NEITHER)
        for e, counts in votes.items()
    }


def person_chain(
    document_id: str, split: str, text: str, mentions: Sequence[Mention], singletons: bool = False
) -> PersonChain:
    """The chain of persons of one text; mentions of no person are dropped, a cluster being a person
    if any head word is.

    ``singletons``: keep persons mentioned once; the paper's resolver never has any.
    """
    sizes = Counter(mention.entity for mention in mentions)
    roots = []  # (span, head word or whole pronoun, mention)
    for m in mentions:
        if singletons or sizes[m.entity] > 1:
            root = m.root if m.root is not None else root_offset(text, m.start, m.end)
            head = _WORD.match(text, root)
            whole = text[m.start : m.end] in PERSON_PRONOUNS
            span = (m.start, m.end) if whole else (root, head.end() if head else m.end)
            roots.append((span, text[slice(*span)], m))
    persons = {m.entity for _, word, m in roots if is_person(word, m.named)}
    types = entity_types([(m.entity, word, m.gender) for _, word, m in roots])
    tags: dict[tuple[int, int], str] = {}
    for span, word, m in sorted(roots, key=lambda root: root[2].entity):
        if m.entity in persons:  # overlapping mentions with one head word: the last entity stays
            tags[span] = f"{word if word in PERSON_PRONOUNS else types[m.entity]}:{m.entity}"
    stops = [((start, start), STOP) for start, _ in sentences(text)]
    placed = sorted([*stops, *tags.items()], key=lambda item: item[0])
    return PersonChain(
        document_id, split, tuple(tag for _, tag in placed), spans=tuple(span for span, _ in placed)
    )


def read_chains(
    documents: Sequence[Document], resolver: CorefResolver, singletons: bool = False
) -> list[PersonChain]:
    """Chains of the documents' texts (section texts joined by a blank line, titles left out)."""
    texts = [document.text.strip() for document in documents]
    rows = zip(documents, texts, resolver.resolve(texts), strict=True)
    return [
        person_chain(doc.id, doc.split, text, mentions, singletons) for doc, text, mentions in rows
    ]


def is_film_paper(document: Document) -> bool:
    """The paper's film filter (appendix G): ``is a.*film`` somewhere in the first section."""
    return (
        bool(document.sections)
        and re.search(r"is a.*film", document.sections[0].text, re.DOTALL) is not None
    )


FILM_FILTERS: Mapping[str | None, Callable[[Document], bool]] = {
    None: lambda _: True, "released": is_film, "paper": is_film_paper,
}  # fmt: skip


def read_with(
    resolver: CorefResolver,
    documents: Sequence[Document],
    splits: Sequence[str],
    singletons: bool,
    film_filter: str | None,
    keep_text: bool = False,
) -> Predictions:
    """Chains of the documents of some splits, with ``span`` (tokens, 2), where each symbol stands
    in the text.

    A document that the film filter leaves out is an invalid chain, so it is counted.
    """
    if film_filter not in FILM_FILTERS:
        raise BadInput(
            f"film_filter is {film_filter!r}, allowed are {sorted(filter(None, FILM_FILTERS))} or null; fix it"
        )
    documents = in_splits(documents, splits)
    kept = [document for document in documents if FILM_FILTERS[film_filter](document)]
    read = {chain.unit_id: chain for chain in read_chains(kept, resolver, singletons)}
    chains = [read.get(d.id) or PersonChain(d.id, d.split, (), valid=False) for d in documents]
    packed = chains_to_predictions(chains)
    arrays = {**packed.arrays, **ragged("span", [chain.spans for chain in chains], np.int64, 2)}
    arrays["header_names"] = np.array(
        [f"{key}={value}" for key, value in resolver.header().items()], dtype=np.str_
    )
    arrays |= pack([document.text.strip() for document in documents]) if keep_text else {}
    return replace(packed, arrays=arrays)


CHAIN_ARRAYS = ("mention_chain", "mention_chain_lengths", "mention_symbol_names")
SPAN_ARRAYS = ("mention_start", "mention_end", "mention_person", "mention_start_lengths")


def read_gold(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    splits: Sequence[str],
    singletons: bool = True,
    film_filter: str | None = None,
) -> Predictions:
    """Gold chains of the chosen documents, with the places of their symbols."""
    return read_with(gold_mentions(documents, truth), documents, splits, singletons, film_filter)


def gold_chains(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> list[Chain]:
    """Chains of the documents, from ``mention_chain`` (indices into ``mention_symbol_names``) and
    its lengths.
    """
    cuts = _cuts(truth, CHAIN_ARRAYS, len(documents))
    names = truth["mention_symbol_names"].tolist()
    pairs = zip(documents, np.split(truth["mention_chain"], cuts), strict=True)
    return [Chain(doc.id, doc.split, tuple(names[i] for i in row.tolist())) for doc, row in pairs]


def gold_mentions(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> GivenMentions:
    """Mentions behind the resolvers' protocol, keyed by ``Document.text``, from spans in that text
    and persons.
    """
    cuts = _cuts(truth, SPAN_ARRAYS, len(documents))
    rows = np.split(np.stack([truth[name] for name in SPAN_ARRAYS[:3]], axis=1), cuts)
    known = all(name in truth for name in CHAIN_ARRAYS)
    chains = (
        gold_chains(documents, truth)
        if known
        else [Chain(doc.id, doc.split, ()) for doc in documents]
    )
    found: dict[str, list[Mention]] = {}
    for document, row, chain in zip(documents, rows, chains, strict=True):
        text = document.text
        forms = (symbol.partition(":") for symbol in chain.symbols)
        genders = {int(person): form for form, _, person in forms if form in GENDERS.values()}
        found[text] = []
        for start, end, person in row.tolist():
            if not 0 <= start < end <= len(text):
                raise BadInput(
                    f"document {document.id!r}: span {[start, end, person]} is outside its {len(text)} characters; "
                    "check the truth"
                )
            named = text[start:end] not in PERSON_PRONOUNS
            found[text].append(Mention(start, end, person, named, gender=genders.get(person)))
    return GivenMentions(found)


def _cuts(truth: Mapping[str, np.ndarray], names: Sequence[str], documents: int) -> np.ndarray:
    """Where a flat array of the truth is cut into the documents' rows.

    Raises BadInput: not all there, or of other documents.
    """
    if missing := [name for name in names if name not in truth]:
        raise BadInput(
            f"truth lacks {missing}; it has {sorted(truth)}: write the corpus with its mentions"
        )
    lengths = next(name for name in names if name.endswith("_lengths"))
    if len(truth[lengths]) != documents:
        raise BadInput(
            f"truth has {len(truth[lengths])} {lengths}, the corpus {documents} texts; they belong apart"
        )
    return np.cumsum(truth[lengths])[:-1]
