"""Documents, predictions and records by themselves: what they hold, hand on and refuse."""

import json
import math

import numpy as np
import pytest

from longform import documents as docs
from longform import results
from longform.documents import Chain, Document, Predictions, Section
from longform.errors import ArtefactError, BadInput
from longform.results import Record, Results
from tests.refusals import refuses

RECORD = {"id": "d", "sections": [{"title": "A", "text": "one two"}]}


def test_a_document_and_its_json_form_are_each_others_inverse():
    edits = ({"kind": "cut", "place": 2},)
    document = Document("d", "train", (Section("A", "one"), Section(None, "two")), edits)
    written = {
        "id": "d",
        "split": "train",
        "sections": [{"title": "A", "text": "one"}, {"title": None, "text": "two"}],
        "edits": [{"kind": "cut", "place": 2}],
    }
    assert document.to_record() == written and Document.from_record(written) == document
    assert (document.text, document.unit_id) == ("one\n\ntwo", "d")
    assert docs.section_starts(document) == [0, 5]
    assert [document.text[start:] for start in docs.section_starts(document)] == [
        "one\n\ntwo",
        "two",
    ]


def test_what_a_json_document_may_leave_out():
    document = Document.from_record(RECORD)
    assert (document.split, document.edits) == ("test", ())
    assert Document.from_record({**RECORD, "edits": None}).edits == ()


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ([], "^w: got list, a document is an object"),
        ({"id": "d"}, "^w: document lacks \\['sections'\\]"),
        ({}, "^w: document lacks \\['id', 'sections'\\]"),
        ({**RECORD, "id": 7}, "^w: id is 7, allowed is a string"),
        ({**RECORD, "split": "dev"}, "^w: split 'dev' is not one of \\['train', 'validation', 'test', 'generated'\\]"),
        ({**RECORD, "edits": {}}, None),
        ({**RECORD, "edits": {"a": 1}}, "^w: edits is .*, allowed is a list of objects"),
        ({**RECORD, "edits": [1]}, "^w: edits is \\[1\\], allowed is a list of objects"),
        ({**RECORD, "sections": []}, "\\(document 'd'\\): sections is \\[\\], allowed is a non-empty list"),
        ({**RECORD, "sections": "text"}, "sections is 'text', allowed is a non-empty list"),
        ({**RECORD, "sections": ["text"]}, "a section is 'text', allowed is"),
        ({**RECORD, "sections": [{"title": "A"}]}, "a section is .*, allowed is"),
        ({**RECORD, "sections": [{"text": 3}]}, "a section is .*, allowed is"),
        ({**RECORD, "sections": [{"text": "a", "sections": {"b": 1}}]}, "a section is .*, allowed is"),
        ({**RECORD, "sections": [{"text": "a", "title": 3}]}, "a title is 3, allowed is a string or null"),
        (
            {**RECORD, "sections": [{"text": "a", "notes": ["two words"], "b": [["x y"]]}]},
            "a section has \\['b', 'notes'\\], which are not read",
        ),
    ],
)  # fmt: skip
def test_a_json_document_of_another_form_is_refused_by_its_place(record, sentence):
    if sentence is None:
        assert Document.from_record(record, "w").edits == ()
    else:
        refuses(sentence, Document.from_record, record, "w")


def test_sections_inside_sections_follow_them_in_reading_order():
    inner = [{"title": "b", "text": "2"}, {"title": "c", "sections": [{"text": "3"}]}]
    outer = [{"title": "a", "text": "1", "sections": inner}, {"sections": [{"text": "4"}]}]
    assert docs.sections_of(outer, "w") == (
        Section("a", "1"), Section("b", "2"), Section("c", ""), Section(None, "3"), Section(None, "4")
    )  # fmt: skip
    assert docs.sections_of([{"text": ""}], "w") == (Section(None, ""),)


