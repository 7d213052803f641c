"""Log-probabilities equal a plain forward pass, whatever the batch and the window; disjoint blocks are a training script's."""

import numpy as np
import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModelForCausalLM, AutoTokenizer

from longform.critics.perplexity import read as token_readout
from longform.critics.perplexity.read import windows
from longform.critics.perplexity.score import Perplexity, units_from_readout
from longform.language_models.causal_lm import CausalLanguageModel, collate
from longform.language_models.schedule import Schedule
from longform.language_models.tokenizers import document_rows, stream_blocks
from tests.refusals import refuses


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
    given = {"documents": documents(), "reader": model, "name": "t", "titles": True, "splits": ["test"]}
    refuses("window is 257, allowed is 2 to 256", token_readout.read, **given, window=257)
    refuses("preset is 'blocks'", token_readout.read, **given, preset="blocks")


def test_long_documents_are_scored_in_windows(tmp_path):
    given = {"documents": documents(), "reader": lm_folder(tmp_path, window=16), "name": "t", "titles": False}
    out = token_readout.read(**given, splits=["test"])
    assert all(np.isfinite(row).all() and len(row) > 16 for row in out.ragged("token_logprob"))


@pytest.mark.parametrize(("window", "given"), [(16, None), (31, None), (31, 16)])
def test_the_papers_perplexity_is_the_mean_loss_of_the_streams_disjoint_blocks(tmp_path, window, given):
    reader = lm_folder(tmp_path, window=window)
    out = token_readout.read(
        documents=documents(), reader=reader, name="t", titles=True, splits=["test"], preset="paper", window=given
    )
    window = given or window
    network, tokenizer = AutoModelForCausalLM.from_pretrained(reader), AutoTokenizer.from_pretrained(reader)
    blocks = stream_blocks([d for d in documents() if d.split == "test"], tokenizer, True, window)
    module = CausalLanguageModel(network.eval(), Schedule(1e-3, 1, 1), 1)
    with torch.no_grad():
        losses = [float(module.loss(collate([block]))) for block in blocks]
    units, score = units_from_readout(out), Perplexity()
    assert score.score(score.tally(units)) == pytest.approx(np.exp(np.mean(losses)), rel=1e-5)
    assert len(units) == 3 and sum(len(unit.values) for unit in units) == len(blocks) * (window - 1)
