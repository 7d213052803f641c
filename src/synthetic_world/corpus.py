"""Articles packed as a corpus: documents, truth arrays and closed-form facts.

Ragged arrays have a row per document.
"""

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
# document i belongs to split i modulo 10, whatever else is made
SPLIT_CYCLE = ("train",) * 8 + ("validation", "test")
# Columns of :func:`_spans`. ``start`` and ``end`` are half-open characters of ``Document.text``,
# section and sentence are numbered from 0 within the article, persons by their first mention.
# ``sense`` and ``connective``, numbers in ``grammar``, are of the sentence's second clause, or, if
# ``across`` is 1, of the sentence as a clause that is added to the one before.
SENTENCE_COLUMNS = ("section", "start", "end", "sense", "connective", "across")
MENTION_COLUMNS = ("start", "end", "sentence", "person")
Rows = list[list[tuple[int, ...]]]  # by article, one tuple for each of its sentences or mentions


def split_of(index: int) -> str:
    """The split of document ``index``, a function of the index alone."""
    return SPLIT_CYCLE[index % len(SPLIT_CYCLE)]


def indices(documents: Counts) -> list[int]:
    """Document numbers: the first ``documents``, or the first so many of each split.

    Raises:
        BadInput: a split that is not train, validation or test, or a negative count.
    """
    if isinstance(documents, int):
        documents = {"all": documents}
    unknown = documents.keys() - {"all", *SPLIT_CYCLE}
    if unknown or not documents or min(documents.values()) < 0:
        raise BadInput(
            f"documents is {documents!r}, "
            f"allowed is a count or counts of {sorted(set(SPLIT_CYCLE))}"
        )
    numbers = []
    cycle = len(SPLIT_CYCLE)
    for split, count in documents.items():
        in_cycle = [i for i, name in enumerate(SPLIT_CYCLE) if split in (name, "all")]
        for j in range(count):
            rounds, rank = divmod(j, len(in_cycle))
            numbers.append(cycle * rounds + in_cycle[rank])
    return numbers


def to_document(article: Article, domain_name: str) -> Document:
    """The article as the pipeline sees it.

    Sentences are joined by one space, one paragraph per section.
    """
    sections = []
    for title, sentences in article.sections:
        text = " ".join(sentence.text for sentence in sentences)
        sections.append(Section(title, text))
    unit = f"{domain_name}-{article.index:06d}"
    return Document(unit, split_of(article.index), tuple(sections))


def article_corpus(
    articles: Sequence[Article],
    domain_name: str,
    facts: Mapping[str, Any],
    damage: Callable[[Article], Document] | None,
) -> Corpus:
    """Articles of one domain with their truth.

    Args:
        articles: of the domain.
        domain_name: names it.
        facts: of the corpus, to which closed forms and pages are added.
        damage: makes a document in place of :func:`to_document`.
    """
    world = domain(domain_name)
    documents = []
    pages = {}
    for article in articles:
        document = damage(article) if damage else to_document(article, domain_name)
        documents.append(document)
        page = {"title": article.title, "kind": article.kind, "facts": article.facts}
        pages[document.id] = page
    all_facts = {**facts, **_closed_forms(world, articles), "pages": pages}
    return Corpus(documents, _truth(world, articles), all_facts)


def _truth(world: Domain, articles: Sequence[Article]) -> dict[str, np.ndarray]:
    """What the articles were drawn from and what was drawn.

    Spans count characters of ``Document.text``.
    """
    sentences, mentions = _spans(articles)
    chains = list(map(_symbol_names, articles))
    names = sorted(set().union(*chains))
    numbers = dict(zip(names, range(len(names)), strict=True))
    mention_chains = []
    for chain in chains:
        mention_chains.append([numbers[name] for name in chain])
    topics = [topic.name for topic in world.vocabulary.topics]
    # Columns by article.
    section_chains, etas, paths, path_lengths, sentence_topics = [], [], [], [], []
    for article in articles:
        section_chains.append(article.chain)
        etas.append(article.eta)
        paths.append(article.path)
        path_lengths.append(len(article.path))
        sentence_topics.append([sentence.topic for sentence in article.sentences])
    return {
        **ragged("section_chain", section_chains, np.int32),
        "section_symbol_names": np.array(world.chain.types, dtype=np.str_),
        "section_transitions": world.chain.transitions,
        "topic_mean": world.prior.mean,
        "topic_covariance": world.prior.covariance,
        "topic_names": np.array(topics, dtype=np.str_),
        "topic_logits": np.stack(etas),
        "bridge_path": np.concatenate(paths),
        "bridge_path_lengths": np.array(path_lengths, dtype=np.int64),
        "slot_names": np.array(SLOTS, dtype=np.str_),
        "word_names": np.array(world.vocabulary.words, dtype=np.str_),
        "word_probabilities": world.vocabulary.word_probabilities,
        **ragged("sentence_topic", sentence_topics, np.int32),
        **_columns("sentence", sentences, SENTENCE_COLUMNS),
        "sense_names": np.array(grammar.SENSES, dtype=np.str_),
        "connective_names": np.array(grammar.CONNECTIVES, dtype=np.str_),
        "sense_probabilities": np.array(grammar.SENSE_PROBABILITIES),
        "connective_probabilities": grammar.connective_probabilities(),
        **ragged("mention_chain", mention_chains, np.int32),
        **_columns("mention", mentions, MENTION_COLUMNS),
        # ``.``, ``MALE:0`` or ``he:0``, persons numbered within a document
        "mention_symbol_names": np.array(names, dtype=np.str_),
    }


