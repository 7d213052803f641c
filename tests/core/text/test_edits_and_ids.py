"""Edits of texts and orders by hand: each default, each boundary, each refusal."""

from dataclasses import dataclass

import numpy as np
import pytest

from longform.text import permutations
from tests.refusals import refuses

TEXT = "But he came."


@pytest.mark.parametrize(
    ("given", "connective"),
    [
        ((0, 3, "and"), "and"),
        ((0, 3, "AND"), "and"),
        ((0, 3, "and", True), "And"),
        ((4, 6, "So", True), "so"),
        ((4, 6, "so"), "so"),
    ],
)
def test_a_connective_is_put_in_lower_case_or_in_that_of_its_place(given, connective):
    start, end, _ = given[:3]
    text, edit = permutations.connective_replaced(TEXT, *given)
    assert text == TEXT[:start] + connective + TEXT[end:]
    assert edit == {
        "kind": "connective", "start": start, "old": TEXT[start:end], "new": connective
    }  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "new"),
    [(-1, 2, "x"), (2, 2, "x"), (3, 2, "x"), (0, len(TEXT) + 1, "x"), (0, 3, "But")],
)
def test_a_span_lies_inside_its_text_and_is_changed(start, end, new):
    sentence = f"^k: span {start}..{end} with {new!r} in a text of 12; it must lie inside"
    refuses(sentence, permutations.span_replaced, TEXT, start, end, new, "k")


def test_a_span_may_be_the_whole_text():
    assert permutations.span_replaced("ab", 0, 2, "", "k")[0] == ""
    assert permutations.span_replaced("ab", 1, 2, "c", "k")[0] == "ac"


@pytest.mark.parametrize(
    ("text", "span", "antecedent", "possessive", "expected"),
    [
        ("He ran.", (0, 2), "a dog", False, "The dog ran."),
        ("Then he ran.", (5, 7), "An owl", False, "Then the owl ran."),
        ("Then he ran.", (5, 7), "The owl", False, "Then the owl ran."),
        ("Then he ran.", (5, 7), "Ann", False, "Then Ann ran."),
        ("Then his dog ran.", (5, 8), "Ann", True, "Then Ann's dog ran."),
        ("Then his dog ran.", (5, 8), "James", True, "Then James' dog ran."),
        ("Then I ran.", (5, 6), "the man", False, "Then the man ran."),
        ("Then he ran.", (5, 7), "anise", False, "Then anise ran."),
    ],
)
def test_a_pronoun_gives_way_to_its_antecedent(text, span, antecedent, possessive, expected):
    made, edit = permutations.rementioned(text, *span, antecedent, possessive)
    assert made == expected and edit["kind"] == "re_mention"


def test_orders_that_move_nothing_or_cannot_are_refused():
    rng = np.random.default_rng(0)
    refuses("block is 0; allowed are positive", permutations.block_orders, 5, 0, 1, rng)
    refuses("windows is 0; allowed are positive", permutations.local_orders, 20, 0, 1, rng)
    refuses("shuffle task 'x'; allowed are \\['block', 'window'\\]",
            permutations.shuffled_orders, "x", 1, [1, 2], 1, rng)  # fmt: skip
    refuses("shuffle: 2 units of which 1 differ", permutations.shuffled, ["a", "a"], rng)
    refuses("shuffle: 1 unit of which 1 differ", permutations.context_shuffled, ["a", "b"], rng)
    assert permutations.block_orders(0, 1, 3, rng).shape == (3, 0)
    assert permutations.block_orders(5, 1, 3, rng).shape == (3, 5)


@pytest.mark.parametrize("sentences", [10, 11])
def test_local_shuffles_need_more_than_ten_sentences(sentences):
    orders = permutations.local_orders(sentences, 1, 4, np.random.default_rng(0))
    assert len(orders) == (4 if sentences == 11 else 0)


def test_windows_may_fill_a_text():
    orders = permutations.local_orders(12, 4, 30, np.random.default_rng(0))
    windows = orders.reshape(30, 4, 3)
    assert (np.sort(windows, axis=2) == np.arange(12).reshape(4, 3)).all()
    assert permutations.local_orders(12, 5, 30, np.random.default_rng(0)).shape == (0, 12)


@pytest.mark.parametrize(
    "given", [("x",), ("block", ()), ("block", (0,)), ("block", (2, 0)), ("block", (1,), 0)]
)
def test_a_shuffle_task_has_a_kind_sizes_and_copies(given):
    refuses("sizes and a number of copies from 1", permutations.ShuffleTask, *given)


def test_a_shuffle_task_is_by_default_of_single_sentences_twenty_times():
    task = permutations.ShuffleTask()
    assert (task.name, task.copies, task.sizes) == ("block_1", 20, (1,))
    assert permutations.ShuffleTask("window", (1, 2), 1).name == "window_1_2"


@pytest.mark.parametrize(
    ("unit_id", "place"),
    [
        ("a", ("a", "")),
        ("a/block_1", ("a/block_1", "")),
        ("a/original/0", ("a", "")),
        ("a/block_1/0", ("a", "block_1")),
        ("x/a/block_1/0", ("x/a", "block_1")),
    ],
)
def test_an_id_says_which_permutation_a_text_is(unit_id, place):
    assert permutations.written(unit_id) == place


@dataclass(frozen=True)
class Text:
    unit_id: str
    split: str = "train"


def test_a_document_has_the_split_of_its_original_and_one_original():
    texts = [Text("a/block_1/0", "test"), Text("a/original/0"), Text("a/block_1/1")]
    (found,) = permutations.permuted_documents(texts)
    assert (found.unit_id, found.split, found.original) == ("a", "train", texts[1])
    assert found.permutations == {"block_1": [texts[0], texts[2]]}
    refuses("document 'a' has 0 originals", permutations.permuted_documents, texts[:1])
    refuses("document 'a' has 2 originals", permutations.permuted_documents, [Text("a"), texts[1]])


def test_equal_sentences_have_one_number_in_order_of_appearance():
    assert permutations.numbered(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
    assert permutations.numbered([]).dtype == np.int64


def test_an_order_is_undone_by_its_record():
    units, edit = permutations.context_shuffled(list("abcd"), np.random.default_rng(1))
    assert units[-1] == "d" and units != list("abcd") and sorted(units) == list("abcd")
    assert edit["kind"] == "context_shuffle" and edit["order"][-1] == 3
    assert permutations.restored(units, edit) == list("abcd")
    units, edit = permutations.shuffled(list("ab"), np.random.default_rng(1))
    assert (units, edit) == (["b", "a"], {"kind": "shuffle", "order": [1, 0]})


def test_a_connective_begins_with_a_capital_only_where_that_is_asked_for():
    assert permutations.connective_replaced("So it is", 0, 2, "but")[0] == "but it is"
    assert permutations.connective_replaced("So it is", 0, 2, "but", True)[0] == "But it is"
