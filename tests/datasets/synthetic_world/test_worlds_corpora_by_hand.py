"""Which documents the world's corpora hold, in which splits and order, with stand-ins for what is written."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from longform.documents import Corpus, Document, Section
from synthetic_world import (
    corpora,
    corpus,
    domains,
    fever_corpus,
    native_corpus,
    reports,
    simulated_annotators,
    stories,
)
from synthetic_world.fever_corpus import Triple, Verdict, Verifier
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("documents", "numbers"),
    [
        (3, [0, 1, 2]), (0, []), ({"test": 2}, [9, 19]), ({"validation": 2, "train": 1}, [8, 18, 0]),
        ({"train": 10}, [0, 1, 2, 3, 4, 5, 6, 7, 10, 11]), ({"all": 11}, list(range(11))),
    ],
)  # fmt: skip
def test_of_ten_documents_eight_train_one_validates_and_one_tests(documents, numbers):
    assert corpus.indices(documents) == numbers


def test_a_split_is_that_of_the_number_alone():
    splits = " ".join(corpus.split_of(i) for i in (0, 7, 8, 9, 10, 18))
    assert splits == "train train validation test train validation"
    for wrong in ({"dev": 1}, {"train": -1}, -1, {}):
        refuses("allowed is a count or counts of", corpus.indices, wrong)


def sentence(text, relations=(), **more):
    return SimpleNamespace(text=text, relations=relations, **more)


def article(number, title="Ulm", kind="town", *sections, facts=None):
    given = sections or (
        ("abstract", [sentence("One.", ("founded",)), sentence("Two.")]),
        ("history", [sentence("Three.")]),
    )
    every = [one for _, members in given for one in members]
    return SimpleNamespace(
        index=number,
        title=title,
        kind=kind,
        sections=given,
        sentences=every,
        facts=facts or {"founded": "1900"},
    )


def test_an_article_is_a_paragraph_for_each_section():
    made = corpus.to_document(article(18), "wiki")
    assert (made.id, made.split) == ("wiki-000018", "validation")
    assert [(one.title, one.text) for one in made.sections] == [
        ("abstract", "One. Two."),
        ("history", "Three."),
    ]


def test_spans_count_a_blank_between_sentences_and_a_line_between_sections():
    mention = SimpleNamespace(start=1, end=3, person=4)

    def linked(text, *mentions, across=False):
        return sentence(text, sense=5, connective=6, across=across, mentions=mentions)

    one = article(
        0,
        "U",
        "t",
        ("a", [linked("One."), linked("Two..", mention)]),
        ("b", [linked("Three.", mention, across=True)]),
    )
    sentences, mentions = corpus._spans([one, article(1, "U", "t", ("a", []))])
    assert sentences == [[(0, 0, 4, 5, 6, 0), (0, 5, 10, 5, 6, 0), (1, 12, 18, 5, 6, 1)], []]
    assert mentions == [[(6, 8, 1, 4), (13, 15, 2, 4)], []]
    text = corpus.to_document(one, "wiki").text
    assert [text[start:end] for _, start, end, *_ in sentences[0]] == ["One.", "Two..", "Three."]
    arrays = corpus._columns("mention", mentions, corpus.MENTION_COLUMNS)
    assert arrays["mention_person"].tolist() == [4, 4] and arrays[
        "mention_person_lengths"
    ].tolist() == [2, 0]
    assert arrays["mention_sentence"].dtype == np.int64


@pytest.fixture
def world(monkeypatch):
    """Articles by number and damages that name themselves in their text."""
    written = []

    def write(seed, domain, number):
        written.append((seed, domain, number))
        return article(number)

    def corrupt(one, *, domain_name, corruption, severity, seed):
        edits = ({"kind": corruption},) * round(severity * 10)
        return Document(
            f"{domain_name}-{one.index}",
            "test",
            (Section(None, f"{corruption} {severity:g} {seed}"),),
            edits,
        )

    monkeypatch.setattr(corpora, "write", write)
    monkeypatch.setattr(corpora, "corrupt", corrupt)
    return written


def test_each_article_stands_under_every_corruption_and_severity(world):
    kinds = list(corpora.CORRUPTIONS)[:2]
    made = corpora.corrupted(
        name="c",
        seed=5,
        domain="wiki",
        documents={"test": 2},
        severities=[0.5, 1.0],
        corruptions=kinds,
    )
    assert world == [(5, "wiki", 9), (5, "wiki", 19)]
    ids = [one.id for one in made.documents]
    assert ids[:3] == [
        f"{corpora.SOUND}/wiki-000009",
        f"{corpora.SOUND}/wiki-000019",
        f"{kinds[0]}@0.5/wiki-9",
    ]
    assert len(ids) == 10 and made.documents[4].sections[0].text == f"{kinds[0]} 1 5"
    assert made.facts["edits"] == {
        corpora.SOUND: 0,
        f"{kinds[0]}@0.5": 10,
        f"{kinds[0]}@1": 20,
        f"{kinds[1]}@0.5": 10,
        f"{kinds[1]}@1": 20,
    }
    assert (made.facts["documents"], made.facts["domain"], made.facts["synthetic"]) == (
        10,
        "wiki",
        True,
    )
    assert "corruption" not in made.facts


def test_one_corruption_has_its_severities_in_the_ids(world):
    kind = next(iter(corpora.CORRUPTIONS))
    made = corpora.corrupted(
        name="c", seed=5, domain="wiki", documents=1, severities=[0, 0.5], corruption=kind
    )
    assert [one.id for one in made.documents] == ["wiki-0@0", "wiki-0@0.5"]
    assert (
        made.facts["edits_by_severity"] == {"0": 0, "0.5": 5} and made.facts["corruption"] == kind
    )


def test_severities_are_distinct_and_above_zero_beside_sound_articles(world):
    kinds = list(corpora.CORRUPTIONS)
    given = {"name": "c", "seed": 5, "domain": "wiki", "documents": 1}
    for severities in ([], [0.5, 0.5], [0, 0.5], 0.5):
        refuses("distinct ones above 0", corpora.corrupted, **given, severities=severities)
    refuses(
        "distinct ones with 0 among them",
        corpora.corrupted,
        **given,
        severities=[0.5],
        corruption=kinds[0],
    )
    refuses(
        "repeat; name each once",
        corpora.corrupted,
        **given,
        severities=[0.5],
        corruptions=[kinds[0]] * 2,
    )
    refuses("allowed is 0 to 1", corpora.corrupted, **given, severities=[1.1])
    refuses("has no documents", corpora.corrupted, **given | {"documents": 0}, severities=[1])
    assert corpora._numbers("c", "wiki", 1, "", 0.0) == [0] and corpora._numbers(
        "c", "wiki", 1, kinds[0], 1.0
    ) == [0]
    refuses("corruption is '' in 'wiki'", corpora._numbers, "c", "wiki", 1, "", 0.5)
    refuses("corruption is 'x' in 'wiki'", corpora._numbers, "c", "wiki", 1, "x", 0.0)
    refuses(
        f"corruption is '{kinds[0]}' in 'reports', allowed are ..;",
        corpora._numbers,
        "c",
        "reports",
        1,
        kinds[0],
        0.0,
    )
    refuses("severity is -0.1", corpora._numbers, "c", "wiki", 1, kinds[0], -0.1)
    refuses("domain is 'x'", corpora._numbers, "c", "x", 1, "", 0.0)


def test_short_articles_are_the_first_whose_longest_section_is_short(monkeypatch):
    asked = []
    lengths = {"train": [3, 2, 1, 2], "test": [1, 2, 3]}
    documents = [
        Document(f"{split}{i}", split, (Section(None, "x"), Section(None, "y" * size)))
        for split, sizes in lengths.items() for i, size in enumerate(sizes)
    ]  # fmt: skip
    monkeypatch.setattr(corpora, "build", lambda **given: asked.append(given) or Corpus(documents))
    monkeypatch.setattr(corpora, "piece_count", len)
    given = {"name": "n", "seed": 5, "domain": "wiki", "short_tokens": 2}
    made = corpora.short_articles(**given, documents={"train": 2, "test": 1})
    assert [one.id for one in made.documents] == ["train1", "train2", "test0"]
    assert asked[0]["documents"] == {"train": 20, "test": 10}
    assert {name: made.facts[name] for name in ("documents", "drawn", "short", "short_tokens")} == {
        "documents": 3, "drawn": 7, "short": 5, "short_tokens": 2,
    }  # fmt: skip
    corpora.short_articles(**given, documents={"train": 3}, drawn=2)
    assert asked[1]["documents"] == {"train": 6}
    refuses(
        "got {'test': 2} short articles of {'test': 3}; raise drawn",
        corpora.short_articles,
        **given,
        documents={"test": 3},
    )


def test_a_mixture_is_kind_by_kind_and_split_by_split(world, monkeypatch):
    monkeypatch.setattr(
        corpora,
        "WRITERS",
        {"stories": lambda s, i: f"story {s} {i}", "translations": lambda s, i: f"other {i}"},
    )
    counts = {
        "stories": {"test": 1, "train": 1},
        "articles": {"train": 1},
        "translations": {"validation": 1},
    }
    made = corpora.mixture(name="m", seed=5, counts=counts)
    assert [(one.id, one.split, one.text) for one in made.documents] == [
        ("stories-000009", "test", "story 5 9"), ("stories-000000", "train", "story 5 0"),
        ("wiki-000000", "train", "One. Two.\n\nThree."), (f"{corpora.LANGUAGE}-000008", "validation", "other 8"),
    ]  # fmt: skip
    assert made.facts == {"planted": True, "documents": counts}
    refuses(r"corpus 'm': kinds \['x'\]", corpora.mixture, name="m", seed=5, counts={"x": {}})
    refuses(
        r"\['stories'\] have one count", corpora.mixture, name="m", seed=5, counts={"stories": 3}
    )


def test_a_dialogue_is_that_of_the_seed_and_its_number():
    (one,) = corpora.mixture(name="m", seed=5, counts={"dialogues": {"test": 1}}).documents
    assert one.text == "<|endoftext|>".join(stories.write_dialogue(5, 9).turns)


def test_what_a_model_read_before_has_sections_in_no_order(world, monkeypatch):
    monkeypatch.setattr(
        corpora, "derived_seed", lambda seed, name: 100 * seed if name == "pretraining" else None
    )
    draws = {
        (500, "order"): [1, 0],
        (500, "sections", "wiki-000000"): [1, 0],
        (500, "sections", "wiki-000001"): [0, 1],
    }
    monkeypatch.setattr(
        corpora,
        "generator",
        lambda *names: SimpleNamespace(permutation=lambda count: np.array(draws[names][:count])),
    )
    made = corpora.pretraining(name="p", seed=5, documents={"wiki": {"train": 2}})
    assert [one.id for one in made.documents] == ["wiki-000001", "wiki-000000"] and world[0][
        0
    ] == 500
    assert [one.text for one in made.documents[1].sections] == [
        "history: Three.",
        "abstract: One. Two.",
    ]
    assert [one.text for one in made.documents[0].sections] == ["One. Two.", "Three."]
    assert {section.title for one in made.documents for section in one.sections} == {None}
    facts = {"name": "p", "synthetic": True, "documents": {"wiki": {"train": 2}}}
    assert made.facts == facts and made.truth == {}
    refuses("corpus 'p' has no documents", corpora.pretraining, name="p", seed=5, documents={})


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("wiki", ["page 0", "page 1", "page 0", "page 1", "page 0"]),
        ("books", ["story 0", "story 1000", "story 1", "story 1001", "story 2"]),
        ("news", ["news 0 0", "news 1 0", "news 0 1", "news 1 1", "news 0 2"]),
        ("web", ["news 0 0", "news 1 0", "story 1", "story 1001", "news 0 2"]),
    ],
)
def test_pages_are_told_so_often_and_once_more_to_validate(form, texts, monkeypatch):
    monkeypatch.setattr(
        corpora,
        "write",
        lambda seed, domain, number: article(
            number, "U", "t", ("a", [sentence("page"), sentence(str(number))])
        ),
    )
    monkeypatch.setattr(corpora, "write_story", lambda seed, number: f"story {number}")
    monkeypatch.setattr(corpora, "story_text", lambda story: story)
    monkeypatch.setattr(
        corpora,
        "_news",
        lambda seed, number, telling, fillers: f"news {number} {telling}" if fillers == 4 else "",
    )
    made = corpora.readings(
        name="r", seed=5, form=form, pages={"train": 2}, tellings=2, validation=1
    )
    assert [one.text for one in made.documents] == texts
    assert [one.split for one in made.documents] == ["train"] * 4 + ["validation"]
    assert made.documents[3].id == f"{form}-000001-1" and made.documents[4].id == f"{form}-000000-2"
    assert (made.facts["pages"], made.facts["tellings"]) == (2, 2)
    refuses(
        "form is 'x'", corpora.readings, name="r", seed=5, form="x", pages={"train": 1}, tellings=1
    )
    for pages, tellings in (({}, 1), ({"train": 1}, 0)):
        refuses(
            "at least one of each is needed|documents is",
            corpora.readings,
            name="r",
            seed=5,
            form=form,
            pages=pages,
            tellings=tellings,
        )
    assert (
        len(
            corpora.readings(name="r", seed=5, form=form, pages={"train": 30}, tellings=1).documents
        )
        == 50
    )


@pytest.mark.parametrize(("draw", "facts"), [(0.49, "founded: 1900"), (0.5, "Two.")])
def test_news_tells_the_facts_of_a_page_among_other_sentences(draw, facts, monkeypatch):
    members = [
        sentence("One."),
        sentence("Two.", ("founded",)),
        sentence("a"),
        sentence("b"),
        sentence("c"),
    ]
    rng = SimpleNamespace(random=lambda: draw, permutation=lambda count: np.arange(count)[::-1])
    monkeypatch.setattr(
        corpora, "write", lambda seed, domain, number: article(number, "U", "t", ("a", members))
    )
    monkeypatch.setattr(
        corpora, "stream", lambda *names: rng if names == ("news", 5, 7, 1) else None
    )
    monkeypatch.setattr(
        corpora, "claim", lambda kind, title, relation, value: f"{relation}: {value}"
    )
    assert corpora._news(5, 7, 1, 2) == f"One. b c {facts}"


# -- claims --


def verifier(**stated):
    pages = {
        ("Ulm", relation): (value, ("Ulm", line))
        for line, (relation, value) in enumerate(stated.items())
    }
    return Verifier("encyclopedia", pages)


@pytest.mark.parametrize(
    ("triples", "label", "lines"),
    [
        ([("Ulm", "founded", "1900")], "supported", [0]), ([("Ulm", "founded", "1901")], "refuted", [0]),
        ([("Ulm", "founded", "1900"), ("Ulm", "mayor", "Ann")], "supported", [0, 1]),
        ([("Ulm", "founded", "1900"), ("Ulm", "mayor", "Bob")], "refuted", [1]),
        ([("Ulm", "founded", "1900"), ("Ulm", "river", "x")], "unknown", []),
        ([("Quen", "founded", "1900")], "unknown", []), ([], "unknown", []),
        ([("Ulm", "founded", "1900")] * 2, "supported", [0]),
    ],
)  # fmt: skip
def test_a_sentence_is_supported_where_all_that_it_states_is(triples, label, lines, monkeypatch):
    monkeypatch.setattr(
        fever_corpus, "read_claim", lambda sentence, domain: [Triple(*one) for one in triples]
    )
    found = verifier(founded="1900", mayor="Ann").check("text")
    assert found == Verdict(label, frozenset(("Ulm", line) for line in lines))


def test_claims_and_pages_are_written_as_fevers():
    claims = [
        ("a", Verdict("supported", frozenset([("Ulm Minster", 2), ("A", 1)]))),
        ("b", Verdict("unknown", frozenset())),
    ]
    first, second = fever_corpus.fever_claims(claims)
    assert first == {
        "id": 0, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "a",
        "evidence": [[[0, 0, "A", 1]], [[0, 0, "Ulm_Minster", 2]]],
    }  # fmt: skip
    assert second == {
        "id": 1, "verifiable": "NOT VERIFIABLE", "label": "NOT ENOUGH INFO", "claim": "b", "evidence": [[[1, None, None, None]]],
    }  # fmt: skip
    (page,) = fever_corpus.fever_pages([article(0, "Ulm Minster")])
    assert page == {
        "id": "Ulm_Minster",
        "text": "One. Two. Three.",
        "lines": "0\tOne.\n1\tTwo.\n2\tThree.",
    }


class Draws:
    """Numbers that are given, in turn."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def uniform(self):
        return self.numbers.pop(0)

    def pick(self, items):
        return items[int(self.uniform() * len(items))]


