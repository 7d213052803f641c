"""torch-struct judges our scan: it agrees, its numbers are kept, and a wrong scan stops the fit."""

from __future__ import annotations

import numpy as np
import pytest
from semi_markov_cases import bursts, random_case

from longform.core.documents import BadInput, Document, Section
from longform.language_models.hsmm import compiled, gradient
from longform.language_models.hsmm.em import initial_model
from longform.language_models.hsmm.gradient import TOLERANCE, against_torch_struct
from longform.language_models.hsmm.model import SemiMarkovLM, build_ngrams
from longform.language_models.hsmm.train import fit

SIZES = {"num_states": 4, "max_duration": 3, "max_ngrams": 100}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_torch_struct_gives_our_likelihood_and_gradient(seed: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient, "TEXTS", 6)
    model, texts = random_case(seed, dtype=dtype)
    facts = against_torch_struct(model, texts)
    assert facts["tokens"] == sum(map(len, texts)) and facts["states"] == 3
    assert max(facts["nats_apart_per_token"], facts["transitions_apart_per_token"]) < TOLERANCE / 10
    assert facts["nats_ours"] == pytest.approx(model.log_likelihood(texts).sum(), abs=1e-4)


def test_a_sample_of_states_is_compared_where_there_are_many() -> None:
    texts = bursts(0)
    model = initial_model(build_ngrams(texts, max_duration=3), num_states=20, seed=0)
    facts = against_torch_struct(model, texts)
    kept = np.unique(np.linspace(0, 19, gradient.STATES).astype(int))
    part = SemiMarkovLM(model.ngrams, model.transitions[kept][:, kept], np.ascontiguousarray(model.joint[:, kept]))
    assert facts["states"] == len(kept) == 6
    assert facts["nats_ours"] == pytest.approx(part.log_likelihood(texts[:3]).sum(), rel=1e-6)


def _documents() -> list[Document]:
    parts = {"train": bursts(0, texts=6), "validation": bursts(1, texts=2)}
    return [
        Document(f"{split}-{i}", split, (Section(None, " ".join(text)),))
        for split, texts in parts.items()
        for i, text in enumerate(texts)
    ]


@pytest.mark.parametrize("how", [{"em": {"iterations": 2}}, {"gradient": {"epochs": 1, "pretraining_epochs": 0}}])
def test_a_trained_model_keeps_the_comparison_and_a_wrong_scan_is_refused(how, tmp_path, monkeypatch) -> None:
    given = {"documents": _documents(), "name": "hsmm", "seed": 1, **SIZES, **how}
    trained = fit(**given, scratch=tmp_path / "one")
    trained.save(tmp_path / "model")
    facts = SemiMarkovLM.load(tmp_path / "model").facts["torch_struct"]
    assert facts["version"] == "0.5" and 0 <= facts["nats_apart_per_token"] < TOLERANCE
    true = compiled.transition_counts
    monkeypatch.setattr(compiled, "transition_counts", lambda scan: true(scan) * 1.01)
    with pytest.raises(BadInput, match="torch-struct gives"):
        fit(**given, scratch=tmp_path / "two")


def test_exactly_one_way_of_fitting_is_asked_for(tmp_path, monkeypatch) -> None:
    given = {"documents": _documents(), "name": "hsmm", "seed": 1, "scratch": tmp_path, **SIZES}
    with pytest.raises(BadInput, match="exactly one of em and gradient; the entry has none"):
        fit(**given)
    monkeypatch.setenv("LONGFORM_DEVICE", "warp")
    with pytest.raises(BadInput, match="LONGFORM_DEVICE is 'warp'"):
        fit(**given, em={"iterations": 1})
    with pytest.raises(BadInput, match="0 train and 0 validation texts"):
        fit(**{**given, "documents": []}, em={"iterations": 1})
