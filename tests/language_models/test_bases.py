"""Pretrained networks that come with the repository: what is kept of a run, and which one a shape finetunes."""

import json

import pytest
import torch
from tiny import bpe_folder, documents

from longform.language_models import bases, causal_lm
from longform.language_models.checkpoints import SavedModel, load_tokenizer, new_network
from longform.language_models.tokenizers import fit as fit_tokenizer
from tests.refusals import refuses

AUTO = causal_lm.AutoModelForCausalLM
SMALL = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}
WIDE = {**SMALL, "n_embd": 32}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of two shapes, kept."""
    run = tmp_path_factory.mktemp("run")
    tokenizer = load_tokenizer(bpe_folder(run / "tokenizer"))
    for name, shape in (("small", SMALL), ("wide", WIDE)):
        network = new_network(shape, AUTO, 3, vocab_size=len(tokenizer), max_position_embeddings=16)
        SavedModel(network, tokenizer).save(run / "models" / name)
    bases.keep(run / "models", run / "tokenizer", run / "bases")
    return run


def finetuned(kept, tmp_path, shape, **over):
    plan = {"learning_rate": 0, "batch": 2, "epochs": 1, "validations": 1}
    settings = {"titles": True, "packing": "stream", "context": 16, "schedule": plan, "name": "tiny", "seed": 7} | over
    given = {"documents": documents(), "base": kept / "tokenizer", "scratch": tmp_path}
    return causal_lm.fit(**given, shape=shape, bases=kept / "bases", **settings)


@pytest.mark.parametrize("shape, name", [(SMALL, "small"), (WIDE, "wide")])
def test_a_shape_is_finetuned_from_the_base_that_has_it(kept, tmp_path, shape, name):
    ours = finetuned(kept, tmp_path, shape).network.state_dict()
    theirs = AUTO.from_pretrained(kept / "models" / name).half().float().state_dict()
    assert all(torch.equal(ours[key], theirs[key]) for key in theirs)  # a rate of zero changes no weight
    assert sorted(path.name for path in (kept / "bases").iterdir()) == ["small", "tokenizer", "wide"]
    assert json.loads((kept / "bases" / name / "config.json").read_text())["dtype"] == "float16"


def test_another_shape_another_vocabulary_and_an_empty_run_are_refused(kept, tmp_path, capsys):
    said = r"no base has the shape .*'n_embd': 24.*'n_embd': 16.*training.bases to null"
    refuses(said, finetuned, kept, tmp_path, {**SMALL, "n_embd": 24})
    other = tmp_path / "other"
    other.mkdir()
    fit_tokenizer(documents=documents(), kind="byte_pair", vocab_size=280).save(other)
    refuses("another vocabulary", bases.base_of, kept / "bases", SMALL, load_tokenizer(other))
    assert bases.main([str(tmp_path)]) == 2
    assert "no trained model" in capsys.readouterr().err