@pytest.fixture
def told(monkeypatch):
    """Claims by stand-ins: a false value has a mark, a shown one an article."""
    relations = {
        kind: dict.fromkeys(
            ("founded", "mayor"), SimpleNamespace(show=lambda value: f"the {value}")
        )
        for kind in ("town", "film")
    }
    monkeypatch.setattr(fever_corpus, "RELATIONS", relations)
    monkeypatch.setattr(
        fever_corpus, "other_value", lambda kind, relation, value, draws, vocabulary: f"{value}!"
    )
    monkeypatch.setattr(
        fever_corpus, "claim", lambda kind, title, relation, value: f"{title} {relation} {value}"
    )
    monkeypatch.setattr(fever_corpus, "stream", lambda *names: names)
    monkeypatch.setattr(fever_corpus, "domain", lambda name: SimpleNamespace(vocabulary="words"))

    def draw(*numbers):
        monkeypatch.setattr(fever_corpus, "Draws", lambda names: Draws(*numbers))

    return draw


def test_a_claim_for_each_relation_is_true_false_or_unknown(told):
    page = article(0, "Ulm", "town", ("a", [sentence("x"), sentence("y", ("founded",)), sentence("z", ("founded",))]),
                   facts={"founded": "1900", "mayor": "Ann"})  # fmt: skip
    told(0.5, 0.49)
    evidence = frozenset({("Ulm", 1)})
    assert list(fever_corpus.make_claims([page], "words", 5)) == [
        ("Ulm founded 1900", Verdict("supported", evidence)), ("Ulm mayor Ann!", Verdict("unknown", frozenset())),
    ]  # fmt: skip
    told(0.0, 0.9)
    assert next(iter(fever_corpus.make_claims([page], "words", 5))) == (
        "Ulm founded 1900!",
        Verdict("refuted", evidence),
    )


