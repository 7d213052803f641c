"""Readouts: log-probabilities and titles equal a plain forward pass, whatever the batch and the window."""

import numpy as np
import pytest
import torch
from tiny import TITLES, classifier_folder, documents, lm_folder
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from longform.critics.perplexity import read as token_readout
from longform.critics.perplexity.read import windows
from longform.critics.section_order import accuracy as title_accuracy
from longform.critics.section_order import read as section_titles
from longform.critics.section_order import read_gold as gold_titles
from longform.documents import BadInput, Document, Section, chains_from_readout
from longform.language_models.token_rows import document_rows


def test_windows_score_every_position_once():
    for length in range(2, 40):
        scored = [p for start, stop, first in windows(length, 8) for p in range(first, stop)]
        assert scored == list(range(1, length))
        assert all(
            stop - start <= 8 and (first - start >= 4 or first == 1) for start, stop, first in windows(length, 8)
        )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=256)


def test_log_probs_equal_one_plain_forward_pass_per_document(model):
    out = token_readout.read(documents=documents(), reader=model, name="t", titles=True, splits=["test"], batch=3)
    network, tokenizer = AutoModelForCausalLM.from_pretrained(model), AutoTokenizer.from_pretrained(model)
    chosen = [d for d in documents() if d.split == "test"]
    for row, ids in zip(out.ragged("token_logprob"), document_rows(chosen, tokenizer, True, 10**9), strict=True):
        with torch.no_grad():
            plain = network(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
        np.testing.assert_allclose(row, plain[range(len(ids) - 1), ids[1:]].numpy(), atol=1e-5)


def test_long_documents_are_scored_in_windows(tmp_path):
    out = token_readout.read(
        documents=documents(), reader=lm_folder(tmp_path, window=16), name="t", titles=False, splits=["test"]
    )
    assert all(np.isfinite(row).all() and len(row) > 16 for row in out.ragged("token_logprob"))


def test_titles_equal_a_plain_forward_pass_and_keep_gold(tmp_path):
    reader = classifier_folder(tmp_path)
    out = section_titles.read(documents=documents(), reader=reader, name="t", splits=["test"], max_length=16, batch=2)
    network, tokenizer = (
        AutoModelForSequenceClassification.from_pretrained(reader).eval(),
        AutoTokenizer.from_pretrained(reader),
    )
    for chain, document in zip(chains_from_readout(out), [d for d in documents() if d.split == "test"], strict=True):
        for title, section in zip(chain.symbols, document.sections, strict=True):
            ids = tokenizer(section.text, truncation=True, max_length=16, return_tensors="pt")["input_ids"]
            with torch.no_grad():
                assert title == TITLES[int(network(ids).logits.argmax())]
    units = title_accuracy.units_from_readout(out)
    assert all(unit.gold == TITLES for unit in units)


def test_an_empty_section_still_gets_a_title(tmp_path):
    lone = [Document("x", "generated", (Section(None, ""),))]
    reader = classifier_folder(tmp_path)
    out = section_titles.read(documents=lone, reader=reader, name="t", splits=["generated"], max_length=16)
    assert len(chains_from_readout(out)[0].symbols) == 1
    assert title_accuracy.units_from_readout(out)[0].gold == (None,)
    with pytest.raises(BadInput, match="no document of splits"):
        section_titles.read(documents=lone, reader=reader, name="t", splits=["test"], max_length=16)


def test_gold_chains_with_an_untitled_section_are_invalid_not_shortened():
    mixed = Document("x", "test", (Section("abstract", "a"), Section(None, "b")))
    chains = chains_from_readout(gold_titles.read(documents=[*documents(4), mixed], splits=["test"]))
    assert [chain.valid for chain in chains] == [True, False] and chains[0].symbols == TITLES
