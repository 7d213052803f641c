"""What published files hold that no example shows: nested parts, repeated names, broken lines, several documents in one file."""

import csv
import gzip
import json

import pytest

from longform.datasets import fever, scientific, wikisection
from longform.datasets.coreference import read_brackets, read_conll, read_gap, read_re_mentions
from longform.datasets.text_files import gcdc, hanna, parallel, summeval
from longform.documents import Document, Section
from longform.errors import InputError
from longform.files.artefacts import read_documents, write_documents
from tests.refusals import refuses

MARK = "\ufeff"
LOOSE = {"min_sections": 1, "min_tokens": 1, "max_tokens": 100, "min_title_count": 1}


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def table(path, *rows, mark=""):
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(mark)
        csv.writer(file).writerows(rows)
    return path


def test_nested_sections_are_read_in_order_and_other_parts_refused(tmp_path):
    inner = {"title": "S", "text": "deep", "sections": [{"title": "R", "text": "deeper"}]}
    nested = [{"title": "T", "sections": [inner]}, {"title": "U", "text": "last"}]
    document = Document.from_record({"id": "a", "sections": nested})
    assert [(s.title, s.text) for s in document.sections] == [
        ("T", ""),
        ("S", "deep"),
        ("R", "deeper"),
        ("U", "last"),
    ]
    lost = {"title": "T", "text": "x", "subsections": [{"text": "lost words"}], "tags": ["one"]}
    with pytest.raises(InputError, match=r"\['subsections'\], which are not read"):
        Document.from_record({"id": "a", "sections": [lost]})


def paper(**changes):
    fields = {
        "article_id": "a",
        "abstract_text": ["A."],
        "section_names": ["x", "y"],
        "sections": [["One."], ["Two."]],
    }
    return fields | changes


def test_sentences_in_nested_lists_are_joined_and_others_malformed(tmp_path):
    deep = paper(sections=[[["One.", ["Two."]], "Three."], ["Four."]])
    path = lines(
        tmp_path / "train.txt",
        deep,
        paper(sections=[["One.", {"text": "Two."}], ["x"]]),
        paper(sections=[[None], []]),
    )
    read = scientific.CohanArticles(path)
    (article,) = read
    assert [s.text for s in article.sections] == ["One. Two. Three.", "Four."]
    assert read.outcomes == {"article": 1, "malformed record": 2}


def test_flat_records_of_a_hub_are_said_to_be_another_form(tmp_path):
    path = lines(tmp_path / "train.txt", {"article": "x", "abstract": "y", "section_names": "a\nb"})
    refuses(
        "flat record without sections.*no record is an article",
        scientific.build,
        name="p",
        seed=1,
        raw=path,
    )


