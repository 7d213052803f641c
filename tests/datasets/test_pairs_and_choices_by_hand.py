"""Re-mentions in chains and in MMAX2, and suites as choices: small cases by hand."""

import json

import pytest
import yaml

from longform.datasets import coreference as c
from longform.datasets.coreference import ReMention, TokenMention, pairs_from_chains
from longform.datasets.test_suites.harness import Contrast, contrast, harness_task
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
    backwards = [("word_3..word_1", "s")]
    refuses("ends before it begins", c.read_arrau, arrau(tmp_path, backwards))
    (tmp_path / "markables/d_coref_level.xml").unlink()
    refuses("has no d_coref_level.xml", c.read_arrau, tmp_path)
    refuses("no .*_words.xml below it", c.read_arrau, tmp_path / "markables")
    words = arrau(tmp_path, spans) / "Basedata/d_words.xml"
    words.write_text(words.read_text().replace("word_2", "word_1"))
    refuses("two words have the id 'word_1'", c.read_arrau, tmp_path)


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
    refuses("contrast no region in two", contrast, suite(SHARED_END, formula, formula))


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


def test_continuations_are_chosen_where_the_context_is_shared():
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
