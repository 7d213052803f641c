"""Which words of a text are names of persons, before anything is resolved."""

import pytest

from longform.critics.coreference.person_mentions import candidates

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
