"""The native files: they parse as what they imitate, and say what the truth says."""

import bz2
import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from longform.datasets.synthetic_world import raw_corpora, raw_suites, raw_wiki
from longform.datasets.synthetic_world.articles import write
from longform.datasets.synthetic_world.claims import make_claims
from longform.datasets.synthetic_world.dialogues import make_pairs, write_dialogue
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.ratings import write_cluster
from longform.datasets.synthetic_world.raw import native_files
from longform.datasets.synthetic_world.stories import write_story

PAGES = [raw_wiki.write_page(3, number) for number in range(240)]
FILES = raw_wiki.dump_files(3, 240)
WIKI = [write(3, "wiki", index) for index in range(150)]
STORIES = [write_story(3, index) for index in range(20)]
DIALOGUES = [write_dialogue(3, index) for index in range(20)]


def named(ending):
    return next(data for name, data in FILES.items() if name.endswith(ending))


def test_the_dump_is_one_xml_document_of_all_its_pages():
    text = bz2.decompress(named("multistream.xml.bz2")).decode()
    space = {"m": "http://www.mediawiki.org/xml/export-0.10/"}
    found = ElementTree.fromstring(text).findall("m:page", space)
    assert [p.findtext("m:title", None, space) for p in found] == [page.title for page in PAGES]
    assert [p.findtext("m:revision/m:text", None, space) for p in found] == [page.wikitext for page in PAGES]
    redirects = [p.find("m:redirect", space) is not None for p in found]
    assert redirects == [page.kind == "redirect" for page in PAGES]


def test_every_index_line_points_to_the_stream_that_holds_its_page():
    data = named("multistream.xml.bz2")
    lines = bz2.decompress(named("index.txt.bz2")).decode().splitlines()
    assert len(lines) == len(PAGES)
    streams = {}
    for line, page in zip(lines, PAGES, strict=True):
        offset, page_id, title = line.split(":", 2)
        if offset not in streams:
            streams[offset] = bz2.BZ2Decompressor().decompress(data[int(offset) :]).decode()
        assert (int(page_id), title) == (page.page_id, page.title)
        assert f"<id>{page_id}</id>" in streams[offset]
    assert len(streams) == 3


def test_the_dump_has_every_kind_of_page_and_unique_ids():
    kinds = {page.kind for page in PAGES}
    assert kinds == {"article", "redirect", "disambiguation", "year", "talk", "template", "broken", "file"}
    assert len({page.page_id for page in PAGES}) == len(PAGES)
    wikitext = "".join(page.wikitext for page in PAGES)
    for mark in ("{{Infobox", "{|", "<ref", "[[File:", "<gallery>", "<!--", "#REDIRECT", "Ørsköping", "{{reflist"):
        assert mark in wikitext


def strip(wikitext):
    """Plain sections of well-formed markup, innermost first: an oracle that shares nothing with a parser."""
    text = re.sub(r"<!--.*?-->|<ref[^>]*/>|<ref.*?</ref>|<gallery>.*?</gallery>|\{\|.*?\|\}", "", wikitext, flags=re.S)
    while "{{" in text:
        text = re.sub(r"\{\{[^{}]*\}\}", "", text)
    text = re.sub(r"\[\[(?!File:|Category:|de:)(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", text)
    text = re.sub(r"\[\[(?:File|Category|de):[^\[\]]*\]\]", "", text).replace("'''", "").replace("''", "")
    parts = re.split(r"^== (.*?) ==$", "== abstract ==\n" + text, flags=re.M)
    return [(a.lower(), b.strip()) for a, b in zip(parts[1::2], parts[2::2], strict=True) if a not in raw_wiki.REMOVED]


def test_stripping_the_markup_leaves_the_planted_sections():
    for page in PAGES:
        if page.kind == "article":
            assert strip(page.wikitext) == list(page.sections), page.wikitext


def test_page_n_is_the_same_in_a_dump_of_any_size():
    assert raw_wiki.dump_files(3, 240) == FILES
    assert raw_wiki.write_page(3, 7) == PAGES[7]
    assert FILES["plantedwiki-pages-articles-multistream.xml.bz2"].startswith(
        next(iter(raw_wiki.dump_streams([]))).data
    )


@pytest.mark.parametrize("name", ["pubmed", "arxiv"])
def test_cohan_records_have_aligned_sections(name):
    articles = [write(3, name, index) for index in range(30)]
    for line, article in zip(raw_corpora.cohan_lines(articles, name), articles, strict=True):
        record = json.loads(line)
        assert len(record["section_names"]) == len(record["sections"]) == len(article.sections)
        assert record["article_text"] == [s for section in record["sections"] for s in section]
        for printed, (title, _) in zip(record["section_names"], article.sections, strict=True):
            plain = re.sub(r"^[\d. ]+", "", printed).replace("knowledgement", "knowledgment")
            assert plain.replace("materials", "material") in (title, f"{title}s")
        assert all(s == s.lower() and s.endswith(" .") for s in record["article_text"])


def test_wikisection_text_and_json_agree_with_the_articles():
    articles = [write(3, "wikisection", index) for index in range(30)]
    plain = list(raw_corpora.wikisection_lines(articles, marked=False))
    marked = list(raw_corpora.wikisection_lines(articles, marked=True))
    pattern = r"\[ (ABSTRACT|HISTORY|GEOGRAPHY|DEMOGRAPHICS) \] "
    assert [re.sub(pattern, "", line) for line in marked] == plain
    for record, article in zip(raw_corpora.wikisection_records(articles), articles, strict=True):
        spans = [record["text"][a["begin"] :][: a["length"]] for a in record["annotations"]]
        assert spans == [" ".join(s.text for s in sentences) for _, sentences in article.sections]


