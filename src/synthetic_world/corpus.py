"""Articles packed as a corpus: documents, truth arrays (ragged, a row per document), and closed-form facts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from longform.documents import Corpus, Document, Section, grouped, ragged
from longform.errors import BadInput
from synthetic_world import grammar
from synthetic_world.articles import Article
from synthetic_world.domains import Domain, domain
from synthetic_world.lexicon import SLOTS

Counts = int | Mapping[str, int]  # of documents, or of documents of each split
SPLIT_CYCLE = ("train",) * 8 + (
    "validation",
    "test",
)  # document i belongs to split i modulo 10, whatever else is made


def split_of(index: int) -> str:
    """The split of document ``index``, a function of the index alone."""
    return SPLIT_CYCLE[index % len(SPLIT_CYCLE)]


def indices(documents: Counts) -> list[int]:
    """Document numbers: the first ``documents``, or the first so many of each split.

    Raises BadInput: a split that is not train, validation or test, or a negative count.
    """
    if isinstance(documents, int):
        documents = {"all": documents}
    if documents.keys() - {"all", *SPLIT_CYCLE} or min(documents.values(), default=-1) < 0:
        raise BadInput(
            f"documents is {documents!r}, allowed is a count or counts of {sorted(set(SPLIT_CYCLE))}"
        )
    numbers = []
    for split, count in documents.items():
        places = [i for i, name in enumerate(SPLIT_CYCLE) if split in (name, "all")]
        numbers += [
            len(SPLIT_CYCLE) * (j // len(places)) + places[j % len(places)] for j in range(count)
        ]
    return numbers


def to_document(article: Article, domain_name: str) -> Document:
    """The article as the pipeline sees it: sentences joined by one space, one paragraph per section."""
    sections = tuple(
        Section(title, " ".join(s.text for s in sentences)) for title, sentences in article.sections
    )
    return Document(f"{domain_name}-{article.index:06d}", split_of(article.index), sections)


def article_corpus(
    articles: Sequence[Article],
    domain_name: str,
    facts: Mapping[str, Any],
    damage: Callable[[Article], Document] | None,
) -> Corpus:
    """Articles of one domain with their truth; ``damage`` makes a document in place of :func:`to_document`."""
    world = domain(domain_name)
    documents = [damage(a) if damage else to_document(a, domain_name) for a in articles]
    pages = {
        document.id: {"title": article.title, "kind": article.kind, "facts": article.facts}
        for document, article in zip(documents, articles, strict=True)
    }
    return Corpus(
        documents,
        _truth(world, articles),
        {**facts, **_closed_forms(world, articles), "pages": pages},
    )


def _truth(world: Domain, articles: Sequence[Article]) -> dict[str, np.ndarray]:
    """What the articles were drawn from and what was drawn; spans count characters of ``Document.text``."""
    sentences: list[list[tuple[int, ...]]] = []  # columns of each sentence, by article
    mentions: list[list[tuple[int, ...]]] = []
    for article in articles:
        sentences.append([])
        mentions.append([])
        start = 0
        for section, (_, written) in enumerate(article.sections):
            for s in written:
                end, number = start + len(s.text), len(sentences[-1])
                sentences[-1].append((section, start, end, s.sense, s.connective, int(s.across)))
                mentions[-1] += [
                    (start + m.start, start + m.end, number, m.person) for m in s.mentions
                ]
                start = end + 1
            start += 1  # a blank line between sections, one space between sentences
    chains = [
        [tag if tag == "." else f"{tag}:{person}" for tag, person in a.symbols] for a in articles
    ]
    symbols = sorted({symbol for chain in chains for symbol in chain})
    index = {symbol: i for i, symbol in enumerate(symbols)}

    def columns(
        kind: str, rows: Sequence[Sequence[tuple[int, ...]]], names: str
    ) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for place, name in enumerate(names.split()):
            arrays |= ragged(
                f"{kind}_{name}", [[entry[place] for entry in row] for row in rows], np.int64
            )
        return arrays

    return {
        **ragged("section_chain", [a.chain for a in articles], np.int32),
        "section_symbol_names": np.array(world.chain.types, dtype=np.str_),
        "section_transitions": world.chain.transitions,
        "topic_mean": world.prior.mean,
        "topic_covariance": world.prior.covariance,
        "topic_names": np.array([topic.name for topic in world.vocabulary.topics], dtype=np.str_),
        "topic_logits": np.stack([a.eta for a in articles]),
        "bridge_path": np.concatenate([a.path for a in articles]),
        "bridge_path_lengths": np.array([len(a.path) for a in articles], dtype=np.int64),
        "slot_names": np.array(SLOTS, dtype=np.str_),
        "word_names": np.array(world.vocabulary.words, dtype=np.str_),
        "word_probabilities": world.vocabulary.word_probabilities,
        **ragged("sentence_topic", [[s.topic for s in a.sentences] for a in articles], np.int32),
        **columns("sentence", sentences, "section start end sense connective across"),
        "sense_names": np.array(grammar.SENSES, dtype=np.str_),
        "connective_names": np.array(grammar.CONNECTIVES, dtype=np.str_),
        "sense_probabilities": np.array(grammar.SENSE_PROBABILITIES),
        "connective_probabilities": grammar.connective_probabilities(),
        **ragged(
            "mention_chain", [[index[symbol] for symbol in chain] for chain in chains], np.int32
        ),
        **columns("mention", mentions, "start end sentence person"),
        # ``.``, ``MALE:0`` or ``he:0``, persons numbered within a document
        "mention_symbol_names": np.array(symbols, dtype=np.str_),
    }


def _closed_forms(world: Domain, articles: Sequence[Article]) -> dict[str, Any]:
    counts = {
        kind: [len(a.path) for a in rows]
        for kind, rows in grouped(articles, lambda a: a.kind).items()
    }
    nll = {kind: world.kinds[kind].mentions.latent_nll(rows) for kind, rows in counts.items()}
    nats, symbols = (sum(values) for values in zip(*nll.values(), strict=True))
    return {
        "section_latent_ppl": world.chain.latent_ppl(),
        "section_convention": "M + 1 transitions, begin and end included; corpus-level average",
        "mention_latent_ppl": float(np.exp(nats / symbols)),
        "mention_latent_ppl_by_kind": {kind: float(np.exp(n / s)) for kind, (n, s) in nll.items()},
        "mention_convention": "order four over relabelled windows; every stop counted, no end symbol; given the "
        "sentence counts and kinds of these documents",
        "topic_latent_nll": world.prior.latent_nll(),
        "topic_convention": "-log N(eta; mean, covariance) in nats per document, last topic's logit zero",
        "bridge_variance": world.prior.sigma_m2,
        "bridge_variance_estimate": world.prior.expected_variance_estimate(),
        "bridge_score": world.prior.expected_bridge_score([len(a.path) for a in articles]),
        "bridge_convention": "canonical indices, T in sentences, printed variance estimate",
    }
