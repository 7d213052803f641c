"""FEVER's claims in sets or in flat rows, and its pages line by line, each form by hand."""

import json

import pytest

from longform.datasets import fever
from longform.datasets.fever import FeverClaim, read_claims
from longform.documents import Document, Section
from tests.refusals import refuses


@pytest.fixture
def claims(tmp_path):
    def read(*rows):
        path = tmp_path / "claims.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return list(read_claims(path))

    return read


BASE = {"id": 1, "claim": "It is so.", "label": "SUPPORTS"}


def flat(page, line, annotation=1, evidence=2, **more):
    names = dict(zip(fever.FLAT, (annotation, evidence, page, line), strict=True))
    return {**BASE, **names, **more}


@pytest.mark.parametrize(
    ("evidence", "lines"),
    [
        (None, ()), ([], ()), ([[]], ()), ([[[1, 2, None, None]]], ()),
        ([[[1, 2, "A_b", 0], [1, 2, "C", 3]], [[1, 3, "D", 1]]], (("A b", 0), ("C", 3))),
        ([[[1, 2, "A", 0], [1, 2, "A", 0, "more"], [1, 2, "A", 1]]], (("A", 0), ("A", 1))),
        ([[[1, 2, None, None], [1, 2, "A-LRB-x-RRB-", 4]]], (("A(x)", 4),)),
    ],
)  # fmt: skip
def test_the_first_set_of_evidence_stands_for_a_claim(claims, evidence, lines):
    found = claims({**BASE, "evidence": evidence})
    assert found == [FeverClaim("1", "It is so.", "supported", lines)]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([flat("A_b", 0)], (("A b", 0),)),
        ([flat("A", 0), flat("B", 2)], (("A", 0), ("B", 2))),
        ([flat("A", 0), flat("B", 2, evidence=3)], (("A", 0),)),
        ([flat("A", 0), flat("B", 2, annotation=3)], (("A", 0),)),
        ([flat("A", 0), flat("A", 0)], (("A", 0),)),
        ([flat("", -1)], ()), ([flat(None, None)], ()), ([flat("", 0)], ()), ([flat("A", -1)], ()),
        ([flat("A", None)], ()), ([flat(None, 1)], ()),
    ],
)  # fmt: skip
def test_flat_rows_of_one_evidence_set_are_one_claim(claims, rows, lines):
    assert claims(*rows) == [FeverClaim("1", "It is so.", "supported", lines)]


def test_flat_claims_follow_those_in_sets_in_order_of_appearance(claims):
    found = claims(flat("A", 0, id=7), {**BASE, "id": "x", "label": "REFUTES"}, flat("B", 1, id=3))
    assert [(one.id, one.label) for one in found] == [
        ("x", "refuted"), ("7", "supported"), ("3", "supported")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{**BASE, "label": "TRUE"}], "label 'TRUE'; allowed are \\['NOT ENOUGH INFO', 'REFUTES', 'SUPPORTS'\\]"),
        ([{**BASE, "label": None}], "label None; allowed are"),
        ([{**BASE, "label": ["SUPPORTS"]}], "label \\['SUPPORTS'\\]; allowed are"),
        ([{**BASE, "claim": 3}], "label 'SUPPORTS'; allowed are .* beside a claim"),
        ([{**BASE, "id": True}], "id is True, allowed is a string or a whole number"),
        ([{**BASE, "id": 1.5}], "id is 1.5, allowed is a string or a whole number"),
        ([{**BASE, "evidence": {}}], "evidence"),
        ([{**BASE, "evidence": [[[1, 2, "A"]]]}], "evidence is \\[1, 2, 'A'\\], allowed is"),
        ([{**BASE, "evidence": [["A"]]}], "evidence is 'A', allowed is"),
        ([{**BASE, "evidence": [[[1, 2, "A", "0"]]]}], "line of evidence"),
        ([{**BASE, "evidence": [[[1, 2, 3, 0]]]}], "page of evidence"),
        ([flat("A", 0), flat("B", 0, claim="Other.")], "the id 1 has another claim or label"),
        ([flat("A", 0), flat("B", 0, label="REFUTES")], "the id 1 has another claim or label"),
    ],
)  # fmt: skip
def test_a_claim_of_another_form_is_refused(claims, rows, sentence):
    refuses(sentence, claims, *rows)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("0\tOne .\tlink\tLink", ["One ."]),
        ("0\tOne .\n1\tTwo .", ["One .", "Two ."]),
        ("0\tOne .\n2\tThree .", ["One .", "", "Three ."]),
        ("0\t\n1\tTwo .\n", ["", "Two ."]),
        ("0\tOne\nmore .\n1\tTwo .", ["One more .", "Two ."]),
        ("0\tOne .\n7\tno line\n1\tTwo .", ["One . 7", "Two ."]),
        ("0\tOne .\n0\tno line", ["One . 0"]),
        ("\n0\t-LRB- One -RRB- .", ["( One ) ."]),
        ("0\n1\tTwo .", ["", "Two ."]),
        ("0\tOne .\n12345\tno number", ["One . 12345"]),
        ("", []),
    ],
)  # fmt: skip
def test_the_sentences_of_a_page_stand_where_their_numbers_say(text, lines):
    assert fever._numbered_lines(text, "w") == lines


def test_a_page_that_begins_without_a_number_is_refused():
    refuses(
        "^w: lines begin with 'x', allowed is a number and a tab",
        fever._numbered_lines,
        "x\n0\tOne",
        "w",
    )


def test_titles_have_blanks_brackets_and_one_unicode_form():
    assert fever.title_of("Caf\u0065\u0301_-LSB-a-COLON-b-RSB-") == "Caf\xe9 [a:b]"


PLACES = {"Old": (), "Old Mill": (), "Red Hill": (), "Hill": ()}


@pytest.mark.parametrize(
    ("text", "evidence", "page"),
    [
        ("Old Mill fell.", (("Red Hill", 3), ("Old", 0)), "Red Hill"),
        ("Red Hill saw Old Mill.", (), "Red Hill"),  # both have eight letters
        ("Hill and Old Mill.", (), "Old Mill"),
        ("Old, red Hill.", (), "Hill"),
        ("It is so.", (), "7"),
    ],
)
def test_a_claim_is_split_by_its_evidence_or_the_first_longest_title(text, evidence, page):
    assert fever.subject(FeverClaim("7", text, "SUPPORTS", evidence), PLACES) == page


PAGES = (("X", "one\ntwo"), ("Y", ""), ("X", "three"))


def test_claims_and_pages_are_taken_back_from_documents():
    record = {"label": "REFUTES", "evidence": [["A b", 2], ["C", 0]]}
    claim = Document("claim:9", "test", (Section("", "So."),), ({"other": 1} | record, {}))
    pages = [Document(f"page:{name}", "test", (Section("", text),)) for name, text in PAGES]
    assert list(fever.claims_of([pages[0], claim])) == [
        (claim, FeverClaim("9", "So.", "REFUTES", (("A b", 2), ("C", 0))))
    ]
    assert fever.pages_of([claim, *pages]) == {"X": ("one", "two"), "Y": ("",)}