def test_sentences_of_a_page_are_claims_and_some_are_told_of_another(told):
    facts = {"founded": "1900", "mayor": "Ann"}
    members = [sentence("Ulm has the 1900.", ("founded", "mayor")), sentence("Ulm has 1900.", ("founded",)),
               *(sentence(f"plain {i}") for i in range(5))]  # fmt: skip
    page = article(0, "Ulm", "town", ("a", members), facts=facts)
    other = article(1, "Quen", "film", ("a", [sentence("Quen.", ("founded",))]), facts=facts)
    unknown = Verdict("unknown", frozenset())
    # the other page; the first sentence is false, and told of the other, since its mayor is new
    told(0.5, 0.49, 0.49)
    found = [
        claim for claim in fever_corpus.sentence_claims([page, other], 5) if "Quen." not in claim[0]
    ]
    assert found == [
        ("Ulm has the 1900!.", Verdict("refuted", frozenset({("Ulm", 0)}))), ("Quen has the 1900.", unknown),
        ("Ulm has 1900.", Verdict("supported", frozenset({("Ulm", 1)}))),
        *((f"plain {i}", unknown) for i in range(3)),
    ]  # fmt: skip
    told(0.5, 0.5, 0.5)
    found = list(fever_corpus.sentence_claims([page, other], 5))
    assert found[0] == ("Ulm has the 1900.", Verdict("supported", frozenset({("Ulm", 0)})))
    assert found[1][0] == "Ulm has 1900." and found[-1] == (
        "Quen.",
        Verdict("supported", frozenset({("Quen", 0)})),
    )


