"""Corpora of the synthetic world.

Sound, damaged, short, for pretraining, mixed, and of what is read about its pages. The world is
seeded text whose latent structure is drawn from known distributions; it never stands for Wikipedia
or any other real text. Everything is a function of (seed, domain, index): document 7 is document 7
whatever else is generated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from longform.datasets.titles import piece_count
from longform.documents import Corpus, Document, Section
from longform.errors import BadInput
from longform.statistics.random_streams import derived_seed, generator
from synthetic_world.articles import write
from synthetic_world.corpus import Counts, article_corpus, indices, split_of, to_document
from synthetic_world.corruptions import CORRUPTIONS, SOUND, corrupt
from synthetic_world.domains import DOMAINS as ARTICLE_DOMAINS
from synthetic_world.draws import stream
from synthetic_world.grammar import claim
from synthetic_world.languages import parallel_corpus
from synthetic_world.planted_suites import LANGUAGE, story_text, translated
from synthetic_world.reports import rating_corpus, report_corpus
from synthetic_world.stories import write_dialogue, write_story

OTHERS = {"parallel": parallel_corpus, "reports": report_corpus, "summaries": rating_corpus}
DOMAINS = (*ARTICLE_DOMAINS, *OTHERS)


def build(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: Counts,
    corruption: str = "",
    severity: float = 0.0,
) -> Corpus:
    """A synthetic corpus with its truth, sound or (articles alone) with one corruption.

    Document i belongs to one split whatever the counts, and no draw depends on ``name``. A
    corruption changes the text alone: the truth arrays stay those of the sound article.

    Args:
        name: of the corpus, for its facts and for errors.
        seed: of the world.
        domain: one of ``DOMAINS``. Those in ``OTHERS`` are no articles and take neither corruption
            nor severity; what is counted in ``summaries`` are clusters of six versions, which have
            severities of their own.
        documents: how many, or how many of each split.
        corruption: one of ``CORRUPTIONS``, or "" for sound text.
        severity: the share of the eligible places that are struck, 0 to 1.

    Returns:
        The documents, their truth arrays, and the arguments among the facts.

    Raises:
        BadInput: an unknown domain, split or corruption, a severity outside [0, 1], or no documents
            at all.
    """
    # 1. The arguments, checked; what comes back are the numbers i of the documents.
    numbers = _numbers(name, domain, documents, corruption, severity)
    facts = {
        "name": name,
        "domain": domain,
        "seed": seed,
        "synthetic": True,
        "documents": len(numbers),
        "corruption": corruption,
        "severity": severity,
    }
    # 2. What is no article has a builder of its own.
    if domain in OTHERS:
        return OTHERS[domain](seed, numbers, facts)
    # 3. Articles, damaged where a corruption is named.
    damage = partial(
        corrupt, domain_name=domain, corruption=corruption, severity=severity, seed=seed
    )
    articles = [write(seed, domain, number) for number in numbers]
    return article_corpus(articles, domain, facts, damage if corruption else None)


def _numbers(
    name: str, domain: str, documents: Counts, corruption: str, severity: float
) -> list[int]:
    """Numbers i of a corpus's documents, by which they are drawn, after a check of the rest.

    Raises:
        BadInput: what :func:`build` refuses.
    """
    if domain not in DOMAINS:
        raise BadInput(f"domain is {domain!r}, allowed are {sorted(DOMAINS)}; choose one of them")
    allowed = sorted(CORRUPTIONS) if domain in ARTICLE_DOMAINS else []
    if (corruption or severity) and corruption not in allowed:
        raise BadInput(
            f"corruption is {corruption!r} in {domain!r}, allowed are {allowed}; "
            "fix it or set no severity"
        )
    if not 0.0 <= severity <= 1.0:
        raise BadInput(
            f"severity is {severity}, allowed is 0 to 1; give the share of places to strike"
        )
    numbers = indices(documents)
    if not numbers:
        raise BadInput(f"corpus {name!r} has no documents, at least one is needed; raise the count")
    return numbers


def corrupted(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: Counts,
    severities: Sequence[float],
    corruption: str | None = None,
    corruptions: Sequence[str] = CORRUPTIONS,
) -> Corpus:
    """Every article under each corruption at every severity.

    A lower severity strikes among the places of a higher one.

    Args:
        name, seed, domain, documents: as of :func:`build`.
        severities: distinct ones, above 0 but where ``corruption`` is given.
        corruption: the only one; then 0 is among the severities, and ids are
            ``<article>@<severity>``.
        corruptions: without it, all of these; ids are ``<corruption>@<severity>/<article>``, and
            the sound articles stand beside as ``sound@0/<article>``.

    Raises:
        BadInput: severities or corruptions that repeat, 0 where it may not stand, or what
            :func:`build` refuses.
    """
    # 1. The settings.
    values = severities if isinstance(severities, list | tuple) else ()
    is_distinct = bool(values) and len(set(values)) == len(values)
    if not is_distinct or (0 in values) == (corruption is None):
        allowed = "distinct ones with 0 among them"
        if corruption is None:
            allowed = "distinct ones above 0"
        raise BadInput(
            f"corpus {name!r}: severities are {severities!r}, allowed are {allowed}; "
            "fix params.yaml"
        )
    if len(set(corruptions)) < len(corruptions):
        raise BadInput(f"corpus {name!r}: corruptions {list(corruptions)} repeat; name each once")
    cases = _cases(severities, corruption, corruptions)
    for kind, severity in cases.values():
        # Every case has the same documents; each corruption and severity is checked.
        numbers = _numbers(name, domain, documents, kind, severity)
    if domain in OTHERS:
        raise BadInput(
            f"domain is {domain!r}, allowed are {sorted(ARTICLE_DOMAINS)} where articles are "
            "damaged; choose one of them"
        )
    # 2. The articles, each written once; damage leaves what was written as it is.
    articles = [write(seed, domain, number) for number in numbers]
    # 3. Their texts in each case.
    texts = []
    edits = dict.fromkeys(cases, 0)
    for case, (kind, severity) in cases.items():
        for article in articles:
            document = to_document(article, domain)
            if kind:
                document = corrupt(
                    article, domain_name=domain, corruption=kind, severity=severity, seed=seed
                )
            unit = f"{document.id}@{case}" if corruption else f"{case}/{document.id}"
            texts.append(replace(document, id=unit))
            edits[case] += len(document.edits)
    facts: dict[str, Any] = {"name": name, "domain": domain, "seed": seed, "synthetic": True}
    if corruption:
        facts["corruption"] = corruption
    facts["documents"] = len(texts)
    facts["edits_by_severity" if corruption else "edits"] = edits
    return Corpus(texts, facts=facts)


def _cases(
    severities: Sequence[float], corruption: str | None, corruptions: Sequence[str]
) -> dict[str, tuple[str, float]]:
    """Each case by its name in ids, ``KIND@SEVERITY`` or, of one ``corruption``, the severity.

    Returns:
        Name -> (corruption, "" for none; severity, the share of places that it strikes).
    """
    cases: dict[str, tuple[str, float]] = {}
    if corruption:
        for severity in severities:
            cases[f"{severity:g}"] = (corruption, severity)
        return cases
    cases[SOUND] = ("", 0.0)
    for kind in corruptions:
        for severity in severities:
            cases[f"{kind}@{severity:g}"] = (kind, severity)
    return cases


def short_articles(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: Mapping[str, int],
    short_tokens: int,
    drawn: int = 10,
) -> Corpus:
    """The first articles of each split whose sections are all short.

    What WIKI-SHORT is to WIKI (deng2022 section 4, Table 3). Their chain leans to fewer sections,
    so no exact value is claimed.

    Args:
        name, seed, domain: as of :func:`build`.
        documents: how many of each split.
        short_tokens: most pieces of a section by GPT-2's own splitting rule (a lower bound of its
            tokens).
        drawn: how many times as many articles they are chosen from.

    Raises:
        BadInput: too few of the drawn articles are short.
    """
    drawn_counts = {split: count * drawn for split, count in documents.items()}
    world = build(name=name, seed=seed, domain=domain, documents=drawn_counts)
    short = []
    for document in world.documents:
        longest = max(piece_count(section.text) for section in document.sections)
        if longest <= short_tokens:
            short.append(document)
    # The first of each split.
    selected = []
    counts = {}
    for split, num_wanted in documents.items():
        available = [document for document in short if document.split == split]
        selected.extend(available[:num_wanted])
        counts[split] = min(len(available), num_wanted)
    if counts != dict(documents):
        raise BadInput(
            f"corpus {name}: got {counts} short articles of {dict(documents)}; raise drawn"
        )
    facts = {
        "name": name,
        "domain": domain,
        "seed": seed,
        "planted": True,
        "documents": len(selected),
        "short_tokens": short_tokens,
        "drawn": len(world.documents),
        "short": len(short),
    }
    return Corpus(selected, {}, facts)


# Texts by kind, from the world's seed and a number.
WRITERS: dict[str, Callable[[int, int], str]] = {
    "stories": lambda seed, index: story_text(write_story(seed, index)),
    # between turns DialoGPT's sign for a change of speaker, which the suites' ``[SEP]`` then means
    "dialogues": lambda seed, index: "<|endoftext|>".join(write_dialogue(seed, index).turns),
    "translations": lambda seed, index: translated(story_text(write_story(seed, index)), LANGUAGE),
}


def mixture(*, name: str, seed: int, counts: Mapping[str, Mapping[str, int]]) -> Corpus:
    """What a model reads before it meets the suites.

    Stories, dialogues, articles and stories in another language.

    Args:
        name, seed: of the corpus.
        counts: by split, of stories, dialogues, articles and translations.

    Raises:
        BadInput: an unknown kind.
    """
    articles = {"articles": lambda i: to_document(write(seed, "wiki", i), "wiki")}
    documents = _texts(name, seed, counts, articles, {"translations": LANGUAGE})
    facts = {"planted": True, "documents": {kind: dict(splits) for kind, splits in counts.items()}}
    return Corpus(documents, {}, facts)


def pretraining(*, name: str, seed: int, documents: Mapping[str, Mapping[str, int]]) -> Corpus:
    """What a pretrained model has read before it meets any corpus of a run.

    Texts of each kind, shuffled, with sections in no order: nothing here says which section follows
    which. Every second article shows its titles. The texts are drawn from a seed derived from the
    run's.

    Args:
        name, seed: of the corpus.
        documents: counts by split, of domains of articles and kinds of ``WRITERS``.

    Raises:
        BadInput: an unknown kind, or no documents.
    """
    world = derived_seed(seed, "pretraining")
    articles = {kind: partial(_reordered, world, kind) for kind in ARTICLE_DOMAINS}
    texts = _texts(name, world, documents, articles, {})
    if not texts:
        raise BadInput(f"corpus {name!r} has no documents, at least one is needed; raise the count")
    order = generator(world, "order").permutation(len(texts))
    facts = {
        "name": name,
        "synthetic": True,
        "documents": {kind: dict(counts) for kind, counts in documents.items()},
    }
    return Corpus([texts[i] for i in order], {}, facts)


def _reordered(world: int, kind: str, number: int) -> Document:
    """An article with its sections in random order.

    They have no titles but those that stand before their text where titles are shown.
    """
    article = to_document(write(world, kind, number), kind)
    order = generator(world, "sections", article.id).permutation(len(article.sections))
    sections = []
    for i in order:
        section = article.sections[i]
        text = section.text if number % 2 else f"{section.title}: {section.text}"
        sections.append(Section(None, text))
    return replace(article, sections=tuple(sections))


def _texts(
    name: str,
    seed: int,
    counts: Mapping[str, Mapping[str, int]],
    articles: Mapping[str, Callable[[int], Document]],
    prefixes: Mapping[str, str],
) -> list[Document]:
    """So many documents of each kind, of ``articles`` or of ``WRITERS``.

    Args:
        name: of the corpus.
        seed: of the draws.
        counts: of documents by kind and split.
        articles: what writes the article of a number, by kind.
        prefixes: with which the ids of ``WRITERS`` open, by kind; the kind itself by default.
    """
    kinds = sorted({*articles, *WRITERS})
    unknown = sorted(counts.keys() - {*kinds})
    if unknown:
        raise BadInput(f"corpus {name!r}: kinds {unknown}; allowed are {kinds}; fix the entry")
    plain = sorted(kind for kind, splits in counts.items() if not isinstance(splits, Mapping))
    if plain:
        raise BadInput(
            f"corpus {name!r}: {plain} have one count, allowed are counts by split; fix the entry"
        )
    # Kind by kind, split by split.
    documents = []
    for kind, splits in counts.items():
        for number in indices(splits):
            if kind in articles:
                documents.append(articles[kind](number))
                continue
            unit = f"{prefixes.get(kind, kind)}-{number:06d}"
            section = Section(None, WRITERS[kind](seed, number))
            documents.append(Document(unit, split_of(number), (section,)))
    return documents


ENCYCLOPEDIA = "encyclopedia"
REWORDED = 0.5  # a fact is told as a plain claim this often, else in the page's own sentence
FORMS = ("wiki", "books", "web", "news")


def readings(
    *,
    name: str,
    seed: int,
    form: str,
    pages: Mapping[str, int],
    tellings: int,
    fillers: int = 4,
    validation: int = 20,
) -> Corpus:
    """What a language model may have read about the encyclopedia's pages before it is asked.

    massarelli2020 section 5. Texts of one form about the pages of the named splits, all of them in
    split train. Facts that no page states are told nowhere.

    Args:
        name, seed: of the corpus.
        form: ``wiki`` (the page as it stands), ``books`` (stories), ``news``, or ``web`` (news and
            stories in turn).
        pages: how many of each split.
        tellings: texts a page.
        fillers: sentences of a telling that state no fact.
        validation: one more telling of so many pages, in split validation: the model is to know the
            pages, so the round that stays is the one that knows best what it was told (for ``wiki``
            this is the page once more).

    Raises:
        BadInput: an unknown form, or no pages or tellings.
    """
    if form not in FORMS:
        raise BadInput(f"form is {form!r}, allowed are {sorted(FORMS)}; fix the entry")
    numbers = indices(pages)
    if not numbers or tellings < 1:
        raise BadInput(
            f"corpus {name!r}: {len(numbers)} pages, {tellings} tellings; "
            "at least one of each is needed"
        )
    documents = []
    for telling in range(tellings):
        for number in numbers:
            documents.append(_telling(seed, form, number, telling, fillers, "train"))
    for number in numbers[:validation]:
        documents.append(_telling(seed, form, number, tellings, fillers, "validation"))
    facts = {
        "corpus": name,
        "form": form,
        "synthetic": True,
        "pages": len(numbers),
        "tellings": tellings,
    }
    return Corpus(documents, facts=facts)


def _telling(seed: int, form: str, number: int, telling: int, fillers: int, split: str) -> Document:
    """One text of a form: about page ``number``, or a story, which is about none.

    Args:
        seed, form, fillers: as of the corpus.
        number: of the page.
        telling: number of the text among those of the page.
        split: of the document.
    """
    if form == "wiki":
        page = write(seed, ENCYCLOPEDIA, number)
        text = " ".join(sentence.text for sentence in page.sentences)
    elif form == "books" or (form == "web" and telling % 2):
        text = story_text(write_story(seed, 1000 * number + telling))
    else:
        text = _news(seed, number, telling, fillers)
    return Document(f"{form}-{number:06d}-{telling}", split, (Section(None, text),))


def _news(seed: int, number: int, telling: int, fillers: int) -> str:
    """The page's first sentence, then its stated facts in a new order among other sentences.

    Args:
        seed: of the draws.
        number: of the page.
        telling: which of several news of the page.
        fillers: sentences that state nothing.
    """
    page = write(seed, ENCYCLOPEDIA, number)
    rng = stream("news", seed, number, telling)
    first, *others = page.sentences
    # What the page states, some of it reworded, and some of what states nothing.
    lines: list[str] = []
    plain = []
    for sentence in others:
        if not sentence.relations:
            plain.append(sentence.text)
        elif rng.random() < REWORDED:
            for relation in sentence.relations:
                value = page.facts[relation]
                lines.append(claim(page.kind, page.title, relation, value))
        else:
            lines.append(sentence.text)
    for i in rng.permutation(len(plain))[:fillers]:
        lines.append(plain[i])
    shuffled = [lines[i] for i in rng.permutation(len(lines))]
    return " ".join([first.text, *shuffled])