@pytest.mark.parametrize(
    ("value", "unread"),
    [
        ("two words", []), (["word"], []), (["two words"], ["x"]), ({"a": {"b": "two words"}}, ["x"]),
        ([["a", ["two words"]]], ["x"]), ([1, None], []), ({"a": "word"}, []),
    ],
)  # fmt: skip
def test_a_field_that_holds_two_words_in_lists_or_objects_is_unread(value, unread):
    assert docs.unread_fields({"title": ["two words"], "x": value}) == unread


TEXTS = [
    Document("a", "train", (Section(None, "x"),)),
    Document("b", "test", (Section(None, "y"),)),
]


def test_documents_are_chosen_by_split_and_none_may_be_an_error():
    assert docs.in_splits(TEXTS, ["test"]) == TEXTS[1:]
    assert docs.in_splits(TEXTS, ["test", "train"]) == TEXTS
    assert docs.in_splits(TEXTS, ["validation"]) == docs.in_splits([], ["test"]) == []
    assert docs.of_splits(TEXTS, ["train"], "who") == TEXTS[:1]
    refuses(
        "^who: got no document of splits \\['validation'\\]",
        docs.of_splits,
        TEXTS,
        ["validation"],
        "who",
    )
    refuses("^reader: got plain text", docs.in_splits, ["a text"], ["test"])


PREDICTIONS = Predictions.of(
    TEXTS, {**docs.ragged("token", [[1, 2, 3], [4]], np.int32), "score": np.array([0.5, 1.5])}
)


def test_rows_of_predictions_come_unit_by_unit():
    rows = [(unit, split, token.tolist(), float(score))
            for unit, split, token, score in PREDICTIONS.rows("token", "score")]  # fmt: skip
    assert rows == [("a", "train", [1, 2, 3], 0.5), ("b", "test", [4], 1.5)]
    assert [row.tolist() for row in PREDICTIONS.ragged("token")] == [[1, 2, 3], [4]]


def test_ragged_arrays_hold_rows_of_any_shape_and_none():
    made = docs.ragged("x", [[[1, 2]], [], [[3, 4], [5, 6]]], np.int16, 2)
    assert made["x"].tolist() == [[1, 2], [3, 4], [5, 6]] and made["x"].dtype == np.int16
    assert made["x_lengths"].tolist() == [1, 0, 2] and made["x_lengths"].dtype == np.int64
    nothing = docs.ragged("x", [], np.float32)
    assert nothing["x"].shape == (0,) and nothing["x_lengths"].tolist() == []


@pytest.mark.parametrize(
    "arrays",
    [{}, {"token": np.arange(2)}, {"token_lengths": np.array([1, 1])},
     {"token": np.arange(3), "token_lengths": np.array([1, 1])}],
)  # fmt: skip
def test_a_ragged_array_that_is_not_whole_is_refused(arrays):
    made = Predictions(("a", "b"), ("test", "test"), arrays)
    refuses("no whole ragged array 'token'; its arrays are", lambda: list(made.ragged("token")))


def test_predictions_need_a_split_for_each_unit_and_names_that_differ():
    refuses("have 2 unit ids but 1 splits", Predictions, ("a", "b"), ("test",), {})
    refuses("repeated unit ids", Predictions, ("a", "a"), ("test", "test"), {})
    refuses("no array 'x', its arrays are \\['score', 'token'", lambda: PREDICTIONS.arrays["x"])


CHAINS = [
    Chain("a", "train", ("y", "x", "y")), Chain("b", "test", (), valid=False), Chain("c", "test", ("z",)),
]  # fmt: skip