# -- native files --


@pytest.mark.parametrize(
    ("number", "kind", "title", "redirect"),
    [
        (0, "article", "Ulm", None), (3, "redirect", "Ulm (old name)", "Ulm"), (23, "redirect", "Ulm (old name)", "Ulm"),
        (9, "disambiguation", "Ulm (disambiguation)", None), (31, "year", "1001", None), (13, "talk", "Talk:Ulm", None),
        (15, "template", "Template:Ulm", None), (17, "broken", "Ulm (broken)", None), (19, "file", "File:Ulm", None),
    ],
)  # fmt: skip
def test_of_twenty_pages_eight_are_no_articles(number, kind, title, redirect, monkeypatch):
    markup = {
        "broken": ["{{"],
        "redirect": "to %(title)s",
        "year": "in %(year)s",
        "disambiguation": "%(title)s may be",
    }
    monkeypatch.setattr(native_corpus, "table", lambda name: markup)
    monkeypatch.setattr(native_corpus, "write", lambda seed, domain, number: article(number))
    monkeypatch.setattr(
        native_corpus, "_article", lambda one, draws: ("text", (("abstract", "One. Two."),))
    )
    monkeypatch.setattr(native_corpus, "Draws", lambda names: Draws(0.0))
    page = native_corpus.write_page(5, number)
    assert (page.kind, page.title, page.redirect, page.page_id) == (
        kind,
        title,
        redirect,
        12 + 3 * number,
    )
    texts = {
        "article": "text", "broken": "{{text", "redirect": "to Ulm", "year": "in 1001", "disambiguation": "Ulm may be",
    }  # fmt: skip
    assert page.wikitext == texts.get(kind, "== About ==\nOne. Two.")
    assert page.sections == ((("abstract", "One. Two."),) if kind == "article" else ())


