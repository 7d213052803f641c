"""A text's feature: the last state of its last token, the same alone and in company; an empty text has none."""

import numpy as np
import torch
from tiny import documents, lm_folder
from transformers import AutoModel, AutoTokenizer

from longform.core.documents import Document, Section
from longform.critics.mauve.read import read
from longform.critics.mauve.score import Mauve, units_from_readout


def test_a_feature_is_the_last_hidden_state_of_the_last_token(tmp_path):
    folder, texts = lm_folder(tmp_path / "lm", window=256), documents(6)
    found = read(documents=texts, reader=folder, name="x", splits=["train", "validation", "test"])
    network, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    for document, feature in zip(texts, found.arrays["features"], strict=True):
        with torch.no_grad():
            states = network(input_ids=torch.tensor([tokenizer(document.text)["input_ids"]])).last_hidden_state
        np.testing.assert_allclose(feature, states[0, -1].numpy(), atol=1e-6)
    assert found.arrays["valid"].all() and not found.arrays["cut"].any()


def test_company_order_and_length_of_others_change_nothing(tmp_path):
    folder, texts = lm_folder(tmp_path / "lm"), documents(6)
    splits = ["train", "validation", "test"]
    whole = read(documents=texts, reader=folder, name="x", splits=splits).arrays["features"]
    backwards = read(documents=texts[::-1], reader=folder, name="x", splits=splits).arrays["features"]
    np.testing.assert_array_equal(whole, backwards[::-1])


def test_an_empty_text_is_counted_and_a_long_one_is_cut_and_marked(tmp_path):
    folder = lm_folder(tmp_path / "lm", window=8)
    empty = Document("e", "test", (Section(None, ""),))
    found = read(documents=[*documents(12), empty], reader=folder, name="x", splits=["train", "test"])
    assert found.arrays["valid"].tolist() == [True] * 9 + [False]
    assert found.arrays["cut"][:-1].all()
    fitted = Mauve().fit(units_from_readout(found))
    assert fitted.tally(units_from_readout(found)).total("excluded") == 1