def _spans(articles: Sequence[Article]) -> tuple[Rows, Rows]:
    """Where the sentences and the mentions of persons stand in each article's text.

    Returns:
        Sentences, one tuple of ``SENTENCE_COLUMNS`` each, and mentions, of ``MENTION_COLUMNS``;
        both are lists of tuples by article.
    """
    sentences: Rows = []
    mentions: Rows = []
    for article in articles:
        # ``start`` counts the characters of the whole article, in which titles have no place.
        of_sentences: list[tuple[int, ...]] = []
        of_mentions: list[tuple[int, ...]] = []
        start = 0
        for section, (_, members) in enumerate(article.sections):
            for sentence in members:
                end = start + len(sentence.text)
                for mention in sentence.mentions:
                    # A mention's own characters count from the beginning of its sentence.
                    span = (start + mention.start, start + mention.end)
                    of_mentions.append((*span, len(of_sentences), mention.person))
                link = (sentence.sense, sentence.connective, int(sentence.across))
                of_sentences.append((section, start, end, *link))
                start = end + 1  # one space between sentences
            start += 1  # two line ends between sections, in place of that space
        sentences.append(of_sentences)
        mentions.append(of_mentions)
    return sentences, mentions


def _symbol_names(article: Article) -> list[str]:
    """Names of an article's mention symbols: ``.`` or ``tag:person``."""
    names = []
    for tag, person in article.symbols:
        names.append(tag if tag == "." else f"{tag}:{person}")
    return names


def _columns(kind: str, rows: Rows, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Ragged arrays ``<kind>_<name>`` of each column of the rows."""
    arrays: dict[str, np.ndarray] = {}
    for number, name in enumerate(names):
        values = []
        for of_article in rows:
            values.append([row[number] for row in of_article])
        arrays |= ragged(f"{kind}_{name}", values, np.int64)
    return arrays


def _closed_forms(world: Domain, articles: Sequence[Article]) -> dict[str, Any]:
    """Exact values that critics of these articles approach, and their conventions."""
    # Nats and symbols of the mention chains, by kind of page.
    nats = symbols = 0.0
    ppl_by_kind = {}
    all_lengths = [len(article.path) for article in articles]
    for kind, members in grouped(articles, lambda article: article.kind).items():
        lengths = [len(article.path) for article in members]
        kind_nats, kind_symbols = world.kinds[kind].mentions.latent_nll(lengths)
        nats += kind_nats
        symbols += kind_symbols
        ppl_by_kind[kind] = float(np.exp(kind_nats / kind_symbols))
    return {
        "section_latent_ppl": world.chain.latent_ppl(),
        "section_convention": "M + 1 transitions, begin and end included; corpus-level average",
        "mention_latent_ppl": float(np.exp(nats / symbols)),
        "mention_latent_ppl_by_kind": ppl_by_kind,
        "mention_convention": (
            "order four over relabelled windows; every stop counted, no end symbol; given the "
            "sentence counts and kinds of these documents"
        ),
        "topic_latent_nll": world.prior.latent_nll(),
        "topic_convention": (
            "-log N(eta; mean, covariance) in nats per document, last topic's logit zero"
        ),
        "bridge_variance": world.prior.sigma_m2,
        "bridge_variance_estimate": world.prior.expected_variance_estimate(),
        "bridge_score": world.prior.expected_bridge_score(all_lengths),
        "bridge_convention": "canonical indices, T in sentences, printed variance estimate",
    }
