"""Claims in the world's language are labelled by what its pages state."""

from collections import Counter

import pytest

from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.claims import REFUTED, SUPPORTED, UNKNOWN, Verifier, make_claims
from longform.datasets.synthetic_world.domains import domain

PAGES = [write(2, "encyclopedia", index) for index in range(200)]
VERIFIER = Verifier.from_articles(PAGES, "encyclopedia")
CLAIMS = list(make_claims(PAGES, domain("encyclopedia").vocabulary, seed=4))


def test_every_generated_claim_gets_its_true_label_and_evidence():
    assert all(VERIFIER.check(claim.text) == claim.verdict for claim in CLAIMS)


def test_all_three_labels_are_common():
    counts = Counter(claim.verdict.label for claim in CLAIMS)
    assert min(counts[label] for label in (SUPPORTED, REFUTED, UNKNOWN)) > 100


def test_every_sentence_of_a_page_is_supported_or_states_nothing():
    for page in PAGES:
        for line, sentence in enumerate(page.sentences):
            verdict = VERIFIER.check(sentence.text)
            assert verdict.label == (SUPPORTED if sentence.relations else UNKNOWN)
            assert not sentence.relations or {(page.title, line)} == verdict.evidence


@pytest.mark.parametrize("name", ["wiki", "encyclopedia"])
def test_titles_are_unique(name):
    titles = [write(2, name, index).title for index in range(800)]
    assert len(set(titles)) == len(titles)


def test_a_claim_about_an_unknown_page_or_without_a_fact_is_unknown():
    for text in ("Nowhere was founded in 1500.", "The sailors sang.", ""):
        assert VERIFIER.check(text).label == UNKNOWN
