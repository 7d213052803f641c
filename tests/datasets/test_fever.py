"""FEVER's format read and written: pages, claims, splits by page; planted claims agree with the planted rules."""

import json
from collections import Counter
from functools import partial

import numpy as np
import pytest

from longform.datasets import encyclopedia
from longform.datasets.fever import build, claims_of, pages_in, pages_of, title_of
from longform.statistics.random_streams import generator
from synthetic_world.articles import write
from synthetic_world.corpora import FORMS, readings
from synthetic_world.corpus import indices
from synthetic_world.fever_corpus import UNKNOWN
from synthetic_world.fever_corpus import build as planted
from tests.refusals import refuses
from tests.samples.claims import true_verifier

COUNTS = {"train": 24, "validation": 6, "test": 6}


def claim(number, label, text, *evidence):
    sets = [[[1, 2, page, line]] for page, line in evidence] or [[[1, None, None, None]]]
    return {"id": number, "label": label, "claim": text, "evidence": sets}


FILM = "Soul_Food_-LRB-film-RRB-"
PAGES = [
    {
        "id": FILM,
        "text": "",
        "lines": "0\tSoul Food is a film .\tfilm\n1\t\n2\tIt was -LRB- well -RRB- liked .",
    },
    {"id": "Telemundo", "text": "", "lines": "0\tTelemundo is a network ."},
]
CLAIMS = [claim(1, "SUPPORTS", "Soul Food is a film.", (FILM, 0), (FILM, 2)),
          claim(2, "REFUTES", "Telemundo is a river.", ("Telemundo", 0)),
          claim(3, "NOT ENOUGH INFO", "Telemundo has a choir."), claim(4, "SUPPORTS", "Nobody knows.", ("Lost", 3))]  # fmt: skip


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "wiki-pages").mkdir()
    for name, rows in (("claims.jsonl", CLAIMS), ("wiki-pages/wiki-001.jsonl", PAGES)):
        (tmp_path / name).write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    return tmp_path


read = partial(build, name="c", seed=1)


def test_pages_and_claims_are_read_as_people_write_them(raw):
    corpus = read(raw=raw)
    assert pages_of(corpus.documents)["Soul Food (film)"] == (
        "Soul Food is a film .",
        "",
        "It was ( well ) liked .",
    )
    found = [one for _, one in claims_of(corpus.documents)]
    assert [one.label for one in found] == ["supported", "refuted", "not_enough_info", "supported"]
    assert found[0].evidence == (("Soul Food (film)", 0),)  # the first evidence set
    assert corpus.documents[2].sections[1].text == "Soul Food (film): Soul Food is a film ."
    assert corpus.facts["claims_without_their_page"] == 1 and title_of("A_-COLON-_B") == "A : B"


def test_pages_in_files_change_no_claim_and_changes_of_them_are_seen(raw):
    whole, apart = (read(raw=raw, with_pages=kept) for kept in (True, False))
    assert list(apart.documents) == [
        document for document in whole.documents if document.id.startswith("claim:")
    ]
    assert {
        **whole.facts,
        "pages_sha256": apart.facts["pages_sha256"],
    } == apart.facts and apart.facts["pages"] == 2
    assert dict(pages_in(raw)) == pages_of(whole.documents) and not pages_of(apart.documents)
    (raw / "wiki-pages" / "wiki-002.jsonl").write_text(
        json.dumps({"id": "New", "lines": "0\tNew ."}) + "\n"
    )
    assert read(raw=raw, with_pages=False).facts["pages_sha256"] != apart.facts["pages_sha256"]


def test_planted_labels_follow_the_worlds_rules_and_pages_share_a_split():
    corpus = planted(name="c", seed=1, pages=COUNTS)
    verifier = true_verifier([write(1, "encyclopedia", n) for n in indices(COUNTS)])
    claims, splits = list(claims_of(corpus.documents)), set()
    assert len(claims) > 300
    for document, one in claims:
        verdict = verifier.check(one.text)
        assert one.label == (verdict.label if verdict.label != UNKNOWN else "not_enough_info"), (
            one.text
        )
        assert frozenset(one.evidence) == verdict.evidence
        splits |= {(one.evidence[0][0], document.split)} if one.evidence else set()
    assert len({page for page, _ in splits}) == len(splits) > 25
    assert len({split for _, split in splits}) == 3


