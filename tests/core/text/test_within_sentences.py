"""What stands inside a bracket or a quoted title of a sentence ends no sentence."""

import pytest

from longform.text.sentences import sentence_texts

ONE = [
    'The 1979 song "Gimme! Gimme! Gimme! (A Man After Midnight)"; it was a hit.',
    "Members appeared at “Mamma Mia! The Party” in Stockholm.",
    'Really?" " : he asked.',
    "We left (it rained. It often did.) and slept.",
    "We left (it rained.) eBay won.",
    "The towns (Sarnen (pop. 5,984. Wilen is near), Kerns) grew.",
    "He was slow [he was old. He was ill.] but kind.",
]
CUT = [
    ["He said cool things (well, he didn't. But whatever.)", "I believe he is wrong."],
    ['He said, "I think therefore I am."', "I think he is wrong."],
    ["(It rained.", "It often did.)"],
    ['He said "Stop!', "Go!", 'Wait!" and left.'],
    ["It was open (for now.", "The end came (in May)."],
    ["We live in Sacramento, CA.", "He left."],
    ["It begins at ten a.m. EST.", "He woke."],
    ["He left (it rained.", "She came\n\nand sat) there."],
]


@pytest.mark.parametrize("text", ONE)
def test_brackets_and_titles_stay_in_their_sentence(text):
    assert sentence_texts(text) == [text]


@pytest.mark.parametrize("pieces", CUT)
def test_sentences_beside_brackets_and_titles_end(pieces):
    cut = [part for piece in pieces for part in piece.split("\n\n")]
    assert sentence_texts(" ".join(pieces)) == cut
