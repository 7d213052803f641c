"""Who is mentioned where: mentions of entities, and the chain of persons that is read off a text.

The chain follows deng2022 section 5 and appendix G as released: a stop ``.`` opens each sentence; a
mention of a person is a pronoun as written, or the gender of its entity, followed by the entity's
number.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

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
from longform.errors import ConfigError, InputError, counted
from longform.text.rendering import pack
from longform.text.sentences import sentences

Span = tuple[int, int]
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_AFTER_HEAD = re.compile(
    r"\s(?:of|in|at|from|with|for|on|who|whom|which|that|and|or|to|by)\s|[,;:(]"
)


@dataclass(frozen=True)
class Mention:
    """One mention of an entity.

    Attributes:
        start, end: half-open character offsets in the text.
        entity: its number within the text.
        named: whether the resolver took it for the name of a person, as named-entity recognition
            would.
        root: offset of its head word, where the chain places it; None leaves it to
            :func:`root_offset`.
        gender: MALE, FEMALE or PLURAL where the reader knows it from the name itself.
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
class GivenMentions:
    """Mentions given from outside, by text: gold annotation behind the resolvers' protocol."""

    by_text: Mapping[str, Sequence[Mention]] = field(repr=False)

    def header(self) -> Mapping[str, str]:
        return {"resolver": "gold"}

    def resolve(self, texts: Sequence[str]) -> list[list[Mention]]:
        """The annotated mentions of each text, in order.

        Raises InputError: a text has no annotation.
        """
        missing = [text for text in texts if text not in self.by_text]
        if missing:
            raise InputError(
                f"no gold mentions for {counted(len(missing), 'text')}, first {missing[0][:40]!r}; "
                "give entries, maybe empty"
            )
        all_mentions = []
        for text in texts:
            mentions = self.by_text[text]
            all_mentions.append(sorted(mentions, key=lambda mention: (mention.start, mention.end)))
        return all_mentions


def root_offset(text: str, start: int, end: int) -> int:
    """The character offset of a mention's head word, without a parser.

    It is the last word before a preposition, a comma or a clause.
    """
    after_head = _AFTER_HEAD.search(text, start, end)
    if after_head and after_head.start() > start:
        end = after_head.start()
    root = start
    for word in _WORD.finditer(text, start, end):
        if word[0][0].isalnum():
            root = word.start()
    return root


def is_person(word: str, named: bool) -> bool:
    """Whether a mention is of a person, by its head word, as the released code tests it.

    The word must be a person's pronoun, or the mention named, and no word of ``NO_PERSONS``.

    Args:
        word: as the text has it.
        named: whether the reader took the mention for a person's name.
    """
    return word.lower() not in NO_PERSONS and (word in PERSON_PRONOUNS or named)


def entity_types(words: Sequence[tuple[int, str, str | None]]) -> dict[int, str]:
    """Type of each entity: MALE, FEMALE, PLURAL or NEITHER.

    Args:
        words: a triple for each mention, in reading order: its entity, its head word, and the
            gender of its name or None.
    """
    # 1. What pronouns and titles say of each entity, and what names say.
    votes: dict[int, Counter[str]] = {}
    genders_of_names: dict[int, str] = {}
    for entity, word, gender in words:
        entity_votes = votes.setdefault(entity, Counter())
        if word.lower() in VOTES:
            entity_votes[VOTES[word.lower()]] += 1
        if gender:
            genders_of_names.setdefault(entity, gender)
    # 2. The most votes decide; without any, the first name.
    types = {}
    for entity, entity_votes in votes.items():
        if entity_votes:
            types[entity] = entity_votes.most_common(1)[0][0]
        else:
            types[entity] = genders_of_names.get(entity, NEITHER)
    return types


class _Head(NamedTuple):
    """The head word of a mention: its span, its text and the mention; a pronoun is its own head."""

    span: Span
    word: str
    mention: Mention


def person_chain(
    document_id: str, split: str, text: str, mentions: Sequence[Mention], singletons: bool = False
) -> PersonChain:
    """The chain of persons of one text; mentions of no person are left out.

    Args:
        document_id, split: of the chain.
        text: in which the mentions stand.
        mentions: of all entities, in reading order.
        singletons: whether persons mentioned once count; the paper's resolver never has any.
    """
    # 1. The head word of each mention.
    num_mentions = Counter(mention.entity for mention in mentions)
    heads = []
    for mention in mentions:
        if singletons or num_mentions[mention.entity] > 1:
            start, end = _head_span(text, mention)
            heads.append(_Head((start, end), text[start:end], mention))
    # 2. A stop of no width that opens each sentence, and the tags of persons, sorted by place.
    symbols = [((start, start), STOP) for start, _ in sentences(text)]
    symbols += _person_tags(heads).items()
    symbols.sort(key=lambda symbol: symbol[0])
    return PersonChain(
        document_id,
        split,
        tuple(tag for _, tag in symbols),
        spans=tuple(span for span, _ in symbols),
    )


