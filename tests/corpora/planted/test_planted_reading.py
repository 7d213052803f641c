"""What is planted can be read back from text by string rules alone."""

from longform.datasets.synthetic_world.corpus import mention_spans, to_document
from longform.datasets.synthetic_world.reading import read_facts, read_mentions


def test_gold_chains_reread_from_text_match_the_truth_for_every_mention(articles):
    for article in articles:
        gold = [symbol for symbol in article.symbols if symbol[0] != "."]
        spans = [(start, end) for start, end, _, _ in mention_spans(article)]
        found = read_mentions(to_document(article, "wiki").text)
        assert [(m.tag, m.person) for m in found] == gold
        assert [(m.start, m.end) for m in found] == spans


def test_every_fact_sentence_parses_back_to_its_triples_and_no_other_sentence_does(articles):
    stated = 0
    for article in articles:
        for sentence in article.sentences:
            triples = read_facts(sentence.text, "wiki")
            due = [(article.title, relation, article.facts[relation]) for relation in sentence.relations]
            assert [(t.title, t.relation, t.value) for t in triples] == due, sentence.text
            stated += len(due)
    assert stated > 4000
