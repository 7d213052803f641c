"""What a language model may have read about the encyclopedia's pages before it is asked about them (massarelli2020 section 5).

The pages themselves, stories that state no fact, news that tell a page's stated facts again in other orders and words, and a web
of both. Facts that no page states are told nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import indices
from longform.datasets.synthetic_world.draws import stream
from longform.datasets.synthetic_world.grammar import claim
from longform.datasets.synthetic_world.stories import write_story

DOMAIN = "encyclopedia"
REWORDED = 0.5  # a fact is told as a plain claim this often, else in the page's own sentence


FORMS = ("wiki", "books", "web", "news")


def _page(seed: int, number: int) -> str:
    return " ".join(sentence.text for sentence in write(seed, DOMAIN, number).sentences)


def _story(seed: int, number: int, telling: int) -> str:
    story = write_story(seed, 1000 * number + telling)
    return " ".join([*story.context, story.endings[story.right]])


def _news(seed: int, number: int, telling: int, fillers: int) -> str:
    """One telling: the page's first sentence, then its stated facts in a new order with ``fillers`` other sentences."""
    article = write(seed, DOMAIN, number)
    rng = stream("news", seed, number, telling)
    first, *others = article.sentences
    facts = []
    for sentence in others:
        if sentence.relations and rng.random() < REWORDED:
            facts += [claim(article.kind, article.title, r, article.facts[r]) for r in sentence.relations]
        elif sentence.relations:
            facts.append(sentence.text)
    plain = [s.text for s in others if not s.relations]
    rest = facts + [plain[i] for i in rng.permutation(len(plain))[:fillers]]
    return " ".join([first.text, *(rest[i] for i in rng.permutation(len(rest)))])


def build(
    *, name: str, seed: int, form: str, pages: Mapping[str, int], tellings: int, fillers: int = 4, validation: int = 20
) -> Corpus:
    """Texts of one form about the pages of the named splits, all of them in split train.

    Args:
        form: ``wiki`` (the page as it stands in every telling), ``books`` (stories), ``news``, or ``web`` (news in even
            tellings, stories in odd ones).
        pages: how many pages of each split of the encyclopedia are told.
        tellings: texts a page.
        fillers: sentences of a telling that state no fact.
        validation: one more telling of so many pages, in split validation: the model is to know the pages, so the
            round that is kept is the one that knows best what it was told (for ``wiki`` this is the page once more).

    Raises:
        BadInput: an unknown form, or no pages or tellings.
    """
    if form not in FORMS:
        raise BadInput(f"form is {form!r}, allowed are {sorted(FORMS)}; fix the entry")
    numbers = indices(pages)
    if not numbers or tellings < 1:
        raise BadInput(f"corpus {name!r}: {len(numbers)} pages, {tellings} tellings; at least one of each is needed")
    rows = [(number, telling, "train") for telling in range(tellings) for number in numbers]
    rows += [(number, tellings, "validation") for number in numbers[:validation]]
    documents = []
    for number, telling, split in rows:
        if form == "wiki":
            text = _page(seed, number)
        elif form == "books" or (form == "web" and telling % 2):
            text = _story(seed, number, telling)
        else:
            text = _news(seed, number, telling, fillers)
        documents.append(Document(f"{form}-{number:06d}-{telling}", split, (Section(None, text),)))
    facts = {"corpus": name, "form": form, "synthetic": True, "pages": len(numbers), "tellings": tellings}
    return Corpus(documents, facts=facts)