def _person_tags(heads: Sequence[_Head]) -> dict[Span, str]:
    """The tags (``form:entity``) of the mentions of persons, by the span of their head words.

    An entity is a person if any of its head words is a person's. Of overlapping mentions with one
    head word, the tag of the entity with the largest number stays.
    """
    # 1. The entities that are persons, and what kind of person.
    persons = set()
    words = []
    for _, word, mention in heads:
        words.append((mention.entity, word, mention.gender))
        if is_person(word, mention.named):
            persons.add(mention.entity)
    types = entity_types(words)
    # 2. A pronoun is tagged as written, another mention by the type of its entity.
    tags = {}
    for span, word, mention in sorted(heads, key=lambda head: head.mention.entity):
        if mention.entity in persons:
            form = word if word in PERSON_PRONOUNS else types[mention.entity]
            tags[span] = f"{form}:{mention.entity}"
    return tags


def _head_span(text: str, mention: Mention) -> Span:
    """The half-open characters in ``text`` of a mention's head word.

    It begins at ``mention.root`` if the resolver has found one, else where :func:`root_offset`
    says, and ends with that word.
    """
    # A person's pronoun ends with the mention: of "he's" the word pattern would take all.
    if text[mention.start : mention.end] in PERSON_PRONOUNS:
        return mention.start, mention.end
    root = mention.root
    if root is None:
        root = root_offset(text, mention.start, mention.end)
    head = _WORD.match(text, root)
    return root, head.end() if head else mention.end


def read_chains(
    documents: Sequence[Document], resolver: CorefResolver, singletons: bool = False
) -> list[PersonChain]:
    """Resolve the documents' mentions, and read a chain of persons off each.

    A chain has a stop ``.`` where a sentence begins and a tag such as ``he:12`` (form and number of
    the person) for each mention of a person; with ``singletons`` also of persons mentioned once.
    """
    # Offsets of mentions are those of the stripped texts.
    texts = [document.text.strip() for document in documents]
    all_mentions = resolver.resolve(texts)
    chains = []
    for document, text, mentions in zip(documents, texts, all_mentions, strict=True):
        chains.append(person_chain(document.id, document.split, text, mentions, singletons))
    return chains


def is_film_paper(document: Document) -> bool:
    """The paper's film filter (appendix G): ``is a.*film`` somewhere in the first section."""
    if not document.sections:
        return False
    return re.search(r"is a.*film", document.sections[0].text, re.DOTALL) is not None


def _any_document(document: Document) -> bool:
    return True


FILM_FILTERS: Mapping[str | None, Callable[[Document], bool]] = {
    None: _any_document,
    "released": is_film,
    "paper": is_film_paper,
}


def read_with(
    resolver: CorefResolver,
    documents: Sequence[Document],
    splits: Sequence[str],
    singletons: bool,
    film_filter: str | None,
    keep_text: bool = False,
) -> Predictions:
    """Read chains of persons off the documents of some splits, as predictions.

    Args:
        resolver: finds the mentions.
        documents: of a corpus.
        splits: whose documents are read.
        singletons: whether persons mentioned once count.
        film_filter: a key of ``FILM_FILTERS``; a document that it leaves out is an invalid chain,
            so that it is counted.
        keep_text: whether the texts are written too.

    Returns:
        The arrays of :func:`longform.documents.chains_to_predictions`; ragged ``span``
        (symbols, 2), each symbol's half-open characters in the text; and ``header_names``, the
        resolver's header as ``key=value``.

    Raises:
        ConfigError: an unknown film filter.
    """
    if film_filter not in FILM_FILTERS:
        allowed = sorted(filter(None, FILM_FILTERS))
        raise ConfigError(f"film_filter is {film_filter!r}, allowed are {allowed} or null; fix it")
    # 1. Chains of the documents that pass the filter; the others have an invalid one.
    chosen = in_splits(documents, splits)
    passes = FILM_FILTERS[film_filter]
    passing = [document for document in chosen if passes(document)]
    chains_by_id = {}
    for chain in read_chains(passing, resolver, singletons):
        chains_by_id[chain.unit_id] = chain
    chains = []
    for document in chosen:
        invalid = PersonChain(document.id, document.split, (), valid=False)
        chains.append(chains_by_id.get(document.id, invalid))
    # 2. Beside them the places of their symbols, and the resolver's header.
    predictions = chains_to_predictions(chains)
    arrays = dict(predictions.arrays)
    spans = [chain.spans for chain in chains]
    arrays |= ragged("span", spans, np.int64, 2)
    header = [f"{key}={value}" for key, value in resolver.header().items()]
    arrays["header_names"] = np.array(header, dtype=np.str_)
    if keep_text:
        texts = [document.text.strip() for document in chosen]
        arrays |= pack(texts)
    return replace(predictions, arrays=arrays)


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
    """Chains of persons from the corpus's gold mentions, with the places of their symbols.

    Args:
        truth: the corpus's arrays, as :func:`gold_mentions` takes them.
        documents, splits, singletons, film_filter: as :func:`read_with` has them.
    """
    return read_with(
        gold_mentions(documents, truth),
        documents=documents,
        splits=splits,
        singletons=singletons,
        film_filter=film_filter,
    )


