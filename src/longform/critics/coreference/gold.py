"""Gold chains and mentions given from outside, as the synthetic world keeps them in its truth arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from longform.core.documents import BadInput, Chain, Document, Readout
from longform.critics.coreference.chains import ChainRules, GivenMentions, Mention, read_with
from longform.critics.coreference.person_lexicon import FEMALE, MALE, PERSON_PRONOUNS, PLURAL

CHAIN_ARRAYS = ("mention_chain", "mention_chain_lengths", "mention_symbol_names")
SPAN_ARRAYS = ("mention_start", "mention_end", "mention_person", "mention_start_lengths")


def read(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    splits: Sequence[str],
    singletons: bool = True,
    film_filter: str | None = None,
) -> Readout:
    """Gold chains of the chosen documents, with the places of their symbols.

    They equal :func:`gold_chains` where ``singletons`` stay; without, they show what the paper's resolver cannot see.
    """
    mentions = gold_mentions(documents, truth)
    chosen = [document for document in documents if document.split in splits]
    return read_with(mentions, chosen, ChainRules(singletons), film_filter)


def gold_chains(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> list[Chain]:
    """Chains of the documents, from ``mention_chain`` (indices into ``mention_symbol_names``) and its lengths.

    Raises:
        BadInput: an array is missing, or there are not as many lengths as documents.
    """
    _demand(truth, CHAIN_ARRAYS, len(documents))
    names = truth["mention_symbol_names"].tolist()
    rows = np.split(truth["mention_chain"], np.cumsum(truth["mention_chain_lengths"])[:-1])
    pairs = zip(documents, rows, strict=True)
    return [Chain(doc.id, doc.split, tuple(names[i] for i in row.tolist())) for doc, row in pairs]


def gold_mentions(documents: Sequence[Document], truth: Mapping[str, np.ndarray]) -> GivenMentions:
    """Mentions behind the resolvers' protocol, keyed by ``Document.text``, from spans in that text and persons.

    Where the truth also holds the chains, a name has the gender of its tag there.

    Raises:
        BadInput: an array is missing, the lengths do not fit, or a span lies outside its text.
    """
    _demand(truth, SPAN_ARRAYS, len(documents))
    spans = np.stack([truth[name] for name in SPAN_ARRAYS[:3]], axis=1)
    rows = np.split(spans, np.cumsum(truth["mention_start_lengths"])[:-1])
    known = all(name in truth for name in CHAIN_ARRAYS)
    chains = gold_chains(documents, truth) if known else [Chain(doc.id, doc.split, ()) for doc in documents]
    triples = zip(documents, rows, chains, strict=True)
    return GivenMentions({doc.text: _mentions(doc, row.tolist(), _genders(chain)) for doc, row, chain in triples})


def _genders(chain: Chain) -> dict[int, str]:
    """Gender of each person that some tag of the chain gives."""
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
