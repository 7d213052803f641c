"""What the pages of the synthetic encyclopedia state, taken from the facts that they were written from."""

from synthetic_world.fever_corpus import Triple, Verifier, page_patterns


def true_verifier(articles, domain_name="encyclopedia"):
    """Every stated fact with the sentence that states it; the first page of a title counts."""
    stated = {}
    for title, page in {article.title: article for article in reversed(list(articles))}.items():
        for line, sentence in enumerate(page.sentences):
            for relation in sentence.relations:
                stated.setdefault((title, relation), (page.facts[relation], (title, line)))
    return Verifier(domain_name, stated)


def stated_in(sentence, domain_name):
    """Triples of a fact sentence of a domain's pages, plain claims left out."""
    matches = (
        (pattern.match(sentence), relations) for pattern, relations in page_patterns(domain_name)
    )
    match, relations = next(((m, r) for m, r in matches if m), (None, ()))
    return [Triple(match["title"], relation, match[relation]) for relation in relations]
