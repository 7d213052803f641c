"""What is written can be read back from text by string rules alone, and claims are labelled by what pages state."""

import re

from longform.datasets.synthetic_world import lexicon
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.corpus import mention_spans, to_document
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.fever_corpus import SUPPORTED, UNKNOWN, Verifier, make_claims, read_facts
from longform.datasets.synthetic_world.mentions import FEMALE, GENDER_OF, MALE, PLURAL

PAGES = [write(2, "encyclopedia", index) for index in range(200)]
VERIFIER = Verifier.from_articles(PAGES, "encyclopedia")
CLAIMS = list(make_claims(PAGES, domain("encyclopedia").vocabulary, seed=4))


def test_every_generated_claim_gets_its_true_label_and_evidence():
    assert all(VERIFIER.check(claim.text) == claim.verdict for claim in CLAIMS)


def test_every_sentence_of_a_page_is_supported_or_states_nothing():
    for page in PAGES:
        for line, sentence in enumerate(page.sentences):
            verdict = VERIFIER.check(sentence.text)
            assert verdict.label == (SUPPORTED if sentence.relations else UNKNOWN)
            assert not sentence.relations or {(page.title, line)} == verdict.evidence


TOKEN = re.compile(r"[Tt]he (?P<family>[A-Z][a-z]+)s\b|\b(?P<word>[A-Z]?[a-z]+)\b")
FIRST_NAMES = dict.fromkeys(lexicon.MALE_NAMES, MALE) | dict.fromkeys(lexicon.FEMALE_NAMES, FEMALE)


def read_mentions(text):
    """Start, end, tag and person of each mention; a pronoun is the most recent person of its gender.

    First names show gender, surnames and family names are unique in a cast, persons are numbered by first mention.
    """
    persons, genders, latest, found = {}, {}, {}, []
    first = None  # start and gender of a first name that waits for its surname
    for match in TOKEN.finditer(text):
        word, family, (start, end) = match["word"], match["family"], match.span()
        if word in FIRST_NAMES:
            first = start, FIRST_NAMES[word]
            continue
        if family in lexicon.FAMILIES or word in lexicon.SURNAMES:
            person = persons.setdefault(family or word, len(persons))
            start, gender = (start, PLURAL) if family else first or (start, genders.get(person, MALE))
            tag = genders[person] = gender
        elif word in GENDER_OF:
            gender, tag = GENDER_OF[word], word
            person = latest.get(gender, -1)
        else:
            continue
        found.append((start, end, tag, person))
        latest[gender], first = person, None
    return found


def test_mentions_read_back_from_text_are_those_that_were_drawn(articles):
    for article in articles[:800]:
        gold = [symbol for symbol in article.symbols if symbol[0] != "."]
        spans = [(start, end) for start, end, _, _ in mention_spans(article)]
        found = read_mentions(to_document(article, "wiki").text)
        assert [(tag, person) for _, _, tag, person in found] == gold
        assert [(start, end) for start, end, _, _ in found] == spans


def test_every_fact_sentence_parses_back_to_its_triples_and_no_other_sentence_does(articles):
    stated = 0
    for article in articles[:800]:
        for sentence in article.sentences:
            triples = read_facts(sentence.text, "wiki")
            due = [(article.title, relation, article.facts[relation]) for relation in sentence.relations]
            assert [(t.title, t.relation, t.value) for t in triples] == due, sentence.text
            stated += len(due)
    assert stated > 1500