def test_a_byte_order_mark_costs_no_first_article(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(MARK + json.dumps(paper()) + "\n", encoding="utf-8")
    assert [d.id for d in scientific.CohanArticles(path)] == ["a"]
    city = "[ ABSTRACT ] A town. [ HISTORY ] It was founded.\n"
    (tmp_path / "c.txt").write_text(MARK + city * 5, encoding="utf-8")
    corpus = wikisection.build(name="c", seed=1, raw=tmp_path / "c.txt")
    assert len(corpus.documents) == 5 and not corpus.facts["dropped"]
    rows = [("Prompt", "Human", "Story", "Model"), *((f"p{i}", "H.", "S.", "m") for i in range(10))]
    assert (
        len(hanna(name="h", seed=1, raw=table(tmp_path / "h.csv", *rows, mark=MARK)).documents)
        == 20
    )
    (tmp_path / "gcdc").mkdir()
    table(
        tmp_path / "gcdc" / "x_test.csv",
        ("text_id", "text", "labelA"),
        ("1", "One.", "2"),
        mark=MARK,
    )
    assert [d.id for d in gcdc(name="g", raw=tmp_path / "gcdc").documents] == ["test-1"]
    (tmp_path / "t.en").write_text(f"{MARK}yes\u2028 or\u0085 no\r\n", encoding="utf-8", newline="")
    (tmp_path / "t.de").write_text("ja\n", encoding="utf-8")
    (pair,) = parallel(name="r", seed=1, raw=tmp_path / "t.en", targets=["de"]).documents
    assert [s.text for s in pair.sections] == ["yes\u2028 or\u0085 no", "ja"]


def wiki(*marks, text="Old town. It is flat. Far."):
    places = [{"begin": b, "length": n, "sectionLabel": f"city.{name}"} for name, b, n in marks]
    return {"text": text, "abstract": "A town.", "annotations": places}


def test_json_articles_are_checked_for_overlap_and_text_outside_is_counted(tmp_path):
    good = wiki(("history", 0, 10), ("land", 10, 16))
    rows = [good] * 4 + [
        wiki(("history", 0, 10)),
        wiki(("a", 0, 12), ("b", 10, 16)),
        good | {"text": {"x": 1}},
    ]
    (tmp_path / "w.json").write_text(MARK + json.dumps(rows), encoding="utf-8")
    facts = wikisection.build(name="w", seed=1, raw=tmp_path / "w.json").facts
    assert facts["dropped"] == {"sections overlap": 1, "malformed record": 1}
    assert facts["articles_with_text_outside_their_sections"] == 1


CONLL = """#begin document (a); part 000
a 0 0 Ann x (1)
a 0 1 ran x -

#end document
#begin document (a); part 001
a 1 0 She x (1)
a 1 1 slept x -
"""


def test_chains_never_cross_documents_or_parts_of_a_conll_file(tmp_path):
    path = tmp_path / "a.conll"
    marked = CONLL.replace("#end document\n#begin document (a); part 001\n", "")
    same = marked.replace("a 1 ", "a 0 ")
    for content, pairs in (
        (CONLL, 0),
        (marked, 0),
        (same, 1),
        (same.replace("\n\n", "\n\n# newdoc id = b\n"), 0),
    ):
        path.write_text(content)
        assert len(read_conll(path)) == len(read_re_mentions(tmp_path)) == pairs


def test_a_token_with_a_unicode_line_break_keeps_its_row(tmp_path):
    path = tmp_path / "a.conll"
    rows = ["a\t0\t0\tAnn\u0085\tx\t(1)", "", "a\t0\t0\tShe\tx\t(1)", "a\t0\t1\tsa\u2028w\tx\t-"]
    path.write_text("\r\n".join(rows) + "\r\n", encoding="utf-8", newline="")
    (pair,) = read_conll(path)
    assert (pair.first, pair.second) == ("Ann\u0085", "She sa\u2028w")


@pytest.mark.parametrize(("content", "sentence"), [
    (CONLL.replace("Ann x (1)", "Ann x (1"), r"a\.conll:2: a mention of chain 1 is never closed"),
    (CONLL.replace("Ann x (1)", "Ann x (1[1/2])"), r"a\.conll:2: .* a mention in several parts"),
    (CONLL.replace("slept x -", "slept x (2"), r"a\.conll:8: a mention of chain 2 is never closed"),
    (CONLL.replace("She x (1)", "She x 1)"), r"a\.conll:7: .*not open"), (CONLL.replace("ran x -", "ran"), r"a\.conll:3: 4 columns"),
])  # fmt: skip
def test_mentions_that_are_opened_or_closed_alone_are_named_by_line(tmp_path, content, sentence):
    (tmp_path / "a.conll").write_text(content)
    refuses(sentence, read_conll, tmp_path / "a.conll")


def test_only_lines_that_are_no_row_are_comments():
    rows = ["#a\t0\t0\tAnn\tx\t(1)", "# a b c d e", "#a\t0\t1\tslept\tx\t-"]
    assert read_brackets(rows, "a")[0] == [["Ann", "slept"]]


def test_a_conll_file_without_a_token_is_refused(tmp_path):
    (tmp_path / "a.conll").write_text("# nothing\n#end document\n")
    refuses("no row with a token", read_conll, tmp_path / "a.conll")


GAP = (
    "ID",
    "Text",
    "Pronoun",
    "Pronoun-offset",
    "A",
    "A-offset",
    "A-coref",
    "B",
    "B-offset",
    "B-coref",
    "URL",
)


def gap(path, *labels, ids=("1", "2"), mark=""):
    rows = [GAP, *((name, "Ann met Bea. She ran.", "She", "13", "Ann", "0", label, "Bea", "8", "FALSE", "u")
                   for name, label in zip(ids, labels, strict=True))]  # fmt: skip
    path.write_text(mark + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_gap_labels_are_true_or_false_and_ids_its_own(tmp_path):
    path = tmp_path / "g.tsv"
    assert [item.labels[0] for item in read_gap(gap(path, "True", " FALSE", mark=MARK))] == [
        True,
        False,
    ]
    packed = tmp_path / "G.TSV.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [pair.antecedent for pair in read_re_mentions(packed)] == ["Ann"]
    # Both names are hers, and the second alone stands in the sentence before.
    text = path.read_text("utf-8").replace("Ann met Bea. She", "Ann. By Bea. She")
    path.write_text(text.replace("FALSE\tu", "TRUE\tu"), "utf-8")
    assert read_re_mentions(path)[0].antecedent == "Bea"
    for label in ("1", "", "maybe"):
        refuses(
            r"g\.tsv:3: A-coref is .*allowed are TRUE and FALSE", read_gap, gap(path, "TRUE", label)
        )
    refuses(r"g\.tsv:3: the id '1'", read_gap, gap(path, "TRUE", "TRUE", ids=("1", "1")))


@pytest.mark.parametrize(("rows", "sentence"), [
    ([("p", "H.", "A.", "GPT-2"), ("p", "H.", "B.", "GPT 2")], "'GPT-2' and 'GPT 2' have one name"),
    ([("p", "H.", "A.", "m"), ("p", "H.", "B.", "m")], "a second story of 'm'"),
    ([("p", "H.", "A.", "m"), ("p", "Other.", "B.", "n")], "its human story differs from that of an earlier row with its prompt; fix one"),
    ([("p", "H.", "A.", "Human")], "have one name"),
])  # fmt: skip
def test_stories_that_would_overwrite_each_other_are_refused(tmp_path, rows, sentence):
    refuses(
        sentence,
        hanna,
        name="h",
        seed=1,
        raw=table(tmp_path / "h.csv", ("Prompt", "Human", "Story", "Model"), *rows),
    )


def rated(system="M1", **changes):
    return {
        "id": "a",
        "model_id": system,
        "decoded": "S.",
        "references": ["R."],
        "expert_annotations": [{"coherence": 1}],
    } | changes


@pytest.mark.parametrize(("second", "sentence"), [
    (rated(), "'a/M1' stands in"), (rated("M2", references=["Another."]), "'a/reference-0' stands in"),
    (rated("reference-0"), "'a/reference-0' stands in"), (rated("M2", references="R."), "references: got"),
    (rated("M2", expert_annotations=[{"coherence": "high"}]), "rater 1, coherence: got"),
])  # fmt: skip
def test_ratings_that_would_overwrite_each_other_are_refused(tmp_path, second, sentence):
    lines(tmp_path / "x.jsonl", rated(), second)
    refuses(sentence, summeval, raw=tmp_path)


def test_ids_that_come_twice_are_refused_when_read_and_when_written(tmp_path):
    document = Document("a", "test", (Section(None, "x"),))
    refuses(
        "two documents have the id 'a'", write_documents, tmp_path / "d.jsonl", [document, document]
    )
    path = lines(tmp_path / "d.jsonl", document.to_record(), document.to_record())
    refuses(r"d\.jsonl:2: the id 'a' stands in .*:1", read_documents, path)


def pages(folder, *rows):
    (folder / "wiki-pages").mkdir(exist_ok=True)
    lines(folder / "wiki-pages" / "w.jsonl", *({"id": name, "lines": text} for name, text in rows))


def evidence(corpus):
    return {d.id: d.sections[1].text for d in corpus.documents if d.id.startswith("claim:")}


def test_evidence_stands_at_the_line_number_that_is_written(tmp_path):
    pages(
        tmp_path,
        ("P", "0\tFirst .\r\n1\tBroken\nhere .\tlink\n2\tThird .\n4\tFifth ."),
        ("P", "0\tAgain ."),
    )
    places = [(1, 1), (2, 2), (3, 4), (4, 9), (5, -1)]
    lines(
        tmp_path / "c.jsonl",
        *(
            {"id": n, "label": "SUPPORTS", "claim": "x", "evidence": [[[0, 0, "P", line]]]}
            for n, line in places
        ),
    )
    corpus = fever.build(name="f", seed=1, raw=tmp_path)
    texts = ["P: Broken here .", "P: Third .", "P: Fifth .", "", ""]
    assert list(evidence(corpus).values()) == texts
    assert corpus.facts["evidence_lines_outside_their_page"] == 2
    assert corpus.facts["supported_or_refuted_without_evidence"] == 2
    assert corpus.facts["pages_of_a_title_met_before"] == 1


def flat(number, page, line, annotation=7, found=8, label="SUPPORTS", claim="x"):
    columns = dict(zip(fever.FLAT, (annotation, found, page, line), strict=True))
    return {"id": number, "label": label, "claim": claim, **columns}


def test_flat_columns_of_a_hub_are_grouped_to_claims(tmp_path):
    pages(tmp_path, ("P_Q", "0\tFirst .\n1\tSecond ."))
    rows = [
        flat(1, "P_Q", 1),
        flat(1, "P_Q", 0),
        flat(1, "P_Q", 5, found=9),
        flat(2, "", -1, label="NOT ENOUGH INFO"),
    ]
    path = lines(tmp_path / "c.jsonl", *rows)
    assert evidence(fever.build(name="f", seed=1, raw=tmp_path)) == {
        "claim:1": "P Q: Second .\nP Q: First .",
        "claim:2": "",
    }
    lines(path, flat(1, "P_Q", 1), flat(1, "P_Q", 0, claim="another"))
    refuses("another claim or label", fever.build, name="f", seed=1, raw=tmp_path)


@pytest.mark.parametrize(
    "sets", [[[["P", 0]]], [[[0, 0, "P", "0"]]], [[[0, 0, 7, 0]]], {"P": 0}, [{"P": 0}]]
)
def test_evidence_of_another_shape_is_refused_by_its_line(tmp_path, sets):
    path = lines(
        tmp_path / "c.jsonl", {"id": 1, "label": "SUPPORTS", "claim": "x", "evidence": sets}
    )
    refuses(r"c\.jsonl:1.*evidence", lambda: list(fever.read_claims(path)))
    lines(path, {"id": 1, "label": "SUPPORTS", "claim": ""})
    refuses("beside a claim", lambda: list(fever.read_claims(path)))
