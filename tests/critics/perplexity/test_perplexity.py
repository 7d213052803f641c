"""Log-probabilities equal a plain forward pass, whatever the batch and the window; a ratio of perplexities is paired by document."""

import numpy as np
import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModelForCausalLM, AutoTokenizer

from longform.core.documents import Readout
from longform.critics.perplexity import read as token_readout
from longform.critics.perplexity.read import windows
from longform.critics.perplexity.score import Perplexity, ratio, units_from_readout
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


def reading(per_document, tokens=20):
    ids = tuple(f"d{i}" for i in range(len(per_document)))
    arrays = {
        "token_logprob": np.repeat(-np.asarray(per_document, float), tokens),
        "token_logprob_lengths": np.full(len(ids), tokens),
    }
    return Readout(ids, ("train",) + ("test",) * (len(ids) - 1), arrays)


def test_a_constant_factor_is_certain_however_much_documents_differ():
    nats = np.random.default_rng(0).uniform(1, 6, 60)
    noise = np.random.default_rng(1).normal(0, 0.01, 60)
    (certain,) = ratio(train=reading(nats), texts=reading(nats + np.log(1.1)), seed=1, name="t")
    np.testing.assert_allclose([certain.value, certain.low, certain.high], 1.1)
    (near,) = ratio(train=reading(nats), texts=reading(nats + np.log(1.1) + noise), seed=1, name="t")
    assert 1.09 < near.low < near.value < near.high < 1.11 and near.high - near.low > 0.002
    assert (near.units, near.metric) == (59, "word_ppl_ratio")
    refuses("the same documents", ratio, train=reading(nats), texts=reading(nats[1:]), seed=1, name="t")