def gold_chains(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> list[Chain]:
    """The gold chain of each document, from arrays of the corpus.

    Args:
        documents: of a corpus.
        truth: ``mention_chain`` (symbols,), indices into ``mention_symbol_names``, document after
            document, and ``mention_chain_lengths`` (documents,).

    Raises:
        InputError: an array is missing, or a truth of other documents.
    """
    cuts = _cuts(truth, CHAIN_ARRAYS, len(documents))
    names = truth["mention_symbol_names"].tolist()
    rows = np.split(truth["mention_chain"], cuts)
    chains = []
    for document, row in zip(documents, rows, strict=True):
        symbols = tuple(names[i] for i in row.tolist())
        chains.append(Chain(document.id, document.split, symbols))
    return chains


def gold_mentions(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> GivenMentions:
    """A resolver that answers with the corpus's gold mentions, looked up by ``Document.text``.

    Args:
        documents: of a corpus.
        truth: ``mention_start``, ``mention_end`` and ``mention_person``, document after document,
            (mentions,), and ``mention_start_lengths`` (documents,); maybe chains.

    Raises:
        InputError: an array is missing, a span outside its text, or a truth of other documents.
    """
    # 1. A row (start, end, person) for each mention, document by document.
    cuts = _cuts(truth, SPAN_ARRAYS, len(documents))
    columns = [truth[name] for name in ("mention_start", "mention_end", "mention_person")]
    rows = np.split(np.stack(columns, axis=1), cuts)
    # 2. Mentions, with the genders of their persons in the gold chains.
    genders = _gold_genders(documents, truth)
    by_text: dict[str, list[Mention]] = {}
    for document, row, document_genders in zip(documents, rows, genders, strict=True):
        text = document.text
        mentions = []
        for start, end, person in row.tolist():
            if not 0 <= start < end <= len(text):
                raise InputError(
                    f"document {document.id!r}: span {[start, end, person]} is outside its "
                    f"{len(text)} characters; check the truth"
                )
            named = text[start:end] not in PERSON_PRONOUNS
            gender = document_genders.get(person)
            mentions.append(Mention(start, end, person, named, gender=gender))
        by_text[text] = mentions
    return GivenMentions(by_text)


def _gold_genders(
    documents: Sequence[Document], truth: Mapping[str, np.ndarray]
) -> list[dict[int, str]]:
    """The gender of each person by number, from gold chains whose symbols are ``FEMALE:3``."""
    genders: list[dict[int, str]] = [{} for _ in documents]
    if not all(name in truth for name in CHAIN_ARRAYS):
        return genders
    for document_genders, chain in zip(genders, gold_chains(documents, truth), strict=True):
        for symbol in chain.symbols:
            form, _, person = symbol.partition(":")
            if form in GENDERS.values():
                document_genders[int(person)] = form
    return genders


def _cuts(truth: Mapping[str, np.ndarray], names: Sequence[str], documents: int) -> np.ndarray:
    """Where a flat array of the truth is cut into the documents' rows.

    Args:
        truth: the corpus's arrays.
        names: the arrays that are needed; one ends in ``_lengths``.
        documents: how many.

    Raises:
        InputError: an array is missing, or it is of other documents.
    """
    missing = [name for name in names if name not in truth]
    if missing:
        raise InputError(
            f"truth lacks {missing}; it has {sorted(truth)}: write the corpus with its mentions"
        )
    lengths_name = next(name for name in names if name.endswith("_lengths"))
    lengths = truth[lengths_name]
    if len(lengths) != documents:
        raise InputError(
            f"truth has {len(lengths)} {lengths_name}, the corpus {documents} texts; "
            "they belong apart"
        )
    return np.cumsum(lengths)[:-1]