def test_chains_come_back_from_their_predictions_with_names_in_order():
    packed = docs.chains_to_predictions(CHAINS)
    assert packed.arrays["symbol_names"].tolist() == ["x", "y", "z"]
    assert packed.arrays["chain"].tolist() == [1, 0, 1, 2]
    assert packed.arrays["valid"].tolist() == [True, False, True]
    assert docs.chains_from_predictions(packed) == CHAINS
    texts = [Document(name, "test", (Section(None, "x"),)) for name in "cba"]
    cut = docs.with_cut_texts(packed, texts, [1, 0, 0])
    assert docs.cut_texts(cut) == [False, False, True] and docs.cut_texts(packed) == [False] * 3
    assert [chain.cut for chain in docs.chains_from_predictions(cut)] == [False, False, True]
    assert cut.arrays["chain"].tolist() == [1, 0, 1, 2]


def test_items_are_grouped_in_order_of_appearance():
    assert docs.grouped([3, 1, 4, 6], lambda number: number % 2) == {1: [3, 1], 0: [4, 6]}
    assert list(docs.grouped([3, 4], lambda number: number % 2)) == [1, 0]


def test_a_difference_is_value_minus_reference_and_another_is_refused():
    assert Record("c", "m", value=3.0, reference=1.0).difference == 2.0
    assert Record("c", "m", value=3.0).difference is None
    assert Record("c", "m", reference=3.0, difference=7.0).difference == 7.0
    assert Record("c", "m", value=3.0, reference=1.0, difference=2.0 + 2e-9).difference > 2.0
    assert Record("c", "m", value=3e3, reference=1.0, difference=2999 + 2e-6)
    with pytest.raises(BadInput, match=r"^record c m sys: value 3, reference 1, difference 2.1; a"):
        Record("c", "m", system="sys", value=3.0, reference=1.0, difference=2.1)
    assert Record("c", "m", value=0.5, reference=0.25, difference=0.25 + 9e-10)
    with pytest.raises(BadInput, match="value minus reference"):
        Record("c", "m", value=0.5, reference=0.25, difference=0.25 + 1.2e-9)
    with pytest.raises(BadInput, match="value minus reference"):
        Record("c", "m", value=3.0, reference=1.0, difference=2.0 + 4e-9)


def test_the_json_form_leaves_defaults_out_and_keeps_twelve_digits():
    made = Record("c", "m", value=1 / 3, units=0, paired=False, details={"x": [2 / 3, (1, "a")]})
    assert made.to_json() == {
        "critic": "c", "metric": "m", "value": 0.333333333333, "units": 0, "paired": False,
        "details": {"x": [0.666666666667, [1, "a"]]},
    }  # fmt: skip


RECORDS = Results(
    [
        Record("c", "ppl", "wiki", "gpt2", titles=True, seed=1),
        Record("c", "ppl", "wiki", "gpt2", titles=False, seed=1),
        Record("c", "ppl", "news", "hsmm", seed=2),
        Record("d", "accuracy", "news", "gpt2"),
    ]
)


def places(found):
    return [RECORDS.index(record) for record in found]


@pytest.mark.parametrize("copies", [1, 20])  # from 50 records on they are looked up by an index
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, [0, 1, 2, 3]), ({"system": "gpt2"}, [0, 1, 3]), ({"system": "g*"}, [0, 1, 3]),
        ({"system": "*"}, [0, 1, 2, 3]), ({"system": ["hsmm", "x"]}, [2]), ({"titles": True}, [0]),
        ({"titles": False}, [1]), ({"titles": None}, [2, 3]), ({"seed": 1}, [0, 1]), ({"seed": True}, []),
        ({"seed": [1, 2]}, [0, 1, 2]), ({"critic": "c", "corpus": "news"}, [2]), ({"system": "G*"}, []),
        ({"seed": "*"}, [0, 1, 2, 3]), ({"seed": "1*"}, []), ({"system": "none"}, []),
    ],
)  # fmt: skip
def test_records_are_found_by_values_lists_and_patterns(copies, wanted, expected):
    found = Results(RECORDS * copies).where(**wanted)
    assert places(found) == expected * copies and isinstance(found, Results)


