"""Titles equal a plain forward pass, whatever the batch; gold titles stand beside them."""

import pytest
import torch
from tiny import TITLES, classifier_folder, documents
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from longform.core.documents import BadInput, Document, Section, chains_from_readout
from longform.critics.section_order import read as section_titles
from longform.critics.section_order.read import read_gold
from longform.critics.section_order.score import units_from_readout


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
    units = units_from_readout(out)
    assert all(unit.gold == TITLES for unit in units)


def test_an_empty_section_still_gets_a_title(tmp_path):
    lone = [Document("x", "generated", (Section(None, ""),))]
    reader = classifier_folder(tmp_path)
    out = section_titles.read(documents=lone, reader=reader, name="t", splits=["generated"], max_length=16)
    assert len(chains_from_readout(out)[0].symbols) == 1
    assert units_from_readout(out)[0].gold == (None,)
    with pytest.raises(BadInput, match="no document of splits"):
        section_titles.read(documents=lone, reader=reader, name="t", splits=["test"], max_length=16)


def test_gold_chains_with_an_untitled_section_are_invalid_not_shortened():
    mixed = Document("x", "test", (Section("abstract", "a"), Section(None, "b")))
    chains = chains_from_readout(read_gold(documents=[*documents(4), mixed], splits=["test"]))
    assert [chain.valid for chain in chains] == [True, False] and chains[0].symbols == TITLES
