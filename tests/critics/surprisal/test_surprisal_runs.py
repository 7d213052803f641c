"""Rows of the surprisal engine as they are run: from files, beside minicons; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from surprisal_cases import END, TEXT, TOKENIZERS, byte_level, network, suite

from longform.core.documents import BadInput
from longform.critics.surprisal.read import ENDS, Encoder, condition_bits, read, suite_readout
from longform.datasets.test_suites.items import Suite, pair, suites_to_corpus
from longform.language_models.log_probs import open_reader


def test_a_row_runs_from_files(tmp_path):
    network().float().save_pretrained(tmp_path)
    TOKENIZERS["byte-level"].save_pretrained(tmp_path)
    corpus = suites_to_corpus([suite()])
    readout = read(documents=corpus.documents, truth=corpus.truth, reader=tmp_path, name="row")
    encoder = Encoder(TOKENIZERS["byte-level"])
    direct = suite_readout([suite()], encoder, open_reader(network().float()))
    assert readout.unit_ids == ("toy/1", "toy/2", "toy/3", "toy/4")
    np.testing.assert_allclose(readout.arrays["token_bits"], direct.arrays["token_bits"], atol=1e-4)
    assert sum(readout.arrays["region_tokens"]) == len(readout.arrays["token_bits"])


def test_an_item_longer_than_the_window_is_refused_by_name():
    long = Suite("long", "sum", ("(1;%a%) > (1;%b%)",), (pair(7, {"a": ["the cat " * 80], "b": ["the"]}),))
    with pytest.raises(BadInput, match=r"suite long, item 7, condition a: \d+ tokens, the model reads 128"):
        condition_bits([long], Encoder(TOKENIZERS["byte-level"]), open_reader(network()))


def test_an_item_without_tokens_is_refused_by_name():
    empty = Suite("none", "sum", ("(1;%a%) > (1;%b%)",), (pair(7, {"a": [""], "b": ["the"]}),))
    with pytest.raises(BadInput, match="suite none, item 7, condition a: the tokenizer gives no token"):
        condition_bits([empty], Encoder(TOKENIZERS["byte-level"], "legacy_none"), open_reader(network()))


def test_a_tokenizer_without_ends_serves_only_the_legacy_convention():
    bare = byte_level(pad_token=END)
    assert Encoder(bare, "legacy_none", "strip").rows([["the cat", "ran"]])
    for ends in set(ENDS) - {"legacy_none"}:
        with pytest.raises(BadInput, match="no begin or end token"):
            Encoder(bare, ends)
    with pytest.raises(BadInput, match="no begin or end token"):
        Encoder(bare, "legacy_none").rows([["the cat [SEP]", "ran"]])


def test_unknown_conventions_are_refused():
    with pytest.raises(BadInput, match="ends is 'cls'"):
        Encoder(TOKENIZERS["byte-level"], "cls")
    with pytest.raises(BadInput, match="separator is 'tab'"):
        Encoder(TOKENIZERS["byte-level"], separator="tab")


def test_tokens_equal_minicons_on_the_same_texts(tmp_path):
    scorer = pytest.importorskip("minicons.scorer")
    texts = [TEXT[i:].lstrip() for i in range(0, 100, 9)]
    for kind, tokens in TOKENIZERS.items():
        model = network().float()
        theirs = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokens).token_score(
            texts, surprisal=True, base_two=True
        )
        one = Suite("t", "sum", ("(1;%a%) > 0",), tuple(pair(i, {"a": [text]}) for i, text in enumerate(texts)))
        ours = condition_bits([one], Encoder(tokens, "legacy_none", "literal"), open_reader(model))
        for expected, found in zip(theirs, ours, strict=True):
            assert len(expected) == len(found.bits), kind
            np.testing.assert_allclose(found.bits, [value for _, value in expected], atol=1e-4)
