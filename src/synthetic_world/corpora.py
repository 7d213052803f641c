"""Corpora of the synthetic world: sound, damaged, short, for pretraining, mixed, and of what is read about its pages.

The world is seeded text whose latent structure is drawn from known distributions; it never stands for Wikipedia or any other real text.
Everything is a function of (seed, domain, index): document 7 is document 7 whatever else is generated.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

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
    """A synthetic corpus with its truth, sound or (articles alone) with one corruption at a severity.

    Document i belongs to one split whatever the counts, and no draw depends on ``name``. In ``summaries`` documents are
    clusters of six versions, each at its own severity: the share of the eligible places that are struck. The truth arrays
    stay those of the sound text.
    Raises BadInput: an unknown domain, split or corruption, a severity outside [0, 1], or no documents at all.
    """
    numbers = _numbers(name, domain, documents, corruption, severity)
    facts = {
        "name": name,
        "domain": domain,
        "seed": seed,
        "synthetic": True,
        "documents": len(numbers),
    }
    facts |= {"corruption": corruption, "severity": severity}
    if domain in OTHERS:
        return OTHERS[domain](seed, numbers, facts)
    damage = partial(
        corrupt, domain_name=domain, corruption=corruption, severity=severity, seed=seed
    )
    articles = [write(seed, domain, number) for number in numbers]
    return article_corpus(articles, domain, facts, damage if corruption else None)


def _numbers(
    name: str, domain: str, documents: Counts, corruption: str, severity: float
) -> list[int]:
    """Numbers of a corpus's documents. Raises BadInput: what :func:`build` refuses."""
    if domain not in DOMAINS:
        raise BadInput(f"domain is {domain!r}, allowed are {sorted(DOMAINS)}; choose one of them")
    allowed = sorted(CORRUPTIONS) if domain in ARTICLE_DOMAINS else []
    if (corruption or severity) and corruption not in allowed:
        raise BadInput(
            f"corruption is {corruption!r} in {domain!r}, allowed are {allowed}; fix it or set no severity"
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
    """Every article under each corruption at every severity; a lower one strikes among the places of a higher one.

    With ``corruption`` it is the only one, 0 is among the severities, and ids are ``<article>@<severity>``; without, they are
    ``<corruption>@<severity>/<article>``, and the sound articles stand beside as ``sound@0/<article>``.
    Raises BadInput: severities or corruptions that repeat, 0 where it may not stand, or what :func:`build` refuses.
    """
    given = severities if isinstance(severities, list | tuple) else ()
    if not given or len(set(given)) < len(given) or (0 in given) == (corruption is None):
        allowed = (
            "distinct ones above 0" if corruption is None else "distinct ones with 0 among them"
        )
        raise BadInput(
            f"corpus {name!r}: severities are {severities!r}, allowed are {allowed}; fix params.yaml"
        )
    if len(set(corruptions)) < len(corruptions):
        raise BadInput(f"corpus {name!r}: corruptions {list(corruptions)} repeat; name each once")
    cases = {f"{severity:g}": (corruption or "", severity) for severity in severities}
    if not corruption:
        cases = {
            f"{kind}@{severity:g}": (kind, severity)
            for kind in corruptions
            for severity in severities
        }
        cases = {SOUND: ("", 0.0)} | cases
    for kind, severity in cases.values():
        numbers = _numbers(name, domain, documents, kind, severity)
    if domain in OTHERS:
        domains = sorted(ARTICLE_DOMAINS)
        raise BadInput(
            f"domain is {domain!r}, allowed are {domains} where articles are damaged; choose one of them"
        )
    articles = [
        write(seed, domain, number) for number in numbers
    ]  # each once; a damage leaves its article as it is
    texts, edits = [], {}
    for case, (kind, severity) in cases.items():
        edits[case] = 0
        for article in articles:
            if kind:
                made = corrupt(
                    article, domain_name=domain, corruption=kind, severity=severity, seed=seed
                )
            else:
                made = to_document(article, domain)
            texts.append(
                replace(made, id=f"{made.id}@{case}" if corruption else f"{case}/{made.id}")
            )
            edits[case] += len(made.edits)
    facts = {"name": name, "domain": domain, "seed": seed, "synthetic": True}
    facts |= {"corruption": corruption} if corruption else {}
    return Corpus(
        texts,
        facts={
            **facts,
            "documents": len(texts),
            "edits_by_severity" if corruption else "edits": edits,
        },
    )


def short_articles(
    *,
    name: str,
    seed: int,
    domain: str,
    documents: Mapping[str, int],
    short_tokens: int,
    drawn: int = 10,
) -> Corpus:
    """The first ``documents[split]`` articles of each split whose sections are all short, out of ``drawn`` times as many.

    What WIKI-SHORT is to WIKI (deng2022 section 4, Table 3). The chain of the kept ones leans to fewer sections, so no exact
    value is claimed. ``short_tokens`` bounds a section's pieces of GPT-2's own splitting rule (a lower bound of its tokens).
    Raises BadInput: too few of the drawn articles are short.
    """
    world = build(
        name=name, seed=seed, domain=domain, documents={s: n * drawn for s, n in documents.items()}
    )
    short = [
        d
        for d in world.documents
        if max(piece_count(section.text) for section in d.sections) <= short_tokens
    ]
    kept = [
        d
        for split, wanted in documents.items()
        for d in [d for d in short if d.split == split][:wanted]
    ]
    found = Counter(d.split for d in kept)
    if any(found[split] < wanted for split, wanted in documents.items()):
        raise BadInput(
            f"corpus {name}: got {dict(found)} short articles of {dict(documents)}; raise drawn"
        )
    facts = {"name": name, "domain": domain, "seed": seed, "planted": True, "documents": len(kept)}
    facts |= {"short_tokens": short_tokens, "drawn": len(world.documents), "short": len(short)}
    return Corpus(kept, {}, facts)


WRITERS: dict[
    str, Callable[[int, int], str]
] = {  # texts by kind, from the world's seed and a number
    "stories": lambda seed, index: story_text(write_story(seed, index)),
    # between turns DialoGPT's sign for a change of speaker, which the suites' ``[SEP]`` then means
    "dialogues": lambda seed, index: "<|endoftext|>".join(write_dialogue(seed, index).turns),
    "translations": lambda seed, index: translated(story_text(write_story(seed, index)), LANGUAGE),
}


def mixture(*, name: str, seed: int, counts: Mapping[str, Mapping[str, int]]) -> Corpus:
    """Stories, dialogues, articles and stories in another language: what a model reads before it meets the suites.

    ``counts`` maps stories, dialogues, articles and translations to counts by split.
    Raises BadInput: an unknown kind.
    """
    articles = {"articles": lambda i: to_document(write(seed, "wiki", i), "wiki")}
    documents = _texts(name, seed, counts, articles, {"translations": LANGUAGE})
    facts = {"planted": True, "documents": {kind: dict(splits) for kind, splits in counts.items()}}
    return Corpus(documents, {}, facts)


def pretraining(*, name: str, seed: int, documents: Mapping[str, Mapping[str, int]]) -> Corpus:
    """What a pretrained model has read before it meets any corpus of a run: texts of each kind, shuffled, sections in no order.

    So nothing here says which section follows which; every second article shows its titles. The texts are drawn from a seed
    derived from the run's; ``documents`` maps domains of articles and kinds of ``WRITERS`` to counts by split.
    Raises BadInput: an unknown kind, or no documents.
    """
    world = derived_seed(seed, "pretraining")

    def reordered(kind: str, number: int) -> Document:
        """An article's sections in random order in texts of their own, each under its title where titles are shown."""
        article = to_document(write(world, kind, number), kind)
        order = generator(world, "sections", article.id).permutation(len(article.sections))
        parts = [
            section.text if number % 2 else f"{section.title}: {section.text}"
            for section in article.sections
        ]
        return replace(article, sections=tuple(Section(None, parts[i]) for i in order))

    made = _texts(
        name, world, documents, {kind: partial(reordered, kind) for kind in ARTICLE_DOMAINS}, {}
    )
    if not made:
        raise BadInput(f"corpus {name!r} has no documents, at least one is needed; raise the count")
    order = generator(world, "order").permutation(len(made))
    facts = {
        "name": name,
        "synthetic": True,
        "documents": {kind: dict(counts) for kind, counts in documents.items()},
    }
    return Corpus([made[i] for i in order], {}, facts)


def _texts(
    name: str,
    seed: int,
    counts: Mapping[str, Mapping[str, int]],
    articles: Mapping[str, Callable[[int], Document]],
    prefixes: Mapping[str, str],
) -> list[Document]:
    """So many documents of each kind, of ``articles`` or of ``WRITERS``; the latter's ids open with a prefix or the kind."""
    kinds = sorted({*articles, *WRITERS})
    if unknown := sorted(counts.keys() - {*kinds}):
        raise BadInput(f"corpus {name!r}: kinds {unknown}; allowed are {kinds}; fix the entry")
    if plain := sorted(kind for kind, splits in counts.items() if not isinstance(splits, Mapping)):
        raise BadInput(
            f"corpus {name!r}: {plain} have one count, allowed are counts by split; fix the entry"
        )
    return [
        articles[kind](i)
        if kind in articles
        else Document(
            f"{prefixes.get(kind, kind)}-{i:06d}",
            split_of(i),
            (Section(None, WRITERS[kind](seed, i)),),
        )
        for kind, splits in counts.items()
        for i in indices(splits)
    ]


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
    """What a language model may have read about the encyclopedia's pages before it is asked about them (massarelli2020 section 5).

    Texts of one form about the pages of the named splits, all of them in split train. Facts that no page states are told nowhere.

    Args:
        form: ``wiki`` (the page as it stands), ``books`` (stories), ``news``, or ``web`` (news and stories in turn).
        tellings: texts a page.
        fillers: sentences of a telling that state no fact.
        validation: one more telling of so many pages, in split validation: the model is to know the pages, so the
            round that is kept is the one that knows best what it was told (for ``wiki`` this is the page once more).
    Raises BadInput: an unknown form, or no pages or tellings.
    """
    if form not in FORMS:
        raise BadInput(f"form is {form!r}, allowed are {sorted(FORMS)}; fix the entry")
    numbers = indices(pages)
    if not numbers or tellings < 1:
        raise BadInput(
            f"corpus {name!r}: {len(numbers)} pages, {tellings} tellings; at least one of each is needed"
        )
    rows = [(number, telling, "train") for telling in range(tellings) for number in numbers]
    rows += [(number, tellings, "validation") for number in numbers[:validation]]
    documents = []
    for number, telling, split in rows:
        if form == "wiki":
            text = " ".join(
                sentence.text for sentence in write(seed, ENCYCLOPEDIA, number).sentences
            )
        elif form == "books" or (form == "web" and telling % 2):
            text = story_text(write_story(seed, 1000 * number + telling))
        else:
            text = _news(seed, number, telling, fillers)
        documents.append(Document(f"{form}-{number:06d}-{telling}", split, (Section(None, text),)))
    facts = {
        "corpus": name,
        "form": form,
        "synthetic": True,
        "pages": len(numbers),
        "tellings": tellings,
    }
    return Corpus(documents, facts=facts)


def _news(seed: int, number: int, telling: int, fillers: int) -> str:
    """One telling: the page's first sentence, then its stated facts in a new order with ``fillers`` other sentences."""
    article, rng = write(seed, ENCYCLOPEDIA, number), stream("news", seed, number, telling)
    first, *others = article.sentences
    told = []
    for sentence in others:
        if sentence.relations and rng.random() < REWORDED:
            told += [
                claim(article.kind, article.title, r, article.facts[r]) for r in sentence.relations
            ]
        elif sentence.relations:
            told.append(sentence.text)
    plain = [s.text for s in others if not s.relations]
    told += [plain[i] for i in rng.permutation(len(plain))[:fillers]]
    return " ".join([first.text, *(told[i] for i in rng.permutation(len(told)))])
