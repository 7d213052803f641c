"""Which tokens end a sentence, token by token, and what a point after an abbreviation does."""

import pytest
import torch

from longform.decoding.sampling import PAD, SentenceEnds

VOCABULARY = [
    "word", ".", " .", "!", '."', "?) ", "a.", "3.", "\n", "x\ny", ",", "A", " Mr", "U.S", "Mrx", "...", "AB", "",
]  # fmt: skip
ALWAYS = ["!", '."', "?) ", "\n", "x\ny", "..."]
POINTS = [".", " ."]
GUARDS = ["A", " Mr", "U.S"]


class Pieces:
    def __len__(self):
        return len(VOCABULARY)

    def decode(self, tokens):
        return VOCABULARY[tokens[0]]


@pytest.fixture(scope="module")
def ends():
    return SentenceEnds.of_tokenizer(Pieces(), len(VOCABULARY) + 2)


def named(table):
    return [VOCABULARY[token] for token in table.nonzero()[:, 0].tolist()]


def test_marks_and_line_breaks_close_and_a_point_looks_back(ends):
    assert (named(ends.table), named(ends.points), named(ends.guards)) == (ALWAYS, POINTS, GUARDS)
    assert len(ends.table) == len(VOCABULARY) + 2  # a model may have more tokens


def closes(ends, before, token):
    at = {text: place for place, text in enumerate(VOCABULARY)}
    first = PAD if before is None else at[before]
    return bool(ends.closes(torch.tensor(first), torch.tensor(at[token])))


@pytest.mark.parametrize(
    ("before", "token", "ended"),
    [
        ("word", ".", True), (" Mr", ".", False), (" Mr", " .", False), (" Mr", "!", True),
        ("Mrx", ".", True), ("AB", ".", True), ("A", ".", False), (None, ".", True), ("A", "word", False),
        ("word", ",", False), ("A", '."', True),
    ],
)  # fmt: skip
def test_a_point_behind_an_abbreviation_or_a_capital_ends_nothing(ends, before, token, ended):
    assert closes(ends, before, token) is ended


def test_rows_end_by_their_last_token_and_guarded_points_are_counted(ends):
    at = {text: place for place, text in enumerate(VOCABULARY)}
    rows = torch.tensor([[at["!"], at["word"], at["."]], [at["word"], at["A"], at["."]]])
    assert ends(rows, None).tolist() == [True, False]
    ids = [at[text] for text in ("A", ".", " Mr", " .", "word", ".", "A", "!", "U.S")]
    assert ends.guarded(ids) == 2 and ends.guarded(ids[:1]) == 0
