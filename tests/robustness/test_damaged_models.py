"""Files of a trained model that are cut, of another format or of two models end in one sentence."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from longform.critics.bbscore.read import ENCODER, open_bridge
from longform.critics.code_mixing.mixture import LanguageModel
from longform.critics.neural_ranker.train import open_ranker
from longform.critics.topics.model import TopicModel
from longform.critics.verifiability.train import TRAINED, open_entailment
from longform.errors import ArtefactError
from longform.files.artefacts import save_fitted, trained_files
from longform.hsmm.model import FORMAT, SemiMarkovLM
from longform.language_models.translation import TrainedTranslator

TOKENIZER = (
    '{"version": "1.0", "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}'
)
SHAPE = {"layers": 1, "heads": 1, "width": 4, "inner": 4, "positions": 4}
SEMI_MARKOV = {"format": FORMAT, "num_states": 1, "max_duration": 1, "tokens": ["a"], "facts": {}}


def translator(folder):
    (folder / "tokenizer.json").write_text(TOKENIZER)
    (folder / "translator.json").write_text(json.dumps({"kind": "autoregressive", "shape": SHAPE}))
    save_file({"other": torch.zeros(1)}, folder / "model.safetensors")


def sections(folder):
    """What stands before the weights of a critic of sentences."""
    (folder / ENCODER).mkdir()
    (folder / "bridge.json").write_text(json.dumps({"heads": ["h"], "splitter": "rules"}))
    shape = {"features": 2, "sentence": 2, "pair": 2}
    (folder / "ranker.json").write_text(json.dumps({"shape": shape, "splitter": "rules"}))


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("name, value", [
    ("translator.json", b"{}"),
    ("translator.json", b'{"kind": "none", "shape": {}}'),
    ("translator.json", b"\xff"),
    ("tokenizer.json", b'{"version": '),
    ("model.safetensors", b""),
    ("model.safetensors", None),
])  # fmt: skip
def test_a_damaged_translator_is_one_sentence(tmp_path, name, value):
    translator(tmp_path)
    if value is not None:
        (tmp_path / name).write_bytes(value)
    with pytest.raises(ArtefactError, match=r"; .*(again|anew|over)"):
        TrainedTranslator.load(tmp_path)


@pytest.mark.parametrize("file, open_folder", [
    ("heads.safetensors", open_bridge), ("ranker.safetensors", open_ranker),
])  # fmt: skip
def test_damaged_weights_of_a_critic_of_sentences_are_one_sentence(tmp_path, file, open_folder):
    sections(tmp_path)
    with pytest.raises(ArtefactError, match="damaged or not of one"):
        open_folder(tmp_path)
    save_file({"other": torch.zeros(1)}, tmp_path / file)
    with pytest.raises(ArtefactError, match="damaged or not of one"):
        open_folder(tmp_path)
    cut(tmp_path / file)
    with pytest.raises(ArtefactError, match="SafetensorError"):
        open_folder(tmp_path)


@pytest.mark.parametrize("record", [{}, {"words": ["a"]}, {"words": ["a"], "size": "x"}])
def test_a_fact_checker_of_other_words_is_one_sentence(tmp_path, record):
    save_file({"other": torch.zeros(1)}, tmp_path / TRAINED)
    with pytest.raises(ArtefactError, match="fact checker"):
        open_entailment(tmp_path, record)


@pytest.mark.parametrize("missing", ["num_states", "max_duration", "tokens", "facts"])
def test_a_semi_markov_model_without_a_field_is_one_sentence(tmp_path, missing):
    config = {key: value for key, value in SEMI_MARKOV.items() if key != missing}
    (tmp_path / "config.json").write_text(json.dumps(config))
    arrays = {"transitions": torch.ones(1, 1), "joint": torch.ones(1, 1)}
    arrays |= {"starts": torch.tensor([0, 1]), "keys": torch.tensor([0])}
    save_file(arrays | {"dropped": torch.zeros(1)}, tmp_path / "model.safetensors")
    with pytest.raises(ArtefactError, match=missing):
        SemiMarkovLM.load(tmp_path)


@pytest.mark.parametrize("gone", ["transitions", "joint", "starts", "keys", "dropped"])
def test_a_semi_markov_model_without_an_array_is_one_sentence(tmp_path, gone):
    (tmp_path / "config.json").write_text(json.dumps(SEMI_MARKOV))
    arrays = {"transitions": torch.ones(1, 1), "joint": torch.ones(1, 1)}
    arrays |= {"starts": torch.tensor([0, 1]), "keys": torch.tensor([0])}
    arrays["dropped"] = torch.zeros(1)
    del arrays[gone]
    save_file(arrays, tmp_path / "model.safetensors")
    with pytest.raises(ArtefactError, match=gone):
        SemiMarkovLM.load(tmp_path)


@pytest.mark.parametrize("kind, stem", [(TopicModel, "topics"), (LanguageModel, "languages")])
def test_a_fit_without_its_vocabulary_or_arrays_is_one_sentence(tmp_path, kind, stem):
    save_fitted(tmp_path, stem, {"phi": np.ones((1, 1))}, {"facts": {}})
    with pytest.raises(ArtefactError, match="vocabulary"):
        kind.load(tmp_path)
    save_fitted(tmp_path, stem, {}, {"facts": {}, "vocabulary": ["a"], "history": []})
    with pytest.raises(ArtefactError, match="damaged or not of one"):
        kind.load(tmp_path)


def test_other_errors_and_sentences_of_our_own_pass(tmp_path):
    with pytest.raises(ZeroDivisionError), trained_files(tmp_path, "model"):
        raise ZeroDivisionError
    with pytest.raises(ArtefactError, match=r"^ours$"), trained_files(tmp_path, "model"):
        raise ArtefactError("ours")
