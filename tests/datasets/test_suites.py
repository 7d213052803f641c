"""SyntaxGym's files: suites survive the way through documents, and what is wrong with a file is said."""

import copy
import json

import pytest

from longform.core.documents import BadInput, Document
from longform.datasets.test_suites.items import (
    pair,
    read_suite,
    suite_from_record,
    suites_from_documents,
    suites_to_corpus,
)
from tests.refusals import refuses

FIRST = {"region_number": 1, "content": "The dog", "metric_value": {"sum": 3.0}, "oovs": []}
CONDITIONS = [{"condition_name": name, "regions": [FIRST, {"region_number": 2, "content": f"{name} barked ."}]}
              for name in "ab"]  # fmt: skip
RECORD = {"meta": {"name": "toy", "metric": "sum", "author": "me", "comment": "naïve"},
          "region_meta": {"1": "start", "2": "end"},
          "predictions": [{"type": "formula", "formula": "[(2;%a%) > (2;%b%)] & [(*;%a%) > 0]"}],
          "items": [{"item_number": number, "conditions": copy.deepcopy(CONDITIONS)} for number in (0, 1, 5)]}  # fmt: skip


EDITS = [{"kind": "swap", "order": [1, 0]}]


def changed(**places):
    record = copy.deepcopy(RECORD)
    for path, value in places.items():
        target = record
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("__")]
        for step in steps:
            target = target[step]
        target[last] = value
    return record


def test_suites_survive_the_way_through_files_and_documents_and_have_names_of_their_own(tmp_path):
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(RECORD), encoding="utf-8")
    suite = read_suite(path)
    empty = {"items__0__conditions__0__regions__0": {"region_number": 1, "content": ""}}
    bare = suite_from_record(changed(**empty, meta__name="other"))
    edited = type(suite)("e", "mean", ("(1;%a%) > (1;%b%)",), (pair(3, {"a": ["x"], "b": ["y"]}, EDITS),))
    assert suite.meta == {"author": "me", "comment": "naïve"} and suite.items[2].number == 5
    assert [r.content for r in suite.items[0].condition("b").regions] == ["The dog", "b barked ."]
    plain = [suite, bare, edited]
    corpus = suites_to_corpus(plain)
    again = [Document.from_record(json.loads(json.dumps(d.to_record()))) for d in corpus.documents]
    assert suites_from_documents(again, corpus.truth) == plain
    assert corpus.facts["items"] == {"toy": 3, "other": 3, "e": 1}
    refuses("names repeat", suites_to_corpus, [suite, suite])
    refuses("suite_heads", suites_from_documents, [], {})


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"meta": {}}, "meta, region_meta, predictions and items"),
        (changed(meta={"name": "x"}), "'metric' is missing"),
        (changed(meta__metric="all"), "metric 'all' is not one of"),
        (changed(predictions__0__type="code"), "allowed is 'formula'"),
        (changed(predictions__0__formula="(7;%a%) > (2;%b%)"), "names region 7, item 0 has [1, 2]"),
        (changed(predictions__0__formula="(2;%c%) > (2;%b%)"), "names condition 'c', allowed are ['a', 'b']"),
        (changed(items__1__conditions=RECORD["items"][1]["conditions"][:1]), "item 1: conditions are ['a']"),
        (changed(items__1__item_number=0), "item numbers repeat"),
        (changed(items=[]), "0 items"),
        (changed(items=None), "items: got None, allowed is a list"),
        (changed(items__1=3), "got 3, allowed is an object"),
        (changed(items__1__item_number="one"), "item_number: got 'one', allowed is a whole number"),
        (changed(items__1__conditions__0__regions="x"), "item 1, condition a, regions: got 'x'"),
        (changed(items__1__conditions__0__regions__1__region_number=1), "region numbers are [1, 1]"),
        (changed(predictions__0="(2;%a%) > 0"), "prediction: got '(2;%a%) > 0', allowed is an object"),
        (changed(meta=None), "meta: got None"),
    ],
)
def test_a_bad_suite_says_what_is_wrong(record, says):
    with pytest.raises(BadInput) as error:
        suite_from_record(record, "toy.json")
    assert says in str(error.value)