def test_news_tell_what_a_page_states_and_no_other_fact():
    pages = {"test": 6}
    verifier = true_verifier([write(1, "encyclopedia", n) for n in indices(pages)])
    corpus = readings(name="r", seed=1, form="news", pages=pages, tellings=3, validation=2)
    sentences = [s for d in corpus.documents for s in d.text.replace(". ", ".\n").split("\n")]
    labels = [verifier.check(sentence).label for sentence in sentences]
    assert labels.count("refuted") == 0 and labels.count("supported") > 40
    told = {fact[1] for s in sentences for fact in [(s, e) for e in verifier.check(s).evidence]}
    assert told == {evidence for _, evidence in verifier.stated.values()}
    assert len({document.text for document in corpus.documents}) == len(corpus.documents) == 20


def test_readings_hold_train_texts_and_a_few_for_validation():
    for form in FORMS:
        corpus = readings(name="r", seed=1, form=form, pages={"test": 3}, tellings=2, validation=1)
        assert [d.split for d in corpus.documents] == ["train"] * 6 + ["validation"], form
        assert all(document.text.endswith(".") for document in corpus.documents)
    for form, tellings, told in (("radio", 1, "allowed are"), ("news", 0, "0 tellings")):
        refuses(told, readings, name="r", seed=1, form=form, pages={"test": 1}, tellings=tellings)


def test_what_is_no_claim_or_page_is_named(raw):
    for row in ('{"label": "MAYBE", "claim": "x"}', '{"label": "SUPPORTS"}', "[]", "{"):
        (raw / "more.jsonl").write_text(row + "\n", encoding="utf-8")
        refuses(r"more\.jsonl:1", read, raw=raw)
    (raw / "more.jsonl").unlink()
    (raw / "wiki-pages" / "more.jsonl").write_text('{"id": "X"}\n')
    refuses("a page has an id and lines", read, raw=raw)
    refuses("0 claims and 0 pages", read, raw=raw / "nowhere")


CITIES = ["[ ABSTRACT ] The city of Ada ( ) is old. It lies low. [ HISTORY ] Ada grew.", "[ ABSTRACT ] Bel, Iowa is new. [ HISTORY ] It grew.",
          "[ ABSTRACT ] Nothing else [ HISTORY ] known.", "[ ABSTRACT ] Ada was a town. [ HISTORY ] It fell."]  # fmt: skip


