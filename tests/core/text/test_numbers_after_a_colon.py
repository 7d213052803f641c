"""A number after a colon counts an item; a longer one is a number like any other."""

import pytest

from longform.text.sentences import sentence_texts


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Steps are: 1. The town wakes. It eats.", ["Steps are: 1. The town wakes.", "It eats."]),
        ("Steps are: 12. The town wakes.", ["Steps are: 12. The town wakes."]),
        ("He counted: 123. The town slept.", ["He counted: 123.", "The town slept."]),
    ],
)
def test_a_short_number_after_a_colon_is_no_end(text, sentences):
    assert sentence_texts(text) == sentences
