"""Numbers agree with the nouns behind them."""

import pytest

from longform.errors import counted


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, "text"), "0 texts"),
        ((1, "text"), "1 text"),
        ((2800, "token"), "2,800 tokens"),
        ((1, "copy", "copies"), "1 copy"),
        ((2, "copy", "copies"), "2 copies"),
        ((1.0, "word", "", "g"), "1 word"),
        ((5.5, "word", "", "g"), "5.5 words"),
    ],
)
def test_one_takes_the_singular_and_every_other_number_the_plural(arguments, sentence):
    assert counted(*arguments) == sentence
