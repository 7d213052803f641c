"""Corpora of the world: articles sound, short, damaged and in native files, what networks have read; their tables and their card."""

import itertools
import json
import re
import runpy
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from longform.datasets import scientific
from longform.datasets.titles import piece_count
from longform.datasets.wikipedia import building as wikipedia
from synthetic_world import corpora, native_corpus
from synthetic_world.articles import write
from synthetic_world.corpora import DOMAINS, build, corrupted, pretraining, short_articles
from synthetic_world.corpus import to_document
from synthetic_world.corruptions import CORRUPTIONS, corrupt, eligible_places
from synthetic_world.draws import FOLDER
from tests.refusals import refuses
from tests.samples.claims import stated_in

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("domain", ["wiki", "wikisection", "pubmed", "arxiv"])
def test_documents_have_the_worlds_lengths_and_spans_of_their_own(domain):
    corpus = build(name="test", seed=11, domain=domain, documents=300)
    documents, truth = corpus.documents, corpus.truth
    paragraphs = [section.text for document in documents for section in document.sections]
    assert len(set(paragraphs)) == len(paragraphs)
    for document in documents:
        assert 150 <= len(re.findall(r"\w[\w,-]*|[.,]", document.text)) <= 1200
        for sentence in document.text.replace("\n\n", " ").split(". "):
            assert 4 <= len(sentence.split()) <= 30, sentence
    spans = iter(zip(truth["sentence_start"], truth["sentence_end"], strict=True))
    for document, count in zip(documents, truth["sentence_start_lengths"], strict=True):
        rows = list(itertools.islice(spans, count))
        assert all(re.fullmatch(r"[A-Z0-9].*[^.]\.", document.text[a:b]) for a, b in rows)


def test_the_card_names_every_domain_and_corruption_on_two_screens():
    page = runpy.run_path(str(ROOT / "docs" / "data_cards" / "print_synthetic_world.py"))
    lines = "\n".join(page["card"](documents=20)).splitlines()
    assert len(lines) <= 100
    assert all(any(line.startswith(f"| {name} | ") for line in lines) for name in DOMAINS)
    assert all(sum(line.startswith(f"| {name} | ") for line in lines) == 1 for name in CORRUPTIONS)
    assert lines[0] == "# Data card: the synthetic world"


