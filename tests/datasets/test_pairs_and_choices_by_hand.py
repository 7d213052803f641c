"""Re-mentions in chains, in brackets and in MMAX2, and suites as choices: small cases by hand."""

import json

import pytest
import yaml

from longform.datasets import coreference as c
from longform.datasets.coreference import ReMention, TokenMention, pairs_from_chains, read_brackets
from longform.datasets.test_suites.harness import (
    Contrast,
    _parts,
    choices_of,
    contrast,
    harness_task,
    harness_tasks,
)
from longform.datasets.test_suites.items import Suite, pair
from tests.refusals import refuses

TEXTS = [["The", "old", "man", "slept", "."], ["He", "saw", "her", "dog", "."], ["It", "ran", "."]]


def mention(sentence, first, last, chain, last_sentence=None):
    end = sentence if last_sentence is None else last_sentence
    return TokenMention((sentence, first), (end, last), chain)


def test_a_pronoun_takes_up_the_latest_mention_of_the_sentence_before():
    mentions = [
        mention(1, 0, 0, "1"), mention(0, 0, 2, "1"), mention(2, 0, 0, "2"), mention(1, 2, 3, "2"),
        mention(1, 2, 2, "1"), mention(0, 3, 1, "2", last_sentence=1),
    ]  # fmt: skip
    first, second = pairs_from_chains("d", TEXTS, mentions)
    assert first == ReMention(
        "d:1:1", "The old man slept .", "He saw her dog .", 0, 2, "The old man"
    )
    assert second == ReMention("d:2:2", "He saw her dog .", "It ran .", 0, 2, "her dog")
    assert not first.possessive and not second.possessive


def test_a_longer_mention_that_begins_with_a_shorter_one_stands_before_it():
    both = [mention(0, 0, 0, "1"), mention(0, 0, 2, "1"), mention(1, 2, 2, "1")]
    texts = [["Ann", "'s", "dog"], ["We", "saw", "it"]]
    (found,) = pairs_from_chains("d", texts, both)
    assert (found.antecedent, found.start, found.end) == ("Ann", 7, 9)
    (found,) = pairs_from_chains("d", texts, [both[0], mention(0, 2, 2, "1"), both[2]])
    assert found.antecedent == "dog"


@pytest.mark.parametrize(
    "mentions",
    [
        [mention(0, 0, 0, "1"), mention(1, 2, 2, "1")],  # a pronoun is no antecedent
        [mention(0, 2, 2, "1"), mention(1, 2, 2, "2")],  # another chain
        [mention(0, 2, 2, "1"), mention(1, 1, 1, "1")],  # no pronoun
        [mention(0, 2, 2, "1"), mention(1, 1, 2, "1")],  # two words
        [mention(1, 1, 1, "1"), mention(1, 2, 2, "1")],  # the same sentence
    ],
)
def test_no_pair_without_an_antecedent_and_a_pronoun_of_one_chain(mentions):
    assert pairs_from_chains("d", [["It", "and", "dog"], ["We", "saw", "it"]], mentions) == []


@pytest.mark.parametrize(
    ("second", "words", "owns"),
    [
        ("His dog ran.", "His", True),
        ("We saw him.", "him", False),
        ("We saw her dog.", "her", True),
        ("We saw her.", "her", False),
        ("We saw her", "her", False),
        ("We saw her and left.", "her", False),
        ("It was theirs, their own.", "their ", False),
    ],
)
def test_a_pronoun_owns_what_follows_where_that_can_be_owned(second, words, owns):
    start = second.index(words)
    found = ReMention("d", "A.", second, start, start + len(words), "a")
    assert found.possessive is owns


ROWS = """#begin document (x)
x 0 0 Ann - (1)
x 0 1 saw - -
x 0 2 Bob - (2|(3
x 0 3 Jr - 2)|3)

x 0 0 She - (1)
x 1 0 New - (1)
# newdoc id = y
y 0 0 End _ _
"""