def test_a_pages_xml_has_its_namespace_and_size(monkeypatch):
    monkeypatch.setattr(
        native_corpus,
        "table",
        lambda name: {
            "page": "%(title)s|%(ns)s|%(id)s|%(redirect)s|%(revision)s|%(size)s|%(text)s"
        },
    )
    page = native_corpus.Page(7, "A & B", "talk", "ä<", "C")
    assert page.xml == 'A &amp; B|1|7|    <redirect title="C" />\n|1000007|3|ä&lt;'
    assert native_corpus.Page(7, "A", "article", "x").xml == "A|0|7||1000007|1|x"


def test_a_dump_has_a_hundred_pages_a_stream(monkeypatch):
    import bz2

    monkeypatch.setattr(native_corpus, "table", lambda name: {"header": "<h>"})
    monkeypatch.setattr(
        native_corpus, "write_page", lambda seed, number: SimpleNamespace(xml=f"{number};")
    )
    ((name, content),) = native_corpus.dump_files(5, 201).items()
    assert name.endswith("multistream.xml.bz2") and content.count(b"BZh9") == 5
    text = bz2.decompress(content).decode()
    assert text == "<h>" + "".join(f"{i};" for i in range(201)) + "</mediawiki>\n"


def test_papers_are_printed_in_lower_case_with_marks_apart(monkeypatch):
    sections = (
        ("intro", [sentence("In 1,000 B-trees, it is."), sentence("Yes.")]),
        ("method", [sentence("No 2.5!")]),
    )
    monkeypatch.setattr(
        native_corpus, "write", lambda seed, domain, number: article(number, "U", "t", *sections)
    )
    monkeypatch.setattr(native_corpus, "table", lambda name: {"intro": ["INTRO", "Introduction"]})
    monkeypatch.setattr(native_corpus, "stream", lambda *names: names)
    monkeypatch.setattr(native_corpus, "Draws", lambda names: Draws(0.5, 0.5))
    files = native_corpus.cohan_files("arxiv", 5, 10)
    assert {name: len(content.splitlines()) for name, content in files.items()} == {
        "train.txt": 8,
        "val.txt": 1,
        "test.txt": 1,
    }
    record = json.loads(files["val.txt"])
    printed = [["in 1,000 b-trees , it is .", "yes ."], ["no 2.5 !"]]
    assert record == {
        "article_id": "arxiv0000008", "article_text": [*printed[0], *printed[1]], "labels": None,
        "abstract_text": ["<S> in 1,000 b-trees , it is . </S>", "<S> no 2.5 ! </S>"],
        "section_names": ["Introduction", "method"], "sections": printed,
    }  # fmt: skip