def test_one_record_is_found_and_none_or_several_are_named():
    assert RECORDS.one(critic="d") is RECORDS[3] and RECORDS.find(critic="e") is None
    refuses("^no record has {'critic': 'e'}; run", RECORDS.one, critic="e")
    refuses("^2 records have {'corpus': 'wiki'}; name one of {'titles': \\['False', 'True'\\]} too",
            RECORDS.find, corpus="wiki")  # fmt: skip
    refuses("no field 'colour'; allowed are \\['critic', 'metric'", RECORDS.where, colour="red")


def test_values_and_groups_stand_in_order_of_appearance():
    assert RECORDS.values("corpus") == ["wiki", "news"]
    groups = RECORDS.groups("system", "corpus")
    assert {key: places(own) for key, own in groups.items()} == {
        ("gpt2", "wiki"): [0, 1], ("hsmm", "news"): [2], ("gpt2", "news"): [3]
    }  # fmt: skip
    assert all(isinstance(own, Results) for own in groups.values())


def test_records_are_written_a_line_each_and_read_from_files_and_folders(tmp_path):
    results.write_results(tmp_path / "b.json", RECORDS[:2])
    results.write_results(tmp_path / "in" / "a.json", RECORDS[2:])
    lines = (tmp_path / "b.json").read_text().splitlines()
    assert lines[0] == "[" and lines[-1] == "]" and len(lines) == 4
    assert json.loads(lines[2]) == {
        "critic": "c", "metric": "ppl", "corpus": "wiki", "system": "gpt2", "titles": False, "seed": 1
    }  # fmt: skip
    assert results.read_results(tmp_path) == RECORDS
    assert results.read_results(tmp_path / "in" / "a.json", tmp_path / "b.json") == (
        RECORDS[2:] + RECORDS[:2]
    )


def test_a_record_may_have_every_field(tmp_path):
    numbers = dict.fromkeys(results.NUMBERS + results.COUNTS, 1)
    entry = dict.fromkeys(results.NAMES, "x") | numbers | dict.fromkeys(results.TRUTHS, True)
    entry |= {"difference": 0, "details": {}}
    (tmp_path / "a.json").write_text(json.dumps([entry]))
    assert results.read_results(tmp_path) == (Record(**entry),)


def test_a_correlation_lies_between_minus_one_and_one():
    assert results.bounds_of("length_correlation") == (-1, 1)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"value": True}, "['value']"),
        ({"value": math.nan}, "['value']"),
        ({"units": 12.5}, "['units']"),
        ({"titles": 3}, "['titles']"),
        ({"system": None}, "['system']"),
        ({"details": [1]}, "['details']"),
        ({"p_value": 1.5}, "p-value 1.5"),
        ({"low": 0.9, "high": 0.1}, "interval from 0.9 to 0.1"),
        ({"value": math.inf, "titles": None, "units": 3, "p_value": 1}, ""),
    ],
)
def test_a_stored_record_has_values_of_its_fields_kinds(fields, fault):
    found = results.fault_of({"critic": "c", "metric": "m", **fields})
    assert fault in found and bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("content", "kind", "sentence"),
    [
        ({}, BadInput, "not a list of records"),
        ([1], BadInput, "not a list of records"),
        ([{"critic": "c", "metric": "m", "colour": 1}], BadInput, "not a list of records"),
        ([{"metric": "m"}], ArtefactError, "a record lacks \\['critic'\\]"),
        ([{"critic": "c"}], ArtefactError, "a record lacks \\['metric'\\]"),
        ([{"critic": "c", "metric": "m", "value": "1"}], ArtefactError, "another kind for \\['value'\\]"),
        ([{"critic": "c", "metric": "m", "value": 2, "reference": 1, "difference": 3}], ArtefactError, "value minus reference; run"),
    ],
)  # fmt: skip
def test_a_file_of_other_records_is_refused_by_its_name(tmp_path, content, kind, sentence):
    path = tmp_path / "records.json"
    path.write_text(json.dumps(content))
    with pytest.raises(kind, match=f"records.json: .*{sentence}"):
        results.read_results(path)