def test_an_installed_package_holds_every_table():
    given = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = given["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel.keys() == {"packages"} and "src/synthetic_world" in wheel["packages"]
    assert FOLDER.is_relative_to(ROOT / "src" / "synthetic_world") and any(FOLDER.iterdir())


def test_every_section_is_short_and_every_article_is_a_planted_one():
    wanted = {"train": 12, "validation": 4, "test": 4}
    given = {"name": "b", "seed": 3, "domain": "wiki"}
    corpus = short_articles(**given, documents=wanted, short_tokens=110, drawn=5)
    whole = build(**given, documents={split: 5 * count for split, count in wanted.items()})
    by_id = {d.id: d for d in whole.documents}
    assert all(by_id[d.id] == d for d in corpus.documents)
    assert all(piece_count(s.text) <= 110 for d in corpus.documents for s in d.sections)
    assert Counter(d.split for d in corpus.documents) == wanted
    assert corpus.facts["drawn"] == 100 and "section_latent_ppl" not in corpus.facts
    refuses("raise drawn", short_articles, **given, documents=wanted, short_tokens=40, drawn=5)


def test_pretraining_texts_are_of_every_kind_and_none_of_the_run():
    counts = {"wiki": {"train": 60, "validation": 4}, "stories": {"train": 6}, "dialogues": {"train": 4},
              "translations": {"train": 4}}  # fmt: skip
    corpus = pretraining(name="world", seed=5, documents=counts)
    assert Counter(d.split for d in corpus.documents) == {"train": 74, "validation": 4}
    assert {d.id.split("-")[0] for d in corpus.documents} == {
        "wiki",
        "stories",
        "dialogues",
        "translations",
    }
    articles = [d for d in corpus.documents if d.id.startswith("wiki")]
    titled = [d for d in articles if ": " in d.sections[0].text[:25]]
    first = Counter(d.sections[0].text.split(":")[0] for d in titled)
    assert 0 < len(titled) < len(articles) and len(first) > 3
    assert first["abstract"] < len(titled) / 2  # every article of the world begins with one
    own = {
        s.text
        for d in build(name="w", seed=5, domain="wiki", documents=64).documents
        for s in d.sections
    }
    read = {s.text.split(": ", 1)[-1] for d in corpus.documents for s in d.sections}
    assert not own & read


def test_bad_input_is_named():
    refuses(
        "kinds \\['poems'\\]", pretraining, name="world", seed=5, documents={"poems": {"train": 3}}
    )
    refuses("no documents", pretraining, name="world", seed=5, documents={})
    refuses("have one count", pretraining, name="world", seed=5, documents={"wiki": 3})
    refuses("wikisection", build, name="x", seed=1, domain="nonsense", documents=2)
    refuses("validation", build, name="x", seed=1, domain="wiki", documents={"dev": 2})
    refuses("allowed are", native_corpus.build, name="p", seed=5, form="news", documents=3)
    refuses(
        "no setting",
        native_corpus.build,
        name="p",
        seed=5,
        form="wiki",
        documents=3,
        reader={"filter": {}},
    )


def test_a_corpus_with_a_corruption_keeps_the_truth_of_its_sound_text():
    sound = build(name="a", seed=5, domain="wiki", documents=6)
    damaged = build(
        name="b", seed=5, domain="wiki", documents=6, corruption="wrong_pronoun", severity=0.5
    )
    assert all(np.array_equal(sound.truth[name], damaged.truth[name]) for name in sound.truth)
    assert [d.id for d in sound.documents] == [d.id for d in damaged.documents]
    assert any(d.edits for d in damaged.documents) and not any(d.edits for d in sound.documents)
    assert damaged.facts["corruption"] == "wrong_pronoun"
    refuses(
        "section_order",
        build,
        name="c",
        seed=5,
        domain="wiki",
        documents=6,
        corruption="typo",
        severity=0.5,
    )


def test_a_severity_corpus_has_every_severity_under_ids_that_say_so():
    world = {
        "name": "t",
        "seed": 5,
        "domain": "wiki",
        "documents": {"test": 12},
        "corruption": "wrong_pronoun",
    }
    corpus = corrupted(**world, severities=[0, 0.5, 1])
    assert len(corpus.documents) == 36 and corpus.documents[12].id.endswith("@0.5")
    half = build(**world, severity=0.5).documents
    assert [d.sections for d in corpus.documents[12:24]] == [d.sections for d in half]
    edits = corpus.facts["edits_by_severity"]
    assert 0 == edits["0"] < edits["0.5"] < edits["1"]
    for severities in ([0.5, 1], [0, 1, 1], None, "0"):
        refuses("distinct ones with 0", corrupted, **world, severities=severities)


def test_an_article_is_written_once_however_often_it_is_damaged(monkeypatch):
    written = []

    def counting(seed, domain, number):
        written.append(number)
        return write(seed, domain, number)

    monkeypatch.setattr(corpora, "write", counting)
    world = {"name": "c", "seed": 5, "domain": "wiki", "documents": {"test": 3}}
    corpus = corrupted(**world, severities=[0.5, 1.0], corruptions=["wrong_pronoun", "topic_drift"])
    assert len(corpus.documents) == 3 * (1 + 2 * 2) and len(written) == len(set(written)) == 3
    no_articles = {**world, "domain": "summaries", "severities": [0.5], "corruptions": []}
    refuses("domain is 'summaries', allowed are", corrupted, **no_articles)


def test_a_corruption_corpus_has_the_sound_articles_and_each_corruption():
    world = {"name": "t", "seed": 5, "domain": "wiki", "documents": {"test": 4}}
    corpus = corrupted(**world, severities=[0.5, 1.0], corruptions=["false_fact", "topic_drift"])
    held = {
        case: [d for d in corpus.documents if d.id.startswith(f"{case}/")]
        for case in corpus.facts["edits"]
    }
    assert list(held) == [
        "sound@0",
        "false_fact@0.5",
        "false_fact@1",
        "topic_drift@0.5",
        "topic_drift@1",
    ]
    assert [d.sections for d in held["sound@0"]] == [d.sections for d in build(**world).documents]
    damaged = build(**world, corruption="topic_drift", severity=0.5).documents
    assert [d.sections for d in held["topic_drift@0.5"]] == [d.sections for d in damaged]
    refuses(
        "name each once",
        corrupted,
        **world,
        severities=[1.0],
        corruptions=["false_fact", "false_fact"],
    )


SOUND = [write(5, "wiki", index) for index in range(30)]


def struck(page, corruption, severity):
    return corrupt(page, domain_name="wiki", corruption=corruption, severity=severity, seed=9)


def place(edit):
    return edit["section"], edit.get("sentence", -1)


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_severity_zero_is_the_identity_and_one_edits_every_place(corruption):
    for page in SOUND:
        assert struck(page, corruption, 0.0) == to_document(page, "wiki")
        document = struck(page, corruption, 1.0)
        assert [place(edit) for edit in document.edits] == eligible_places(page, corruption)
        assert all(
            edit["corruption"] == corruption and edit["before"] != edit["after"]
            for edit in document.edits
        )
        if document.edits:
            assert document.text != to_document(page, "wiki").text


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_a_lower_severity_edits_a_subset_of_a_higher_one(corruption):
    totals = []
    for severity in (0.25, 0.5, 0.75):
        pairs = [
            (struck(p, corruption, severity), struck(p, corruption, severity + 0.25)) for p in SOUND
        ]
        assert all(
            {place(e) for e in low.edits} <= {place(e) for e in high.edits} for low, high in pairs
        )
        totals.append(sum(len(low.edits) for low, _ in pairs))
    places = sum(len(eligible_places(page, corruption)) for page in SOUND)
    assert places >= 10
    assert totals == sorted(totals)
    assert abs(totals[1] - places / 2) < 4 * (places / 4) ** 0.5


def test_false_facts_and_repetitions_are_what_they_say():
    for page in SOUND:
        for edit in struck(page, "false_fact", 1.0).edits:
            assert all(t.value != page.facts[t.relation] for t in stated_in(edit["after"], "wiki"))
            assert len(stated_in(edit["after"], "wiki")) == len(stated_in(edit["before"], "wiki"))
        for edit in struck(page, "repeated_sentence", 1.0).edits:
            assert edit["after"] == page.sections[edit["section"]][1][edit["sentence"] - 1].text
        assert (
            struck(page, "repeated_section", 1.0).sections[1:]
            == to_document(page, "wiki").sections[:-1]
        )


def test_every_page_has_its_kinds_outcome_and_its_sections_word_for_word(tmp_path):
    for name, content in native_corpus.dump_files(3, 240).items():
        (tmp_path / name).write_bytes(content)
    shards = tmp_path / "shards"
    done = wikipedia.extract(
        wikipedia.dump_in(tmp_path), shards, extraction=wikipedia.Extraction(shard_bytes=1)
    )
    found = {document.id: document for document in wikipedia.Shards(shards)}
    pages = [native_corpus.write_page(3, number) for number in range(240)]
    kinds, counts = Counter(page.kind for page in pages), done["counts"]
    assert all(counts[kind] == kinds[kind] for kind in ("redirect", "disambiguation", "year"))
    assert counts["other namespace"] == kinds["talk"] + kinds["template"] + kinds["file"]
    assert (
        counts["article"] + counts.get("abstract missing", 0) == kinds["article"] + kinds["broken"]
    )
    assert sum(counts.values()) == len(pages)
    for page in [page for page in pages if page.kind == "article"]:
        sections = [
            s for s in found[str(page.page_id)].sections if s.title not in native_corpus.REMOVED
        ]
        assert [(s.title.lower(), s.text) for s in sections] == list(page.sections)


@pytest.mark.parametrize("domain", ["pubmed", "arxiv"])
def test_papers_come_through_cohans_format_with_their_titles(tmp_path, domain):
    articles = [write(3, domain, index) for index in range(40) if index % 10 < 8]  # of split train
    (tmp_path / "train.txt").write_bytes(native_corpus.cohan_files(domain, 3, 40)["train.txt"])
    loose = {"min_sections": 1, "min_tokens": 1, "min_title_count": 1, "max_tokens": 10**6}
    corpus = scientific.build(
        name="p", seed=1, raw=tmp_path / "train.txt", filters=loose, shares={"train": 1.0}
    )
    assert [[s.title for s in d.sections] for d in corpus.documents] == [
        [t for t, _ in a.sections] for a in articles
    ]
    for record in map(
        json.loads, (tmp_path / "train.txt").read_text(encoding="utf-8").splitlines()
    ):
        assert record["article_text"] == [s for section in record["sections"] for s in section]
        assert all(s == s.lower() and s.endswith(" .") for s in record["article_text"])


@pytest.mark.parametrize("form", sorted(native_corpus.FORMS))
def test_every_form_is_read_and_says_that_it_is_synthetic(form):
    reader = {"filters": {"min_sections": 1, "min_title_count": 1}}
    corpus, again = (
        native_corpus.build(name="p", seed=5, form=form, documents=60, reader=reader)
        for _ in range(2)
    )
    assert corpus.facts["synthetic"] and corpus.facts["form"] == form
    assert 20 < len(corpus.documents) <= 60
    assert (corpus.documents, corpus.facts) == (again.documents, again.facts)