def test_two_fifths_of_eligible_sentences_state_facts_nine_tenths_in_one():
    shares = {name: domains.domain(name).fact_share for name in domains.DOMAINS}
    expected = dict.fromkeys(("wiki", "wikisection", "pubmed", "arxiv"), 0.4)
    assert shares == {**expected, "encyclopedia": 0.9}


def test_simulated_annotators_answer_truly_or_never_and_pass_their_checks():
    transitions = np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]])
    rule = simulated_annotators.ChainRule(("one", "two"), transitions, 0.9)
    panel = [
        simulated_annotators.Annotator("sure", 0, 0),
        simulated_annotators.Annotator("off", 1, 1),
    ]
    chains = {"x": ("one", "two"), "y": ("one",), "z": ()}
    rows = simulated_annotators.answer_rows(
        chains, rule=rule, annotators=panel, system="s", seed=1, checks=3, cut={"y"}
    )
    same = {"phase": "testing", "at": "", "last": True}
    assert all(row.items() >= same.items() for row in rows)
    fields = ("annotator", "item", "source", "question", "answer", "gold", "check")
    lines = [tuple(row[field] for field in fields) for row in rows]
    good, bad = "coherent", "incoherent"
    items = [
        ("x", "section_0", "one", "two"), ("x", "section_1", "two", "one"), ("x", good, good, bad),
        ("y", "section_0", "one", "two"), ("y", good, good, bad), ("z", good, bad, good),
    ]  # fmt: skip
    expected = []
    for name in ("sure", "off"):
        for item, question, gold, other in items:
            answer = gold if name == "sure" else other
            expected.append((name, item, "s", question, answer, gold, False))
        for number, label in enumerate(("one", "two", "one")):
            item = f"check-s-{number}"
            expected.append((name, item, "check", "section_0", label, label, True))
            expected.append((name, item, "check", good, bad, bad, True))
    assert lines == expected


def test_versions_of_a_report_are_told_by_cluster_and_number():
    documents = reports.rating_corpus(1, [8, 9], {}).documents
    names = [f"summaries-00000{index}-{number}" for index in (8, 9) for number in range(6)]
    assert [document.id for document in documents] == names
    assert [document.split for document in documents] == ["validation"] * 6 + ["test"] * 6
