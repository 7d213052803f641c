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


MANY = {"train": 24, "validation": 1, "test": 3}  # of short texts


def built(domain):
    splits = MANY if domain in corpora.OTHERS else SPLITS
    return lambda: corpora.build(name="pin", seed=5, domain=domain, documents=splits)


def damaged(corruption):
    return lambda: corpora.build(
        name="pin", seed=5, domain="wiki", documents=3, corruption=corruption, severity=0.4
    )


def told(form):
    return lambda: corpora.readings(
        name="pin", seed=5, form=form, pages={"train": 9, "test": 3}, tellings=2, validation=2
    )


DRAWN = {
    **{domain: built(domain) for domain in corpora.DOMAINS},
    **{f"wiki, {corruption}": damaged(corruption) for corruption in CORRUPTIONS},
    **{f"read as {form}": told(form) for form in corpora.FORMS},
    "pretraining": lambda: corpora.pretraining(
        name="pin", seed=5, documents={"wiki": {"train": 9}, "stories": {"train": 9}}
    ),
    "short articles": lambda: corpora.short_articles(
        name="pin", seed=5, domain="wiki", documents={"train": 2}, short_tokens=120
    ),
    "fever": lambda: fever_corpus.build(name="pin", seed=5, pages={"test": 16}, shares=SHARES),
    "suites": lambda: planted_suites.source_files(5, {"stories": 9, "dialogues": 9, "articles": 9}),
    "dump": lambda: native_corpus.dump_files(5, 64),
    "cohan files": lambda: native_corpus.cohan_files("pubmed", 5, 24),
    "language": lambda: hsmm_language.build(
        name="pin", seed=5, documents={"train": 30, "test": 9}, **LANGUAGE
    ),
}
PINS = {
    "wiki": "d64d8c4f66ea",
    "wikisection": "befe21b8ae7d",
    "encyclopedia": "7597914c549a",
    "pubmed": "a731fc26f212",
    "arxiv": "b85385fc3528",
    "parallel": "b672c7ba7013",
    "reports": "938942645e5d",
    "summaries": "d97d16281082",
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
    "read as wiki": "c2757003bec8",
    "read as books": "6d82e283f23e",
    "read as web": "0cf680cb35f7",
    "read as news": "b1f76a7ca876",
    "pretraining": "137e5c0a8b9e",
    "short articles": "7d10b748d69f",
    "fever": "2d93394d7464",
    "suites": "6bdbf012ce1a",
    "dump": "716cf60f16fe",
    "cohan files": "f980ca16635f",
    "language": "966c8a7ccab0",
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
