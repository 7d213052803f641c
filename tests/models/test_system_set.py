"""Several systems in one row: the weights, texts and numbers that rows of their own would have given."""

import numpy as np
import pytest
import torch
from tiny import bpe_folder, documents

from longform.critics.perplexity import read as token_readout
from longform.critics.perplexity import read_systems as read
from longform.decoding import long_documents
from longform.decoding import system_set as sampled
from longform.documents import BadInput
from longform.language_models import causal_lm, system_set

SHAPES = {
    "gpt2": {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16},
    "gpt_neo": {
        "model_type": "gpt_neo", "num_layers": 2, "num_heads": 2, "hidden_size": 16, "window_size": 8,
        "attention_types": [[["global", "local"], 1]],
    },
}  # fmt: skip
COMMON = {
    "packing": "stream",
    "context": 32,
    "schedule": {"learning_rate": 1e-2, "batch": 2, "epochs": 1, "validations": 1},
}
SAMPLING = {"batch": 3, "max_tokens": 40, "context_overlap": 16, "top_k": 0}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    home = tmp_path_factory.mktemp("systems")
    patch = pytest.MonkeyPatch()
    patch.setenv("WANDB_MODE", "disabled")
    settings = {"documents": documents(), "base": bpe_folder(home / "bpe"), "seed": 3}
    made = system_set.fit(**settings, name="row", scratch=home, families=SHAPES, **COMMON)
    (home / "models").mkdir()
    made.save(home / "models")
    (home / "alone").mkdir()
    alone = causal_lm.fit(
        **settings, name="row-gpt_neo-wo_title", scratch=home / "alone", titles=False, shape=SHAPES["gpt_neo"], **COMMON
    )
    patch.undo()
    return home / "models", made, alone


def test_a_system_has_the_weights_of_a_row_of_its_own(trained):
    folder, made, alone = trained
    assert list(system_set.systems_of(folder, "t").items()) == [
        ("gpt2-w_title", True), ("gpt2-wo_title", False), ("gpt_neo-w_title", True), ("gpt_neo-wo_title", False),
    ]  # fmt: skip
    one, two = made.systems["gpt_neo-wo_title"].network.state_dict(), alone.network.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in two)
    other = made.systems["gpt_neo-w_title"].network.state_dict()
    assert not all(torch.equal(one[name], other[name]) for name in two)


def test_documents_of_a_system_are_those_sampled_alone(trained, tmp_path):
    folder, _, _ = trained
    common = {"seed": 3, "prefixes": documents(), "documents": 3, **SAMPLING}
    corpus = sampled.generate(model=folder, name="row", scratch=tmp_path, **common)
    (tmp_path / "alone").mkdir()
    alone = long_documents.generate(
        model=folder / "gpt2-wo_title", name="row-gpt2-wo_title", scratch=tmp_path / "alone", titles=False, **common
    )
    found = [d for d in corpus.documents if d.id.startswith("gpt2-wo_title/")]
    assert [d.sections for d in found] == [d.sections for d in alone.documents]
    assert [d.id for d in found] == [f"gpt2-wo_title/{i}" for i in range(3)]
    assert set(corpus.facts["systems"]) == set(system_set.systems_of(folder, "t"))
    assert all("failed" in facts for facts in corpus.facts["systems"].values())


def test_log_probabilities_of_a_system_are_those_read_alone(trained):
    folder, _, _ = trained
    both = read.read(documents=documents(), reader=folder, name="t", splits=["test"])
    alone = token_readout.read(
        documents=documents(), reader=folder / "gpt_neo-w_title", name="t", titles=True, splits=["test"]
    )
    rows = dict(zip(both.unit_ids, both.ragged("token_logprob"), strict=True))
    for unit, row in zip(alone.unit_ids, alone.ragged("token_logprob"), strict=True):
        np.testing.assert_array_equal(rows[f"gpt_neo-w_title/{unit}"], row)
    assert len(both.unit_ids) == 4 * len(alone.unit_ids)


def test_a_folder_without_systems_or_with_a_strange_one_is_a_sentence(tmp_path):
    with pytest.raises(BadInput, match="holds no systems"):
        system_set.systems_of(tmp_path / "nowhere", "t")
    (tmp_path / "gpt2").mkdir()
    with pytest.raises(BadInput, match="must end in one of"):
        system_set.systems_of(tmp_path, "t")
    with pytest.raises(BadInput, match="families is empty"):
        system_set.fit(documents=[], base=tmp_path, name="t", seed=0, scratch=tmp_path, families={}, **COMMON)
