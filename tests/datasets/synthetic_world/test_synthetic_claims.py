"""What is written can be read back from text by string rules alone, and claims are labelled by what pages state."""

from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.fever_corpus import SUPPORTED, UNKNOWN, make_claims
from tests.samples.claims import stated_in, true_verifier

PAGES = [write(2, "encyclopedia", index) for index in range(200)]
VERIFIER = true_verifier(PAGES)
CLAIMS = list(make_claims(PAGES, domain("encyclopedia").vocabulary, seed=4))


def test_every_claim_and_every_sentence_of_a_page_has_its_true_label():
    assert all(VERIFIER.check(text) == verdict for text, verdict in CLAIMS)
    for page in PAGES:
        for line, sentence in enumerate(page.sentences):
            verdict = VERIFIER.check(sentence.text)
            assert verdict.label == (SUPPORTED if sentence.relations else UNKNOWN)
            assert not sentence.relations or {(page.title, line)} == verdict.evidence


def test_every_fact_sentence_parses_back_to_its_triples_and_no_other_sentence_does(articles):
    stated = 0
    for article in articles[:800]:
        for sentence in article.sentences:
            triples = stated_in(sentence.text, "wiki")
            due = [(article.title, relation, article.facts[relation]) for relation in sentence.relations]
            assert [(t.title, t.relation, t.value) for t in triples] == due, sentence.text
            stated += len(due)
    assert stated > 1500