def test_brackets_become_mentions_with_chains_of_their_document():
    texts, mentions = read_brackets(ROWS.splitlines(), "f")
    assert texts == [["Ann", "saw", "Bob", "Jr"], ["She"], ["New"], ["End"]]
    assert mentions == [
        mention(0, 0, 0, "1"), mention(0, 2, 3, "2"), mention(0, 2, 3, "3"), mention(1, 0, 0, "1"),
        mention(2, 0, 0, "2/1"),
    ]  # fmt: skip
    nested = ["x\t0\t0\tA b\t(1", "x\t0\t1\tc\t(1)", "x\t0\t2\td\t1)"]
    texts, mentions = read_brackets(nested, "f")
    assert texts == [["A b", "c", "d"]]
    assert mentions == [mention(0, 1, 1, "1"), mention(0, 0, 2, "1")]
    assert read_brackets([], "f") == ([], []) and read_brackets(["", "#x", ""], "f") == ([], [])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (["x 0 0 (1)"], "f:1: 4 columns"),
        (["x 0 0 a 1"], "f:1: coreference mark '1' is none of"),
        (["x 0 0 a (e5[1/2])"], "part of a mention in several parts"),
        (["x 0 0 a 1)"], "closes chain 1 which is not open"),
        (["x 0 0 a (1", "", "#end document"], "f:1: a mention of chain 1 is never closed"),
        (["x 0 0 a (1", "y 0 0 b 1)"], "f:1: a mention of chain 1 is never closed"),
        (["x 0 0 a (1"], "f:1: a mention of chain 1 is never closed"),
    ],
)
def test_brackets_of_another_form_are_refused_with_their_row(rows, sentence):
    refuses(sentence, read_brackets, rows, "f")


def arrau(folder, spans):
    """A document of seven words in two sentences, with mentions of a chain."""
    words = ["Ann", "slept", ".", "Then", "she", "woke", "."]
    parts = {
        "Basedata/d_words.xml": [f'<word id="word_{i}">{w}</word>' for i, w in enumerate(words, 1)],
        "markables/d_sentence_level.xml": [
            '<markable span="word_4..word_7"/>', '<markable span="word_1..word_3"/>',
        ],
        "markables/d_coref_level.xml": [
            f'<markable span="{span}" coref_set="{chain}"/>' for span, chain in spans
        ],
    }  # fmt: skip
    for name, lines in parts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<all>{''.join(lines)}</all>")
    return folder


def test_mmax2_spans_are_mentions_of_the_sentence_that_holds_them(tmp_path):
    spans = [("word_1", "set_1"), ("word_5", "set_1"), ("word_2,word_4", "set_1"),
             ("word_2..word_5", "set_1"), ("word_4..word_5", "empty")]  # fmt: skip
    found = c.read_re_mentions(arrau(tmp_path, spans))
    assert found == [ReMention("d:1:set_1", "Ann slept .", "Then she woke .", 5, 8, "Ann")]
    # a mention up to both ends of its sentence
    whole = [("word_1..word_3", "set_1"), ("word_5..word_5", "set_1")]
    assert c.read_arrau(arrau(tmp_path, whole))[0].antecedent == "Ann slept ."
    refuses("names no word of d_words.xml", c.read_arrau, arrau(tmp_path, [("word_9", "s")]))
    (tmp_path / "markables/d_coref_level.xml").unlink()
    refuses("has no d_coref_level.xml", c.read_arrau, tmp_path)
    refuses("no .*_words.xml below it", c.read_arrau, tmp_path / "markables")


def suite(conditions, *predictions, name="s"):
    items = tuple(pair(number, texts) for number, texts in enumerate(conditions, 1))
    return Suite(name, "sum", predictions, items)


SHARED_END = [{"good": ["A .", "", "so it was"], "bad": ["B .", "", "so it was"]},
              {"bad": ["D .", "no", "and then"], "good": ["C .", "no", "and then"]}]  # fmt: skip
ENDS = [{"good": ["A .", "yes", "x"], "bad": ["A .", "no", "y"]}]
WHOLES = [
    {"good": ["A .", "yes"], "bad": ["B .", "no"]},
    {"good": ["", "yes"], "bad": ["B .", "no"]},
]


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("(3;%good%) < (3;%bad%)", Contrast(3, "good", "bad")),
        ("(3;%bad%) > (3;%good%)", Contrast(3, "good", "bad")),
        ("(*;%good%) < (*;%bad%)", Contrast(None, "good", "bad")),
    ],
)
def test_a_contrast_is_of_one_region_in_two_conditions(formula, found):
    assert contrast(suite(SHARED_END, formula)) == found


