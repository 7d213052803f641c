"""What the world draws for a seed, pinned: committed numbers hang on every word of it, so another draw is another result.

A digest that differs after a change that is meant: run the file, which prints the new ones.
"""

import hashlib
import json

import numpy as np
import pytest

from synthetic_world import corpora, fever_corpus, hsmm_language, native_corpus, planted_suites
from synthetic_world.corruptions import CORRUPTIONS

SPLITS = {"train": 2, "validation": 1, "test": 2}
LANGUAGE = {
    "num_states": 4, "subsequences": 12, "min_length": 2, "max_length": 3, "steps": 5,
    "temperatures": {"transition": 0.5, "emission": 0.5},
}  # fmt: skip
SHARES = {"train": 0.5, "validation": 0.25, "test": 0.25}


def built(domain):
    return lambda: corpora.build(name="pin", seed=5, domain=domain, documents=SPLITS)


def damaged(corruption):
    return lambda: corpora.build(
        name="pin", seed=5, domain="wiki", documents=3, corruption=corruption, severity=0.4
    )


def told(form):
    return lambda: corpora.readings(
        name="pin", seed=5, form=form, pages={"train": 2, "test": 1}, tellings=2, validation=1
    )


DRAWN = {
    **{domain: built(domain) for domain in corpora.DOMAINS},
    **{f"wiki, {corruption}": damaged(corruption) for corruption in CORRUPTIONS},
    **{f"read as {form}": told(form) for form in corpora.FORMS},
    "pretraining": lambda: corpora.pretraining(
        name="pin", seed=5, documents={"wiki": {"train": 2}, "stories": {"train": 2}}
    ),
    "short articles": lambda: corpora.short_articles(
        name="pin", seed=5, domain="wiki", documents={"train": 2}, short_tokens=120
    ),
    "fever": lambda: fever_corpus.build(name="pin", seed=5, pages={"test": 4}, shares=SHARES),
    "suites": lambda: planted_suites.source_files(5, {"stories": 2, "dialogues": 2, "articles": 2}),
    "dump": lambda: native_corpus.dump_files(5, 12),
    "cohan files": lambda: native_corpus.cohan_files("pubmed", 5, 6),
    "language": lambda: hsmm_language.build(
        name="pin", seed=5, documents={"train": 3, "test": 2}, **LANGUAGE
    ),
}
PINS = {
    "wiki": "d64d8c4f66ea",
    "wikisection": "befe21b8ae7d",
    "encyclopedia": "7597914c549a",
    "pubmed": "a731fc26f212",
    "arxiv": "b85385fc3528",
    "parallel": "7b192f7277d0",
    "reports": "58a579b7b9ea",
    "summaries": "cebf36bd2b47",
    "wiki, section_order": "80f524955526",
    "wiki, repeated_section": "ef513e0ef233",
    "wiki, wrong_pronoun": "924506d6d91e",
    "wiki, new_entity_as_pronoun": "1e2930e709e0",
    "wiki, topic_drift": "a7a252ac993c",
    "wiki, off_topic_sentence": "84d675d00170",
    "wiki, mixed_language": "24b559c2351b",
    "wiki, false_fact": "e0b50369bbb1",
    "wiki, repeated_sentence": "9394ac29cccf",
    "wiki, wrong_connective": "64c9e50854eb",
    "wiki, contradiction": "a4903bf30798",
    "read as wiki": "1ae956bde3be",
    "read as books": "39233ca15337",
    "read as web": "4eda3b14d07f",
    "read as news": "e07a63ec14bc",
    "pretraining": "6b6598c862af",
    "short articles": "7d10b748d69f",
    "fever": "121ca771d76a",
    "suites": "12900da59743",
    "dump": "6ad883578dfd",
    "cohan files": "bc7543cfdd5d",
    "language": "ecbf95cf32af",
}


def plain(value):
    """Data as JSON has it, numbers to nine digits, bytes as their digest."""
    if hasattr(value, "documents"):
        documents = [[document.split, document.to_record()] for document in value.documents]
        return [documents, plain(value.truth)]
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return hashlib.blake2b(value).hexdigest()
    return f"{value:.9g}" if isinstance(value, float) else value


def pin(value):
    text = json.dumps(plain(value), sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_draws_the_texts_that_it_always_drew(name):
    assert pin(DRAWN[name]()) == PINS[name]


if __name__ == "__main__":
    for one, draw in DRAWN.items():
        print(f'    "{one}": "{pin(draw())}",')