def test_published_articles_are_pages_and_claims_share_their_sentence(tmp_path):
    pairs = [{"claim": f"c{i // 4}{i % 2}", "evidence": f"e{i // 4}{i % 4 // 2}", "gold_label": ("SUPPORTS", "REFUTES")[(i + i // 2) % 2]}
             for i in range(40)]  # fmt: skip
    (tmp_path / "cities.txt").write_text("\n".join(CITIES) + "\n", encoding="utf-8")
    (tmp_path / "symmetric.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in pairs), encoding="utf-8"
    )
    corpus = encyclopedia.claims(name="c", seed=1, raw=tmp_path)
    known, found = pages_of(corpus.documents), list(claims_of(corpus.documents))
    assert corpus.facts["corpus"] == "c" and corpus.facts["claims"] == len(found)
    assert known["Ada"] == ("The city of Ada ( ) is old.", "It lies low.", "Ada grew.") and {
        "Bel",
        "symmetric-0",
    } < set(known)
    assert [known[page][line] for _, one in found for page, line in one.evidence] == [
        row["evidence"] for row in pairs
    ]
    assert [one.label for _, one in found[:4]] == ["supported", "refuted", "refuted", "supported"]
    splits = [{document.split for document, _ in found[i : i + 4]} for i in range(0, 40, 4)]
    assert all(len(split) == 1 for split in splits) and set.union(*splits) == {
        "train",
        "validation",
    }
    given = {
        "name": "p",
        "seed": 1,
        "raw": tmp_path / "cities.txt",
        "shares": {"train": 0.5, "validation": 0.25, "test": 0.25},
    }
    pages, read_whole = encyclopedia.pages(**given), encyclopedia.read_whole(**given).documents
    assert pages.documents[0].text == "The city of Ada ( ) is old. It lies low.\n\nAda grew."
    assert [d.sections[0].title for d in pages.documents] == ["Ada", "Bel", "Ada"] and pages.facts[
        "unnamed"
    ] == 1
    assert Counter(d.split for d in read_whole) == {"train": 4, "validation": 1}
    assert pages.facts == {**encyclopedia.read_whole(**given).facts, "unnamed": 1}
    assert encyclopedia.read_openings(**given, sentences=1).facts == pages.facts
    (tmp_path / "symmetric.jsonl").write_text(
        '{"claim": "c", "evidence": "", "gold_label": "SUPPORTS"}\n', encoding="utf-8"
    )
    refuses(
        "symmetric.jsonl:1: gold_label 'SUPPORTS'",
        encyclopedia.claims,
        name="c",
        seed=1,
        raw=tmp_path,
    )
    refuses("no such file", encyclopedia.claims, name="c", seed=1, raw=tmp_path, pairs="lost.jsonl")
    refuses("splitter is 'x'", encyclopedia.claims, name="c", seed=1, raw=tmp_path, splitter="x")
    refuses(
        "see docs/data_cards/wikisection",
        encyclopedia.claims,
        name="c",
        seed=1,
        raw=tmp_path,
        articles="x",
    )


def test_contradictions_are_as_many_as_wanted_and_refuted_by_their_page(tmp_path, monkeypatch):
    cities = [f"[ ABSTRACT ] Ada{n} is a town of {100 + n} people . " for n in range(9)]
    (tmp_path / "cities.txt").write_text("\n".join(cities) + "\n", encoding="utf-8")
    pair = {"claim": "a b .", "evidence": "c d .", "gold_label": "REFUTES"}
    (tmp_path / "symmetric.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    opened = []

    def stream(*names):
        opened.append(names)
        return generator(*names)

    monkeypatch.setattr(encyclopedia, "generator", stream)
    corpus = encyclopedia.claims(name="c", seed=1, raw=tmp_path, contradictions=5)
    assert opened == [(1, "c", "statements"), (1, "c", "contradictions")]
    stated = encyclopedia.claims(name="c", seed=1, raw=tmp_path, statements=1)
    assert stated.facts["claims"] == 1 + 2
    lines_of = pages_of(corpus.documents)
    changed = list(claims_of(corpus.documents))[1:]
    assert len(changed) == 5
    for _, claim in changed:
        ((page, line),) = claim.evidence
        original, text = lines_of[page][line].split(), claim.text.split()
        different = [(a, b) for a, b in zip(original, text, strict=True) if a != b]
        assert claim.label == "refuted" and len(different) == 1
        assert different[0][1] in {str(100 + n) for n in range(9)}


def test_a_small_model_reads_the_openings_it_will_continue(tmp_path):
    (tmp_path / "cities.txt").write_text("\n".join(CITIES) + "\n", encoding="utf-8")
    given = {
        "name": "p",
        "seed": 1,
        "raw": tmp_path / "cities.txt",
        "shares": {"train": 0.5, "validation": 0.25, "test": 0.25},
    }
    pages = {page.id: page for page in encyclopedia.pages(**given).documents}
    read = encyclopedia.read_openings(**given, sentences=1).documents
    taught = [document for document in read if document.split == "train"]
    assert {d.id for d in taught} == {i for i, page in pages.items() if page.split != "train"}
    again = [document for document in read if document.split == "validation"]
    held = {i: page.split for i, page in pages.items()}
    assert [held[document.id.removesuffix("-again")] for document in again] == ["validation"]
    for document in taught:
        page = pages[document.id].sections[0]
        first = page.text.split(".")[0]
        assert document.text == f"{page.title}. {first}."


def test_a_contradiction_changes_one_number_of_a_line_to_one_as_long():
    lines_of = {
        "Ada": ["Ada had 282 people in 2,000 homes.", "It had 311 people."],
        "Bel": ["Bel is 7 miles from Ada and has 345 people.", "Bel is old."],
        "Cid": ["Cid has 12,345 people."],
    }
    split_of = {"Ada": "train", "Bel": "validation", "Cid": "train"}
    numbers_of_as_many_characters = {"282": "345", "345": "282"}
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for claim in encyclopedia._contradictions(lines_of, split_of, 10, rng):
            line = lines_of[claim.page][claim.line]
            ((old, new),) = numbers_of_as_many_characters.items() & {
                (old, new)
                for old, new in numbers_of_as_many_characters.items()
                if line.replace(old, new) == claim.text != line
            }
            assert claim.label == "refuted" and claim.split == split_of[claim.page]
            seen.add((claim.page, claim.line, old, new))
    # The only 2,000, the only 7 and the only 12,345 have no other of their length.
    assert seen == {("Ada", 0, "282", "345"), ("Bel", 0, "345", "282")}
