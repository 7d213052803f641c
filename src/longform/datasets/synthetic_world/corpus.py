"""Articles packed as a corpus: documents, truth arrays with one ragged row per document, and closed-form facts."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.datasets.synthetic_world import grammar
from longform.datasets.synthetic_world.articles import Article
from longform.datasets.synthetic_world.domains import Domain, domain
from longform.datasets.synthetic_world.lexicon import SLOTS

SPLIT_CYCLE = ("train",) * 8 + ("validation", "test")  # document i belongs to split i modulo 10, whatever else is made


def split_of(index: int) -> str:
    """The split of document ``index``, a function of the index alone."""
    return SPLIT_CYCLE[index % len(SPLIT_CYCLE)]


def indices(documents: int | Mapping[str, int]) -> list[int]:
    """Document numbers: the first ``documents``, or the first so many of each split.

    Raises BadInput: a split that is not train, validation or test, or a negative count.
    """
    if isinstance(documents, int):
        documents = {"all": documents}
    if documents.keys() - {"all", *SPLIT_CYCLE} or min(documents.values(), default=-1) < 0:
        raise BadInput(f"documents is {documents!r}, allowed is a count or counts of {sorted(set(SPLIT_CYCLE))}")
    numbers = []
    for split, count in documents.items():
        places = [i for i, name in enumerate(SPLIT_CYCLE) if split in (name, "all")]
        numbers += [len(SPLIT_CYCLE) * (j // len(places)) + places[j % len(places)] for j in range(count)]
    return numbers


def to_document(article: Article, domain_name: str) -> Document:
    """The article as the pipeline sees it: sentences joined by one space, one paragraph per section."""
    sections = tuple(Section(title, " ".join(s.text for s in sentences)) for title, sentences in article.sections)
    return Document(f"{domain_name}-{article.index:06d}", split_of(article.index), sections)


def ragged(name: str, rows: Sequence[Collection[int]], dtype: type = np.int64) -> dict[str, np.ndarray]:
    """One row per document as two arrays: all values in order, and under ``<name>_lengths`` how many are each row's."""
    return {
        name: np.array([value for row in rows for value in row], dtype=dtype),
        f"{name}_lengths": np.array([len(row) for row in rows], dtype=np.int64),
    }


def article_corpus(
    articles: Sequence[Article],
    domain_name: str,
    facts: Mapping[str, Any],
    damage: Callable[[Article], Document] | None = None,
) -> Corpus:
    """Articles of one domain with their truth; ``damage`` makes a document in place of :func:`to_document`."""
    world = domain(domain_name)
    truth = _latent_truth(world, articles) | _sentence_truth(articles) | _mention_truth(articles)
    documents = [damage(a) if damage else to_document(a, domain_name) for a in articles]
    pages = {
        document.id: {"title": article.title, "kind": article.kind, "facts": article.facts}
        for document, article in zip(documents, articles, strict=True)
    }
    return Corpus(documents, truth, dict(facts) | _closed_forms(world, articles) | {"pages": pages})


def _latent_truth(world: Domain, articles: Sequence[Article]) -> dict[str, np.ndarray]:
    """Section chains with their transitions; topics: prior, main ideas, sentences' logits, and P(word | topic, slot)."""
    return ragged("section_chain", [a.chain for a in articles], np.int32) | {
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
    }


def _sentence_truth(articles: Sequence[Article]) -> dict[str, np.ndarray]:
    truth = ragged("sentence_topic", [[s.topic for s in a.sentences] for a in articles], np.int32)
    rows = [list(_sentence_rows(a)) for a in articles]
    for place, name in enumerate(("section", "start", "end", "sense", "connective", "across")):
        truth |= ragged(f"sentence_{name}", [[sentence[place] for sentence in document] for document in rows])
    return truth | {
        "sense_names": np.array(grammar.SENSES, dtype=np.str_),
        "connective_names": np.array(grammar.CONNECTIVES, dtype=np.str_),
        "sense_probabilities": np.array(grammar.SENSE_PROBABILITIES),
        "connective_probabilities": grammar.connective_probabilities(),
    }


def _sentence_rows(article: Article) -> Iterator[tuple[int, int, int, int, int, int]]:
    start = 0
    for number, (_, sentences) in enumerate(article.sections):
        for sentence in sentences:
            end = start + len(sentence.text)
            yield number, start, end, sentence.sense, sentence.connective, int(sentence.across)
            start = end + 1
        start += 1  # a blank line between sections, one space between sentences


def _mention_truth(articles: Sequence[Article]) -> dict[str, np.ndarray]:
    """Gold mentions with spans in ``Document.text``, and the chain with stops, persons numbered within a document.

    ``mention_chain`` indexes ``mention_symbol_names``; a symbol reads ``.``, ``MALE:0`` or ``he:0``.
    """
    chains = [[tag if tag == "." else f"{tag}:{person}" for tag, person in a.symbols] for a in articles]
    symbols = sorted({symbol for chain in chains for symbol in chain})
    index = {symbol: i for i, symbol in enumerate(symbols)}
    truth = ragged("mention_chain", [[index[symbol] for symbol in chain] for chain in chains], np.int32)
    rows = [list(mention_spans(a)) for a in articles]
    for place, name in enumerate(("start", "end", "sentence", "person")):
        truth |= ragged(f"mention_{name}", [[mention[place] for mention in document] for document in rows])
    return truth | {"mention_symbol_names": np.array(symbols, dtype=np.str_)}


def mention_spans(article: Article) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, sentence and person of each mention, characters counted in ``Document.text``."""
    for number, (row, sentence) in enumerate(zip(_sentence_rows(article), article.sentences, strict=True)):
        for mention in sentence.mentions:
            yield row[1] + mention.start, row[1] + mention.end, number, mention.person


def _closed_forms(world: Domain, articles: Sequence[Article]) -> dict[str, Any]:
    counts = [len(a.path) for a in articles]
    by_kind: dict[str, list[int]] = {}
    for article in articles:
        by_kind.setdefault(article.kind, []).append(len(article.path))
    nll = {kind: world.kinds[kind].mentions.latent_nll(rows) for kind, rows in by_kind.items()}
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
        "bridge_score": world.prior.expected_bridge_score(counts),
        "bridge_convention": "canonical indices, T in sentences, printed variance estimate",
    }
