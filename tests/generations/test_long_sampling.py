"""Sampling: the model's own distribution, one generator a document, past the window, and through a kill."""

import json

import numpy as np
import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModelForCausalLM

from longform.generations.long_sampling import Sampling, draw, generate, sample
from longform.numerics import generator
from longform.units import BadInput


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=32)


def make(model, scratch, **over):
    scratch.mkdir(parents=True, exist_ok=True)
    settings = {"documents": 6, "titles": False, "batch": 4, "max_tokens": 60, "keep": 16} | over
    return generate(model=model, name="tiny", seed=3, scratch=scratch, prefixes=documents(), **settings)


def test_documents_do_not_depend_on_batch_or_number(model, tmp_path):
    whole = make(model, tmp_path / "a").documents
    assert make(model, tmp_path / "b", batch=1).documents == whole
    assert make(model, tmp_path / "c", documents=3).documents == whole[:3]


def test_a_killed_run_goes_on_where_it_was(model, tmp_path):
    whole = make(model, tmp_path / "a").documents
    (tmp_path / "b").mkdir()
    kept = {"index": 0, "attempts": 0, "cut": False, "tokens": 1, "sections": [[None, "kept"]]}
    (tmp_path / "b" / "drafts.jsonl").write_text(json.dumps(kept) + '\n{"index": 1, "att')  # cut off in mid-line
    resumed = make(model, tmp_path / "b").documents
    assert resumed[0].text == "kept" and resumed[1:] == whole[1:]


@pytest.mark.parametrize("keep", [None, 12])
def test_each_protocol_sees_exactly_the_context_that_it_promises(model, keep):
    """Replay every drawn token with a plain forward pass over the context that the protocol defines."""
    network = AutoModelForCausalLM.from_pretrained(model).eval()
    from longform.generations.long_sampling import _Draft

    draft = _Draft(0, 0, generator("replay"), [0, 5, 0])
    settings = Sampling(max_tokens=70, keep=keep)
    sample(network, [draft], settings, end=-1)
    rng, start = generator("replay"), 0
    for place in range(3, 70):
        if keep is None:
            start = place - 31 if place >= 32 else 0
        elif place - start > 32:
            start = place - keep
        with torch.no_grad():
            logits = network(torch.tensor([draft.ids[start:place]])).logits[0, -1].double().numpy()
        assert draw(logits, rng, settings) == draft.ids[place], place


def test_draws_follow_the_softmax():
    logits, rng = np.log([0.5, 0.3, 0.15, 0.05]), generator("draws")
    counts = np.bincount([draw(logits, rng, Sampling(1, None)) for _ in range(4000)], minlength=4)
    expected = 4000 * np.array([0.5, 0.3, 0.15, 0.05])
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # chi-squared, 3 degrees of freedom, p = 0.001


def test_top_k_keeps_only_k_tokens():
    rng = generator("top")
    seen = {draw(np.arange(10.0), rng, Sampling(1, None, top_k=3)) for _ in range(300)}
    assert seen <= {7, 8, 9} and len(seen) == 3


def test_malformed_titled_articles_are_drawn_again_and_counted(model, tmp_path):
    made = make(model, tmp_path, titles=True, redraws=2, max_tokens=20)
    assert made.facts["redraws"] > 0
    assert made.facts["documents"] + made.facts["failed"] == 6 == len(made.documents) + made.facts["failed"]
    assert all(section.title for document in made.documents for section in document.sections)


def test_zero_documents_is_an_error(model, tmp_path):
    with pytest.raises(BadInput, match="at least one"):
        make(model, tmp_path, documents=0)
