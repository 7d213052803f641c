"""Tokenizers of words, windows of long rows, and how a published tokenizer is named, by hand."""

import pytest

from longform.documents import Document, Section
from longform.language_models import ngram, tokenizers, trial
from tests.refusals import refuses


def knowing(words):
    return tokenizers.whitespace([Document("a", "train", (Section(None, words),))])


def test_words_spelled_as_control_tokens_are_these():
    tokenizer = knowing("b <unk> c </s> <pad> b")
    assert tokenizer.get_vocab() == {"</s>": 0, "<pad>": 1, "<unk>": 2, "b": 3, "c": 4}
    assert len(tokenizer) == 5
    assert tokenizers.encode("c <unk> d </s>", tokenizer) == [4, 2, 2, 0]


def test_tokens_that_the_network_does_not_know_are_not_tried(monkeypatch):
    monkeypatch.setattr(trial, "TRIAL_TEXT", "c b c b")
    assert trial.trial_row(knowing("b c"), 4) == [0, 3, 3] + [0] * 9


def test_ngrams_of_eight_tokens_have_at_most_62_bits(tmp_path):
    knowing("b c d e f").save_pretrained(tmp_path)
    assert tokenizers.fit(documents=[], folder=tmp_path).tokenizer.get_vocab()["f"] == 7
    given = {"documents": [], "base": tmp_path, "titles": False}
    refuses("allowed is 2 to 20 with 8 tokens", ngram.fit, **given, context=8, order=21)


def test_a_window_of_one_token_is_refused_where_a_row_is_longer():
    assert tokenizers.windows(1, 1) == [(0, 1, 1)]
    assert tokenizers.windows(3, 2) == [(0, 2, 1), (1, 3, 2)]
    refuses("a window is 1 tokens", tokenizers.windows, 2, 1)


@pytest.mark.parametrize("more", [{"vocab_size": 100}, {"file": "m.gguf"}, {"package": "p"}])
def test_a_folder_with_something_else_is_said_to_stand_alone(tmp_path, more):
    refuses(
        "a published tokenizer is named by a folder alone",
        tokenizers.fit,
        documents=[],
        folder=tmp_path,
        **more,
    )
