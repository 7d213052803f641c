"""Which words of a text are names of persons, before anything is resolved."""

import pytest

from longform.critics.coreference.person_mentions import candidates, is_object

FIRST_NAMES = {"anna": "female", "ben": "male"}
NAMES = {
    "Captain said it.": [],
    "Captain Lee said it.": ["Captain Lee"],
    "Then Mrs. Lee said it.": ["Mrs. Lee"],
    "Yesterday Anna Bell left.": ["Anna Bell"],
    "He met Ben Bell Jr. in Ulm.": ["Ben Bell Jr"],
    "The river said it.": [],
    "In Ulm it rained.": [],
}


@pytest.mark.parametrize("text", NAMES)
def test_names_have_their_titles_and_a_title_alone_is_none(text):
    found = [text[one.start : one.end] for one in candidates(text, FIRST_NAMES)]
    assert [name.rstrip(".") for name in found if name not in ("He", "it", "It")] == NAMES[text]


# by the rules of the module: text, kind, gender, how sure, token, clause; * where it is a subject
CANDIDATES = {
    "Ben and Anna met the Millers; they saw him.": [
        "Ben and Anna|group|PLURAL|2|0|0*", "Ben|name|male|2|0|0*", "Anna|name|female|2|2|1*",
        "the Millers|name|PLURAL|1|5|1", "they|pronoun|PLURAL|2|7|2*", "him|pronoun|MALE|2|9|2",
    ],
    "The old king praised her sister, Lee said.": [
        "The old king|noun|MALE|2|0|0*", "her sister|noun|FEMALE|2|4|0",
        "her|pronoun|FEMALE|2|4|0", "Lee|name|None|0|7|1*",
    ],
    "Anna's brother met J. P. van Dam in Ulm.": [
        "Anna|name|female|2|0|0", "J. P. van Dam|name|None|1|4|0",
    ],
    "He asked Dr. Mary Bell, and Stone left.": [
        "He|pronoun|MALE|2|0|0*", "Dr. Mary Bell|name|None|2|2|0", "Stone|name|None|1|8|2*",
    ],
    "Bell said it, but his tired weary old queen saw his tired old queen.": [
        "Bell|name|None|0|0|0*", "his|pronoun|MALE|2|5|2",
        "his tired old queen|noun|FEMALE|2|11|2", "his|pronoun|MALE|2|11|2",
    ],
    "An actor, the Lake Bell, came from Old Mill.": [
        "An actor|noun|MALE|2|0|0*", "Old Mill|name|None|0|9|2",
    ],
    "A Big king saw this 2 king.": [],
    "We met Lee and Ben Stone Bell Wood Hill.": [
        "Lee and Ben Stone Bell Wood Hill|group|PLURAL|0|2|0", "Lee|name|None|0|2|0",
        "Ben Stone Bell Wood Hill|name|male|2|4|1*",
    ],
    "We met Old Stone Bell Wood Hill.": [],
    "The singer Lee sang of Old Mill, near Ben Bell III.": [
        "Lee|name|None|1|2|0", "Old Mill|name|None|1|5|0", "Ben Bell III|name|male|2|9|1",
    ],
    "J. Bell slept.": ["J. Bell|name|None|1|0|0*"],
    "It rained; Stone rose.": [],
    "Anna": ["Anna|name|female|2|0|0*"],
    "He met Anna": ["He|pronoun|MALE|2|0|0*", "Anna|name|female|2|2|0"],
    "We met BBC. Bell's king slept.": ["BBC|name|None|0|2|0", "Bell|name|None|0|0|0"],
    '"Stone could run.': ["Stone|name|None|0|1|0*"],
    "Stone River fell; Berlin fell.": [],
    "We met Ben Bell I saw.": ["Ben Bell|name|male|2|2|0"],
    "We met Ben Jr.": ["Ben Jr|name|male|2|2|0"],
    "We met Ben de Vries": ["Ben de Vries|name|male|2|2|0"],
    "Yesterday Mrs. Lee could run.": ["Mrs. Lee|name|FEMALE|2|1|0"],
    "Himself he saw; Bell left.": [
        "Himself|pronoun|MALE|2|0|0*", "he|pronoun|MALE|2|1|0", "Bell|name|None|0|4|1*",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", CANDIDATES)
def test_candidates_have_their_kind_gender_clause_and_certainty(text):
    lines = []
    for one in candidates(text, FIRST_NAMES):
        fields = (text[one.start : one.end], one.kind, one.gender, one.sure, one.token, one.clause)
        lines.append("|".join(map(str, fields)) + "*" * one.subject)
    assert lines == CANDIDATES[text]


def test_a_groups_words_sentence_and_head_are_those_of_its_first_name():
    group, ben, anna = candidates("It rained. Ben and Anna left.", FIRST_NAMES)
    assert (group.words, ben.words, anna.words) == (("ben", "and", "anna"), ("ben",), ("anna",))
    assert (group.root, ben.root, anna.root, group.sentence, anna.sentence) == (11, 11, 19, 1, 1)


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("We saw him run.", ["him"]), ("He slept.", []), ("We saw her.", ["her"]),
        ("We saw her", ["her"]), ("We saw her and left.", ["her"]), ("We saw her red hat.", []),
    ],
)  # fmt: skip
def test_her_is_an_object_unless_a_noun_or_adjective_may_follow(text, objects):
    pronouns = [one for one in candidates(text, FIRST_NAMES) if one.kind == "pronoun"]
    assert [one.words[0] for one in pronouns if is_object(text, one)] == objects