@pytest.mark.parametrize(
    "predictions",
    [
        ["(3;%good%) < (2;%bad%)"],
        ["(3;%good%) = (3;%bad%)"],
        ["(3;%good%) < (3;%bad%) + 1"],
        ["(3;%good%) < (3;%bad%)", "(2;%good%) < (2;%bad%)"],
    ],
)
def test_other_predictions_are_no_contrast(predictions):
    refuses("contrast no region in two conditions", contrast, suite(SHARED_END, *predictions))


def test_parts_of_a_condition_are_what_comes_before_and_what_is_judged():
    (condition, _) = pair(1, {"a": ["x", "", "y", "z"], "b": ["x"]}).conditions
    assert _parts(condition, 3) == ("x", "y") and _parts(condition, 1) == ("", "x")
    assert _parts(condition, None) == ("", "x y z") and _parts(condition, 4) == ("x y", "z")


def documents(task):
    name = next(name for name in task if name.endswith(".jsonl"))
    return [json.loads(line) for line in task[name].splitlines()]


def settings(task):
    return yaml.safe_load(task[next(name for name in task if name.endswith(".yaml"))])


def test_contexts_are_chosen_where_the_continuation_is_shared():
    task = harness_task(suite(SHARED_END, "(3;%good%) < (3;%bad%)"), "folder")
    assert documents(task) == [
        {"choices": ["A .", "B ."], "target": 0, "continuation": "so it was"},
        {"choices": ["D . no", "C . no"], "target": 1, "continuation": "and then"},
    ]
    made = settings(task)
    assert (made["doc_to_text"], made["doc_to_target"], made["target_delimiter"]) == (
        "{{target}}",
        "{{continuation}}",
        " ",
    )
    assert made["dataset_kwargs"]["data_files"]["test"] == "folder/s.jsonl"
    assert made["doc_to_choice"] == "{{choices}}" and made["task"] == "coherencegym_s"


def test_continuations_are_chosen_where_the_context_is_shared_else_whole_texts():
    task = harness_task(suite(ENDS, "(2;%bad%) > (2;%good%)"))
    assert documents(task) == [{"context": "A .", "choices": ["yes", "no"], "target": 0}]
    assert settings(task)["target_delimiter"] == " "
    assert settings(task)["dataset_kwargs"]["data_files"]["test"] == "s.jsonl"
    task = harness_task(suite(WHOLES, "(2;%good%) < (2;%bad%)"))
    assert documents(task) == [
        {"context": "", "choices": ["A . yes", "B . no"], "target": 0},
        {"context": "", "choices": ["yes", "B . no"], "target": 0},
    ]
    made = settings(task)
    assert (made["doc_to_text"], made["doc_to_target"], made["target_delimiter"]) == (
        "{{context}}",
        "{{target}}",
        "",
    )
    empty = [{"good": ["", "yes"], "bad": ["", "no"]}]
    assert settings(harness_task(suite(empty, "(2;%good%) < (2;%bad%)")))["target_delimiter"] == ""


def test_choices_leave_out_conditions_that_are_not_contrasted_and_tasks_are_grouped():
    three = [{"other": ["x", "y"], "bad": ["B", "no"], "good": ["A", "yes"]}]
    made = suite(three, "(2;%good%) < (2;%bad%)")
    (choice,) = choices_of(made)
    assert (choice.contexts, choice.continuations, choice.target) == (["B", "A"], ["no", "yes"], 1)
    assert choice.texts == ["B no", "A yes"]
    files = harness_tasks([made, suite(ENDS, "(2;%good%) < (2;%bad%)", name="t")])
    group = yaml.safe_load(files["_coherencegym.yaml"])
    assert group == {"group": "coherencegym", "task": ["coherencegym_s", "coherencegym_t"]}
    assert set(files) == {"s.yaml", "s.jsonl", "t.yaml", "t.jsonl", "_coherencegym.yaml"}