def test_story_files_have_the_right_ending_where_they_say():
    rows = list(csv.DictReader(io.StringIO(raw_suites.story_cloze(STORIES)), delimiter="\t"))
    for row, story in zip(rows, STORIES, strict=True):
        assert row[f"RandomFifthSentenceQuiz{row['AnswerRightEnding']}"] == story.endings[story.right]
    whole = list(csv.DictReader(io.StringIO(raw_suites.roc_stories(STORIES))))
    assert [row["sentence5"] for row in whole] == [story.endings[story.right] for story in STORIES]


def test_persona_chat_restarts_its_numbers_and_ends_its_candidates_with_what_was_said():
    lines = raw_suites.persona_chat(DIALOGUES, seed=1).splitlines()
    starts = [line for line in lines if line.startswith("1 ")]
    assert len(starts) == len(DIALOGUES) and all("your persona:" in line for line in starts)
    turns = [line.split(" ", 1)[1].split("\t") for line in lines if "\t" in line]
    assert [text for row in turns for text in row[:2]] == [t for d in DIALOGUES for t in d.turns]
    for _, answer, reward, candidates in turns:
        assert reward == "" and candidates.split("|")[-1] == answer and candidates.split("|").count(answer) == 1
        assert len(candidates.split("|")) == 20


def test_dialogue_nli_is_one_array_of_labelled_pairs():
    pairs = [pair for d in DIALOGUES for pair in make_pairs(d, seed=1)]
    records = json.loads(raw_suites.dialogue_nli(pairs))
    assert [(r["sentence1"], r["sentence2"], r["label"]) for r in records] == [
        (p.utterance, p.line, p.label) for p in pairs
    ]


def test_gap_offsets_point_at_names_and_pronouns_and_one_name_is_meant():
    rows = list(csv.DictReader(io.StringIO(raw_suites.gap(WIKI)), delimiter="\t"))
    assert len(rows) >= 10
    for row in rows:
        for field in ("Pronoun", "A", "B"):
            assert row["Text"][int(row[f"{field}-offset"]) :].startswith(row[field])
        assert {row["A-coref"], row["B-coref"]} == {"TRUE", "FALSE"}


def test_markables_cover_the_words_of_their_mentions():
    for record, article in zip(raw_suites.mmax_like(WIKI), WIKI, strict=True):
        gold = [(s.text[m.start : m.end], f"set_{m.person}") for s in article.sentences for m in s.mentions]
        words = record["words"]
        found = [(" ".join(words[m["span"][0] : m["span"][1] + 1]), m["coref_set"]) for m in record["markables"]]
        assert found == gold
        assert len(record["sentences"]) == len(article.sentences)


def test_connective_segments_hold_one_marked_connective():
    files = raw_suites.disco_annotation(WIKI)
    assert {"although", "though", "while", "since", "yet", "however", "meanwhile", "as"} <= files.keys()
    for name, text in files.items():
        for line in text.splitlines():
            sense, segment = line.split("\t")
            assert sense in {"contrast", "concession", "causal", "temporal"}
            assert len(re.findall(rf"\b{name.upper()}\b", segment)) == 1


def test_winograd_records_come_in_pairs_with_one_right_candidate():
    records = raw_suites.winograd(WIKI, 40, seed=1)
    assert len(records) == 80
    for first, second in zip(records[::2], records[1::2], strict=True):
        assert first["question_id"] == second["question_id"]
        assert {first["correctness"], second["correctness"]} == {True, False}
        assert first["substitution"] != second["substitution"]


def test_gcdc_labels_are_those_of_the_mean_mark():
    rated = [version for index in range(3) for version in write_cluster(3, index, "test")]
    rows = list(csv.DictReader(io.StringIO(raw_suites.gcdc(rated))))
    for row, version in zip(rows, rated, strict=True):
        mean = sum(int(row[f"ratingA{i}"]) for i in (1, 2, 3)) / 3
        assert row["labelA"] == ("1" if mean <= 1.8 else "2" if mean <= 2.2 else "3")
        assert row["text"] == version.document.text


def test_fever_evidence_names_the_line_that_states_the_fact():
    articles = [write(3, "encyclopedia", index) for index in range(40)]
    claims = list(make_claims(articles, domain("encyclopedia").vocabulary, seed=2))
    pages = {page["id"]: page for page in map(json.loads, raw_suites.fever_pages(articles))}
    for line, claim in zip(raw_suites.fever_claims(claims), claims, strict=True):
        record = json.loads(line)
        _, _, page, number = record["evidence"][0][0]
        assert (page is None) == (record["label"] == "NOT ENOUGH INFO")
        if page is not None:
            text = dict(row.split("\t", 1) for row in pages[page]["lines"].split("\n"))[str(number)]
            assert claim.triple.title in text
            assert (claim.triple.value in text) == (record["label"] == "SUPPORTS")


def test_native_files_are_complete_unique_and_the_same_again():
    files = list(native_files(seed=3, documents=40))
    assert len(dict(files)) == len(files) >= 30
    assert all(data and not path.startswith("/") for path, data in files)
    assert list(native_files(seed=3, documents=40)) == files
    lines = [json.loads(line) for line in dict(files)["wiki/truth.jsonl"].decode().splitlines()]
    assert [(row["page_id"], row["kind"]) for row in lines] == [(p.page_id, p.kind) for p in PAGES[:40]]
